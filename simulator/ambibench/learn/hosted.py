"""Finetuning by a service with OpenAI's interface: the file is uploaded, the job begun there."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from simulator.ambibench.learn.config import TrainConfig
from simulator.errors import InputError

# Of the paper's service (spec section 5.3). Its weight of .1 on the prompt's tokens is no longer taken.
BATCH_SIZE = 1
RATE_MULTIPLIER = 0.1


def submit(model: str, file: Path, config: TrainConfig, client: Any = None) -> str:
    """Upload `file` and begin a finetuning job.

    Args:
        model: the service's name of a base model that takes ``prompt`` and ``completion``.
        file: JSON lines.
        config: its epochs and seed are used; batch size and rate are the paper's.
        client: of the openai package; default: one for ``$OPENAI_API_KEY``.

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
