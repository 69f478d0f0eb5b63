"""AmbiEnt (Liu et al., EMNLP 2023): annotators and models recognise and disentangle readings of a sentence.

A pair of sentences, premise and hypothesis, gets a *set* of labels: one per reading. References such as
"spec 5.3" are to the functional specification of the benchmark, "paper 3" to the article.
"""
