"""CPU per decision of the built-in experts, step by step: `python tests/benchmarks/bench_experts.py`.

A decision is one turn of the provider after the opening: classify, walk if need be, respond. The dialogues
are made of the built-in tasks: the seeker asks for every node as its explanation says it, and at times for
something that no node answers. For comparison, the same decisions through the model-driven experts with a
model that answers at once: their CPU is spent on prompts and answers, and the model's own time comes on top.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from rows import Row, main

from simulator.clarq import provider
from simulator.clarq.experts import Experts, Situation
from simulator.clarq.players.experts_offline import OfflineExperts
from simulator.clarq.players.models import ModelExperts
from simulator.models import Request, ScriptModel
from simulator.seats import Line
from trees import Frontier, Language, Task
from trees.sources import load_builtin

REPETITIONS = 3
LANGUAGES: tuple[Language, ...] = ("en", "zh")
GREETING = {"en": "What can I help you with?", "zh": "有什么可以帮助你？"}
BESIDE = {
    "en": ("Is there anything else I should know?", "What is the weather like at the coast today?"),
    "zh": ("还有什么我应该知道的吗？", "今天海边的天气怎么样？"),
}
STEPS = ("classify", "walk", "respond")


def answer(request: Request) -> str | dict[str, Any]:
    """A model that classifies every question as a detail and accepts the last statement."""
    match request.purpose:
        case "provider.type":
            return {"reason": "a detail", "type": 2}
        case "provider.node":
            return {"analysis": "it settles the point", "answers": len(request.messages[0].content) % 3 == 0}
        case "provider.node_again" | "provider.assumption":
            return {"analysis": "it settles nothing", "answers": False}
    return "There is no need to worry about that."


async def decide(experts: Experts, task: Task, spent: Counter[str]) -> int:
    """Play `task`, add the CPU seconds of each step to `spent`, and return the number of decisions."""
    frontier = Frontier(task.tree).open()
    lines = [
        Line("provider", GREETING[task.language]),
        Line("seeker", task.background.task),
        Line("provider", task.tree.opening),
    ]
    asked = [*(node.explanation or node.text for node in task.tree.nodes), *BESIDE[task.language]]
    for text in asked:
        lines.append(Line("seeker", text))
        situation = Situation(task=task, lines=tuple(lines), frontier=frontier, number=len(lines), seed=7)
        clock = [time.process_time()]
        decision = await provider.classify(experts, situation)
        clock.append(time.process_time())
        if decision.walking:
            decision = await provider.walk(experts, situation, decision, multi=False)
        clock.append(time.process_time())
        turn = await provider.respond(experts, situation, decision)
        clock.append(time.process_time())
        spent.update({step: clock[n + 1] - clock[n] for n, step in enumerate(STEPS)})
        frontier = turn.frontier
        lines.append(Line("provider", turn.text))
    return len(asked)


def measure(experts: Experts, tasks: Iterable[Task]) -> dict[str, float]:
    """Return CPU milliseconds per decision and step, the shortest of several repetitions."""

    async def once() -> dict[str, float]:
        spent: Counter[str] = Counter()
        decisions = sum([await decide(experts, task, spent) for task in tasks])
        return {step: spent[step] / decisions * 1e3 for step in STEPS}

    asyncio.run(once())  # warm: imports, templates, the tasks' indexes
    return min((asyncio.run(once()) for _ in range(REPETITIONS)), key=lambda spent: sum(spent.values()))


def rows() -> Iterator[Row]:
    """Yield a decision in each language."""
    for language in LANGUAGES:
        tasks = load_builtin(language)
        ours = measure(OfflineExperts(), tasks)
        theirs = measure(ModelExperts(ScriptModel(answer)), tasks)
        yield Row(
            work=f"ClarQ-LLM: a decision of the built-in experts, {language}",
            ours=sum(ours.values()),
            unit="ms",
            peer="model-driven experts, without the model's own time",
            theirs=sum(theirs.values()),
            remark=", ".join(f"{step} {ours[step]:.2f}" for step in STEPS),
        )


if __name__ == "__main__":
    main(rows)
