"""Reports on results, for files and logged runs, human and model (spec 10, 12)."""
