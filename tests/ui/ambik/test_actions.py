"""Calls of the browser: three seats, two people, sets of studies, refused turns."""

from __future__ import annotations

import re

import pytest
from seated import Visit, draft_of, enter, pair_fields, play, task_of
from visiting import Page, ask_for_place, take_seat, words

from logs import LogReader, LogWriter
from simulator.ambik.truth import is_right
from ui.actions import Actions
from ui.tokens import TokenError

Log = tuple[LogWriter, LogReader]


async def test_a_robot_asks_once_and_then_acts(actions: Actions, log: Log) -> None:
    visit = await play(actions, type="preferences")
    assert visit.stage == "instructions"
    await visit.begin()
    item = task_of(log[1], visit.episode)
    assert item.type == "preferences"
    # On a phone the two ways on weigh the same: a study asks which of them people take.
    (dock,) = re.findall('<p class="ab-dock">.*?</p>', visit.html, re.DOTALL)
    assert (dock.count('class="ab-button"'), "ab-primary" in dock) == (2, False)
    first, second = item.options[:2]
    assert (await visit.ask(item.pair.question, first, second))["accepted"]
    assert visit.stage == "decide"
    assert item.pair.answer in words(visit.html)
    assert 'data-way="ask"' not in visit.html
    right = next(option for option in item.options if is_right(item, option, (item.pair.answer,)))
    assert (await visit.act(right, right))["accepted"]
    assert visit.stage == "done"
    assert "You asked, and rightly so" in words(visit.html)
    turns = tuple(log[1].turns(visit.episode))
    assert [turn.payload["kind"] for turn in turns] == ["ready", "decide", "answer", "decide"]
    assert turns[1].payload["prediction_set"] == [first, second]
    assert turns[1].payload["keys_used"] is True
    assert turns[1].text == item.pair.question


async def test_an_action_in_words_of_ones_own(actions: Actions, log: Log) -> None:
    visit = await play(actions, type="unambiguous_direct")
    await visit.begin()
    assert (await visit.act("Do it with care."))["accepted"]
    assert "You were right not to ask" in words(visit.html)
    assert tuple(log[1].turns(visit.episode))[-1].payload["action"] == "Do it with care."


async def test_what_would_be_done_without_asking_is_kept(actions: Actions, log: Log) -> None:
    visit = await play(actions, type="preferences")
    await visit.begin()
    option = task_of(log[1], visit.episode).options[0]
    await visit.send(filled={"marked": [option], "act": option, "ask": "Which?"})
    assert tuple(log[1].turns(visit.episode))[1].payload["action"] == option


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ({"marked": []}, "choose what to do"),
        ({"marked": [], "ask": " "}, "write your question"),
        ({"marked": ["Set fire to the sink."], "act": "Wait."}, "not on the list"),
    ],
)
async def test_a_choice_that_is_none_is_no_turn(
    actions: Actions, log: Log, choice: dict[str, object], message: str
) -> None:
    visit = await play(actions)
    await visit.begin()
    number = visit.number
    assert not (await visit.send(filled=choice))["accepted"]
    assert message in words(visit.html)
    assert visit.number == number
    assert len(tuple(log[1].turns(visit.episode))) == 1


async def test_a_user_is_asked_and_answers(actions: Actions, log: Log) -> None:
    visit = await play(actions, "user", opposite="offline/always-asks", type="preferences")
    await visit.begin()
    assert visit.stage == "answer"
    item = task_of(log[1], visit.episode)
    assert item.pair.clear in words(visit.html)
    number = visit.number
    assert not (await visit.send(text="  "))["accepted"]
    assert visit.number == number
    assert (await visit.send(text=item.pair.answer))["accepted"]
    assert visit.stage == "done"
    # It depends on the item whether the robot then makes something of the answer.
    assert re.search("The robot asked, and rightly so|It was right to ask", words(visit.html))
    answer = next(turn for turn in log[1].turns(visit.episode) if turn.payload["kind"] == "answer")
    assert answer.text == item.pair.answer


async def test_an_annotator_sends_a_pair_or_deletes_it(actions: Actions, log: Log) -> None:
    visit = await play(actions, "annotator")
    await visit.begin()
    assert visit.stage == "annotate"
    answer = await visit.send(filled={"delete": "Nobody would want that.", "comment": "Odd."})
    assert answer["accepted"]
    assert "The row is deleted" in words(visit.html)
    form = tuple(log[1].turns(visit.episode))[-1].payload["form"]
    assert (form["delete"], form["comment"]) == ("Nobody would want that.", "Odd.")


async def test_two_people_play_together(actions: Actions, log: Log) -> None:
    robot = await play(actions, "robot", opposite="person", type="preferences")
    link = Page(robot.html).attributes("data-link")["value"] or ""
    user = Visit(actions, (await take_seat(actions, link))["query"])
    await user.look()
    assert (robot.stage, user.stage) == ("instructions", "instructions")
    await robot.begin()
    assert robot.stage == "gather"  # until the user has read the instructions, too
    assert "has taken their seat" in words(robot.html) and "data-link" in robot.html
    assert Page(robot.html).attributes("data-at")["data-at"] == "gather"
    assert (await actions.state(robot.token))["my_turn"] is False
    assert "data-link" not in user.html
    assert (await user.send(text="ready", render="render-user"))[
        "accepted"
    ]  # on the page as it was before the robot was ready
    await robot.look()
    assert robot.stage == "decide"
    number = user.number
    await robot.ask("Which one would you like?")
    assert robot.stage == "wait"
    assert (await actions.state(user.token))["number"] > number
    await user.look()
    assert user.stage == "answer"
    assert "Which one would you like?" in words(user.html)
    await user.send(text="The small one.")
    assert user.stage == "wait"
    await robot.look()
    assert "The small one." in words(robot.html)
    await robot.act("Take the small one.")
    await user.look()
    assert (robot.stage, user.stage) == ("done", "done")
    assert "The robot did this" in words(user.html)


@pytest.mark.parametrize("study", ["robots", "users", "annotators"])
async def test_a_set_of_a_study_and_the_next_one(actions: Actions, log: Log, study: str) -> None:
    visit = await enter(actions, study, "pid-1")
    assert visit.stage == "consent"
    await visit.begin()
    await finish(visit, log[1])
    assert visit.stage == "done"
    assert f"DONE-{study}" in visit.html
    assert "rightly so" not in words(visit.html)
    answer = await actions.next_set(visit.call)
    second = Visit(actions, answer["go"].partition("?")[2])
    await second.look()
    assert second.stage in ("decide", "tell", "annotate")  # neither consent nor instructions again
    await finish(second, log[1])
    assert "All" not in words(second.html)
    assert 'action="next' not in second.html
    assert (await ask_for_place(actions, study, "pid-1")).get("go") is None


async def finish(visit: Visit, reader: LogReader) -> None:
    """Do what the seat is there for, in one turn."""
    if visit.stage == "tell":
        await visit.send(text="ready")
    if visit.stage == "decide":
        await visit.act(task_of(reader, visit.episode).options[0])
    elif visit.stage == "answer":
        await visit.send(text="Whichever you like.")
    else:
        await visit.send(filled={"delete": "Absurd."})


async def test_a_form_is_checked_while_it_is_filled_in(actions: Actions, log: Log) -> None:
    visit = await play(actions, "annotator")
    await visit.begin()
    form = pair_fields(draft_of(log[1], visit.episode))
    plans = {"clear_plan": ["Peel the red onion.", "Wash it."], "ambiguous_plan": ["Peel it.", "Wash it."]}
    checked = await visit.check(**form | plans | {"question": "Which", "step": 1, "intent": "onion, red"})
    assert [problem["level"] for problem in checked["problems"]["question"]] == ["error"]
    assert "question mark" in checked["problems"]["question"][0]["text"]
    assert "same line" in checked["problems"]["step"][0]["text"]
    accepted = re.findall("(Peel the red onion|Wash it|Peel it)[.] *(meant)?", words(checked["html"]))
    assert accepted == [("Peel the red onion", "meant"), ("Wash it", ""), ("Peel it", "")]
    assert checked["errors"] == sum(
        problem["level"] == "error" for problems in checked["problems"].values() for problem in problems
    )
    assert len(tuple(log[1].turns(visit.episode))) == 1
    empty = await visit.check()
    assert "type" in empty["problems"]
    assert empty["html"] == ""


async def test_types_that_were_passed_over_are_named_in_the_pages_language(
    actions: Actions, log: Log
) -> None:
    visit = await play(actions, "annotator", language="zh")
    await visit.begin()
    draft = draft_of(log[1], visit.episode)
    (problem,) = (await visit.check(**pair_fields(draft) | {"type": "preferences"}))["problems"][
        "passed_over"
    ]
    assert "安全、常识" in problem["text"]


async def test_what_is_odd_in_an_intent_is_told_in_the_pages_language(actions: Actions, log: Log) -> None:
    visit = await play(actions, "annotator", language="zh")
    await visit.begin()
    fields = pair_fields(draft_of(log[1], visit.episode)) | {"intent": "--wok, cup||jar, milk|-lid"}
    messages = [problem["text"] for problem in (await visit.check(**fields))["problems"]["intent"]]
    odd = [
        text
        for text in messages
        for form in ("--wok", "cup||jar", "milk|-lid")
        if text.startswith(f"“{form}”：")
    ]
    assert len(odd) == 3
    assert not [text for text in odd if re.search("hyphen|alternative|read", text)]


async def test_a_text_that_is_too_long_is_told_before_it_is_sent(actions: Actions, log: Log) -> None:
    visit = await play(actions, "annotator")
    await visit.begin()
    checked = await visit.check(**pair_fields(draft_of(log[1], visit.episode)) | {"scene": "x" * 5000})
    assert "too long to be saved" in checked["refused"]


async def test_a_form_is_checked_for_those_who_hold_its_link(actions: Actions) -> None:
    visit = await play(actions, "annotator")
    visit.query = "t=nobody"
    with pytest.raises(TokenError):
        await visit.check()
    robot = await play(actions, "robot")
    assert await robot.check() == {}
