"""The kitchen robot's words: its question and its reasons, in English and Chinese."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from simulator.ambik.kitchen.knowledge import Kind, Why

_KINDS: Final[dict[Kind, tuple[str, str]]] = {
    "common_sense": ("Common sense", "常识"),
    "safety": ("Safety", "安全"),
}


class Note(NamedTuple):
    """A sentence in both languages."""

    en: str
    zh: str


def asking(spoken: str, names: Sequence[str]) -> Note:
    """Return the question which of several things a word means."""
    *most, last = names
    listed = f"the {', the '.join(most)} or the {last}" if most else f"the {last}"
    chosen = f"{'、'.join(most)} 还是 {last}" if most else last  # blanks: what there is has English names
    return Note(f"Which {spoken} do you mean: {listed}?", f"您指的“{spoken}”是哪一个：{chosen}？")


def asking_how(spoken: tuple[str, str], action: str) -> Note:
    """Return the question after an amount or a duration."""
    step = action.strip(" .")
    return Note(f"“{step}”: {spoken[0]}?", f"“{step}”：{spoken[1]}？")


def lacks(spoken: tuple[str, str]) -> Note:
    """Return why it asks after an amount."""
    return Note(f"Nobody says {spoken[0]}: I ask.", f"没有人说{spoken[1]}：我提问。")


def any_of(actions: Sequence[str]) -> Note:
    """Return the question which of several actions is meant."""
    *most, last = (action.strip(" .") for action in actions)
    return Note(
        f"What do you want me to do: “{'”, “'.join(most)}” or “{last}”?",
        f"您要我做什么：“{'”、“'.join(most)}”还是“{last}”？",
    )


def asks(spoken: str) -> Note:
    """Return why it asks."""
    return Note(
        f"Neither the text nor common sense says which {spoken}: I ask.",
        f"文字和常识都没有说明是哪个“{spoken}”：我提问。",
    )


def fills(name: str, why: Why, spoken: str = "") -> Note:
    """Return what common sense or safety puts in."""
    en, zh = _KINDS[why.kind]
    if spoken:
        return Note(f"{en}: {why.en} “{spoken}” is the {name}.", f"{zh}：{why.zh}“{spoken}”就是{name}。")
    return Note(f"{en}: {why.en} So: the {name}.", f"{zh}：{why.zh}所以用{name}。")


def told(why: Why) -> Note:
    """Return what has to be done."""
    return Note(
        f"{'Safety' if why.kind == 'safety' else 'Common sense'}: {why.en}",
        f"{'安全' if why.kind == 'safety' else '常识'}：{why.zh}",
    )


def names_it(spoken: str, names: Sequence[str]) -> Note:
    """Return what the text has said already."""
    return Note(
        f"“{spoken}”: the text has named the {', the '.join(names)}.",
        f"“{spoken}”：文中已经提到{'、'.join(names)}。",
    )


def guesses(spoken: str, name: str) -> Note:
    """Return what it takes where any will do."""
    return Note(
        f"“{spoken}”: everybody is supposed to know which; I take the {name}.",
        f"“{spoken}”：应该人人都知道是哪个；我用{name}。",
    )


def heard(question: str, answer: str) -> Note:
    """Return what it was told."""
    return Note(
        f"I asked “{question}” and was told “{answer}”.", f"我问了“{question}”，得到的回答是“{answer}”。"
    )


def plain(action: str) -> Note:
    """That it acts."""
    return Note(f"Nothing is left open: I do “{action}”", f"没有不清楚的地方：我做“{action}”")
