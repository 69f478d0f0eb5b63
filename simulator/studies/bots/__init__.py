"""Bots: programs that take part in a study over HTTP (`askback study bots`)."""
