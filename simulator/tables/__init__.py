"""Published files: read into typed rows with their faults, registered, and imported into the log.

A benchmark declares the kinds of its files (`spec.TableSpec`, `spec.Tables`); recognising, checking,
registering (`askback data add`) and importing them is done here for all.
"""
