"""HandMeThat's items, with the household, the human's actions, utterance and meaning; sampling of items.

Askback's item is the published files' episode (spec 10.1). A row of the log contains, in compact form,
all that is needed to play and score it again. It leaves out the texts that the expert reads before each
command, which the environment can recompute.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Annotated, Any, Final, Literal, NamedTuple

from pydantic import (
    Field,
    PlainSerializer,
    PlainValidator,
    SerializerFunctionWrapHandler,
    ValidationInfo,
    model_serializer,
)

from logs.rows import Item, content_hash
from simulator.errors import InputError
from simulator.handmethat.actions import Action
from simulator.handmethat.hierarchy import STATES, hierarchy, kind_as_listed
from simulator.handmethat.meanings.model import QUESTS, Grounding, Meaning, describe
from simulator.handmethat.world import NOTHING, State, World, bit_set, entities, start_state
from simulator.jsonlines import Codec
from simulator.seeds import draw_balanced, draw_strata

Level = Literal[1, 2, 3, 4]
LEVELS: Final[tuple[Level, ...]] = (1, 2, 3, 4)


# ---- a household in a row of the log: entities by name, or by number in long lists


def _write_world(world: World) -> dict[str, Any]:
    table = hierarchy().kinds
    kinds = {
        name: [kind.cls, kind.subclass, list(kind.abilities)]
        for name, kind in zip(world.names, world.kinds, strict=True)
        if table.get(kind.name) != kind
    }
    data: dict[str, Any] = {
        "names": list(world.names),
        "colors": _drop_missing(world.names, world.colors),
        "sizes": _drop_missing(world.names, world.sizes),
    }
    return {**data, "kinds": kinds} if kinds else data


def _drop_missing(names: Sequence[str], values: Sequence[str | None]) -> dict[str, str]:
    return {name: value for name, value in zip(names, values, strict=True) if value is not None}


def _read_world(data: Mapping[str, Any]) -> World:
    names = tuple(data["names"])
    table, listed = hierarchy().kinds, {}
    for name, (cls, subclass, abilities) in data.get("kinds", {}).items():
        listed[name] = kind_as_listed(name.partition("#")[0], cls, subclass, tuple(abilities))
    return World(
        names=names,
        kinds=tuple(listed.get(name) or table[name.partition("#")[0]] for name in names),
        colors=tuple(data["colors"].get(name) for name in names),
        sizes=tuple(data["sizes"].get(name) for name in names),
    )


def _write_state(world: World, state: State) -> dict[str, Any]:
    return {
        "at": world.name(state.at),
        "holding": None if state.holding == NOTHING else world.name(state.holding),
        "places": [state.container(i) for i in range(len(world))],
        "given": list(entities(state.given)),
        "waiting": state.waiting,
        **{name: list(entities(getattr(state, name))) for name in STATES},
    }


def _read_state(data: Mapping[str, Any], world: World) -> State:
    state = start_state(world, data["places"], {name: bit_set(data[name]) for name in STATES})
    holding = NOTHING if data["holding"] is None else world.index[data["holding"]]
    return state._replace(
        at=world.entity(data["at"]), holding=holding, given=bit_set(data["given"]), waiting=data["waiting"]
    )


def _write_actions(world: World, actions: Iterable[Action]) -> list[list[str]]:
    return [[action.name, *map(world.name, action.args)] for action in actions]


def _read_actions(rows: Iterable[Sequence[str]], world: World) -> tuple[Action, ...]:
    return tuple(Action(name, tuple(map(world.entity, args))) for name, *args in rows)


def _read_meaning(triple: Sequence[Any]) -> Meaning:
    quest, description, argument = triple
    return Meaning(quest, describe(description), argument)


def _read_by(read: Callable[..., Any], value: Any, *args: Any) -> Any:
    try:
        return read(value, *args)
    except (KeyError, IndexError, TypeError, AttributeError, InputError) as error:
        raise ValueError(f": {error!r}") from error


def _read_in_world(read: Callable[..., Any]) -> PlainValidator:
    def read_field(value: Any, info: ValidationInfo) -> Any:
        # Without a world, the fault is reported for the world.
        return _read_by(read, value, info.data["world"]) if "world" in info.data else None

    return PlainValidator(read_field)


_NOT_LOGGED: Final = Field(exclude=True)
_MeaningField = Annotated[
    Meaning, PlainValidator(partial(_read_by, _read_meaning)), PlainSerializer(Meaning.to_json)
]
_WorldField = Annotated[World, PlainValidator(partial(_read_by, _read_world)), PlainSerializer(_write_world)]
# States and actions are serialized by `Task`, since they need its world.
_StateField = Annotated[State, _read_in_world(_read_state), _NOT_LOGGED]
_ActionsField = Annotated[tuple[Action, ...], _read_in_world(_read_actions), _NOT_LOGGED]


@dataclass(frozen=True, kw_only=True)
class Task:
    """A HandMeThat item.

    Attributes:
        id: the file's name without ``.json``.
        goal_index: number of the goal's template; None if unknown.
        task_index: running number within goal and quest type; None if unknown.
        initial: the first state.
        current: the state when the human asks: correct, or as given in the file (stale states).
        goal: formula of the goal.
        subgoal: formula of the subgoal that the request serves; None if unknown.
        actions: the T actions of the human before asking.
        solution: the human's complete plan.
        meaning: m; `utterance`: u; `heard`: r, the pragmatic listener's reading of u.
        in_meaning: A(m); `in_utterance`: A(u); `useful`: A(G); `in_heard`: A(r).
        demo: the expert's commands; empty without a demonstration.
        demo_full: the text before each of these commands in full mode; `demo_partial`: in partial mode.
        description: the published rendering of the story and the utterance, if any.
        seed: determines the wording of the utterance.
        profile: the profile it was generated with; ``official`` for a published file.
        listener: the ten likeliest readings with L(m' | u), likeliest first; empty if unknown.
    """

    id: str
    level: Level
    goal_index: int | None
    task_index: int | None
    world: _WorldField
    initial: _StateField
    current: _StateField
    goal: str
    subgoal: str | None
    actions: _ActionsField
    solution: _ActionsField
    meaning: _MeaningField
    utterance: _MeaningField
    heard: _MeaningField
    in_meaning: tuple[Grounding, ...]
    in_utterance: tuple[Grounding, ...]
    useful: tuple[Grounding, ...]
    in_heard: tuple[Grounding, ...]
    demo: tuple[str, ...] = ()
    demo_full: Annotated[tuple[str, ...], _NOT_LOGGED] = ()
    demo_partial: Annotated[tuple[str, ...], _NOT_LOGGED] = ()
    description: str | None = None
    seed: int = 0
    profile: str = "official"
    listener: tuple[tuple[_MeaningField, float], ...] = ()

    @model_serializer(mode="wrap")
    def _with_states(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return {
            **write(self),
            "initial": _write_state(self.world, self.initial),
            "current": _write_state(self.world, self.current),
            "actions": _write_actions(self.world, self.actions),
            "solution": _write_actions(self.world, self.solution),
        }


# ---- the task as a row of the log, from which it can be played and scored again


BENCHMARK: Final = "handmethat"
# An item contains only names; texts are made in the language of the episode.
_LANGUAGE: Final = "en"
_TASKS: Final = Codec[Task](Task)
task_to_row = _TASKS.write


def item_row(task: Task | dict[str, Any]) -> Item:
    """Return a task, or its `task_to_row`, as an item of the log, with the hash of its content."""
    data = task_to_row(task) if isinstance(task, Task) else task
    return Item(hash=content_hash(data), benchmark=BENCHMARK, name=data["id"], language=_LANGUAGE, data=data)


def task_from_row(row: Item | Mapping[str, Any]) -> Task:
    """Return the task of an item of the log, or of the result of `task_to_row`.

    Raises:
        InputError: if the row is malformed.
    """
    try:
        return _TASKS.read(row.data if isinstance(row, Item) else row, "not a HandMeThat item")
    except InputError as error:
        raise InputError(f"{error}; it must come from this log's items") from error


# ---- samples of tasks, and their descriptions in runs, trainings and reports


class Stratum(NamedTuple):
    """The key by which samples of episodes are stratified."""

    level: int
    quest: str
    goal: int | None


def stratum(task: Task) -> Stratum:
    """Return the stratum of a task."""
    return Stratum(task.level, task.meaning.quest, task.goal_index)


def stratum_of(row: Mapping[str, Any]) -> Stratum:
    """Return the stratum of a task, given its `task_to_row`."""
    return Stratum(row["level"], row["meaning"][0], row["goal_index"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """A stratified sample of episodes.

    Attributes:
        limit: largest number of episodes; None: no limit.
        per_level: largest number of episodes per level; None: no limit.
        shares: shares of levels: ``equal``, or ``proportional`` to the data (then `per_level` is ignored).
            Quest types within a level, and templates within these, are always in proportion.
        seed: equal seeds draw equal samples from equal data.
    """

    limit: int | None = None
    per_level: int | None = None
    shares: Literal["equal", "proportional"] = "equal"
    seed: int = 0

    def __post_init__(self) -> None:
        for count in (self.limit, self.per_level):
            if count is not None and count < 1:
                raise InputError(f"limit {count}: must be 1 or more")

    def draw(self, strata: Sequence[Stratum]) -> tuple[int, ...]:
        """Return the indices of the drawn episodes, ascending, given the strata of all."""
        indices = range(len(strata))
        count = len(strata) if self.limit is None else self.limit
        if self.shares == "proportional":
            return draw_strata(indices, count, lambda i: strata[i], self.seed)
        if self.per_level is not None:
            levels = Counter(stratum.level for stratum in strata)
            count = min(count, sum(min(self.per_level, size) for size in levels.values()))
        return draw_balanced(indices, count, lambda i: strata[i].level, lambda i: strata[i][1:], self.seed)

    def to_json(self, population: int) -> dict[str, Any]:
        """Return the sample as JSON for the log; `population`: number of episodes it was drawn from."""
        return {**asdict(self), "population": population}


def makeup(strata: Iterable[Stratum]) -> dict[str, Any]:
    """Return the number of episodes per level and quest type, and the number of known templates."""
    levels, quests, goals = Counter[int](), Counter[str](), set[int | None]()
    for level, quest, goal in strata:
        levels[level] += 1
        quests[quest] += 1
        goals.add(goal)
    return {
        "levels": {level: levels[level] for level in LEVELS if levels[level]},
        "quests": {quest: quests[quest] for quest in QUESTS if quests[quest]},
        "templates": len(goals - {None}),
    }


def describe_sample(episodes: Mapping[str, Any], drawn: Mapping[str, Any]) -> str:
    """Describe the makeup of episodes in one line, and how they were sampled, if they were.

    `drawn`: see `Sample.to_json`; may be empty.
    """
    count, templates = sum(episodes["levels"].values()), episodes["templates"]
    levels = ", ".join(f"{number} of level {level}" for level, number in episodes["levels"].items())
    quests = ", ".join(f"{number} {quest}" for quest, number in episodes["quests"].items())
    text = (
        f"{count} episode{'s'[: count != 1]}: {levels}; {quests}; {templates} template{'s'[: templates != 1]}"
    )
    if not drawn:
        return text
    counts = {"per_level": "of each level", "limit": "in all"}
    parts = [f"{drawn[key]} {unit}" for key, unit in counts.items() if drawn[key] is not None]
    parts.append(f"{drawn['shares']} shares of levels")
    return (
        f"{text}; drawn from {drawn['population']} episodes ({', '.join(parts)}; quest types and templates "
        f"in proportion; seed {drawn['seed']})"
    )
