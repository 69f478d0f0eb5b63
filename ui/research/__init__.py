"""The researchers' side of the web app: runs, scores, transcripts, comparisons, reviews."""

from ui.research.mount import research_mount

__all__ = ["research_mount"]
