"""Calls of the browser: playing, taking part, withdrawing, and refusals."""

from __future__ import annotations

import pytest
from labelling import Visit, enter, play, prompt_of
from visiting import ask_for_place, words

from logs import LogReader, LogWriter
from simulator.ambibench.sessions import AmbiBenchSessions
from simulator.studies.admission import erase_due
from ui.actions import Actions
from ui.tokens import Pass, TokenError

Log = tuple[LogWriter, LogReader]


async def through(visit: Visit, log: Log, wrong: tuple[int, ...] = ()) -> None:
    """From the consent, or the instructions, to the end."""
    if visit.stage == "consent":
        await visit.say("yes")
    await visit.say("ready")
    asked = 0
    while visit.stage == "task":
        asked += 1
        examples = prompt_of(log[1], visit.episode).examples
        gold = examples[-1].label if len(examples) == 3 else examples[asked - 1].label
        await visit.say("banana" if asked in wrong else gold)
    if visit.stage == "comment":
        await visit.say("")


async def test_free_play_from_the_instructions_to_the_result(actions: Actions, log: Log) -> None:
    visit = await play(actions, format="qa", feature="negation")
    assert visit.stage == "instructions"
    prompt = prompt_of(log[1], visit.episode)
    assert (prompt.salient, prompt.format, prompt.setting) == ("negation", "qa", "multiple")
    await through(visit, log, wrong=(2, 3))
    assert visit.stage == "done"
    assert "18 of 20 right" in words(visit.html)
    assert "AmbiBench" in visit.html


@pytest.mark.parametrize(
    ("setting", "kind", "played"),
    [
        ("multiple", "wug", ("wug", "wug")),
        ("multiple", "informative", ("multiple", "informative")),
        ("instruction", "informative", ("instruction", "informative")),
        ("instruction", "uninformative", ("instruction", "uninformative")),
    ],
)
async def test_what_free_play_can_be(
    actions: Actions, log: Log, setting: str, kind: str, played: tuple[str, str]
) -> None:
    visit = await play(actions, setting=setting, kind=kind)
    prompt = prompt_of(log[1], visit.episode)
    assert (prompt.setting, prompt.kind) == played


async def test_a_start_that_fails_says_why(actions: Actions) -> None:
    wug = {"setting": "instruction", "kind": "wug"}
    begin = {"benchmark": "ambibench", "seat": "participant", "language": "en"}
    assert "twenty sentences" in (await actions.start(begin | {"rules": wug}))["problem"]
    assert "setting" in (await actions.start(begin | {"rules": {"setting": "aws"}}))["problem"]
    assert "robot" in (await actions.start(begin | {"seat": "robot"}))["problem"]


async def test_a_participation_and_its_turns(actions: Actions, log: Log) -> None:
    visit = await enter(actions, "twenty", "pid-1")
    assert visit.stage == "consent"
    await through(visit, log, wrong=(1,))
    assert "DONE-twenty" in visit.html
    assert 'href="https://example.org/done?cc=DONE-twenty"' in visit.html
    assert "of 20 right" not in words(visit.html)
    turns = tuple(log[1].turns(visit.episode))
    assert [turn.payload["kind"] for turn in turns] == ["consent", "ready", *["answer"] * 20, "comment"]
    assert turns[2].payload["raw_answer"] == "banana"
    assert turns[2].payload["keys_used"] is True
    assert turns[2].payload["shown_at"].startswith("2026-01-02T03:04:05.678")
    assert turns[2].seconds == 1.5


async def test_what_is_typed_is_logged_as_typed(actions: Actions, log: Log) -> None:
    visit = await play(actions)
    await visit.say("ready")
    await visit.say("  x. ")
    assert tuple(log[1].turns(visit.episode))[-1].text == "  x. "


async def test_nothing_typed_is_no_turn(actions: Actions) -> None:
    visit = await play(actions)
    await visit.say("ready")
    number = visit.number
    answer = await visit.say("   ")
    assert not answer["accepted"]
    assert visit.number == number
    assert "Please type an answer first" in visit.html


async def test_a_turn_counts_once_and_a_second_tab_is_told(actions: Actions) -> None:
    visit = await play(actions)
    await visit.say("ready")
    number = visit.number
    for _ in range(2):
        assert (await visit.say("X", number, "render-once"))["accepted"]
        assert visit.number == number + 1
    late = await visit.say("Y", number, "render-twice")
    assert not late["accepted"]
    assert visit.number == number + 1
    assert "another window" in visit.html


async def test_a_study_takes_somebody_once(actions: Actions, log: Log) -> None:
    visit = await enter(actions, "twenty", "pid-1")
    await visit.say("yes")
    elsewhere = await ask_for_place(actions, "twenty", "pid-1", key="another-browser-0002")
    assert 'data-code="browser"' in elsewhere["html"]
    again = await enter(actions, "twenty", "pid-1")
    assert (again.episode, again.stage) == (visit.episode, "instructions")
    await through(again, log)
    refused = await ask_for_place(actions, "twenty", "pid-1")
    assert 'data-code="taken"' in refused["html"]
    assert "DONE-twenty" in refused["html"]
    assert 'data-code="excluded"' in (await ask_for_place(actions, "one", "pid-1"))["html"]


async def test_why_somebody_is_sent_away(actions: Actions) -> None:
    await enter(actions, "tiny", "pid-1")
    assert 'data-code="full"' in (await ask_for_place(actions, "tiny", "pid-2"))["html"]
    assert 'data-code="identity"' in (await ask_for_place(actions, "named"))["html"]
    assert 'data-code="unknown"' in (await ask_for_place(actions, "no-such"))["html"]
    assert "did not work" in (await ask_for_place(actions, "named", key="short"))["problem"]
    page = await actions.page({"path": "/study", "query": "study=tiny", "language": "en"})
    assert "All places are taken" in page["html"]
    page = await actions.page({"path": "/study", "query": "", "language": "en"})
    assert 'data-code="unknown"' in page["html"]


async def test_without_a_platform_the_browsers_key_says_who_comes(actions: Actions) -> None:
    visit = await enter(actions, "twenty")
    assert (await enter(actions, "twenty")).episode == visit.episode
    other = await enter(actions, "twenty", key="another-browser-0002")
    assert other.episode != visit.episode


async def test_a_look_at_the_welcome_page_takes_no_place(
    actions: Actions, letters: AmbiBenchSessions
) -> None:
    before = [card.places_left for card in letters.studies()]
    call = {"path": "/study", "query": "study=twenty&PROLIFIC_PID=pid-1", "language": "en"}
    assert "The twenty" in (await actions.page(call))["html"]
    assert [card.places_left for card in letters.studies()] == before


async def test_declining_keeps_nothing(actions: Actions, log: Log, letters: AmbiBenchSessions) -> None:
    before = [card.places_left for card in letters.studies()]
    visit = await enter(actions, "twenty", "pid-1")
    answer = await visit.say("no")
    assert answer["accepted"]
    assert 'data-code="declined"' in visit.html
    assert [card.places_left for card in letters.studies()] == before
    assert "BACK-twenty" in visit.html
    assert not log[1].identities()
    assert 'data-code="declined"' in await visit.look()


@pytest.mark.parametrize("turns", [0, 5, 23])
async def test_withdrawing_erases_at_any_time(
    actions: Actions, log: Log, letters: AmbiBenchSessions, turns: int
) -> None:
    before = [card.places_left for card in letters.studies()]
    visit = await enter(actions, "twenty", "pid-1")
    for text in ["yes", "ready", *["X"] * 20, "bye"][:turns]:
        await visit.say(text)
    assert "data-withdraw" in visit.html
    page = (await actions.withdraw(visit.call))["html"]
    assert 'data-code="withdrawn"' in page
    assert "BACK-twenty" in page
    assert [card.places_left for card in letters.studies()] == before
    assert 'data-code="withdrawn"' in await visit.look()
    erase_due(log[1].path)
    erased = [(turn.text, turn.payload.get("raw_answer")) for turn in log[1].turns(visit.episode)]
    assert all(text == "[erased]" and answer in (None, "[erased]") for text, answer in erased)
    assert 'data-code="declined"' in await visit.look()
    assert "DONE-twenty" not in visit.html
    late = await visit.say("X", turns)
    assert not late["accepted"]
    assert "DONE-twenty" not in late["html"]


async def test_an_episode_of_another_log_is_gone(actions: Actions) -> None:
    visit = Visit(
        actions, "t=" + actions.signer.sign(Pass("x/y", "participant", benchmark="ambibench", study="one"))
    )
    assert 'data-code="gone"' in await visit.look()
    assert 'data-code="gone"' in (await visit.say("X", 0))["html"]
    assert 'data-code="gone"' in (await actions.withdraw(visit.call))["html"]


async def test_only_a_studys_participant_can_withdraw(actions: Actions) -> None:
    visit = await play(actions)
    assert "data-withdraw" not in visit.html
    with pytest.raises(Exception, match="only withdraw from a study"):
        await actions.withdraw(visit.call)
    robot = actions.signer.sign(Pass("x", "robot", benchmark="handmethat"))
    with pytest.raises(TokenError):
        await actions.withdraw({"query": f"t={robot}"})


async def test_a_result_where_the_study_shows_it(actions: Actions, log: Log) -> None:
    visit = await enter(actions, "one", "pid-1")
    await through(visit, log)
    assert "DONE-one" in visit.html
    assert "What was still possible" in visit.html


async def test_where_an_episode_stands(actions: Actions, log: Log) -> None:
    visit = await play(actions, setting="instruction")
    assert await actions.state(visit.token) == {
        "stage": "instructions",
        "number": 0,
        "my_turn": True,
        "ended": False,
        "trouble": False,
    }
    await through(visit, log)
    assert (await actions.state(visit.token))["ended"] is True


async def test_a_link_of_another_room_opens_nothing_here(actions: Actions) -> None:
    visit = await play(actions)
    wrong = actions.signer.sign(Pass(visit.episode, "provider"))
    page = await actions.page({"path": "/play", "query": f"t={wrong}", "language": "en"})
    assert "Before you begin" not in page["html"]
    with pytest.raises(TokenError):
        await actions.judge(visit.call | {"render": "render-0001", "success": True})
    forged = await actions.page(visit.call | {"query": f"t={visit.token[:-4]}AAAA"})
    assert "This link does not work" in forged["html"]
