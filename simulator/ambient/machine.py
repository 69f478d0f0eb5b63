"""AmbiEnt as the runner sees it, and what people see of an episode (`views`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from logs.rows import Ending, Judgment, Turn
from simulator.ambient import graph, items
from simulator.ambient.graph import Table
from simulator.ambient.items import CrowdItem, Item
from simulator.ambient.players.model import seat_for
from simulator.ambient.playing import ANNOTATOR, Options, Step
from simulator.ambient.reveal import result_blocks
from simulator.ambient.score import score_rows
from simulator.ambient.show import page_blocks
from simulator.ambient.views import ParticipantView, ShownTexts
from simulator.benchmark import Due
from simulator.runner.declared_views import Result
from simulator.runner.machines import ActiveEpisode
from simulator.runner.one_seat import OneSeatMachine, State, step_due
from simulator.seats import Reply


def participant_view(
    table: Table, state: State, ending: Ending | None = None, warning: str | None = None, stage: str = ""
) -> ParticipantView:
    """Return what a person may see after `state`; `stage` names a page without the task."""
    step = None if ending or stage else step_due(table, state)
    done = len(state["said"])
    due = None if step is None else Due(ANNOTATOR, step.kind)
    task = "done" if step is None else "qualification" if step.kind == "qualification" else "task"
    return ParticipantView(
        episode_id=table.episode_id,
        seat=ANNOTATOR,
        language="en",
        number=done,
        stage=stage or task,
        due=due,
        tested=bool(table.questions),
        task=table.item.task,
        done=done,
        total=len(table.steps),
        shown=table.shown(step) if step else ShownTexts(),
        earlier=_earlier_answers(table.item, step, state),
        ending=ending,
        warning=warning,
    )


def _earlier_answers(item: Item, step: Step | None, state: State) -> tuple[tuple[str, str], ...]:
    """Return a crowdworker's earlier answers: ``("label", …)``, then each candidate with yes or no.

    The candidates are not shown before the step that asks about them, nor is anything in another one.
    """
    if not isinstance(item, CrowdItem) or step is None or step.kind not in ("plausible", "relabel"):
        return ()
    answers = {kind: text for kind, text in state["said"]}
    label = (("label", answers["label"]),) if "label" in answers else ()
    flags = answers["plausible"].split() if "plausible" in answers else []
    pairs = zip((candidate.sentence for candidate in item.candidates), flags, strict=False)
    return (*label, *pairs)


class AmbientMachine(OneSeatMachine[graph.Table]):
    """See `simulator.runner.machines.EpisodeMachine`. Its items are examples (`items.Item`)."""

    name = items.BENCHMARK
    seats: tuple[str, ...] = (ANNOTATOR,)
    people_alone = ("qualification",)
    table_type = graph.Table
    item_row = staticmethod(items.item_row)
    read_item = staticmethod(items.item_from_row)
    seat_for = staticmethod(seat_for)
    scored = staticmethod(score_rows)

    def view(
        self, live: ActiveEpisode, state: State, seat: str, ending: Ending | None, warning: str | None
    ) -> ParticipantView:
        """Return what a person may see now."""
        shown = participant_view(self.table(live), state, ending, warning, live.stage)
        return replace(shown, blocks=page_blocks(shown))

    def willing(self, options: Mapping[str, Any], turns: Sequence[Turn]) -> Reply | None:
        """See `EpisodeMachine.willing`: people alone have to qualify."""
        test = Options.read(options).qualification
        asked = test.questions[len(turns) :] if test else ()
        return Reply(move={"label": asked[0].label}) if asked else None

    def replay(self, item: Item, turns: Sequence[Turn], judgments: Sequence[Judgment]) -> Result:
        """Return an ended episode of a person's task, with what was hidden."""
        return Result(language="en", moves=(), blocks=result_blocks(item, turns))


MACHINE = AmbientMachine()
