"""The last page of an episode: what was meant, how hard it was and why, what came of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from simulator.bar_blocks import Amount, Amounts
from simulator.blocks import Block, Card, Detail, Facts, Figure, Table, Talk, Text, Verdict, message
from simulator.handmethat.playing import HUMAN
from simulator.handmethat.views import Reading, Replay
from simulator.plan_blocks import Story
from simulator.runner.declared_views import Result

_COUNTS: Final[Mapping[str, str]] = {"goal": "g", "utterance": "u", "heard": "r", "meaning": "m"}
_LEAST: Final = 0.015
"""The least share of a bar, so that it can be seen."""


def result(replay: Replay, seat: str, *, in_study: bool) -> Result:
    """Return what somebody who sat in `seat` sees of an ended episode.

    `in_study`: True if what was meant is folded away: more of its episodes may follow.
    """
    revealed = tuple(_explained(replay))
    if in_study:
        note = Text(message("result.reveal_note"), "muted")
        revealed = (Card(message("result.reveal"), [note, *revealed], True),)
    did = tuple(_told_to_human(replay)) if seat == HUMAN else ()
    return Result(language=replay.language, moves=(), blocks=(_verdict(replay), *did, *revealed))


def _verdict(replay: Replay) -> Verdict:
    scores, good = replay.scores, bool(replay.scores["success"])
    figures = ("score", "moves", "questions", "raw_sum")
    text = "success_text" if good else "failure_limit" if replay.over == "limit" else "failure_text"
    return Verdict(
        heading=message("result.success" if good else "result.failure"),
        text=message(f"result.{text}"),
        good=good,
        figures=[
            Figure(
                message(f"result.{name}"),
                _whole(scores[name]),
                message(f"result.{name}_note", cost=_whole(scores["question_cost"])),
            )
            for name in figures
        ],
        kicker=message("result.end_limit" if replay.over == "limit" else "result.end"),
    )


def _told_to_human(replay: Replay) -> Iterator[Block]:
    why = message(f"result.over_{replay.over or 'early'}", deed=replay.carried_out, limit=replay.limit)
    yield Card(message("result.why_over"), [Text(why)])
    rows = [
        [deed.text, deed.answer or (message("result.did_failed") if deed.failed else "")]
        for deed in replay.deeds
    ]
    head = (message("result.did"), message("result.did_answered"))
    none = Text(message("result.did_nothing"), "muted")
    yield Card(message("result.did"), [Table(rows, head) if rows else none])


def _explained(replay: Replay) -> Iterator[Block]:
    level = message("result.level", level=replay.level)
    meant = Facts(
        [
            (message("result.said"), replay.instruction),
            (message("result.meant"), replay.meaning),
            (level, replay.why),
        ]
    )
    yield Card(message("result.said_meant"), [meant])
    yield Card(message("result.readings"), readings_blocks(replay.readings))
    yield Card(message("result.counts"), [counts_block(replay.counts)])
    goal = "\n\n".join(part for part in (replay.goal_title, *replay.goal) if part)
    story = Story(message("story"), replay.story, message("story_none"))
    behind = [Detail(message("result.goal"), Text(goal))] if goal else []
    yield Card(message("before"), [story, *behind])
    yield Card(message("result.demo"), [demo_block(replay.demo)])
    yield Card(message("result.log"), [Talk(replay.lines)], folded=True)


def demo_block(demo: Sequence[str]) -> Block:
    """Return the expert's commands, which are English words in either language."""
    if not demo:
        return Text(message("result.demo_none"), "muted")
    return Facts([(str(number), command) for number, command in enumerate(demo, start=1)], language="en")


def readings_blocks(readings: Sequence[Reading]) -> Sequence[Block]:
    """Return the meanings that the words left open, with their probabilities where these are known."""
    known = [(reading, reading.probability) for reading in readings if reading.probability is not None]
    if not known:
        return (Text(message("result.no_readings"), "muted"),)
    top = max(chance for _, chance in known) or 1.0
    rows = [
        Amount(
            name=reading.text,
            share=chance / top,
            value=percent(chance),
            note=message(
                "result.one_thing" if reading.objects == 1 else "result.things", count=reading.objects
            ),
            badge=message(f"result.{mark}_mark") if (mark := _mark(reading)) else "",
            look="right" if reading.meant else "wrong" if reading.heard else "",
        )
        for reading, chance in known
    ]
    head = (message("result.reading"), message("result.probability"))
    return (Text(message("result.readings_text"), "muted"), Amounts(rows, head))


def _mark(reading: Reading) -> str:
    if reading.meant and reading.heard:
        return "both"
    return "meant" if reading.meant else "heard" if reading.heard else ""


def counts_block(counts: Mapping[str, int]) -> Amounts:
    """Return the sizes of A(G), A(u), A(r) and A(m) as bars on one scale."""
    known = {key: counts[name] for name, key in _COUNTS.items() if name in counts}
    most = max(known.values(), default=1) or 1
    rows = [
        Amount(
            name=message(f"result.counts_{key}"),
            share=max(_LEAST, count / most),
            value=str(count),
            look="right" if key == "m" else "wrong" if key == "r" else "",
        )
        for key, count in known.items()
    ]
    return Amounts(rows, (message("result.counts"), message("result.count")))


def percent(chance: float) -> str:
    """Return a probability for people: whole percent, tenths below one percent."""
    share = 100 * chance
    if share == 0 or share >= 0.995:
        return f"{share:.0f} %"
    return "< 0.1 %" if share < 0.05 else f"{share:.1f} %"


def _whole(value: float | None) -> str:
    """Return a score with a true minus sign."""
    return f"{value or 0:.0f}".replace("-", "\N{MINUS SIGN}")
