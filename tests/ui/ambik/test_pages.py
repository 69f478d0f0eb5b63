"""The pages' markup: what stands on each, what must not, both languages."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from seated import Visit, draft_of, enter, pair_fields, play, task_of
from showing import ANSWERED, EVIL, QUESTION, SCENE, SEATS, Log, decided, end_of, milk, page_of, view
from texts import texts_under
from visiting import Page, Unmarked, words

from logs import LogReader
from simulator.ambik.annotation.form import ORDER
from simulator.ambik.benchmark import BENCHMARK
from simulator.ambik.data import load_guidelines
from simulator.ambik.items import DraftItem
from simulator.ambik.sessions import Play
from simulator.ambik.show import picture
from simulator.ambik.terms import AMBIGUITIES, TASK_TYPES
from simulator.blocks import Chips, Talk
from simulator.errors import Trouble
from simulator.model_forms import rule_fields
from simulator.tables.builtin import read_yaml
from ui.actions import Actions
from ui.declared.study import Invitation
from ui.i18n import LANGUAGES, strings
from ui.i18n import _flatten as flat


async def every_page(actions: Actions, log: Log, language: str = "en") -> list[str]:
    """Each page of each seat, those of people opposite and of trouble among them."""
    pages = [(await actions.page({"path": path, "language": language}))["html"] for path in ("/ambik", "/")]
    for study in ("robots", "users", "annotators"):
        query = f"study={study}"
        pages.append((await actions.page({"path": "/study", "query": query, "language": language}))["html"])
        visit = await enter(actions, study, f"{study}-{language}", language)
        pages.append(visit.html)
        await visit.send(text="yes")
        pages.append(visit.html)
        await visit.begin()
        pages.append(visit.html)
        await finish(visit, log[1])
        pages.append(visit.html)
    for seat in SEATS:
        opposite = {"robot": "offline/item", "user": "offline/always-asks"}.get(seat, "")
        visit = await play(actions, seat, language, opposite=opposite)
        await visit.begin()
        if seat == "robot":
            await visit.ask("Which one?")
            pages.append(visit.html)
        await finish(visit, log[1])
        pages.append(visit.html)
    visit = await play(actions, "robot", language, opposite="person")
    pages.append(visit.html)
    await visit.begin()
    pages.append(visit.html)
    pages.append(page_of(view("wait", warning="ModelError: no key"), language=language))
    pages.append(page_of(view("decide"), language=language))
    return pages


async def finish(visit: Visit, reader: LogReader) -> None:
    if visit.stage == "decide":
        await visit.act(task_of(reader, visit.episode).options[0])
    elif visit.stage == "answer":
        await visit.send(text="Whichever.")
    else:
        await visit.send(filled={"delete": "Absurd.", "comment": EVIL})


async def test_ids_are_unique_and_references_lead_somewhere(actions: Actions, log: Log) -> None:
    for html in await every_page(actions, log):
        page = Page(html)
        page.check_references()
        assert not [tag for tag, _ in page.tags if tag in ("script", "img")]


async def test_chinese_pages_mark_the_english_text(actions: Actions, log: Log) -> None:
    pages = [html for html in await every_page(actions, log, "zh") if "ab-home" not in html]
    assert len(pages) > 15
    unmarked = [text for html in pages for text in Unmarked(html).found]
    assert [text for text in unmarked if EVIL not in text and "The " not in text] == []


HIDDEN = ("intent", "shortlist", "variants", "preferences", "common_sense", "safety", "unambiguous")


async def test_nothing_on_a_robots_page_tells_what_was_meant(actions: Actions, log: Log) -> None:
    for kind in TASK_TYPES:
        visit = await play(actions, type=kind)
        seen = [visit.html]
        await visit.begin()
        seen.append(visit.html)
        item = task_of(log[1], visit.episode)
        other = item.pair.clear if item.member == "ambiguous" else item.pair.ambiguous
        for html in seen:
            text = words(html)
            assert other not in text
            assert item.pair.answer not in text
            assert item.pair.question not in text
            assert item.pair.id not in html.replace(visit.episode, "")
            markup = html.replace(visit.root["data-texts"] or "", "")
            assert not [word for word in HIDDEN if word in markup.lower() and word not in text.lower()]


@pytest.mark.parametrize(
    ("language", "meaning"), [("en", "If you are asked, you would say"), ("zh", "如果被问到，您会说")]
)
async def test_a_users_page_tells_what_a_model_as_user_is_told(
    actions: Actions, log: Log, language: str, meaning: str
) -> None:
    visit = await play(actions, "user", language, opposite="offline/always-asks", type="preferences")
    await visit.begin()
    item = task_of(log[1], visit.episode)
    assert item.pair.clear in words(visit.html)
    assert item.pair.answer in words(visit.html) and meaning in words(visit.html)
    assert meaning not in words(page_of(view("answer", "user", milk(answer=""))))


async def test_the_step_at_which_the_plans_part_is_filled_in(actions: Actions, log: Log) -> None:
    visit = await play(actions, "annotator")
    await visit.begin()
    draft = draft_of(log[1], visit.episode)
    apart = (step != other for step, other in zip(draft.plan, draft.ambiguous_plan, strict=False))
    first = next((str(place) for place, differs in enumerate(apart, 1) if differs), "")
    assert step_of(visit.html) == first
    parting = replace(draft, plan=("Boil.", "Take the pan."), ambiguous_plan=("Boil.", "Take a pan."))
    assert step_of(page_of(view("annotate", "annotator", DraftItem(draft=parting)))) == "2"
    alike = replace(parting, ambiguous_plan=parting.plan)
    assert step_of(page_of(view("annotate", "annotator", DraftItem(draft=alike)))) == ""


def step_of(html: str) -> str | None:
    """Return the initial value of the step's field."""
    (step,) = [attrs for _, attrs in Page(html).tags if attrs.get("name") == "step"]
    return step["value"]


async def test_the_form_is_the_studys_step_of_the_task(actions: Actions) -> None:
    visit = await enter(actions, "annotators", "step")
    await visit.begin()
    assert '<li class="" aria-current="step" title="Task"><span>Task</span></li>' in visit.html


async def test_candidates_stand_in_the_order_of_the_guidelines(actions: Actions, log: Log) -> None:
    visit = await play(actions, "annotator")
    await visit.begin()
    page = Page(visit.html)
    shown = [attrs["value"] for tag, attrs in page.tags if tag == "input" and attrs.get("name") == "type"]
    assert shown == ["safety", "common_sense_knowledge", "preferences"] == list(ORDER)
    assert not [attrs for tag, attrs in page.tags if tag == "input" and "checked" in attrs]
    draft = draft_of(log[1], visit.episode)
    for candidate in draft.candidates.values():
        assert candidate.task in page.texts or f"\n{candidate.task}" in page.texts
    names = {attrs.get("name") for tag, attrs in page.tags if tag in ("textarea", "input")}
    assert {*pair_fields(draft)} - {"ambiguous", "question", "answer"} <= names


def test_a_long_list_of_things_can_be_filtered() -> None:
    assert "data-search" in page_of(view("decide", item=milk(options=("a",))))
    assert "data-search" not in page_of(view("decide", item=milk(objects=SCENE[:5])))
    assert "Nothing is listed here" in words(page_of(view("decide", item=milk(objects=()))))


def test_keys_are_offered_for_nine_options() -> None:
    page = Page(page_of(view("decide", item=milk(options=tuple(f"do {n}" for n in range(12))))))
    assert [attrs["data-key"] for tag, attrs in page.tags if tag == "input" and "data-key" in attrs] == list(
        "123456789"
    )


def test_the_robot_writes_its_own_where_nothing_is_offered() -> None:
    html = page_of(view("decide", lines=ANSWERED))
    assert "Write down everything" in words(html)
    assert "You have asked already" in words(html)


def test_the_question_that_is_due_is_said_once() -> None:
    assert words(page_of(view("answer", "user"))).count("Which?") == 1


def test_a_page_that_waits_looks_again_unless_there_is_trouble() -> None:
    assert Page(page_of(view("wait"))).attributes("data-trouble")["data-trouble"] == "0"
    html = page_of(view("wait", warning="ModelError: no key"))
    assert "textarea" not in html and "You can answer as soon as it is your turn" in html
    assert Page(html).attributes("data-trouble")["data-trouble"] == "1"
    assert "Try again" in words(html)
    assert "The user is thinking" in words(page_of(view("wait")))
    assert "Waiting for: The user" in words(page_of(view("wait", people=("user",))))


def test_a_participant_is_told_of_trouble_in_words() -> None:
    html = page_of(view("wait", "user", study=True, warning="RateLimited: 429 too many"))
    assert strings("en")("play.warning_study") in words(html)
    assert "RateLimited" not in html
    assert "RateLimited" in page_of(view("wait", "user", warning="RateLimited: 429 too many"))


def test_trouble_is_told_in_the_language_of_the_page() -> None:
    shown = view("wait", "user", warning=Trouble("RateLimited: 429 too many", "model_rate_limited"))
    html = page_of(shown, language="zh")
    assert "模型的服务器现在太忙。" in words(html)
    assert "429" not in html


def test_what_a_user_wants_stands_at_the_top_as_the_instructions_say() -> None:
    text = words(page_of(view("answer", "user")))
    assert text.index("Bring the oat milk.") < text.index("Bring the milk.") < text.index("Which?")


@pytest.mark.each("language", LANGUAGES)
def test_a_user_sees_what_they_want_before_they_tell_the_robot(language: str) -> None:
    shown = view("tell", "user", study=True)
    html = page_of(shown, language=language)
    text = words(html)
    assert (
        text.index("Bring the oat milk.")
        < text.index("Bring the milk.")
        < text.index(strings(language)("benchmark.ambik.tell.go"))
    )
    assert Page(html).attributes("data-say")["data-say"] == "ready"
    assert (
        Page(html)
        .attributes("data-thinking")["data-thinking"]
        .startswith(strings(language)("benchmark.ambik.speaker.robot"))
    )


def test_the_link_is_at_hand_until_the_seat_is_taken() -> None:
    for taken in (False, True):
        host = {"user": Invitation("/play?t=x", taken=taken)}
        for stage in ("instructions", "gather", "decide", "wait"):
            page = Page(page_of(view(stage, people=("user",)), host))
            (invite,) = [
                attrs for tag, attrs in page.tags if tag == "details" and "ab-invite" in attrs["class"]
            ]
            assert ("open" in invite) != taken
            assert ("has taken their seat" in words(page_of(view(stage, people=("user",)), host))) == taken


@pytest.mark.each("language", LANGUAGES)
def test_types_are_named_as_in_the_guidelines(language: str) -> None:
    names = {kind: load_guidelines(language).types[kind].name for kind in AMBIGUITIES}
    names_of_types = texts_under(strings(language), "benchmark.ambik.type")
    assert {kind: names_of_types[kind] for kind in AMBIGUITIES} == names
    assert set(names_of_types) == set(TASK_TYPES)
    (rule,) = rule_fields(Play)
    assert set(rule.known) == {"any", *TASK_TYPES}
    for choice in rule.known:
        assert {f"benchmark.ambik.rule.type.{choice}", f"benchmark.ambik.rule.type.{choice}_note"} <= set(
            strings(language).texts
        )


def test_what_people_typed_is_shown_as_typed() -> None:
    page = Page(end_of("robot", milk(ambiguous=EVIL), decided(EVIL, (EVIL, EVIL), marked=(EVIL,))))
    assert not [tag for tag, _ in page.tags if tag in ("script", "img")]
    assert page.texts.count(EVIL) == 5
    evil = milk(ambiguous=EVIL, ambiguous_plan=(EVIL,), step=0, options=(EVIL,))
    page = Page(page_of(view("decide", item=evil, lines=(*QUESTION, ("user", "answer", EVIL, "")))))
    assert not [tag for tag, _ in page.tags if tag in ("script", "img")]


async def test_the_entry_offers_seats_company_and_open_studies(actions: Actions) -> None:
    html = (await actions.page({"path": "/ambik", "language": "en"}))["html"]
    page = Page(html)
    values = [attrs.get("value") for _, attrs in page.tags if attrs.get("name") == "seat"]
    assert values == SEATS
    names = {attrs.get("value") for _, attrs in page.tags if attrs.get("name") == "opposite-robot"}
    assert {"offline/kitchen", "person"} <= names
    assert 'href="/ambik/study/robots"' in html
    talk, things, *_ = picture()
    assert isinstance(talk, Talk) and isinstance(things, Chips)
    home = (await actions.page({"path": "/", "language": "en"}))["html"]
    assert 'href="/ambik"' in home


def test_every_text_is_used_and_in_both_languages() -> None:
    own = read_yaml(BENCHMARK.folder / "texts.yaml")
    names = {language: {name for name, _ in flat(texts)} for language, texts in own.items()}
    # English has these from the declaration.
    assert names["zh"] - names["en"] == {f"metric.{metric.name}" for metric in BENCHMARK.metrics}
    assert names["en"] <= names["zh"]
    assert len(names["en"]) > 150
    modules = "".join(path.read_text("utf-8") for path in BENCHMARK.folder.rglob("*.py"))
    made = tuple(re.findall(r'message\(\s*f"([\w.]+[._])\{', modules))
    of_pages = (
        "error.",
        "seat.",
        "speaker.",
        "you_are.",
        "play_as.",
        "instructions.",
        "rule.",
        "player.",
        "entry.",
        "how.",
    )
    of_pages += (
        "how.",
        "study.",
        "way.",
        "decide.",
        "tell.",
        "answer",
        "invite.",
        "annotate.",
        "field.",
        "refused.",
    )
    known = ("summary", "card_link")
    left = [name for name in names["en"] if not name.startswith((*made, *of_pages)) and name not in known]
    assert [name for name in left if f'"{name}"' not in modules] == []
