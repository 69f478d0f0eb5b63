"""Invitations to a seat of free play: a link that says what it is for, and a seat that its first taker keeps.

Opening the link begins nothing, since mail and chat programs open it, too: it shows an introduction with a
button. The first browser that presses it is noted in the log as the seat's holder and gets a pass of its own;
to everybody else the seat is taken. The same browser comes back to it by the same link.
"""

from __future__ import annotations

from dataclasses import dataclass

from ui.calls import address
from ui.render.environment import render
from ui.render.frame import Frame, RoomLink
from ui.tokens import Pass, Signer


@dataclass(frozen=True, slots=True)
class Invitation:
    """The link for the second person, shown to whoever began the dialogue.

    Attributes:
        link: path and query, without the host (the browser knows under which name it reached us).
        taken: somebody has taken the seat.
    """

    link: str
    taken: bool


def invitation(signer: Signer, host: Pass, seat: str, *, taken: bool) -> Invitation:
    """Return the invitation to another seat of the episode that `host` began."""
    guest = Pass(host.episode_id, seat, person_opposite=True, room=host.room)
    return Invitation(address(signer.sign(guest)), taken=taken)


def invitation_page(frame: Frame, room: RoomLink, seat: str) -> str:
    """Return the introduction for somebody who is invited: what this is, which seat, who waits."""
    texts = frame.texts
    return render(
        "invitation",
        texts,
        frame=frame,
        room=room,
        seat=texts.get(f"{room.name}.seat.{seat}", texts.get(f"seat.{seat}", seat)),
        part=texts.get(f"{room.name}.study.task_{seat}", ""),
    )
