"""Players of the two seats (built-in, models, learned robots) and the views they get."""
