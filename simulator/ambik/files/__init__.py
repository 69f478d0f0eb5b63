"""Readers of AmbiK's files: pairs, KnowNo scenarios, published runs, metric cases."""
