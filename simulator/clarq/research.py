"""Researchers' pages of ClarQ-LLM: dialogues with their trees, the tasks, and the review desk.

The rules of a review are in `simulator.clarq.review`. Reviewers go through a run in its own order, so that
the second reviews the same dialogues as the first. They see the rule's verdict on success only after
giving their own.
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
    unanswered_parts,
    write_changes,
)
from simulator.clarq.score import REVIEW_SUCCESS
from simulator.clarq.show import Replay, ReplayStep, background_parts, given_words, replay, tree_replay
from simulator.desks import FINISHED, Case, Desk, Group, Sheet, Values
from simulator.drawn_blocks import ReplayTurn
from simulator.errors import InputError
from simulator.form_blocks import Choice, Field
from simulator.judging import Form, JudgingForm, Opinions
from simulator.reporting import Section
from simulator.research import DataPages, Entry, Link, PageRequest, ResearchPages, RunFile
from simulator.runner.logged import ENDED, required_run
from simulator.studies.people import PREVIEW
from trees import Language, Task

_MARKS: Final = ("type", "node", "hallucination", "failure", "success", "text", "done")


def episode(request: PageRequest, id: str) -> Sequence[Block]:
    """Return a dialogue turn by turn next to its tree; nothing until it has ended."""
    if request.reader.ending(id) is None:
        return ()
    return _dialogue_blocks(_replay(request.reader, request.reader.episode(id)), _turn_with_guards)


def write_reviews(reader: LogReader, run: str, path: Path) -> None:
    """Write all marks of all reviewers to a CSV file, in logged order."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("episode", "turn", "reviewer", "kind", *_MARKS, "created_at"))
        for row in reader.judgments(run_id=run):
            if row.kind in KINDS:
                marks = (row.value.get(name) for name in _MARKS)
                place = (row.episode_id, row.turn_number, row.annotator, row.kind)
                writer.writerow((*place, *marks, row.created_at))


def _replay(reader: LogReader, episode: Episode, excluded_kind: str = "") -> Replay:
    """Return a dialogue, scored without the judgments of one kind."""
    judgments = [row for row in reader.judgments(episode_id=episode.id) if row.kind != excluded_kind]
    return replay(read_item(reader.item(episode.item_hash)), reader.turns(episode.id), judgments)


def _dialogue_blocks(
    dialogue: Replay, show_turn: Callable[[ReplayTurn, ReplayStep], ReplayTurn]
) -> Sequence[Block]:
    """Return a dialogue next to its tree, with `show_turn` applied to each turn, and the background."""
    block = tree_replay(dialogue)
    turns = [show_turn(turn, step) for turn, step in zip(block.turns, dialogue.steps, strict=True)]
    return block._replace(turns=turns), _background_card(dialogue.task, folded=True)


def _background_card(task: Task, *, folded: bool = False) -> Card:
    return Card(message("research.background"), [*background_parts(task.background, PROVIDER)], folded=folded)


def _turn_with_guards(turn: ReplayTurn, step: ReplayStep) -> ReplayTurn:
    """Return a turn with the reasons for which words were held back, which players do not see."""
    guards = [message("research.held", what=guard) for guard in step.turn.payload.get("guards", ())]
    return turn._replace(why=(*turn.why, *guards))


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
    """Return a task: the seeker's background and the provider's tree."""
    task = next(task for task in _tasks(data) if f"{task.id}.{task.language}" == name)
    rows: list[tuple[Words, Words]] = [(message("opening"), task.tree.opening)]
    rows += [(node.index, "\n".join(filter(None, (node.text, node.explanation)))) for node in task.tree.nodes]
    return (
        _background_card(task),
        Card(message("research.tree"), [Facts(rows, task.language)]),
    )


def _tasks(data: str) -> list[Task]:
    """Return the tasks of `data` in all languages."""
    tasks: list[Task] = []
    for language in get_args(Language):
        with suppress(InputError):  # data may exist in one language only
            tasks.extend(load_items(data, language))
    return tasks or list(load_items(data))


RESEARCH: Final = ResearchPages(
    episode=episode,
    links=_links,
    files=(RunFile(name="reviews.csv", write=write_reviews),),
    data=DataPages(entries=_entries, show=_task),
)


UNSAID: Final = "none"
"""The choice for a type 1 error whose node the reviewer does not name."""
_YES: Final = "yes"
_NO: Final = "no"
_NOTE: Final = Field("note")


class Done(Form):
    """A reviewer's statement that a review is finished."""

    done: bool


# ---- the dialogues to review


def reviewable_runs(reader: LogReader) -> list[str]:
    """Return the runs with ended dialogues, newest first, without previews of studies."""
    runs = (run.id for run in reversed(reader.runs()) if run.benchmark == BENCHMARK)
    return [run for run in runs if PREVIEW not in run and reader.progress(run).done]


def review_cases(reader: LogReader, run: str) -> list[Case[Review]]:
    """Return the dialogues of a run that were played to their end, in the run's order.

    Raises:
        InputError: if the run belongs to another benchmark.
        NotInLog: if the run does not exist.
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
            show=partial(_show, load_replay),
            language=episode.language,
            opinions=Opinions(finished.get(episode.id, {})),
            begun=begun.get(episode.id, {}),
            thing=load_replay,
        )
        for episode in reader.episodes(run, latest=True)
        if episode.id in endings and endings[episode.id].status in ENDED
        # Reviewers' verdicts on success are hidden from each other.
        for load_replay in (cache(partial(_replay, reader, episode, REVIEW_SUCCESS)),)
    ]


def _show(load_replay: Callable[[], Replay]) -> Sequence[Block]:
    """Return the dialogue without the provider's reasons."""

    def show_turn(turn: ReplayTurn, step: ReplayStep) -> ReplayTurn:
        return turn._replace(did=given_words(step) if step.reviewable else "", why=(), choices="")

    return _dialogue_blocks(load_replay(), show_turn)


# ---- the form


def review_sheet(case: Case[Review], form: Review | None) -> Sheet:
    """Return the form for a dialogue: fields on each turn, on the dialogue, and on its missing nodes."""
    dialogue: Replay = case.thing()
    review = form or Review()
    left = unanswered_parts(dialogue, review)
    # In a finished review, unmarked turns count as correct.
    unmarked = sum(step.reviewable and step.turn.number not in review.provider for step in dialogue.steps)
    success = Group((Field("success", "choice", choices=(Choice(_YES), Choice(_NO)), keys="sf"),), "dialogue")
    return Sheet(
        groups=(
            *(_turn_group(place, step, review) for place, step in enumerate(dialogue.steps)),
            success,
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


def _turn_group(place: int, step: ReplayStep, review: Review) -> Group:
    """Return the fields on a turn; only a note on the greeting and on the seeker's turns."""
    fields: list[Field] = []
    if step.reviewable:
        errors = "".join(map(str, possible_errors(step)))
        fields.append(Field("type", "choice", "0", [*map(Choice, errors)], keys=errors))
        if review.provider.get(step.turn.number, ProviderMark()).type == 1:
            nodes = (*expectable_nodes(step), UNSAID)
            fields.append(Field("node", "choice", choices=[*map(Choice, nodes)], brief=True))
        fields.append(Field("hallucination", "choices", choices=(Choice(_YES),), keys="h"))
    fields.append(_NOTE._replace(keys="n"))
    note = "" if step.reviewable else "greeting" if step.turn.number == 0 else "seeker_turn"
    title = message("desks.review.turn", number=place + 1)
    return Group(fields, str(step.turn.number), title, message(f"desks.review.{note}") if note else "", place)


def _missing_groups(dialogue: Replay, review: Review) -> Iterator[Group]:
    """Yield a heading and a field for each missing node; they appear after a verdict of no success."""
    missing = [dialogue.task.tree.by_index[index] for index in dialogue.scores.missing]
    state = "later" if review.success is None else "success" if review.success else "none"
    asked = missing if review.success is False else []
    note = message("desks.review.reasons" if asked else f"desks.review.missing_{state}")
    yield Group((), "missing", message("desks.review.missing"), note)
    reason = Field("failure", "choice", choices=[*map(Choice, FAILURES)], brief=True, free=True)
    for node in asked:
        yield Group((reason,), f"missing.{node.index}", f"{node.index} · {node.text}")


def review_values(review: Review) -> dict[str, Any]:
    """Return the field values of a review."""
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
    """Return the review from field values; a node is kept only for a type 1 error."""
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
    """Yield a reviewer's marks that changed since `before`."""
    return write_changes(reviewer, key, case.key, case.thing(), before or Review(), after)


def outcome(review: Review) -> Hashable:
    """Return the part of a review that is compared between reviewers: no notes, no nodes of type 1 errors."""
    errors = frozenset(
        (number, mark.type, mark.hallucination)
        for number, mark in review.provider.items()
        if mark.type or mark.hallucination
    )
    return errors, frozenset(review.seeker.items()), review.success


def _sections(reader: LogReader, run: str, rater: str) -> Iterator[Section]:
    """Yield the report of a run's reviews; disagreements with the rule only for dialogues a rater may see."""
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
