"""The share of utterances that the built-in partners answer as labelled.

Rules have been made with `later_questions.txt` in sight, none with `blind_questions.txt`. Run as a script:
``python tests/benchmarks/bench_partners.py``; ``--misses`` lists every other answer.
Intervals resample whole items.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from bench_giver import facts_of
from rows import Row, main
from short_questions import Question, answer

from simulator.ambik.data import load_pairs
from simulator.ambik.questions import interpret
from simulator.clarq.players.experts_offline import OfflineExperts
from simulator.handmethat.data import load_tasks
from simulator.handmethat.env import questions
from simulator.stats import cluster_bootstrap
from trees import Language
from trees.sources import load_builtin

FILES: Final = ("later_questions.txt", "blind_questions.txt")
NOTHING: Final = ("none", "unknown")
_BEFORE: Final = {"en": "What about this?", "zh": "这个呢？"}


class Utterance(NamedTuple):
    """A line of the file."""

    benchmark: str
    language: Language
    item: str
    style: str
    expected: str
    text: str

    def answer(self) -> str:
        """Return what the partner makes of it, in the words of `expected`."""
        if self.benchmark == "ambik":
            return interpret(_PAIRS[self.item], self.text) or "none"
        if self.benchmark == "handmethat":
            task = _TASKS[self.item]
            reply = questions.answer(task, self.text, self.language)
            return ":".join(filter(None, (reply.kind, ",".join(sorted(facts_of(task, reply))))))
        name, _, given = self.item.partition("@")
        before = tuple((node, _BEFORE[self.language]) for node in given.split(",") if node)
        question = Question(_TREES[self.language][name], "", "", before, self.text, frozenset())
        return asyncio.run(answer(OfflineExperts(), question))

    def is_right(self) -> bool:
        """Return True if the answer is one of those that would do."""
        kinds = [kind.partition(":") for kind in self.expected.split("/")]
        due = {f"{kind}{colon}{','.join(sorted(facts.split(',')))}" for kind, colon, facts in kinds}
        return self.answer() in due


_PAIRS: Final = {pair.id: pair for pair in load_pairs("builtin")}
_TASKS: Final = {task.id: task for task in load_tasks()}
_TREES: Final = {language: {task.id: task for task in load_builtin(language)} for language in ("en", "zh")}


def utterances(file: str) -> list[Utterance]:
    """Return all lines of a file."""
    lines = Path(__file__).with_name(file).read_text(encoding="utf-8").splitlines()
    parts = (line.split(" | ", 5) for line in lines if not line.startswith("#"))
    return [
        Utterance(benchmark, "zh" if language == "zh" else "en", *rest)
        for benchmark, language, *rest in parts
    ]


def rows() -> Iterator[Row]:
    """Yield the share of right answers for each file, partner and language."""
    for file in FILES:
        everything = utterances(file)
        for benchmark, language in dict.fromkeys((each.benchmark, each.language) for each in everything):
            asked = [each for each in everything if (each.benchmark, each.language) == (benchmark, language)]
            right = [each.is_right() for each in asked]
            share = cluster_bootstrap(
                [float(each) for each in right], [each.item.partition("@")[0] for each in asked]
            )
            misses = [each for each, good in zip(asked, right, strict=True) if not good]
            silent = sum(each.answer() in NOTHING for each in misses)
            yield Row(
                work=f"{benchmark}: {file.partition('_')[0]} questions answered as labelled, {language}",
                ours=share.value,
                unit="",
                more=True,
                remark=f"{share.low:.2f} to {share.high:.2f} of {len(asked)}; {silent} not answered, "
                f"{len(misses) - silent} beside the point",
            )
            if "--misses" in sys.argv:
                for each in misses:
                    asked_of = f"{file} {each.item} {each.style}"
                    print(f"{asked_of}: {each.text} -> {each.answer()}, not {each.expected}")


if __name__ == "__main__":
    main(rows)
