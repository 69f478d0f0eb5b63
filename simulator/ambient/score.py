"""Scores of one episode, as pure functions of its item and logged turns (spec 5.3, 6.4, 7 to 10).

========== ==========================================================================================
task       scores
========== ==========================================================================================
crowd      ``label`` the original's label is in the dataset's set; ``plausible`` share of readings judged
           possible; ``accepts_all`` all readings are; ``distractor`` the distractor is (null without
           one); ``relabel`` share of readings given their label
evaluate   ``plausible`` and ``relabel``, over the model's rewrites without the distractors
annotate   ``exact`` the set is the dataset's; ``ambiguous`` it has several labels; ``discarded``
generate   ``edit_f1`` by the reference parser (spec 6.3), ``edit_f1_robust`` by the robust one
true_false ``accuracy`` over all statements, unread answers being wrong; ``accuracy_0`` to ``accuracy_3``
           by template; ``all_right`` share of rewrites with four right answers; ``null`` share unread
continue   ``ranked`` the distractor's estimate is above every rewrite's
nli        ``exact`` the original's set is right; ``group_exact`` so are those of all its rewrites
claim      ``score`` the highest among the paraphrases; ``flagged`` it is above the threshold
========== ==========================================================================================

Measures over many episodes are not means of these scores but functions of records (`trial_log`, `crowd`, …).
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean
from typing import Final

from logs.rows import Score, Turn
from simulator.ambient.continuations import ranks_first
from simulator.ambient.generation import gold_rewrites, item_edit_f1
from simulator.ambient.items import (
    AnnotateItem,
    ClaimItem,
    ContinueItem,
    CrowdItem,
    GenerateItem,
    Item,
    NliItem,
    TrueFalseItem,
)
from simulator.ambient.trial_log import continuation_record, last_payload, payloads
from simulator.runner import machines

VERSION: Final = "1"
Values = dict[str, float | None]


def score_rows(episode_id: str, item: Item, turns: Sequence[Turn], *_: object) -> tuple[Score, ...]:
    """Return the log's score rows for an ended episode."""
    return machines.score_rows(episode_id, values(item, turns), VERSION)


def values(item: Item, turns: Sequence[Turn]) -> Values:
    """Return metric -> value, None where undefined; see the table above."""
    match item:
        case CrowdItem():
            return _crowd(item, turns)
        case AnnotateItem():
            return _annotation_values(item, turns)
        case GenerateItem():
            return _generation_values(item, turns)
        case TrueFalseItem():
            return _true_false(turns)
        case NliItem():
            return _nli(item, turns)
        case ContinueItem():
            return {"ranked": float(ranks_first(continuation_record(item, turns)))}
        case ClaimItem():
            scored = last_payload(turns, "claim")
            return {"score": scored["score"], "flagged": float(scored["flagged"])} if scored else {}


def _crowd(item: CrowdItem, turns: Sequence[Turn]) -> Values:
    true = [place for place, candidate in enumerate(item.candidates) if candidate.label is not None]
    false = [place for place, candidate in enumerate(item.candidates) if candidate.label is None]
    values: Values = {}
    if label := last_payload(turns, "label"):
        values["label"] = float(label["answer"] in item.gold)
    if plausible := last_payload(turns, "plausible"):
        answers = plausible["answers"]
        values["plausible"] = _mean([answers[place] for place in true])
        values["accepts_all"] = float(all(answers[place] for place in true))
        values["distractor"] = float(answers[false[0]]) if len(false) == 1 else None
    if relabel := last_payload(turns, "relabel"):
        labels = [(relabel["answers"][place], item.candidates[place].label) for place in true]
        values["relabel"] = _mean([answer == label for answer, label in labels])
    metrics = ("plausible", "relabel") if item.task == "evaluate" else tuple(values)
    return {name: values[name] for name in metrics if name in values}


def _annotation_values(item: AnnotateItem, turns: Sequence[Turn]) -> Values:
    form = last_payload(turns, "annotate")
    if not form:
        return {}
    labels, valid = frozenset(form["labels"]), not form["discard"]
    return {
        "exact": float(labels == item.example.labels) if item.example.labels and valid else None,
        "ambiguous": float(len(labels) > 1) if valid else None,
        "discarded": float(form["discard"] is not None),
    }


def _generation_values(item: GenerateItem, turns: Sequence[Turn]) -> Values:
    payload = last_payload(turns, "generate")
    original, gold = item.example.sentence(item.side), gold_rewrites(item.example, item.side)
    parsed = {"edit_f1": "rewrites", "edit_f1_robust": "robust"} if payload else {}
    return {metric: item_edit_f1(original, gold, payload[name]) for metric, name in parsed.items()}


def _true_false(turns: Sequence[Turn]) -> Values:
    statements = payloads(turns, "true_false")
    by_template: dict[int, list[bool]] = {}
    by_rewrite: dict[str, list[bool]] = {}
    for payload in statements:
        correct = payload["prediction"] == payload["answer"]
        by_template.setdefault(payload["template"], []).append(correct)
        by_rewrite.setdefault(payload["rewrite"], []).append(correct)
    return {
        "accuracy": _mean([correct for group in by_template.values() for correct in group]),
        **{f"accuracy_{template}": _mean(by_template[template]) for template in sorted(by_template)},
        "all_right": _mean([all(group) for group in by_rewrite.values()]),
        "null": _mean([payload["prediction"] is None for payload in statements]),
    }


def _nli(item: NliItem, turns: Sequence[Turn]) -> Values:
    pairs = payloads(turns, "nli")
    predicted = {payload["pair"]: frozenset(payload["prediction"]) for payload in pairs}
    right = [predicted.get(place) == labels for place, labels in enumerate(item.gold)]
    # Imported files may contain predictions for original pairs only.
    complete = all(payload.get("readings", True) for payload in pairs)
    return {"exact": float(right[0]), "group_exact": float(all(right)) if complete else None}


def _mean(values: Sequence[bool]) -> float | None:
    return fmean(map(float, values)) if values else None
