"""Logs with AmbiBench in them: built-in learners, a model with token tables, outputs to sort, and people."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from math import log
from pathlib import Path
from random import Random
from typing import Any

from logs import LogReader, LogWriter
from logs.rows import Ending, Episode, Participant, Run, Turn
from simulator.ambibench.benchmark import BENCHMARK
from simulator.ambibench.generation import (
    generate_aws,
    generate_instruction,
    generate_multiple,
    generate_verbalise,
)
from simulator.ambibench.graph import MACHINE
from simulator.ambibench.items import item_from_row, item_row
from simulator.ambibench.players import Options, label_payload, text_payload
from simulator.ambibench.prompt import Item, Prompt, beliefs, trials
from simulator.ambibench.sessions import AmbiBenchSessions
from simulator.runner.sessions import Sessions
from simulator.seats import Reply
from simulator.studies.known import builtin_studies

MODEL = "secret/davinci-nine"
OUTPUTS = (
    "It is about <b>leaders</b> of a faith.",
    "Whether it is indoors.",
    "I cannot tell; it is withheld.",
)
STUDY = "study-ambibench-multiple"
NAMING = f"naming-{MODEL.replace('/', '-')}"
SECOND_NAMING = f"second-{NAMING}"


def no_models(name: str) -> Any:
    raise AssertionError(f"{name} was asked for")


def fill(writer: LogWriter, reader: LogReader) -> None:
    """Write the runs that the tests look at.

    ``oracle``, ``random``, ``tables`` and ``people`` (one of three too fast) are of 4.3, ``told`` of 4.2;
    `NAMING`, `SECOND_NAMING`, ``buckets``; and `STUDY`, which people took part in.
    """
    several, few = generate_multiple(0, per_cell=1), generate_instruction(0, "informative", per_cell=1)
    play(writer, reader, "oracle", "offline/oracle", several[:4])
    play(writer, reader, "random", "offline/random", several[:4])
    play(writer, reader, "told", "offline/random", few[:6])
    write(writer, "tables", "some/model", several[:3])
    write(writer, NAMING, MODEL, generate_verbalise(0)[::40])
    write(writer, SECOND_NAMING, MODEL, generate_verbalise(0)[1::40])
    write(writer, "buckets", "some/model", generate_aws(0)[::40])
    asyncio.run(take_part(writer, reader))
    write(writer, "people", "person", several[:3], seconds=(2.0, 2.5, 0.1))
    writer.flush()


def play(writer: LogWriter, reader: LogReader, run: str, seat: str, items: Sequence[Item]) -> None:
    """A run of a built-in player, played for real."""
    begin(writer, run, seat, len(items))
    sessions = Sessions(MACHINE, writer, reader, no_models)

    async def all_of_them() -> None:
        for item in items:
            await sessions.start_item(item, {"participant": seat}, {}, run_id=run)

    asyncio.run(all_of_them())


def begin(writer: LogWriter, run: str, seat: str, planned: int) -> None:
    config = {"planned": planned, "seats": {"participant": seat}}
    writer.put(Run(id=run, benchmark="ambibench", setup="L2L", seed=0, config=config)).result()


def write(
    writer: LogWriter,
    run: str,
    seat: str,
    items: Sequence[Item],
    *,
    begun: bool = False,
    seconds: Sequence[float] = (1.0,),
) -> None:
    """A run of a model, or more of it, with token tables where labels are asked for."""
    if not begun:
        begin(writer, run, seat, len(items))
    random = Random(run)
    for number, item in enumerate(items):
        row, id = item_row(item), f"{run}/{item.id}/0"
        person = f"p{number}" if seat == "person" else None
        writer.put(row)
        if person:
            writer.put(Participant(id=person))
        writer.put(
            Episode(
                id=id,
                run_id=run,
                item_hash=row.hash,
                language="en",
                seats={"participant": seat},
                seed=number,
                repeat=0,
                participant_id=person,
            )
        )
        for place, text, payload in turns(item, OUTPUTS[number % len(OUTPUTS)], random, person=bool(person)):
            took = seconds[number % len(seconds)]
            writer.put(
                Turn(
                    episode_id=id, number=place, seat="participant", text=text, payload=payload, seconds=took
                )
            )
        writer.put(Ending(episode_id=id, status="completed"))
    writer.flush()


def turns(
    item: Item, output: str, random: Random, *, person: bool
) -> Iterable[tuple[int, str, dict[str, Any]]]:
    """Number, text and payload of each turn; people write, and are right four times out of five."""
    for number, trial in enumerate(trials(item)):
        if trial.answer == "text":
            yield number, output, text_payload(item, Reply(text=output), person=False)
            continue
        assert isinstance(item, Prompt)
        right, other = random.uniform(0.5, 0.9), "Y" if trial.gold == "X" else "X"
        table = [(str(trial.gold), log(right)), (other, log(0.95 - right)), ("<i>the</i>", log(0.05))]
        label = other if person and random.random() < 0.2 else str(trial.gold)
        reply = Reply(text=label, move=None if person else {"table": table})
        belief = beliefs(item)[trial.k - 1]
        yield number, label, label_payload(trial, reply, belief, Options(), person=person)


async def take_part(writer: LogWriter, reader: LogReader) -> None:
    """Three people in the study of 4.3, all quicker than anybody can read; the last one leaves early."""
    study = next(candidate for candidate in builtin_studies("ambibench") if candidate.run_id == STUDY)
    sessions = AmbiBenchSessions(BENCHMARK, writer, reader, no_models, studies=[study])
    for number, answers in enumerate((20, 20, 5)):
        identity = {"PROLIFIC_PID": f"{number:024x}"}
        entry = await sessions.enter(study.id, identity=identity, participant_key=f"k{number}", language="en")
        assert entry.episode_id is not None
        await _answer(sessions, reader, entry.episode_id, answers)


async def _answer(sessions: AmbiBenchSessions, reader: LogReader, episode: str, answers: int) -> None:
    item = item_from_row(reader.item(reader.episode(episode).item_hash))
    assert isinstance(item, Prompt)
    view = await sessions.view(episode, "participant")
    while view.stage != "done" and view.done < answers:
        shown = datetime.now(UTC).isoformat(timespec="milliseconds")
        answer = {"consent": "yes", "instructions": "ready", "comment": "Fun, but <b>hard</b>."}.get(
            view.stage
        )
        if answer is None and view.k is not None:
            answer = item.examples[view.k - 1].label.lower() if view.k > 2 else "X"
        move = {"keys_used": True, "shown_at": shown} if view.stage == "trial" else None
        view = await sessions.submit(
            episode, "participant", Reply(text=str(answer), move=move), number=view.number
        )
    if view.done == answers and view.stage == "comment":
        await sessions.submit(episode, "participant", Reply(text="Fun."), number=view.number)


def filled_log(path: Path) -> None:
    """Write `fill` into a new log."""
    with LogWriter(path, durable=False, group_seconds=0.001) as writer, LogReader(path) as reader:
        fill(writer, reader)


if __name__ == "__main__":
    filled_log(Path(sys.argv[1]))
