"""A model that answers every request by rule: what fits the request's form, drawn by the request itself."""

from __future__ import annotations

import hashlib
import json
import math
import re
from random import Random
from typing import Any

Json = dict[str, Any]

LABELS = ("true", "false", "inconclusive")
SILENT = "silent"  # a model of this name says nothing, ever
USAGE = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}


def answer(path: str, body: Json) -> Json:
    """Answer a request of the chat or of the text completions' dialect."""
    random = Random(hashlib.sha256(json.dumps(body, sort_keys=True).encode()).digest())
    head = {"id": "c", "created": 1, "model": body["model"], "usage": USAGE}
    if path.endswith("/chat/completions"):
        choices = [_chat(number, body, random) for number in range(body.get("n") or 1)]
        return {**head, "object": "chat.completion", "choices": choices}
    prompts = body["prompt"] if isinstance(body["prompt"], list) else [body["prompt"]]
    texts = prompts if body.get("echo") else prompts * (body.get("n") or 1)
    choices = [_completion(number, text, body, random) for number, text in enumerate(texts)]
    return {**head, "object": "text_completion", "choices": choices}


def _chat(number: int, body: Json, random: Random) -> Json:
    text = _text(body, random)
    return {
        "index": number,
        "finish_reason": "stop",
        "message": {"role": "assistant", "content": text},
        "logprobs": {"content": [_table(text, body, random)]} if body.get("logprobs") else None,
    }


def _completion(number: int, prompt: str, body: Json, random: Random) -> Json:
    written = random.choice((" in the rain", " after all", " on the way home"))
    words = re.findall(r"\s*>|\s*[^\s>]+|\s+", (prompt if body.get("echo") else "") + written)
    tables = [{word: round(-random.uniform(0.3, 4), 6), " X": -3.0, " Y": -3.25} for word in words]
    values: list[float | None] = [table[word] for table, word in zip(tables, words, strict=True)]
    nothing_before = [None] if body.get("echo") else []
    logprobs = {
        "tokens": words,
        "token_logprobs": [*nothing_before, *values[len(nothing_before) :]],
        "top_logprobs": [*nothing_before, *tables[len(nothing_before) :]],
        "text_offset": [0] * len(words),
    }
    return {"index": number, "text": "".join(words), "finish_reason": "stop", "logprobs": logprobs}


def _text(body: Json, random: Random) -> str:
    last = str(body["messages"][-1]["content"])
    schema = body.get("response_format", {}).get("json_schema", {}).get("schema")
    if body["model"] == SILENT and "ready" not in last:
        return ""
    if schema is not None:
        return json.dumps(_instance(schema, schema, last, random), ensure_ascii=False)
    if "Write your next reply to Jax" in last or last.startswith("Jax") or "Jax:" in last:
        return _seeker(last, random)
    if last.endswith("Options:"):
        return _options(last, random)
    if last.endswith("The letter of the action that is meant:"):
        return random.choice("ABCD")
    if last.endswith("Certain or Uncertain:"):
        return random.choice(("Certain", "Uncertain"))
    if last.endswith("Your one line:"):
        commands = re.findall(r"^- (.+?)(?: \(\d+\))?$", last, re.M)
        return random.choice(commands)
    if "Claim:" in last and "follow" not in last[-40:] and "1. " in last:
        said = last.rstrip().splitlines()
        return "\n".join(
            f"{place}. {said[-2].partition(': ')[2]} Meant so ({place}). Then the claim is {label}."
            for place, label in enumerate(random.sample(LABELS, 2), start=1)
        )
    if "True or False" in last:
        return random.choice(("True", "False"))
    if "best guess" in last:
        return random.choice((" animal or human", " indoor place", " pronoun"))
    if last.rstrip().endswith("Output:"):
        region = random.choice(("us-east-1", "ap-northeast-1"))
        return f"aws s3 mb s3://bucket --region {region}"
    if "'X'" in last or last.rstrip().endswith((">", "A:")):
        return random.choice("XY")
    step = re.search(r"Next step: (.+)", last)
    return step[1] if step else "The one on the left, please."


def _seeker(last: str, random: Random) -> str:
    moves = last.count("You:") + last.count("Jax:")
    if moves > 9:
        return "Thank you, goodbye!"
    things = re.findall(r"^- (.+)$", last, re.M) or ["it"]
    return f"How do I do it, and what about {random.choice(things)}?"


def _options(last: str, random: Random) -> str:
    scene = re.findall(r"Scene: (.+)", last)[-1].split(", ")
    step = re.findall(r"(?:Next step|Task): (.+)", last)[-1]
    things = [step.rstrip("."), *(f"Pick up {thing}" for thing in (scene * 3)[:3])]
    return "\n".join(f"{letter}) {thing}." for letter, thing in zip("ABCD", things, strict=True))


def _table(text: str, body: Json, random: Random) -> Json:
    """A distribution: what is said is the likeliest, and something is left over for other words."""
    words = dict.fromkeys([text, *"XYABCD", "True", "False", " the"])
    weights = sorted((random.uniform(0.02, 1) ** 2 for _ in words), reverse=True)
    shares = [0.97 * weight / sum(weights) for weight in weights]
    rows = [
        {"token": word, "logprob": round(math.log(share), 6), "bytes": None}
        for word, share in zip(words, shares, strict=True)
    ]
    return {**rows[0], "top_logprobs": rows[: body.get("top_logprobs") or 1]}


def _instance(schema: Json, whole: Json, last: str, random: Random) -> Any:
    """Draw a value that a JSON schema allows; texts are lines of what was asked."""
    if "$ref" in schema:
        return _instance(whole["$defs"][schema["$ref"].rpartition("/")[2]], whole, last, random)
    if "anyOf" in schema:
        return _instance(random.choice(schema["anyOf"]), whole, last, random)
    if "enum" in schema:
        return random.choice(schema["enum"])
    if "const" in schema:
        return schema["const"]
    match schema.get("type"):
        case "object":
            fields = schema.get("properties", {})
            if "rewrites" in fields and random.random() < 0.7:  # one reading: nothing to rewrite
                return {"discard": None, "labels": ["neutral"], "rewrites": [], "comment": ""}
            return {key: _instance(value, whole, last, random) for key, value in fields.items()}
        case "array":
            least = schema.get("minItems") or len(re.findall(r"^(?:\d+\.|Pair \d+$)", last, re.M)) or 1
            return [_instance(schema["items"], whole, last, random) for _ in range(least)]
        case "boolean":
            return random.random() < 0.7
        case "integer":
            return random.randint(schema.get("minimum", 0), schema.get("maximum", 3))
        case "number":
            return round(random.uniform(0, 1), 3)
        case "null":
            return None
    return random.choice([line for line in last.splitlines() if line.strip()])[:120]
