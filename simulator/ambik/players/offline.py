"""The built-in robots: one that reasons about kitchens, and two that know one answer to whether to ask.

| name | what it does |
|---|---|
| ``offline/kitchen`` | acts where text or common sense settles what a step means, asks where they do not |
| ``offline/always-asks`` | asks in any case, and holds several actions for possible |
| ``offline/never-asks`` | does what ``offline/kitchen`` would do without asking |

None of them reads what the data know of the answer: the room gives them items without it (`playing.blinded`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from simulator.ambik.kitchen.knowledge import any_of
from simulator.ambik.kitchen.options import alternatives, case_of
from simulator.ambik.kitchen.reasoning import Judgement, judge
from simulator.ambik.players.knows import RobotKnows
from simulator.ambik.playing import Options
from simulator.errors import InputError
from simulator.seats import Kind, Reply, Seat, View
from trees import Language

Decide = Callable[[RobotKnows, Options], Reply]


class OfflineRobot:
    """Decides by a rule.

    Args:
        name: as the log names it.
        decide: the rule.
    """

    kind: Kind = "offline"

    def __init__(self, name: str, decide: Decide) -> None:
        self.name = name
        self._decide = decide

    async def reply(self, view: View) -> Reply:
        """Act or ask."""
        knows: RobotKnows = view.task
        return self._decide(knows, Options.read(view.options))


def offline_robot(name: str) -> Seat:
    """Return the built-in robot called `name`.

    Raises:
        InputError: if there is none.
    """
    if name not in ROBOTS:
        raise InputError(f"There is no robot called {name!r}; built in are {', '.join(ROBOTS)}.")
    return OfflineRobot(name, ROBOTS[name])


def _kitchen(knows: RobotKnows, options: Options) -> Reply:
    judgement = judge(case_of(knows.item, options.context, knows.exchanges, options.dialogue))
    if judgement.question is None or knows.must_act:
        return _acts(judgement, options.language)
    move = {
        "marked": list(judgement.marked),
        "act": judgement.action,
        "ask": _in(options.language, judgement.question),
    }
    return Reply(text=str(move["ask"]), move=move, trace=_trace(judgement), seconds=0.0)


def _always(knows: RobotKnows, options: Options) -> Reply:
    case = case_of(knows.item, options.context, knows.exchanges, options.dialogue)
    judgement = judge(case)
    if knows.must_act:
        return _acts(judgement, options.language)
    marked = alternatives(case)
    question = _in(options.language, judgement.question or any_of(marked))
    move = {"marked": list(marked), "act": judgement.action, "ask": question}
    return Reply(text=question, move=move, trace=_trace(judgement), seconds=0.0)


def _never(knows: RobotKnows, options: Options) -> Reply:
    case = case_of(knows.item, options.context, knows.exchanges, options.dialogue)
    return _acts(judge(case), options.language)


def _acts(judgement: Judgement, language: Language) -> Reply:
    move = {"marked": [judgement.action], "act": judgement.action}
    return Reply(text=judgement.action, move=move, trace=_trace(judgement), seconds=0.0)


def _trace(judgement: Judgement) -> Mapping[str, Any]:
    return {
        "why": [note.en for note in judgement.notes],
        "why_zh": [note.zh for note in judgement.notes],
    }


def _in(language: Language, note: tuple[str, str]) -> str:
    return note[1] if language == "zh" else note[0]


ROBOTS: Final[Mapping[str, Decide]] = {
    "offline/kitchen": _kitchen,
    "offline/always-asks": _always,
    "offline/never-asks": _never,
}
