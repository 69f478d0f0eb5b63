"""The methods that a model plays in `propose`, as stages of a few shared steps (spec 6 to 8).

::

    KnowNo     generate -> choose
    LAP        generate -> choose and afford, concurrently
    LofreeCP   draw
    Binary     generate_one -> certainty
    NoHelp     generate_one

The result is everything that a method logs before any threshold. There are no branches, so no state machine
is needed; that of the episode is `simulator.ambik.graph`. The state has plain values; models and options are
in the `Kit`.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, TypeVar

from simulator.ambik.data import BUILTIN, load_pairs, load_scenarios
from simulator.ambik.items import Dataset, Pair, Scenario
from simulator.ambik.naming import context_affordance, is_filler, is_not_listed, vocabulary
from simulator.ambik.prompts import (
    FIVE,
    LETTERS,
    TURNS,
    Case,
    Prompt,
    one_line,
    prompt_for,
    read_action,
    read_certainty,
    read_options,
    request_for,
    with_not_listed,
)
from simulator.ambik.records import Affordance, Decision
from simulator.ambik.scoring_rules import (
    TFIDF,
    Similarity,
    count_answers,
    option_letter,
    probability_of_true,
    similarities,
    similarity,
    task_texts,
)
from simulator.ambik.terms import DO_NOTHING, NAMES, ROLES, Method, Role
from simulator.models import ChatModel, Needs, Request, TokenLogprob, Unsupported, sample
from simulator.runner.machines import state_after
from simulator.seats import View

if TYPE_CHECKING:
    from simulator.orders import ModelAbilities

SEED: Final = 0
"""The seed of requests at temperature 0: shared by all methods, so that common requests are cached."""


@dataclass(frozen=True, slots=True)
class Background:
    """Facts that a method may know about the entire data set.

    `vocabulary`: names of all objects and appliances, any of which an option may mention (spec 8.2);
    `similar`: similarity of two answers (spec 8.3); None to leave it out.
    """

    vocabulary: tuple[str, ...] = ()
    similar: Similarity | None = None


NOTHING: Final = Background()


def background(tasks: Sequence[Pair | Scenario], similar: str = TFIDF) -> Background:
    """Return the background from all tasks of the data, for calibration and tests."""
    return Background(vocabulary(tasks), similarity(similar, task_texts(tasks)))


@lru_cache(maxsize=8)
def background_of(data: str = BUILTIN, dataset: Dataset = "ambik", similar: str = TFIDF) -> Background:
    """Return the `background` of a data set by name."""
    return background(load_pairs(data) if dataset == "ambik" else load_scenarios(data), similar)


@dataclass(frozen=True, slots=True, kw_only=True)
class Kit:
    """The item, the models and the settings that a method is played with.

    Attributes:
        chooser: the model that chooses, judges affordance and states its certainty.
        samples: number of times that LofreeCP samples four options (R).
        not_listed: True to add a fifth option, "none of the others" (spec 8.1).
        seed: seed of samples and of the order of five options.
        repeat: number of the repetition; logged, as are the episode and the number of the turn.
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

    def request(self, role: Role, prompt: Prompt, **settings: Any) -> Request:
        """Return a request with the prompt to the role's model; at temperature 0 unless `settings` say so."""
        model = self.generator if role in ("generate", "generate_one") else self.chooser
        return request_in(self, model, prompt, f"robot.{role}", **settings)


def request_in(place: View | Kit, model: ChatModel, prompt: Prompt, purpose: str, **settings: Any) -> Request:
    """Return a request with the prompt to a seat's model; at temperature 0 unless `settings` say so."""
    return request_for(
        model,
        prompt,
        **{"temperature": 0.0, "seed": SEED, **settings},
        repeat=place.repeat,
        purpose=purpose,
        episode_id=place.episode_id,
        turn_number=place.number,
    )


State = dict[str, Any]
"""The fields of `records.Decision` so far; steps append to those that are lists."""


# ---- requirements of the methods

_LETTERS: Final = ("knowno", "lap")
TOP: Final = 5
"""The number of most likely tokens requested for the letter's position."""
_WITHOUT: Final = "lofreecp, binary or nohelp"


def refusal(
    method: Method, generator: ModelAbilities, chooser: ModelAbilities | None = None, *, samples: int = 5
) -> str:
    """Return why models cannot play a method, with the way out; empty if they can."""
    chooses = chooser or generator
    if method in _LETTERS and not chooses.capabilities.logprobs:
        alone = chooser is None or chooser.name == generator.name
        way = "name a chooser that does (--chooser local/smollm2, transformers/… or openai/…)"
        return (
            f"{NAMES[method]} reads the probabilities of letters, but {chooses.name} does not return them; "
            f"{way if alone else 'take another chooser'}, or play {_WITHOUT}"
        )
    if method == "lofreecp" and samples > 1 and "temperature" in getattr(generator, "ignored", ()):
        return (
            f"LofreeCP samples {samples} answers at a temperature, but {generator.name} does not accept one, "
            "so the answers would not vary; take a model that does, or play binary or nohelp"
        )
    return ""


def needs_of(method: Method, generator: str, chooser: str = "", *, samples: int = 5) -> Mapping[str, Needs]:
    """Return what a method needs from its models in addition to text, so that servers are checked first."""
    if method in _LETTERS:
        return {generator: Needs()} | {chooser or generator: Needs(top_logprobs=TOP)}
    if method == "lofreecp":
        return {generator: Needs(samples=samples > 1)}
    return {generator: Needs()} | ({chooser: Needs()} if chooser and method == "binary" else {})


# ---- the steps

T = TypeVar("T")
Table = tuple[tuple[str, float], ...]
"""Tokens with log-probabilities (natural), as returned."""
TEMPERATURE: Final = 0.7
"""The temperature of several samples; at 0 they would all be equal (spec 8.3)."""
_SPECIAL: Final = re.compile(r"\s*<[^<>]*>\s*")
_BLANK_LINE: Final = "\n\n"
# Stopping at a fifth option loses nothing, since the parser reads the first four. OpenAI's servers accept at
# most four stop sequences.
_FIFTH: Final = ("\nE)", "\n5.")
_WORD: Final = 8
"""Most tokens of a word of certainty."""
_LATER: Final = 4
"""Number of tokens searched for the letter if the first is a blank or a bracket."""
_CHOOSE: Final = ("knowno", "lap", "binary")
"""Methods that use a chooser."""


def says_nothing(place: TokenLogprob) -> bool:
    """Return True if a token has no content: a blank, a bracket or a special token."""
    return bool(_SPECIAL.fullmatch(place.token)) or not any(map(str.isalnum, place.token))


def first_word(places: Sequence[TokenLogprob]) -> TokenLogprob | None:
    """Return the first token with content, otherwise the first token; None if there are none."""
    return next((place for place in places if not says_nothing(place)), places[0] if places else None)


def table_of(place: TokenLogprob | None) -> Table:
    """Return the candidate tokens of a position; some servers leave out the one that was written."""
    if place is None:
        return ()
    written = () if any(token == place.token for token, _ in place.top) else ((place.token, place.logprob),)
    return (*written, *place.top)


def names_option(table: Table, options: int) -> bool:
    """Return True if any token denotes one of the first `options` letters."""
    return any(option_letter(token, FIVE[:options]) for token, _ in table)


async def generate(state: State, kit: Kit) -> State:
    """Write four options."""
    prompt = prompt_for("generate", kit.case)
    (text,), flags = await _options_texts(kit, prompt, 1)
    options = read_options(text)
    flags += ["filled"] if options.filled else []
    if kit.not_listed:
        options = with_not_listed(options, kit.seed)
    return _update("generate", prompt, text, flags=flags, options=options.texts, filled=options.filled)


async def draw(state: State, kit: Kit) -> State:
    """Sample four options several times; fillers for missing options count as samples."""
    prompt = prompt_for("generate", kit.case)
    texts, flags = await _options_texts(kit, prompt, kit.samples)
    drawn = [read_options(text) for text in texts]
    answers = count_answers(text for options in drawn for text in options.texts.values())
    flags += ["filled"] if any(options.filled for options in drawn) else []
    similar = kit.background.similar
    near = similarities(answers, similar) if similar else {}
    draws = len(LETTERS) * len(drawn)
    return _update("generate", prompt, *texts, flags=flags, samples=answers, similarities=near, draws=draws)


async def generate_one(state: State, kit: Kit) -> State:
    """Write one action."""
    prompt = prompt_for("generate_one", kit.case)
    request = kit.request("generate_one", prompt, max_tokens=kit.max_tokens)
    text = await one_line(kit.generator, request, kit.case.language)
    action = read_action(text)
    flags = [] if action else ["filled"]
    return _update("generate_one", prompt, text, flags=flags, action=action or DO_NOTHING)


async def choose(state: State, kit: Kit) -> State:
    """Get the log-probabilities of the letters."""
    options = state["options"]
    prompt = prompt_for("choose", kit.case, options=tuple(options.items()))
    table, text = await _one_word(kit, "choose", prompt, lambda table: names_option(table, len(options)))
    flags = [] if names_option(table, len(options)) else ["no_letter"]
    return _update("choose", prompt, text, flags=flags, tokens=table)


async def afford(state: State, kit: Kit) -> State:
    """Judge which options are possible and safe: concurrently, and equal texts only once.

    Options that no model wrote (fillers and "none of the others") are not judged.
    """
    options = state["options"]
    judged = {
        letter: text for letter, text in options.items() if not is_filler(text) and not is_not_listed(text)
    }
    prompts = {text: prompt_for("afford", kit.case, action=text) for text in dict.fromkeys(judged.values())}
    answers = await _gather([_one_word(kit, "afford", prompt, _has_verdict) for prompt in prompts.values()])
    shares = {text: probability_of_true(table) for text, (table, _) in zip(prompts, answers, strict=True)}
    things = (*kit.case.item.about.objects, *kit.case.item.about.appliances)
    words = kit.background.vocabulary
    return {
        "affordance": {
            letter: Affordance(context_affordance(text, things, words), shares[text])
            for letter, text in judged.items()
        },
        "prompts": [("afford", prompt.text) for prompt in prompts.values()],
        "raw": [("afford", text) for _, text in answers],
        "flags": ["affordance_unknown"] if None in shares.values() else [],
    }


async def certainty(state: State, kit: Kit) -> State:
    """Say whether the one action is certain."""
    prompt = prompt_for("certainty", kit.case, action=state["action"])
    request = kit.request("certainty", prompt, max_tokens=_WORD, stop=("\n",))
    text = (await kit.chooser.complete(request)).text
    word = read_certainty(text)
    flags = ["invalid_certainty"] if word == "invalid" else []
    return _update("certainty", prompt, text, flags=flags, certainty=word)


def _update(role: Role, prompt: Prompt, *texts: str, flags: Sequence[str], **fields: Any) -> State:
    """Return the state update of a step: decision fields, prompt, raw answers and flags."""
    written = [(role, text) for text in texts]
    return {**fields, "prompts": [(role, prompt.text)], "raw": written, "flags": [*flags]}


async def _options_texts(kit: Kit, prompt: Prompt, samples: int) -> tuple[list[str], list[str]]:
    """Return the sampled texts, and flags.

    A blank line ends the options, but some models write one before or between them; if that cuts most texts
    short, they are requested again without that stop.
    """
    several = samples > 1
    request = kit.request(
        "generate",
        prompt,
        temperature=TEMPERATURE if several else 0.0,
        **({"seed": kit.seed} if several else {}),
        max_tokens=kit.max_tokens,
        stop=(_BLANK_LINE, *_FIFTH, TURNS[kit.case.language]),
        samples=samples,
    )
    texts = list((await sample(kit.generator, request)).samples)
    short = sum(len(read_options(text).filled) >= len(LETTERS) - 1 for text in texts)
    if short * 2 <= len(texts):
        return texts, []
    again = await sample(kit.generator, replace(request, stop=request.stop[1:]))
    return list(again.samples), ["asked_again"]


async def _one_word(
    kit: Kit, role: Role, prompt: Prompt, enough: Callable[[Table], bool]
) -> tuple[Table, str]:
    """Return the candidates of the first token with content, and the text."""
    request = kit.request(role, prompt, max_tokens=1, top_logprobs=TOP)
    answer = await kit.chooser.complete(request)
    if answer.text and not answer.logprobs:
        raise Unsupported(f"{kit.chooser.name} returned no log-probabilities; take another model")
    table = table_of(first_word(answer.logprobs))
    if not enough(table) and all(map(says_nothing, answer.logprobs)):
        answer = await kit.chooser.complete(replace(request, max_tokens=_LATER))
        table = table_of(first_word(answer.logprobs))
    return table, answer.text


def _has_verdict(table: Table) -> bool:
    return probability_of_true(table) is not None


Step = Callable[[State, Kit], Awaitable[State]]
STAGES: Final[Mapping[Method, tuple[tuple[Step, ...], ...]]] = {
    "knowno": ((generate,), (choose,)),
    "lap": ((generate,), (afford, choose)),
    "lofreecp": ((draw,),),
    "binary": ((generate_one,), (certainty,)),
    "nohelp": ((generate_one,),),
}
"""The stages of each method in order; the steps of a stage run concurrently."""


async def decide(
    method: Method, case: Case, generator: ChatModel, chooser: ChatModel | None = None, **options: Any
) -> Decision:
    """Play a method; `options` are further fields of `Kit`.

    Raises:
        ModelError: if a model fails, or cannot do what the method needs (check with `refusal` first).
        TemplateError: if a prompt template is missing or malformed.
    """
    chooser = chooser or generator
    kit = Kit(case=case, generator=generator, chooser=chooser, **options)
    state: State = {"prompts": [], "raw": [], "flags": []}
    for stage in STAGES[method]:
        for update in await _gather([step(state, kit) for step in stage]):
            state = state_after(state, update)
    state |= {"prompts": _in_order(state["prompts"]), "raw": _in_order(state["raw"])}
    state["flags"] = tuple(dict.fromkeys(state["flags"]))
    return Decision(
        episode_id=kit.episode_id or "",
        run="",
        item=case.item,
        method=method,
        context=case.context,
        dialogue=case.dialogue,
        generator=generator.name,
        chooser=chooser.name if method in _CHOOSE else "",
        **state,
    )


async def _gather(awaited: Sequence[Awaitable[T]]) -> list[T]:
    """Await all concurrently; a single one is awaited without creating a task."""
    return [await awaited[0]] if len(awaited) == 1 else await asyncio.gather(*awaited)


def _in_order(texts: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """Return texts sorted by role, in the order of `terms.ROLES`."""
    return tuple(sorted(texts, key=lambda entry: [*ROLES, entry[0]].index(entry[0])))
