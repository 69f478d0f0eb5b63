"""The desk of a third person, who makes one pair of what annotators left of a draft (spec 11).

A draft needs two annotators. Where they left the same in every field, that is the pair; where all deleted it,
it is deleted; where they differ, somebody who annotated neither decides, with one form more. The newest such
form holds, whoever's it is; it may also correct a pair that annotators agree on.
"""

from __future__ import annotations

import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, ClassVar, Final, Literal

from pydantic import ConfigDict, Field

from logs import LogReader
from simulator.ambik.annotation.agreement import differing
from simulator.ambik.annotation.form import Problem, check_pair_form, errors_of
from simulator.ambik.files.pairs import read_pairs_file, write_pairs_file
from simulator.ambik.forms import read_pair_form
from simulator.ambik.intents import parse_intent
from simulator.ambik.items import BENCHMARK, Draft, DraftItem, Pair, item_from_row
from simulator.ambik.records import PairForm
from simulator.ambik.trial_log import Played, forms_of, played_of
from simulator.errors import InputError
from simulator.judging import DecidingForm, DeskFormError, JudgingForm, Opinions
from simulator.runner.logged import required_run
from simulator.tables.cells import clean
from simulator.whole import file_name

NEEDED: Final = 2
"""Annotators that a draft needs before anybody decides on it."""
State = Literal["open", "due", "agreed", "consolidated", "deleted"]
"""Too few annotators; they differ; they left the same; a third person's; deleted by all or at the desk."""
KEPT: Final = "kept"
"""Named among what annotators differ in where one deleted the row and another did not."""


class PairProblems(DeskFormError[Problem]):
    """A third person's form breaks rules; nothing is written."""


class Decision(DecidingForm):
    """A third person's form, as the log has it: the fields of `forms.read_pair_form`."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="allow")

    decides: bool = Field(default=True, exclude=True)


DECIDING: Final = JudgingForm(kind="ambik.pair", model=Decision, verb="decides")


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A draft at the desk.

    Attributes:
        opinions: of the annotators, the oldest first, and the third person's newest form.
    """

    key: str
    draft: Draft
    opinions: Opinions[PairForm]

    @property
    def forms(self) -> tuple[PairForm, ...]:
        """The forms of the annotators, the oldest first, without who that is."""
        return tuple(replace(form, annotator="") for form in self.opinions.blind.values())

    @property
    def kept(self) -> tuple[Pair, ...]:
        """The pairs of the forms of those who kept the draft."""
        return tuple(form.pair for form in self.forms if form.pair is not None)

    @property
    def differs(self) -> tuple[str, ...]:
        """Fields that annotators did not leave the same, `KEPT` first if only some deleted the row."""
        some_deleted = 0 < len(self.kept) < len(self.opinions.blind)
        return (*((KEPT,) if some_deleted else ()), *differing(self.kept))

    @property
    def decided(self) -> PairForm | None:
        """The third person's newest form, with their name; None before there is one."""
        return self.opinions.decided

    @property
    def state(self) -> State:
        """Return the state that the draft is in."""
        if self.decided is not None:
            return "deleted" if self.decided.pair is None else "consolidated"
        if len(self.opinions.blind) < NEEDED:
            return "open"
        if not self.kept:
            return "deleted"
        return "due" if self.differs else "agreed"

    @property
    def pair(self) -> Pair | None:
        """The pair that holds; None while there is none, or if it was deleted."""
        if self.state not in ("agreed", "consolidated"):
            return None
        return self.decided.pair if self.decided else self.kept[0]


def cases(reader: LogReader, run_id: str) -> tuple[Case, ...]:
    """Return every draft of a run, in the order in which drafts were first given to somebody.

    Raises:
        InputError: if the run has no drafts.
        NotInLog: if there is no such run.
    """
    required_run(reader, run_id, BENCHMARK)
    items = ((row.hash, item_from_row(row)) for row in reader.items(run_id))
    drafts = {key: item.draft for key, item in items if isinstance(item, DraftItem)}
    if not drafts:
        message = f"{run_id} has no drafts that annotators make pairs of."
        raise InputError(message, code="no_drafts", run=run_id)
    played: defaultdict[str, list[Played]] = defaultdict(list)
    for episode in played_of(reader, [run_id]):
        played[episode.episode.item_hash].append(episode)
    decisions = DECIDING.read(reader, run_id)
    return tuple(_case(key, draft, played[key], decisions.get(key)) for key, draft in drafts.items())


def _case(key: str, draft: Draft, played: Sequence[Played], decision: Opinions[Decision] | None) -> Case:
    # Of several forms of one annotator the last counts.
    forms = {form.annotator: form for form in forms_of(played)}
    if decision is None or decision.decided is None:
        return Case(key=key, draft=draft, opinions=Opinions(forms))
    decided = read_pair_form(draft, decision.decided.model_extra or {}, annotator=decision.decider)
    return Case(key=key, draft=draft, opinions=Opinions(forms, decided, decision.decider))


def flow(reader: LogReader, run_id: str) -> dict[str, int]:
    """Return how many drafts a run has, how many are ``annotated`` by two, and of these by state."""
    states = Counter(each.state for each in cases(reader, run_id))
    drafts = states.total()
    counts = {name: states[name] for name in ("due", "agreed", "consolidated", "deleted")}
    return {"drafts": drafts, "annotated": drafts - states["open"], **counts}


def field_text(pair: Pair, name: str) -> str:
    """Return a field of a pair as it is shown and compared word by word; steps are counted from 1."""
    value = getattr(pair, name)
    if value is None:
        return ""
    match name:
        case "step":
            return str(value + 1)
        case "intent":
            return str(value.text)
        case "variants":
            return "\n".join(variant.text for variant in value)
        case "clear_plan" | "ambiguous_plan":
            return "\n".join(value)
    return ", ".join(value) if isinstance(value, tuple) else str(value)


NAME: Final = "{run}-pairs.csv"
_LINES: Final = ("id", "scene", "clear", "indirect", "ambiguous", "question", "answer")


def export_runs(folder: str | Path, reader: LogReader, runs: Iterable[str]) -> Iterator[Path]:
    """Write the pairs of some runs of annotators, each into its own file of a folder, and yield the files."""
    for run in dict.fromkeys(runs):
        path = Path(folder) / NAME.format(run=file_name(run))
        export_cases(path, cases(reader, run))
        yield path


def export_cases(path: str | Path, drafts: Iterable[Case]) -> tuple[Pair, ...]:
    """Write and return the pairs that drafts have become; what annotators left alike must keep the rules.

    Raises:
        InputError: if there is no pair yet, or the file cannot be written.
    """
    pairs = [
        draft.pair
        for draft in drafts
        if draft.pair and (draft.decided or not errors_of(check_pair_form(draft.draft, draft.forms[0])))
    ]
    if not pairs:
        raise InputError(f"{path}: no draft has become a pair yet, so there is nothing to write.")
    return export_pairs(path, pairs)


def export_pairs(path: str | Path, pairs: Iterable[Pair]) -> tuple[Pair, ...]:
    """Write pairs as the published files have them.

    Returns:
        The pairs as they read back: texts cleaned (spec 2.4), options of our own left out.

    Raises:
        InputError: if one would not read back as it is, or the file cannot be written.
    """
    written = tuple(map(cleaned, pairs))
    with tempfile.TemporaryDirectory() as folder:
        read = read_pairs_file(write_pairs_file(Path(folder) / "pairs.csv", written))
    if read.faults:
        raise InputError(f"{path}: {read.faults[0].message}; nothing was written.")
    for pair, back in zip(written, read.rows, strict=True):
        if names := [
            part.name for part in fields(Pair) if getattr(pair, part.name) != getattr(back, part.name)
        ]:
            problem = f"pair {pair.id} would not read back as it is ({', '.join(names)})"
            raise InputError(f"{path}: {problem}; nothing was written.")
    write_pairs_file(path, written)
    return written


def cleaned(pair: Pair) -> Pair:
    """Return a pair as a file can hold it: texts in one line and cleaned, each thing once, no options."""
    changes: dict[str, Any] = {name: _line(getattr(pair, name)) for name in _LINES}
    changes |= {name: tuple(dict.fromkeys(_lines(getattr(pair, name)))) for name in ("objects", "shortlist")}
    changes |= {name: _lines(getattr(pair, name)) for name in ("clear_plan", "ambiguous_plan")}
    intent = pair.intent and parse_intent(_line(pair.intent.text))
    variants = tuple(parse_intent(_line(variant.text)) for variant in pair.variants)
    return replace(pair, **changes, intent=intent, variants=variants, options=())


def _line(text: str) -> str:
    return " ".join(clean(text).split())


def _lines(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(filter(None, map(_line, texts)))
