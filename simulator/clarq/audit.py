"""`askback audit provider`: compare a provider's decisions with logged ones.

A **decision** is the node or nodes that the provider gives in answer to one line of the seeker, or none (a
Response II). The provider decides at every logged provider turn after the opening at which a node
was available, given the logged dialogue so far; so an early difference does not carry over to later
turns. `replay` does the opposite: the provider answers the logged seeker lines from the beginning, and
only the seeker's success is compared.

Agreement on the training data of the committed coefficients of `offline/experts` says little about other
tasks. With ``--leave-types-out``, the task types are split into folds; the experts are trained on the
dialogues and labelled questions of all folds but one, and audited on those of the fold left out.
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
from simulator.runner.command import answer_options, refuse_idle_options
from simulator.runner.logged import ERASED
from simulator.runner.options import NO_FLAGS, JsonOption, ModelFlags, with_model_options
from simulator.seats import Line
from simulator.stats import SHARE, Bounds, cluster_bootstrap
from trees import Frontier

CONCURRENCY: Final = 8
OFFLINE: Final = "offline/experts"
LOGGED: Final = ", types left out of training, against the published dialogues"
LABELLED: Final = ", types left out of training, against hand-labelled questions"
Measures = Mapping[str, tuple[int, Bounds]]
"""Name -> number of printed decimals, and bounds: of a share, or of a count per 100 turns."""
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
    """Return a row per decision of `experts`, with the logged decision and its `measures`."""

    async def compare(dialogue: Dialogue, step: ProviderStep) -> dict[str, Any]:
        situation = dialogue.situation(step)
        decision = await rules.decide(experts, situation, multi=multi)
        task, available = dialogue.task, tuple(node.index for node in step.before.available)
        place = (dialogue.id, step.position, task.language, task.type, situation.utterance, available)
        turn = dict(zip(_TURN, (*place, step.given, decision.give), strict=True))
        values = measures(step.given, decision.give)
        return turn | {"reason": decision.reason, "agrees": values["agreement"] == 1} | values

    jobs = (
        compare(dialogue, step)
        for dialogue in dialogues
        for step in dialogue.steps
        if step.before.available and dialogue.lines[step.position - 1].seat != PROVIDER
    )
    return pd.DataFrame(await _gather(jobs, concurrency))


def measures(logged: Sequence[str], decided: Sequence[str]) -> dict[str, float | None]:
    """Return the measures of a decision.

    ``agreement``: 1 if exactly the logged nodes are given; ``II kept``: 1 if a logged Response II is
    repeated (None if nodes were logged); and, times 100: extra nodes (``unasked``), a Response II instead
    of nodes (``wrong II``), nodes given instead of logged ones (``wrong``), and logged nodes that were not
    given or replaced (``missed``).
    """
    extra, absent = set(decided) - set(logged), set(logged) - set(decided)
    wrong = min(len(extra), len(absent))
    return {
        "agreement": float(not extra and not absent),
        "II kept": None if logged else float(not decided),
        "unasked": 100.0 * (len(extra) - wrong),
        "wrong II": 100.0 * (bool(logged) and not decided),
        "wrong": 100.0 * wrong,
        "missed": 100.0 * (len(absent) - wrong),
    }


async def replay(
    experts: Experts, dialogues: Iterable[Dialogue], *, multi: bool, concurrency: int = CONCURRENCY
) -> pd.DataFrame:
    """Let `experts` answer the logged seeker lines from the beginning.

    Returns:
        A row per dialogue: language, type, whether the seeker obtains every node in the replay
        (``replayed``) and in the log (``logged``), and their ``difference``.
    """
    jobs = (_replay(experts, dialogue, multi=multi) for dialogue in dialogues)
    columns = ["language", "type", "replayed", "logged"]
    frame = pd.DataFrame(await _gather(jobs, concurrency), columns=columns)
    return frame.assign(difference=frame["replayed"] - frame["logged"])


async def _replay(experts: Experts, dialogue: Dialogue, *, multi: bool) -> tuple[str, int, float, float]:
    """Return language, type, and whether the seeker obtains every node in the replay and in the log."""
    frontier = Frontier(dialogue.task.tree)
    lines: list[Line] = []
    start = 0
    for step in dialogue.steps:
        lines.extend(dialogue.lines[start : step.position])
        start = step.position + 1
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
    """Return the report of an audit: tables by language and type, the replay, and all decisions as data.

    `replayed`: the outcomes, from `replay`; None if the lines were not replayed. `multi`: whether it decided
    as the multi-info provider. `source`: suffix of the title that names the reference, if there are several.
    `erased`: number of dialogues excluded because a participant withdrew.

    Raises:
        InputError: if there is no turn at which a node was available.
    """
    if compared.empty:
        raise InputError("These dialogues contain no provider turn at which a node was available.")
    turns = compared.drop(columns=list(_DECISIONS)).to_dict("records")
    disagreements = [turn for turn in turns if not turn["agrees"]]
    more = len(disagreements) - show
    kind = "multi-info" if multi else "single-info"
    withdrawn = f", {erased} {ERASED}" if erased else ""
    options = {"asked": asked} if asked else {}
    return Section(
        name=name,
        title=f"{provider} as {kind} provider, {len(turns)} decisions{withdrawn}{source}",
        tables=[*decision_tables(compared), *([] if replayed is None else [replay_table(replayed)])],
        text="\n".join(map(_disagreement, disagreements[:show])),
        remarks=[
            *(f"asked with {json.dumps(asked, ensure_ascii=False)}" for asked in options.values()),
            *([f"{more} more disagreements; --show N prints them."] if more > 0 else []),
        ],
        data={"provider": provider, "multi": multi, ERASED: erased, **options, "turns": turns},
    )


def decision_tables(compared: pd.DataFrame) -> tuple[Table, Table]:
    """Return the measures by language (resampling types) and by task type (resampling dialogues)."""
    by_language = "By language, 95 % intervals over types; errors per 100 turns"
    by_type = "By task type, 95 % intervals over its dialogues"
    return (
        _table(compared, ["language"], "type", "turns", _DECISIONS, by_language, "by_language"),
        _table(compared, ["language", "type"], "dialogue", "turns", _DECISIONS, by_type, "by_type"),
    )


def replay_table(replayed: pd.DataFrame) -> Table:
    """Return the success of replayed dialogues by language, next to the logged success."""
    title = "Logged seeker lines replayed: success"
    return _table(replayed, ["language"], "type", "dialogues", _REPLAYED, title, "replay")


def _table(
    frame: pd.DataFrame, by: list[str], cluster: str, unit: str, measures: Measures, title: str, name: str
) -> Table:
    """Return the means of `measures` by group, with intervals clustered by `cluster`; None without values."""
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


@with_model_options
def audit_provider(
    sources: Annotated[list[str], typer.Argument(help="published results files, or names of runs")],
    provider: Annotated[
        str, typer.Option(help="the provider to audit: offline/experts, provider/model or experts:…")
    ] = OFFLINE,
    multi: Annotated[bool, typer.Option("--multi", help="audit it as the multi-info provider")] = False,
    replayed: Annotated[
        bool, typer.Option("--replay/--no-replay", help="also replay the logged seeker lines")
    ] = True,
    show: Annotated[int, typer.Option(min=0, help="number of disagreements to print")] = 0,
    leave_types_out: Annotated[
        bool,
        typer.Option(
            "--leave-types-out", help="cross-validate offline/experts over task types; needs results files"
        ),
    ] = False,
    as_json: JsonOption = False,
    concurrency: Annotated[int, typer.Option(min=1, help="number of concurrent decisions")] = CONCURRENCY,
    flags: ModelFlags = NO_FLAGS,
    duplicates: DuplicatesOption = "refuse",
    log: LogOption = None,
) -> None:
    """Compare a provider's decisions with those in published results or in a run.

    With --leave-types-out, the built-in provider is retrained for each fold of task types, on the other
    folds, and audited on that fold: on single- and multi-info dialogues, and on labelled questions.
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
        asked = answer_options(options)
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
            raise InputError(f"{name} does not decide through experts, so there is nothing to audit.")
        refuse_idle_options(options, asked=bool(models.loaded))
        await models.preflight(dict.fromkeys(models_of(name), Needs(schema=True)))
        settings: dict[str, Any] = {"multi": multi, "concurrency": options.concurrency}
        compared = await audit(seat.experts, dialogues, **settings)
        return compared, await replay(seat.experts, dialogues, **settings) if replays else None
    finally:
        await models.close()


def _trainable(sources: Sequence[str], provider: str, duplicates: Duplicates) -> list[Sequence[Dialogue]]:
    if provider != OFFLINE:
        raise InputError(f"--leave-types-out trains {OFFLINE}; {provider} cannot be trained.")
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
    """Audit dialogues and questions, each with experts that were not trained on its task type.

    Raises:
        InputError: if the single-info dialogues have too few task types to form folds.
    """
    single, several = split_runs(runs)
    folds = sorted({dialogue.task.type % FOLDS for dialogue in single})
    if len(folds) < 2:
        raise InputError("--leave-types-out needs published single-info dialogues of several task types.")
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
            held_out = [dialogue for dialogue in group if dialogue.task.type % FOLDS == fold]
            compared[name].append(await audit(experts, held_out, multi=name == "several"))
            if replays and name != "questions":
                replayed[name].append(await replay(experts, held_out, multi=name == "several"))
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

    If several nodes each answer a part, the step gives the first, as a single-info provider does.
    """
    situation = question.situation
    step = ProviderStep(len(situation.lines), situation.frontier, tuple(sorted(question.given)[:1]))
    name = f"{situation.task.id}.{situation.task.language}"
    return Dialogue(name, situation.task, situation.lines, (step,))
