"""Goals: 69 templates as data, their sampling, checking and printing (spec 4)."""
