"""Commands that every benchmark gets from its declaration (`simulator.benchmark`)."""
