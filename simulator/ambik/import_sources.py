"""Readers of decision files and their task texts, grouped into runs for import (spec 2, 9, 13)."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, NamedTuple

from logs import LogReader
from simulator.ambik.data import (
    DECISIONS,
    KNOWNO,
    LOGPROBS,
    METRIC_CASES,
    PAIRS,
    RESULT_TABLE,
    TABLES,
    load_scenarios,
)
from simulator.ambik.files.decisions import (
    AnswerLine,
    DecisionLine,
    DecisionsFile,
    read_decisions,
    with_items,
)
from simulator.ambik.files.fields import PERSON, LineFields
from simulator.ambik.files.published import decisions_of
from simulator.ambik.items import DecideItem, Pair, PairItem
from simulator.ambik.naming import is_not_listed
from simulator.ambik.playing import ROBOT, USER
from simulator.ambik.records import Decision
from simulator.ambik.reporting.file_sections import texts_of
from simulator.ambik.reporting.groups import calibration_key, configuration
from simulator.ambik.terms import CONFORMAL, DEFAULT
from simulator.errors import InputError
from simulator.jsonlines import Duplicates
from simulator.output_files import file_name
from simulator.tables.importing import DIGEST, PUBLISHED, EpisodeRows, ImportedRun, file_digest
from simulator.tables.spec import TableSpec
from trees.faults import Fault

_TEXTS: Final = (PAIRS, KNOWNO)
_DECISIONS: Final = (DECISIONS, LOGPROBS)
_SCORED: Final = (RESULT_TABLE, METRIC_CASES)


# ---- episodes and batches


@dataclass(frozen=True, slots=True)
class ImportedEpisode:
    """The lines of one episode: decisions by turn, and people's answers in the file's order.

    `repeat`: number of earlier episodes in the file with the same id.
    """

    lines: tuple[DecisionLine, ...]
    answers: tuple[AnswerLine, ...] = ()
    repeat: int = 0

    @property
    def every(self) -> tuple[DecisionLine | AnswerLine, ...]:
        """All lines."""
        return (*self.lines, *self.answers)

    @property
    def first(self) -> DecisionLine:
        """The decision before any question."""
        return self.lines[0]

    @property
    def id(self) -> str:
        """The id in the file, with a number if it occurs again."""
        return f"{self.first.decision.episode_id}{f'.{self.repeat + 1}' if self.repeat else ''}"

    @property
    def questions(self) -> int:
        """The number of questions allowed: from the lines, and at least the number answered."""
        allowed = [line.fields.questions for line in self.lines if line.fields.questions is not None]
        return max([*allowed, sum(bool(line.decision.answer) for line in self.lines)])

    @property
    def actor(self) -> str:
        """The name in the file of the person who plays; empty if there is none."""
        names = [line.details.actor for line in self.every]
        if self.first.decision.method == PERSON:
            names += [line.decision.generator for line in self.lines]
        return next((name for name in names if name and name != PERSON), "")

    @property
    def seats(self) -> dict[str, str]:
        """The players by seat, according to the lines."""
        decision, fields = self.first.decision, self.first.fields
        robot = PERSON if decision.method == PERSON else fields.robot or decision.generator or PUBLISHED
        user = fields.user or (PERSON if self.answers else "")
        return {ROBOT: robot, **({USER: user} if user else {})}


@dataclass(slots=True, kw_only=True, eq=False)
class Batch:
    """The episodes that become one run: one robot, method and configuration.

    Attributes:
        source: the file.
        called: name of the run within the import; `run`: its name in the log, with a digest if necessary.
        rows: each episode with its rows for the log, and a sentence for each stored value that differs.
    """

    source: Source
    episodes: list[ImportedEpisode] = field(default_factory=list)
    called: str = ""
    run: str = ""
    options: dict[str, Any] = field(default_factory=dict)
    rows: list[tuple[ImportedEpisode, EpisodeRows, tuple[str, ...]]] = field(default_factory=list)

    @property
    def first(self) -> DecisionLine:
        """The first line; all others have the same configuration."""
        return self.episodes[0].first

    @property
    def calibrates(self) -> bool:
        """True if this is a calibration: it provides a threshold and has no sets."""
        return self.first.calibrates


@dataclass(slots=True, kw_only=True, eq=False)
class Source:
    """A file with decisions, and the results of its import.

    Attributes:
        batches: one for each run.
        faults: of lines that are not in any run.
        forms: number of annotators' forms, which are in no batch.
        calibrations: the imported calibrations; `tests`: the other imported runs.
        refused: the reasons for which the log refused runs.
    """

    path: Path
    digest: str
    batches: tuple[Batch, ...] = ()
    faults: list[Fault] = field(default_factory=list)
    forms: int = 0
    calibrations: list[ImportedRun] = field(default_factory=list)
    tests: list[ImportedRun] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)

    @property
    def runs(self) -> tuple[ImportedRun, ...]:
        """The imported runs."""
        return (*self.calibrations, *self.tests)

    def add_fault(self, problem: str, id: str, line: DecisionLine | AnswerLine) -> None:
        """Add a fault for a line that is not imported."""
        self.faults.append(Fault(str(self.path), id, line.number, "format", problem))


def _set_batches(source: Source, rows: Iterable[DecisionLine], answered: Iterable[AnswerLine]) -> None:
    """Divide the lines of a file into batches; answers that belong to no question are faults."""
    answers: defaultdict[tuple[str, str], list[AnswerLine]] = defaultdict(list)
    for answer in answered:
        answers[answer.episode].append(answer)
    repeats: Counter[tuple[bool, str]] = Counter()
    episodes: defaultdict[tuple[bool, tuple[str, str], int], list[DecisionLine]] = defaultdict(list)
    for line in rows:
        # Duplicate lines that are kept belong to an episode that was played twice.
        repeat = repeats[line.calibrates, line.key]
        repeats[line.calibrates, line.key] += 1
        episodes[line.calibrates, line.episode, repeat].append(line)
    batches: dict[Hashable, Batch] = {}
    for (_, episode, repeat), lines in episodes.items():
        lines.sort(key=lambda line: line.fields.turn)
        asked = sum(bool(line.decision.answer) for line in lines)
        used, answers[episode] = answers[episode][:asked], answers[episode][asked:]
        batch = batches.setdefault(_configuration(lines[0]), Batch(source=source))
        batch.episodes.append(ImportedEpisode(tuple(lines), tuple(used), repeat))
    source.batches = tuple(batches.values())
    for answer in (answer for rest in answers.values() for answer in rest):
        source.add_fault("typed_text: answers no question of its episode", answer.episode[1], answer)


def _configuration(line: DecisionLine) -> Hashable:
    """Return a key that all lines of a batch share."""
    decision, threshold = line.decision, line.threshold
    run = decision.run, line.calibrates
    if line.calibrates:
        return (*run, calibration_key(decision))
    tested = (*run, configuration(decision), line.settings)
    if threshold is None or decision.method not in CONFORMAL:
        return tested
    return (*tested, threshold.q_hat, threshold.n, threshold.epsilon, threshold.rank, threshold.run)


def name_batches(batches: Sequence[Batch], name: str | None = None) -> None:
    """Name the runs of one file by their names in the file and the settings in which they differ.

    `name`: used instead of the name in the file; prefix if there are several.
    """
    by_run: defaultdict[str, list[Decision]] = defaultdict(list)
    for batch in batches:
        decision = batch.first.decision
        by_run[decision.run].append(decision)
    name_counts: Counter[str] = Counter()
    for batch in batches:
        decision = batch.first.decision
        decisions_of_run = by_run[decision.run]
        base = file_name(decision.run)
        if name is not None:
            base = f"{name}-{base}" if len(by_run) > 1 else name
        # Only settings in which the batches of one run differ.
        values = zip(configuration(decision), *map(configuration, decisions_of_run), strict=True)
        label = "-".join((base, *(file_name(own) for own, *every in values if len(set(every)) > 1)))
        if batch.calibrates and len(decisions_of_run) > 1:
            label = f"{label}-calibration"
        name_counts[label] += 1
        batch.called = f"{label}-{name_counts[label]}" if name_counts[label] > 1 else label


def log_names(batches: Iterable[Batch], reader: LogReader) -> Collection[str]:
    """Name the batches' runs as no other run, with a part of their digest if necessary; return all names."""
    names = {
        run.id: (str(run.config.get("sha256")), str(run.config["imported_as"]))
        if "imported_as" in run.config
        else None
        for run in reader.runs()
    }
    for batch in batches:
        origin = batch.source.digest, batch.called
        longer = f"{batch.called}-{batch.source.digest[:DIGEST]}"
        name = next((name for name in (batch.called, longer) if names.get(name, origin) == origin), None)
        if name is None:
            raise InputError(
                f"The log already has other runs {batch.called!r} and {longer!r}; name this one with --run."
            )
        names[name] = origin
        batch.run = name
    return names


# ---- files


class Sources(NamedTuple):
    """The decision files among the given paths; `passed_over` are ignored files in folders."""

    files: tuple[Source, ...]
    unreadable: tuple[str, ...]
    passed_over: tuple[Path, ...]


def read_sources(
    paths: Sequence[Path], *, data: str | None = None, duplicates: Duplicates = "refuse"
) -> Sources:
    """Return the decisions of files and folders, with the texts of their tasks.

    Args:
        paths: files, and folders to search; pairs and scenarios among them provide texts.
        data: data set of decisions without texts, a name or a path; None: those among `paths`, the data that
            the lines name, or the data registered as ``ambik``.
        duplicates: how to treat duplicate lines.
    """
    kinds: dict[Path, TableSpec[Any]] = {}
    unreadable: list[str] = []
    passed_over: list[Path] = []
    for path in dict.fromkeys(paths):
        recognised = TABLES.files_of(path) if path.exists() else {}
        if problem := _problem(path, recognised):
            unreadable.append(problem)
        usable = {file: kind for file, kind in recognised.items() if kind in (*_TEXTS, *_DECISIONS)}
        kinds |= usable
        if path.is_dir():
            passed_over += [file for file in recognised if file not in usable]
    texts = {
        spec.name: {file: spec.read(file) for file, kind in kinds.items() if kind is spec} for spec in _TEXTS
    }
    files: dict[str, Source] = {}
    for file, kind in kinds.items():
        if kind in _DECISIONS:
            try:
                source = _source(file, kind, texts, data, duplicates)
            except InputError as error:
                unreadable.append(str(error))
                continue
            # The same content under two names is one file.
            files.setdefault(source.digest, source)
    if not set(kinds.values()) & set(_DECISIONS):
        unreadable += [_no_decisions(file, kind, texts) for file, kind in kinds.items() if file in paths]
    return Sources(tuple(files.values()), tuple(unreadable), tuple(passed_over))


def _no_decisions(file: Path, kind: TableSpec[Any], texts: Mapping[str, Any]) -> str:
    """Return a message on a file of tasks that was named without any decisions."""
    faults = texts[kind.name][file].faults
    first = f"; line {faults[0].line}: {faults[0].message}" if faults else ""
    return f"{file}: contains {kind.title}; register them with `askback data add ambik`{first}"


def _problem(path: Path, contents: Mapping[Path, TableSpec[Any]]) -> str:
    """Return why nothing in a path can be imported; empty if something can."""
    if not path.exists():
        return f"{path}: there is no such file or folder"
    if path.is_dir():
        usable = any(kind in _DECISIONS for kind in contents.values())
        return "" if usable else f"{path}: contains no AmbiK decisions to import"
    if path not in contents:
        return f"{path}: {TABLES.why_unrecognized(path, 'AmbiK')}"
    kind = contents[path]
    if kind in (*_TEXTS, *_DECISIONS):
        return ""
    way = "give it to `askback score ambik`" if kind in _SCORED else "annotate them: `askback study`"
    return f"{path}: contains {kind.title}, not decisions; {way}"


def _source(
    file: Path, kind: TableSpec[Any], texts: Mapping[str, Any], data: str | None, duplicates: Duplicates
) -> Source:
    source = Source(path=file, digest=file_digest(file))
    published = kind is LOGPROBS
    contents = (
        _read_published(file, texts, data, duplicates)
        if published
        else read_decisions(file, duplicates, details=True)
    )
    source.forms, source.faults = contents.forms, [*contents.faults]
    lines = contents.rows if published else _with_texts(source, contents.rows, texts, data)
    _set_batches(source, lines, contents.answers)
    if not source.batches:
        faults = [f"; the first problem: line {fault.line}: {fault.message}" for fault in source.faults[:1]]
        raise InputError(f"{file}: contains no decision that could be imported{''.join(faults)}")
    return source


def _read_published(
    file: Path, texts: Mapping[str, Any], data: str | None, duplicates: Duplicates
) -> DecisionsFile:
    """Return a published KnowNo run: decisions on calibration or test scenarios, without sets (spec 9).

    Scenarios whose text is not available are known only by their number.
    """
    rows = [row for contents in texts[KNOWNO.name].values() for row in contents.rows]
    scenarios = {scenario.id: scenario for scenario in (load_scenarios(data) if data else rows)}
    read = LOGPROBS.read(file, duplicates)
    decisions = decisions_of(read.rows, file.stem, scenarios=scenarios)
    lines = tuple(
        DecisionLine(
            decision=decision,
            known=True,
            calibrates=decision.item.part == "calibration",
            settings=replace(DEFAULT, not_listed=any(map(is_not_listed, decision.options.values()))),
            fields=LineFields(dataset="knowno"),
            number=number,
        )
        for decision, number in zip(decisions, read.lines, strict=True)
    )
    return DecisionsFile(rows=lines, faults=read.faults)


def _with_texts(
    source: Source, rows: Sequence[DecisionLine], texts: Mapping[str, Any], data: str | None
) -> list[DecisionLine]:
    """Return the lines whose tasks are available; the others are faults."""
    pairs, scenarios = texts_of(rows, dict(texts), data)
    lines = with_items(rows, pairs, scenarios)
    for line in lines:
        if not line.known:
            item = line.decision.item
            source.add_fault(_missing_item(item, pairs), item.about.id, line)
    return [line for line in lines if line.known]


def _missing_item(item: DecideItem, pairs: Mapping[str, Pair]) -> str:
    if isinstance(item, PairItem) and (pair := pairs.get(item.pair.id)):
        kinds = f"type is {item.pair.type}, but the data have {pair.type} for this pair"
        return f"{kinds}; name other data with --data"
    return "pair_id: the task is not available; name its data with --data"
