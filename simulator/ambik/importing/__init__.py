"""Published and foreign results as runs of the log (spec 9, 13)."""
