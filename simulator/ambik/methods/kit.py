"""What a method works with and on: models, options and background beside the state, plain values in it."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, Final, TypedDict

from simulator.ambik.data import BUILTIN, load_pairs, load_scenarios
from simulator.ambik.items import DecideItem
from simulator.ambik.naming import vocabulary
from simulator.ambik.pairs import Pair, Scenario
from simulator.ambik.playing import appliances_of, objects_of
from simulator.ambik.prompts import Case, Dataset, Prompt, request_for
from simulator.ambik.records import Affordance, Letter
from simulator.ambik.sets.similarity import TFIDF, Similarity, similarity, task_texts
from simulator.ambik.terms import ROLES, Certainty, Method, Role
from simulator.models import ChatModel, Request


@dataclass(frozen=True, slots=True)
class Background:
    """The facts that are known of the data as a whole.

    Attributes:
        vocabulary: names of all objects, appliances included: what an option could name (spec 8.2).
        similar: how alike two answers are (spec 8.3); None to leave that out.
    """

    vocabulary: tuple[str, ...] = ()
    similar: Similarity | None = None


NOTHING: Final = Background()


def background(tasks: Iterable[Pair | Scenario], similar: str = TFIDF) -> Background:
    """Return the background of some tasks.

    Args:
        tasks: all that the data have, calibration and test.
        similar: name of a similarity (`sets.similarity.similarity`).

    Raises:
        InputError: if there are no tasks, or the similarity's folder holds no encoder.
        Unsupported: if torch or transformers is missing for an encoder.
    """
    known = tuple(tasks)
    return Background(vocabulary(known), similarity(similar, task_texts(known)))


@lru_cache(maxsize=8)
def background_of(data: str = BUILTIN, dataset: Dataset = "ambik", similar: str = TFIDF) -> Background:
    """Return the background of data by name.

    Raises:
        InputError: see `data.load_pairs` and `background`.
    """
    tasks = load_pairs(data) if dataset == "ambik" else load_scenarios(data)
    return background(tasks, similar)


def things_of(item: DecideItem) -> tuple[str, ...]:
    """Return all that is in an item's scene, appliances included."""
    return (*objects_of(item), *appliances_of(item))


SEED: Final = 0
"""Of requests at temperature 0: the same for all methods, so that what they share is asked for once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodOptions:
    """How a method is played.

    Attributes:
        samples: how often LofreeCP lets four options be written (R).
        max_tokens: what a model may write at most.
        not_listed: a fifth option says that none of the others is meant (spec 8.1).
        seed: of samples and of the order of five options.
        background: what is known of the data as a whole.
        repeat: which repetition it is.
        episode_id: for the log.
        turn_number: for the log.
    """

    samples: int = 5
    max_tokens: int = 256
    not_listed: bool = False
    seed: int = 0
    background: Background = NOTHING
    repeat: int = 0
    episode_id: str | None = None
    turn_number: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Kit:
    """The graph's context.

    Attributes:
        generator: writes options or the action.
        chooser: chooses, judges affordance and says how certain it is.
    """

    case: Case
    generator: ChatModel
    chooser: ChatModel
    options: MethodOptions

    def request(self, role: Role, asked: Prompt, **settings: Any) -> Request:
        """A prompt as a request of the model that has that role; at temperature 0 if not said otherwise."""
        model = self.generator if role in ("generate", "generate_one") else self.chooser
        return request_for(
            model,
            asked,
            **{
                "temperature": 0.0,
                "seed": SEED,
                "repeat": self.options.repeat,
                "purpose": f"robot.{role}",
                "episode_id": self.options.episode_id,
                "turn_number": self.options.turn_number,
                **settings,
            },
        )


class State(TypedDict, total=False):
    """Plain values; `DecisionParts` says what they are. Texts are ``[role, text]``."""

    options: dict[str, str]
    filled: list[str]
    tokens: list[list[Any]]
    affordance: dict[str, list[float | None]]
    samples: dict[str, int]
    similarities: dict[str, float]
    draws: int
    action: str
    certainty: Certainty
    prompts: Annotated[list[list[str]], operator.add]
    raw: Annotated[list[list[str]], operator.add]
    flags: Annotated[list[str], operator.add]


Update = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionParts:
    """What a method found; every field is that of `records.Decision`."""

    method: Method
    options: Mapping[Letter, str]
    filled: tuple[Letter, ...]
    tokens: tuple[tuple[str, float], ...]
    affordance: Mapping[Letter, Affordance]
    samples: Mapping[str, int]
    similarities: Mapping[str, float]
    draws: int
    action: str
    certainty: Certainty | None
    prompts: tuple[tuple[str, str], ...]
    raw: tuple[tuple[str, str], ...]
    flags: tuple[str, ...]

    @classmethod
    def of(cls, method: Method, state: State) -> DecisionParts:
        """Out of the last state; what was asked at the same time is told in the order of `terms.ROLES`."""
        return cls(
            method=method,
            options=state.get("options", {}),
            filled=tuple(state.get("filled", ())),
            tokens=tuple((token, logprob) for token, logprob in state.get("tokens", ())),
            affordance={
                letter: Affordance(float(context or 0), asked)
                for letter, (context, asked) in state.get("affordance", {}).items()
            },
            samples=state.get("samples", {}),
            similarities=state.get("similarities", {}),
            draws=state.get("draws", 0),
            action=state.get("action", ""),
            certainty=state.get("certainty"),
            prompts=_told(state.get("prompts", [])),
            raw=_told(state.get("raw", [])),
            flags=tuple(dict.fromkeys(state.get("flags", ()))),
        )


def _told(texts: list[list[str]]) -> tuple[tuple[str, str], ...]:
    pairs = ((role, text) for role, text in texts)
    return tuple(sorted(pairs, key=lambda pair: [*ROLES, pair[0]].index(pair[0])))
