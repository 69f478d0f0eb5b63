"""Simulation, play and scoring of conversations."""
