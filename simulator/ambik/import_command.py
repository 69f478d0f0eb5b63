"""`askback import ambik-results`: import published and other people's results as runs (spec 9, 13).

A run gets the name in the file; if the log has another run of that name, a digest of the file is appended.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any, Final, cast

import typer
from rich.console import Console

from logs import LogReader, LogWriter
from logs.cli import LogOption
from logs.paths import default_path
from logs.rows import Episode, Run, Setup, Turn, now
from simulator.ambik.files.decisions import AnswerLine, DecisionLine
from simulator.ambik.files.fields import PERSON
from simulator.ambik.import_sources import (
    Batch,
    ImportedEpisode,
    Source,
    log_names,
    name_batches,
    read_sources,
)
from simulator.ambik.items import BENCHMARK, LANGUAGE, PairItem, item_row
from simulator.ambik.payloads import act_or_ask, person_mark, score_candidates
from simulator.ambik.playing import ROBOT, USER, Options, calibration_option
from simulator.ambik.predicting import calibrate, prepare
from simulator.ambik.records import Calibrated
from simulator.ambik.reporting.groups import calibration_key
from simulator.ambik.score import score_rows
from simulator.ambik.terms import CONFORMAL, METHODS, NAMES, settings_option
from simulator.ambik.trial_log import decisions, options_of
from simulator.errors import InputError
from simulator.forms import YES
from simulator.jsonlines import DuplicatesOption
from simulator.runner.options import check_run_name
from simulator.runner.run_summary import say
from simulator.studies.graph import CONSENT, READY
from simulator.tables.importing import (
    DIGEST,
    EpisodeRows,
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
            help="name of the run, or prefix of several; default: the file's", callback=check_run_name
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
_PSEUDONYM: Final = re.compile(r"p[a-z2-7]{20}")
_OPENING: Final = ((CONSENT.kind, YES), (READY.kind, READY.kind))
"""The turns before a person's first decision in a study: consent and readiness."""


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
            name_batches(source.batches, name)
        names = log_names(batches, reader)
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
            if (person := _pseudonym(episode, batch)) in erased:
                raise InputError(
                    f"actor: the data of {person} were erased from this log and are not added again"
                )
            batch.rows.append((episode, *_episode_rows(episode, batch, person)))
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
    first, seats = batch.first, batch.episodes[0].seats
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


# ---- the turns of an episode


def _episode_rows(
    episode: ImportedEpisode, batch: Batch, person: str | None
) -> tuple[EpisodeRows, tuple[str, ...]]:
    """Return an episode's rows for the log, and a sentence for each stored value that differs."""
    # The file's name for the episode, under the new name of the run.
    id = f"{batch.run}/{episode.id.removeprefix(f'{episode.first.decision.run}/')}"
    item = item_row(episode.first.decision.item)
    options = {**batch.options, "questions": episode.questions}
    turns, differences = _turns(episode, id, Options.read(options))
    last = turns[-1].payload
    unanswered = last["kind"] == "decide" and last["asks"] and episode.questions > 0
    row = Episode(
        id=id,
        run_id=batch.run,
        item_hash=item.hash,
        language=LANGUAGE,
        seats=episode.seats,
        seed=episode.first.details.seed,
        participant_id=person,
        options=options,
    )
    scores = score_rows(id, episode.first.decision.item, turns)
    metrics = {score.metric: score.value for score in scores}
    rows = EpisodeRows(row, item, turns, scores, "truncated" if unanswered else "completed")
    # Stored metrics are those of the first decision, the scored one.
    stored = {name: value for name, value in episode.first.details.scores.items() if name in metrics}
    return rows, (
        *differences,
        *(
            _describe_difference(episode.first, name, value, metrics[name])
            for name, value in stored.items()
            if not _is_equal(value, metrics[name])
        ),
    )


def _pseudonym(episode: ImportedEpisode, batch: Batch) -> str | None:
    """Return the player's pseudonym; one from a log is kept, any other name is made unique to the file."""
    actor = episode.actor
    if not actor or _PSEUDONYM.fullmatch(actor):
        return actor or None
    return f"{actor}-{batch.source.digest[:DIGEST]}"


def _turns(
    episode: ImportedEpisode, episode_id: str, options: Options
) -> tuple[tuple[Turn, ...], tuple[str, ...]]:
    """Return an episode's turns, and a sentence for each stored value that differs if recomputed."""
    turns: list[Turn] = []
    differences: list[str] = []

    def add(seat: str, text: str, payload: dict[str, Any], time: str, seconds: float | None = None) -> None:
        turn = Turn(episode_id=episode_id, number=len(turns), seat=seat, text=text, payload=payload)
        turns.append(replace(turn, seconds=seconds, created_at=time or now()))

    first, answers = episode.first, iter(episode.answers)
    if first.decision.method == PERSON and 0 < first.fields.turn <= len(_OPENING):
        # The opening turns are not in the file; the number of the first decision tells how many there were.
        for kind, text in _OPENING[-first.fields.turn :]:
            shown = first.details.shown_at or first.details.made_at
            add(ROBOT, text, {"kind": kind, **person_mark(kind)}, shown)
    for line in episode.lines:
        payload, stored = _decision_payload(line, options)
        differences += stored
        asked, details = len(turns), line.details
        text = details.typed_text or payload["question"] or payload["action"]
        add(ROBOT, text, payload, details.made_at, details.seconds)
        if line.decision.answer:
            answer = next(answers, None)
            made_at = answer.details.made_at if answer else details.made_at
            seconds = answer.details.seconds if answer else None
            add(USER, line.decision.answer, _answer(asked, line, answer), made_at, seconds)
    return tuple(turns), tuple(differences)


def _decision_payload(line: DecisionLine, options: Options) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return a decision's payload, and a sentence for each stored value that differs."""
    decision, details = line.decision, line.details
    rules = options.model_copy(update={"settings": line.settings})
    ready = prepare(decision, rules.settings)
    made = act_or_ask(ready, score_candidates(ready, rules), rules, must_act=False)
    differences: tuple[str, ...] = ()
    if not line.calibrates:
        # If no question could be answered, the set decides whether the robot asked.
        asks = made["help"] if decision.asked is None else decision.asked
        predicted = None if details.prediction_set is None else list(details.prediction_set)
        stored: dict[str, Any] = {"prediction_set": predicted, "help": details.help}
        stored = {name: value for name, value in stored.items() if value is not None}
        differences = tuple(
            _describe_difference(line, name, value, made[name])
            for name, value in stored.items()
            if value != made[name]
        )
        made |= {**stored, "asks": asks, "question": decision.question if asks else ""}
    if decision.method == PERSON:
        made |= {"generator": PERSON, "offered": list(details.offered), "shown_at": details.shown_at}
        made |= person_mark("decide")
    return made | ({"decoding": dict(details.decoding)} if details.decoding else {}), differences


def _answer(asked: int, line: DecisionLine, answer: AnswerLine | None) -> dict[str, Any]:
    payload: dict[str, Any] = {"kind": "answer", "asked": asked}
    if line.decision.method != PERSON:
        payload["question"] = line.decision.question
    if answer is not None:
        payload |= {**person_mark("answer"), "shown_at": answer.details.shown_at}
    return payload


def _is_equal(value: float | None, other: float | None) -> bool:
    return value == other or (value is not None and other is not None and abs(value - other) <= _CLOSE)


def _describe_difference(line: DecisionLine, name: str, *values: Any) -> str:
    stored, computed = (
        "nothing" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
        for value in values
    )
    return f"line {line.number}: {name} is stored as {stored} but recomputed as {computed}"
