"""Players for both seats: models and built-in players, as seeker and as the provider's experts."""
