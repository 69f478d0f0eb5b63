"""A server that is killed in the middle loses no word, whatever is played on it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from typing import Any

import among_letters
import household
import in_the_kitchen
import playing
import pytest
import reading
from participating import moved_on, payloads, seat_texts
from playing import number, turns

pytestmark = [pytest.mark.browser, pytest.mark.slow]

AWAY = "document.querySelector('.ab-toast').textContent.includes('is not responding')"

# Each plays up to where the server is killed, goes on while it is away, and sees what is left afterwards.


def a_question_of_clarq(page: Any, server: Any) -> Iterator[None]:
    playing.begin(page, server)
    playing.ask(page, "How is it done?")
    before = turns(server, page)
    yield
    page.fill("#ab-reply", "Are you still there?")
    page.press("#ab-reply", "Enter")
    page.wait_for_function(AWAY)
    yield
    playing.at_number(page, 5)
    after = turns(server, page)
    assert after[:3] == before
    assert after[3] == ("seeker", "Are you still there?")
    assert len(after) == 5
    assert page.input_value("#ab-reply") == ""


def words_not_sent(page: Any, server: Any) -> Iterator[None]:
    playing.begin(page, server)
    address = page.url
    page.fill("#ab-reply", "Kept in this browser")
    yield
    with pytest.raises(Exception, match="ERR_CONNECTION_REFUSED"):
        page.reload()
    yield
    page.goto(address)
    page.wait_for_selector(".ab-play")
    assert page.input_value("#ab-reply") == "Kept in this browser"


def a_move_of_handmethat(page: Any, server: Any) -> Iterator[None]:
    household.begin(page, server, level=2)
    household.do(page, "move to table")
    page.fill("#ab-reply", "pick up the")
    page.reload()
    page.wait_for_selector(".pl-here[data-place=table]")
    assert page.input_value("#ab-reply") == "pick up the"
    assert "1 of 40" in page.inner_text(".ab-turns-text")
    yield
    yield
    page.reload()
    page.wait_for_selector(".pl-here[data-place=table]")
    assert page.input_value("#ab-reply") == "pick up the"
    assert household.commands(server, page) == ["move to table"]
    page.goto(f"{server.url}/")
    page.wait_for_selector("[data-continue] a")
    page.click("[data-continue] a >> nth=0")
    page.wait_for_selector(".pl-here[data-place=table]")


def a_label_of_ambibench(page: Any, server: Any) -> Iterator[None]:
    among_letters.play(page, server)
    among_letters.answer(page, "X")
    page.keyboard.type("Y")
    yield
    page.keyboard.press("Enter")
    page.wait_for_function(AWAY)
    yield
    page.wait_for_selector(".ab-page[data-number='3']")
    assert seat_texts(server, page) == ["ready", "X", "Y"]
    assert page.inner_text(".ab-toast") == ""


def a_label_of_ambient(page: Any, server: Any) -> Iterator[None]:
    reading.play(page, server, "crowd")
    before = number(page)
    page.keyboard.press("3")
    yield
    page.keyboard.press("Enter")
    page.wait_for_function(AWAY)
    yield
    moved_on(page, before)
    assert payloads(server, page)[-1]["answer"] == "contradiction"


def a_question_of_ambik(page: Any, server: Any) -> Iterator[None]:
    in_the_kitchen.play(page, server, "robot")
    in_the_kitchen.begin(page)
    before = number(page)
    page.keyboard.press("a")
    page.keyboard.type("Which one?")
    yield
    page.keyboard.press("Enter")
    page.wait_for_function(AWAY)
    yield
    moved_on(page, before)
    assert payloads(server, page)[1]["question"] == "Which one?"


def a_mark_of_a_reviewer(page: Any, server: Any) -> Iterator[None]:
    page.goto(f"{server.url}/research/review?run=reviewed&reviewer=ann")
    page.wait_for_selector("[data-sheet]")
    page.keyboard.press("2")
    page.wait_for_selector(".rs-save-saved")
    yield
    yield
    with sqlite3.connect(f"file:{server.log}?mode=ro", uri=True) as connection:
        kinds = connection.execute("SELECT kind FROM judgments WHERE annotator = 'ann'").fetchall()
    assert kinds == [("review.provider_error",)]
    page.reload()
    page.wait_for_selector("[data-sheet]")
    pressed = page.locator('[data-name="2.type"][aria-pressed="true"]')
    assert [button.get_attribute("data-value") for button in pressed.all()] == ["2"]


SCENES = (
    a_question_of_clarq,
    words_not_sent,
    a_move_of_handmethat,
    a_label_of_ambibench,
    a_label_of_ambient,
    a_question_of_ambik,
    a_mark_of_a_reviewer,
)


def test_a_killed_server_loses_nothing(mortal: Any, open_page: Any) -> None:
    """All at once: a server takes long to start."""
    run = ("run", "clarq", "--seeker", "offline/seeker", "--provider", "offline/experts", "--lang", "en")
    mortal.askback(*run, "--limit", "1", "--run", "reviewed")
    playing_now = {scene.__name__: scene(open_page().page, mortal) for scene in SCENES}

    def go_on() -> None:
        for name, scene in playing_now.items():
            try:
                next(scene, None)
            except BaseException as error:
                error.add_note(f"in {name}")
                raise

    go_on()
    mortal.kill()
    go_on()
    mortal.start()
    go_on()
