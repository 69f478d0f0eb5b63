"""Plans, cost-to-go and what help is worth (spec 5 and 6.3)."""
