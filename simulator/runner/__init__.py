"""Running of episodes: execute (one episode), build (names to objects), batch (many episodes)."""
