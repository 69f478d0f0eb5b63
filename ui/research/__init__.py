"""The researchers' pages of the web app: runs, scores, transcripts, comparisons, reviews, studies."""
