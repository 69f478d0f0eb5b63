"""What outcomes are worth (spec 10): metrics of tasks and pairs, and measures with n and intervals."""
