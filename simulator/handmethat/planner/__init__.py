"""Plans, costs-to-go and rewards of help (spec 5 and 6.3)."""
