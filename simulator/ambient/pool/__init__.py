"""Generation of new examples: groups of similar pairs, prompts, a model's pairs, filters (spec 2.2)."""
