"""Checks of every page of a walk: accessibility, fit to the screen, languages."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

import pytest

Check = Callable[[Any], list[str]]

# WCAG 2.2, levels A and AA.
_RULES = {
    "runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"],
    "resultTypes": ["violations"],
}
_COLOURS = {"runOnly": ["color-contrast", "link-in-text-block"], "resultTypes": ["violations"]}
# The shade at the edge of a table that can be scrolled; of text on one axe says nothing.
_PLAIN = ".rs-table-card, .rs-native .virtual-table-viewport { background-image: none !important }"
_STILL = """() => Promise.all(document.getAnimations()
    .filter(one => one.effect.getComputedTiming().endTime < Infinity)
    .map(one => one.finished.catch(() => null)))"""
_BEYOND = """aside => [
    ...(document.documentElement.scrollWidth > innerWidth
        ? [`the page is ${document.documentElement.scrollWidth} wide`] : []),
    ...[...document.querySelectorAll('.ab-page *')].filter(e => e.checkVisibility()
        && !e.closest(aside) && e.getBoundingClientRect().right > innerWidth + 1)
        .map(e => `${e.tagName} ${e.className} is beyond the edge`)]"""
# Lines of a preformatted text are moved within it.
_ASIDE = ".ab-hidden, .ab-skip, svg, pre *"


@cache
def _axe() -> str:
    base = pytest.importorskip(
        "axe_playwright_python.base", reason="axe is not installed: pip install askback[dev]"
    )
    return str(base.AXE_SCRIPT)


def broken_rules(page: Any, rules: Mapping[str, Any] = _RULES) -> list[str]:
    """Return the rules of accessibility that a page, as it stands, breaks, and where."""
    page.evaluate(_STILL)
    # Plots that have not come yet are waited for, but not for ever.
    for _ in range(600):
        if page.locator(".rs-chart:not(:has(svg.marks))").count() == 0:
            break
        page.wait_for_timeout(100)
    if not page.evaluate("'axe' in window"):
        page.evaluate(_axe())
        page.add_style_tag(content=_PLAIN)
    broken = page.evaluate("rules => axe.run(document, rules).then(done => done.violations)", rules)
    return [f"{rule['id']}: {node['html']}" for rule in broken for node in rule["nodes"]]


def beyond_the_edge(page: Any, aside: str = "") -> list[str]:
    """Return what reaches beyond a page's right edge, but for what `aside` selects."""
    # What a script draws anew for another width is waited for, but not for ever.
    for _ in range(300):
        beyond = page.evaluate(_BEYOND, f"{_ASIDE}{aside}")
        if not beyond:
            return []
        page.wait_for_timeout(100)
    return list(beyond)


def too_faint(page: Any) -> list[str]:
    """Return what cannot be told apart well: by the rules on colours, which alone a dark screen can break."""
    return broken_rules(page, _COLOURS)


@contextmanager
def _in_the_dark(page: Any) -> Iterator[None]:
    """Have a light page follow a screen that is dark for a while."""
    page.emulate_media(color_scheme="dark")
    page.wait_for_function("document.body.classList.contains('dark')")
    yield
    page.emulate_media(color_scheme="light")
    page.wait_for_function("!document.body.classList.contains('dark')")


@contextmanager
def looking(
    page: Any, *checks: Check, widths: Sequence[int] = (), aside: str = "", dark: bool = False
) -> Iterator[Callable[[], None]]:
    """Look at the pages of a walk; what is wrong with any of them is told in the end, all of it.

    Args:
        checks: what is asked of each page, on the widest of the screens.
        widths: of screens that each page has to fit; the walk goes on with the first.
        aside: what may reach beyond the edge: `, ` and a selector.
        dark: what is read on a light screen has to be read on a dark one, too.
    """
    faults: list[str] = []
    height = page.viewport_size["height"]

    def ask(width: int, check: Check) -> None:
        heading = page.evaluate("document.querySelector('#ab-content h1')?.textContent.trim()")
        place = f"{re.sub('[?]t=.*', '', page.url)} ({heading}, {width} wide)"
        faults.extend(f"{place}: {fault}" for fault in check(page))

    def look() -> None:
        for width in widths:
            page.set_viewport_size({"width": width, "height": height})
            ask(width, lambda shown: beyond_the_edge(shown, aside))
        for check in checks:
            ask(page.viewport_size["width"], check)
        if dark:
            with _in_the_dark(page):
                ask(page.viewport_size["width"], too_faint)
        if widths:
            page.set_viewport_size({"width": widths[0], "height": height})

    try:
        yield look
    except BaseException as error:
        for fault in faults:
            error.add_note(fault)
        raise
    assert not faults, "\n".join(faults)


def choose(page: Any, menu: str, choice: str) -> None:
    """Choose out of a menu, by its label and the choice's words."""
    field = page.get_by_label(menu, exact=True)
    field.fill(choice)
    field.press("Enter")


def choose_runs(page: Any, *runs: str) -> None:
    """Choose runs out of the researchers' list, by name."""
    for run in runs:
        page.get_by_label("Runs to compare or report").fill(run)
        page.keyboard.press("Enter")
