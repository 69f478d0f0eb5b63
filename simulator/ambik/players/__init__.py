"""Who sits in AmbiK's seats."""
