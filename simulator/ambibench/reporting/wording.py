"""What tables and figures call things."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from simulator.ambibench.features import PAIRS, Feature, Pair, Setting

FEATURE_TITLES: Final[Mapping[str, str]] = {
    "subject": "subject",
    "location": "location",
    "religious": "religious leader",
    "pronoun": "pronoun",
    "propn": "proper noun",
    "negation": "negation",
}
FORMAT_TITLES: Final[Mapping[str, str]] = {"arrow": "arrow", "qa": "Q/A"}
ORIGIN_TITLES: Final[Mapping[str, str]] = {
    "white_american": "White American",
    "indian": "Indian",
    "greek": "Greek",
    "japanese": "Japanese (control)",
}
SETTING_TITLES: Final[Mapping[Setting, str]] = {
    "instruction": "instruction and two examples (4.2)",
    "multiple": "multiple examples (4.3)",
    "wug": "multiple examples, wug (App. D)",
    "ft_train": "training examples (4.4)",
    "ft_eval": "held-out pairs (4.4)",
    "verbalise": "naming the task (App. A)",
    "aws": "command-line assistant (App. B)",
}
ORACLE: Final = "oracle (exact)"
CHANCE: Final = "chance"


def pair_title(pair: Pair) -> str:
    """``subject / location``."""
    one, other = PAIRS[pair]
    return f"{feature_title(one)} / {feature_title(other)}"


def feature_title(feature: Feature | str) -> str:
    """Return a feature in words."""
    return FEATURE_TITLES[feature]
