"""Tables and figures of AmbiK (spec 12)."""
