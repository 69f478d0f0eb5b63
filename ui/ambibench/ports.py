"""What AmbiBench's pages need from the simulator: the seam at which a test puts a stand-in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Protocol

from simulator.ambibench.assignment import Played
from simulator.ambibench.features import Feature, Format, Kind
from simulator.ambibench.views import ParticipantView, Replay, TextReplay
from simulator.seats import Reply
from simulator.studies import Completion
from simulator.studies.cards import Entry, StudyCard

ROOM: Final = "ambibench"
SEAT: Final = "participant"
HOME: Final = "/ambibench"
INVITATION: Final = "/ambibench/study/"
"""A study's address is this and its id; it leads to `STUDY`."""
STUDY: Final = "/study"
"""The welcome page of the study that the query names: Gradio's page works on the first level only."""


class Sessions(Protocol):
    """Episodes with people in them; see `simulator.ambibench.sessions`."""

    async def start(
        self,
        *,
        setting: Played,
        kind: Kind = "uninformative",
        format: Format | None = None,
        feature: Feature | None = None,
        language: str,
    ) -> str:
        """Begin an episode of free play; what is None is drawn. Returns its id."""
        ...

    def studies(self) -> Sequence[StudyCard]:
        """The studies that there are."""
        ...

    async def enter(
        self, study_id: str, *, identity: Mapping[str, str], participant_key: str, language: str
    ) -> Entry:
        """Give somebody a place in a study, or the one they have."""
        ...

    async def withdraw(self, episode_id: str) -> None:
        """Erase a participant's session."""
        ...

    def completion(self, episode_id: str) -> Completion | None:
        """Code and address once a study's episode has ended."""
        ...

    async def view(self, episode_id: str, seat: str) -> ParticipantView:
        """What the participant may see now."""
        ...

    async def submit(
        self, episode_id: str, seat: str, reply: Reply, *, number: int | None = None
    ) -> ParticipantView:
        """Take the participant's reply, written for turn `number`, once."""
        ...

    async def replay(self, episode_id: str, seat: str) -> Replay | TextReplay:
        """An ended episode with what was hidden, if it may be shown."""
        ...
