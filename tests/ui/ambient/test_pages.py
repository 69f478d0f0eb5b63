"""The pages' markup: what stands on each, marks, both languages."""

from __future__ import annotations

from typing import get_args

import pytest
from filling import Visit, crowd_item, enter, item_of, judge, play
from texts import texts_of, unused
from visiting import Page, Unmarked, ask_for_place, words

from logs import LogReader, LogWriter
from simulator.ambient.annotation.rules import Annotation, Code, Problem
from simulator.ambient.data import load_guidelines
from simulator.ambient.examples import Disambiguation
from simulator.ambient.labels import LABELS
from simulator.ambient.sessions import PLAYED, AmbientSessions
from simulator.ambient.views import ParticipantView, Replay, ReplayCandidate
from ui.actions import Actions
from ui.ambient.entry import PICTURE
from ui.ambient.result import story
from ui.ambient.stages import SHOWN, STEPS, complaints, earlier, in_two, points, progress, steps
from ui.i18n import LANGUAGES, strings

Log = tuple[LogWriter, LogReader]
EVIL = "\"'><img src=x onerror=alert(1)>{{7*7}}</textarea><script>alert(2)</script>"


def view(stage: str, **more: object) -> ParticipantView:
    given: dict[str, object] = {"task": "crowd", "done": 0, "total": 3} | more
    return ParticipantView(episode_id="e", number=1, stage=stage, language="en", **given)  # type: ignore[arg-type]


async def every_page(actions: Actions, log: Log, language: str = "en") -> list[str]:
    """Each page of each task, with what a second look and a refused form show."""
    pages = [(await actions.page({"path": path, "language": language}))["html"] for path in ("/ambient", "/")]
    for study in ("crowd", "linguists"):
        query = f"study={study}"
        pages.append((await actions.page({"path": "/study", "query": query, "language": language}))["html"])
    visit = await enter(actions, "crowd", f"pid-{language}", language=language)
    pages.append(visit.html)
    await visit.send(text="yes")
    pages.append(visit.html)
    await visit.begin()
    pages.append(visit.html)
    await visit.qualify(log[1])
    item = crowd_item(log[1], visit.episode)
    for form in ({"label": "neutral"}, {"plausible": [True] * 3}, {"labels": ["neutral"] * 3}):
        pages.append(visit.html)
        await visit.fill(**form)
    pages.append(visit.html)
    pages.append((await ask_for_place(actions, "unheard-of", language=language))["html"])
    for task in PLAYED:
        visit = await play(actions, task, language)
        pages.append(visit.html)
        await visit.begin()
        pages.append(visit.html)
        await finish(visit, log, task)
        pages.append(visit.html)
    assert item.sentence
    return pages


async def finish(visit: Visit, log: Log, task: str) -> None:
    if task == "crowd":
        await judge(visit, crowd_item(log[1], visit.episode), label="entailment")
    elif task == "annotate":
        await visit.fill(labels=["neutral", "contradiction"], rewrites=[], comment="")
        await visit.fill(labels=["neutral"], rewrites=[], comment="")
    while visit.stage != "done":
        await visit.fill(answer=False)


async def test_ids_are_unique_and_references_lead_somewhere(actions: Actions, log: Log) -> None:
    for html in await every_page(actions, log):
        Page(html).check_references()


async def test_chinese_pages_mark_the_english_text(actions: Actions, log: Log) -> None:
    pages = [html for html in await every_page(actions, log, "zh") if "ab-home" not in html]
    assert len(pages) > 15
    assert [text for html in pages for text in Unmarked(html).found] == []


async def test_each_step_shows_its_own_texts_and_no_other(actions: Actions, log: Log) -> None:
    visit = await play(actions)
    await visit.begin()
    item = crowd_item(log[1], visit.episode)
    candidates = [one.sentence for one in item.candidates]
    other = item.hypothesis if item.side == "premise" else item.premise
    assert {item.premise, item.hypothesis} <= set(Page(visit.html).texts)
    assert not any(text in words(visit.html) for text in candidates)
    await visit.fill(label="contradiction")
    texts = Page(visit.html).texts
    assert {item.sentence, *candidates} <= set(texts)
    assert [text for text in texts if text in candidates] == candidates
    assert other not in words(visit.html)
    assert "The pair Contradiction" in words(visit.html)
    assert "matter of judgement" in words(visit.html)
    await visit.fill(plausible=[True, False, True])
    texts = Page(visit.html).texts
    assert [text for text in texts if text in candidates] == candidates
    assert texts.count(other) == 3
    assert texts.count("replaced") == 3
    assert "Reading 1 Yes Reading 2 No Reading 3 Yes" in words(visit.html)


async def test_a_linguists_form_holds_four_rewrites_at_most(actions: Actions, log: Log) -> None:
    visit = await play(actions, "annotate")
    await visit.begin()
    item = item_of(log[1], visit.episode)
    page = Page(visit.html)
    assert [attrs["data-card"] for _, attrs in page.tags if "data-card" in attrs] == ["0", "1", "2", "3"]
    assert visit.html.count(item.example.premise) <= 2  # type: ignore[union-attr]


def test_where_somebody_stands() -> None:
    asked = progress(view("qualification", done=1, total=8))
    assert asked is not None
    assert (asked.kind, asked.k, asked.total) == ("question", 2, 5)
    step = progress(view("relabel", done=7, total=8))
    assert step is not None
    assert (step.kind, step.k, step.total) == ("step", 3, 3)
    evaluated = progress(view("plausible", task="evaluate", done=0, total=2))
    assert evaluated is not None
    assert (evaluated.k, evaluated.total) == (1, 2)
    assert progress(view("annotate", task="annotate", total=1)) is None
    stated = progress(view("true_false", task="true_false", done=7, total=12))
    assert stated is not None
    assert (stated.kind, stated.k, stated.total) == ("statement", 8, 12)


def test_the_instructions_speak_of_questions_only_where_there_are() -> None:
    assert "qualification" in points(view("instructions", total=8))
    assert "qualification" not in points(view("instructions", total=3))
    assert "qualification" in steps(view("label", total=8)).values()
    assert "qualification" not in steps(view("label", total=3)).values()
    asked = {step.page or step.kind for step in AmbientSessions.around}
    assert set(STEPS) == asked | {"qualification", "label", "plausible", "relabel", "annotate", "true_false"}


def test_locked_answers_in_words() -> None:
    given = (("label", "neutral"), ("One.", "yes"), ("label of the jar", "no"))
    said = earlier(strings("en"), view("relabel", earlier=given))
    assert [(one.step, one.number, one.answer) for one in said] == [
        ("label", 0, "Neutral"),
        ("candidate", 1, "Yes"),
        ("candidate", 2, "No"),
    ]


def test_a_statement_in_two_parts_is_the_statement() -> None:
    whole = view("true_false", sentence="He ran.", statement="He ran. This may mean: He fled.")
    assert in_two(whole).sentence + in_two(whole).rest == whole.statement
    assert in_two(whole).sentence == "He ran."
    assert in_two(view("true_false", sentence="He ran.", statement="Odd.")).rest == "Odd."


@pytest.mark.each("language", LANGUAGES)
def test_every_problem_has_words_and_a_place(language: str) -> None:
    texts = strings(language)
    fields = ("labels", "labels.neutral", "rewrites", "rewrites[3]", "rewrites[0].premise", "hypothesis")
    for code in get_args(Code):
        for field in fields:
            said = complaints(texts, [Problem(code, field)])
            assert all(text and "{" not in text for some in said.values() for text in some)
    places = complaints(texts, [Problem("same", field) for field in fields])
    assert list(places) == ["labels", "rewrites", "card-3", "card-0-premise", "hypothesis"]


@pytest.mark.each("language", LANGUAGES)
def test_labels_are_named_as_in_the_guidelines(language: str) -> None:
    names = {label: load_guidelines(language).labels[label].name for label in LABELS}
    assert names == strings(language).under("ambient.labels")
    assert set(SHOWN) == set(LABELS)


def replay(**more: object) -> Replay:
    given: dict[str, object] = {
        "task": "crowd",
        "premise": "He ran.",
        "hypothesis": "He was fast.",
        "side": "premise",
        "gold": frozenset({"neutral", "entailment"}),
    }
    return Replay(**(given | more))  # type: ignore[arg-type]


def test_what_a_crowdworker_found() -> None:
    candidates = (
        ReplayCandidate(sentence="He fled.", label="neutral", plausible=True, answer="entailment"),
        ReplayCandidate(sentence="He sat.", label=None, plausible=True, answer="neutral"),
        ReplayCandidate(sentence="He jogged.", label="entailment", plausible=False, answer="entailment"),
    )
    told = story(strings("en"), replay(label="neutral", candidates=candidates, correct=0, of=2))
    assert told.gold == ("entailment", "neutral")
    assert told.said == ("neutral",)
    # Of the distractor nothing is right or wrong: that is a matter of judgement.
    assert [(one.given.found, one.given.labelled) for one in told.candidates] == [
        (True, False),
        (None, None),
        (False, True),
    ]
    pieces = told.candidates[0].pieces
    assert "".join(piece.text for piece in pieces if piece.change != "removed") == "He fled."
    assert "2 ways" in told.lead


def test_what_a_linguist_wrote_beside_the_dataset() -> None:
    form = Annotation(
        labels=frozenset({"neutral", "entailment"}),
        rewrites=(
            Disambiguation("He fled.", "He was fast.", "neutral"),
            Disambiguation("He jogged.", "He was quick.", "entailment"),
        ),
    )
    told = story(strings("en"), replay(task="annotate", annotation=form, correct=1, of=1))
    assert told.heading == "You chose the labels of the dataset"
    assert [[side for side, _ in one.sides] for one in told.mine] == [["premise"], ["premise", "hypothesis"]]
    assert told.theirs == ()


async def test_what_people_typed_is_shown_as_typed(actions: Actions, log: Log) -> None:
    visit = await play(actions, "annotate")
    await visit.begin()
    item = item_of(log[1], visit.episode)
    hypothesis = item.example.hypothesis  # type: ignore[union-attr]
    rewrites = [
        {"premise": f"{EVIL} {n}", "hypothesis": hypothesis, "label": label}
        for n, label in enumerate(("neutral", "entailment"))
    ]
    assert (await visit.fill(labels=["neutral", "entailment"], rewrites=rewrites, comment=EVIL))["accepted"]
    page = Page(visit.html)
    assert not [tag for tag, _ in page.tags if tag in ("script", "img")]
    assert "alert(1)" in words(visit.html)


async def test_the_entry_offers_play_and_open_studies(actions: Actions) -> None:
    html = (await actions.page({"path": "/ambient", "language": "en"}))["html"]
    page = Page(html)
    tasks = [attrs["data-task"] for _, attrs in page.tags if attrs.get("data-act") == "ae-begin"]
    assert tasks == list(PLAYED)
    assert 'href="/ambient/study/crowd"' in html
    assert len({reading.label for reading in PICTURE.readings}) == 2
    home = (await actions.page({"path": "/", "language": "en"}))["html"]
    assert 'href="/ambient"' in home


def test_every_text_is_used() -> None:
    names = texts_of("ambient.")
    assert len(names) > 150
    made = ["ambient.yes", "ambient.no", "ambient.true", "ambient.false", "ambient.refused."]
    made += [f"ambient.{stage}.heading" for stage in STEPS]
    links = {f"ambient.{name}" for name in ("name", "nav", "card_text", "card_link")}
    assert set(unused(names, made)) <= links
