"""What linguists said in a run of the log, example by example (spec 3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final
from weakref import WeakKeyDictionary

from logs import LogReader
from logs.rows import Turn
from simulator.ambient.annotation.linguists import WorkerAnnotation
from simulator.ambient.annotation.rules import read_annotation
from simulator.ambient.examples import Example
from simulator.ambient.items import AnnotateItem
from simulator.ambient.rows import BENCHMARK, item_from_row
from simulator.ambient.trial_log import Played, played_of
from simulator.ambient.views import Annotation
from simulator.errors import InputError

NEEDED: Final = 2
"""Annotations that an example needs before anybody consolidates it."""

# Validators ask for the same run after every form of theirs, and reading thousands of episodes takes seconds.
_KEPT: Final[WeakKeyDictionary[LogReader, dict[str, tuple[tuple[int, ...], dict[str, Annotated]]]]] = (
    WeakKeyDictionary()
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """One linguist's form.

    Attributes:
        worker: a person's pseudonym, or who else sat there.
        seconds: from seeing the example to submitting; None if it is not known.
        merged: whether its rewrites are those of all linguists together, which a published row does not
            attribute (spec 3); they stand with the first alone because they have to stand somewhere.
    """

    episode_id: str
    worker: str
    annotation: Annotation
    seconds: float | None
    merged: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Annotated:
    """An example of a run with all forms on it, the oldest first.

    Attributes:
        key: names it in the log: its item's hash.
    """

    key: str
    example: Example
    forms: tuple[Form, ...] = ()

    @property
    def dropped(self) -> bool:
        """Whether a linguist discarded it."""
        return any(form.annotation.discard is not None for form in self.forms)

    @property
    def complete(self) -> bool:
        """Whether it has the annotations that it needs."""
        return len(self.forms) >= NEEDED


def annotated(reader: LogReader, run_id: str) -> dict[str, Annotated]:
    """Return the examples of a run by key, in the order in which they were first given to somebody.

    Forms count as in `trial_log.linguist_records`, but of one person on one example the newest alone.

    Raises:
        InputError: if the run has no such examples.
        NotInLog: if there is no such run.
    """
    state = _state(reader, reader.run(run_id).id)
    kept = _KEPT.setdefault(reader, {})
    if run_id not in kept or kept[run_id][0] != state:
        kept[run_id] = (state, _read(reader, run_id))
    return dict(kept[run_id][1])


def _state(reader: LogReader, run_id: str) -> tuple[int, ...]:
    """Return what is another as soon as a form has come or gone: forms count once their episode has ended."""
    with reader.connection() as connection:
        counts = connection.execute(
            "SELECT count(*), (SELECT count(*) FROM endings WHERE episode_id IN "
            "(SELECT id FROM episodes WHERE run_id = :run)) FROM episodes WHERE run_id = :run",
            {"run": run_id},
        ).fetchone()
    return *map(int, counts), hash(reader.erased_participants())


def _read(reader: LogReader, run_id: str) -> dict[str, Annotated]:
    rows = [row for row in reader.items(run_id) if row.benchmark == BENCHMARK]
    items = {row.hash: item_from_row(row) for row in rows}
    examples = {key: item.example for key, item in items.items() if isinstance(item, AnnotateItem)}
    if not examples:
        raise InputError(
            f"{run_id} has no examples that linguists annotate: run the task annotate first.",
            code="not_annotated",
            run=run_id,
        )
    forms: dict[str, list[Form]] = {key: [] for key in examples}
    for played in played_of(reader, [run_id]):
        turn = next((turn for turn in played.turns if turn.payload.get("kind") == "annotate"), None)
        if turn is None or (key := played.episode.item_hash) not in forms:
            continue
        person = played.episode.participant_id
        others = [form for form in forms[key] if person is None or form.worker != person]
        forms[key] = [*others, _form(played, turn)]
    return {
        key: Annotated(key=key, example=example, forms=tuple(forms[key])) for key, example in examples.items()
    }


def worker_forms(reader: LogReader, run_id: str) -> tuple[WorkerAnnotation, ...]:
    """Return every form of a run, for `linguists.worker_statistics`.

    Raises:
        InputError: as for `annotated`.
    """
    forms = [form for example in annotated(reader, run_id).values() for form in example.forms]
    return tuple(
        WorkerAnnotation(
            form.worker, form.annotation.labels, form.annotation.discard is not None, form.seconds
        )
        for form in forms
    )


def _form(played: Played, turn: Turn) -> Form:
    return Form(
        episode_id=played.episode.id,
        worker=played.annotator,
        annotation=read_annotation(turn.payload),
        seconds=turn.seconds,
        merged=bool(turn.payload.get("merged")),
    )
