"""The players' pages of HandMeThat: the entry, the drawn house, both seats, the result."""
