"""Instructions and meanings in words, English and Chinese (spec 7.4; tables/wording.*.yaml)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from random import Random

from simulator.handmethat.meanings.model import KIND_KEYS, PLACE_KEYS, STATE_KEYS, Meaning, Utterance
from simulator.handmethat.meanings.naming import display_name, label, text_name, wording
from simulator.handmethat.meanings.story import render_action, render_description, render_story
from simulator.handmethat.words import state_word, word
from simulator.handmethat.world import State, World
from simulator.seeds import derive_seed

__all__ = [
    "display_name",
    "label",
    "render_action",
    "render_description",
    "render_meaning",
    "render_story",
    "render_utterance",
    "text_name",
]

_Namer = Callable[[int], str]


def render_utterance(
    world: World,
    state: State,
    utterance: Utterance,
    language: str,
    seed: int,
    *,
    inverted_toggle: bool = False,
) -> str:
    """What the human says.

    Args:
        world: the household.
        state: its state; names of things do not depend on it.
        utterance: what is said of what is meant.
        language: ``en`` or ``zh``.
        seed: opener and synonym descend from it, so that an episode keeps its wording (B14).
        inverted_toggle: word switched-on things as off and the reverse, as the published program does (B8).
    """
    table, random = wording(language), Random(derive_seed(seed, "wording"))
    # Both are drawn whatever the quest, so that quests of one seed share their opener.
    opener, synonym = (random.random() for _ in range(2))
    name = partial(display_name, world, language=language)
    if utterance.description:
        noun = (_english_np if language == "en" else _chinese_np)(
            world, utterance, name, inverted_toggle=inverted_toggle
        )
    else:
        noun = table["nothing_said"][utterance.quest]
    if utterance.quest == "change_state":
        body = _change(utterance.argument or "", noun, language)
    else:
        anywhere = utterance.quest == "move_to" and utterance.argument is None
        body = _pick(table["bodies"]["anywhere" if anywhere else utterance.quest], synonym).format(
            np=noun, place=_destination(world, utterance, name, language)
        )
    said = _pick(table["openers"], opener).format(body=body)
    return said if language == "zh" else said[0].upper() + said[1:].lower()


def render_meaning(world: World, state: State, meaning: Meaning, language: str) -> str:
    """What is meant, in full and in plain words, like "Bring any dusty book in the cabinet", and a stop.

    Args:
        world: the household.
        state: its state; names of things do not depend on it.
        meaning: m, or an utterance taken literally.
        language: ``en`` or ``zh``.
    """
    name = partial(label, world, language=language)
    noun = (_any_english if language == "en" else _any_chinese)(world, meaning, name)
    key = meaning.argument if meaning.quest == "change_state" else meaning.quest
    if meaning.quest == "move_to" and meaning.argument is None:
        key = "anywhere"
    place = _destination(world, meaning, name, language)
    return str(wording(language)["meanings"][key].format(np=noun, place=place))


def _english_np(world: World, meaning: Meaning, name: _Namer, *, inverted_toggle: bool) -> str:
    table = wording("en")
    told = table["between_adjectives"].join(_adjectives(meaning, inverted_toggle))
    return str(
        table["np"].format(
            adjectives=told + table["after_adjectives"] if told else "",
            head=_kind(meaning) or table["no_kind"],
            place=_place(world, meaning, name, "en"),
        )
    )


def _any_english(world: World, meaning: Meaning, name: _Namer) -> str:
    table, kind = wording("en"), _kind(meaning)
    told = table["between_adjectives"].join(_labels(meaning, "en"))
    place = _place(world, meaning, name, "en")
    if not (told or kind):
        return str(table["anything"].format(place=place))
    return str(
        table["any"].format(
            adjectives=told + table["after_adjectives"] if told else "",
            head=word(kind, "en") if kind else table["any_kind"],
            place=place,
        )
    )


def _chinese_np(world: World, meaning: Meaning, name: _Namer, *, inverted_toggle: bool) -> str:
    table, kind = wording("zh"), _kind(meaning)
    place = _place(world, meaning, name, "zh")
    told = _chinese_adjectives(meaning, bool(kind), inverted_toggle)
    # Of two attributes one says 的: 桌子上敞开的箱子, but 桌子上的红色箱子.
    link = table["of"] if place and table["of"] not in told else ""
    return f"{place}{link}{told}{word(kind, 'zh') if kind else table['no_kind']}"


def _any_chinese(world: World, meaning: Meaning, name: _Namer) -> str:
    table, kind = wording("zh"), _kind(meaning)
    told = _chinese_adjectives(meaning, bool(kind), False)
    head = word(kind, "zh") if kind else table["any_kind"]
    return f"{_place(world, meaning, name, 'zh')}{table['any']}{told}{head}"


def _chinese_adjectives(meaning: Meaning, has_noun: bool, inverted_toggle: bool) -> str:
    """In front of a noun colour and size need no 的: 敞开、有灰尘的红色大号箱子."""
    table = wording("zh")
    words = _labels(meaning, "zh", inverted_toggle)
    bare = sum(meaning.get(key) is not None for key in ("color", "size")) if has_noun else 0
    linked, unlinked = words[: len(words) - bare], words[len(words) - bare :]
    told = table["between_adjectives"].join(linked)
    return (told + table["of"] if told else "") + "".join(unlinked)


def _adjectives(meaning: Meaning, inverted_toggle: bool) -> list[str]:
    """Words for its states, as identifiers have it, colour and size last."""
    words, states = [], wording("en")["states"]
    for key in STATE_KEYS:
        value = meaning.get(key)
        if isinstance(value, bool):
            words.append(states[key][value is (inverted_toggle and key == "toggled")])
        elif value is not None:
            words.append(value)
    return words


def _labels(meaning: Meaning, language: str, inverted_toggle: bool = False) -> list[str]:
    """Words for its states, for people, colour and size last."""
    words = []
    for key in STATE_KEYS:
        value = meaning.get(key)
        if isinstance(value, bool):
            words.append(state_word(key, value is not (inverted_toggle and key == "toggled"), language))
        elif value is not None:
            words.append(word(value, language))
    return words


def _kind(meaning: Meaning) -> str:
    """Its type, else its subclass, else its class; empty if it has none."""
    values = (meaning.get(key) for key in reversed(KIND_KEYS))
    return str(next((value for value in values if value), ""))


def _place(world: World, meaning: Meaning, name: _Namer, language: str) -> str:
    for key in PLACE_KEYS:
        if (value := meaning.get(key)) is not None:
            return str(wording(language)["place"][key].format(container=name(world.entity(str(value)))))
    return ""


def _destination(world: World, meaning: Meaning, name: _Namer, language: str) -> str:
    if meaning.quest != "move_to" or meaning.argument is None:
        return ""
    where = world.entity(meaning.argument)
    if language == "en":
        return name(where)
    return str(wording("zh")["place"][world.relation(where)].format(container=name(where)))


def _change(verb: str, noun: str, language: str) -> str:
    table = wording(language)
    if language == "zh":
        return str(table["verbs"][verb].format(np=noun))
    verb, particle = table["verbs"][verb]
    if not particle:
        return f"{verb} {noun}"
    last = len(noun) < table["particle_limit"]
    return f"{verb} {noun} {particle}" if last else f"{verb} {particle} {noun}"


def _pick(options: Sequence[str], where: float) -> str:
    """Random.choice may draw differently in another Python; random() may not."""
    return options[int(where * len(options))]
