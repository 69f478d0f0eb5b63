"""Declarations of benchmarks for researchers (`simulator.research`): their parts of runs, words and files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final
from urllib.parse import quote

from logs import LogReader
from logs.rows import Run
from simulator import catalog
from simulator.benchmark import Benchmark
from simulator.errors import InputError
from simulator.research import Look, Part, ResearchPages, Setting, research_pages
from simulator.studies.known import opened
from ui.i18n import DECLARED, Strings
from ui.research.address import RESEARCH, STUDIES, Address
from ui.research.kept import CachedReports
from ui.research.listing import Menu
from ui.research.runs import Link, RunCard, Tab, run_card
from ui.research.view import Visit

_NONE: Final = ResearchPages()


@dataclass(frozen=True, slots=True)
class Words:
    """The words of a benchmark's ``research.yaml``."""

    t: Strings
    benchmark: str

    def name(self, text: str) -> str:
        """Return the whole name of a text."""
        return f"{DECLARED}.{self.benchmark}.research.{text}"

    def __call__(self, text: str, default: str) -> str:
        """Return a text, or `default` if there is none."""
        return self.t.get(self.name(text), default)

    def value(self, of: str, name: str, value: str) -> str:
        """Return what a value is called of a ``setting`` or of a field of the ``data``."""
        return self(f"{of}.{name}.{value}", value)

    def label(self, of: str, name: str) -> str:
        """Return what a setting or a field is called."""
        return self(f"{of}.{name}", self.t.phrase(name.replace("_", " ")))

    def menus(self, settings: Iterable[Setting], at: Address) -> dict[str, Menu]:
        """Return menus for what an episode or a part of a run leaves to be chosen."""
        chosen = dict(at.settings)
        return {
            f"s.{setting.name}": Menu(
                self.label("setting", setting.name),
                [
                    *([] if setting.usual else [("–", "")]),
                    *((self.value("setting", setting.name, value), value) for value in setting.values),
                ],
                chosen.get(setting.name, setting.usual),
            )
            for setting in settings
        }

    def filters(self, of: str, fields: Mapping[str, Iterable[str]], at: Address) -> dict[str, Menu]:
        """Return menus for fields that a list is filtered by: a ``field`` of episodes, or of the ``data``."""
        menus = {}
        for name, values in fields.items():
            label = self.label(of, name)
            choices = [
                (self.t("research.episodes.any"), ""),
                *((self.value(of, name, value), value) for value in values),
            ]
            menus[f"f.{name}"] = Menu(label, choices, dict(at.filters).get(name, ""))
        return menus


def pages_of(benchmark: str) -> ResearchPages:
    """Return what a benchmark adds; nothing if it is not installed."""
    try:
        return research_pages(catalog.find(benchmark))
    except InputError:
        return _NONE


def whole_card(reader: LogReader, run: Run) -> RunCard:
    """Return a run's card with its parts, and the ways on from it."""
    card, pages = run_card(reader, run), pages_of(run.benchmark)
    say = Words(Strings("en", {}), run.benchmark).name
    known = [Link(say(f"link.{link.name}"), link.address) for link in pages.links(reader, run)]
    if run.id in {study.run_id for study in opened(reader).values()}:
        study = next(study.id for study in opened(reader).values() if study.run_id == run.id)
        known.append(Link("research.run.to_study", f"{STUDIES}?study={quote(study, safe='')}"))
    files = [
        Link(
            say(f"file.{file.name.partition('.')[0]}"),
            f"{RESEARCH}/download/of-run/{file.name}?run={quote(run.id, safe='')}",
            True,
        )
        for file in pages.files
        if file.where(reader, run)
    ]
    tabs = [Tab(part.name, say(f"part.{part.name}")) for part in parts_of(run, reader)]
    return replace(card, tabs=(*card.tabs, *tabs), links=(*card.links, *known, *files))


def parts_of(run: Run, reader: LogReader) -> tuple[Part, ...]:
    """Return the further parts of a run."""
    return tuple(part for part in pages_of(run.benchmark).parts if part.where(reader, run))


def look_at(visit: Visit, kept: CachedReports, run: Run) -> Look:
    """Return a visit as benchmarks know it."""
    return Look(
        reader=kept.reader,
        run=run,
        language=visit.t.language,
        chosen={**dict(visit.at.settings), **({"step": visit.at.step} if visit.at.step else {})},
        keep=lambda name, make: kept.once(("declared", name), run.id, make),
    )


def written(name: str, write: Callable[[Path], object]) -> bytes:
    """Return a file that is written to a path."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / name
        write(path)
        return path.read_bytes()


def run_file(reader: LogReader, run: str, name: str) -> bytes:
    """Return a file of a run.

    Raises:
        InputError: if the run has no such file.
        NotInLog: if there is no such run.
    """
    row = reader.run(run)
    files = {file.name: file for file in pages_of(row.benchmark).files if file.where(reader, row)}
    return written(name, lambda path: _known(files, name).write(reader, run, path))


def data_file(benchmark: Benchmark[Any, Any], data: str, name: str) -> bytes:
    """Return a file of data.

    Raises:
        InputError: if there is no such file.
    """
    pages = research_pages(benchmark).data
    files = pages.files if pages is not None else {}
    return written(name, lambda path: _known(files, name)(data, path))


def _known(files: Mapping[str, Any], name: str) -> Any:
    if name not in files:
        raise InputError(f"There is no file {name!r} here; there are: {', '.join(files) or 'none'}.")
    return files[name]
