"""New pairs for annotators: scenes, clear tasks, candidates, plans (spec 11, steps 1 to 4)."""
