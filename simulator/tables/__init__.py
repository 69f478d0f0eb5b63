"""Published files: read into typed rows with their faults, registered, and imported into the log.

A benchmark declares its kinds of files (`spec.TableSpec`, `spec.Tables`); this package recognises, checks,
registers (`askback data add`) and imports them.
"""
