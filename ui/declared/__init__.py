"""Pages built from a benchmark's declaration: entry, play, result and studies."""
