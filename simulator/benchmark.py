"""The declaration of a benchmark: one frozen object, found through its entry point (`simulator.catalog`).

Everything that Askback does for a benchmark follows from its `Benchmark`: command line, runs, scores,
reports, comparison, exports, checks, studies, the record of asking back. A benchmark with two seats and plain
turn-taking is a set of pure functions over a `State`; `docs/add-a-benchmark.md` writes one step by step. A
benchmark that needs more provides its own state machine (`Benchmark.machine`), imported when it is first
played.

This module is imported for every ``--help``, so it imports nothing slow.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Generic, Literal, NamedTuple, TypeVar

if TYPE_CHECKING:
    from langgraph.graph.state import StateGraph
    from pydantic import BaseModel

    from logs import LogReader
    from logs.rows import Item, Judgment, Turn
    from simulator.asking import Asked
    from simulator.blocks import Block
    from simulator.datasets import Added
    from simulator.desks import Desk
    from simulator.fields import Fields
    from simulator.frames import Frames
    from simulator.judging import JudgingForm
    from simulator.orders import RunSpec
    from simulator.reporting import Section
    from simulator.research import ResearchPages
    from simulator.runner.machines import AnyMachine
    from simulator.runner.options import ModelFlags
    from simulator.seats import Reply, View
    from simulator.studies.declared import PlaySessions
    from simulator.studies.material import StudyMaterial
    from trees.faults import Fault

ItemT = TypeVar("ItemT", bound="BaseModel")
RulesT = TypeVar("RulesT", bound="BaseModel")

LATER: Final = 1000
"""The default position of a benchmark in lists and tables; those that come with Askback precede it."""
EPISODE_COLUMNS: Final = (
    *("run", "benchmark", "setup", "episode", "item", "language", "repeat", "participant"),
    *("status", "cause", "turns", "seconds"),
)
"""The first columns of every frame of episodes (`simulator.frames`), whose names no metric can have."""


# ---- the state of an episode, which the rules of a benchmark are functions of


class Move(NamedTuple):
    """A turn that was taken.

    Attributes:
        kind: the kind of move, such as ``ask``.
        text: what all seats read; empty for a private move, which no dialogue shows.
        payload: JSON values that are logged with the move.
    """

    seat: str
    kind: str
    text: str
    payload: Mapping[str, Any] = {}


class Due(NamedTuple):
    """The next move.

    Attributes:
        choices: the only possible replies, each a button on pages; empty if any text will do.
        form: the model whose fields are to be filled in; they become the payload of the move.
        closing: the name in ``texts.yaml`` of the words that end the episode; pages have a button that says
            them in the item's language, once it is confirmed (``closing.say``, ``.question``, ``.yes`` and
            ``.no``, if the usual texts do not fit). Empty for none.
    """

    seat: str
    kind: str
    choices: tuple[str, ...] = ()
    form: type[BaseModel] | None = None
    closing: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class State(Generic[ItemT, RulesT]):
    """The state of an episode.

    Attributes:
        moves: the moves so far, first move first.
        language: ``en`` or ``zh``.
    """

    item: ItemT
    rules: RulesT
    moves: tuple[Move, ...] = ()
    language: str = "en"

    def texts(self, kind: str) -> tuple[str, ...]:
        """Return the texts of all moves of one kind."""
        return tuple(move.text for move in self.moves if move.kind == kind)


# ---- the parts of a declaration


Player = Callable[["View"], "str | Reply"]
"""A built-in player: a pure function from a seat's view to its reply."""


class ErrorRate(NamedTuple):
    """The share of utterances that a built-in player answered wrongly when it was measured.

    Attributes:
        language: the language of the utterances.
        wrong: number of wrong answers.
        n: number of utterances, written and labelled before any answer was seen.
        low: lower end of the share's 95 % interval, clustered by item; `high`: its upper end.
    """

    language: str
    wrong: int
    n: int
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SeatSpec:
    """A role in the episodes of a benchmark.

    Attributes:
        name: in lower case, as in ``--asker``.
        role: the seat's role, for help texts: ``who asks``.
        option: the option that names the seat's player; by default the seat's name; empty for no option.
        several: True if the option may be repeated, for one run per player.
        known: the possible players, for help texts; by default the built-in players and models.
        players: built-in players, by name (``offline/…``); the first is the default.
        prompt: the prompt template for language models, a file in the benchmark's ``prompts/`` folder, which
            is rendered with what the seat `knows`. None if no model can take the seat.
        parse: turns a model's text into a reply; by default the stripped text.
        default: the default player, for benchmarks whose machine knows the players.
        error_rates: built-in player -> its measured error rates, which reports show.
    """

    name: str
    role: str = "the player in this seat"
    option: str | None = None
    several: bool = False
    known: str = ""
    players: Mapping[str, Player] = field(default_factory=dict)
    prompt: str | None = None
    parse: Callable[[str], Reply] | None = None
    default: str = ""
    error_rates: Mapping[str, Sequence[ErrorRate]] = field(default_factory=dict)

    @property
    def usual(self) -> str:
        """The default player: `default`, else the first built-in player, else a person."""
        return self.default or next(iter(self.players), "person")


@dataclass(frozen=True, slots=True)
class Metric:
    """A number that every scored episode has.

    Attributes:
        name: the key in `Benchmark.score` and in the log.
        title: the name in tables.
        unit: ``share`` (0 to 1), or what is counted, such as ``questions``.
        unsuccessful: the value of an episode that a failing seat aborted; None to leave it out of the mean.
        short: the name in the progress bar; default: the title.
        graded: True for a share that can lie between 0 and 1, such as an overlap: 1 is then shown as 100 %,
            not as yes, and its values are not counts even if all of them happen to be 0 or 1.
        undecided: the detail of a score that is true while it waits for a judge: it is then a lower bound.
    """

    name: str
    title: str
    unit: str = "share"
    unsuccessful: float | None = None
    short: str = ""
    graded: bool = False
    undecided: str = ""

    @property
    def is_share(self) -> bool:
        """Return True if values lie between 0 and 1."""
        return self.unit == "share"


class AskingNotes(NamedTuple):
    """The meaning of the asking-back measures in a benchmark, as phrases for the notes of tables.

    Attributes:
        need: which items need asking: ``person at level 4, nothing at level 1``.
        useful: what the answer to a useful question brings.
        right: what counts as a right end.
        price: what a question costs; empty if questions are free.
    """

    need: str
    useful: str
    right: str
    price: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AskingSpec:
    """The seats that ask and answer, and the record of a finished episode (see `simulator.asking`).

    Raises:
        ValueError: unless it has either `record`, or `read` and `read_item`.

    Attributes:
        robot: the seat that may ask.
        user: the seat that answers.
        record: returns the record of a final state; None if asking was impossible in the episode.
        read: the same for a benchmark with its own machine, from an item and the episode's options, turns and
            judgments; the episode may have been aborted at any turn, even before the first.
        read_item: builds that item from its log row.
    """

    robot: str
    user: str
    record: Callable[[State[Any, Any]], Asked | None] | None = None
    read: Callable[[Any, Mapping[str, Any], Sequence[Turn], Sequence[Judgment]], Asked | None] | None = None
    read_item: Callable[[Item], Any] | None = None
    notes: AskingNotes | None = None

    def __post_init__(self) -> None:
        if (self.record is None) == (self.read is None) or (self.read is None) != (self.read_item is None):
            raise ValueError("an AskingSpec needs either `record`, or both `read` and `read_item`")


SectionMaker = Callable[["Frames"], "Section | Iterable[Section] | None"]
"""Builds sections of a report from runs, files and settings; None if there is nothing to report."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportSpec:
    """The settings and outputs of `askback report NAME`, in addition to metrics and sections.

    Attributes:
        settings: the model whose fields are its options; sections find an instance in `Frames.settings`.
        files: True if the command also reads files and folders (`Frames.files`).
        named: False if a setting may name everything to report, so that no run or file is required.
        summary: sections that `askback run` and `askback score` print; default: `Benchmark.reports`.
        counts_aborted: returns True if a run's figures count aborted episodes; by default they do.
        write: writes the files that the settings name, and returns their paths for the output.
        metrics: False if the benchmark's own sections report the metrics, with the intervals of the paper's
            rules; the common table then appears only with `--by`.
        summary_metrics: the same for the output of `askback run` and `askback score`.
        draws_late: True if figures are slow and drawn only when a folder is written.
    """

    settings: Callable[[], type[Fields]] | None = None
    files: bool = False
    named: bool = True
    summary: tuple[SectionMaker, ...] = ()
    counts_aborted: Callable[[Frames, str], bool] = lambda source, run: True
    write: Callable[[Frames], Iterable[object]] | None = None
    metrics: bool = True
    summary_metrics: bool = True
    draws_late: bool = False
    help: str = ""


class Command(NamedTuple):
    """A benchmark-specific command.

    Attributes:
        place: ``module:function``, imported on first use; or a function that makes the command.
        help: the first line of its help, for lists of commands.
    """

    place: str | Callable[[], Any]
    help: str


@dataclass(frozen=True, slots=True)
class Checker:
    """The reader of one kind of file for `askback check`.

    Attributes:
        kind: the kind of files, in words.
        find: returns the files of this kind in a folder, or a file itself if it is of this kind.
        check: returns all faults of such files, which are checked together.
        greedy: True if `find` relies on little more than the suffix; such a checker comes last, and without
            the files of packages.
    """

    kind: str
    find: Callable[[Path], tuple[Path, ...]]
    check: Callable[[Sequence[Path]], tuple[Fault, ...]]
    greedy: bool = False


@dataclass(frozen=True, kw_only=True, eq=False)
class Benchmark(Generic[ItemT, RulesT]):
    """A benchmark, declared by `item`, `rules` and functions over a `State`, or by its own `machine`.

    Attributes:
        name: the name on the command line: lower case letters, digits and ``_``.
        summary: what `askback run NAME` does, in a sentence.
        position: the position in lists and tables, in ascending order.
        item: the pydantic model of an item; its fields are logged.
        rules: the pydantic model of the rules; its fields are options of `askback run NAME` and of studies.
        load: returns the items of ``builtin``, or of a file or folder named by the user.
        key: returns the unique name of an item.
        cluster: maps an item's name to its cluster, which intervals and tests treat as one observation; the
            members of a pair share a cluster, for instance. By default each item is its own cluster.
        seats: the seats; the first letter of a setup (H2L) is the first seat's.
        next_seat: returns the next move; None at the end.
        accept: turns a reply into a move, or raises a `SeatError`; by default the text, which must not be
            empty.
        outcome: returns how a final state ended; by default ``completed``.
        score: returns metric -> value for a final state; None for an undefined metric.
        metrics: the metrics of every scored episode, the headline first.
        item_metrics: names of scores that depend on the item, not on the players; comparisons do not test
            them.
        knows: returns what a seat is shown of a state in addition to the lines, by name: `View.task`, and the
            variables of its prompt.
        view: returns the blocks shown to a person in a seat; by default the dialogue.
        reveal: returns the blocks that everybody may see at the end; by default the dialogue.
        reports: build the sections that `askback report NAME` adds to the metrics.
        judging: forms in which people judge episodes and items, each loaded on first use; judgments of a
            run's items are rows of the run's judgment frame.
        desks: the desks at which researchers judge, each loaded on first use; texts are in ``desks.yaml``.
        research: additions to the researchers' pages (`simulator.research`), loaded on first use; texts are
            in ``research.yaml``. By default researchers can browse the declared items.
        folder: the folder of ``texts.yaml`` (texts of pages), ``studies/*.yaml`` and ``prompts/*.jinja``.
        graph: builds the LangGraph machine; by default one node per seat, in the order of `next_seat`.
        machine: loads the machine of a benchmark that has its own; imported late.
        runs: returns the choices for its runs; by default the items and the rules.
        scorer_version: the version of `score`; a new one makes ``askback score RUN`` append new scores.
        scorer: appends the scores of a run, with a judge if one is named; by default those of `score`.
        commands: benchmark-specific commands, by their words (``run NAME``, ``import NAME-results``); one
            with the name of a common command replaces it.
        checker: the checker of its files for `askback check`.
        register: registers data for `askback data add NAME`: path, name, whether a part will do.
        studies: the material of its studies; None for what follows from the declaration (with a machine:
            nothing).
        sessions: the class that serves pages for a benchmark with a machine and blocks (`simulator.blocks`).
        picture: returns the blocks next to the introduction on its entry page; by default seats and metrics.
        icon: the icon of its card, by its name in ``ui/templates/icons.html.jinja``.
        example: options of ``askback run NAME`` for a small run without a model or key, which pages suggest
            while there are no runs; ``{language}`` is the page's language.
    """

    name: str
    title: str
    summary: str = ""
    position: int = LATER
    item: type[ItemT] | None = None
    rules: type[RulesT] | None = None
    load: Callable[[str], Sequence[ItemT]] | None = None
    key: Callable[[ItemT], str] = field(default=lambda item: str(item.name))
    cluster: Callable[[str], str] = str
    seats: tuple[SeatSpec, ...] = ()
    next_seat: Callable[[State[ItemT, RulesT]], Due | None] | None = None
    accept: Callable[[State[ItemT, RulesT], Due, Reply], Move] | None = None
    outcome: Callable[[State[ItemT, RulesT]], Literal["completed", "truncated"]] = lambda state: "completed"
    score: Callable[[State[ItemT, RulesT]], Mapping[str, float | None]] | None = None
    metrics: tuple[Metric, ...] = ()
    item_metrics: frozenset[str] = frozenset()
    knows: Callable[[State[ItemT, RulesT], str], Mapping[str, Any]] = lambda state, seat: {}
    view: Callable[[State[ItemT, RulesT], str], Sequence[Block]] | None = None
    reveal: Callable[[State[ItemT, RulesT]], Sequence[Block]] | None = None
    asking: AskingSpec | None = None
    reports: tuple[SectionMaker, ...] = ()
    report: ReportSpec | None = None
    judging: tuple[Callable[[], JudgingForm[Any]], ...] = ()
    desks: tuple[Callable[[], Desk[Any]], ...] = ()
    research: Callable[[], ResearchPages] | None = None
    folder: Path | None = None
    graph: Callable[[], StateGraph[Any, Any, Any, Any]] | None = None
    machine: Callable[[], AnyMachine] | None = None
    runs: Callable[[], RunSpec[Any, Any]] | None = None
    scorer_version: str = "1"
    scorer: Callable[[], Callable[[LogReader, str, str | None, ModelFlags], None]] | None = None
    commands: Mapping[str, Command] = field(default_factory=dict)
    checker: Callable[[], Checker] | None = None
    register: Callable[[Path, str, bool], Added] | None = None
    studies: Callable[[], type[StudyMaterial[Any]]] | None = None
    sessions: Callable[[], type[PlaySessions]] | None = None
    picture: Callable[[], Sequence[Block]] | None = None
    icon: str = "ask"
    example: str = ""

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[a-z][a-z0-9_]*", self.name):
            raise ValueError(f"benchmark {self.name!r}: a name is made of lower case letters, digits and _")
        if taken := {metric.name for metric in self.metrics} & {*EPISODE_COLUMNS}:
            raise ValueError(f"benchmark {self.name!r}: rename the metric {min(taken)!r}, a column of frames")
        declared = {name: getattr(self, name) for name in _DECLARED}
        missing = [name for name, value in declared.items() if not value]
        if self.machine is None and missing:
            raise ValueError(f"benchmark {self.name!r} declares neither a machine nor {', '.join(missing)}")

    def seat(self, name: str) -> SeatSpec:
        """Return the seat called `name`.

        Raises:
            KeyError: if there is no such seat.
        """
        return {seat.name: seat for seat in self.seats}[name]

    def example_command(self, language: str) -> str:
        """Return the command of a small run, for a page in the given language."""
        return f"askback run {self.name} {self.example.format(language=language)}".rstrip()


_DECLARED: Final = ("item", "rules", "load", "seats", "next_seat", "score", "metrics", "folder")
