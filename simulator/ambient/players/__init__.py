"""Who does AmbiEnt's tasks: built-in players, language models, models of natural language inference."""
