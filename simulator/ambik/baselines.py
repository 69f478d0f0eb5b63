"""Four robots that understand nothing, on the same tasks: what a number is worth beside them.

| name | what it does |
|---|---|
| never asks | what ``offline/kitchen`` would do without asking |
| always asks | asks in any case; decides anew with what it is told |
| copies the step | does the plan's line as it stands |
| lists everything | the plan's line, and all that there is in the scene |

No model is asked and nothing is logged: they are functions of the tasks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Final

from simulator.ambik.items import DecideItem
from simulator.ambik.kitchen.knowledge import any_of
from simulator.ambik.kitchen.reasoning import alternatives, judge, kitchen_case
from simulator.ambik.players.user import ITEM, item_answer
from simulator.ambik.playing import blinded
from simulator.ambik.records import Decision, Exchange
from simulator.ambik.terms import Context, Dialogue

BaselineAnswer = tuple[str, tuple[str, ...], str]
"""The action, the set, the question."""
_EN: Final = "en"


def baseline_exchanges(
    items: Iterable[DecideItem], context: Context = "full_plan", dialogue: Dialogue = "before"
) -> Mapping[str, tuple[Exchange, ...]]:
    """Return what each baseline decides on tasks, each once, in their order, before and after an answer."""
    tasks = {item.id: item for item in items}.values()
    return {
        name: tuple(_exchange(item, name, decide, context, dialogue) for item in tasks)
        for name, decide in BASELINES.items()
    }


def _exchange(
    item: DecideItem,
    name: str,
    decide: Callable[[DecideItem, Context, Dialogue], BaselineAnswer],
    context: Context,
    dialogue: Dialogue,
) -> Exchange:
    shown = blinded(item, dialogue)
    action, marked, question = decide(shown, context, dialogue)
    before = Decision(
        episode_id=f"{name} {item.id}",
        run=name,
        item=item,
        method="offline",
        context=context,
        dialogue=dialogue,
        generator=name,
        action=action,
        chosen=marked,
        asked=bool(question),
        question=question,
    )
    if not question:
        return Exchange.of([before], robot=name, user=ITEM)
    answer = item_answer(item, question, _EN)
    acts = judge(kitchen_case(shown, context, ((question, answer),), dialogue)).action
    after = replace(before, action=acts, chosen=(acts,), asked=False, question="")
    return Exchange.of([replace(before, answer=answer), after], robot=name, user=ITEM)


def _say_never_ask(item: DecideItem, context: Context, dialogue: Dialogue) -> BaselineAnswer:
    action = judge(kitchen_case(item, context, (), dialogue)).action
    return action, (action,), ""


def _say_always_ask(item: DecideItem, context: Context, dialogue: Dialogue) -> BaselineAnswer:
    case = kitchen_case(item, context, (), dialogue)
    judgement, marked = judge(case), alternatives(case)
    return judgement.action, marked, (judgement.question or any_of(marked)).en


def _say_the_step(item: DecideItem, context: Context, dialogue: Dialogue) -> BaselineAnswer:
    step = item.step or item.instruction
    return step, (step,), ""


def _say_all_options(item: DecideItem, context: Context, dialogue: Dialogue) -> BaselineAnswer:
    step = (item.step or item.instruction).rstrip(". ")
    action = f"{step}, with the {', the '.join((*item.about.objects, *item.about.appliances))}."
    return action, (action,), ""


BASELINES: Final[Mapping[str, Callable[[DecideItem, Context, Dialogue], BaselineAnswer]]] = {
    "never asks": _say_never_ask,
    "always asks": _say_always_ask,
    "copies the step": _say_the_step,
    "lists everything": _say_all_options,
}
"""By name, in the order in which they are told."""
