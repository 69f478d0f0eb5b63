"""Instructions, meanings and the human's actions in words (spec 7.4, 9.1, 9.3; tables/wording.*.yaml)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from random import Random
from typing import Any

from simulator.errors import InputError
from simulator.handmethat.actions import Action, domain
from simulator.handmethat.hierarchy import LANGUAGES, read_table, state_word, word
from simulator.handmethat.meanings.model import STATE_KEYS, Meaning, Utterance
from simulator.handmethat.world import HUMAN, World
from simulator.seeds import derive_seed


@cache
def wording(language: str) -> Mapping[str, Any]:
    """Read tables/wording.<language>.yaml.

    Raises:
        InputError: if the language is unknown.
    """
    if language not in LANGUAGES:
        raise InputError(f"There is no wording in the language {language!r}; use {' or '.join(LANGUAGES)}.")
    return read_table(f"wording.{language}")


def display_name(world: World, entity: int, language: str) -> str:
    """Return a thing's name in texts: ``large red box (box#1)``, ``红色大号箱子（box#1）``.

    Size and colour come first. The identifier follows if there are several of the type.
    """
    name = _with_attributes(world, entity, language, identifiers=language == "en")
    if entity == HUMAN or world.only_of_type(entity):
        return name
    return str(wording(language)["identifier"].format(name=name, identifier=world.names[entity]))


def text_name(world: World, entity: int, language: str) -> str:
    """Return a thing's name in stories, with the identifier for commands: ``box#1``, ``箱子（box#1）``."""
    identifier = world.name(entity)
    if language == "en":
        return identifier
    kind = identifier if entity == HUMAN else world.kinds[entity].name
    return str(wording(language)["identifier"].format(name=word(kind, language), identifier=identifier))


def label(world: World, entity: int, language: str) -> str:
    """Return a thing's name for people, numbered if needed: ``large red box #1``, ``红色大号箱子#1``."""
    name = _with_attributes(world, entity, language, identifiers=False)
    if entity == HUMAN or world.only_of_type(entity):
        return name
    _, sign, number = world.names[entity].partition("#")
    return str(wording(language)["label"].format(name=name, number=sign + number))


def _with_attributes(world: World, entity: int, language: str, *, identifiers: bool) -> str:
    if entity == HUMAN:
        return word("h", language)
    kind, color, size = world.kinds[entity].name, world.colors[entity], world.sizes[entity]
    noun = kind if identifiers else word(kind, language)
    if language == "zh":
        return "".join([word(adjective, language) for adjective in (color, size) if adjective] + [noun])
    return " ".join([adjective for adjective in (size, color) if adjective] + [noun])


_AGENT = "human-"


def render_action(world: World, action: Action, language: str, *, labels: bool = False) -> str:
    """Return a sentence for one action of the human.

    `labels`: use words for people instead of the identifiers that commands use.
    """
    table, name = wording(language), action.name.removeprefix(_AGENT)
    names = {}
    for parameter, entity in zip(domain("human")[action.name].params, action.args, strict=True):
        noun = (label if labels else text_name)(world, entity, language)
        names[parameter] = noun
        if entity != HUMAN and (relation := world.kinds[entity].relation):
            names[f"{parameter}_at"] = table["place"][relation].format(container=noun)
    patterns = _label_patterns(language) if labels else table["actions"]
    sentence = table["label_story"] if labels and "label_story" in table else table["story"]
    return str(sentence.format(does=patterns[name].format(**names)))


def render_story(
    world: World, actions: Iterable[Action], language: str, *, labels: bool = False
) -> tuple[str, ...]:
    """Return a sentence for each action of the human, or one that says there was no action."""
    sentences = tuple(render_action(world, action, language, labels=labels) for action in actions)
    return sentences or (str(wording(language)["no_story"]),)


def render_description(world: World, actions: Iterable[Action], said: str, language: str) -> str:
    """Return the task as the robot reads it: the human's actions, then the quoted instruction `said`."""
    quoted = str(wording(language)["said"].format(utterance=said))
    separator = " " if language == "en" else ""
    return separator.join([*render_story(world, actions, language), quoted])


@cache
def _label_patterns(language: str) -> dict[str, str]:
    table = wording(language)
    return {**table["actions"], **table.get("label_actions", {})}


_Namer = Callable[[int], str]


def render_utterance(world: World, utterance: Utterance, language: str, seed: int) -> str:
    """Return the instruction in words.

    `seed`: determines opener and synonym, so that an episode keeps its wording (B14).
    """
    table, random = wording(language), Random(derive_seed(seed, "wording"))
    # Both are always drawn, so that all quests of a seed share their opener.
    opener, synonym = (random.random() for _ in range(2))
    name = partial(display_name, world, language=language)
    if utterance.description:
        noun = (_english_np if language == "en" else _chinese_np)(world, utterance, name)
    else:
        noun = table["nothing_said"][utterance.quest]
    if utterance.quest == "change_state":
        body = _change(utterance.argument or "", noun, language)
    else:
        anywhere = utterance.quest == "move_to" and utterance.argument is None
        body = _pick(table["bodies"]["anywhere" if anywhere else utterance.quest], synonym).format(
            np=noun, place=_destination(world, utterance, name, language)
        )
    sentence = _pick(table["openers"], opener).format(body=body)
    return sentence if language == "zh" else sentence[0].upper() + sentence[1:].lower()


def render_meaning(world: World, meaning: Meaning, language: str) -> str:
    """Return a meaning as a sentence, with a full stop: "Bring any dusty book in the cabinet"."""
    name = partial(label, world, language=language)
    noun = (_any_english if language == "en" else _any_chinese)(world, meaning, name)
    key = meaning.argument if meaning.quest == "change_state" else meaning.quest
    if meaning.quest == "move_to" and meaning.argument is None:
        key = "anywhere"
    place = _destination(world, meaning, name, language)
    return str(wording(language)["meanings"][key].format(np=noun, place=place))


def _english_np(world: World, meaning: Meaning, name: _Namer) -> str:
    table = wording("en")
    adjectives = table["between_adjectives"].join(_adjectives(meaning))
    return str(
        table["np"].format(
            adjectives=adjectives + table["after_adjectives"] if adjectives else "",
            head=_kind(meaning) or table["no_kind"],
            place=_place(world, meaning, name, "en"),
        )
    )


def _any_english(world: World, meaning: Meaning, name: _Namer) -> str:
    table, kind = wording("en"), _kind(meaning)
    adjectives = table["between_adjectives"].join(_labels(meaning, "en"))
    place = _place(world, meaning, name, "en")
    if not (adjectives or kind):
        return str(table["anything"].format(place=place))
    return str(
        table["any"].format(
            adjectives=adjectives + table["after_adjectives"] if adjectives else "",
            head=word(kind, "en") if kind else table["any_kind"],
            place=place,
        )
    )


def _chinese_np(world: World, meaning: Meaning, name: _Namer) -> str:
    table, kind = wording("zh"), _kind(meaning)
    place = _place(world, meaning, name, "zh")
    adjectives = _chinese_adjectives(meaning, bool(kind))
    # 的 is used once: 桌子上敞开的箱子, but 桌子上的红色箱子.
    link = table["of"] if place and table["of"] not in adjectives else ""
    return f"{place}{link}{adjectives}{word(kind, 'zh') if kind else table['no_kind']}"


def _any_chinese(world: World, meaning: Meaning, name: _Namer) -> str:
    table, kind = wording("zh"), _kind(meaning)
    adjectives = _chinese_adjectives(meaning, bool(kind))
    head = word(kind, "zh") if kind else table["any_kind"]
    return f"{_place(world, meaning, name, 'zh')}{table['any']}{adjectives}{head}"


def _chinese_adjectives(meaning: Meaning, has_noun: bool) -> str:
    """Return the adjectives of a noun; colour and size need no 的: 敞开、有灰尘的红色大号箱子."""
    table = wording("zh")
    words = _labels(meaning, "zh")
    bare = sum(meaning.get(key) is not None for key in ("color", "size")) if has_noun else 0
    linked, unlinked = words[: len(words) - bare], words[len(words) - bare :]
    adjectives = table["between_adjectives"].join(linked)
    return (adjectives + table["of"] if adjectives else "") + "".join(unlinked)


def _adjectives(meaning: Meaning) -> list[str]:
    """Return published words for the states, then colour and size."""
    states = wording("en")["states"]
    return [
        states[key][not value] if isinstance(value, bool) else value
        for key in STATE_KEYS
        if (value := meaning.get(key)) is not None
    ]


def _labels(meaning: Meaning, language: str) -> list[str]:
    """Return words for people for the states, then colour and size."""
    return [
        state_word(key, value, language) if isinstance(value, bool) else word(value, language)
        for key in STATE_KEYS
        if (value := meaning.get(key)) is not None
    ]


def _kind(meaning: Meaning) -> str:
    return meaning.kind[1] if meaning.kind else ""


def _place(world: World, meaning: Meaning, name: _Namer, language: str) -> str:
    if meaning.place is None:
        return ""
    relation, container = meaning.place
    return str(wording(language)["place"][relation].format(container=name(world.entity(container))))


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


def _pick(options: Sequence[str], sample: float) -> str:
    """Return the option at a random number from 0 to 1; random.choice may differ between Python versions."""
    return options[int(sample * len(options))]
