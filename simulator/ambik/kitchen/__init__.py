"""The built-in kitchen robot's reasoning, without a model: words, categories, common sense, a decision."""
