"""The built-in robots: one that reasons about kitchens, and two that know one answer to whether to ask.

| name | what it does |
|---|---|
| ``offline/kitchen`` | acts where text or common sense settles what a step means, asks where they do not |
| ``offline/always-asks`` | asks in any case, and holds several actions for possible |
| ``offline/never-asks`` | does what ``offline/kitchen`` would do without asking |

None of them reads what the data know of the answer: the room gives them items without it (`playing.blinded`).
"""

from __future__ import annotations

from typing import Final

from simulator.ambik.kitchen.knowledge import any_of
from simulator.ambik.kitchen.options import alternatives, case_of
from simulator.ambik.kitchen.reasoning import judge
from simulator.ambik.players.knows import RobotKnows
from simulator.ambik.playing import Options
from simulator.errors import InputError
from simulator.seats import Kind, Reply, View

KITCHEN: Final = "offline/kitchen"
ALWAYS_ASKS: Final = "offline/always-asks"
NEVER_ASKS: Final = "offline/never-asks"
ROBOTS: Final = (KITCHEN, ALWAYS_ASKS, NEVER_ASKS)


class OfflineRobot:
    """One of the built-in robots.

    Args:
        name: of `ROBOTS`.

    Raises:
        InputError: if there is none of that name.
    """

    kind: Kind = "offline"

    def __init__(self, name: str) -> None:
        if name not in ROBOTS:
            raise InputError(f"There is no robot called {name!r}; built in are {', '.join(ROBOTS)}.")
        self.name = name

    async def reply(self, view: View) -> Reply:
        """Act or ask."""
        knows: RobotKnows = view.task
        options = Options.read(view.options)
        case = case_of(knows.item, options.context, knows.exchanges, options.dialogue)
        judgement = judge(case)
        action, question, marked = judgement.action, judgement.question, judgement.marked
        if self.name == ALWAYS_ASKS and not knows.must_act:
            marked = alternatives(case)
            question = question or any_of(marked)
        trace = {
            "why": [note.en for note in judgement.notes],
            "why_zh": [note.zh for note in judgement.notes],
        }
        if question is None or knows.must_act or self.name == NEVER_ASKS:
            return Reply(text=action, move={"marked": [action], "act": action}, trace=trace, seconds=0.0)
        asked = question[1] if options.language == "zh" else question[0]
        move = {"marked": list(marked), "act": action, "ask": asked}
        return Reply(text=asked, move=move, trace=trace, seconds=0.0)
