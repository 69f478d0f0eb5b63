"""Hand-made rows for every kind of file."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

from click.testing import Result

Call = Callable[..., Result]
Row = dict[str, Any]


def spelled(value: Any) -> Any:
    """Return a record as lists, pairs and texts, which are equal for equal records in any order of sets."""
    if is_dataclass(value):
        return [(field.name, spelled(getattr(value, field.name))) for field in fields(value)]
    if isinstance(value, Mapping):
        return [(spelled(key), spelled(entry)) for key, entry in value.items()]
    if isinstance(value, Set):
        return sorted(map(spelled, value))
    return list(map(spelled, value)) if isinstance(value, list | tuple) else value


def by_kind(text: str) -> dict[str, Any]:
    """Return the data of a report's sections by kind and name, and the faults of its files."""
    report = json.loads(text)
    kinds: dict[str, Any] = {}
    for section in report["sections"]:
        if "kind" in section.get("data", {}):
            data = section["data"]
            kinds.setdefault(data["kind"], {})[data["name"]] = data
    return kinds | {name: report[name] for name in ("faults", "unreadable")}


def lines(path: Path, rows: Sequence[Row | str]) -> Path:
    """Write rows as JSON lines; rows that are texts are written unchanged."""
    path.parent.mkdir(parents=True, exist_ok=True)
    texts = [row if isinstance(row, str) else json.dumps(row) for row in rows]
    path.write_text("\n".join(texts) + "\n", encoding="utf-8")
    return path


PREMISE = "The bell rang for the last time."
READINGS = {
    "entailment": "The bell rang for the last time today.",
    "neutral": "The bell rang for the last time ever.",
}
HYPOTHESIS = "The bell will be heard tomorrow."


def example(id: int | str, **more: Any) -> Row:
    return {
        "id": id,
        "premise": PREMISE,
        "hypothesis": HYPOTHESIS,
        "premise_ambiguous": True,
        "hypothesis_ambiguous": False,
        "labels": "neutral, entailment",
        "disambiguations": [
            {"premise": text, "hypothesis": HYPOTHESIS, "label": label} for label, text in READINGS.items()
        ],
        **more,
    }


def plain(id: int | str) -> Row:
    return {
        "id": id,
        "premise": "Two cats sleep.",
        "hypothesis": "Animals sleep.",
        "premise_ambiguous": False,
        "hypothesis_ambiguous": False,
        "labels": "entailment",
        "disambiguations": [],
    }


def generation(id: int | str, rewrites: dict[str, str], score: float, prompt: Any = "Say.") -> Row:
    words = {"entailment": "true", "neutral": "inconclusive", "contradiction": "false"}
    answer_lines = [
        f"{place}. {text} Then the claim is {words[label]}."
        for place, (label, text) in enumerate(rewrites.items(), start=1)
    ]
    return {
        "id": id,
        "premise": PREMISE,
        "hypothesis": HYPOTHESIS,
        "premise_ambiguous": True,
        "hypothesis_ambiguous": False,
        "prompt": prompt,
        "generation": "\n".join(answer_lines),
        "gold_rewrites": READINGS,
        "predicted_rewrites": rewrites,
        "edit_f1": score,
    }


def statements(id: int | str, answers: Sequence[Any], reading: str, **more: Any) -> list[Row]:
    """Return the four statements on one reading."""
    phrases = ("may mean", "does not necessarily mean", "cannot mean", "can only mean")
    return [
        {
            "example_id": id,
            "template_id": place,
            "prompt": f"Q: {PREMISE} This {phrase}: {reading} True or False?\nA:",
            "prediction": answer,
            "answer": place < 2,
            "ambiguous_sentence_key": "premise",
            "disambiguation": reading,
            **more,
        }
        for place, (phrase, answer) in enumerate(zip(phrases, answers, strict=True))
    ]


def estimates(id: int | str, *kl: float | None) -> Row:
    """Return the estimates of two readings and a distractor."""
    texts = [*READINGS.values(), "The horse rang for the last time."]
    names = ["y0", "y1", "d"]
    return {
        "id": id,
        "ambiguous_sentence": f'"{PREMISE}',
        "options": {
            name: {"sentence": f'"{text}', "KL_div": value}
            for name, text, value in zip(names, texts, kl, strict=True)
        },
        "num_conts": 40,
    }


def crowd(id: int | str, distractor: int = 1) -> Row:
    """Return votes of nine workers, the last of whom rejects the second reading and labels it differently."""
    candidates = list(READINGS.values())
    candidates.insert(distractor, "A bell rang last.")
    labels: list[str | None] = list(READINGS)
    labels.insert(distractor, None)
    row: Row = {
        "id": id,
        "premise": PREMISE,
        "hypothesis": HYPOTHESIS,
        "ambiguous_sent": "premise",
        "distractor_idx": float(distractor),
        "labels": labels,
        "interpretations": candidates,
        "q0_gold": ["neutral"] * 5 + ["entailment"] * 4,
    }
    last = max(place for place, label in enumerate(labels) if label)
    for place, label in enumerate(labels):
        row[f"q{place + 1}_gold"] = [label or "neutral"] * 8 + [
            "contradiction" if place == last else label or "neutral"
        ]
        row[f"d{place + 1}_gold"] = [label is not None or worker < 3 for worker in range(9)]
        if place == last:
            row[f"d{place + 1}_gold"][8] = False
    return row


def linguists(id: int | str, *sets: str, workers: Sequence[str] = ("ann", "bob", "cy")) -> Row:
    return {
        "id": id,
        "worker_ids": list(workers[: len(sets)]),
        "premise": PREMISE,
        "hypothesis": HYPOTHESIS,
        "annotations": list(sets),
        "disambiguations": {
            label: [{"premise": text, "hypothesis": HYPOTHESIS}] for label, text in READINGS.items()
        },
    }


def predicted(id: int | str, labels: str, prediction: str) -> Row:
    return {
        "id": id,
        "premise": PREMISE,
        "hypothesis": HYPOTHESIS,
        "labels": labels,
        "prediction": prediction,
    }


def claim(id: int | str, *scores: float, stored: float | None = None) -> Row:
    return {
        "example_id": id,
        "label": "half-true",
        "url": "",
        "claim": f"Says taxes rose {id} times.",
        "person": "somebody",
        "venue": "a speech",
        "justification": "They did.",
        "cleaned_claim": f"Taxes rose {id} times.",
        "ambiguity_score": max(scores) if stored is None else stored,
        "paraphrases": [[f"Taxes went up {place}.", score] for place, score in enumerate(scores)],
    }
