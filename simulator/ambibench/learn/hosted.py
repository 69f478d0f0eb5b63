"""How a model is finetuned, and finetuning by a service with OpenAI's interface."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import Field

from simulator.errors import InputError
from simulator.field_options import HIDDEN
from simulator.fields import Fields

Method = Literal["lora", "full"]
# AdamW's learning rates with which the small model learns without forgetting how to answer.
RATES: Final[dict[Method, float]] = {"lora": 2e-4, "full": 2e-5}


class TrainConfig(Fields):
    """A finetuning; batch size 1 as in the paper, prompts in a new order in each epoch.

    Attributes:
        method: ``lora`` trains low-rank adapters on all linear layers, ``full`` all weights.
        rate: AdamW's learning rate at its highest.
        prompt_weight: where the completion's tokens have 1 (paper: .1).
        rank: of the adapters.
        alpha: their scale, divided by the rank.
        warmup: share of the updates over which the rate rises; it falls to 0 linearly after that.
        clip: largest norm of a gradient.
    """

    method: Method = Field(default="lora", description="an adapter, or all weights")
    epochs: int = Field(default=1, ge=1, description="how often each prompt is seen")
    rate: float | None = Field(default=None, ge=0, description="learning rate, if not the method's own")
    prompt_weight: float = Field(default=0.1, ge=0, description="weight of the prompt in the loss")
    seed: int = Field(default=0, description="of data, order and adapter")
    rank: Annotated[int, HIDDEN] = 16
    alpha: Annotated[int, HIDDEN] = 32
    warmup: Annotated[float, HIDDEN] = 0.05
    clip: Annotated[float, HIDDEN] = 1.0

    @property
    def learning_rate(self) -> float:
        """The rate that is used."""
        return RATES[self.method] if self.rate is None else self.rate


# Of the paper's service (spec section 5.3). Its weight of .1 on the prompt's tokens is no longer taken.
BATCH_SIZE = 1
RATE_MULTIPLIER = 0.1


def submit(model: str, file: Path, config: TrainConfig, client: Any = None) -> str:
    """Upload `file` and begin a finetuning job.

    `client`: of the openai package; default: one for ``$OPENAI_API_KEY``.

    Returns:
        The job's id.

    Raises:
        InputError: if there is no key, or the service refuses.
    """
    import openai

    if client is None and not os.environ.get("OPENAI_API_KEY"):
        raise InputError("Submitting a finetuning job needs a key: set OPENAI_API_KEY.")
    client = client or openai.OpenAI()
    try:
        with file.open("rb") as stream:
            uploaded = client.files.create(file=stream, purpose="fine-tune")
        job = client.fine_tuning.jobs.create(
            model=model,
            training_file=uploaded.id,
            seed=config.seed,
            method={
                "type": "supervised",
                "supervised": {
                    "hyperparameters": {
                        "batch_size": BATCH_SIZE,
                        "learning_rate_multiplier": RATE_MULTIPLIER,
                        "n_epochs": config.epochs,
                    }
                },
            },
        )
    except openai.OpenAIError as error:
        raise InputError(f"{model} could not be finetuned: {error}") from error
    return str(job.id)
