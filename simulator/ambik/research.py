"""Researchers' view of AmbiK's runs beside reports: decisions under any target, people's sets, files."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final
from urllib.parse import quote

from logs import LogReader
from logs.rows import Run
from simulator.ambik.naming import bare
from simulator.ambik.people_sets import SetPair, compare_sets
from simulator.ambik.playing import is_calibrated
from simulator.ambik.reporting.exporting import form_lines
from simulator.ambik.reporting.sections import sets_section
from simulator.ambik.research_episode import TARGET, episode, matched_run, read_once, share, type_name
from simulator.ambik.trial_log import conformal_runs, decisions, task_of_run
from simulator.bar_blocks import Amount, Amounts
from simulator.blocks import Card, Chips, Passage, Span, Text, message
from simulator.jsonlines import write_lines
from simulator.research import Link, Look, Part, ResearchPages, RunFile, Setting, Shown

TARGETS: Final = ("0.5", "0.6", "0.7", "0.75", "0.8", "0.85", "0.9", "0.95", "0.99")
COMMAND: Final = "askback run ambik --method knowno --model local/smollm2"


# ---- decisions


def settings(look: Look) -> Sequence[Setting]:
    """Return the targets that can be laid on a run, the usual one being its own; none without a threshold."""
    read = read_once(look, look.run.id)
    own = f"{read.options.settings.target_success:g}"
    return (_targets(look, own),) if read.movable and not is_calibrated(read.options) else ()


def fields(look: Look) -> Mapping[str, Mapping[str, str]]:
    """Return what decisions are filtered by, under the target that was chosen; last their tasks."""
    made = {}
    for entry in matched_run(read_once(look, look.run.id), look.chosen.get(TARGET, "")).entries:
        known: dict[str, str] = {"type": entry.item.type}
        if (outcome := entry.outcome) is not None:
            facts = {"asks": outcome.help, "as_needed": entry.judged, "covered": outcome.covered}
            known |= {name: "yes" if each else "no" for name, each in facts.items() if each is not None}
            known["set_size"] = f"{len(outcome.predicted)}"
        made[entry.decision.episode_id] = known | {"task": entry.item.instruction}
    return made


def _targets(look: Look, usual: str) -> Setting:
    chosen = look.chosen.get(TARGET, "")
    return Setting(TARGET, sorted({*TARGETS, *filter(share, (usual, chosen))}, key=float), usual)


# ---- people's sets


def people_sets(look: Look) -> Sequence[Shown]:
    """Return what people hold for possible beside models' prediction sets on the same tasks."""
    models = [*conformal_runs(look.reader)]
    if not models:
        return Text(message("research.no_models"), "muted"), Passage([Span(COMMAND)])
    beside, target = look.chosen.get("beside", ""), look.chosen.get(TARGET, "")
    chosen = [beside] if beside in models else models
    outcomes = [
        outcome for model in chosen for outcome in matched_run(read_once(look, model), target).outcomes
    ]
    compared = compare_sets(decisions(look.reader, [look.run.id]), outcomes)
    if not compared.pairs:
        return (Text(message("research.no_task"), "muted"),)
    tasks: dict[str, list[SetPair]] = {}
    for pair in compared.pairs:
        tasks.setdefault(pair.item.id, []).append(pair)
    return Text(message("research.sets_lead")), sets_section(compared), *map(_task, tasks.values())


def _task(pairs: Sequence[SetPair]) -> Card:
    """Return a task with the actions that anybody held for possible, those that most people marked first."""
    marked = {pair.person.decision.generator: pair.person.predicted for pair in pairs}
    sets = {pair.model.decision.run: pair.model.predicted for pair in pairs}
    people = Counter(bare(text) for texts in marked.values() for text in texts)
    held = {run: {bare(text) for text in texts} for run, texts in sets.items()}
    words: dict[str, str] = {}
    for texts in (*marked.values(), *sets.values()):
        for text in texts:
            words.setdefault(bare(text), text)
    runs = {key: [run for run, keys in held.items() if key in keys] for key in words}
    ordered = sorted(words, key=lambda key: (-people[key], -len(runs[key])))
    rows = [
        Amount(
            words[key],
            people[key] / len(marked),
            f"{people[key]} / {len(marked)}",
            badge=message("research.in_set_of", runs=", ".join(runs[key])) if runs[key] else "",
            look="strong" if runs[key] else "",
        )
        for key in ordered
    ]
    item = pairs[0].item
    head = message("research.option"), message("research.marked_by")
    return Card(item.id, [Chips([type_name(item)]), Text(item.instruction), Amounts(rows, head)])


def _has_people(reader: LogReader, run: Run) -> bool:
    return (run.config.get("seats") or {}).get("robot") == "person" and _decides(reader, run)


# ---- ways on, files


def _decides(reader: LogReader, run: Run) -> bool:
    return task_of_run(reader, run) != "annotate"


def _links(reader: LogReader, run: Run) -> list[Link]:
    pairs = Link("pairs", f"/research/desk?desk=pairs&data={quote(run.id, safe='')}")
    return [] if _decides(reader, run) else [pairs]


def write_decisions(reader: LogReader, run: str, path: Path) -> None:
    """Write a line of JSON for each decision of a run, and for each answer that a person gave."""
    write_lines(path, [json.dumps(line, ensure_ascii=False) for line in form_lines(reader, run)])


RESEARCH: Final = ResearchPages(
    episode=episode,
    settings=settings,
    fields=fields,
    parts=(
        Part(
            name="sets",
            show=people_sets,
            settings=lambda look: (Setting("beside", [*conformal_runs(look.reader)]), _targets(look, "")),
            where=_has_people,
        ),
    ),
    links=_links,
    files=(RunFile(name="decisions.jsonl", write=write_decisions, where=_decides),),
)
