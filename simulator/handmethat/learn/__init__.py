"""Learned robots: behaviour cloning (Seq2Seq) and deep reinforcement learning (DRRN), in torch (spec 11)."""
