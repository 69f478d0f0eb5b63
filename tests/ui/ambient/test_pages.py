"""The pages' markup: contents, marks, both languages."""

from __future__ import annotations

from typing import Any, get_args

import pytest
from filling import Visit, crowd_item, enter, item_of, judge, play
from texts import texts_under
from visiting import Page, Unmarked, ask_for_place, words

from logs import LogReader, LogWriter
from logs.rows import Turn
from simulator.ambient import reveal, show
from simulator.ambient.annotation.rules import Annotation, Code, Problem
from simulator.ambient.benchmark import BENCHMARK
from simulator.ambient.data import load_guidelines
from simulator.ambient.examples import Disambiguation, Example
from simulator.ambient.items import AnnotateItem, Candidate, CrowdItem, Item
from simulator.ambient.labels import LABELS
from simulator.ambient.playing import ANNOTATOR, ParticipantView, ShownTexts
from simulator.ambient.sessions import PlayedTask
from simulator.ambient.show import SHOWN
from simulator.benchmark import Due
from simulator.blocks import Block, Card, Facts, Message, Points, Quotes, Revision, Verdict
from simulator.form_blocks import Entries, Field, Form, Part
from simulator.tables.builtin import read_yaml
from ui.actions import Actions
from ui.i18n import LANGUAGES, strings
from ui.i18n import _flatten as flat

Log = tuple[LogWriter, LogReader]
EVIL = "\"'><img src=x onerror=alert(1)>{{7*7}}</textarea><script>alert(2)</script>"


def view(kind: str, **more: Any) -> ParticipantView:
    given: dict[str, Any] = {"task": "crowd", "done": 0, "total": 3, "stage": "task"} | more
    return ParticipantView(
        episode_id="e", seat=ANNOTATOR, number=1, language="en", due=Due(ANNOTATOR, kind), **given
    )


async def every_page(actions: Actions, log: Log, language: str = "en") -> list[str]:
    """Collect each page of each task, also reloaded and after a refused form."""
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
    for task in get_args(PlayedTask):
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
    candidates = [candidate.sentence for candidate in item.candidates]
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


async def test_a_linguists_form_has_at_most_four_rewrites(actions: Actions, log: Log) -> None:
    visit = await play(actions, "annotate")
    await visit.begin()
    page = Page(visit.html)
    assert len([attrs for _, attrs in page.tags if "data-entry" in attrs]) == 4
    labels = [
        attrs["data-field"] for _, attrs in page.tags if (attrs.get("data-field") or "").endswith(".label")
    ]
    assert labels == [f"rewrites[{k}].label" for k in range(4)]


def test_where_somebody_stands() -> None:
    asked = show.progress(view("qualification", stage="qualification", done=1, total=8))
    assert asked is not None
    assert (asked.number, asked.total) == (2, 5)
    step = show.progress(view("relabel", done=7, total=8))
    assert step is not None
    assert (step.number, step.total) == (3, 3)
    evaluated = show.progress(view("plausible", task="evaluate", done=0, total=2))
    assert evaluated is not None
    assert (evaluated.number, evaluated.total) == (1, 2)
    assert show.progress(view("annotate", task="annotate", total=1)) is None
    stated = show.progress(view("true_false", task="true_false", done=7, total=12))
    assert stated is not None
    assert (stated.number, stated.total) == (8, 12)
    assert [english(each.label) for each in (asked, step, stated)] == [
        "Question 2 of 5",
        "Step 3 of 3",
        "Statement 8 of 12",
    ]


def english(words: Any) -> str:
    return strings("en").say("benchmark.ambient", words)


async def test_the_instructions_speak_of_questions_only_where_there_are(actions: Actions) -> None:
    for tested in (True, False):
        (points, *_) = show.instructions("crowd", tested=tested)
        assert isinstance(points, Points)
        assert ("First, a short test" in [english(heading) for heading, _ in points.points]) is tested
    for study, tested in (("crowd", True), ("shown", False)):
        visit = await enter(actions, study, "pid-1")
        steps = visit.html.partition("st-steps")[2].partition("</ol>")[0]
        assert ("Questions" in steps) is tested


def test_locked_answers_in_words() -> None:
    given = (("label", "neutral"), ("One.", "yes"), ("label of the jar", "no"))
    rows = show.earlier(view("relabel", earlier=given))
    assert [(english(name), english(answer)) for name, answer in rows] == [
        ("The pair", "Neutral"),
        ("Reading 1", "Yes"),
        ("Reading 2", "No"),
    ]


def test_a_statement_in_two_parts_is_the_statement() -> None:
    for sentence, about in (("He ran.", "He ran."), ("", "")):
        shown = ShownTexts(sentence=sentence, statement="He ran. This may mean: He fled.")
        quotes = next(
            block for block in blocks_of("true_false", shown, "true_false") if isinstance(block, Quotes)
        )
        assert (quotes.quotes[0].text, quotes.quotes[0].about) == (shown.statement, about)


def blocks_of(kind: str, shown: ShownTexts, task: str = "crowd") -> tuple[Block, ...]:
    return show.page_blocks(view(kind, task=task, shown=shown))


def test_every_choice_has_a_key_and_has_to_be_made() -> None:
    shown = ShownTexts(
        premise="A.", hypothesis="B.", candidates=("C.", "D."), pairs=(("A.", "C."),), side="premise"
    )
    for kind, keys in (
        ("label", ["123"]),
        ("plausible", ["yn", "yn"]),
        ("relabel", ["123"]),
        ("true_false", ["tf"]),
    ):
        (form,) = (block for block in blocks_of(kind, shown) if isinstance(block, Form))
        fields = [
            each for block in form.blocks for each in (block.blocks if isinstance(block, Part) else (block,))
        ]
        chosen = [each for each in fields if isinstance(each, Field) and each.choices]
        assert [each.keys for each in chosen] == keys
        assert all(each.required and len(each.keys) == len(each.choices) for each in chosen)


def test_every_problem_has_words_and_a_place() -> None:
    fields = ("labels", "labels.neutral", "rewrites", "rewrites[3]", "rewrites[0].premise", "hypothesis")
    for code in get_args(Code):
        for field in fields:
            problem = show.field_problem(Problem(code, field))
            assert isinstance(problem.text, Message)
            for language in LANGUAGES:
                text = strings(language).say("benchmark.ambient", problem.text)
                assert text
                assert "{" not in text
    places = [show.field_problem(Problem("same", field)).field for field in fields]
    assert places == ["labels", "labels", "rewrites", "rewrites[3].label", "rewrites[0].premise", "rewrites"]
    entries = show.rewrites("A.", "B.", "Changes")
    assert isinstance(entries, Entries)
    fields_there = {block.name for place in entries.places for block in place if isinstance(block, Field)}
    assert set(places) - {"labels", "rewrites"} <= fields_there


@pytest.mark.each("language", LANGUAGES)
def test_labels_are_named_as_in_the_guidelines(language: str) -> None:
    names = {label: load_guidelines(language).labels[label].name for label in LABELS}
    assert names == texts_under(strings(language), "benchmark.ambient.labels")
    assert set(SHOWN) == set(LABELS)


def shown_of(item: Item, *payloads: dict[str, Any]) -> tuple[Verdict, list[Card]]:
    turns = [
        Turn(episode_id="e", number=number, seat=ANNOTATOR, text="", payload=payload)
        for number, payload in enumerate(payloads)
    ]
    verdict, *cards = reveal.result_blocks(item, turns)
    assert isinstance(verdict, Verdict)
    return verdict, [card for card in cards if isinstance(card, Card)]


def test_what_a_crowdworker_found() -> None:
    item = CrowdItem(
        id="1.premise",
        example_id="1",
        premise="He ran.",
        hypothesis="He was fast.",
        side="premise",
        gold=frozenset({"neutral", "entailment"}),
        candidates=(
            Candidate("He fled.", "neutral"),
            Candidate("He sat.", None),
            Candidate("He jogged.", "entailment"),
        ),
    )
    verdict, (pair, readings) = shown_of(
        item,
        {"kind": "label", "answer": "neutral"},
        {"kind": "plausible", "answers": [True, True, False]},
        {"kind": "relabel", "answers": ["entailment", "neutral", "entailment"]},
    )
    (facts,) = (block for block in pair.blocks if isinstance(block, Facts))
    assert [[english(tag.text) for tag in tags] for _, tags in facts.rows] == [  # type: ignore[union-attr]
        ["Neutral"],
        ["Entailment", "Neutral"],
    ]
    marks = []
    for part in readings.blocks:
        assert isinstance(part, Part)
        (answers,) = (block for block in part.blocks if isinstance(block, Facts))
        marks.append([tags[0].right for _, tags in answers.rows])  # type: ignore[union-attr]
    # Of the distractor nothing is right or wrong: that is a matter of judgement.
    assert marks == [[True, False, None], [None, None], [False, True]]
    (first,) = (block for block in readings.blocks[0].blocks if isinstance(block, Revision))  # type: ignore[union-attr]
    assert "".join(piece.text for piece in first.pieces if piece.change != "removed") == "He fled."
    assert "2 ways" in english(verdict.text)


def test_a_linguists_rewrites_next_to_the_dataset() -> None:
    form = Annotation(
        labels=frozenset({"neutral", "entailment"}),
        rewrites=(
            Disambiguation("He fled.", "He was fast.", "neutral"),
            Disambiguation("He jogged.", "He was quick.", "entailment"),
        ),
    )
    example = Example(id="1", premise="He ran.", hypothesis="He was fast.", labels=form.labels)
    item = AnnotateItem(id="1", example=example)
    verdict, (_, mine, theirs) = shown_of(item, {"kind": "annotate", **form.payload()})
    assert english(verdict.heading) == "You chose the labels of the dataset"
    sides = [[english(revision.label) for revision in part.blocks] for part in mine.blocks]  # type: ignore[union-attr]
    assert sides == [["Premise"], ["Premise", "Hypothesis"]]
    assert [english(block.text) for block in theirs.blocks] == ["None: the pair has one label only."]  # type: ignore[union-attr]


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
    tasks = [attrs["value"] for _, attrs in Page(html).tags if attrs.get("name") == "rule-task"]
    assert tasks == [f'"{task}"' for task in get_args(PlayedTask)]
    assert 'href="/ambient/study/crowd"' in html
    assert {"Entailment", "Neutral"} <= {text.strip() for text in Page(html).texts}
    home = (await actions.page({"path": "/", "language": "en"}))["html"]
    assert 'href="/ambient"' in home


def test_both_languages_say_the_same() -> None:
    assert BENCHMARK.folder is not None
    own = read_yaml(BENCHMARK.folder / "texts.yaml")
    assert dict(flat(own["en"])).keys() == dict(flat(own["zh"])).keys()
