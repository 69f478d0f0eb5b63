"""ClarQ dialogues with people in them, free play and studies: what the web app calls.

A study's tasks are conditions of their own, which so many people play (``judgments_per_item``), nobody
twice. ::

    benchmark: clarq
    seat: seeker
    settings: {opposite: offline/experts, data: builtin, split: test, items: 26}
    judgments_per_item: 3
    sets_per_participant: 10

Whoever speaks Chinese plays the Chinese task of the same name (spec 6).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import groupby
from typing import Any, ClassVar

from pydantic import PositiveInt

from simulator.blocks import Talk, message
from simulator.clarq.data import BENCHMARK, PROVIDER, SEEKER, DialogueRules, load_items
from simulator.clarq.experts import models_of
from simulator.clarq.players.seeker_offline import STYLES
from simulator.clarq.score import SUCCESS
from simulator.clarq.show import VERDICT, Replay, result
from simulator.errors import InputError
from simulator.field_options import logged_values
from simulator.fields import Fields
from simulator.forms import NO, YES
from simulator.models import Needs
from simulator.models.preflight import REMOTE
from simulator.runner.declared_views import ItemChoice, ItemGroup, Result, SeatPage
from simulator.runner.lobby import Opponent
from simulator.runner.logged import ENDED
from simulator.sampling import balanced
from simulator.seats import Reply
from simulator.seeds import derive_seed
from simulator.studies import Cell
from simulator.studies.declared import Drawn, PlaySessions, chosen_item
from simulator.studies.graph import CONSENT, READY, Step
from simulator.studies.opposite import OppositeSettings, OppositeStudy
from simulator.studies.settings import Several
from trees import Language, Task
from trees.model import Split, task_type


class Choices(Fields):
    """The choices of a dialogue in free play."""

    multi: bool = DialogueRules.model_fields["multi"].default


class ClarqSessions(PlaySessions):
    """Play the built-in tasks, and those of studies.

    Whoever provides in a study says at the end whether the seeker succeeded; in free play they may (`judge`).
    """

    around = (
        CONSENT,
        replace(READY, when=("first",)),
        Step(
            node="questions_after",
            kind=VERDICT,
            when=("first", "further"),
            seat=PROVIDER,
            choices=(YES, NO),
        ),
    )
    choices = Choices
    judges: ClassVar[tuple[str, ...]] = (PROVIDER,)
    loads: ClassVar[bool] = True

    def item_menu(self, language: str) -> Sequence[ItemGroup]:
        """Return the tasks in a language, by type."""
        numbered = enumerate(load_items(self.data, language), start=1)
        return [
            ItemGroup(f"{number}. {name}", [*map(_choice, group)])
            for (number, name), group in groupby(numbered, key=lambda each: _type_in_words(each[1]))
        ]

    def opponents(self, seat: str) -> tuple[Opponent, ...]:
        """Return who can sit in `seat`: built-in, a second person, models with a key."""
        return self._menu([self.benchmark.seat(seat).usual])

    def offered(self, seat: str) -> Sequence[Opponent]:
        """See `PlaySessions.offered`: the built-in seeker has styles that the menu does not list."""
        styles = [Opponent(f"offline/seeker:{style}", True) for style in STYLES if seat == SEEKER]
        return [*self.opponents(seat), *styles]

    async def drawn(
        self, rules: Mapping[str, Any], seat: str, seats: Mapping[str, str], item: int | None, language: str
    ) -> Drawn:
        """See `PlaySessions.drawn`."""
        chosen = Choices.model_validate(rules)
        return Drawn(
            chosen_item(load_items(self.data, language), item), logged_values(chosen) if chosen.multi else {}
        )

    async def view(self, episode_id: str, seat: str) -> SeatPage:
        """See `StudySessions.view`."""
        shown: SeatPage = await super().view(episode_id, seat)
        if shown.ending is not None:
            await self._judge_as_said(episode_id)
        if shown.stage == VERDICT and (dialogue := self._dialogue(episode_id)) != episode_id:
            moves = (await super().view(dialogue, seat)).moves
            shown = replace(shown, blocks=(Talk(moves),), moves=moves)
        return shown

    async def submit(
        self, episode_id: str, seat: str, reply: Reply, *, number: int | None = None
    ) -> SeatPage:
        """See `StudySessions.submit`."""
        shown: SeatPage = await super().submit(episode_id, seat, reply, number=number)
        if shown.ending is not None:
            await self._judge_as_said(episode_id)
        return shown

    async def replay(self, episode_id: str, seat: str) -> Result:
        """See `StudySessions.replay`."""
        shown: Replay = await super().replay(episode_id, seat)
        in_study = self._study_desk(self._reader.episode(episode_id)) is not None
        return result(shown, seat, judges=seat in self.judges and not in_study)

    async def _judge_as_said(self, episode_id: str) -> None:
        """Log the verdict that a study's provider has given as the judgment that it is, once."""
        ending = self._reader.ending(episode_id)
        if ending is None or ending.status not in ENDED:
            return
        dialogue = self._dialogue(episode_id)
        for turn in self._reader.turns(episode_id):
            if turn.payload.get("kind") == VERDICT:
                judged = self._reader.judgments(episode_id=dialogue, kind=SUCCESS, annotator=turn.seat)
                if not any(True for _ in judged):
                    await self.judge(dialogue, turn.seat, turn.text == YES, turn.key or VERDICT)

    def _dialogue(self, episode_id: str) -> str:
        """Return the episode of the dialogue: of two people who are paired each has another for the rest."""
        pairs = self.pairs(episode_id)
        task = pairs.task(self._reader.episode(episode_id)) if pairs else None
        return task.episode_id if task else episode_id


def _type_in_words(task: Task) -> tuple[int, str]:
    return task.type, task_type(task.type).name(task.language)


def _choice(numbered: tuple[int, Task]) -> ItemChoice:
    number, task = numbered
    title = " ".join(task.background.task.split())
    title = title[:1].upper() + title[1:]
    return ItemChoice(number, message("item", title=title, uncertainties=task.tree.uncertainties))


class Settings(OppositeSettings, DialogueRules):
    """Settings that ClarQ-LLM reads in a study file's ``settings``, beside the rules of a dialogue.

    Attributes:
        data: where the tasks come from: ``builtin``, the name of registered data, or a path.
        split: of the tasks; None: both.
        types: of the tasks, by number; None: all.
        items: so many of them, equally many of each type, drawn by the study's seed; None: all.
    """

    data: str = "builtin"
    split: Split | None = None
    types: Several[PositiveInt] | None = None
    items: PositiveInt | None = None


class DialogueStudy(OppositeStudy[Settings]):
    """People who seek or provide."""

    benchmark = BENCHMARK
    seats = (SEEKER, PROVIDER)
    reads = Settings
    usual = {SEEKER: "offline/seeker", PROVIDER: "offline/experts"}  # noqa: RUF012

    @property
    def needs(self) -> Mapping[str, Needs]:
        """Return what is asked of the servers' models opposite; experts fill in forms."""
        sits = {**self.seating, **self.study.pairing.partner}
        asked = [(name, seat == PROVIDER) for seat, who in sits.items() for name in models_of(who)]
        return {name: Needs(schema=fills) for name, fills in asked if name.startswith(REMOTE)}

    @cached_property
    def rules(self) -> Mapping[str, Any]:
        """The rules of a dialogue."""
        chosen = {name: getattr(self.settings, name) for name in DialogueRules.model_fields}
        return logged_values(DialogueRules.parse(chosen))

    def all_items(self) -> Sequence[Task]:
        """Return the tasks in the study's language; so many as the settings say, drawn by its seed."""
        tasks, number = self._tasks(self.study.language), self.settings.items
        # Conditions choose among all tasks, so nothing is drawn then.
        if number is None or self.study.conditions:
            return tasks
        seed = derive_seed(self.study.seed, "items")
        return balanced(tasks, number, lambda task: task.type, lambda task: (), seed)

    def taken(self, items: Mapping[Cell, Task]) -> Mapping[Cell, Task]:
        """Return the tasks; each is there in every language of the pages.

        Raises:
            InputError: if one is missing in a language.
        """
        for language in self.languages:
            if missing := [
                task.id for task in items.values() if task.id not in self._tasks_by_name[language]
            ]:
                raise InputError(f"the task {missing[0]} is not there in the language {language}")
        return items

    def item(self, cell: Cell, seed: int, language: Language) -> Task:
        """Return the task of a place, in the language of the pages."""
        return self._tasks_by_name[language][self.items[cell].id]

    @cached_property
    def _tasks_by_name(self) -> Mapping[Language, Mapping[str, Task]]:
        """The tasks by language and name."""
        return {language: {task.id: task for task in self._tasks(language)} for language in self.languages}

    def _tasks(self, language: Language) -> Sequence[Task]:
        settings = self.settings
        return load_items(settings.data, language, types=settings.types, split=settings.split)
