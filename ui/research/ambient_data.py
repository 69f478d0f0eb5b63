"""The examples of AmbiEnt's data: label sets as a Venn diagram, a filtered list, one with its readings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from markupsafe import Markup

from simulator.ambient.data import BUILTIN, load_guidelines, read_examples
from simulator.ambient.examples import Example, findings
from simulator.ambient.labels import CATEGORIES, LABEL_SETS, LabelSet, letters
from simulator.ambient.reporting.measures import paper
from simulator.ambient.statistics import label_sets, share
from simulator.errors import AskbackError
from simulator.figures import Venn
from ui.i18n import Strings
from ui.problems import problem_text
from ui.research.address import Address
from ui.research.ambient_words import ordered, readings, share_line
from ui.research.view import Page, Visit

MOST: Final = 300
SPLITS: Final = ("dev", "test")


def data_page(visit: Visit) -> Page:
    """Return the diagram, the list, and the example that the address names."""
    at = visit.at
    data = at.data or BUILTIN
    problem, faults = "", 0
    try:
        every, problems = read_examples(data)
        faults = len(problems)
    except AskbackError as error:
        every, problem = (), problem_text(visit.t, error)
    listed = [example for example in every if fits(example, at)]
    shown = next((example for example in every if example.id == at.item), None)
    return visit.page(
        "ambient_data",
        data=data,
        builtin=BUILTIN,
        problem=problem,
        faults=faults,
        examples=listed[:MOST],
        letters={example.id: ordered(example.labels) for example in listed[:MOST]},
        found=len(listed),
        total=len(every),
        sets=[(letters(labels), ordered(labels)) for labels in LABEL_SETS],
        kinds=[category for category in CATEGORIES if any(category in each.categories for each in every)],
        splits=[split for split in SPLITS if any(each.split == split for each in every)],
        guide=load_guidelines(visit.t.language),
        **(_example(shown) if shown else {"shown": None, **_overview(visit.t, every)}),
    )


def fits(example: Example, at: Address) -> bool:
    """Return True if an example fits the filters."""
    text = at.text.lower().strip()
    return (
        at.set in ("", letters(example.labels))
        and (not at.kind or at.kind in example.categories)
        and at.split in ("", example.split)
        and (not text or text in f"{example.premise} {example.hypothesis} {example.id}".lower())
    )


def _overview(t: Strings, every: Sequence[Example]) -> dict[str, Any]:
    annotated = [example for example in every if example.labels]
    ambiguous = [example for example in annotated if example.ambiguous]
    shares = {
        "ambiguous": share(annotated, lambda example: example.ambiguous),
        "premise": share(ambiguous, lambda example: example.premise_ambiguous),
        "hypothesis": share(ambiguous, lambda example: example.hypothesis_ambiguous),
        "both": share(ambiguous, lambda example: not example.xor),
    }
    lines = [
        share_line(name, value, f"{paper()['dataset']['shares'][name]:.1f}") for name, value in shares.items()
    ]
    venn = _venn(t, label_sets(annotated))
    return {
        "lines": lines,
        # The diagrams escape what they name themselves.
        "venns": {"light": Markup(venn.svg()), "dark": Markup(venn.svg(dark=True))},
    }


def _venn(t: Strings, counts: Mapping[LabelSet, int]) -> Venn:
    # The diagram's colours are those of the labels in this order.
    first, second, third = ("contradiction", "entailment", "neutral")
    names = (
        t(f"benchmark.ambient.labels.{first}"),
        t(f"benchmark.ambient.labels.{second}"),
        t(f"benchmark.ambient.labels.{third}"),
    )
    areas = {(first in labels, second in labels, third in labels): counts[labels] for labels in LABEL_SETS}
    return Venn("label-sets", t("research.ambient.data.venn"), names, areas)


def _example(shown: Example) -> dict[str, Any]:
    return {
        "shown": shown,
        "labels": ordered(shown.labels),
        "readings": readings(shown),
        "warnings": [finding.message for finding in findings(shown)],
        "lines": [],
        "venns": {},
    }
