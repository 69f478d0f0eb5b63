"""Episode files as published: names, records, split files, faults (spec 10)."""
