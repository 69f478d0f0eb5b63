"""HandMeThat for learners that need numbers: a masked `Discrete` action space, without any text.

``gymnasium.make("askback/HandMeThatDiscrete-v0", tasks=…)``. It works unchanged with Stable-Baselines3,
sb3-contrib (`action_masks`) and RLlib (``action_mask`` in the observation).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, Final

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from simulator.errors import InputError
from simulator.handmethat.actions import domain
from simulator.handmethat.env.commands import Command, Reader
from simulator.handmethat.env.gym_env import MOST_ENTITIES, HandMeThat, number_names, structured_space
from simulator.handmethat.hierarchy import STATES, hierarchy
from simulator.handmethat.items import Task
from simulator.handmethat.meanings.model import KIND_KEYS, QUESTS, VERBS, Meaning
from simulator.handmethat.world import HUMAN, World

SLOTS: Final = 192
"""Default number of actions: more than the valid commands in any state of a generated household."""
STORY: Final = 128
"""Human actions in an observation; of a longer story, the last ones."""
COMMAND_VERBS: Final = (
    *("move", "pick-up", "pick-up-from", "put-inside", "put-ontop", "give", "take", "open", "close"),
    *("toggle-on", "toggle-off", "heat", "cool", "soak", "slice", "clean"),
)
STORY_VERBS: Final = tuple(domain("human"))
UTTERANCE: Final = ("quest", *KIND_KEYS, "place", *STATES, "color", "size", "destination", "verb")
"""The columns of ``utterance``; see `HandMeThatDiscrete`."""
_ARRAYS: Final = ("kind", "color", "size", "states", "place", "visible", "given")
Observed = dict[str, NDArray[Any]]
_HUMAN_ROW: Final = MOST_ENTITIES + 1
_STORY_ARGS: Final = 4


class HandMeThatDiscrete(gymnasium.Env[Any, Any]):
    """`HandMeThat` in numbers.

    An action is the number of a command: in every household, 0 to 15 move to the locations and 16 to the
    human; the others follow the order of ``valid``, and the observation describes them.
    A number that ``action_mask`` forbids has no effect and is charged like any invalid command.

    An observation is a dictionary of integers. Rows are entities in the order of creation; in
    ``commands``, ``utterance`` and ``story`` a row is given as 1 + its number, and 0 means none.

    * ``kind``, ``color``, ``size``, ``states``, ``place``, ``visible``, ``given``: see `structured_space`.
    * ``at``, ``holding``: 1 + the row; ``at`` is `MOST_ENTITIES` + 1 at the human, ``holding`` 0 with an
      empty hand.
    * ``commands``: for each action 1 + the verb's number in `COMMAND_VERBS`, and the rows of its two things
      (the human: `MOST_ENTITIES` + 1).
    * ``action_mask``: 1 for each valid action; also in ``info`` and as `action_masks`.
    * ``utterance``: the instruction, by the columns of `UTTERANCE`: 1 + the quest type; 1 + the number
      of the class, of the subclass, of the type (`class_numbers`, `subclass_numbers`; types as ``kind``);
      the row of the named container; for each state 0 if it was not mentioned, 1 for false, 2
      for true; 1 + colour, 1 + size; the row of the destination; 1 + the verb.
    * ``story``: the human's earlier actions, oldest first: 1 + the action's number in `STORY_VERBS`, and the
      rows of its things.

    Args:
        slots: number of actions.
        options: options of `HandMeThat`: ``tasks``, ``split``, ``mode``, ``limit``, ``commands``,
            ``reference``, ``costs``, ``shaping``.
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012

    def __init__(self, *, slots: int = SLOTS, **options: Any) -> None:
        text_options = {"observation", "render_text", "language", "append_view", "extended", "render_mode"}
        if names := text_options & options.keys():
            raise InputError(f"{min(names)}: HandMeThatDiscrete has no text; leave this option out")
        if options.get("commands", "listed") is None:
            raise InputError("commands None: HandMeThatDiscrete needs commands; choose listed or strict")
        self._env = HandMeThat(observation="structured", render_text=False, **options)
        self._slots = slots
        self._valid: list[str] = []
        self._task: dict[str, NDArray[Any]] = {}
        self._reader: Reader | None = None
        self.action_space = spaces.Discrete(slots)
        self.observation_space = _space(slots)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observed, dict[str, Any]]:
        """Begin an episode; see `HandMeThat.reset`."""
        super().reset(seed=seed)
        arrays, info = self._env.reset(seed=seed, options=options)
        task = self._env.game.task
        self._task = {"utterance": utterance_row(task.world, task.utterance), "story": story_rows(task)}
        self._reader = self._env.game.reader
        return self._observation_and_info(arrays, info, over=False)

    def step(self, action: int) -> tuple[Observed, float, bool, bool, dict[str, Any]]:
        """Execute the command with a number; see `HandMeThat.step`."""
        arrays, reward, terminated, truncated, info = self._env.step(self.command(action))
        observation, info = self._observation_and_info(arrays, info, over=terminated or truncated)
        return observation, reward, terminated, truncated, info

    def action_masks(self) -> NDArray[np.bool_]:
        """Return the mask of valid actions, shape (slots,); the name is the one sb3-contrib expects."""
        return np.arange(self._slots) < len(self._valid)

    def command(self, action: int) -> str:
        """Return the words of an action; empty if it is not valid."""
        return self._valid[action] if 0 <= action < len(self._valid) else ""

    def _observation_and_info(
        self, arrays: dict[str, Any], info: dict[str, Any], over: bool
    ) -> tuple[Observed, dict[str, Any]]:
        self._valid = [] if over else info["valid"]
        if len(self._valid) > self._slots:
            raise InputError(
                f"task {info['task']!r}: {len(self._valid)} commands are valid, but there are only "
                f"{self._slots} actions; create the environment with more slots"
            )
        assert self._reader is not None
        rows = np.zeros((self._slots, 3), np.int16)
        if self._valid:
            rows[: len(self._valid)] = [_command_row(self._reader.read(text)) for text in self._valid]
        mask = self.action_masks().astype(np.int8)
        at, holding = int(arrays["at"]), int(arrays["holding"])
        observation = {name: arrays[name] for name in _ARRAYS}
        # Copies, since a learner may keep and change its observations.
        observation |= {name: array.copy() for name, array in self._task.items()}
        observation |= {
            "at": np.array([at + 1], np.int16),
            "holding": np.array([0 if holding == MOST_ENTITIES else holding + 1], np.int16),
            "commands": rows,
            "action_mask": mask,
        }
        return observation, info | {"action_mask": mask.copy()}


def utterance_row(world: World, utterance: Meaning) -> NDArray[np.int16]:
    """Return the utterance by the columns of `UTTERANCE`; words that are not in the tables become 0."""
    table, description = hierarchy(), dict(utterance.description)
    argument, quest = utterance.argument, utterance.quest

    def number(key: str, numbers: Mapping[str, int]) -> int:
        return numbers.get(str(description.get(key)), 0)

    numbers = (
        1 + QUESTS.index(quest),
        number("class", class_numbers()),
        number("subclass", subclass_numbers()),
        number("type", number_names(table.kinds)),
        1 + world.index[utterance.place[1]] if utterance.place else 0,
        *(1 + bool(description[name]) if name in description else 0 for name in STATES),
        number("color", number_names(table.colors)),
        number("size", number_names(table.sizes)),
        1 + world.index[argument] if quest == "move_to" and argument is not None else 0,
        number_names(VERBS).get(argument or "", 0),
    )
    return np.array(numbers, np.int16)


def story_rows(task: Task) -> NDArray[np.int16]:
    """Return the human's actions as numbers; shape (STORY, 5)."""
    array = np.zeros((STORY, 1 + _STORY_ARGS), np.int16)
    for i, (name, args) in enumerate(task.actions[-STORY:]):
        array[i, : 1 + len(args)] = (1 + STORY_VERBS.index(name), *(argument + 1 for argument in args))
    return array


@cache
def class_numbers() -> Mapping[str, int]:
    """Return class -> 1 + its number."""
    return number_names(kind.cls for kind in hierarchy().kinds.values())


@cache
def subclass_numbers() -> Mapping[str, int]:
    """Return subclass -> 1 + its number."""
    return number_names(kind.subclass for kind in hierarchy().kinds.values())


def _command_row(command: Command) -> tuple[int, int, int]:
    first, second = (*command.args, None, None)[:2]
    return 1 + COMMAND_VERBS.index(command.verb), _row(first), _row(second)


def _row(entity: int | None) -> int:
    if entity is None:
        return 0
    return _HUMAN_ROW if entity == HUMAN else 1 + entity


def _space(slots: int) -> spaces.Dict:
    table = hierarchy()
    arrays = structured_space(spaces.Text(1)).spaces
    limits = [
        len(QUESTS),
        len(class_numbers()),
        len(subclass_numbers()),
        len(table.kinds),
        MOST_ENTITIES,
        *[2] * len(STATES),
        len(table.colors),
        len(table.sizes),
        MOST_ENTITIES,
        len(VERBS),
    ]
    return spaces.Dict(
        {name: arrays[name] for name in _ARRAYS}
        | {
            "at": spaces.Box(1, _HUMAN_ROW, (1,), np.int16),
            "holding": spaces.Box(0, MOST_ENTITIES, (1,), np.int16),
            "commands": spaces.Box(0, _HUMAN_ROW, (slots, 3), np.int16),
            "action_mask": spaces.Box(0, 1, (slots,), np.int8),
            "utterance": spaces.Box(0, np.array(limits, np.int16), dtype=np.int16),
            "story": spaces.Box(0, MOST_ENTITIES, (STORY, 1 + _STORY_ARGS), np.int16),
        }
    )
