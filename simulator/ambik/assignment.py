"""AmbiK's study settings, and the items that participants get (spec 1, 5, 11).

Every item is a cell, named by the item's id, that ``judgments_per_item`` people see, each at most once. The
participant sits in the seat of the robot, the user or (task annotate) the annotator; ``opposite`` names the
player in the other seat. ::

    benchmark: ambik
    seat: robot
    settings: {task: decide, opposite: offline/item, data: builtin, part: test, items: 24, questions: 1}
    judgments_per_item: 5
    sets_per_participant: 12

A language model opposite plays a method; a conformal method takes its threshold from a calibration run::

    settings: {task: decide, opposite: openai/gpt-4o, method: knowno, calibration: RUN}

Robot and user can be two people, paired::

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
_DEFAULTS: Final[Mapping[str, str]] = {ROBOT: KITCHEN, USER: ITEM}
"""The player opposite unless the settings name another."""


class Settings(StudySettings):
    """AmbiK's ``settings`` in a study file.

    Attributes:
        opposite: the player in the other seat (task decide); default: the item's own answer or the built-in
            robot.
        data: source of the pairs or drafts: ``builtin``, the name of registered data, or a path.
        items: number of items, balanced over types and members, never two of one pair, drawn with the
            study's seed; None: as many as possible.
        options: the actions offered to a person as robot: ``item`` (the data's own, else the built-in
            robot's), ``kitchen`` (the built-in robot's), ``none``, or the name of a run (its options).
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
    """Studies with people as robot, user or annotator."""

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
            InputError: if they are invalid, or the seats do not fit the task.
        """
        settings: Settings = super().read_settings()
        if problem := _settings_problem(self.study.seats, self.study.seat, settings):
            raise InputError(f"study {self.study.id!r}, settings: {problem}")
        return settings

    @property
    def task(self) -> str:
        """The participant's seat, which determines the task; ``pair`` if two people are paired."""
        return self.study.seat or PAIR

    @property
    def seating(self) -> Mapping[str, str]:
        """The player in each seat."""
        if self.settings.task == "annotate":
            return {ANNOTATOR: PERSON}
        people, opposite = self.study.people, self.settings.opposite
        return {seat: PERSON if seat in people else opposite or _DEFAULTS[seat] for seat in (ROBOT, USER)}

    @property
    def rules(self) -> Mapping[str, Any]:
        """The rules that say who can take a seat."""
        rules = {"task": self.settings.task, "method": self.settings.method}
        return {name: value for name, value in rules.items() if value}

    @property
    def needs(self) -> Mapping[str, Needs]:
        """The needs of the method from the model opposite, if that runs on a server."""
        method = self.settings.method
        players = {**self.seating, **self.study.pairing.partner}
        needs: dict[str, Needs] = {}
        for seat, player in players.items():
            if player.startswith(REMOTE):
                needs |= needs_of(method, player) if method and seat == ROBOT else {player: Needs()}
        return needs

    def options(self, place: Place, *, begun: bool) -> Mapping[str, object]:
        """Return the options that the settings give every episode."""
        return self._options

    def all_items(self) -> Sequence[Item]:
        """Return the drafts or tasks, drawn with the study's seed up to the number in the settings."""
        settings, seed = self.settings, derive_seed(self.study.seed, "items")
        # Conditions choose among all items, so none are drawn here.
        number = None if self.study.conditions else settings.items
        if settings.task == "annotate":
            drafts: Sequence[Draft] = load_drafts(settings.data)
            if number is not None:
                drafts = Random(seed).sample(drafts, min(number, len(drafts)))
            return draft_items(drafts)
        pairs = load_pairs(settings.data, settings.part)
        tasks: Sequence[tuple[Pair, Member]]
        if self.study.conditions:
            tasks = [*product((pair for pair in pairs if pair.type in settings.types), settings.members)]
        else:
            tasks = draw_tasks(pairs, settings.types, settings.members, number, seed)
        return tuple(with_options(pair, member, NONE) for pair, member in tasks)

    def choose_items(self, items: Mapping[Cell, Item]) -> Mapping[Cell, Item]:
        """Return the items with the actions offered to a person; those of a run come from the log."""
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
            cell: with_options(item.pair, item.member, source, offers) if isinstance(item, PairItem) else item
            for cell, item in items.items()
        }


def _settings_problem(pair: Sequence[str] | None, seat: str, settings: Settings) -> str:
    """Return what is wrong with the seats, the task or the player opposite; empty if nothing is."""
    name, method = settings.opposite, settings.method
    if pair is not None:
        fits = settings.task == "decide" and {*pair} == {ROBOT, USER}
        if not fits:
            return f"people are paired as {ROBOT} and {USER}, whose task is decide"
        return "opposite: cannot be set where two people are paired" if name else ""
    seats = (ANNOTATOR,) if settings.task == "annotate" else (ROBOT, USER)
    known = ROBOTS if seat == USER else (ITEM,)
    model = seat == USER and bool(name) and not name.startswith(("offline/", "script:"))
    problems = {
        f"task {settings.task} has the seats {', '.join(seats)}, not {seat!r}": seat not in seats,
        f"opposite is {name!r}, but an annotator has no opposite": seat == ANNOTATOR and bool(name),
        "opposite is a person; to pair people, give seats instead of seat": name == PERSON,
        f"opposite is {name!r}; the built-in players are {', '.join(known)}": (
            name.startswith("offline/") and name not in known
        ),
        f"opposite is the model {name!r}; set the method that it plays": model and not method,
        f"method {method} needs calibration: the name of a run": (
            model and method in CONFORMAL and not settings.calibration
        ),
        "method is only for a language model opposite in the robot's seat": (
            bool(method) and not model and seat != ANNOTATOR
        ),
    }
    return next((problem for problem, holds in problems.items() if holds), "")


def episode_options(settings: Settings, reader: LogReader, items: Sequence[Item]) -> dict[str, Any]:
    """Return the options that the settings give every episode."""
    from simulator.ambik.runs import calibrated_on, require_matching  # a list of studies needs no graph

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
        require_matching(reader, run, bare_name(settings.opposite), options)
        threshold, _ = calibrated_on(reader, run, under, items)
    except LogError as error:
        raise InputError(f"calibration {run!r} is not a run ({error})") from error
    return options | {"calibration": calibration_option(threshold)}


def draw_tasks(
    pairs: Sequence[Pair],
    types: Sequence[Ambiguity],
    members: Sequence[Member],
    number: int | None,
    seed: int,
) -> tuple[tuple[Pair, Member], ...]:
    """Draw tasks balanced over types and members as far as possible, never two of one pair.

    A person who has seen the clear member of a pair knows what the ambiguous one means. Without a number, one
    task is drawn from every pair.
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


def with_options(
    pair: Pair, member: Member, source: str = OWN, offers: Mapping[str, tuple[str, ...]] | None = None
) -> PairItem:
    """Return the item of a pair's member, with the actions offered to a person (`Settings.options`).

    Raises:
        InputError: if the run has no options for this item.
    """
    item = PairItem(pair=pair, member=member, part=part_of(pair))
    if source == NONE:
        return item
    if source in (OWN, "kitchen"):
        own = pair.options if source == OWN else ()
        return replace(item, options=own or kitchen_options(item))
    if options := (offers or {}).get(item.id):
        return replace(item, options=options)
    raise InputError(f"options: the run {source!r} has none for the item {item.id}")
