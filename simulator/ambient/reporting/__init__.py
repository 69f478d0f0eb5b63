"""What is told of results: of published files and of runs of the log, people and models alike (spec 12)."""
