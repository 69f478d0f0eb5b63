"""The text environment: a pure game core, its texts, its questions, and Gymnasium environments on top.

Importing this package registers ``askback/HandMeThat-v0`` (commands in words) and
``askback/HandMeThatDiscrete-v0`` (numbers only) with Gymnasium.
``gymnasium.make("simulator.handmethat.env:askback/HandMeThat-v0")`` works without the import.
"""

from __future__ import annotations

from gymnasium.envs.registration import register, registry

for name, place in (
    ("askback/HandMeThat-v0", "gym_env:HandMeThat"),
    ("askback/HandMeThatDiscrete-v0", "discrete:HandMeThatDiscrete"),
):
    if name not in registry:
        register(name, entry_point=f"simulator.handmethat.env.{place}")
