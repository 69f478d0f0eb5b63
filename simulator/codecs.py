"""Values that cross the border as JSON objects: their type alone says what is read and what is written.

A type is a dataclass whose fields are annotated with what pydantic needs beside (`simulator.fields`), or a
union of such, told apart by a field. Only what comes from outside is checked: values that Askback makes
itself cost nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Annotated, Any, Generic, Protocol, TypeVar

from pydantic import Field, TypeAdapter, ValidationError

from logs.rows import Item, content_hash
from simulator.errors import InputError
from simulator.fields import FieldFault, first_fault
from simulator.jsonlines import FieldError, Row

ValueT = TypeVar("ValueT")


class Codec(Generic[ValueT]):
    """A reader and writer of a type's values as JSON objects."""

    def __init__(self, type: Any, *, kinds: str = "") -> None:
        self._type: Any = Annotated[type, Field(discriminator=kinds)] if kinds else type
        self._head = 1 if kinds else 0

    @cached_property
    def adapter(self) -> TypeAdapter[ValueT]:
        """Pydantic's reader and writer, made when it is first needed: that takes milliseconds."""
        return TypeAdapter(self._type)

    def read(self, record: Any, place: str) -> ValueT:
        """Return a value out of a JSON object.

        Raises:
            InputError: if a field is missing or wrong; names it.
        """
        return self._validate(record, lambda fault: InputError(f"{place}: {fault}"))

    def read_row(self, row: Row) -> ValueT:
        """Return a value out of an object of a file.

        Raises:
            FieldError: names the field that is missing or wrong.
        """
        return self._validate(row.data, lambda fault: FieldError(f"{row.where}{fault}"))

    def read_field(self, row: Row, name: str) -> ValueT:
        """Return a value out of a field of an object of a file.

        Raises:
            FieldError: if the field is missing or wrong.
        """
        if name not in row.data:
            raise row.wrong(name, "is missing")

        def wrong(fault: FieldFault) -> FieldError:
            return FieldError(f"{row.where}{fault._replace(path=(name, *fault.path))}")

        return self._validate(row.data[name], wrong)

    def _validate(self, value: Any, wrong: Callable[[FieldFault], Exception]) -> ValueT:
        try:
            return self.adapter.validate_python(value)
        except ValidationError as error:
            raise wrong(first_fault(error, value, head=self._head)) from error

    def write(self, value: ValueT) -> dict[str, Any]:
        """Return a value as a JSON object."""
        record: dict[str, Any] = self.adapter.dump_python(value, mode="json", by_alias=True)
        return record


class Named(Protocol):
    """An item with a name of its own."""

    @property
    def id(self) -> str:
        """The name."""


NamedT = TypeVar("NamedT", bound=Named)


class ItemCodec(Codec[NamedT]):
    """A reader and writer of a benchmark's items as rows of the log, which hold the whole item."""

    def __init__(self, type: Any, benchmark: str, *, kinds: str = "") -> None:
        super().__init__(type, kinds=kinds)
        self._benchmark = benchmark

    def write(self, value: NamedT) -> dict[str, Any]:
        """Return an item as a JSON object, its name among the fields."""
        return {"id": value.id, **super().write(value)}

    def row(self, item: NamedT) -> Item:
        """Return an item as a row of the log."""
        data = self.write(item)
        return Item(
            hash=content_hash(data),
            benchmark=self._benchmark,
            name=item.id,
            # The texts' language; pages around them are in the participant's.
            language=getattr(item, "language", "en"),
            data=data,
        )

    def read_item(self, row: Item) -> NamedT:
        """Return the item of a row.

        Raises:
            InputError: if the row holds something else.
        """
        return self.read(row.data, f"item {row.name}")


def without_none(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that have a value, so that the others are what the type says."""
    return {name: value for name, value in record.items() if value is not None}
