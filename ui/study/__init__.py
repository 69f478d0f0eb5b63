"""Pages that every study with people has: welcome, consent, a set's end, leaving."""
