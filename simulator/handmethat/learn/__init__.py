"""Learned robots: behaviour cloning (Seq2Seq) and deep reinforcement learning (DRRN), in torch (spec 11).

torch is imported by the modules that need it, never here: playing and scoring work without it.
"""
