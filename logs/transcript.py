"""Transcripts of episodes: as plain text, Markdown, or in colours on a terminal."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

from rich.console import Group
from rich.table import Table
from rich.text import Text

from logs.reader import LogReader
from logs.rows import Ending, Episode, Item, ModelCall, Score, Turn

_COLOURS = ("cyan", "green", "magenta", "yellow", "blue", "red")
# Characters with a meaning in Markdown: anywhere, in links, and at the start of a line.
_INLINE = re.compile(r"[\\`*_\[\]<>&|~$@!]|(?<=www)\.|:(?=//)", re.IGNORECASE)
_START = re.compile(r"^(\d*)([#+\-=:.)])")
# Control characters in people's texts are made visible, so that no terminal interprets them.
_PICTURES = {code: 0x2400 + code for code in range(32) if chr(code) not in "\n\t"}
_PICTURES |= {127: 0x2421} | {code: 0xFFFD for code in range(128, 160)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Transcript:
    """An episode with everything that a transcript shows.

    Attributes:
        scores: the latest score of each metric.
        calls: requests to language models, oldest first.
    """

    episode: Episode
    item: Item
    turns: tuple[Turn, ...]
    ending: Ending | None
    scores: tuple[Score, ...]
    calls: tuple[ModelCall, ...]

    def calls_of(self, number: int | None) -> tuple[ModelCall, ...]:
        """Return the requests made for one turn; None for those outside turns."""
        return tuple(call for call in self.calls if call.turn_number == number)


def read_transcript(reader: LogReader, episode_id: str) -> Transcript:
    """Read an episode; `episode_id` may be part of its id.

    Raises:
        NotInLog: if there is no such episode, or several match.
    """
    episode = reader.find_episode(episode_id)
    return Transcript(
        episode=episode,
        item=reader.item(episode.item_hash),
        turns=tuple(reader.turns(episode.id)),
        ending=reader.ending(episode.id),
        scores=tuple(reader.scores(episode_id=episode.id)),
        calls=tuple(reader.model_calls(episode_id=episode.id)),
    )


def as_text(transcript: Transcript, *, trace: bool = False) -> str:
    """Return the transcript as plain text; with `trace` including payloads of turns and model calls."""
    lines = [_headline(transcript), *(f"  {line}" for line in _facts(transcript)), ""]
    width = max((len(turn.seat) for turn in transcript.turns), default=0)
    for turn in transcript.turns:
        label = f"{turn.number:>3} {turn.seat:<{width}}  "
        first, *rest = printable(said(turn)).split("\n")
        lines.append(label + first)
        lines += [" " * len(label) + line for line in (*rest, *(_trace(transcript, turn) if trace else ()))]
    lines += ["", *_outcome(transcript)]
    lines += [line for line in _requests_outside_turns(transcript) if trace]
    return "\n".join(lines) + "\n"


def as_markdown(transcript: Transcript, *, trace: bool = False) -> str:
    """Return the transcript as Markdown; people's texts are escaped, so that they contain none themselves."""
    lines = [f"# {_escape(_headline(transcript))}", ""]
    lines += [f"- {_escape(line)}" for line in _facts(transcript)]
    for turn in transcript.turns:
        text_lines = _escape(printable(said(turn))).split("\n")
        lines += [
            "",
            f"**{turn.number} · {_escape(turn.seat)}**",
            "",
            *(f"> {line}  " for line in text_lines),
        ]
        notes = _trace(transcript, turn) if trace else []
        lines += ["", *(f"- {_escape(line)}" for line in notes)] if notes else []
    lines += ["", *(f"{_escape(line)}  " for line in _outcome(transcript))]
    outside = _requests_outside_turns(transcript) if trace else []
    lines += ["", *(f"- {_escape(line)}" for line in outside)] if outside else []
    return "\n".join(line.rstrip() if not line.startswith(">") else line for line in lines) + "\n"


def as_rich(transcript: Transcript, *, trace: bool = False) -> Group:
    """Return the transcript for a terminal, with a colour for each seat."""
    colours = dict(zip(dict.fromkeys(turn.seat for turn in transcript.turns), _COLOURS * 9, strict=False))
    lines = Table.grid(padding=(0, 1))
    lines.add_column(justify="right", style="dim")
    lines.add_column(no_wrap=True)
    lines.add_column(overflow="fold")
    status = transcript.ending.status if transcript.ending else ""
    style = {"": "yellow", "completed": "green"}.get(status, "red")
    for turn in transcript.turns:
        seat = Text(turn.seat, style=f"bold {colours.get(turn.seat, 'white')}")
        lines.add_row(str(turn.number), seat, Text(printable(said(turn))))
        for note in _trace(transcript, turn) if trace else []:
            lines.add_row("", "", Text(note, style="dim"))
    return Group(
        Text(_headline(transcript), style="bold"),
        *(Text(f"  {line}", style="dim") for line in _facts(transcript)),
        Text(""),
        lines,
        Text(""),
        *(Text(line, style=style) for line in _outcome(transcript)),
        *(Text(line, style="dim") for line in (_requests_outside_turns(transcript) if trace else [])),
    )


def said(turn: Turn) -> str:
    """Return the text of a turn, or the payload of a private move."""
    payload = turn.payload.get("payload")
    return turn.text or (json.dumps(payload, ensure_ascii=False) if payload else "")


def printable(text: str) -> str:
    """Return `text` with control characters other than line ends and tabs made visible."""
    return text.replace("\r\n", "\n").translate(_PICTURES)


def _headline(transcript: Transcript) -> str:
    item = transcript.item
    return f"{item.benchmark} {item.name} ({transcript.episode.language}), episode {transcript.episode.id}"


def _facts(transcript: Transcript) -> Iterator[str]:
    episode = transcript.episode
    yield f"run {episode.run_id}, repeat {episode.repeat}, attempt {episode.attempt}, seed {episode.seed}"
    yield ", ".join(f"{seat}: {who}" for seat, who in episode.seats.items())
    if episode.participant_id:
        yield f"participant {episode.participant_id}"
    yield f"begun {episode.created_at}"


def _trace(transcript: Transcript, turn: Turn) -> list[str]:
    facts = [
        f"{key}: {printable(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))}"
        for key, value in turn.payload.items()
        if value not in (None, "", [], {})
    ]
    if turn.seconds is not None:
        facts.append(f"after {turn.seconds:.1f} s")
    return [*facts, *(_call(call) for call in transcript.calls_of(turn.number))]


def _requests_outside_turns(transcript: Transcript) -> list[str]:
    """Return the requests that belong to no turn, or to one that was never written."""
    numbers = {turn.number for turn in transcript.turns}
    return [_call(call) for call in transcript.calls if call.turn_number not in numbers]


def _call(call: ModelCall) -> str:
    facts = [f"asked {call.model} for {call.purpose}"]
    if call.input_tokens is not None or call.output_tokens is not None:
        facts.append(f"{call.input_tokens or 0} + {call.output_tokens or 0} tokens")
    if call.seconds is not None:
        facts.append(f"{call.seconds:.1f} s")
    if call.cost is not None:
        facts.append(f"${call.cost:.4f}")
    facts += ["from the cache"] if call.cached else []
    facts += [f"{call.attempts} attempts"] if call.attempts > 1 else []
    facts += [f"error {call.error}"] if call.error else []
    facts += ["token limit reached"] if call.response.get("finish_reason") == "length" else []
    answer, thought = call.response.get("text"), call.response.get("thought")
    facts += [f"reasoning “{_shorten(str(thought))}”"] if thought else []
    return printable(", ".join(facts) + (f": {_shorten(str(answer))}" if answer else ""))


def _shorten(text: str, length: int = 200) -> str:
    text = " ".join(text.split())
    return text if len(text) <= length else text[: length - 1] + "…"


def _outcome(transcript: Transcript) -> Iterator[str]:
    ending = transcript.ending
    if ending is None:
        yield "It has not ended."
    else:
        cause = f" ({ending.cause})" if ending.cause else ""
        yield f"It ended {ending.status}{cause}{': ' + printable(ending.message) if ending.message else '.'}"
    if transcript.scores:
        yield ", ".join(f"{score.metric} {_number(score.value)}" for score in transcript.scores)


def _number(value: float | None) -> str:
    return "undefined" if value is None else f"{value:g}"


def _escape(text: str) -> str:
    return "\n".join(_escape_line(line) for line in text.split("\n"))


def _escape_line(line: str) -> str:
    text = line.lstrip()
    indent = "\u00a0" * (len(line) - len(text))
    return indent + _START.sub(r"\1\\\2", _INLINE.sub(r"\\\g<0>", text))
