"""What people say at a desk: forms as judgments of the log, whose count, what is due, what holds."""

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
"""People who judge each thing, if a form does not say otherwise."""


class Form(BaseModel):
    """A person's form on one thing; its fields are the value of a judgment."""

    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True)


class DecidingForm(Form):
    """A form that may end a discussion.

    Attributes:
        decides: whether it does; else it was filled in blind.
    """

    decides: bool = False


FormT = TypeVar("FormT")
ModelT = TypeVar("ModelT", bound=Form)


class DeskFormError(InputError, Generic[ProblemT]):
    """A form from a desk breaks rules; it can be corrected, and nothing is written.

    Attributes:
        problems: every rule that is broken, with the field it is about.
    """

    def __init__(self, problems: Sequence[ProblemT]) -> None:
        super().__init__(" ".join(map(str, problems)))
        self.problems = tuple(problems)


@dataclass(frozen=True, slots=True)
class Opinions(Generic[FormT]):
    """The forms on one thing.

    Attributes:
        blind: rater -> their newest form, raters in the order of their first.
        decided: the newest form that ended a discussion, if one did.
    """

    blind: Mapping[str, FormT] = field(default_factory=dict)
    decided: FormT | None = None
    decider: str = ""

    def settled(self, outcome: Callable[[FormT], Hashable]) -> FormT | None:
        """Return what holds: the form that decides, or the first if all have one outcome; else None."""
        if self.decided is not None:
            return self.decided
        forms = list(self.blind.values())
        return forms[0] if len(set(map(outcome, forms))) == 1 else None

    def differs(self, outcome: Callable[[FormT], Hashable]) -> bool:
        """Return True if raters differ in their outcome and nobody has decided."""
        return bool(self.blind) and self.settled(outcome) is None

    def awaits(self, rater: str, raters: int = RATERS) -> bool:
        """Return True if `rater` is to judge it blind: too few others have, and nobody has decided."""
        return self.decided is None and rater not in self.blind and len(self.blind) < raters


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgingForm(Generic[ModelT]):
    """A form of which every newest one of a person on a thing counts, in the place of their first.

    Attributes:
        kind: of its judgments: the benchmark and what is judged, with a dot between.
        about: what is judged: an item, by its hash, or an episode, by its id.
        source: where the item comes from: the key of the judgment's value that names a run or a data set.
        verb: what people do, for the sentence that asks for their name.
    """

    kind: str
    model: type[ModelT]
    about: Literal["item", "episode"] = "item"
    source: str = "run"
    verb: str = "judges"

    def judgment(self, key: str, rater: str, form: ModelT, *, submission: str, source: str = "") -> Judgment:
        """Return the row that a form makes; nothing is written here.

        Args:
            key: of what is judged.
            rater: whose form it is, by pseudonym.
            form: as it was filled in.
            submission: the same is the same form, however often it is sent.
            source: the run, or the data set, that an item is of.
        """
        of_item = self.about == "item"
        thing = f"{source}/{key}" if of_item else key
        value = form.model_dump(mode="json", by_alias=True)
        return Judgment(
            id=f"{thing}/{self.kind.rpartition('.')[2]}/{rater}/{submission}",
            episode_id=None if of_item else key,
            item_hash=key if of_item else None,
            annotator=rater,
            kind=self.kind,
            value={self.source: source, **value} if of_item else value,
            key=submission,
        )

    def require_name(self, rater: str) -> None:
        """Refuse a form that nobody has put a name to.

        Raises:
            InputError: if the name is empty.
        """
        if not rater.strip():
            raise InputError(f"Say who {self.verb}: a name, or any other pseudonym.", code="nameless")

    def read(self, reader: LogReader, source: str) -> dict[str, Opinions[ModelT]]:
        """Return what was said of the items of a run or data set, by the items' hashes."""
        rows = reader.judgments(kind=self.kind)
        return self.opinions(row for row in rows if row.value.get(self.source) == source)

    def opinions(self, judgments: Iterable[Judgment]) -> dict[str, Opinions[ModelT]]:
        """Return what was said, by item or episode; what people said who have been erased is gone."""
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


def third_decides(
    opinions: Opinions[FormT], outcome: Callable[[FormT], Hashable], raters: int = RATERS
) -> Opinions[FormT]:
    """Return opinions of which those of the first `raters` are blind; where these differ, the next decides.

    That person was shown only what the others differed on; in the log their form is like any other.
    """
    first = Opinions(dict(islice(opinions.blind.items(), raters)))
    others = list(opinions.blind.items())[raters:]
    if not others or not first.differs(outcome):
        return first
    decider, decided = others[0]
    return Opinions(first.blind, decided, decider)


def in_own_order(due: Iterable[T], desk: str, rater: str, key: Callable[[T], str]) -> tuple[T, ...]:
    """Return what somebody is to judge, in an order of their own.

    Each thing has a place of its own, so what remains keeps its order however far others have come.
    """
    return tuple(sorted(due, key=lambda thing: derive_seed(0, desk, rater, key(thing))))


def require_known(values: Iterable[str], known: Sequence[str], noun: str) -> None:
    """Refuse choices that a form does not have.

    Raises:
        InputError: names the first value that is unknown.
    """
    for value in values:
        if value not in known:
            message = f"{value!r} is no {noun}; they are {', '.join(known)}."
            raise InputError(message, code="no_choice", value=value)
