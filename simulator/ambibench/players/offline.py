"""The built-in players: the learner that nobody can beat, in both readings, and one that guesses."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Final

from simulator.ambibench.features import LABELS, Label
from simulator.ambibench.oracle import Belief, best_guess
from simulator.ambibench.players.knows import PromptKnows
from simulator.ambibench.playing import PARTICIPANT
from simulator.errors import SeatError
from simulator.seats import Kind, Reply, View
from simulator.seeds import derive_seed

Say = Callable[[Belief], Label | None]
"""What a player says; None where it guesses."""


class OfflineParticipant:
    """Says what a rule makes of the learner's belief, and guesses by the turn's seed where that says nothing.

    Args:
        name: as the log names it.
        say: the rule.
    """

    kind: Kind = "offline"

    def __init__(self, name: str, say: Say) -> None:
        self.name = name
        self._say = say

    async def score_all(self, view: View) -> tuple[Reply, ...]:
        """See `ScoresAll`."""
        knows: PromptKnows = view.task
        pairs = zip(knows.trials, knows.seeds, strict=True)
        return tuple(
            Reply(text=self._say(knows.beliefs[trial.k - 1]) or self._guess(seed), seconds=0.0)
            for trial, seed in pairs
        )

    def _guess(self, seed: int) -> Label:
        # Each player's guesses are its own: two of them must not agree by seed.
        return Random(derive_seed(seed, self.name)).choice(LABELS)

    async def reply(self, view: View) -> Reply:
        """Is asked where a trial wants free text only, and has none.

        Raises:
            SeatError: always.
        """
        raise SeatError(
            f"{self.name} answers with labels, not in free text.", PARTICIPANT, code="labels_only"
        )


def _bayes(belief: Belief) -> Label | None:
    return best_guess(belief.p_x)


def _literal(belief: Belief) -> Label | None:
    return best_guess(belief.p_x) if belief.identified else None


PLAYERS: Final[dict[str, Say]] = {
    "offline/oracle": _bayes,
    "offline/oracle:literal": _literal,
    "offline/random": lambda belief: None,
}
"""The Bayes-optimal learner; ``:literal`` guesses until one hypothesis is left (spec section 12)."""
