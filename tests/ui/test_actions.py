"""Calls of the browser: each with a good token, with a bad one, twice, too late."""

from __future__ import annotations

import re
from dataclasses import replace
from html import unescape
from typing import Any
from urllib.parse import parse_qs, urlparse

import pytest
from fake_sessions import SECRET, TREE, FakeSessions
from pydantic import ValidationError
from visiting import invitation_to, take_seat

from simulator.errors import InputError, SeatError, Trouble
from ui.actions import Actions
from ui.tokens import Pass, Signer, TokenError

START = {"benchmark": "clarq", "seat": "seeker", "others": {"provider": "offline/experts"}}


async def begin(actions: Actions, **wishes: Any) -> dict[str, Any]:
    """A dialogue; returns what every later call of its page says."""
    answer = await actions.start(START | wishes)
    return {"path": "/play", "query": urlparse(answer["go"]).query, "language": "en"}


def turn(page: dict[str, Any], number: int, text: str = "Which lantern?", **more: Any) -> dict[str, Any]:
    return page | {"render": "render-one", "number": number, "text": text} | more


def shown(html: str) -> dict[str, str]:
    root = html[html.index("data-page") :].partition(">")[0]
    return dict(re.findall(r'data-(number|my-turn|ended|trouble)="(\d+)"', root))


async def test_a_dialogue_begins_and_shows_itself(actions: Actions, sessions: FakeSessions) -> None:
    page = await begin(actions)
    (episode,) = sessions.episodes.values()
    assert list(episode.seats.items()) == [("seeker", "person"), ("provider", "offline/experts")]
    html = (await actions.page(page))["html"]
    assert shown(html) == {"number": "1", "my-turn": "1", "ended": "0", "trouble": "0"}


async def test_surprise_picks_a_task_of_the_language(actions: Actions, sessions: FakeSessions) -> None:
    await begin(actions, item_language="zh")
    assert next(iter(sessions.episodes.values())).language == "zh"


async def test_several_at_once_only_if_asked_for(actions: Actions, sessions: FakeSessions) -> None:
    await begin(actions)
    await begin(actions, rules={"multi": True})
    assert [episode.options for episode in sessions.episodes.values()] == [{}, {"multi": True}]


async def test_a_start_that_fails_says_why(actions: Actions, sessions: FakeSessions, monkeypatch) -> None:
    async def refuse(**_: Any) -> str:
        raise InputError("There is no task of level 7.", code="no_level", level=7)

    monkeypatch.setattr(sessions, "start", refuse)
    assert (await actions.start(START))["problem"] == "There is no task of level 7."
    chinese = START | {"language": "zh"}
    assert (await actions.start(chinese))["problem"] == "没有难度为 7 的任务。"
    assert "did not work" in (await actions.start({"seat": 1}))["problem"]
    assert (await actions.start({"benchmark": "nowhere", "language": "zh"}))[
        "problem"
    ] == "这里不提供“nowhere”。"


async def test_trouble_opposite_is_told_in_the_language_of_the_page(
    actions: Actions, sessions: FakeSessions, monkeypatch: pytest.MonkeyPatch
) -> None:
    page, view = await begin(actions), sessions.view

    async def troubled(episode_id: str, seat: str) -> Any:
        warning = Trouble("Unavailable: the server is down", "model_unavailable")
        return replace(await view(episode_id, seat), warning=warning)

    monkeypatch.setattr(sessions, "view", troubled)
    for language, message in (
        ("en", "The model's server cannot be reached."),
        ("zh", "无法连接模型的服务器。"),
    ):
        html = (await actions.page(page | {"language": language}))["html"]
        assert message in unescape(html)
        assert "the server is down" not in html


@pytest.mark.parametrize("query", ["", "t=", "t=abc", "t=abc.def", "t=é.é", "x=1"])
async def test_a_wrong_link_gets_a_friendly_page(actions: Actions, query: str) -> None:
    call = {"path": "/play", "query": query, "language": "en"}
    assert "This link does not work" in (await actions.page(call))["html"]
    sent = await actions.send(turn(call, 1))
    assert sent["accepted"] is False
    assert "This link does not work" in sent["html"]


async def test_another_servers_link_is_refused(actions: Actions, sessions: FakeSessions) -> None:
    await begin(actions)
    forged = Signer(b"guessed").sign(Pass(next(iter(sessions.episodes)), "provider"))
    page = await actions.page({"path": "/play", "query": f"t={forged}", "language": "zh"})
    assert "这个链接无法使用" in page["html"]
    assert SECRET not in page["html"]


async def test_a_dialogue_that_is_not_here(actions: Actions) -> None:
    token = actions.signer.sign(Pass("no/such/episode", "seeker"))
    page = await actions.page({"path": "/play", "query": f"t={token}"})
    assert "Dialogue not found" in page["html"]


async def test_a_fault_of_the_server_is_a_page_too(
    actions: Actions, sessions: FakeSessions, monkeypatch
) -> None:
    page = await begin(actions)

    async def fail(*_: Any) -> Any:
        raise RuntimeError("disk on fire")

    monkeypatch.setattr(sessions, "view", fail)
    html = (await actions.page(page))["html"]
    assert "Something went wrong" in html
    assert "disk on fire" not in html


async def test_a_turn_counts_and_is_answered(actions: Actions) -> None:
    page = await begin(actions)
    answer = await actions.send(turn(page, 1))
    assert answer["accepted"] is True
    assert shown(answer["html"])["number"] == "3"
    assert TREE.opening in answer["html"]


async def test_the_same_turn_twice_is_one(actions: Actions, sessions: FakeSessions) -> None:
    page = await begin(actions)
    first, second = await actions.send(turn(page, 1)), await actions.send(turn(page, 1))
    assert first["accepted"] and second["accepted"]
    assert len(next(iter(sessions.episodes.values())).lines) == 3


async def test_a_turn_for_an_earlier_number_is_refused(actions: Actions, sessions: FakeSessions) -> None:
    page = await begin(actions)
    await actions.send(turn(page, 1))
    late = await actions.send(turn(page, 1, "Another question?", render="render-two"))
    assert late["accepted"] is False
    assert "This task has moved on, perhaps because you continued in another window" in late["html"]
    assert "Another question?" not in late["html"]
    assert len(next(iter(sessions.episodes.values())).lines) == 3


async def test_an_illegal_move_can_be_corrected(
    actions: Actions, sessions: FakeSessions, monkeypatch
) -> None:
    page = await begin(actions, seat="provider", others={"seeker": "offline/seeker"})
    refused = await actions.send(turn(page, 2, "", filled={"give": ["1.1"]}))
    assert refused["accepted"] is False
    assert "That was not possible: Answer 1.1 cannot be given now" in refused["html"]
    assert (await actions.send(turn(page, 2, "", filled={"give": ["0"]})))["accepted"] is True


async def test_words_around_a_node_and_words_alone(actions: Actions, sessions: FakeSessions) -> None:
    page = await begin(actions, seat="provider", others={"seeker": "offline/seeker"})
    filled = {"give": ["0"], "before": "Well,", "after": "There."}
    await actions.send(turn(page, 2, "ignored", filled=filled))
    await actions.send(turn(page, 4, "Hm, no idea."))
    lines = next(iter(sessions.episodes.values())).lines
    assert [line.text for line in lines if line.seat == "provider"][1:] == [
        f"Well, {TREE.opening} There.",
        "Hm, no idea.",
    ]


async def test_a_seat_that_breaks_down_after_the_turn_still_shows_a_page(
    actions: Actions, sessions: FakeSessions, monkeypatch
) -> None:
    page = await begin(actions)

    async def break_rules(*_: Any, **__: Any) -> Any:
        raise SeatError("the provider broke the rules", "provider")

    monkeypatch.setattr(sessions, "submit", break_rules)
    assert "the provider broke the rules" in (await actions.send(turn(page, 1)))["html"]


async def test_the_result_comes_with_the_end_and_not_before(actions: Actions) -> None:
    page = await begin(actions)
    answer = await actions.send(turn(page, 1))
    assert "ab-replay" not in answer["html"]
    answer = await actions.send(turn(page, 3, "Thank you, goodbye!"))
    assert shown(answer["html"])["ended"] == "1"
    assert all(node.explanation in answer["html"] for node in TREE.nodes if node.index == "1")


async def test_only_the_provider_judges(actions: Actions, sessions: FakeSessions) -> None:
    seeker = await begin(actions)
    verdict = {"render": "render-one", "success": True}
    with pytest.raises(TokenError):
        await actions.judge(seeker | verdict)
    provider = await begin(actions, seat="provider", others={"seeker": "offline/seeker"})
    assert await actions.judge(provider | verdict) == {"accepted": True}
    assert [list(episode.judged.values()) for episode in sessions.episodes.values()] == [[], [True]]


async def test_the_host_gets_a_link_for_the_other_seat_and_the_guest_gets_none(actions: Actions) -> None:
    host = await begin(actions, others={"provider": "person"})
    guest_page = await take_seat(actions, await invitation_to(actions, host))
    assert actions.signer.read(parse_qs(guest_page["query"])["t"][0]).seat == "provider"
    guest = (await actions.page(guest_page))["html"]
    assert "You are the provider" in guest
    assert "Link for the second person" not in guest


async def test_no_link_where_nobody_is_to_come(actions: Actions) -> None:
    assert "Link for the second person" not in (await actions.page(await begin(actions)))["html"]


async def test_waiting_pages_hear_when_the_other_has_moved(actions: Actions) -> None:
    page = await begin(actions, others={"provider": "person"})
    token = parse_qs(page["query"])["t"][0]
    stands = {"number": 1, "my_turn": True, "ended": False, "trouble": False, "stage": "task"}
    assert await actions.state(token) == stands | {"taken": 0}
    await take_seat(actions, await invitation_to(actions, page))
    assert await actions.state(token) == stands | {"taken": 1}
    await actions.send(turn(page, 1))
    assert await actions.state(token) == stands | {"number": 2, "my_turn": False, "taken": 1}
    with pytest.raises(TokenError):
        await actions.state("nonsense")


@pytest.mark.parametrize(
    "wrong",
    [
        {"render": "x"},
        {"render": "a b c d e f g h"},
        {"number": -1},
        {"number": "one"},
        {"text": "x" * 4001},
        {"filled": {"before": "x" * 20_001}},
        {"seconds": -1},
        {"filled": {"give": {"1": "1"}}},
        {"language": "x" * 17},
    ],
)
async def test_malformed_calls_are_refused(
    actions: Actions, sessions: FakeSessions, wrong: dict[str, Any]
) -> None:
    page = await begin(actions)
    with pytest.raises(ValidationError):
        await actions.send(turn(page, 1) | wrong)
    assert len(next(iter(sessions.episodes.values())).lines) == 1
