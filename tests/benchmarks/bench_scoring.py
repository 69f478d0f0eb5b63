"""Seconds per AmbiBench prompt of 20 labels with local/smollm2: one pass, and the plain loop.

The plain loop is what most people write first: for each label the text before it goes through the model and
the last row of the logits is read. Both give the same numbers; the largest difference is printed.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Sequence
from typing import Any

from rows import Row, main

from simulator.ambibench.generation import generate_multiple
from simulator.ambibench.prompt import Prompt, completion, label_offsets, shown_text, whole_text
from simulator.models import ChatModel, ModelOptions, ScoreRequest, Unsupported, load_model, weights_of
from simulator.models.base import Scored
from simulator.models.weights import silence

MODEL = "local/smollm2"
CLOSE = 1e-4  # natural logarithm


async def in_one_pass(
    model: ChatModel, prompts: Sequence[Prompt], together: int
) -> tuple[float, list[Scored]]:
    """Seconds per prompt when `together` are asked for at a time."""
    places = asyncio.Semaphore(together)

    async def score(prompt: Prompt) -> Scored:
        async with places:
            return await model.score(
                ScoreRequest(text=whole_text(prompt), offsets=label_offsets(prompt), top=20)
            )

    start = time.perf_counter()
    scored = await asyncio.gather(*map(score, prompts))
    return (time.perf_counter() - start) / len(prompts), scored


def label_by_label(prompts: Sequence[Prompt]) -> tuple[float, list[list[float]]]:
    """Seconds per prompt of the plain loop, and the log-probabilities of the labels that are there."""
    import torch
    import transformers

    with silence(transformers):
        tokenizer = transformers.AutoTokenizer.from_pretrained(weights_of(MODEL))
        model = transformers.AutoModelForCausalLM.from_pretrained(weights_of(MODEL)).eval()
    start = time.perf_counter()
    table = list[list[Any]]()
    for prompt in prompts:
        table.append([])
        for k in range(1, len(prompt.examples) + 1):
            inputs = tokenizer(shown_text(prompt, k), return_tensors="pt")
            label = tokenizer(completion(prompt, k))["input_ids"][0]
            with torch.inference_mode():
                logprobs = torch.log_softmax(model(**inputs).logits[0, -1], dim=-1)
            torch.topk(logprobs, 20)
            table[-1].append(logprobs[label].item())
    return (time.perf_counter() - start) / len(prompts), table


def rows() -> Iterator[Row]:
    """Yield a prompt of 20 labels in one pass; nothing where the model is not installed."""
    try:
        model = load_model(MODEL, ModelOptions(device="cpu"))
    except Unsupported:
        return
    prompts = generate_multiple(0, per_cell=1)
    asyncio.run(in_one_pass(model, prompts[:1], 1))  # warm
    single, scored = asyncio.run(in_one_pass(model, prompts[:4], 1))
    asyncio.run(model.close())
    looped, expected = label_by_label(prompts[:1])
    ours = [position.logprob for position in scored[0].positions]
    assert max(abs(value - reference) for value, reference in zip(ours, expected[0], strict=True)) < CLOSE
    yield Row(
        work=f"AmbiBench: a prompt of 20 labels, {MODEL}",
        ours=single,
        unit="s",
        peer="one pass per label",
        theirs=looped,
        remark="wall",
    )


if __name__ == "__main__":
    main(rows)
