"""`askback generate ambibench`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Final, Literal, get_args

import typer
from rich.console import Console
from rich.table import Table

from simulator.ambibench.aws import AwsPrompt
from simulator.ambibench.data import Draw, generate_items, load_items
from simulator.ambibench.features import PAIR_NAMES, SETTINGS, Format, Kind, Pair, Setting, Variant
from simulator.ambibench.files import finetuning_line, item_line, item_text
from simulator.ambibench.generation import LENGTH, Control, Design, Question, Spelling
from simulator.ambibench.instructions import LocationWord
from simulator.ambibench.prompt import Prompt
from simulator.ambibench.statistics import count_cells
from simulator.ambibench.stats_command import patience
from simulator.ambibench.stats_table import cells_table
from simulator.ambibench.trials import Item
from simulator.errors import InputError
from simulator.jsonlines import write_lines
from simulator.runner.options import RootSeedOption

Form = Literal["jsonl", "openai", "text"]
_WRITERS: Final[Mapping[Form, Callable[[Item], str]]] = {
    "jsonl": item_line,
    "openai": finetuning_line,
    "text": item_text,
}


def generate_command(
    out: Annotated[Path, typer.Option(help="the file to write")],
    setting: Annotated[str, typer.Option(help=f"{', '.join(SETTINGS)}, or all")] = "instruction",
    kind: Annotated[
        Kind | None,
        typer.Option(help="of instruction (settings instruction, multiple); default: uninformative"),
    ] = None,
    format: Annotated[Format | None, typer.Option(help="of examples; default: both")] = None,
    fold: Annotated[
        Pair | None,
        typer.Option(help="the pair held out (ft_train, ft_eval); default: all three, one by one"),
    ] = None,
    variant: Annotated[Variant | None, typer.Option(help="of ft_train; default: both")] = None,
    control: Annotated[
        Control,
        typer.Option(help="constant in the control: the other feature, or (reference) the salient one"),
    ] = "paper",
    per_cell: Annotated[
        int | None,
        typer.Option(min=1, help="prompts per feature and format (aws: per name); default: the paper's"),
    ] = None,
    design: Annotated[
        Design, typer.Option(help="stratified by salient feature, or flip for it")
    ] = "stratified",
    length: Annotated[int, typer.Option(min=1, help="examples per episode (multiple, wug)")] = LENGTH,
    location_word: Annotated[LocationWord, typer.Option(help="of informative instructions")] = "setting",
    question: Annotated[Question, typer.Option(help="of verbalise")] = "best_guess",
    spelling: Annotated[Spelling, typer.Option(help="of that question")] = "as_printed",
    followup: Annotated[
        bool, typer.Option("--second-name", help="aws: with a second name of the origin")
    ] = False,
    seed: RootSeedOption = 0,
    form: Annotated[
        Form,
        typer.Option(
            help="jsonl: items; openai: prompt and completion, where one label is asked for; text: to be read"
        ),
    ] = "jsonl",
) -> None:
    """Generate AmbiBench items. The same command writes the same bytes."""
    draw = Draw(
        seed=seed,
        per_cell=per_cell,
        design=design,
        length=length,
        location_word=location_word,
        control=control,
        question=question,
        spelling=spelling,
        followup=followup,
    )
    console = Console()
    with patience(console, "Drawing"):
        if setting == "all":
            if kind or fold or variant or replace(draw, seed=0) != Draw():
                raise InputError(
                    "setting all: has everything as the paper has it; only --seed, --format, --form"
                )
            items = everything(seed)
        elif setting in SETTINGS:
            chosen: Setting = next(one for one in SETTINGS if one == setting)
            items = load_items(
                setting=chosen, kind=kind, format=format, fold=fold, variant=variant, draw=draw
            )
        else:
            raise InputError(f"setting {setting!r}: must be one of {', '.join(SETTINGS)}, all")
        kept = [
            item for item in items if format is None or isinstance(item, AwsPrompt) or item.format == format
        ]
        write_lines(out, map(_WRITERS[form], kept))
    _print_counts(console, kept)
    console.print(f"{len(kept)} items are in {out}.", soft_wrap=True, highlight=False, markup=False)


def everything(seed: int) -> tuple[Item, ...]:
    """Return the items of all settings, kinds, folds and variants."""
    items: list[Item] = []
    for setting in SETTINGS:
        if setting == "ft_train":
            parts = [
                generate_items(setting, fold=fold, variant=variant, draw=Draw(seed=seed))
                for fold in PAIR_NAMES
                for variant in get_args(Variant)
            ]
        elif setting == "instruction":
            kinds: tuple[Kind, ...] = ("uninformative", "informative")
            parts = [generate_items(setting, kind=kind, draw=Draw(seed=seed)) for kind in kinds]
        elif setting == "aws":
            both = (Draw(seed=seed), Draw(seed=seed, followup=True))
            parts = [generate_items(setting, draw=draw) for draw in both]
        else:
            parts = [generate_items(setting, draw=Draw(seed=seed))]
        items += [item for part in parts for item in part]
    return tuple(items)


def _print_counts(console: Console, items: list[Item]) -> None:
    prompts = [item for item in items if isinstance(item, Prompt)]
    if prompts:
        console.print(cells_table(count_cells(prompts)).to_text())
    origins = Counter((item.origin, item.followup) for item in items if isinstance(item, AwsPrompt))
    if origins:
        table = Table("origin", "second name", "prompts", title="Buckets", title_justify="left")
        for (origin, followup), count in origins.items():
            table.add_row(origin, "yes" if followup else "no", str(count))
        console.print(table)
