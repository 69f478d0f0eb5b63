"""`askback generate ambient`: new examples modelled on a pool, for linguists to annotate (spec 2.2).

Pairs written by a language model are filtered, classified by an NLI model and balanced; the result of each
step is reported.
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
from simulator.ambient.pool.filters import FilterSet, SampledPair, filter_pairs
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
from simulator.generation import Journal, key_of, open_model, resumable_journal, write_study
from simulator.models import Needs
from simulator.models.weights import fingerprint
from simulator.runner.command import service_name
from simulator.runner.options import NO_FLAGS, FolderOption, ModelFlags, with_model_options, with_options
from simulator.runner.run_summary import counting_bar, say
from simulator.seeds import derive_seed

SAMPLES: Final = "samples.jsonl"
PREDICTIONS: Final = "predictions.jsonl"
PAIRS: Final = "pairs.jsonl"
STUDY: Final = "study.yaml"
SETS: Final = 200
_HEAD: Final = """\
# New pairs for linguists, {judgments} annotations for each. NewPairs together with {data}.
# Before you invite people: add pay, completion codes, a completion URL, and the study's texts.
# The path of the data is absolute; change it if you move the folder.
"""
_JOURNAL_KEY: Final = "model, server, pool, encoder, prompt or decoding"
_BATCH: Final = 256
_DIGITS: Final = 6
Probabilities = Mapping[Label, float]

THRESHOLD: Final = 0.05
REFERENCE_THRESHOLD: Final = 0.04
"""The reference's threshold for predicted sets in balancing."""
Balancing = Literal["default", "reference"]
_CE: Final[LabelSet] = frozenset({"contradiction", "entailment"})
_CN: Final[LabelSet] = frozenset({"contradiction", "neutral"})
_EN: Final[LabelSet] = frozenset({"entailment", "neutral"})


def may_be_ambiguous(probabilities: Probabilities, which: Balancing = "default") -> bool:
    """Return True if the second-highest probability reaches the threshold (in the reference: exceeds it)."""
    second = second_highest(probabilities)
    return second >= THRESHOLD if which == "default" else second > THRESHOLD


def predicted_labels(probabilities: Probabilities, which: Balancing = "default") -> LabelSet:
    """Return the predicted label set of a pair, for balancing.

    It contains the labels with at least 5 %, as in the filter; in the reference those above 4 %.
    """
    if which == "default":
        return frozenset(label for label in LABELS if probabilities[label] >= THRESHOLD)
    return frozenset(label for label in LABELS if probabilities[label] > REFERENCE_THRESHOLD)


def balanced_indices(sets: Sequence[LabelSet], *, seed: int, which: Balancing = "default") -> list[int]:
    """Return the indices of pairs selected by their predicted sets, at random where there are too many.

    By default all {C,E} and {C,E,N}, and as many {E,N} as {C,N}. In the reference all sets with C, and sets
    with E but without C until both labels occur equally often.
    """
    random = Random(derive_seed(seed, "balance"))
    return sorted(_balance_pairs(sets, random) if which == "default" else _balance_labels(sets, random))


def _balance_pairs(sets: Sequence[LabelSet], random: Random) -> list[int]:
    groups = [[place for place, labels in enumerate(sets) if labels == kind] for kind in (_EN, _CN)]
    number = min(map(len, groups))
    chosen = [place for places in groups for place in random.sample(places, number)]
    return [place for place, labels in enumerate(sets) if labels >= _CE] + chosen


def _balance_labels(sets: Sequence[LabelSet], random: Random) -> list[int]:
    chosen = [place for place, labels in enumerate(sets) if "contradiction" in labels]
    missing = len(chosen) - sum("entailment" in sets[place] for place in chosen)
    others = [
        place for place, labels in enumerate(sets) if "entailment" in labels and "contradiction" not in labels
    ]
    return chosen + random.sample(others, min(missing, len(others)))


@dataclass(frozen=True, slots=True)
class NewPairs:
    """New pairs without labels, in the order in which they were drawn, and the result of each step.

    `steps`: name, number of pairs left, and number dropped (None for steps that drop nothing). `sets`: number
    of pairs per predicted label set before and after balancing; empty without an NLI model.
    """

    examples: tuple[Example, ...]
    steps: tuple[tuple[str, int, int | None], ...]
    sets: Mapping[LabelSet, tuple[int, int]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """The variant of each step: ours or the reference's."""

    filters: Annotated[
        FilterSet, typer.Option(help='reference: also drop pairs with question marks or "said"')
    ] = "default"
    selection: Annotated[Balancing, typer.Option(help="rule for thresholds and balancing")] = "default"


def make_pairs(
    samples: Samples,
    rules: Rules,
    ask: Callable[[Sequence[SampledPair]], list[Probabilities]] | None,
    *,
    model: str,
    seed: int,
) -> NewPairs:
    """Filter and balance sampled pairs.

    `ask`: returns an NLI model's label probabilities of pairs; None skips the ambiguity filter and balancing.
    """
    steps: list[tuple[str, int, int | None]] = [
        ("prompts answered", samples.prompts - samples.refused, None),
        ("samples drawn", samples.texts, None),
        ("in two parts", len(samples.pairs), samples.texts - len(samples.pairs)),
    ]
    passed = filter_pairs(samples.pairs, rules.filters)
    left = len(samples.pairs)
    for name, number in passed.dropped.items():
        left -= number
        steps.append((f"not: {name}", left, number))
    if ask is None:
        return NewPairs(tuple(_example(drawn, model) for drawn in passed.pairs), tuple(steps))
    scored = list(zip(passed.pairs, ask(passed.pairs), strict=True))
    likely = [(drawn, labels) for drawn, labels in scored if may_be_ambiguous(labels, rules.selection)]
    steps.append(("two labels are likely", len(likely), len(scored) - len(likely)))
    sets = [predicted_labels(labels, rules.selection) for _, labels in likely]
    places = balanced_indices(sets, seed=seed, which=rules.selection)
    steps.append(("label sets balanced", len(places), len(likely) - len(places)))
    before, after = Counter(sets), Counter(sets[place] for place in places)
    examples = tuple(_example(likely[place][0], model, likely[place][1]) for place in places)
    all_sets: Iterable[LabelSet] = (*LABEL_SETS, frozenset())
    return NewPairs(examples, tuple(steps), {labels: (before[labels], after[labels]) for labels in all_sets})


def _example(drawn: SampledPair, model: str, labels: Probabilities | None = None) -> Example:
    meta: dict[str, Any] = {"source": "generated", "model": model, "examples": list(drawn.examples)}
    if labels is not None:
        meta["probabilities"] = {label: round(labels[label], _DIGITS) for label in LABELS}
    return Example(id=pair_id(*drawn.pair), premise=drawn.premise, hypothesis=drawn.hypothesis, meta=meta)


# ---- the command


@with_model_options
@with_options("decoding", options_of(Decoding), Decoding)
@with_options("rules", options_of(Rules), Rules)
def generate_ambient(
    model: Annotated[str, typer.Option(help="provider/model that writes the pairs")],
    out: FolderOption,
    pool: Annotated[
        str, typer.Option(help="builtin, or a file with premise, hypothesis, and labels of two annotators")
    ] = BUILTIN,
    nli: Annotated[
        Path | None, typer.Option(help="folder of an NLI model, for the ambiguity filter and balancing")
    ] = None,
    no_ambiguity_filter: Annotated[
        bool, typer.Option("--no-ambiguity-filter", help="skip the ambiguity filter and balancing")
    ] = False,
    encoder: Annotated[
        Path | None,
        typer.Option(help="folder of a transformers encoder, to find neighbours; default: offline/words"),
    ] = None,
    prompts: Annotated[
        int | None,
        typer.Option(min=1, help="number of prompts; default: one per pair annotators disagree on"),
    ] = None,
    group: Annotated[
        int, typer.Option(min=4, max=5, help="pairs per prompt: 4, or 5 as in the paper's text")
    ] = SIZE,
    decoding: Decoding = Decoding(),  # noqa: B008
    rules: Rules = Rules(),
    concurrency: Annotated[int, typer.Option(min=1, help="prompts requested at a time")] = 8,
    device: Annotated[str | None, typer.Option(help="device of the encoder and the NLI model")] = None,
    flags: ModelFlags = NO_FLAGS,
    log: LogOption = None,
) -> None:
    """Generate new examples for linguists. Rerun the command to continue where it stopped."""
    console = Console()
    judge = _load_judge(nli, no_ambiguity_filter, device)
    path, seed = log or default_path(), decoding.seed
    options = flags.options(path, seed=seed)
    pairs = pool_of(pool)
    sentences = [(pair.premise, pair.hypothesis) for pair in pairs]
    if encoder is None:
        embedding = embed(sentences)
    else:
        with counting_bar(console, "pool", len(pairs)) as advance:
            embedding = embed(sentences, encoder, device=device, advance=advance)
    groups = in_drawn_order(make_groups(pairs, embedding.vectors, group), seed)
    if prompts is not None and prompts > len(groups):
        raise InputError(
            f"--prompts {prompts}: there is one prompt for each of the {len(groups)} pairs of the pool that "
            "annotators disagree on; give fewer, or more --samples"
        )
    all_prompts = prompts_of(groups, service_name(model, options), decoding)
    chosen = all_prompts[:prompts]

    async def ask_model(journal: Journal) -> None:
        missing = sum(prompt.key not in journal.rows for prompt in chosen)
        if not missing:
            console.print("All samples were there already; the model was not called.")
            return
        async with open_model(model, options, path, Needs(samples=decoding.samples > 1)) as service:
            with counting_bar(console, "prompts", len(chosen), len(chosen) - missing) as advance:
                await draw(
                    service, chosen, decoding, journal, concurrency=concurrency, advance=lambda: advance(1)
                )

    say(console, f"{len(pairs)} pairs, {len(groups)} seeds; neighbours by {embedding.name} ({embedding.how})")
    with resumable_journal(out / SAMPLES, console, done="drawn", place=out) as journal:
        journal.require_only({prompt.key for prompt in all_prompts}, _JOURNAL_KEY)
        asyncio.run(ask_model(journal))
        samples = samples_of(chosen, journal)
        ask = None if judge is None else partial(_ask_judge, judge, out / PREDICTIONS, console)
        made = make_pairs(samples, rules, ask, model=model, seed=seed)
    _finish(made, out, seed, console)


def _load_judge(nli: Path | None, skip: bool, device: str | None) -> Predictor | None:
    """Load and try the NLI model, if any, before money is spent on samples."""
    if (nli is None) != skip:
        raise InputError(
            "give either --nli FOLDER (a model trained by `askback train ambient-nli`, or another with three "
            "labels) or --no-ambiguity-filter"
        )
    if nli is None:
        return None
    judge = load_predictor(nli, device=device)
    judge.probabilities([("", "")])
    return judge


def _ask_judge(
    judge: Predictor, journal: Path, console: Console, pairs: Sequence[SampledPair]
) -> list[Probabilities]:
    """Return label probabilities of pairs, calling the model only for pairs that are not in the journal."""
    folder = Path(judge.name)
    name = key_of(judge.name, *(fingerprint(str(folder / part)) for part in (".", *LABELS)))
    keys = [f"{name}-{pair_id(*drawn.pair)}" for drawn in pairs]
    with Journal(journal) as predictions, counting_bar(console, "pairs", len(pairs)) as advance:
        missing = [place for place, key in enumerate(keys) if key not in predictions.rows]
        advance(len(pairs) - len(missing))
        for start in range(0, len(missing), _BATCH):
            places = missing[start : start + _BATCH]
            probabilities = judge.probabilities([pairs[place].pair for place in places])
            for place, labels in zip(places, probabilities, strict=True):
                predictions.add(keys[place], {"probabilities": labels})
            advance(len(places))
        return [predictions.rows[key]["probabilities"] for key in keys]


def _finish(made: NewPairs, out: Path, seed: int, console: Console) -> None:
    table = Table("step", "left", "dropped", title="New examples", title_justify="left")
    for name, left, dropped in made.steps:
        table.add_row(name, f"{left:,}", "" if dropped is None else f"{dropped:,}")
    console.print(table)
    if made.sets:
        console.print(_sets_table(made.sets))
    if not made.examples:
        for name in (PAIRS, STUDY):
            (out / name).unlink(missing_ok=True)
        console.print("No pair is left to annotate: give more --prompts or --samples.")
        raise typer.Exit(1)
    pairs, study = out / PAIRS, out / STUDY
    DATASET.write(pairs, made.examples)
    write_study(
        study,
        head=_HEAD,
        title="One pair of sentences, how many readings?",
        benchmark=BENCHMARK,
        data=pairs,
        content="\n".join(example.id for example in made.examples),
        sets=SETS,
        seed=seed,
    )
    say(
        console,
        f"Wrote {len(made.examples)} pairs to {pairs} and a study for linguists to {study}: review it, then "
        f"run `askback app --study {study}`.",
    )


def _sets_table(sets: Mapping[LabelSet, tuple[int, int]]) -> Table:
    table = Table("predicted set", "pairs", "kept", title="Balancing", title_justify="left")
    for labels, (before, after) in sets.items():
        if before:
            table.add_row(letters(labels) or "none", f"{before:,}", f"{after:,}")
    return table
