"""New examples: groups of like pairs, a model's pairs in their manner, filters, balancing (spec 2.2)."""
