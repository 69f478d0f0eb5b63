"""From the log to records: what the measures read, the same as published files give (spec 13).

Only episodes that were played to their end count, and nobody who was erased. A record's texts come from the
item as it was played, so a log can be scored without its data set.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from importlib.metadata import version as installed
from typing import Any, Final, NamedTuple, TypeVar

from logs import LogReader
from logs.rows import Ending, Episode, Turn
from simulator.ambient.continuations import Reduce, Sampled, kl_options
from simulator.ambient.examples import Disambiguation
from simulator.ambient.generation import gold_rewrites
from simulator.ambient.items import (
    AnnotateItem,
    ClaimItem,
    ContinueItem,
    CrowdItem,
    GenerateItem,
    Item,
    NliItem,
    TrueFalseItem,
)
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
from simulator.ambient.rows import BENCHMARK, item_from_row
from simulator.ambient.silence import has_silence, with_silence
from simulator.ambient.true_false import true_false_prompt
from simulator.runner.logged import ENDED, played_to_end, required_run
from simulator.seeds import derive_seed

FORMS: Final[tuple[Kind, ...]] = (
    "qualification",
    "label",
    "plausible",
    "relabel",
    "annotate",
    "true_false",
)
"""Steps in which a form is filled in, by people or in their place."""
_ANSWERS: Final = ("answer", "answers", "prediction", "labels", "correct", "rewrite", "template")
ItemT = TypeVar("ItemT")


class Played(NamedTuple):
    """An episode that was played to its end."""

    episode: Episode
    item: Item
    turns: Sequence[Turn]
    ending: Ending

    def payloads(self, kind: Kind) -> list[Mapping[str, Any]]:
        """Return the payloads of one kind, in order."""
        return payloads(self.turns, kind)

    def payload(self, kind: Kind) -> Mapping[str, Any]:
        """Return the only payload of its kind; empty if there is none."""
        found = self.payloads(kind)
        return found[-1] if found else {}

    @property
    def annotator(self) -> str:
        """The person's pseudonym, or who sat there."""
        return self.episode.participant_id or self.episode.seats[ANNOTATOR]


def payloads(turns: Iterable[Turn], kind: Kind) -> list[Mapping[str, Any]]:
    """Return the payloads of one kind, in the order of the turns."""
    return [turn.payload for turn in turns if turn.payload.get("kind") == kind]


def played_of(reader: LogReader, runs: Iterable[str], *, aborted: bool = False) -> tuple[Played, ...]:
    """Return the episodes of some runs that were played to their end, in the order in which they ended.

    Args:
        reader: of the log.
        runs: their names.
        aborted: also those of models' tasks that a failing seat aborted; what was not answered in them is
            answered with nothing (`silence`).

    Raises:
        InputError: if a run is another benchmark's.
        NotInLog: if there is no such run.
    """
    gone = reader.erased_participants()
    found = [played for run in runs for played in _played(reader, run, gone, aborted)]
    return tuple(sorted(found, key=lambda one: (one.ending.created_at, one.episode.id)))


def _played(reader: LogReader, run_id: str, gone: frozenset[str], aborted: bool) -> Iterator[Played]:
    required_run(reader, run_id, BENCHMARK)
    items = {row.hash: item_from_row(row) for row in reader.items(run_id)}
    for episode, turns, ending in played_to_end(reader, run_id, gone, aborted=aborted):
        item, said = items[episode.item_hash], tuple(turns)
        if ending.status not in ENDED:
            if not has_silence(item):
                continue
            said = with_silence(item, episode, said)
        yield Played(episode, item, said, ending)


def _of(
    reader: LogReader, runs: Iterable[str], kind: type[ItemT], *, aborted: bool = False
) -> list[tuple[Played, ItemT]]:
    played = played_of(reader, runs, aborted=aborted)
    return [(one, one.item) for one in played if isinstance(one.item, kind)]


def crowd_records(reader: LogReader, runs: Iterable[str]) -> tuple[CrowdRecord, ...]:
    """One record per item that crowdworkers or models judged; its workers in the order of completion."""
    groups: dict[str, list[tuple[Played, CrowdItem]]] = {}
    for played, item in _of(reader, runs, CrowdItem):
        groups.setdefault(played.episode.item_hash, []).append((played, item))
    return tuple(
        crowd_record(group[0][1], [played for played, _ in group])
        for group in sorted(groups.values(), key=lambda some: (some[0][1].origin, some[0][1].id))
    )


def crowd_record(item: CrowdItem, workers: Sequence[Played]) -> CrowdRecord:
    """Return the votes on one item."""
    places = range(len(item.candidates))
    plausible = [worker.payload("plausible")["answers"] for worker in workers]
    relabelled = [worker.payload("relabel")["answers"] for worker in workers]
    asked = item.task == "crowd"
    return CrowdRecord(
        id=item.example_id,
        premise=item.premise,
        hypothesis=item.hypothesis,
        side=item.side,
        interpretations=tuple(candidate.sentence for candidate in item.candidates),
        labels=tuple(candidate.label for candidate in item.candidates),
        original=tuple(worker.payload("label")["answer"] for worker in workers) if asked else (),
        relabelled=tuple(tuple(answers[place] for answers in relabelled) for place in places),
        plausible=tuple(tuple(answers[place] for answers in plausible) for place in places),
        origin=item.origin,
    )


def linguist_records(reader: LogReader, runs: Iterable[str]) -> tuple[LinguistRecord, ...]:
    """Return one record per example that was annotated; annotators in the order of completion.

    Who discarded an example is not among its annotations.
    """
    groups: dict[str, list[tuple[Played, AnnotateItem]]] = {}
    for played, item in _of(reader, runs, AnnotateItem):
        groups.setdefault(played.episode.item_hash, []).append((played, item))
    return tuple(
        _linguists(group[0][1], [played for played, _ in group])
        for group in sorted(groups.values(), key=lambda some: some[0][1].id)
    )


def _linguists(item: AnnotateItem, annotators: Sequence[Played]) -> LinguistRecord:
    forms = [(annotator.annotator, annotator.payload("annotate")) for annotator in annotators]
    kept = [(who, form) for who, form in forms if form["discard"] is None]
    rewrites = [rewrite for _, form in kept for rewrite in form["rewrites"]]
    return LinguistRecord(
        id=item.example.id,
        premise=item.example.premise,
        hypothesis=item.example.hypothesis,
        workers=tuple(who for who, _ in kept),
        annotations=tuple(frozenset(form["labels"]) for _, form in kept),
        rewrites=tuple(Disambiguation(one["premise"], one["hypothesis"], one["label"]) for one in rewrites),
        discarded={who: form["discard"] for who, form in forms if form["discard"] is not None},
    )


def generation_records(
    reader: LogReader, runs: Iterable[str], *, aborted: bool = True
) -> tuple[GenerationRecord, ...]:
    """Return one record per example that was disambiguated (spec 6)."""
    return tuple(
        GenerationRecord(
            id=item.example.id,
            premise=item.example.premise,
            hypothesis=item.example.hypothesis,
            side=item.side,
            prompt=turn.payload.get("prompt") or prompt(item),
            generation=turn.text,
            gold=gold_rewrites(item.example, item.side),
            # Imported files tell what they had made of it.
            stored_rewrites=turn.payload.get("stored_rewrites"),
            stored_edit_f1=turn.payload.get("stored_edit_f1"),
        )
        for played, item in _of(reader, runs, GenerateItem, aborted=aborted)
        for turn in played.turns
        if turn.payload.get("kind") == "generate"
    )


def true_false_records(
    reader: LogReader, runs: Iterable[str], *, aborted: bool = True
) -> tuple[TrueFalseRecord, ...]:
    """Return one record per statement that was judged (spec 7)."""
    return tuple(
        TrueFalseRecord(
            id=item.example_id,
            side=item.side,
            disambiguation=payload["rewrite"],
            template=payload["template"],
            prediction=payload["prediction"],
            answer=payload["answer"],
            mass=payload["mass"],
            prompt=payload.get("prompt")
            or true_false_prompt(payload["template"], item.sentence, payload["rewrite"]),
        )
        for played, item in _of(reader, runs, TrueFalseItem, aborted=aborted)
        for payload in played.payloads("true_false")
    )


def continuation_records(
    reader: LogReader, runs: Iterable[str], *, reduce: Reduce = "sum", aborted: bool = True
) -> tuple[ContinuationRecord, ...]:
    """Return one record per flagged sentence that was continued (spec 8)."""
    return tuple(
        continuation_record(item, played.turns, reduce=reduce)
        for played, item in _of(reader, runs, ContinueItem, aborted=aborted)
    )


def continuation_record(
    item: ContinueItem, turns: Iterable[Turn], seed: int = 0, *, reduce: Reduce = "sum"
) -> ContinuationRecord:
    """Return the estimates of one instance.

    Which continuations all options are cut down to is drawn by the item's id, so that a score in the log and
    a table that is made of the log later are of the same ones.

    Args:
        item: the instance.
        turns: of its episode.
        seed: another one than that of scores and tables cuts down to others, to see how much hangs on it.
        reduce: over the tokens of a continuation.
    """
    turns = tuple(turns)
    said = payloads(turns, "continue")
    if said and all("kl" in payload for payload in said):
        return _estimated(item, said)
    return kl_options(
        item.example_id,
        item.stem + item.sentence,
        sampled_options(item, turns),
        seed=derive_seed(seed, "options", item.id),
        reduce=reduce,
    )


def _estimated(item: ContinueItem, said: Sequence[Mapping[str, Any]]) -> ContinuationRecord:
    """Return what an imported file tells, whose samples are not published."""
    return ContinuationRecord(
        id=item.example_id,
        sentence=item.stem + item.sentence,
        options=tuple(
            ContinuationOption(payload["option"], item.stem + payload["sentence"], payload["kl"])
            for payload in said
        ),
        num_conts=said[0]["num_conts"],
    )


def sampled_options(item: ContinueItem, turns: Iterable[Turn]) -> tuple[Sampled, ...]:
    """Return what was sampled from each option, for estimates and histograms."""
    return tuple(
        Sampled(
            name=payload["option"],
            sentence=item.stem + payload["sentence"],
            continuations=tuple(payload["continuations"]),
            own=tuple(payload["own"]),
            original=tuple(payload["original"]),
            tokens=tuple(payload["tokens"]),
        )
        for payload in payloads(turns, "continue")
    )


def nli_records(reader: LogReader, runs: Iterable[str], *, aborted: bool = True) -> tuple[NliRecord, ...]:
    """Return one record per example whose pairs got label sets (spec 9)."""
    records = []
    for played, item in _of(reader, runs, NliItem, aborted=aborted):
        found = {payload["pair"]: frozenset(payload["prediction"]) for payload in played.payloads("nli")}
        # Imported files may tell of original pairs alone.
        whole = all(payload.get("readings", True) for payload in played.payloads("nli"))
        first, *readings = (found[pair] for pair in range(len(item.pairs) if whole else 1))
        records.append(
            NliRecord(
                id=item.example.id,
                premise=item.example.premise,
                hypothesis=item.example.hypothesis,
                gold=item.example.labels,
                predicted=first,
                readings=tuple(readings) if whole else None,
                reading_labels=tuple(disambiguation.label for disambiguation in item.example.disambiguations)
                if whole
                else (),
            )
        )
    return tuple(records)


def claim_records(reader: LogReader, runs: Iterable[str], *, aborted: bool = True) -> tuple[ClaimRecord, ...]:
    """Return one record per claim whose paraphrases were scored (spec 10)."""
    return tuple(
        ClaimRecord(
            id=item.id,
            claim=item.claim,
            cleaned=item.cleaned,
            paraphrases=tuple(
                Paraphrase(one["text"], one["score"], one["probabilities"])
                for one in played.payload("claim")["paraphrases"]
            ),
            marks=frozenset(item.marks) if item.marks else None,
            justification=item.justification,
            rating=item.rating,
            person=item.person,
            venue=item.venue,
            url=item.url,
            annotations=played.payload("claim").get("annotations"),
        )
        for played, item in _of(reader, runs, ClaimItem, aborted=aborted)
    )


def form_lines(reader: LogReader, run_id: str) -> Iterator[dict[str, Any]]:
    """Yield one JSON object per form that anybody submitted, in the order of submission within each episode.

    Forms of episodes that were broken off are there, too; consent and instructions are no forms, and what
    erased people said is gone.

    Raises:
        InputError: if the run is another benchmark's.
        NotInLog: if there is no such run.
    """
    run = required_run(reader, run_id, BENCHMARK)
    gone = reader.erased_participants()
    items = {row.hash: item_from_row(row) for row in reader.items(run_id)}
    version = str(run.config.get("software_version") or installed("askback"))
    for episode, turns in reader.turns_of_run(run_id):
        if episode.participant_id in gone:
            continue
        item, who = items[episode.item_hash], episode.participant_id or episode.seats[ANNOTATOR]
        for turn in turns:
            if turn.payload.get("kind") in FORMS:
                yield _form_line(item, turn, who, episode.seed, version)


def _form_line(item: Item, turn: Turn, annotator: str, seed: int, version: str) -> dict[str, Any]:
    payload = turn.payload
    answers = {name: payload[name] for name in _ANSWERS if name in payload}
    return {
        "task": item.task,
        "item_id": item.id,
        "step": payload["kind"],
        "annotator": annotator,
        "shown": payload.get("shown", {}),
        "answers": answers,
        "rewrites": payload.get("rewrites") if payload["kind"] == "annotate" else None,
        "discard": payload.get("discard"),
        "comment": payload.get("comment"),
        "opened_at": payload.get("shown_at") or _opened(turn),
        "submitted_at": turn.created_at,
        "seed": seed,
        "version": version,
    }


def _opened(turn: Turn) -> str | None:
    """Return when a form could first be filled in, where no page has measured that."""
    if turn.seconds is None:
        return None
    submitted = datetime.fromisoformat(turn.created_at)
    return (submitted - timedelta(seconds=turn.seconds)).isoformat(timespec="milliseconds")
