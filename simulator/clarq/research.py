"""Researchers' pages of ClarQ-LLM: a dialogue on its tree, the tasks, and the desk where people review.

`simulator.clarq.review` has the rules of a review. Reviewers go through a run in its order, so that the
second meets what the first has reviewed. What the rule says of success is not shown to them before they have
said it themselves.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from typing import Any, Final, get_args
from urllib.parse import quote

from logs import LogReader
from logs.rows import Episode, Judgment, Run
from simulator.blocks import Block, Card, Facts, Words, message
from simulator.clarq.data import BENCHMARK, PROVIDER, load_items, read_item
from simulator.clarq.reports import review_sections
from simulator.clarq.review import (
    DONE,
    FAILURES,
    KINDS,
    ProviderMark,
    Review,
    expectable_nodes,
    possible_errors,
    read_reviews,
    unanswered,
    write_changes,
)
from simulator.clarq.score import REVIEW_SUCCESS
from simulator.clarq.show import Replay, ReplayStep, background_parts, did, replay, tree_replay
from simulator.desks import FINISHED, Case, Desk, Field, Group, Sheet, Values
from simulator.drawn_blocks import ReplayTurn
from simulator.errors import InputError
from simulator.judging import Form, JudgingForm, Opinions
from simulator.reporting import Section
from simulator.research import DataPages, Entry, Link, Look, ResearchPages, RunFile
from simulator.runner.logged import ENDED, required_run
from simulator.studies.people import PREVIEW
from trees import Language, Task

_MARKS: Final = ("type", "node", "hallucination", "failure", "success", "text", "done")


def episode(look: Look, id: str) -> Sequence[Block]:
    """Return a dialogue turn by turn beside its tree; nothing while it is still played."""
    if look.reader.ending(id) is None:
        return ()
    return _dialogue_blocks(_replay(look.reader, look.reader.episode(id)), _turn_with_held_back)


def write_reviews(reader: LogReader, run: str, path: Path) -> None:
    """Write every mark of every reviewer, in the order in which they were written."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("episode", "turn", "reviewer", "kind", *_MARKS, "created_at"))
        for row in reader.judgments(run_id=run):
            if row.kind in KINDS:
                marks = (row.value.get(name) for name in _MARKS)
                place = (row.episode_id, row.turn_number, row.annotator, row.kind)
                writer.writerow((*place, *marks, row.created_at))


def _replay(reader: LogReader, episode: Episode, unheard: str = "") -> Replay:
    """Return a dialogue, scored without the judgments of one kind."""
    judgments = [row for row in reader.judgments(episode_id=episode.id) if row.kind != unheard]
    return replay(read_item(reader.item(episode.item_hash)), reader.turns(episode.id), judgments)


def _dialogue_blocks(
    dialogue: Replay, shown: Callable[[ReplayTurn, ReplayStep], ReplayTurn]
) -> Sequence[Block]:
    """Return a dialogue beside its tree, each turn as it is to be shown, and what the seeker knew."""
    block = tree_replay(dialogue)
    turns = [shown(turn, step) for turn, step in zip(block.turns, dialogue.steps, strict=True)]
    return block._replace(turns=turns), _background_card(dialogue.task, folded=True)


def _background_card(task: Task, *, folded: bool = False) -> Card:
    return Card(message("research.background"), [*background_parts(task.background, PROVIDER)], folded=folded)


def _turn_with_held_back(turn: ReplayTurn, step: ReplayStep) -> ReplayTurn:
    """Return a turn with what was held back of it, which players are not told."""
    held = [message("research.held", what=guard) for guard in step.turn.payload.get("guards", ())]
    return turn._replace(why=(*turn.why, *held))


def _links(reader: LogReader, run: Run) -> list[Link]:
    return [Link("review", f"/research/desk?desk=clarq.review&data={quote(run.id, safe='')}")]


def _entries(data: str) -> list[Entry]:
    return [
        Entry(
            f"{task.id}.{task.language}",
            {"language": task.language, "type": str(task.type)},
            task.background.task,
        )
        for task in _tasks(data)
    ]


def _task(data: str, name: str, language: str) -> Sequence[Block]:
    """Return a task: what the seeker knows, and the tree of what can be given."""
    task = next(task for task in _tasks(data) if f"{task.id}.{task.language}" == name)
    rows: list[tuple[Words, Words]] = [(message("opening"), task.tree.opening)]
    rows += [(node.index, "\n".join(filter(None, (node.text, node.explanation)))) for node in task.tree.nodes]
    return (
        _background_card(task),
        Card(message("research.tree"), [Facts(rows, task.language)]),
    )


def _tasks(data: str) -> list[Task]:
    """Return the tasks of data in each language that they have."""
    found: list[Task] = []
    for language in get_args(Language):
        with suppress(InputError):  # data may be in one language alone
            found.extend(load_items(data, language))
    return found or list(load_items(data))


RESEARCH: Final = ResearchPages(
    episode=episode,
    links=_links,
    files=(RunFile(name="reviews.csv", write=write_reviews),),
    data=DataPages(entries=_entries, show=_task),
)


UNSAID: Final = "none"
"""The node of a type 1 error, where its reviewer does not say which."""
_YES: Final = "yes"
_NO: Final = "no"
_NOTE: Final = Field(name="note")


class Done(Form):
    """The word of a reviewer that a review is finished."""

    done: bool


# ---- what is reviewed


def reviewable_runs(reader: LogReader) -> list[str]:
    """Return the runs with ended dialogues, newest first; what was tried out of a study is not among them."""
    own = (run.id for run in reversed(reader.runs()) if run.benchmark == BENCHMARK)
    return [run for run in own if PREVIEW not in run and reader.progress(run).done]


def review_cases(reader: LogReader, run: str) -> list[Case[Review]]:
    """Return the dialogues of a run that were played to their end, in its order.

    Raises:
        InputError: if the run is of another benchmark.
        NotInLog: if there is no such run.
    """
    required_run(reader, run, BENCHMARK)
    endings, reviews = reader.endings(run), read_reviews(reader.judgments(run_id=run))
    finished: dict[str, dict[str, Review]] = {}
    begun: dict[str, dict[str, Review]] = {}
    for (episode, reviewer), review in reviews.items():
        (finished if review.done else begun).setdefault(episode, {})[reviewer] = review
    return [
        Case(
            key=episode.id,
            name=episode.id,
            title=episode.id.removeprefix(f"{run}/"),
            show=partial(_show, seen),
            language=episode.language,
            opinions=Opinions(finished.get(episode.id, {})),
            begun=begun.get(episode.id, {}),
            thing=seen,
        )
        for episode in reader.episodes(run, latest=True)
        if episode.id in endings and endings[episode.id].status in ENDED
        # What reviewers say of its success does not change what others see of it.
        for seen in (cache(partial(_replay, reader, episode, REVIEW_SUCCESS)),)
    ]


def _show(seen: Callable[[], Replay]) -> Sequence[Block]:
    """Return the dialogue without the provider's reasons."""
    return _dialogue_blocks(
        seen(),
        lambda turn, step: turn._replace(did=did(step) if step.reviewable else "", why=(), choices=""),
    )


# ---- the form


def review_sheet(case: Case[Review], form: Review | None) -> Sheet:
    """Return what can be said of a dialogue: of each turn, of the whole, and of nodes that are missing."""
    dialogue: Replay = case.thing()
    review = form or Review()
    left = unanswered(dialogue, review)
    # A finished review holds no error there.
    unmarked = sum(step.reviewable and step.turn.number not in review.provider for step in dialogue.steps)
    whole = Group((Field(name="success", kind="choice", choices=(_YES, _NO), keys="sf"),), "dialogue")
    return Sheet(
        groups=(
            *(_turn(place, step, review) for place, step in enumerate(dialogue.steps)),
            whole,
            *_missing_groups(dialogue, review),
            Group((_NOTE,), "dialogue", message("desks.review.whole")),
        ),
        lacks=[
            message("desks.review.left_success")
            if name == "success"
            else message("desks.review.left_node", node=name)
            for name in (left if review.success is not None else left[:1])
        ],
        doubt=message("desks.review.unmarked", count=unmarked) if unmarked else "",
    )


def _turn(place: int, step: ReplayStep, review: Review) -> Group:
    """Return the fields on a turn; of the greeting and of the seeker's there is only a note."""
    fields: list[Field] = []
    if step.reviewable:
        errors = "".join(map(str, possible_errors(step)))
        fields.append(Field(name="type", kind="choice", choices=tuple(errors), keys=errors, usual="0"))
        if review.provider.get(step.turn.number, ProviderMark()).type == 1:
            nodes = (*expectable_nodes(step), UNSAID)
            fields.append(Field(name="node", kind="choice", choices=nodes, brief=True))
        fields.append(Field(name="hallucination", kind="choices", choices=(_YES,), keys="h"))
    fields.append(Field(name="note", keys="n"))
    note = "" if step.reviewable else "greeting" if step.turn.number == 0 else "seeker_turn"
    title = message("desks.review.turn", number=place + 1)
    return Group(fields, str(step.turn.number), title, message(f"desks.review.{note}") if note else "", place)


def _missing_groups(dialogue: Replay, review: Review) -> Iterator[Group]:
    """Yield the question why nodes are missing, and each of these; what the rule misses is told at last."""
    missing = [dialogue.task.tree.by_index[index] for index in dialogue.scores.missing]
    state = "later" if review.success is None else "success" if review.success else "none"
    asked = missing if review.success is False else []
    note = message("desks.review.reasons" if asked else f"desks.review.missing_{state}")
    yield Group((), "missing", message("desks.review.missing"), note)
    reason = Field(name="failure", kind="choice", choices=FAILURES, brief=True, free=True)
    for node in asked:
        yield Group((reason,), f"missing.{node.index}", f"{node.index} · {node.text}")


def review_values(review: Review) -> dict[str, Any]:
    """Return a review as the fields of the form."""
    values: dict[str, Any] = {FINISHED: _YES if review.done else _NO}
    for number, mark in review.provider.items():
        values[f"{number}.type"] = str(mark.type)
        values[f"{number}.hallucination"] = [_YES] if mark.hallucination else []
        if mark.type == 1:
            values[f"{number}.node"] = mark.node or UNSAID
    if review.success is not None:
        values["dialogue.success"] = _YES if review.success else _NO
    values |= {f"missing.{node}.failure": failure for node, failure in review.seeker.items()}
    places = {number: "dialogue" if number is None else str(number) for number in review.notes}
    return values | {f"{places[number]}.note": text for number, text in review.notes.items()}


def read_values(case: Case[Review], values: Values, deciding: bool) -> Review:
    """Return the review that fields make; a node is kept of a type 1 error alone."""
    dialogue: Replay = case.thing()
    provider: dict[int, ProviderMark] = {}
    for step in filter(lambda step: step.reviewable, dialogue.steps):
        names = [f"{step.turn.number}.{name}" for name in ("type", "node", "hallucination")]
        if any(name in values for name in names):
            type, node, hallucination = (values.get(name) for name in names)
            expected = node if type == "1" and node != UNSAID else None
            provider[step.turn.number] = ProviderMark(int(type or 0), expected, bool(hallucination))  # type: ignore[arg-type]
    notes: dict[int | None, str] = {
        step.turn.number: str(values[name]).strip()
        for step in dialogue.steps
        if (name := f"{step.turn.number}.note") in values
    }
    if "dialogue.note" in values:
        notes[None] = str(values["dialogue.note"]).strip()
    failures = {node.index: values.get(f"missing.{node.index}.failure") for node in dialogue.task.tree.nodes}
    return Review(
        provider=provider,
        seeker={node: failure for node, failure in failures.items() if failure},
        success={_YES: True, _NO: False}.get(values.get("dialogue.success", "")),
        notes=notes,
        done=values.get(FINISHED) == _YES,
    )


def review_rows(
    case: Case[Review], reviewer: str, before: Review | None, after: Review, key: str
) -> Iterator[Judgment]:
    """Yield the marks that a reviewer has made since their review before."""
    return write_changes(reviewer, key, case.key, case.thing(), before or Review(), after)


def outcome(review: Review) -> Hashable:
    """Return what reviewers may differ in; notes, and nodes of type 1 errors, are beside the point."""
    errors = frozenset(
        (number, mark.type, mark.hallucination)
        for number, mark in review.provider.items()
        if mark.type or mark.hallucination
    )
    return errors, frozenset(review.seeker.items()), review.success


def _sections(reader: LogReader, run: str, rater: str) -> Iterator[Section]:
    """Yield what reviews add up to; where the rule differs from people is told of what a rater may see."""
    cases = {case.key: case for case in review_cases(reader, run)}
    return review_sections(reader, run, lambda id: id in cases and not DESK.may_see(cases[id], rater))


DESK: Final = Desk(
    name="review",
    form=JudgingForm(kind=DONE, model=Done, about="episode", verb="reviews"),
    fields=(),
    sets=reviewable_runs,
    cases=review_cases,
    outcome=outcome,
    read=read_values,
    values=review_values,
    sheet=review_sheet,
    rows=review_rows,
    raters=None,
    decides=None,
    own_order=False,
    agreement=_sections,
    files={"reviews.csv": write_reviews},
    command="askback run clarq --seeker offline/seeker --provider offline/experts --lang en",
)
