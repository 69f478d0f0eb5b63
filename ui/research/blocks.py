"""The researchers' pages as one Gradio Blocks, each page with its own address.

A page is built once the browser has loaded it, in its language and for its address, so that neither
``/config`` nor the page source contains any data of a run. Filters change the page by events, which also keep
the filter in the address, so that every view can be linked, reloaded and revisited.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import gradio as gr
from gradio.context import LocalContext
from markupsafe import Markup, escape
from starlette.requests import Request

from logs import LogError, LogReader
from simulator import catalog
from simulator.errors import AskbackError
from simulator.studies.declared import sessions_type
from ui.accounts import Action, User
from ui.declared.pages import link_to
from ui.i18n import Strings, problem_text, strings
from ui.render import BenchmarkLink, Frame, render
from ui.research import format
from ui.research.address import NAVIGATION, RESEARCH, Address
from ui.research.guard import action_event, require_permission
from ui.research.office import Office
from ui.security import page_language

log = logging.getLogger(__name__)
TICK: Final = 2.0
"""Seconds between updates of a page that shows something in progress."""
RELOAD: Final = "() => { location.reload() }"
"""Script that reloads a page after an action."""
_START: Final = "askbackResearch.start(() => trigger('rebuild'), server)"
_BUILT: Final = "askbackResearch.built(element.querySelector('[data-title]').dataset.title)"
_ANEW: Final = "() => String(performance.now())"
_KEEP: Final = """(...values) => {{
  const at = new URL(location);
  const names = {names};
  names.forEach((name, place) => {{
    at.searchParams.delete(name);
    const set = [values[place] ?? []].flat().filter((value) => value !== "");
    set.forEach((value) => at.searchParams.append(name, value));
  }});
  history.replaceState(history.state, "", at);
  return {answer};
}}"""


def benchmarks() -> tuple[BenchmarkLink, ...]:
    """Return links to the benchmarks that people can play; the entry page of the first is the home page."""
    playable = [each for each in catalog.installed() if sessions_type(each) is not None]
    return tuple(link_to(each, home=each is playable[0]) for each in playable)


@dataclass(frozen=True, slots=True)
class Visit:
    """A request for a page; a change of the hidden field `again` rebuilds it."""

    t: Strings
    at: Address
    office: Office
    again: gr.Textbox | None = None

    @property
    def reader(self) -> LogReader:
        """A reader of the log."""
        return self.office.reader

    @contextmanager
    def acting(self, action: Action, **details: object) -> Iterator[User]:
        """Check the permission for an action of a page's event, and log it once it has succeeded.

        Yields:
            The user.

        Raises:
            gr.Error: an error of the action, in the page's language.
        """
        try:
            user = require_permission(action)
            yield user
            self.office.writer.put(action_event(user, action, **details)).result()
        except (AskbackError, LogError) as error:
            text = problem_text(self.t, error)
            raise gr.Error(text, title=self.t("research.problem.title"), print_exception=False) from error

    def render(self, template: str, **context: Any) -> str:
        """Return the markup made from ``templates/research/{template}.html.jinja``."""
        return render(
            f"research/{template}",
            self.t,
            frame=Frame(self.t, self.at.path, self.at.query, RESEARCH, "research", benchmarks()),
            at=self.at,
            navigation=NAVIGATION,
            fmt=format,
            **context,
        )


@dataclass(frozen=True, slots=True)
class ResearchPage:
    """A page with its own address.

    Attributes:
        path: last part of the path; empty for the first page.
        build: creates the components for a visit, and may return the title of the browser's tab. Askback's
            own errors are shown on the page.
        title: name of the text that is otherwise the title of the browser's tab.
        calls: returns the server functions that scripts of the page may call.
    """

    path: str
    build: Callable[[Visit], str | None]
    title: str = "research.title"
    calls: Callable[[Office], list[Callable[..., object]]] = lambda office: []


def research_blocks(pages: Sequence[ResearchPage], office: Office, head: str) -> gr.Blocks:
    """Return the Blocks of all pages, which are built for each visit; the first has the empty path.

    `head`: styles and scripts for the head of every page.
    """
    blocks: gr.Blocks
    with gr.Blocks(title="Askback", analytics_enabled=False, fill_width=True) as blocks:
        _load_page(blocks, pages[0], office, head)
        for page in pages[1:]:
            # Like `Blocks.route`, which however creates Gradio's web app again for each page.
            blocks.pages.append((page.path, page.path, False))
            blocks.current_page = page.path
            _load_page(blocks, page, office, head)
    return blocks


def show_page(page: ResearchPage, visit: Visit) -> None:
    """Create the components of a page: its frame, and its contents or the error."""
    title = None
    html(visit.render("native"))
    with gr.Column(elem_id="ab-content", elem_classes=["rs-native"]):
        try:
            title = page.build(visit)
        except (AskbackError, LogError) as error:
            add_part(visit, "problem_card", message=problem_text(visit.t, error))
        except Exception as error:  # a package's desk or page may raise anything
            log.exception("the page %s failed", visit.at.path)
            fault = catalog.package_error(f"The page {visit.at.path}", error)
            add_part(visit, "problem_card", message=problem_text(visit.t, fault))
    # It comes last, so that the other components exist when its script runs.
    tab_title = f"{title or visit.t(page.title)} · {visit.t('app.name')}"
    gr.HTML(f'<i hidden data-title="{escape(tab_title)}"></i>', js_on_load=_BUILT)


def add_part(visit: Visit, template: str, **context: Any) -> gr.HTML:
    """Add the rendered ``templates/research/{template}.html.jinja`` to a page."""
    return html(markup(visit, template, **context))


def html(value: str | None = None, **more: Any) -> gr.HTML:
    """Return an HTML component for our own markup."""
    return gr.HTML(value, elem_classes=["ab"], apply_default_css=False, **{"padding": False, **more})


def markup(visit: Visit, template: str, **context: Any) -> str:
    """Return the markup of a `add_part`."""
    return render("research/part", visit.t, html=Markup(visit.render(template, **context)))


def keep_in_address(**filters: gr.components.Component) -> None:
    """Keep the values of filters in the address, under the given names."""
    changes = [component.change for component in filters.values()]  # type: ignore[attr-defined]
    gr.on(changes, None, list(filters.values()), None, js=_keep(filters, "values"), show_progress="hidden")


def rebuild(visit: Visit, event: Callable[..., Any], **filters: gr.components.Component) -> None:
    """Rebuild the page at an event, with the values of filters in its address."""
    event(None, list(filters.values()), visit.again, js=_keep(filters, "String(performance.now())"))


def rebuild_on_change(visit: Visit, state: Callable[[], object]) -> None:
    """Rebuild the page when `state` changes."""
    before = state()

    def find_change() -> Any:
        now = state()
        return gr.skip() if now == before else str(now)

    gr.Timer(TICK).tick(find_change, None, visit.again, show_progress="hidden", queue=False)


def _keep(filters: Mapping[str, gr.components.Component], answer: str) -> str:
    return _KEEP.format(names=json.dumps(list(filters)), answer=answer)


def _load_page(blocks: gr.Blocks, page: ResearchPage, office: Office, head: str) -> None:
    """Add a page to the current route; a progress bar is shown until its components are built."""
    boot = gr.HTML(
        '<div class="rs-boot"></div>',
        elem_classes=["ab", "ab-stage", "rs-waiting"],
        head=head,
        js_on_load=_START,
        server_functions=page.calls(office),
    )
    again = gr.Textbox(visible="hidden", show_label=False)
    boot.rebuild(None, None, again, js=_ANEW)

    def show(_: str) -> None:
        show_page(page, _visit(page.path, office, again))

    gr.render([again], [blocks.load, again.change], show_progress="hidden")(show)


def _visit(path: str, office: Office, again: gr.Textbox) -> Visit:
    """Return the visit of the current Gradio event, with its language and address."""
    scope = request_of_event().scope
    query = bytes(scope.get("query_string", b"")).decode("latin-1")
    return Visit(strings(page_language(scope)), Address.read(f"{RESEARCH}/{path}", query), office, again)


def request_of_event() -> Request:
    """Return the request of the current Gradio event."""
    request = LocalContext.request.get()
    assert request is not None and request.request is not None
    return request.request
