"""The tables and curves of a run (the paper's Tables I to V and Fig. 4), and two runs side by side."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Final, NamedTuple, TypeVar

from logs import LogReader
from simulator.clarq.reporting.agreement import PairOfJudges, judge_agreement
from simulator.clarq.reporting.figures import dialogue_figures
from simulator.clarq.score import Scored, score_run, success_by_responses
from simulator.figures import Cell, Column, Figure, Table
from simulator.frames import Frames
from simulator.reporting import Section, slug
from simulator.runner.logged import endings_of_runs
from simulator.stats import Interval, bootstrap_mean, mcnemar, paired_bootstrap, share
from trees import Language
from trees.model import task_type

LabelT = TypeVar("LabelT", bound=str)


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Everything that is told of a run.

    Attributes:
        by_language: one row per language.
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


class Pair(NamedTuple):
    """One item as both runs played it."""

    first: Scored
    second: Scored

    @property
    def change(self) -> int:
        """1 if only the second succeeded, -1 if only the first did, else 0."""
        return int(self.second.scores.success) - int(self.first.scores.success)


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One metric in both runs.

    Attributes:
        metric: ``success``, ``aqd`` or ``aql``.
        first: in the first run, over the shared items.
        second: in the second.
        difference: second minus first, paired, with a bootstrap interval.
        p: two-sided exact McNemar test of success (repeats of an item change together); None for the other
            metrics.
    """

    metric: str
    first: Interval
    second: Interval
    difference: Interval
    p: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Two runs on the items they share, in one language.

    Attributes:
        pairs: the shared items, in the order of the first run.
        differences: S; D and L where both dialogues of a pair were played to their end.
        gained: items that only the second run succeeds on.
        lost: items that only the first run succeeds on.
    """

    language: Language
    pairs: tuple[Pair, ...]
    differences: tuple[Difference, ...]
    gained: int
    lost: int

    @property
    def differing(self) -> tuple[Pair, ...]:
        """The items on which one succeeds and the other does not, those gained first."""
        return tuple(sorted((pair for pair in self.pairs if pair.change), key=lambda pair: -pair.change))


def compare(first: Sequence[Scored], second: Sequence[Scored]) -> tuple[Comparison, ...]:
    """Compare two runs, one comparison per language; empty if they share no item.

    Episodes are paired by the item's content; several plays of one item in their order.
    """
    shared = pairs(first, second)
    languages = dict.fromkeys(pair.first.task.language for pair in shared)
    return tuple(
        _comparison(language, [pair for pair in shared if pair.first.task.language == language])
        for language in languages
    )


def pairs(first: Sequence[Scored], second: Sequence[Scored]) -> tuple[Pair, ...]:
    """Return the plays of the same items in two runs, in the order of the first."""
    partners, plays = _plays(second), _plays(first)
    shared = {plays[play].episode.id: partners[play] for play in plays.keys() & partners.keys()}
    return tuple(Pair(scored, shared[scored.episode.id]) for scored in first if scored.episode.id in shared)


def _plays(run: Sequence[Scored]) -> dict[tuple[str, int], Scored]:
    """Return the episodes of a run by their item, and which play of it they are."""
    counts: Counter[str] = Counter()
    plays = {}
    for scored in sorted(run, key=lambda scored: scored.episode.repeat):
        item = scored.episode.item_hash
        plays[item, counts[item]] = scored
        counts[item] += 1
    return plays


def _comparison(language: Language, pairs: Sequence[Pair]) -> Comparison:
    ended = [pair for pair in pairs if pair.first.ended and pair.second.ended]
    changes = Counter(pair.change for pair in pairs)
    differences = [_difference("success", pairs)]
    differences += [_difference(metric, ended) for metric in ("aqd", "aql") if ended]
    return Comparison(
        language=language,
        pairs=tuple(pairs),
        differences=tuple(differences),
        gained=changes[1],
        lost=changes[-1],
    )


def _difference(metric: str, pairs: Sequence[Pair]) -> Difference:
    items = [pair.first.episode.item_hash for pair in pairs]
    before, after = ([getattr(scored.scores, metric) for scored in side] for side in zip(*pairs, strict=True))
    is_share = metric == "success"
    mean = share if is_share else partial(bootstrap_mean, bounds=None)
    return Difference(
        metric=metric,
        first=mean(before, items),
        second=mean(after, items),
        difference=paired_bootstrap(before, after, items, bounds=(-1.0, 1.0) if is_share else None),
        p=mcnemar(before, after, items) if is_share else None,
    )
