"""Readers of decision files and their task texts, grouped into runs for import (spec 2, 9, 13)."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, NamedTuple

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
from simulator.ambik.items import Pair, PairItem
from simulator.ambik.naming import is_not_listed
from simulator.ambik.reporting.file_sections import texts_of
from simulator.ambik.reporting.groups import calibration_key, configuration
from simulator.ambik.terms import CONFORMAL, DEFAULT
from simulator.errors import InputError
from simulator.jsonlines import Duplicates
from simulator.tables.importing import EpisodeRows, ImportedRun, file_digest
from simulator.tables.spec import TableSpec
from trees.faults import Fault

_TEXTS: Final = (PAIRS, KNOWNO)
_DECISIONS: Final = (DECISIONS, LOGPROBS)
_SCORED: Final = (RESULT_TABLE, METRIC_CASES)


# ---- episodes and batches


@dataclass(frozen=True, slots=True)
class ImportedEpisode:
    """The lines of one episode.

    Attributes:
        lines: decisions, by turn.
        answers: people's answers, in the file's order.
        repeat: number of earlier episodes in the file with the same id.
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


@dataclass(slots=True, kw_only=True, eq=False)
class Batch:
    """The episodes that become one run: one robot, method and configuration.

    Attributes:
        source: the run's name in the file.
        episodes: the episodes, in the file's order.
        called: name of the run within the import; `run`: its name in the log, with a digest if necessary.
        options: the episodes' options.
        rows: each episode with its rows for the log, and a sentence for each stored value that differs.
        faults: faults of lines that cannot be logged.
        imported: the imported run, or None; `refused`: why the log refused it.
    """

    file: Path
    digest: str
    source: str
    episodes: tuple[ImportedEpisode, ...]
    called: str = ""
    run: str = ""
    options: dict[str, Any] = field(default_factory=dict)
    rows: list[tuple[ImportedEpisode, EpisodeRows, tuple[str, ...]]] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    imported: ImportedRun | None = None
    refused: str = ""

    @property
    def first(self) -> DecisionLine:
        """The first line; all others have the same configuration."""
        return self.episodes[0].first

    @property
    def calibrates(self) -> bool:
        """True if this is a calibration: it provides a threshold and has no sets."""
        return self.first.calibrates

    def refuse(self, problem: str, *episodes: ImportedEpisode) -> None:
        """Add a fault for every line of the given episodes, by default of all."""
        self.faults += [
            Fault(str(self.file), episode.first.decision.item.id, line.number, "format", problem)
            for episode in episodes or self.episodes
            for line in episode.every
        ]


def batches_of(file: Path, digest: str, log: DecisionsFile) -> tuple[tuple[Batch, ...], tuple[Fault, ...]]:
    """Return the batches of a file, and faults for answers that belong to no question."""
    answers: defaultdict[tuple[str, str], list[AnswerLine]] = defaultdict(list)
    for answer in log.answers:
        answers[answer.episode].append(answer)
    repeats: Counter[tuple[bool, str]] = Counter()
    episodes: defaultdict[tuple[bool, tuple[str, str], int], list[DecisionLine]] = defaultdict(list)
    for line in log.rows:
        # Duplicate lines that are kept belong to an episode that was played twice.
        repeat = repeats[line.calibrates, line.key]
        repeats[line.calibrates, line.key] += 1
        episodes[line.calibrates, line.episode, repeat].append(line)
    groups: defaultdict[Hashable, list[ImportedEpisode]] = defaultdict(list)
    for (_, episode, repeat), lines in episodes.items():
        lines.sort(key=lambda line: line.fields.turn)
        asked = sum(bool(line.decision.answer) for line in lines)
        used, answers[episode] = answers[episode][:asked], answers[episode][asked:]
        groups[_configuration(lines[0])].append(ImportedEpisode(tuple(lines), tuple(used), repeat))
    batches = tuple(
        Batch(file=file, digest=digest, source=group[0].first.decision.run, episodes=tuple(group))
        for group in groups.values()
    )
    problem = "typed_text: answers no question of its episode"
    unasked = (answer for rest in answers.values() for answer in rest)
    return batches, tuple(
        Fault(str(file), answer.episode[1], answer.number, "format", problem) for answer in unasked
    )


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


# ---- files


class Source(NamedTuple):
    """A file with decisions, and the results of its import.

    Attributes:
        digest: SHA-256 of its content.
        batches: one for each run.
        unread: faults of lines that cannot be read.
        forms: number of annotators' forms, which are in no batch.
        bare: number of decisions on scenarios of which only the number is known.
    """

    path: Path
    digest: str
    batches: tuple[Batch, ...]
    unread: tuple[Fault, ...]
    forms: int = 0
    bare: int = 0

    @property
    def faults(self) -> tuple[Fault, ...]:
        """The faults of lines that are not in any run, by line."""
        unfit = (fault for batch in self.batches for fault in batch.faults)
        return tuple(sorted((*self.unread, *unfit), key=lambda fault: fault.line))

    @property
    def runs(self) -> tuple[ImportedRun, ...]:
        """The runs that were imported, calibrations first."""
        ordered = sorted(self.batches, key=lambda batch: not batch.calibrates)
        return tuple(batch.imported for batch in ordered if batch.imported)

    @property
    def tests(self) -> tuple[ImportedRun, ...]:
        """The imported runs that are not calibrations."""
        tests = (batch for batch in self.batches if not batch.calibrates)
        return tuple(batch.imported for batch in tests if batch.imported)

    @property
    def refused(self) -> tuple[str, ...]:
        """The reasons for which the log refused runs."""
        return tuple(batch.refused for batch in self.batches if batch.refused)


class Sources(NamedTuple):
    """The decision files among the given paths.

    Attributes:
        unreadable: messages on named files that cannot be imported.
        passed_over: files in folders that were ignored.
    """

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
    lacking: tuple[Fault, ...] = ()
    if kind is LOGPROBS:
        contents = _read_published(file, texts, data, duplicates)
    else:
        contents, lacking = _with_texts(file, read_decisions(file, duplicates, details=True), texts, data)
    digest = file_digest(file)
    batches, unasked = batches_of(file, digest, contents)
    faults = (*contents.faults, *lacking, *unasked)
    if not batches:
        first = f"; the first problem: line {faults[0].line}: {faults[0].message}" if faults else ""
        raise InputError(f"{file}: contains no decision that could be imported{first}")
    items = (line.decision.item for line in contents.rows)
    return Source(
        path=file,
        digest=digest,
        batches=batches,
        unread=faults,
        forms=contents.forms,
        bare=sum(not isinstance(item, PairItem) and not item.scenario.task for item in items),
    )


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
    file: Path, contents: DecisionsFile, texts: Mapping[str, Any], data: str | None
) -> tuple[DecisionsFile, tuple[Fault, ...]]:
    """Return the lines whose tasks are available, and faults for the others."""
    pairs, scenarios = texts_of(contents.rows, dict(texts), data)
    lines = with_items(contents.rows, pairs, scenarios)
    faults = tuple(_missing_item_fault(file, line, pairs) for line in lines if not line.known)
    return replace(contents, rows=tuple(line for line in lines if line.known)), faults


def _missing_item_fault(file: Path, line: DecisionLine, pairs: Mapping[str, Pair]) -> Fault:
    item = line.decision.item
    id = item.about.id
    message = "pair_id: the task is not available; name its data with --data"
    if isinstance(item, PairItem) and id in pairs:
        kinds = f"type is {item.pair.type}, but the data have {pairs[id].type} for this pair"
        message = f"{kinds}; name other data with --data"
    return Fault(str(file), id, line.number, "format", message)
