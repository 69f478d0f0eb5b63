"""Annotation of new pairs (spec 11): the form and its rules, agreement, the third person's desk, export."""
