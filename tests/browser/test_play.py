"""Dialogues played in Chromium, as people play them: both roles, two people, reloads, crashes."""

from __future__ import annotations

import json
import re
import sqlite3
from typing import Any

import pytest

from simulator.clarq.data import load_items
from trees import Task

pytestmark = [pytest.mark.browser, pytest.mark.slow]

TASKS = {task.id: task for task in load_items("builtin", "en")}


# ---- what people do, and what the log then holds ------------------------------------------------------


def begin(page: Any, server: Any, seat: str = "seeker", task: str = "", opposite: str = "offline") -> None:
    """From the home page to the first turn."""
    page.goto(f"{server.url}/")
    page.wait_for_selector(".ab-home")
    page.check(f"input[name=seat][value={seat}]", force=True)
    if task:
        page.select_option("select[name=task-en]", task)
    name = (
        "person"
        if opposite == "person"
        else {"seeker": "offline/experts", "provider": "offline/seeker"}[seat]
    )
    page.check(f"input[name=opposite-{seat}][value='{name}']", force=True)
    page.click("[data-form=start] [type=submit]")
    page.wait_for_selector(f".ab-play-{seat}")


def number(page: Any) -> int:
    """The number that the next turn will have."""
    return int(page.get_attribute(".ab-page", "data-number"))


def at_number(page: Any, wanted: int) -> None:
    """Wait until the page shows the dialogue up to there."""
    page.wait_for_selector(f".ab-page[data-number='{wanted}']")


def ask(page: Any, text: str) -> None:
    """Say something as the seeker, and wait for the answer."""
    before = number(page)
    page.fill("#ab-reply", text)
    page.press("#ab-reply", "Enter")
    moved_on(page, before + 1)


def moved_on(page: Any, before: int) -> None:
    """Wait until a provider's turn number `before` is answered, or the dialogue is over."""
    page.wait_for_function("n => Number(document.querySelector('.ab-page').dataset.number) > n", arg=before)


def say_goodbye(page: Any) -> None:
    page.click("[data-act=goodbye]")
    page.click("[data-act=goodbye-yes]")
    page.wait_for_selector(".ab-result")


def episode(page: Any) -> str:
    return str(page.get_attribute(".ab-page", "data-episode"))


def rows(server: Any, question: str, *values: Any) -> list[tuple[Any, ...]]:
    with sqlite3.connect(f"file:{server.log}?mode=ro", uri=True) as connection:
        return connection.execute(question, values).fetchall()


def turns(server: Any, page: Any) -> list[tuple[str, str]]:
    """Seat and text of every turn in the log."""
    question = "SELECT seat, text FROM turns WHERE episode_id = ? ORDER BY number"
    return [(str(seat), str(text)) for seat, text in rows(server, question, episode(page))]


def task_of(server: Any, page: Any) -> Task:
    question = "SELECT i.name FROM episodes e JOIN items i ON i.hash = e.item_hash WHERE e.id = ?"
    return TASKS[str(rows(server, question, episode(page))[0][0])]


# ---- the two roles ------------------------------------------------------------------------------------


def test_a_seeker_plays_to_the_end_and_looks_back(server: Any, open_page: Any) -> None:
    page = open_page().page
    begin(page, server)
    task = task_of(server, page)
    assert task.background.task in page.text_content(".ab-background")
    ask(page, f"How do I do this: {task.background.task}?")
    assert task.tree.opening in page.inner_text(".ab-log")
    for node in task.tree.nodes:
        ask(page, f"I would like to know more about this: {node.explanation}")
    assert page.inner_text(".ab-turns-text") == f"Turn {1 + len(task.tree.nodes)} of 14"
    say_goodbye(page)

    assert rows(server, "SELECT status FROM endings WHERE episode_id = ?", episode(page)) == [("completed",)]
    logged = turns(server, page)
    assert logged[-1] == ("seeker", "Thank you, that is all I need. Goodbye!")
    assert [text for _, text in logged] == page.locator(".ab-transcript .ab-bubble").all_inner_texts()
    scores = dict(rows(server, "SELECT metric, value FROM scores WHERE episode_id = ?", episode(page)))
    assert page.inner_text(".ab-figures > div:nth-child(3) dd >> nth=0") == f"{scores['aql']:.1f}"
    missed = page.locator(".ab-missed").count()
    assert (missed == 0) == (page.inner_text("h1") == "Everything found out") == (scores["success"] == 1)
    assert page.locator("[data-tree] .ab-node").count() == 1 + len(task.tree.nodes)

    page.click("[data-act=goto] >> nth=2")  # the opening
    assert page.locator("[data-node='0'].ab-node-now").count() == 1
    assert page.inner_text("[data-why='2'] strong") == "Gave the opening"
    page.keyboard.press("ArrowLeft")
    assert page.inner_text("[data-step-text]") == f"Turn 2 of {len(logged)}"
    assert page.locator(".ab-node-given, .ab-node-now").count() == 0
    page.focus("[data-slider]")
    page.keyboard.press("End")
    gave = sum(len(json.loads(payload).get("give", [])) for (payload,) in payloads(server, page))
    assert page.locator(".ab-node-given").count() == gave


def payloads(server: Any, page: Any) -> list[tuple[Any, ...]]:
    return rows(server, "SELECT payload FROM turns WHERE episode_id = ?", episode(page))


def test_a_provider_gives_words_and_nodes_and_judges(server: Any, open_page: Any) -> None:
    page = open_page().page
    begin(page, server, "provider")
    task = task_of(server, page)
    texts = {node.index: node.text for node in task.tree.nodes}
    page.click("[data-act=pick]")
    assert page.inner_text("[data-picked] span") == task.tree.opening
    page.click("[data-act=pick-off]")
    assert not page.is_visible("[data-picked] span")
    page.click("[data-act=pick]")
    page.fill("[data-draft=before]", "Gladly.")
    page.fill("[data-draft=after]", "Good luck!")
    page.press("[data-draft=after]", "Enter")
    moved_on(page, 2)
    assert turns(server, page)[2] == ("provider", f"Gladly. {task.tree.opening} Good luck!")
    assert page.locator("[data-node='0'].ab-node-given").count() == 1

    while page.locator(".ab-result").count() == 0:
        before = number(page)
        picks = page.locator("[data-act=pick]")
        if picks.count():
            index = picks.first.get_attribute("data-index")
            picks.first.click()
        else:
            index = None
            page.fill("#ab-reply", "That is all there is.")
        page.click(".ab-send")
        moved_on(page, before)
        said = turns(server, page)[before][1]
        assert said == "That is all there is." if index is None else texts[index] in said
    page.click("[data-act=judge][data-success='1']")
    page.wait_for_selector("[data-judged]:has-text('Noted: success.')")
    judged = "SELECT annotator, kind, value FROM judgments WHERE episode_id = ?"
    assert rows(server, judged, episode(page)) == [("provider", "success", '{"success":true}')]
    page.reload()
    page.wait_for_selector("[data-judged]:has-text('Noted: success.')")
    assert page.is_disabled("[data-act=judge][data-success='0']")


def test_several_nodes_at_once_only_where_that_was_chosen(server: Any, open_page: Any) -> None:
    page = open_page().page
    page.goto(f"{server.url}/")
    page.check("input[name=multi]")
    page.check("input[name=seat][value=provider]", force=True)
    page.click("[data-form=start] [type=submit]")
    page.wait_for_selector(".ab-play-provider")
    page.click("[data-act=pick]")
    page.click(".ab-send")
    moved_on(page, 2)
    picks = page.locator("[data-act=pick]")
    picks.nth(0).click()
    picks.nth(1).click()
    chosen = page.locator("[data-picked] span").all_inner_texts()
    assert len(chosen) == 2
    page.click(".ab-send")
    moved_on(page, 4)
    said = turns(server, page)[4][1].lower()
    assert all(text.rstrip(".").lower() in said for text in chosen)

    begin(page, server, "provider")
    page.click("[data-act=pick]")
    page.click(".ab-send")
    at_number(page, 4)
    picks = page.locator("[data-act=pick]")
    picks.nth(0).click()
    picks.nth(1).click()
    assert page.locator("[data-picked] span").count() == 1


def test_two_people_play_by_link(server: Any, open_page: Any) -> None:
    host, guest = open_page().page, open_page(locale="zh-CN").page
    begin(host, server, opposite="person")
    link = host.input_value("[data-link]")
    assert link.startswith(server.url)
    guest.goto(link)
    guest.wait_for_selector(".ab-play-provider")
    assert guest.inner_text(".ab-talk-who") == "You are the provider"  # the link carries the host's language
    assert guest.locator("[data-link]").count() == 0
    assert guest.is_disabled(".ab-send")

    host.fill("#ab-reply", "Hello! How is it done?")
    host.press("#ab-reply", "Enter")
    host.wait_for_selector(".ab-thinking.ab-on:has-text('Waiting for the provider')")
    guest.wait_for_selector(".ab-line:has-text('Hello! How is it done?')")
    guest.click("[data-act=pick]")
    guest.click(".ab-send")
    opening = task_of(server, host).tree.opening
    host.wait_for_selector(".ab-line-provider:nth-child(3)")
    assert opening in host.inner_text(".ab-log")
    host.wait_for_selector(".ab-send:enabled")
    say_goodbye(host)
    guest.wait_for_selector(".ab-result")
    guest.click("[data-act=judge][data-success='0']")
    guest.wait_for_selector("[data-judged]:has-text('failure')")
    assert [seat for seat, _ in turns(server, host)] == ["provider", "seeker", "provider", "seeker"]


# ---- nothing is lost, nothing counts twice ------------------------------------------------------------


def test_unsent_words_survive_a_reload_and_are_gone_once_sent(server: Any, open_page: Any) -> None:
    page = open_page().page
    begin(page, server)
    page.fill("#ab-reply", "Half a quest")
    page.reload()
    page.wait_for_selector(".ab-play")
    assert page.input_value("#ab-reply") == "Half a quest"
    ask(page, "A whole question about the task?")
    assert page.input_value("#ab-reply") == ""
    page.reload()
    page.wait_for_selector(".ab-play")
    assert page.input_value("#ab-reply") == ""
    assert len(turns(server, page)) == 3


def test_a_providers_choice_survives_a_reload(server: Any, open_page: Any) -> None:
    page = open_page().page
    begin(page, server, "provider")
    page.click("[data-act=pick]")
    page.fill("[data-draft=before]", "Well,")
    page.reload()
    page.wait_for_selector(".ab-giving")
    assert page.input_value("[data-draft=before]") == "Well,"
    assert page.get_attribute("[data-act=pick]", "aria-pressed") == "true"


def test_sending_twice_is_sending_once(server: Any, open_page: Any) -> None:
    page = open_page().page
    begin(page, server)
    page.fill("#ab-reply", "How is it done?")
    page.dblclick(".ab-send")
    at_number(page, 3)
    page.fill("#ab-reply", "Which one?")
    page.evaluate(
        """() => { const form = document.querySelector('[data-form=reply]');
                   for (let i = 0; i < 5; i += 1) form.requestSubmit(); }"""
    )
    at_number(page, 5)
    assert [seat for seat, _ in turns(server, page)] == ["provider", "seeker"] * 2 + ["provider"]


def test_a_second_tab_cannot_answer_what_the_first_has_answered(server: Any, open_page: Any) -> None:
    first = open_page().page
    begin(first, server)
    second = first.context.new_page()
    second.goto(first.url)
    second.wait_for_selector(".ab-play")
    second.evaluate("document.dispatchEvent = () => true")  # stays in the background: it does not look
    ask(first, "How is it done?")
    second.fill("#ab-reply", "Asked too late?")
    second.press("#ab-reply", "Enter")
    second.wait_for_selector(".ab-notice:has-text('moved on in another window')")
    assert number(second) == 3
    assert second.input_value("#ab-reply") == "Asked too late?"
    assert len(turns(server, first)) == 3
    second.press("#ab-reply", "Enter")
    at_number(second, 5)
    assert turns(server, first)[3] == ("seeker", "Asked too late?")


def test_a_server_killed_while_one_writes(server: Any, open_page: Any) -> None:
    page = open_page().page
    begin(page, server)
    ask(page, "How is it done?")
    before = turns(server, page)
    server.kill()
    page.fill("#ab-reply", "Are you still there?")
    page.press("#ab-reply", "Enter")
    page.wait_for_selector(".ab-toast:has-text('does not answer')")
    server.start()
    at_number(page, 5)
    after = turns(server, page)
    assert after[:3] == before
    assert after[3] == ("seeker", "Are you still there?")
    assert len(after) == 5
    assert page.input_value("#ab-reply") == ""


def test_a_reload_while_the_server_is_away_keeps_the_words(server: Any, open_page: Any) -> None:
    page = open_page().page
    begin(page, server)
    address = page.url
    page.fill("#ab-reply", "Kept in this browser")
    server.kill()
    with pytest.raises(Exception, match="ERR_CONNECTION_REFUSED"):
        page.reload()
    server.start()
    page.goto(address)
    page.wait_for_selector(".ab-play")
    assert page.input_value("#ab-reply") == "Kept in this browser"


def acknowledgements_lost(page: Any) -> list[str]:
    """From now on a turn reaches the server, but its answer does not reach the page."""
    sent: list[str] = []

    def swallow(route: Any) -> None:
        if '"call_send"' not in (route.request.post_data or ""):
            route.continue_()
            return
        sent.append(route.request.post_data)
        route.fetch()
        route.abort()

    page.route("**/component_server/", swallow)
    return sent


def test_a_turn_whose_answer_was_lost_is_sent_again_and_counts_once(server: Any, open_page: Any) -> None:
    page = open_page().page
    begin(page, server)
    sent = acknowledgements_lost(page)
    page.fill("#ab-reply", "How is it done?")
    page.press("#ab-reply", "Enter")
    while len(sent) < 2:
        page.wait_for_timeout(50)
    page.unroute_all(behavior="ignoreErrors")
    at_number(page, 3)
    keys = {(call["data"]["render"], call["data"]["number"]) for call in map(json.loads, sent)}
    assert len(keys) == 1
    assert len(turns(server, page)) == 3


def test_a_turn_whose_answer_was_lost_by_a_reload_leaves_no_draft(server: Any, open_page: Any) -> None:
    page = open_page().page
    begin(page, server)
    acknowledgements_lost(page)
    page.fill("#ab-reply", "How is it done?")
    page.press("#ab-reply", "Enter")
    while len(turns(server, page)) < 3:
        page.wait_for_timeout(50)
    page.unroute_all(behavior="ignoreErrors")
    page.reload()
    at_number(page, 3)
    assert page.input_value("#ab-reply") == ""


def test_unfinished_dialogues_are_on_the_home_page(server: Any, open_page: Any) -> None:
    page = open_page().page
    begin(page, server)
    address = page.url
    page.goto(f"{server.url}/")
    page.click("[data-continue-list] a")
    page.wait_for_selector(".ab-play")
    assert page.url == address
    say_goodbye(page)
    page.click(".ab-again a")
    page.wait_for_selector(".ab-home")
    assert page.locator("[data-continue]:visible").count() == 0


# ---- what reaches the browser -------------------------------------------------------------------------


def test_a_seekers_browser_gets_nothing_of_the_tree_before_the_end(server: Any, open_page: Any) -> None:
    page = open_page().page
    received: list[str] = []

    def keep(route: Any) -> None:
        answer = route.fetch()
        received.append(answer.text())
        route.fulfill(response=answer)

    page.route(re.compile(r"^[^?]*(?<!\.js)(?<!\.css)(?<!\.svg)(\?.*)?$"), keep)
    begin(page, server)
    task = task_of(server, page)
    ask(page, f"Can you tell me about my task, {task.background.task}?")
    ask(page, "Which one do you mean?")
    page.reload()
    page.wait_for_selector(".ab-play")
    page.goto(f"{server.url}/config")
    page.goto(f"{server.url}/gradio_api/info")
    page.go_back()
    page.go_back()
    page.wait_for_selector(".ab-play")
    page.unroute_all(behavior="wait")
    bodies = "\n".join(received)
    said = "\n".join(text for _, text in turns(server, page))
    assert task.tree.opening in said
    hidden = [node.text for node in task.tree.nodes if node.text not in said]
    hidden += [node.explanation for node in task.tree.nodes if node.explanation]
    assert len(hidden) > len(task.tree.nodes)
    plain = bodies.replace("&#39;", "'").replace("&#34;", '"').replace('\\"', '"')
    assert task.tree.opening in plain
    assert [text for text in hidden if text in plain] == []


def test_nothing_outside_is_asked_for_and_nothing_is_complained_of(server: Any, open_page: Any) -> None:
    watched = open_page()
    page = watched.page
    said: list[str] = []
    page.on("console", lambda message: message.type in ("error", "warning") and said.append(message.text))
    begin(page, server)
    ask(page, "<img src=https://example.org/x.png onerror=alert(1)> {{7*7}} ${7*7} [a](https://example.org)")
    assert "{{7*7}} ${7*7} [a](https://example.org)" in page.inner_text(".ab-mine .ab-bubble")
    assert page.locator(".ab-log img, .ab-log a").count() == 0
    say_goodbye(page)
    page.goto(f"{server.url}/play?t=nonsense")
    page.wait_for_selector("h1:has-text('This link does not work')")
    assert said == []
    assert watched.strangers == []


# ---- language, light, keyboard, screens ---------------------------------------------------------------


def test_the_language_stays_and_loses_nothing(server: Any, open_page: Any) -> None:
    page = open_page().page
    begin(page, server)
    page.fill("#ab-reply", "Still here")
    page.click(".ab-tools a")
    page.wait_for_selector(".ab-talk-who:has-text('您是提问者')")
    assert page.input_value("#ab-reply") == "Still here"
    assert page.evaluate("document.documentElement.lang") == "zh"
    page.goto(f"{server.url}/")
    page.wait_for_selector("h1:has-text('总得有人追问一句')")
    page.click("[data-form=start] [type=submit]")
    page.wait_for_selector(".ab-play:has-text('您是提问者')")
    assert re.search("[一-鿿]", page.inner_text(".ab-task p"))


def test_light_and_dark_stay(server: Any, open_page: Any) -> None:
    page = open_page(scheme="dark").page
    page.goto(f"{server.url}/")
    page.wait_for_selector(".ab-home")
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.click("[data-act=appearance]")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != dark
    page.reload()
    page.wait_for_selector(".ab-home")
    assert not page.evaluate("document.body.classList.contains('dark')")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != dark


def test_a_dialogue_by_keyboard_alone(server: Any, open_page: Any) -> None:
    page = open_page().page
    page.goto(f"{server.url}/")
    page.wait_for_selector(".ab-home")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "ab-skip"
    page.keyboard.press("Enter")
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.matches('[data-form=start] [type=submit]')"):
            break
    page.keyboard.press("Enter")
    page.wait_for_selector(".ab-play")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")  # the second skip link leads to the reply
    assert page.evaluate("document.activeElement.id") == "ab-reply"
    page.keyboard.type("How is")
    page.keyboard.press("Shift+Enter")
    page.keyboard.type("it done?")
    page.keyboard.press("Enter")
    at_number(page, 3)
    assert turns(server, page)[1] == ("seeker", "How is\nit done?")
    assert page.evaluate("document.activeElement.id") == "ab-reply"
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.inner_text(":focus") == "Yes, say goodbye"
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.id") == "ab-reply"


def test_enter_belongs_to_the_input_method_while_it_composes(server: Any, open_page: Any) -> None:
    page = open_page().page
    begin(page, server)
    page.fill("#ab-reply", "怎么做")
    page.evaluate(
        """() => document.querySelector('#ab-reply').dispatchEvent(
             new KeyboardEvent('keydown', {key: 'Enter', isComposing: true, bubbles: true}))"""
    )
    page.wait_for_timeout(300)
    assert number(page) == 1
    assert page.input_value("#ab-reply") == "怎么做"


@pytest.mark.parametrize("width", [360, 768, 1400])
@pytest.mark.parametrize("seat", ["seeker", "provider"])
def test_every_page_fits_its_screen(server: Any, open_page: Any, seat: str, width: int) -> None:
    page = open_page(width=width, height=740).page

    def fits() -> None:
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        wide = """w => [...document.querySelectorAll('.ab-page *')].filter(e => e.checkVisibility()
                  && !e.closest('.ab-hidden, .ab-skip') && e.getBoundingClientRect().right > w + 1).length"""
        assert page.evaluate(wide, width) == 0

    page.goto(f"{server.url}/")
    page.wait_for_selector(".ab-home")
    fits()
    begin(page, server, seat)
    fits()
    if seat == "seeker":
        ask(page, "How is it done? " + "Donaudampfschifffahrtsgesellschaftskapitän" * 4)
        assert page.evaluate("document.querySelector('.ab-composer').getBoundingClientRect().bottom") <= 741
        say_goodbye(page)
    else:
        page.click("[data-act=pick]")
    fits()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("locale", ["en", "zh-CN"])
def test_the_pages_keep_the_accessibility_rules(
    server: Any, open_page: Any, scheme: str, locale: str
) -> None:
    axe = pytest.importorskip(
        "axe_playwright_python.sync_playwright", reason="axe is not installed: pip install askback[dev]"
    ).Axe()
    page = open_page(scheme=scheme, locale=locale).page
    rules = {
        "runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"],
        "resultTypes": ["violations"],
    }

    def check() -> None:
        page.wait_for_timeout(350)  # transitions of colour
        found = axe.run(page, options=rules).response["violations"]
        assert [(rule["id"], [node["html"] for node in rule["nodes"]]) for rule in found] == []

    page.goto(f"{server.url}/play?t=nonsense")
    page.wait_for_selector("h1")
    check()
    begin_here(page, server, "seeker")
    check()
    page.fill("#ab-reply", "任务怎么做？ How is it done?")
    page.press("#ab-reply", "Enter")
    at_number(page, 3)
    page.click("[data-act=goodbye]")
    check()
    page.click("[data-act=goodbye-yes]")
    page.wait_for_selector(".ab-result")
    check()
    page.goto(f"{server.url}/")
    page.wait_for_selector(".ab-home")
    check()
    begin_here(page, server, "provider")
    check()
    page.click("[data-act=pick]")
    check()


def begin_here(page: Any, server: Any, seat: str) -> None:
    """Begin with what the form proposes, in the page's language."""
    page.goto(f"{server.url}/")
    page.wait_for_selector(".ab-home")
    page.check(f"input[name=seat][value={seat}]", force=True)
    page.click("[data-form=start] [type=submit]")
    page.wait_for_selector(f".ab-play-{seat} .ab-send:enabled")
