"""Logs with AmbiK in them: methods with their calibrations, robots that ask, people, annotators of drafts."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

sys.path.insert(
    0, str(Path(__file__).parents[2] / "shared")
)  # kitchen_pages, where this file is run by itself

from kitchen_pages import seen

from logs import LogReader, LogWriter
from logs.rows import Ending, Episode, Run, Turn
from simulator.ambik.benchmark import BENCHMARK
from simulator.ambik.data import load_drafts, load_pairs
from simulator.ambik.items import Item, PairItem
from simulator.ambik.machine import MACHINE, seat_for
from simulator.ambik.playing import ROBOT, USER, calibration_option
from simulator.ambik.runs import calibrated_on
from simulator.ambik.selection import calibration_items, pair_items
from simulator.ambik.sessions import AmbikSessions
from simulator.ambik.terms import DEFAULT
from simulator.runner.machines import ActiveEpisode
from simulator.seats import Reply, ScriptSeat, Seat
from simulator.seeds import derive_seed
from simulator.studies import Study

KNOWNO, LOFREE, BINARY, KITCHEN = "knowno", "lofreecp", "binary", "kitchen"
CALIBRATION = "knowno-calibration"
PEOPLE, ANNOTATED = "study-robots-test", "study-annotators-test"
RUNS = (CALIBRATION, KNOWNO, LOFREE, BINARY, KITCHEN, PEOPLE, ANNOTATED)
MODEL = "openai/gpt-test"
SECRET = "<b>Is it the red one?</b>"
PAIRS = 10
DRAFTS = 3
POLITE = "Please tell me:"
_CODES = {"complete": "C", "screened_out": "S", "returned": "R"}


def no_models(name: str) -> Any:
    raise AssertionError(f"{name} was asked for")


def fill(writer: LogWriter, reader: LogReader) -> None:
    """Everything, `RUNS`."""
    asyncio.run(models(writer, reader))
    asyncio.run(people(writer, reader))
    writer.flush()


# ---- models


async def models(writer: LogWriter, reader: LogReader) -> None:
    """KnowNo and LofreeCP with their calibrations, Binary, and the built-in robot that may ask."""
    tests = pair_items(load_pairs("builtin", "test")[:PAIRS])
    calibrating = calibration_items(load_pairs("builtin", "calibration"))
    for run, decide in ((KNOWNO, chosen), (LOFREE, sampled)):
        before: dict[str, Any] = {"task": "decide", "method": run}
        await play(writer, f"{run}-calibration", calibrating, decide, before)
        writer.flush()
        threshold, _ = calibrated_on(reader, f"{run}-calibration", DEFAULT, tests)
        options = before | {"calibration": calibration_option(threshold)}
        await play(writer, run, tests, decide, options)
    await play(writer, BINARY, tests, certain, {"task": "decide", "method": "binary"})
    await play(writer, KITCHEN, tests, None, {"task": "decide", "questions": 1})


def chosen(item: PairItem) -> dict[str, Any]:
    """KnowNo's decision: the better the more of the intent an option has, and some chance."""
    random = Random(derive_seed(1, item.id))
    lettered = dict(zip("ABCD", item.pair.options, strict=False))
    first = random.choice(tuple(lettered))
    tokens = [[letter, random.uniform(-4, -1) + 2 * (letter == first)] for letter in lettered]
    return {
        "method": "knowno",
        "options": {**lettered, **({} if "D" in lettered else {"D": "do nothing"})},
        "filled": [] if "D" in lettered else ["D"],
        "tokens": [*tokens, ["The", -6.0]],
        "prompts": [["generate", f"Scene: {item.pair.scene}. {SECRET}"], ["choose", "Which of them?"]],
        "raw": [["generate", "\n".join(f"{key}) {text}" for key, text in lettered.items())]],
        "generator": MODEL,
        "flags": [] if "D" in lettered else ["filled"],
    }


def sampled(item: PairItem) -> dict[str, Any]:
    """LofreeCP's: twenty answers."""
    random = Random(derive_seed(2, item.id))
    weights = [random.random() for _ in item.pair.options]
    drawn = random.choices([option.lower().rstrip(".") for option in item.pair.options], weights, k=20)
    counts = {text: drawn.count(text) for text in dict.fromkeys(drawn)}
    return {
        "method": "lofreecp",
        "samples": counts,
        "similarities": {text: 0.0 if n == max(counts.values()) else 0.4 for text, n in counts.items()},
        "draws": 20,
        "generator": MODEL,
        "prompts": [["generate", "What would you do?"]],
        "raw": [["generate", drawn[0]]],
    }


def certain(item: PairItem) -> dict[str, Any]:
    """Binary's: uncertain of every other ambiguous task."""
    number = int(item.pair.id[1:])
    return {
        "method": "binary",
        "action": item.pair.options[0],
        "certainty": "uncertain" if item.member == "ambiguous" and number % 2 else "certain",
        "generator": MODEL,
        "prompts": [["generate_one", "What would you do?"], ["certainty", "Sure?"]],
        "raw": [["generate_one", item.pair.options[0]], ["certainty", "Certain"]],
    }


async def play(
    writer: LogWriter,
    run: str,
    items: Sequence[Item],
    decide: Callable[[Any], dict[str, Any]] | None,
    options: Mapping[str, Any],
) -> None:
    """A run in which every item is played to its end; by the built-in robot if nothing is told."""
    name = MODEL if decide else "offline/kitchen"
    config = {
        "planned": len(items),
        "seats": {ROBOT: name, USER: "offline/item"},
        "options": dict(options),
        "dataset": "ambik",
        "language": "en",
    }
    writer.put(Run(id=run, benchmark="ambik", setup="L2L", seed=0, config=config)).result()
    for item in items:
        robot: Seat = (
            seat_for(ROBOT, name, no_models, options) if decide is None else _script(decide(item), name)
        )
        seats = {ROBOT: robot, USER: seat_for(USER, "offline/item", no_models, options)}
        await episode(writer, run, item, seats, options)


def _script(decision: Mapping[str, Any], name: str) -> ScriptSeat:
    return ScriptSeat([Reply(move={"decision": dict(decision)})], name)


async def episode(
    writer: LogWriter, run: str, item: Item, seats: Mapping[str, Seat], options: Mapping[str, Any]
) -> None:
    row = MACHINE.item_row(item)
    made = Episode(
        id=f"{run}/{item.id}/0",
        run_id=run,
        item_hash=row.hash,
        language="en",
        seats={seat: who.name for seat, who in seats.items()},
        seed=0,
        repeat=0,
        options=dict(options),
    )
    turns: list[Turn] = []

    async def record(turn: Turn) -> None:
        turns.append(turn)

    live = ActiveEpisode(episode=made, item=item, seats=dict(seats), record=record)
    state = await MACHINE.advance(live, MACHINE.rebuild([]))
    ending = MACHINE.ending(live, state)
    assert ending is not None
    for each in (row, made, *turns, Ending(episode_id=made.id, status=ending.status)):
        writer.put(each)
    for score in MACHINE.score(item, turns, ()):
        writer.put(score)


# ---- people


def study(id: str, seat: str, conditions: Sequence[str], judgments: int, **settings: Any) -> Study:
    return Study(
        id=id,
        title=f"A study called {id}",
        benchmark="ambik",
        seat=seat,
        settings=settings,
        conditions=list(conditions),
        judgments_per_item=judgments,
        sets_per_participant=len(conditions),
        completion_codes=_CODES,
        seed=3,
    )


async def people(writer: LogWriter, reader: LogReader) -> None:
    """Three robots on four tasks that the methods had, too; two annotators on `DRAFTS` drafts."""
    tests = pair_items(load_pairs("builtin", "test")[:2])
    robots = study(
        "robots-test", "robot", [item.id for item in tests], 3, task="decide", part="test", items=len(tests)
    )
    drafts = load_drafts()[:DRAFTS]
    pairs = study(
        "annotators-test", "annotator", [f"draft-{draft.id}" for draft in drafts], 2, task="annotate"
    )
    sessions = AmbikSessions(BENCHMARK, writer, reader, no_models, studies=[robots, pairs], env={})
    for number, who in enumerate(("ann", "bo", "cy")):
        await take_part(sessions, robots, who, lambda view, number=number: marked(view, number))
    known = {draft.clear: draft for draft in drafts}
    for number, who in enumerate(("di", "ed")):
        await take_part(
            sessions, pairs, who, lambda view, number=number: form(known[seen(view).fields["clear"]], number)
        )
    writer.flush()


async def take_part(
    sessions: AmbikSessions, study: Study, who: str, answer: Callable[[Any], dict[str, Any]]
) -> None:
    """All sets of one person."""
    entry = await sessions.enter(study.id, identity={"PROLIFIC_PID": who}, participant_key="k", language="en")
    while entry.episode_id:
        view = await sessions.view(entry.episode_id, study.seat)
        while view.stage != "done":
            key = f"{view.number}.{who}"
            if view.stage in ("consent", "instructions"):
                reply = Reply(text="yes" if view.stage == "consent" else "ready", key=key)
            else:
                reply = Reply(move=answer(view), key=key)
            view = await sessions.submit(entry.episode_id, study.seat, reply, number=view.number)
        entry = await sessions.next_set(entry.episode_id)


def marked(view: Any, number: int) -> dict[str, Any]:
    """Two actions and a question at first, then the first action; the last person asks nothing."""
    first, second, *_ = seen(view).options
    if number == 2 or not seen(view).may_ask:
        return {"marked": [first], "act": first}
    return {"marked": [first, second][: 2 - number] or [first], "ask": SECRET}


def form(draft: Any, number: int) -> dict[str, Any]:
    """A good form; the second annotator asks otherwise, and deletes the last row."""
    if number and draft.id == load_drafts()[DRAFTS - 1].id:
        return {"delete": "The task is absurd.", "comment": SECRET}
    candidate = draft.candidates["common_sense_knowledge"]
    both = zip(draft.plan, draft.ambiguous_plan, strict=True)
    step = next(place for place, (clear, other) in enumerate(both) if clear != other)
    word = draft.plan[step].rstrip(".").split()[-1]
    return {
        "type": candidate.type,
        "passed_over": "Nothing dangerous about it.",
        "one_ambiguity": True,
        "ambiguous": candidate.task,
        "question": f"{POLITE} {candidate.question}" if number else candidate.question,
        "answer": candidate.answer,
        "step": step,
        "intent": word,
        "variants": [word],
        "comment": SECRET if number else "",
    }


def main(path: Path) -> None:
    """Fill the log at `path`."""
    with LogWriter(path, durable=True) as writer, LogReader(path) as reader:
        fill(writer, reader)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
