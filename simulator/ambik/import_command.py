"""`askback import ambik-results`: import published and other people's results as runs (spec 9, 13).

A run gets the name in the file; if the log has another run of that name, a digest of the file is appended.
Lines that cannot be decisions are left out and reported.
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
from simulator.output_files import file_name
from simulator.runner.options import check_run_name
from simulator.runner.run_summary import say
from simulator.tables.importing import (
    DIGEST,
    ImportedRun,
    print_failed,
    print_faults,
    print_imported,
    write_run,
)


def import_ambik(
    paths: Annotated[
        list[Path],
        typer.Argument(
            help="logs of decisions (JSON lines or a JSON list), the published KnowNo run with "
            "log-probabilities, or folders of such files; pairs and scenarios next to them provide texts"
        ),
    ],
    data: Annotated[
        str | None,
        typer.Option(help="data of decisions that lack their task, a name or a path; default: added data"),
    ] = None,
    run: Annotated[
        str | None,
        typer.Option(
            help="name of the run, or prefix of several; default: the name in the file",
            callback=check_run_name,
        ),
    ] = None,
    duplicates: DuplicatesOption = "refuse",
    log: LogOption = None,
) -> None:
    """Import results into the log, a run per robot, method and configuration; repeating adds nothing.

    Calibrations become separate runs. Lines that are not decisions are left out and reported; stored sets and
    scores are compared with recomputed ones. The exit code is 1 if a file could not be imported.
    """
    sources = read_sources(paths, data=data, duplicates=duplicates)
    path = log or default_path()
    if sources.files:
        with LogWriter(path, durable=False) as writer:
            import_sources(sources.files, writer, name=run)
    for file in sources.passed_over:
        say(Console(stderr=True), f"{file}: no decisions; skipped", "dim")
    for source in sources.files:
        _print_file(source, path)
    failed = list(sources.unreadable)
    for source in sources.files:
        nothing = () if source.runs else (f"{source.path}: nothing was imported",)
        failed += source.refused or nothing
    print_failed(failed)
    if tests := [test.run.id for source in sources.files for test in source.tests]:
        say(Console(), f"Full report: askback report ambik {' '.join(tests)}")
    if failed:
        raise typer.Exit(1)


def _print_file(source: Source, log: Path) -> None:
    for run in source.runs:
        print_imported(run, log)
    if source.bare:
        count = f"{source.bare} of {sum(len(batch.episodes) for batch in source.batches)}"
        say(
            Console(),
            f"{count} decisions have only the number of their scenario (add the file of scenarios, or name "
            "the data with --data)",
        )
    if source.forms:
        errors = Console(stderr=True)
        say(errors, f"{source.path}: {source.forms} lines are annotators' forms; left out", "yellow")
    print_faults(source.path, source.faults, "lines")


_CLOSE: Final = 1e-9


def import_sources(sources: Sequence[Source], log: LogWriter, *, name: str | None = None) -> None:
    """Write the decisions of files into the log, and set each batch's `imported` or `refused`.

    `name`: name of the run instead of the name in the file, or the prefix of several.

    Raises:
        InputError: if the log has other runs under both the name and its longer form.
        LogError: if the log cannot be written.
    """
    batches = [batch for source in sources for batch in source.batches]
    with LogReader(log.path) as reader:
        contents = _LogContents(reader)
        for source in sources:
            _name_batches(source.batches, name)
        for batch in batches:
            contents.name(batch)
        for batch in sorted(batches, key=lambda batch: not batch.calibrates):
            _build(batch, batches, contents)
    for batch in batches:
        if batch.rows:
            try:
                batch.imported = _write(batch, contents, log)
            except InputError as error:
                batch.refused = str(error)


def _name_batches(batches: Sequence[Batch], name: str | None = None) -> None:
    """Name the runs of one file by their names in the file and the settings in which they differ.

    `name`: used instead of the name in the file; prefix if there are several.
    """
    by_source: defaultdict[str, list[Decision]] = defaultdict(list)
    for batch in batches:
        by_source[batch.source].append(batch.first.decision)
    name_counts: Counter[str] = Counter()
    for batch in batches:
        decisions_of_run = by_source[batch.source]
        base = file_name(batch.source)
        if name is not None:
            base = f"{name}-{base}" if len(by_source) > 1 else name
        # Only settings in which the batches of one run differ.
        values = zip(configuration(batch.first.decision), *map(configuration, decisions_of_run), strict=True)
        label = "-".join((base, *(file_name(own) for own, *every in values if len(set(every)) > 1)))
        if batch.calibrates and len(decisions_of_run) > 1:
            label = f"{label}-calibration"
        name_counts[label] += 1
        batch.called = f"{label}-{name_counts[label]}" if name_counts[label] > 1 else label


class _LogContents:
    """The log's run names, with file digest and name at import, and its participants."""

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
        """Set a batch's run name to one that no other run has, with a part of its digest if necessary."""
        origin = batch.digest, batch.called
        longer = f"{batch.called}-{batch.digest[:DIGEST]}"
        name = next((name for name in (batch.called, longer) if self.names.get(name, origin) == origin), None)
        if name is None:
            raise InputError(
                f"The log already has other runs {batch.called!r} and {longer!r}; name this one with --run."
            )
        self.names[name] = origin
        batch.run = name

    def new(self, people: Iterable[str | None], file: str) -> Iterator[Participant]:
        """Yield the participants who are not in the log yet, each once."""
        for person in people:
            if person and person not in self.people:
                self.people.add(person)
                yield Participant(id=person, details={"imported": file})


def _build(batch: Batch, batches: Sequence[Batch], contents: _LogContents) -> None:
    """Build the rows of a batch; if it needs a threshold and has none, every line becomes a fault."""
    first = batch.first
    decision = first.decision
    try:
        threshold = _threshold(batch, batches, contents)
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
            if (person := pseudonym_of(episode, batch)) in contents.erased:
                raise InputError(
                    f"actor: the data of {person} were erased from this log and are not added again"
                )
            batch.rows.append((episode, *episode_rows(episode, batch, person)))
        except InputError as error:
            batch.refuse(str(error), episode)


def _threshold(batch: Batch, batches: Iterable[Batch], contents: _LogContents) -> Calibrated | None:
    """Return the threshold of a batch's sets: from its lines, otherwise from its calibration.

    Raises:
        InputError: if its method needs one and there is neither, or several calibrations match.
    """
    if batch.calibrates or batch.first.decision.method not in CONFORMAL:
        return None
    threshold, calibration = batch.first.threshold, _find_calibration(batch, batches)
    if threshold is not None:
        run = calibration.run if calibration else _logged_calibration(threshold, batch, contents)
        return replace(threshold, run=run)
    if calibration is None:
        raise InputError(
            "q_hat is missing (with epsilon, n_calibration and rank), and no decisions on calibration items "
            "of this method, robot and context are among the files; import both together"
        )
    decided = [episode.first.decision for episode, _, _ in calibration.rows]
    return calibrate(decided, batch.first.settings, run=calibration.run)


def _find_calibration(batch: Batch, batches: Iterable[Batch]) -> Batch | None:
    """Return the calibration batch for a batch of tests; None if it is not among `batches`.

    It is the one that the lines name, otherwise the one with the same method, robot, context and data set.
    """
    key, threshold = calibration_key(batch.first.decision), batch.first.threshold
    calibrations = (other for other in batches if other.calibrates and other.rows)
    same = [other for other in calibrations if calibration_key(other.first.decision) == key]
    fit = [other for other in same if threshold is not None and other.source == threshold.run] or same
    if len(fit) > 1:
        named = ", ".join(dict.fromkeys(other.source for other in fit))
        raise InputError(
            f"calibration_run does not say which of several calibrations applies ({named}); import only one"
        )
    return fit[0] if fit else None


def _logged_calibration(threshold: Calibrated, batch: Batch, contents: _LogContents) -> str:
    """Return the logged run that a threshold names as its calibration, otherwise a name that no run has.

    A logged run matches only if its method and its recomputed threshold do.
    """
    if not threshold.run:
        return ""
    for run in contents.reader.runs():
        if run.benchmark == BENCHMARK and threshold.run in (run.id, run.config.get("imported_run")):
            options = options_of(contents.reader, run.id)
            if options.method == batch.first.decision.method and options.calibration is None:
                logged = calibrate(decisions(contents.reader, [run.id]), batch.first.settings)
                same = logged.q_hat == threshold.q_hat or abs(logged.q_hat - threshold.q_hat) < _CLOSE
                if same and (logged.n, logged.rank) == (threshold.n, threshold.rank):
                    return run.id
    return f"{threshold.run}-{batch.digest[:DIGEST]}" if threshold.run in contents.names else threshold.run


def _write(batch: Batch, contents: _LogContents, log: LogWriter) -> ImportedRun:
    run = _run(batch)
    receipt = write_run(
        log,
        run,
        (rows for _, rows, _ in batch.rows),
        people=contents.new((rows.episode.participant_id for _, rows, _ in batch.rows), batch.file.name),
        conflict=(
            f"{batch.file}: the log has another import of this file, {run.id!r}, with other lines or other "
            "task texts; give this one another name with --run"
        ),
    )
    robot = ", ".join(filter(None, (NAMES.get(batch.options["method"], ""), run.config["seats"][ROBOT])))
    return ImportedRun(
        run=run,
        receipt=receipt,
        title=f"{'calibration, ' if batch.calibrates else ''}{robot}",
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
