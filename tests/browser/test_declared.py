"""Benchmarks that are declarations in Chromium: free play, two people, a study; one is that of the docs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from looking import beyond_the_edge, broken_rules, looking
from packages import TWENTY_QUESTIONS, install, write_guess_number
from participating import Curious, newcomer, occurring, settled, tab_to
from playing import at_number, episode, number, rows, take_seat, turns
from serving import Server, free_port

pytestmark = [pytest.mark.browser, pytest.mark.slow]
ROSE = "14"


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server in whose environment two more benchmarks are installed."""
    home, site = tmp_path_factory.mktemp("home"), tmp_path_factory.mktemp("site")
    install(TWENTY_QUESTIONS, site, home / "twenty")
    install(write_guess_number(home / "page"), site, home / "guess")
    made = Server(home, free_port(), packages=site)
    made.start()
    yield made
    made.kill()


def begin(page: Any, server: Server, name: str = "twenty_questions", **wishes: str) -> None:
    """From the entry to the first turn: `seat`, `item`, `opposite_SEAT`."""
    page.goto(f"{server.url}/{name}")
    page.wait_for_selector(".bl-entry")
    for field, value in wishes.items():
        if field == "item":
            page.fill("[name=item]", value)
        else:
            page.check(f"[name='{field.replace('_', '-')}'][value='{value}']", force=True)
    page.click("[data-form=begin] [type=submit]")
    page.wait_for_selector(".bl-play")


def say(page: Any, text: str) -> None:
    """Write something, and wait until it counts."""
    before = number(page)
    page.fill("#ab-reply", text)
    page.press("#ab-reply", "Enter")
    page.wait_for_function("n => askback.page.number > n || askback.page.ended", arg=before)


def test_free_play_ends_with_what_was_hidden(server: Server, open_page: Any) -> None:
    page = open_page().page
    curious = Curious(page)
    begin(page, server, item=ROSE)
    page.fill("#ab-reply", "Is it ali")
    page.reload()
    page.wait_for_selector(".bl-play")
    assert page.input_value("#ab-reply") == "Is it ali"  # a draft survives
    page.fill("#ab-reply", "Is it alive?")
    page.dblclick(".ab-send")
    at_number(page, 2)
    page.reload()
    page.wait_for_selector(".bl-play")
    assert page.input_value("#ab-reply") == "" and number(page) == 2
    say(page, "Is it a cactus?")
    assert page.inner_text(".ab-turns-text") == "Questions left: 18 of 20"
    assert occurring(["rose", "thorny", "fragrant"], curious.known()) == []
    say(page, "Is it a rose?")
    page.wait_for_selector(".bl-done")
    assert page.text_content(".bl-part .bl-heading") == "rose"
    assert page.locator(".bl-figures dd").all_inner_texts() == ["Yes", "3"]
    texts = [text for _, text in turns(server, page)]
    assert texts == ["Is it alive?", "yes", "Is it a cactus?", "no", "Is it a rose?", "yes"]
    assert texts == page.locator(".ab-bubble").all_inner_texts()
    page.goto(f"{server.url}/")
    page.wait_for_selector(".ab-home")
    assert page.is_hidden("[data-continue]")  # it is over, so there is nothing to go on with


def test_two_people_play_by_a_link_one_by_keyboard_alone(server: Server, open_page: Any) -> None:
    host, guest = open_page().page, open_page(width=390, height=700).page
    begin(host, server, item=ROSE, opposite_answerer="person")
    take_seat(guest, host.input_value("[data-link]"), ".bl-play")
    assert guest.locator("[data-link], [data-choices]").count() == 0
    say(host, "Is it alive?")
    assert host.inner_text(".ab-thinking-text") == "Waiting for: Answerer"
    guest.wait_for_selector("[data-choices] button:enabled")
    guest.wait_for_function("document.activeElement.matches('[data-choices]')")
    guest.keyboard.press("9")  # no such reply
    guest.keyboard.press("1")
    at_number(host, 2)
    host.reload()
    host.wait_for_selector(".bl-play")
    say(host, "Is it a rose?")
    guest.wait_for_selector("[data-choices] button:enabled")
    tab_to(guest, "[data-say=yes]")
    guest.keyboard.press("Enter")
    for page in (host, guest):
        page.wait_for_selector(".bl-done")
        assert page.locator(".ab-mine").count() == 2
    assert turns(server, host)[1::2] == [("answerer", "yes"), ("answerer", "yes")]
    assert rows(server, "SELECT seats FROM episodes WHERE id = ?", episode(host)) == [
        ('{"asker":"person","answerer":"person"}',)
    ]


def test_words_sent_without_a_line_are_sent_once_it_is_back(server: Server, open_page: Any) -> None:
    page = open_page().page
    begin(page, server)
    page.context.set_offline(True)
    page.fill("#ab-reply", "Is it alive?")
    page.press("#ab-reply", "Enter")
    page.wait_for_function("document.querySelector('.ab-toast').textContent.includes('retrying')")
    page.context.set_offline(False)
    at_number(page, 2)
    assert len(turns(server, page)) == 2


def test_a_study_leads_to_its_code(server: Server, open_page: Any) -> None:
    page = open_page().page
    link = f"{server.url}/twenty_questions/study/twenty-questions-asker?PROLIFIC_PID={newcomer()}"
    with looking(page, broken_rules, dark=True, widths=(1280, 320)) as look:
        page.goto(link)
        page.wait_for_selector(".st-welcome")
        look()
        page.click("[data-act=st-enter]")
        page.wait_for_selector(".st-consent")
        look()
        tab_to(page, "[data-say=yes]")
        page.keyboard.press("Enter")
        page.wait_for_selector(".st-instructions")
        settled(page)
        look()
        tab_to(page, "[data-say=ready]")
        page.keyboard.press("Enter")
        page.wait_for_selector(".bl-play")
        say(page, "Is it alive?")
        look()
        page.goto(link)  # as the platform sends them again
        page.wait_for_selector(".st-welcome")
        page.click("[data-act=st-enter]")
        page.wait_for_selector(".bl-play")
        assert page.inner_text(".ab-turns-text") == "Questions left: 14 of 15"
        for _ in range(14):
            say(page, "Is it a unicorn?")
        page.wait_for_selector(".bl-done")
        look()
    assert page.input_value("#st-code") == "TWENTY-DONE"
    assert "What was hidden" not in page.inner_text("#ab-content")
    first = episode(page)
    page.click("[data-act=st-next]")
    page.wait_for_selector(".bl-play")  # consent and instructions are not asked for again
    assert episode(page) != first and page.inner_text(".st-sets") == "Set 2 of 10"
    page.click("[data-act=st-withdraw]")
    page.click("[data-act=st-withdraw-yes]")
    page.wait_for_selector("[data-code=withdrawn]")
    page.goto(f"{server.url}/")
    page.wait_for_selector(".ab-home")
    assert page.is_hidden("[data-continue]")  # a study is gone on with by its link alone


@pytest.mark.parametrize("locale", ["en", "zh"])
def test_every_page_is_accessible_and_fits(server: Server, open_page: Any, locale: str) -> None:
    page = open_page(locale=locale).page
    with looking(page, broken_rules, dark=True, widths=(1280, 320)) as look:
        page.goto(f"{server.url}/twenty_questions")
        page.wait_for_selector(".bl-entry")
        look()
        begin(page, server, item=ROSE, opposite_answerer="person")
        look()
        begin(page, server, seat="answerer", opposite_asker="offline/guesser", item=ROSE)
        look()
        for _ in range(int(ROSE)):
            before = number(page)
            page.click("[data-say=no]")
            page.wait_for_function("n => askback.page.number > n || askback.page.ended", arg=before)
        page.wait_for_selector(".bl-done")
        look()


def test_the_benchmark_of_the_docs_is_played(server: Server, open_page: Any) -> None:
    page = open_page(width=390, height=800).page
    curious = Curious(page)
    begin(page, server, "guess_number", seat="guesser", item="4")
    assert page.text_content(".bl-heading") == "my favourite number"
    assert page.inner_text(".ab-background-body .ab-hint").startswith("Ask “Is it more than 8?”")
    page.fill("#ab-reply", "Which is it?")
    page.press("#ab-reply", "Enter")
    page.wait_for_selector(".ab-notice-problem")
    assert "Ask “Is it more than 8?”, or say “It is 7.”." in page.inner_text(".ab-notice-problem")
    assert page.input_value("#ab-reply") == "Which is it?"
    say(page, "Is it more than 12?")
    assert page.inner_text(".ab-turns-text") == "Questions left: 3 of 4"
    assert occurring(["13"], "\n".join(turn for _, turn in turns(server, page))) == []
    assert '"number": 13' not in curious.known()
    say(page, "It is 13.")
    page.wait_for_selector(".bl-done")
    assert page.locator(".bl-table td").all_inner_texts() == ["Is it more than 12?", "yes"]
    assert page.text_content(".bl-figures dt >> nth=0") == "Number found"
    page.goto(f"{server.url}/guess_number?lang=zh")
    page.wait_for_selector(".bl-entry")
    assert "猜数字" in page.inner_text("h1")
    assert beyond_the_edge(page) == []
    page.goto(f"{server.url}/guess_number/study/guess-number-guesser")
    page.wait_for_selector(".st-welcome")
