"""Every page for researchers that a link leads to, on a log with runs of every benchmark, seat and study."""

from __future__ import annotations

import html
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from markup import office_at, page

from logs import LogReader, LogWriter
from ui.research.office import Office

sys.path.insert(0, str(Path(__file__).parents[2] / "golden"))

from golden_log import at_home, unpack

LINK = re.compile(r'href="(/research[^"#]*)"')
# Of pages of a run that differ by the episode alone, so many are opened.
EPISODES = 1


@pytest.fixture(scope="module")
def calls(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Office]:
    log = unpack(tmp_path_factory.mktemp("golden"))
    with at_home(log.parent), LogWriter(log, durable=False) as writer, LogReader(log) as reader:
        yield office_at(writer, reader)


@pytest.mark.slow
def test_every_link_leads_to_a_page(calls: Office) -> None:
    due, seen, counted = ["/research"], {"/research"}, dict[str, int]()
    faults: list[str] = []
    while due:
        address = due.pop()
        path, query = urlsplit(address).path, urlsplit(address).query
        try:
            answer: dict[str, Any] = page(calls, query, path)
        except Exception as error:
            faults.append(f"{address}: {type(error).__name__}: {str(error)[:300]}")
            continue
        for link in map(html.unescape, LINK.findall(answer["html"])):
            kind = re.sub(r"(episode|item|pair|at|page)=[^&]*", r"\1", link)
            if link in seen or "/download/" in link or "lang=" in link:
                continue
            seen.add(link)
            counted[kind] = counted.get(kind, 0) + 1
            if counted[kind] <= EPISODES:
                due.append(link)
    assert not faults, "\n".join(faults)
    assert len(seen) > 150
