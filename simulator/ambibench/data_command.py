"""AmbiBench's part of `askback check` and `askback data add`, and `askback generate ambibench`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal

from pydantic import Field
from rich.console import Console
from rich.table import Table

from simulator import datasets
from simulator.ambibench.aws import CONTROL, AwsPrompt, names, origins
from simulator.ambibench.data import Draw, filter_format, generate_items, item_files
from simulator.ambibench.features import BRACKETED, PAIRS, SETTINGS, Format, Kind, Pair, Variant
from simulator.ambibench.files import finetuning_line, item_line, item_text, read_file
from simulator.ambibench.generation import LENGTH, LENGTHS
from simulator.ambibench.items import BENCHMARK, is_grouped
from simulator.ambibench.prompt import Item, Prompt
from simulator.ambibench.statistics import balance_findings, cells_table, count_cells, patience
from simulator.benchmark import Checker
from simulator.datasets import Added
from simulator.errors import InputError
from simulator.field_options import options_of, read_options
from simulator.jsonlines import CODE, write_lines
from simulator.runner.options import command_of
from simulator.runner.run_summary import say
from simulator.tables.registering import refuse_faulty, source_of
from trees.faults import Fault, Severity

_LEFT_OUT: Final = ("id", "ambiguous")
"""Codes of warnings on items that would be left out."""
KIND: Final = "AmbiBench items (.jsonl, .json or .txt)"
Finding = tuple[Severity, str]


def checker() -> Checker:
    """Return the checker of AmbiBench's items for `askback check`."""
    return Checker(KIND, item_files, check_items, greedy=True)


def check_items(files: Sequence[Path]) -> tuple[Fault, ...]:
    """Return all faults of files of items: unreadable, not allowed by the setting, or not balanced.

    An error is an item that contradicts itself or its setting; a warning is an oddity.
    """
    faults: list[Fault] = []
    places: dict[str, Path] = {}
    for file in files:
        try:
            items, unread = read_file(file)
        except InputError as error:
            faults.append(Fault(str(file), "", 0, "format", str(error).removeprefix(f"{file}: ")))
            continue
        faults += unread
        for item, line in items:
            for severity, message in setting_findings(item):
                faults.append(Fault(str(file), item.id, line, "setting", message, severity))
        prompts = [item for item, _ in items if not isinstance(item, AwsPrompt)]
        for message in balance_findings(prompts):
            faults.append(Fault(str(file), "", 0, "balance", message, "warning"))
        for item, line in items:
            if (first := places.setdefault(item.id, file)) != file:
                message = f"id: an item of {first} has the same"
                faults.append(Fault(str(file), item.id, line, "id", message, "warning"))
    return tuple(faults)


def register(path: str | Path, name: str = BENCHMARK, partial: bool = False) -> Added:
    """Register a file of items, a folder of such files, or a zipped folder.

    Raises:
        InputError: if there are no items, or one is faulty.
    """
    path, source, single = source_of(path)

    def select(folder: Path) -> Mapping[str, Path]:
        files = item_files(single or folder)
        if not files:
            raise InputError(f"{path}: contains no file of AmbiBench items (.jsonl, .json, .txt)")
        return {file.relative_to(folder).as_posix(): file for file in files}

    def check(copy: Path) -> Mapping[str, int]:
        faults = check_items(item_files(copy))
        refused = [fault for fault in faults if fault.severity == "error" or fault.code in _LEFT_OUT]
        refuse_faulty(path, refused, copy)
        items = [item for file in item_files(copy) for item, _ in read_file(file)[0]]
        repeated = sum(fault.code == CODE for fault in faults)
        counts: dict[str, int] = {"items": len(items), **Counter(item.setting for item in items)}
        return {**counts, "repeated": repeated} if repeated else counts

    return datasets.add(name, BENCHMARK, source, select, check)


def setting_findings(item: Item) -> Iterator[Finding]:
    """Yield how a prompt deviates from its setting (spec section 5), each with a severity."""
    if isinstance(item, AwsPrompt):
        yield from _buckets(item)
    elif item.setting == "instruction":
        if not is_grouped([(example.a, example.b) for example in item.examples]):
            yield "error", "examples: must be one of each group and a query that breaks the grouping"
    elif item.setting == "ft_train":
        yield from _finetuning(item)
    else:
        yield from _episode(item)


def _finetuning(prompt: Prompt) -> Iterator[Finding]:
    length = len(prompt.examples)
    if prompt.kind != "uninformative":
        yield "warning", f"instruction_kind: {prompt.kind}; it is uninformative in finetuning data"
    if length not in LENGTHS:
        yield "warning", f"examples: {length}, not {LENGTHS[0]} to {LENGTHS[-1]}"
    if prompt.fold == prompt.pair:
        yield "error", f"fold: {prompt.fold} is held out, and must not be trained on"
    other = 1 - PAIRS[prompt.pair].index(prompt.salient)
    constant = len({(example.a, example.b)[other] for example in prompt.examples}) == 1
    if prompt.variant == "control" and not constant:
        yield "warning", "ft_variant: the other feature must be constant in a control; here it varies"


def _episode(prompt: Prompt) -> Iterator[Finding]:
    if len(prompt.examples) != LENGTH:
        yield "warning", f"examples: {len(prompt.examples)}, not {LENGTH}"
    if (prompt.setting == "wug") != (prompt.kind == "wug") and prompt.setting in ("wug", "multiple"):
        yield "error", f"instruction_kind: {prompt.kind} in the setting {prompt.setting}"
    if prompt.setting == "ft_eval" and prompt.fold not in (None, prompt.pair):
        yield "error", f"fold: {prompt.fold} is held out, but the prompt is about {prompt.pair}"
    if prompt.setting == "verbalise" and not prompt.question:
        yield "error", "question: missing"


def _buckets(prompt: AwsPrompt) -> Iterator[Finding]:
    """Yield names that are not of the origin the prompt states: results are by origin (spec section 9)."""
    count = len(prompt.examples) - prompt.followup
    places = [("query", prompt.query, prompt.origin)]
    places += [("examples", name, prompt.origin) for name in prompt.examples[count:]]
    places += [("examples", name, CONTROL) for name in prompt.examples[:count]]
    for field, name, needed in places:
        origin = next((origin for origin in origins() if name in names(origin)), None)
        if origin is None:
            yield "warning", f"{field}: {name} is not in the list of names of any origin"
        elif origin != needed:
            yield "error", f"{field}: {name} is a name of {origin}, not of {needed}"


# ---- generate

Form = Literal["jsonl", "openai", "text"]
_WRITERS: Final[Mapping[Form, Callable[[Item], str]]] = {
    "jsonl": item_line,
    "openai": finetuning_line,
    "text": item_text,
}


class Order(Draw):
    """Options of `askback generate ambibench`."""

    out: Path = Field(description="the file to write")
    setting: str = Field(default="instruction", description=f"{', '.join(SETTINGS)}, or all")
    kind: Kind | None = Field(
        default=None, description="kind of instruction (instruction, multiple); default: uninformative"
    )
    format: Format | None = Field(default=None, description="format of the examples; default: both")
    fold: Pair | None = Field(
        default=None, description="the held-out pair (ft_train, ft_eval); default: each of the three"
    )
    variant: Variant | None = Field(default=None, description="variant of ft_train; default: both")
    form: Form = Field(
        default="jsonl",
        description="jsonl: items; openai: prompt and completion, for items that ask for one label; "
        "text: plain text",
    )

    @property
    def draw(self) -> Draw:
        """The options for drawing items."""
        return Draw(**{name: getattr(self, name) for name in Draw.model_fields})

    def items(self) -> Sequence[Item]:
        """Return the items to write.

        Raises:
            InputError: if the options contradict each other.
        """
        levels: dict[str, Any] = {name: getattr(self, name) for name in ("kind", "fold", "variant")}
        if self.setting == "all":
            if any(levels.values()) or not self.draw.usual:
                raise InputError("setting all: drawn as in the paper; only --seed, --format and --form apply")
            return filter_format(everything(self.seed), self.format)
        setting = next((name for name in SETTINGS if name == self.setting), None)
        if setting is None:
            raise InputError(f"setting {self.setting!r}: must be one of {', '.join(SETTINGS)}, all")
        return generate_items(setting, format=self.format, draw=self.draw, **levels)


def _generate(**values: Any) -> None:
    order = read_options(Order, values)
    console = Console()
    with patience(console, "Drawing"):
        items = order.items()
        write_lines(order.out, map(_WRITERS[order.form], items))
    _print_counts(console, items)
    say(console, f"Wrote {len(items)} items to {order.out}.")


generate_command: Final = command_of(
    _generate, options_of(Order), "Generate AmbiBench items; the same options always write the same file."
)


def everything(seed: int) -> tuple[Item, ...]:
    """Return the items of all settings, kinds, folds and variants."""
    draw = Draw(seed=seed)
    parts: dict[str, list[tuple[Item, ...]]] = {
        "instruction": [generate_items("instruction", kind=kind, draw=draw) for kind in BRACKETED],
        "aws": [generate_items("aws", draw=Draw(seed=seed, second_name=second)) for second in (False, True)],
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
