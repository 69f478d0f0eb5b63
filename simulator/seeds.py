"""Seeds derived from seeds (run -> episode -> turn), and seeded stratified samples. Nothing keeps state."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from hashlib import blake2b
from random import Random
from typing import TypeVar

T = TypeVar("T")
K = TypeVar("K", bound=Hashable)


def derive_seed(seed: int, *parts: str | int) -> int:
    """Return a seed that depends on `seed` and `parts` alone, and is the same in every process.

    Returns:
        An integer from 0 to 2**31 - 1, which every backend's ``seed`` parameter accepts.
    """
    text = "\x1f".join(map(str, (seed, *parts)))
    return int.from_bytes(blake2b(text.encode(), digest_size=4).digest()) >> 1


def one_of(random: Random, options: Sequence[T]) -> T:
    """Return a random option; `Random.choice` may draw differently in another Python version."""
    return options[int(random.random() * len(options))]


def draw_strata(
    items: Iterable[T], count: int, strata: Callable[[T], Sequence[Hashable]], seed: int
) -> tuple[T, ...]:
    """Draw items without replacement, from every stratum in proportion to its size.

    Systematic sampling: the items are laid out stratum by stratum, in random order, and every k-th is taken
    from a random start. So every item is equally likely to be drawn (means over the sample are unbiased),
    and the share of each outermost stratum, and of each stratum nested in it, is met to within one item.

    Args:
        items: the population.
        count: the sample size; all items are returned if there are no more.
        strata: the strata of an item, from the outermost to the innermost.
        seed: equal seeds and items give equal samples.

    Returns:
        The sample, in the order of `items`.
    """
    pool = list(items)
    if count >= len(pool):
        return tuple(pool)
    random = Random(derive_seed(seed, "stratified"))
    laid_out = _lay_out(range(len(pool)), [tuple(strata(item)) for item in pool], 0, random)
    # Integer arithmetic: rounding could pick an item twice.
    start = random.randrange(len(pool))
    picked = [laid_out[(start + i * len(pool)) // count] for i in range(count)]
    return tuple(pool[i] for i in sorted(picked))


def draw_balanced(
    items: Iterable[T],
    count: int,
    group: Callable[[T], Hashable],
    strata: Callable[[T], Sequence[Hashable]],
    seed: int,
) -> tuple[T, ...]:
    """Draw equally many items from each group that has enough; within a group, sample as `draw_strata` does.

    Returns:
        The sample, in the order of `items`.
    """
    pool = list(items)
    groups: dict[Hashable, list[int]] = {}
    for i, item in enumerate(pool):
        groups.setdefault(group(item), []).append(i)
    shares = equal_shares({name: len(members) for name, members in groups.items()}, count, seed)
    picked = [
        i
        for name, members in groups.items()
        for i in draw_strata(members, shares[name], lambda i: strata(pool[i]), derive_seed(seed, repr(name)))
    ]
    return tuple(pool[i] for i in sorted(picked))


def equal_shares(sizes: Mapping[K, int], count: int, seed: int) -> dict[K, int]:
    """Split `count` equally: what small groups cannot take goes to the others, the remainder is drawn."""
    shares = dict.fromkeys(sizes, 0)
    order = list(sizes)
    Random(derive_seed(seed, "shares")).shuffle(order)
    while left := min(count, sum(sizes.values())) - sum(shares.values()):
        unfilled = [name for name in order if shares[name] < sizes[name]]
        for name in unfilled[:left]:
            shares[name] += min(max(left // len(unfilled), 1), sizes[name] - shares[name])
    return shares


def _lay_out(
    members: Sequence[int], keys: Sequence[Sequence[Hashable]], depth: int, random: Random
) -> list[int]:
    groups: dict[Hashable, list[int]] = {}
    for i in members:
        groups.setdefault(keys[i][depth] if depth < len(keys[i]) else None, []).append(i)
    if depth >= max((len(keys[i]) for i in members), default=0):
        shuffled = list(members)
        random.shuffle(shuffled)
        return shuffled
    parts = list(groups.values())
    random.shuffle(parts)
    return [i for part in parts for i in _lay_out(part, keys, depth + 1, random)]
