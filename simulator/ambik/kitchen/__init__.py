"""The built-in kitchen robot, which reasons without a model: words, categories, common sense, decision."""
