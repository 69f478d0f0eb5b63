"""How a model is finetuned (paper 4.4, App. G.5, H; spec section 5.3): by a service, or on this machine.

A service is one with OpenAI's interface. On this machine a causal language model learns as an adapter or with
all its weights; torch is imported when that begins.

The loss is the weighted mean of the tokens' cross-entropy: 1 for the completion, `prompt_weight` for the
prompt. Prompt and completion are tokenised apart, so that the completion begins a token of its own, as it
does when the model is scored.
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from pydantic import Field

from simulator.errors import InputError
from simulator.field_options import HIDDEN
from simulator.fields import Fields
from simulator.models.weights import ADAPTER, load_weights
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
        curve = _train(model, encoded, config, tell)
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


def _train(model: Any, encoded: Sequence[EncodedRecord], config: TrainConfig, tell: Tell) -> Curve:
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
