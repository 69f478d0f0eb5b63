"""The pages' markup: the content for each seat in both languages, without anything it must not see."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from visiting import Page as Reader

from simulator.blocks import Card
from simulator.drawn_blocks import Amounts
from simulator.handmethat import show
from simulator.handmethat.data import load_tasks
from simulator.handmethat.machine import MACHINE
from simulator.handmethat.meanings.render import render_meaning
from simulator.handmethat.playing import Play, Posed, bare_question
from simulator.handmethat.reveal import Replay, counts_card, percent, result
from simulator.handmethat.sessions import HandMeThatSessions
from simulator.plan_blocks import Menu, Places, Suggestions
from simulator.runner.machines import SeatPage
from simulator.seats import Reply
from ui.declared.actions import DeclaredActions
from ui.declared.pages import end_page, entry_page, task_page
from ui.declared.study import Invitation, Notice
from ui.i18n import declared_texts, strings
from ui.render import Frame
from ui.tokens import Signer

OTHERS = {"human": "offline/giver"}
EVIL = "\"'><img src=x onerror=alert(1)>{{7*7}}</textarea><script>alert(2)</script>"


class Page(Reader):
    """A page whose tags are looked up by their attributes."""

    def with_(self, name: str) -> list[dict[str, str | None]]:
        """The attributes of every tag that has the attribute `name`."""
        return [attrs for _, attrs in self.tags if name in attrs]


@pytest.fixture
def served(sessions: HandMeThatSessions) -> DeclaredActions:
    return DeclaredActions(sessions, Signer(b"x"))


def frame(language: str = "en") -> Frame:
    return Frame(strings(language), "/play", "t=abc", "/research", "", ())


async def begin(
    sessions: HandMeThatSessions, language: Any = "en", others: Any = OTHERS, **rules: Any
) -> Any:
    id = await sessions.start(seat="robot", others=others, rules=rules, language=language)
    return await sessions.view(id, "robot")


async def in_the_papers_protocol(sessions: HandMeThatSessions) -> Any:
    seats = {"robot": "person", "human": "offline/giver"}
    id = await sessions.start_item(Posed(sessions.tasks[0], "en"), seats, {"protocol": "paper"})
    return await sessions.view(id, "robot")


async def do(sessions: HandMeThatSessions, view: Any, text: str) -> Any:
    reply = Reply(text=text, key=f"k{view.number}")
    return await sessions.submit(view.episode_id, view.seat, reply, number=view.number)


def playing(
    served: DeclaredActions, view: SeatPage, language: str = "en", invitations: Any = None, **more: Any
) -> str:
    """Return the page of an ongoing episode."""
    return task_page(served.page_context(frame(language), view, **more), invitations or {})


def ended(served: DeclaredActions, view: SeatPage, result: Any, language: str = "en") -> str:
    """The page of an episode that has ended."""
    return end_page(served.page_context(frame(language), view), served.benchmark, result)


def item_of(sessions: HandMeThatSessions, id: str) -> Posed:
    """Return the item of an episode."""
    return MACHINE.read_item(sessions._reader.item(sessions._reader.episode(id).item_hash))


def replay_of(sessions: HandMeThatSessions, id: str) -> Replay:
    """Return everything that was hidden in an episode."""
    return MACHINE.replay(item_of(sessions, id), sessions._reader.turns(id), ())


def block(view: SeatPage, kind: Any) -> Any:
    return next((block for block in view.blocks if isinstance(block, kind)), None)


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("mode", ["partial", "full"])
async def test_the_robots_page_offers_every_command_once(
    sessions: HandMeThatSessions, served: DeclaredActions, mode: str, language: str
) -> None:
    view = await begin(sessions, language, mode=mode)
    page = Page(playing(served, view, language))
    buttons = [attrs["data-command"] for attrs in page.with_("data-command")]
    offers = [offer.text for offer in block(view, Suggestions).offers]
    questions = {offer.text for offer in block(view, Menu).offers}
    drawn = set(offers) - questions - {"look", "stop", "move to floor"}
    assert drawn <= set(buttons)
    assert set(buttons) <= drawn | questions | {"move to floor"}
    assert page.attributes("data-closing")["data-closing"] == "stop"
    options = [attrs["data-text"] for tag, attrs in page.tags if attrs.get("role") == "option"]
    assert options == offers


@pytest.mark.parametrize("language", ["en", "zh"])
async def test_ids_are_unique_and_references_lead_somewhere(
    sessions: HandMeThatSessions, served: DeclaredActions, language: str
) -> None:
    view = await begin(sessions, language, mode="full")
    page = Page(playing(served, view, language, {"human": Invitation("/play?t=x", True)}))
    page.check_references()
    ids = [attrs["id"] for attrs in page.with_("id")]
    used = {attrs["href"][1:] for tag, attrs in page.tags if tag == "use"}
    assert used <= set(ids)


async def test_the_answer_is_also_at_the_reply_box_since_a_phone_shows_the_dialogue_far_below(
    sessions: HandMeThatSessions, served: DeclaredActions
) -> None:
    view = await begin(sessions)
    assert "pl-latest" not in playing(served, view), "the instruction is drawn"
    view = await do(sessions, view, "Which color do you like?")
    assert f">{view.moves[-1].text}</p>" in playing(served, view).partition('class="pl-latest"')[2]


async def test_questions_show_their_price(sessions: HandMeThatSessions, served: DeclaredActions) -> None:
    view = await begin(sessions)
    html = playing(served, view)
    for question in block(view, Menu).offers:
        assert f"{question.price.fields['cost']} points" in html
    assert "costs 10 points for each thing" in " ".join(html.split())
    assert "at most 5 things at once" in " ".join(html.split())
    shown = playing(served, await in_the_papers_protocol(sessions))
    assert "pl-question" not in shown and "Command or question" in html and "Command or question" not in shown
    assert "Paper’s study" in shown


async def test_partial_pages_contain_only_what_the_robot_sees(
    sessions: HandMeThatSessions, served: DeclaredActions
) -> None:
    view = await begin(sessions, mode="partial")
    page = Page(playing(served, view))
    here = next(place for place in block(view, Places).places if place.here)
    seen = {thing.name for thing in visible(pile for _, piles in here.groups for pile in piles)}
    assert {attrs["data-thing"] for attrs in page.with_("data-thing")} == seen
    assert [attrs["data-panel"] for attrs in page.with_("data-panel")] == [here.name]


def visible(piles: Any) -> list[Any]:
    return [part for pile in piles or () for thing in pile.things for part in (thing, *visible(thing.piles))]


async def test_a_waiting_page_offers_nothing_to_do(
    sessions: HandMeThatSessions, served: DeclaredActions
) -> None:
    view = await begin(sessions, others={"human": "person"})
    view = await do(sessions, view, "which one?")
    assert not view.my_turn
    invitations = {"human": Invitation("/play?t=x", False)}
    page = Page(playing(served, view, invitations=invitations, notice=Notice("moved on", "problem")))
    offered = page.with_("data-command")
    assert {attrs["class"] for attrs in offered} == {"pl-question"}
    assert all("data-needs-turn" in attrs for attrs in offered)
    assert "Waiting for: Human" in page.texts
    human = await sessions.view(view.episode_id, "human")
    task = item_of(sessions, view.episode_id).task
    for language in ("en", "zh"):
        text = "".join(Page(playing(served, human, language)).texts)
        assert text.count(render_meaning(task.world, task.meaning, "en")) == 1
    assert "which one?" in "".join(Page(playing(served, human)).texts)
    idle = await do(sessions, human, "the left one")
    assert "Waiting for: Robot" in Page(playing(served, idle)).texts


async def test_what_people_typed_is_shown_as_typed(
    sessions: HandMeThatSessions, served: DeclaredActions
) -> None:
    view = await do(sessions, await begin(sessions), EVIL)
    page = Page(playing(served, view, invitations={"human": Invitation(EVIL, True)}, notice=Notice(EVIL)))
    assert any(EVIL in text for text in page.texts)
    assert not [tag for tag, _ in page.tags if tag in ("script", "img")]
    assert not [name for _, attrs in page.tags for name in attrs if name.startswith("on")]


async def ended_with_stop(sessions: HandMeThatSessions, language: Any = "en") -> tuple[SeatPage, Replay]:
    view = await do(sessions, await begin(sessions, language), "stop")
    return view, replay_of(sessions, view.episode_id)


@pytest.mark.parametrize("language", ["en", "zh"])
async def test_the_result_shows_the_meaning(
    sessions: HandMeThatSessions, served: DeclaredActions, language: Any
) -> None:
    view, replay = await ended_with_stop(sessions, language)
    page = Page(ended(served, view, await sessions.replay(view.episode_id, "robot"), language))
    page.check_references()
    words = "".join(page.texts)
    task = replay.play.task
    for phrase in (
        render_meaning(task.world, task.meaning, language),
        show.instruction_text(task, language),
        show.level_explanation(task, language),
        *task.demo,
        *show.goal_lines(task, language),
    ):
        assert phrase in words
    for meaning, chance in task.listener:
        assert render_meaning(task.world, meaning, language) in words
        assert percent(chance) in words


@pytest.mark.parametrize("language", ["en", "zh"])
async def test_the_human_s_result_shows_what_the_robot_did(
    sessions: HandMeThatSessions, served: DeclaredActions, language: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    view = await begin(sessions, language, others={"human": "person"})
    id = view.episode_id
    for text in ("dance", "question: where is it?"):
        view = await do(sessions, view, text)
    await do(sessions, await sessions.view(id, "human"), "over there")
    await do(sessions, await sessions.view(id, "robot"), "stop")
    own = declared_texts(sessions.benchmark, language)
    human = await sessions.view(id, "human")
    shown = "".join(Page(ended(served, human, await sessions.replay(id, "human"), language)).texts)
    for part in ("dance", own["result.did_failed"], "where is it?", "over there"):
        assert part.lower() in shown.lower()
    assert own["result.over_gave_up"] in shown
    replay = replay_of(sessions, id)
    early = replay._replace(steps=())
    shown = "".join(Page(ended(served, human, result(early, "human", in_study=False), language)).texts)
    assert own["result.over_early"] in shown
    assert own["result.did_nothing"] in shown
    view = await sessions.view(id, "robot")
    robots = "".join(Page(ended(served, view, await sessions.replay(id, "robot"), language)).texts)
    assert own["result.over_gave_up"] not in robots
    assert own["result.gave_up"] in robots
    assert own["result.failure"] not in robots
    monkeypatch.setattr(Play, "carried_out", lambda self, outcome: True)
    shown = "".join(Page(ended(served, human, result(replay, "human", in_study=False), language)).texts)
    start, end = own["result.over_stopped"].split("{deed}")
    assert start in shown
    assert end in shown


async def test_in_a_study_the_answer_is_folded_away(
    sessions: HandMeThatSessions, served: DeclaredActions
) -> None:
    view, replay = await ended_with_stop(sessions)
    shown = result(replay, "robot", in_study=True)
    folded = [block for block in shown.blocks if isinstance(block, Card) and block.folded]
    page = ended(served, replace(view, study=True), shown)
    meant = render_meaning(replay.play.task.world, replay.play.task.meaning, "en")
    assert len(folded) == 1 and page.index("What was meant, and why") < page.index(meant)
    assert page.index("<details") < page.index(meant)
    assert meant not in ended(served, replace(view, study=True), None)


@pytest.mark.each(
    ("chance", "expected"),
    [(1.0, "100 %"), (0.312, "31 %"), (0.0034, "0.3 %"), (0.0002, "< 0.1 %"), (0.0, "0 %")],
)
def test_probabilities_for_people(chance: float, expected: str) -> None:
    assert percent(chance) == expected


def test_counts_on_one_scale() -> None:
    task = load_tasks()[0]
    pair = task.in_meaning[:1]
    sized = replace(task, in_meaning=pair * 2, in_utterance=pair * 20, useful=pair * 10, in_heard=())
    (bars,) = counts_card(sized).blocks
    assert isinstance(bars, Amounts)
    assert [(row.name.name[-1], row.value, row.share) for row in bars.rows] == [  # type: ignore[union-attr]
        ("g", "10", 0.5),
        ("u", "20", 1.0),
        ("r", "0", 0.015),
        ("m", "2", 0.1),
    ]


@pytest.mark.each("text", ["question: which one", "Question:which one", "提问：which one", "which one"])
def test_questions_are_shown_without_their_prefix(text: str) -> None:
    assert bare_question(text) == "which one"


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_entry_names_all_players(
    sessions: HandMeThatSessions, served: DeclaredActions, language: str
) -> None:
    page = Page(entry_page(frame(language), served.link, sessions, ()))
    page.check_references()
    values = {(attrs.get("name"), attrs.get("value")) for tag, attrs in page.tags if tag == "input"}
    for seat in ("robot", "human"):
        assert {(f"opposite-{seat}", who.name) for who in sessions.opponents(seat)} <= values
    assert {("rule-mode", f'"{mode}"') for mode in ("partial", "full")} <= values
    assert {("language", spoken) for spoken in ("en", "zh")} <= values
    levels = {attrs.get("value") for tag, attrs in page.tags if tag == "option"}
    assert levels == {"", "1", "2", "3", "4"}


def test_both_languages_have_the_same_words(sessions: HandMeThatSessions) -> None:
    english, chinese = (declared_texts(sessions.benchmark, language) for language in ("en", "zh"))
    assert set(english) == set(chinese)
    for name, text in english.items():
        assert set(re.findall(r"{(\w+)}", text)) == set(re.findall(r"{(\w+)}", chinese[name])), name


def test_every_text_is_used(sessions: HandMeThatSessions) -> None:
    """Every text is used by the package, by a shared template, or for a name in the data."""
    package = Path(show.__file__).parent
    modules = "".join(path.read_text(encoding="utf-8") for path in package.glob("*.py"))
    made = re.findall(r'message\(f"([\w.]+?)\{', modules)
    shared = (
        "seat.",
        "you_are.",
        "play_as.",
        "entry.",
        "rule.",
        "how.",
        "player.",
        "send.",
        "hint.",
        "invite.",
    )
    shared += (
        "study.",
        "error.",
        "closing.",
        "refused.",
        "metric.",
        "instructions.",
        "title",
        "name",
        "card_",
        "summary",
    )
    names = set(declared_texts(sessions.benchmark, "en"))
    left = {name for name in names if not name.startswith((*made, *shared)) and f'"{name}"' not in modules}
    assert left - {f"result.{name}_note" for name in ("score", "moves", "questions", "raw_sum")} == set()
