"""What a method works with and on: models, options and background beside the state, plain values in it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, Protocol, TypedDict

from simulator.ambik.data import BUILTIN, load_pairs, load_scenarios
from simulator.ambik.items import Dataset, Pair, Scenario
from simulator.ambik.naming import vocabulary
from simulator.ambik.prompts import Case, Prompt, request_for
from simulator.ambik.sets.scoring_rules import TFIDF, Similarity, similarity, task_texts
from simulator.ambik.terms import NAMES, Certainty, Method, Role
from simulator.models import Capabilities, ChatModel, Needs, Request
from simulator.seats import View

SEED: Final = 0
"""Of requests at temperature 0: the same for all methods, so that what they share is asked for once."""


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
    """Return the background of all tasks that the data have, for calibration and tests."""
    known = tuple(tasks)
    return Background(vocabulary(known), similarity(similar, task_texts(known)))


@lru_cache(maxsize=8)
def background_of(data: str = BUILTIN, dataset: Dataset = "ambik", similar: str = TFIDF) -> Background:
    """Return the `background` of data by name."""
    return background(load_pairs(data) if dataset == "ambik" else load_scenarios(data), similar)


@dataclass(frozen=True, slots=True, kw_only=True)
class Kit:
    """The item, the models and the settings that a method is played with.

    Attributes:
        chooser: chooses, judges affordance and says how certain it is.
        samples: how often LofreeCP lets four options be written (R).
        max_tokens: what a model may write at most.
        not_listed: a fifth option says that none of the others is meant (spec 8.1).
        seed: of samples and of the order of five options.
        background: what is known of the data as a whole.
        repeat: which repetition it is; with the episode and the number of the turn, it is for the log.
    """

    case: Case
    generator: ChatModel
    chooser: ChatModel
    samples: int = 5
    max_tokens: int = 256
    not_listed: bool = False
    seed: int = 0
    background: Background = NOTHING
    repeat: int = 0
    episode_id: str | None = None
    number: int | None = None

    def request(self, role: Role, asked: Prompt, **settings: Any) -> Request:
        """Return a prompt as a request of the model of that role; at temperature 0 if not said otherwise."""
        model = self.generator if role in ("generate", "generate_one") else self.chooser
        return request_in(self, model, asked, f"robot.{role}", **settings)


def request_in(place: View | Kit, model: ChatModel, asked: Prompt, purpose: str, **settings: Any) -> Request:
    """Return a prompt as a request of a seat's model; at temperature 0 if not said otherwise."""
    return request_for(
        model,
        asked,
        **{"temperature": 0.0, "seed": SEED, **settings},
        repeat=place.repeat,
        purpose=purpose,
        episode_id=place.episode_id,
        turn_number=place.number,
    )


class State(TypedDict, total=False):
    """Plain values; `records.Decision` says what they are. Texts are ``[role, text]``, those of all steps."""

    options: dict[str, str]
    filled: tuple[str, ...]
    tokens: tuple[tuple[str, float], ...]
    affordance: dict[str, list[float | None]]
    samples: dict[str, int]
    similarities: dict[str, float]
    draws: int
    action: str
    certainty: Certainty
    prompts: list[list[str]]
    raw: list[list[str]]
    flags: list[str]


Update = dict[str, Any]


_LETTERS: Final = ("knowno", "lap")
TOP: Final = 5
"""Most likely tokens that are asked for in the place of a letter."""
_WITHOUT: Final = "lofreecp, binary or nohelp"


class KnownModel(Protocol):
    """A model, or what is known of one that is not loaded yet."""

    @property
    def name(self) -> str:
        """``provider/model``."""

    @property
    def capabilities(self) -> Capabilities:
        """Return what it can do."""


def refusal(
    method: Method, generator: KnownModel, chooser: KnownModel | None = None, *, samples: int = 5
) -> str:
    """Return why models cannot play a method, in a sentence with the way out; empty if they can."""
    chooses = chooser or generator
    if method in _LETTERS and not chooses.capabilities.logprobs:
        alone = chooser is None or chooser.name == generator.name
        way = "name a chooser that does (--chooser local/smollm2, transformers/… or openai/…)"
        return (
            f"{NAMES[method]} reads the probabilities of letters, and {chooses.name} gives none; "
            f"{way if alone else 'take another chooser'}, or play {_WITHOUT}"
        )
    if method == "lofreecp" and samples > 1 and "temperature" in getattr(generator, "ignored", ()):
        return (
            f"LofreeCP draws {samples} answers at a temperature, and {generator.name} takes none, so nothing "
            "says how far they differ; take a model that does, or play binary or nohelp"
        )
    return ""


def needs_of(method: Method, generator: str, chooser: str = "", *, samples: int = 5) -> Mapping[str, Needs]:
    """Return what a method asks of its models beside text, so that servers are asked before it is played."""
    if method in _LETTERS:
        return {generator: Needs()} | {chooser or generator: Needs(top_logprobs=TOP)}
    if method == "lofreecp":
        return {generator: Needs(samples=samples > 1)}
    return {generator: Needs()} | ({chooser: Needs()} if chooser and method == "binary" else {})
