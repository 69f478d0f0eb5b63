"""Readers of pages for tests."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any
from unittest.mock import patch

import gradio as gr
from gradio.context import LocalContext
from gradio.routes import App
from markupsafe import escape
from starlette.requests import Request

from logs import LogReader, LogWriter
from simulator import catalog
from simulator.models import ModelOptions
from simulator.runner.processes import RunProcesses
from ui.accounts import User
from ui.i18n import strings
from ui.research.address import DESK, Address
from ui.research.blocks import Visit, show_page
from ui.research.desk_page import judge
from ui.research.guard import _current
from ui.research.mount import PAGES
from ui.research.office import Office

VOID = {"input", "link", "meta", "br", "path", "circle", "img", "source"}


class Balance(HTMLParser):
    """Finds tags that are not closed in their order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: Any) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag


def checked(answer: dict[str, Any]) -> dict[str, Any]:
    """An answer whose markup is well formed."""
    balance = Balance()
    balance.feed(answer["html"])
    assert not balance.open
    return answer


def words(answer: Mapping[str, Any]) -> str:
    """The text of a page, tags left out."""
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", answer["html"]))


def office_at(writer: LogWriter, reader: LogReader) -> Office:
    """The means of pages on a log."""
    processes = RunProcesses(writer.path)
    return Office(writer=writer, reader=reader, models=ModelOptions(), offered=(), processes=processes)


def page_of(office: Office, call: Mapping[str, Any]) -> dict[str, Any]:
    """The page that somebody sees where they say they are."""
    return page_at(office, call["path"], call["query"], call.get("language", "en"))


def judge_desk(office: Office, call: dict[str, Any]) -> dict[str, Any]:
    """Send a form as a browser does; return the answer and the page shown afterwards."""
    at = Address.read(call.get("path", DESK), call.get("query", ""))
    _current.set(User("ada", "editor"))
    answer = judge(office, {**call, "query": at.query})
    if answer["saved"]:
        desks = (desk() for benchmark in catalog.installed() for desk in benchmark.desks)
        bit_by_bit = any(desk.sheet for desk in desks if desk.name == at.desk.rpartition(".")[2])
        stays = bit_by_bit and call["form"].get("finished") != "yes"
        after = replace(at, item=call["item"] if stays else "")
        answer |= page_at(office, DESK, after.query, call.get("language", "en"))
    return answer


def page_at(office: Office, path: str, query: str, language: str = "en") -> dict[str, Any]:
    """The page at an address, as markup."""
    at = Address.read(path, query)
    (page,) = [each for each in PAGES if f"/research/{each.path}".rstrip("/") == at.path]

    async def components() -> list[dict[str, Any]]:
        LocalContext.request.set(gr.Request(request_at(path, query)))
        # Nobody asks these blocks anything, and making routes for that takes longer than the page.
        with patch.object(App, "create_app"), gr.Blocks() as blocks:
            show_page(page, Visit(strings(language), at, office))
        return blocks.config["components"]

    # Outside a running loop Gradio makes loops that nobody closes; a test may have a loop of its own.
    with ThreadPoolExecutor(1) as thread:
        made = thread.submit(lambda: asyncio.run(components())).result()
    figures = [component["props"]["value"] for component in made if component["type"] == "plot"]
    return {"html": "".join(map(_component, made)), "figures": figures}


def request_at(path: str, query: str = "") -> Request:
    """The request for an address of this machine."""
    headers = [(b"host", b"127.0.0.1:7860")]
    scope = {"type": "http", "method": "GET", "scheme": "http", "path": path, "headers": headers}
    return Request(scope | {"query_string": query.encode()})


def _component(component: Mapping[str, Any]) -> str:
    """Return the visible text of a component."""
    props = component["props"]
    if component["type"] == "html":
        return str(props.get("value") or props["html_template"])
    if component["type"] == "dataframe":
        rows = (props["value"]["metadata"] or {}).get("display_value", [])
        return "".join(f"<p>{cell}</p>" for row in rows for cell in row)
    texts = [props.get(name) for name in ("label", "info", "value", "placeholder")]
    texts += [name for name, _ in props.get("choices") or ()]
    return "".join(f"<p>{escape(text)}</p>" for text in texts if isinstance(text, str))


def page(calls: Office, query: str = "", path: str = "/research", language: str = "en") -> dict[str, Any]:
    """The page at an address: well formed, without names of texts in it, and not that of an error."""
    answer = checked(page_at(calls, path, query, language))
    assert "research." not in words(answer)
    assert "cannot be shown" not in words(answer)
    return answer
