"""`askback audit provider`: a provider's decisions beside logged ones (`audit`).

What the committed coefficients of `offline/experts` were trained on says little about other tasks. So, with
``--leave-types-out``, the types are dealt into folds; for each, the experts are trained on the other folds,
published dialogues and labelled questions alike, and held against those of the fold.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Final

import pandas as pd
import typer
from rich.console import Console

from logs import LogReader, Played
from logs.cli import LogOption
from logs.paths import default_path
from simulator.clarq.audit import CONCURRENCY, Compared, audit, audit_section, replay
from simulator.clarq.data import read_item
from simulator.clarq.experts import models_of
from simulator.clarq.graph import ProviderAgent
from simulator.clarq.players.experts_offline import OfflineExperts
from simulator.clarq.playing import PROVIDER
from simulator.clarq.ranker import Ranker
from simulator.clarq.results import Dialogue, ProviderStep, read_results, split_runs
from simulator.clarq.room import seat_for
from simulator.clarq.score import spoken_lines
from simulator.clarq.training import FOLDS, Lesson, learn, lessons_of, training_questions
from simulator.duplicates import Duplicates, DuplicatesOption
from simulator.errors import InputError
from simulator.models import ModelOptions, Needs
from simulator.reporting import Report, Section, json_text, print_report
from simulator.runner.build import Models
from simulator.runner.command import asked_how, refuse_idle_options
from simulator.runner.logged import erased_episodes
from simulator.runner.model_flags import NO_FLAGS, ModelFlags, asks_models
from simulator.runner.options import JsonOption
from simulator.runner.turns import task_turns
from trees import OPENING, Frontier, Task

OFFLINE: Final = "offline/experts"
LOGGED: Final = ", types left out of training, against the published dialogues"
LABELLED: Final = ", types left out of training, against hand-labelled questions"


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
) -> tuple[list[Compared], pd.DataFrame | None]:
    models, places = Models(options=options), options.concurrency
    try:
        seat = seat_for(PROVIDER, name, models, {})
        if not isinstance(seat, ProviderAgent):
            raise InputError(f"{name} does not decide through experts; nothing to audit.")
        refuse_idle_options(options, asked=bool(models.loaded))
        await models.preflight(dict.fromkeys(models_of(name), Needs(schema=True)))
        compared = await audit(seat.experts, dialogues, multi=multi, concurrency=places)
        if not replays:
            return compared, None
        return compared, await replay(seat.experts, dialogues, multi=multi, concurrency=places)
    finally:
        await models.close()


def load_dialogues(
    sources: Sequence[str], log: Path, duplicates: Duplicates = "refuse"
) -> tuple[tuple[Dialogue, ...], int]:
    """Return dialogues of results files and of runs in the log, by path and by name.

    What is left out of a file is printed. Dialogues of people who have withdrawn are left out, and counted:
    without their words a provider would decide on something else.

    Raises:
        InputError: if a file is not of the published form.
        LogError: if there is no such run.
    """
    dialogues: list[Dialogue] = []
    erased = 0
    for source in sources:
        if Path(source).is_file():
            file = read_results(source, duplicates)
            dialogues.extend(file.dialogues)
            file.print_left_out()
            continue
        if not log.exists():
            raise InputError(f"{source}: no such file, and there is no log at {log} that could hold a run.")
        with LogReader(log) as reader:
            reader.run(source)
            tasks = {item.hash: read_item(item) for item in reader.items(source)}
            gone = erased_episodes(reader, source)
            dialogues.extend(
                _logged(tasks[played.episode.item_hash], played)
                for played in reader.turns_of_run(source)
                if played.episode.id not in gone
            )
            erased += len(gone)
    return tuple(dialogues), erased


def _logged(task: Task, played: Played) -> Dialogue:
    """Return a dialogue of the log; what was given stands in the turns' payload."""
    steps, frontier = [], Frontier(task.tree)
    for position, turn in enumerate(task_turns(played.turns)):
        indices = [str(index) for index in turn.payload.get("give", [])]
        nodes = tuple(index for index in indices if index != OPENING)
        step = ProviderStep(position, frontier, nodes, OPENING in indices)
        if turn.seat == PROVIDER and position:
            steps.append(step)
        frontier = step.after
    lines = spoken_lines(played.turns)
    return Dialogue(played.episode.id, task, lines, tuple(steps))


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
    groups = {"single": single, "several": several, "questions": list(map(_asked, questions))}
    compared: dict[str, list[Compared]] = {name: [] for name in groups}
    replayed: dict[str, list[pd.DataFrame]] = {name: [] for name in groups}
    for fold in folds:
        others = {
            name: tuple(lesson for lesson in part if lesson.fold != fold) for name, part in lessons.items()
        }
        styles = learn(others)
        experts = OfflineExperts(Ranker(styles, styles, {}))
        for name, group in groups.items():
            held = [dialogue for dialogue in group if dialogue.task.type % FOLDS == fold]
            compared[name] += await audit(experts, held, multi=name == "several")
            if replays and name != "questions":
                replayed[name].append(await replay(experts, held, multi=name == "several"))
    return [
        audit_section(
            turns,
            pd.concat(replayed[name]) if replayed[name] else None,
            provider=OFFLINE,
            multi=name == "several",
            name=name,
            source=LABELLED if name == "questions" else LOGGED,
            show=show,
        )
        for name, turns in compared.items()
        if turns
    ]


def _asked(question: Lesson) -> Dialogue:
    """Return a labelled question as a dialogue with one step.

    Where several nodes each answer a part, a single-info provider gives the first.
    """
    situation = question.situation
    step = ProviderStep(len(situation.lines), situation.frontier, tuple(sorted(question.given)[:1]))
    name = f"{situation.task.id}.{situation.task.language}"
    return Dialogue(name, situation.task, situation.lines, (step,))
