"""`askback import ambik-results`: import published and other people's results as runs (spec 9, 13).

A run gets the name in the file; if the log has another run of that name, a digest of the file is appended.
Lines that cannot be decisions are left out and reported.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Final, cast

import typer
from rich.console import Console

from logs import LogReader, LogWriter
from logs.cli import LogOption
from logs.paths import default_path
from logs.rows import Run, Setup
from simulator.ambik.files.fields import PERSON
from simulator.ambik.import_rows import episode_rows, pseudonym_of, seats_of_episode
from simulator.ambik.import_sources import Batch, ImportedEpisode, Source, read_sources
from simulator.ambik.items import BENCHMARK, PairItem
from simulator.ambik.playing import ROBOT, USER, calibration_option
from simulator.ambik.predicting import calibrate
from simulator.ambik.records import Calibrated, Decision
from simulator.ambik.reporting.groups import calibration_key, configuration
from simulator.ambik.terms import CONFORMAL, METHODS, NAMES, settings_option
from simulator.ambik.trial_log import decisions, options_of
from simulator.errors import InputError
from simulator.jsonlines import DuplicatesOption
from simulator.output_files import file_name
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
        typer.Option(help="name of the run, or prefix of several; default: the name in the file"),
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
        failed += source.refused or ([] if source.runs else [f"{source.path}: nothing was imported"])
    print_failed(failed)
    if tests := [test.run.id for source in sources.files for test in source.tests]:
        say(Console(), f"Full report: askback report ambik {' '.join(tests)}")
    if failed:
        raise typer.Exit(1)


def _print_file(source: Source, log: Path) -> None:
    for run in source.runs:
        print_imported(run, log)
    episodes = [episode for batch in source.batches for episode in batch.episodes]
    items = [line.decision.item for episode in episodes for line in episode.lines]
    if bare := sum(not isinstance(item, PairItem) and not item.scenario.task for item in items):
        say(
            Console(),
            f"{bare} of {len(episodes)} decisions have only the number of their scenario (add the file of "
            "scenarios, or name the data with --data)",
        )
    if source.forms:
        errors = Console(stderr=True)
        say(errors, f"{source.path}: {source.forms} lines are annotators' forms; left out", "yellow")
    print_faults(source.path, source.faults, "lines")


_CLOSE: Final = 1e-9


def import_sources(sources: Sequence[Source], log: LogWriter, *, name: str | None = None) -> None:
    """Write the decisions of files into the log, and set each file's results.

    `name`: name of the run instead of the name in the file, or the prefix of several.

    Raises:
        InputError: if the log has other runs under both the name and its longer form.
        LogError: if the log cannot be written.
    """
    batches = [batch for source in sources for batch in source.batches]
    with LogReader(log.path) as reader:
        for source in sources:
            _name_batches(source.batches, name)
        names = _run_names(batches, reader)
        for batch in sorted(batches, key=lambda batch: not batch.calibrates):
            _build(batch, batches, reader, names)
    for batch in batches:
        if batch.rows:
            imported = batch.source.calibrations if batch.calibrates else batch.source.tests
            try:
                imported.append(_write(batch, log))
            except InputError as error:
                batch.source.refused.append(str(error))
    for source in sources:
        source.faults.sort(key=lambda fault: fault.line)


def _name_batches(batches: Sequence[Batch], name: str | None = None) -> None:
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


def _run_names(batches: Iterable[Batch], reader: LogReader) -> Collection[str]:
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


def _build(batch: Batch, batches: Sequence[Batch], reader: LogReader, names: Collection[str]) -> None:
    """Build the rows of a batch; if it needs a threshold and has none, every line becomes a fault."""
    first = batch.first
    decision = first.decision

    def refuse(problem: InputError, episodes: Iterable[ImportedEpisode]) -> None:
        for episode in episodes:
            for line in episode.every:
                batch.source.add_fault(str(problem), episode.first.decision.item.id, line)

    try:
        threshold = _threshold(batch, batches, reader, names)
    except InputError as error:
        refuse(error, batch.episodes)
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
    erased = reader.erased_participants()
    for episode in batch.episodes:
        try:
            if (person := pseudonym_of(episode, batch)) in erased:
                raise InputError(
                    f"actor: the data of {person} were erased from this log and are not added again"
                )
            batch.rows.append((episode, *episode_rows(episode, batch, person)))
        except InputError as error:
            refuse(error, [episode])


def _threshold(
    batch: Batch, batches: Iterable[Batch], reader: LogReader, names: Collection[str]
) -> Calibrated | None:
    """Return the threshold of a batch's sets: from its lines, otherwise from its calibration.

    Raises:
        InputError: if its method needs one and there is neither, or several calibrations match.
    """
    if batch.calibrates or batch.first.decision.method not in CONFORMAL:
        return None
    threshold, calibration = batch.first.threshold, _find_calibration(batch, batches)
    if threshold is not None:
        run = calibration.run if calibration else _logged_calibration(threshold, batch, reader, names)
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
    named_run = threshold.run if threshold is not None else None
    fit = [other for other in same if other.first.decision.run == named_run] or same
    if len(fit) > 1:
        named = ", ".join(dict.fromkeys(other.first.decision.run for other in fit))
        raise InputError(
            f"calibration_run does not say which of several calibrations applies ({named}); import only one"
        )
    return fit[0] if fit else None


def _logged_calibration(
    threshold: Calibrated, batch: Batch, reader: LogReader, names: Collection[str]
) -> str:
    """Return the logged run that a threshold names as its calibration, otherwise a name that no run has.

    A logged run matches only if its method and its recomputed threshold do.
    """
    if not threshold.run:
        return ""
    for run in reader.runs():
        if run.benchmark == BENCHMARK and threshold.run in (run.id, run.config.get("imported_run")):
            options = options_of(reader, run.id)
            if options.method == batch.first.decision.method and options.calibration is None:
                logged = calibrate(decisions(reader, [run.id]), batch.first.settings)
                same = logged.q_hat == threshold.q_hat or abs(logged.q_hat - threshold.q_hat) < _CLOSE
                if same and (logged.n, logged.rank) == (threshold.n, threshold.rank):
                    return run.id
    return f"{threshold.run}-{batch.source.digest[:DIGEST]}" if threshold.run in names else threshold.run


def _write(batch: Batch, log: LogWriter) -> ImportedRun:
    run = _run(batch)
    conflict = (
        f"{batch.source.path}: the log has another import of this file, {run.id!r}, with other lines or "
        "other task texts; give this one another name with --run"
    )
    receipt = write_run(log, run, (rows for _, rows, _ in batch.rows), conflict=conflict)
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
            "imported": batch.source.path.name,
            "imported_run": first.decision.run,
            "imported_as": batch.called,
            "sha256": batch.source.digest,
            "data": first.fields.dataset_version or first.fields.dataset or batch.options["dataset"],
            **{name: value for name, value in origin.items() if value},
            "seats": seats,
            "options": batch.options,
            "planned": len(batch.rows),
            "items": sha256(hashes.encode()).hexdigest()[:16],
        },
    )
