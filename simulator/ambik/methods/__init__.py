"""The five methods as state machines over the model interface (spec 8)."""
