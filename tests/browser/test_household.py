"""HandMeThat in Chromium: a house to walk through by click and by keyboard, both seats, study, watching."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playing import at_number, episode, number, rows

from simulator.handmethat.browse import load_episode
from simulator.handmethat.env.sight import visible
from simulator.handmethat.meanings.naming import label
from simulator.handmethat.task import Task

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def begin(page: Any, server: Any, seat: str = "robot", **wishes: str) -> None:
    """From the entry to the house; `wishes`: mode, level, language, protocol, opposite."""
    page.goto(f"{server.url}/handmethat")
    page.wait_for_selector(".hm-entry")
    page.check(f"input[name=seat][value={seat}]", force=True)
    for name, value in wishes.items():
        field = f"opposite-{seat}" if name == "opposite" else name
        page.check(f"input[name='{field}'][value='{value}']", force=True)
    page.click("[data-form=household] [type=submit]")
    page.wait_for_selector(f".ab-play.hm-{seat}, .hm-result")


def begin_with_story(page: Any, server: Any, **wishes: str) -> None:
    """As `begin`, until the human has done several things before asking (some ask at once)."""
    for _ in range(20):
        begin(page, server, **wishes)
        if page.locator("[data-story] [data-step]").count() > 2:
            return
    pytest.fail("no built-in episode has a story")


def task_of(server: Any, page: Any) -> Task:
    question = "SELECT i.name FROM episodes e JOIN items i ON i.hash = e.item_hash WHERE e.id = ?"
    return load_episode("builtin", str(rows(server, question, episode(page))[0][0]))


def commands(server: Any, page: Any) -> list[str]:
    """The robot's commands in the log."""
    question = "SELECT text FROM turns WHERE episode_id = ? AND seat = 'robot' ORDER BY number"
    return [str(text) for (text,) in rows(server, question, episode(page))]


def expert(task: Task) -> list[str]:
    """The expert's commands as they are offered."""
    return [re.sub(r" (\d+)\b", r"#\1", command) for command in task.demo]


def do(page: Any, command: str) -> None:
    """Give a command with the mouse: by its button, or out of the menu of a thing."""
    before = number(page)
    button = page.locator(f'[data-act=do][data-command="{command}"]').first
    if button.count() == 0:  # an expert may go where it stands; for that there is no button
        assert page.locator(f".hm-tile-{command.removeprefix('move to ')}.hm-here").count() == 1
        type_in(page, command)
        return
    if not button.is_visible():
        menu = button.locator("xpath=ancestor::*[contains(@class, 'hm-menu')]").first
        page.click(f'[aria-controls="{menu.get_attribute("id")}"]')
    button.click()
    moved_on(page, before)


def moved_on(page: Any, before: int) -> None:
    page.wait_for_function(
        "n => Number(document.querySelector('.ab-page').dataset.number) > n && !askback.page.busy", arg=before
    )


def type_in(page: Any, text: str) -> None:
    before = number(page)
    page.fill("#ab-reply", text)
    page.press("#ab-reply", "Enter")
    moved_on(page, before)


@pytest.mark.parametrize("mode", ["partial", "full"])
def test_an_episode_by_click(server: Any, open_page: Any, mode: str) -> None:
    page = open_page().page
    begin(page, server, mode=mode)
    task = task_of(server, page)
    way = expert(task)
    for command in way:
        do(page, command)
    page.wait_for_selector(".hm-result")
    assert page.inner_text("h1") == "That was it"
    assert commands(server, page) == way
    scores = dict(rows(server, "SELECT metric, value FROM scores WHERE episode_id = ?", episode(page)))
    assert scores["success"] == 1
    assert page.inner_text(".hm-figures dd >> nth=0") == str(round(scores["score"]))
    shown = [re.sub(r" (\d+)$", r"#\1", one) for one in page.locator(".hm-demo li").all_inner_texts()]
    assert len(shown) == len(way)
    assert page.locator(".hm-meant").count() == 1
    page.click(".hm-result .ab-again a")
    page.wait_for_selector(".hm-entry")


def test_an_episode_by_keyboard_alone(server: Any, open_page: Any) -> None:
    page = open_page().page
    page.goto(f"{server.url}/handmethat")
    page.wait_for_selector(".hm-entry")
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.matches('[data-form=household] [type=submit]')"):
            break
    page.keyboard.press("Enter")
    page.wait_for_selector(".ab-play.hm-robot")
    way = expert(task_of(server, page))
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")  # the second skip link leads to the line for typing
    assert page.evaluate("document.activeElement.id") == "ab-reply"
    for place, command in enumerate(way):
        before = number(page)
        page.keyboard.type(command)
        if place == 0:  # the first out of the list, the others as typed
            assert page.get_attribute("#ab-reply", "aria-expanded") == "true"
            page.keyboard.press("ArrowDown")
            chosen = page.get_attribute("#ab-reply", "aria-activedescendant")
            assert page.get_attribute(f"#{chosen}", "data-text") == command
        page.keyboard.press("Enter")
        moved_on(page, before)
        if place < len(way) - 1:
            assert page.evaluate("document.activeElement.id") == "ab-reply"
    page.wait_for_selector(".hm-result")
    assert commands(server, page) == way


def test_a_menu_opens_and_closes_by_keyboard(server: Any, open_page: Any) -> None:
    page = open_page().page
    begin(page, server, mode="full")
    chip = page.locator("[data-panels] button.hm-chip:visible").first
    chip.focus()
    page.keyboard.press("Enter")
    assert chip.get_attribute("aria-expanded") == "true"
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.matches('.hm-do')")
    page.keyboard.press("Escape")
    assert chip.get_attribute("aria-expanded") == "false"
    assert page.evaluate("document.activeElement.matches('button.hm-chip')")


def test_a_refresh_in_the_middle_loses_nothing(server: Any, open_page: Any) -> None:
    page = open_page().page
    begin(page, server)
    do(page, "move to table")
    page.fill("#ab-reply", "pick up the")
    page.reload()
    page.wait_for_selector(".hm-tile-table.hm-here")
    assert page.input_value("#ab-reply") == "pick up the"
    assert "Move 1 of 40" in page.inner_text(".ab-turns-text")
    server.kill()
    server.start()
    page.reload()
    page.wait_for_selector(".hm-tile-table.hm-here")
    assert commands(server, page) == ["move to table"]
    page.goto(f"{server.url}/")
    page.wait_for_selector("[data-continue] a")
    page.click("[data-continue] a >> nth=0")
    page.wait_for_selector(".hm-tile-table.hm-here")


def test_a_double_click_is_one_move(server: Any, open_page: Any) -> None:
    page = open_page().page
    begin(page, server)
    page.dblclick("[data-plan] [data-command='move to sofa']")
    page.wait_for_selector(".hm-tile-sofa.hm-here")
    page.wait_for_timeout(500)
    assert commands(server, page) == ["move to sofa"]


def test_a_question_and_its_price(server: Any, open_page: Any) -> None:
    page = open_page().page
    begin(page, server, level="4")
    task = task_of(server, page)
    page.click(".hm-ask summary")
    question = page.locator(".hm-question", has_text="type").first
    assert question.locator(".hm-price").inner_text() == "10 points"
    question.click()
    page.wait_for_selector(".hm-line-answer")
    assert page.inner_text(".ab-turns-text") == "Move 1 of 40 · Cost 10"
    kinds = {task.meaning.get(key) for key in ("type", "subclass", "class")} - {None}
    answer = page.inner_text(".hm-line-answer .ab-bubble").lower()
    assert any(str(kind).replace("_", " ").lower() in answer.replace("_", " ") for kind in kinds) or not kinds
    type_in(page, "where is it?")
    assert page.inner_text(".ab-turns-text") == "Move 2 of 40 · Cost 20"
    page.click("[data-act=stop]")
    page.keyboard.press("Escape")
    assert not page.is_visible("[data-stop]")
    page.click("[data-act=stop]")
    page.click("[data-stop] [data-act=do]")
    page.wait_for_selector(".hm-result")
    assert page.inner_text("h1") == "That was not it"
    assert page.locator(".hm-readings tbody tr").count() >= 1


def test_the_story_lights_its_places(server: Any, open_page: Any) -> None:
    page = open_page().page
    begin_with_story(page, server, mode="full")
    steps = page.locator("[data-story] [data-step]")
    assert steps.count() == len(task_of(server, page).actions)
    for place in range(1, min(steps.count(), 4)):
        page.click("[data-act=story][data-by='1']")
        where = steps.nth(place).get_attribute("data-where")
        assert page.locator("[data-plan] .hm-lit[data-place]").get_attribute("data-place") == where
    page.focus("[data-act=story][data-by='-1']")
    page.keyboard.press("ArrowLeft")
    assert steps.nth(min(steps.count(), 4) - 2).is_visible()


def test_looking_elsewhere_in_full_view_costs_nothing(server: Any, open_page: Any) -> None:
    page = open_page().page
    begin(page, server, mode="full")
    page.click("[data-act=peek][data-place=countertop]")
    assert page.is_visible("[data-panel=countertop]")
    assert not page.is_visible("[data-panel=floor]")
    assert page.locator("[data-panel=countertop] button.hm-chip").count() == 0
    assert number(page) == 1


def test_nothing_hidden_reaches_the_browser_in_partial_view(server: Any, open_page: Any) -> None:
    watched = open_page()
    page = watched.page
    received: list[str] = []

    def keep(response: Any) -> None:
        if "component_server" in response.url or "/api/state" in response.url:
            received.append(response.text())

    page.on("response", keep)
    begin(page, server, mode="partial", level="4")
    task = task_of(server, page)
    world, state = task.world, task.current
    received.append(page.content())
    for command in ("move to sofa", "move to cabinet"):
        do(page, command)
    received.append(page.content())
    seen = 0
    for name in ("floor", "sofa", "cabinet"):
        seen |= visible(world, state._replace(at=world.entity(name)), "partial")
    told = {one for action in task.actions for one in action.args}
    hidden = [one for one in world.movables if not seen >> one & 1 and one not in told]
    assert len(hidden) > 50
    everything = "\n".join(received)
    for one in hidden:
        if not world.alone(one):
            assert not re.search(rf"\b{re.escape(world.names[one])}\b", everything), world.names[one]
            # "knife #0" would be found in "carving knife #0".
            assert not re.search(rf"(?<!\w )\b{re.escape(label(world, one, 'en'))}\b", everything)
    assert "hm-readings" not in everything


def test_a_person_gives_the_instruction_and_answers(server: Any, open_page: Any) -> None:
    page, other = open_page().page, open_page().page
    begin(page, server, opposite="person")
    link = page.input_value("[data-link]")
    other.goto(link)
    other.wait_for_selector(".ab-play.hm-human")
    task = task_of(server, page)
    assert other.locator(".hm-secret .ab-chips li").count() >= 1
    before = number(page)
    page.fill("#ab-reply", "which one?")
    page.press("#ab-reply", "Enter")
    page.wait_for_selector(".ab-thinking.ab-on:has-text('Waiting for the human')")
    other.wait_for_selector(".hm-pending-on")
    assert other.inner_text(".hm-pending-text") == "which one?"
    other.fill("#ab-reply", "The one over there.")
    other.press("#ab-reply", "Enter")
    at_number(page, before + 2)
    assert "The one over there." in page.inner_text(".ab-log")
    for command in expert(task):
        do(page, command)
    page.wait_for_selector(".hm-result")
    other.wait_for_selector(".hm-result")


def test_a_person_is_asked_by_a_robot(server: Any, open_page: Any) -> None:
    page = open_page().page
    begin(page, server, seat="human", opposite="offline/asker:1", level="4")
    page.wait_for_selector(".hm-pending-on")
    meaning = page.inner_text(".hm-meaning")
    page.fill("#ab-reply", meaning)
    page.click(".ab-send")
    page.wait_for_selector(".hm-result")
    assert page.inner_text(".hm-thought p >> nth=1") == meaning


def test_the_study_goes_on_to_the_next_episode(server: Any, open_page: Any) -> None:
    page = open_page().page
    page.goto(f"{server.url}/handmethat")
    page.wait_for_selector(".hm-entry")
    page.check("input[name=protocol][value=paper]", force=True)
    page.wait_for_selector("[data-progress]:visible")
    assert re.fullmatch("P-[A-Z2-9]{8}", page.input_value("[name=participant]"))
    assert not page.is_visible("input[name=level]")
    page.click("[data-form=household] [type=submit]")
    page.wait_for_selector(".ab-play.hm-robot")
    first = episode(page)
    assert page.locator(".hm-ask").count() == 0
    type_in(page, "stop")
    page.wait_for_selector(".hm-result")
    assert not page.is_visible(".hm-thought")
    assert "Episode 2 of" in page.inner_text(".hm-next")
    page.click("[data-act=next-episode]")
    page.wait_for_selector(".ab-play.hm-robot")
    assert episode(page) != first
    page.goto(f"{server.url}/handmethat")
    page.wait_for_selector(".hm-entry")
    page.check("input[name=protocol][value=paper]", force=True)
    page.wait_for_selector("[data-progress-text]:has-text('Episode 2 of')")


def test_the_pages_speak_chinese(server: Any, open_page: Any) -> None:
    page = open_page(locale="zh-CN").page
    begin(page, server, mode="full", language="zh")
    assert page.evaluate("document.documentElement.lang") == "zh"
    shown = page.inner_text("#ab-content")
    assert re.search("[一-鿿]", page.inner_text(".hm-speech"))
    # In Chinese texts a thing's name in commands, which are English, follows it: 包裹（package#2）.
    assert re.findall(r"[A-Za-z]{4,}", re.sub(r"（\w+(#\d+)?）", "", shown)) == []
    type_in(page, "您要哪一种？")
    assert page.locator(".hm-line-answer").count() == 1


@pytest.mark.parametrize("width", [360, 390, 768, 1280])
def test_every_page_fits_its_screen(server: Any, open_page: Any, width: int) -> None:
    page = open_page(width=width, height=800).page

    def fits() -> None:
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        wide = """w => [...document.querySelectorAll('.ab-page *')].filter(e => e.checkVisibility()
                  && !e.closest('.ab-hidden, .ab-skip, svg') && e.getBoundingClientRect().right > w + 1)
                  .map(e => e.className)"""
        assert page.evaluate(wide, width) == []

    page.goto(f"{server.url}/handmethat")
    page.wait_for_selector(".hm-entry")
    fits()
    begin(page, server, mode="full")
    fits()
    page.click("[data-act=peek][data-place=countertop]")
    fits()
    do(page, "move to countertop")
    page.locator("[data-panels] button.hm-chip:visible").last.click()
    fits()
    type_in(page, "stop")
    page.wait_for_selector(".hm-result")
    fits()
    begin(page, server, seat="human", opposite="offline/asker:1")
    fits()


@pytest.fixture(scope="module")
def run(server: Any) -> Any:
    """A run to be watched."""
    server.askback("run", "handmethat", "--robot", "offline/asker:1", "--per-level", "1", "--run", "house")
    return server


def test_an_episode_is_watched_turn_by_turn(run: Any, open_page: Any) -> None:
    page = open_page().page
    page.goto(f"{run.url}/research?run=house")
    page.wait_for_selector(".rs-scores")
    page.click(".rs-tabs >> text=Watch")
    page.click(".rs-list a >> nth=0")
    page.wait_for_selector("[data-watch][data-step='0']")
    page.keyboard.press("ArrowRight")
    page.wait_for_selector("[data-watch][data-step='1']")
    page.click("[data-act=watch-play]")
    page.wait_for_selector("[data-watch][data-step='3']")
    page.click("[data-act=watch-play]")
    here = page.get_attribute("[data-watch]", "data-step")
    page.wait_for_timeout(2000)
    assert page.get_attribute("[data-watch]", "data-step") == here
    last = page.get_attribute("[data-watch]", "data-last")
    page.focus("[data-watch-slider]")
    page.keyboard.press("End")
    page.wait_for_selector(f"[data-watch][data-step='{last}']")
    page.reload()
    page.wait_for_selector(f"[data-watch][data-step='{last}']")
    page.click(".hm-see >> text=What the robot sees")
    page.wait_for_selector(".hm-see [aria-current]:has-text('What the robot sees')")


def test_episodes_are_browsed_and_their_tables_drawn(server: Any, open_page: Any) -> None:
    page = open_page().page
    page.goto(f"{server.url}/research/episodes")
    page.wait_for_selector(".rs-list a")
    page.select_option("[name=level]", "4")
    page.wait_for_url(re.compile("level=4"))
    page.wait_for_function("document.querySelector('.rs-list .hm-level').textContent === 'Level 4'")
    page.click(".rs-list a >> nth=0")
    page.wait_for_selector("[data-figure=listener] svg.main-svg")
    page.wait_for_selector("[data-figure=speaker] svg.main-svg")
    page.fill("[name=data]", "/no/such/folder")
    page.click(".rs-filters [type=submit]")
    page.wait_for_selector(".rs-empty:has-text('/no/such/folder')")


@pytest.mark.parametrize(("scheme", "locale"), [("light", "en"), ("dark", "en"), ("light", "zh-CN")])
def test_the_pages_keep_the_accessibility_rules(run: Any, open_page: Any, scheme: str, locale: str) -> None:
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

    page.goto(f"{run.url}/handmethat")
    page.wait_for_selector(".hm-entry")
    check()
    page.check("input[name=protocol][value=paper]", force=True)
    check()
    begin_with_story(page, run, mode="full", language=locale[:2])
    page.click("[data-act=story][data-by='1']")
    check()
    page.locator("[data-panels] button.hm-chip:visible").first.click()
    page.click(".hm-ask summary")
    page.fill("#ab-reply", "move")
    check()
    page.click("[data-act=stop]")
    check()
    page.click("[data-stop] [data-act=do]")
    page.wait_for_selector(".hm-result")
    check()
    begin(page, run, mode="partial")
    check()
    begin(page, run, seat="human", opposite="offline/asker:1", level="4")
    page.wait_for_selector(".hm-pending-on")
    check()
    for place in ("/research/episodes", "/research?run=house", "/research?run=house&tab=dialogues"):
        page.goto(f"{run.url}{place}")
        page.wait_for_selector("#ab-content h1")
        check()
    page.click(".rs-list a >> nth=0")
    page.wait_for_selector("[data-watch]")
    check()
    page.goto(f"{run.url}/research/episodes?level=4")
    page.click(".rs-list a >> nth=0")
    page.wait_for_selector("[data-figure=speaker] svg.main-svg")
    check()
