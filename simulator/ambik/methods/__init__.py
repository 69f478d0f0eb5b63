"""The five methods in stages (spec 8); `stages.decide` plays one."""
