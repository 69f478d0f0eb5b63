"""Published and foreign results into the log, where they are read like any other run (spec 9, 13).

A run is named as the file names it, and after the file's content, too, where the log has another of that
name. The same file again adds nothing, and a file whose import was cut off is completed. What cannot be a
decision is left out, and told with its line.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any, Final

from logs import LogConflict, LogReader, LogWriter, Written
from logs.rows import Ending, Event, Participant, Run, Score, Setup
from logs.rows import Episode as EpisodeRow
from simulator.ambik.importing.batches import Batch, Sitting, calibration_of, names_of, threshold_of
from simulator.ambik.importing.lines import PERSON
from simulator.ambik.importing.sources import Source
from simulator.ambik.importing.turns import Episode, actor_of, episode_of, questions_of
from simulator.ambik.items import PairItem
from simulator.ambik.playing import ROBOT, USER, Options, calibration_option, settings_option
from simulator.ambik.records import Calibrated
from simulator.ambik.rows import BENCHMARK, LANGUAGE, item_row
from simulator.ambik.score import VERSION
from simulator.ambik.sets.predicting import calibrate
from simulator.ambik.terms import METHODS
from simulator.ambik.trial_log import decisions, options_of
from simulator.errors import InputError
from trees.faults import Fault

PUBLISHED: Final = "published"
"""Who sits in the robot's seat where a file does not say."""
_DIGEST: Final = 8
_EVENT: Final = "import"
_CLOSE: Final = 1e-9
_PSEUDONYM: Final = re.compile(r"p[a-z2-7]{20}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """What became of some lines of a file.

    Attributes:
        run: theirs.
        new: whether it was not in the log before.
        calibrates: whether a threshold is taken of it.
        episodes: of the run.
        added: of them, those that were not in the log whole before.
        lines: that are in it.
        differences: stored values that do not come out again, a sentence each.
    """

    run: Run
    new: bool
    calibrates: bool
    episodes: int
    added: int
    lines: int
    differences: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedFile:
    """What became of a file.

    Attributes:
        source: the file, with what could not be read of it.
        runs: calibrations first.
        faults: of lines that are not in a run, by line.
        refused: why runs of it could not be written.
    """

    source: Source
    runs: tuple[Imported, ...]
    faults: tuple[Fault, ...]
    refused: tuple[str, ...] = ()


def import_sources(
    sources: Sequence[Source], log: LogWriter, *, name: str | None = None
) -> tuple[ImportedFile, ...]:
    """Write every decision of some files into the log.

    Args:
        sources: the files; a calibration in one serves tests in all of them.
        log: where to.
        name: of the runs, in place of the files' names for them; where there are several, they begin with it.

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
        calibrations = [job for job in jobs if job.batch.calibrates]
        built = {job.run: _built(job, None, here) for job in calibrations}
        calibrations = [built[job.run].rest for job in calibrations if built[job.run].made]
        tests = (job for job in jobs if not job.batch.calibrates)
        built |= {job.run: _tests(job, calibrations, here, reader) for job in tests}
    written: dict[str, Imported | str] = {}
    for job in (job for job in jobs if built[job.run].made):
        try:
            written[job.run] = _write(built[job.run], here, log)
        except InputError as error:
            written[job.run] = str(error)
    log.flush()
    return tuple(
        _told(source, [job.run for job in jobs if job.source is source], built, written) for source in sources
    )


@dataclass(frozen=True, slots=True)
class _Job:
    """A batch that is to become the run called `run`; `called` is that without the file's digest."""

    source: Source
    batch: Batch
    run: str
    called: str


@dataclass(frozen=True, slots=True)
class _Built:
    """What is written of a job."""

    job: _Job
    options: dict[str, Any]
    made: tuple[tuple[Sitting, Episode], ...] = ()
    faults: tuple[Fault, ...] = ()

    @property
    def rest(self) -> _Job:
        """The job without what cannot be written."""
        return replace(self.job, batch=replace(self.job.batch, sittings=tuple(one for one, _ in self.made)))


@dataclass(slots=True)
class _Here:
    """What the log holds already.

    Attributes:
        names: of runs, with what tells an import; None of other runs.
        people: who are in it.
        erased: whose data were erased.
    """

    names: dict[str, tuple[str, str] | None]
    people: set[str]
    erased: frozenset[str]

    @classmethod
    def of(cls, reader: LogReader) -> _Here:
        names = {one.id: _identity(one) for one in reader.runs()}
        return cls(names, {one.id for one in reader.participants()}, reader.erased_participants())

    def named(self, called: str, source: Source) -> str:
        """The name of a run that no other run has: with a part of the file's digest, if need be."""
        mine = source.digest, called
        longer = f"{called}-{source.digest[:_DIGEST]}"
        name = next((one for one in (called, longer) if self.names.get(one, mine) == mine), None)
        if name is None:
            raise InputError(f"The log holds other runs {called!r} and {longer!r}; name this one with --run.")
        self.names[name] = mine
        return name


def _identity(run: Run) -> tuple[str, str] | None:
    """Of which file's content a run is, and how it was called; None if it was not imported."""
    if "imported_as" not in run.config:
        return None
    return str(run.config.get("sha256")), str(run.config["imported_as"])


def _tests(job: _Job, calibrations: Sequence[_Job], here: _Here, reader: LogReader) -> _Built:
    """A batch of tests with its threshold; where there is none, every line of it is a fault."""
    try:
        calibration = calibration_of(job.batch, [one.batch for one in calibrations])
        run = next((one.run for one in calibrations if one.batch is calibration), "")
        found = threshold_of(job.batch, calibration, run)
    except InputError as error:
        return _Built(job, {}, faults=_of_all(job, str(error)))
    if found is not None:
        found = replace(found, run=run or _elsewhere(found, job, here, reader))
    return _built(job, found, here)


def _elsewhere(found: Calibrated, job: _Job, here: _Here, reader: LogReader) -> str:
    """How the calibration that a threshold names is called in the log, if it is there.

    Another run of that name must not be taken for it.
    """
    if not found.run:
        return ""
    for run in reader.runs():
        if run.benchmark == BENCHMARK and found.run in (run.id, run.config.get("imported_run")):
            options = options_of(reader, run.id)
            if options.method == job.batch.first.decision.method and options.calibration is None:
                again = calibrate(decisions(reader, [run.id]), job.batch.first.settings)
                if (again.n, again.rank) == (found.n, found.rank) and _equal(again.q_hat, found.q_hat):
                    return run.id
    return f"{found.run}-{job.source.digest[:_DIGEST]}" if found.run in here.names else found.run


def _equal(one: float, other: float) -> bool:
    return one == other or abs(one - other) < _CLOSE


def _built(job: _Job, calibrated: Calibrated | None, here: _Here) -> _Built:
    """The episodes of a batch."""
    first = job.batch.first
    options: dict[str, Any] = {
        "task": "decide",
        "method": first.decision.method if first.decision.method in METHODS else "",
        "context": first.decision.context,
        "dialogue": first.decision.dialogue,
        "questions": max(map(questions_of, job.batch.sittings)),
        "settings": settings_option(first.settings),
        "chooser": first.decision.chooser if first.decision.chooser != first.decision.generator else "",
        "dataset": "ambik" if isinstance(first.decision.item, PairItem) else "knowno",
    }
    if calibrated is not None:
        options["calibration"] = calibration_option(calibrated)
    made: list[tuple[Sitting, Episode]] = []
    faults: list[Fault] = []
    for sitting in job.batch.sittings:
        try:
            if (person := _person(sitting, job)) in here.erased:
                raise InputError(f"actor: the data of {person} were erased from this log, and stay so")
            played = Options.read({**options, "questions": questions_of(sitting)})
            made.append((sitting, episode_of(sitting, _episode_id(job, sitting), played)))
        except InputError as error:
            faults += _faults(job, [sitting], str(error))
    return _Built(job, options, tuple(made), tuple(faults))


def _of_all(job: _Job, problem: str) -> tuple[Fault, ...]:
    return _faults(job, job.batch.sittings, problem)


def _faults(job: _Job, sittings: Iterable[Sitting], problem: str) -> tuple[Fault, ...]:
    path = str(job.source.path)
    return tuple(
        Fault(path, one.first.decision.item.id, each.number, "format", problem)
        for one in sittings
        for each in one.every
    )


def _episode_id(job: _Job, sitting: Sitting) -> str:
    """As the file has it, but for the run's name at its beginning."""
    return f"{job.run}/{sitting.first.decision.episode_id.removeprefix(f'{job.batch.source}/')}"


def _write(built: _Built, here: _Here, log: LogWriter) -> Imported:
    job, items = built.job, [item_row(one.first.decision.item) for one, _ in built.made]
    run = _run(built, sha256("".join(row.hash for row in items).encode()).hexdigest()[:16])
    try:
        known = log.put(run).result().duplicate
    except LogConflict as error:
        raise InputError(
            f"{job.source.path}: the log holds another import of this file, {run.id!r}, of other lines or "
            "with other texts of tasks; give this one another name with --run"
        ) from error
    seen: Counter[str] = Counter()
    ended: list[Future[Written]] = []
    for (sitting, made), item in zip(built.made, items, strict=True):
        person = _person(sitting, job)
        if person and person not in here.people:
            here.people.add(person)
            log.put(Participant(id=person, details={"imported": job.source.path.name}))
        log.put(item)
        log.put(_episode(built, sitting, item.hash, seen[item.hash], person))
        seen[item.hash] += 1
        for turn in made.turns:
            log.put(turn)
        for score in _scores(job, sitting, made):
            log.put(score)
        ended.append(log.put(Ending(episode_id=_episode_id(job, sitting), status=made.status)))
    added = sum(not one.result().duplicate for one in ended)
    if added:
        details = {"file": job.source.path.name, "sha256": job.source.digest}
        log.put(Event(kind=_EVENT, run_id=run.id, details=details))
    return Imported(
        run=run,
        new=not known,
        calibrates=job.batch.calibrates,
        episodes=len(built.made),
        added=added,
        lines=sum(len(one.every) for one, _ in built.made),
        differences=tuple(each for _, made in built.made for each in made.differences),
    )


def _run(built: _Built, items: str) -> Run:
    job, line = built.job, built.job.batch.first
    seats = _seats(job.batch.sittings[0])
    told = {
        "dataset": line.dataset,
        "dataset_version": line.version,
        "software_version": job.batch.sittings[0].lines[0].told.software,
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
            "data": line.version or line.dataset or built.options["dataset"],
            **{name: value for name, value in told.items() if value},
            "seats": seats,
            "options": built.options,
            "planned": len(built.made),
            "items": items,
        },
    )


def _setup(seats: dict[str, str]) -> Setup:
    robot, user = (seats.get(seat) == PERSON for seat in (ROBOT, USER))
    if robot:
        return "H2H" if user else "H2L"
    return "L2H" if user else "L2L"


def _seats(sitting: Sitting) -> dict[str, str]:
    line = sitting.first
    robot = PERSON if line.decision.method == PERSON else line.robot or line.decision.generator or PUBLISHED
    user = line.user or (PERSON if sitting.answers else "")
    return {ROBOT: robot, **({USER: user} if user else {})}


def _episode(built: _Built, sitting: Sitting, item: str, repeat: int, person: str | None) -> EpisodeRow:
    options = {**built.options, "questions": questions_of(sitting)}
    return EpisodeRow(
        id=_episode_id(built.job, sitting),
        run_id=built.job.run,
        item_hash=item,
        language=LANGUAGE,
        seats=_seats(sitting),
        seed=sitting.lines[0].told.seed,
        repeat=repeat,
        participant_id=person,
        options=options,
    )


def _person(sitting: Sitting, job: _Job) -> str | None:
    """The pseudonym of the person who plays; a log's own is kept, any other is of this file alone."""
    actor = actor_of(sitting)
    if not actor or _PSEUDONYM.fullmatch(actor):
        return actor or None
    return f"{actor}-{job.source.digest[:_DIGEST]}"


def _scores(job: _Job, sitting: Sitting, made: Episode) -> list[Score]:
    id = _episode_id(job, sitting)
    return [
        Score(episode_id=id, metric=name, value=one, version=VERSION) for name, one in made.scores.items()
    ]


def _told(
    source: Source, runs: Sequence[str], built: dict[str, _Built], written: dict[str, Imported | str]
) -> ImportedFile:
    faults = [*source.faults, *(fault for run in runs for fault in built[run].faults)]
    of = [written[run] for run in runs if run in written]
    done = [one for one in of if isinstance(one, Imported)]
    return ImportedFile(
        source=source,
        runs=tuple(sorted(done, key=lambda one: not one.calibrates)),
        faults=tuple(sorted(faults, key=lambda fault: fault.line)),
        refused=tuple(one for one in of if isinstance(one, str)),
    )
