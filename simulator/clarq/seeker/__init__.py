"""Language understanding of the offline seeker: reading lines, grouping similar entries, open topics."""
