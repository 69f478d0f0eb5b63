"""Meanings, utterances and how one is read out of the other (spec 6 to 8)."""
