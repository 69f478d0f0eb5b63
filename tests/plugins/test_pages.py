"""The pages of a third-party benchmark, built from its declaration, through the calls of a browser."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal
from urllib.parse import parse_qs, urlparse

import pytest
from fake_sessions import front
from markup import office_at, page_at
from pydantic import BaseModel, Field, PositiveInt
from texts import texts_of, unused
from visiting import Page, ask_for_place, invitation_to, no_models, take_seat, words

from logs import LogReader, LogWriter
from simulator import catalog
from simulator.benchmark import Metric, SeatSpec
from simulator.blocks import Card, Heading, Talk, Text
from simulator.errors import InputError
from simulator.model_forms import rule_fields
from simulator.research import ResearchPages, research_pages
from simulator.seats import Reply
from simulator.studies.declared import DeclaredSessions
from simulator.studies.files import read_study
from simulator.studies.material import material_of
from ui.actions import Actions
from ui.declared.actions import DeclaredActions
from ui.declared.pages import metric_figure
from ui.i18n import strings
from ui.render import Frame
from ui.tokens import Signer

from .conftest import ROSE, WISHES, Player, begin

EVIL = "\"'><img src=x onerror=alert(1)>{{7*7}}"


async def test_the_entry_is_made_from_the_declaration(actions: Actions) -> None:
    page = Page((await actions.page({"path": "/twenty_questions", "language": "en"}))["html"])
    page.check_references()
    shown = " ".join(page.texts)
    assert "Twenty questions" in shown and "Asker" in shown and "Built-in answerer" in shown
    fields = {attrs["name"]: attrs for tag, attrs in page.tags if "name" in attrs}
    questions = fields["rule-questions"]
    assert (questions["type"], questions["min"], questions["value"]) == ("number", "1", "20")
    assert fields["item"]["max"] == "30"
    players = {attrs["value"] for _, attrs in page.tags if attrs.get("name") == "opposite-asker"}
    assert {"offline/halver", "offline/guesser", "person", "openai/gpt-4o"} <= players
    assert "twenty-questions-asker" in str(page.tags)  # its study
    things = catalog.find("twenty_questions").load("builtin")
    assert not [thing.name for thing in things if re.search(rf"\b{thing.name}\b", shown)]
    zh = words((await actions.page({"path": "/twenty_questions", "language": "zh"}))["html"])
    assert "二十问" in zh and "提问者" in zh and "最多可问几个问题" in zh
    home = words((await actions.page({"path": "/", "language": "en"}))["html"])
    assert "Go to Twenty questions" in home


async def test_more_than_two_seats_are_filled_and_rules_are_fields_of_their_kind(
    served: DeclaredActions, log: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Rules(BaseModel, frozen=True):
        """One rule of each kind."""

        questions: PositiveInt = 20
        pause: float | None = Field(None, le=9)
        loud: bool = False
        order: Literal["any", "fixed"] = "any"
        motto: str = "ask"

    judge = SeatSpec(name="judge", players={"offline/fair": lambda view: "fair"})
    benchmark = replace(served.benchmark, name="three", rules=Rules, seats=(*served.benchmark.seats, judge))
    monkeypatch.setitem(catalog._REGISTERED, "three", benchmark)
    served = DeclaredActions(
        DeclaredSessions(benchmark, *log, no_models, studies=[]), Signer(b"a secret for tests")
    )
    kinds = {field.name: (field.kind, field.value, field.least, field.most) for field in rule_fields(Rules)}
    assert kinds == {
        "questions": ("whole", 20, 1, None), "pause": ("number", None, None, 9),
        "loud": ("switch", False, None, None), "order": ("menu", "any", None, None),
        "motto": ("text", "ask", None, None),
    }  # fmt: skip
    html = await served.home(Frame(strings("en"), "/three"))
    Page(html).check_references()
    assert re.findall(r'data-opposite="(\w+)"', html) == ["asker", "answerer", "judge"]
    wishes = {"seat": "asker", "others": {"answerer": "offline/oracle"}, "rules": {"loud": True}}
    with pytest.raises(InputError, match="cannot sit in the judge's seat"):
        await served.start(wishes)
    begun = await served.start(wishes | {"others": {"answerer": "person", "judge": "offline/fair"}})
    seat = Signer(b"a secret for tests").read(parse_qs(urlparse(begun["go"]).query)["t"][0])
    page = (await served.page(Frame(strings("en")), seat))["html"]
    assert page.count("data-link") == 1
    (episode,) = log[1].episodes()
    assert episode.seats == {"asker": "person", "answerer": "person", "judge": "offline/fair"}
    assert episode.options["loud"] is True and episode.options["motto"] == "ask"


@pytest.mark.parametrize("text", ["en: [a, b]", "english: {title: x}", "en: {title: [", "- en"])
def test_invalid_text_files_are_reported_before_any_page(
    served: DeclaredActions, tmp_path: Path, text: str
) -> None:
    (tmp_path / "texts.yaml").write_text(text, encoding="utf-8")
    served.sessions.benchmark = replace(served.benchmark, folder=tmp_path)
    with pytest.raises(InputError, match=re.escape(f"{tmp_path}/texts.yaml:")):
        DeclaredActions(served.sessions, Signer(b"a secret for tests"))


async def test_free_play_reveals_the_item_only_at_the_end(actions: Actions, log: Any) -> None:
    player = await begin(actions, item=ROSE, rules={"questions": 3})
    for question in ("Is it a plant?", f"Is it {EVIL}?"):
        await player.say(question)
        Page(player.html).check_references()
        assert "rose" not in player.html and "thorny" not in player.html
        assert "rose" not in str(await actions.state(player.at["query"][2:]))
    assert "Questions left: 1 of 3" in player.html
    assert "<img src=x" not in player.html and "img src=x" in words(player.html)
    await player.say("Is it a rose?")
    shown = words(player.html)
    assert "Finished" in shown and "rose" in shown and "thorny" in shown
    assert re.search(r"success Yes questions 3", shown) and "bl-right" in player.html
    (episode,) = log[1].episodes()
    assert episode.options == {"questions": 3}
    scores = {score.metric: score.value for score in log[1].scores(episode_id=episode.id)}
    assert scores == {"success": 1.0, "questions": 3.0}


async def test_fixed_choices_are_buttons_and_nothing_else_is_accepted(actions: Actions) -> None:
    player = await begin(actions, seat="answerer", others={"asker": "offline/guesser"}, item=ROSE)
    html = await player.look()
    says = [attrs["data-say"] for _, attrs in Page(html).tags if "data-say" in attrs]
    assert says == ["yes", "no", "I cannot tell"]
    assert "rose" in html and "textarea" not in html
    player.at["language"] = "zh"
    assert "不是（no）" in await player.look()
    player.at["language"] = "en"
    refused = await player.say("maybe")
    assert not refused["accepted"] and "That was not possible" in words(refused["html"])
    player.at["language"] = "zh"
    answer = await player.say("no")
    assert answer["accepted"] and ">不是（no）</p>" in answer["html"]
    player.at["language"] = "en"
    again = await player.actions.send(player.at | {"render": "render-00001", "number": 1, "text": "no"})
    assert again["accepted"]  # a double click is one turn
    assert re.search(r'data-number="3"', again["html"])


async def test_two_people_play_by_an_invitation(actions: Actions) -> None:
    host = await begin(actions, item=ROSE, others={"answerer": "person"})
    link = await invitation_to(actions, host.at)
    shown = words((await actions.page(Player(actions, link).at))["html"])
    assert "Twenty questions" in shown and "Your seat: Answerer" in shown and "rose" not in shown
    guest = Player(actions, "?" + (await take_seat(actions, link))["query"])
    await host.look()
    assert "data-link" not in await guest.look()
    assert 'data-my-turn="0"' in guest.html and "rose" in guest.html and "rose" not in host.html
    assert "You can answer as soon as it is your turn" in guest.html
    await host.say("Is it alive?")
    assert "Waiting for: Answerer" in host.html
    assert not (await host.say("Is it a cat?"))["accepted"]
    await guest.say("yes")
    assert "yes" in words(await host.look()) and 'data-my-turn="1"' in host.html
    assert "Not your turn yet" not in host.html
    assert [attrs["data-say"] for _, attrs in Page(guest.html).tags if "data-say" in attrs]


@pytest.mark.parametrize(
    ("options", "words_of"),
    [
        ({"item": 31}, "“31”"),
        ({"item": 0}, "“0”"),
        ({"rules": {"questions": 0}}, "questions"),
        ({"seat": "judge"}, "judge"),
        ({"others": {"answerer": "script:/etc/passwd"}}, "cannot take this seat"),
        ({"others": {"answerer": "openai/gpt-4o@http://elsewhere"}}, "cannot take this seat"),
        ({"others": {"answerer": "python:os:system"}}, "cannot take this seat"),
        ({"others": {}}, "cannot take this seat"),
        ({"seat": "x" * 500}, ""),
        ({"rules": {"questions": [1]}}, ""),
    ],
)
async def test_only_offered_options_start_an_episode(
    actions: Actions, log: Any, options: dict[str, Any], words_of: str
) -> None:
    answer = await actions.start(WISHES | options)
    assert words_of in answer["problem"] and "go" not in answer
    assert list(log[1].episodes()) == []


async def test_a_study_leads_from_welcome_to_the_code(actions: Actions, log: Any) -> None:
    welcome = words((await actions.page({"path": "/study", "query": "study=twenty-questions-asker"}))["html"])
    assert "Your role: Asker." in welcome
    entered = await ask_for_place(actions, "twenty-questions-asker", "pid-1")
    player = Player(actions, entered["go"])
    assert "Do you want to take part?" in words(await player.look())
    await player.say("yes")
    assert "Ask questions that can be answered with yes or no" in words(player.html)
    await player.say("ready")
    assert 'data-page="play"' in player.html and 'data-number="2"' in player.html
    assert "data-withdraw" in player.html and "Questions left: 15 of 15" in player.html
    for _ in range(15):
        await player.say("Is it a unicorn?")
    assert "TWENTY-DONE" in player.html and "What was hidden" not in player.html
    (episode,) = log[1].episodes()
    assert log[1].ending(episode.id).status == "truncated"
    assert episode.options["questions"] == 15
    scores = {score.metric: score.value for score in log[1].scores(episode_id=episode.id)}
    assert scores == {"success": 0.0, "questions": None}
    Page(player.html).check_references()


def test_a_study_says_who_sits_opposite(installed: Path, tmp_path: Path) -> None:
    file = catalog.find("twenty_questions").folder / "studies" / "asker.yaml"
    study = read_study(file)
    assert material_of(study).seating == {"asker": "person", "answerer": "offline/oracle"}

    def opposite(who: str) -> Any:
        settings = {"answerer": who, "show_result": True, "languages": ["en", "zh"]}
        return material_of(study.model_copy(update={"settings": settings}))

    material = opposite("openai/gpt-4o")
    material.check()
    assert material.seating["answerer"] == "openai/gpt-4o" and set(material.needs) == {"openai/gpt-4o"}
    assert material.shows_result and material.languages == ("en", "zh")
    wrong = {
        "offline/nobody": "known players: offline/oracle",
        "person": "answerer is a person",
        "gpt-4o": "known players: offline/oracle, provider/model",
    }
    for who, words_of in wrong.items():
        with pytest.raises(InputError, match=words_of):
            opposite(who).check()
    with pytest.raises(InputError, match="setup must be H2L if people sit as asker"):
        material_of(study.model_copy(update={"setup": "L2H"})).check()


PAIRED = """
id: twenty-questions-two
title: {en: Twenty questions for two, zh: 两人二十问}
benchmark: twenty_questions
setup: H2H
seats: [asker, answerer]
judgments_per_item: 2
settings: {questions: 3, show_result: true}
completion_codes: {complete: TWO-DONE, paid_exit: TWO-LEFT}
"""


async def test_two_participants_of_a_study_are_paired(installed: Path, log: Any, tmp_path: Path) -> None:
    file = tmp_path / "two.yaml"
    file.write_text(PAIRED, encoding="utf-8")
    benchmark = catalog.find("twenty_questions")
    sessions = DeclaredSessions(benchmark, *log, no_models, studies=[read_study(file)])
    people: dict[str, str] = {}
    for number in (1, 2):
        entry = await sessions.enter(
            "twenty-questions-two", identity={"PROLIFIC_PID": f"p{number}"},
            participant_key=f"participant-key-000{number}", language="en",
        )  # fmt: skip
        people[entry.seat] = entry.episode_id
        for text in ("yes", "ready"):
            assert (await sessions.view(entry.episode_id, entry.seat)).blocks == ()
            await sessions.submit(entry.episode_id, entry.seat, Reply(text=text))
    assert set(people) == {"asker", "answerer"}

    async def look(seat: str) -> Any:
        return await sessions.view(people[seat], seat)

    thing = (await look("answerer")).blocks[0].text
    assert not [block for block in (await look("asker")).blocks if getattr(block, "text", "") == thing]
    for text in ("Is it alive?", f"Is it a {thing}?"):
        assert (await look("asker")).my_turn and not (await look("answerer")).my_turn
        await sessions.submit(people["asker"], "asker", Reply(text=text))
        assert (await look("answerer")).due.choices == ("yes", "no", "I cannot tell")
        await sessions.submit(people["answerer"], "answerer", Reply(text="yes"))
    assert [(await look(seat)).stage for seat in people] == ["done", "done"]
    result = await sessions.replay(people["asker"], "asker")
    assert result.scores == {"success": 1.0, "questions": 2.0} and result.blocks[0].text == thing
    (task,) = log[1].episodes("study-twenty-questions-two")
    assert len(log[1].turns(task.id)) == 4


async def test_a_third_seat_is_filled_in_a_paired_study(
    installed: Path, log: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "two.yaml"
    file.write_text(PAIRED, encoding="utf-8")
    benchmark = catalog.find("twenty_questions")
    judge = SeatSpec(name="judge", players={"offline/fair": lambda view: "fair"})
    benchmark = replace(benchmark, seats=(*benchmark.seats, judge))
    monkeypatch.setitem(catalog._REGISTERED, benchmark.name, benchmark)
    sessions = DeclaredSessions(benchmark, *log, no_models, studies=[read_study(file)])
    for number in (1, 2):
        entry = await sessions.enter(
            "twenty-questions-two", identity={"PROLIFIC_PID": f"p{number}"},
            participant_key=f"participant-key-000{number}", language="en",
        )  # fmt: skip
        for text in ("yes", "ready"):
            await sessions.view(entry.episode_id, entry.seat)
            await sessions.submit(entry.episode_id, entry.seat, Reply(text=text))
        await sessions.view(entry.episode_id, entry.seat)
    (task,) = log[1].episodes("study-twenty-questions-two")
    assert task.seats == {"asker": "person", "answerer": "person", "judge": "offline/fair"}


async def test_blocks_next_to_cards_are_shown_with_the_seats_instructions(
    served: DeclaredActions, log: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocks = [Heading("seen by all"), Card("a card", [Text("in the card")]), Talk(())]
    benchmark = replace(served.benchmark, view=lambda state, seat: blocks)
    sessions, signer = DeclaredSessions(benchmark, *log, no_models, studies=[]), Signer(b"a secret for tests")
    actions = Actions(signer, {**front(signer), benchmark.name: DeclaredActions(sessions, signer)})
    shown = words(await (await begin(actions, item=ROSE)).look())
    assert re.search(r"Your role .*yes or no.* seen by all .*a card .*in the card", shown)


@pytest.mark.each(
    ("unsuccessful", "looks"), [(0.0, ("wrong", "right")), (1.0, ("right", "wrong")), (None, ("", ""))]
)
def test_yes_is_marked_right_only_if_no_is_the_worse(
    unsuccessful: float | None, looks: tuple[str, str]
) -> None:
    metric = Metric("missed", "missed", unsuccessful=unsuccessful)
    context: Any = SimpleNamespace(texts=lambda name: name, link=SimpleNamespace(name="benchmark.any"))
    assert tuple(metric_figure(context, metric, value).look for value in (0.0, 1.0)) == looks


def test_no_benchmark_takes_the_address_of_another_page(served: DeclaredActions) -> None:
    served.sessions.benchmark = replace(served.benchmark, name="study")
    with pytest.raises(InputError, match="A benchmark cannot be called 'study'"):
        DeclaredActions(served.sessions, Signer(b"a secret for tests"))


def test_every_text_of_the_pages_is_used_and_in_both_languages() -> None:
    names = texts_of("declared.")
    assert sorted(names) == sorted(name for name in strings("zh").texts if name.startswith("declared."))
    assert unused(names, ("declared.result.",)) == []


def test_researchers_look_through_its_items(
    served: DeclaredActions, log: tuple[LogWriter, LogReader], monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = office_at(log[0], log[1])

    def page(query: str, language: str = "en") -> str:
        return str(page_at(calls, "/research/data", query, language)["html"])

    assert "benchmark=twenty_questions" in page("")
    items = catalog.find("twenty_questions").load("builtin")
    every = page("benchmark=twenty_questions")
    assert f"{len(items)} of {len(items)} items" in every
    first = items[0].name
    assert page(f"benchmark=twenty_questions&item={first}").count("<dt>") == len(type(items[0]).model_fields)
    assert f"<strong>{first}</strong>" not in page("benchmark=twenty_questions&text=nothing-like-it")
    assert "no “nowhere”" in page("benchmark=twenty_questions&item=nowhere")
    assert "no data" in page("benchmark=twenty_questions&data=nowhere")
    monkeypatch.setitem(strings("zh").phrases, "Twenty questions", "二十个问题")
    assert "二十个问题" in page("", "zh") and "二十个问题" in page("benchmark=twenty_questions", "zh")


def test_seats_on_the_page_of_a_new_run_are_explained_in_chinese() -> None:
    assert strings("zh").phrase(SeatSpec(name="asker").role) == "此席位由谁来玩"


def test_extra_research_pages_keep_the_items_page(served: DeclaredActions) -> None:
    more = ResearchPages(links=lambda reader, run: ())
    assert research_pages(replace(served.benchmark, research=lambda: more)).data is not None


def test_only_built_in_studies_are_marked_so(served: DeclaredActions) -> None:
    assert [card.builtin for card in served.sessions.studies()] == [False]
    assert catalog.is_ours("clarq") and not catalog.is_ours("nowhere")
