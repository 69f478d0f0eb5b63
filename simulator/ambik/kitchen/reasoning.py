"""The kitchen robot: makes a step concrete, and acts or asks. Deterministic, and without a model.

It reads scene, task, previous steps and step, but not the answer in the data. A noun of the step may mean
several things (`openings`). What the text or common sense settles is inserted into the step, as is anything
missing: the tool, the appliance, the place. If a noun stays open, the robot asks and marks the possible
actions; otherwise it acts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial
from typing import Final, NamedTuple

from simulator.ambik.chinese import in_english
from simulator.ambik.items import DecideItem
from simulator.ambik.kitchen.knowledge import (
    SENTENCES,
    Note,
    affirmed_part,
    demanded_action,
    denied_part,
    either,
    is_perishable,
    join_names,
    note,
    note_with_reason,
    says,
    sense,
)
from simulator.ambik.kitchen.openings import (
    Case,
    Opening,
    mentions,
    only_of_its_kind,
    open_amount,
    openings,
    single,
)
from simulator.ambik.naming import Thing, kitchen, plural, stems, thing, with_article
from simulator.ambik.playing import exchange_of
from simulator.ambik.terms import Context, Dialogue

MOST: Final = 4
"""Most actions that it marks: the methods have as many options."""
_SHORT: Final = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """The robot's judgement of a step.

    Attributes:
        action: the likeliest action.
        marked: the possible actions, the likeliest first; one if it acts.
        question: the question in English and Chinese; None if it acts.
    """

    action: str
    marked: tuple[str, ...]
    question: Note | None
    notes: tuple[Note, ...]


class _Edit(NamedTuple):
    """A replacement of a part of the step."""

    start: int
    end: int
    text: str


def judge(case: Case, most: int = MOST) -> Judgement:
    """Decide whether to act or to ask.

    `most`: most actions to mark.
    """
    nouns = (*openings(case), *only_of_its_kind(case))
    still_open = sorted(
        (opening for opening in nouns if opening.open),
        key=lambda opening: (not thing(opening.names[0]).is_a("ingredient"), opening.mention.start),
    )
    notes = [_note(case, opening) for opening in nouns]
    if case.exchanges:
        return _after_answer(case, nouns, still_open, notes)
    edits = [_edit(case, opening, _settled_name(opening)) for opening in nouns if opening.names]
    base, more = _complete_step(case, edits, still_open)
    notes += more
    if still_open:
        asked = still_open[0]
        spoken = _mention_text(case, asked)
        marked = _variants(case, nouns, still_open, asked.names[:most])
        question = note("asking", spoken=spoken, either=either(asked.names, "the "))
        notes.append(note("asks", spoken=spoken))
    elif (amount := open_amount(case)) is not None:
        marked = tuple(_append(base, option) for option in amount.options[:most])
        question = note("asking_how", step=base.strip(" ."), spoken=amount.spoken)
        notes.append(note("lacks", spoken=amount.spoken))
    else:
        return _act(base, notes)
    return Judgement(action=marked[0], marked=marked, question=question, notes=tuple(notes))


def _act(action: str, notes: Iterable[Note]) -> Judgement:
    reasons = (*notes, note("acts", action=action))
    return Judgement(action=action, marked=(action,), question=None, notes=reasons)


def _variants(
    case: Case, nouns: Sequence[Opening], still_open: Sequence[Opening], names: Sequence[str]
) -> tuple[str, ...]:
    """Return the step with each possible thing of the first open noun, with the other nouns settled."""
    actions: dict[str, None] = {}
    for name in names:
        edits = [
            _edit(case, noun, name if noun.mention == still_open[0].mention else noun.names[0])
            for noun in nouns
            if noun.names
        ]
        actions[_complete_step(case, edits, still_open)[0]] = None
    return tuple(actions)


def _after_answer(
    case: Case, nouns: Sequence[Opening], still_open: Sequence[Opening], notes: list[Note]
) -> Judgement:
    """Act on the answers; the question is not asked twice."""
    question, answer = case.exchanges[-1]
    texts = [in_english(text) for _, text in case.exchanges]
    answers = " ".join(map(affirmed_part, texts))
    denied = denied_part(" ".join(texts))
    edits, used = [], False
    for opening in nouns:
        meant = _meant_things(answers, opening, case.things)
        used = used or bool(meant)
        ruled_out = _meant_things(denied, opening, case.things)
        left = [name for name in opening.names if name not in ruled_out] or opening.names
        if names := meant or left[:1]:
            edits.append(_edit(case, opening, " and the ".join(names)))
    base, more = _complete_step(case, edits, still_open)
    action = base if used else complete_with_answer(case, base, affirmed_part(texts[-1]))
    return _act(action, (*notes, *more, note("heard", question=question, answer=answer)))


def complete_with_answer(case: Case, action: str, answer: str) -> str:
    """Return the action with the parts of an answer that fit no noun: things, amounts, actions."""
    named = single(answer, case.things)
    named = tuple(mention for mention in named if not mention.plural) or named
    things = dict.fromkeys(mention.things[0] for mention in named)
    fresh = [thing for thing in things if thing.name.lower() not in action.lower()]
    first = next(filter(None, map(demanded_action, SENTENCES.split(answer))), "")
    if first and first.split()[0].lower() not in ("use", "take"):
        return f"{first[:1].upper()}{first[1:]}, then {action[:1].lower()}{action[1:]}"
    if fresh:
        # Containers and places take "in" (a bowl), tools take "with" (a spoon).
        how = "in" if fresh[0].is_a("container", "appliance", "place", "bakeware") else "with"
        return _append(action, f"{how} the {' and the '.join(thing.name for thing in fresh)}")
    amount = answer.split(",")[0].strip(" .!")
    if says("amount", amount) and len(amount.split()) <= _SHORT:
        return f"{action.rstrip('. ')}, {amount[:1].lower()}{amount[1:]}."
    return action


def _meant_things(answer: str, opening: Opening, things: tuple[Thing, ...]) -> tuple[str, ...]:
    """Return the possible things of a noun that an answer names, also by distinctive parts of the name."""
    group = tuple(thing for thing in things if thing.name in opening.names) or opening.mention.things
    group = group if len(group) > 1 or len(opening.mention.things) < 2 else opening.mention.things
    if named := dict.fromkeys(mention.things[0].name for mention in single(answer, group)):
        return tuple(named)
    distinctive = {
        each.name: [word for word in each.stems if sum(word in other.stems for other in group) == 1]
        for each in group
    }
    every = [word for words in distinctive.values() for word in words]
    words = [near for word in stems(answer) for near in (word, *get_close_matches(word, every, 1, 0.85))]
    names = tuple(each.name for each in group if any(word in words for word in distinctive[each.name]))
    return names if len(names) < len(group) or len(group) == 1 else ()


# ---- completing a step

_Change = tuple[str, Note] | None


def _complete_step(
    case: Case, edits: Sequence[_Edit], still_open: Sequence[Opening]
) -> tuple[str, list[Note]]:
    """Return the step with edits, rewritten if it does not say what to do, and with missing parts added."""
    text = case.step
    for edit in sorted(edits, reverse=True):
        text = f"{with_article(text[: edit.start], edit.text)}{edit.text}{text[edit.end :]}"
    notes: list[Note] = []
    for change in (_rewrite_step, _add_from_task, _add_means, _add_source):
        changed = change(case, text, still_open)
        if changed is not None:
            text, reason = changed
            notes.append(reason)
    return text, notes


def _rewrite_step(case: Case, text: str, still_open: Sequence[Opening]) -> _Change:
    for rule in sense().rewrites:
        if not rule.holds(case.step, case.goal) or (
            rule.food and not any(thing.is_a(*rule.food) for thing in _things_mentioned(case))
        ):
            continue
        pattern, replacement = rule.sub
        changed = pattern.sub(partial(_put, replacement), text)
        if changed == text and rule.add:
            changed = _append(text, rule.add)
        if changed != text:
            return changed, note_with_reason("rewrites", rule)
    return None


def _add_from_task(case: Case, text: str, still_open: Sequence[Opening]) -> _Change:
    """Add the tool, place or amount that the task gives for the same action and the step omits."""
    verb = next((stem for stem in stems(case.step) if stem not in sense().adverbs), "")
    sentences = sense().patterns["clause"].split(case.task)
    clauses = [clause for clause in sentences if verb in clause.lower() and verb in stems(clause)]
    for clause in clauses:
        named = [mention for mention in single(clause, case.things) if mention.exact]
        if len(clauses) > 1 and not any(each.things[0] in _things_mentioned(case) for each in named):
            continue
        for mention in named:
            name, before = mention.things[0].name, clause[: mention.start]
            means = says("by_means", before)
            tool = says("used", before) and sense().patterns["to_do"].match(clause[mention.end :])
            # Words before the verb belong to another action: "take it from the fridge and cut it".
            if name.lower() in text.lower() or not (tool or (means and verb in stems(before))):
                continue
            how = means[1].lower() if means else "with"
            return _append(text, f"{how} the {name}"), _named_note(verb, (name,))
        amount = sense().patterns["so_much"].search(clause, clause.lower().find(verb))
        if amount and not says("amount", text) and not still_open:
            return _append(text, amount[0]), _named_note(verb, (amount[0],))
    return None


def _add_means(case: Case, text: str, still_open: Sequence[Opening]) -> _Change:
    """Add the tool, the appliance or the place that the step omits."""
    purpose = next((rule for rule in sense().purposes if rule.phrase and rule.when.search(case.step)), None)
    if purpose is None or any(kind in purpose.named for kind in _kinds_named(text, case)):
        return None
    name = purpose.fittest(case.things)
    if not name or name.lower() in text.lower():
        return None
    return _append(text, purpose.phrase.format(name)), note_with_reason("adds", purpose, name=name)


def _add_source(case: Case, text: str, still_open: Sequence[Opening]) -> _Change:
    """Add the place from which something perishable is taken, if the step omits it."""
    first = case.step.split(" and ")[0]
    fetches = sense().fetch.match(case.step.strip())
    if not fetches or says("from_store", text) or says("moved", first):
        return None
    taken = [thing for mention in mentions(first, case.things) for thing in mention.things[:1]]
    if not taken or not all(map(is_perishable, taken)):
        return None
    return _append(text, "from the fridge"), note_with_reason("adds", sense().places["fridge"], name="fridge")


def _kinds_named(text: str, case: Case) -> Iterator[str]:
    """Yield the categories of the things in a text, and the wider ones."""
    for mention in mentions(text, case.things):
        yield from kitchen().categories[mention.category].wider if mention.category else ()
        yield from (kind for each in mention.things[:1] for kind in each.kinds)


def _things_mentioned(case: Case) -> tuple[Thing, ...]:
    """Return the things that the step names, or if it names none ("prepare them"), those named before."""
    for text in (case.step, case.earlier, case.task):
        if things := tuple(each for mention in mentions(text, case.things) for each in mention.things[:1]):
            return things
    return ()


# ---- words


def _edit(case: Case, opening: Opening, name: str) -> _Edit:
    noun = opening.mention
    patterns = sense().patterns
    before = patterns["vague"].sub("", case.step[: noun.start])
    if noun.category == "place":
        before = patterns["article"].sub("", before)
        name = f"the {name}"
    if noun.head != stems(name)[-1] and noun.stems[0].startswith("some"):
        name = f"the {name}"
    # A plural stays plural: "salad plates" become "glass salad plates".
    last_word = stems(name)[-1:] == (noun.head,)
    if noun.plural and last_word and not name.endswith("s") and " and the " not in name:
        name = plural(name)
    return _Edit(len(before), noun.end, name)


def _settled_name(opening: Opening) -> str:
    """Return all the things that the text has named, otherwise the likeliest one."""
    several = opening.by == "text" and opening.mention.plural
    return " and the ".join(opening.names) if several else opening.names[0]


def _append(text: str, phrase: str) -> str:
    body = text.rstrip()
    stop = "." if body.endswith(".") else ""
    return f"{body.rstrip('. ')} {phrase}{stop}"


def _put(new: str, old: re.Match[str]) -> str:
    put = old.expand(new)
    return put[:1].upper() + put[1:] if old.group()[:1].isupper() else put


def _mention_text(case: Case, opening: Opening) -> str:
    return case.step[opening.mention.start : opening.mention.end]


def _named_note(spoken: str, names: Sequence[str]) -> Note:
    return note("named", spoken=spoken, names=join_names(names, ", the "))


def _note(case: Case, opening: Opening) -> Note:
    spoken, names = _mention_text(case, opening), opening.names
    if opening.by == "sense" and opening.why is not None:
        return note_with_reason("settles", opening.why, name=names[0], spoken=spoken)
    if opening.by == "text":
        return _named_note(spoken, names)
    if opening.by == "guess":
        return note("guesses", spoken=spoken, name=names[0])
    return note("open", spoken=spoken, number=str(len(names)), names=join_names(names))


# ---- an item as the robot sees it, and alternative actions for any step

OFFERED: Final = 5
ENOUGH: Final = 3
"""With this many options, people are offered none with things of another kind."""


def kitchen_case(
    item: DecideItem,
    context: Context = "full_plan",
    exchanges: Sequence[tuple[str, str]] = (),
    dialogue: Dialogue = "before",
) -> Case:
    """Return what a robot knows of an item; without a plan the instruction is the step (spec 5, 9)."""
    full = context == "full_plan"
    step = item.step
    return Case(
        objects=item.about.objects,
        appliances=item.about.appliances,
        task=item.instruction if full and step else "",
        previous=item.previous if full else (),
        step=step or item.instruction,
        exchanges=(*exchange_of(item, dialogue), *exchanges),
    )


def alternatives(case: Case, many: int = MOST, enough: int = MOST) -> tuple[str, ...]:
    """Return two to `many` actions that might be meant: for what is open, then with similar things.

    `enough`: number of actions from which on none with things of another kind is added.
    """
    marked = dict.fromkeys(judge(case, many).marked)
    action = next(iter(marked))
    for likely, other in _other_actions(case, action):
        if len(marked) >= (many if likely else enough):
            break
        marked.setdefault(other)
    return tuple(marked)


def _other_actions(case: Case, action: str) -> Iterator[tuple[bool, str]]:
    """Yield the action with things of the same kind (True: likely), then with others, then other actions."""
    nouns = [mention for mention in mentions(action, case.things) if mention.things]
    for is_similar in (_same_kind, _same_family, lambda *_: True):
        for noun in reversed(nouns):
            for other in case.things:
                if other not in noun.things and is_similar(noun.things[0], other):
                    before = with_article(action[: noun.start], other.name)
                    yield is_similar is _same_kind, f"{before}{other.name}{action[noun.end :]}"
    body = action.rstrip(". ")
    yield from ((False, f"{body} using the {thing.name}.") for thing in case.things)
    yield from ((False, other) for other in (f"{body}, and wait.", f"{body}, but later."))


def _same_kind(thing: Thing, other: Thing) -> bool:
    return bool(thing.category) and thing.category == other.category


def _same_family(thing: Thing, other: Thing) -> bool:
    return thing.is_a("ingredient") == other.is_a("ingredient") and bool(other.category)


def kitchen_options(item: DecideItem) -> tuple[str, ...]:
    """Return two to five actions of the built-in robot that might be meant at the item's step.

    They are offered to people where the data have none. They do not use the answer in the data, so the right
    one may be missing. They are the same for everybody, sorted alphabetically to give nothing away.
    """
    return tuple(sorted(alternatives(kitchen_case(item), OFFERED, ENOUGH)))
