"""AmbiEnt (Liu et al., EMNLP 2023): annotators and models recognise and disentangle readings of a sentence.

A premise-hypothesis pair has a *set* of labels, one per reading. "spec 5.3" refers to the benchmark's
functional specification, "paper 3" to the article.
"""
