"""The figures' page: which runs, each figure by itself, and files to take home."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import urlencode

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from letters import NAMING, STUDY
from markup import checked, words

from simulator.ambibench.reporting.figures import FIGURES
from ui.research.address import Address
from ui.research.ambibench_routes import add_ambibench_routes
from ui.research.calls import Calls
from ui.research.desk import Desk

EVERY = ("oracle", "random", "told", "tables", NAMING, "buckets", STUDY)


@pytest.fixture
def log(letters_log: Calls) -> Calls:
    return letters_log


@pytest.fixture(scope="module")
def client(letters_log: Calls) -> TestClient:
    app = FastAPI()
    add_ambibench_routes(app, letters_log.reports)
    return TestClient(app)


def query(*runs: str, **more: str) -> str:
    return urlencode([*(("runs", run) for run in runs), *more.items()])


def figure(log: Calls, number: str, asked: str, language: str = "en") -> dict[str, Any]:
    call = {"path": "/research/figures", "query": asked, "language": language, "number": number}
    answer = log.figure(call)
    assert "research." not in words(answer)
    return checked(answer)


def test_an_address_keeps_runs_and_names() -> None:
    asked = "tie=half&" + urlencode([("runs", "a b"), ("runs", "c&d"), ("as.offline/random", "Ada & co")])
    at = Address.read("/research/figures", asked)
    assert at.runs == ("a b", "c&d")
    assert at.labels == (("offline/random", "Ada & co"),)
    assert Address.read(at.path, at.query) == at


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_page_has_a_place_for_each_figure_in_order(log: Calls, language: str) -> None:
    call = {"path": "/research/figures", "query": query("random", "oracle"), "language": language}
    html = log.page(call)["html"]
    assert re.findall(r'data-lazy="([^"]+)"', html) == [*FIGURES, "tables"]
    assert re.findall(r'name="as\.([^"]+)"', html) == ["offline/random", "offline/oracle"]
    assert len(re.findall(" checked", html)) == 2
    nothing = log.page(call | {"query": ""})["html"]
    assert "data-lazy" not in nothing


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("number", list(FIGURES))
def test_every_figure_is_drawn_or_says_what_it_lacks(log: Calls, number: str, language: str) -> None:
    answer = figure(log, number, query(*EVERY), language)
    drawn = re.findall(r'data-figure="([\w.-]+)"', answer["html"])
    assert set(drawn) == set(answer["figures"])
    if number in ("2", "3", "6", "7", "10", "11", "14-18", "19"):
        assert drawn
        assert set(answer["figures"][drawn[0]]) == {"light", "dark"}
    if not drawn:
        assert "data-lacks" in answer["html"]
        assert "askback run ambibench" in answer["html"] or number == "5"


def test_names_and_rules_reach_the_figure(log: Calls) -> None:
    renamed = figure(log, "3", query("random", "tables", **{"as.offline/random": "Coin"}))
    names = {trace["name"] for trace in renamed["figures"]["figure-3"]["light"]["data"]}
    assert {"Coin", "some/model", "oracle (exact)"} <= names
    assert "offline/random" not in names
    asked = {"number": "3", "query": query("random", mode="loose"), "language": "zh"}
    assert log.figure(asked)["problem"] == "这里不能选择“loose”。"
    assert "“9” cannot be chosen" in log.figure({"number": "9", "query": query("random")})["problem"]


def test_figures_as_files(log: Calls, client: TestClient) -> None:
    address = "/research/download/ambibench/figure-3.{}?" + query("random", STUDY)
    begins = {"png": b"\x89PNG", "svg": b"<?xml", "csv": b"panel,series,"}
    for suffix, beginning in begins.items():
        answer = client.get(address.format(suffix))
        assert answer.status_code == 200
        assert answer.content.startswith(beginning)
        assert f"figure-3.{suffix}" in answer.headers["content-disposition"]
    assert client.get(address.format("pdf")).status_code == 422


def test_tables_and_trials_as_files(log: Calls, client: TestClient) -> None:
    listed = figure(log, "tables", query("random", STUDY))["html"]
    addresses = re.findall(r'href="(/research/download[^"]+)"', listed)
    assert len(addresses) > 8
    for address in addresses:
        answer = client.get(address.replace("&amp;", "&"))
        assert answer.status_code == 200
        if ".tex?" in address:
            assert answer.text.startswith(r"\begin{tabular}")
    trials = client.get(f"/research/download/ambibench/trials.jsonl?{query('random')}")
    assert len(trials.text.splitlines()) == 4 * 20


@pytest.mark.each(
    ("place", "asked"),
    [
        ("figure-4.png", "runs=random"),
        ("figure-99.png", "runs=random"),
        ("figure-3.png", "runs=nowhere"),
        ("figure-3.png", ""),
        ("table-nothing.csv", "runs=random"),
        ("trials.jsonl", "run=nowhere"),
        ("figure-3.png", "runs=random&tie=never"),
    ],
)
def test_what_cannot_be_had_is_said(client: TestClient, place: str, asked: str) -> None:
    answer = client.get(f"/research/download/ambibench/{place}?{asked}")
    assert answer.status_code == 404
    assert len(answer.json()["error"]) > 10


def test_an_empty_log_says_what_to_run(bench: Any) -> None:
    answer = Calls(Desk(bench.reader), bench.writer).page({"path": "/research/figures"})
    assert "askback run ambibench --model offline/oracle" in answer["html"]
