from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # letters, markup

from letters import fill as fill_with_letters
from markup import office_at

from logs import LogReader, LogWriter
from logs.rows import Ending, Episode, ModelCall, Run, Turn
from simulator.clarq.data import item_row, load_items
from simulator.clarq.machine import MACHINE
from trees import OPENING, Task
from ui.research.office import Office


class Bench:
    """A log and what is needed to fill it with dialogues on built-in tasks."""

    def __init__(self, writer: LogWriter, reader: LogReader) -> None:
        self.writer = writer
        self.reader = reader
        self.tasks = {language: load_items("builtin", language)[:3] for language in ("en", "zh")}

    def run(self, id: str, *, planned: int = 6, setup: str = "L2L", benchmark: str = "clarq") -> str:
        """A run without episodes."""
        seats = {"seeker": "offline/seeker", "provider": "offline/experts"}
        config = {"planned": planned, "seats": seats, "language": "en"}
        self.writer.put(Run(id=id, benchmark=benchmark, setup=setup, seed=0, config=config)).result()
        return id

    def play(
        self,
        run: str,
        task: Task,
        *,
        nodes: int | None = None,
        extra: str = "",
        status: str | None = "completed",
        person: str | None = None,
    ) -> str:
        """A dialogue in which the first `nodes` nodes are given (all by default), then `extra` is said."""
        item = item_row(task)
        id = f"{run}/{task.id}.{task.language}/0"
        seats = {"seeker": "person" if person else "offline/seeker", "provider": "offline/experts"}
        given = task.tree.nodes[: len(task.tree.nodes) if nodes is None else nodes]
        lines = [("provider", "Hello?", None), ("seeker", "How is it done?", None)]
        lines += [("provider", task.tree.opening, OPENING)]
        for node in given:
            lines += [("seeker", "And then <b>what</b>?", None), ("provider", node.text, node.index)]
        if extra:
            lines += [("seeker", "Anything else?", None), ("provider", extra, None)]
        lines.append(("seeker", "Goodbye!", None))
        self.writer.put(item)
        self.writer.put(
            Episode(
                id=id,
                run_id=run,
                item_hash=item.hash,
                language=task.language,
                seats=seats,
                seed=0,
                repeat=0,
                participant_id=person,
            )
        )
        for number, (seat, text, node) in enumerate(lines):
            payload = {"give": [node], "reason": "asked for it", "type": 2} if node else {}
            self.writer.put(Turn(episode_id=id, number=number, seat=seat, text=text, payload=payload))
        if status:
            self.writer.put(Ending(episode_id=id, status=status))
        self.writer.flush()
        if status == "completed":
            for row in MACHINE.score(task, self.reader.turns(id), ()):
                self.writer.put(row)
            self.writer.flush()
        return id

    def call(self, episode: str, turn: int, cost: float | None = 0.002) -> None:
        """A model call of a turn."""
        self.writer.put(
            ModelCall(
                id=f"{episode}/{turn}",
                episode_id=episode,
                turn_number=turn,
                purpose="provider.type",
                model="openai/gpt-test",
                request={"messages": [{"role": "user", "content": "Which <i>type</i>?"}]},
                response={"text": "2"},
                input_tokens=1200,
                output_tokens=3,
                cost=cost,
                seconds=0.5,
            )
        ).result()


@contextmanager
def open_bench(folder: Path) -> Iterator[Bench]:
    path = folder / "log.sqlite"
    with LogWriter(path, durable=False, group_seconds=0.001) as writer, LogReader(path) as reader:
        yield Bench(writer, reader)


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    with open_bench(tmp_path) as bench:
        yield bench


@pytest.fixture
def filled(bench: Bench) -> Bench:
    """See `fill`."""
    return fill(bench)


@pytest.fixture(scope="module")
def unchanging(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """A filled log that the tests of a module share and do not write to."""
    with open_bench(tmp_path_factory.mktemp("log")) as bench:
        yield fill(bench)


def fill(bench: Bench) -> Bench:
    """Run ``one``: three English dialogues (success, failure, needs a judge), one Chinese; ``two``: two."""
    english, chinese = bench.tasks["en"], bench.tasks["zh"]
    bench.run("one")
    bench.play("one", english[0])
    bench.play("one", english[1], nodes=1)
    last = bench.play("one", english[2], nodes=1, extra="Use the lantern, perhaps.")
    bench.play("one", chinese[0])
    bench.call(last, 2)
    bench.run("two", planned=2)
    bench.play("two", english[0], nodes=1)
    bench.play("two", english[1])
    return bench


@pytest.fixture
def calls(filled: Bench) -> Office:
    return office_at(filled.writer, filled.reader)


@pytest.fixture(scope="session")
def letters_log(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Office]:
    """A log with AmbiBench's runs (`letters.fill`); tests read it only."""
    path = tmp_path_factory.mktemp("letters") / "log.sqlite"
    with LogWriter(path, durable=False, group_seconds=0.001) as writer, LogReader(path) as reader:
        fill_with_letters(writer, reader)
        yield office_at(writer, reader)
