"""`askback train ambibench`: finetune on two pairs of features, see what that does for the third.

How a model is finetuned (paper 4.4, App. G.5, H; spec section 5.3) comes first: by a service with OpenAI's
interface, or on this machine, where a causal language model learns as an adapter or with all its weights. The
loss is the weighted mean of the tokens' cross-entropy: 1 for the completion, `prompt_weight` for the prompt.
Prompt and completion are tokenised apart, so that the completion begins a token of its own, as it does when
the model is scored. torch is imported when that begins.
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
# AdamW's learning rates with which the small model learns without forgetting how to answer.
RATES: Final[dict[Method, float]] = {"lora": 2e-4, "full": 2e-5}


class TrainConfig(Fields):
    """A finetuning; batch size 1 as in the paper, prompts in a new order in each epoch.

    Attributes:
        method: ``lora`` trains low-rank adapters on all linear layers, ``full`` all weights.
        rate: AdamW's learning rate at its highest.
        prompt_weight: where the completion's tokens have 1 (paper: .1).
        rank: of the adapters.
        alpha: their scale, divided by the rank.
        warmup: share of the updates over which the rate rises; it falls to 0 linearly after that.
        clip: largest norm of a gradient.
    """

    method: Method = Field(default="lora", description="an adapter, or all weights")
    epochs: int = Field(default=1, ge=1, description="how often each prompt is seen")
    rate: float | None = Field(default=None, ge=0, description="learning rate, if not the method's own")
    prompt_weight: float = Field(default=0.1, ge=0, description="weight of the prompt in the loss")
    seed: int = Field(default=0, description="of data, order and adapter")
    rank: Annotated[int, HIDDEN] = 16
    alpha: Annotated[int, HIDDEN] = 32
    warmup: Annotated[float, HIDDEN] = 0.05
    clip: Annotated[float, HIDDEN] = 1.0

    @property
    def learning_rate(self) -> float:
        """The rate that is used."""
        return RATES[self.method] if self.rate is None else self.rate


# Of the paper's service (spec section 5.3). Its weight of .1 on the prompt's tokens is no longer taken.
BATCH_SIZE = 1
RATE_MULTIPLIER = 0.1


def submit(model: str, file: Path, config: TrainConfig, client: Any = None) -> str:
    """Upload `file` and begin a finetuning job.

    `client`: of the openai package; default: one for ``$OPENAI_API_KEY``.

    Returns:
        The job's id.

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
Tell = Callable[[int, float], None]


@dataclass(frozen=True, slots=True)
class EncodedRecord:
    """A record in tokens.

    Attributes:
        weights: of each token in the loss; the first, which nothing predicts, has 0.
    """

    ids: tuple[int, ...]
    weights: tuple[float, ...]


@dataclass(slots=True)
class Curve:
    """The losses of each update, in order (natural log; ln 2 = .69 is a guess between two labels).

    Attributes:
        loss: what was minimised.
        completion: of the completion's tokens alone.
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
    told: Mapping[str, Any] | None = None,
    tell: Tell = lambda done, loss: None,
) -> Curve:
    """Finetune the model in the folder `base` on `records` and save it in the folder `out`.

    `out` then holds the adapter (which names its base) or the whole model, the tokenizer, the losses
    (``curve.json``), and how it was made (``askback.json``).

    Args:
        base: a folder, or an id that transformers knows.
        records: ``prompt`` and ``completion`` each.
        out: is made; files in it of the same names are replaced.
        config: how.
        name: of the base, for an adapter to find it by (``local/smollm2``); default: `base`.
        told: further facts for ``askback.json`` (fold, variant, data seed).
        tell: is told the number of updates made and the newest loss of a completion.

    Returns:
        The losses of each update.
    """
    import torch

    torch.manual_seed(derive_seed(config.seed, "weights"))
    loaded = load_weights(base, "cuda" if torch.cuda.is_available() else "cpu")
    encoded = [encode(loaded.tokenizer, record, config.prompt_weight) for record in records]
    with warnings.catch_warnings():
        # peft asks for attributes that transformers has renamed; nothing depends on them here.
        warnings.simplefilter("ignore", FutureWarning)
        model = _trainable(loaded.model, config)
        curve = _learn(model, encoded, config, tell)
        model.save_pretrained(out)
    loaded.tokenizer.save_pretrained(out)
    _name_base(out, name or base)
    facts = {
        "base": name or base,
        "examples": len(records),
        **config.model_dump(),
        "rate": config.learning_rate,
    }
    _write(out / SETTINGS, {**facts, **(told or {})})
    _write(out / LOSSES, asdict(curve))
    return curve


def encode(tokenizer: Any, record: Mapping[str, str], prompt_weight: float) -> EncodedRecord:
    """Return a record as tokens with their weights in the loss."""
    prompt = tokenizer(record["prompt"])["input_ids"]
    completion = tokenizer(record["completion"], add_special_tokens=False)["input_ids"]
    # A tokenizer that closes every text closes the prompt, too; the completion goes on from it.
    if prompt and prompt[-1] == tokenizer.eos_token_id:
        prompt = prompt[:-1]
    weights = (0.0, *[prompt_weight] * (len(prompt) - 1), *[1.0] * len(completion))
    return EncodedRecord((*prompt, *completion), weights)


def losses_of(model: Any, encoded: EncodedRecord) -> tuple[torch.Tensor, float]:
    """Return weighted mean cross-entropy of a record's tokens, and the plain one of its completion."""
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
    """Let an adapter say how its base is called rather than where it lay on this machine."""
    path = folder / ADAPTER
    if path.is_file():
        _write(path, {**json.loads(path.read_text(encoding="utf-8")), "base_model_name_or_path": name})


def _learn(model: Any, encoded: Sequence[EncodedRecord], config: TrainConfig, tell: Tell) -> Curve:
    import torch
    from transformers import get_linear_schedule_with_warmup

    learned = [weight for weight in model.parameters() if weight.requires_grad]
    optimizer = torch.optim.AdamW(learned, lr=config.learning_rate, weight_decay=0.0)
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
            torch.nn.utils.clip_grad_norm_(learned, config.clip)
            optimizer.step()
            schedule.step()
            optimizer.zero_grad()
            curve.loss.append(loss.item())
            curve.completion.append(completion)
            tell(len(curve.loss), completion)
    return curve


def _write(path: Path, data: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(data, indent=2, sort_keys=True) + "\n", encoding="utf-8")


# ---- the command

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
    _train_here(order, [json.loads(line) for line in lines], folder, console)
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


def _train_here(
    order: Training, records: Sequence[Mapping[str, str]], folder: Path, console: Console
) -> None:
    weights = weights_of(order.model)
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
        curve = finetune(weights, records, folder, config, name=name, told=facts, tell=tell)
    tenth = max(1, len(curve.completion) // 10)
    first, last = fmean(curve.completion[:tenth]), fmean(curve.completion[-tenth:])
    console.print(
        f"{len(records)} prompts, {order.epochs} epochs; loss of the last label {first:.3f} in the first "
        f"tenth of the updates, {last:.3f} in the last (a guess between X and Y: 0.693)",
        highlight=False,
    )
    console.print(f"[dim]model[/dim] transformers/{folder}", highlight=False)
