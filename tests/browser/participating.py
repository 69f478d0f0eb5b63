"""Actions of participants in studies of any benchmark, and checks of the log afterwards."""

from __future__ import annotations

import json
import re
import uuid
from html import escape
from typing import Any

from playing import episode, number, rows

READY = """window.askback?.page?.busy === false && askback.page.root
           && (askback.page.ended || askback.page.turn?.number === askback.page.number)"""


def newcomer() -> str:
    """A participant who has never been here."""
    return f"p{uuid.uuid4().hex}"


def link(server: Any, study: str, who: str) -> str:
    """A study's link as a platform makes it; the study's name begins with its benchmark's."""
    benchmark = study.partition("-")[0]
    return f"{server.url}/{benchmark}/study/{study}?PROLIFIC_PID={who}&STUDY_ID=s1&SESSION_ID=x1"


def open_study(page: Any, server: Any, study: str, who: str) -> None:
    """From the link to the consent, by mouse, or to what is said instead."""
    page.goto(link(server, study, who))
    page.wait_for_selector(".st-welcome")
    page.click("[data-act=st-enter]")
    page.wait_for_selector(".st-consent, .ab-page[data-page=study-message]")


def open_by_keyboard(page: Any, server: Any, study: str, who: str) -> None:
    """From the link through consent and instructions, by keyboard alone."""
    page.goto(link(server, study, who))
    page.wait_for_selector(".st-welcome")
    tab_to(page, "[data-act=st-enter]")
    page.keyboard.press("Enter")
    page.wait_for_selector(".st-consent")
    assert page.evaluate("document.activeElement.tagName") == "H1"
    tab_to(page, "[data-say=yes]")
    page.keyboard.press("Enter")
    page.wait_for_selector(".st-instructions")
    tab_to(page, "[data-say=ready]")
    page.keyboard.press("Enter")


def begin(page: Any, first: str) -> None:
    """From the consent, or the instructions, to the first task, which `first` selects, by mouse."""
    if page.locator("[data-say=yes]").count():
        page.click("[data-say=yes]")
        page.wait_for_selector(".st-instructions")
    page.click("[data-say=ready]")
    page.wait_for_selector(first)


def tab_to(page: Any, selector: str) -> None:
    """Move the focus there with the Tab key alone."""
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate("s => document.activeElement.matches(s)", selector):
            return
    raise AssertionError(f"the Tab key does not lead to {selector}")


def settled(page: Any) -> None:
    """Wait until what was filled in before is in the form, and keys are heard."""
    page.wait_for_function(READY)


def press(page: Any, key: str = "Enter") -> None:
    """Press a key, and wait for the page of the next turn."""
    before = number(page)
    page.keyboard.press(key)
    moved_on(page, before)


def moved_on(page: Any, before: int) -> None:
    page.wait_for_function(f"n => {READY} && askback.page.number > n", arg=before)


def stage(page: Any) -> str:
    return str(page.get_attribute(".ab-page", "data-stage"))


def seat_texts(server: Any, page: Any) -> list[str]:
    """The texts of the turns in the log."""
    question = "SELECT text FROM turns WHERE episode_id = ? ORDER BY number"
    return [str(text) for (text,) in rows(server, question, episode(page))]


def payloads(server: Any, page: Any) -> list[dict[str, Any]]:
    """Of the turns in the log, in order."""
    question = "SELECT payload FROM turns WHERE episode_id = ? ORDER BY number"
    return [json.loads(payload) for (payload,) in rows(server, question, episode(page))]


class Curious:
    """Keeps everything that reaches a browser from now on, and asks for more."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.received: list[str] = []
        page.on("response", self._keep)

    def _keep(self, response: Any) -> None:
        kind = response.headers.get("content-type", "")
        if "/assets/" not in response.url and ("json" in kind or "html" in kind or "event-stream" in kind):
            self.received.append(response.text())

    def known(self) -> str:
        """All that page source, /config and any response held so far."""
        page = self.page
        page.evaluate("() => fetch('/config').then(r => r.text())")
        page.evaluate("() => fetch(location.href, { headers: { Accept: 'text/html' } }).then(r => r.text())")
        page.evaluate(
            "t => fetch('/api/state', { headers: { 'X-Askback-Seat': t } }).then(r => r.text())",
            page.evaluate("askback.token()"),
        )
        props = page.evaluate("JSON.stringify(askback.page.props)")
        return "\n".join([*self.received, page.content(), props])


def occurring(texts: list[str], held: str) -> list[str]:
    """Those of `texts` that are in `held`, as they are, in a page, or in a page inside JSON."""
    forms = {text: (text, escape(text), json.dumps(escape(text))[1:-1]) for text in texts}
    return [text for text, variants in forms.items() if any(form in held for form in variants)]


def foreign_words(page: Any, marked: str = "[lang=en], h1[dir]") -> list[str]:
    """Latin words of three letters and more that a Chinese page shows outside of what `marked` selects."""
    shown = page.evaluate(
        """marked => { const copy = document.querySelector('#ab-content').cloneNode(true);
                       copy.querySelectorAll(marked).forEach((one) => one.remove());
                       return copy.textContent; }""",
        marked,
    )
    return re.findall(r"[A-Za-z]{3,}", shown)
