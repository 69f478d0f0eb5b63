"""Readers and writers of published files and our own, which report a fault for each invalid row."""
