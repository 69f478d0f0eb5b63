"""Generation of new episodes, singly and in batches (spec 12.4)."""
