"""Published and foreign results into the log, where they are read like any other run (spec 9, 13).

A run is named as the file names it, and after the file's content, too, where the log has another of that
name. What cannot be a decision is left out, and told with its line.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from hashlib import sha256
from typing import Any, Final, cast

from logs import LogReader, LogWriter
from logs.rows import Episode as EpisodeRow
from logs.rows import Participant, Run, Setup, Turn, now
from simulator.ambik.files.decisions import AnswerLine, DecisionLine
from simulator.ambik.files.fields import METRICS, PERSON
from simulator.ambik.importing.sources import (
    Batch,
    ImportedEpisode,
    Source,
    calibration_of,
    threshold_of,
)
from simulator.ambik.items import BENCHMARK, LANGUAGE, item_row
from simulator.ambik.payloads import calibrated, decided, person_mark
from simulator.ambik.playing import ROBOT, USER, Options, calibration_option
from simulator.ambik.predicting import calibrate, prepared
from simulator.ambik.records import Calibrated, Decision
from simulator.ambik.reporting.groups import configuration
from simulator.ambik.score import Values, score_rows
from simulator.ambik.terms import METHODS, NAMES, settings_option
from simulator.ambik.trial_log import decisions, options_of
from simulator.errors import InputError
from simulator.forms import YES
from simulator.studies.graph import CONSENT, READY
from simulator.tables.importing import DIGEST, PUBLISHED, EpisodeRows, ImportedRun, write_run
from simulator.whole import file_name

_CLOSE: Final = 1e-9
_PSEUDONYM: Final = re.compile(r"p[a-z2-7]{20}")


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
        for batch in batches:
            if batch.calibrates:
                _build(batch, None, here)
        calibrations = [batch for batch in batches if batch.calibrates and batch.rows]
        for batch in batches:
            if not batch.calibrates:
                _build_tests(batch, calibrations, here)
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


def _build(batch: Batch, calibrated: Calibrated | None, here: _Here) -> None:
    """Make the rows of a batch, whose sets are under a threshold."""
    first = batch.first
    decision = first.decision
    batch.options = {
        "task": "decide",
        "method": decision.method if decision.method in METHODS else "",
        "context": decision.context,
        "dialogue": decision.dialogue,
        "questions": max(episode.questions for episode in batch.episodes),
        "settings": settings_option(first.settings),
        "chooser": decision.chooser if decision.chooser != decision.generator else "",
        "dataset": decision.item.dataset,
    }
    if calibrated is not None:
        batch.options["calibration"] = calibration_option(calibrated)
    for episode in batch.episodes:
        try:
            if (person := _person(episode, batch)) in here.erased:
                raise InputError(f"actor: the data of {person} were erased from this log, and stay so")
            batch.rows.append((episode, *_rows(episode, batch, person)))
        except InputError as error:
            batch.refuse(str(error), episode)


def _person(episode: ImportedEpisode, batch: Batch) -> str | None:
    """Return the pseudonym of who plays; a log's own is kept, any other is of this file alone."""
    actor = episode.actor
    if not actor or _PSEUDONYM.fullmatch(actor):
        return actor or None
    return f"{actor}-{batch.digest[:DIGEST]}"


def _rows(episode: ImportedEpisode, batch: Batch, person: str | None) -> tuple[EpisodeRows, tuple[str, ...]]:
    # As the file calls the episode, but for the run's name at its beginning.
    id = f"{batch.run}/{episode.id.removeprefix(f'{batch.source}/')}"
    item = item_row(episode.first.decision.item)
    options = {**batch.options, "questions": episode.questions}
    turns, differences = turns_of(episode, id, Options.read(options))
    last = turns[-1].payload
    unanswered = last["kind"] == "decide" and last["asks"] and episode.questions > 0
    row = EpisodeRow(
        id=id,
        run_id=batch.run,
        item_hash=item.hash,
        language=LANGUAGE,
        seats=_seats(episode),
        seed=episode.first.details.seed,
        participant_id=person,
        options=options,
    )
    scores = score_rows(id, episode.first.decision.item, turns)
    metrics = {score.metric: score.value for score in scores}
    rows = EpisodeRows(row, item, turns, scores, "truncated" if unanswered else "completed")
    return rows, (*differences, *differing_scores(episode.first, metrics))


def _build_tests(batch: Batch, calibrations: Sequence[Batch], here: _Here) -> None:
    """Make the rows of a batch of tests; where there is no threshold, every line of it is a fault."""
    try:
        calibration = calibration_of(batch, calibrations)
        threshold = threshold_of(batch, calibration)
    except InputError as error:
        batch.refuse(str(error))
        return
    if threshold is not None:
        threshold = replace(
            threshold, run=calibration.run if calibration else _calibration_in_log(threshold, batch, here)
        )
    _build(batch, threshold, here)


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
    first, seats = batch.first, _seats(batch.episodes[0])
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


def _seats(episode: ImportedEpisode) -> dict[str, str]:
    decision, fields = episode.first.decision, episode.first.fields
    robot = PERSON if decision.method == PERSON else fields.robot or decision.generator or PUBLISHED
    user = fields.user or (PERSON if episode.answers else "")
    return {ROBOT: robot, **({USER: user} if user else {})}


# ---- the lines of an episode as its turns: what was stored stays, and is told where it does not come out

_FRONT: Final = ((CONSENT.kind, YES), (READY.kind, READY.kind))
"""The turns before a person's first decision in a study."""


def turns_of(
    episode: ImportedEpisode, episode_id: str, options: Options
) -> tuple[tuple[Turn, ...], tuple[str, ...]]:
    """Return an episode's turns, and stored values that are not those that come out, a sentence each."""
    turns: list[Turn] = []
    differences: list[str] = []

    def add(seat: str, text: str, payload: dict[str, Any], seconds: float | None, time: str) -> None:
        turns.append(
            Turn(
                episode_id=episode_id,
                number=len(turns),
                seat=seat,
                text=text,
                payload=payload,
                seconds=seconds,
                created_at=time or now(),
            )
        )

    first = episode.first
    if first.decision.method == PERSON and 0 < first.fields.turn <= len(_FRONT):
        # What was said before, lines do not tell but by the number of the first decision.
        for kind, text in _FRONT[-first.fields.turn :]:
            add(
                ROBOT,
                text,
                {"kind": kind, **person_mark(kind)},
                None,
                first.details.shown_at or first.details.made_at,
            )
    answers = iter(episode.answers)
    for line in episode.lines:
        payload, stored = _decision_payload(line, options)
        differences += stored
        asked, details = len(turns), line.details
        text = details.typed_text or payload["question"] or payload["action"]
        add(ROBOT, text, payload, details.seconds, details.made_at)
        if line.decision.answer:
            answer = next(answers, None)
            details = answer.details if answer else details
            payload = _answer(asked, line, answer)
            add(USER, line.decision.answer, payload, details.seconds if answer else None, details.made_at)
    return tuple(turns), tuple(differences)


def _decision_payload(line: DecisionLine, options: Options) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return a decision's payload, and what of it was stored otherwise than it comes out."""
    decision, details = line.decision, line.details
    rules = options.model_copy(update={"settings": line.settings})
    ready = prepared(decision, rules.settings)
    made = decided(ready, calibrated(ready, rules), rules, must_act=False)
    differences: list[str] = []
    if not line.calibrates:
        # Where it could not be answered, its set says whether it asked.
        asks = made["help"] if decision.asked is None else decision.asked
        predicted = None if details.prediction_set is None else list(details.prediction_set)
        stored: dict[str, Any] = {"prediction_set": predicted, "help": details.help}
        stored = {name: value for name, value in stored.items() if value is not None}
        differences = [
            _describe_difference(line, name, value, made[name])
            for name, value in stored.items()
            if value != made[name]
        ]
        made |= {**stored, "asks": asks, "question": decision.question if asks else ""}
    if decision.method == PERSON:
        made |= {"generator": PERSON, "offered": list(details.offered), "shown_at": details.shown_at}
        made |= person_mark("decide")
    return made | ({"decoding": dict(details.decoding)} if details.decoding else {}), tuple(differences)


def _answer(asked: int, line: DecisionLine, answer: AnswerLine | None) -> dict[str, Any]:
    payload: dict[str, Any] = {"kind": "answer", "asked": asked}
    if line.decision.method != PERSON:
        payload["question"] = line.decision.question
    if answer is not None:
        payload |= {**person_mark("answer"), "shown_at": answer.details.shown_at}
    return payload


def differing_scores(first: DecisionLine, metrics: Values) -> Iterator[str]:
    """Yield metrics that were stored otherwise than they come out; of the first decision, which is scored."""
    for name in METRICS:
        if name in first.details.scores and name in metrics:
            stored, value = first.details.scores[name], metrics[name]
            if stored != value and (stored is None or value is None or abs(stored - value) > _CLOSE):
                yield _describe_difference(first, name, stored, value)


def _describe_difference(line: DecisionLine, name: str, stored: Any, value: Any) -> str:
    return f"line {line.number}: {name} is stored as {_quote(stored)}, but comes out as {_quote(value)}"


def _quote(value: Any) -> str:
    if value is None:
        return "nothing"
    return f"{value:g}" if isinstance(value, float) else str(value)
