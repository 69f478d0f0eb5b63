"""AmbiK: a kitchen robot decides whether to act or to ask, with conformal prediction.

Paired tasks, five methods, calibration, metrics, the dialogue after a question, and annotation of new pairs.
"""
