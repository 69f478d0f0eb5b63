"""Logged runs with chosen answers, written without playing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import log as ln
from pathlib import Path
from random import Random
from typing import Any

import pytest

from logs import LogReader, LogWriter
from logs.rows import Ending, Episode, Participant, Run, Turn
from simulator.ambibench.aws import AwsPrompt
from simulator.ambibench.items import item_row
from simulator.ambibench.players import Options, label_payload, text_payload
from simulator.ambibench.prompt import Item, Trial, beliefs, trials
from simulator.seats import Reply

SHOWN = "2026-01-01T00:00:00.000+00:00"
Answer = Callable[[Item, Trial, Random], Reply]
"""The reply to a trial."""


def _says(text: str, **move: Any) -> Reply:
    return Reply(text=text, move=move)


def _table(**probabilities: float) -> Reply:
    """A reply with a table of token probabilities."""
    pairs = [(token, ln(p)) for token, p in probabilities.items()]
    return Reply(text=pairs[0][0], move={"table": pairs, "decoding": {"top": 20}})


def _skilled(accuracy: float, valid: float = 0.9) -> Answer:
    """A model that gives the right label the larger share with some probability."""

    def answer(item: Item, trial: Trial, random: Random) -> Reply:
        right, wrong = (trial.gold, "Y" if trial.gold == "X" else "X")
        best, other = (right, wrong) if random.random() < accuracy else (wrong, right)
        share = 0.5 + random.random() / 2
        return _table(**{str(best): valid * share, str(other): valid * (1 - share), "the": 1 - valid})

    return answer


def _typed(accuracy: float) -> Answer:
    """A person that types the right label with some probability."""

    def answer(item: Item, trial: Trial, random: Random) -> Reply:
        right = random.random() < accuracy
        wrong = "Y" if trial.gold == "X" else "X"
        return _says(
            str(trial.gold) if right else wrong, keys_used=True, shown_at="2026-01-01T00:00:00.000+00:00"
        )

    return answer


@dataclass
class Desk:
    """Writes runs into a log."""

    path: Path
    writer: LogWriter
    reader: LogReader
    runs: dict[str, int] = field(default_factory=dict)

    def play(
        self,
        run: str,
        items: Sequence[Item],
        seat: str,
        answer: Answer,
        *,
        status: str | None = "completed",
        answers: int | None = None,
        seconds: float = 2.0,
        options: dict[str, Any] | None = None,
        repeats: int = 1,
        study: bool = False,
    ) -> list[str]:
        """Write a run, or add to it, and return the ids of the new episodes."""
        if run not in self.runs:
            letters = "H2L" if seat == "person" else "L2L"
            self.writer.put(Run(id=run, benchmark="ambibench", setup=letters, seed=0))
        made = []
        for repeat in range(repeats):
            for item in items:
                number = self.runs[run] = self.runs.get(run, 0) + 1
                episode = Episode(
                    id=f"{run}/{item.id}/{number}",
                    run_id=run,
                    item_hash=item_row(item).hash,
                    language="en",
                    seats={"participant": seat},
                    seed=number,
                    repeat=number if seat == "person" else repeat,
                    participant_id=f"p{number}" if seat == "person" else None,
                    options={**(options or {}), "study": study},
                )
                self._episode(episode, item, answer, status, answers, seconds)
                made.append(episode.id)
        self.writer.flush()
        return made

    def _episode(
        self,
        episode: Episode,
        item: Item,
        answer: Answer,
        status: str | None,
        answers: int | None,
        seconds: float,
    ) -> None:
        if episode.participant_id:
            self.writer.put(Participant(id=episode.participant_id))
        self.writer.put(item_row(item))
        self.writer.put(episode)
        person, random = episode.seats["participant"] == "person", Random(f"{episode.id}")
        turns: list[Turn] = []

        def turn(text: str, payload: dict[str, Any], seconds: float | None = None) -> None:
            turns.append(
                Turn(
                    episode_id=episode.id,
                    number=len(turns),
                    seat="participant",
                    text=text,
                    payload=payload,
                    seconds=seconds,
                )
            )

        if person and episode.options["study"]:
            turn("yes", {"kind": "consent"})
        if person:
            turn("ready", {"kind": "ready"})
        thought = () if isinstance(item, AwsPrompt) else beliefs(item)
        options = Options.read(episode.options)
        for trial in trials(item)[:answers]:
            reply = answer(item, trial, random)
            if trial.answer == "text":
                payload = text_payload(item, reply, person=person)
            else:
                payload = label_payload(trial, reply, thought[trial.k - 1], options, person=person)
            turn(reply.text, payload, seconds)
        if person and episode.options["study"]:
            turn("Was fun\u2028really.", {"kind": "comment"})
        for row in turns:
            self.writer.put(row)
        if status is not None:
            self.writer.put(Ending(episode_id=episode.id, status=status))  # type: ignore[arg-type]

    def put(self, *rows: Any) -> None:
        for row in rows:
            self.writer.put(row)
        self.writer.flush()


@contextmanager
def _opened(path: Path) -> Iterator[Desk]:
    with LogWriter(path, durable=False) as writer, LogReader(path) as reader:
        yield Desk(path, writer, reader)


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with _opened(tmp_path / "log.sqlite") as desk:
        yield desk


@pytest.fixture(scope="module")
def shared_desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    """One log for all read-only tests of a file."""
    with _opened(tmp_path_factory.mktemp("log") / "log.sqlite") as desk:
        yield desk


@pytest.fixture(scope="session")
def says() -> Callable[..., Reply]:
    return _says


@pytest.fixture(scope="session")
def table() -> Callable[..., Reply]:
    return _table


@pytest.fixture(scope="session")
def skilled() -> Callable[..., Answer]:
    return _skilled


@pytest.fixture(scope="session")
def typed() -> Callable[..., Answer]:
    return _typed
