"""Import of published results as runs of the log (spec 11)."""
