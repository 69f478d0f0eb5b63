"""Statistics of a sample of prompts for `askback stats ambibench` (spec sections 2, 5, 12)."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from threading import Timer
from typing import Annotated, Any, Final

import numpy as np
import pandas as pd
import typer
from rich.console import Console

from simulator.ambibench.aws import AwsPrompt
from simulator.ambibench.balance import (
    NONE,
    PLACE,
    SENTENCE,
    Check,
    designs,
    encode,
    examples_checks,
    sentences_of,
    uniform,
)
from simulator.ambibench.data import Draw, generate_items, load_items
from simulator.ambibench.features import (
    BRACKETED,
    FEATURES,
    FORMATS,
    PAIR_NAMES,
    VALUES,
    Kind,
    Setting,
    slot_words,
)
from simulator.ambibench.generation import LENGTH
from simulator.ambibench.prompt import Prompt, beliefs, scored_positions
from simulator.errors import InputError
from simulator.figures import Cell, Table
from simulator.reporting import Report, Section, print_report
from simulator.runner.options import JsonOption, RootSeedOption

ALPHA: Final = 0.01
# Stricter for files, so that few warnings are false alarms.
_FILE_ALPHA: Final = 0.001
_CELLS: Final = len(FEATURES) * len(FORMATS)
# Seconds before a status is shown.
_PATIENCE: Final = 1.0
_ORACLE: Final = {"uninformative": 0.5, "wug": 0.5, "informative": 1.0}
LISTS: Final = (
    *("human", "animal", "outdoor", "indoor", "religious"),
    *("secular", "proper", "common", "affirmation", "negation"),
)
"""The word lists of App. G.1, which has none for pronouns."""


@dataclass(frozen=True, slots=True)
class WordList:
    """The counts of a word list; `p`: probability of unseen words if all are equally likely, else 1."""

    name: str
    counts: dict[str, int]
    unseen: tuple[str, ...]
    p: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Statistics:
    """The statistics of a sample.

    Attributes:
        tested: number of prompts in the tests, without repeated sentences (paired designs).
        outside: distinct sentences that fit no template.
        miscoded: number of examples whose codes contradict their sentence.
        repeats: per pair the numbers of sentences, of different ones, and of possible ones.
        oracle: kind of instruction -> accuracy of the oracle in setting "instruction" (check C2.oracle_4.2).
        alpha: probability that a correct sample fails, shared among all tests.
    """

    prompts: int
    sentences: int
    tested: int
    lists: tuple[WordList, ...]
    outside: tuple[str, ...]
    miscoded: int
    checks: tuple[Check, ...]
    cells: pd.DataFrame
    repeats: pd.DataFrame
    oracle: dict[str, float]
    alpha: float

    @property
    def bound(self) -> float:
        """The p-value below which a test fails (Bonferroni)."""
        tests = sum(check.test != "rule" for check in self.checks) + len(self.lists)
        return self.alpha / max(1, tests)

    @property
    def failed(self) -> tuple[Check, ...]:
        """The tests that failed."""
        return tuple(check for check in self.checks if check.p < self.bound)

    @property
    def incomplete(self) -> tuple[WordList, ...]:
        """The word lists with words that should have occurred, but did not."""
        return tuple(words for words in self.lists if words.unseen and words.p < self.bound)

    @property
    def oracle_agrees(self) -> bool:
        """True if the oracle has the accuracy that follows from the design (spec section 12)."""
        return all(self.oracle[kind] == _ORACLE[kind] for kind in self.oracle)

    @property
    def passed(self) -> bool:
        """True if all checks pass."""
        wrong = self.failed or self.incomplete or self.outside or self.miscoded
        return not wrong and self.oracle_agrees

    def to_json(self) -> dict[str, Any]:
        """Return the statistics as a JSON object."""
        frames = {name: getattr(self, name).to_dict("records") for name in ("cells", "repeats")}
        return {"passed": self.passed, "bound": self.bound} | asdict(self) | frames


def statistics(prompts: Sequence[Prompt], *, alpha: float = ALPHA, complete: bool = False) -> Statistics:
    """Return the statistics of prompts of any settings.

    `alpha`: probability that a correct sample fails. `complete`: whether every pair, salient feature and
    format must occur.
    """
    # Paired designs repeat sentences.
    by_sentences = {tuple(example.sentence for example in prompt.examples): prompt for prompt in prompts}
    tested = list(by_sentences.values())
    encoded = encode(tested)
    everything = encoded if len(tested) == len(prompts) else encode(prompts)
    lists = tuple(_word_lists(encoded.examples))
    return Statistics(
        prompts=len(prompts),
        sentences=sum(len(prompt.examples) for prompt in prompts),
        tested=len(tested),
        lists=lists,
        outside=tuple(dict.fromkeys(everything.outside)),
        miscoded=everything.miscoded,
        checks=(
            *designs(tested, complete=complete),
            *examples_checks(tested, encoded.examples),
            *(
                check
                for words in lists
                for check in uniform("words", f"list {words.name}", list(words.counts.values()))
            ),
        ),
        cells=count_cells(prompts),
        repeats=_repeats(encoded.examples),
        oracle=_oracle(prompts),
        alpha=alpha,
    )


def balance_findings(prompts: Sequence[Prompt]) -> tuple[str, ...]:
    """Return the failed tests and unseen words of prompts in a file of any size, in words."""
    if not prompts:
        return ()
    sample = statistics(prompts, alpha=_FILE_ALPHA)
    odd = [
        f"{check.group}, {check.what}: {check.observed}, n = {check.n} ({check.test}, p = {check.p:.2g})"
        for check in sample.failed
        if check.test != "rule"
    ]
    unseen = [
        f"{words.name}: {', '.join(words.unseen)} never seen (p = {words.p:.2g})"
        for words in sample.incomplete
    ]
    return (*odd, *unseen)


def count_cells(prompts: Sequence[Prompt]) -> pd.DataFrame:
    """Return numbers of prompts and examples by salient feature, format and polarity, with empty cells."""
    by = ["feature", "format", "polarity"]
    cells = [(feature, form, value) for feature in FEATURES for form in FORMATS for value in VALUES[feature]]
    rows = [
        (prompt.salient, prompt.format, prompt.hypothesis.value, 1, len(prompt.examples))
        for prompt in prompts
    ]
    counts = pd.DataFrame(rows, columns=[*by, "prompts", "examples"]).groupby(by).sum()
    return counts.reindex(pd.MultiIndex.from_tuples(cells, names=by), fill_value=0).reset_index()


def _word_lists(examples: pd.DataFrame) -> Iterator[WordList]:
    places = examples.loc[examples["place"] != NONE, "place"]
    occurrences: Counter[Any] = Counter((PLACE, number) for number in places)
    for feature in ("a", "b"):
        occurrences.update(examples[[f"list_{feature}", f"word_{feature}"]].value_counts().to_dict())
    for name in LISTS:
        counts = {word: occurrences[name, number] for number, word in enumerate(slot_words(name))}
        unseen = tuple(word for word, count in counts.items() if not count)
        size, draws = len(counts), sum(counts.values())
        # Upper bound of the probability that the draws miss at least one of equally likely words.
        p = min(1.0, size * (1 - 1 / size) ** draws) if unseen else 1.0
        yield WordList(name, counts, unseen, p)


def _repeats(examples: pd.DataFrame) -> pd.DataFrame:
    groups = examples.groupby("pair").agg(seen=("pair", "size")).reindex(PAIR_NAMES, fill_value=0)
    different = examples.drop_duplicates(["pair", *SENTENCE])["pair"].value_counts()
    groups["different"] = different.reindex(PAIR_NAMES, fill_value=0)
    return groups.assign(possible=list(map(sentences_of, PAIR_NAMES))).rename_axis("pair").reset_index()


def _oracle(prompts: Sequence[Prompt]) -> dict[str, float]:
    """Return the accuracy of the Bayes-optimal reading on the scored labels of setting "instruction"."""
    values: dict[str, list[float]] = {}
    for prompt in prompts:
        if prompt.setting == "instruction":
            learner = beliefs(prompt)
            values.setdefault(prompt.kind, []).extend(learner[k - 1].bayes for k in scored_positions(prompt))
    return {kind: float(np.mean(scores)) for kind, scores in values.items()}


def stats_command(
    sentences: Annotated[
        int, typer.Option(min=1, help="number of sentences to draw, in episodes of 20")
    ] = 60_000,
    seed: RootSeedOption = 0,
    data: Annotated[
        str | None, typer.Option(help="check these data instead: a registered name, or a path")
    ] = None,
    alpha: Annotated[
        float, typer.Option(min=0, max=1, help="probability that a correct sample fails")
    ] = ALPHA,
    as_json: JsonOption = False,
) -> None:
    """Check AmbiBench prompts: words, balance, repetitions. The exit code is 1 if a check fails."""
    with patience(Console(stderr=True), "Drawing and counting"):
        if data is None:
            samples = sample_statistics(sentences, seed, alpha)
        else:
            prompts = [item for item in load_items(data, setting=None) if not isinstance(item, AwsPrompt)]
            if not prompts:
                raise InputError(f"data {data!r} contain no prompt with labels")
            samples = {data: statistics(prompts, alpha=alpha)}
    if as_json:
        typer.echo(json.dumps({title: sample.to_json() for title, sample in samples.items()}, indent=1))
    else:
        print_report(Console(), statistics_report(samples))
    if not all(sample.passed for sample in samples.values()):
        raise typer.Exit(1)


def sample_statistics(sentences: int, seed: int, alpha: float = ALPHA) -> dict[str, Statistics]:
    """Return statistics of episodes with at least `sentences` sentences, and of prompts of 4.2, by title."""
    per_cell = -(-sentences // (_CELLS * LENGTH))
    episodes = _draw_prompts("multiple", None, seed, per_cell)
    queries = [
        prompt for kind in BRACKETED for prompt in _draw_prompts("instruction", kind, seed, -(-per_cell // 2))
    ]
    return {
        f"Setting 4.3, multiple examples, seed {seed}": statistics(episodes, alpha=alpha, complete=True),
        f"Setting 4.2, instruction, seed {seed}": statistics(queries, alpha=alpha, complete=True),
    }


@contextmanager
def patience(console: Console, what: str) -> Iterator[None]:
    """Show a status while the block runs, if that takes longer than a second."""
    status = console.status(f"{what} …")
    timer = Timer(_PATIENCE, status.start)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        status.stop()


def _draw_prompts(setting: Setting, kind: Kind | None, seed: int, per_cell: int) -> list[Prompt]:
    items = generate_items(setting, kind=kind, draw=Draw(seed=seed, per_cell=per_cell))
    return [item for item in items if isinstance(item, Prompt)]


# ---- the report


def statistics_report(samples: dict[str, Statistics]) -> Report:
    """Return a report with a section per sample, by title, each with its verdict below."""
    sections = [
        Section(
            name=f"sample-{number}",
            title=title,
            tables=[*_lists_and_repeats(sample), cells_table(sample.cells), _checks_table(sample)],
            text="\n".join(f"{'ok    ' if good else 'WRONG '}{text}" for good, text in _verdict(sample)),
        )
        for number, (title, sample) in enumerate(samples.items(), start=1)
    ]
    return Report(title="Statistics of prompts", sections=sections)


def cells_table(cells: pd.DataFrame) -> Table:
    """Return the numbers of prompts by salient feature, value labelled X, and format as a table."""
    groups = cells[cells["prompts"] > 0].groupby(["feature", "polarity"], sort=False)
    rows = []
    for names, group in [*groups, (("all", ""), cells)]:
        parts = (*(group[group["format"] == form] for form in FORMATS), group)
        rows.append([*names, *(f"{part['prompts'].sum()} ({part['examples'].sum()})" for part in parts)])
    title = "Prompts (examples) by salient feature, value labelled X, and format"
    return Table(["feature", "X is", *FORMATS, "both"], rows, title)


def _lists_and_repeats(sample: Statistics) -> Iterator[Table]:
    rows: list[list[Cell]] = []
    for words in sample.lists:
        counts = list(words.counts.values())
        seen = sum(count > 0 for count in counts)
        rows.append(
            [words.name, ", ".join(words.unseen) or "none", len(counts), seen, min(counts), max(counts)]
        )
    heads = ["list", "unseen", "words", "seen", "least often", "most often"]
    yield Table(heads, rows, "Words seen, against the lists of App. G.1")
    renamed = sample.repeats.rename(columns={"seen": "sentences"})
    yield Table.of_frame(renamed, title="Sentences")


def _checks_table(sample: Statistics) -> Table:
    rows: list[list[Cell]] = []
    for group in dict.fromkeys(check.group for check in sample.checks):
        rows.append([group, None, None, None, None, None])
        for check in (check for check in sample.checks if check.group == group):
            p = "" if check.test == "rule" else f"{check.p:.3g}"
            rows.append([f"  {check.what}", check.n, check.observed, check.expected, check.test, p])
    title = f"Tests; p < {sample.bound:.2g} fails: {sample.alpha:g} shared among all (Bonferroni)"
    return Table(["what", "n", "observed", "fair", "test", "p"], rows, title)


def _verdict(sample: Statistics) -> Iterator[tuple[bool, str]]:
    lists, incomplete = len(sample.lists), len(sample.incomplete)
    unseen = sum(bool(words.unseen) for words in sample.lists)
    few = unseen - incomplete
    remark = f" ({few} incomplete, as can be expected of so few sentences)" if few else ""
    outside = f"{len(sample.outside)} sentences outside the templates"
    equal = f"C3.wordlists: {lists - unseen} of {lists} lists equal{remark}; {outside}"
    yield not incomplete and not sample.outside, equal
    if sample.outside:
        yield False, f"outside: {'; '.join(sample.outside[:3])}"
    if sample.miscoded:
        yield False, f"{sample.miscoded} examples have codes that contradict their sentences"
    if sample.oracle:
        accuracy = ", ".join(f"{value:g} {kind}" for kind, value in sample.oracle.items())
        yield sample.oracle_agrees, f"C2.oracle_4.2: {accuracy}"
    different = f" ({sample.tested} prompts with different sentences)" * (sample.tested < sample.prompts)
    passed = len(sample.checks) - len(sample.failed)
    yield not sample.failed, f"{passed} of {len(sample.checks)} tests pass{different}"
    for check in sample.failed:
        why = f"{check.observed} of {check.n}" if check.test == "rule" else f"p = {check.p:.2g}"
        yield False, f"{check.group}: {check.what} ({why})"
