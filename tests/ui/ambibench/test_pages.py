"""The pages' markup: the text as a model gets it, its marks, the plot, both languages."""

from __future__ import annotations

import re
from typing import Any

import pytest
from labelling import Visit, enter, play, prompt_of
from texts import texts_of, unused
from visiting import Page, ask_for_place, words

from logs import LogReader, LogWriter
from simulator.ambibench.prompt import shown_text
from simulator.ambibench.views import Replay
from ui.actions import Actions
from ui.ambibench.entry import KINDS, picture
from ui.ambibench.play import lay_out
from ui.ambibench.result import rows, story
from ui.i18n import strings

Log = tuple[LogWriter, LogReader]
EVIL = "\"'><img src=x onerror=alert(1)>{{7*7}}</textarea><script>alert(2)</script>"


@pytest.mark.parametrize("form", ["arrow", "qa"])
async def test_a_trial_shows_exactly_what_a_model_gets(actions: Actions, log: Log, form: str) -> None:
    visit = await play(actions, format=form)
    prompt = prompt_of(log[1], visit.episode)
    await visit.say("ready")
    for k in range(1, 21):
        page = Page(visit.html)
        assert page.shown == shown_text(prompt, k)
        assert page.one("data-answer")["aria-describedby"] == "am-due am-hint"
        assert f"{k} of 20" in words(visit.html)
        await visit.say("X")


async def test_all_of_one_question_stands_on_one_screen(actions: Actions, log: Log) -> None:
    visit = await play(actions, setting="instruction")
    prompt = prompt_of(log[1], visit.episode)
    assert "all sentences stand on one screen" in words(visit.html).lower()
    await visit.say("ready")
    assert Page(visit.html).shown == shown_text(prompt, 3)
    assert "am-told" not in visit.html
    assert "st-progress" not in visit.html


async def test_the_right_label_is_told_and_marked(actions: Actions, log: Log) -> None:
    visit = await play(actions)
    examples = prompt_of(log[1], visit.episode).examples
    await visit.say("ready")
    await visit.say(examples[0].label)
    assert f"That was right: {examples[0].label}" in words(visit.html)
    assert "am-corrected" not in visit.html
    await visit.say(EVIL)
    assert f"You typed {EVIL}; the right answer is {examples[1].label}." in words(visit.html)
    told = [attrs for _, attrs in Page(visit.html).tags if "am-told" in (attrs.get("class") or "")]
    assert [attrs["data-mark"] for attrs in told] == ["corrected"]
    assert not [tag for tag, _ in Page(visit.html).tags if tag in ("script", "img")]


async def test_nothing_on_a_trial_says_what_is_valid(actions: Actions) -> None:
    """No list of answers, no pattern, no buttons for them: neither priming nor help (section 10)."""
    visit = await play(actions)
    await visit.say("ready")
    page = Page(visit.html)
    field = page.one("data-answer")
    assert {"pattern", "placeholder", "list", "value", "required"}.isdisjoint(field)
    assert [tag for tag, _ in page.tags if tag in ("select", "datalist")] == []
    outside = words(visit.html).replace(" ".join(page.shown.split()), "")
    assert not re.search(r"\b[XY]\b", outside)


async def test_ids_are_unique_and_references_lead_somewhere(actions: Actions, log: Log) -> None:
    pages = [(await actions.page({"path": "/ambibench", "language": "en"}))["html"]]
    pages.append((await actions.page({"path": "/study", "query": "study=one", "language": "zh"}))["html"])
    visit = await enter(actions, "one", "pid-1")
    pages.append(visit.html)
    for text in ("yes", "ready", prompt_of(log[1], visit.episode).examples[2].label, "fine"):
        await visit.say(text)
        pages.append(visit.html)
    pages.append((await ask_for_place(actions, "one", "pid-1"))["html"])
    for html in pages:
        Page(html).check_references()


async def test_the_english_text_is_marked_on_chinese_pages(actions: Actions) -> None:
    visit = await play(actions, language="zh")
    await visit.say("ready")
    assert "把规律接下去" in visit.html
    assert Page(visit.html).one("data-text")["lang"] == "en"
    assert visit.root["lang"] == "zh"


async def test_a_study_speaks_its_own_language_and_words(actions: Actions) -> None:
    visit = await enter(actions, "own", "pid-1")
    assert visit.root["lang"] == "zh"
    assert "Ours." in Page(visit.html).texts
    assert "<b>Yes?</b>" in Page(visit.html).texts
    assert "hreflang" not in visit.html


async def finished(actions: Actions, log: Log, **wishes: Any) -> tuple[Visit, Replay]:
    visit = await play(actions, **wishes)
    for text in ("ready", *"XY" * 10):
        if visit.stage != "done":
            await visit.say(text)
    room: Any = actions.rooms["ambibench"]
    replay = await room.sessions.replay(visit.episode, "participant")
    assert isinstance(replay, Replay)
    return visit, replay


async def test_the_plot_has_every_rule_at_every_sentence(actions: Actions, log: Log) -> None:
    _, replay = await finished(actions, log)
    drawn = rows(strings("en"), replay)
    assert len(drawn) == 4
    assert [row.true for row in drawn].count(True) == 1
    for number, trial in enumerate(replay.trials):
        cells = [row.cells[number] for row in drawn]
        assert sum(cell.height for cell in cells) == pytest.approx(1)
        assert all(cell.y + cell.height == pytest.approx(1) for cell in cells)
        assert all(number < cell.x < number + 1 for cell in cells)
        assert [cell.height for cell in cells] == list(trial.belief.posterior.values())
    assert all(cell.height > 0 for row in drawn if row.true for cell in row.cells)


async def test_the_table_tells_right_from_wrong_and_known_from_guessed(actions: Actions, log: Log) -> None:
    visit, replay = await finished(actions, log)
    told = story(strings("en"), replay)
    for line, trial in zip(told.lines, replay.trials, strict=True):
        assert line.mark == ("right" if trial.answer == trial.gold else "wrong")
        assert line.best in (None, trial.gold)
        assert line.left == sum(chance > 0 for chance in trial.belief.posterior.values())
    assert told.lines[0].best is None
    assert replay.known is None or replay.trials[replay.known - 1].belief.identified
    read = words(visit.html)
    assert all(trial.sentence in read for trial in replay.trials)
    assert f"{told.correct} of 20 right" in read


async def test_the_result_of_one_question(actions: Actions, log: Log) -> None:
    visit, replay = await finished(actions, log, setting="instruction")
    told = story(strings("en"), replay)
    assert [line.mark for line in told.lines[:2]] == ["given", "given"]
    assert told.single
    right = replay.trials[2].gold == "X"
    assert ("That was right" in words(visit.html)) == right


async def test_the_entry_offers_play_and_open_studies(actions: Actions) -> None:
    html = (await actions.page({"path": "/ambibench", "language": "en"}))["html"]
    page = Page(html)
    values = {(attrs.get("name"), attrs.get("value")) for tag, attrs in page.tags if tag == "input"}
    for setting, kinds in KINDS.items():
        assert {(f"kind-{setting}", kind) for kind in kinds} <= values
    assert 'href="/ambibench/study/twenty"' in html
    assert "1.25 USD" in words(html)
    home = (await actions.page({"path": "/", "language": "en"}))["html"]
    assert 'href="/ambibench"' in home


def test_layouts_are_the_text() -> None:
    text = "Do.\nOne.\n>X\nTwo.\n>"
    assert "".join(lay_out(text, "X", "arrow").parts) == text
    assert lay_out(text, "X", "arrow").told == "X"
    assert "".join(lay_out(text, None, "arrow").parts) == text
    assert lay_out("Q?", None, None).instruction == "Q?"
    assert picture().endswith("\n>")


def test_every_text_is_used() -> None:
    names = texts_of("ambibench.")
    assert len(names) > 100
    made = ["ambibench.value.", "ambibench.rule.", "ambibench.entry."]
    made += ["ambibench.name", "ambibench.card_", "ambibench.refused."]  # every room has them
    assert unused(names, made) == []
