"""`askback import ambik-results`: published and foreign results into the log, as runs (spec 9, 13).

A run is named as the file names it, and after the file's content, too, where the log has another of that
name. What cannot be a decision is left out, and told with its line.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Final, cast

import typer
from rich.console import Console

from logs import LogReader, LogWriter
from logs.cli import LogOption
from logs.paths import default_path
from logs.rows import Participant, Run, Setup
from simulator.ambik.files.fields import PERSON
from simulator.ambik.import_rows import episode_rows, pseudonym_of, seats_of_episode
from simulator.ambik.import_sources import Batch, Source, read_sources
from simulator.ambik.items import BENCHMARK
from simulator.ambik.playing import ROBOT, USER, calibration_option
from simulator.ambik.predicting import calibrate
from simulator.ambik.records import Calibrated, Decision
from simulator.ambik.reporting.groups import calibration_key, configuration
from simulator.ambik.terms import CONFORMAL, METHODS, NAMES, settings_option
from simulator.ambik.trial_log import decisions, options_of
from simulator.errors import InputError
from simulator.jsonlines import DuplicatesOption
from simulator.runner.run_summary import say
from simulator.tables.importing import (
    DIGEST,
    ImportedRun,
    print_failed,
    print_faults,
    print_imported,
    write_run,
)
from simulator.whole import file_name


def import_ambik(
    paths: Annotated[
        list[Path],
        typer.Argument(
            help="logs of decisions (JSON lines or a JSON list), the published KnowNo run with "
            "log-probabilities, folders with such files; pairs and scenarios beside them serve texts"
        ),
    ],
    data: Annotated[
        str | None,
        typer.Option(help="what decisions without their task are of, a name or a path; default: added data"),
    ] = None,
    run: Annotated[
        str | None,
        typer.Option(help="the run's name, or what several begin with; default: as the file has it"),
    ] = None,
    duplicates: DuplicatesOption = "refuse",
    log: LogOption = None,
) -> None:
    """Bring results into the log, a run for each robot, method and configuration; again it adds nothing.

    Calibrations become runs of their own. Lines that are no decisions are left out and told; stored sets and
    scores are compared with recomputed ones. The exit code is 1 if a file could not be imported.
    """
    sources = read_sources(paths, data=data, duplicates=duplicates)
    path = log or default_path()
    if sources.files:
        with LogWriter(path, durable=False) as writer:
            import_sources(sources.files, writer, name=run)
    for file in sources.passed_over:
        say(Console(stderr=True), f"{file}: no decisions; passed over", "dim")
    for source in sources.files:
        _print_file(source, path)
    failed = list(sources.unreadable)
    for source in sources.files:
        nothing = () if source.runs else (f"{source.path}: nothing of it was imported",)
        failed += source.refused or nothing
    print_failed(failed)
    if tests := [test.run.id for source in sources.files for test in source.tests]:
        say(Console(), f"More of them: askback report ambik {' '.join(tests)}")
    if failed:
        raise typer.Exit(1)


def _print_file(source: Source, log: Path) -> None:
    for run in source.runs:
        print_imported(run, log)
    if source.bare:
        count = f"{source.bare} of {sum(len(batch.episodes) for batch in source.batches)}"
        say(
            Console(),
            f"of {count} decisions the scenario is known by its number alone (name the file of scenarios, or "
            "the data with --data)",
        )
    if source.forms:
        errors = Console(stderr=True)
        say(errors, f"{source.path}: {source.forms} lines are annotators' forms; left out", "yellow")
    print_faults(source.path, source.faults, "lines")


_CLOSE: Final = 1e-9


def import_sources(sources: Sequence[Source], log: LogWriter, *, name: str | None = None) -> None:
    """Write every decision of some files into the log, and tell each batch what became of it.

    `name`: of the runs, in place of the files' names for them; where there are several, they begin with it.

    Raises:
        InputError: if the log holds other runs of a name and of what it would be instead.
        LogError: if the log cannot be written.
    """
    batches = [batch for source in sources for batch in source.batches]
    with LogReader(log.path) as reader:
        here = _Here(reader)
        for source in sources:
            _name_batches(source.batches, name)
        for batch in batches:
            here.name(batch)
        for batch in sorted(batches, key=lambda batch: not batch.calibrates):
            _build(batch, batches, here)
    for batch in batches:
        if batch.rows:
            try:
                batch.imported = _write(batch, here, log)
            except InputError as error:
                batch.refused = str(error)


def _name_batches(batches: Sequence[Batch], name: str | None = None) -> None:
    """Call the runs of one file as the file calls them, with what tells them apart.

    `name`: in place of the file's names; several begin with it.
    """
    by_source: defaultdict[str, list[Decision]] = defaultdict(list)
    for batch in batches:
        by_source[batch.source].append(batch.first.decision)
    taken: Counter[str] = Counter()
    for batch in batches:
        beside = by_source[batch.source]
        base = file_name(batch.source)
        if name is not None:
            base = f"{name}-{base}" if len(by_source) > 1 else name
        # What of the configuration tells the batches of one run apart.
        values = zip(configuration(batch.first.decision), *map(configuration, beside), strict=True)
        called = "-".join((base, *(file_name(own) for own, *every in values if len(set(every)) > 1)))
        if batch.calibrates and len(beside) > 1:
            called = f"{called}-calibration"
        taken[called] += 1
        batch.called = f"{called}-{taken[called]}" if taken[called] > 1 else called


class _Here:
    """The contents of the log: names of runs with the file's content and the name at import, and people."""

    def __init__(self, reader: LogReader) -> None:
        self.reader = reader
        self.names = {
            run.id: (str(run.config.get("sha256")), str(run.config["imported_as"]))
            if "imported_as" in run.config
            else None
            for run in reader.runs()
        }
        self.people = {person.id for person in reader.participants()}
        self.erased = reader.erased_participants()

    def name(self, batch: Batch) -> None:
        """Give a batch the name of a run that no other run has: with a part of its digest, if need be."""
        mine = batch.digest, batch.called
        longer = f"{batch.called}-{batch.digest[:DIGEST]}"
        name = next((name for name in (batch.called, longer) if self.names.get(name, mine) == mine), None)
        if name is None:
            raise InputError(
                f"The log holds other runs {batch.called!r} and {longer!r}; name this one with --run."
            )
        self.names[name] = mine
        batch.run = name

    def new(self, people: Iterable[str | None], file: str) -> Iterator[Participant]:
        """Yield the people who are not in the log yet, each once."""
        for person in people:
            if person and person not in self.people:
                self.people.add(person)
                yield Participant(id=person, details={"imported": file})


def _build(batch: Batch, batches: Sequence[Batch], here: _Here) -> None:
    """Make the rows of a batch; where tests have no threshold, every line of them is a fault."""
    first = batch.first
    decision = first.decision
    try:
        threshold = _threshold(batch, batches, here)
    except InputError as error:
        batch.refuse(str(error))
        return
    batch.options = {
        "task": "decide",
        "method": decision.method if decision.method in METHODS else "",
        "context": decision.context,
        "dialogue": decision.dialogue,
        "questions": max(episode.questions for episode in batch.episodes),
        "settings": settings_option(first.settings),
        "chooser": decision.chooser if decision.chooser != decision.generator else "",
        "dataset": decision.item.dataset,
        **({"calibration": calibration_option(threshold)} if threshold is not None else {}),
    }
    for episode in batch.episodes:
        try:
            if (person := pseudonym_of(episode, batch)) in here.erased:
                raise InputError(f"actor: the data of {person} were erased from this log, and stay so")
            batch.rows.append((episode, *episode_rows(episode, batch, person)))
        except InputError as error:
            batch.refuse(str(error), episode)


def _threshold(batch: Batch, batches: Iterable[Batch], here: _Here) -> Calibrated | None:
    """Return the threshold under which a batch's sets are: as its lines have it, or else of its calibration.

    Raises:
        InputError: if its method needs one, and there is neither, or several may be meant.
    """
    if batch.calibrates or batch.first.decision.method not in CONFORMAL:
        return None
    threshold, calibration = batch.first.threshold, _calibration_of(batch, batches)
    if threshold is not None:
        run = calibration.run if calibration else _calibration_in_log(threshold, batch, here)
        return replace(threshold, run=run)
    if calibration is None:
        raise InputError(
            "q_hat is missing (with epsilon, n_calibration and rank), and no decisions on calibration items "
            "of this method, robot and context are among the files; import both together"
        )
    made = [episode.first.decision for episode, _, _ in calibration.rows]
    return calibrate(made, batch.first.settings, run=calibration.run)


def _calibration_of(batch: Batch, batches: Iterable[Batch]) -> Batch | None:
    """Return the batch that a batch of tests is calibrated on; None if there is none among these.

    It is the one that the lines name, or else the one of the same method, robot, context and kind of task.
    """
    key, threshold = calibration_key(batch.first.decision), batch.first.threshold
    calibrations = (other for other in batches if other.calibrates and other.rows)
    same = [other for other in calibrations if calibration_key(other.first.decision) == key]
    fit = [other for other in same if threshold is not None and other.source == threshold.run] or same
    if len(fit) > 1:
        named = ", ".join(dict.fromkeys(other.source for other in fit))
        raise InputError(
            f"calibration_run does not say which of several calibrations it is of ({named}); give the rows "
            "of one"
        )
    return fit[0] if fit else None


def _calibration_in_log(threshold: Calibrated, batch: Batch, here: _Here) -> str:
    """Return how the calibration that a threshold names is called in the log, if it is there.

    Another run of that name must not be taken for it.
    """
    if not threshold.run:
        return ""
    for run in here.reader.runs():
        if run.benchmark == BENCHMARK and threshold.run in (run.id, run.config.get("imported_run")):
            options = options_of(here.reader, run.id)
            if options.method == batch.first.decision.method and options.calibration is None:
                again = calibrate(decisions(here.reader, [run.id]), batch.first.settings)
                same = again.q_hat == threshold.q_hat or abs(again.q_hat - threshold.q_hat) < _CLOSE
                if same and (again.n, again.rank) == (threshold.n, threshold.rank):
                    return run.id
    return f"{threshold.run}-{batch.digest[:DIGEST]}" if threshold.run in here.names else threshold.run


def _write(batch: Batch, here: _Here, log: LogWriter) -> ImportedRun:
    run = _run(batch)
    receipt = write_run(
        log,
        run,
        (rows for _, rows, _ in batch.rows),
        people=here.new((rows.episode.participant_id for _, rows, _ in batch.rows), batch.file.name),
        conflict=(
            f"{batch.file}: the log holds another import of this file, {run.id!r}, of other lines or "
            "with other texts of tasks; give this one another name with --run"
        ),
    )
    who = ", ".join(filter(None, (NAMES.get(batch.options["method"], ""), run.config["seats"][ROBOT])))
    return ImportedRun(
        run=run,
        receipt=receipt,
        title=f"{'calibration, ' if batch.calibrates else ''}{who}",
        rows=sum(len(episode.every) for episode, _, _ in batch.rows),
        differences=tuple(each for _, _, differences in batch.rows for each in differences),
        unit="lines",
    )


def _run(batch: Batch) -> Run:
    first, seats = batch.first, seats_of_episode(batch.episodes[0])
    hashes = "".join(rows.item.hash for _, rows, _ in batch.rows)
    origin = {
        "dataset": first.fields.dataset,
        "dataset_version": first.fields.dataset_version,
        "software_version": first.details.version,
    }
    letters = ("H" if seats.get(seat) == PERSON else "L" for seat in (ROBOT, USER))
    return Run(
        id=batch.run,
        benchmark=BENCHMARK,
        setup=cast(Setup, "2".join(letters)),
        seed=0,
        config={
            "imported": batch.file.name,
            "imported_run": batch.source,
            "imported_as": batch.called,
            "sha256": batch.digest,
            "data": first.fields.dataset_version or first.fields.dataset or batch.options["dataset"],
            **{name: value for name, value in origin.items() if value},
            "seats": seats,
            "options": batch.options,
            "planned": len(batch.rows),
            "items": sha256(hashes.encode()).hexdigest()[:16],
        },
    )
