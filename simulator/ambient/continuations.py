"""Test 3: which sentence's continuations surprise the ambiguous one most (spec 8).

For a flagged sentence a, each rewrite d and a distractor: KL(P(.|d) || P(.|a)) is estimated by the mean of
log P(c|d) - log P(c|a) over continuations c sampled from d. Style and length of the rewrites confound the
likelihoods, and a distractor that is far off makes the test easy: reports should say so.
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
"""What stands before every conditioning sentence: for plain models, and for instruction-tuned ones."""
_ENDS: Final = ".!?"
_SHORTEST: Final = 2


def one_sentence(text: str) -> str:
    """Return a sampled text up to its first ``.``, ``!`` or ``?``, and a full stop in place of that."""
    end = min((place for sign in _ENDS if (place := text.find(sign)) >= 0), default=len(text))
    return f"{text[:end]}."


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampled:
    """The samples of one option, each one sentence, and how probable they are; all lists are aligned.

    `own`: log P(c|d), `original`: log P(c|a), in nats, summed over tokens; None where it could not be had.
    """

    name: str
    sentence: str
    continuations: tuple[str, ...]
    own: tuple[float | None, ...]
    original: tuple[float | None, ...]


def log_odds(option: Sampled) -> tuple[float, ...]:
    """Return log P(c|d) - log P(c|a), in nats, of every continuation that is long enough and has both."""
    rows = zip(option.continuations, option.own, option.original, strict=True)
    return tuple(
        own - original
        for text, own, original in rows
        if len(text) >= _SHORTEST
        and own is not None
        and original is not None
        and math.isfinite(own - original)
    )


def kl_options(id: str, sentence: str, options: Sequence[Sampled], *, seed: int) -> ContinuationRecord:
    """Return the estimates of one instance, all from the same number of continuations.

    They are None throughout if an option has nothing left (`num_conts` is 0 then).

    `seed`: of the random sub-samples that cut every option to the smallest remaining number.
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
    """Return how the distractor's estimate stands to the largest of the rewrites'; what lacks is missing."""
    estimates = {option.name: option.kl for option in record.options}
    distractor, rewrites = estimates.pop(DISTRACTOR, None), list(estimates.values())
    known = [kl for kl in rewrites if kl is not None and not math.isnan(kl)]
    if distractor is None or math.isnan(distractor) or not rewrites or len(known) < len(rewrites):
        return "missing"
    largest = max(known)
    return "first" if distractor > largest else "tied" if distractor == largest else "below"


def ranks_first(record: ContinuationRecord) -> bool:
    """Return True if the distractor's estimate is larger than that of every rewrite, and none lacks."""
    return rank(record) == "first"


def continuation_measures(records: Sequence[ContinuationRecord], examples: Iterable[Example] = ()) -> Values:
    """Return ranking accuracy, whose denominator is the number of records, with its baselines.

    The paper's baseline, ``random_examples``, is of the data set's examples (of its test split, if the
    records are of that): the mean of 1 / (1 + entries in the list of disambiguations); ``random`` is the
    mean of 1 / number of options, with distinct rewrites. A ``missing`` value is wrong; ``tied`` are
    instances in which a rewrite equals the distractor, and none is above it. ``options``: number of
    rewrites -> instances.
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
    """Return chance as the paper counts it; None without examples that are ambiguous."""
    ambiguous = [example for example in examples if example.ambiguous]
    chances = [1 / (1 + len(example.disambiguations)) for example in ambiguous]
    return clustered_interval(chances, [example.id for example in ambiguous])
