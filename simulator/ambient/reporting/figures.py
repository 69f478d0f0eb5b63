"""Figures: label sets (Fig. 3), T/F bars, log-odds of one instance, label probabilities (spec 8, 12)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

from logs import LogReader
from simulator.ambient.continuations import histogram
from simulator.ambient.items import ContinueItem, NliItem
from simulator.ambient.labels import LABELS, Label, parse_labels
from simulator.ambient.nli.predict import sigmoid
from simulator.ambient.reporting.measures import Section
from simulator.ambient.trial_log import played_of, sampled_options
from simulator.ambient.true_false import TEMPLATES
from simulator.errors import InputError
from simulator.figures import Bars, Figure, Level, Panel, Venn
from simulator.stats import Interval

_CHANCE: Final = 0.5


def label_sets_venn(counts: Mapping[str, int], name: str = "") -> Venn:
    """Fig. 3: how many examples have each set of labels.

    Args:
        counts: labels in canonical order with comma and blank between -> examples.
        name: of the dataset.
    """
    sets = {parse_labels(text): count for text, count in counts.items()}
    order: tuple[Label, Label, Label] = ("entailment", "neutral", "contradiction")
    areas = {tuple(label in labels for label in order): sets.get(labels, 0) for labels in sets}
    whole = {(a, b, c): areas.get((a, b, c), 0) for a, b, c in _areas()}
    caption = f"{sum(whole.values())} examples{f' of {name}' if name else ''}; shares of all of them."
    return Venn("figure-3", "Label sets (Fig. 3)", order, whole, caption)


def templates_figure(sections: Sequence[Section]) -> Figure | None:
    """Accuracy by template, a group of bars each; None if there are no such results."""
    marks: list[Bars] = []
    for section in sections:
        if section.kind != "true_false":
            continue
        told = {
            template: value
            for place, template in enumerate(_short())
            if isinstance(value := section.measure(f"template_{place + 1}").value, Interval)
        }
        if told:
            marks.append(
                Bars(
                    section.name,
                    list(told),
                    [each.value for each in told.values()],
                    [each.reach[0] for each in told.values()],
                    [each.reach[1] for each in told.values()],
                    [each.n for each in told.values()],
                )
            )
    if not marks:
        return None
    panel = Panel("", "statement", "judged rightly", [*marks, Level(_CHANCE, "chance")])
    caption = "Share of statements judged rightly, with 95 % intervals over sentences; no answer is wrong."
    return Figure("true-false", "Statements judged rightly, by template", [panel], caption)


def log_odds_figure(reader: LogReader, runs: Sequence[str], instance: str, *, bins: int = 12) -> Figure:
    """Return how much likelier continuations of each option are after it than after the ambiguous sentence.

    Args:
        reader: of the log.
        runs: where to look.
        instance: the item's id (``12.premise``), or the example's.
        bins: of the histogram, of one width for all options.

    Raises:
        InputError: if no run has continued that instance, or its samples are not in the log.
    """
    for played in played_of(reader, runs):
        item = played.item
        if not isinstance(item, ContinueItem) or instance not in (item.id, item.example_id):
            continue
        if not any(payload["continuations"] for payload in played.payloads("continue")):
            raise InputError(f"{instance}: only estimates are in {played.episode.run_id}, no continuations")
        found = histogram(sampled_options(item, played.turns), bins=bins)
        names = [f"{low:.1f}" for low in found.edges[:-1]]
        marks = [
            Bars(_option(name, found.means[name]), names, counts, n=sum(counts))
            for name, counts in found.counts.items()
        ]
        panel = Panel("", "log-odds, lower end of the bin (nats)", "continuations", marks, y_range=None)
        caption = (
            "log P(c|option) - log P(c|ambiguous sentence) of every continuation c that was sampled from an "
            "option; its mean is the estimate of the divergence. d is the distractor."
        )
        return Figure(f"log-odds-{_file_name(item.id)}", f"Log-odds: {item.sentence}", [panel], caption)
    raise InputError(f"--instance {instance}: no run that is reported has continued it")


def probabilities_figure(reader: LogReader, runs: Sequence[str], pair: str) -> Figure:
    """Return the probabilities of the three labels for one pair, of every run that has them.

    Args:
        reader: of the log.
        runs: where to look.
        pair: the example's id, or ``ID:1`` for its first disambiguation.

    Raises:
        InputError: if no run has that pair, or none gives each label a number.
    """
    id, _, number = pair.rpartition(":") if ":" in pair else (pair, "", "0")
    if not number.isdigit():
        raise InputError(f"--pair {pair}: write ID, or ID:1 for its first disambiguation")
    marks: dict[str, Bars] = {}
    texts: tuple[str, str] | None = None
    for played in played_of(reader, runs):
        item = played.item
        if not isinstance(item, NliItem) or item.example.id != id or int(number) >= len(item.pairs):
            continue
        payload: Any = next((one for one in played.payloads("nli") if one["pair"] == int(number)), None)
        logits = payload["logits"] if payload else None
        if logits and set(logits) == set(LABELS):
            name = played.annotator
            marks[name] = Bars(name, LABELS, [sigmoid(logits[label]) for label in LABELS])
            texts = item.pairs[int(number)]
    if texts is None:
        raise InputError(f"--pair {pair}: no run that is reported gives a number for each of its labels")
    panel = Panel("", "label", "probability (sigmoid of the logit)", list(marks.values()))
    caption = f"Premise: {texts[0]} Hypothesis: {texts[1]}"
    return Figure(f"labels-{_file_name(pair)}", "Probability of each label", [panel], caption)


def _areas() -> list[tuple[bool, bool, bool]]:
    every = [(a, b, c) for a in (True, False) for b in (True, False) for c in (True, False)]
    return [area for area in every if any(area)]


def _short() -> list[str]:
    phrases = (one.format(a="", d="").strip().rstrip(":") for one in TEMPLATES)
    return [f"{place}: {phrase}" for place, phrase in enumerate(phrases, start=1)]


def _option(name: str, mean: float | None) -> str:
    return name if mean is None or not math.isfinite(mean) else f"{name} (mean {mean:.2f})"


def _file_name(id: str) -> str:
    return "".join(sign if sign.isalnum() else "_" for sign in id)
