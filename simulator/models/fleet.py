"""Fleets: several servers behind one model's name.

Answers are cached, logged and replayed under the fleet's name, never under that of the server that happened
to answer, so that a run can be resumed and replayed with other servers.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final, TypeAlias

import yaml
from pydantic import Field

from simulator.benchmark import Checker
from simulator.errors import InputError
from simulator.fields import Fields, NonBlank, Whole, must, read_as
from simulator.models.redaction import public_url
from trees import bounded
from trees.faults import Fault

PREFIX: Final = "fleet:"
"""Prefix of the address of a fleet from a file."""
_SEVERAL: Final = re.compile(r",(?=https?://)")
_FILE: Final = re.compile(r"(.+\.ya?ml)(?:#([\w.-]+))?")
_URL: Final = must(
    lambda text: bool(re.match(r"https?://[^/]", text)),
    "is not a server's URL, such as http://gpu1:8000/v1",
)
_NAME: Final = must(
    lambda text: bool(re.fullmatch(r"[\w.-]+", text)), "may have letters, digits, '.', '_' and '-'"
)


class FleetServer(Fields, extra="forbid"):
    """A server of a fleet.

    Attributes:
        url: its URL with ``/v1``.
        capacity: most concurrent requests; None for as many as it takes without complaining.
        weight: its share of the load, relative to the others.
        per_minute: most requests per minute; None for no limit.
        tags: names that select a part of the fleet (``gpus.yaml#a100``).
        key_variable: environment variable with its key; empty for the default key.
    """

    url: Annotated[NonBlank, _URL]
    capacity: Annotated[Whole | None, Field(ge=1)] = None
    weight: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 1.0
    per_minute: Annotated[Whole | None, Field(ge=1)] = None
    tags: Annotated[tuple[str, ...], read_as(list[NonBlank], tuple)] = ()
    key_variable: str = ""

    @property
    def address(self) -> str:
        """Return its URL without passwords."""
        return public_url(self.url).rstrip("/")


class _FleetFile(Fields, extra="forbid"):
    name: Annotated[NonBlank | None, _NAME] = None
    servers: Annotated[list[dict[str, Any]], Field(min_length=1)]


@dataclass(frozen=True, slots=True)
class Fleet:
    """Servers with the same models.

    Attributes:
        address: their name in the log and cache: ``fleet:NAME``, or all their addresses.
    """

    address: str
    servers: tuple[FleetServer, ...]

    @property
    def title(self) -> str:
        """Return its name for messages."""
        return (
            self.address if self.address.startswith(PREFIX) else f"the fleet of {len(self.servers)} servers"
        )


Place: TypeAlias = str | Fleet
"""The location of a model: a server's URL, or a fleet."""


def address_of(place: Place | None) -> str:
    """Return a place's address for the log, without passwords; empty for None."""
    return place.address if isinstance(place, Fleet) else public_url(place or "")


def addresses(text: str) -> list[str]:
    """Split a text into its comma-separated URLs; empty if it does not begin with one."""
    return _SEVERAL.split(text) if re.match("https?://", text) else []


def place_of(named: str | Sequence[str] | None) -> Place | None:
    """Return the place that ``--base-url`` names: a URL, several, or a fleet's file.

    Args:
        named: URLs, which may be comma-separated; or one ``FILE.yaml``. ``FILE.yaml#TAG`` selects the
            servers with the tag.

    Raises:
        InputError: if a file is missing or wrong (names file and field), or is mixed with other values.
    """
    named = [named] if isinstance(named, str) else list(named or ())
    files = [text for text in named if _FILE.fullmatch(text) and "://" not in text]
    if files:
        if len(named) > 1:
            raise InputError(f"--base-url {files[0]}: a file already names a fleet; give no other --base-url")
        return read_fleet(files[0])
    urls = [url for text in named for url in addresses(text) or [text]]
    if len(urls) < 2:
        return urls[0] if urls else None
    servers = tuple(FleetServer.parse({"url": url}, "--base-url: ") for url in urls)
    return Fleet(
        ",".join(sorted(server.address for server in _require_distinct(servers, "--base-url"))), servers
    )


def read_fleet(named: str) -> Fleet:
    """Read the fleet in ``FILE.yaml``; ``FILE.yaml#TAG`` selects the servers with the tag.

    Raises:
        InputError: if the file is missing or wrong; names file and field.
    """
    match = _FILE.fullmatch(named)
    assert match is not None
    path, tag = Path(match[1]), match[2]
    content = _FleetFile.parse(_content(path), f"{path}: ")
    servers = tuple(
        FleetServer.parse(entry, f"{path}: server {number}: ")
        for number, entry in enumerate(content.servers, start=1)
    )
    chosen = tuple(
        server for server in _require_distinct(servers, str(path)) if tag is None or tag in server.tags
    )
    if not chosen:
        tags = ", ".join(sorted({tag for server in servers for tag in server.tags})) or "none"
        raise InputError(f"{path}: no server has the tag {tag!r}; known tags: {tags}")
    return Fleet(f"{PREFIX}{content.name or path.stem}{f'#{tag}' if tag else ''}", chosen)


def checker() -> Checker:
    """Return the checker of fleet files for `askback check`."""
    find = partial(bounded.files_with, "servers")
    return Checker("fleets of servers (.yaml or .yml with the key servers)", find, _check_fleets)


def _check_fleets(files: Sequence[Path]) -> tuple[Fault, ...]:
    faults = []
    for file in files:
        try:
            read_fleet(str(file))
        except InputError as error:
            faults.append(Fault(str(file), "", 0, "fleet", str(error).removeprefix(f"{file}: ")))
    return tuple(faults)


def _content(path: Path) -> dict[str, Any]:
    try:
        content = bounded.load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"cannot read the fleet {path}: {error.strerror}") from error
    except (UnicodeDecodeError, yaml.YAMLError) as error:
        raise InputError(f"the fleet {path} is not YAML: {error}") from error
    if not isinstance(content, dict):
        raise InputError(
            f"{path}: expected a mapping with a list 'servers' of entries such as 'url: http://…'"
        )
    return content


def _require_distinct(servers: tuple[FleetServer, ...], where: str) -> tuple[FleetServer, ...]:
    addresses = [server.address for server in servers]
    if twice := next((address for address in addresses if addresses.count(address) > 1), None):
        raise InputError(f"{where}: {twice} is named twice; give it a larger weight instead")
    return servers
