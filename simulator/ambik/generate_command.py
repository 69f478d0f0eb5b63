"""`askback generate ambik`: draw scenes and draft new pairs in them for annotators (spec 11, 1 to 4)."""

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
from simulator.ambik.generation import (
    Asker,
    Decoding,
    MissingAnswer,
    SceneDraft,
    first_changed,
    key_prefix,
    make_draft,
)
from simulator.ambik.items import BENCHMARK, draft_record
from simulator.ambik.scenes import Scene, draw_scenes, scene_record
from simulator.field_options import options_of
from simulator.generation import map_concurrently, open_model, resumable_journal, write_study
from simulator.jsonlines import write_lines
from simulator.runner.command import refuse_idle_options, service_name
from simulator.runner.options import NO_FLAGS, FolderOption, ModelFlags, with_model_options, with_options
from simulator.runner.run_summary import counting_bar, say

ANSWERS: Final = "answers.jsonl"
SCENES: Final = "scenes.jsonl"
DRAFTS: Final = "drafts.jsonl"
DROPPED: Final = "dropped.jsonl"
STUDY: Final = "study.yaml"
SETS: Final = 50
_HEAD: Final = """\
# New pairs of tasks, {judgments} annotators for each draft. Written together with {data}.
# Before you invite people, add pay (a draft takes 3 to 4 minutes), completion codes, a completion URL,
# and the study's own texts. The data path is absolute; change it if the folder moves.
"""
_DIFFERS: Final = "model, server, seed, language or decoding"
_NAMED: Final = 5
_SHOWN: Final = 160


@with_model_options
@with_options("decoding", options_of(Decoding), Decoding)
def generate_ambik(
    out: FolderOption,
    model: Annotated[
        str | None, typer.Option(help="provider/model that writes tasks and plans; default: only draw scenes")
    ] = None,
    scenes: Annotated[int, typer.Option(min=1, help="number of scenes; a seed fixes their order")] = 100,
    decoding: Decoding = Decoding(),  # noqa: B008
    concurrency: Annotated[int, typer.Option(min=1, help="scenes at a time")] = 8,
    flags: ModelFlags = NO_FLAGS,
    log: LogOption = None,
) -> None:
    """Draft new pairs for annotators. Repeat the command to continue where it stopped."""
    console = Console()
    drawn = draw_scenes(scenes, decoding.seed)
    path = log or default_path()
    options = flags.options(path, seed=decoding.seed)
    refuse_idle_options(options, asked=model is not None)
    if model is None:
        say(console, f"Scenes: {len(drawn)}, written to {write_scenes(drawn, out)}.")
        return
    service = service_name(model, options)
    with resumable_journal(out / ANSWERS, console, done="written", place=out) as journal:
        prefix = key_prefix(service, decoding)
        journal.require_only({key for key in journal.rows if key.startswith(prefix)}, _DIFFERS)
        write_scenes(drawn, out)

        async def ask() -> list[SceneDraft]:
            known = Asker(service, decoding, journal)
            results, missing = await _from_journal(known, drawn)
            if not missing:
                console.print("All answers are in the journal already; the model was not asked.")
                return [results[scene.id] for scene in drawn]
            async with open_model(model, options, path) as loaded:
                with counting_bar(console, "scenes", len(drawn), len(results)) as advance:
                    asker = Asker(service, decoding, journal, loaded)

                    async def draft(scene: Scene) -> None:
                        results[scene.id] = await make_draft(asker, scene)
                        advance(1)

                    await map_concurrently(iter(missing), draft, concurrency)
            return [results[scene.id] for scene in drawn]

        results = asyncio.run(ask())
    _finish(results, out, console, model=model, seed=decoding.seed)


async def _from_journal(known: Asker, scenes: Sequence[Scene]) -> tuple[dict[str, SceneDraft], list[Scene]]:
    """Return the drafts that the journal's answers yield, and the scenes that lack an answer."""
    results: dict[str, SceneDraft] = {}
    missing: list[Scene] = []
    for scene in scenes:
        try:
            results[scene.id] = await make_draft(known, scene)
        except MissingAnswer:
            missing.append(scene)
    return results, missing


def _finish(results: Sequence[SceneDraft], out: Path, console: Console, *, model: str, seed: int) -> None:
    """Write the drafts, a study and the dropped tasks, and print a summary."""
    console.print(_table(results))
    dropped = [task for scene in results for task in scene.dropped]
    _write(out / DROPPED, map(asdict, dropped))
    records = [draft_line(scene, model) for scene in results if scene.draft is not None]
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
    for task in [task for task in dropped if task.names][:_NAMED]:
        names = ", ".join(task.names)
        say(console, f"{task.scene}: names things not in the scene ({names}): {shorten(task.task, _SHOWN)}")
    if dropped:
        say(console, f"Dropped tasks: {len(dropped)}; {out / DROPPED} lists them with the reason.")
    if not records:
        for path in (drafts, study):
            path.unlink(missing_ok=True)
        say(
            console,
            "No draft is left, so there is nothing to annotate: try more --scenes, more --tries or another "
            "model.",
        )
        raise typer.Exit(1)
    say(
        console,
        f"Drafts: {len(records)}, in {drafts}; {study} is a study for annotators: check it, then run "
        f"`askback app --study {study}`.",
    )


def write_scenes(scenes: Iterable[Scene], folder: Path) -> Path:
    """Write the scenes and return the path of their file."""
    _write(folder / SCENES, map(scene_record, scenes))
    return folder / SCENES


def draft_line(made: SceneDraft, model: str) -> dict[str, Any]:
    """Return a draft as a JSON object: `items.draft_record` and its provenance."""
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


def _table(results: Sequence[SceneDraft]) -> Table:
    """Return a table of the drafts made, the tasks dropped and the repairs that annotators must make."""
    table = Table("", "number", title="New drafts", title_justify="left")
    reasons = Counter(task.reason for scene in results for task in scene.dropped)
    drafts = [(scene, scene.draft) for scene in results if scene.draft is not None]
    candidates = Counter(kind for _, draft in drafts for kind in draft.candidates)
    rewritten = Counter(scene.rewritten for scene, _ in drafts)
    repeating = sum(first_changed(draft.clear, draft.candidates) is None for _, draft in drafts)
    rows = {
        "scenes": len(results),
        "tasks asked for": len(drafts) + reasons.total(),
        **{f"dropped: {reason}": number for reason, number in sorted(reasons.items())},
        "drafts": len(drafts),
        **{f"with a candidate: {kind}": candidates[kind] for kind in ORDER},
        "with candidates that all repeat the task": repeating,
        "with a plan": sum(bool(draft.plan) for _, draft in drafts),
        "with a plan that names missing things": sum(bool(scene.plan_names) for scene, _ in drafts),
        **{f"with the plan of: {kind}": rewritten[kind] for kind in ORDER},
        "with two plans that differ": sum(scene.step is not None for scene, _ in drafts),
    }
    for name, number in rows.items():
        table.add_row(name, f"{number:,}")
    return table
