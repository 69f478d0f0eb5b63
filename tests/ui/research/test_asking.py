"""The asking page on runs of three benchmarks: every number of table and plots is the report's."""

from __future__ import annotations

import csv
import html
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from markup import office_at
from markup import page as page_of
from rich.console import Console

from logs import LogReader, LogWriter
from simulator.ambik.data import load_pairs
from simulator.ambik.machine import MACHINE as AMBIK
from simulator.ambik.selection import pair_items
from simulator.asking import askable, read_asking
from simulator.clarq.data import load_items
from simulator.clarq.machine import MACHINE as CLARQ
from simulator.commands.asking_measures import rows
from simulator.handmethat.data import load_tasks
from simulator.handmethat.machine import MACHINE as HANDMETHAT
from simulator.handmethat.playing import Posed
from simulator.runner.command import RunRequest, RunSettings, play
from simulator.runner.options import HERE, ModelFlags
from simulator.stats import half_up
from ui.research.address import Address
from ui.research.asking_page import MEASURES, SHARES, asking_report
from ui.research.downloads import report_file
from ui.research.office import Office

RUNS = ("dialogues", "household", "kitchen")


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Office]:
    """A dialogue of ClarQ-LLM, three episodes of HandMeThat, eight tasks of AmbiK."""
    path = tmp_path_factory.mktemp("asking") / "log.sqlite"
    tasks = [*load_tasks(levels=[1])[:1], *load_tasks(levels=[4])[:2]]
    posed = tuple(Posed(task, "en") for task in tasks)
    pairs = tuple(pair_items(load_pairs("builtin", "all")[:4]))
    players: list[tuple[Any, dict[str, str], tuple[Any, ...], dict[str, Any]]] = [
        (CLARQ, {"seeker": "offline/seeker", "provider": "offline/experts"}, load_items()[:1], {}),
        (HANDMETHAT, {"robot": "offline/asker", "human": "offline/giver"}, posed, {"mode": "partial"}),
        (AMBIK, {"robot": "offline/kitchen", "user": "offline/item"}, pairs, {"questions": 1}),
    ]
    for name, (machine, seats, items, options) in zip(RUNS, players, strict=True):
        request = RunRequest(
            machine=machine,
            seats=seats,
            items=tuple(items),
            settings=RunSettings(log=path, models=ModelFlags().options(path), name=name, engine=HERE),
            options=options,
        )
        play(request, Console(quiet=True))
    with LogWriter(path, durable=False) as writer, LogReader(path) as reader:
        yield office_at(writer, reader)


def page(log: Office, by: str = "", language: str = "en", runs: tuple[str, ...] = RUNS) -> dict[str, Any]:
    query = "&".join((*(f"runs={run}" for run in runs), f"by={by}"))
    return page_of(log, query, "/research/asking", language)


def text(markup: str) -> str:
    return " ".join(html.unescape(re.sub("<[^>]+>", " ", markup)).split())


def tables(answer: dict[str, Any]) -> list[list[list[str]]]:
    """The cells of each table's body, row by row."""
    matches = re.findall(r"<table.*?</table>", answer["html"], re.S)
    return [
        [
            [text(cell) for cell in re.findall(r"<t[dh][ >].*?</t[dh]>", row, re.S)]
            for row in re.findall(r"<tr.*?</tr>", body, re.S)
        ]
        for table in matches
        for body in re.findall(r"<tbody.*?</tbody>", table, re.S)
    ]


@pytest.mark.parametrize("by", ["robot", "kind", "user", "both"])
def test_each_benchmark_has_its_rows_with_the_report_s_numbers(log: Office, by: str) -> None:
    by_kind, by_user = by in ("kind", "both"), by in ("user", "both")
    asking_rows = rows(read_asking(log.reader, RUNS).askings, by_kind=by_kind, by_user=by_user)
    shown = [cells for table in tables(page(log, by)) for cells in table]
    assert {asking.benchmark for asking in asking_rows} == set(askable())
    assert len(shown) == len(asking_rows)
    for asking, cells in zip(asking_rows, shown, strict=True):
        beside = [other for other in asking_rows if other.benchmark == asking.benchmark]
        known = [name for name in MEASURES if any(getattr(other, name) is not None for other in beside)]
        names = [column for name in known for column in ((name, f"{name}_n") if name in SHARES else (name,))]
        assert any(cell.startswith(asking.robot) for cell in cells)
        for name, cell in zip(names, cells[-len(names) :], strict=True):
            interval = getattr(asking, name.removesuffix("_n"))
            if interval is None:
                assert not re.search(r"\d", cell), (name, cell)
                continue
            value, low, high, n = interval
            if name.endswith("_n"):
                assert cell == str(n), (name, cell)
                continue
            ends = ["–"] if low is None else [half_up(low), half_up(high)]
            for number in (half_up(value), *ends):
                assert number in cell.replace("−", "-"), (name, cell)
            assert n > 0


@pytest.mark.parametrize("language", ["en", "zh"])
def test_each_room_is_drawn_and_each_robot_and_kind_named(log: Office, language: str) -> None:
    answer = page(log, "kind", language)
    (figure,) = answer["figures"]
    drawn = json.loads(figure["plot"])
    assert ("share that asked" in figure["plot"]) == (language == "en")
    shown = text(answer["html"])
    for name in ("ClarQ-LLM", "HandMeThat", "AmbiK", "offline/seeker", "offline/asker", "offline/kitchen"):
        assert name in shown
    asking_rows = rows(read_asking(log.reader, RUNS).askings)
    for asking in asking_rows:
        values = [row["y"] for panel in drawn["concat"] for row in panel["data"]["values"]]
        for interval in (asking.when_needed, asking.when_nothing):
            assert interval is None or any(value == pytest.approx(interval.value) for value in values)


def test_a_room_that_is_not_chosen_is_not_told(log: Office) -> None:
    answer = page(log, runs=("household",))
    assert len(answer["figures"]) == 1
    (table,) = tables(answer)
    assert len(table) == 1 and any("offline/asker" in cell for cell in table[0])


@pytest.mark.parametrize("by", ["", "both"])
def test_the_table_and_every_episode_can_be_taken_home(log: Office, by: str) -> None:
    reader = log.reader
    address = f"/research/download/report.csv?tab=asking&{f'by={by}&' if by else ''}runs="
    assert address in html.unescape(page(log, by)["html"]).replace("by=both&tab=asking", "tab=asking&by=both")
    report = asking_report(reader, Address(runs=RUNS, by=by))
    asking_rows = rows(read_asking(reader, RUNS).askings, by_kind=bool(by), by_user=bool(by))
    lines = list(csv.DictReader(report_file(report, "csv").decode("utf-8-sig").splitlines()))
    assert [(line["robot"], line["user"], line["kind"]) for line in lines] == [
        (asking.robot, asking.user, asking.kind) for asking in asking_rows
    ]
    for line, asking in zip(lines, asking_rows, strict=True):
        assert asking.right is not None
        assert float(line["right"]) == pytest.approx(asking.right.value)
    assert b"tabular" in report_file(report, "tex")
    (section,) = json.loads(report_file(report, "json"))["sections"]
    assert len(section["data"]["episodes"]) == len(read_asking(reader, RUNS).askings)
