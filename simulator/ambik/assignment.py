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
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, Final, Literal, get_args

from logs import LogError, LogReader
from simulator.ambik.calibration import calibrated_on, require_fitting
from simulator.ambik.data import BUILTIN, Which, load_drafts, load_pairs
from simulator.ambik.items import DraftItem, Item, PairItem, Task
from simulator.ambik.options import kitchen_options
from simulator.ambik.pairs import Pair
from simulator.ambik.playing import ANNOTATOR, ROBOT, TASKS, USER, calibration_option, settings_option
from simulator.ambik.rows import BENCHMARK
from simulator.ambik.seating import ITEM, KITCHEN, ROBOTS
from simulator.ambik.terms import AMBIGUITIES, CONFORMAL, MEMBERS, METHODS, Ambiguity, Member, Method
from simulator.ambik.trial_log import offered_by, options_of
from simulator.errors import InputError
from simulator.models import Needs
from simulator.models.load import bare_name
from simulator.models.preflight import REMOTE
from simulator.seeds import derive_seed
from simulator.studies import Cell, Study, cell_name, find_studies, quota_of, read_study
from trees import Language

STUDIES: Final = Path(__file__).parent / "studies"
OWN: Final = "item"
NONE: Final = "none"
_OPPOSITE: Final[Mapping[str, str]] = {ROBOT: ITEM, USER: KITCHEN}
_TOP: Final = 5  # alternatives that methods read (`methods.nodes`, which takes a second to import)
_NEEDS: Final[Mapping[str, Needs]] = {
    "knowno": Needs(top_logprobs=_TOP),
    "lap": Needs(top_logprobs=_TOP),
    "lofreecp": Needs(samples=True),
}
_NO_OFFERS: Final[Mapping[str, tuple[str, ...]]] = {}
_KNOWN: Final = (
    *("task", "opposite", "method", "calibration", "data", "part", "members", "types", "items", "options"),
    *("questions", "show_result", "languages"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What AmbiK reads in a study file's ``settings``.

    Attributes:
        task: what people do.
        opposite: who sits in the other seat (task decide): by default the item's own answer or the built-in
            robot.
        method: what a language model opposite plays.
        calibration: the run from which its threshold comes.
        data: where the pairs or drafts come from: ``builtin``, the name of registered data, or a path.
        part: of the pairs.
        members: of the pairs.
        types: of the pairs.
        items: so many of them, balanced over types and members, never two of one pair, drawn by the study's
            seed; None: as many as there are.
        options: what is offered to a person as robot: ``item``: the data's own options, of the built-in
            robot where they have none; ``kitchen``: the built-in robot's; ``none``; or those of a run.
        questions: that are answered at most.
        show_result: whether participants see in the end how they did.
        languages: of the pages; the benchmark's own text is English.
    """

    task: Task
    opposite: str = ""
    method: Method | Literal[""] = ""
    calibration: str = ""
    data: str = BUILTIN
    part: Which = "all"
    members: tuple[Member, ...] = MEMBERS
    types: tuple[Ambiguity, ...] = AMBIGUITIES
    items: int | None = None
    options: str = OWN
    questions: int = 1
    show_result: bool = False
    languages: tuple[Language, ...] = ("en",)

    @classmethod
    def read(cls, study: Study) -> Settings:
        """Out of a study file.

        Raises:
            InputError: names the study, the field and what it can be.
        """
        given: dict[str, Any] = dict(study.settings)
        where = f"study {study.id!r}, settings"
        if unknown := sorted(given.keys() - set(_KNOWN)):
            raise InputError(f"{where}: unknown key {unknown[0]!r}; known: {', '.join(_KNOWN)}")
        if "task" not in given:
            raise InputError(f"{where}: task is missing; it is one of {', '.join(TASKS)}")
        _one_of(where, "task", given["task"], TASKS)
        _one_of(where, "part", given.get("part", "all"), get_args(Which))
        _one_of(where, "method", given.get("method", ""), ("", *METHODS))
        _one_of(where, "show_result", given.get("show_result", False), (True, False))
        for name in ("opposite", "calibration", "data", "options"):
            if not isinstance(given.get(name, ""), str):
                raise InputError(f"{where}: {name} is {given[name]!r}; it must be a name")
        for name, least in (("items", 1), ("questions", 0)):
            value = given.get(name)
            if value is not None and (type(value) is not int or value < least):
                raise InputError(f"{where}: {name} is {value!r}; it must be a whole number from {least}")
        lists = {
            "members": (MEMBERS, MEMBERS),
            "types": (AMBIGUITIES, AMBIGUITIES),
            "languages": ((study.language,), get_args(Language)),
        }
        given |= {name: _several(where, name, given.get(name), *ways) for name, ways in lists.items()}
        found = cls(**{name: value for name, value in given.items() if value is not None})
        _check(where, study.seat, found)
        return found


def _several(
    where: str, name: str, given: object, default: tuple[str, ...], allowed: tuple[str, ...]
) -> tuple[str, ...]:
    values = default if given is None else given if isinstance(given, list) else [given]
    if not values:
        raise InputError(f"{where}: {name} is empty; name some of {', '.join(allowed)}")
    for one in values:
        _one_of(where, name, one, allowed)
    return tuple(dict.fromkeys(map(str, values)))


def _one_of(where: str, name: str, value: object, allowed: Sequence[object]) -> None:
    if value not in allowed:
        known = ", ".join(str(one) for one in allowed if one != "")
        raise InputError(f"{where}: {name} is {value!r}; it must be one of {known}")


def _check(where: str, seat: str, settings: Settings) -> None:
    """Make sure that the seats fit the task, and that a model opposite has something to play."""
    seats = (ANNOTATOR,) if settings.task == "annotate" else (ROBOT, USER)
    if seat not in seats:
        raise InputError(f"{where}: task {settings.task} has the seats {', '.join(seats)}, and not {seat!r}")
    name = settings.opposite
    if settings.task == "annotate":
        if name:
            raise InputError(f"{where}: opposite is {name!r}, but nobody sits opposite an annotator")
        return
    known = ROBOTS if seat == USER else (ITEM,)
    if name == "person":
        raise InputError(f"{where}: opposite is a person; people are paired in free play only")
    if name.startswith("offline/") and name not in known:
        raise InputError(f"{where}: opposite is {name!r}; built in are {', '.join(known)}")
    model = seat == USER and bool(name) and not name.startswith(("offline/", "script:"))
    if model and not settings.method:
        raise InputError(f"{where}: opposite is the model {name!r}; say which method it plays")
    if model and settings.method in CONFORMAL and not settings.calibration:
        raise InputError(f"{where}: method {settings.method} needs a calibration, the name of a run")
    if settings.method and not model:
        raise InputError(f"{where}: method is for a language model in the robot's seat opposite")


@cache
def builtin_studies() -> tuple[Study, ...]:
    """People as robot, as user and as annotators, on the built-in data (studies/*.yaml)."""
    return tuple(read_study(path) for path in find_studies(STUDIES))


def needs_opposite(study: Study) -> Mapping[str, Needs]:
    """Return the server's model that sits opposite the participants, if any, and what is asked of it.

    Raises:
        InputError: if a setting is wrong.
    """
    settings = Settings.read(study)
    if not settings.opposite.startswith(REMOTE):
        return {}
    return {settings.opposite: _NEEDS.get(settings.method, Needs())}


def seats_opposite(study: Study, settings: Settings) -> dict[str, str]:
    """Who sits where."""
    if settings.task == "annotate":
        return {ANNOTATOR: "person"}
    other = USER if study.seat == ROBOT else ROBOT
    seats = {study.seat: "person", other: settings.opposite or _OPPOSITE[study.seat]}
    return {seat: seats[seat] for seat in (ROBOT, USER)}


def episode_options(settings: Settings, reader: LogReader, items: Sequence[Item]) -> dict[str, Any]:
    """What the settings say of every episode.

    Args:
        settings: of the study.
        reader: of the log that holds the calibration run.
        items: of the study.

    Raises:
        InputError: if the calibration run cannot be used: it has to be of the same method and model, and of
            other items.
    """
    if settings.task == "annotate":
        return {"task": "annotate"}
    options: dict[str, Any] = {"task": "decide", "questions": settings.questions}
    if settings.method:
        options["method"] = settings.method
    if settings.method in ("lap", "lofreecp"):
        options["data"] = settings.data
    if not settings.calibration:
        return options
    robot = bare_name(settings.opposite)  # runs name a model without its address
    return options | _calibration(settings.calibration, robot, options, reader, items)


def _calibration(
    run: str, robot: str, options: Mapping[str, Any], reader: LogReader, items: Sequence[Item]
) -> dict[str, Any]:
    """The threshold of a run, and the settings under which it was played: sets are made under the same."""
    try:
        settings = options_of(reader, run).settings
        under = {"settings": settings_option(settings)}
        require_fitting(reader, run, robot, {**options, **under})
        return under | {
            "calibration": calibration_option(calibrated_on(reader, run, settings, items).calibrated)
        }
    except LogError as error:
        raise InputError(f"calibration {run!r} is no run ({error})") from error


def study_items(study: Study, reader: LogReader | None = None) -> dict[Cell, Item]:
    """The items of a study, by their cells: those that its conditions name, else all that its settings say.

    Args:
        study: one of AmbiK's.
        reader: of the log that holds the run whose options are shown; None: such items have no options, as
            is enough to know the cells.

    Raises:
        InputError: if the study is not one of AmbiK's, its data cannot be had, or a condition is none.
    """
    if study.benchmark != BENCHMARK:
        raise InputError(f"study {study.id!r}: benchmark must be {BENCHMARK}, not {study.benchmark}")
    settings = Settings.read(study)
    try:
        found = _wanted(study, {cell_of(item): item for item in _all_items(study, settings)})
        return dict(zip(found, _offered(study, settings, tuple(found.values()), reader), strict=True))
    except InputError as error:
        raise InputError(f"study {study.id!r}: {error}") from error


def _wanted(study: Study, found: Mapping[Cell, Item]) -> Mapping[Cell, Item]:
    """Those that the study's conditions name; all if it has none."""
    if not study.conditions:
        return found
    wanted = [tuple(name.split("/")) for name in study.conditions]
    for cell in wanted:
        if cell not in found:
            known = ", ".join(map(cell_name, list(found)[:3]))
            raise InputError(
                f"there is no condition {cell_name(cell)!r}; conditions are ids of items, such as {known}"
            )
    return {cell: found[cell] for cell in wanted}


def _all_items(study: Study, settings: Settings) -> tuple[Item, ...]:
    # Conditions choose among all items, so nothing is drawn then.
    number = None if study.conditions else settings.items
    seed = derive_seed(study.seed, "items")
    if settings.task == "annotate":
        drafts = load_drafts(settings.data)
        some = drafts if number is None else Random(seed).sample(drafts, min(number, len(drafts)))
        return tuple(DraftItem(draft=draft) for draft in some)
    pairs = load_pairs(settings.data, settings.part)
    if study.conditions:
        chosen = tuple(
            (one, member) for one in pairs if one.type in settings.types for member in settings.members
        )
    else:
        chosen = drawn(pairs, settings.types, settings.members, number, seed)
    return tuple(offering(pair, member, NONE) for pair, member in chosen)


def _offered(
    study: Study, settings: Settings, items: Sequence[Item], reader: LogReader | None
) -> tuple[Item, ...]:
    """The items with what is offered to a person as robot."""
    source, offers = settings.options, _NO_OFFERS
    if source not in (OWN, "kitchen", NONE):
        if study.seat != ROBOT or reader is None:
            return tuple(items)
        offers = _offers(reader, source)
    return tuple(
        offering(one.pair, one.member, source, offers) if isinstance(one, PairItem) else one for one in items
    )


def drawn(
    pairs: Sequence[Pair],
    types: Sequence[Ambiguity],
    members: Sequence[Member],
    number: int | None,
    seed: int,
) -> tuple[tuple[Pair, Member], ...]:
    """Tasks balanced over types and members, as far as the data go; never two of one pair.

    Who has seen the clear member of a pair knows what the ambiguous one means.

    Args:
        pairs: of the data.
        types: wanted.
        members: wanted.
        number: of tasks; None: as many as there are pairs.
        seed: draws them.
    """
    free = {
        kind: [one for one in Random(seed).sample(pairs, len(pairs)) if one.type == kind] for kind in types
    }
    most = sum(map(len, free.values()))
    number = most if number is None else min(number, most)
    found: list[tuple[Pair, Member]] = []
    while len(found) < number:
        for kind in types:
            for member in members:
                if free[kind] and len(found) < number:
                    found.append((free[kind].pop(0), member))
    return tuple(found)


def offering(
    pair: Pair, member: Member, source: str = OWN, offers: Mapping[str, tuple[str, ...]] | None = None
) -> PairItem:
    """The item of a pair's member, with what is offered to a person as robot.

    Args:
        pair: of the data.
        member: of the pair.
        source: ``item``, ``kitchen``, ``none`` or the name of a run.
        offers: of the run, by item id.

    Raises:
        InputError: if the run has no options of this item.
    """
    part: Literal["calibration", "test"] = "test" if pair.take_ambiguous is None else "calibration"
    item = PairItem(pair=pair, member=member, part=part)
    if source == NONE:
        return item
    if source == OWN and pair.options:
        options = pair.options
    elif source in (OWN, "kitchen"):
        options = kitchen_options(item)
    elif (options := (offers or {}).get(item.id, ())) == ():
        raise InputError(f"options: the run {source!r} has none of the item {item.id}")
    return PairItem(pair=pair, member=member, part=part, options=options)


def _offers(reader: LogReader, run: str) -> Mapping[str, tuple[str, ...]]:
    """The options of a run, by item id."""
    try:
        return offered_by(reader, run)
    except LogError as error:
        raise InputError(
            f"options {run!r} is neither {OWN}, kitchen or {NONE} nor a run ({error})"
        ) from error


def cell_of(item: Item) -> Cell:
    """The cell of an item: its id, without what divides a condition's parts."""
    return ("_".join(item.id.replace("/", " ").split()),)


def cells(study: Study) -> tuple[Cell, ...]:
    """The cells of a study, one per item.

    Raises:
        InputError: as `study_items`.
    """
    return tuple(study_items(study))


def check_study(study: Study) -> None:
    """Make sure that AmbiK can hold a study: its settings, its items, its numbers of people.

    Raises:
        InputError: names the study and what is wrong.
    """
    quota_of(study, cells(study))
