"""Moves that are forms: built from a model, checked while they are filled in, and logged."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, Self

import pytest
from fake_sessions import front
from pydantic import BaseModel, Field, model_validator
from visiting import Page, ask_for_place, no_models, words

import askback
from logs import LogReader
from logs.transcript import read_transcript
from simulator import catalog
from simulator.benchmark import Due, Move, State
from simulator.blocks import Block, Heading, Meter, Talk, Text
from simulator.errors import InputError
from simulator.form_blocks import Checked, FieldProblem, Form, Part, Way, Ways
from simulator.form_blocks import Field as Input
from simulator.model_forms import form_of
from simulator.runner.machines import task_turns
from simulator.seats import Reply, ScriptSeat
from simulator.studies.declared import DeclaredSessions
from simulator.studies.files import read_study
from simulator.studies.material import DeclaredStudy
from ui import i18n
from ui.actions import Actions
from ui.declared.actions import DeclaredActions
from ui.render import move_in_words
from ui.research.address import Address
from ui.research.blocks import Visit
from ui.tokens import Signer

from .conftest import Player, begin

EVIL = "\"'><img src=x onerror=alert(1)>{{7*7}}"


class Opinion(BaseModel):
    """A form with a field of each kind."""

    reason: str = Field(min_length=1, max_length=300)
    points: Literal[1, 2, 3]
    marked: tuple[Literal["hard", "odd"], ...] = ()
    other: tuple[str, ...] = ()
    again: bool = False
    minutes: int | None = Field(None, ge=1)

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.points == 3 and "hard" in self.marked:
            raise ValueError("hard things have at most 2 points")
        return self


def rate(state: State[Any, Any]) -> Due | None:
    """A single move, which is a form."""
    return None if state.moves else Due("asker", "rate", form=Opinion)


def sheet(state: State[Any, Any], seat: str) -> Sequence[Block]:
    """A view whose dialogue comes after blocks of constant size."""
    chosen = Move("answerer", "rate", "hard", {"marked": "hard"})
    return [Heading("thing"), Meter("left", 1, 2), Talk((*state.moves, chosen)), Text("below")]


RATED = """
id: rated-asker
title: An opinion
benchmark: rated
seat: asker
setup: H2L
judgments_per_item: 1
completion_codes: {complete: RATED-DONE}
"""


KINDS = ("ready", "consent", "comment", "break", "debriefing", "questions_after", "comprehension_1")


@pytest.fixture
def rated(served: DeclaredActions, log: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Actions:
    """The same benchmark with a form instead of the game."""
    benchmark = replace(
        served.benchmark, name="rated", next_seat=rate, accept=None, view=sheet, reveal=None,
        outcome=lambda state: "completed", score=lambda state: {"success": 1.0, "questions": None},
    )  # fmt: skip
    monkeypatch.setitem(catalog._REGISTERED, "rated", benchmark)
    signer = Signer(b"a secret for tests")
    file = tmp_path / "rated.yaml"
    file.write_text(RATED, encoding="utf-8")
    sessions = DeclaredSessions(benchmark, *log, no_models, studies=[read_study(file)])
    served = {"rated": DeclaredActions(sessions, signer)}
    return Actions(signer, {**front(signer), **served})


async def test_a_form_is_built_from_a_model_checked_and_logged(
    rated: Actions, log: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    player = await begin(rated, benchmark="rated")
    page = Page(await player.look())
    page.check_references()
    kinds = {attrs["data-field"]: attrs["data-kind"] for _, attrs in page.tags if "data-field" in attrs}
    assert kinds == {
        "reason": "text", "points": "choice", "marked": "choices", "other": "lines", "again": "switch",
        "minutes": "whole",
    }  # fmt: skip
    wrong = {"reason": "", "points": None, "marked": ["hard"], "other": [], "again": True, "minutes": 0}
    answer = await rated.check_form(player.at | {"filled": wrong})
    assert {field: problems[0]["text"] for field, problems in answer["problems"].items()} == {
        "reason": "Please write something here.",
        "points": "Please choose one of the options.",
        "minutes": "This number is too small.",
    }
    assert answer["errors"] == 3 and answer["html"].strip() == ""
    zh = await rated.check_form(player.at | {"language": "zh", "filled": wrong})
    assert zh["problems"]["points"][0]["text"] == "请从选项中选择。"
    missing = (await rated.check_form(player.at | {"filled": {"minutes": None}}))["problems"]
    assert {field: problems[0]["text"] for field, problems in missing.items()} == {
        "reason": "Please fill this in.",
        "points": "Please fill this in.",
    }
    call = player.at | {"render": "render-00000", "number": 0}
    refused = await rated.send(call | {"filled": wrong})
    assert not refused["accepted"] and "Please correct the form" in words(refused["html"])
    assert list(log[1].turns(next(iter(log[1].episodes())).id)) == []
    filled = wrong | {"reason": EVIL, "points": "2", "minutes": None}
    assert (await rated.check_form(player.at | {"filled": filled}))["errors"] == 0
    sent = await rated.send(call | {"filled": filled, "keys_used": True})
    assert sent["accepted"] and "<img src=x" not in sent["html"]
    (turn,) = log[1].turns(next(iter(log[1].episodes())).id)
    assert turn.payload["payload"] == {
        "reason": EVIL, "points": 2, "marked": ["hard"], "other": [], "again": True, "minutes": None,
    }  # fmt: skip
    assert turn.text == f"{EVIL}, 2, hard, True"
    # Pages show what the form said, not bare values.
    texts, filled = i18n.strings("zh"), turn.payload["payload"]
    monkeypatch.setitem(texts.texts, "benchmark.rated.field.marked", "难处")
    monkeypatch.setitem(texts.texts, "benchmark.rated.field.marked.hard", "很难")
    assert move_in_words(texts, "benchmark.rated", turn.text, filled) == "\n".join(
        [f"Reason：{EVIL}", "Points：2", "难处：很难", "Again：是"]
    )
    episode = read_transcript(log[1], turn.episode_id)
    shown = Visit(i18n.strings("en"), Address(), None).render("episode_log", shown=episode, folded=False)
    assert "Marked: hard" in words(shown) and "Points: 2" in words(sent["html"])


async def test_an_invitation_is_possible_when_play_begins_with_a_form(rated: Actions) -> None:
    host = await begin(rated, benchmark="rated", others={"answerer": "person"})
    page = Page(await host.look())
    page.check_references()
    assert "data-link" in host.html and "data-reads" in host.html


async def test_the_form_page_stays_while_waiting_for_the_other_seat(rated: Actions) -> None:
    def next_seat(state: State[Any, Any]) -> Due | None:
        return rate(state) or (Due("answerer", "answer", ("yes", "no")) if len(state.moves) == 1 else None)

    object.__setattr__(rated.served["rated"].benchmark, "next_seat", next_seat)
    host = await begin(rated, benchmark="rated", others={"answerer": "person"})
    filled = {"reason": "so", "points": "2", "marked": [], "other": [], "again": False, "minutes": None}
    sent = await rated.send(host.at | {"render": "render-00000", "number": 0, "filled": filled})
    page = Page(sent["html"])
    page.check_references()
    assert "Waiting for: Answerer" in words(sent["html"]) and "fm-page" in sent["html"]
    assert page.attributes("data-my-turn")["data-my-turn"] == "0"
    assert "data-reads" not in sent["html"] and "textarea" not in sent["html"]


def test_an_unsupported_field_is_named() -> None:
    class Nested(BaseModel):
        opinion: Opinion

    with pytest.raises(InputError, match="opinion: a form can have texts"):
        form_of(Nested)


async def test_a_study_whose_first_move_is_a_form_can_be_played(rated: Actions) -> None:
    entered = await ask_for_place(rated, "rated-asker", "pid-1")
    player = Player(rated, entered["go"])
    assert "data-reads" not in await player.look()
    await player.say("yes")
    assert "st-instructions" in player.html and "data-reads" not in player.html
    await player.say("ready")
    assert "data-reads" in player.html
    Page(player.html).check_references()
    filled = {"reason": "so", "points": "1", "marked": [], "other": [], "again": False, "minutes": None}
    await rated.send(player.at | {"render": "render-00009", "number": 2, "filled": filled})
    assert "RATED-DONE" in await player.look()


async def test_a_move_may_have_the_name_of_a_study_step(
    rated: Actions, log: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def all_kinds(state: State[Any, Any]) -> Due | None:
        count = len(state.moves)
        return Due("asker", KINDS[count], ("no", "yes")) if count < len(KINDS) else None

    object.__setattr__(rated.served["rated"].benchmark, "next_seat", all_kinds)
    entered = await ask_for_place(rated, "rated-asker", "pid-1")
    player = Player(rated, entered["go"])
    await player.look()
    for text in ("yes", "ready", *("no" for _ in KINDS)):
        await player.say(text)
    assert "RATED-DONE" in player.html
    (episode,) = log[1].episodes()
    assert log[1].ending(episode.id).status == "completed"
    moves = task_turns(log[1].turns(episode.id))
    assert tuple((turn.payload["kind"], turn.text) for turn in moves) == tuple((kind, "no") for kind in KINDS)


async def test_a_sheet_keeps_the_order_of_its_view_and_labels_choices(
    rated: Actions, monkeypatch: pytest.MonkeyPatch
) -> None:
    player = await begin(rated, benchmark="rated")
    monkeypatch.setitem(i18n.strings("en").texts, "benchmark.rated.field.marked.hard", "Hard to say")
    monkeypatch.setitem(i18n.strings("en").texts, "benchmark.rated.choice.odd", "Any odd one")
    shown = words(await player.look())
    assert "Any odd one" in shown
    assert (
        re.search(r"thing .*1 of 2.* Hard to say .*below", shown) and " hard " not in shown.split("below")[0]
    )


async def test_ways_need_no_texts_and_the_start_page_knows_the_seat(rated: Actions) -> None:
    form = Form([Ways([Way(name, [Input(name, "line")]) for name in ("reason", "other")])])
    object.__setattr__(rated.served["rated"].benchmark, "view", lambda state, seat: [form])
    shown = await (await begin(rated, benchmark="rated")).look()
    assert re.search("reason reason Send other other Send", words(shown))
    assert 'data-role="Asker"' in shown  # for the list on the home page


def test_a_way_needs_a_field_of_its_name() -> None:
    assert Way("ask", [Part("", [Input("ask", "line")])]).name == "ask"
    with pytest.raises(ValueError, match=r"way 'skip': its blocks lack the field 'skip'.*add it"):
        Way("skip", [Input("why", "line")])


async def test_a_rule_over_several_fields_is_reported_at_the_end_of_the_form(
    rated: Actions, monkeypatch: pytest.MonkeyPatch
) -> None:
    player = await begin(rated, benchmark="rated")
    page = Page(await player.look())
    assert "role" in page.attributes("data-whole")
    filled = {"reason": "so", "points": "3", "marked": ["hard"], "other": [], "again": False, "minutes": None}
    answer = await rated.check_form(player.at | {"filled": filled})
    assert answer["problems"] == {"": [{"text": "hard things have at most 2 points", "level": "error"}]}
    assert answer["errors"] == 1
    zh = i18n.strings("zh")
    monkeypatch.setitem(zh.phrases, "hard things have at most 2 points", "难的最多两分")
    answer = await rated.check_form(player.at | {"language": "zh", "filled": filled})
    assert answer["problems"][""][0]["text"] == "难的最多两分"


async def test_the_rules_of_the_model_and_the_check_of_a_form_of_ones_own_are_both_reported(
    rated: Actions,
) -> None:
    low = FieldProblem("minutes", "low", "must fit the points")
    fields = [Input("reason", "text"), Input("points", "choice"), Input("minutes", "whole")]
    filled = {"reason": "so", "points": "3", "marked": ["hard"], "minutes": 1}
    together = "hard things have at most 2 points"
    for check, problems in (
        (None, {"": together}),
        (lambda *_: Checked([low]), {"": together, "minutes": low.text}),
    ):
        view = [Form(fields, check)]
        object.__setattr__(rated.served["rated"].benchmark, "view", lambda state, seat, view=view: view)
        player = await begin(rated, benchmark="rated")
        await player.look()
        answer = await rated.check_form(player.at | {"filled": filled})
        assert {field: each["text"] for field, (each,) in answer["problems"].items()} == problems


async def test_what_a_seat_notes_in_private_is_in_no_dialogue(rated: Actions) -> None:
    def next_seat(state: State[Any, Any]) -> Due | None:
        return rate(state) or (Due("answerer", "answer") if len(state.moves) == 1 else None)

    def accept(state: State[Any, Any], due: Due, reply: Reply) -> Move:
        return Move(due.seat, due.kind, "", reply.move or {})

    for name, value in {"next_seat": next_seat, "accept": accept, "view": None}.items():
        object.__setattr__(rated.served["rated"].benchmark, name, value)
    player = await begin(rated, benchmark="rated", others={"answerer": "person"})
    filled = {
        "reason": "my secret",
        "points": "2",
        "marked": [],
        "other": [],
        "again": False,
        "minutes": None,
    }
    sent = await rated.send(player.at | {"render": "render-00000", "number": 0, "filled": filled})
    assert sent["accepted"] and "my secret" not in sent["html"] and "ab-bubble" not in sent["html"]


class Easy(BaseModel, extra="forbid"):
    """A form that may be left as it is."""

    points: int = Field(1, ge=0)
    minutes: int = Field(1, ge=0)


@pytest.mark.parametrize(
    ("reply", "problem"),
    [
        (Reply(move={"ponts": 2}), "unknown key 'ponts'"),
        ("Two points.", "The asker said 'Two points.' instead of values for the form: points, minutes."),
        (
            Reply(move={"points": -1, "minutes": -2}),
            "points is -1; it must be greater than or equal to 0; "
            "minutes is -2; it must be greater than or equal to 0",
        ),
    ],
)
def test_what_is_no_form_is_not_replaced_by_defaults(
    served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reply: Any, problem: str
) -> None:
    monkeypatch.setattr(catalog, "_REGISTERED", {})

    def rate(state: State[Any, Any]) -> Due | None:
        return None if state.moves else Due("asker", "rate", form=Easy)

    benchmark = replace(served.benchmark, name="easy", next_seat=rate, accept=None)
    path = tmp_path / "easy.sqlite"
    run = askback.run(benchmark, asker=ScriptSeat(lambda view: reply), limit=1, log=path)
    with LogReader(path) as reader:
        (ending,) = [reader.ending(each.id) for each in reader.episodes(run)]
    assert (ending.status, ending.message) == ("aborted", problem)


def test_a_study_has_the_items_in_the_languages_of_its_pages(served, tmp_path: Path) -> None:
    class Rose(BaseModel):
        name: str
        language: str

    def cells(more: str = "") -> tuple[Any, ...]:
        file = tmp_path / "roses.yaml"
        file.write_text(RATED.replace("rated\n", "roses\n") + more, "utf-8")
        return tuple(DeclaredStudy(benchmark, read_study(file)).cells)

    roses = [Rose(name=name, language=name) for name in ("en", "zh")]
    benchmark = replace(served.benchmark, name="roses", item=Rose, load=lambda data: roses)
    assert cells() == (("en",),)
    assert cells("settings: {languages: [en, zh]}") == (("en",), ("zh",))
    assert cells("conditions: [zh]") == (("zh",),)
    roses.pop(0)
    with pytest.raises(InputError, match=r"no item is in a language of its pages \(en\)"):
        cells()


async def test_closing_words_need_no_further_texts(rated: Actions) -> None:
    asked = Due("asker", "ask", closing="That is all.")
    object.__setattr__(rated.served["rated"].benchmark, "next_seat", lambda state: asked)
    player = await begin(rated, benchmark="rated")
    page = Page(await player.look())
    assert page.attributes("data-closing")["data-closing"] == "That is all."
    assert "Say “That is all.”?" in words(player.html)
