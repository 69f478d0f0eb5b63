"""Success of the built-in seeker with the built-in experts.

Run as a script: ``python tests/benchmarks/bench_seeker.py [FOLDER]``. It plays every built-in task, and those
of a folder of published ones if there is one; with ``--misses`` the dialogues that ended with nodes left are
printed. Dialogues are those of ``askback run clarq --lang both``: nothing is logged.
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from langchain_core.runnables import RunnableConfig
from rich.console import Console
from rich.table import Table
from rows import Row

from logs.rows import Turn
from simulator.clarq import graph
from simulator.clarq.data import BUILTIN, SEEKER, is_farewell, item_row, load_items
from simulator.clarq.machine import MACHINE
from simulator.clarq.players.experts_offline import OfflineExperts
from simulator.clarq.players.seeker_offline import OfflineSeeker
from simulator.clarq.score import score_dialogue
from simulator.seats import Line
from simulator.seeds import derive_seed
from simulator.stats import wilson
from trees import Language, Task

LANGUAGES: tuple[Language, ...] = ("en", "zh")


@dataclass(frozen=True)
class Played:
    """A dialogue.

    Attributes:
        task: what it was about.
        lines: of both, Jax's greeting first.
        missing: indices of the nodes that were not given.
    """

    task: Task
    lines: tuple[Line, ...]
    missing: tuple[str, ...]

    @property
    def questions(self) -> int:
        """The seeker's lines without the first one and the goodbye."""
        texts = [line.text for line in self.lines if line.seat == SEEKER]
        return sum(not is_farewell(text) for text in texts[1:])


async def play(task: Task, seed: int = 0) -> Played:
    """Play the same dialogue as a run with `seed`."""

    async def forget(turn: Turn) -> None:
        pass

    row = item_row(task)
    context = graph.Context(
        episode_id="",
        task=task,
        seeker=OfflineSeeker(),
        provider=graph.ProviderAgent(OfflineExperts(), "offline"),
        record=forget,
        seed=derive_seed(seed, row.benchmark, row.name, row.language, 0),
    )
    config: RunnableConfig = {"recursion_limit": MACHINE.steps(context)}
    state = await graph.build_graph().compile().ainvoke(graph.rebuild([]), context=context, config=config)
    lines = tuple(Line(seat, text) for seat, text in state["lines"])
    return Played(task, lines, score_dialogue(task, lines).missing)


def play_all(tasks: Sequence[Task], seed: int = 0) -> list[Played]:
    """Play every task once."""

    async def played() -> list[Played]:
        return [await play(task, seed) for task in tasks]

    return asyncio.run(played())


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", help="published tasks (a folder with English/ and Chinese/)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--misses", action="store_true", help="print the dialogues that left nodes")
    arguments = parser.parse_args()
    table = Table("tasks", "language", "S", "questions per success", "ended with nodes left", "nodes left")
    console = Console()
    for name, data in {"built-in": BUILTIN, "published": arguments.folder}.items():
        for language in LANGUAGES if data else ():
            played = play_all(load_items(data, language), arguments.seed)
            left = [dialogue for dialogue in played if dialogue.missing]
            success = wilson(len(played) - len(left), len(played))
            table.add_row(
                name,
                language,
                f"{success.value:.2f} \\[{success.low:.2f}, {success.high:.2f}] of {success.n}",
                f"{sum(outcome.questions for outcome in played) / max(1, len(played) - len(left)):.1f}",
                str(len(left)),
                str(sum(len(outcome.missing) for outcome in left)),
            )
            for dialogue in left if arguments.misses else ():
                console.rule(f"{language} {dialogue.task.id}: {', '.join(dialogue.missing)}")
                for line in dialogue.lines:
                    console.print(f"{line.seat}: {line.text}", highlight=False, markup=False)
    console.print(table)


def rows() -> Iterator[Row]:
    """Yield the success of the built-in seeker on the built-in tasks."""
    for language in LANGUAGES:
        played = play_all(load_items(BUILTIN, language))
        success = wilson(sum(not dialogue.missing for dialogue in played), len(played))
        yield Row(
            work=f"ClarQ-LLM: success of the built-in seeker and experts, {language}",
            ours=success.value,
            unit="",
            more=True,
            remark=f"{success.low:.2f} to {success.high:.2f} of {success.n}",
        )


if __name__ == "__main__":
    main()
