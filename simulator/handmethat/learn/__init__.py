"""Learned robots: behaviour cloning (Seq2Seq) and deep reinforcement learning (DRRN), in torch (spec 11).

torch is imported by the modules that need it, and by `load_policy` when it is called: playing and scoring
work without it.
"""

from __future__ import annotations

import importlib
import importlib.util
from typing import Final

from simulator.errors import InputError
from simulator.handmethat.learn.seen import Policy, Seen, read, reading_game

__all__ = ["PREFIXES", "Policy", "Seen", "load_policy", "read", "reading_game"]

# A robot's name begins with one of these, and goes on with its checkpoint's path.
PREFIXES: Final = ("seq2seq:", "drrn:", "drrn-greedy:")


def load_policy(name: str) -> Policy:
    """Return the robot called ``seq2seq:FILE``, ``drrn:FILE`` or ``drrn-greedy:FILE``.

    Raises:
        InputError: if torch is not installed, or the name or the file is none of that kind.
    """
    require_torch()
    policy: Policy = importlib.import_module("simulator.handmethat.learn.policy").load_policy(name)
    return policy


def require_torch() -> None:
    """Check that torch is there.

    Raises:
        InputError: if it is not; the message says how to install it.
    """
    if importlib.util.find_spec("torch") is None:
        raise InputError("Learned robots need torch: pip install torch==2.13.0 'askback[local]'")
