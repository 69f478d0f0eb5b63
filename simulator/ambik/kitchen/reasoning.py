"""The kitchen robot: makes a step concrete, and acts or asks. Deterministic, and without a model.

It reads scene, task, previous steps and step; nothing of what the data know of the answer. A noun of the step
may mean several things (`openings`). What the text or common sense settles is put into the step, and so is
what a step lacks: the tool, the appliance, the place. If a noun stays open, it asks, and marks what it may
mean; else it acts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Final, NamedTuple

from simulator.ambik.kitchen.categories import Thing, categories, sense, thing
from simulator.ambik.kitchen.knowledge import Why, fetching, fittest, is_perishable, purposes, rewrites
from simulator.ambik.kitchen.mentions import mentions
from simulator.ambik.kitchen.openings import Case, Opening, only_one, open_amount, openings
from simulator.ambik.kitchen.wording import (
    Note,
    asking,
    asking_how,
    asks,
    fills,
    guesses,
    heard,
    lacks,
    names_it,
    plain,
    told,
)
from simulator.ambik.kitchen.words import plural, stems, with_article

MOST: Final = 4
"""Actions that it marks at most: as many as the methods have options."""
_NO: Final = re.compile(r"^\s*(no|nope)\b[\s,.;:!]*", re.IGNORECASE)
_DENIES: Final = re.compile(
    r"\b(not|never|avoid|isn't|don't|doesn't|shouldn't|cannot|can't)\b", re.IGNORECASE
)
_SHOULD: Final = re.compile(
    r"\b(?:should|must|need to|needs to|have to|has to|please)\s+(?:first |only )?(.+)", re.IGNORECASE
)
_AMOUNT: Final = re.compile(
    r"\b(\d+|half|one|two|three|four|five|six|seven|eight|nine|ten|twelve|fifteen|twenty|thirty|a|an)\b|\bpinch\b",
    re.IGNORECASE,
)
_SHORT: Final = 6
_SO_MUCH: Final = re.compile(
    r"\b(?:for|into|at|of|at level)\s+(?:about |level )?(?:\d+|half|one|two|three|four|five|six|seven|eight|"
    r"nine|ten|twelve|fifteen|twenty|thirty)\b(?:\s+(?:minutes?|hours?|seconds?|degrees|pieces|slices|parts|cent\w+|cm))?",
    re.IGNORECASE,
)
_ADVERBS: Final = ("then", "finally", "next", "first", "carefully", "gently", "now", "please")
_CLAUSE: Final = re.compile(r"(?<=[.;])\s+|,?\s+(?:and )?then\s+", re.IGNORECASE)
_BY_MEANS: Final = re.compile(r"\b(with|using|in|into|on|onto)\s+(?:the |a |an )?$", re.IGNORECASE)
_USED: Final = re.compile(r"\buse\s+(?:the |a |an )?$", re.IGNORECASE)
_TO_DO: Final = re.compile(r"\s+(?:to|for)\b", re.IGNORECASE)
_ADVISES: Final = re.compile(r"\b(should|must|use|need|take)\b", re.IGNORECASE)
_VAGUE: Final = re.compile(
    r"\b(suitable|appropriate|specific|speciali[sz]ed|specified|available|right|proper|needed|necessary|another|"
    r"design(at)?ed|required|safe)\s+$",
    re.IGNORECASE,
)
_ARTICLE: Final = re.compile(r"\b(its|the|a|an)\s+$", re.IGNORECASE)
_FROM: Final = re.compile(
    r"\b(from|out of|into|in) (the )?(fridge|refrigerator|cupboard|cabinet|pantry|oven)\b", re.I
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What the robot makes of a step.

    Attributes:
        action: what it would do now.
        marked: the actions that it holds for possible, the likeliest first; one if it acts.
        question: in words, if it asks; in English and Chinese.
        notes: its reasons, in order.
    """

    action: str
    marked: tuple[str, ...]
    question: Note | None
    notes: tuple[Note, ...]

    @property
    def asks(self) -> bool:
        """Whether it asks."""
        return self.question is not None


class _Edit(NamedTuple):
    """Something put into the step in place of what stands there."""

    start: int
    end: int
    text: str


def judge(case: Case, most: int = MOST) -> Judgement:
    """Act or ask.

    Args:
        case: what it goes by.
        most: actions that it marks at most.
    """
    found = (*openings(case), *only_one(case))
    open_ = sorted((one for one in found if one.open), key=_food_first)
    notes = [_note(case, one) for one in found]
    if case.exchanges:
        return _after_answer(case, found, open_, notes)
    edits = [_edit(case, one, _told_names(one)) for one in found if one.names]
    base, more = _completed(case, edits, open_)
    notes += more
    if not open_ and (amount := open_amount(case)) is not None:
        marked = tuple(_appended(base, one) for one in amount.options[:most])
        question = asking_how(amount.spoken, base)
        return Judgement(
            action=marked[0], marked=marked, question=question, notes=(*notes, lacks(amount.spoken))
        )
    if not open_:
        return Judgement(action=base, marked=(base,), question=None, notes=(*notes, plain(base)))
    asked = open_[0]
    marked = variants(case, found, open_, asked, most)
    spoken = _spoken(case, asked)
    question = asking(spoken, asked.names)
    return Judgement(action=marked[0], marked=marked, question=question, notes=(*notes, asks(spoken)))


def variants(
    case: Case, openings: Sequence[Opening], open_: Sequence[Opening], asked: Opening, most: int
) -> tuple[str, ...]:
    """Return the step with each thing that the open noun may mean, everything else as settled."""
    told: dict[str, None] = {}
    for name in asked.names[:most]:
        edits = [
            _edit(case, opening, name if opening.mention == asked.mention else opening.names[0])
            for opening in openings
            if opening.names
        ]
        told[_completed(case, edits, open_)[0]] = None
    return tuple(told)


def _after_answer(
    case: Case, openings: Sequence[Opening], open_: Sequence[Opening], notes: list[Note]
) -> Judgement:
    """Acts on what it was told; the question is not asked twice."""
    question, answer = case.exchanges[-1]
    said = " ".join(affirmed(text) for _, text in case.exchanges)
    edits, used = [], False
    for opening in openings:
        meant = _meant(said, opening, case.things)
        used = used or bool(meant)
        if names := meant or opening.names[:1]:
            edits.append(_edit(case, opening, " and the ".join(names)))
    base, more = _completed(case, edits, open_)
    action = base if used else told_to(case, base, affirmed(answer))
    notes = [*notes, *more, heard(question, answer), plain(action)]
    return Judgement(action=action, marked=(action,), question=None, notes=tuple(notes))


def affirmed(answer: str) -> str:
    """Return an answer without what it denies."""
    negative = bool(_NO.match(answer))
    sentences = (one.strip() for one in re.split(r"(?<=[.;!?])\s+", _NO.sub("", answer, count=1)))
    return " ".join(
        sentence
        for sentence in sentences
        if not _DENIES.search(sentence)
        and (not negative or _ADVISES.search(sentence) or _what_to_do(sentence))
    )


def told_to(case: Case, action: str, answer: str) -> str:
    """The action with what an answer tells and no noun takes up: things, an amount, what comes first."""
    things = tuple(
        mention.things[0]
        for mention in mentions(answer, case.things)
        if len(mention.things) == 1 and not mention.plural
    ) or tuple(mention.things[0] for mention in mentions(answer, case.things) if len(mention.things) == 1)
    fresh = tuple(dict.fromkeys(thing for thing in things if thing.name.lower() not in action.lower()))
    first = next(filter(None, map(_what_to_do, re.split(r"(?<=[.;!?])\s+", answer))), "")
    if first and first.split()[0].lower() not in ("use", "take"):
        return f"{first[:1].upper()}{first[1:]}, then {action[:1].lower()}{action[1:]}"
    if fresh:
        return _appended(action, f"{_by(fresh[0])} the {' and the '.join(one.name for one in fresh)}")
    amount = answer.split(",")[0].strip(" .!")
    if _AMOUNT.search(amount) and len(amount.split()) <= _SHORT:
        return f"{action.rstrip('. ')}, {amount[:1].lower()}{amount[1:]}."
    return action


def _by(thing: Thing) -> str:
    """Return how a thing is added to an action: one puts something in a bowl, and stirs with a spoon."""
    return "in" if any(map(thing.is_a, ("container", "appliance", "place", "bakeware"))) else "with"


def _what_to_do(sentence: str) -> str:
    """Return what a sentence says is to be done: ``wash it`` of ``You should wash it.``; empty if nothing."""
    advice = _SHOULD.search(sentence)
    said = (advice[1] if advice else sentence).strip(" .!")
    return said if said and stems(said)[:1] and stems(said)[0] in _imperatives() else ""


@cache
def _imperatives() -> frozenset[str]:
    return frozenset((*sense()["imperatives"], *sense()["also_verbs"]))


def _meant(answer: str, opening: Opening, things: tuple[Thing, ...]) -> tuple[str, ...]:
    """Which of the things that a noun may mean an answer names; by part of the name where that is enough."""
    group = tuple(thing for thing in things if thing.name in opening.names) or opening.mention.things
    group = group if len(group) > 1 or len(opening.mention.things) < 2 else opening.mention.things
    told = (mention.things[0] for mention in mentions(answer, group) if len(mention.things) == 1)
    if named := {one.name: None for one in told}:
        return tuple(named)
    words = stems(answer)
    own = {
        one.name: [word for word in one.stems if sum(word in other.stems for other in group) == 1]
        for one in group
    }
    spoken = tuple(one.name for one in group if any(word in words for word in own[one.name]))
    return spoken if len(spoken) < len(group) or len(group) == 1 else ()


def _completed(case: Case, edits: Sequence[_Edit], open_: Sequence[Opening]) -> tuple[str, list[Note]]:
    """Return the step with edits, rewritten where it does not say what to do, and with what it lacks."""
    text = _edited(case.step, edits)
    notes: list[Note] = []
    for change in (_rewritten, _as_told, _filled, _fetched):
        made = change(case, text, open_)
        if made is not None:
            text, note = made
            notes.append(note)
    return text, notes


_Made = tuple[str, Note] | None


def _rewritten(case: Case, text: str, open_: Sequence[Opening]) -> _Made:
    for rule in rewrites():
        if rule.goal is not None and not rule.goal.search(case.goal):
            continue
        if not rule.when.search(case.step) or (
            rule.food and not any(_is_any(one, rule.food) for one in _spoken_of(case))
        ):
            continue
        changed = rule.find.sub(partial(_put, rule.put), text)
        if changed == text and rule.add:
            changed = _appended(text, rule.add)
        if changed != text:
            return changed, told(rule.why)
    return None


def _as_told(case: Case, text: str, open_: Sequence[Opening]) -> _Made:
    """Adds what the task says the same thing is done with, where or how much, and the step does not."""
    verb = next((stem for stem in stems(case.step) if stem not in _ADVERBS), "")
    clauses = [one for one in _CLAUSE.split(case.task) if verb in one.lower() and verb in stems(one)]
    for clause in clauses:
        named = [
            mention for mention in mentions(clause, case.things) if len(mention.things) == 1 and mention.exact
        ]
        if len(clauses) > 1 and not any(one.things[0] in _spoken_of(case) for one in named):
            continue
        for one in named:
            name, before = one.things[0].name, clause[: one.start]
            hit = _BY_MEANS.search(before)
            tool = _USED.search(before) and _TO_DO.match(clause[one.end :])
            # What comes before the verb belongs to something else: take it from the fridge and cut it.
            if name.lower() in text.lower() or not (tool or (hit and verb in stems(before))):
                continue
            how = hit[1].lower() if hit else "with"
            return _appended(text, f"{how} the {name}"), names_it(verb, (name,))
        amount = _SO_MUCH.search(clause, clause.lower().find(verb))
        if amount and not _AMOUNT.search(text) and not open_:
            return _appended(text, amount[0]), names_it(verb, (amount[0],))
    return None


def _told_names(opening: Opening) -> str:
    """Return what the text has named, all of it; else the likeliest thing."""
    several = opening.by == "text" and opening.mention.plural
    return " and the ".join(opening.names) if several else opening.names[0]


def _filled(case: Case, text: str, open_: Sequence[Opening]) -> _Made:
    """Adds the tool, the appliance or the place that the step does not name."""
    for purpose in purposes():
        if not purpose.phrase or not purpose.when.search(case.step):
            continue
        if any(_names_any(noun, purpose.named) for noun in _nouns(text, case)):
            return None
        name = fittest(purpose, case.things)
        if not name or name.lower() in text.lower():
            return None
        return _appended(text, purpose.phrase.format(name)), fills(name, purpose.why)
    return None


def _fetched(case: Case, text: str, open_: Sequence[Opening]) -> _Made:
    """Adds where something perishable is taken from, if the step only says that it is taken."""
    first = case.step.split(" and ")[0]
    if (
        not fetching().match(case.step.strip())
        or _FROM.search(text)
        or re.search(r"\b(from|out of|to|in|into|on)\b", first)
    ):
        return None
    food = [one for each in mentions(first, case.things) for one in each.things[:1]]
    if not food or not all(map(is_perishable, food)):
        return None
    why = Why("Perishable food is kept in the fridge.", "易坏的食物放在冰箱里。", "safety")
    return _appended(text, "from the fridge"), fills("fridge", why)


def _nouns(text: str, case: Case) -> Iterator[str]:
    """Yield the categories of what a text names."""
    for mention in mentions(text, case.things):
        yield mention.category
        yield from (each.category for each in mention.things[:1])


def _names_any(category: str, wanted: Iterable[str]) -> bool:
    return bool(category) and any(name in categories()[category].wider for name in wanted)


def _spoken_of(case: Case) -> tuple[Thing, ...]:
    """Return what the step names, or if it names nothing (prepare them) what is named before it."""
    for text in (case.step, case.earlier, case.task):
        if things := tuple(each for mention in mentions(text, case.things) for each in mention.things[:1]):
            return things
    return ()


def _is_any(thing: Thing, kinds: Iterable[str]) -> bool:
    return any(thing.is_a(kind) for kind in kinds)


def _edit(case: Case, opening: Opening, name: str) -> _Edit:
    noun = opening.mention
    before = _VAGUE.sub("", case.step[: noun.start])
    if noun.category == "place":
        before = _ARTICLE.sub("", before)
        name = f"the {name}"
    if noun.head != stems(name)[-1] and noun.stems[0].startswith("some"):
        name = f"the {name}"
    # What is named in the plural stays so: salad plates are glass salad plates.
    if (
        noun.plural
        and stems(name)[-1:] == (noun.head,)
        and not name.endswith("s")
        and " and the " not in name
    ):
        name = plural(name)
    return _Edit(len(before), noun.end, name)


def _edited(text: str, edits: Iterable[_Edit]) -> str:
    for edit in sorted(edits, reverse=True):
        text = f"{with_article(text[: edit.start], edit.text)}{edit.text}{text[edit.end :]}"
    return text


def _appended(text: str, phrase: str) -> str:
    body = text.rstrip()
    stop = "." if body.endswith(".") else ""
    return f"{body.rstrip('. ')} {phrase}{stop}"


def _put(new: str, old: re.Match[str]) -> str:
    put = old.expand(new)
    return put[:1].upper() + put[1:] if old.group()[:1].isupper() else put


def _food_first(opening: Opening) -> tuple[bool, int]:
    return not thing(opening.names[0]).is_a("ingredient"), opening.mention.start


def _spoken(case: Case, opening: Opening) -> str:
    return case.step[opening.mention.start : opening.mention.end]


def _note(case: Case, opening: Opening) -> Note:
    spoken = _spoken(case, opening)
    if opening.by == "sense" and opening.why is not None:
        return fills(opening.names[0], opening.why, spoken)
    if opening.by == "text":
        return names_it(spoken, opening.names)
    if opening.by == "guess":
        return guesses(spoken, opening.names[0])
    return Note(
        f"“{spoken}” may mean {len(opening.names)} things: {', '.join(opening.names)}.",
        f"“{spoken}”可以指 {len(opening.names)} 样东西：{'、'.join(opening.names)}。",
    )
