"""What is told of results: files and runs of the log, people and models alike (spec 10, 12)."""
