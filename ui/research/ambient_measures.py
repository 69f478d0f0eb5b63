"""What a run of AmbiEnt comes to, task by task: measures with intervals and n, the paper's beside."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from logs import LogReader
from simulator.ambient.annotation.linguists import linguist_measures
from simulator.ambient.claims import claim_measures
from simulator.ambient.continuations import continuation_measures
from simulator.ambient.crowd import crowd_measures
from simulator.ambient.generation import generation_measures
from simulator.ambient.items import Task
from simulator.ambient.labels import LABELS
from simulator.ambient.nli.metrics import nli_measures
from simulator.ambient.nli.table import paper_rows
from simulator.ambient.prepare import evaluation_measures
from simulator.ambient.reporting.measures import paper
from simulator.ambient.trial_log import (
    claim_records,
    continuation_records,
    crowd_records,
    generation_records,
    linguist_records,
    nli_records,
    true_false_records,
)
from simulator.ambient.true_false import true_false_measures
from simulator.stats import Interval
from ui.research.ambient_words import Line, kappa_line, share_line

_CROWD: Final = (
    *("agreement", "kappa_disambiguated", "true_plausible", "distractor_plausible", "accepts_all"),
    *("kappa_original", "alpha_disambiguated", "alpha_original"),
)
"""Those that stand on top first."""


@dataclass(frozen=True, slots=True)
class Part:
    """What one task of a run comes to.

    Attributes:
        counts: what else is counted: denominators, and what has no answer.
        models: of an evaluation: the model whose rewrites a line is about, by the line's name.
    """

    task: Task
    lines: tuple[Line, ...]
    counts: Mapping[str, int]
    models: Mapping[str, str] = field(default_factory=dict)


def parts(reader: LogReader, run: str, tasks: Sequence[Task], actor: str) -> tuple[Part, ...]:
    """Return what a run comes to so far; a task in which nothing has ended is left out.

    Args:
        reader: of the log.
        run: its name.
        tasks: of its items.
        actor: who sat there, for the paper's figure of the same model.
    """
    made = (_MAKERS[task](reader, run, actor) for task in tasks)
    return tuple(part for part in made if part is not None)


def printed(key: str, actor: str, place: int | None = None) -> str:
    """Return what the paper prints of this model, if it is there, else the range over its models."""
    models = [model for model in paper()["models"] if key in model]
    values = {model["file"]: model[key] if place is None else model[key][place] for model in models}
    return _own_or_range(values, actor)


def _spread(actor: str, key: str) -> str:
    """Return what `printed` does, of models of inference: means over seeds."""
    spreads = {row.folder: getattr(row, key) for row in paper_rows()}
    return _own_or_range({name: spread.mean for name, spread in spreads.items() if spread is not None}, actor)


def _own_or_range(values: Mapping[str, float], actor: str) -> str:
    own = values.get(actor.rpartition("/")[2].lower())
    if own is not None:
        return f"{own:.1f}"
    return f"{min(values.values()):.1f}–{max(values.values()):.1f}" if values else ""


def _generate(reader: LogReader, run: str, actor: str) -> Part | None:
    records = generation_records(reader, [run])
    if not records:
        return None
    measures = generation_measures(records)
    patterns = measures.patterns
    lines = (
        share_line("edit_f1", measures.edit_f1, printed("edit_f1", actor)),
        share_line("edit_f1_robust", measures.robust),
        share_line("empty_rows", patterns["empty"]),
        share_line("copied", patterns["copied"]),
        share_line("restated", patterns["restated"]),
    )
    counts = {
        "items": measures.items,
        "unparsable": measures.unparsable,
        "empty": measures.empty,
        "null": measures.null,
    }
    return Part("generate", lines, {**counts, "warnings": sum(measures.warnings.values())})


def _true_false(reader: LogReader, run: str, actor: str) -> Part | None:
    records = true_false_records(reader, [run])
    if not records:
        return None
    measures = true_false_measures(records)
    lines = (
        share_line("accuracy", measures.accuracy, printed("true_false", actor)),
        *(
            share_line(f"template_{place}", value, printed("templates", actor, place))
            for place, value in enumerate(measures.by_template)
        ),
        share_line("all_four", measures.all_four),
        share_line("inconsistent", measures.inconsistent),
        share_line("mass", measures.mass),
        share_line("answered", measures.answered),
    )
    first, second = measures.self_contradictions
    counts = {"statements": measures.statements, "null": measures.null, "contradictions": first + second}
    return Part("true_false", lines, {**counts, "incomplete": measures.incomplete})


def _continue(reader: LogReader, run: str, actor: str) -> Part | None:
    records = continuation_records(reader, [run])
    if not records:
        return None
    measures = continuation_measures(records)
    lines = (
        share_line("ranking", measures.accuracy, printed("ranking", actor)),
        # The paper's chance is counted by example, which takes the dataset: `askback report` has it.
        share_line("random", measures.random),
    )
    counts = {"instances": measures.instances, "missing": len(measures.missing), "tied": len(measures.tied)}
    least = measures.num_conts[0] if measures.num_conts else 0
    return Part("continue", lines, {**counts, "least_continuations": least})


def _nli(reader: LogReader, run: str, actor: str) -> Part | None:
    records = nli_records(reader, [run])
    if not records:
        return None
    measures = nli_measures(records)
    lines = (
        share_line("em", measures.em, _spread(actor, "em")),
        share_line("f1", measures.f1, _spread(actor, "f1")),
        share_line("group_em", measures.group_em, _spread(actor, "group_em")),
        *(share_line(f"f1_{label}", measures.f1_by_label[label]) for label in LABELS),
    )
    return Part("nli", lines, {"items": measures.n, "empty_sets": measures.empty})


def _crowd(reader: LogReader, run: str, actor: str) -> Part | None:
    records = [crowd_record for crowd_record in crowd_records(reader, [run]) if not crowd_record.origin]
    if not records:
        return None
    measures = crowd_measures(records)
    published: Mapping[str, Any] = paper()["crowd"]
    lines = tuple(_crowd_line(name, getattr(measures, name), published.get(name)) for name in _CROWD)
    votes = sum(size * rows for size, rows in measures.workers.items())
    counts = {
        "rows": measures.rows,
        "votes": votes,
        "readings": measures.readings,
        "left_out": measures.left_out,
    }
    return Part("crowd", lines, {**counts, "three_readings": measures.three_readings})


def _evaluate(reader: LogReader, run: str, actor: str) -> Part | None:
    records = [crowd_record for crowd_record in crowd_records(reader, [run]) if crowd_record.origin]
    if not records:
        return None
    measures = evaluation_measures(records)
    lines = tuple(
        share_line(name, measured.correct, printed("correct", name)) for name, measured in measures.items()
    )
    counts = {
        "rows": len(records),
        "few": sum(measured.few for measured in measures.values()),
        "without_votes": sum(measured.without_votes for measured in measures.values()),
    }
    return Part("evaluate", lines, counts, {name: name for name in measures})


def _annotate(reader: LogReader, run: str, actor: str) -> Part | None:
    records = linguist_records(reader, [run])
    if not records:
        return None
    measures = linguist_measures(records)
    two = measures.two
    lines = (
        *(kappa_line(label, two[label]) for label in LABELS),
        kappa_line("whole", two["whole"]),
        kappa_line("several", two["several"]),
        kappa_line("alpha", measures.alpha),
        share_line("identical", two["identical"]),
        share_line("ambiguous", measures.ambiguous),
    )
    counts = {"rows": measures.rows, "discarded": measures.discarded, "workers": measures.workers}
    return Part("annotate", lines, counts)


def _claim(reader: LogReader, run: str, actor: str) -> Part | None:
    records = claim_records(reader, [run])
    if not records:
        return None
    measures = claim_measures(records)
    lines = tuple(
        share_line(name, getattr(measures, name), f"{paper()['claims'][name]:.1f}")
        for name in ("precision", "recall")
    )
    counts = {
        "claims": len(records),
        "marked": measures.n,
        "flagged": measures.flagged,
        "unscored": measures.unscored,
    }
    return Part("claim", lines, counts)


def _crowd_line(name: str, value: Interval | None, printed: float | None) -> Line:
    beyond_chance = name.startswith(("kappa", "alpha"))
    published = _number(printed, 2 if beyond_chance else 1)
    return kappa_line(name, value, published) if beyond_chance else share_line(name, value, published)


def _number(value: float | None, digits: int) -> str:
    return "" if value is None else f"{value:.{digits}f}"


_MAKERS: Final[Mapping[Task, Callable[[LogReader, str, str], Part | None]]] = {
    "crowd": _crowd,
    "evaluate": _evaluate,
    "annotate": _annotate,
    "generate": _generate,
    "true_false": _true_false,
    "continue": _continue,
    "nli": _nli,
    "claim": _claim,
}
