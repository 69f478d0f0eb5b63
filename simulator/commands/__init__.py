"""Commands that every benchmark has, made from its declaration (`simulator.benchmark`)."""
