"""A sample of prompts in figures: words seen, coins, repetitions, and a verdict (spec sections 2, 5, 12).

It is what `askback stats ambibench` prints.
"""

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
# Findings about files are rarer than chance, so that a warning is worth a look.
_FILE_ALPHA: Final = 0.001
_CELLS: Final = len(FEATURES) * len(FORMATS)
# Work that is done sooner needs no sign of life.
_PATIENCE: Final = 1.0
_ORACLE: Final = {"uninformative": 0.5, "wug": 0.5, "informative": 1.0}
LISTS: Final = (
    *("human", "animal", "outdoor", "indoor", "religious"),
    *("secular", "proper", "common", "affirmation", "negation"),
)
"""The lists of App. G.1; pronouns are no list there."""


@dataclass(frozen=True, slots=True)
class WordList:
    """The counts of a word list.

    Attributes:
        counts: each word of it with how often it was seen.
        p: probability that some word stays unseen if all are equally likely; 1 if none did.
    """

    name: str
    counts: dict[str, int]
    unseen: tuple[str, ...]
    p: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Statistics:
    """The statistics of a sample.

    Attributes:
        tested: prompts that count in tests; those with the same sentences (paired designs) count once.
        outside: sentences outside the templates, each once.
        miscoded: examples whose codes differ from what their sentence says.
        cells: see `count_cells`.
        repeats: by pair the sentences seen, how many differ, and how many there can be.
        oracle: instruction kind -> accuracy of the oracle in setting "instruction" (check C2.oracle_4.2).
        alpha: probability that a sample without fault is found faulty; shared among all tests.
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
        """The p value below which a test fails (Bonferroni)."""
        tests = sum(check.test != "rule" for check in self.checks) + len(self.lists)
        return self.alpha / max(1, tests)

    @property
    def failed(self) -> tuple[Check, ...]:
        """The tests that failed."""
        return tuple(check for check in self.checks if check.p < self.bound)

    @property
    def short(self) -> tuple[WordList, ...]:
        """The word lists with words that should have been seen."""
        return tuple(words for words in self.lists if words.unseen and words.p < self.bound)

    @property
    def oracle_agrees(self) -> bool:
        """Return True if the oracle has what it must have by construction (spec section 12)."""
        return all(self.oracle[kind] == _ORACLE[kind] for kind in self.oracle)

    @property
    def passed(self) -> bool:
        """Return True if nothing is wrong."""
        wrong = self.failed or self.short or self.outside or self.miscoded
        return not wrong and self.oracle_agrees

    def to_json(self) -> dict[str, Any]:
        """Return all of it as a JSON object."""
        frames = {name: getattr(self, name).to_dict("records") for name in ("cells", "repeats")}
        return {"passed": self.passed, "bound": self.bound} | asdict(self) | frames


def statistics(prompts: Sequence[Prompt], *, alpha: float = ALPHA, whole: bool = False) -> Statistics:
    """Look at prompts of any settings.

    `alpha`: probability that a sample without fault is found faulty. `whole`: whether every pair, salient
    feature and format must be there.
    """
    # Paired designs repeat sentences.
    sentences = {tuple(example.sentence for example in prompt.examples): prompt for prompt in prompts}
    tested = list(sentences.values())
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
            *designs(tested, whole=whole),
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
    """Return what is not as balanced as chance would have it, in sentences; for files of any size."""
    if not prompts:
        return ()
    sample = statistics(prompts, alpha=_FILE_ALPHA)
    odd = [
        f"{check.group}, {check.what}: {check.observed}, n = {check.n} ({check.test}, p = {check.p:.2g})"
        for check in sample.failed
        if check.test != "rule"
    ]
    unseen = [
        f"{words.name}: {', '.join(words.unseen)} never seen (p = {words.p:.2g})" for words in sample.short
    ]
    return (*odd, *unseen)


def count_cells(prompts: Sequence[Prompt]) -> pd.DataFrame:
    """Return prompts and their examples by salient feature, format and polarity; empty cells, too."""
    by = ["feature", "format", "polarity"]
    known = [(feature, form, value) for feature in FEATURES for form in FORMATS for value in VALUES[feature]]
    rows = [
        (prompt.salient, prompt.format, prompt.hypothesis.value, 1, len(prompt.examples))
        for prompt in prompts
    ]
    counts = pd.DataFrame(rows, columns=[*by, "prompts", "examples"]).groupby(by).sum()
    return counts.reindex(pd.MultiIndex.from_tuples(known, names=by), fill_value=0).reset_index()


def _word_lists(examples: pd.DataFrame) -> Iterator[WordList]:
    placed = examples.loc[examples["place"] != NONE, "place"]
    seen: Counter[Any] = Counter((PLACE, number) for number in placed)
    for feature in ("a", "b"):
        seen.update(examples[[f"list_{feature}", f"word_{feature}"]].value_counts().to_dict())
    for name in LISTS:
        counts = {word: seen[name, number] for number, word in enumerate(slot_words(name))}
        unseen = tuple(word for word, count in counts.items() if not count)
        size, draws = len(counts), sum(counts.values())
        # At most so likely do draws leave out one of equally likely words or more.
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
            thought = beliefs(prompt)
            values.setdefault(prompt.kind, []).extend(thought[k - 1].bayes for k in scored_positions(prompt))
    return {kind: float(np.mean(gained)) for kind, gained in values.items()}


def stats_command(
    sentences: Annotated[int, typer.Option(min=1, help="how many are drawn, in episodes of 20")] = 60_000,
    seed: RootSeedOption = 0,
    data: Annotated[
        str | None, typer.Option(help="of these instead: the name of added data, or a path")
    ] = None,
    alpha: Annotated[
        float, typer.Option(min=0, max=1, help="how likely a faultless sample is found faulty")
    ] = ALPHA,
    as_json: JsonOption = False,
) -> None:
    """Are AmbiBench prompts what they should be? Words, coins, repetitions; the exit code is 1 if not."""
    with patience(Console(stderr=True), "Drawing and counting"):
        if data is None:
            samples = of_drawn(sentences, seed, alpha)
        else:
            prompts = [item for item in load_items(data, setting=None) if not isinstance(item, AwsPrompt)]
            if not prompts:
                raise InputError(f"data {data!r} hold no prompt with labels")
            samples = {data: statistics(prompts, alpha=alpha)}
    if as_json:
        typer.echo(json.dumps({title: sample.to_json() for title, sample in samples.items()}, indent=1))
    else:
        print_report(Console(), statistics_report(samples))
    if not all(sample.passed for sample in samples.values()):
        raise typer.Exit(1)


def of_drawn(sentences: int, seed: int, alpha: float = ALPHA) -> dict[str, Statistics]:
    """Return statistics of so many sentences in episodes, or a few more, and of prompts of 4.2, by title."""
    per_cell = -(-sentences // (_CELLS * LENGTH))
    episodes = _draw_prompts("multiple", None, seed, per_cell)
    queries = [
        prompt for kind in BRACKETED for prompt in _draw_prompts("instruction", kind, seed, -(-per_cell // 2))
    ]
    return {
        f"Setting 4.3, multiple examples, seed {seed}": statistics(episodes, alpha=alpha, whole=True),
        f"Setting 4.2, instruction, seed {seed}": statistics(queries, alpha=alpha, whole=True),
    }


@contextmanager
def patience(console: Console, what: str) -> Iterator[None]:
    """Show that something is going on, if it takes longer than a second."""
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
    """Return all there is of some samples, by their titles; the verdict stands below each."""
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
    """Return prompts by salient feature, value labelled X, and format."""
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
    lists, short = len(sample.lists), len(sample.short)
    unseen = sum(bool(words.unseen) for words in sample.lists)
    few = f" ({unseen - short} not whole yet, as may be in so few sentences)" if unseen > short else ""
    outside = f"{len(sample.outside)} sentences outside the templates"
    equal = f"C3.wordlists: {lists - unseen} of {lists} lists equal{few}; {outside}"
    yield not short and not sample.outside, equal
    if sample.outside:
        yield False, f"outside: {'; '.join(sample.outside[:3])}"
    if sample.miscoded:
        yield False, f"{sample.miscoded} examples are coded otherwise than their sentences say"
    if sample.oracle:
        spelled = ", ".join(f"{value:g} {kind}" for kind, value in sample.oracle.items())
        yield sample.oracle_agrees, f"C2.oracle_4.2: {spelled}"
    different = f" ({sample.tested} prompts with different sentences)" * (sample.tested < sample.prompts)
    passed = len(sample.checks) - len(sample.failed)
    yield not sample.failed, f"{passed} of {len(sample.checks)} tests pass{different}"
    for check in sample.failed:
        yield False, f"{check.group}: {check.what} (p = {check.p:.2g})"
