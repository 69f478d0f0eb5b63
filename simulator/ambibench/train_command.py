"""`askback train ambibench`: finetune on two pairs of features and evaluate on the third.

A model is finetuned (paper 4.4, App. G.5, H; spec section 5.3) by a service with OpenAI's interface, or on
this machine, where either an adapter or all weights of a causal language model are trained. The loss is the
weighted mean of the tokens' cross-entropy: 1 for the completion, `prompt_weight` for the prompt. Prompt and
completion are tokenised separately, so that the completion begins a new token, as it does in scoring. torch
is imported only when training begins.
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from random import Random
from statistics import fmean
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from pydantic import Field
from rich.console import Console

from logs.cli import LogOption
from logs.paths import default_path
from simulator.ambibench.data import BUILTIN, Draw, load_items
from simulator.ambibench.features import Pair, Variant
from simulator.ambibench.files import finetuning_line
from simulator.ambibench.generation import Control
from simulator.ambibench.runs import evaluate_fold
from simulator.errors import InputError
from simulator.field_options import options_of, read_options
from simulator.fields import HIDDEN, Fields
from simulator.jsonlines import write_lines
from simulator.models import require_local, weights_of
from simulator.models.weights import ADAPTER, load_weights
from simulator.runner.options import ThreadsOption, command_of
from simulator.runner.run_summary import updates_bar
from simulator.seeds import derive_seed

if TYPE_CHECKING:
    import torch


Method = Literal["lora", "full"]
# AdamW's learning rates at which the small model learns without forgetting the answer format.
RATES: Final[dict[Method, float]] = {"lora": 2e-4, "full": 2e-5}


class TrainConfig(Fields):
    """Settings of a finetuning; batch size 1 as in the paper, prompts reshuffled in each epoch.

    Attributes:
        prompt_weight: weight of the prompt's tokens in the loss; the completion's have 1 (paper: .1).
        rank: rank of the adapters.
        alpha: scale of the adapters, divided by the rank.
        warmup: share of the updates over which the rate rises; after that it falls to 0 linearly.
        clip: maximum norm of a gradient.
    """

    method: Method = Field(default="lora", description="train an adapter, or all weights")
    epochs: int = Field(default=1, ge=1, description="number of passes over the prompts")
    rate: float | None = Field(default=None, ge=0, description="learning rate; default: the method's")
    prompt_weight: float = Field(default=0.1, ge=0, description="weight of the prompt in the loss")
    seed: int = Field(default=0, description="seed of data, order and adapter")
    rank: Annotated[int, HIDDEN] = 16
    alpha: Annotated[int, HIDDEN] = 32
    warmup: Annotated[float, HIDDEN] = 0.05
    clip: Annotated[float, HIDDEN] = 1.0

    @property
    def learning_rate(self) -> float:
        """The learning rate, by default that of the method."""
        return RATES[self.method] if self.rate is None else self.rate


# As in the paper (spec section 5.3). The service no longer accepts the weight of .1 for the prompt's tokens.
BATCH_SIZE = 1
RATE_MULTIPLIER = 0.1


def submit(model: str, file: Path, config: TrainConfig, client: Any = None) -> str:
    """Upload `file`, start a finetuning job, and return its id.

    `client`: a client of the openai package; default: one with ``$OPENAI_API_KEY``.

    Raises:
        InputError: if there is no key, or the service refuses.
    """
    import openai

    if client is None and not os.environ.get("OPENAI_API_KEY"):
        raise InputError("Submitting a finetuning job needs a key: set OPENAI_API_KEY.")
    client = client or openai.OpenAI()
    try:
        with file.open("rb") as stream:
            uploaded = client.files.create(file=stream, purpose="fine-tune")
        job = client.fine_tuning.jobs.create(
            model=model,
            training_file=uploaded.id,
            seed=config.seed,
            method={
                "type": "supervised",
                "supervised": {
                    "hyperparameters": {
                        "batch_size": BATCH_SIZE,
                        "learning_rate_multiplier": RATE_MULTIPLIER,
                        "n_epochs": config.epochs,
                    }
                },
            },
        )
    except openai.OpenAIError as error:
        raise InputError(f"{model} could not be finetuned: {error}") from error
    return str(job.id)


LOSSES: Final = "curve.json"
SETTINGS: Final = "askback.json"
Progress = Callable[[int, float], None]


@dataclass(frozen=True, slots=True)
class EncodedRecord:
    """A tokenised record with the tokens' weights in the loss; 0 for the first, which is not predicted."""

    ids: tuple[int, ...]
    weights: tuple[float, ...]


@dataclass(slots=True)
class Curve:
    """The losses of each update, in order (natural log; ln 2 = .69 is a guess between two labels).

    Attributes:
        loss: the minimised loss.
        completion: the loss of the completion's tokens alone.
    """

    loss: list[float] = field(default_factory=list)
    completion: list[float] = field(default_factory=list)


def finetune(
    base: str,
    records: Sequence[Mapping[str, str]],
    out: Path,
    config: TrainConfig,
    *,
    name: str | None = None,
    facts: Mapping[str, Any] | None = None,
    progress: Progress = lambda done, loss: None,
) -> Curve:
    """Finetune the model in the folder `base` on `records`, save it in `out`, and return the losses.

    `out` then contains the adapter (which names its base) or the complete model, the tokenizer, the losses
    (``curve.json``), and the settings (``askback.json``).

    `base`: a folder, or an id that transformers knows. `records`: with ``prompt`` and ``completion`` each.
    `out`: created if missing; files of the same names are replaced. `name`: name by which an adapter finds
    its base (``local/smollm2``); default: `base`. `facts`: further entries of ``askback.json`` (fold,
    variant, data seed). `progress`: called with the number of updates made and the latest loss of a
    completion.
    """
    import torch

    torch.manual_seed(derive_seed(config.seed, "weights"))
    loaded = load_weights(base, "cuda" if torch.cuda.is_available() else "cpu")
    encoded = [encode(loaded.tokenizer, record, config.prompt_weight) for record in records]
    with warnings.catch_warnings():
        # peft accesses attributes that transformers has renamed; they do not matter here.
        warnings.simplefilter("ignore", FutureWarning)
        model = _trainable(loaded.model, config)
        curve = _learn(model, encoded, config, progress)
        model.save_pretrained(out)
    loaded.tokenizer.save_pretrained(out)
    _name_base(out, name or base)
    settings = {
        "base": name or base,
        "examples": len(records),
        **config.model_dump(),
        "rate": config.learning_rate,
    }
    _write(out / SETTINGS, {**settings, **(facts or {})})
    _write(out / LOSSES, asdict(curve))
    return curve


def encode(tokenizer: Any, record: Mapping[str, str], prompt_weight: float) -> EncodedRecord:
    """Return a record as tokens with weights in the loss."""
    prompt = tokenizer(record["prompt"])["input_ids"]
    completion = tokenizer(record["completion"], add_special_tokens=False)["input_ids"]
    # Drop an end token after the prompt, which the completion continues.
    if prompt and prompt[-1] == tokenizer.eos_token_id:
        prompt = prompt[:-1]
    weights = (0.0, *[prompt_weight] * (len(prompt) - 1), *[1.0] * len(completion))
    return EncodedRecord((*prompt, *completion), weights)


def losses_of(model: Any, encoded: EncodedRecord) -> tuple[torch.Tensor, float]:
    """Return the weighted mean cross-entropy of a record's tokens, and the plain mean of its completion's."""
    import torch
    from torch.nn.functional import cross_entropy

    ids = torch.tensor([encoded.ids], device=model.device)
    weights = torch.tensor(encoded.weights[1:], device=model.device)
    logits = model(input_ids=ids).logits[0, :-1].float()
    losses = cross_entropy(logits, ids[0, 1:], reduction="none")
    return (losses * weights).sum() / weights.sum(), losses[weights == 1].mean().item()


def _trainable(model: Any, config: TrainConfig) -> Any:
    model.config.use_cache = False
    if config.method == "full":
        return model
    from peft import LoraConfig, get_peft_model

    adapter = LoraConfig(
        r=config.rank, lora_alpha=config.alpha, target_modules="all-linear", task_type="CAUSAL_LM"
    )
    return get_peft_model(model, adapter)


def _name_base(folder: Path, name: str) -> None:
    """Replace the base's local path in an adapter's configuration by its name."""
    path = folder / ADAPTER
    if path.is_file():
        _write(path, {**json.loads(path.read_text(encoding="utf-8")), "base_model_name_or_path": name})


def _learn(model: Any, encoded: Sequence[EncodedRecord], config: TrainConfig, progress: Progress) -> Curve:
    import torch
    from transformers import get_linear_schedule_with_warmup

    weights = [weight for weight in model.parameters() if weight.requires_grad]
    optimizer = torch.optim.AdamW(weights, lr=config.learning_rate, weight_decay=0.0)
    updates = config.epochs * len(encoded)
    schedule = get_linear_schedule_with_warmup(optimizer, int(config.warmup * updates), updates)
    curve = Curve()
    model.train()
    for epoch in range(config.epochs):
        order = list(encoded)
        Random(derive_seed(config.seed, "order", epoch)).shuffle(order)
        for record in order:
            loss, completion = losses_of(model, record)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(weights, config.clip)
            optimizer.step()
            schedule.step()
            optimizer.zero_grad()
            curve.loss.append(loss.item())
            curve.completion.append(completion)
            progress(len(curve.loss), completion)
    return curve


def _write(path: Path, data: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(data, indent=2, sort_keys=True) + "\n", encoding="utf-8")


# ---- the command

_HOSTED: Final = "openai/"


class Training(TrainConfig):
    """Options of `askback train ambibench`."""

    fold: Pair = Field(description="the held-out pair of features")
    model: str = Field(
        default="local/smollm2",
        description="the model to finetune: local/smollm2, transformers/FOLDER or openai/NAME",
    )
    control: bool = Field(default=False, description="train on the unambiguous control")
    constant: Control = Field(
        default="paper",
        description="constant feature of the control: the other one (paper), or as in the published program",
    )
    data: str = Field(default=BUILTIN, description="builtin, or a file of finetuning prompts")
    threads: ThreadsOption = None
    evaluate: bool = Field(default=True, description="play the held-out pair with both models afterwards")
    per_cell: int = Field(default=60, ge=1, description="episodes per feature and format of the evaluation")
    submit: bool = Field(default=False, description="openai/…: upload the file and start the job")
    out: Path | None = Field(default=None, description="folder of the model; openai/…: the file")
    log: LogOption = None

    @property
    def variant(self) -> Variant:
        """The variant of the training data."""
        return "control" if self.control else "ambiguous"

    @property
    def place(self) -> str:
        """Default name of the folder or file."""
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
    _train_here(order, [json.loads(line) for line in lines], folder, console)
    if order.evaluate:
        models = (order.model, f"transformers/{folder}")
        evaluate_fold(models, order.fold, order.seed, order.per_cell, order.log or default_path(), console)


train_ambibench: Final = command_of(
    _train_ambibench,
    options_of(Training),
    "Finetune a model on ambiguous tasks (or the control) and evaluate it on the held-out pair.",
)


def _train_hosted(order: Training, lines: Sequence[str], console: Console) -> None:
    path = order.out or Path(f"{order.place}.jsonl")
    write_lines(path, lines)
    console.print(f"Wrote {len(lines)} prompts to {path}.")
    if order.submit:
        job = submit(order.model.removeprefix(_HOSTED), path, order)
        console.print(f"Started job {job}. When it is done, play its model:")
    else:
        console.print("Upload it (--submit does that); when the job is done, play its model:")
    console.print("  askback run ambibench --setting ft_eval --model openai/NAME --fold …", highlight=False)


def _train_here(
    order: Training, records: Sequence[Mapping[str, str]], folder: Path, console: Console
) -> None:
    weights = weights_of(order.model)
    require_local("peft") if order.method == "lora" else require_local()
    if order.threads is not None:
        import torch

        torch.set_num_threads(order.threads)
    base = order.model.removeprefix("transformers/")
    # An adapter refers to its base by its folder, or by the name of a built-in model.
    name = str(Path(base).resolve()) if Path(base).is_dir() else base
    facts = {field: getattr(order, field) for field in ("fold", "variant", "constant", "data", "model")}
    config = TrainConfig(**{field: getattr(order, field) for field in TrainConfig.model_fields})
    with updates_bar(console, order.epochs * len(records)) as progress:
        curve = finetune(weights, records, folder, config, name=name, facts=facts, progress=progress)
    tenth = max(1, len(curve.completion) // 10)
    first, last = fmean(curve.completion[:tenth]), fmean(curve.completion[-tenth:])
    console.print(
        f"{len(records)} prompts, {order.epochs} epochs; loss of the last label {first:.3f} in the first "
        f"tenth of the updates, {last:.3f} in the last (a guess between X and Y: 0.693)",
        highlight=False,
    )
    console.print(f"[dim]model[/dim] transformers/{folder}", highlight=False)
