"""Figures: annotation flow (Fig. 2), label sets (Fig. 3), T/F bars, log-odds, label probabilities (8, 12)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import chain, product
from pathlib import Path
from statistics import fmean
from typing import Any, Final, NamedTuple

import numpy as np
from scipy.special import expit

from logs import LogReader
from simulator.ambient.continuations import SampledOption, log_odds
from simulator.ambient.items import ContinueItem, NliItem
from simulator.ambient.labels import LABELS, SHOWN, parse_labels
from simulator.ambient.playing import ANNOTATOR
from simulator.ambient.reporting.answers import template_phrases
from simulator.ambient.reporting.measures import Results
from simulator.ambient.trial_log import payloads, played_of, sampled_options
from simulator.errors import InputError
from simulator.figures import Bars, Figure, Level, Panel, Table, Venn
from simulator.figures.files import PAGE
from simulator.figures.look import LIGHT, print_font
from simulator.figures.printed import save_picture, svg_text
from simulator.stats import Interval

_BINS: Final = 12
_CHANCE: Final = 0.5
_BOX: Final = (170, 90)
"""Width and height of a box of Fig. 2, which is 800 wide and 300 high."""


def label_sets_venn(counts: Mapping[str, int], name: str = "") -> Venn:
    """Return Fig. 3: the number of examples with each label set (by its text, as in `parse_labels`)."""
    sets = {parse_labels(text): count for text, count in counts.items()}
    areas = {tuple(label in labels for label in SHOWN): count for labels, count in sets.items()}
    combinations = (area for area in product((True, False), repeat=3) if any(area))
    complete = {(a, b, c): areas.get((a, b, c), 0) for a, b, c in combinations}
    caption = f"{sum(complete.values())} examples{f' of {name}' if name else ''}; shares of all of them."
    return Venn("figure-3", "Label sets (Fig. 3)", SHOWN, complete, caption)


def templates_figure(results: Iterable[Results]) -> Figure | None:
    """Return accuracy by template, with a group of bars per result; None without true-false results."""
    marks: list[Bars] = []
    for result in results:
        if result.kind != "true_false":
            continue
        values = {
            f"{place}: {phrase}": value
            for place, phrase in enumerate(template_phrases(), start=1)
            if isinstance(value := result.measure(f"template_{place}").value, Interval)
        }
        if values:
            marks.append(Bars.from_intervals(result.name, values.items()))
    if not marks:
        return None
    panel = Panel("", "statement", "judged rightly", [*marks, Level(_CHANCE, "chance")])
    caption = "Share of statements judged rightly, with 95 % intervals over sentences; no answer is wrong."
    return Figure("true-false", "Statements judged rightly, by template", [panel], caption)


def log_odds_figure(reader: LogReader, runs: Sequence[str], instance: str) -> Figure:
    """Return histograms of each option's log-odds: after the option against after the ambiguous sentence.

    `instance`: the item's id (``12.premise``) or the example's.

    Raises:
        InputError: if no run has continued that instance, or its samples are not in the log.
    """
    for played in played_of(reader, runs):
        item = played.item
        if not isinstance(item, ContinueItem) or instance not in (item.id, item.example_id):
            continue
        if not any(payload["continuations"] for payload in payloads(played.turns, "continue")):
            raise InputError(f"{instance}: {played.episode.run_id} has only estimates, no continuations")
        marks = log_odds_bars(sampled_options(item, played.turns))
        panel = Panel("", "log-odds, lower end of the bin (nats)", "continuations", marks, y_range=None)
        caption = (
            "log P(c|option) - log P(c|ambiguous sentence) of every continuation c that was sampled from an "
            "option; its mean is the estimate of the divergence. d is the distractor."
        )
        return Figure(f"log-odds-{_file_name(item.id)}", f"Log-odds: {item.sentence}", [panel], caption)
    raise InputError(f"--instance {instance}: no run of the report has continued it")


def log_odds_bars(options: Sequence[SampledOption], bins: int = _BINS) -> list[Bars]:
    """Return histograms of each option's log-odds with shared bins, the last of which is closed."""
    odds = {option.name: log_odds(option) for option in options}
    edges = np.histogram_bin_edges([*chain.from_iterable(odds.values())] or [0.0], bins)
    lower = [f"{low:.1f}" for low in edges[:-1]]
    titles = {name: f"{name} (mean {fmean(values):.2f})" if values else name for name, values in odds.items()}
    return [
        Bars(titles[name], lower, np.histogram(values, edges)[0].tolist(), n=len(values))
        for name, values in odds.items()
    ]


def probabilities_figure(reader: LogReader, runs: Sequence[str], pair: str) -> Figure:
    """Return the probabilities of the three labels for one pair, from each run that has them.

    `pair`: the example's id, or ``ID:1`` for its first disambiguation.

    Raises:
        InputError: if no run has logits of all labels for that pair.
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
        payload: Any = next(
            (each for each in payloads(played.turns, "nli") if each["pair"] == int(number)), None
        )
        logits = payload["logits"] if payload else None
        if logits and set(logits) == set(LABELS):
            name = played.occupant(ANNOTATOR)
            marks[name] = Bars(name, LABELS, expit([logits[label] for label in LABELS]).tolist())
            texts = item.pairs[int(number)]
    if texts is None:
        raise InputError(f"--pair {pair}: no run of the report has logits of all labels for it")
    panel = Panel("", "label", "probability (sigmoid of the logit)", list(marks.values()))
    caption = f"Premise: {texts[0]} Hypothesis: {texts[1]}"
    return Figure(f"labels-{_file_name(pair)}", "Probability of each label", [panel], caption)


def _file_name(id: str) -> str:
    return "".join(sign if sign.isalnum() else "_" for sign in id)


# ---- Fig. 2


class Box(NamedTuple):
    """A box of the diagram: its name, its number, and the position of its centre."""

    name: str
    number: int
    x: int
    y: int
    last: bool = False


@dataclass(frozen=True, slots=True)
class FlowDiagram:
    """The flow of examples through annotation and validation, with counts (Fig. 2)."""

    flow: Mapping[str, int]
    run: str = ""
    name: str = "figure-2"
    title: str = "Annotation flow (Fig. 2)"

    @property
    def caption(self) -> str:
        """The counts in a sentence."""
        return (
            "{run}: {generated} examples, {annotated} annotated, {dropped} discarded by a linguist, "
            "{due} waiting for a validator, {discuss} in discussion, {discarded} discarded by a validator, "
            "{validated} validated"
        ).format(run=self.run, **self.flow)

    def boxes(self) -> tuple[Box, ...]:
        """Return the boxes: above, the stages of an example that is kept; below, where others end."""
        flow = self.flow
        return (
            Box("generated", flow["generated"], 100, 60),
            Box("annotated", flow["annotated"], 300, 60),
            Box("due or in discussion", flow["due"] + flow["discuss"], 500, 60),
            Box("validated", flow["validated"], 700, 60, True),
            Box("not annotated yet", flow["generated"] - flow["annotated"], 100, 240),
            Box("discarded by a linguist", flow["dropped"], 300, 240),
            Box("discarded by a validator", flow["discarded"], 500, 240),
        )

    def plain(self) -> Mapping[str, int]:
        """Return the counts."""
        return self.flow

    def svg(self) -> str:
        """Return the diagram as an SVG element for a page."""
        wide, high = _BOX
        parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="17cm" height="6.375cm" viewBox="0 0 800 300" '
            f'role="img" font-family="{print_font(chinese=False)}"><title>{escape(self.title)}</title>'
            f"<desc>{escape(self.caption)}</desc>"
        ]
        boxes = self.boxes()
        for box in boxes:
            tint = LIGHT.colour("teal" if box.last else "blue" if box.y < high else "clay")
            parts += [
                f'<rect x="{box.x - wide / 2:g}" y="{box.y - high / 2:g}" width="{wide}" height="{high}" '
                f'rx="8" fill="{tint}" fill-opacity=".15" stroke="{tint}" stroke-width="2"/>',
                svg_text(box.x, box.y, str(box.number), LIGHT.ink, 26, bold=True),
                svg_text(box.x, box.y + 28, box.name, LIGHT.muted, 13),
            ]
        right = (f"M{box.x + wide / 2:g},{box.y}h26m-9,-4l9,4l-9,4" for box in boxes[:3])
        down = (f"M{box.x},{box.y + high / 2:g}v86m-4,-9l4,9l4,-9" for box in boxes[:3])
        arrows = "".join([*right, *down])
        return "".join(
            [*parts, f'<path d="{arrows}" fill="none" stroke="{LIGHT.muted}" stroke-width="1.5"/></svg>']
        )

    def save(self, path: Path) -> Path:
        """Write the diagram as ``.svg``, ``.png`` (300 dpi) or ``.csv``, by the path's suffix.

        Raises:
            InputError: if the suffix is another one or the file cannot be written.
        """
        counts = Table(["stage", "examples"], [[stage, count] for stage, count in self.plain().items()])
        return save_picture(path, self.svg(), counts.to_csv(), PAGE, self.caption)
