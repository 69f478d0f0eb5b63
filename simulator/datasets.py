"""Registered data: named, checked and immutable copies in the user's folder.

::

    <home>/data/NAME/dataset.json     names the copy in use; replaced atomically
    <home>/data/NAME/3f0c…/           the copy, named by the hash of its content

A copy is made in a staging folder and moved into place atomically; only then does `dataset.json` point at it.
A process killed half-way leaves the old data in use.
"""

from __future__ import annotations

import hashlib
import json
import lzma
import os
import re
import shutil
import stat
import uuid
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Any, Final, NamedTuple

from logs.paths import home
from simulator.errors import InputError
from simulator.output_files import write_atomically

MANIFEST = "dataset.json"
MAX_FILES = 5_000
MAX_BYTES = 500_000_000
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
_CHUNK = 1 << 20
_KEEPING: Final = ContextVar("keeping", default=False)
# RuntimeError: encrypted; NotImplementedError: unknown compression; OSError: a file in place of a folder.
_BROKEN_ZIP = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    EOFError,
    OSError,
    RuntimeError,
    NotImplementedError,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Dataset:
    """Registered data.

    Attributes:
        name: the name for ``--data``.
        content: hash of the files, and name of the copy's folder.
        added_at: UTC, ISO 8601.
        details: results of the benchmark's own check (numbers of tasks, …).
    """

    name: str
    benchmark: str
    content: str
    source: str
    added_at: str
    details: Mapping[str, Any] = field(default_factory=dict)

    @property
    def folder(self) -> Path:
        """The folder of the copy."""
        return data_folder() / self.name / self.content


@dataclass(frozen=True, slots=True)
class Limits:
    """The maximum size of registered data."""

    files: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Added:
    """The result of `add`: the data, whether anything changed, and lines to print about them."""

    dataset: Dataset
    changed: bool
    report: Sequence[str] = ()


def data_folder() -> Path:
    """Return the folder of registered data."""
    return home() / "data"


@contextmanager
def refuse_replacing() -> Iterator[None]:
    """Refuse, within the context, to replace registered data by other data of the same name."""
    token = _KEEPING.set(True)
    try:
        yield
    finally:
        _KEEPING.reset(token)


def add(
    name: str,
    benchmark: str,
    source: str | Path,
    select: Callable[[Path], Mapping[str, Path]],
    check: Callable[[Path], Mapping[str, Any]],
    limits: Limits | None = None,
) -> Added:
    """Copy data into the user's folder and register them; adding the same data again changes nothing.

    Args:
        name: lower case letters, digits, ``.``, ``_``, ``-``.
        benchmark: the benchmark that the data belong to.
        source: a folder or a zip.
        select: returns the files to keep, by their path in the copy, given the source as a folder.
        check: raises `InputError` if the copy is invalid; its result is stored as `details`.
        limits: default: `MAX_FILES` and `MAX_BYTES`.

    Raises:
        InputError: if the source cannot be read, is too big, or is invalid; within `refuse_replacing`, also
            if other data have the name.
    """
    if not _NAME.fullmatch(name):
        raise InputError(f"name {name!r}: use lower case letters, digits, '.', '_' and '-'")
    source = Path(source).expanduser().absolute()
    limits = limits or Limits(MAX_FILES, MAX_BYTES)
    root = data_folder() / name
    try:
        root.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"{root}: cannot be created ({error.strerror}); set ASKBACK_HOME to another folder"
        ) from error
    staging = root / f".staging-{uuid.uuid4().hex}"
    try:
        unpacked = source if source.is_dir() else _unzip(source, staging / "zip", limits)
        copy = staging / "copy"
        names = {str(unpacked): str(source)}
        with _original_paths(names):
            files = select(unpacked)
        content = _copy(files, copy, limits)
        present = find(name)
        if present is not None and not present.folder.is_dir():
            present = None
        if present is not None and (present.content, present.benchmark) == (content, benchmark):
            return Added(present, changed=False)
        if present is not None and _KEEPING.get():
            raise InputError(
                f"{name!r} is the name of other data ({present.benchmark}, from {present.source}); choose "
                "another name with --name, or replace them with --replace"
            )
        with _original_paths({**{str(copy / place): str(file) for place, file in files.items()}, **names}):
            details = check(copy)
        dataset = Dataset(
            name=name,
            benchmark=benchmark,
            content=content,
            source=str(source),
            added_at=datetime.now(UTC).isoformat(timespec="seconds"),
            details=details,
        )
        if not dataset.folder.is_dir():
            os.replace(copy, dataset.folder)
        _point_at(dataset)
        return Added(dataset, changed=True)
    finally:
        shutil.rmtree(staging, ignore_errors=True)
        if not (root / MANIFEST).exists():
            shutil.rmtree(root, ignore_errors=True)


def find(name: str) -> Dataset | None:
    """Return the registered data with this name, if any.

    Raises:
        InputError: if its manifest cannot be read.
    """
    path = data_folder() / name / MANIFEST
    if not _NAME.fullmatch(name) or not path.is_file():
        return None
    try:
        return Dataset(**json.loads(path.read_text(encoding="utf-8")))
    except (ValueError, TypeError) as error:
        raise InputError(f"{path}: cannot be read ({error}); run `askback data add` again") from error


class Place(NamedTuple):
    """The location of data.

    Attributes:
        fixed: True if the data never change, as registered data do not.
    """

    path: Path
    fixed: bool


def locate(data: str | Path, benchmark: str, builtin: str, published: str = "", holding: str = "") -> Place:
    """Return the location of data, given a registered name or a path.

    `builtin`, `published` (registered under the benchmark's name) and `holding` (the folders of the published
    data) are for messages.

    Raises:
        InputError: if there are no such data, or they belong to another benchmark.
    """
    dataset = find(data) if isinstance(data, str) else None
    if dataset is not None:
        if dataset.benchmark != benchmark:
            raise InputError(
                f"data {data!r} belong to {dataset.benchmark}, not to {benchmark}",
                code="data_of_another",
                data=data,
                benchmark=dataset.benchmark,
            )
        return Place(dataset.folder, fixed=True)
    path = Path(data).expanduser()
    if not path.exists() and published and str(data) == benchmark:
        command = f"askback data add {benchmark} PATH"
        raise InputError(
            f"the published {published} are not registered yet; run `{command}` with the folder or zip that "
            f"contains {holding}",
            code="not_registered",
            command=command,
        )
    if not path.exists():
        raise InputError(
            f"data {str(data)!r}: neither {builtin!r}, nor registered (see `askback data list`), nor a path",
            code="no_data",
            data=str(data),
            builtin=builtin,
        )
    return Place(path, fixed=False)


def list_all() -> tuple[Dataset, ...]:
    """Return all registered data, by name."""
    folder = data_folder()
    names = sorted(entry.name for entry in folder.iterdir()) if folder.is_dir() else []
    return tuple(dataset for name in names if (dataset := find(name)) is not None)


def remove(name: str) -> Dataset:
    """Unregister data and delete the copy.

    Raises:
        InputError: if no data have this name.
    """
    dataset = find(name)
    if dataset is None:
        known = ", ".join(dataset.name for dataset in list_all()) or "nothing"
        raise InputError(f"no data are registered as {name!r}; registered: {known}")
    root = data_folder() / name
    (root / MANIFEST).unlink()
    shutil.rmtree(root)
    return dataset


def _point_at(dataset: Dataset) -> None:
    root = data_folder() / dataset.name
    write_atomically(root / MANIFEST, json.dumps(asdict(dataset), ensure_ascii=False, indent=2))
    for old in root.iterdir():
        if old.is_dir() and old != dataset.folder and not old.name.startswith("."):
            shutil.rmtree(old, ignore_errors=True)


@contextmanager
def _original_paths(names: Mapping[str, str]) -> Iterator[None]:
    """Replace paths of temporary files by the user's own paths in messages of errors."""
    try:
        yield
    except InputError as error:
        message = str(error)
        # Longest first, since a path may be a prefix of another one.
        for temporary in sorted(names, key=len, reverse=True):
            message = message.replace(temporary, names[temporary])
        raise InputError(message, code=error.code, **error.named) from error


def _copy(files: Mapping[str, Path], target: Path, limits: Limits) -> str:
    """Copy `files` below `target`; return the hash of names and contents."""
    target.mkdir(parents=True)
    digest = hashlib.sha256()
    budget = _Budget(limits)
    for name, file in sorted(files.items()):
        place = target / name
        place.parent.mkdir(parents=True, exist_ok=True)
        budget.spend(file.stat().st_size, file)
        data = file.read_bytes()
        place.write_bytes(data)
        digest.update(f"{name}\0{hashlib.sha256(data).hexdigest()}\n".encode())
    return digest.hexdigest()[:16]


def _unzip(source: Path, target: Path, limits: Limits) -> Path:
    if not source.is_file():
        raise InputError(f"{source}: no such file or folder")
    if not zipfile.is_zipfile(source):
        raise InputError(f"{source}: neither a folder nor a zip; put the file into a folder")
    budget = _Budget(limits)
    target.mkdir(parents=True)
    try:
        with zipfile.ZipFile(source) as archive:
            for entry in archive.infolist():
                _extract(archive, entry, target, budget)
    except _BROKEN_ZIP as error:
        raise InputError(f"{source}: cannot be unpacked ({error})") from error
    return target


def _extract(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, target: Path, budget: _Budget) -> None:
    parts = PurePosixPath(entry.filename.replace("\\", "/")).parts
    if entry.filename.startswith(("/", "\\")) or ".." in parts or any(":" in part for part in parts):
        raise InputError(f"{archive.filename}: {entry.filename!r} points outside the archive")
    if stat.S_ISLNK(entry.external_attr >> 16):
        raise InputError(f"{archive.filename}: {entry.filename!r} is a link")
    if entry.is_dir():
        return
    place = target.joinpath(*parts)
    place.parent.mkdir(parents=True, exist_ok=True)
    with archive.open(entry) as packed, place.open("wb") as out:
        for chunk in _chunks(packed.read):
            # Count unpacked bytes, not the size that the archive claims.
            budget.spend(len(chunk), Path(str(archive.filename)), new_file=False)
            out.write(chunk)
    budget.spend(0, Path(str(archive.filename)))


def _chunks(read: Callable[[int], bytes]) -> Iterator[bytes]:
    while chunk := read(_CHUNK):
        yield chunk


class _Budget:
    """A counter of files and bytes that refuses more than the limits allow."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._files = 0
        self._bytes = 0

    def spend(self, size: int, what: Path, *, new_file: bool = True) -> None:
        self._files += new_file
        self._bytes += size
        limits = self._limits
        if self._files > limits.files or self._bytes > limits.bytes:
            raise InputError(f"{what}: more than {limits.files} files or {limits.bytes // 1_000_000} MB")
