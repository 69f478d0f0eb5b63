"""`askback train ambibench`: finetune on two pairs of features, see what that does for the third."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any, Final

from pydantic import Field
from rich.console import Console

from logs.cli import LogOption
from logs.paths import default_path
from simulator.ambibench.data import BUILTIN, Draw, load_items
from simulator.ambibench.features import Pair, Variant
from simulator.ambibench.files import finetuning_line
from simulator.ambibench.finetune import TrainConfig, finetune, submit
from simulator.ambibench.generation import Control
from simulator.ambibench.runs import evaluate_fold
from simulator.errors import InputError
from simulator.field_options import options_of, read_options
from simulator.jsonlines import write_lines
from simulator.models import require_local, weights_of
from simulator.runner.model_flags import command_of
from simulator.runner.options import ThreadsOption
from simulator.runner.progress import updates_bar

_HOSTED: Final = "openai/"


class Training(TrainConfig):
    """The options of the command."""

    fold: Pair = Field(description="the pair of features that is held out")
    model: str = Field(
        default="local/smollm2",
        description="what is finetuned: local/smollm2, transformers/FOLDER or openai/NAME",
    )
    control: bool = Field(default=False, description="train on the unambiguous control")
    constant: Control = Field(
        default="paper", description="of the control: constant are the other features, or as published"
    )
    data: str = Field(default=BUILTIN, description="builtin, or a file of finetuning prompts")
    threads: ThreadsOption = None
    evaluate: bool = Field(default=True, description="play the held-out pair, before and after")
    per_cell: int = Field(default=60, ge=1, description="episodes per feature and format for that")
    submit: bool = Field(default=False, description="openai/…: upload it, begin the job")
    out: Path | None = Field(default=None, description="folder of the model, or openai/…: the file")
    log: LogOption = None

    @property
    def variant(self) -> Variant:
        """The data that are trained on."""
        return "control" if self.control else "ambiguous"

    @property
    def place(self) -> str:
        """The name of the folder or file, if none is typed."""
        return f"ambibench-{self.fold}-{self.variant}"


def _train_ambibench(**values: Any) -> None:
    order = read_options(Training, values)
    console = Console()
    draw = Draw(seed=order.seed, control=order.constant)
    items = load_items(order.data, setting="ft_train", fold=order.fold, variant=order.variant, draw=draw)
    lines = [finetuning_line(item) for item in items]
    if order.model.startswith(_HOSTED):
        _train_hosted(order, lines, console)
        return
    if order.submit:
        raise InputError(f"--submit is for openai/…; {order.model} is trained on this machine.")
    folder = order.out or Path(order.place)
    _train(order, [json.loads(line) for line in lines], folder, console)
    if order.evaluate:
        models = (order.model, f"transformers/{folder}")
        evaluate_fold(models, order.fold, order.seed, order.per_cell, order.log or default_path(), console)


train_ambibench: Final = command_of(
    _train_ambibench,
    options_of(Training),
    "Finetune on ambiguous tasks (or the control) and say what it does for the pair that was held out.",
)


def _train_hosted(order: Training, lines: Sequence[str], console: Console) -> None:
    path = order.out or Path(f"{order.place}.jsonl")
    write_lines(path, lines)
    console.print(f"{len(lines)} prompts in {path}")
    if order.submit:
        job = submit(order.model.removeprefix(_HOSTED), path, order)
        console.print(f"job {job} begun; when it is done, play its model:")
    else:
        console.print("Upload it, or let --submit do that; when the job is done, play its model:")
    console.print("  askback run ambibench --setting ft_eval --model openai/NAME --fold …", highlight=False)


def _train(order: Training, records: Sequence[Mapping[str, str]], folder: Path, console: Console) -> None:
    require_local("peft") if order.method == "lora" else require_local()
    if order.threads is not None:
        import torch

        torch.set_num_threads(order.threads)
    base = order.model.removeprefix("transformers/")
    # An adapter calls its base by the folder where it is, or by a built-in model's name anywhere.
    name = str(Path(base).resolve()) if Path(base).is_dir() else base
    facts = {field: getattr(order, field) for field in ("fold", "variant", "constant", "data", "model")}
    config = TrainConfig(**{field: getattr(order, field) for field in TrainConfig.model_fields})
    with updates_bar(console, order.epochs * len(records)) as tell:
        curve = finetune(weights_of(order.model), records, folder, config, name=name, told=facts, tell=tell)
    tenth = max(1, len(curve.completion) // 10)
    first, last = fmean(curve.completion[:tenth]), fmean(curve.completion[-tenth:])
    console.print(
        f"{len(records)} prompts, {order.epochs} epochs; loss of the last label {first:.3f} in the first "
        f"tenth of the updates, {last:.3f} in the last (a guess between X and Y: 0.693)",
        highlight=False,
    )
    console.print(f"[dim]model[/dim] transformers/{folder}", highlight=False)
