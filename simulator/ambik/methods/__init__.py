"""The five methods as state machines (spec 8); `graphs.decide` plays one."""
