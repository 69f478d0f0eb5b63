"""AmbiK: a kitchen robot decides whether to act or to ask, with conformal prediction.

Tasks in pairs, five methods, calibration, metrics, the exchange after a question, new pairs by people.
"""
