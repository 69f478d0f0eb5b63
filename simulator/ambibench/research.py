"""AmbiBench's researchers' pages: an episode trial by trial, and a link to the coding desk."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import astuple
from functools import cache
from math import exp
from typing import Final

from logs import LogReader
from logs.rows import Run
from simulator.ambibench.aws import AwsPrompt
from simulator.ambibench.coding import set_key
from simulator.ambibench.data import BUILTIN, load_items
from simulator.ambibench.features import PAIRS, value_name
from simulator.ambibench.items import item_from_row, item_record
from simulator.ambibench.prompt import Item, Prompt, best_guess
from simulator.ambibench.runs import TrialSelection
from simulator.ambibench.score import logged_table
from simulator.ambibench.show import Replay, ReplayTrial, TextReplay, plot_card, replay, rule, text_card
from simulator.blocks import Block, Card, Cell, Chips, Facts, Look, Passage, Span, Table, Text, Words, message
from simulator.research import DataPages, Entry, Link, PageRequest, ResearchPages

_TOKENS: Final = 3
_NOTHING: Final = "–"
_FIELDS: Final = ("setting", "instruction_kind", "salient_task", "format", "ft_variant", "origin")


def episode(request: PageRequest, id: str) -> Sequence[Block]:
    """Return the result of an episode and its trials one by one, or its text."""
    reader = request.reader
    item = item_from_row(reader.item(reader.episode(id).item_hash))
    replayed = replay(item, reader.turns(id), reader.judgments(episode_id=id))
    if isinstance(replayed, TextReplay):
        return _texts(replayed, "aws_category" if isinstance(item, AwsPrompt) else "category")
    facts: list[tuple[Words, Words]] = [
        (message("research.right"), f"{replayed.correct:g} / {len(replayed.scores)}"),
        (message("research.best"), f"{round(replayed.oracle, 2):g}"),
        *_rule_facts(replayed),
    ]
    return (
        Card(message("research.result"), [Facts(facts)]),
        plot_card(replayed, "research.said"),
        Card(message("research.trials"), [Passage([Span(replayed.item.instruction)]), _trials(replayed)]),
        text_card(replayed),
    )


def _rule_facts(replayed: Replay) -> list[tuple[Words, Words]]:
    k = replayed.known
    known = message("result.known_at", k=k) if k else message("result.known_never")
    return [
        (message("result.known"), known),
        (message("research.rule"), rule(replayed.item.hypothesis)),
    ]


def list_entries(data: str) -> list[Entry]:
    """Return the items of a data set, as listed with the line before the last answer."""
    records = ((item.id, item_record(item)) for item in _items(data))
    return [
        Entry(
            id, {name: record[name] for name in _FIELDS if record.get(name)}, record["prompt"].split("\n")[-2]
        )
        for id, record in records
    ]


def show_item(data: str, name: str, language: str) -> Sequence[Block]:
    """Return the text of an item, and its rule or other fields."""
    item = next(item for item in _items(data) if item.id == name)
    replayed = replay(item, ())
    text = Card(message("research.asked"), [Passage([Span(item_record(item)["prompt"])])])
    if isinstance(replayed, TextReplay):
        return (text, _texts(replayed, "category")[-1])
    return (text, Card(message("research.facts"), [Facts(_rule_facts(replayed))]))


def _items(data: str) -> tuple[Item, ...]:
    return _drawn_items() if data == BUILTIN else load_items(data, setting=None)


@cache
def _drawn_items() -> tuple[Item, ...]:
    """Return the items of runs without options."""
    selection = TrialSelection()
    return tuple(item for part in selection.parts() for item in selection.items(part))


def _texts(replay: TextReplay, categories: str) -> tuple[Block, ...]:
    answer: list[Block] = [Text(message("research.said_nothing"), "muted")]
    if replay.answer is not None:
        category = message(f"research.{categories}.{replay.category or 'open'}")
        answer = [Passage([Span(replay.answer, "new")]), Chips([category])]
    details = json.dumps(replay.details, ensure_ascii=False, indent=2)
    return (
        Card(message("research.asked"), [Passage([Span(replay.text)])]),
        Card(message("research.written"), answer),
        Card(message("research.facts"), [Passage([Span(details)])], folded=True),
    )


def _trials(replay: Replay) -> Table:
    names = ("k", "sentence", "values", "gold", "said", "read", "best", "sure", "p_x", "p_y", "p_valid")
    head = [message(f"research.{name}") for name in (*names, "tokens", "time", "keys")]
    return Table([_row(replay.item, trial) for trial in replay.trials], head, rest=(2, 7, 8, 9, 10, 11, 13))


def _row(item: Prompt, trial: ReplayTrial) -> Sequence[object]:
    score, (sentence, a, b, gold), belief = trial.score, astuple(trial.example), trial.belief
    values = (value_name(feature, code) for feature, code in zip(PAIRS[item.pair], (a, b), strict=True))
    head = (Cell(str(belief.k), "muted"), sentence, ", ".join(values), Cell(gold, "strong"))
    best = (best_guess(belief.p_x) or Cell(message("research.guess"), "muted"), f"{belief.p_gold:.3f}")
    if trial.turn is None or score is None:
        answer = Cell(message("research.open" if trial.asked else "research.given"), "muted")
        return (*head, answer, "", *best, *[""] * 6)
    looks: dict[float, Look] = {1.0: "right", 0.0: "wrong"}
    keys = trial.turn.payload.get("keys_used")
    tokens = sorted(logged_table(trial.turn) or (), key=lambda token: -token[1])[:_TOKENS]
    return (
        *head,
        Cell(trial.turn.text, looks.get(score.correct, "muted")),
        score.answer if score.answer in ("X", "Y") else message("research.neither"),
        *best,
        *(_NOTHING if share is None else f"{share:.3f}" for share in (score.p_x, score.p_y, score.p_valid)),
        "  ".join(f"{token!r} {exp(logprob):.3f}" for token, logprob in tokens),
        _NOTHING if score.seconds is None else message("result.seconds", seconds=f"{score.seconds:.1f}"),
        "" if keys is None else message(f"research.{'keyboard' if keys else 'mouse'}"),
    )


def _links(reader: LogReader, run: Run) -> list[Link]:
    texts = any(item.data.get("setting") == "verbalise" for item in reader.items(run.id))
    return [Link("coding", f"/research/desk?desk=coding&data={set_key(run.id)}")] if texts else []


RESEARCH: Final = ResearchPages(
    episode=episode, links=_links, data=DataPages(entries=list_entries, show=show_item)
)
