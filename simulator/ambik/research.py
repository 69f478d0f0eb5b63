"""Researchers' pages of AmbiK's runs: decisions under any target, people's sets, files."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final
from urllib.parse import quote

from logs import LogReader
from logs.rows import Run
from simulator.ambik.data import load_pairs
from simulator.ambik.items import DecideItem, Pair, PairItem
from simulator.ambik.naming import bare
from simulator.ambik.people_sets import SetPair, compare_sets, sets_section
from simulator.ambik.playing import exchange_of, is_calibrated, needs_question
from simulator.ambik.records import Decision
from simulator.ambik.reporting.exporting import form_lines
from simulator.ambik.terms import CONFORMAL, MEMBERS
from simulator.ambik.trial_log import (
    Entry,
    RunAtTarget,
    RunRead,
    conformal_runs,
    decisions,
    decisions_of,
    read_run,
    read_target,
    run_at_target,
    task_of_run,
)
from simulator.ambik.truth import is_right
from simulator.blocks import (
    Block,
    Card,
    Cell,
    Chips,
    Facts,
    Passage,
    Plan,
    Revision,
    Span,
    Table,
    Tag,
    Text,
    Words,
    message,
)
from simulator.drawn_blocks import Amount, Amounts
from simulator.form_blocks import Part
from simulator.jsonlines import write_lines
from simulator.research import DataPages, Link, PageContent, PageRequest, ResearchPages, RunFile, Setting
from simulator.research import Entry as ListEntry
from simulator.research import Part as ResearchPart
from simulator.runner.logged import PlayedItem
from simulator.word_diff import word_diff

# ---- one decision

TARGET: Final = "target_success"
_NOTHING: Final = "–"


def read_once(request: PageRequest, run: str) -> RunRead:
    """Return a run's decisions; they are read again only when more of its episodes have ended."""
    ended = len(request.reader.endings(run))
    read: RunRead = request.keep(f"read {run} {ended}", lambda: read_run(request.reader, run))
    return read


def episode(request: PageRequest, id: str) -> Sequence[Block]:
    """Return an episode's decision next to the other member of its pair; empty before the decision."""
    read = read_once(request, request.run.id)
    under = run_at_target(read, request.chosen.get(TARGET, ""))
    shown = next((entry for entry in under.entries if entry.decision.episode_id == id), None)
    if shown is None:
        return ()
    other = _other_member(under.entries, shown)
    both = [shown] if other is None else sorted((shown, other), key=lambda entry: entry.item.id)
    members = [_member(request.reader, entry, both[-1], under, shown) for entry in both]
    own = f"{read.options.settings.target_success:.2f}"
    notice = message("research.other_target", target=f"{under.settings.target_success:.2f}", own=own)
    return (
        *([] if under.own else [Text(notice, "strong")]),
        *_scene(shown.item),
        Part("", members, beside=True),
    )


def type_name(item: DecideItem) -> Words:
    """Return the name of a task's type."""
    return message(f"research.field.type.{item.type}")


def _other_member(every: Sequence[Entry], shown: Entry) -> Entry | None:
    """Return the decision on the other member of a pair, by the same person if people decide."""
    cluster = shown.item.cluster
    others = [entry for entry in every if entry.item.cluster == cluster and entry.item.id != shown.item.id]
    same = [entry for entry in others if entry.decision.generator == shown.decision.generator]
    return next(iter(same or others), None)


def _scene(item: DecideItem) -> Iterator[Card]:
    pair = item.pair if isinstance(item, PairItem) else None
    listed = pair.shortlist if pair else ()
    yield Card(
        message("scene.heading"),
        [Chips([Tag(thing, "gold") if thing in listed else thing for thing in item.about.objects])],
    )
    if pair is not None:
        yield Card(message("research.gold"), [Facts(_gold(pair, item.about.appliances))], folded=True)


def _gold(pair: Pair, appliances: Sequence[str]) -> list[tuple[Words, Words]]:
    texts = {
        "field.intent": pair.intent.text if pair.intent else "",
        "field.variants": "; ".join(variant.text for variant in pair.variants),
        "field.shortlist": ", ".join(pair.shortlist),
        "result.would_ask": pair.question,
        "result.would_answer": pair.answer,
        "scene.appliances": ", ".join(appliances),
    }
    return [(message(name), text or _NOTHING) for name, text in texts.items()]


def _member(reader: LogReader, entry: Entry, base: Entry, under: RunAtTarget, shown: Entry) -> Card:
    """Return one member of a pair and the decision on it; its task is diffed against that of `base`."""
    item, made = entry.item, _decisions_with_prompts(reader, entry)
    steps, needed = [*item.previous, item.step], needs_question(item, entry.decision.dialogue)
    blocks: list[Block] = [
        Chips(list(_chips(entry, entry is shown))),
        Revision("", word_diff(base.item.instruction, item.instruction)),
        *([Plan(steps, len(steps) - 1)] if steps[-1] else []),
    ]
    if needed is not None:
        blocks.append(Text(message(f"research.should_{'ask' if needed else 'act'}"), "muted"))
    blocks += _options(entry, under)
    blocks.append(Facts(list(_facts(entry, made))))
    if passages := list(_prompts(made[0])):
        heading = message("research.prompts", item=item.id)
        blocks.append(Part(heading, passages, folded=True))
    return Card(type_name(item), blocks)


def _chips(entry: Entry, is_shown: bool) -> Iterator[Words | Tag]:
    yield entry.item.id
    if is_shown:
        yield Tag(message("research.this"), "gold")
    if (outcome := entry.outcome) is not None:
        yield Tag(message(f"research.{'asks' if outcome.help else 'acts'}"), right=entry.judged)
        yield message("research.set_size", n=len(outcome.predicted))
        if outcome.covered is not None:
            yield Tag(
                message(f"research.{'covered' if outcome.covered else 'missed'}"), right=outcome.covered
            )


def _decisions_with_prompts(reader: LogReader, entry: Entry) -> tuple[Decision, ...]:
    """Return an episode's decisions with their prompts; the one without prompts if it was aborted."""
    id = entry.decision.episode_id
    ending = reader.ending(id)
    if ending is None:
        return (entry.decision,)
    played = PlayedItem(reader.episode(id), entry.item, tuple(reader.turns(id)), ending)
    return decisions_of(played) or (entry.decision,)


def _options(entry: Entry, under: RunAtTarget) -> Iterator[Block]:
    """Yield the options with their scores; for people and built-in robots, the offered actions."""
    decision, predicted = entry.decision, entry.outcome.predicted if entry.outcome else ()
    if decision.method not in CONFORMAL:
        right = {each.letter or each.text: each.acceptable for each in entry.ready.scored}
        shown = dict.fromkeys([*entry.item.options, *right]) if decision.chosen is not None else right
        rows = [(text, *_marks(text in predicted, right.get(text))) for text in shown]
        yield _table(rows, "option", "set", "good")
        return
    sampled = "samples" if decision.samples else "option"
    by_score = sorted(entry.ready.scored, key=lambda each: each.nonconformity)
    scores: list[Sequence[object]] = []
    for each in by_score:
        times = decision.samples.get(each.text)
        text = f"{each.letter}) {each.text}" if each.letter else each.text
        text = text if times is None else f"{text} × {times}"
        afford = decision.affordance.get(each.letter)
        scores.append(
            (
                Cell(text, "muted") if each.letter in decision.filled else text,
                f"{1 - each.nonconformity:.3f}",
                *_marks(each.text in predicted, each.acceptable),
                *([] if not decision.affordance else [_NOTHING if afford is None else f"{afford.score:.2f}"]),
            )
        )
    yield _table(scores, sampled, "score", "set", "good", *(["affordance"] if decision.affordance else []))
    if entry.outcome is not None and under.calibrated is not None and under.settings.cp_rule == "split":
        least = 1 - under.calibrated.q_hat
        if math.isfinite(least):
            yield Text(message("research.threshold", score=f"{least:.3f}"), "muted")


def _marks(is_in: bool, right: bool | None) -> tuple[object, object]:
    return (
        Cell(message("research.in_set"), "strong") if is_in else "",
        Cell(message("research.acceptable"), "right") if right else "",
    )


def _table(rows: Sequence[Sequence[object]], *names: str) -> Block:
    if not rows:
        return Text(message("research.no_options"), "muted")
    return Table(rows, [message(f"research.{name}") for name in names])


def _facts(entry: Entry, made: Sequence[Decision]) -> Iterator[tuple[Words, Words | Sequence[Words | Tag]]]:
    decision, outcome = entry.decision, entry.outcome
    action = outcome.action if outcome else ""
    if action:
        yield message("research.action"), action
        if (done := is_right(entry.item, action)) is not None:
            yield (
                message("result.was"),
                [Tag(message(f"result.{'right' if done else 'wrong'}"), right=done)],
            )
    if decision.certainty:
        yield message("research.certainty"), message(f"research.certainty_{decision.certainty}")
    asked = [(each.question, each.answer) for each in made if each.asked]
    for question, answer in (*exchange_of(entry.item, decision.dialogue), *asked):
        yield message("research.question"), question or message("research.wordless")
        if answer:
            yield message("research.answer"), answer
    if len(made) > 1:
        yield message("research.final"), made[-1].action
    if decision.flags:
        yield message("research.flags"), ", ".join(decision.flags)
    yield (
        message("research.who"),
        " + ".join(filter(None, (decision.generator or decision.method, decision.chooser))),
    )
    if decision.seconds is not None:
        yield message("research.time"), message("research.seconds", seconds=f"{decision.seconds:.1f}")


def _prompts(decision: Decision) -> Iterator[Block]:
    for name, texts in (("prompt_of", decision.prompts), ("output_of", decision.raw)):
        for role, text in texts:
            yield Text(message(f"research.{name}", role=role), "muted")
            yield Passage([Span(text)])
    if decision.tokens:
        yield Text(message("research.tokens"), "muted")
        yield Passage([Span("\n".join(f"{token}  {logprob:.3f}" for token, logprob in decision.tokens))])


TARGETS: Final = ("0.5", "0.6", "0.7", "0.75", "0.8", "0.85", "0.9", "0.95", "0.99")
COMMAND: Final = "askback run ambik --method knowno --model local/smollm2"


# ---- decisions


def settings(request: PageRequest) -> Sequence[Setting]:
    """Return the targets to choose from, by default the run's own; none for a run without a threshold."""
    read = read_once(request, request.run.id)
    own = f"{read.options.settings.target_success:g}"
    return (_targets(request, own),) if read.movable and not is_calibrated(read.options) else ()


def fields(request: PageRequest) -> Mapping[str, Mapping[str, str]]:
    """Return the fields by which decisions are filtered, under the chosen target, with their tasks last."""
    by_episode = {}
    for entry in run_at_target(read_once(request, request.run.id), request.chosen.get(TARGET, "")).entries:
        known: dict[str, str] = {"type": entry.item.type}
        if (outcome := entry.outcome) is not None:
            facts = {"asks": outcome.help, "as_needed": entry.judged, "covered": outcome.covered}
            known |= {name: "yes" if each else "no" for name, each in facts.items() if each is not None}
            known["set_size"] = f"{len(outcome.predicted)}"
        by_episode[entry.decision.episode_id] = known | {"task": entry.item.instruction}
    return by_episode


def _targets(request: PageRequest, usual: str) -> Setting:
    chosen = request.chosen.get(TARGET, "")
    return Setting(TARGET, sorted({*TARGETS, *filter(read_target, (usual, chosen))}, key=float), usual)


# ---- people's sets


def people_sets(request: PageRequest) -> Sequence[PageContent]:
    """Return a comparison of people's sets with models' prediction sets on the same tasks."""
    models = [*conformal_runs(request.reader)]
    if not models:
        return Text(message("research.no_models"), "muted"), Passage([Span(COMMAND)])
    beside, target = request.chosen.get("beside", ""), request.chosen.get(TARGET, "")
    chosen = [beside] if beside in models else models
    outcomes = [
        outcome for model in chosen for outcome in run_at_target(read_once(request, model), target).outcomes
    ]
    compared = compare_sets(decisions(request.reader, [request.run.id]), outcomes)
    if not compared.pairs:
        return (Text(message("research.no_task"), "muted"),)
    tasks: dict[str, list[SetPair]] = {}
    for pair in compared.pairs:
        tasks.setdefault(pair.item.id, []).append(pair)
    return Text(message("research.sets_lead")), sets_section(compared), *map(_task, tasks.values())


def _task(pairs: Sequence[SetPair]) -> Card:
    """Return a task with the actions in anyone's set, those marked by most people first."""
    marked = {pair.person.decision.generator: pair.person.predicted for pair in pairs}
    sets = {pair.model.decision.run: pair.model.predicted for pair in pairs}
    people = Counter(bare(text) for texts in marked.values() for text in texts)
    keys_by_run = {run: {bare(text) for text in texts} for run, texts in sets.items()}
    words: dict[str, str] = {}
    for texts in (*marked.values(), *sets.values()):
        for text in texts:
            words.setdefault(bare(text), text)
    runs = {key: [run for run, keys in keys_by_run.items() if key in keys] for key in words}
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


# ---- links, files


def _decides(reader: LogReader, run: Run) -> bool:
    return task_of_run(reader, run) != "annotate"


def _links(reader: LogReader, run: Run) -> list[Link]:
    pairs = Link("pairs", f"/research/desk?desk=pairs&data={quote(run.id, safe='')}")
    return [] if _decides(reader, run) else [pairs]


def write_decisions(reader: LogReader, run: str, path: Path) -> None:
    """Write a line of JSON for each decision of a run, and for each answer that a person gave."""
    write_lines(path, [json.dumps(line, ensure_ascii=False) for line in form_lines(reader, run)])


# ---- data


def list_entries(data: str) -> list[ListEntry]:
    """Return the list entries of a data set's pairs."""
    return [ListEntry(pair.id, {"type": pair.type}, pair.ambiguous) for pair in load_pairs(data)]


def pair_blocks(data: str, name: str, language: str) -> Sequence[Block]:
    """Return the blocks of a pair: its scene, what is meant, and both tasks with their plans."""
    pair = next(pair for pair in load_pairs(data) if pair.id == name)
    members = [
        Card(
            message(f"research.field.member.{member}"),
            [
                Revision("", word_diff(pair.ambiguous, pair.task(member))),
                Plan(pair.plan(member), len(pair.plan(member)) if pair.step is None else pair.step),
            ],
        )
        for member in MEMBERS
    ]
    return (*_scene(PairItem(pair=pair, member="ambiguous")), Part("", members, beside=True))


RESEARCH: Final = ResearchPages(
    episode=episode,
    settings=settings,
    fields=fields,
    parts=(
        ResearchPart(
            name="sets",
            show=people_sets,
            settings=lambda page: (Setting("beside", [*conformal_runs(page.reader)]), _targets(page, "")),
            where=_has_people,
        ),
    ),
    links=_links,
    files=(RunFile(name="decisions.jsonl", write=write_decisions, where=_decides),),
    data=DataPages(entries=list_entries, show=pair_blocks),
)
