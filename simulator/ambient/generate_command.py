"""`askback generate ambient`: new examples in the manner of a pool, for linguists to annotate (spec 2.2).

A model's pairs are filtered, judged by a model of inference and balanced; what each step keeps is told.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random
from typing import Annotated, Any, Final, Literal

import typer
from rich.console import Console
from rich.table import Table

from logs.cli import LogOption
from logs.paths import default_path
from simulator.ambient.claims import second_highest
from simulator.ambient.data import BUILTIN
from simulator.ambient.examples import Example
from simulator.ambient.files.dataset import DATASET
from simulator.ambient.items import BENCHMARK
from simulator.ambient.labels import LABEL_SETS, LABELS, Label, LabelSet, letters
from simulator.ambient.nli.predict import Predictor, load_predictor
from simulator.ambient.pool.filters import Drawn, FilterSet, filtered
from simulator.ambient.pool.groups import (
    SIZE,
    Decoding,
    Samples,
    draw,
    embed,
    in_drawn_order,
    make_groups,
    pair_id,
    pool_of,
    prompts_of,
    samples_of,
)
from simulator.errors import InputError
from simulator.field_options import options_of
from simulator.generation import Journal, key_of, open_model, resumable, write_study
from simulator.models import Needs
from simulator.models.weights import fingerprint
from simulator.runner.command import service_name
from simulator.runner.options import NO_FLAGS, FolderOption, ModelFlags, asks_models, takes
from simulator.runner.run_summary import counted, say
from simulator.seeds import derive_seed

SAMPLES: Final = "samples.jsonl"
PREDICTIONS: Final = "predictions.jsonl"
PAIRS: Final = "pairs.jsonl"
STUDY: Final = "study.yaml"
SETS: Final = 200
_HEAD: Final = """\
# New pairs for linguists, {judgments} for each. Made together with {data}.
# Before people are invited: add pay, completion codes and a completion URL, and the study's own texts.
# The path of the data is absolute; change it where the folder moves.
"""
_DIFFERS: Final = "model, server, pool, encoder, prompt or decoding"
_READ: Final = 256
_ROUNDED: Final = 6
Probabilities = Mapping[Label, float]

THRESHOLD: Final = 0.05
REFERENCE_THRESHOLD: Final = 0.04
"""Of the reference's predicted sets in balancing."""
Balancing = Literal["default", "reference"]
_CE: Final[LabelSet] = frozenset({"contradiction", "entailment"})
_CN: Final[LabelSet] = frozenset({"contradiction", "neutral"})
_EN: Final[LabelSet] = frozenset({"entailment", "neutral"})


def may_be_ambiguous(probabilities: Probabilities, which: Balancing = "default") -> bool:
    """Return True if two labels are likely enough: the second-highest probability reaches the threshold.

    The reference wants it to be strictly greater.
    """
    second = second_highest(probabilities)
    return second >= THRESHOLD if which == "default" else second > THRESHOLD


def predicted(probabilities: Probabilities, which: Balancing = "default") -> LabelSet:
    """Return the label set that a pair counts with in balancing.

    All labels from 5 % on, as in the filter; in the reference those above 4 %.
    """
    if which == "default":
        return frozenset(label for label in LABELS if probabilities[label] >= THRESHOLD)
    return frozenset(label for label in LABELS if probabilities[label] > REFERENCE_THRESHOLD)


def balanced(sets: Sequence[LabelSet], *, seed: int, which: Balancing = "default") -> list[int]:
    """Return the places of pairs chosen by their predicted sets; where there are too many, they are drawn.

    By default all {C,E} and {C,E,N}, and as many {E,N} as {C,N}. In the reference all sets with C, and
    then drawn ones with E and without C until both labels are in equally many.
    """
    random = Random(derive_seed(seed, "balance"))
    return sorted(_balance_pairs(sets, random) if which == "default" else _balance_labels(sets, random))


def _balance_pairs(sets: Sequence[LabelSet], random: Random) -> list[int]:
    several = [[place for place, labels in enumerate(sets) if labels == kind] for kind in (_EN, _CN)]
    number = min(map(len, several))
    chosen = [place for places in several for place in random.sample(places, number)]
    return [place for place, labels in enumerate(sets) if labels >= _CE] + chosen


def _balance_labels(sets: Sequence[LabelSet], random: Random) -> list[int]:
    kept = [place for place, labels in enumerate(sets) if "contradiction" in labels]
    lacking = len(kept) - sum("entailment" in sets[place] for place in kept)
    others = [
        place for place, labels in enumerate(sets) if "entailment" in labels and "contradiction" not in labels
    ]
    return kept + random.sample(others, min(lacking, len(others)))


@dataclass(frozen=True, slots=True)
class Made:
    """New pairs without labels, in the order in which they were drawn, and what each step has left.

    `steps`: the name of each, what is left, and what was dropped, None where it only counts. `sets`: how many
    pairs each label set has before balancing and after; empty if nobody was asked for probabilities.
    """

    examples: tuple[Example, ...]
    steps: tuple[tuple[str, int, int | None], ...]
    sets: Mapping[LabelSet, tuple[int, int]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """The choice between the two ways of each step."""

    filters: Annotated[FilterSet, typer.Option(help='reference: without question marks and "said", too')] = (
        "default"
    )
    selection: Annotated[Balancing, typer.Option(help="thresholds and balancing")] = "default"


def make_pairs(
    samples: Samples,
    rules: Rules,
    ask: Callable[[Sequence[Drawn]], list[Probabilities]] | None,
    *,
    model: str,
    seed: int,
) -> Made:
    """Filter, ask a model of inference, balance.

    `ask`: gives probabilities of pairs; None for neither the filter of ambiguity nor balancing.
    """
    steps: list[tuple[str, int, int | None]] = [
        ("prompts answered", samples.prompts - samples.refused, None),
        ("samples drawn", samples.texts, None),
        ("in two parts", len(samples.pairs), samples.texts - len(samples.pairs)),
    ]
    kept = filtered(samples.pairs, rules.filters)
    left = len(samples.pairs)
    for name, number in kept.dropped.items():
        left -= number
        steps.append((f"not: {name}", left, number))
    if ask is None:
        return Made(tuple(_example(drawn, model) for drawn in kept.pairs), tuple(steps))
    asked = list(zip(kept.pairs, ask(kept.pairs), strict=True))
    likely = [(drawn, shares) for drawn, shares in asked if may_be_ambiguous(shares, rules.selection)]
    steps.append(("two labels are likely", len(likely), len(asked) - len(likely)))
    sets = [predicted(shares, rules.selection) for _, shares in likely]
    places = balanced(sets, seed=seed, which=rules.selection)
    steps.append(("label sets balanced", len(places), len(likely) - len(places)))
    before, after = Counter(sets), Counter(sets[place] for place in places)
    examples = tuple(_example(likely[place][0], model, likely[place][1]) for place in places)
    every: Iterable[LabelSet] = (*LABEL_SETS, frozenset())
    return Made(examples, tuple(steps), {labels: (before[labels], after[labels]) for labels in every})


def ask_judge(
    judge: Predictor, pairs: Sequence[Drawn], journal: Journal, tell: Callable[[int], None]
) -> list[Probabilities]:
    """Return the probabilities of pairs; a model is asked for what the journal does not have yet."""
    folder = Path(judge.name)
    name = key_of(judge.name, *(fingerprint(str(folder / part)) for part in (".", *LABELS)))
    keys = [f"{name}-{pair_id(*drawn.pair)}" for drawn in pairs]
    missing = [place for place, key in enumerate(keys) if key not in journal.rows]
    tell(len(pairs) - len(missing))
    for start in range(0, len(missing), _READ):
        places = missing[start : start + _READ]
        read = judge.probabilities([pairs[place].pair for place in places])
        for place, shares in zip(places, read, strict=True):
            journal.add(keys[place], {"probabilities": shares})
        tell(len(places))
    return [journal.rows[key]["probabilities"] for key in keys]


def _example(drawn: Drawn, model: str, shares: Probabilities | None = None) -> Example:
    meta: dict[str, Any] = {"source": "generated", "model": model, "examples": list(drawn.examples)}
    if shares is not None:
        meta["probabilities"] = {label: round(shares[label], _ROUNDED) for label in LABELS}
    return Example(id=pair_id(*drawn.pair), premise=drawn.premise, hypothesis=drawn.hypothesis, meta=meta)


def write_pairs_and_study(examples: Sequence[Example], folder: Path, *, seed: int) -> tuple[Path, Path]:
    """Write the file of pairs, at least one, and the study file; return both."""
    pairs, study = folder / PAIRS, folder / STUDY
    DATASET.write(pairs, examples)
    write_study(
        study,
        head=_HEAD,
        title="One pair of sentences, how many readings?",
        benchmark=BENCHMARK,
        data=pairs,
        content="\n".join(example.id for example in examples),
        sets=SETS,
        seed=seed,
    )
    return pairs, study


# ---- the command


@asks_models
@takes("decoding", options_of(Decoding), Decoding)
@takes("rules", options_of(Rules), Rules)
def generate_ambient(
    model: Annotated[str, typer.Option(help="provider/model that writes the pairs")],
    out: FolderOption,
    pool: Annotated[
        str, typer.Option(help="builtin, or a file: premise, hypothesis, labels of two annotators")
    ] = BUILTIN,
    nli: Annotated[
        Path | None, typer.Option(help="folder of a model of inference, for the filter of ambiguity")
    ] = None,
    no_ambiguity_filter: Annotated[
        bool, typer.Option("--no-ambiguity-filter", help="leave that filter and the balancing out")
    ] = False,
    encoder: Annotated[
        Path | None,
        typer.Option(help="folder of a transformers encoder, for neighbours; default: offline/words"),
    ] = None,
    prompts: Annotated[
        int | None, typer.Option(min=1, help="how many; default: one for each pair annotators disagree on")
    ] = None,
    group: Annotated[
        int, typer.Option(min=4, max=5, help="pairs in a prompt: 4, or 5 as in the text")
    ] = SIZE,
    decoding: Decoding = Decoding(),  # noqa: B008
    rules: Rules = Rules(),
    concurrency: Annotated[int, typer.Option(min=1, help="prompts at a time")] = 8,
    device: Annotated[str | None, typer.Option(help="of encoder and model of inference")] = None,
    flags: ModelFlags = NO_FLAGS,
    log: LogOption = None,
) -> None:
    """Make new examples for linguists. The same command again continues where it stopped."""
    console = Console()
    judge = _judge(nli, no_ambiguity_filter, device)
    path, seed = log or default_path(), decoding.seed
    options = flags.options(path, seed=seed)
    pairs = pool_of(pool)
    sentences = [(pair.premise, pair.hypothesis) for pair in pairs]
    if encoder is None:
        embedding = embed(sentences)
    else:
        with counted(console, "pool", len(pairs)) as tell:
            embedding = embed(sentences, encoder, device=device, tell=tell)
    groups = in_drawn_order(make_groups(pairs, embedding.vectors, group), seed)
    if prompts is not None and prompts > len(groups):
        raise InputError(
            f"--prompts {prompts}: annotators disagree on {len(groups)} pairs of the pool, and each is the "
            "seed of one prompt; ask for fewer, or for more --samples"
        )
    everything = prompts_of(groups, service_name(model, options), decoding)
    chosen = everything[:prompts]

    async def ask_model(journal: Journal) -> None:
        missing = sum(prompt.key not in journal.rows for prompt in chosen)
        if not missing:
            console.print("All samples were there already; the model was not asked.")
            return
        async with open_model(model, options, path, Needs(samples=decoding.samples > 1)) as service:
            with counted(console, "prompts", len(chosen), len(chosen) - missing) as tell:
                await draw(service, chosen, decoding, journal, concurrency=concurrency, tell=lambda: tell(1))

    say(console, f"{len(pairs)} pairs, {len(groups)} seeds; neighbours by {embedding.name} ({embedding.how})")
    with resumable(out / SAMPLES, console, done="drawn", place=out) as journal:
        journal.require_only({prompt.key for prompt in everything}, _DIFFERS)
        asyncio.run(ask_model(journal))
        written = samples_of(chosen, journal)
        ask = None if judge is None else partial(_ask_judge, judge, out / PREDICTIONS, console)
        made = make_pairs(written, rules, ask, model=model, seed=seed)
    _finish(made, out, seed, console)


def _judge(nli: Path | None, left_out: bool, device: str | None) -> Predictor | None:
    """Return the model of inference, before anything is spent on samples."""
    if (nli is None) != left_out:
        raise InputError(
            "say either --nli FOLDER (a model that `askback train ambient-nli` made, or another of three "
            "labels) or --no-ambiguity-filter"
        )
    if nli is None:
        return None
    judge = load_predictor(nli, device=device)
    judge.probabilities([("", "")])
    return judge


def _ask_judge(
    judge: Predictor, journal: Path, console: Console, pairs: Sequence[Drawn]
) -> list[Probabilities]:
    with Journal(journal) as predictions, counted(console, "pairs", len(pairs)) as tell:
        return ask_judge(judge, pairs, predictions, tell)


def _finish(made: Made, out: Path, seed: int, console: Console) -> None:
    table = Table("step", "left", "dropped", title="New examples", title_justify="left")
    for name, left, dropped in made.steps:
        table.add_row(name, f"{left:,}", "" if dropped is None else f"{dropped:,}")
    console.print(table)
    if made.sets:
        console.print(_sets_table(made.sets))
    if not made.examples:
        for name in (PAIRS, STUDY):
            (out / name).unlink(missing_ok=True)
        console.print("No pair is left, so there is nothing to annotate: ask for more prompts or samples.")
        raise typer.Exit(1)
    pairs, study = write_pairs_and_study(made.examples, out, seed=seed)
    say(
        console,
        f"{len(made.examples)} pairs are in {pairs}; {study} is a study for linguists: look at it, then "
        f"`askback app --study {study}`.",
    )


def _sets_table(sets: Mapping[LabelSet, tuple[int, int]]) -> Table:
    table = Table("predicted set", "pairs", "kept", title="Balancing", title_justify="left")
    for labels, (before, after) in sets.items():
        if before:
            table.add_row(letters(labels) or "none", f"{before:,}", f"{after:,}")
    return table
