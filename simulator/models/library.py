"""Answers by the library's own loop, for models whose memory only the library knows how to go on with."""

from __future__ import annotations

import threading
from typing import Any

from simulator.models.drawing import chance
from simulator.models.writing import Job


def generate(
    torch: Any, transformers: Any, model: Any, job: Job, *, padding: int, given_up: threading.Event
) -> None:
    """Write what `job` wants.

    Args:
        torch: the library.
        transformers: the library.
        model: its model.
        job: what is wanted; gets what is written.
        padding: token that stands behind answers that have ended.
        given_up: ends everything at the next token.
    """
    # An encoder-decoder model's answer has the token it starts with in front of it, not the prompt.
    before = 1 if model.config.is_encoder_decoder else len(job.ids)

    def over(ids: Any, scores: Any, **_: Any) -> Any:
        ended = [given_up.is_set() or job.ended(row) for row in ids[:, before:].tolist()]
        return torch.tensor(ended, device=ids.device)

    settings: dict[str, Any] = {
        "max_new_tokens": job.most,
        "do_sample": job.temperature > 0,
        "return_dict_in_generate": True,
        "output_logits": job.top is not None,
        "stopping_criteria": transformers.StoppingCriteriaList([over]),
        "pad_token_id": padding,
    }
    if job.temperature > 0:
        # Of the whole distribution, whatever the library or the model's own settings leave out.
        settings["num_return_sequences"] = job.samples
        settings |= {"temperature": job.temperature, "top_p": job.top_p, "top_k": 0}
    prompt = torch.tensor([job.ids], device=model.device)
    with torch.random.fork_rng(), torch.inference_mode():
        if job.seed is not None:
            torch.manual_seed(job.seed)
        out = model.generate(prompt, attention_mask=torch.ones_like(prompt), **settings)
    job.written = [_whole(job, row) for row in out.sequences[:, before:].tolist()]
    if job.top is not None:
        pairs = zip(job.written[0], out.logits, strict=False)
        job.looks = [chance(torch, row[0].float(), token, job.top) for token, row in pairs]


def _whole(job: Job, row: list[int]) -> list[int]:
    """What was written, without the padding behind it."""
    ends = (number for number in range(1, len(row)) if job.ended(row[:number]))
    return row[: next(ends, len(row))]
