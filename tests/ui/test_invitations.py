"""Ownership of the second seat: opened, taken, taken by another, at the same moment, after a restart."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import parse_qs, urlparse

import pytest
from pydantic import ValidationError
from visiting import Page, invitation_to, take_seat, words

from logs import LogReader, LogWriter
from simulator.clarq.benchmark import BENCHMARK as CLARQ
from simulator.clarq.sessions import ClarqSessions
from simulator.errors import InputError
from simulator.runner.sessions import SEAT_TAKEN
from ui.actions import Actions
from ui.declared.actions import DeclaredActions
from ui.i18n import LANGUAGES
from ui.tokens import Pass, Signer, TokenError

START = {"benchmark": "clarq", "seat": "seeker", "others": {"provider": "person"}}
FIRST, SECOND, THIRD = (f"a-browser-of-its-own-{n}" for n in (1, 2, 3))
TAKEN = "This seat is taken"
INTRODUCTION = "You are invited to play"


def no_models(name: str) -> NoReturn:
    raise AssertionError(f"{name} was asked for")


def serve(log: tuple[LogWriter, LogReader]) -> Actions:
    signer = Signer(b"a secret for tests")
    sessions = ClarqSessions(CLARQ, *log, no_models)
    return Actions(signer, {"clarq": DeclaredActions(sessions, signer, home=True)})


@pytest.fixture
def actions(log: tuple[LogWriter, LogReader]) -> Actions:
    return serve(log)


@pytest.fixture
def second_log(log: Any, tmp_path: Path) -> Iterator[tuple[LogWriter, LogReader]]:
    path = tmp_path / "log.sqlite"
    with LogWriter(path, durable=False, group_seconds=0.001) as writer, LogReader(path) as reader:
        yield writer, reader


async def begin(actions: Actions) -> dict[str, Any]:
    answer = await actions.start(START)
    return {"path": "/play", "query": urlparse(answer["go"]).query, "language": "en"}


def invited(link: str, language: str = "en") -> dict[str, Any]:
    return {"path": "/play", "query": urlparse(link).query, "language": language}


async def shown(actions: Actions, page: dict[str, Any]) -> str:
    return words((await actions.page(page))["html"])


@pytest.mark.each("language", LANGUAGES)
async def test_opening_the_link_begins_nothing_and_shows_nothing_of_the_seat(
    actions: Actions, log: tuple[LogWriter, LogReader], language: str
) -> None:
    link = await invitation_to(actions, await begin(actions))
    guest = invited(link, language)
    for _ in range(3):
        html = (await actions.page(guest))["html"]
        page = Page(html)
        page.check_references()
        assert page.attributes("data-busy")["data-act"] == "st-take"
        assert "ab-tree" not in html and "data-number" not in html and "data-link" not in html
    assert log[1].events(kind=SEAT_TAKEN) == []


async def test_the_first_browser_keeps_the_seat(actions: Actions, log: tuple[LogWriter, LogReader]) -> None:
    host = await begin(actions)
    link = await invitation_to(actions, host)
    before = await take_seat(actions, link, FIRST)
    again = await take_seat(actions, link, FIRST)
    assert before == again
    assert "You are the provider" in await shown(actions, before)
    call = invited(link)
    for key in (SECOND, THIRD, SECOND):
        refused = await actions.take_seat(call | {"participant_key": key})
        assert set(refused) == {"html"} and TAKEN in refused["html"] and 'href="/"' in refused["html"]
    assert TAKEN in await shown(actions, call)
    (event,) = log[1].events(kind=SEAT_TAKEN)
    assert event.details["seat"] == "provider" and FIRST not in str(event)
    assert "The second person has taken their seat" in await shown(actions, host)


async def test_of_two_at_the_same_moment_one_has_it(
    actions: Actions, second_log: tuple[LogWriter, LogReader], log: tuple[LogWriter, LogReader]
) -> None:
    for _ in range(5):
        call = invited(await invitation_to(actions, await begin(actions)))
        servers = [actions, serve(second_log)]
        keys = [FIRST, SECOND, THIRD, f"{FIRST}-more"]
        answers = await asyncio.gather(
            *(servers[n % 2].take_seat(call | {"participant_key": key}) for n, key in enumerate(keys))
        )
        assert sum("go" in answer for answer in answers) == 1
        winner = next(key for key, answer in zip(keys, answers, strict=True) if "go" in answer)
        for server in servers:
            back = await server.take_seat(call | {"participant_key": winner})
            assert "go" in back


async def test_a_row_that_another_server_wrote_first_counts(
    actions: Actions, log: tuple[LogWriter, LogReader], monkeypatch: pytest.MonkeyPatch
) -> None:
    sessions = actions.served["clarq"].sessions  # type: ignore[attr-defined]
    link = await invitation_to(actions, await begin(actions))
    write, episode = log[0].write, pass_of(actions, link).episode_id

    async def late(row: Any) -> Any:
        monkeypatch.setattr(sessions._log, "write", write)
        assert await sessions.__class__(CLARQ, *log, no_models).take_seat(episode, "provider", "elsewhere")
        return await write(row)

    monkeypatch.setattr(sessions._log, "write", late)
    assert not await sessions.take_seat(episode, "provider", "here")
    assert sessions.holders(episode) == {"provider": "elsewhere"}
    assert len(log[1].events(kind=SEAT_TAKEN)) == 2


def pass_of(actions: Actions, link: str) -> Pass:
    return actions.signer.read_any(parse_qs(urlparse(link).query)["t"][0])


async def test_after_a_restart_it_is_still_theirs(
    actions: Actions, second_log: tuple[LogWriter, LogReader]
) -> None:
    link = await invitation_to(actions, await begin(actions))
    page = await take_seat(actions, link, FIRST)
    restarted = serve(second_log)
    assert "You are the provider" in await shown(restarted, page)
    assert await take_seat(restarted, link, FIRST) == page
    call = invited(link)
    assert TAKEN in (await restarted.take_seat(call | {"participant_key": SECOND}))["html"]


async def test_an_invitation_can_do_nothing_but_be_taken(actions: Actions) -> None:
    link = await invitation_to(actions, await begin(actions))
    call = invited(link)
    turn = call | {"render": "render-one", "number": 1, "text": "Hello"}
    for taken in (False, True):
        sent = await actions.send(turn)
        assert not sent["accepted"] and "This link does not work" in sent["html"]
        with pytest.raises(TokenError):
            await actions.state(parse_qs(call["query"])["t"][0])
        for refused in (actions.leave, actions.withdraw, actions.next_set, actions.wait_again):
            with pytest.raises(TokenError):
                await refused(call)
        with pytest.raises(TokenError):
            await actions.judge(turn | {"success": True})
        if not taken:
            await take_seat(actions, link)


async def test_forged_and_foreign_links_take_nothing(
    actions: Actions, log: tuple[LogWriter, LogReader]
) -> None:
    host = await begin(actions)
    invitation = pass_of(actions, await invitation_to(actions, host))
    forged = [
        "",
        "abc.def",
        Signer(b"guessed").sign(invitation),
        actions.signer.sign(Pass(invitation.episode_id, "provider", True, holder="somebody")),
        parse_qs(host["query"])["t"][0],
    ]
    for token in forged:
        call = host | {"query": f"t={token}", "participant_key": SECOND}
        answer = await actions.take_seat(call)
        assert "go" not in answer and "This link does not work" in answer["html"]
    gone = host | {"query": f"t={actions.signer.sign(Pass('no/such/one', 'provider', True))}"}
    assert "Dialogue not found" in (await actions.take_seat(gone | {"participant_key": SECOND}))["html"]
    assert "Dialogue not found" in await shown(actions, gone)
    for key in ("", "short", "x" * 65, "<script>alert(1)</script>"):
        with pytest.raises(ValidationError):
            await actions.take_seat(host | {"participant_key": key})
    assert log[1].events(kind=SEAT_TAKEN) == []


async def test_a_seat_that_no_person_sits_in_cannot_be_taken(
    actions: Actions, log: tuple[LogWriter, LogReader]
) -> None:
    answer = await actions.start(START | {"others": {"provider": "offline/experts"}})
    episode = actions.signer.read(parse_qs(urlparse(answer["go"]).query)["t"][0]).episode_id
    call = {"query": f"t={actions.signer.sign(Pass(episode, 'provider', True))}", "participant_key": FIRST}
    with pytest.raises(InputError):
        await actions.take_seat(call)
    assert log[1].events(kind=SEAT_TAKEN) == []
