"""Meanings, utterances, and the inference of one from the other (spec 6 to 8)."""
