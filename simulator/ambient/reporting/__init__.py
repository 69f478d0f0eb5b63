"""Reports on results, for published files and logged runs, human and model (spec 12)."""
