"""Prompts, players and a toy language model shared by tests of episodes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from math import log
from random import Random
from typing import Any

import pytest

from logs.rows import Ending, Episode, Turn
from simulator.ambibench.generation import draw_instruction, draw_multiple, generate_aws, generate_verbalise
from simulator.ambibench.graph import MACHINE
from simulator.ambibench.players import seat_for
from simulator.ambibench.prompt import Item, Prompt
from simulator.ambibench.sessions import AmbiBenchSessions
from simulator.models import Capabilities, Completion, Request, ScoreRequest, ScriptModel, TokenLogprob
from simulator.models.base import Position, Scored
from simulator.runner.machines import ActiveEpisode
from simulator.seats import PersonSeat, Reply, ScriptSeat, Seat
from simulator.seeds import derive_seed
from simulator.studies.machine import StudyMachine

SEAT = "participant"
PEOPLE = StudyMachine(MACHINE, AmbiBenchSessions.outer_steps)


@dataclass
class Toy:
    """A language model whose predictions depend on the prefix only; it records its requests."""

    asked: list[Any] = field(default_factory=list)

    def expects(self, before: str) -> tuple[tuple[str, float], ...]:
        """Tokens with log-probabilities, most likely first; in Q/A the blank is part of the label."""
        bare = before.rstrip(" ")
        random = Random(derive_seed(0, bare))
        blank = " " if bare.endswith(":") else ""
        weights = {f"{blank}X": random.random(), f"{blank}Y": random.random(), "\n": random.random() / 2}
        total = sum(weights.values())
        pairs = ((token, log(weight / total)) for token, weight in weights.items())
        return tuple(sorted(pairs, key=lambda pair: -pair[1]))

    def complete(self, request: Request) -> Completion:
        self.asked.append(request)
        top = self.expects(request.messages[-1].content)
        # What is written need not be the likeliest; the table counts.
        token, logprob = top[-1] if top[-1][0].strip() else top[0]
        tokens = () if request.top_logprobs is None else (TokenLogprob(token, logprob, top),)
        return Completion(text=token, logprobs=tokens, seconds=0.25)

    def score(self, request: ScoreRequest) -> Scored:
        self.asked.append(request)
        places = (
            Position(offset=at, token=request.text[at], logprob=0.0, top=self.expects(request.text[:at]))
            for at in request.offsets
        )
        return Scored(positions=tuple(places), seconds=4.0)

    def model(self, **capabilities: bool) -> ScriptModel:
        can = Capabilities(**{"logprobs": True, "plain": True, **capabilities})
        return ScriptModel(self.complete, name="toy", scorer=self.score, capabilities=can)


@dataclass
class Played:
    turns: list[Turn]
    live: ActiveEpisode
    state: Any
    ending: Ending | None

    @property
    def payloads(self) -> list[dict[str, Any]]:
        return [turn.payload for turn in self.turns]


def seat_of(who: Any) -> Seat:
    if isinstance(who, ScriptModel):
        return seat_for(SEAT, "test/model", lambda name: who)
    if isinstance(who, str):
        return PersonSeat() if who == "person" else seat_for(SEAT, who, lambda name: Toy().model())
    if isinstance(who, Iterable) or callable(who):
        return ScriptSeat(who)
    return who


@pytest.fixture
def live() -> Callable[..., ActiveEpisode]:
    def make(
        item: Item, who: Any, turns: list[Turn], seed: int = 3, repeat: int = 0, **options: Any
    ) -> ActiveEpisode:
        async def record(turn: Turn) -> None:
            turns.append(turn)

        seat = seat_of(who)
        episode = Episode(
            id="e",
            run_id="r",
            item_hash="h",
            language="en",
            seats={SEAT: seat.name},
            seed=seed,
            repeat=repeat,
            options=options,
        )
        return ActiveEpisode(episode=episode, item=item, seats={SEAT: seat}, record=record)

    return make


@pytest.fixture
def run(live: Callable[..., ActiveEpisode]) -> Callable[..., Any]:
    """Continue an episode from `turns` to its end, or until a person is to move."""

    async def play(item: Item, who: Any, turns: Sequence[Turn] = (), **more: Any) -> Played:
        played = list(turns)
        here = live(item, who, played, **more)
        state = await MACHINE.advance(here, MACHINE.rebuild(played))
        return Played(played, here, state, MACHINE.ending(here, state))

    return play


@pytest.fixture
def people(live: Callable[..., ActiveEpisode]) -> Callable[..., Any]:
    """Submit a person's replies step by step, each time rebuilding the episode from its turns."""

    async def play(item: Item, answers: Iterable[str | Reply], **more: Any) -> Played:
        played: list[Turn] = []
        here = live(item, "person", played, **more)
        state = PEOPLE.rebuild(played)
        for number, answer in enumerate(answers):
            reply = answer if isinstance(answer, Reply) else Reply(text=answer, key=str(number))
            played.append(PEOPLE.accept(here, PEOPLE.rebuild(played), SEAT, reply))
            state = await PEOPLE.advance(here, PEOPLE.rebuild(played))
        return Played(played, here, state, PEOPLE.ending(here, state))

    return play


@pytest.fixture
def toy() -> Toy:
    return Toy()


@pytest.fixture(params=["arrow", "qa"])
def prompt(request: pytest.FixtureRequest) -> Prompt:
    return draw_multiple(11, "pronoun", request.param)


@pytest.fixture
def single() -> Prompt:
    return draw_instruction(5, "negation", "arrow", "informative")


@pytest.fixture
def aws() -> Item:
    return generate_aws(0)[7]


@pytest.fixture
def question() -> Prompt:
    return generate_verbalise(0, per_cell=1)[3]
