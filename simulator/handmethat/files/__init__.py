"""The published format of episode files: names, records, split files, faults (spec 10)."""
