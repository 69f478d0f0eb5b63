"""Logs with AmbiEnt in them: linguists and crowdworkers of studies, and models' answers to every task."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from logs import LogReader, LogWriter
from logs.rows import Ending, Episode, Run, Turn
from simulator.ambient.annotation.rules import Annotation
from simulator.ambient.benchmark import BENCHMARK
from simulator.ambient.claims import THRESHOLD, second_highest
from simulator.ambient.data import load_claims, load_examples
from simulator.ambient.graph import MACHINE
from simulator.ambient.items import Item
from simulator.ambient.players import seat_for
from simulator.ambient.prepare import (
    claim_items,
    continue_items,
    crowd_items,
    distractors_of,
    evaluation_items,
    generate_items,
    nli_items,
    true_false_items,
)
from simulator.ambient.sessions import AmbientSessions
from simulator.ambient.trial_log import generation_records
from simulator.runner.machines import ActiveEpisode
from simulator.seats import Reply, ScriptSeat, Seat
from simulator.studies import Study

SEAT = "annotator"
LINGUISTS = "study-linguists-test"
CROWD = "study-crowd-test"
RUNS = ("generate", "true-false", "continue", "nli", "evaluate", "claims", LINGUISTS, CROWD)
SECRET = "<b>I think it is about a bank.</b>"
_CODES = {"complete": "C", "screened_out": "S", "returned": "R"}


def no_models(name: str) -> Any:
    raise AssertionError(f"{name} was asked for")


def ambiguous(number: int) -> tuple[Any, ...]:
    """Built-in examples of which exactly one side is ambiguous."""
    return tuple(example for example in load_examples() if example.xor)[:number]


def fill(writer: LogWriter, reader: LogReader) -> None:
    """Everything, `RUNS`."""
    asyncio.run(people(writer, reader))
    asyncio.run(models(writer, reader))
    writer.flush()


# ---- people


def study(id: str, task: str, conditions: Sequence[str], judgments: int) -> Study:
    return Study(
        id=id,
        title=f"A study called {id}",
        benchmark="ambient",
        seat=SEAT,
        settings={"task": task},
        conditions=list(conditions),
        judgments_per_item=judgments,
        sets_per_participant=len(conditions),
        completion_codes=_CODES,
        seed=3,
    )


async def people(writer: LogWriter, reader: LogReader) -> None:
    """Two linguists who differ, on six examples, one of which one discards; three crowdworkers on three."""
    examples = ambiguous(6)
    linguists = study("linguists-test", "annotate", [example.id for example in examples], 2)
    items = crowd_items(examples[:3], seed=0)
    crowd = study("crowd-test", "crowd", [item.id for item in items], 3)
    sessions = AmbientSessions(BENCHMARK, writer, reader, no_models, studies=[linguists, crowd])
    known = {(example.premise, example.hypothesis): example for example in examples}
    last = examples[-1].id
    for who, form in (("ann", careful), ("bo", hasty)):
        await take_part(
            sessions,
            linguists.id,
            who,
            lambda view, form=form: form(known[view.shown.premise, view.shown.hypothesis], last),
        )
    gold = {candidate.sentence: candidate.label for item in items for candidate in item.candidates}
    for number, who in enumerate(("cy", "di", "ed")):
        await take_part(sessions, crowd.id, who, lambda view, number=number: vote(view, number, gold))
    writer.flush()


async def take_part(
    sessions: AmbientSessions, study_id: str, who: str, form: Callable[[Any], dict[str, Any]]
) -> None:
    """All sets of one person."""
    entry = await sessions.enter(study_id, identity={"PROLIFIC_PID": who}, participant_key="k", language="en")
    while entry.episode_id:
        episode = entry.episode_id
        view = await sessions.view(episode, SEAT)
        while view.stage != "done":
            if view.stage in ("consent", "instructions"):
                reply = Reply(text="yes" if view.stage == "consent" else "ready", key=f"{view.number}.{who}")
            else:
                reply = Reply(move=form(view), key=f"{view.number}.{who}")
            view = await sessions.submit(episode, SEAT, reply, number=view.number)
        entry = await sessions.next_set(episode)


def careful(example: Any, last: str) -> dict[str, Any]:
    """The dataset's own annotation, with a comment."""
    form = Annotation(labels=example.labels, rewrites=example.disambiguations, comment=SECRET)
    return form.payload()


def hasty(example: Any, last: str) -> dict[str, Any]:
    """One reading alone; the last example is thrown away."""
    if example.id == last:
        return Annotation(discard="incoherent").payload()
    return Annotation(labels=frozenset({example.disambiguations[0].label})).payload()


def vote(view: Any, number: int, gold: dict[str, Any]) -> dict[str, Any]:
    """As the dataset has it, but for the pair as it stands; the third worker takes everything for neutral."""
    if view.due.kind == "label":
        return {"label": ("neutral", "entailment", "neutral")[number]}
    if view.due.kind == "plausible":
        return {
            "plausible": [gold[sentence] is not None or number == 1 for sentence in view.shown.candidates]
        }
    texts = [pair[0] if view.shown.side == "premise" else pair[1] for pair in view.shown.pairs]
    return {"labels": ["neutral" if number == 2 else gold[text] or "neutral" for text in texts]}


# ---- models


async def models(writer: LogWriter, reader: LogReader) -> None:
    """One run a task, of built-in players and of models that say what is written here."""
    examples = ambiguous(6)
    generated = generate_items(examples, seed=1, shots=1)
    await play(writer, "generate", generated, lambda item: seat_for(SEAT, "offline/gold", no_models, {}))
    statements = true_false_items(examples[:3])
    await play(writer, "true-false", statements, lambda item: seat_for(SEAT, "offline/random", no_models, {}))
    continued = continue_items(examples[:3], seed=1, wanted=6)
    await play(writer, "continue", continued, lambda item: ScriptSeat(continuations(item)))
    await play(writer, "nli", nli_items(examples[:4]), lambda item: ScriptSeat(predictions(item)))
    writer.flush()
    records = generation_records(reader, ["generate"])
    judged = evaluation_items({"offline/gold": records}, distractors_of(examples), seed=1, items=3)
    await play(writer, "evaluate", judged, lambda item: seat_for(SEAT, "offline/gold", no_models, {}))
    claims = claim_items(load_claims())[:4]
    shares = iter((0.45, 0.3, 0.05, 0.2))
    await play(writer, "claims", claims, lambda item: ScriptSeat(paraphrases(item, next(shares))))
    writer.flush()


async def play(writer: LogWriter, run: str, items: Sequence[Item], seat: Callable[[Item], Seat]) -> None:
    """A run in which every item is played to its end."""
    made = [seat(item) for item in items]
    config = {"planned": len(items), "seats": {SEAT: made[0].name}, "task": items[0].task}
    writer.put(Run(id=run, benchmark="ambient", setup="L2L", seed=0, config=config)).result()
    for item, player in zip(items, made, strict=True):
        row = MACHINE.item_row(item)
        episode = Episode(
            id=f"{run}/{item.id}/0",
            run_id=run,
            item_hash=row.hash,
            language="en",
            seats={SEAT: player.name},
            seed=0,
            repeat=0,
        )
        turns: list[Turn] = []

        async def record(turn: Turn, turns: list[Turn] = turns) -> None:
            turns.append(turn)

        live = ActiveEpisode(episode=episode, item=item, seats={SEAT: player}, record=record)
        state = await MACHINE.advance(live, MACHINE.rebuild([]))
        ending = MACHINE.ending(live, state)
        assert ending is not None
        rows = [row, episode, *turns, Ending(episode_id=episode.id, status=ending.status)]
        for each in [*rows, *MACHINE.score(item, turns, ())]:
            writer.put(each)


def continuations(item: Any) -> list[Reply]:
    """The distractor's continuations fit the ambiguous sentence worst."""
    replies = []
    for place, (name, _) in enumerate(item.options):
        gap = 9.0 if name == "d" else 2.0 + place
        own = [-10.0 - step for step in range(6)]
        texts = [f"And then it rained for {step} days." for step in range(6)]
        original = [value - gap + 0.3 * step for step, value in enumerate(own)]
        replies.append(
            Reply(move={"continuations": texts, "own": own, "original": original, "tokens": [7] * 6})
        )
    return replies


def predictions(item: Any) -> list[Reply]:
    """Neutral throughout, and nothing at all for the last reading."""
    logits = {"contradiction": -2.5, "entailment": -0.4, "neutral": 1.25}
    last = len(item.pairs) - 1
    return [
        Reply(move={"prediction": [] if place == last else ["neutral"], "logits": logits, "threshold": -1.97})
        for place in range(len(item.pairs))
    ]


def paraphrases(item: Any, share: float) -> list[Reply]:
    """Two paraphrases, one of which may stand in two relations if `share` is above the threshold."""
    tables = (
        {"contradiction": 0.02, "entailment": 0.9, "neutral": share},
        {"contradiction": 0.01, "entailment": 0.97, "neutral": 0.04},
    )
    texts = [f"In other words: {item.cleaned}", f"Put briefly, {item.cleaned}"]
    rows = [
        {"text": text, "probabilities": table, "score": second_highest(table)}
        for text, table in zip(texts, tables, strict=True)
    ]
    best = max(row["score"] for row in rows)
    return [
        Reply(text="\n".join(texts), move={"texts": texts, "kept": texts}),
        Reply(move={"paraphrases": rows, "score": best, "flagged": best > THRESHOLD}),
    ]


def main(path: Path) -> None:
    """Fill the log at `path`."""
    with LogWriter(path, durable=True) as writer, LogReader(path) as reader:
        fill(writer, reader)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
