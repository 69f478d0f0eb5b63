"""`askback generate ambik`: scenes, and in them drafts of new pairs for annotators (spec 11, 1 to 4)."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from textwrap import shorten
from typing import Annotated, Any, Final

import typer
from rich.console import Console
from rich.table import Table

from logs.cli import LogOption
from logs.paths import default_path
from simulator.ambik.annotation.form import ORDER
from simulator.ambik.generation import Asker, Decoding, Made, NotAsked, about, first_open, make
from simulator.ambik.items import BENCHMARK, draft_record
from simulator.ambik.scenes import Scene, draw_scenes, scene_record
from simulator.field_options import options_of
from simulator.generation import each, open_model, resumable, write_study
from simulator.jsonlines import write_lines
from simulator.runner.command import refuse_idle_options, service_name
from simulator.runner.options import NO_FLAGS, FolderOption, ModelFlags, asks_models, takes
from simulator.runner.run_summary import counted, say

ANSWERS: Final = "answers.jsonl"
SCENES: Final = "scenes.jsonl"
DRAFTS: Final = "drafts.jsonl"
DROPPED: Final = "dropped.jsonl"
STUDY: Final = "study.yaml"
SETS: Final = 50
_HEAD: Final = """\
# New pairs of tasks, {judgments} annotators for each draft. Made together with {data}.
# Before people are invited: add pay (a draft takes 3 to 4 minutes), completion codes and a completion URL,
# and the study's own texts. The path of the data is absolute; change it where the folder moves.
"""
_DIFFERS: Final = "model, server, seed, language or decoding"
_NAMED: Final = 5
_SHOWN: Final = 160


@asks_models
@takes("decoding", options_of(Decoding), Decoding)
def generate_ambik(
    out: FolderOption,
    model: Annotated[
        str | None, typer.Option(help="provider/model that writes tasks and plans; without: scenes alone")
    ] = None,
    scenes: Annotated[int, typer.Option(min=1, help="how many; the same seed begins with the same")] = 100,
    decoding: Decoding = Decoding(),  # noqa: B008
    concurrency: Annotated[int, typer.Option(min=1, help="scenes at a time")] = 8,
    flags: ModelFlags = NO_FLAGS,
    log: LogOption = None,
) -> None:
    """Make drafts of new pairs for annotators. The same command again continues where it stopped."""
    console = Console()
    drawn = draw_scenes(scenes, decoding.seed)
    path = log or default_path()
    options = flags.options(path, seed=decoding.seed)
    refuse_idle_options(options, asked=model is not None)
    if model is None:
        say(console, f"Scenes: {len(drawn)}, in {write_scenes(drawn, out)}.")
        return
    service = service_name(model, options)
    with resumable(out / ANSWERS, console, done="written", place=out) as journal:
        own = about(service, decoding)
        journal.require_only({key for key in journal.rows if key.startswith(own)}, _DIFFERS)
        write_scenes(drawn, out)

        async def ask() -> list[Made]:
            known = Asker(service, decoding, journal)
            made, missing = await _made_already(known, drawn)
            if not missing:
                console.print("All answers were there already; the model was not asked.")
                return [made[scene.id] for scene in drawn]
            async with open_model(model, options, path) as loaded:
                with counted(console, "scenes", len(drawn), len(made)) as tell:
                    asker = Asker(service, decoding, journal, loaded)

                    async def draft(scene: Scene) -> None:
                        made[scene.id] = await make(asker, scene)
                        tell(1)

                    await each(iter(missing), draft, concurrency)
            return [made[scene.id] for scene in drawn]

        made = asyncio.run(ask())
    _finish(made, out, console, model=model, seed=decoding.seed)


async def _made_already(known: Asker, scenes: Sequence[Scene]) -> tuple[dict[str, Made], list[Scene]]:
    """Return what comes of scenes by answers that are there, and the scenes of which one is missing."""
    made: dict[str, Made] = {}
    missing: list[Scene] = []
    for scene in scenes:
        try:
            made[scene.id] = await make(known, scene)
        except NotAsked:
            missing.append(scene)
    return made, missing


def _finish(made: Sequence[Made], out: Path, console: Console, *, model: str, seed: int) -> None:
    """Write what annotators need, and what was dropped on the way; say what it is."""
    console.print(_table(made))
    unfit = [task for scene in made for task in scene.dropped]
    _write(out / DROPPED, map(asdict, unfit))
    records = [draft_line(scene, model) for scene in made if scene.draft is not None]
    drafts, study = out / DRAFTS, out / STUDY
    if records:
        _write(drafts, records)
        write_study(
            study,
            head=_HEAD,
            title="Two tasks for a kitchen robot, one of them unclear",
            benchmark=BENCHMARK,
            data=drafts,
            content=json.dumps(records, ensure_ascii=False, sort_keys=True),
            sets=SETS,
            seed=seed,
        )
    for task in [task for task in unfit if task.names][:_NAMED]:
        names = ", ".join(task.names)
        say(console, f"{task.scene}: names what is not there ({names}): {shorten(task.task, _SHOWN)}")
    if unfit:
        dropped = f"they are in {out / DROPPED}, with the reason."
        say(console, f"Tasks that were dropped: {len(unfit)}; {dropped}")
    if not records:
        for path in (drafts, study):
            path.unlink(missing_ok=True)
        say(
            console,
            "No draft is left, so there is nothing to annotate: ask for more --scenes or --tries, or another "
            "model.",
        )
        raise typer.Exit(1)
    say(
        console,
        f"Drafts: {len(records)}, in {drafts}; {study} is a study for annotators: look at it, then "
        f"`askback app --study {study}`.",
    )


def write_scenes(scenes: Iterable[Scene], folder: Path) -> Path:
    """Write the scenes alone."""
    _write(folder / SCENES, map(scene_record, scenes))
    return folder / SCENES


def draft_line(made: Made, model: str) -> dict[str, Any]:
    """Return a draft as a JSON object: `items.draft_record`, and where it comes from."""
    assert made.draft is not None
    return {
        **draft_record(made.draft),
        "step": made.step,
        "rewritten": made.rewritten,
        "plan_names": list(made.plan_names),
        "model": model,
    }


def _write(path: Path, records: Iterable[Mapping[str, Any]]) -> None:
    write_lines(path, (json.dumps(record, ensure_ascii=False) for record in records))


def _table(made: Sequence[Made]) -> Table:
    """Return how many are left, and what is to be repaired."""
    table = Table("", "number", title="New drafts", title_justify="left")
    reasons = Counter(task.reason for scene in made for task in scene.dropped)
    drafts = [(scene, scene.draft) for scene in made if scene.draft is not None]
    candidates = Counter(kind for _, draft in drafts for kind in draft.candidates)
    rewritten = Counter(scene.rewritten for scene, _ in drafts)
    repeating = sum(first_open(draft.clear, draft.candidates) is None for _, draft in drafts)
    rows = {
        "scenes": len(made),
        "tasks asked for": len(drafts) + reasons.total(),
        **{f"dropped: {reason}": number for reason, number in sorted(reasons.items())},
        "drafts": len(drafts),
        **{f"with a candidate: {kind}": candidates[kind] for kind in ORDER},
        "whose candidates all repeat the task": repeating,
        "with a plan": sum(bool(draft.plan) for _, draft in drafts),
        "whose plan names what is not there": sum(bool(scene.plan_names) for scene, _ in drafts),
        **{f"with the plan of: {kind}": rewritten[kind] for kind in ORDER},
        "whose plans part": sum(scene.step is not None for scene, _ in drafts),
    }
    for name, number in rows.items():
        table.add_row(name, f"{number:,}")
    return table
