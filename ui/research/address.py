"""Addresses of the researchers' pages: every view has one, to be linked, reloaded and gone back to."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields, replace
from typing import Any
from urllib.parse import parse_qsl, urlencode

RESEARCH = "/research"
REVIEW = "/research/review"
EPISODES = "/research/episodes"
FIGURES = "/research/figures"
CODING = "/research/coding"
READINGS = "/research/ambient"
CONSOLIDATE = "/research/consolidate"
CATEGORIES = "/research/categories"
CLAIMS = "/research/claims"
ASKING = "/research/asking"
PAIRS = "/research/pairs"
SETS = "/research/sets"
KITCHEN = (PAIRS, SETS)
AMBIENT = (READINGS, CONSOLIDATE, CATEGORIES, CLAIMS)
PLACES = {
    path.rpartition("/")[2]: path for path in (REVIEW, EPISODES, FIGURES, CODING, *AMBIENT, ASKING, *KITCHEN)
}
_RENAMED = "as."


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """Where somebody is.

    Attributes:
        path: `RESEARCH` or one of `PLACES`.
        run: the run that is shown.
        tab: which part of it.
        episode: the dialogue that is shown.
        against: the run it is compared with.
        outcome: filter: ``success``, ``failure`` or ``needs_judge``.
        type: filter: number of a task type.
        language: filter: language of the dialogues.
        text: filter: words that a turn contains.
        reviewer: who reviews.
        data: the data set that is browsed.
        level: filter: hardness of an episode of HandMeThat.
        quest: filter: what kind of help it asks for.
        goal: filter: number of its goal's template.
        item: the episode of the data set that is shown.
        step: the turn after which a logged episode is shown.
        seen: ``robot`` to see of the house what the robot sees.
        feature: filter: the salient feature.
        format: filter: of the prompt.
        mode: how tables of probabilities are read; empty: as each run says.
        tie: what a tie counts, likewise.
        outputs: keys of the sets of outputs that are sorted; empty: all.
        token: the output that is looked at again.
        set: filter: letters of a label set (``EN``).
        kind: filter: kind of ambiguity.
        split: filter: part of the data set.
        raters: how many validators see each example.
        target: share of tasks whose set is to hold a right action; empty: as the run says.
        asked: filter: ``yes`` or ``no``.
        by: what the table of asking has a row for, besides the robot: ``kind``, ``user``.
        runs: those that figures are drawn of.
        labels: actors with what they are called there.
    """

    path: str = RESEARCH
    run: str = ""
    tab: str = ""
    episode: str = ""
    against: str = ""
    outcome: str = ""
    type: str = ""
    language: str = ""
    text: str = ""
    reviewer: str = ""
    data: str = ""
    level: str = ""
    quest: str = ""
    goal: str = ""
    item: str = ""
    step: str = ""
    seen: str = ""
    feature: str = ""
    format: str = ""
    mode: str = ""
    tie: str = ""
    outputs: str = ""
    token: str = ""
    set: str = ""
    kind: str = ""
    split: str = ""
    raters: str = ""
    target: str = ""
    asked: str = ""
    by: str = ""
    runs: tuple[str, ...] = ()
    labels: tuple[tuple[str, str], ...] = ()

    @classmethod
    def read(cls, path: str, query: str) -> Address:
        """Return the address in a browser's bar; what is not known there is left out."""
        known = {field.name for field in fields(cls)} - {"path", "runs", "labels"}
        pairs = parse_qsl(query)
        values = {name: value for name, value in pairs if name in known}
        runs = dict.fromkeys(value for name, value in pairs if name == "runs")
        labels = {name[len(_RENAMED) :]: value for name, value in pairs if name.startswith(_RENAMED)}
        last = path.rstrip("/").rpartition("/")[2]
        where = PLACES.get(last, RESEARCH)
        return cls(path=where, runs=tuple(runs), labels=tuple(labels.items()), **values)

    def to(self, **changes: Any) -> str:
        """Return the address of a neighbouring view, as a link."""
        return str(replace(self, **changes))

    @property
    def query(self) -> str:
        """The query string."""
        values = {name: value for name, value in asdict(self).items() if isinstance(value, str) and value}
        del values["path"]
        runs = [("runs", run) for run in self.runs]
        labels = [(f"{_RENAMED}{actor}", label) for actor, label in self.labels]
        return urlencode([*values.items(), *runs, *labels])

    def __str__(self) -> str:
        return f"{self.path}?{self.query}" if self.query else self.path
