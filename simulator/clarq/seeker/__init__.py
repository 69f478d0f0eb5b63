"""How the offline seeker understands what it is told: reading, groups of like things, open topics."""
