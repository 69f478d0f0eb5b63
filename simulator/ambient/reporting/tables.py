"""Tables of several models side by side: 4, 9 and 10 of the paper, and crowdworkers' votes (spec 12)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from simulator.ambient.data import load_guidelines
from simulator.ambient.labels import CATEGORIES, Category
from simulator.ambient.reporting.measures import Measure, Section, half_up, shown_value
from simulator.ambient.reporting.model_sections import CHANCE
from simulator.ambient.reporting.paper import paper
from simulator.ambient.true_false import TEMPLATES
from simulator.figures import Cell, Column, Table
from simulator.stats import Interval

COPY: Final = "repeats the sentence"
_TESTS: Final[Mapping[str, tuple[str, str]]] = {
    # heading -> kind of section, key of the measure; of people's judgments the model stands in the key
    "EDIT-F1": ("generation", "edit_f1"),
    "correct": ("evaluation", ""),
    "T/F acc.": ("true_false", "accuracy"),
    "KL rank.": ("continuation", "accuracy"),
}
_TEMPLATES: Final = (*(f"template_{place + 1}" for place in range(len(TEMPLATES))), "accuracy")
_CROWD: Final[Mapping[str, str]] = {
    "kappa_original": "κ original",
    "kappa_disambiguated": "κ rewritten",
    "true_plausible": "readings, %",
    "distractor_plausible": "distractors, %",
    "accepts_all": "accept all, %",
    "agreement": "agree, %",
}


@dataclass(frozen=True, slots=True)
class Wide:
    """A table as people read it, and with all digits and intervals."""

    shown: Table
    exact: Table


def table_4(sections: Sequence[Section]) -> Wide | None:
    """Return the tests of language models, a row each, with the baselines; None if there are no results."""
    found = _by_model(sections)
    if not found:
        return None
    heads = [head for head in _TESTS if any(head in some for some in found.values())]
    chance = {key: _baseline(sections, "continuation", key) for key in ("random_examples", "random")}
    baselines: dict[str, dict[str, float | None]] = {
        COPY: {"EDIT-F1": _baseline(sections, "generation", "copy")},
        "chance": {"T/F acc.": CHANCE["true_false"], "KL rank.": chance["random_examples"]},
        "chance by instance": {"KL rank.": chance["random"]},
    }
    kept = {
        name: values
        for name, values in baselines.items()
        if any(values.get(head) is not None for head in heads)
    }
    return Wide(_shown_4(found, kept, heads), _exact_4(found, kept, heads))


def table_10(sections: Sequence[Section]) -> Wide | None:
    """Accuracy by template, models and people side by side; None if there are no such results."""
    chosen = [section for section in sections if section.kind == "true_false"]
    if not chosen:
        return None
    heads = ["model", *(str(place + 1) for place in range(len(TEMPLATES))), "average", "n"]
    shown: list[list[Cell]] = []
    exact: list[list[Cell]] = []
    for one in chosen:
        measures = [one.measure(key) for key in _TEMPLATES]
        own: list[Cell] = [shown_value(each) for each in measures]
        shown.append([one.name, *own, one.rows])
        exact.append([one.name, *(each.told for each in measures), one.rows])
        if any(each.paper is not None for each in measures):
            shown.append(["  in the paper", *(_printed(each) for each in measures), None])
    shown.append(["chance", *(half_up(100 * CHANCE["true_false"]) for _ in _TEMPLATES), None])
    title = "Table 10: statements judged rightly, in %, by template"
    columns: list[Column | str] = [*heads[:-1], Column("n", 0)]
    return Wide(Table(columns, shown, title), Table([Column(head, 4) for head in heads], exact, title))


def crowd_table(sections: Sequence[Section]) -> Wide | None:
    """Crowdworkers' votes of several files and runs, with the paper's; None if there are none."""
    chosen = [section for section in sections if section.kind == "crowd"]
    if not chosen:
        return None
    printed = paper()["crowd"]
    shown: list[list[Cell]] = [
        [one.name, *(shown_value(one.measure(key)) for key in _CROWD), str(one.rows)] for one in chosen
    ]
    digits = {key: 2 if key.startswith("kappa") else 1 for key in _CROWD}
    shown.append(["in the paper", *(half_up(printed[key], digits[key]) for key in _CROWD), ""])
    exact: list[list[Cell]] = [
        [one.name, *(one.measure(key).told for key in _CROWD), one.rows] for one in chosen
    ]
    title = "Crowdworkers' votes"
    heads: list[Column | str] = ["votes", *_CROWD.values(), "rows"]
    names: list[Column | str] = ["votes", *_CROWD, "rows"]
    # Turned, a measure a row, it fits beside any number of runs.
    return Wide(_turned(heads, shown, title), Table(names, exact, title))


def table_9(shares: Mapping[Category, Measure]) -> Table:
    """Return what the kinds of ambiguity are; `shares` of each, if some rows have been annotated."""
    definitions = load_guidelines().categories
    rows: list[list[Cell]] = [
        [
            definitions[kind].name,
            definitions[kind].definition,
            definitions[kind].example,
            shown_value(shares[kind]) if kind in shares else None,
        ]
        for kind in CATEGORIES
    ]
    return Table(["kind", "what it is", "example", "%"], rows, "Table 9: kinds of ambiguity")


def _by_model(sections: Sequence[Section]) -> dict[str, dict[str, Measure]]:
    measures: dict[str, dict[str, Measure]] = {}
    for head, (kind, key) in _TESTS.items():
        for section in sections:
            if section.kind != kind:
                continue
            if kind == "evaluation":
                for measure in section.measures:
                    measures.setdefault(measure.key.partition(".")[2], {})[head] = measure
            else:
                measures.setdefault(section.name, {})[head] = section.measure(key)
    return measures


def _baseline(sections: Sequence[Section], kind: str, key: str) -> float | None:
    """Return a baseline depends on the items alone; of several sets of items the largest counts."""
    told = (section.measure(key).value for section in sections if section.kind == kind)
    known = [one for one in told if isinstance(one, Interval)]
    return max(known, key=lambda one: one.n).value if known else None


def _shown_4(
    measures: Mapping[str, Mapping[str, Measure]],
    baselines: Mapping[str, Mapping[str, float | None]],
    heads: Sequence[str],
) -> Table:
    known = [name for name, some in measures.items() if any(one.paper is not None for one in some.values())]
    rows: list[list[Cell]] = []
    for name, some in measures.items():
        own: list[Cell] = [shown_value(some[head]) if head in some else "" for head in heads]
        said = "/".join(_printed(some.get(head)) for head in heads) if name in known else ""
        rows.append([name, *own, said][: len(heads) + 1 + bool(known)])
    for name, values in baselines.items():
        cells: list[Cell] = [
            "" if values.get(head) is None else half_up(100 * (values[head] or 0.0)) for head in heads
        ]
        rows.append([name, *cells, ""][: len(heads) + 1 + bool(known)])
    columns = ["model", *heads, *(["paper"] if known else [])]
    return Table(columns, rows, "Table 4: tests of language models, in %")


def _exact_4(
    measures: Mapping[str, Mapping[str, Measure]],
    baselines: Mapping[str, Mapping[str, float | None]],
    heads: Sequence[str],
) -> Table:
    rows: list[list[Cell]] = []
    for name, some in measures.items():
        values: list[Cell] = [some[head].told if head in some else None for head in heads]
        papers: list[Cell] = [some[head].paper if head in some else None for head in heads]
        rows.append([name, *values, *papers])
    for name, plain in baselines.items():
        cells: list[Cell] = [
            None if plain.get(head) is None else 100 * (plain[head] or 0.0) for head in heads
        ]
        rows.append([name, *cells, *(None for _ in heads)])
    columns = [*heads, *(f"paper {head}" for head in heads)]
    return Table(["model", *(Column(column, 4) for column in columns)], rows, "Table 4")


def _printed(measure: Measure | None) -> str:
    return "–" if measure is None or measure.paper is None else half_up(measure.paper)


def _turned(heads: Sequence[Column | str], rows: Sequence[Sequence[Cell]], title: str) -> Table:
    names = [head.name if isinstance(head, Column) else head for head in heads]
    turned: list[list[Cell]] = [[name, *(row[place] for row in rows)] for place, name in enumerate(names)]
    return Table(["", *(str(row[0]) for row in rows)], turned[1:], title)
