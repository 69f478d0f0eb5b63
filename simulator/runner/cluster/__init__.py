"""Ray, where a run is larger than one machine: players on every node, one writer of the log on the head."""
