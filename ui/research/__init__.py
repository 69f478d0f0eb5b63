"""The researchers' side of the web app: runs, scores, transcripts, comparisons, reviews."""

from ui.research.mount import create_research, research_mount

__all__ = ["create_research", "research_mount"]
