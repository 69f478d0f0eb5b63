"""Weights and tokenizer from a folder or a hub, for models in this very process."""

from __future__ import annotations

import importlib
import json
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from simulator.errors import InputError
from simulator.models.errors import Unsupported

INSTALL: Final = "pip install 'askback[local]'"
ADAPTER: Final = "adapter_config.json"
_WEIGHTS: Final = (".safetensors", ".bin")
_BASE: Final = "base_model_name_or_path"

# From the name of an adapter's base to where it is.
Find = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class Weights:
    """A loaded model.

    Attributes:
        tokenizer: its tokenizer.
        model: the model, on its device, not in training.
        answers: whether it is an encoder-decoder model, which reads a text and writes an answer.
        longest: tokens it can read; None if nothing says.
    """

    tokenizer: Any
    model: Any
    answers: bool
    longest: int | None


def load_weights(path: str, device: str, find: Find = str) -> Weights:
    """Load a model.

    On a CPU all numbers are 32 bits wide, whatever is stored; elsewhere as they are stored.

    Args:
        path: a folder, or an id of a model hub. A folder with an adapter (``adapter_config.json``, as peft
            writes it) is loaded with its base, into which the adapter is merged.
        device: ``cpu``, ``cuda``, ``mps``.
        find: where the base of an adapter is.

    Raises:
        Unsupported: if transformers, or peft for an adapter, is missing, or an adapter cannot be merged.
        InputError: if an adapter names no base, or the model is not there.
    """
    transformers = imported("transformers")
    folder = Path(path)
    base = find(_base(folder / ADAPTER)) if (folder / ADAPTER).is_file() else path
    own_tokenizer = (folder / "tokenizer_config.json").is_file()
    try:
        with quiet(transformers):
            # What is a folder needs no hub, and none is asked.
            here = {"local_files_only": Path(base).is_dir()}
            config = transformers.AutoConfig.from_pretrained(base, **here)
            tokenizer = transformers.AutoTokenizer.from_pretrained(path if own_tokenizer else base, **here)
            model = _model_class(transformers, config).from_pretrained(base, dtype=_dtype(device), **here)
            if base != path:
                model = _merged(model, path)
    except (OSError, ValueError) as error:
        raise InputError(_not_loaded(path, base, error)) from error
    return Weights(
        tokenizer,
        model.to(device).eval(),
        bool(config.is_encoder_decoder),
        getattr(config, "max_position_embeddings", None),
    )


def _not_loaded(path: str, base: str, error: Exception) -> str:
    """What to tell of a model that cannot be loaded, in one sentence."""
    if Path(base).exists():
        return f"cannot load the model {path}: {' '.join(str(error).split())}"
    of = "" if base == path else f" (the base of the adapter {path})"
    return f"cannot load the model {base}{of}: no such folder, and no model hub has it or can be reached"


def fingerprint(path: str) -> dict[str, str]:
    """What tells the weights in a folder from those that were there before; nothing for a hub's id.

    A model that is finetuned again into the same folder is another model: it must not be answered for out of
    a cache. It is taken over names, sizes and times of the files, since weights are long to read.
    """
    files = sorted(each for each in Path(path).glob("*") if each.suffix in _WEIGHTS)
    if not files:
        return {}
    facts = [(each.name, each.stat().st_size, each.stat().st_mtime_ns) for each in files]
    return {"weights": sha256(repr(facts).encode()).hexdigest()[:16]}


def imported(module: str) -> Any:
    """A library that is an extra.

    Raises:
        Unsupported: if it is missing; says how to install it.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise Unsupported(f"models of one's own machine need {module}: {INSTALL}") from error


@contextmanager
def quiet(transformers: Any) -> Iterator[None]:
    """No progress bars and no hints of the library meanwhile; its errors are raised anyway."""
    logging = transformers.utils.logging
    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        with warnings.catch_warnings():
            # The libraries warn each other of names that will change; no user can do anything about it.
            warnings.simplefilter("ignore", FutureWarning)
            yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()


def _model_class(transformers: Any, config: Any) -> Any:
    if config.is_encoder_decoder:
        return transformers.AutoModelForSeq2SeqLM
    return transformers.AutoModelForCausalLM


def _dtype(device: str) -> Any:
    return imported("torch").float32 if device == "cpu" else "auto"


def _base(file: Path) -> str:
    try:
        base = json.loads(file.read_text(encoding="utf-8")).get(_BASE)
    except (OSError, ValueError, AttributeError) as error:
        raise InputError(f"cannot read the adapter's settings {file}: {error}") from error
    if not base:
        raise InputError(f"{file}: {_BASE} is empty; write there the folder or name of the adapter's base")
    return str(base)


def _merged(model: Any, adapter: str) -> Any:
    tuned = imported("peft").PeftModel.from_pretrained(model, adapter)
    if not hasattr(tuned, "merge_and_unload"):
        raise Unsupported(f"the adapter {adapter} cannot be merged into its base; take LoRA")
    return tuned.merge_and_unload()
