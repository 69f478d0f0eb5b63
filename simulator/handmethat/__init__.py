"""HandMeThat: a robot resolves a person's ambiguous instruction in a symbolic household.

Wan, Mao & Tenenbaum, NeurIPS 2022 Datasets & Benchmarks.
"""
