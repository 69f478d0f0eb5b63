"""A study's pages through the actions: several sets, who is sent away, links, two benchmarks with studies."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from urllib.parse import urlparse

import pytest
from fake_sessions import front
from labelling import Visit, enter, play
from pydantic import ValidationError
from visiting import Page, ask_for_place, words

from logs.rows import Ending
from simulator.ambibench.assignment import PatternStudy
from simulator.ambibench.benchmark import BENCHMARK
from simulator.ambibench.sessions import AmbiBenchSessions
from simulator.errors import InputError
from simulator.studies import StudyDesk
from simulator.studies.admission import Sets, erase_due
from ui.actions import Actions
from ui.declared.actions import DeclaredActions
from ui.declared.pages import link_to
from ui.declared.study import PageContext, steps_shown
from ui.i18n import strings
from ui.render import Frame
from ui.tokens import Pass, Signer, TokenError


def no_models(name: str) -> Any:
    raise AssertionError(f"{name} was asked for")


async def through(visit: Visit, *texts: str) -> None:
    for text in texts:
        await visit.say(text)


async def following(visit: Visit) -> Visit:
    """The visit of the set that the button for the next one leads to."""
    answer = await visit.actions.next_set(visit.call)
    after = Visit(visit.actions, urlparse(answer["go"]).query, visit.language)
    await after.look()
    return after


async def test_the_next_set_is_offered_until_all_are_done(serve: Any, make_study: Any) -> None:
    actions = serve(make_study())
    visit = await enter(actions, "three", "pid-1")
    assert "Set 1 of 3" in words(visit.html)
    assert "You are paid 0.50 USD per set" in words(visit.html)
    await through(visit, "yes", "ready", "X", "")
    for number in (2, 3):
        assert f"You have finished set {number - 1} of 3" in words(visit.html)
        assert Page(visit.html).attributes("data-busy")["data-act"] == "st-next"
        assert "DONE" in visit.html
        again, visit = visit, await following(visit)
        assert (await following(again)).episode == visit.episode, "a double click"
        assert (visit.stage, visit.number) == ("task", 0)
        assert f"Set {number} of 3" in words(visit.html)
        assert "Consent" not in words(visit.html)
        await through(visit, "X", "")
    assert "You have finished" in words(visit.html)
    assert "st-next" not in visit.html
    assert "DONE" in visit.html
    for answer in (await actions.next_set(visit.call), await ask_for_place(actions, "three", "pid-1")):
        assert 'data-code="done"' in answer["html"]
        assert "DONE" in answer["html"]


@pytest.mark.parametrize(
    ("texts", "expected"),
    [({}, "Leave this page open"), ({"break": "Stretch.\n\nDrink."}, "Stretch. Drink.")],
)
async def test_a_break_has_a_page_of_its_own(serve: Any, make_study: Any, texts: Any, expected: str) -> None:
    actions = serve(make_study(break_every=1, texts=texts))
    visit = await enter(actions, "three", "pid-1")
    await through(visit, "yes", "ready", "X", "")
    visit = await following(visit)
    assert (visit.stage, visit.number) == ("break", 0)
    assert "You have finished set 1. Take a break" in words(visit.html) and expected in words(visit.html)
    assert Page(visit.html).attributes("data-say")["data-say"] == "rested"
    await visit.say("rested")
    assert (visit.stage, visit.number) == ("task", 1)


async def test_a_next_set_when_nothing_is_left(serve: Any, make_study: Any) -> None:
    actions = serve(make_study(conditions=["subject/arrow/human"], participants=2))
    visit = await enter(actions, "three", "pid-1", language="zh")
    await through(visit, "yes", "ready", "X", "")
    answer = await actions.next_set(visit.call)
    page = Page(answer["html"])
    assert page.attributes("data-code")["data-code"] == "full"
    assert page.attributes("data-title")["lang"] == "zh"
    assert "DONE" in answer["html"]


async def test_a_study_of_one_set_offers_no_other(serve: Any, make_study: Any) -> None:
    actions = serve(make_study(sets_per_participant=1))
    visit = await enter(actions, "three", "pid-1")
    assert "per set" not in words(visit.html)
    assert "Set 1" not in words(visit.html)
    await through(visit, "yes", "ready", "X", "")
    assert "st-next" not in visit.html
    assert 'data-code="taken"' in (await actions.next_set(visit.call))["html"]


async def test_withdrawing_after_two_sets(serve: Any, make_study: Any, log: Any) -> None:
    actions = serve(make_study())
    first = await enter(actions, "three", "pid-1")
    await through(first, "yes", "ready", "X", "something telling")
    second = await following(first)
    await through(second, "Y")
    assert "in any set of this study" in words(second.html)
    assert 'data-code="withdrawn"' in (await actions.withdraw(first.call))["html"]
    erase_due(log[1].path)
    turns = [turn for visit in (first, second) for turn in log[1].turns(visit.episode)]
    assert {turn.text for turn in turns} == {"[erased]"}
    assert 'data-code="declined"' in await second.look()
    assert 'data-code="taken"' in (await actions.next_set(first.call))["html"]


async def test_only_a_studys_page_has_a_next_set(serve: Any, make_study: Any) -> None:
    actions = serve(make_study())
    visit = await play(actions, setting="instruction")
    with pytest.raises(InputError, match="not part of a study"):
        await actions.next_set(visit.call)
    for call in (actions.next_set, actions.withdraw):
        with pytest.raises(TokenError):
            await call({"query": f"t={actions.signer.sign(Pass('x', 'robot', benchmark='handmethat'))}"})
    gone = actions.signer.sign(Pass("x/y", "participant", benchmark="ambibench", study="three"))
    message = {"query": f"t={gone}", "message": "0" * 16}
    for call in (actions.next_set, actions.page, actions.withdraw, actions.acknowledge, actions.wait_again):
        assert 'data-code="gone"' in (await call(message | {"path": "/play"}))["html"]


async def test_who_could_not_go_on_is_told_why(serve: Any, make_study: Any, log: Any) -> None:
    actions = serve(make_study())
    visit = await enter(actions, "three", "pid-1")
    await through(visit, "yes")
    await log[0].write(Ending(episode_id=visit.episode, status="aborted", cause="warden", message="Broken."))
    assert 'data-code="broken"' in await visit.look()
    assert "BACK" in visit.html


async def test_who_is_screened_out_is_told_so(serve: Any, make_study: Any, log: Any) -> None:
    actions = serve(make_study())
    visit = await enter(actions, "three", "pid-1")
    await through(visit, "yes")
    ending = Ending(episode_id=visit.episode, status="aborted", cause="participant", message="Three wrong.")
    await log[0].write(ending)
    assert 'data-code="screened_out"' in await visit.look()
    assert "SCREEN" in visit.html
    assert 'data-code="taken"' in (await ask_for_place(actions, "three", "pid-1"))["html"]


async def test_a_message_of_the_researchers_is_shown_escaped_until_it_is_read(
    serve: Any, make_study: Any, log: Any
) -> None:
    actions = serve(make_study())
    visit, other = await enter(actions, "three", "pid-1"), await enter(actions, "three", "pid-2")
    desk = StudyDesk(*log, make_study(), PatternStudy(make_study()).cells)
    person = log[1].episode(visit.episode).participant_id
    await desk.send_message(person, "Look <b onclick=x()>here</b> & [there](javascript:x)", by="ann")
    html = await visit.look()
    assert "Look &lt;b onclick=x()&gt;here&lt;/b&gt; &amp; [there](javascript:x)" in html
    assert "A message from the researchers" not in await other.look()
    id = Page(html).attributes("data-message")["data-message"]
    stranger = await actions.acknowledge({**other.call, "message": id})
    assert "st-message-note" not in stranger["html"]
    assert "st-message-note" in await visit.look(), "nobody else has read it"
    assert "st-message-note" not in (await actions.acknowledge({**visit.call, "message": id}))["html"]
    assert "st-message-note" not in await visit.look()
    for wrong in ("", "x" * 16, "../" * 5, None):
        with pytest.raises(ValidationError):
            await actions.acknowledge({**visit.call, "message": wrong})


async def test_who_is_excluded_is_told_so_and_keeps_the_code_that_is_theirs(
    serve: Any, make_study: Any, log: Any
) -> None:
    actions = serve(make_study())
    visit = await enter(actions, "three", "pid-1")
    await through(visit, "yes")
    desk = StudyDesk(*log, make_study(), PatternStudy(make_study()).cells)
    await desk.exclude(log[1].episode(visit.episode).participant_id, "a bot", by="ann")
    assert 'data-code="ended"' in await visit.look()
    assert "BACK" in visit.html and "a bot" not in visit.html


async def test_what_is_paid_in_a_paper_is_nobodys_promise(serve: Any, make_study: Any) -> None:
    actions = serve()
    call = {"path": "/study", "query": "study=ambibench-multiple", "language": "en"}
    assert "1.25 USD in the paper" in words((await actions.page(call))["html"])
    assert "1.25 USD in the paper" in words((await actions.page(call | {"path": "/ambibench"}))["html"])
    visit = await enter(actions, "ambibench-multiple", "pid-1")
    assert "You are paid" not in words(visit.html)
    assert "no payment is promised" in words(visit.html)


async def test_two_benchmarks_and_one_link(serve: Any, make_study: Any, log: Any) -> None:
    here, there = make_study(id="here"), make_study(id="there", title="Over there")

    def served(*studies: Any) -> DeclaredActions:
        return DeclaredActions(AmbiBenchSessions(BENCHMARK, *log, no_models, studies=studies), signer)

    signer = Signer(b"x")
    both = Actions(signer, {**front(signer), "ambibench": served(here), "other": served(there)})
    page = await both.page({"path": "/study", "query": "study=there", "language": "en"})
    assert "Over there" in page["html"]
    assert 'data-code="unknown"' in (await ask_for_place(both, "nowhere", "pid-1"))["html"]
    with pytest.raises(InputError, match="ambibench and other have a study with this id"):
        Actions(signer, {**front(signer), "ambibench": served(here), "other": served(here)})


async def test_without_rooms_there_are_no_studies() -> None:
    signer = Signer(b"x")
    bare = Actions(signer, front(signer))
    assert 'data-code="unknown"' in (await ask_for_place(bare, "three", "pid-1"))["html"]
    assert "not available" in (await bare.start({"benchmark": "ambibench"}))["problem"]
    assert set(bare.paths) == {"/", "/play", "/study"}


def test_steps_of_a_first_and_of_a_later_set() -> None:
    steps = {"consent": "consent", "quiz": "qualification", "a": "task", "b": "task", "comment": "comment"}
    here = PageContext(frame=Frame(strings("en")), link=link_to(BENCHMARK), steps=steps, view=None)
    assert steps_shown(here) == ("consent", "qualification", "task", "comment")
    assert steps_shown(replace(here, sets=Sets(done=1, most=2))) == ("task", "comment")


async def test_a_study_that_is_closed_sends_newcomers_away(serve: Any, make_study: Any, log: Any) -> None:
    study = make_study(sets_per_participant=2)
    actions = serve(study)
    visit = await enter(actions, "three", "pid-1")
    # Another program closes it; this server goes on.
    await StudyDesk(*log, study, PatternStudy(study).cells).admit_as("closed")
    for language, sentence in (("en", "not accepting participants"), ("zh", "目前不接受任何人参加")):
        answer = await ask_for_place(actions, "three", "pid-2", language=language)
        assert 'data-code="closed"' in answer["html"]
        assert sentence in words(answer["html"])
    await through(visit, "yes", "ready", "X", "")
    assert "DONE" in visit.html
    further = await actions.next_set(visit.call)
    assert 'data-code="closed"' in further["html"]
    assert "What you have done counts" in words(further["html"])
    assert "DONE" in further["html"]


async def test_the_welcome_page_of_a_closed_study_says_so(serve: Any, make_study: Any, log: Any) -> None:
    study = make_study()
    actions = serve(study)
    call = {"path": "/study", "query": "study=three", "language": "en"}
    assert "Begin" in words((await actions.page(call))["html"])
    await StudyDesk(*log, study, PatternStudy(study).cells).admit_as("closed")
    shown = words((await actions.page(call))["html"])
    assert "This study is closed" in shown
    # Nobody new can begin; whoever has begun goes on from here.
    assert "I have already started, continue" in shown
    assert "Places left" not in shown
    assert "consent" not in shown
