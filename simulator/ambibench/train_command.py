"""`askback train ambibench`: finetune on two pairs of features, see what that does for the third."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Annotated, Final

import typer
from rich.console import Console

from logs.cli import LogOption
from logs.paths import default_path
from simulator.ambibench.data import BUILTIN, Draw, load_items
from simulator.ambibench.features import Pair, Variant
from simulator.ambibench.files import finetuning_line
from simulator.ambibench.generation import Control
from simulator.ambibench.learn.hosted import Method, TrainConfig, submit
from simulator.ambibench.runs import evaluate_fold
from simulator.errors import InputError
from simulator.jsonlines import write_lines
from simulator.models import require_local, weights_of
from simulator.runner.options import ThreadsOption
from simulator.runner.progress import updates_bar

_HOSTED: Final = "openai/"


def train_ambibench(
    fold: Annotated[Pair, typer.Option(help="the pair of features that is held out")],
    model: Annotated[
        str, typer.Option(help="what is finetuned: local/smollm2, transformers/FOLDER or openai/NAME")
    ] = "local/smollm2",
    control: Annotated[bool, typer.Option("--control", help="train on the unambiguous control")] = False,
    constant: Annotated[
        Control, typer.Option(help="of the control: constant are the other features, or as published")
    ] = "paper",
    data: Annotated[str, typer.Option(help="builtin, or a file of finetuning prompts")] = BUILTIN,
    method: Annotated[Method, typer.Option(help="an adapter, or all weights")] = "lora",
    epochs: Annotated[int, typer.Option(min=1, help="how often each prompt is seen")] = 1,
    rate: Annotated[float | None, typer.Option(min=0, help="learning rate, if not the method's own")] = None,
    prompt_weight: Annotated[float, typer.Option(min=0, help="weight of the prompt in the loss")] = 0.1,
    seed: Annotated[int, typer.Option(help="of data, order and adapter")] = 0,
    threads: ThreadsOption = None,
    evaluate: Annotated[bool, typer.Option(help="play the held-out pair, before and after")] = True,
    per_cell: Annotated[int, typer.Option(min=1, help="episodes per feature and format for that")] = 60,
    send: Annotated[bool, typer.Option("--submit", help="openai/…: upload it, begin the job")] = False,
    out: Annotated[Path | None, typer.Option(help="folder of the model, or openai/…: the file")] = None,
    log: LogOption = None,
) -> None:
    """Finetune on ambiguous tasks (or the control) and say what it does for the pair that was held out."""
    console = Console()
    variant: Variant = "control" if control else "ambiguous"
    items = load_items(
        data, setting="ft_train", fold=fold, variant=variant, draw=Draw(seed=seed, control=constant)
    )
    lines = [finetuning_line(item) for item in items]
    config = TrainConfig(method=method, epochs=epochs, rate=rate, prompt_weight=prompt_weight, seed=seed)
    name = f"ambibench-{fold}-{variant}"
    if model.startswith(_HOSTED):
        _hosted(model.removeprefix(_HOSTED), lines, out or Path(f"{name}.jsonl"), config, send, console)
        return
    if send:
        raise InputError(f"--submit is for openai/…; {model} is trained on this machine.")
    told = {"fold": fold, "variant": variant, "constant": constant, "data": data, "model": model}
    folder = out or Path(name)
    _train(model, [json.loads(line) for line in lines], folder, config, told, threads, console)
    if evaluate:
        evaluate_fold((model, f"transformers/{folder}"), fold, seed, per_cell, log or default_path(), console)


def _hosted(
    model: str, lines: Sequence[str], path: Path, config: TrainConfig, send: bool, console: Console
) -> None:
    write_lines(path, lines)
    console.print(f"{len(lines)} prompts in {path}")
    if send:
        console.print(f"job {submit(model, path, config)} begun; when it is done, play its model:")
    else:
        console.print("Upload it, or let --submit do that; when the job is done, play its model:")
    console.print("  askback run ambibench --setting ft_eval --model openai/NAME --fold …", highlight=False)


def _train(
    model: str,
    records: Sequence[Mapping[str, str]],
    folder: Path,
    config: TrainConfig,
    told: Mapping[str, object],
    threads: int | None,
    console: Console,
) -> None:
    """Train and say how the loss went."""
    require_local("peft") if config.method == "lora" else require_local()
    import torch

    from simulator.ambibench.learn.finetune import finetune

    if threads is not None:
        torch.set_num_threads(threads)
    with updates_bar(console, config.epochs * len(records)) as tell:
        curve = finetune(
            weights_of(model), records, folder, config, name=_base_name(model), told=told, tell=tell
        )
    tenth = max(1, len(curve.completion) // 10)
    first, last = fmean(curve.completion[:tenth]), fmean(curve.completion[-tenth:])
    console.print(
        f"{len(records)} prompts, {config.epochs} epochs; loss of the last label {first:.3f} in the first "
        f"tenth of the updates, {last:.3f} in the last (a guess between X and Y: 0.693)",
        highlight=False,
    )
    console.print(f"[dim]model[/dim] transformers/{folder}", highlight=False)


def _base_name(model: str) -> str:
    """What an adapter calls its base: a folder where it is, or a built-in model by its name anywhere."""
    folder = Path(model.removeprefix("transformers/"))
    return str(folder.resolve()) if folder.is_dir() else model.removeprefix("transformers/")
