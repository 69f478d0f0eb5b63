"""Examples and items as JSON objects, and items as rows of the log; both hold the whole (spec 1.1, 13)."""

from __future__ import annotations

from typing import Final, Literal

from simulator.ambient.examples import Example
from simulator.ambient.items import Item
from simulator.ambient.labels import AnyLabels, Categories, Category, LabelSet, SomeLabels
from simulator.codecs import Codec, ItemCodec
from simulator.jsonlines import Row

BENCHMARK: Final = "ambient"
# The benchmark's texts are English; pages around them are in the participant's language.
LANGUAGE: Final = "en"
SPLITS: Final[tuple[Literal["dev", "test"], ...]] = ("dev", "test")
EXAMPLE_FIELDS: Final = (*Example.__dataclass_fields__, "category", "distractor", "partner")
"""All that a row of a dataset may have."""

EXAMPLES: Final = Codec[Example](Example)
ITEMS: Final = ItemCodec[Item](Item, BENCHMARK, kinds="task")
_ANY_LABELS: Final = Codec[LabelSet](AnyLabels)
_SOME_LABELS: Final = Codec[LabelSet](SomeLabels)
_CATEGORIES: Final = Codec[tuple[Category, ...]](Categories)

example_record, read_example = EXAMPLES.write, EXAMPLES.read_row
item_record, read_item, item_row, item_from_row = ITEMS.write, ITEMS.read, ITEMS.row, ITEMS.read_item


def read_labels(row: Row, name: str, *, empty: bool = False) -> LabelSet:
    """Return a set of labels, written as a text or as a list of texts; only with `empty` may there be none.

    Raises:
        FieldError: if it is neither, or names something else.
    """
    return (_ANY_LABELS if empty else _SOME_LABELS).read_field(row, name)


def read_categories(row: Row) -> tuple[Category, ...]:
    """Return kinds of ambiguity, written as a text or as a list of texts; none if there is no such field.

    Raises:
        FieldError: if it is neither, or names something else.
    """
    name = "category" if "category" in row.data else "categories"
    return () if name not in row.data else _CATEGORIES.read_field(row, name)
