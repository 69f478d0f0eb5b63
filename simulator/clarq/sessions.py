"""ClarQ dialogues with people, in free play and in studies: the sessions that the web app calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby
from typing import Any, ClassVar, get_args

from simulator.blocks import Talk, message
from simulator.catalog import attempt
from simulator.clarq.data import PROVIDER, SEEKER, DialogueRules, load_items
from simulator.clarq.players.seeker_offline import STYLES
from simulator.clarq.score import SUCCESS
from simulator.clarq.show import VERDICT, Replay, result
from simulator.field_options import logged_values
from simulator.fields import Fields
from simulator.forms import NO, YES
from simulator.runner.lobby import Opponent
from simulator.runner.logged import ENDED
from simulator.runner.machines import ItemChoice, ItemGroup, Result, SeatPage
from simulator.seats import Reply
from simulator.studies.declared import DrawnItem, PlaySessions, chosen_item
from simulator.studies.graph import CONSENT, READY, Step
from trees import Language, Task
from trees.model import task_type


class Choices(Fields):
    """The rules that can be chosen in free play."""

    multi: bool = DialogueRules.model_fields["multi"].default


class ClarqSessions(PlaySessions):
    """Sessions with the built-in tasks and those of studies.

    In a study, the provider says at the end whether the seeker succeeded; in free play they may (`judge`).
    """

    outer_steps = (
        CONSENT,
        replace(READY, when=("first",)),
        Step(
            node="questions_after",
            kind=VERDICT,
            when=("first", "further"),
            seat=PROVIDER,
            choices=(YES, NO),
            at_once=True,
        ),
    )
    choices = Choices
    judges: ClassVar[tuple[str, ...]] = (PROVIDER,)
    loads_items: ClassVar[bool] = True

    def require_items(self) -> None:
        """See `PlaySessions.require_items`; tasks in one language are enough."""
        super().require_items()
        if not any(map(self._tasks, get_args(Language))):
            load_items(self.data)

    def item_menu(self, language: str) -> Sequence[ItemGroup]:
        """Return the tasks in a language, grouped by type."""
        numbered = enumerate(self._tasks(language), start=1)
        return [
            ItemGroup(f"{number}. {name}", [*map(_choice, group)])
            for (number, name), group in groupby(numbered, key=lambda each: _type_name(each[1]))
        ]

    def opponents(self, seat: str) -> tuple[Opponent, ...]:
        """Return the players for `seat`: built-in, a second person, models with a key."""
        return self._menu([self.benchmark.seat(seat).usual])

    def allowed_players(self, seat: str) -> Sequence[Opponent]:
        """Return all accepted players; the built-in seeker has styles that the menu does not list."""
        styles = [Opponent(f"offline/seeker:{style}", True) for style in STYLES if seat == SEEKER]
        return [*self.opponents(seat), *styles]

    async def draw_item(
        self, rules: Mapping[str, Any], seat: str, seats: Mapping[str, str], item: int | None, language: str
    ) -> DrawnItem:
        """See `PlaySessions.draw_item`; a language without tasks uses those of the other one."""
        chosen = Choices.model_validate(rules)
        usual, other = ("zh", "en") if language == "zh" else ("en", "zh")
        tasks = self._tasks(usual) or load_items(self.data, other)
        return DrawnItem(chosen_item(tasks, item), logged_values(chosen) if chosen.multi else {})

    def _tasks(self, language: str) -> Sequence[Task]:
        """Return the tasks in a language; none, with a warning, if the data do not have it or are faulty."""
        return attempt(f"ClarQ-LLM in {language!r}", partial(load_items, self.data, language)) or ()

    async def view(self, episode_id: str, seat: str) -> SeatPage:
        """See `StudySessions.view`."""
        return await self._with_dialogue(episode_id, await super().view(episode_id, seat))

    async def submit(
        self, episode_id: str, seat: str, reply: Reply, *, number: int | None = None
    ) -> SeatPage:
        """See `StudySessions.submit`."""
        page = await super().submit(episode_id, seat, reply, number=number)
        return await self._with_dialogue(episode_id, page)

    async def replay(self, episode_id: str, seat: str) -> Result:
        """See `StudySessions.replay`."""
        dialogue: Replay = await super().replay(episode_id, seat)
        in_study = self._study_desk(self._reader.episode(episode_id)) is not None
        return result(dialogue, seat, judges=seat in self.judges and not in_study)

    async def _with_dialogue(self, episode_id: str, page: SeatPage) -> SeatPage:
        """Add the dialogue to the page on which a paired provider judges it; log the verdict at the end."""
        if page.ending is not None:
            await self._log_verdict(episode_id)
        if page.stage == VERDICT and (dialogue := self._dialogue(episode_id)) != episode_id:
            moves = (await super().view(dialogue, page.seat)).moves
            page = replace(page, blocks=(Talk(moves),), moves=moves)
        return page

    async def _log_verdict(self, episode_id: str) -> None:
        """Log the verdict of a study's provider as a judgment, once."""
        ending = self._reader.ending(episode_id)
        if ending is None or ending.status not in ENDED:
            return
        dialogue = self._dialogue(episode_id)
        for turn in self._reader.turns(episode_id):
            if turn.payload.get("kind") == VERDICT:
                judgments = self._reader.judgments(episode_id=dialogue, kind=SUCCESS, annotator=turn.seat)
                if not any(True for _ in judgments):
                    await self.judge(dialogue, turn.seat, turn.text == YES, turn.key or VERDICT)

    def _dialogue(self, episode_id: str) -> str:
        """Return the episode with the dialogue itself; paired participants each have another for the rest."""
        pairs = self.pairs(episode_id)
        task = pairs.task(self._reader.episode(episode_id)) if pairs else None
        return task.episode_id if task else episode_id


def _type_name(task: Task) -> tuple[int, str]:
    return task.type, task_type(task.type).name(task.language)


def _choice(numbered: tuple[int, Task]) -> ItemChoice:
    number, task = numbered
    title = " ".join(task.background.task.split())
    title = title[:1].upper() + title[1:]
    return ItemChoice(number, message("item", title=title, uncertainties=task.tree.uncertainties))
