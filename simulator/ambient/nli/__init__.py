"""Multilabel natural language inference: models that predict a label set for a pair (spec 9)."""
