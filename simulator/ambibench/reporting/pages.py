"""What the researchers' pages tell of runs: parts with intervals, episodes, how a study stands."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final, Literal, NamedTuple

from logs import LogReader, LogWriter
from logs.rows import Run
from simulator.ambibench.assignment import cells
from simulator.ambibench.features import SETTINGS, Feature, Format
from simulator.ambibench.reporting.measures import longest, means, split
from simulator.ambibench.reporting.panels import (
    drawn,
    feature_lines,
    k_panel,
    label_curves,
    oracle_line,
)
from simulator.ambibench.reporting.people import Flag, sessions
from simulator.ambibench.reporting.report import Report
from simulator.ambibench.reporting.results import Measure, Results
from simulator.ambibench.reporting.tables import Slice, slices
from simulator.ambibench.rows import BENCHMARK
from simulator.figures import Figure, Line, Panel
from simulator.stats import Interval
from simulator.studies import Study, StudyDesk, StudyProgress

CURVES: Final = ("multiple", "wug", "ft_eval")
Group = Literal["all", "feature", "format"]
GROUPS: Final[tuple[Group, ...]] = ("all", "feature", "format")
_THESE: Final = "oracle (these episodes)"


class Row(NamedTuple):
    """Some trials of one part of a run.

    Attributes:
        group: what tells them from the others; `name` is the feature or format, empty for all.
        n: trials.
        correct: accuracy over all labels; in 4.3 and 4.4 those of all k (spec section 7.4).
        valid: probability of X or Y, or the share of answers that are one.
        oracle: what the Bayes-optimal learner gets on the same trials.
    """

    group: Group
    name: str
    n: int
    correct: Interval
    valid: Interval
    oracle: Interval


class Section(NamedTuple):
    """One setting, kind of instruction and held-out pair of a run, as one actor played it.

    Attributes:
        key: names the part.
        kind: of the instruction.
        fold: the held-out pair; empty if none is.
        actor: who took part.
        units: prompts, or people.
        rows: all trials first, then by salient feature and by format.
    """

    key: str
    setting: str
    kind: str
    fold: str
    actor: str
    units: int
    rows: tuple[Row, ...]


class Played(NamedTuple):
    """An episode in a list.

    Attributes:
        status: how it ended; ``open`` if it has not.
        asked: answers that were given.
        correct: how many were right; None for free text.
        category: what free text was sorted into.
        flags: of a person's session.
    """

    id: str
    name: str
    setting: str
    feature: Feature | None
    format: Format | None
    status: str
    asked: int
    correct: float | None
    category: str | None
    flags: tuple[Flag, ...]


def sections(results: Results) -> tuple[Section, ...]:
    """The parts of a run in which labels were asked for."""
    return tuple(
        _section(one, actor)
        for one in slices(results)
        for actor in one.results.present("actor")
        if len(one.results)
    )


def curve_figures(results: Results) -> dict[str, Figure]:
    """Of each part that has a curve: accuracy over k with the oracle, the same by feature, and p(valid)."""
    found: dict[str, Figure] = {}
    for one in slices(results):
        if one.setting in CURVES and len(one.results):
            for name, title, panels in _curves(one):
                key = f"{name}-{one.key}"
                made = drawn(key, title, panels, "", ()).figure
                if made is not None:
                    found[key] = made
    return found


def played(reader: LogReader, run_id: str, found: Report) -> tuple[Played, ...]:
    """The episodes of a run, in the order in which they began."""
    names = {item.hash: item for item in reader.items(run_id)}
    endings = reader.endings(run_id)
    flags = {one.session: one.flags for one in sessions(found.results)}
    asked: dict[str, list[float | None]] = {}
    categories: dict[str, str | None] = {}
    for trial in found.trials:
        episode = (trial.trial_id or "").rpartition(":")[0]
        asked.setdefault(episode, []).append(trial.correct)
        categories[episode] = trial.category
    rows = []
    for one in reader.episodes(run_id, latest=True):
        item = names[one.item_hash]
        answers = asked.get(one.id, [])
        right = [value for value in answers if value is not None]
        rows.append(
            Played(
                id=one.id,
                name=item.name,
                setting=item.data["setting"],
                feature=item.data.get("salient_task"),
                format=item.data.get("format"),
                status=endings[one.id].status if one.id in endings else "open",
                asked=len(answers),
                correct=sum(right) if right else None,
                category=categories.get(one.id),
                flags=flags.get(one.id, ()),
            )
        )
    return tuple(rows)


def settings_of(reader: LogReader, run: Run, *, ended: bool = False) -> tuple[str, ...]:
    """The settings of the items that a run has begun so far, or (`ended`) has come to the end of."""
    status = "SELECT episode_id FROM endings WHERE status IN ('completed', 'truncated')"
    having = f" AND id IN ({status})" if ended else ""
    with reader.connection() as connection:
        found = connection.execute(
            "SELECT DISTINCT json_extract(data, '$.setting') FROM items "
            f"WHERE hash IN (SELECT item_hash FROM episodes WHERE run_id = ?{having})",
            [run.id],
        ).fetchall()
    return tuple(setting for setting in SETTINGS if (setting,) in [tuple(one) for one in found])


def study_of(run: Run) -> Study | None:
    """The study that a run is; None if it is none of AmbiBench's."""
    given = run.config.get("study")
    if run.benchmark != BENCHMARK or not isinstance(given, dict):
        return None
    return Study.model_validate(given)


def study_progress(writer: LogWriter, reader: LogReader, study: Study) -> StudyProgress:
    """How a study stands. Nothing is written."""
    return StudyDesk(writer, reader, study, cells(study)).progress()


def _section(one: Slice, actor: str) -> Section:
    some = one.results.where(actor=actor)
    rows = tuple(row for group in GROUPS for row in _rows(some, group))
    kind = next(iter(some.present("kind")), "")
    fold = next(iter(some.present("fold")), "")
    units = len(some.present("unit"))
    return Section(f"{one.key}-{actor}", one.setting, kind, fold, actor, units, rows)


def _rows(some: Results, group: Group) -> Iterator[Row]:
    if group == "all":
        parts = [("", some)]
    else:
        parts = [(name, some.where(**{group: name})) for name in some.present(group)]
    for name, part in parts:
        correct, valid, oracle = (_mean(part, one) for one in ("correct", "valid", "bayes"))
        yield Row(group, name, len(part), correct, valid, oracle)


def _mean(some: Results, measure: Measure) -> Interval:
    return next(iter(means(some, measure, ("role",)).values()))


def _curves(one: Slice) -> Iterator[tuple[str, str, list[Panel]]]:
    some = one.results
    yield "curve", "Accuracy by example", [k_panel("", [*label_curves(some), *_oracle(one)])]
    by_feature = split(means(some, "correct", ("feature", "k")))
    yield (
        "features",
        "Accuracy by example and salient feature",
        [k_panel("", _bare(feature_lines(by_feature)))],
    )
    valid = k_panel("", label_curves(some, "valid"), "probability of X or Y", chance=False)
    yield "validity", "Valid answers by example", [valid]


def _bare(lines: Sequence[Line]) -> list[Line]:
    # Six bands over each other hide what they are about; the table beside the figure has the intervals.
    return [replace(line, low=None, high=None) for line in lines]


def _oracle(one: Slice) -> Sequence[Line]:
    points = {k: value for (k,), value in means(one.results, "bayes", ("k",)).items()}
    here = Line(
        _THESE,
        [int(k) for k in points],
        [value.value for value in points.values()],
        style="dotted",
        colour="muted",
    )
    if one.results.present("kind") == ("informative",):
        return [here]
    return [oracle_line(longest(one.results)), here]
