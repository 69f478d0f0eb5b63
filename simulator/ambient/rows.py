"""Examples and items as JSON objects, and items as rows of the log; both hold the whole (spec 1.1, 13)."""

from __future__ import annotations

from typing import Final, Literal

from simulator.ambient.examples import Example
from simulator.ambient.items import Item
from simulator.codecs import Codec, ItemCodec

BENCHMARK: Final = "ambient"
# The benchmark's texts are English; pages around them are in the participant's language.
LANGUAGE: Final = "en"
SPLITS: Final[tuple[Literal["dev", "test"], ...]] = ("dev", "test")
EXAMPLE_FIELDS: Final = (*Example.__dataclass_fields__, "category", "distractor", "partner")
"""All that a row of a dataset may have."""

EXAMPLES: Final = Codec[Example](Example)
ITEMS: Final = ItemCodec[Item](Item, BENCHMARK, kinds="task")

example_record, read_example = EXAMPLES.write, EXAMPLES.read_row
item_record, read_item, item_row, item_from_row = ITEMS.write, ITEMS.read, ITEMS.row, ITEMS.read_item
