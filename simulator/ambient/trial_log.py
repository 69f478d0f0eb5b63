"""Records read from the log, in the same form as records of published files (spec 13).

Only episodes played to their end count, and only of participants who were not erased. A record's texts come
from the item as played, so a log can be scored without its data set.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, TypeVar

from logs import LogReader
from logs.rows import Run, Turn
from simulator.ambient.continuations import SampledOption, kl_options
from simulator.ambient.examples import Disambiguation
from simulator.ambient.generation import gold_rewrites
from simulator.ambient.items import BENCHMARK, JUDGED, TASKS, ContinueItem, Item, Task, item_from_row
from simulator.ambient.payloads import fill_missing_answers
from simulator.ambient.playing import ANNOTATOR, Kind
from simulator.ambient.prompts import prompt
from simulator.ambient.records import (
    ClaimRecord,
    ContinuationOption,
    ContinuationRecord,
    CrowdRecord,
    GenerationRecord,
    LinguistRecord,
    NliRecord,
    Paraphrase,
    TrueFalseRecord,
)
from simulator.ambient.true_false import true_false_prompt
from simulator.runner.logged import ENDED, PlayedItem, played_items, required_run
from simulator.seeds import derive_seed

RecordT = TypeVar("RecordT")


def payloads(turns: Iterable[Turn], kind: Kind) -> list[Mapping[str, Any]]:
    """Return the payloads of one kind, in the order of the turns."""
    return [turn.payload for turn in turns if turn.payload.get("kind") == kind]


def last_payload(turns: Iterable[Turn], kind: Kind) -> Mapping[str, Any]:
    """Return the last payload of one kind in an episode; empty if there is none."""
    return next(reversed(payloads(turns, kind)), {})


def played_of(reader: LogReader, runs: Iterable[str], *, aborted: bool = False) -> tuple[PlayedItem, ...]:
    """Return the episodes of some runs that were played to their end, in the order in which they ended.

    `aborted`: include episodes of models' tasks that a failing seat aborted, with empty answers for the
    missing steps (`payloads.fill_missing_answers`).

    Raises:
        InputError: if a run is of another benchmark.
        NotInLog: if there is no such run.
    """
    episodes = [played for run in runs for played in _played_episodes(reader, run, aborted)]
    return tuple(sorted(episodes, key=lambda played: (played.ending.created_at, played.episode.id)))


def _played_episodes(reader: LogReader, run: str, aborted: bool) -> Iterator[PlayedItem]:
    required_run(reader, run, BENCHMARK)
    for played in played_items(reader, run, item_from_row, aborted=aborted):
        if played.ending.status in ENDED:
            yield played
        elif played.item.task not in JUDGED:
            yield played._replace(turns=fill_missing_answers(played.item, played.episode, played.turns))


# ---- records, one for each row of a results file


def _crowd(*workers: PlayedItem) -> Iterator[CrowdRecord]:
    """Yield the votes on one item, workers in order of completion."""
    item = workers[0].item
    plausible = [last_payload(worker.turns, "plausible")["answers"] for worker in workers]
    relabelled = [last_payload(worker.turns, "relabel")["answers"] for worker in workers]
    asked = item.task == "crowd"
    yield CrowdRecord(
        id=item.example_id,
        premise=item.premise,
        hypothesis=item.hypothesis,
        side=item.side,
        interpretations=tuple(candidate.sentence for candidate in item.candidates),
        labels=tuple(candidate.label for candidate in item.candidates),
        original=tuple(last_payload(worker.turns, "label")["answer"] for worker in workers) if asked else (),
        relabelled=tuple(zip(*relabelled, strict=True)),
        plausible=tuple(zip(*plausible, strict=True)),
        origin=item.origin,
    )


def _linguists(*annotators: PlayedItem) -> Iterator[LinguistRecord]:
    """Yield the annotations of one example, with those who discarded it listed separately."""
    example = annotators[0].item.example
    forms = [(each.occupant(ANNOTATOR), last_payload(each.turns, "annotate")) for each in annotators]
    kept = [(who, form) for who, form in forms if form["discard"] is None]
    yield LinguistRecord(
        id=example.id,
        premise=example.premise,
        hypothesis=example.hypothesis,
        workers=tuple(who for who, _ in kept),
        annotations=tuple(frozenset(form["labels"]) for _, form in kept),
        rewrites=tuple(
            Disambiguation(rewrite["premise"], rewrite["hypothesis"], rewrite["label"])
            for _, form in kept
            for rewrite in form["rewrites"]
        ),
        discarded={who: form["discard"] for who, form in forms if form["discard"] is not None},
    )


def _generation(played: PlayedItem) -> Iterator[GenerationRecord]:
    item = played.item
    for turn in played.turns:
        if turn.payload.get("kind") == "generate":
            yield GenerationRecord(
                id=item.example.id,
                premise=item.example.premise,
                hypothesis=item.example.hypothesis,
                premise_ambiguous=item.side == "premise",
                hypothesis_ambiguous=item.side == "hypothesis",
                prompt=turn.payload.get("prompt") or prompt(item),
                generation=turn.text,
                gold=gold_rewrites(item.example, item.side),
                # Imported files store their own parse and score.
                stored_rewrites=turn.payload.get("stored_rewrites"),
                stored_edit_f1=turn.payload.get("stored_edit_f1"),
            )


def _true_false(played: PlayedItem) -> Iterator[TrueFalseRecord]:
    item = played.item
    for payload in payloads(played.turns, "true_false"):
        template, rewrite = payload["template"], payload["rewrite"]
        yield TrueFalseRecord(
            id=item.example_id,
            side=item.side,
            disambiguation=rewrite,
            template=template,
            prediction=payload["prediction"],
            answer=payload["answer"],
            mass=payload["mass"],
            prompt=payload.get("prompt") or true_false_prompt(template, item.sentence, rewrite),
        )


def _continuation(played: PlayedItem) -> Iterator[ContinuationRecord]:
    yield continuation_record(played.item, played.turns)


def continuation_record(item: ContinueItem, turns: Iterable[Turn], seed: int = 0) -> ContinuationRecord:
    """Return the estimates of one instance.

    The item's id seeds the subsampling of continuations, so a score in the log and a table computed from the
    log later use the same ones.

    `seed`: a seed other than 0 subsamples differently, to see how much the result depends on it.
    """
    turns = tuple(turns)
    options, sentence = payloads(turns, "continue"), item.stem + item.sentence
    if options and all("kl" in option for option in options):
        # Imported files contain estimates; their samples are not published.
        return ContinuationRecord(
            id=item.example_id,
            sentence=sentence,
            options=tuple(
                ContinuationOption(option["option"], item.stem + option["sentence"], option["kl"])
                for option in options
            ),
            num_conts=options[0]["num_conts"],
        )
    seed = derive_seed(seed, "options", item.id)
    return kl_options(item.example_id, sentence, sampled_options(item, turns), seed=seed)


def sampled_options(item: ContinueItem, turns: Iterable[Turn]) -> tuple[SampledOption, ...]:
    """Return the samples of each option, for estimates and histograms."""
    return tuple(
        SampledOption(
            name=payload["option"],
            sentence=item.stem + payload["sentence"],
            **{name: tuple(payload[name]) for name in ("continuations", "own", "original")},
        )
        for payload in payloads(turns, "continue")
    )


def _nli(played: PlayedItem) -> Iterator[NliRecord]:
    example, labelled = played.item.example, payloads(played.turns, "nli")
    predicted = {payload["pair"]: frozenset(payload["prediction"]) for payload in labelled}
    # Imported files may contain predictions for original pairs only.
    complete = all(payload.get("readings", True) for payload in labelled)
    first, *readings = (predicted[pair] for pair in range(len(played.item.pairs) if complete else 1))
    labels = tuple(disambiguation.label for disambiguation in example.disambiguations)
    yield NliRecord(
        id=example.id,
        premise=example.premise,
        hypothesis=example.hypothesis,
        gold=example.labels,
        predicted=first,
        readings=tuple(readings) if complete else None,
        reading_labels=labels if complete else (),
    )


def _claim(played: PlayedItem) -> Iterator[ClaimRecord]:
    item, scored = played.item, last_payload(played.turns, "claim")
    texts = ("id", "claim", "cleaned", "justification", "rating", "person", "venue", "url")
    yield ClaimRecord(
        **{name: getattr(item, name) for name in texts},
        paraphrases=tuple(Paraphrase(**paraphrase) for paraphrase in scored["paraphrases"]),
        marks=frozenset(item.marks) if item.marks else None,
        annotations=scored.get("annotations"),
    )


_RECORDS: Final[Mapping[Task, Callable[..., Iterator[Any]]]] = {
    "crowd": _crowd,
    "evaluate": _crowd,
    "annotate": _linguists,
    "generate": _generation,
    "true_false": _true_false,
    "continue": _continuation,
    "nli": _nli,
    "claim": _claim,
}
"""Conversion of an episode to records; in judgment tasks, of all episodes on one item."""


def records_of(played: Iterable[PlayedItem], task: Task) -> tuple[Any, ...]:
    """Return the records of a task: one per item for judgment tasks, else episode by episode."""
    episodes = [episode for episode in played if episode.item.task == task]
    groups = [[episode] for episode in episodes]
    if task in JUDGED:
        items: dict[str, list[PlayedItem]] = {}
        for episode in episodes:
            items.setdefault(episode.episode.item_hash, []).append(episode)
        groups = sorted(
            items.values(), key=lambda group: (getattr(group[0].item, "origin", ""), group[0].item.id)
        )
    return tuple(record for group in groups for record in _RECORDS[task](*group))


def _reads(kind: type[RecordT], *tasks: Task) -> Callable[..., tuple[RecordT, ...]]:
    """Return a function that reads the records of some tasks from runs."""

    def read(reader: LogReader, runs: Iterable[str], *, aborted: bool = True) -> tuple[RecordT, ...]:
        played = played_of(reader, runs, aborted=aborted)
        return tuple(record for task in tasks for record in records_of(played, task))

    return read


crowd_records = _reads(CrowdRecord, "crowd", "evaluate")
linguist_records = _reads(LinguistRecord, "annotate")
generation_records = _reads(GenerationRecord, "generate")
true_false_records = _reads(TrueFalseRecord, "true_false")
continuation_records = _reads(ContinuationRecord, "continue")
nli_records = _reads(NliRecord, "nli")
claim_records = _reads(ClaimRecord, "claim")


def items_of(reader: LogReader, run: str) -> dict[str, Item]:
    """Return the items of a run by hash, in the run's order, without those of other benchmarks."""
    return {row.hash: item_from_row(row) for row in reader.items(run) if row.benchmark == BENCHMARK}


def tasks_of(reader: LogReader, run: Run) -> tuple[Task, ...]:
    """Return the tasks of the items that a run has begun so far; empty for a run of another benchmark."""
    if run.benchmark != BENCHMARK:
        return ()
    with reader.connection() as connection:
        rows = connection.execute(
            "SELECT DISTINCT json_extract(data, '$.task') FROM items "
            "WHERE hash IN (SELECT item_hash FROM episodes WHERE run_id = ?)",
            [run.id],
        ).fetchall()
    begun = {str(row[0]) for row in rows}
    return tuple(task for task in TASKS if task in begun)


def runs_with(reader: LogReader, task: Task) -> tuple[str, ...]:
    """Return the runs with a task, newest first."""
    return tuple(run.id for run in reversed(reader.runs()) if task in tasks_of(reader, run))
