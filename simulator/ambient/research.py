"""What researchers see of AmbiEnt: an episode with all that was hidden, people's answers, the data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from logs import LogReader
from logs.rows import Run, Turn
from simulator.ambient import reveal
from simulator.ambient.annotation.linguists import WorkerStatistics, worker_forms, worker_statistics
from simulator.ambient.crowd import TIES, agrees, crowd_measures, vote_table
from simulator.ambient.data import load_guidelines, read_examples
from simulator.ambient.examples import Example, findings
from simulator.ambient.files.results import CROWD, LINGUISTS
from simulator.ambient.generation import edit_f1, gold_rewrites
from simulator.ambient.items import (
    AnnotateItem,
    ClaimItem,
    ContinueItem,
    GenerateItem,
    Item,
    NliItem,
    Task,
    TrueFalseItem,
    item_from_row,
)
from simulator.ambient.labels import Label, Side, letters
from simulator.ambient.playing import statements
from simulator.ambient.prompts import prompt
from simulator.ambient.records import CrowdRecord
from simulator.ambient.reporting.datasets import dataset_results
from simulator.ambient.reporting.figures import label_sets_venn, log_odds_figure
from simulator.ambient.room import replay
from simulator.ambient.score import values
from simulator.ambient.show import SHOWN, pair, tag
from simulator.ambient.trial_log import (
    continuation_record,
    crowd_records,
    linguist_records,
    payloads,
    sampled_options,
    tasks_of,
)
from simulator.blocks import (
    Block,
    Card,
    Cell,
    Facts,
    Message,
    Passage,
    Quote,
    Quotes,
    Revision,
    Span,
    Table,
    Tag,
    Text,
    Translated,
    Words,
    message,
)
from simulator.errors import InputError
from simulator.form_blocks import Part as Group
from simulator.reporting import Section
from simulator.research import DataPages, Entry, Link, Look, Part, ResearchPages, RunFile, Shown
from simulator.stats import Interval
from simulator.word_diff import word_diff

PEOPLE: Final[frozenset[Task]] = frozenset(("crowd", "evaluate", "annotate"))
_SAID: Final = "research.answered"
_SAMPLES: Final = 8
_NOTHING: Final = "–"


def _name(text: str, **fields: object) -> Message:
    return message(f"research.{text}", **fields)


def _tags(labels: Iterable[Label]) -> Sequence[Words | Tag]:
    chosen = set(labels)
    return [tag(label) for label in SHOWN if label in chosen] or [_name("none")]


def _number(value: float | None, digits: int = 3) -> str:
    return _NOTHING if value is None else f"{value:.{digits}f}"


# ---- an episode


def episode(look: Look, id: str) -> Sequence[Shown]:
    """Return an episode's scores, what was answered in it, and what is right."""
    reader = look.reader
    row = reader.episode(id)
    item, turns = item_from_row(reader.item(row.item_hash)), reader.turns(id)
    scores = values(item, turns) if reader.ending(id) else {}
    known = [(_name(f"score.{name}"), f"{value:g}") for name, value in scores.items() if value is not None]
    return (*([Card(_name("scores"), [Facts(known)])] if known else []), *_about(look, item, turns, row.seed))


def _about(look: Look, item: Item, turns: Sequence[Turn], seed: int) -> Sequence[Shown]:
    match item:
        case GenerateItem():
            return _generated(item, turns)
        case TrueFalseItem():
            return _judged(item, turns)
        case ContinueItem():
            return _continued(look, item, turns, seed)
        case NliItem():
            return _inferred(item, turns)
        case ClaimItem():
            return _claimed(item, turns)
    seen = replay(item, turns)
    said = payloads(turns, "annotate" if isinstance(item, AnnotateItem) else "relabel")
    comment = said[-1].get("comment") if said else ""
    merged = isinstance(item, AnnotateItem) and said and said[-1].get("merged")
    return (
        reveal.original(seen, _SAID),
        *reveal.candidates(seen, _SAID),
        *reveal.annotated(seen, "research.form", "research.dataset"),
        *([Text(_name("merged"), "muted")] if merged else []),
        *([Card(_name("comment"), [Text(comment)])] if comment else []),
    )


def _original(example: Example) -> Card:
    flagged = Tag(_name("flagged"))
    quotes = pair(example.premise, example.hypothesis).quotes
    sides: tuple[Side, ...] = ("premise", "hypothesis")
    shown = [
        quote._replace(tag=flagged if side in example.sides else None)
        for side, quote in zip(sides, quotes, strict=True)
    ]
    return Card(_name("pair"), [Quotes(shown)])


def _generated(item: GenerateItem, turns: Sequence[Turn]) -> Sequence[Block]:
    turn = next((turn for turn in turns if turn.payload.get("kind") == "generate"), None)
    payload: Mapping[str, Any] = turn.payload if turn else {}
    reference, robust = payload.get("rewrites", {}), payload.get("robust", {})
    warnings = payload.get("warnings", [])
    return (
        _original(item.example),
        _read(item, "parsed", reference),
        *([_read(item, "parsed_robust", robust)] if robust != reference else []),
        *([Text(_name("parse_warnings", warnings=", ".join(warnings)))] if warnings else []),
        Card(_name("prompt"), [Passage([Span(payload.get("prompt") or prompt(item))])], folded=True),
        Card(_name("generation"), [Passage([Span(turn.text if turn else _NOTHING)])]),
    )


def _read(item: GenerateItem, parser: str, read: Mapping[Label, str]) -> Card:
    original, gold = item.example.sentence(item.side), gold_rewrites(item.example, item.side)
    parts: list[Block] = []
    for label in SHOWN:
        right, predicted = gold.get(label), read.get(label)
        if right is None and predicted is None:
            continue
        score = None if right is None else 0.0 if predicted is None else edit_f1(original, right, predicted)
        against = original if right is None else right
        revisions = [
            *([Revision(_name("gold"), word_diff(original, right))] if right is not None else []),
            *([Revision(_name("read"), word_diff(against, predicted))] if predicted is not None else []),
        ]
        facts = Facts([(_name("score.edit_f1"), _number(score))])
        parts.append(Group(message(f"labels.{label}"), [*revisions, facts]))
    return Card(_name(parser), [Text(_name("parsed_note"), "muted"), *parts])


def _judged(item: TrueFalseItem, turns: Sequence[Turn]) -> Sequence[Block]:
    answers = {payload["number"]: payload for payload in payloads(turns, "true_false")}
    every = list(enumerate(statements(item)))
    head = [_name(name) for name in ("statement", "expected", "answered", "mass")]
    return (
        Card(message(f"side.{item.side}"), [Quotes([Quote("", item.sentence)])]),
        *(
            Card(
                _name("reading", k=k),
                [
                    Revision("", word_diff(item.sentence, rewrite)),
                    Table(
                        [
                            _judgement(statement.text, statement.answer, answers.get(number))
                            for number, statement in every
                            if statement.rewrite == rewrite
                        ],
                        head,
                    ),
                ],
            )
            for k, rewrite in enumerate(item.rewrites, start=1)
        ),
    )


def _judgement(text: str, right: bool, answer: Mapping[str, Any] | None) -> Sequence[object]:
    if answer is None:
        return text, _truth(right), _NOTHING, _NOTHING
    said = answer["prediction"]
    word = _name("unread") if said is None else _truth(said)
    return text, _truth(right), Cell(word, "right" if said == right else "wrong"), _number(answer["mass"])


def _truth(value: bool) -> Message:
    return message(f"field.answer.{'true' if value else 'false'}")


def _continued(look: Look, item: ContinueItem, turns: Sequence[Turn], seed: int) -> Sequence[Shown]:
    record, sampled = continuation_record(item, turns, seed), sampled_options(item, turns)
    estimates = {option.name: option.kl for option in record.options}
    options: list[Block] = [
        Group(
            _option(sample.name, k),
            [
                Revision("", word_diff(item.sentence, sample.sentence.removeprefix(item.stem))),
                Facts([(_name("estimate"), _number(estimates.get(sample.name), 2))]),
            ],
        )
        for k, sample in enumerate(sampled, start=1)
    ]
    samples: list[Block] = [
        Group(_option(sample.name, k), [Passage([Span("\n".join(sample.continuations[:_SAMPLES]))])])
        for k, sample in enumerate(sampled, start=1)
        if sample.continuations
    ]
    shown: list[Shown] = [
        Card(message(f"side.{item.side}"), [Quotes([Quote("", item.sentence)])]),
        Card(_name("options"), [Text(_name("continuations", count=record.num_conts), "muted"), *options]),
    ]
    # An imported file has estimates and how many continuations they come from, not the continuations.
    if samples:
        figure = log_odds_figure(look.reader, [look.run.id], item.id)
        shown += [
            Section(name="log-odds", title="Log-odds of the continuations", figures=[figure]),
            Card(_name("samples"), samples, folded=True),
        ]
    return shown


def _option(name: str, k: int) -> Message:
    return message("result.distractor") if name == "d" else _name("reading", k=k)


def _inferred(item: NliItem, turns: Sequence[Turn]) -> Sequence[Block]:
    answers = {payload["pair"]: payload for payload in payloads(turns, "nli")}
    example = item.example
    parts = [
        Group(_name("original"), [_predicted(example.labels, answers.get(0))]),
        *(
            Group(
                _name("reading", k=k),
                [
                    *reveal.revisions(example.premise, example.hypothesis, reading),
                    _predicted([reading.label], answers.get(k)),
                ],
            )
            for k, reading in enumerate(example.disambiguations, start=1)
        ),
    ]
    return _original(example), Card(_name("pairs"), parts)


def _predicted(gold: Iterable[Label], answer: Mapping[str, Any] | None) -> Facts:
    rows: list[tuple[Words, Words | Sequence[Words | Tag]]] = [(_name("gold"), _tags(gold))]
    if answer is not None:
        right = frozenset(answer["prediction"]) == frozenset(gold)
        verdict = Tag(_name("right" if right else "wrong"), right=right)
        rows.append((_name("predicted"), [*_tags(answer["prediction"]), verdict]))
        logits = answer.get("logits") or {}
        rows.append((_name("logits"), "  ".join(f"{name} {value:.2f}" for name, value in logits.items())))
    return Facts(rows)


def _claimed(item: ClaimItem, turns: Sequence[Turn]) -> Sequence[Block]:
    answers = payloads(turns, "claim")
    head = [_name("paraphrase"), *(message(f"labels.{label}") for label in SHOWN), _name("score.score")]
    rows = [
        (
            each["text"],
            *(_number(each["probabilities"].get(label)) for label in SHOWN),
            _number(each["score"]),
        )
        for each in (answers[-1]["paraphrases"] if answers else ())
    ]
    quotes = [Quote(_name("claim"), item.cleaned)]
    if item.cleaned != item.claim:
        quotes.append(Quote(_name("as_said"), item.claim))
    return Card(_name("claim"), [Quotes(quotes)]), *(
        [Card(_name("paraphrases"), [Table(rows, head)])] if rows else []
    )


# ---- what people said in a run


def people(look: Look) -> Sequence[Block]:
    """Return what people said in a run, item by item, and how linguists worked."""
    tasks, run = tasks_of(look.reader, look.run), look.run.id
    shown: list[Block] = []
    if {"crowd", "evaluate"} & set(tasks):
        records = look.keep("votes", lambda: tuple(crowd_records(look.reader, [run])))
        own = [record for record in records if not record.origin]
        shown += [_ties(own)] if own else []
        shown += [_votes(record, _wanted(look.run)) for record in records]
    if "annotate" in tasks:
        shown.append(_workers(worker_statistics(worker_forms(look.reader, run))))
    return shown


def _ties(records: Sequence[CrowdRecord]) -> Card:
    rows = [(_name(f"tie.{tie}"), *_share(crowd_measures(records, tie).agreement)) for tie in TIES]
    head = [_name("tie.head"), _name("agreement"), _name("n")]
    return Card(_name("ties"), [Text(_name("ties_note"), "muted"), Table(rows, head)])


def _share(value: Interval | None) -> tuple[str, str]:
    if value is None:
        return _NOTHING, _NOTHING
    low, high = value.reach
    reach = "" if value.low is None else f" [{100 * low:.1f}, {100 * high:.1f}]"
    return f"{100 * value.value:.1f} %{reach}", f"{value.n}"


def _wanted(run: Run) -> int | None:
    study = run.config.get("study")
    asked = study.get("judgments_per_item") if isinstance(study, dict) else None
    return asked if isinstance(asked, int) else None


def _votes(record: CrowdRecord, wanted: int | None) -> Card:
    votes = vote_table(record)
    workers = len(record.plausible[0]) if record.plausible else 0
    head = [
        _name("sentence"),
        _name("gold"),
        *(message(f"labels.{label}") for label in SHOWN),
        _name("possible"),
    ]
    asked = any(votes.original.values())
    rows: list[Sequence[object]] = [
        (
            _name("original"),
            "",
            *(votes.original[label] if asked else _NOTHING for label in SHOWN),
            "",
        ),
        *(
            (
                slot.sentence,
                message(f"labels.{slot.label}")
                if slot.label
                else Cell(message("result.distractor"), "muted"),
                *(slot.votes[label] for label in SHOWN),
                f"{slot.plausible} / {slot.workers}",
            )
            for slot in votes.slots
        ),
    ]
    same = Tag(_name("agrees" if agrees(record) else "differs"), right=agrees(record))
    facts: list[tuple[Words, Sequence[Words | Tag]]] = [
        (_name("workers"), [str(workers) if wanted is None else _name("of", count=workers, all=wanted)]),
        (_name("dataset"), [same]),
    ]
    if record.origin:
        facts.append((_name("origin"), [record.origin]))
    return Card(record.id, [pair(votes.premise, votes.hypothesis), Facts(facts), Table(rows, head)])


def _workers(workers: Sequence[WorkerStatistics]) -> Card:
    names = ("worker", "examples", "seconds", "ambiguous", "discarded")
    rows = [
        (
            worker.worker,
            worker.examples,
            _number(worker.seconds, 0),
            f"{100 * worker.ambiguous:.1f} %",
            f"{100 * worker.discarded:.1f} %",
        )
        for worker in workers
    ]
    head = [_name(f"worker.{name}") for name in names]
    return Card(_name("linguists"), [Table(rows, head)] if rows else [Text(_name("no_workers"), "muted")])


# ---- the data


def entries(data: str) -> list[Entry]:
    """Return the examples of a data set."""
    return [
        Entry(
            example.id,
            {
                "labels": letters(example.labels) or _NOTHING,
                **({"kind": example.categories} if example.categories else {}),
                **({"split": example.split} if example.split else {}),
            },
            example.premise,
        )
        for example in read_examples(data).examples
    ]


def example_blocks(data: str, name: str, language: str) -> Sequence[Block]:
    """Return an example with its readings."""
    example = next(each for each in read_examples(data).examples if each.id == name)
    guides = [load_guidelines(each) for each in ("en", "zh")]
    kinds: list[Words | Tag] = [
        Translated(*(guide.categories[kind].name for guide in guides)) for kind in example.categories
    ]
    facts: list[tuple[Words, Words | Sequence[Words | Tag]]] = [
        (_name("data.labels"), _tags(example.labels)),
        *([(_name("data.kind"), kinds)] if kinds else []),
        (_name("origin_of"), _name("curated" if example.curated else "generated")),
    ]
    readings = [
        Group(
            message(f"labels.{reading.label}"),
            reveal.revisions(example.premise, example.hypothesis, reading),
        )
        for reading in example.disambiguations
    ]
    distractors = [Quote(message(f"side.{side}"), text) for side, text in example.distractors.items()]
    warnings = "; ".join(finding.message for finding in findings(example))
    nothing = Text(_name("not_ambiguous" if example.labels else "not_annotated"), "muted")
    meta = [(str(key), str(value)) for key, value in (example.meta or {}).items()]
    return (
        _original(example),
        Card(_name("facts"), [Facts(facts)]),
        Card(_name("readings"), readings) if readings else nothing,
        *([Card(message("result.distractor"), [Quotes(distractors)])] if distractors else []),
        *([Text(warnings)] if warnings else []),
        *([Card(_name("meta"), [Facts(meta)], folded=True)] if meta else []),
    )


def overview(data: str, language: str) -> Sequence[Shown]:
    """Return the label sets of a data set as a Venn diagram, and its statistics."""
    every, faults = read_examples(data)
    results = dataset_results(every, Path(data).stem)
    venn = label_sets_venn(results.data["label_sets"])
    return (
        *([Text(_name("faults", count=len(faults)))] if faults else []),
        Section(name="label-sets", title="Label sets", figures=[venn]),
        results.section(),
    )


# ---- ways on, files


def _links(reader: LogReader, run: Run) -> list[Link]:
    tasks, name = tasks_of(reader, run), quote(run.id, safe="")
    links = []
    if "annotate" in tasks:
        links.append(Link("consolidate", f"/research/consolidate?run={name}"))
    if "claim" in tasks:
        links.append(Link("claims", f"/research/desk?desk=claims&data={name}"))
    return links


def _linguists(reader: LogReader, run: str, path: Path) -> None:
    records = linguist_records(reader, [run])
    if not records:
        raise InputError(f"{run}: no example has been annotated yet.")
    LINGUISTS.write(path, records)


def _crowd(reader: LogReader, run: str, path: Path) -> None:
    records = crowd_records(reader, [run])
    if not records:
        raise InputError(f"{run}: nobody has voted yet.")
    CROWD.write(path, records)


RESEARCH: Final = ResearchPages(
    episode=episode,
    parts=(
        Part(name="people", show=people, where=lambda reader, run: bool(PEOPLE & set(tasks_of(reader, run)))),
    ),
    links=_links,
    files=(
        RunFile(
            name="linguists.jsonl",
            write=_linguists,
            where=lambda reader, run: "annotate" in tasks_of(reader, run),
        ),
        RunFile(
            name="votes.jsonl",
            write=_crowd,
            where=lambda reader, run: bool({"crowd", "evaluate"} & set(tasks_of(reader, run))),
        ),
    ),
    data=DataPages(entries=entries, show=example_blocks, overview=overview),
)
