"""The pages' markup: the text as a model gets it, its marks, the plot, both languages."""

from __future__ import annotations

import re
from typing import Any

import pytest
from labelling import Visit, enter, play, prompt_of
from visiting import Page, ask_for_place, words

from logs import LogReader, LogWriter
from simulator.ambibench.benchmark import BENCHMARK
from simulator.ambibench.prompt import shown_text
from simulator.ambibench.sessions import Play
from simulator.ambibench.show import Feedback, Replay, picture, replay, result_blocks, spans
from simulator.model_forms import rule_fields
from simulator.tables.builtin import read_yaml
from ui.actions import Actions
from ui.i18n import _flatten as flat

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
        assert page.attributes("data-answer")["aria-describedby"] == "bl-due bl-hint"
        assert f"{k} of 20" in words(visit.html)
        await visit.say("X")


async def test_all_of_one_question_stands_on_one_screen(actions: Actions, log: Log) -> None:
    visit = await play(actions, setting="instruction")
    prompt = prompt_of(log[1], visit.episode)
    assert "all sentences are on one screen" in words(visit.html).lower()
    await visit.say("ready")
    assert Page(visit.html).shown == shown_text(prompt, 3)
    assert "bl-new" not in visit.html
    assert "st-progress" not in visit.html


async def test_the_right_label_is_told_and_marked(actions: Actions, log: Log) -> None:
    visit = await play(actions)
    examples = prompt_of(log[1], visit.episode).examples
    await visit.say("ready")
    await visit.say(examples[0].label)
    assert f"That was right: {examples[0].label}" in words(visit.html)
    assert "bl-corrected" not in visit.html
    await visit.say(EVIL)
    assert f"You typed {EVIL}; the right answer is {examples[1].label}." in words(visit.html)
    marked = [attrs for _, attrs in Page(visit.html).tags if attrs.get("class") in ("bl-new", "bl-corrected")]
    assert [attrs["data-note"] for attrs in marked] == ["corrected"]
    assert not [tag for tag, _ in Page(visit.html).tags if tag in ("script", "img")]


async def test_nothing_on_a_trial_says_what_is_valid(actions: Actions) -> None:
    """No list of answers, no pattern, no buttons for them: neither priming nor help (section 10)."""
    visit = await play(actions)
    await visit.say("ready")
    page = Page(visit.html)
    field = page.attributes("data-answer")
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
    assert Page(visit.html).attributes("data-text")["lang"] == "en"
    assert visit.root["lang"] == "zh"


async def test_a_study_speaks_its_own_language_and_words(actions: Actions) -> None:
    visit = await enter(actions, "own", "pid-1")
    assert visit.root["lang"] == "zh"
    assert "Ours." in Page(visit.html).texts
    assert "<b>Yes?</b>" in Page(visit.html).texts
    assert "hreflang" not in visit.html
    contact = "如有疑问或投诉，请联系：lab@example.org"
    assert contact in Page(visit.html).texts
    await visit.say("no")
    assert contact in Page(visit.html).texts


async def finished(actions: Actions, log: Log, **wishes: Any) -> tuple[Visit, Replay]:
    visit = await play(actions, **wishes)
    for text in ("ready", *"XY" * 10):
        if visit.stage != "done":
            await visit.say(text)
    item, turns = prompt_of(log[1], visit.episode), log[1].turns(visit.episode)
    played = replay(item, [turn for turn in turns if turn.payload["kind"] == "answer"])
    assert isinstance(played, Replay)
    return visit, played


def look_of(cell: Any) -> str:
    return getattr(cell, "look", "")


async def test_the_bars_have_every_rule_at_every_sentence(actions: Actions, log: Log) -> None:
    visit, played = await finished(actions, log)
    bars = result_blocks(played)[1].blocks[1]
    assert len(bars.rows) == 4
    assert [bool(row.badge) for row in bars.rows].count(True) == 1
    for number, trial in enumerate(played.trials):
        shares = [row.shares[number] for row in bars.rows]
        assert sum(shares) == pytest.approx(1)
        assert shares == list(trial.belief.posterior.values())
    assert all(share > 0 for row in bars.rows if row.badge for share in row.shares)
    drawn = [attrs for tag, attrs in Page(visit.html).tags if tag == "rect"]
    assert len(drawn) == 80
    for number, rect in enumerate(drawn):
        assert float(rect["y"]) + float(rect["height"]) == pytest.approx(1, abs=0.002)
        assert number % 20 < float(rect["x"]) < number % 20 + 1
        assert float(rect["height"]) == pytest.approx(bars.rows[number // 20].shares[number % 20], abs=0.001)


async def test_the_table_tells_right_from_wrong_and_known_from_guessed(actions: Actions, log: Log) -> None:
    visit, played = await finished(actions, log)
    rows = result_blocks(played)[2].blocks[1].rows
    for (_, sentence, gold, answer, best, left, _), trial in zip(rows, played.trials, strict=True):
        right = trial.example.label
        assert (sentence, gold.text, answer.text) == (trial.example.sentence, right, trial.turn.text)
        assert answer.look == ("right" if trial.turn.text == right else "wrong")
        assert look_of(best) == "muted" or best == right
        assert left == sum(chance > 0 for chance in trial.belief.posterior.values())
    assert look_of(rows[0][4]) == "muted"
    assert played.known is None or played.trials[played.known - 1].belief.identified
    read = words(visit.html)
    assert all(trial.example.sentence in read for trial in played.trials)
    assert f"{played.correct:g} of 20 right" in read


async def test_the_result_of_one_question(actions: Actions, log: Log) -> None:
    visit, played = await finished(actions, log, setting="instruction")
    rows = result_blocks(played)[2].blocks[1].rows
    assert [look_of(row[3]) for row in rows[:2]] == ["muted", "muted"]
    right = played.trials[2].example.label == "X"
    assert ("That was right" in words(visit.html)) == right


async def test_the_entry_offers_play_and_open_studies(actions: Actions) -> None:
    html = (await actions.page({"path": "/ambibench", "language": "en"}))["html"]
    page = Page(html)
    values = {(attrs.get("name"), attrs.get("value")) for tag, attrs in page.tags if tag == "input"}
    for field in rule_fields(Play):
        if field.name != "feature":
            assert {
                (f"rule-{field.name}", f'"{choice}"') for choice in field.known if choice is not None
            } <= values
    (wug,) = [attrs for _, attrs in page.tags if "data-fitting" in attrs]
    assert wug["data-fitting"] == '{"setting": ["multiple"]}'
    assert 'href="/ambibench/study/twenty"' in html
    assert "1.25 USD" in words(html)
    home = (await actions.page({"path": "/", "language": "en"}))["html"]
    assert 'href="/ambibench"' in home


def test_the_parts_of_a_passage_are_the_text() -> None:
    text = "Do.\nOne.\n>X\nTwo.\n>"
    for feedback in (Feedback("X", "X", True), Feedback("Y", "X", False), None):
        parts = spans(text, feedback, "arrow")
        assert "".join(part.text for part in parts) == text
        marked = [part for part in parts if part.look in ("new", "corrected")]
        assert [part.text for part in marked] == (["X"] if feedback else [])
    assert spans("Q?", None, None)[0].text == "Q?"
    assert picture()[0].parts[0].text.endswith("\n>")


def test_every_text_is_used_and_in_both_languages() -> None:
    own = read_yaml(BENCHMARK.folder / "texts.yaml")
    names = {language: {name for name, _ in flat(texts)} for language, texts in own.items()}
    metrics = {f"metric.{metric.name}" for metric in BENCHMARK.metrics}
    assert names["zh"] - names["en"] == {
        "seat.participant",
        *metrics,
    }  # English has them from the declaration
    assert names["en"] <= names["zh"]
    assert len(names["en"]) > 100
    modules = "".join(path.read_text("utf-8") for path in BENCHMARK.folder.glob("*.py"))
    shared = ("value.", "about.", "rule.", "entry.", "how.", "study.", "refused.", "result.one_", "feedback.")
    pages = ("summary", "card_text", "card_link", "form.heading", "comment")
    shown = [name for name in names["en"] if not name.startswith(shared) and name not in pages]
    quoted = [{name, name.partition(".")[2].removesuffix("_text")} for name in shown]
    assert [name for name in quoted if not any(f'"{part}"' in modules for part in name)] == []
