"""Who sits in the two seats: built-in players, models, learned robots; what each of them knows."""
