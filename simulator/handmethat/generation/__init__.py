"""Episodes of our own: one, many, and what they are like (spec 12.4)."""
