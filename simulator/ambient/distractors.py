"""Distractors: the ambiguous sentence with one word replaced, near it and none of its readings (spec 8).

The paper's rule, by default: a random noun becomes another single word of its best kind; if that cannot be,
a random pronoun becomes another of its group; if that cannot be, a random noun becomes ``corgi``.

``reference`` is what the published program does: it tries the nouns in random order until one has a kind,
takes a best-weighted member of all its kinds, replaces the first *substring* that matches, and makes all but
the sentence's first letter small.

What differs from the paper's resources: kinds come from a table of our own with some 1,400 nouns and names
(or from a file, `read_relations`), not from ConceptNet; nouns are told by that table or file and by the
word in front of them, not by a tagger; a capital inside the sentence makes a proper noun. A sentence
with neither noun nor pronoun that we know gets its ``corgi`` in place of any word that is no function word.
In the default rule the number of a noun is kept, too; articles in front (a, an) are not changed.

The built-in table (``tables/kinds.yaml``) is a small one of our own; ConceptNet's assertions can be brought
as a file.
"""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random
from typing import Annotated, Any, Final, Literal, NamedTuple

from pydantic import BaseModel, BeforeValidator

from simulator.errors import InputError
from simulator.tables.builtin import read_yaml
from simulator.tables.records import read_text

TABLES: Final = Path(__file__).parent / "tables"
_RELATION: Final = "isa"
_URI_COLUMNS: Final = 5


@dataclass(frozen=True, slots=True)
class Relations:
    """Words and their kinds, with the weight of "term IsA kind"; terms are lower-cased in `kinds` alone.

    `members` are single words; `names` the kinds whose members are proper names, empty where a file does
    not tell.
    """

    kinds: Mapping[str, Mapping[str, float]]
    members: Mapping[str, Mapping[str, float]]
    names: frozenset[str] = frozenset()

    def kinds_of(self, term: str) -> Mapping[str, float]:
        """Return kind -> weight, in the order of the table or file; empty if the term is not known."""
        return self.kinds.get(term.lower(), {})


def table(name: str) -> Mapping[str, Any]:
    """Return a table of this package, ``tables/<name>.yaml``."""
    content: Mapping[str, Any] = read_yaml(TABLES / f"{name}.yaml")
    return content


@cache
def builtin_relations() -> Relations:
    """Return the built-in table of kinds, read once."""
    groups = table("kinds")
    triples = [
        (word, kind, float(weight) if weight else float(entry["weight"]))
        for group in groups.values()
        for kind, entry in group.items()
        for word, _, weight in (written.partition(":") for written in entry["words"].split())
    ]
    return _relations(triples, frozenset(groups["names"]))


def read_relations(path: str | Path) -> Relations:
    """Return the IsA relations of a file, others are passed over.

    A line is ``start, relation, end, weight``, with tabs or commas between, as in ``dog,IsA,animal,2.0`` or
    ``/c/en/dog/n,/r/IsA,/c/en/animal,2.0``; or one of ConceptNet's own five columns. A header is passed over,
    and so are terms in other languages than English and starts of several words.

    Raises:
        InputError: if the file cannot be read, a line of it is wrong, or it holds no such relation.
    """
    relations = _relations(_triples(path, read_text(path).split("\n")), frozenset())
    if not relations.kinds:
        raise InputError(
            f"{path}: holds no English IsA relations; lines should be start, relation, end, weight"
        )
    return relations


def _relations(triples: Iterable[tuple[str, str, float]], names: frozenset[str]) -> Relations:
    kinds: dict[str, dict[str, float]] = {}
    members: dict[str, dict[str, float]] = {}
    for term, kind, weight in triples:
        of_term, of_kind = kinds.setdefault(term.lower(), {}), members.setdefault(kind, {})
        of_term[kind] = max(weight, of_term.get(kind, -math.inf))
        of_kind[term] = max(weight, of_kind.get(term, -math.inf))
    return Relations(kinds, members, names)


def _triples(path: str | Path, lines: Sequence[str]) -> Iterator[tuple[str, str, float]]:
    tabs = "\t" in next((line for line in lines if line.strip()), "")
    # ConceptNet's own columns hold JSON, which is not quoted as CSV.
    rows = csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE) if tabs else csv.reader(lines)
    for number, cells in enumerate(rows, start=1):
        columns = [cell.strip() for cell in cells]
        if not any(columns):
            continue
        if len(columns) < _URI_COLUMNS - 1:
            raise InputError(
                f"{path}:{number}: has {len(columns)} columns; wanted are start, relation, end, weight"
            )
        if columns[1].rsplit("/", 1)[-1].lower() != _RELATION:
            continue
        whole = columns[0].startswith("/a/")
        start, end, weight = columns[2:5] if whole else (columns[0], *columns[2:4])
        try:
            value = float(json.loads(weight)["weight"] if whole else weight)
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(f"{path}:{number}: weight: {weight!r} holds no number") from error
        if not math.isfinite(value):
            raise InputError(f"{path}:{number}: weight: {weight!r} is not finite")
        term, kind = _plain_term(start), _plain_term(end)
        if term and kind and " " not in term:
            yield term, kind, value


def _plain_term(text: str) -> str:
    """Return a term's words; empty for one in another language."""
    if text.startswith("/c/"):
        _, _, language, *rest = text.split("/")
        text = rest[0] if language == "en" and rest else ""
    return text.replace("_", " ").strip()


DistractorRule = Literal["paper", "reference"]
Step = Literal["kind", "pronoun", "last_resort"]
_WORD: Final = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*(?P<clitic>['’][^\W\d_]+)?")
_GENITIVE: Final = ("", "'s", "’s")
_AUXILIARY: Final = ("", "'ll", "’ll", "'d", "’d")
_SENTENCE_END: Final = re.compile(r"[.!?][\"'”’)\]]*\s+[\"'“‘(\[]*$")
_OPENING: Final = re.compile(r"^\W*$")
_SIBILANT: Final = re.compile(r"(s|x|z|ch|sh)$")
_Y_PLURAL: Final = re.compile(r"[^aeiou]y$")


class Distractor(NamedTuple):
    """A sentence with one word replaced; in the step ``kind`` both words are of one `kind`."""

    text: str
    word: str
    replacement: str
    step: Step
    kind: str = ""


Words = Annotated[frozenset[str], BeforeValidator(str.split)]


class _Words(BaseModel, frozen=True):
    """The words of `tables/words.yaml`."""

    pronouns: tuple[tuple[str, ...], ...]
    last_resort: str
    irregular_plurals: Mapping[str, str]
    unchanging: Words
    also_verbs: Words
    before_verbs: Words
    function_words: Words


class _Token(NamedTuple):
    """A word of the sentence without its clitic; `before` is the one in front, in small letters."""

    word: str
    start: int
    clitic: str
    first: bool
    before: str

    @property
    def capital(self) -> bool:
        """Return True if it is written with a capital that its place does not ask for."""
        return self.word[:1].isupper() and not self.first and self.word != "I"


@cache
def _words() -> _Words:
    return _Words.model_validate(table("words"))


@cache
def _irregular_singulars() -> Mapping[str, str]:
    return {many.lower(): single.lower() for single, many in _words().irregular_plurals.items()}


def plural(noun: str) -> str:
    """Return the plural of a noun by the simple rule, or as the table of irregular ones has it."""
    words = _words()
    if noun in words.unchanging:
        return noun
    if noun in words.irregular_plurals:
        return words.irregular_plurals[noun]
    if _Y_PLURAL.search(noun):
        return f"{noun[:-1]}ies"
    return f"{noun}es" if _SIBILANT.search(noun) else f"{noun}s"


def _singulars(word: str) -> list[str]:
    """Return what a word may be the plural of, in small letters, itself excluded."""
    low = word.lower()
    guesses = [_irregular_singulars().get(low, "")]
    endings = (("ies", "y"), ("es", ""), ("s", ""))
    guesses += [low.removesuffix(many) + single for many, single in endings if low.endswith(many)]
    return [guess for guess in dict.fromkeys(guesses) if guess and plural(guess).lower() == low]


def distractor_for(
    sentence: str, *, seed: int, rule: DistractorRule = "paper", relations: Relations | None = None
) -> Distractor:
    """Return the distractor of a sentence; the same seed gives the same one.

    Raises:
        InputError: if the sentence has no word at all.
    """
    random = Random(seed)
    tokens = _tokens(sentence)
    if not tokens:
        raise InputError(f"{sentence!r}: has no word that could be replaced by a distractor's")
    known = relations or builtin_relations()
    nouns = [token for token in tokens if _is_noun(token, known)]
    by_kind = _by_reference if rule == "reference" else _by_paper
    token, replacement, step, kind = (
        by_kind(nouns, known, random) or _by_pronoun(tokens, random) or _last_resort(tokens, nouns, random)
    )
    if rule == "reference":
        changed = sentence.replace(token.word, replacement, 1)
        return Distractor(changed.capitalize(), token.word, replacement, step, kind)
    written = _cased(replacement, token)
    end = token.start + len(token.word)
    return Distractor(sentence[: token.start] + written + sentence[end:], token.word, written, step, kind)


_Choice = tuple[_Token, str, Step, str]


def _by_paper(nouns: Sequence[_Token], relations: Relations, random: Random) -> _Choice | None:
    """Return one random noun; a random other member of its best kind, in its number."""
    if not nouns:
        return None
    token = random.choice(nouns)
    term, kinds = _term(token, relations)
    if not kinds:
        return None
    kind = max(kinds, key=kinds.__getitem__)
    own = (term, token.word.lower())
    others = [member for member in relations.members[kind] if member.lower() not in own]
    if not others:
        return None
    member = random.choice(others)
    return token, member if term == token.word.lower() else plural(member), "kind", kind


def _by_reference(nouns: Sequence[_Token], relations: Relations, random: Random) -> _Choice | None:
    """Try nouns in random order: of the first that has other members, one with the largest weight of all."""
    for token in random.sample(nouns, len(nouns)):
        term, kinds = _term(token, relations)
        others = [
            (weight, member, kind)
            for kind in kinds
            for member, weight in relations.members[kind].items()
            if member.lower() not in (term, token.word.lower())
        ]
        if others:
            best = max(weight for weight, _, _ in others)
            _, member, kind = random.choice([other for other in others if other[0] == best])
            return token, member, "kind", kind
    return None


def _by_pronoun(tokens: Sequence[_Token], random: Random) -> _Choice | None:
    groups = _words().pronouns
    pronouns = [
        token
        for token in tokens
        if token.clitic in _AUXILIARY and any(token.word.lower() in group for group in groups)
    ]
    if not pronouns:
        return None
    token = random.choice(pronouns)
    word = token.word.lower()
    others = dict.fromkeys(other for group in groups if word in group for other in group if other != word)
    return token, random.choice(list(others)), "pronoun", ""


def _last_resort(tokens: Sequence[_Token], nouns: Sequence[_Token], random: Random) -> _Choice:
    content = [token for token in tokens if token.word.lower() not in _words().function_words]
    return random.choice(nouns or content or tokens), _words().last_resort, "last_resort", ""


def _tokens(sentence: str) -> list[_Token]:
    tokens: list[_Token] = []
    before = ""
    for match in _WORD.finditer(sentence):
        clitic = match["clitic"] or ""
        lead = sentence[: match.start()]
        first = bool(_OPENING.match(lead) or _SENTENCE_END.search(lead))
        tokens.append(_Token(match[0].removesuffix(clitic), match.start(), clitic, first, before))
        before = match[0].lower().replace("’", "'")
    return tokens


def _is_noun(token: _Token, relations: Relations) -> bool:
    """Return True of a name, or a known word that is no function word and does not look like a verb here."""
    if token.clitic not in _GENITIVE:
        return False
    if token.capital:
        return True
    words = _words()
    low = token.word.lower()
    if low in words.function_words:
        return False
    term, kinds = _term(token, relations)
    looks_like_verb = term in words.also_verbs and token.before in words.before_verbs
    return bool(kinds) and not looks_like_verb


def _term(token: _Token, relations: Relations) -> tuple[str, Mapping[str, float]]:
    """Return the term that a word is, or is the plural of, and its kinds; names have a capital."""
    low = token.word.lower()
    for term in (low, *_singulars(low)):
        kinds = relations.kinds_of(term)
        names = {kind: weight for kind, weight in kinds.items() if kind in relations.names}
        common = {kind: weight for kind, weight in kinds.items() if kind not in relations.names}
        fitting = names or common if token.capital else common or (names if token.first else {})
        if fitting:
            return term, fitting
    return low, {}


def _cased(replacement: str, token: _Token) -> str:
    """Return a replacement written as the word was; the pronoun I always has its capital."""
    if replacement == "i":
        return "I"
    if len(token.word) > 1 and token.word.isupper():
        return replacement.upper()
    if token.first or token.capital:
        return replacement[:1].upper() + replacement[1:] if token.word[:1].isupper() else replacement
    return replacement.lower() if token.word.islower() else replacement
