"""AmbiBench: a participant infers which of two features a task is about.

Tamkin, Handa, Shrestha & Goodman, *Task Ambiguity in Humans and Language Models* (ICLR 2023).
"""
