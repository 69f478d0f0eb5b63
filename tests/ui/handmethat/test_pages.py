"""The pages' markup: what each seat sees, in both languages, and what it must not see."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import pytest
from texts import texts_of, unused
from visiting import Page as Reader

from simulator.handmethat.sessions import HandMeThatSessions
from simulator.handmethat.views import LineView, Reading, RobotView
from simulator.seats import Reply
from ui.handmethat.actions import HouseholdActions
from ui.handmethat.entry import LINK, entry_page
from ui.handmethat.play import asked, spoken
from ui.handmethat.result import bars, narrowings, percent
from ui.i18n import strings
from ui.render.frame import Frame
from ui.render.play import Company, Invitation, Notice
from ui.study.pages import Here
from ui.tokens import Signer

SEATS = {"robot": "person", "human": "offline/giver"}
EVIL = "\"'><img src=x onerror=alert(1)>{{7*7}}</textarea><script>alert(2)</script>"


class Page(Reader):
    """A page whose tags are looked up by their attributes."""

    def with_(self, name: str) -> list[dict[str, str | None]]:
        """The attributes of every tag that has the attribute `name`."""
        return [attrs for _, attrs in self.tags if name in attrs]


ACTIONS = HouseholdActions(cast(HandMeThatSessions, None), Signer(b"x"))


def frame(language: str = "en") -> Frame:
    return Frame(strings(language), "/play", "t=abc", "/research", "", (LINK,))


async def begin(sessions: HandMeThatSessions, language: Any = "en", **options: Any) -> RobotView:
    id = await sessions.start(task_id=None, language=language, seats=SEATS, options=options)
    view = await sessions.view(id, "robot")
    assert isinstance(view, RobotView)
    return view


async def do(sessions: HandMeThatSessions, view: Any, text: str) -> Any:
    reply = Reply(text=text, key=f"k{view.number}")
    return await sessions.submit(view.episode_id, view.seat, reply, number=view.number)


def robot(view: RobotView, language: str = "en", **more: Any) -> str:
    return playing(view, language, **more)


def playing(view: Any, language: str = "en", company: Company | None = None, **more: Any) -> str:
    """The page of an episode that is going on."""
    return ACTIONS.play_page(frame(language), Here(view=view, **more), company or Company())


def ended(view: Any, replay: Any, language: str = "en") -> str:
    """The page of an episode that has ended."""
    return ACTIONS.end_page(frame(language), Here(view=view), replay)


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("mode", ["partial", "full"])
async def test_the_robots_page_offers_every_command_once(
    sessions: HandMeThatSessions, mode: str, language: str
) -> None:
    view = await begin(sessions, language, mode=mode)
    page = Page(robot(view, language))
    buttons = [attrs["data-command"] for attrs in page.with_("data-command")]
    drawn = {one.text for one in view.commands if one.verb not in ("look",)} - {"move to floor"}
    assert drawn <= set(buttons)
    assert set(buttons) <= drawn | {question.text for question in view.questions} | {"move to floor"}
    options = [attrs["data-text"] for tag, attrs in page.tags if attrs.get("role") == "option"]
    assert options == [one.text for one in (*view.commands, *view.questions)]


@pytest.mark.parametrize("language", ["en", "zh"])
async def test_ids_are_unique_and_references_lead_somewhere(
    sessions: HandMeThatSessions, language: str
) -> None:
    view = await begin(sessions, language, mode="full")
    page = Page(robot(view, language, company=Company(True, Invitation("/play?t=x", True))))
    ids = [attrs["id"] for attrs in page.with_("id")]
    assert len(ids) == len(set(ids))
    for name in ("aria-controls", "aria-describedby", "for"):
        assert {attrs[name] for attrs in page.with_(name)} <= set(ids)
    used = {attrs["href"][1:] for tag, attrs in page.tags if tag == "use"}
    assert used <= set(ids)


async def test_questions_show_their_price(sessions: HandMeThatSessions) -> None:
    view = await begin(sessions)
    html = robot(view)
    for question in view.questions:
        assert f"{question.cost} points" in html
    shown = robot(await begin(sessions, protocol="paper"))
    assert "hm-question" not in shown
    assert "Paper’s study" in shown


async def test_partial_pages_hold_nothing_that_the_robot_does_not_see(
    sessions: HandMeThatSessions,
) -> None:
    view = await begin(sessions, mode="partial")
    everything = await begin(sessions, mode="full")
    assert everything.places
    page = Page(robot(view))
    here = next(place for place in view.places if place.here)
    seen = {one.name for one in visible(here.contents)}
    assert {attrs["data-thing"] for attrs in page.with_("data-thing")} == seen
    assert [attrs["data-panel"] for attrs in page.with_("data-panel")] == [here.name]


def visible(things: Any) -> list[Any]:
    return [one for thing in things or () for one in (thing, *visible(thing.contents))]


async def test_a_waiting_page_offers_nothing_to_do(sessions: HandMeThatSessions) -> None:
    seats = {"robot": "person", "human": "person"}
    id = await sessions.start(task_id=None, language="en", seats=seats)
    view = await do(sessions, await sessions.view(id, "robot"), "which one?")
    assert not view.my_turn
    company = Company(True, Invitation("/play?t=x", False))
    page = Page(robot(view, company=company, notice=Notice("moved on", "problem")))
    offered = page.with_("data-command")
    assert {attrs["class"] for attrs in offered} == {"hm-question"}
    assert all("data-needs-turn" in attrs for attrs in offered)
    assert "Waiting for the human …" in page.texts
    human = await sessions.view(id, "human")
    for language in ("en", "zh"):
        shown = playing(human, language, company)
        assert human.meaning in "".join(Page(shown).texts)
    assert "which one?" in "".join(Page(playing(human)).texts)
    idle = await do(sessions, human, "the left one")
    assert "Watch the robot." in playing(idle)


async def test_what_people_typed_is_shown_as_typed(sessions: HandMeThatSessions) -> None:
    view = await do(sessions, await begin(sessions), EVIL)
    page = Page(robot(view, notice=Notice(EVIL), company=Company(True, Invitation(EVIL, True))))
    assert any(EVIL in text for text in page.texts)
    assert not [tag for tag, _ in page.tags if tag in ("script", "img")]
    assert not [name for _, attrs in page.tags for name in attrs if name.startswith("on")]


@pytest.mark.parametrize("language", ["en", "zh"])
async def test_the_result_tells_what_was_meant(sessions: HandMeThatSessions, language: Any) -> None:
    view = await do(sessions, await begin(sessions, language), "stop")
    replay = await sessions.replay(view.episode_id, "robot")
    page = Page(ended(view, replay, language))
    words = "".join(page.texts)
    for told in (replay.meaning, replay.instruction, replay.why, *replay.demo, *replay.goal):
        assert told in words
    assert len([attrs for attrs in page.with_("class") if attrs["class"] == "hm-percent"]) == len(
        [one for one in replay.readings if one.probability is not None]
    )


@pytest.mark.parametrize("language", ["en", "zh"])
async def test_who_gave_the_instruction_is_told_what_the_robot_did(
    sessions: HandMeThatSessions, language: Any
) -> None:
    id = await sessions.start(task_id=None, language=language, seats={"robot": "person", "human": "person"})
    view = await sessions.view(id, "robot")
    for text in ("dance", "question: where is it?"):
        view = await do(sessions, view, text)
    await do(sessions, await sessions.view(id, "human"), "over there")
    await do(sessions, await sessions.view(id, "robot"), "stop")
    human, replay = await sessions.view(id, "human"), await sessions.replay(id, "human")
    texts = strings(language)
    told = "".join(Page(ended(human, replay, language)).texts)
    for part in ("dance", texts("household.result.did_failed"), "where is it?", "over there"):
        assert part.lower() in told.lower()
    assert texts("household.result.over_gave_up") in told
    stopped = replace(replay, over="stopped", carried_out="Give it away", deeds=())
    told = "".join(Page(ended(human, stopped, language)).texts)
    assert texts("household.result.over_stopped", deed="Give it away") in told
    assert texts("household.result.did_nothing") in told
    view = await sessions.view(id, "robot")
    own = "".join(Page(ended(view, replay, language)).texts)
    assert texts("household.result.over_gave_up") not in own


async def test_the_price_rule_is_told(sessions: HandMeThatSessions) -> None:
    page = robot(await begin(sessions))
    assert "costs 10 points for each thing" in " ".join(page.split())
    assert "no more than 5 things at once" in " ".join(page.split())


async def test_in_a_study_the_answer_is_folded_away(sessions: HandMeThatSessions) -> None:
    view = await do(sessions, await begin(sessions), "stop")
    replay = await sessions.replay(view.episode_id, "robot")
    page = ended(replace(view, study=True), replay)
    assert page.index("What was meant, and why") < page.index(replay.meaning)
    assert replay.meaning not in ended(replace(view, study=True), None)


def test_readings_as_bars() -> None:
    def reading(chance: float | None, **more: bool) -> Reading:
        return Reading(text="x", probability=chance, objects=1, **({"meant": False, "heard": False} | more))

    found = bars((reading(0.5, heard=True), reading(0.25, meant=True), reading(None)))
    assert [(one.width, one.percent) for one in found] == [(100.0, "50 %"), (50.0, "25 %")]
    assert bars(()) == []


@pytest.mark.each(
    ("chance", "said"),
    [(1.0, "100 %"), (0.312, "31 %"), (0.0034, "0.3 %"), (0.0002, "< 0.1 %"), (0.0, "0 %")],
)
def test_probabilities_for_people(chance: float, said: str) -> None:
    assert percent(chance) == said


def test_counts_on_one_scale() -> None:
    found = narrowings({"meaning": 2, "utterance": 20, "goal": 10, "heard": 0, "useful_in_utterance": 3})
    assert [(one.key, one.count, one.width) for one in found] == [
        ("g", 10, 50.0),
        ("u", 20, 100.0),
        ("r", 0, 1.5),
        ("m", 2, 10.0),
    ]


@pytest.mark.each("text", ["question: which one", "Question:which one", "提问：which one", "which one"])
def test_questions_read_without_their_mark(text: str) -> None:
    assert asked(text) == "which one"
    assert spoken(LineView(seat="robot", text=text, kind="question")) == "which one"
    assert spoken(LineView(seat="robot", text="question: x", kind="command")) == "question: x"


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_entry_names_everybody(sessions: HandMeThatSessions, language: str) -> None:
    opponents = {seat: sessions.opponents(seat) for seat in ("robot", "human")}
    page = Page(entry_page(frame(language), (1, 2, 3, 4), opponents, ()))
    values = {(attrs.get("name"), attrs.get("value")) for tag, attrs in page.tags if tag == "input"}
    for seat, some in opponents.items():
        assert {(f"opposite-{seat}", one.name) for one in some} <= values
    assert {("level", str(level)) for level in (1, 2, 3, 4)} <= values
    ids = [attrs["id"] for attrs in page.with_("id")]
    assert len(ids) == len(set(ids))
    empty = entry_page(frame(language), (), opponents, ())
    assert strings(language)("household.home.no_episodes") in empty


def test_every_text_of_the_household_is_used() -> None:
    names = texts_of("household.", "research.household.")
    assert len(names) > 200
    # Made in Python: who sits opposite, the titles of the heat maps.
    made = ["household.name", "household.nav", "household.card_"]  # every room has them
    made += ["household.home.opponent.", "research.household.listener", "research.household.speaker"]
    assert unused(names, made) == []
