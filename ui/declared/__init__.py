"""The pages of benchmarks that are declarations: entry, play, result and studies."""
