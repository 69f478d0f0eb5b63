"""The browser's calls: starting an episode, moving, and refusals."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs, urlparse

import pytest
from fake_sessions import front
from visiting import invitation_to, take_seat

from ui.actions import Actions
from ui.tokens import Pass, Signer, TokenError

START = {
    "benchmark": "handmethat",
    "seat": "robot",
    "item_language": "en",
    "others": {"human": "offline/giver"},
    "rules": {"mode": "partial"},
}


async def begin(actions: Actions, **wishes: Any) -> dict[str, Any]:
    """An episode; returns what every later call of its page says."""
    answer = await actions.start(START | wishes)
    return {"path": "/play", "query": urlparse(answer["go"]).query, "language": "en"}


def turn(page: dict[str, Any], number: int, text: str) -> dict[str, Any]:
    return page | {"render": "render-one", "number": number, "text": text}


def seat_of(actions: Actions, page: dict[str, Any]) -> Pass:
    return actions.signer.read(parse_qs(page["query"])["t"][0])


async def test_an_episode_begins_and_shows_itself(actions: Actions) -> None:
    page = await begin(actions, rules={"level": 2})
    seat = seat_of(actions, page)
    assert (seat.seat, seat.benchmark, seat.person_opposite) == ("robot", "handmethat", False)
    html = (await actions.page(page))["html"]
    assert "You are the robot" in html
    state = await actions.state(parse_qs(page["query"])["t"][0])
    assert state == {"number": 1, "my_turn": True, "ended": False, "trouble": False, "stage": "task"}


async def test_invalid_text_costs_a_move_and_changes_nothing(actions: Actions) -> None:
    page = await begin(actions)
    answer = await actions.send(turn(page, 1, "fly to the moon"))
    assert answer["accepted"]
    assert "Moves: 1 of 40" in answer["html"]
    empty = await actions.send(turn(page, 2, "  "))
    assert not empty["accepted"]


async def test_two_people_get_a_link_each(actions: Actions) -> None:
    page = await begin(actions, others={"human": "person"})
    guest = await take_seat(actions, await invitation_to(actions, page), language="zh")
    seat = seat_of(actions, guest)
    assert seat == Pass(
        seat_of(actions, page).episode_id, "human", True, False, "handmethat", holder=seat.holder
    )
    assert "您是人" in (await actions.page(guest))["html"]
    await actions.send(turn(page, 1, "which one?"))
    assert "which one?" in (await actions.page(guest))["html"]
    assert (await actions.send(turn(guest, 2, "the left one")))["accepted"]
    assert "the left one" in (await actions.page(page))["html"]


async def test_the_human_can_be_played_too(actions: Actions) -> None:
    page = await begin(actions, seat="human", others={"robot": "offline/expert"})
    assert "That was it" in (await actions.page(page))["html"]


async def test_the_other_benchmarks_link_opens_nothing_here(actions: Actions) -> None:
    page = await begin(actions)
    seat = seat_of(actions, page)
    wrong = actions.signer.sign(Pass(seat.episode_id, "seeker"))
    answer = await actions.page({"path": "/play", "query": f"t={wrong}", "language": "en"})
    assert "You are the robot" not in answer["html"]
    human = Signer(b"guessed").sign(Pass(seat.episode_id, "human", benchmark="handmethat"))
    refused = await actions.page({"path": "/play", "query": f"t={human}", "language": "en"})
    assert "This link does not work" in refused["html"]


async def test_a_start_that_fails_says_why(actions: Actions) -> None:
    refused = await actions.start(START | {"others": {"human": "replay/x"}})
    assert "cannot take this seat" in refused["problem"]
    assert "mode" in (await actions.start(START | {"rules": {"mode": "dark"}}))["problem"]


async def test_the_entry_and_the_home_page(actions: Actions) -> None:
    entry = (await actions.page({"path": "/handmethat", "language": "en"}))["html"]
    assert "Which one did you mean?" in entry
    home = (await actions.page({"path": "/", "language": "en"}))["html"]
    assert 'href="/handmethat"' in home


async def test_handmethat_can_be_left_out() -> None:
    signer = Signer(b"x")
    bare = Actions(signer, front(signer))
    assert "/handmethat" not in (await bare.page({"path": "/", "language": "en"}))["html"]
    assert "not available" in (await bare.start(START))["problem"]
    token = signer.sign(Pass("an/episode", "robot", benchmark="handmethat"))
    page = await bare.page({"path": "/play", "query": f"t={token}", "language": "en"})
    assert "This link does not work" in page["html"]
    with pytest.raises(TokenError, match="not served"):
        await bare.state(token)
