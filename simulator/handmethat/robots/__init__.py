"""Hand-coded robots (spec 11.1): pure functions from what a robot may know to its next command."""
