"""What HandMeThat's pages call things."""

from __future__ import annotations

from simulator.handmethat.views import HumanView, RobotView
from ui.render.frame import RoomLink

ROOM = "handmethat"
ROBOT = "robot"
HUMAN = "human"
SEATS = (ROBOT, HUMAN)
LINK = RoomLink("household", "/handmethat", "house")
SeatView = RobotView | HumanView


def opposite(seat: str) -> str:
    """Return the other seat of the two."""
    return HUMAN if seat == ROBOT else ROBOT
