"""The pages' markup: every text comes from the strings files, everything else is escaped data."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from fake_sessions import BACKGROUND, SECRET, TREE, FakeSessions

from simulator.clarq import graph, provider
from simulator.clarq.players.experts_offline import REASONS
from simulator.handmethat import graph as household
from simulator.runner.finding import load_room
from simulator.runner.lobby import Opponent
from simulator.seats import Reply
from ui.clarq.actions import LINK, ClarqActions
from ui.clarq.entry import entry_page, task_groups
from ui.i18n import LANGUAGES, Strings, strings
from ui.invitations import invitation_page
from ui.render import environment
from ui.render.frame import Frame, message_page
from ui.render.play import Company, Invitation, Notice
from ui.study.pages import Here
from ui.tokens import Signer

ROOMS = ("clarq", "handmethat", "ambibench", "ambient", "ambik")
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


async def dialogue(seat: str, *moves: Reply, said: str = "Which lantern?") -> tuple[FakeSessions, str]:
    sessions = FakeSessions()
    opposite = "provider" if seat == "seeker" else "seeker"
    seats = {seat: "person", opposite: "offline"}
    episode = await sessions.start(task_id="task-1-1", language="en", seats=seats)
    for number, move in enumerate(moves or (Reply(text=said, key="k"),)):
        await sessions.submit(episode, seat, Reply(text=move.text, move=move.move, key=f"k{number}"))
    return sessions, episode


def give(*indices: str) -> Reply:
    return Reply(move={"give": list(indices)})


ACTIONS = ClarqActions(FakeSessions(), Signer(b"x"))


def playing(frame: Frame, view: Any, company: Company | None = None, notice: Notice | None = None) -> str:
    """The page of a dialogue that is going on."""
    return ACTIONS.play_page(frame, Here(view=view, notice=notice), company or Company())


async def every_page(texts: Strings) -> list[str]:
    """Each kind of page in each of its states."""
    frame = Frame(texts, "/play", "t=abc", research="/research", active="home")
    pages = [message_page(frame, name) for name in ("bad_link", "gone", "failed", "seat_taken")]
    pages.append(invitation_page(frame, LINK, "provider"))
    fake = FakeSessions()
    opponents = {seat: (*fake.opponents(seat), Opponent("model/x", True)) for seat in ("seeker", "provider")}
    pages.append(entry_page(frame, LINK, {"en": fake.catalog("en"), "zh": ()}, opponents, ()))
    for seat in ("seeker", "provider"):
        moves = (give("0"),) if seat == "provider" else ()
        sessions, episode = await dialogue(seat, *moves)
        view = await sessions.view(episode, seat)
        notice = Notice(texts("play.conflict"))
        hosts = [Company(True, Invitation("/play?t=x", taken=taken)) for taken in (False, True)]
        for company in (Company(), *hosts, Company(True)):
            pages.append(playing(frame, view, company, notice))
        fresh = await FakeSessions().start(task_id="t", language="en", seats={seat: "person"}) and view
        pages.append(playing(frame, fresh))
    return pages + await waiting_pages(frame) + await result_pages(frame)


async def waiting_pages(frame: Frame) -> list[str]:
    pages = []
    sessions = FakeSessions()
    seats = {"seeker": "person", "provider": "person"}
    for multi in (False, True):
        episode = await sessions.start(task_id="t", language="en", seats=seats, options={"multi": multi})
        waiting = await sessions.view(episode, "provider")
        await sessions.submit(episode, "seeker", Reply(text="How?", key="a"))
        views = [waiting, await sessions.view(episode, "seeker"), await sessions.view(episode, "provider")]
        await sessions.submit(episode, "provider", Reply(move={"give": ["0"]}, key="b"))
        views.append(await sessions.view(episode, "provider"))
        pages += [playing(frame, view, Company(person)) for view in views for person in (False, True)]
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
        pages.append(ACTIONS.end_page(frame, Here(view=view), replay))
    return pages


def is_data(text: str) -> bool:
    known = [
        TREE.opening,
        *(node.text for node in TREE.nodes),
        *(node.explanation or "" for node in TREE.nodes),
    ]
    known += [BACKGROUND.role, BACKGROUND.task, *BACKGROUND.items, *BACKGROUND.skills, *BACKGROUND.scenes]
    said = [
        "What can I do for you?",
        "Which lantern?",
        "How is it done? Which one?",
        "Thanks, goodbye!",
        "How?",
    ]
    said += ["Goodbye", "Which?", "Hm.", "You have collected enough.", "It names the thing."]
    names = ["English", "中文", "gpt-4o", "x", "1. Make a light", "2. Cross a river", "0"]
    return text in [*known, *said, *names] or text.startswith("Sure. ") or not re.search(r"[^\W\d_]", text)


async def test_no_text_is_written_into_the_markup() -> None:
    texts = Marked()
    seen = [text for html in await every_page(texts) for text in Page(html).texts]
    bare = [re.sub("«[^»]*»", "", re.sub("»[^«]*«", "", text)) for text in seen]
    assert {text.strip() for text in bare if not is_data(text.strip())} == set()


REFUSALS = set(
    re.findall(
        r'code="(\w+)"',
        "".join(Path(module.__file__).read_text(encoding="utf-8") for module in (graph, provider, household)),
    )
)


def test_every_rule_that_a_person_may_break_is_told_in_both_languages() -> None:
    assert len(REFUSALS) >= 5
    for language in LANGUAGES:
        assert {f"play.refused_{code}" for code in REFUSALS} <= set(strings(language).texts)


async def test_every_text_is_used_somewhere() -> None:
    texts = Marked()
    await every_page(texts)
    elsewhere = {
        "app.noscript",  # in the page's head
        "app.too_many",  # in answer to whoever begins too often
        "language.name",  # of each language, in itself
        "play.goodbye_line",  # in the dialogue's language
        "play.refused",
        *(f"play.refused_{code}" for code in REFUSALS),
        "play.retry",
        "play.warning",
        "play.warning_study",
        "result.aborted",
        "result.failed",
        "result.l_note_zh",
        "result.no_reason",
        *(f"result.why_{code}" for code in REASONS),  # as the built-in provider gives them
        *(f"result.type_{number}" for number in (1, 3, 4, 5, 6)),
        *(f"seat.{seat}" for name in ROOMS for seat in load_room(name).seats),  # of runs, for researchers
    }
    others = (
        "problem.",
        "clarq.",
        "research.",
        "study.",
        "household.",
        "ambibench.",
        "ambient.",
        "ambik.",
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
    page = Page(playing(frame, view, Company(True, Invitation(EVIL, True)), notice))
    assert EVIL in page.texts
    assert not [tag for tag, _ in page.tags if tag in ("script", "img")]
    assert not [name for _, attrs in page.tags for name in attrs if name.startswith("on")]


def test_templates_pass_nothing_through_unescaped() -> None:
    loader = environment.environment().loader
    assert loader is not None
    for name in environment.environment().list_templates():
        source, _, _ = loader.get_source(environment.environment(), name)
        assert not re.search(r"\|\s*safe\b|autoescape|Markup", source), name


async def test_a_seekers_page_holds_nothing_of_the_tree() -> None:
    sessions, episode = await dialogue("seeker", said="Hello there")
    view = await sessions.view(episode, "seeker")
    html = playing(Frame(strings("en")), view)
    assert html.count(SECRET) == 1  # the opening, which was given
    assert TREE.opening in html


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


def test_long_tasks_are_cut_in_the_menu() -> None:
    entry = FakeSessions().catalog("en")[0]
    title = "carry the very heavy " + "and rather awkward " * 10 + "lantern"
    long = type(entry)(**{name: getattr(entry, name) for name in entry.__slots__} | {"title": title})
    (group,) = task_groups([long], "en")
    assert group.entries[0].title.startswith("Carry the very heavy and rather")
    assert group.entries[0].title.endswith("…")
    assert len(group.entries[0].title) <= 70
