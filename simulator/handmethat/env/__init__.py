"""The text environment (spec 9)."""
