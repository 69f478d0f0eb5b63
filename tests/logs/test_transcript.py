from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from rich.console import Console

from logs import LogReader, LogWriter
from logs.rows import Turn
from logs.transcript import _escape, as_markdown, as_rich, as_text, read_transcript

TEXT = """\
clarq 1.0 (en), episode e0
  run run, repeat 0, attempt 0, seed 0
  seeker: script, provider: offline/experts
  begun {begun}

  0 provider  What can help you?
  1 seeker    Which wood?
              Oak?
  2 provider  Oak.

It ended aborted (seeker): left [early]
success 1, aql undefined
"""


def test_a_transcript_as_text(dialogue: LogWriter, reader: LogReader) -> None:
    transcript = read_transcript(reader, "e0")
    assert as_text(transcript) == TEXT.format(begun=transcript.episode.created_at)


def test_a_private_turn_is_shown_by_its_payload(
    writer: LogWriter, reader: LogReader, turn: Callable[..., Turn]
) -> None:
    writer.put(replace(turn(0, ""), payload={"kind": "note", "payload": {"hard": 3}})).result()
    transcript = read_transcript(reader, "e0")
    assert 'seeker  {"hard": 3}\n' in as_text(transcript)


def test_the_trace_says_why(dialogue: LogWriter, reader: LogReader) -> None:
    lines = [line.strip() for line in as_text(read_transcript(reader, "e0"), trace=True).splitlines()]
    assert "after 2.5 s" in lines
    assert 'give: ["1.2"]' in lines
    assert "reason: asks for the *wood*" in lines
    facts = "12 + 3 tokens, 0.4 s, $0.0012, token limit reached, reasoning “Oak or pine?”"
    assert f"asked openai/x for provider.type, {facts}: details" in lines
    assert "asked openai/x for judge, 3 attempts, error RateLimited" in lines
    assert not any(line.startswith(("guards", "seen")) for line in lines)


def test_what_is_said_in_markdown_stays_what_was_said(dialogue: LogWriter, reader: LogReader) -> None:
    page = as_markdown(read_transcript(reader, "e0"), trace=True)
    assert "**1 · seeker**\n\n> Which wood?  \n> Oak?" in page
    assert r"- reason: asks for the \*wood\*" in page


@given(st.text(st.sampled_from("ab 1.#-*_`<>&![]()|~$=+:/@\\\"'\n\twW"), max_size=40))
def test_no_text_becomes_markdown_or_html(text: str) -> None:
    quoted = "".join(f"> {line}  \n" for line in _escape(text).split("\n"))
    tokens = MarkdownIt("js-default").parse(quoted)
    assert {token.type for token in tokens} <= {
        "blockquote_open",
        "blockquote_close",
        "paragraph_open",
        "paragraph_close",
        "inline",
    }
    inline = [child for token in tokens for child in token.children or []]
    assert {child.type for child in inline} <= {"text", "text_special", "softbreak", "hardbreak"}
    shown = "".join(child.content for child in inline if child.content)
    assert "".join(shown.split()) == "".join(text.split())


def test_what_people_type_cannot_steer_the_terminal(
    writer: LogWriter, reader: LogReader, turn: Callable[..., Turn]
) -> None:
    writer.put(turn(0, "\x1b[2Jgone \x07 [red]not red[/red] \x9b31m")).result()
    transcript = read_transcript(reader, "e0")
    out = io.StringIO()
    Console(file=out, force_terminal=True, width=100, color_system=None).print(
        as_rich(transcript, trace=True)
    )
    for shown in (out.getvalue(), as_text(transcript), as_markdown(transcript)):
        assert "\x1b" not in shown and "\x07" not in shown and "\x9b" not in shown
    assert "␛[2Jgone ␇ [red]not red[/red]" in out.getvalue()


def test_an_episode_that_goes_on_says_so(writer: LogWriter, reader: LogReader) -> None:
    assert "It has not ended." in as_text(read_transcript(reader, "e1"))
