"""Published and foreign results into the log, where they are read like any other run (spec 9, 13).

A run is named as the file names it, and after the file's content, too, where the log has another of that
name. What cannot be a decision is left out, and told with its line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any, Final

from logs import LogReader, LogWriter
from logs.rows import Episode as EpisodeRow
from logs.rows import Participant, Run, Score, Setup, Status
from simulator.ambik.files.fields import PERSON
from simulator.ambik.importing.sources import (
    Batch,
    ImportedEpisode,
    Source,
    calibration_of,
    names_of,
    threshold_of,
)
from simulator.ambik.importing.turns import differing_scores, turns_of
from simulator.ambik.items import BENCHMARK, LANGUAGE, PairItem, item_row
from simulator.ambik.playing import ROBOT, USER, Options, calibration_option
from simulator.ambik.records import Calibrated
from simulator.ambik.score import VERSION, values
from simulator.ambik.sets.predicting import calibrate
from simulator.ambik.settings import settings_option
from simulator.ambik.terms import METHODS, NAMES
from simulator.ambik.trial_log import decisions, options_of
from simulator.errors import InputError
from simulator.tables.importing import DIGEST, PUBLISHED, EpisodeRows, ImportedRun, write_run
from trees.faults import Fault

_CLOSE: Final = 1e-9
_PSEUDONYM: Final = re.compile(r"p[a-z2-7]{20}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedFile:
    """The import of a file.

    Attributes:
        source: the file, with what could not be read of it.
        calibrations: runs of which a threshold is taken.
        faults: of lines that are not in a run, by line.
    """

    source: Source
    calibrations: tuple[ImportedRun, ...]
    tests: tuple[ImportedRun, ...]
    faults: tuple[Fault, ...]
    refused: tuple[str, ...] = ()

    @property
    def runs(self) -> tuple[ImportedRun, ...]:
        """All runs, calibrations first."""
        return (*self.calibrations, *self.tests)


def import_sources(
    sources: Sequence[Source], log: LogWriter, *, name: str | None = None
) -> tuple[ImportedFile, ...]:
    """Write every decision of some files into the log.

    `name`: of the runs, in place of the files' names for them; where there are several, they begin with it.

    Raises:
        InputError: if the log holds other runs of a name and of what it would be instead.
        LogError: if the log cannot be written.
    """
    with LogReader(log.path) as reader:
        here = _Here.of(reader)
        jobs = [
            _Job(source, batch, here.named(called, source), called)
            for source in sources
            for batch, called in zip(source.batches, names_of(source.batches, name), strict=True)
        ]
        for job in jobs:
            if job.batch.calibrates:
                job.build(None, here)
        calibrations = [job for job in jobs if job.batch.calibrates and job.episodes]
        for job in jobs:
            if not job.batch.calibrates:
                _build_tests(job, calibrations, here, reader)
    return tuple(_written([job for job in jobs if job.source is source], here, log) for source in sources)


@dataclass(slots=True)
class _Here:
    """The contents of the log.

    Attributes:
        names: of runs, with the file's content and the name by which they were imported; None of other runs.
    """

    names: dict[str, tuple[str, str] | None]
    people: set[str]
    erased: frozenset[str]

    @classmethod
    def of(cls, reader: LogReader) -> _Here:
        names = {
            run.id: (str(run.config.get("sha256")), str(run.config["imported_as"]))
            if "imported_as" in run.config
            else None
            for run in reader.runs()
        }
        return cls(names, {person.id for person in reader.participants()}, reader.erased_participants())

    def named(self, called: str, source: Source) -> str:
        """Return the name of a run that no other run has: with a part of the file's digest, if need be."""
        mine = source.digest, called
        longer = f"{called}-{source.digest[:DIGEST]}"
        name = next((name for name in (called, longer) if self.names.get(name, mine) == mine), None)
        if name is None:
            raise InputError(f"The log holds other runs {called!r} and {longer!r}; name this one with --run.")
        self.names[name] = mine
        return name

    def new(self, people: Iterable[str | None], file: str) -> Iterator[Participant]:
        """Yield the people who are not in the log yet, each once."""
        for person in people:
            if person and person not in self.people:
                self.people.add(person)
                yield Participant(id=person, details={"imported": file})


@dataclass(slots=True)
class _Job:
    """A batch that is to become the run called `run`; `called` is that without the file's digest.

    Attributes:
        episodes: what is logged of the batch, with stored values that do not come out, a sentence each.
    """

    source: Source
    batch: Batch
    run: str
    called: str
    options: dict[str, Any] = field(default_factory=dict)
    episodes: list[tuple[ImportedEpisode, EpisodeRows, tuple[str, ...]]] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)

    @property
    def built(self) -> Batch:
        """The batch without what cannot be logged."""
        return replace(self.batch, episodes=tuple(episode for episode, _, _ in self.episodes))

    def build(self, calibrated: Calibrated | None, here: _Here) -> None:
        """Make the episodes of the batch, whose sets are under a threshold."""
        first = self.batch.first
        decision = first.decision
        self.options = {
            "task": "decide",
            "method": decision.method if decision.method in METHODS else "",
            "context": decision.context,
            "dialogue": decision.dialogue,
            "questions": max(episode.questions for episode in self.batch.episodes),
            "settings": settings_option(first.settings),
            "chooser": decision.chooser if decision.chooser != decision.generator else "",
            "dataset": "ambik" if isinstance(decision.item, PairItem) else "knowno",
        }
        if calibrated is not None:
            self.options["calibration"] = calibration_option(calibrated)
        for episode in self.batch.episodes:
            try:
                if (person := self.person(episode)) in here.erased:
                    raise InputError(f"actor: the data of {person} were erased from this log, and stay so")
                self.episodes.append((episode, *self._rows(episode)))
            except InputError as error:
                self.refuse([episode], str(error))

    def refuse(self, episodes: Iterable[ImportedEpisode], problem: str) -> None:
        """Make each line of some episodes a fault."""
        path = str(self.source.path)
        self.faults += [
            Fault(path, episode.first.decision.item.id, line.number, "format", problem)
            for episode in episodes
            for line in episode.every
        ]

    def person(self, episode: ImportedEpisode) -> str | None:
        """Return the pseudonym of who plays; a log's own is kept, any other is of this file alone."""
        actor = episode.actor
        if not actor or _PSEUDONYM.fullmatch(actor):
            return actor or None
        return f"{actor}-{self.source.digest[:DIGEST]}"

    def _rows(self, episode: ImportedEpisode) -> tuple[EpisodeRows, tuple[str, ...]]:
        # As the file calls the episode, but for the run's name at its beginning.
        id = f"{self.run}/{episode.id.removeprefix(f'{self.batch.source}/')}"
        item = item_row(episode.first.decision.item)
        options = {**self.options, "questions": episode.questions}
        turns, differences = turns_of(episode, id, Options.read(options))
        metrics = values(episode.first.decision.item, turns)
        last = turns[-1].payload
        unanswered = last["kind"] == "decide" and last["asks"] and episode.questions > 0
        status: Status = "truncated" if unanswered else "completed"
        row = EpisodeRow(
            id=id,
            run_id=self.run,
            item_hash=item.hash,
            language=LANGUAGE,
            seats=_seats(episode),
            seed=episode.first.details.seed,
            participant_id=self.person(episode),
            options=options,
        )
        scores = [
            Score(episode_id=id, metric=name, value=value, version=VERSION) for name, value in metrics.items()
        ]
        rows = EpisodeRows(row, item, turns, scores, status)
        return rows, (*differences, *differing_scores(episode.first, metrics))


def _build_tests(job: _Job, calibrations: Sequence[_Job], here: _Here, reader: LogReader) -> None:
    """Make the episodes of a batch of tests; where there is no threshold, every line of it is a fault."""
    built = {other.run: other.built for other in calibrations}
    try:
        calibration = calibration_of(job.batch, built.values())
        run = next((run for run, other in built.items() if other is calibration), "")
        threshold = threshold_of(job.batch, calibration, run)
    except InputError as error:
        job.refuse(job.batch.episodes, str(error))
        return
    if threshold is not None:
        threshold = replace(threshold, run=run or _elsewhere(threshold, job, here, reader))
    job.build(threshold, here)


def _elsewhere(threshold: Calibrated, job: _Job, here: _Here, reader: LogReader) -> str:
    """Return how the calibration that a threshold names is called in the log, if it is there.

    Another run of that name must not be taken for it.
    """
    if not threshold.run:
        return ""
    for run in reader.runs():
        if run.benchmark == BENCHMARK and threshold.run in (run.id, run.config.get("imported_run")):
            options = options_of(reader, run.id)
            if options.method == job.batch.first.decision.method and options.calibration is None:
                again = calibrate(decisions(reader, [run.id]), job.batch.first.settings)
                same = again.q_hat == threshold.q_hat or abs(again.q_hat - threshold.q_hat) < _CLOSE
                if same and (again.n, again.rank) == (threshold.n, threshold.rank):
                    return run.id
    return f"{threshold.run}-{job.source.digest[:DIGEST]}" if threshold.run in here.names else threshold.run


def _written(jobs: Sequence[_Job], here: _Here, log: LogWriter) -> ImportedFile:
    """Write the runs of a file."""
    source = jobs[0].source
    runs: dict[bool, list[ImportedRun]] = {True: [], False: []}
    refused: list[str] = []
    for job in jobs:
        if job.episodes:
            try:
                runs[job.batch.calibrates].append(_write(job, here, log))
            except InputError as error:
                refused.append(str(error))
    faults = [*source.faults, *(fault for job in jobs for fault in job.faults)]
    return ImportedFile(
        source=source,
        calibrations=tuple(runs[True]),
        tests=tuple(runs[False]),
        faults=tuple(sorted(faults, key=lambda fault: fault.line)),
        refused=tuple(refused),
    )


def _write(job: _Job, here: _Here, log: LogWriter) -> ImportedRun:
    run = _run(job)
    receipt = write_run(
        log,
        run,
        (rows for _, rows, _ in job.episodes),
        people=here.new((rows.episode.participant_id for _, rows, _ in job.episodes), job.source.path.name),
        conflict=(
            f"{job.source.path}: the log holds another import of this file, {run.id!r}, of other lines or "
            "with other texts of tasks; give this one another name with --run"
        ),
    )
    who = ", ".join(filter(None, (NAMES.get(job.options["method"], ""), run.config["seats"][ROBOT])))
    return ImportedRun(
        run=run,
        receipt=receipt,
        title=f"{'calibration, ' if job.batch.calibrates else ''}{who}",
        rows=sum(len(episode.every) for episode, _, _ in job.episodes),
        differences=tuple(each for _, _, differences in job.episodes for each in differences),
        unit="lines",
    )


def _run(job: _Job) -> Run:
    first = job.batch.first
    seats = _seats(job.batch.episodes[0])
    hashes = "".join(rows.item.hash for _, rows, _ in job.episodes)
    origin = {
        "dataset": first.dataset,
        "dataset_version": first.version,
        "software_version": first.details.version,
    }
    return Run(
        id=job.run,
        benchmark=BENCHMARK,
        setup=_setup(seats),
        seed=0,
        config={
            "imported": job.source.path.name,
            "imported_run": job.batch.source,
            "imported_as": job.called,
            "sha256": job.source.digest,
            "data": first.version or first.dataset or job.options["dataset"],
            **{name: value for name, value in origin.items() if value},
            "seats": seats,
            "options": job.options,
            "planned": len(job.episodes),
            "items": sha256(hashes.encode()).hexdigest()[:16],
        },
    )


def _setup(seats: Mapping[str, str]) -> Setup:
    robot, user = (seats.get(seat) == PERSON for seat in (ROBOT, USER))
    if robot:
        return "H2H" if user else "H2L"
    return "L2H" if user else "L2L"


def _seats(episode: ImportedEpisode) -> dict[str, str]:
    line = episode.first
    robot = PERSON if line.decision.method == PERSON else line.robot or line.decision.generator or PUBLISHED
    user = line.user or (PERSON if episode.answers else "")
    return {ROBOT: robot, **({USER: user} if user else {})}
