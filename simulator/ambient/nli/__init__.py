"""Multilabel natural language inference (spec 9): a model that gives a pair of sentences a set of labels."""
