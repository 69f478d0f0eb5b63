"""The text environment: a pure game core, its texts, its questions, and the Gymnasium environment on top.

Importing this package registers ``askback/HandMeThat-v0`` with Gymnasium; without an import of one's own,
``gymnasium.make("simulator.handmethat.env:askback/HandMeThat-v0")`` does the same.
"""

from __future__ import annotations

from gymnasium.envs.registration import register, registry

if "askback/HandMeThat-v0" not in registry:
    register("askback/HandMeThat-v0", entry_point="simulator.handmethat.env.gym_env:HandMeThat")
