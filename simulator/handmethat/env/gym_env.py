"""HandMeThat as a Gymnasium environment: ``gymnasium.make("askback/HandMeThat-v0", tasks=…)`` (spec 9).

`HandMeThat` only keeps the current state; the rules are in `Game`.
`StructuredObserver` gives the robot's view as arrays, one row per entity, for networks without text.
"""

from __future__ import annotations

import string
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, get_args

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from simulator.errors import InputError
from simulator.handmethat.data import task_source
from simulator.handmethat.env.commands import LONGEST_COMMAND
from simulator.handmethat.env.game import LIMIT, CommandList, Costs, Game, GameState, Outcome
from simulator.handmethat.env.observe import Mode, visible
from simulator.handmethat.env.scripts import expert_commands
from simulator.handmethat.hierarchy import STATES, hierarchy
from simulator.handmethat.items import Task
from simulator.handmethat.world import HUMAN, BitSet, State, World
from trees import Language

# More than any household that the rules of sampling allow.
MOST_ENTITIES: Final = 448
_FIRST: Final = State._fields.index(STATES[0])
_NOWHERE: Final = 255
Arrays = dict[str, Any]


def structured_space(task: spaces.Space[str]) -> spaces.Dict:
    """Return the space of `StructuredObserver.arrays`, and ``task`` for the task description.

    Rows are entities in the order of creation; rows of invisible entities and unused rows are 0
    (``place``: -1). ``kind`` is 1 + the type's number in tables/objects.yaml, ``color`` and ``size`` 1 + the
    value's number, ``states`` one column per state, ``place`` the row of the container or -1 for none,
    ``given`` what the human holds. ``at`` is the row of the robot's location, or `MOST_ENTITIES` at the
    human; ``holding`` the row of the thing it holds, or `MOST_ENTITIES` for none.
    """
    n, table = MOST_ENTITIES, hierarchy()
    return spaces.Dict(
        {
            "kind": spaces.Box(0, len(table.kinds), (n,), np.int16),
            "color": spaces.Box(0, len(table.colors), (n,), np.int8),
            "size": spaces.Box(0, len(table.sizes), (n,), np.int8),
            "states": spaces.Box(0, 1, (n, len(STATES)), np.int8),
            "place": spaces.Box(-1, n - 1, (n,), np.int16),
            "visible": spaces.Box(0, 1, (n,), np.int8),
            "given": spaces.Box(0, 1, (n,), np.int8),
            "at": spaces.Discrete(n + 1),
            "holding": spaces.Discrete(n + 1),
            "task": task,
        }
    )


class StructuredObserver:
    """Views of one household as arrays.

    Raises:
        InputError: if the household has more than `MOST_ENTITIES` entities.
    """

    def __init__(self, world: World, mode: Mode, *, quirk: bool = False) -> None:
        if len(world) > MOST_ENTITIES:
            raise InputError(
                f"The household has {len(world)} entities; structured observations allow {MOST_ENTITIES}."
            )
        self._world, self._mode, self._quirk = world, mode, quirk
        table = hierarchy()
        kinds, colors, sizes = map(number_names, (table.kinds, table.colors, table.sizes))
        self._constant: dict[str, NDArray[Any]] = {
            "kind": _pad([kinds.get(kind.name, 0) for kind in world.kinds], np.int16),
            "color": _pad([colors.get(value or "", 0) for value in world.colors], np.int8),
            "size": _pad([sizes.get(value or "", 0) for value in world.sizes], np.int8),
        }

    def arrays(self, state: State) -> Arrays:
        """Return the arrays of `structured_space`, without ``task``."""
        seen = _array(visible(self._world, state, self._mode, quirk=self._quirk))
        place = np.full(MOST_ENTITIES, -1, np.int16)
        containers, count = np.frombuffer(state.place, np.uint8).astype(np.int16), len(self._world)
        place[:count] = np.where((containers == _NOWHERE) | (seen[:count] == 0), -1, containers)
        bits: tuple[BitSet, ...] = state[_FIRST : _FIRST + len(STATES)]  # type: ignore[assignment]
        arrays: Arrays = {key: values * seen.astype(values.dtype) for key, values in self._constant.items()}
        return arrays | {
            "states": np.stack([_array(field) for field in bits], axis=1) * seen[:, None],
            "place": place,
            "visible": seen,
            "given": _array(state.given) * seen,
            "at": np.int64(MOST_ENTITIES if state.at == HUMAN else state.at),
            "holding": np.int64(MOST_ENTITIES if state.holding < 0 else state.holding),
        }


def _array(bits: BitSet) -> NDArray[np.int8]:
    """Return a bit set as an array of 0 and 1, `MOST_ENTITIES` long."""
    raw = np.frombuffer(bits.to_bytes(MOST_ENTITIES // 8, "little"), np.uint8)
    return np.unpackbits(raw, bitorder="little").astype(np.int8)


def _pad(values: Sequence[int], dtype: type[np.int8] | type[np.int16]) -> NDArray[Any]:
    array = np.zeros(MOST_ENTITIES, dtype)
    array[: len(values)] = values
    return array


def number_names(names: Iterable[str]) -> dict[str, int]:
    """Return name -> 1 + its index among the distinct names."""
    return {name: number for number, name in enumerate(dict.fromkeys(names), start=1)}


GIVE_UP: Final = "stop"
_LONGEST_TEXT: Final = 65_536
_GAME_CACHE_SIZE: Final = 16
_CHINESE: Final = "".join(map(chr, (*range(0x2010, 0x2027), *range(0x3000, 0x3020), *range(0x4E00, 0xA000))))
_FULL_WIDTH: Final = "".join(map(chr, range(0xFF01, 0xFF5F)))

Observation = Literal["text", "structured"]


class _Prepared(NamedTuple):
    game: Game
    demo: tuple[str, ...]
    arrays: StructuredObserver | None


class HandMeThat(gymnasium.Env[Any, str]):
    """An environment in which a robot helps a human in a household.

    An action is a command in words. An observation is a text: the opening, then a confirmation of each
    command (the view is in ``info``); or, if structured, a dictionary of arrays (`structured_space`).

    A command that begins with ``question:`` asks the human. It costs 10 points for each thing that it names
    or asks for, including alternatives and conditions, and 30 for a complete description; a question that
    names more than five things is not answered (tables/questions.yaml). A command that is longer than
    `action_space` allows is invalid.

    ``info`` contains ``look`` (the view), ``inv`` (what the robot holds, and the task), ``valid`` (commands),
    ``moves``, ``score`` (running sum), ``paper_score`` (with the fixed score of failures),
    ``question_cost``, ``next_expert_action`` (by number of moves, regardless of the robot's commands;
    ``stop`` after the last), ``success``, ``kind`` and ``error`` of the last command, ``task`` (its id) and
    ``level``. Texts are empty without `render_text`.

    Args:
        tasks: see `data.task_source`; the built-in ones by default.
        split: a part of a folder with a split file.
        mode: what the robot sees: ``partial`` or ``full``.
        limit: number of commands after which an episode is truncated.
        observation: ``text`` or ``structured``.
        commands: the list in ``info``: ``listed``, ``strict``, or None for no list.
        extended: also list look, inventory, help and the questions.
        reference: follow the published program: its text (B15), no lids of empty receptacles in the list
            (B11), lids at the current place hide things in full mode (12.1 #25).
        append_view: append the view to the observation (12.1 #26).
        costs: costs and rewards in points.
        shaping: add to the reward 10 times the number of commands of the demonstration followed so far, each
            time the robot follows the next one (9.5); the score does not change.
        language: language of texts.
        render_text: whether texts are made; a step without them is several times faster.
        render_mode: ``ansi``: `render` returns the last observation and the view.
    """

    metadata: dict[str, Any] = {"render_modes": ["ansi"], "render_fps": 1}  # noqa: RUF012

    def __init__(
        self,
        tasks: str | Path | Task | Sequence[Task] = "builtin",
        *,
        split: str | None = None,
        mode: Mode = "partial",
        limit: int = LIMIT,
        observation: Observation = "text",
        commands: CommandList | None = "listed",
        extended: bool = False,
        reference: bool = False,
        append_view: bool = False,
        costs: Costs | None = None,
        shaping: bool = False,
        language: Language = "en",
        render_text: bool = True,
        render_mode: str | None = None,
    ) -> None:
        for name, value, allowed in (
            ("mode", mode, get_args(Mode)),
            ("observation", observation, get_args(Observation)),
            ("commands", commands, (*get_args(CommandList), None)),
            ("language", language, get_args(Language)),
            ("render_mode", render_mode, (*self.metadata["render_modes"], None)),
        ):
            if value not in allowed:
                raise InputError(f"{name} {value!r}: must be one of {', '.join(map(repr, allowed))}")
        if limit < 1:
            raise InputError(f"limit {limit}: must be 1 or more")
        self._source = task_source(tasks, split)
        self._mode, self._reference, self._append_view, self._shaping = mode, reference, append_view, shaping
        self._game_options: dict[str, Any] = {
            **{"mode": mode, "limit": limit, "costs": costs, "language": language, "text": render_text},
            **{"style": "reference" if reference else "readable", "quirk": reference},
        }
        self._commands, self._extended, self._text = commands, extended, render_text
        self._structured = observation == "structured"
        self.render_mode = render_mode
        text, command = _text_spaces(language)
        self.action_space = command
        self.observation_space = structured_space(text) if self._structured else text
        self._prepared: OrderedDict[str, _Prepared] = OrderedDict()
        self._current: _Prepared | None = None
        self._state: GameState | None = None
        self._followed = 0
        self._last_text = ""

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin an episode.

        `options`: ``task``: a `Task`, a task's id, or its number; by default drawn uniformly.

        Raises:
            InputError: if the task does not exist.
        """
        super().reset(seed=seed)
        task = self._choose((options or {}).get("task"))
        self._current = self._prepare(task)
        game = self._current.game
        self._state, self._followed = game.start(), 0
        self._last_text = game.opening() if self._text else ""
        return self._observation(), self._info("", None)

    def step(self, action: str) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Execute a command; an invalid one, or one longer than `action_space` allows, only costs points.

        Raises:
            ValueError: if the episode is over.
        """
        (game, demo, _), before = self._require_episode()
        outcome = game.act(before, action)
        self._state = outcome.game
        self._last_text = outcome.observation
        if self._append_view and self._text and not outcome.done:
            separator = " " if self._reference else "\n"
            self._last_text = f"{outcome.observation}{separator}{game.look(outcome.game)}"
        reward = float(outcome.reward + self._bonus(game, demo, outcome))
        terminated = outcome.game.success or outcome.game.stopped
        info = self._info(outcome.kind, outcome.error)
        return self._observation(), reward, terminated, outcome.game.truncated, info

    def render(self) -> str | None:
        """Return the last observation and the view; None unless the mode is ``ansi``."""
        if self.render_mode != "ansi":
            return None
        (game, _, _), state = self._require_episode()
        return f"{self._last_text}\n{game.look(state)}".strip()

    @property
    def game(self) -> Game:
        """The rules and words of the current episode."""
        return self._require_episode()[0].game

    def _require_episode(self) -> tuple[_Prepared, GameState]:
        if self._current is None or self._state is None:
            raise gymnasium.error.ResetNeeded("Call reset before step or render.")
        return self._current, self._state

    def _choose(self, task: Task | str | int | None) -> Task:
        if isinstance(task, Task):
            return task
        if isinstance(task, str):
            return self._source.named(task)
        count = len(self._source)
        if task is None:
            return self._source.task(int(self.np_random.integers(count)))
        if not 0 <= task < count:
            raise InputError(f"options task {task}: the tasks are numbered 0 to {count - 1}")
        return self._source.task(task)

    def _prepare(self, task: Task) -> _Prepared:
        """Return the game, demonstration and observer of a task, cached for the texts they keep."""
        prepared = self._prepared.get(task.id)
        if prepared is None or prepared.game.task is not task:
            game = Game(task, **self._game_options)
            demo = task.demo or expert_commands(task, task.seed) or ()
            arrays = (
                StructuredObserver(task.world, self._mode, quirk=self._reference)
                if self._structured
                else None
            )
            prepared = _Prepared(game, tuple(map(game.command_text, demo)), arrays)
            self._prepared[task.id] = prepared
            if len(self._prepared) > _GAME_CACHE_SIZE:
                self._prepared.popitem(last=False)
        return prepared

    def _bonus(self, game: Game, demo: tuple[str, ...], outcome: Outcome) -> int:
        if not self._shaping or self._followed >= len(demo):
            return 0
        if outcome.command != game.reader.read(demo[self._followed]):
            return 0
        self._followed += 1
        return 10 * self._followed

    def _observation(self) -> Any:
        (game, _, arrays), now = self._require_episode()
        if arrays is None:
            return self._last_text
        return {**arrays.arrays(now.state), "task": game.description if self._text else ""}

    def _info(self, kind: str, error: str | None) -> dict[str, Any]:
        (game, demo, _), now = self._require_episode()
        over = game.observer.table["over"] if self._text and now.done else ""
        texts = self._text and not now.done
        return {
            "look": game.look(now) if texts else over,
            "inv": game.inventory(now) if texts else over,
            "valid": self._valid_commands(game, now),
            "moves": now.moves,
            "score": now.score,
            "paper_score": game.paper_score(now),
            "question_cost": now.question_cost,
            "next_expert_action": demo[now.moves] if now.moves < len(demo) else GIVE_UP,
            "success": now.success,
            "kind": kind,
            "error": error or "",
            "task": game.task.id,
            "level": game.task.level,
        }

    def _valid_commands(self, game: Game, now: GameState) -> list[str]:
        if self._commands is None:
            return []
        if now.done:
            # As published: three words without meaning.
            return ["it", "is", "over"]
        commands = game.valid(now, self._commands, extended=self._extended, reference=self._reference)
        return list(commands)


def _text_spaces(language: Language) -> tuple[spaces.Text, spaces.Text]:
    letters = string.ascii_letters + string.digits + string.punctuation + " "
    if language != "en":
        letters += _CHINESE + _FULL_WIDTH
    return (
        spaces.Text(_LONGEST_TEXT, min_length=0, charset=letters + "\n"),
        spaces.Text(LONGEST_COMMAND, min_length=0, charset=letters),
    )
