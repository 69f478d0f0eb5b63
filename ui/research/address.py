"""Addresses of the researchers' pages: every view has one, to be linked, reloaded and gone back to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any
from urllib.parse import parse_qsl, urlencode

RESEARCH = "/research"
RUN = "/research/run"
START = "/research/start"
STUDIES = "/research/studies"
PART = "/research/part"
DATA = "/research/data"
DESK = "/research/desk"
REPORT = "/research/report"
COMPARE = "/research/compare"
ASKING = "/research/asking"
MOVED = {
    "coding": "coding",
    "categories": "kinds",
    "claims": "claims",
    "consolidate": "consolidation",
    "pairs": "pairs",
    "review": "review",
}
"""Addresses that desks had before they had one in common -> the desk."""
MOVED_PARTS = {"/research/sets": "sets"}
"""Addresses of their own that parts of runs had -> the part."""
_ALL = (RUN, PART, START, STUDIES, REPORT, COMPARE, DATA, DESK, ASKING)
PLACES = {path.rpartition("/")[2]: path for path in _ALL} | {name: f"{RESEARCH}/{name}" for name in MOVED}
NAVIGATION = (
    (RESEARCH, "research.runs", (RESEARCH, RUN, PART, REPORT, COMPARE)),
    (START, "research.start.heading", (START,)),
    (STUDIES, "research.studies.heading", (STUDIES,)),
    (DATA, "research.data.nav", (DATA,)),
    (DESK, "research.desk.nav", (DESK,)),
    (ASKING, "research.asking.nav", (ASKING,)),
)
"""The entries of the bar: where each leads, the name of its text, and the places that stand under it."""
_MOVED_NAMES = {"outputs": "data", "token": "item", "run": "data", "episode": "item"}
_TABS = {"": RUN, "scores": RUN, "compare": COMPARE}
_SETTING = "s."
_FILTER = "f."


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """The page that somebody is at.

    Attributes:
        path: `RESEARCH` or one of `PLACES`.
        run: the run that is shown.
        tab: which part of it.
        episode: the dialogue that is shown.
        benchmark: filter of the list of runs, `setup` likewise; or whose data are browsed.
        outcome: filter: ``success``, ``part``, ``failure`` or ``unscored`` by the headline; or a page's own.
        status: filter: how an episode ended.
        text: filter: words that a turn contains.
        reviewer: who reviews.
        study: that is shown.
        data: the data set that is browsed, or the set that is judged at a desk.
        item: the item of the data set, or the thing at a desk, that is shown.
        step: the turn after which a logged episode is shown.
        desk: where somebody judges.
        raters: how many judge each thing at a desk.
        by: what the table of asking has a row for, besides the robot: ``kind``, ``user``.
        runs: those that are reported or compared.
        settings: of a report, by name.
        filters: fields of items, with the value that is looked for.
    """

    path: str = RESEARCH
    run: str = ""
    tab: str = ""
    episode: str = ""
    benchmark: str = ""
    setup: str = ""
    outcome: str = ""
    status: str = ""
    text: str = ""
    reviewer: str = ""
    study: str = ""
    data: str = ""
    item: str = ""
    step: str = ""
    desk: str = ""
    raters: str = ""
    by: str = ""
    runs: tuple[str, ...] = ()
    settings: tuple[tuple[str, str], ...] = ()
    filters: tuple[tuple[str, str], ...] = ()

    @classmethod
    def read(cls, path: str, query: str) -> Address:
        """Return the address in a browser's bar; what is not known there is left out."""
        known = {field.name for field in fields(cls)} - {"path", "runs", "settings", "filters"}
        last = path.rstrip("/").rpartition("/")[2]
        pairs = parse_qsl(query)
        if last in MOVED:
            pairs = [("desk", MOVED[last]), *((_MOVED_NAMES.get(name, name), value) for name, value in pairs)]
            last = DESK.rpartition("/")[2]
        values = {name: value for name, value in pairs if name in known}
        runs = dict.fromkeys(value for name, value in pairs if name == "runs")
        where = PLACES.get(last, RESEARCH)
        if where in (RESEARCH, RUN) and "run" in values:
            where = _TABS.get(values.get("tab", ""), PART)
        settings, filters = _take_prefixed(pairs, _SETTING), _take_prefixed(pairs, _FILTER)
        return cls(path=where, runs=tuple(runs), settings=settings, filters=filters, **values)

    def to(self, **changes: Any) -> str:
        """Return the address of a neighbouring view, as a link."""
        return str(replace(self, **changes))

    def part(self, tab: str) -> str:
        """Return the address of a part of the run that is shown, as a link."""
        place = _TABS.get(tab, PART)
        return self.to(
            path=place, tab="" if tab == "scores" else tab, episode="", item="", runs=(), filters=()
        )

    @property
    def query(self) -> str:
        """The query string."""
        values = {name: value for name, value in asdict(self).items() if isinstance(value, str) and value}
        del values["path"]
        runs = [("runs", run) for run in self.runs]
        settings = [(f"{_SETTING}{name}", value) for name, value in self.settings]
        filters = [(f"{_FILTER}{name}", value) for name, value in self.filters]
        return urlencode([*values.items(), *runs, *settings, *filters])

    def __str__(self) -> str:
        return f"{self.path}?{self.query}" if self.query else self.path


def _take_prefixed(pairs: Sequence[tuple[str, str]], prefix: str) -> tuple[tuple[str, str], ...]:
    held = {name[len(prefix) :]: value for name, value in pairs if name.startswith(prefix)}
    return tuple(held.items())
