"""`askback generate ambibench`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal

from pydantic import Field
from rich.console import Console
from rich.table import Table

from simulator.ambibench.aws import AwsPrompt
from simulator.ambibench.data import Draw, generate_items, load_items
from simulator.ambibench.features import SETTINGS, Format, Kind, Pair, Variant
from simulator.ambibench.files import finetuning_line, item_line, item_text
from simulator.ambibench.prompt import Item, Prompt
from simulator.ambibench.statistics import cells_table, count_cells, patience
from simulator.errors import InputError
from simulator.field_options import options_of, read_options
from simulator.jsonlines import write_lines
from simulator.runner.model_flags import command_of
from simulator.runner.run_summary import say

Form = Literal["jsonl", "openai", "text"]
_WRITERS: Final[Mapping[Form, Callable[[Item], str]]] = {
    "jsonl": item_line,
    "openai": finetuning_line,
    "text": item_text,
}


class Order(Draw):
    """The options of the command."""

    out: Path = Field(description="the file to write")
    setting: str = Field(default="instruction", description=f"{', '.join(SETTINGS)}, or all")
    kind: Kind | None = Field(
        default=None, description="of instruction (settings instruction, multiple); default: uninformative"
    )
    format: Format | None = Field(default=None, description="of examples; default: both")
    fold: Pair | None = Field(
        default=None, description="the pair held out (ft_train, ft_eval); default: all three, one by one"
    )
    variant: Variant | None = Field(default=None, description="of ft_train; default: both")
    form: Form = Field(
        default="jsonl",
        description="jsonl: items; openai: prompt and completion, where one label is asked for; "
        "text: to be read",
    )

    @property
    def draw(self) -> Draw:
        """The options that say how items are drawn."""
        return Draw(**{name: getattr(self, name) for name in Draw.model_fields})

    def items(self) -> Sequence[Item]:
        """Return the items.

        Raises:
            InputError: if options do not go together.
        """
        if self.setting == "all":
            if self.kind or self.fold or self.variant or not self.draw.usual:
                raise InputError(
                    "setting all: has everything as the paper has it; only --seed, --format, --form"
                )
            return [
                item
                for item in everything(self.seed)
                if isinstance(item, AwsPrompt) or self.format in (None, item.format)
            ]
        for setting in SETTINGS:
            if setting == self.setting:
                chosen: dict[str, Any] = {"fold": self.fold, "variant": self.variant, "draw": self.draw}
                return load_items(setting=setting, kind=self.kind, format=self.format, **chosen)
        raise InputError(f"setting {self.setting!r}: must be one of {', '.join(SETTINGS)}, all")


def _generate(**values: Any) -> None:
    order = read_options(Order, values)
    console = Console()
    with patience(console, "Drawing"):
        items = order.items()
        write_lines(order.out, map(_WRITERS[order.form], items))
    _print_counts(console, items)
    say(console, f"{len(items)} items are in {order.out}.")


generate_command: Final = command_of(
    _generate, options_of(Order), "Generate AmbiBench items. The same command writes the same bytes."
)


def everything(seed: int) -> tuple[Item, ...]:
    """Return the items of all settings, kinds, folds and variants."""
    draw = Draw(seed=seed)
    kinds: tuple[Kind, ...] = ("uninformative", "informative")
    parts: dict[str, list[tuple[Item, ...]]] = {
        "instruction": [generate_items("instruction", kind=kind, draw=draw) for kind in kinds],
        "aws": [generate_items("aws", draw=Draw(seed=seed, followup=second)) for second in (False, True)],
    }
    return tuple(
        item
        for setting in SETTINGS
        for part in parts.get(setting) or [generate_items(setting, draw=draw)]
        for item in part
    )


def _print_counts(console: Console, items: Sequence[Item]) -> None:
    if prompts := [item for item in items if isinstance(item, Prompt)]:
        console.print(cells_table(count_cells(prompts)).to_text())
    if origins := Counter((item.origin, item.followup) for item in items if isinstance(item, AwsPrompt)):
        table = Table("origin", "second name", "prompts", title="Buckets", title_justify="left")
        for (origin, followup), count in origins.items():
            table.add_row(origin, "yes" if followup else "no", str(count))
        console.print(table)
