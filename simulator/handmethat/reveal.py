"""The last page of an episode: outcome, meaning, hardness and log."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from logs.rows import Turn
from simulator.blocks import Block, Card, Detail, Facts, Figure, Table, Talk, Text, Verdict, Words, message
from simulator.drawn_blocks import Amount, Amounts
from simulator.handmethat import graph, show
from simulator.handmethat.goals.templates import activity_title
from simulator.handmethat.house import offer, sentence, wording
from simulator.handmethat.items import Task
from simulator.handmethat.meanings.model import matching
from simulator.handmethat.meanings.render import render_meaning
from simulator.handmethat.playing import HUMAN, ROBOT, Play, Step
from simulator.handmethat.score import options_of, score_episode
from simulator.runner.machines import Result
from trees import Language

_LEAST: Final = 0.015
"""The smallest share of a bar, so that it is visible."""


class Replay(NamedTuple):
    """A finished episode, rebuilt from its logged turns."""

    play: Play
    steps: Sequence[Step]
    turns: Sequence[Turn]


def replay(task: Task, language: Language, turns: Sequence[Turn]) -> Replay:
    """Replay a finished episode from its turns."""
    play = Play(task, language, options_of(turns), text=False)
    return Replay(play, play.steps(graph.rebuild(turns)["commands"]), turns)


def result(replay: Replay, seat: str, *, in_study: bool) -> Result:
    """Return the last page of an episode for the person in `seat`.

    `in_study`: fold the explanation away, as more episodes may follow.
    """
    explanation = tuple(_explanation_blocks(replay))
    if in_study:
        note = Text(message("result.reveal_note"), "muted")
        explanation = (Card(message("result.reveal"), [note, *explanation], True),)
    summary = tuple(_summary_for_human(replay)) if seat == HUMAN else ()
    return Result(language=replay.play.language, moves=(), blocks=(_verdict(replay), *summary, *explanation))


def _carried_out(replay: Replay) -> list[str]:
    return [step.command for step in replay.steps if replay.play.carried_out(step.outcome)]


def _ending_kind(replay: Replay) -> str:
    """Return how the episode ended; empty if it broke off."""
    over = replay.steps[-1].over if replay.steps else ""
    # A robot that stops without having done anything has given up.
    return "gave_up" if over == "stopped" and not _carried_out(replay) else over


def _verdict(replay: Replay) -> Verdict:
    scores, over = score_episode(replay.play.task, replay.turns), _ending_kind(replay)
    good, limit = scores.success, over == "limit"
    heading = "success" if good else "gave_up" if over == "gave_up" else "failure"
    text = "success_text" if good else f"failure_{over if over in ('limit', 'gave_up') else 'text'}"
    cost = _format_whole(scores.question_cost)
    return Verdict(
        heading=message(f"result.{heading}"),
        text=message(f"result.{text}"),
        good=good,
        figures=[
            Figure(
                message(f"result.{name}"),
                _format_whole(getattr(scores, name)),
                message(f"result.{name}_note", cost=cost),
            )
            for name in ("score", "moves", "questions", "raw_sum")
        ],
        kicker=message("result.end_limit" if limit else "result.end"),
    )


def _summary_for_human(replay: Replay) -> Iterator[Block]:
    """Yield why the episode ended, and the robot's commands and questions with the human's answers."""
    play, carried_out = replay.play, _carried_out(replay)
    deed = _in_words(play, carried_out[-1]) if carried_out else ""
    why = message(f"result.over_{_ending_kind(replay) or 'early'}", deed=deed, limit=play.options.limit)
    yield Card(message("result.why_over"), [Text(why)])
    lines = graph.rebuild(replay.turns)["lines"]
    turns = enumerate(pairwise(lines))
    answers = {number: answer[2] for number, (_, answer) in turns if answer[1] == "answer"}
    moves = (number for number, line in enumerate(lines) if line[0] == ROBOT)
    rows: list[list[Words]] = []
    for number, step in zip(moves, replay.steps, strict=False):
        if step.question:
            words = step.command.removeprefix("question:").strip().rstrip("?？")
            text = sentence(wording(play.language)["question"].format(text=words))
            rows.append([text, answers.get(number, "")])
        else:
            failed = step.refused or step.outcome.error
            rows.append([_in_words(play, step.command), message("result.did_failed") if failed else ""])
    head = (message("result.did"), message("result.did_answered"))
    none = Text(message("result.did_nothing"), "muted")
    yield Card(message("result.did"), [Table(rows, head) if rows else none])


def _in_words(play: Play, command: str) -> str:
    kind = play.game.reader.read(command).kind
    if kind == "action":
        return offer(play, command).label
    return sentence(str(wording(play.language)["plain"].get(kind, command)))


def _explanation_blocks(replay: Replay) -> Iterator[Block]:
    task, language = replay.play.task, replay.play.language
    yield show.meaning_card(task, language)
    yield readings_card(task, language)
    yield counts_card(task)
    title = "" if task.goal_index is None else activity_title(task.goal_index, language)
    goal = "\n\n".join(part for part in (title, *show.goal_lines(task, language)) if part)
    detail = [Detail(message("result.goal"), Text(goal))] if goal else []
    yield Card(message("before"), [show.story(task, language), *detail])
    yield demo_card(task)
    yield Card(message("result.log"), [Talk(show.lines(graph.rebuild(replay.turns)))], folded=True)


def demo_card(task: Task) -> Card:
    """Return a card with the expert's commands, which are English in either language."""
    commands = [(str(number), command) for number, command in enumerate(task.demo, start=1)]
    none = Text(message("result.demo_none"), "muted")
    return Card(message("result.demo"), [Facts(commands, language="en") if commands else none])


def readings_card(task: Task, language: Language) -> Card:
    """Return a card with the listener's readings and their probabilities, if known."""
    title = message("result.readings")
    if not task.listener:
        return Card(title, (Text(message("result.no_readings"), "muted"),))
    top = max(chance for _, chance in task.listener) or 1.0
    rows = []
    for meaning, chance in task.listener:
        meant, heard = meaning == task.meaning, meaning == task.heard
        mark = "both" if meant and heard else "meant" if meant else "heard" if heard else ""
        things = matching(task.world, task.current, meaning.description).bit_count()
        rows.append(
            Amount(
                name=render_meaning(task.world, meaning, language),
                share=chance / top,
                value=percent(chance),
                note=message("result.one_thing" if things == 1 else "result.things", count=things),
                badge=message(f"result.{mark}_mark") if mark else "",
                look="right" if meant else "wrong" if heard else "",
            )
        )
    head = (message("result.reading"), message("result.probability"))
    return Card(title, (Text(message("result.readings_text"), "muted"), Amounts(rows, head)))


def counts_card(task: Task) -> Card:
    """Return a card with the sizes of A(G), A(u), A(r) and A(m) as bars on one scale."""
    sets = {"g": task.useful, "u": task.in_utterance, "r": task.in_heard, "m": task.in_meaning}
    most = max(map(len, sets.values())) or 1
    rows = [
        Amount(
            name=message(f"result.counts_{key}"),
            share=max(_LEAST, len(pairs) / most),
            value=str(len(pairs)),
            look="right" if key == "m" else "wrong" if key == "r" else "",
        )
        for key, pairs in sets.items()
    ]
    title = message("result.counts")
    return Card(title, [Amounts(rows, (title, message("result.count")))])


def percent(chance: float) -> str:
    """Return a probability in percent with one decimal."""
    share = 100 * chance
    if share == 0 or share >= 0.995:
        return f"{share:.0f} %"
    return "< 0.1 %" if share < 0.05 else f"{share:.1f} %"


def _format_whole(value: float) -> str:
    return f"{value:.0f}".replace("-", "\N{MINUS SIGN}")
