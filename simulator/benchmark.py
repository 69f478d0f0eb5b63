"""What a benchmark declares: one frozen object per benchmark, found by its entry point (`simulator.catalog`).

Everything that the house does for a benchmark follows from its `Benchmark`: command line, runs, scores,
reports, comparison, exports, checks, studies, the record of asking back. A benchmark of two seats and plain
turn-taking is a set of pure functions over a `State`; `docs/add-a-benchmark.md` writes one step by step. A
benchmark whose state machine does more brings its own (`Benchmark.machine`), which is imported when it is
first played.

This module is imported for every ``--help``, so it imports nothing that takes time.
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
"""The default place of a benchmark in lists and tables; those that come with Askback stand before it."""


# ---- the state of an episode, which the rules of a benchmark are functions of


class Move(NamedTuple):
    """A turn that was taken.

    Attributes:
        seat: who moved.
        kind: what kind of move it is, such as ``ask``.
        text: what was said.
        payload: plain JSON values that the log keeps with it.
    """

    seat: str
    kind: str
    text: str
    payload: Mapping[str, Any] = {}


class Due(NamedTuple):
    """The move that is to come.

    Attributes:
        seat: who is to move.
        kind: of the move.
        choices: the only replies that there are; a page has a button for each. Empty where any text will do.
        form: the model whose fields are to be filled in; they are the payload of the move.
        closing: the words that end the episode, by their name in ``texts.yaml``; a page has a button that
            says them in the language of the item. Empty where there are none.
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
        item: what is played.
        rules: of the episode.
        moves: taken so far, first move first.
        language: ``en`` or ``zh``.
    """

    item: ItemT
    rules: RulesT
    moves: tuple[Move, ...] = ()
    language: str = "en"

    def texts(self, kind: str) -> tuple[str, ...]:
        """Return what was said in moves of one kind."""
        return tuple(move.text for move in self.moves if move.kind == kind)


# ---- the parts of a declaration


Player = Callable[["View"], "str | Reply"]
"""A built-in player: a pure function from what a seat may see to what it says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SeatSpec:
    """A role in the episodes of a benchmark.

    Attributes:
        name: as in ``--asker``; lower case.
        role: whoever sits there does, for helps: ``who asks``.
        option: names who sits there on a command line; by default the seat's name; empty for none.
        several: whether it may be given again, for a run with each.
        known: who can sit there, for helps; by default the built-in players and models.
        players: built-in players, by name (``offline/…``); the first sits there by default.
        prompt: the template that a language model is asked with, out of the benchmark's ``prompts/`` folder;
            it is rendered with what the seat `knows`. None where no model can sit.
        parse: makes a reply of a model's text; by default the text, stripped.
        default: who sits there if nobody is named; for benchmarks whose machine knows the players.
    """

    name: str
    role: str = "who sits there"
    option: str | None = None
    several: bool = False
    known: str = ""
    players: Mapping[str, Player] = field(default_factory=dict)
    prompt: str | None = None
    parse: Callable[[str], Reply] | None = None
    default: str = ""

    @property
    def usual(self) -> str:
        """The player if nobody is named: `default`, else the first built-in player, else a person."""
        return self.default or next(iter(self.players), "person")


@dataclass(frozen=True, slots=True)
class Metric:
    """A number that every scored episode has.

    Attributes:
        name: as `Benchmark.score` and the log call it.
        title: in tables.
        unit: ``share`` (0 to 1), or what is counted, such as ``questions``.
        unsuccessful: what an episode counts that a failing seat aborted; None to leave it out of the mean.
        short: in the progress bar; default: the title.
        graded: True for a share that can lie between 0 and 1, such as an overlap: 1 is then 100 %, not yes,
            and its values are no counts, even where all of them are 0 or 1.
    """

    name: str
    title: str
    unit: str = "share"
    unsuccessful: float | None = None
    short: str = ""
    graded: bool = False

    @property
    def is_share(self) -> bool:
        """Return True if values lie between 0 and 1."""
        return self.unit == "share"


class AskingNotes(NamedTuple):
    """The meaning of measures of asking back, in parts of sentences for the notes of tables.

    Attributes:
        need: which items need asking: ``person at level 4, nothing at level 1``.
        useful: what the answer to a useful question brings.
        right: what a right end is.
        price: what a question costs; empty where it costs nothing.
    """

    need: str
    useful: str
    right: str
    price: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AskingSpec:
    """The seats of asking back, and the record of a finished episode (see `simulator.asking`).

    Raises:
        ValueError: unless it has `record`, or `read` and `read_item`.

    Attributes:
        robot: the seat that may ask.
        user: the seat that answers.
        record: the record of a state at its end; None if nobody could be asked anything in it.
        read: the same for a benchmark with a machine of its own, of an item, the episode's options, turns and
            judgments; it may have been aborted at any turn, also before the first.
        read_item: makes that item of its row.
        notes: what the measures mean here.
    """

    robot: str
    user: str
    record: Callable[[State[Any, Any]], Asked | None] | None = None
    read: Callable[[Any, Mapping[str, Any], Sequence[Turn], Sequence[Judgment]], Asked | None] | None = None
    read_item: Callable[[Item], Any] | None = None
    notes: AskingNotes | None = None

    def __post_init__(self) -> None:
        if (self.record is None) == (self.read is None) or (self.read is None) != (self.read_item is None):
            raise ValueError("an AskingSpec has either `record`, or `read` and `read_item`")


SectionMaker = Callable[["Frames"], "Section | Iterable[Section] | None"]
"""Makes sections of a report of runs, files and settings; None where they have nothing to tell."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportSpec:
    """The settings and outputs of `askback report NAME` beside metrics and sections.

    Attributes:
        settings: the model whose fields are its options; sections find an instance in `Frames.settings`.
        files: True if it reads files and folders, too (`Frames.files`).
        named: False if a setting may name all that is reported, so that no run or file need be.
        summary: sections that `askback run` and `askback score` print of a run; default: `Benchmark.reports`.
        counts_aborted: tells whether the figures of a run count aborted episodes; by default they do.
        write: writes what settings name files for; what was written is told.
        metrics: False if sections of its own tell the metrics, with intervals that the paper's rules ask for;
            the common table is then one of `--by` alone.
        summary_metrics: the same of what `askback run` and `askback score` print.
        draws_late: True if figures take so long that they are drawn for a folder alone.
        help: of the command.
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
    """A command of a benchmark's own.

    Attributes:
        place: ``module:function``, imported when the command is asked for; or a function that makes it then.
        help: the first line of its help, for lists of commands.
    """

    place: str | Callable[[], Any]
    help: str


@dataclass(frozen=True, slots=True)
class Checker:
    """The reader of one kind of file for `askback check`.

    Attributes:
        kind: which files, in words.
        find: the files of this kind in a folder; a file itself if it is of this kind.
        check: all faults of such files, which belong together.
        greedy: True if `find` goes by little more than the suffix: such a checker looks last.
    """

    kind: str
    find: Callable[[Path], tuple[Path, ...]]
    check: Callable[[Sequence[Path]], tuple[Fault, ...]]
    greedy: bool = False


@dataclass(frozen=True, kw_only=True, eq=False)
class Benchmark(Generic[ItemT, RulesT]):
    """A benchmark. Either `item`, `rules` and the functions over a `State` are given, or `machine`.

    Attributes:
        name: as the command line calls it: lower case letters, digits and ``_``.
        title: in tables and on pages.
        summary: what `askback run NAME` does, in a sentence.
        position: in lists and tables; less stands before more.
        item: the pydantic model of an item; its fields are what the log keeps of it.
        rules: the pydantic model of the rules; its fields are options of `askback run NAME` and of studies.
        load: the items of ``builtin``, or of a file or folder that somebody names.
        key: the name of an item, unlike that of every other.
        cluster: of an item's name what intervals and tests take as one observation: the same for items that
            hang together, such as the members of a pair; by default each stands alone.
        seats: who takes part; the first letter of a setup (H2L) is the first seat's.
        next_seat: whose move is due; None at the end.
        accept: makes a move of a reply, or raises a `SeatError`; by default the text, which may not be empty.
        outcome: how a state at its end ended; by default ``completed``.
        score: metric -> value, of a state at its end; None where a metric is undefined.
        metrics: of every scored episode, the headline first.
        item_metrics: names of scores that the item decides and not who plays: comparisons do not test them.
        knows: what a seat is shown of a state beside the lines, by name: `View.task`, and the variables of
            its prompt.
        view: what a person in a seat is shown, block by block; by default what was said.
        reveal: what everybody may see at the end; by default what was said.
        asking: who may ask back.
        reports: make the sections that `askback report NAME` adds to the metrics.
        report: what else that command takes and tells.
        judging: forms in which people judge episodes and items, each found when it is asked for; judgments of
            items of a run are rows of the frame of its judgments.
        desks: where researchers judge; each is found when it is asked for, and its words stand in
            ``desks.yaml``.
        research: what it adds to researchers' pages (`simulator.research`), found when it is asked for; its
            words stand in ``research.yaml``. By default researchers can browse the items that it declares.
        folder: of ``texts.yaml`` (the words of pages), ``studies/*.yaml`` and ``prompts/*.jinja``.
        graph: builds the LangGraph machine; by default one node a seat, which take turns as `next_seat` says.
        machine: plays the episodes of a benchmark whose machine is its own; imported late.
        runs: what can be chosen of its runs; by default the items, and the rules.
        scorer_version: of `score`; another one makes ``askback score RUN`` append its scores anew.
        scorer: appends the scores of a run, with a judge if one is named; by default those
            of `score` are appended.
        commands: commands of its own, by their words (``run NAME``, ``import NAME-results``); one that is
            named like a command that every benchmark has takes its place.
        checker: the files that `askback check` can check.
        register: registers its data for `askback data add NAME`: path, name, whether a part will do.
        studies: the material of its studies; None: what follows from a declaration, or, with a machine, none.
        sessions: what serves the pages of a benchmark with a machine that shows blocks (`simulator.blocks`).
        picture: what its entry shows beside the words that it begins with; by default seats and metrics.
        icon: of its card, by its name in ``ui/templates/icons.html.jinja``.
        example: options of ``askback run NAME`` for a small run without a model or a key, which pages propose
            while there is none; ``{language}`` is that of the page.
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
            raise ValueError(
                f"the benchmark {self.name!r} must have a name of lower case letters, digits and _"
            )
        declared = {name: getattr(self, name) for name in _DECLARED}
        missing = [name for name, value in declared.items() if not value]
        if self.machine is None and missing:
            raise ValueError(
                f"the benchmark {self.name!r} declares no {', '.join(missing)}, and has no machine"
            )

    def seat(self, name: str) -> SeatSpec:
        """Return the seat called `name`.

        Raises:
            KeyError: if there is none.
        """
        return {seat.name: seat for seat in self.seats}[name]

    def example_command(self, language: str) -> str:
        """Return the command of a small run, for a page in a language."""
        return f"askback run {self.name} {self.example.format(language=language)}".rstrip()


_DECLARED: Final = ("item", "rules", "load", "seats", "next_seat", "score", "metrics", "folder")
