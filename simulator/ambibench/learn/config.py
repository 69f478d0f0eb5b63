"""How a model is finetuned."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

Method = Literal["lora", "full"]
# AdamW's learning rates with which the small model learns without forgetting how to answer.
RATES: Final[dict[Method, float]] = {"lora": 2e-4, "full": 2e-5}


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainConfig:
    """A finetuning; batch size 1 as in the paper, prompts in a new order in each epoch.

    Attributes:
        method: ``lora`` trains low-rank adapters on all linear layers, ``full`` all weights.
        epochs: how often each prompt is seen.
        rate: AdamW's learning rate at its highest; None for the method's own.
        prompt_weight: weight of the prompt's tokens in the loss, where the completion's have 1 (paper: .1).
        rank: of the adapters.
        alpha: their scale, divided by the rank.
        warmup: share of the updates over which the rate rises; it falls to 0 linearly after that.
        clip: largest norm of a gradient.
        seed: of the order of prompts and of the adapters' first values.
    """

    method: Method = "lora"
    epochs: int = 2
    rate: float | None = None
    prompt_weight: float = 0.1
    rank: int = 16
    alpha: int = 32
    warmup: float = 0.05
    clip: float = 1.0
    seed: int = 0

    @property
    def learning_rate(self) -> float:
        """The rate that is used."""
        return RATES[self.method] if self.rate is None else self.rate
