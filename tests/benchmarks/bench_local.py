"""Tokens per second of local/smollm2 on prompts that begin alike, by the library and by us.

Each prompt has about 500 tokens of worked examples that all prompts have, and 200 of its own. Half of the
work is answers of up to 60 tokens, half is single tokens with probabilities, as in a run of AmbiK. One thread
computes, and its own time is measured, so that other programs disturb little. Only the ratios within one run
say anything about another machine.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from rows import Row, main

from simulator.models import Completion, Message, ModelOptions, Request, Unsupported, load_model, weights_of
from simulator.models.weights import silence

MODEL = "local/smollm2"
THINGS = (
    "a blue bowl",
    "a glass jar of honey",
    "two green apples",
    "a bread knife",
    "a loaf of rye bread",
    "a wooden board",
    "a carton of milk",
    "a tin of tomatoes",
    "a bag of rice",
    "a steel pan",
    "a paper towel",
    "a bottle of olive oil",
    "a lemon",
    "a block of cheddar",
    "a cup of yogurt",
    "a peeler",
    "a sponge",
    "a tea towel",
    "a mug",
    "a jar of mustard",
)
CLOSE = 1e-4  # natural logarithm


class Measured(NamedTuple):
    """The outcome of some requests.

    Attributes:
        seconds: of the processor, for all of them.
        written: tokens.
        texts: the answers.
        numbers: the first token's probabilities of each, if asked for.
    """

    seconds: float
    written: int
    texts: list[str]
    numbers: list[float]


def scene(chance: random.Random, things: int) -> str:
    """A kitchen in words, a task and the steps that lead to it."""
    there = "; ".join(chance.choice(THINGS) for _ in range(things))
    steps = " ".join(
        f"{number}. Put {chance.choice(THINGS)} next to {chance.choice(THINGS)}." for number in range(1, 9)
    )
    return f"In the kitchen there are: {there}.\nTask: prepare {chance.choice(THINGS)}.\nSteps: {steps}\n"


def requests(count: int, seed: int, **fields: Any) -> list[Request]:
    """Prompts with a head in common."""
    chance = random.Random(seed)
    asks = "You plan what a kitchen robot does next. Name four steps that are possible, one per line, A to D."
    examples = [Message("system", asks)]
    for number in range(2):
        answer = "\n".join(
            f"{letter}) take {THINGS[number + place]} and put it on the counter"
            for place, letter in enumerate("ABCD")
        )
        examples += [Message("user", scene(random.Random(number), 15)), Message("assistant", answer)]
    asked = Request(messages=tuple(examples), shared=len(examples), **fields)
    return [
        replace(asked, messages=(*asked.messages, Message("user", scene(chance, 20)))) for _ in range(count)
    ]


async def ours(asked: Sequence[Request], *, shared: bool, together: int) -> Measured:
    """Through the interface that runs use."""
    model = load_model(MODEL, ModelOptions(device="cpu", threads=1, together=together))
    requested = [request if shared else replace(request, shared=0) for request in asked]
    await model.complete(replace(requested[0], max_tokens=1))  # warm
    start = time.process_time()
    answers = await asyncio.gather(*map(model.complete, requested))
    seconds = time.process_time() - start
    await model.close()
    return Measured(
        seconds,
        sum(answer.usage.output_tokens or 0 for answer in answers),
        [answer.text for answer in answers],
        [number for answer in answers for number in _numbers(answer)],
    )


def _numbers(answer: Completion) -> list[float]:
    return [logprob for _, logprob in answer.logprobs[0].top] if answer.logprobs else []


def by_the_library(asked: Sequence[Request]) -> Measured:
    """One prompt after the other through ``generate``."""
    import torch
    import transformers

    torch.set_num_threads(1)
    with silence(transformers):
        tokenizer = transformers.AutoTokenizer.from_pretrained(weights_of(MODEL))
        model = transformers.AutoModelForCausalLM.from_pretrained(weights_of(MODEL)).eval()
    texts, numbers, written = [], [], 0
    start = time.process_time()
    for request in asked:
        messages = [{"role": message.role, "content": message.content} for message in request.messages]
        inputs = tokenizer.apply_chat_template(
            messages, add_generation_prompt=True, return_tensors="pt", return_dict=True
        )
        settings: dict[str, Any] = {"max_new_tokens": request.max_tokens, "do_sample": False}
        if request.stop:
            settings |= {"stop_strings": list(request.stop), "tokenizer": tokenizer}
        with torch.inference_mode():
            out = model.generate(**inputs, **settings, return_dict_in_generate=True, output_logits=True)
        tokens = out.sequences[0, inputs["input_ids"].shape[1] :]
        written += len(tokens)
        text = tokenizer.decode(tokens, skip_special_tokens=True)
        texts.append(min((text.partition(stop)[0] for stop in request.stop), key=len, default=text))
        if request.top_logprobs:
            logprobs = torch.log_softmax(out.logits[0][0].float(), dim=-1)
            numbers += torch.topk(logprobs, request.top_logprobs).values.tolist()
    return Measured(time.process_time() - start, written, texts, numbers)


def rows() -> Iterator[Row]:
    """Yield answers and single tokens with probabilities; nothing where the model is not installed."""
    try:
        weights_of(MODEL)
    except Unsupported:
        return
    kinds: dict[str, dict[str, Any]] = {
        "An answer of 60 tokens": {"max_tokens": 60, "stop": ("\nIn the kitchen",)},
        "A token with 5 probabilities": {"max_tokens": 1, "top_logprobs": 5},
    }
    for kind, fields in kinds.items():
        asked = requests(8, 1, **fields)
        measured = asyncio.run(ours(asked, shared=True, together=8))
        library = by_the_library(asked[:2])
        for number, expected in zip(measured.numbers, library.numbers, strict=False):
            assert abs(number - expected) < CLOSE
        yield Row(
            work=f"{kind}, {MODEL}, 8 together",
            ours=measured.seconds / len(measured.texts),
            unit="s",
            peer="transformers' generate, whole prompts",
            theirs=library.seconds / len(library.texts),
            remark="CPU",
        )


if __name__ == "__main__":
    main(rows)
