"""What the pages of every study with people have in common: welcome, consent, a set's end, leaving."""
