"""Distractors: the ambiguous sentence with one word replaced, similar but not one of its readings (spec 8).

The default is the paper's rule: a random noun is replaced by another single word of its best kind; failing
that, a random pronoun by another of its group; failing that, a random noun by ``corgi``.

``reference`` is the rule of the published program: it tries the nouns in random order until one has a kind,
takes a member with the highest weight among all its kinds, replaces the first matching *substring*, and
lower-cases all but the sentence's first letter.

Differences from the paper's resources: kinds come from our own table of some 1,400 nouns and names
(``tables/kinds.yaml``) or from a file such as ConceptNet's assertions (`read_relations`). Nouns are
recognized by that table or file and by the preceding word, not by a tagger; a capitalized word inside the
sentence is a proper noun. In a sentence without known nouns and pronouns, ``corgi`` replaces any word but a
function word. The default rule keeps the number of a noun; preceding articles (a, an) are not changed.
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
    """Words and their kinds, with the weight of "term IsA kind"; only `kinds` has lower-case terms.

    `members` are single words; `names` are the kinds of proper names, empty for relations from a file.
    """

    kinds: Mapping[str, Mapping[str, float]]
    members: Mapping[str, Mapping[str, float]]
    names: frozenset[str] = frozenset()

    def kinds_of(self, term: str) -> Mapping[str, float]:
        """Return kind -> weight, in the order of the table or file; empty for an unknown term."""
        return self.kinds.get(term.lower(), {})


def table(name: str) -> Mapping[str, Any]:
    """Return a table of this package, ``tables/<name>.yaml``."""
    content: Mapping[str, Any] = read_yaml(TABLES / f"{name}.yaml")
    return content


@cache
def builtin_relations() -> Relations:
    """Return the built-in table of kinds."""
    groups = table("kinds")
    triples = [
        (word, kind, float(weight) if weight else float(entry["weight"]))
        for group in groups.values()
        for kind, entry in group.items()
        for word, _, weight in (text.partition(":") for text in entry["words"].split())
    ]
    return _relations(triples, frozenset(groups["names"]))


def read_relations(path: str | Path) -> Relations:
    """Read the IsA relations of a file.

    A line is ``start, relation, end, weight``, separated by tabs or commas, as in ``dog,IsA,animal,2.0`` or
    ``/c/en/dog/n,/r/IsA,/c/en/animal,2.0``, or has ConceptNet's own five columns. A header, other relations,
    non-English terms and starts of several words are skipped.

    Raises:
        InputError: if the file cannot be read, has a faulty line, or contains no such relation.
    """
    relations = _relations(_triples(path, read_text(path).split("\n")), frozenset())
    if not relations.kinds:
        raise InputError(
            f"{path}: contains no English IsA relations; lines should be start, relation, end, weight"
        )
    return relations


def _relations(triples: Iterable[tuple[str, str, float]], names: frozenset[str]) -> Relations:
    kinds: dict[str, dict[str, float]] = {}
    members: dict[str, dict[str, float]] = {}
    for term, kind, weight in triples:
        term_kinds, kind_members = kinds.setdefault(term.lower(), {}), members.setdefault(kind, {})
        term_kinds[kind] = max(weight, term_kinds.get(kind, -math.inf))
        kind_members[term] = max(weight, kind_members.get(term, -math.inf))
    return Relations(kinds, members, names)


def _triples(path: str | Path, lines: Sequence[str]) -> Iterator[tuple[str, str, float]]:
    tabs = "\t" in next((line for line in lines if line.strip()), "")
    # ConceptNet's own columns contain JSON without CSV quoting.
    rows = csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE) if tabs else csv.reader(lines)
    for number, cells in enumerate(rows, start=1):
        columns = [cell.strip() for cell in cells]
        if not any(columns):
            continue
        if len(columns) < _URI_COLUMNS - 1:
            raise InputError(
                f"{path}:{number}: has {len(columns)} columns; expected start, relation, end, weight"
            )
        if columns[1].rsplit("/", 1)[-1].lower() != _RELATION:
            continue
        assertion = columns[0].startswith("/a/")
        start, end, weight = columns[2:5] if assertion else (columns[0], *columns[2:4])
        try:
            value = float(json.loads(weight)["weight"] if assertion else weight)
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(f"{path}:{number}: weight: {weight!r} contains no number") from error
        if not math.isfinite(value):
            raise InputError(f"{path}:{number}: weight: {weight!r} is not finite")
        term, kind = _plain_term(start), _plain_term(end)
        if term and kind and " " not in term:
            yield term, kind, value


def _plain_term(text: str) -> str:
    """Return a term's words; empty for a term that is not English."""
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
    """A sentence with one word replaced; in the step ``kind`` both words belong to `kind`."""

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
    """A word of the sentence without its clitic; `before` is the preceding word in lower case."""

    word: str
    start: int
    clitic: str
    first: bool
    before: str

    @property
    def capital(self) -> bool:
        """Return True if the word has a capital that its position does not require."""
        return self.word[:1].isupper() and not self.first and self.word != "I"


@cache
def _words() -> _Words:
    return _Words.model_validate(table("words"))


@cache
def _irregular_singulars() -> Mapping[str, str]:
    return {many.lower(): single.lower() for single, many in _words().irregular_plurals.items()}


def plural(noun: str) -> str:
    """Return the plural of a noun by the table of irregular plurals or the simple rule."""
    words = _words()
    if noun in words.unchanging:
        return noun
    if noun in words.irregular_plurals:
        return words.irregular_plurals[noun]
    if _Y_PLURAL.search(noun):
        return f"{noun[:-1]}ies"
    return f"{noun}es" if _SIBILANT.search(noun) else f"{noun}s"


def _singulars(word: str) -> list[str]:
    """Return the possible singulars of a word, in lower case, without the word itself."""
    low = word.lower()
    guesses = [_irregular_singulars().get(low, "")]
    endings = (("ies", "y"), ("es", ""), ("s", ""))
    guesses += [low.removesuffix(many) + single for many, single in endings if low.endswith(many)]
    return [guess for guess in dict.fromkeys(guesses) if guess and plural(guess).lower() == low]


def distractor_for(
    sentence: str, *, seed: int, rule: DistractorRule = "paper", relations: Relations | None = None
) -> Distractor:
    """Return the distractor of a sentence, which depends only on the arguments.

    Raises:
        InputError: if the sentence contains no word.
    """
    random = Random(seed)
    tokens = _tokens(sentence)
    if not tokens:
        raise InputError(f"{sentence!r}: contains no word to replace for a distractor")
    known = relations or builtin_relations()
    nouns = [token for token in tokens if _is_noun(token, known)]
    by_kind = _by_reference if rule == "reference" else _by_paper
    token, replacement, step, kind = (
        by_kind(nouns, known, random) or _by_pronoun(tokens, random) or _last_resort(tokens, nouns, random)
    )
    if rule == "reference":
        changed = sentence.replace(token.word, replacement, 1)
        return Distractor(changed.capitalize(), token.word, replacement, step, kind)
    word = _match_case(replacement, token)
    end = token.start + len(token.word)
    return Distractor(sentence[: token.start] + word + sentence[end:], token.word, word, step, kind)


_Choice = tuple[_Token, str, Step, str]


def _by_paper(nouns: Sequence[_Token], relations: Relations, random: Random) -> _Choice | None:
    """Pick a random noun and a random other member of its best kind, in the same number."""
    if not nouns:
        return None
    token = random.choice(nouns)
    term, kinds = _term(token, relations)
    if not kinds:
        return None
    kind = max(kinds, key=kinds.__getitem__)
    same = (term, token.word.lower())
    others = [member for member in relations.members[kind] if member.lower() not in same]
    if not others:
        return None
    member = random.choice(others)
    return token, member if term == token.word.lower() else plural(member), "kind", kind


def _by_reference(nouns: Sequence[_Token], relations: Relations, random: Random) -> _Choice | None:
    """Pick the first noun, in random order, with other members of its kinds, and one with the top weight."""
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
    """Return True for a name, or a known word that is not a function word and does not look like a verb."""
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
    """Return the term of a word in singular or plural, and its kinds; names need a capital."""
    low = token.word.lower()
    for term in (low, *_singulars(low)):
        kinds = relations.kinds_of(term)
        names = {kind: weight for kind, weight in kinds.items() if kind in relations.names}
        common = {kind: weight for kind, weight in kinds.items() if kind not in relations.names}
        fitting = names or common if token.capital else common or (names if token.first else {})
        if fitting:
            return term, fitting
    return low, {}


def _match_case(replacement: str, token: _Token) -> str:
    """Return a replacement with the capitalization of the word; the pronoun I is always a capital."""
    if replacement == "i":
        return "I"
    if len(token.word) > 1 and token.word.isupper():
        return replacement.upper()
    if token.first or token.capital:
        return replacement[:1].upper() + replacement[1:] if token.word[:1].isupper() else replacement
    return replacement.lower() if token.word.islower() else replacement
