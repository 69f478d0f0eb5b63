"""Addresses of the researchers' pages; every view has one, so it can be linked, reloaded and revisited."""

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
"""Last part of a desk's former path -> desk."""
MOVED_PARTS = {"/research/sets": "sets"}
"""Former path of a part of a run -> part."""
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
"""Entries of the navigation bar: path, name of the text, and the paths for which the entry is active."""
_MOVED_NAMES = {"outputs": "data", "token": "item", "run": "data", "episode": "item"}
_TABS = {"": RUN, "scores": RUN, "compare": COMPARE}
_SETTING = "s."
_FILTER = "f."


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """The path and query of a researchers' page.

    Attributes:
        path: `RESEARCH` or one of `PLACES`.
        benchmark: filter for the list of runs, or the benchmark whose data is browsed.
        setup: filter for the list of runs.
        outcome: filter: ``success``, ``part``, ``failure`` or ``unscored`` by the headline, or a page's own.
        status: filter: how an episode ended.
        text: filter: words that a turn contains.
        data: data set to browse, or set of cases to judge at a desk.
        item: item of the data set, or case at a desk, to show.
        step: turn of a logged episode after which to show its state.
        raters: number of raters per case at a desk.
        by: how the table of asking splits its rows further: ``kind``, ``user`` or ``both``.
        runs: runs to report or compare.
        settings: settings of a report, by name.
        filters: fields of items with the required value.
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
        """Parse a path and query; unknown parameters are ignored."""
        names = {field.name for field in fields(cls)} - {"path", "runs", "settings", "filters"}
        last = path.rstrip("/").rpartition("/")[2]
        pairs = parse_qsl(query)
        if last in MOVED:
            pairs = [("desk", MOVED[last]), *((_MOVED_NAMES.get(name, name), value) for name, value in pairs)]
            last = DESK.rpartition("/")[2]
        values = {name: value for name, value in pairs if name in names}
        runs = dict.fromkeys(value for name, value in pairs if name == "runs")
        where = PLACES.get(last, RESEARCH)
        if where in (RESEARCH, RUN) and "run" in values:
            where = _TABS.get(values.get("tab", ""), PART)
        settings, filters = _take_prefixed(pairs, _SETTING), _take_prefixed(pairs, _FILTER)
        return cls(path=where, runs=tuple(runs), settings=settings, filters=filters, **values)

    def to(self, **changes: Any) -> str:
        """Return this address with changes, as a link."""
        return str(replace(self, **changes))

    def part(self, tab: str) -> str:
        """Return the address of a part of the same run, as a link."""
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
    return tuple({name[len(prefix) :]: value for name, value in pairs if name.startswith(prefix)}.items())
