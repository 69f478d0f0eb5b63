"""The hand-coded robots as seats: Random, Heuristic and the expert (spec 9.6, 11.1)."""

from __future__ import annotations

from simulator.errors import SeatError
from simulator.handmethat.env.demos import expert_demo
from simulator.handmethat.players.knows import InsiderKnows
from simulator.handmethat.robots import heuristic, uniform
from simulator.handmethat.robots.heuristic import STOP
from simulator.seats import Kind, Reply, View
from simulator.seeds import derive_seed


class RandomRobot:
    """``offline/random``: any of the valid commands."""

    kind: Kind = "offline"
    insider = True
    name = "offline/random"

    async def reply(self, view: View) -> Reply:
        """The next command."""
        knows: InsiderKnows = view.task
        valid = knows.play.valid(knows.game)
        return Reply(text=uniform.next_command(valid, knows.seed, len(knows.commands)))


class HeuristicRobot:
    """``offline/heuristic``: more of what the human has been picking up. It sees everything.

    Args:
        changes: ``offline/heuristic:changes``: it also has scripts for change_state (spec 12.1 #28).
    """

    kind: Kind = "offline"
    insider = True

    def __init__(self, *, changes: bool = False) -> None:
        self._changes = changes
        self.name = "offline/heuristic:changes" if changes else "offline/heuristic"

    async def reply(self, view: View) -> Reply:
        """The next command of its one guess."""
        knows: InsiderKnows = view.task
        known = heuristic.known_of(knows.play.task)
        moves = len(knows.commands)
        return Reply(text=heuristic.next_command(known, knows.seed, moves, changes=self._changes))


class ExpertRobot:
    """``offline/expert``: plays the demonstration of the file, or a script for an object of A(m)."""

    kind: Kind = "offline"
    insider = True
    name = "offline/expert"

    async def reply(self, view: View) -> Reply:
        """The next command of the demonstration; it stops where that is over."""
        knows: InsiderKnows = view.task
        task = knows.play.task
        demo = task.demo
        if not demo:
            made = expert_demo(task, derive_seed(knows.seed, "demo"), style="readable")
            if made is None:
                raise SeatError(f"{task.id}: no script of the expert's succeeds.", "robot")
            demo = made.commands
        done = len(knows.commands)
        return Reply(text=demo[done] if done < len(demo) else STOP)
