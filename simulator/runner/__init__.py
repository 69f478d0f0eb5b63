"""Running episodes: execute (one), build (names to objects), batch (many)."""
