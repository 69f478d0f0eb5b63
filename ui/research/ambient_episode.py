"""One episode of AmbiEnt with everything: what was shown and answered, what is right, how it was read."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from logs import LogReader
from logs.rows import Turn
from simulator.ambient.annotation.rules import read_annotation
from simulator.ambient.continuations import histogram, log_odds
from simulator.ambient.generation import edit_f1, gold_rewrites
from simulator.ambient.items import (
    AnnotateItem,
    ClaimItem,
    ContinueItem,
    CrowdItem,
    GenerateItem,
    Item,
    NliItem,
    TrueFalseItem,
    item_from_row,
)
from simulator.ambient.labels import Label
from simulator.ambient.playing import ANNOTATOR, statements
from simulator.ambient.prompts import prompt
from simulator.ambient.score import values
from simulator.ambient.show import SHOWN
from simulator.ambient.trial_log import continuation_record, payloads, sampled_options
from simulator.ambient.true_false import TEMPLATES
from simulator.word_diff import Piece, word_diff
from ui.i18n import Strings
from ui.research.ambient_words import ordered, reading, readings
from ui.research.figures import Figure
from ui.research.view import Episode, Visit

Shown = dict[str, Any]
_SAMPLES: Final = 8
_FEW: Final = 6
_COLOURS: Final = ("--ab-accent", "--ab-gold", "--ab-line-strong", "--ab-clay")


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A label's rewrite: the dataset's, and what was read out of the generation.

    Attributes:
        gold: against the original; empty if the dataset has none.
        predicted: against the dataset's rewrite, or the original where there is none; empty without one.
        score: EDIT-F1 of this label; None where the dataset has none.
    """

    label: Label
    gold: Sequence[Piece]
    predicted: Sequence[Piece]
    score: float | None


def reading_episode(visit: Visit, reader: LogReader, id: str) -> Episode:
    """Return an episode for the page, and its plots."""
    episode = reader.episode(id)
    item = item_from_row(reader.item(episode.item_hash))
    turns = reader.turns(episode.id)
    ending = reader.ending(episode.id)
    figures, about = _about(visit.t, item, turns, episode.seed)
    scores = values(item, turns) if ending else {}
    shown = {
        "id": episode.id,
        "item": item,
        "task": item.task,
        "actor": episode.participant_id or episode.seats[ANNOTATOR],
        "status": ending.status if ending else "open",
        "scores": {name: value for name, value in scores.items() if value is not None},
        "turns": [_turn(turn) for turn in turns],
        "calls": reader.model_calls(episode_id=episode.id),
        "example": getattr(item, "example", None),
        **about,
    }
    return Episode("ambient_episodes", {"shown": shown}, figures)


def _about(t: Strings, item: Item, turns: Sequence[Turn], seed: int) -> tuple[Sequence[Figure], Shown]:
    match item:
        case GenerateItem():
            return (), _generated(item, turns)
        case TrueFalseItem():
            return (), _judged(item, turns)
        case ContinueItem():
            return _continued(t, item, turns, seed)
        case NliItem():
            return (), _inferred(item, turns)
        case CrowdItem():
            return (), _voted(item, turns)
        case AnnotateItem():
            return (), _annotated(item, turns)
        case ClaimItem():
            answers = payloads(turns, "claim")
            return (), {"paraphrases": answers[-1]["paraphrases"] if answers else [], "labels": SHOWN}


def _generated(item: GenerateItem, turns: Sequence[Turn]) -> Shown:
    turn = next((turn for turn in turns if turn.payload.get("kind") == "generate"), None)
    original, gold = item.example.sentence(item.side), gold_rewrites(item.example, item.side)
    payload: Mapping[str, Any] = turn.payload if turn else {}
    reference, robust = payload.get("rewrites", {}), payload.get("robust", {})
    labels = ordered([*gold, *reference, *robust])
    return {
        "original": original,
        "prompt": payload.get("prompt") or prompt(item),
        "generation": turn.text if turn else "",
        "warnings": payload.get("warnings", []),
        "rewrites": [_rewritten(label, original, gold.get(label), reference.get(label)) for label in labels],
        "robust": []
        if robust == reference
        else [_rewritten(label, original, gold.get(label), robust.get(label)) for label in labels],
    }


def _rewritten(label: Label, original: str, gold: str | None, predicted: str | None) -> Rewritten:
    score = None if gold is None else 0.0 if predicted is None else edit_f1(original, gold, predicted)
    return Rewritten(
        label,
        word_diff(original, gold) if gold is not None else (),
        word_diff(gold if gold is not None else original, predicted) if predicted is not None else (),
        score,
    )


def _judged(item: TrueFalseItem, turns: Sequence[Turn]) -> Shown:
    answers = {payload["number"]: payload for payload in payloads(turns, "true_false")}
    every = [(statement, answers.get(number)) for number, statement in enumerate(statements(item))]
    return {
        "templates": range(len(TEMPLATES)),
        "rewrites": [
            (word_diff(item.sentence, rewrite), [pair for pair in every if pair[0].rewrite == rewrite])
            for rewrite in item.rewrites
        ],
    }


def _continued(
    t: Strings, item: ContinueItem, turns: Sequence[Turn], seed: int
) -> tuple[Sequence[Figure], Shown]:
    record = continuation_record(item, turns, seed)
    sampled = sampled_options(item, turns)
    estimates = {option.name: option.kl for option in record.options}
    options = [
        {
            "name": sample.name,
            "pieces": word_diff(item.sentence, sample.sentence.removeprefix(item.stem)),
            "kl": estimates.get(sample.name),
            "left": len(log_odds(sample)),
            "samples": sample.continuations[:_SAMPLES],
        }
        for sample in sampled
    ]
    figures = (_histogram(t, sampled),) if any(log_odds(sample) for sample in sampled) else ()
    # An imported file has estimates and how many continuations they come from, not the continuations.
    drawn = any(sample.continuations for sample in sampled)
    return figures, {"options": options, "num_conts": record.num_conts, "sampled": drawn}


def _histogram(t: Strings, sampled: Sequence[Any]) -> Figure:
    bins = histogram(sampled)
    middles = [(low + high) / 2 for low, high in zip(bins.edges, bins.edges[1:], strict=False)]
    # The distractor has the last colour, whatever the number of readings.
    colours = {name: _COLOURS[-1 if name == "d" else place % 3] for place, name in enumerate(bins.counts)}
    data = [
        {
            "type": "bar",
            "name": t("research.ambient.run.distractor")
            if name == "d"
            else t("research.ambient.run.reading", k=place + 1),
            "x": middles,
            "y": list(counts),
            "marker": {"color": colours[name]},
            "hovertemplate": "%{x:.1f}: %{y}<extra>%{fullData.name}</extra>",
        }
        for place, (name, counts) in enumerate(bins.counts.items())
    ]
    most = max((count for counts in bins.counts.values() for count in counts), default=0)
    axis = {"gridcolor": "--ab-line", "linecolor": "--ab-line-strong", "automargin": True, "fixedrange": True}
    layout = {
        "barmode": "group",
        "bargap": 0.12,
        "xaxis": {
            **axis,
            "showgrid": False,
            "title": {"text": t("research.ambient.run.log_odds")},
            "zerolinecolor": "--ab-line-strong",
        },
        "yaxis": {
            **axis,
            "title": {"text": t("research.ambient.run.continuations")},
            # Counts of continuations are whole numbers.
            **({"dtick": 1} if most < _FEW else {}),
        },
        "margin": {"l": 12, "r": 12, "t": 12, "b": 12},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"color": "--ab-muted", "size": 13},
        "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 1, "xanchor": "right"},
    }
    key = "research.ambient.run.histogram"
    return Figure("log-odds", t(key), t(f"{key}_note"), {"data": data, "layout": layout}, 320, 420)


def _inferred(item: NliItem, turns: Sequence[Turn]) -> Shown:
    answers = {payload["pair"]: payload for payload in payloads(turns, "nli")}
    example = item.example
    gold = [
        example.labels,
        *(frozenset({disambiguation.label}) for disambiguation in example.disambiguations),
    ]
    made = [None, *readings(example)]
    return {
        "pairs": [
            {
                "reading": made[place],
                "gold": ordered(gold[place]),
                "predicted": ordered(answers[place]["prediction"]) if place in answers else None,
                "right": place in answers and frozenset(answers[place]["prediction"]) == gold[place],
                "logits": answers[place].get("logits") if place in answers else None,
                "threshold": answers[place].get("threshold") if place in answers else None,
            }
            for place in range(len(gold))
        ],
        "labels": SHOWN,
    }


def _voted(item: CrowdItem, turns: Sequence[Turn]) -> Shown:
    first = payloads(turns, "label")
    plausible = payloads(turns, "plausible")
    relabelled = payloads(turns, "relabel")
    return {
        "gold": ordered(item.gold),
        "label": first[-1]["answer"] if first else None,
        "comment": relabelled[-1].get("comment", "") if relabelled else "",
        "candidates": [
            {
                "label": reading.label,
                "pieces": word_diff(item.sentence, reading.sentence),
                "plausible": plausible[-1]["answers"][place] if plausible else None,
                "answer": relabelled[-1]["answers"][place] if relabelled else None,
            }
            for place, reading in enumerate(item.candidates)
        ],
    }


def _annotated(item: AnnotateItem, turns: Sequence[Turn]) -> Shown:
    answers = payloads(turns, "annotate")
    example = item.example
    shown: Shown = {"gold": ordered(example.labels), "gold_readings": readings(example), "form": None}
    if answers:
        form = read_annotation(answers[-1])
        shown |= {
            "form": form,
            "merged": bool(answers[-1].get("merged")),
            "form_labels": ordered(form.labels),
            "form_readings": [
                reading(example.premise, example.hypothesis, rewrite) for rewrite in form.rewrites
            ],
        }
    return shown


def _turn(turn: Turn) -> Shown:
    hidden = ("kind", "shown")
    shown = turn.payload.get("shown")
    rest = {name: value for name, value in turn.payload.items() if name not in hidden}
    return {
        "number": turn.number,
        "kind": turn.payload.get("kind", ""),
        "text": turn.text,
        "seconds": turn.seconds,
        "shown": json.dumps(shown, ensure_ascii=False, indent=2) if shown else "",
        "payload": json.dumps(rest, ensure_ascii=False, indent=2),
    }
