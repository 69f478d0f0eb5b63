"""Researchers' pages on AmbiEnt runs and data: people's answers, examples, links and files to download."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final
from urllib.parse import quote

from logs import LogReader
from logs.rows import Run
from simulator.ambient import reveal
from simulator.ambient.annotation.linguists import WorkerStatistics, worker_forms, worker_statistics
from simulator.ambient.crowd import TIES, agrees, count_labels, crowd_measures, slot_votes
from simulator.ambient.data import load_guidelines, read_examples
from simulator.ambient.examples import findings
from simulator.ambient.files.results import CROWD, LINGUISTS
from simulator.ambient.items import JUDGED
from simulator.ambient.labels import SHOWN, letters
from simulator.ambient.records import CrowdRecord
from simulator.ambient.reporting.datasets import dataset_results
from simulator.ambient.reporting.figures import label_sets_venn
from simulator.ambient.research_episode import episode, named_text, number, original, tags
from simulator.ambient.show import pair
from simulator.ambient.trial_log import crowd_records, linguist_records, tasks_of
from simulator.blocks import (
    Block,
    Card,
    Cell,
    Facts,
    Quote,
    Quotes,
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
from simulator.research import DataPages, Entry, Link, PageContent, PageRequest, Part, ResearchPages, RunFile
from simulator.stats import Interval

_NOTHING: Final = "–"


# ---- people's answers in a run


def people(request: PageRequest) -> Sequence[Block]:
    """Return people's answers in a run, item by item, and statistics of linguists."""
    tasks, run = tasks_of(request.reader, request.run), request.run.id
    shown: list[Block] = []
    if {"crowd", "evaluate"} & set(tasks):
        records = request.keep("votes", lambda: tuple(crowd_records(request.reader, [run])))
        own = [record for record in records if not record.origin]
        shown += [_ties(own)] if own else []
        shown += [_votes(record, _wanted_judgments(request.run)) for record in records]
    if "annotate" in tasks:
        shown.append(_workers(worker_statistics(worker_forms(request.reader, run))))
    return shown


def _ties(records: Sequence[CrowdRecord]) -> Card:
    rows = [(named_text(f"tie.{tie}"), *_share(crowd_measures(records, tie)["agreement"])) for tie in TIES]
    head = [named_text("tie.head"), named_text("agreement"), named_text("n")]
    return Card(named_text("ties"), [Text(named_text("ties_note"), "muted"), Table(rows, head)])


def _share(value: Interval | None) -> tuple[str, str]:
    if value is None:
        return _NOTHING, _NOTHING
    low, high = value.reach
    reach = "" if value.missing else f" [{number(100 * low, 1)}, {number(100 * high, 1)}]"
    return f"{number(100 * value.value, 1)} %{reach}", f"{value.n}"


def _wanted_judgments(run: Run) -> int | None:
    study = run.config.get("study")
    asked = study.get("judgments_per_item") if isinstance(study, dict) else None
    return asked if isinstance(asked, int) else None


def _votes(record: CrowdRecord, wanted: int | None) -> Card:
    original, asked = count_labels(record.original), bool(record.original)
    head = [
        named_text("sentence"),
        named_text("gold"),
        *(message(f"labels.{label}") for label in SHOWN),
        named_text("possible"),
    ]
    rows: list[Sequence[object]] = [
        (named_text("original"), "", *(original[label] if asked else _NOTHING for label in SHOWN), "")
    ]
    rows += [
        (
            slot.sentence,
            message(f"labels.{slot.label}") if slot.label else Cell(message("result.distractor"), "muted"),
            *(slot.votes[label] for label in SHOWN),
            f"{slot.plausible} / {slot.workers}",
        )
        for slot in slot_votes(record)
    ]
    count, agreed = record.workers, agrees(record)
    same = Tag(named_text("agrees" if agreed else "differs"), right=agreed)
    facts: list[tuple[Words, Sequence[Words | Tag]]] = [
        (
            named_text("workers"),
            [str(count) if wanted is None else named_text("of", count=count, all=wanted)],
        ),
        (named_text("dataset"), [same]),
    ]
    if record.origin:
        facts.append((named_text("origin"), [record.origin]))
    return Card(record.id, [pair(record.premise, record.hypothesis), Facts(facts), Table(rows, head)])


def _workers(workers: Sequence[WorkerStatistics]) -> Card:
    names = ("worker", "examples", "seconds", "ambiguous", "discarded")
    rows = [
        (
            worker.worker,
            worker.examples,
            number(worker.seconds, 0),
            f"{number(100 * worker.ambiguous, 1)} %",
            f"{number(100 * worker.discarded, 1)} %",
        )
        for worker in workers
    ]
    head = [named_text(f"worker.{name}") for name in names]
    return Card(
        named_text("linguists"), [Table(rows, head)] if rows else [Text(named_text("no_workers"), "muted")]
    )


# ---- the data


def entries(data: str) -> list[Entry]:
    """Return the list entries of a data set's examples."""
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
    """Return the blocks of an example with its readings."""
    example = next(each for each in read_examples(data).examples if each.id == name)
    guides = [load_guidelines(each) for each in ("en", "zh")]
    kinds: list[Words | Tag] = [
        Translated(*(guide.categories[kind].name for guide in guides)) for kind in example.categories
    ]
    facts: list[tuple[Words, Words | Sequence[Words | Tag]]] = [
        (named_text("data.labels"), tags(example.labels)),
        *([(named_text("data.kind"), kinds)] if kinds else []),
        (named_text("origin_of"), named_text("curated" if example.curated else "generated")),
    ]
    readings = [
        Group(
            message(f"labels.{reading.label}"), reveal.revisions(example.premise, example.hypothesis, reading)
        )
        for reading in example.disambiguations
    ]
    distractors = [Quote(message(f"side.{side}"), text) for side, text in example.distractors.items()]
    warnings = "; ".join(finding.message for finding in findings(example))
    nothing = Text(named_text("not_ambiguous" if example.labels else "not_annotated"), "muted")
    meta = [(str(key), str(value)) for key, value in (example.meta or {}).items()]
    return (
        original(example),
        Card(named_text("facts"), [Facts(facts)]),
        Card(named_text("readings"), readings) if readings else nothing,
        *([Card(message("result.distractor"), [Quotes(distractors)])] if distractors else []),
        *([Text(warnings)] if warnings else []),
        *([Card(named_text("meta"), [Facts(meta)], folded=True)] if meta else []),
    )


def overview(data: str, language: str) -> Sequence[PageContent]:
    """Return the Venn diagram of a data set's label sets, and its statistics."""
    examples, faults = read_examples(data)
    results = dataset_results(examples, Path(data).stem)
    venn = label_sets_venn(results.data["label_sets"])
    return (
        *([Text(named_text("faults", count=len(faults)))] if faults else []),
        Section(name="label-sets", title="Label sets", figures=[venn]),
        results.section(),
    )


# ---- links, files


def _links(reader: LogReader, run: Run) -> list[Link]:
    tasks, name = tasks_of(reader, run), quote(run.id, safe="")
    links = []
    if "annotate" in tasks:
        links.append(Link("consolidate", f"/research/desk?desk=consolidation&data={name}"))
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
        raise InputError(f"{run}: there are no votes yet.")
    CROWD.write(path, records)


RESEARCH: Final = ResearchPages(
    episode=episode,
    parts=(
        Part(name="people", show=people, where=lambda reader, run: bool(JUDGED & set(tasks_of(reader, run)))),
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
