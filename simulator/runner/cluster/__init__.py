"""Runs on a Ray cluster: players on every node, and a single writer of the log on the head."""
