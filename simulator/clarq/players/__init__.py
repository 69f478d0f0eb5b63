"""Who sits in the two seats: models and built-in players, as seeker and behind the provider."""
