"""Finetuning on ambiguous tasks and on the control (paper 4.4, App. G.5, H; spec section 5.3)."""
