"""Judging forms: their rows in the log, the opinions that count, disagreements, and orders of work."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import ClassVar, Final, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict

from logs import LogReader
from logs.rows import Judgment
from simulator.errors import InputError
from simulator.forms import ProblemT
from simulator.seeds import derive_seed

T = TypeVar("T")
RATERS: Final = 2
"""The default number of people who judge each thing."""


class Form(BaseModel):
    """A person's form on one thing; its fields are the value of a judgment."""

    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True)


class DecidingForm(Form):
    """A form that may end a discussion.

    Attributes:
        decides: True if it ends the discussion; otherwise it was filled in blind.
    """

    decides: bool = False


FormT = TypeVar("FormT")
ModelT = TypeVar("ModelT", bound=Form)


class DeskFormError(InputError, Generic[ProblemT]):
    """A form from a desk that breaks rules; it can be corrected, and nothing is written."""

    def __init__(self, problems: Sequence[ProblemT]) -> None:
        super().__init__(" ".join(map(str, problems)))
        self.problems = tuple(problems)


@dataclass(frozen=True, slots=True)
class Opinions(Generic[FormT]):
    """The forms on one thing.

    Attributes:
        blind: rater -> their latest form, in the order of their first forms.
        decided: the latest form that ended a discussion, if any.
    """

    blind: Mapping[str, FormT] = field(default_factory=dict)
    decided: FormT | None = None
    decider: str = ""

    def settled(self, outcome: Callable[[FormT], Hashable]) -> FormT | None:
        """Return the deciding form, or the first form if all have the same outcome; None otherwise."""
        if self.decided is not None:
            return self.decided
        forms = list(self.blind.values())
        return forms[0] if len(set(map(outcome, forms))) == 1 else None

    def differs(self, outcome: Callable[[FormT], Hashable]) -> bool:
        """Return True if raters disagree in their outcomes and nobody has decided."""
        return bool(self.blind) and self.settled(outcome) is None

    def awaits(self, rater: str, raters: int = RATERS) -> bool:
        """Return True if `rater` is to judge it blind: too few others have, and nobody has decided."""
        return self.decided is None and rater not in self.blind and len(self.blind) < raters


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgingForm(Generic[ModelT]):
    """A form of judgments; a person's latest form on a thing counts, in the position of their first.

    Attributes:
        kind: the kind of its judgments: the benchmark and what is judged, separated by a dot.
        about: what is judged: an item, by its hash, or an episode, by its id.
        source: the key of a judgment's value that names the run or data set of an item.
        verb: the verb of the sentence that asks for the person's name.
    """

    kind: str
    model: type[ModelT]
    about: Literal["item", "episode"] = "item"
    source: str = "run"
    verb: str = "judges"

    def judgment(self, key: str, rater: str, form: ModelT, *, submission: str, source: str = "") -> Judgment:
        """Return the log row of a form; nothing is written here."""
        is_item = self.about == "item"
        thing = f"{source}/{key}" if is_item else key
        value = form.model_dump(mode="json", by_alias=True)
        return Judgment(
            id=f"{thing}/{self.kind.rpartition('.')[2]}/{rater}/{submission}",
            episode_id=None if is_item else key,
            item_hash=key if is_item else None,
            annotator=rater,
            kind=self.kind,
            value={self.source: source, **value} if is_item else value,
            key=submission,
        )

    def require_name(self, rater: str) -> None:
        """Refuse a form without a rater's name.

        Raises:
            InputError: if the name is empty.
        """
        if not rater.strip():
            raise InputError(f"Say who {self.verb}: a name, or any other pseudonym.", code="nameless")

    def read(self, reader: LogReader, source: str) -> dict[str, Opinions[ModelT]]:
        """Return the opinions on the items of a run or data set, by the items' hashes."""
        rows = reader.judgments(kind=self.kind)
        return self.opinions(row for row in rows if row.value.get(self.source) == source)

    def opinions(self, judgments: Iterable[Judgment]) -> dict[str, Opinions[ModelT]]:
        """Return the opinions by item or episode, without those of erased people."""
        blind: dict[str, dict[str, ModelT]] = {}
        deciding: dict[str, tuple[ModelT, str]] = {}
        for row in judgments:
            key = row.item_hash if self.about == "item" else row.episode_id
            if row.kind != self.kind or key is None or row.value.get("erased"):
                continue
            form = self.model.model_validate(row.value)
            if isinstance(form, DecidingForm) and form.decides:
                deciding[key] = (form, row.annotator)
            else:
                blind.setdefault(key, {})[row.annotator] = form
        keys = dict.fromkeys((*blind, *deciding))
        return {key: Opinions(blind.get(key, {}), *deciding.get(key, (None, ""))) for key in keys}


def with_third_rater(
    opinions: Opinions[FormT], outcome: Callable[[FormT], Hashable], raters: int = RATERS
) -> Opinions[FormT]:
    """Return opinions in which the first `raters` are blind and, if they disagree, the next rater decides.

    The next rater was shown only things on which the others disagreed; their log row is like any other.
    """
    first = Opinions(dict(islice(opinions.blind.items(), raters)))
    others = list(opinions.blind.items())[raters:]
    if not others or not first.differs(outcome):
        return first
    decider, decided = others[0]
    return Opinions(first.blind, decided, decider)


def rater_order(due: Iterable[T], desk: str, rater: str, key: Callable[[T], str]) -> tuple[T, ...]:
    """Return the things that a rater is to judge, in an order specific to the rater.

    Each thing's position is fixed, so the remaining things keep their order as others make progress.
    """
    return tuple(sorted(due, key=lambda thing: derive_seed(0, desk, rater, key(thing))))


def require_known(values: Iterable[str], known: Sequence[str], noun: str) -> None:
    """Refuse unknown choices.

    Raises:
        InputError: names the first unknown value.
    """
    for value in values:
        if value not in known:
            message = f"{value!r} is not a {noun}; choose from {', '.join(known)}."
            raise InputError(message, code="no_choice", value=value)
