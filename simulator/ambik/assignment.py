"""From a study file to its cells, and from a participant's place to their item (spec 1, 5, 11).

Every item is a condition of its own, which so many people see (``judgments_per_item``), and nobody twice. A
cell is the item's id. The participant's seat is the robot's, the user's or (task annotate) the annotator's;
``opposite`` says who sits in the other one. ::

    benchmark: ambik
    seat: robot
    settings: {task: decide, opposite: offline/item, data: builtin, part: test, items: 24, questions: 1}
    judgments_per_item: 5
    sets_per_participant: 12

A language model opposite plays a method; conformal ones take their threshold from a calibration run::

    settings: {task: decide, opposite: openai/gpt-4o, method: knowno, calibration: RUN}

Robot and user can be two people who are paired::

    seats: [robot, user]
    setup: H2H
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import cycle, product
from random import Random
from typing import Any, Final, Literal

from pydantic import NonNegativeInt, PositiveInt

from logs import LogError, LogReader
from simulator.ambik.data import BUILTIN, Which, load_drafts, load_pairs
from simulator.ambik.files.pairs import part_of
from simulator.ambik.items import BENCHMARK, Draft, Item, Pair, PairItem, Task
from simulator.ambik.kitchen.reasoning import kitchen_options
from simulator.ambik.methods import needs_of
from simulator.ambik.players import ITEM, KITCHEN, ROBOTS
from simulator.ambik.playing import ANNOTATOR, ROBOT, USER, calibration_option
from simulator.ambik.selection import draft_items
from simulator.ambik.terms import AMBIGUITIES, CONFORMAL, MEMBERS, Ambiguity, Member, Method, settings_option
from simulator.ambik.trial_log import offered_by, options_of
from simulator.errors import InputError
from simulator.models import Needs
from simulator.models.load import bare_name
from simulator.models.preflight import REMOTE
from simulator.runner.lobby import PERSON
from simulator.seeds import derive_seed
from simulator.studies import Cell, Place, Study
from simulator.studies.material import PAIR, ItemStudy
from simulator.studies.parts import Several, StudySettings

OWN: Final = "item"
NONE: Final = "none"
_USUAL: Final[Mapping[str, str]] = {USER: ITEM, ROBOT: KITCHEN}
"""The player opposite unless the settings name another."""


class Settings(StudySettings):
    """AmbiK's part of a study file: its ``settings``.

    Attributes:
        opposite: who sits in the other seat (task decide): by default the item's own answer or the built-in
            robot.
        method: what a language model opposite plays.
        calibration: the run from which its threshold comes.
        data: where the pairs or drafts come from: ``builtin``, the name of registered data, or a path.
        types: of the pairs.
        items: so many of them, balanced over types and members, never two of one pair, drawn by the study's
            seed; None: as many as there are.
        options: what is offered to a person as robot: ``item``: the data's own options, of the built-in
            robot where they have none; ``kitchen``: the built-in robot's; ``none``; or those of a run.
    """

    task: Task
    opposite: str = ""
    method: Method | Literal[""] = ""
    calibration: str = ""
    data: str = BUILTIN
    part: Which = "all"
    members: Several[Member] = MEMBERS
    types: Several[Ambiguity] = AMBIGUITIES
    items: PositiveInt | None = None
    options: str = OWN
    questions: NonNegativeInt = 1


class KitchenStudy(ItemStudy[Settings]):
    """People as robot or user opposite somebody, or as annotators."""

    benchmark = BENCHMARK
    seats = (ROBOT, USER, ANNOTATOR)
    reads = Settings

    def __init__(self, study: Study, reader: LogReader | None = None) -> None:
        super().__init__(study, reader)
        if reader is not None:
            self._options = episode_options(self.settings, reader, tuple(self.items.values()))

    def read_settings(self) -> Settings:
        """Read the settings.

        Raises:
            InputError: also if the seats do not fit the task.
        """
        settings: Settings = super().read_settings()
        if problem := _misfit(self.study.seats, self.study.seat, settings):
            raise InputError(f"study {self.study.id!r}, settings: {problem}")
        return settings

    @property
    def task(self) -> str:
        """The participant's seat, from which it follows what they do; of people who are paired, ``pair``."""
        return self.study.seat or PAIR

    @property
    def seating(self) -> Mapping[str, str]:
        """Return who sits where."""
        if self.settings.task == "annotate":
            return {ANNOTATOR: PERSON}
        people, opposite = self.study.people, self.settings.opposite
        return {seat: PERSON if seat in people else opposite or _USUAL[seat] for seat in (ROBOT, USER)}

    @property
    def needs(self) -> Mapping[str, Needs]:
        """Return what the method needs of the model opposite, if it is a server's."""
        method = self.settings.method
        sits = {**self.seating, **self.study.pairing.partner}
        remote = [(seat, who) for seat, who in sits.items() if who.startswith(REMOTE)]
        needs: dict[str, Needs] = {}
        for seat, who in remote:
            needs |= needs_of(method, who) if method and seat == ROBOT else {who: Needs()}
        return needs

    def options(self, place: Place, *, begun: bool) -> Mapping[str, object]:
        """Return what the settings say of every episode."""
        return self._options

    def all_items(self) -> Sequence[Item]:
        """Return the drafts or tasks; so many as the settings say, drawn by the study's seed."""
        settings, seed = self.settings, derive_seed(self.study.seed, "items")
        # Conditions choose among all items, so nothing is drawn then.
        number = None if self.study.conditions else settings.items
        if settings.task == "annotate":
            drafts: Sequence[Draft] = load_drafts(settings.data)
            if number is not None:
                drafts = Random(seed).sample(drafts, min(number, len(drafts)))
            return draft_items(drafts)
        pairs = load_pairs(settings.data, settings.part)
        tasks: Sequence[tuple[Pair, Member]]
        if self.study.conditions:
            of_types = (pair for pair in pairs if pair.type in settings.types)
            tasks = [*product(of_types, settings.members)]
        else:
            tasks = drawn(pairs, settings.types, settings.members, number, seed)
        return tuple(offering(pair, member, NONE) for pair, member in tasks)

    def taken(self, items: Mapping[Cell, Item]) -> Mapping[Cell, Item]:
        """Return the items with what is offered to a person as robot; that of a run is in the log."""
        source, offers = self.settings.options, dict[str, tuple[str, ...]]()
        if source not in (OWN, "kitchen", NONE):
            if ROBOT not in self.study.people or self.reader is None:
                return items
            try:
                offers = offered_by(self.reader, source)
            except LogError as error:
                known = f"{OWN}, kitchen or {NONE}"
                raise InputError(f"options {source!r} is neither {known} nor a run ({error})") from error
        return {
            cell: offering(item.pair, item.member, source, offers) if isinstance(item, PairItem) else item
            for cell, item in items.items()
        }


def _misfit(pair: Sequence[str] | None, seat: str, settings: Settings) -> str:
    """Return why seats and task do not fit, or a model opposite has nothing to play; empty if all is well."""
    name, method = settings.opposite, settings.method
    if pair is not None:
        fits = settings.task == "decide" and {*pair} == {ROBOT, USER}
        if not fits:
            return f"people are paired as {ROBOT} and {USER}, whose task is decide"
        return "opposite: nobody else takes part where people are paired" if name else ""
    seats = (ANNOTATOR,) if settings.task == "annotate" else (ROBOT, USER)
    known = ROBOTS if seat == USER else (ITEM,)
    model = seat == USER and bool(name) and not name.startswith(("offline/", "script:"))
    problems = {
        f"task {settings.task} has the seats {', '.join(seats)}, and not {seat!r}": seat not in seats,
        f"opposite is {name!r}, but nobody sits opposite an annotator": seat == ANNOTATOR and bool(name),
        "opposite is a person; people are paired with seats in place of seat": name == PERSON,
        f"opposite is {name!r}; built in are {', '.join(known)}": (
            name.startswith("offline/") and name not in known
        ),
        f"opposite is the model {name!r}; say which method it plays": model and not method,
        f"method {method} needs a calibration, the name of a run": (
            model and method in CONFORMAL and not settings.calibration
        ),
        "method is for a language model in the robot's seat opposite": (
            bool(method) and not model and seat != ANNOTATOR
        ),
    }
    return next((problem for problem, holds in problems.items() if holds), "")


def episode_options(settings: Settings, reader: LogReader, items: Sequence[Item]) -> dict[str, Any]:
    """Return what the settings say of every episode."""
    from simulator.ambik.runs import calibrated_on, require_fitting  # a list of studies needs no graph

    if settings.task == "annotate":
        return {"task": "annotate"}
    options: dict[str, Any] = {"task": "decide", "questions": settings.questions}
    if settings.method:
        options["method"] = settings.method
    if settings.method in ("lap", "lofreecp"):
        options["data"] = settings.data
    if not (run := settings.calibration):
        return options
    try:
        under = options_of(reader, run).settings
        options["settings"] = settings_option(under)
        # Runs name a model without its address.
        require_fitting(reader, run, bare_name(settings.opposite), options)
        threshold, _ = calibrated_on(reader, run, under, items)
    except LogError as error:
        raise InputError(f"calibration {run!r} is no run ({error})") from error
    return options | {"calibration": calibration_option(threshold)}


def drawn(
    pairs: Sequence[Pair],
    types: Sequence[Ambiguity],
    members: Sequence[Member],
    number: int | None,
    seed: int,
) -> tuple[tuple[Pair, Member], ...]:
    """Return tasks balanced over types and members, as far as the data go; never two of one pair.

    Who has seen the clear member of a pair knows what the ambiguous one means. Without a number there are as
    many as pairs.
    """
    shuffled = Random(seed).sample(pairs, len(pairs))
    free = {kind: [pair for pair in shuffled if pair.type == kind] for kind in types}
    most = sum(map(len, free.values()))
    tasks: list[tuple[Pair, Member]] = []
    for kind, member in cycle(product(types, members)):
        if len(tasks) >= (most if number is None else min(number, most)):
            break
        if free[kind]:
            tasks.append((free[kind].pop(0), member))
    return tuple(tasks)


def offering(
    pair: Pair, member: Member, source: str = OWN, offers: Mapping[str, tuple[str, ...]] | None = None
) -> PairItem:
    """Return the item of a pair's member, with what a person as robot is offered (`Settings.options`).

    Raises:
        InputError: if the run has no options of this item.
    """
    item = PairItem(pair=pair, member=member, part=part_of(pair))
    if source == NONE:
        return item
    if source in (OWN, "kitchen"):
        own = pair.options if source == OWN else ()
        return replace(item, options=own or kitchen_options(item))
    if options := (offers or {}).get(item.id):
        return replace(item, options=options)
    raise InputError(f"options: the run {source!r} has none of the item {item.id}")
