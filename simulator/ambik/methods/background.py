"""What methods know of the data as a whole: names of objects (LAP), how alike answers are (LofreeCP)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from simulator.ambik.data import BUILTIN, load_pairs, load_scenarios
from simulator.ambik.items import DecideItem
from simulator.ambik.naming import vocabulary
from simulator.ambik.pairs import Pair, Scenario
from simulator.ambik.playing import appliances_of, objects_of
from simulator.ambik.prompts import Dataset
from simulator.ambik.sets.similarity import TFIDF, Similarity, similarity, task_texts


@dataclass(frozen=True, slots=True)
class Background:
    """What is known of the data as a whole.

    Attributes:
        vocabulary: names of all objects, appliances included: what an option could name (spec 8.2).
        similar: how alike two answers are (spec 8.3); None to leave that out.
    """

    vocabulary: tuple[str, ...] = ()
    similar: Similarity | None = None


NOTHING: Final = Background()


def background(tasks: Iterable[Pair | Scenario], similar: str = TFIDF) -> Background:
    """The background of some tasks.

    Args:
        tasks: all that the data have, calibration and test.
        similar: name of a similarity (`sets.similarity.similarity`).

    Raises:
        InputError: if there are no tasks, or the similarity's folder holds no encoder.
        Unsupported: if torch or transformers is missing for an encoder.
    """
    known = tuple(tasks)
    return Background(vocabulary(known), similarity(similar, task_texts(known)))


@lru_cache(maxsize=8)
def background_of(data: str = BUILTIN, dataset: Dataset = "ambik", similar: str = TFIDF) -> Background:
    """The background of data by name.

    Raises:
        InputError: see `data.load_pairs` and `background`.
    """
    tasks = load_pairs(data) if dataset == "ambik" else load_scenarios(data)
    return background(tasks, similar)


def things_of(item: DecideItem) -> tuple[str, ...]:
    """All that is in an item's scene, appliances included."""
    return (*objects_of(item), *appliances_of(item))
