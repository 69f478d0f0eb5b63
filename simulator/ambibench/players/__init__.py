"""Who answers AmbiBench's trials: built-in players and language models."""
