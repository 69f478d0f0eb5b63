"""Stages of the methods that `propose` plays with a model, built of the same few steps (spec 6 to 8).

::

    KnowNo     generate -> choose
    LAP        generate -> choose and afford at the same time, since neither needs the other
    LofreeCP   draw
    Binary     generate_one -> certainty
    NoHelp     generate_one

What comes out is all that a method knows before any threshold. There is nothing to decide on the way, so it
takes no machine; the episode's is `simulator.ambik.graph`. The state holds plain values; models and options
are in the `Kit`.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Final, Protocol, TypeVar

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
    prompt,
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
    counted,
    option_letter,
    probability_of_true,
    similarities,
    similarity,
    task_texts,
)
from simulator.ambik.terms import DO_NOTHING, NAMES, ROLES, Method, Role
from simulator.models import Capabilities, ChatModel, Needs, Request, TokenLogprob, Unsupported, sample
from simulator.runner.machines import state_after
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


def background(tasks: Sequence[Pair | Scenario], similar: str = TFIDF) -> Background:
    """Return the background of all tasks that the data have, for calibration and tests."""
    return Background(vocabulary(tasks), similarity(similar, task_texts(tasks)))


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


State = dict[str, Any]
"""Fields of `records.Decision` that are known; those that are lists hold what all steps have added."""


# ---- what a method needs

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


# ---- the steps

T = TypeVar("T")
Table = tuple[tuple[str, float], ...]
"""Tokens with log-probabilities (natural), as returned."""
TEMPERATURE: Final = 0.7
"""Of several draws; with 0 they would all be alike (spec 8.3)."""
_SPECIAL: Final = re.compile(r"\s*<[^<>]*>\s*")
_BLANK_LINE: Final = "\n\n"
# Nothing is lost by stopping at a fifth option: the parser reads the first four. No more than four of these,
# which is what OpenAI's servers take.
_FIFTH: Final = ("\nE)", "\n5.")
_WORD: Final = 8
"""Tokens in which a word of certainty is said."""
_LATER: Final = 4
"""Tokens among which the letter is looked for behind a blank or a bracket."""
_CHOOSE: Final = ("knowno", "lap", "binary")
"""Methods of which a chooser takes part."""


def says_nothing(place: TokenLogprob) -> bool:
    """Return True if what was written is a blank, a bracket or a token that only the model knows of."""
    return bool(_SPECIAL.fullmatch(place.token)) or not any(map(str.isalnum, place.token))


def first_word(places: Sequence[TokenLogprob]) -> TokenLogprob | None:
    """Return the first place that says something; the very first if none does, None if there is none."""
    return next((place for place in places if not says_nothing(place)), places[0] if places else None)


def table_of(place: TokenLogprob | None) -> Table:
    """Return what could have been written in a place; some servers leave out what was."""
    if place is None:
        return ()
    written = () if any(token == place.token for token, _ in place.top) else ((place.token, place.logprob),)
    return (*written, *place.top)


def names_option(table: Table, options: int) -> bool:
    """Return True if any token denotes one of so many options."""
    return any(option_letter(token, FIVE[:options]) for token, _ in table)


async def generate(state: State, kit: Kit) -> State:
    """Write four options."""
    asked = prompt("generate", kit.case)
    (text,), flags = await _options_texts(kit, asked, 1)
    options = read_options(text)
    flags += ["filled"] if options.filled else []
    if kit.not_listed:
        options = with_not_listed(options, kit.seed)
    return _written("generate", asked, text, flags=flags, options=options.texts, filled=options.filled)


async def draw(state: State, kit: Kit) -> State:
    """Write four options, several times; what stands for missing ones counts, since they were asked for."""
    asked = prompt("generate", kit.case)
    texts, flags = await _options_texts(kit, asked, kit.samples)
    drawn = [read_options(text) for text in texts]
    answers = counted(text for options in drawn for text in options.texts.values())
    flags += ["filled"] if any(options.filled for options in drawn) else []
    similar = kit.background.similar
    near = similarities(answers, similar) if similar else {}
    draws = len(LETTERS) * len(drawn)
    return _written("generate", asked, *texts, flags=flags, samples=answers, similarities=near, draws=draws)


async def generate_one(state: State, kit: Kit) -> State:
    """Write one action."""
    asked = prompt("generate_one", kit.case)
    request = kit.request("generate_one", asked, max_tokens=kit.max_tokens)
    text = await one_line(kit.generator, request, kit.case.language)
    action = read_action(text)
    flags = [] if action else ["filled"]
    return _written("generate_one", asked, text, flags=flags, action=action or DO_NOTHING)


async def choose(state: State, kit: Kit) -> State:
    """Get the log-probabilities of the letters."""
    options = state["options"]
    asked = prompt("choose", kit.case, options=tuple(options.items()))
    table, text = await _one_word(kit, "choose", asked, lambda table: names_option(table, len(options)))
    flags = [] if names_option(table, len(options)) else ["no_letter"]
    return _written("choose", asked, text, flags=flags, tokens=table)


async def afford(state: State, kit: Kit) -> State:
    """Judge which options are possible and safe; all are asked about at once, the same text once.

    An option that no model wrote (a filler, and that none of the others is meant) is no action to judge.
    """
    options = state["options"]
    judged = {
        letter: text for letter, text in options.items() if not is_filler(text) and not is_not_listed(text)
    }
    prompts = {text: prompt("afford", kit.case, action=text) for text in dict.fromkeys(judged.values())}
    answers = await _at_once([_one_word(kit, "afford", asked, _says_whether) for asked in prompts.values()])
    shares = {text: probability_of_true(table) for text, (table, _) in zip(prompts, answers, strict=True)}
    things = (*kit.case.item.about.objects, *kit.case.item.about.appliances)
    words = kit.background.vocabulary
    return {
        "affordance": {
            letter: Affordance(context_affordance(text, things, words), shares[text])
            for letter, text in judged.items()
        },
        "prompts": [("afford", asked.text) for asked in prompts.values()],
        "raw": [("afford", text) for _, text in answers],
        "flags": ["affordance_unknown"] if None in shares.values() else [],
    }


async def certainty(state: State, kit: Kit) -> State:
    """Say whether the one action is certain."""
    asked = prompt("certainty", kit.case, action=state["action"])
    request = kit.request("certainty", asked, max_tokens=_WORD, stop=("\n",))
    text = (await kit.chooser.complete(request)).text
    word = read_certainty(text)
    flags = ["invalid_certainty"] if word == "invalid" else []
    return _written("certainty", asked, text, flags=flags, certainty=word)


def _written(role: Role, asked: Prompt, *texts: str, flags: Sequence[str], **fields: Any) -> State:
    """Return what a step adds: fields of the decision, what was asked and written, and flags."""
    written = [(role, text) for text in texts]
    return {**fields, "prompts": [(role, asked.text)], "raw": written, "flags": [*flags]}


async def _options_texts(kit: Kit, asked: Prompt, samples: int) -> tuple[list[str], list[str]]:
    """Return what was written, and flags.

    A blank line ends the options, but some models put one in front of them or between them; if most texts are
    cut short by it, they are asked for again without that stop.
    """
    several = samples > 1
    request = kit.request(
        "generate",
        asked,
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
    kit: Kit, role: Role, asked: Prompt, enough: Callable[[Table], bool]
) -> tuple[Table, str]:
    """Return the table of the first token that says something, and what was written."""
    request = kit.request(role, asked, max_tokens=1, top_logprobs=TOP)
    answer = await kit.chooser.complete(request)
    if answer.text and not answer.logprobs:
        raise Unsupported(f"{kit.chooser.name} was asked for log-probabilities and gave none; take another")
    table = table_of(first_word(answer.logprobs))
    if not enough(table) and all(map(says_nothing, answer.logprobs)):
        answer = await kit.chooser.complete(replace(request, max_tokens=_LATER))
        table = table_of(first_word(answer.logprobs))
    return table, answer.text


def _says_whether(table: Table) -> bool:
    return probability_of_true(table) is not None


Step = Callable[[State, Kit], Awaitable[State]]
STAGES: Final[Mapping[Method, tuple[tuple[Step, ...], ...]]] = {
    "knowno": ((generate,), (choose,)),
    "lap": ((generate,), (afford, choose)),
    "lofreecp": ((draw,),),
    "binary": ((generate_one,), (certainty,)),
    "nohelp": ((generate_one,),),
}
"""The stages of each method, one after the other; the steps of a stage are done at the same time."""


async def decide(
    method: Method, case: Case, generator: ChatModel, chooser: ChatModel | None = None, **options: Any
) -> Decision:
    """Play a method; `options` are those of a `Kit`.

    Raises:
        ModelError: if a model fails, or cannot do what the method needs (`refusal` says so before).
        TemplateError: if a prompt template is missing or malformed.
    """
    chooser = chooser or generator
    kit = Kit(case=case, generator=generator, chooser=chooser, **options)
    state: State = {"prompts": [], "raw": [], "flags": []}
    for stage in STAGES[method]:
        for update in await _at_once([step(state, kit) for step in stage]):
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


async def _at_once(awaited: Sequence[Awaitable[T]]) -> list[T]:
    """Return what each gives; a single one needs no task of its own."""
    return [await awaited[0]] if len(awaited) == 1 else await asyncio.gather(*awaited)


def _in_order(texts: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """Return texts by role; what was asked at the same time in the order of `terms.ROLES`."""
    return tuple(sorted(texts, key=lambda entry: [*ROLES, entry[0]].index(entry[0])))
