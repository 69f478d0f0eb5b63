"""The researchers' side of the web app: runs, scores, transcripts, comparisons, reviews."""
