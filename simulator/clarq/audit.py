"""`askback audit provider`: how a provider decides, compared with logged decisions.

A **decision** is what the provider gives in answer to one line of the seeker: which node or nodes, or none (a
Response II). Decisions are asked for at every logged provider turn after the opening at which something
could still be given, on the logged dialogue so far; so an early difference does not carry over to later
turns. `replay` does the opposite: it lets the provider answer the logged seeker lines from the beginning and
asks only whether the seeker gets everything.

What the committed coefficients of `offline/experts` were trained on says little about other tasks. So, with
``--leave-types-out``, the types are dealt into folds; for each, the experts are trained on the other folds,
published dialogues and labelled questions alike, and held against those of the fold.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Final, TypeVar

import pandas as pd
import typer
from rich.console import Console

from logs.cli import LogOption
from logs.paths import default_path
from simulator.clarq import provider as rules
from simulator.clarq.data import PROVIDER
from simulator.clarq.experts import Experts, models_of
from simulator.clarq.graph import ProviderAgent
from simulator.clarq.machine import seat_for
from simulator.clarq.players.experts_offline import OfflineExperts
from simulator.clarq.ranker import Ranker
from simulator.clarq.results import Dialogue, ProviderStep, load_dialogues, read_results, split_runs
from simulator.clarq.training import FOLDS, Lesson, learn, lessons_of, training_questions
from simulator.errors import InputError
from simulator.figures import Cell, Column, Table
from simulator.jsonlines import Duplicates, DuplicatesOption
from simulator.models import ModelOptions, Needs
from simulator.reporting import Report, Section, json_text, print_report
from simulator.runner.build import Models
from simulator.runner.command import asked_how, refuse_idle_options
from simulator.runner.logged import ERASED
from simulator.runner.options import NO_FLAGS, JsonOption, ModelFlags, asks_models
from simulator.seats import Line
from simulator.stats import SHARE, Bounds, cluster_bootstrap
from trees import Frontier

CONCURRENCY: Final = 8
OFFLINE: Final = "offline/experts"
LOGGED: Final = ", types left out of training, against the published dialogues"
LABELLED: Final = ", types left out of training, against hand-labelled questions"
Measures = Mapping[str, tuple[int, Bounds]]
"""Name -> how many decimals are printed, and the bounds: shares, or counts per 100 turns."""
_DECISIONS: Final[Measures] = {
    "agreement": (3, SHARE),
    "II kept": (2, SHARE),
    **dict.fromkeys(("unasked", "wrong II", "wrong", "missed"), (1, (0.0, 100.0))),
}
_REPLAYED: Final[Measures] = {"replayed": (3, SHARE), "logged": (3, SHARE), "difference": (3, (-1.0, 1.0))}
_TURN: Final = ("dialogue", "position", "language", "type", "utterance", "available", "logged", "decided")
_T = TypeVar("_T")


async def audit(
    experts: Experts, dialogues: Iterable[Dialogue], *, multi: bool, concurrency: int = CONCURRENCY
) -> pd.DataFrame:
    """Return the decisions of `experts`, each beside the logged one and with its `measures`."""

    async def compare(dialogue: Dialogue, step: ProviderStep) -> dict[str, Any]:
        situation = dialogue.situation(step)
        decision = await rules.decide(experts, situation, multi=multi)
        task, available = dialogue.task, tuple(node.index for node in step.before.available)
        place = (dialogue.id, step.position, task.language, task.type, situation.utterance, available)
        turn = dict(zip(_TURN, (*place, step.given, decision.give), strict=True))
        measured = measures(step.given, decision.give)
        return turn | {"reason": decision.reason, "agrees": measured["agreement"] == 1} | measured

    jobs = (
        compare(dialogue, step)
        for dialogue in dialogues
        for step in dialogue.steps
        if step.before.available and dialogue.lines[step.position - 1].seat != PROVIDER
    )
    return pd.DataFrame(await _gather(jobs, concurrency))


def measures(logged: Sequence[str], decided: Sequence[str]) -> dict[str, float | None]:
    """Return what the tables tell of a decision.

    ``agreement``: whether exactly the logged nodes are given; ``II kept``: whether a logged Response II is
    one here, too (None where the log gave a node); and, times 100, nodes given in place of nothing
    (``unasked``), nothing given in place of a node (``wrong II``), nodes given in place of logged ones
    (``wrong``) and logged nodes that were not given, with none in their place (``missed``).
    """
    surplus, lacking = set(decided) - set(logged), set(logged) - set(decided)
    wrong = min(len(surplus), len(lacking))
    return {
        "agreement": float(not surplus and not lacking),
        "II kept": None if logged else float(not decided),
        "unasked": 100.0 * (len(surplus) - wrong),
        "wrong II": 100.0 * (bool(logged) and not decided),
        "wrong": 100.0 * wrong,
        "missed": 100.0 * (len(lacking) - wrong),
    }


async def replay(
    experts: Experts, dialogues: Iterable[Dialogue], *, multi: bool, concurrency: int = CONCURRENCY
) -> pd.DataFrame:
    """Let `experts` answer the logged seeker lines from the beginning.

    Returns:
        A row per dialogue: language, type, whether the seeker gets every node when the lines are
        ``replayed``, whether it got them in the log (``logged``), and the ``difference``.
    """
    jobs = (_replay(experts, dialogue, multi=multi) for dialogue in dialogues)
    columns = ["language", "type", "replayed", "logged"]
    frame = pd.DataFrame(await _gather(jobs, concurrency), columns=columns)
    return frame.assign(difference=frame["replayed"] - frame["logged"])


async def _replay(experts: Experts, dialogue: Dialogue, *, multi: bool) -> tuple[str, int, float, float]:
    """Return language and type, and whether replayed and logged the seeker gets every node."""
    frontier = Frontier(dialogue.task.tree)
    lines: list[Line] = []
    heard = 0
    for step in dialogue.steps:
        lines.extend(dialogue.lines[heard : step.position])
        heard = step.position + 1
        situation = replace(dialogue.situation(step), lines=tuple(lines), frontier=frontier)
        decision = await rules.decide(experts, situation, multi=multi)
        turn = await rules.respond(experts, situation, decision)
        lines.append(Line(PROVIDER, turn.text))
        frontier = turn.frontier
    return dialogue.task.language, dialogue.task.type, float(frontier.complete), float(dialogue.complete)


async def _gather(jobs: Iterable[Awaitable[_T]], concurrency: int) -> list[_T]:
    gate = asyncio.Semaphore(concurrency)

    async def run(job: Awaitable[_T]) -> _T:
        async with gate:
            return await job

    return list(await asyncio.gather(*map(run, jobs)))


def audit_section(
    compared: pd.DataFrame,
    replayed: pd.DataFrame | None = None,
    *,
    provider: str,
    multi: bool,
    name: str = "audit",
    source: str = "",
    show: int = 0,
    erased: int = 0,
    asked: Mapping[str, Any] | None = None,
) -> Section:
    """Return what an audit found: tables by language and type, the replay, every decision for programs.

    Args:
        compared: the decisions.
        replayed: what came of the logged seeker lines (`replay`); None if they were not replayed.
        provider: whose decisions.
        multi: whether it was asked as the multi-info provider.
        name: of the section.
        source: what they were held against, where there are several.
        show: how many disagreements are shown.
        erased: dialogues of people who have withdrawn, which are in none of this.
        asked: how models were asked.

    Raises:
        InputError: if no dialogue has a turn at which something could be given.
    """
    if compared.empty:
        raise InputError("These dialogues hold no provider turn at which something could be given.")
    turns = compared.drop(columns=list(_DECISIONS)).to_dict("records")
    disagreements = [turn for turn in turns if not turn["agrees"]]
    more = len(disagreements) - show
    kind = "multi-info" if multi else "single-info"
    left = f", {erased} {ERASED}" if erased else ""
    how = {"asked": asked} if asked else {}
    return Section(
        name=name,
        title=f"{provider} as {kind} provider, {len(turns)} decisions{left}{source}",
        tables=[*decision_tables(compared), *([] if replayed is None else [replay_table(replayed)])],
        text="\n".join(map(_disagreement, disagreements[:show])),
        remarks=[
            *(f"asked with {json.dumps(asked, ensure_ascii=False)}" for asked in how.values()),
            *([f"{more} more disagreements; --show N prints them."] if more > 0 else []),
        ],
        data={"provider": provider, "multi": multi, ERASED: erased, **how, "turns": turns},
    )


def decision_tables(compared: pd.DataFrame) -> tuple[Table, Table]:
    """Return the measures of decisions by language (types are resampled), and by type (its dialogues are)."""
    title = "By language, 95 % intervals over types; errors per 100 turns"
    of_types = "By task type, 95 % intervals over its dialogues"
    return (
        _table(compared, ["language"], "type", "turns", _DECISIONS, title, "by_language"),
        _table(compared, ["language", "type"], "dialogue", "turns", _DECISIONS, of_types, "by_type"),
    )


def replay_table(replayed: pd.DataFrame) -> Table:
    """Return the success of replayed dialogues by language, beside the logged success."""
    title = "Logged seeker lines replayed: success"
    return _table(replayed, ["language"], "type", "dialogues", _REPLAYED, title, "replay")


def _table(
    frame: pd.DataFrame, by: list[str], cluster: str, unit: str, measures: Measures, title: str, name: str
) -> Table:
    """Return the means of columns, clustered by another; None where there is no value."""
    cells: list[list[Cell]] = []
    for labels, group in frame.groupby(by):
        cells.append([" ".join(map(str, labels)), len(group)])
        for measure, (_, bounds) in measures.items():
            known = group[[measure, cluster]].dropna().astype({measure: float})
            values, clusters = known[measure].tolist(), known[cluster].tolist()
            cells[-1].append(cluster_bootstrap(values, clusters, bounds=bounds) if values else None)
    columns = (Column(measure, digits) for measure, (digits, _) in measures.items())
    return Table([by[-1], Column(unit, 0), *columns], cells, title, name)


def _disagreement(turn: Mapping[Any, Any]) -> str:
    nodes = (f"{name} {', '.join(turn[name]) or 'none'}" for name in ("available", "logged", "decided"))
    return (
        f"{turn['dialogue']} line {turn['position']}: {', '.join(nodes)}\n"
        f"{turn['reason']}\n{turn['utterance']}\n"
    )


@asks_models
def audit_provider(
    sources: Annotated[list[str], typer.Argument(help="published results files, or names of runs")],
    provider: Annotated[
        str, typer.Option(help="whose decisions: offline/experts, provider/model or experts:…")
    ] = OFFLINE,
    multi: Annotated[bool, typer.Option("--multi", help="ask it as the multi-info provider")] = False,
    replayed: Annotated[
        bool, typer.Option("--replay/--no-replay", help="also replay the logged seeker lines")
    ] = True,
    show: Annotated[int, typer.Option(min=0, help="print so many disagreements")] = 0,
    leave_types_out: Annotated[
        bool,
        typer.Option(
            "--leave-types-out", help="offline/experts on types they are not trained on, from files"
        ),
    ] = False,
    as_json: JsonOption = False,
    concurrency: Annotated[int, typer.Option(min=1, help="decisions at a time")] = CONCURRENCY,
    flags: ModelFlags = NO_FLAGS,
    duplicates: DuplicatesOption = "refuse",
    log: LogOption = None,
) -> None:
    """Compare a provider's decisions with those in published results or in a run.

    With --leave-types-out, the built-in provider is trained anew for each part of the task types, on all the
    others, and compared on that part: with single- and multi-info dialogues, and with labelled questions.
    """
    path = log or default_path()
    options = replace(flags.options(path), concurrency=concurrency)
    if leave_types_out:
        refuse_idle_options(options, asked=False)
        runs = _trainable(sources, provider, duplicates)
        sections: Sequence[Section] = asyncio.run(
            audit_left_out(runs, training_questions(), replays=replayed, show=show)
        )
    else:
        dialogues, erased = load_dialogues(sources, path, duplicates)
        compared, outcomes = asyncio.run(
            _audit_named(provider, dialogues, options, multi=multi, replays=replayed)
        )
        asked = asked_how(options)
        sections = [
            audit_section(
                compared, outcomes, provider=provider, multi=multi, show=show, erased=erased, asked=asked
            )
        ]
    report = Report(title=f"Audit of {provider}", sections=sections)
    if as_json:
        typer.echo(json_text(report))
    else:
        print_report(Console(), report)


async def _audit_named(
    name: str, dialogues: Sequence[Dialogue], options: ModelOptions, *, multi: bool, replays: bool
) -> tuple[pd.DataFrame, pd.DataFrame | None]:
    models = Models(options=options)
    try:
        seat = seat_for(PROVIDER, name, models, {})
        if not isinstance(seat, ProviderAgent):
            raise InputError(f"{name} does not decide through experts; nothing to audit.")
        refuse_idle_options(options, asked=bool(models.loaded))
        await models.preflight(dict.fromkeys(models_of(name), Needs(schema=True)))
        how: dict[str, Any] = {"multi": multi, "concurrency": options.concurrency}
        compared = await audit(seat.experts, dialogues, **how)
        return compared, await replay(seat.experts, dialogues, **how) if replays else None
    finally:
        await models.close()


def _trainable(sources: Sequence[str], provider: str, duplicates: Duplicates) -> list[Sequence[Dialogue]]:
    if provider != OFFLINE:
        raise InputError(f"--leave-types-out trains {OFFLINE}; {provider} cannot be trained here.")
    if missing := [source for source in sources if not Path(source).is_file()]:
        raise InputError(f"--leave-types-out needs published results files; {missing[0]} is not a file.")
    files = [read_results(source, duplicates) for source in sources]
    for file in files:
        file.print_left_out()
    return [file.dialogues for file in files]


async def audit_left_out(
    runs: Sequence[Sequence[Dialogue]],
    questions: Sequence[Lesson],
    *,
    replays: bool = True,
    show: int = 0,
) -> list[Section]:
    """Audit the dialogues of `runs` and `questions`, each by experts who have not seen its type.

    Raises:
        InputError: if the single-info dialogues are of too few types to leave any out.
    """
    single, several = split_runs(runs)
    folds = sorted({dialogue.task.type % FOLDS for dialogue in single})
    if len(folds) < 2:
        raise InputError(
            "To leave types out, published single-info dialogues over several task types are needed."
        )
    lessons = lessons_of(single, several, questions)
    groups = {"single": single, "several": several, "questions": list(map(_as_dialogue, questions))}
    compared: dict[str, list[pd.DataFrame]] = {name: [] for name in groups}
    replayed: dict[str, list[pd.DataFrame]] = {name: [] for name in groups}
    for fold in folds:
        others = {
            name: tuple(lesson for lesson in part if lesson.fold != fold) for name, part in lessons.items()
        }
        styles = learn(others)
        experts = OfflineExperts(Ranker(styles, styles, {}))
        for name, group in groups.items():
            held = [dialogue for dialogue in group if dialogue.task.type % FOLDS == fold]
            compared[name].append(await audit(experts, held, multi=name == "several"))
            if replays and name != "questions":
                replayed[name].append(await replay(experts, held, multi=name == "several"))
    return [
        audit_section(
            pd.concat(turns),
            pd.concat(replayed[name]) if replayed[name] else None,
            provider=OFFLINE,
            multi=name == "several",
            name=name,
            source=LABELLED if name == "questions" else LOGGED,
            show=show,
        )
        for name, turns in compared.items()
        if not all(part.empty for part in turns)
    ]


def _as_dialogue(question: Lesson) -> Dialogue:
    """Return a labelled question as a dialogue with one step.

    Where several nodes each answer a part, a single-info provider gives the first.
    """
    situation = question.situation
    step = ProviderStep(len(situation.lines), situation.frontier, tuple(sorted(question.given)[:1]))
    name = f"{situation.task.id}.{situation.task.language}"
    return Dialogue(name, situation.task, situation.lines, (step,))
