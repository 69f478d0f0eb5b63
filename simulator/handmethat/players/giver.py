"""The built-in instruction giver: it answers from the true meaning, and tells what was asked."""

from __future__ import annotations

from simulator.handmethat.players.knows import AskedKnows
from simulator.seats import Kind, Reply, View


class OfflineGiver:
    """``offline/giver``: the expert's answer as it is (`env.questions`)."""

    kind: Kind = "offline"
    name = "offline/giver"

    async def reply(self, view: View) -> Reply:
        """Answer the question that is pending."""
        knows: AskedKnows = view.task
        return Reply(text=knows.heard.answer.text)
