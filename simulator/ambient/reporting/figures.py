"""Figures: annotation flow (Fig. 2), label sets (Fig. 3), T/F bars, log-odds, label probabilities (8, 12)."""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise, product
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
from simulator.figures.look import LIGHT
from simulator.output_files import write_atomically
from simulator.stats import Interval

_BINS: Final = 12
_CHANCE: Final = 0.5
_HEIGHT: Final = 3.0
_WIDTH: Final = 8.0
_BOX: Final = (1.7, 0.9)


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
    x: float
    y: float
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
            Box("generated", flow["generated"], 1.0, 2.4),
            Box("annotated", flow["annotated"], 3.0, 2.4),
            Box("due or in discussion", flow["due"] + flow["discuss"], 5.0, 2.4),
            Box("validated", flow["validated"], 7.0, 2.4, True),
            Box("not annotated yet", flow["generated"] - flow["annotated"], 1.0, 0.6),
            Box("discarded by a linguist", flow["dropped"], 3.0, 0.6),
            Box("discarded by a validator", flow["discarded"], 5.0, 0.6),
        )

    def plain(self) -> Mapping[str, int]:
        """Return the counts."""
        return self.flow

    def svg(self) -> str:
        """Return the diagram as an SVG element for a page."""
        text = self._draw("svg").decode()
        return text[text.index("<svg") :]

    def save(self, path: Path) -> Path:
        """Write the diagram as ``.svg``, ``.png`` (300 dpi) or ``.csv``, by the path's suffix.

        Raises:
            InputError: if the suffix is another one or the file cannot be written.
        """
        if path.suffix == ".csv":
            counts = Table(["stage", "examples"], [[stage, count] for stage, count in self.plain().items()])
            return write_atomically(path, counts.to_csv())
        if path.suffix not in (".svg", ".png"):
            raise InputError(f"{path}: the name of the diagram must end in .svg, .png or .csv")
        return write_atomically(path, self._draw(path.suffix[1:]))

    def _draw(self, form: str) -> bytes:
        # matplotlib takes most of a second to import.
        import matplotlib
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure as Drawing
        from matplotlib.patches import FancyBboxPatch

        from simulator.figures.printed import DPI, INCH

        inches = PAGE / INCH
        drawing = Drawing(figsize=(inches, inches * _HEIGHT / _WIDTH), dpi=DPI)
        FigureCanvasAgg(drawing)
        axes: Any = drawing.add_axes((0, 0, 1, 1))
        axes.set_xlim(0, _WIDTH)
        axes.set_ylim(0, _HEIGHT)
        axes.set_axis_off()
        scale, boxes = inches * 72 / _WIDTH, self.boxes()
        number = {"ha": "center", "fontsize": 0.26 * scale, "color": LIGHT.ink, "weight": "bold"}
        name = {"ha": "center", "fontsize": 0.125 * scale, "color": LIGHT.muted}
        shape: dict[str, Any] = {"boxstyle": "round,pad=0,rounding_size=0.08"}
        for box in boxes:
            tint = LIGHT.colour("teal" if box.last else "blue" if box.y > 1 else "clay")
            corner = (box.x - _BOX[0] / 2, box.y - _BOX[1] / 2)
            axes.add_patch(FancyBboxPatch(corner, *_BOX, **shape, facecolor=tint, alpha=0.15, linewidth=0))
            axes.add_patch(FancyBboxPatch(corner, *_BOX, **shape, fill=False, edgecolor=tint))
            axes.text(box.x, box.y + 0.02, str(box.number), **number)
            axes.text(box.x, box.y - 0.28, box.name, **name)
        arrow = {"arrowstyle": "-|>", "color": LIGHT.muted, "shrinkA": 0, "shrinkB": 0}
        above, below = boxes[:4], boxes[4:]
        for box, after in pairwise(above):
            ends = ((after.x - _BOX[0] / 2, after.y), (box.x + _BOX[0] / 2, box.y))
            axes.annotate("", *ends, arrowprops=arrow)
        for box, under in zip(above, below, strict=False):
            ends = ((under.x, under.y + _BOX[1] / 2), (box.x, box.y - _BOX[1] / 2))
            axes.annotate("", *ends, arrowprops=arrow)
        out = io.BytesIO()
        # No date and a fixed salt, so that equal counts give equal bytes.
        metadata: dict[str, Any] = {"Date": None} if form == "svg" else {}
        with matplotlib.rc_context({"svg.hashsalt": "askback", "svg.fonttype": "none"}):
            drawing.savefig(out, format=form, facecolor=LIGHT.ground, metadata=metadata)
        return out.getvalue()
