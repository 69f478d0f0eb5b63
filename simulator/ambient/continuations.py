"""Test 3: KL divergence between continuations of an ambiguous sentence and of its rewrites (spec 8).

For an ambiguous sentence a and each option d (a rewrite or the distractor), KL(P(.|d) || P(.|a)) is the mean
of log P(c|d) - log P(c|a) over continuations c sampled from d. The distractor should have the largest.
Style and length of the rewrites confound the likelihoods, and a distractor that is far off makes the test
easy: reports should say so.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Final, Literal

from simulator.ambient.examples import Example
from simulator.ambient.intervals import Count, Values, clustered_interval
from simulator.ambient.records import DISTRACTOR, ContinuationOption, ContinuationRecord
from simulator.seeds import derive_seed
from simulator.stats import Interval

STEMS: Final[Mapping[str, str]] = {"plain": '"', "instructed": "Write a story.\n\n"}
"""The text before every conditioning sentence, for plain and for instruction-tuned models."""
_ENDS: Final = ".!?"
_SHORTEST: Final = 2


def one_sentence(text: str) -> str:
    """Return a sampled text up to its first ``.``, ``!`` or ``?``, which a full stop replaces."""
    end = min((place for sign in _ENDS if (place := text.find(sign)) >= 0), default=len(text))
    return f"{text[:end]}."


@dataclass(frozen=True, slots=True, kw_only=True)
class SampledOption:
    """The continuations sampled from one option, one sentence each, with their log-probabilities.

    `own`: log P(c|d), `original`: log P(c|a), in nats, summed over tokens; None where not available.
    All are aligned with `continuations`.
    """

    name: str
    sentence: str
    continuations: tuple[str, ...]
    own: tuple[float | None, ...]
    original: tuple[float | None, ...]


def log_odds(option: SampledOption) -> tuple[float, ...]:
    """Return log P(c|d) - log P(c|a), in nats, for each long enough continuation that has both."""
    rows = zip(option.continuations, option.own, option.original, strict=True)
    return tuple(
        own - original
        for text, own, original in rows
        if len(text) >= _SHORTEST
        and own is not None
        and original is not None
        and math.isfinite(own - original)
    )


def kl_options(id: str, sentence: str, options: Sequence[SampledOption], *, seed: int) -> ContinuationRecord:
    """Return the KL estimates of one instance, all from the same number of continuations.

    All are None (and `num_conts` is 0) if an option has no usable continuation.

    `seed`: seed for subsampling every option to the size of the smallest.
    """
    odds = {option.name: log_odds(option) for option in options}
    number = min(map(len, odds.values()), default=0)

    def estimate(name: str) -> float | None:
        values = odds[name]
        if len(values) > number:
            values = tuple(Random(derive_seed(seed, id, name)).sample(values, number))
        return math.fsum(values) / number if number else None

    return ContinuationRecord(
        id=id,
        sentence=sentence,
        options=tuple(
            ContinuationOption(option.name, option.sentence, estimate(option.name)) for option in options
        ),
        num_conts=number,
    )


def rank(record: ContinuationRecord) -> Literal["missing", "first", "tied", "below"]:
    """Compare the distractor's estimate with the largest of the rewrites; "missing" if one is unknown."""
    estimates = {option.name: option.kl for option in record.options}
    distractor, rewrites = estimates.pop(DISTRACTOR, None), list(estimates.values())
    known = [kl for kl in rewrites if kl is not None and not math.isnan(kl)]
    if distractor is None or math.isnan(distractor) or not rewrites or len(known) < len(rewrites):
        return "missing"
    largest = max(known)
    return "first" if distractor > largest else "tied" if distractor == largest else "below"


def ranks_first(record: ContinuationRecord) -> bool:
    """Return True if all estimates are known and the distractor's is strictly the largest."""
    return rank(record) == "first"


def continuation_measures(records: Sequence[ContinuationRecord], examples: Iterable[Example] = ()) -> Values:
    """Return ranking accuracy over all records, with its baselines.

    The paper's baseline, ``random_examples``, is the mean of 1 / (1 + number of disambiguations) over
    `examples` (the test split, if the records are from it); ``random`` is the mean of 1 / number of options,
    with distinct rewrites. ``missing`` instances count as wrong; in ``tied`` ones a rewrite equals the
    distractor and none exceeds it. ``options`` maps the number of rewrites to the number of instances.
    """
    right = [ranks_first(record) for record in records]
    ids, number = [record.id for record in records], len(records)
    instances = [
        (record.id, record.sentence, tuple(option.sentence for option in record.options))
        for record in records
    ]
    chances = [1 / len(record.options) for record in records]
    counts = [record.num_conts for record in records if record.num_conts is not None]
    missing = [record.id for record in records if rank(record) == "missing"]
    tied = [record.id for record in records if rank(record) == "tied"]
    return {
        "accuracy": clustered_interval(right, ids, instances),
        "right": Count(sum(right), number),
        "random_examples": chance_by_example(examples),
        "random": clustered_interval(chances, ids, instances),
        "missing": Count(len(missing), number),
        "tied": Count(len(tied), number),
        "num_conts_min": Count(min(counts, default=None)),
        "num_conts_mean": Count(sum(counts) / len(counts) if counts else None),
        "options": dict(sorted(Counter(len(record.options) - 1 for record in records).items())),
        "ids": {"missing": missing, "tied": tied},
    }


def chance_by_example(examples: Iterable[Example]) -> Interval | None:
    """Return chance as the paper computes it; None without ambiguous examples."""
    ambiguous = [example for example in examples if example.ambiguous]
    chances = [1 / (1 + len(example.disambiguations)) for example in ambiguous]
    return clustered_interval(chances, [example.id for example in ambiguous])
