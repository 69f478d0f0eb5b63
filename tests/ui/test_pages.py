"""The pages' markup: every text comes from the strings files, everything else is escaped data."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from fake_sessions import BACKGROUND, SECRET, TREE, FakeSessions
from texts import templates, texts_under

from simulator import catalog
from simulator.clarq import graph, provider
from simulator.clarq.players.experts_offline import REASONS
from simulator.clarq.show import instructions
from simulator.handmethat import graph as household
from simulator.runner.lobby import Opponent
from simulator.seats import Reply
from ui.declared.actions import DeclaredActions
from ui.declared.pages import end_page, entry_page, task_page
from ui.declared.study import Invitation, Notice, invitation_page
from ui.i18n import LANGUAGES, Strings, strings
from ui.render import Frame, message_page
from ui.tokens import Signer

SHOWN = {"title", "aria-label", "placeholder", "alt", "label"}
EVIL = "\"'><img src=x onerror=alert(1)>{{7*7}}${7*7}</textarea><script>alert(2)</script>"


class Marked(Strings):
    """Texts in angle quotes, that note which of them were asked for."""

    def __init__(self) -> None:
        texts = {
            name: re.sub(r"(\{\w+\})", r"»\1«", f"«{text}»") for name, text in strings("en").texts.items()
        }
        super().__init__("en", texts)
        self.used: set[str] = set()

    def __call__(self, name: str, **fields: object) -> str:
        self.used.add(name)
        return super().__call__(name, **fields)

    def get(self, name: str, default: str, **fields: object) -> str:
        if name in self.texts:
            self.used.add(name)
        return super().get(name, default, **fields)


class Page(HTMLParser):
    """Texts and attributes that people can see or hear, and every tag."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.texts: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self.texts += [value for name, value in attrs if name in SHOWN and value]

    def handle_data(self, data: str) -> None:
        if data.strip():
            self.texts.append(data)


class OfferedSessions(FakeSessions):
    """Sessions that offer a model, too."""

    def opponents(self, seat: str) -> tuple[Opponent, ...]:
        return (*super().opponents(seat), Opponent("model/x", True))


async def dialogue(seat: str, *moves: Reply, text: str = "Which lantern?") -> tuple[FakeSessions, str]:
    sessions = FakeSessions()
    opposite = "provider" if seat == "seeker" else "seeker"
    episode = await sessions.start(seat=seat, others={opposite: "offline"})
    for number, move in enumerate(moves or (Reply(text=text, key="k"),)):
        await sessions.submit(episode, seat, Reply(text=move.text, move=move.move, key=f"k{number}"))
    return sessions, episode


def give(*indices: str) -> Reply:
    return Reply(move={"give": list(indices)})


ACTIONS = DeclaredActions(FakeSessions(), Signer(b"x"), home=True)
LINK = ACTIONS.link


def playing(frame: Frame, view: Any, invited: Invitation | None = None, notice: Notice | None = None) -> str:
    """The page of a dialogue that is going on."""
    invitations = {seat: invited for seat in view.people if invited is not None}
    return task_page(ACTIONS.page_context(frame, view, notice=notice), invitations)


async def every_page(texts: Strings) -> list[str]:
    """Each kind of page in each of its states."""
    frame = Frame(texts, "/play", "t=abc", research="/research", active=LINK.name, benchmarks=(LINK,))
    pages = [message_page(frame, name) for name in ("bad_link", "gone", "failed", "seat_taken")]
    pages.append(invitation_page(frame, LINK, "provider"))
    pages.append(entry_page(frame, LINK, OfferedSessions(), ()))
    for seat in ("seeker", "provider"):
        moves = (give("0"),) if seat == "provider" else ()
        sessions, episode = await dialogue(seat, *moves)
        view = await sessions.view(episode, seat)
        notice = Notice(texts("play.conflict"))
        with_person = replace(view, people=("provider" if seat == "seeker" else "seeker",))
        pages.append(playing(frame, view, notice=notice))
        for taken in (False, True):
            pages.append(playing(frame, with_person, Invitation("/play?t=x", taken=taken), notice))
    for seat in ("seeker", "provider"):
        opened = replace(view, seat=seat, stage="instructions", blocks=instructions(seat))
        pages.append(ACTIONS.session_page(ACTIONS.page_context(frame, opened)))
    return pages + await waiting_pages(frame) + await result_pages(frame)


async def waiting_pages(frame: Frame) -> list[str]:
    pages = []
    sessions = FakeSessions()
    for multi in (False, True):
        others, rules = {"provider": "person"}, {"multi": multi}
        episode = await sessions.start(seat="seeker", others=others, rules=rules)
        waiting = await sessions.view(episode, "provider")
        await sessions.submit(episode, "seeker", Reply(text="How?", key="a"))
        views = [waiting, await sessions.view(episode, "seeker"), await sessions.view(episode, "provider")]
        await sessions.submit(episode, "provider", Reply(move={"give": ["0"]}, key="b"))
        views.append(await sessions.view(episode, "provider"))
        pages += [playing(frame, seen) for view in views for seen in (view, replace(view, people=()))]
    return pages


async def result_pages(frame: Frame) -> list[str]:
    pages = []
    for seat, moves in (
        ("seeker", [Reply(text="How?"), Reply(text="Goodbye")]),
        ("seeker", [*[Reply(text="Which?")] * 6, Reply(text="Goodbye")]),
        ("provider", [Reply(text="Hm.")] * 14),
        ("provider", [give("0"), give("1"), Reply(text="Hm."), give("1.1"), give("2"), give("3")]),
    ):
        sessions, episode = await dialogue(seat, *moves)
        view, replay = await sessions.view(episode, seat), await sessions.replay(episode, seat)
        pages.append(end_page(ACTIONS.page_context(frame, view), ACTIONS.benchmark, replay))
    return pages


def is_data(text: str) -> bool:
    known = [
        TREE.opening,
        *(node.text for node in TREE.nodes),
        *(node.explanation or "" for node in TREE.nodes),
    ]
    known += [BACKGROUND.role, BACKGROUND.task, *BACKGROUND.items, *BACKGROUND.skills, *BACKGROUND.scenes]
    phrases = [
        "What can I do for you?",
        "Which lantern?",
        "How is it done? Which one?",
        "Thanks, goodbye!",
        "How?",
    ]
    phrases += ["Goodbye", "Which?", "Hm.", "You have collected enough.", "It names the thing."]
    names = ["English", "中文", "gpt-4o", "x", "Make a light", "Cross a river", "点灯", "过河", "0"]
    names += [f"{name} {place}" for name in ("Lamp", "Bridge", "灯", "桥") for place in (1, 2)]
    return text in [*known, *phrases, *names] or text.startswith("Sure. ") or not re.search(r"[^\W\d_]", text)


async def test_no_text_is_written_into_the_markup() -> None:
    texts = Marked()
    seen = [text for html in await every_page(texts) for text in Page(html).texts]
    bare = [re.sub("«[^»]*»", "", re.sub("»[^«]*«", "", text)) for text in seen]
    assert {text.strip() for text in bare if not is_data(text.strip())} == set()


def refusals(*modules: ModuleType) -> set[str]:
    """The codes of the rules that modules hold people to."""
    sources = [Path(str(module.__file__)).read_text(encoding="utf-8") for module in modules]
    return set(re.findall(r'code="(\w+)"', "".join(sources)))


REFUSALS = {"clarq": refusals(graph, provider), "handmethat": refusals(household)}


def test_icons_that_templates_name_are_there() -> None:
    sources = templates()
    names = {name for source in sources.values() for name in re.findall(r'icon\("([\w-]+)"\)', source)}
    drawn = re.findall(r'name == "([\w-]+)"', sources.pop("icons.html.jinja"))
    assert names
    assert not names - set(drawn)


def test_every_rule_that_a_person_may_break_is_told_in_both_languages() -> None:
    assert len(REFUSALS["clarq"]) >= 4
    for language in LANGUAGES:
        names = set(strings(language).texts)
        assert {f"benchmark.clarq.refused.{code}" for code in REFUSALS["clarq"]} <= names
        assert {f"benchmark.handmethat.refused.{code}" for code in REFUSALS["handmethat"]} <= names


async def test_every_text_is_used_somewhere() -> None:
    texts = Marked()
    await every_page(texts)
    elsewhere = {
        "app.noscript",  # in the page's head
        *(f"app.missing.{part}" for part in ("home", "text", "title")),  # at a wrong address
        "app.too_many",  # in answer to whoever begins too often
        "language.name",  # of each language, in itself
        "play.retry",
        "play.warning",
        "play.warning_study",
        "benchmark.clarq.farewell",  # in the dialogue's language
        "benchmark.clarq.result.l_note_zh",
        "benchmark.clarq.result.no_reason",
        "benchmark.clarq.result.failure.text",  # where nothing was said in other words
        "benchmark.clarq.summary",  # the text of its card
        "benchmark.clarq.verdict.text",
        *(f"benchmark.clarq.why.{code}" for code in REASONS),  # as the built-in provider gives them
        *(f"benchmark.clarq.type.{number}" for number in (1, 3, 4, 5, 6)),
        *(f"benchmark.clarq.refused.{code}" for code in REFUSALS["clarq"]),
        *(
            f"benchmark.clarq.{name}"
            for name in texts_under(texts, "benchmark.clarq")
            if name.startswith("study.")
        ),
    }
    others = (
        "problem.",
        *(f"benchmark.{name}." for name in catalog.names() if name != "clarq"),
        "research.",
        "study.",
        "benchmark.",
        "ambient.",
        "declared.",
    )
    known = {name for name in texts.texts if not name.startswith(others)}
    assert sorted(known - texts.used - elsewhere) == []
    assert {name for name in texts.used if not name.startswith(others)} <= known


@pytest.mark.parametrize("seat", ["seeker", "provider"])
async def test_what_people_typed_is_shown_as_typed(seat: str) -> None:
    sessions, episode = await dialogue(seat, Reply(text=EVIL))
    view = await sessions.view(episode, seat)
    frame = Frame(strings("en"), "/play", EVIL)
    notice = Notice(EVIL, "problem")
    page = Page(playing(frame, replace(view, people=("seeker",)), Invitation(EVIL, True), notice))
    assert EVIL in page.texts
    assert not [tag for tag, _ in page.tags if tag in ("script", "img")]
    assert not [name for _, attrs in page.tags for name in attrs if name.startswith("on")]


def test_templates_pass_nothing_through_unescaped() -> None:
    for name, source in templates().items():
        assert not re.search(r"\|\s*safe\b|autoescape|Markup", source), name


async def test_a_seekers_page_holds_nothing_of_the_tree() -> None:
    sessions, episode = await dialogue("seeker", text="Hello there")
    view = await sessions.view(episode, "seeker")
    html = playing(Frame(strings("en")), view)
    assert html.count(SECRET) == 1  # the opening, which was given
    assert TREE.opening in html


async def test_the_cards_beside_a_dialogue_speak_the_language_of_the_page() -> None:
    sessions, id = await dialogue("seeker")
    view = await sessions.view(id, "seeker")
    headings = [
        re.findall(r"<summary><h2>(.*?)</h2>", playing(Frame(strings(language)), view))
        for language in (*LANGUAGES, *LANGUAGES)
    ]
    assert headings[:2] == headings[2:]
    assert headings[0]
    assert all(en != zh for en, zh in zip(*headings[:2], strict=True))


async def test_before_the_opening_only_the_opening_can_be_given() -> None:
    sessions, episode = await dialogue("provider", Reply(text="Hm."))
    view = await sessions.view(episode, "provider")
    page = Page(playing(Frame(strings("en")), view))
    assert [attrs["data-index"] for _, attrs in page.tags if attrs.get("data-act") == "pick"] == ["0"]
    states = {attrs["data-node"]: attrs["data-state"] for _, attrs in page.tags if "data-node" in attrs}
    assert states == {"0": "available", "1": "locked", "1.1": "locked", "2": "locked", "3": "locked"}


async def test_the_provider_sees_given_available_and_locked_nodes() -> None:
    sessions, episode = await dialogue("provider", give("0"), give("2"))
    view = await sessions.view(episode, "provider")
    page = Page(playing(Frame(strings("en")), view))
    states = {attrs["data-node"]: attrs["data-state"] for _, attrs in page.tags if "data-node" in attrs}
    assert states == {"0": "given", "1": "available", "1.1": "locked", "2": "given", "3": "available"}


async def test_links_to_parts_of_the_page_lead_somewhere() -> None:
    for html in await every_page(strings("en")):
        page = Page(html)
        ids = [attrs["id"] for _, attrs in page.tags if "id" in attrs]
        assert len(ids) == len(set(ids))
        assert {
            attrs["href"][1:] for _, attrs in page.tags if (attrs.get("href") or "").startswith("#")
        } <= set(ids)
        assert {attrs["for"] for tag, attrs in page.tags if tag == "label" and "for" in attrs} <= set(ids)


def test_the_switch_keeps_the_address() -> None:
    frame = Frame(strings("en"), "/play", "t=a.b&lang=en")
    assert frame.switch == "/play?t=a.b&lang=zh"
