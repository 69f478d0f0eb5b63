"""The tables and curves of a run (the paper's Tables I to V and Fig. 4)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Final, TypeVar

from logs import LogReader
from simulator.clarq.reporting.agreement import PairOfJudges, judge_agreement
from simulator.clarq.reporting.figures import dialogue_figures
from simulator.clarq.score import Scored, score_run, success_by_responses
from simulator.figures import Cell, Column, Figure, Table
from simulator.frames import Frames
from simulator.reporting import Section, slug
from simulator.runner.logged import endings_of_runs
from simulator.stats import Interval, bootstrap_mean, share
from trees import Language
from trees.model import task_type

LabelT = TypeVar("LabelT", bound=str)


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Everything that is told of a run.

    Attributes:
        by_type: one row per task type and language, in their order.
        curve: language -> share of dialogues that had succeeded within 1, 2, … responses (Fig. 4).
        statuses: how many episodes ended how; ``open`` for those that have not, ``erased`` for those of
            people who have withdrawn, which count nowhere else.
        unscored: episodes without scores (failed, open, erased; aborted where they do not count).
        decided_by: whose verdict S is (``rule``, ``judges``, ``people``) -> of how many dialogues.
        judges: how far every two reviewers and judges agree on success.
    """

    run_id: str
    by_language: tuple[Row, ...]
    by_type: tuple[Row, ...]
    curve: dict[Language, tuple[float, ...]] = field(default_factory=dict)
    statuses: Mapping[str, int] = field(default_factory=dict)
    unscored: int = 0
    decided_by: Mapping[str, int] = field(default_factory=dict)
    judges: tuple[PairOfJudges, ...] = ()


def report(
    reader: LogReader, run_id: str, scored: Sequence[Scored] | None = None, *, exclude_aborted: bool = False
) -> Report:
    """Return the report of a run; `scored` spares scoring it again."""
    scored = score_run(reader, run_id, exclude_aborted=exclude_aborted) if scored is None else scored
    statuses = endings_of_runs(reader, [run_id]).statuses
    return Report(
        run_id=run_id,
        by_language=rows(scored, lambda dialogue: dialogue.task.language),
        by_type=rows(scored, _type_label),
        curve={
            language: success_by_responses(dialogue.scores for dialogue in group)
            for language, group in _groups(scored, lambda dialogue: dialogue.task.language).items()
        },
        statuses=statuses,
        unscored=sum(statuses.values()) - len(scored),
        decided_by=dict(Counter(dialogue.scores.decided_by for dialogue in scored)),
        judges=judge_agreement(scored, reader.judgments(run_id=run_id)),
    )


def _type_label(scored: Scored) -> str:
    return f"{scored.task.type}. {task_type(scored.task.type).name(scored.task.language)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line of a table.

    Attributes:
        label: a language, or a task type.
        success: S, with Wilson's interval; of items played several times, a bootstrap interval over items.
            Each `Interval.n` counts items. Aborted dialogues count as unsuccessful.
        aqd: D, with a bootstrap interval, over the dialogues that were played to their end; None without any.
        aql: L, likewise: a dialogue that broke off has no length to be compared.
        needs_judge: episodes whose success a judge has still to settle.
        aborted: episodes that a seat's failure aborted, among those of `success`.
    """

    label: str
    success: Interval
    aqd: Interval | None
    aql: Interval | None
    needs_judge: int
    aborted: int = 0


def rows(scored: Sequence[Scored], label: Callable[[Scored], str]) -> tuple[Row, ...]:
    """Return one row per label, in the order in which they appear."""
    return tuple(row(name, group) for name, group in _groups(scored, label).items())


def _groups(scored: Sequence[Scored], label: Callable[[Scored], LabelT]) -> dict[LabelT, list[Scored]]:
    groups: dict[LabelT, list[Scored]] = {}
    for dialogue in scored:
        groups.setdefault(label(dialogue), []).append(dialogue)
    return groups


def row(label: str, scored: Sequence[Scored]) -> Row:
    """Summarise episodes, at least one."""
    ended = [dialogue for dialogue in scored if dialogue.ended]
    items = [dialogue.episode.item_hash for dialogue in ended]
    aqd, aql = (
        bootstrap_mean([getattr(dialogue.scores, name) for dialogue in ended], items, bounds=None)
        if ended
        else None
        for name in ("aqd", "aql")
    )
    success = [dialogue.scores.success for dialogue in scored]
    return Row(
        label=label,
        success=share(success, [dialogue.episode.item_hash for dialogue in scored]),
        aqd=aqd,
        aql=aql,
        needs_judge=sum(dialogue.scores.needs_judge for dialogue in scored),
        aborted=len(scored) - len(ended),
    )


_DECIDED: Final = {"rule": "the rule", "judges": "judges", "people": "reviewers"}
_BARS: Final = " ▁▂▃▄▅▆▇█"


def run_sections(source: Frames) -> Iterator[Section]:
    """Yield a section for each run."""
    for run in source.runs:
        scored = score_run(source.reader, run, exclude_aborted=source.exclude_aborted)
        groups = _groups(scored, lambda dialogue: str(dialogue.task.language)) if source.draws else {}
        yield run_section(report(source.reader, run, scored), dialogue_figures(groups, slug(run)))


def run_section(report: Report, figures: Sequence[Figure] = ()) -> Section:
    """Return what is told of a run."""
    by_language = _table("language", report.by_language, (3, 2, 1))
    by_type = _table("type", report.by_type, (2, 1, 0))
    return Section(
        name="dialogues",
        title=f"{report.run_id}: S, D and L with 95 % intervals",
        tables=[by_language, by_type] if report.by_language else [],
        figures=figures,
        text="\n".join(_curves(report)),
        remarks=[*_remarks(report)],
        data={
            "run": report.run_id,
            "curve": report.curve,
            "unscored": report.unscored,
            "decided_by": report.decided_by,
            "judges": [asdict(pair) for pair in report.judges],
        },
    )


def _table(name: str, rows: Sequence[Row], digits: tuple[int, int, int]) -> Table:
    numbers = zip(("n", *"SDL", "to judge", "aborted"), (0, *digits, 0, 0), strict=True)
    cells: list[list[Cell]] = [
        [row.label, row.success.n, row.success, row.aqd, row.aql, row.needs_judge, row.aborted]
        for row in rows
    ]
    heads: list[Column | str] = [name, *(Column(head, places) for head, places in numbers)]
    return Table(heads, cells, f"By {name}", f"by_{name}")


def _curves(report: Report) -> Iterator[str]:
    """Yield success by responses, a line for each language."""
    for language, curve in report.curve.items():
        bars = "".join(_BARS[round(share * (len(_BARS) - 1))] for share in curve)
        steps = "  ".join(f"{n}: {share:.2f}" for n, share in enumerate(curve, 1) if n % 2 == 0)
        yield f"success by number of responses ({language})  {bars}  {steps}"


def _remarks(report: Report) -> Iterator[str]:
    if aborted := sum(row.aborted for row in report.by_language):
        yield (
            f"{aborted} dialogues that a failing seat aborted count as unsuccessful in S, and in neither D "
            "nor L (--exclude-aborted leaves them out)."
        )
    if waiting := sum(row.needs_judge for row in report.by_language):
        yield (
            f"{waiting} dialogues need a judge (counted as not successful): "
            "askback score RUN --judge MODEL, or a reviewer in the app."
        )
    if report.decided_by.keys() - {"rule"}:
        shares = ", ".join(f"{count} by {_DECIDED[who]}" for who, count in sorted(report.decided_by.items()))
        yield f"S is decided in {shares}; people stand above judges, and most of each count."
    for pair in report.judges:
        kappa = "" if pair.kappa is None else f", κ {pair.kappa:.3f}"
        yield f"{pair.first} and {pair.second} say the same of {pair.equal} of {pair.n} dialogues{kappa}"
