"""Researchers' judgments of AmbiEnt's examples: validation, logging, blindness, export."""

from __future__ import annotations

import asyncio
import html
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from markup import checked, judge_desk, office_at, page_of, words
from pairs import LINGUISTS, claim_items, load_claims, paraphrases, people, play

from logs import LogReader, LogWriter
from simulator.ambient.data import load_examples
from simulator.ambient.files.dataset import CATEGORY_ROWS
from simulator.ambient.files.results import CROWD
from simulator.ambient.files.results import LINGUISTS as LINGUIST_FILES
from simulator.seats import ScriptSeat
from ui.research.downloads import add_downloads
from ui.research.office import Office

DESK = "/research/desk"
DATA = f"run:{LINGUISTS}"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a log with linguists and claims."""
    path = tmp_path_factory.mktemp("pairs") / "log.sqlite"

    async def claims(writer: LogWriter) -> None:
        items = claim_items(load_claims())[:3]
        shares = iter((0.45, 0.3, 0.05))
        await play(writer, "claims", items, lambda item: ScriptSeat(paraphrases(item, next(shares))))

    with LogWriter(path, durable=False, group_seconds=0.001) as writer, LogReader(path) as reader:
        asyncio.run(people(writer, reader))
        asyncio.run(claims(writer))
        writer.flush()
    return path


@pytest.fixture
def calls(made: Path, tmp_path: Path) -> Iterator[Office]:
    """Return calls on a copy of that log."""
    path = tmp_path / "log.sqlite"
    path.write_bytes(made.read_bytes())
    with LogWriter(path, durable=False, group_seconds=0.001) as writer, LogReader(path) as reader:
        yield office_at(writer, reader)


def page(calls: Office, path: str, query: str, language: str = "en") -> dict[str, Any]:
    answer = checked(page_of(calls, {"path": path, "query": query, "language": language}))
    assert "research." not in words(answer)
    return answer


def data(answer: dict[str, Any], name: str) -> str:
    match = re.search(rf'data-{name}="([^"]*)"', answer["html"])
    return html.unescape(match[1]) if match else ""


def query(validator: str, raters: int = 1, **more: str) -> str:
    rest = "".join(f"&{name}={value}" for name, value in more.items())
    return f"desk=consolidation&data={LINGUISTS}&reviewer={validator}&raters={raters}{rest}"


def judge(calls: Office, asked: str, item: str, form: dict[str, Any], **more: Any) -> Any:
    call = {"path": DESK, "query": asked, "item": item, "form": form}
    key = re.sub(r"[^\w-]", "-", f"{asked}-{item}")[-60:]
    return judge_desk(calls, {**call, "key": key, **more})


def careful(answer: dict[str, Any]) -> dict[str, Any]:
    """Return the form of the linguist who wrote rewrites."""
    offers = json.loads(data(answer, "offers"))
    assert len(offers) == 2
    return next(offer for offer in offers if offer["rewrites"])


def consolidate(calls: Office, validator: str, form: dict[str, Any] | None = None, raters: int = 1) -> int:
    """Consolidate all examples waiting for a validator and return their number."""
    answer, number = page(calls, DESK, query(validator, raters)), 0
    while key := data(answer, "item"):
        values = form or careful(answer)
        answer = judge(calls, query(validator, raters), key, values, key=f"{validator}-{number:08}")
        assert answer["saved"], answer
        number += 1
    return number


def test_both_annotations_are_shown_anonymously(calls: Office) -> None:
    for language in ("en", "zh"):
        answer = page(calls, DESK, query("val"), language)
        assert answer["html"].count("data-offer=") == 2
        assert answer["html"].count("data-entry-number=") == 2
        assert "<ins>" in answer["html"]
        people_of_run = {episode.participant_id for episode in calls.reader.episodes(LINGUISTS)}
        assert all(str(person) not in answer["html"] for person in people_of_run)
        assert "&lt;b&gt;I think" in answer["html"]


def test_problems_of_a_form_are_shown_at_its_fields_and_it_is_not_saved(calls: Office) -> None:
    answer = page(calls, DESK, query("val"))
    key, good = data(answer, "item"), careful(answer)
    empty = judge(calls, query("val"), key, {"labels": [], "rewrites": []})
    assert not empty["saved"] and list(empty["places"]) == ["labels"] and "html" not in empty
    single = {**good, "rewrites": good["rewrites"][:1]}
    problems = judge(calls, query("val"), key, single)["places"]
    assert "There is no rewrite for" in problems["labels"][0]
    lacking = {**good, "labels": good["labels"][:1]}
    assert judge(calls, query("val"), key, lacking)["places"]["rewrites"]
    blank = [{**good["rewrites"][0], "premise": " "}, *good["rewrites"][1:]]
    blank_problems = judge(calls, query("val"), key, {**good, "rewrites": blank})["places"]
    assert "rewrites[0].premise" in blank_problems
    more = {**good, "rewrites": [{**good["rewrites"][0], "label": "maybe"}]}
    assert "problem" in judge(calls, query("val"), key, more)
    assert calls.reader.judgments(kind="ambient.consolidation") == []


@pytest.mark.parametrize(
    ("asked", "change"),
    [
        (query("a b"), {}),
        (query(""), {}),
        (query("val"), {"item": "nowhere"}),
        (query("val"), {"form": {"labels": "neutral"}}),
        (query("val"), {"form": {"labels": ["maybe"]}}),
        (query("val"), {"form": {"labels": ["neutral"], "checklist": ["unheard_of"]}}),
        (query("val"), {"form": {"labels": ["neutral"], "comment": "x" * 5000}}),
        (query("val"), {"decides": True}),
        (query("val"), {"key": "short"}),
        ("desk=consolidation&data=nowhere&reviewer=val", {}),
    ],
)
def test_a_false_call_is_refused(calls: Office, asked: str, change: dict[str, Any]) -> None:
    key = data(page(calls, DESK, query("val")), "item")
    call = {"path": DESK, "query": asked, "item": key, "key": "a-key-of-mine"}
    answer = judge_desk(calls, {**call, "form": {"labels": ["neutral"], "rewrites": []}, **change})
    assert not answer["saved"]
    assert answer["problem"]
    assert calls.reader.judgments(kind="ambient.consolidation") == []


def test_the_same_form_sent_twice_counts_once(calls: Office) -> None:
    key = data(page(calls, DESK, query("val")), "item")
    for _ in range(3):
        form = {"labels": ["neutral"], "rewrites": [], "checklist": ["vagueness"]}
        answer = judge(calls, query("val"), key, form, key="one-and-the-same")
        assert answer["saved"]
        assert data(answer, "item") not in ("", key)
    (row,) = calls.reader.judgments(kind="ambient.consolidation")
    assert (row.annotator, row.item_hash, row.value["checklist"]) == ("val", key, ["vagueness"])
    again = page(calls, DESK, query("val", item=key))
    assert json.loads(data(again, "filled"))["checklist"] == ["vagueness"]
    assert "You have judged this one before" in words(again)


def test_validators_are_blind_until_they_have_decided(calls: Office) -> None:
    key = data(page(calls, DESK, query("val", 2)), "item")
    secret = {"discard": "offensive", "labels": [], "rewrites": [], "comment": "a word of val"}
    assert judge(calls, query("val", 2), key, secret)["saved"]
    for asked in (
        query("wu", 2),
        query("wu", 2, item=key),
        query("wu", 2, tab="agreement"),
        query("wu", 2, tab="decide"),
    ):
        answer = page(calls, DESK, asked)
        assert "a word of val" not in answer["html"]
        assert "Rater val" not in answer["html"]
        assert "offensive" not in words(answer).replace("offensive The pair could hurt", "")
    assert json.loads(data(page(calls, DESK, query("wu", 2, item=key)), "filled")) == {"discard": "keep"}
    values = {"labels": ["neutral"], "rewrites": []}
    assert judge(calls, query("wu", 2), key, values)["saved"]
    assert "offensive" in words(page(calls, DESK, query("wu", 2, tab="agreement")))
    decide = page(calls, DESK, query("wu", 2, tab="decide", item=key))
    assert "Rater val" in words(decide) and data(decide, "decides") == "true"
    last = judge(calls, query("wu", 2, tab="decide"), key, values, decides=True, key="to-decide-it")
    assert last["saved"]
    assert "You have judged everything that was waiting for you" in words(last)


def test_discarded_examples_have_no_labels_or_rewrites(calls: Office) -> None:
    answer = page(calls, DESK, query("val"))
    form = {**careful(answer), "discard": "offensive"}
    assert judge(calls, query("val"), data(answer, "item"), form)["saved"]
    (row,) = calls.reader.judgments(kind="ambient.consolidation")
    assert (row.value["discard"], row.value["labels"], row.value["rewrites"]) == ("offensive", [], [])


def test_consolidated_examples_are_exported_and_read_back(calls: Office, tmp_path: Path) -> None:
    app = FastAPI()
    add_downloads(app, calls)
    client = TestClient(app)
    address = f"/research/download/desk/consolidated.jsonl?desk=consolidation&data={LINGUISTS}"
    assert client.get(address).status_code == 404
    assert consolidate(calls, "val") == 5
    seen = page(calls, "/research/consolidate", f"run={LINGUISTS}&tab=agreement")
    assert "1 discarded by a linguist" in seen["html"] and "5 validated" in seen["html"]
    path = tmp_path / "consolidated.jsonl"
    path.write_bytes(client.get(address).content)
    examples = load_examples(path)
    known = {example.id: example for example in load_examples()}
    assert len(examples) == 5
    for example in examples:
        assert example.labels == known[example.id].labels
        assert set(example.disambiguations) == set(known[example.id].disambiguations)
    linguists = tmp_path / "linguists.jsonl"
    linguists.write_bytes(client.get(f"/research/download/of-run/linguists.jsonl?run={LINGUISTS}").content)
    read = LINGUIST_FILES.read(linguists)
    assert not read.faults and len(read.rows) == 6
    votes = tmp_path / "votes.jsonl"
    votes.write_bytes(client.get("/research/download/of-run/votes.jsonl?run=study-crowd-test").content)
    assert len(CROWD.read(votes).rows) == 3
    for wrong in ("votes.jsonl?run=claims", "secrets.jsonl?run=claims", "linguists.jsonl?run=nowhere"):
        assert client.get(f"/research/download/of-run/{wrong}").status_code == 404


def test_two_validators_agree_or_not_with_intervals(calls: Office) -> None:
    asked = f"desk=consolidation&data={LINGUISTS}&tab=agreement&raters=2"
    assert "Between validators" not in words(page(calls, DESK, asked))
    consolidate(calls, "val", raters=2)
    consolidate(calls, "wu", {"labels": ["neutral"], "rewrites": []}, raters=2)
    answer = page(calls, DESK, asked)
    shown = words(answer)
    assert "5 examples seen by 2 validators and discarded by none" in shown
    assert all(number in shown for number in ("0.62", "0.65", "0.44"))
    assert answer["html"].count('<th scope="row" dir="auto">') == 5
    page(calls, DESK, asked, "zh")


# ---- kinds and claims


def sort(calls: Office, desk: str, who: str, item: str, form: dict[str, Any], **more: Any) -> Any:
    asked = f"desk={desk}&reviewer={who}{more.pop('rest', '')}"
    key = re.sub(r"[^\w-]", "-", f"{who}-{item}")[-60:]
    call = {"path": "/research/desk", "query": asked, "item": item, "form": form, "key": key}
    return judge_desk(calls, {**call, **more})


def test_kinds_are_sorted_settled_and_exported(calls: Office, tmp_path: Path) -> None:
    consolidate(calls, "val")
    kinds = f"kinds&data={DATA}"
    first = page(calls, "/research/categories", f"data={DATA}&reviewer=cat")
    assert words(first).count("One kind for each ambiguity") == 1
    assert len(re.findall(r'name="categories"', first["html"])) == 7
    assert "<ins>" in first["html"]
    item = data(first, "item")
    assert not sort(calls, kinds, "cat", item, {"categories": []}, key="nothing-ticked")["saved"]
    assert sort(calls, kinds, "cat", item, {"categories": ["pragmatic", "lexical"], "several": "one"})[
        "saved"
    ]
    other = page(calls, "/research/desk", f"desk={kinds}&reviewer=dog&item={item}")
    assert data(other, "filled") == "" and "What was said" not in words(other)
    early = sort(calls, kinds, "dog", item, {"categories": ["scopal"]}, decides=True, key="not-yet-yours")
    assert not early["saved"] and "there is nothing to decide" in early["problem"]
    assert sort(calls, kinds, "dog", item, {"categories": ["scopal"], "note": "surely"})["saved"]
    third = page(calls, "/research/desk", f"desk={kinds}&reviewer=elk&tab=decide")
    assert "What was said" in words(third) and "surely" in words(third)
    values = {"categories": ["lexical", "scopal"], "several": "more"}
    assert sort(calls, kinds, "elk", item, values, rest="&tab=decide", decides=True)["saved"]
    stored = [judgment.value["categories"] for judgment in calls.reader.judgments(kind="ambient.category")]
    assert stored == [["lexical"], ["scopal"], ["lexical", "scopal"]]
    app = FastAPI()
    add_downloads(app, calls)
    client = TestClient(app)
    path = tmp_path / "categories.jsonl"
    path.write_bytes(client.get(f"/research/download/desk/categories.jsonl?desk={kinds}").content)
    (row,) = CATEGORY_ROWS.read(path).rows
    assert row.categories == ("lexical", "scopal")
    assert client.get(f"/research/download/desk/secrets.jsonl?desk={kinds}").status_code == 404
    for language in ("en", "zh"):
        page(calls, "/research/desk", f"desk={kinds}&tab=agreement", language)


def test_claims_are_marked_by_each_reviewer_for_themselves(calls: Office) -> None:
    asked = "desk=claims&data=claims"
    answer = page(calls, "/research/claims", "run=claims&reviewer=rev")
    assert "Flagged as ambiguous" in words(answer) and "The fact-check" in words(answer)
    item = data(answer, "item")
    for form in ({"marks": ["x"]}, {"marks": []}):
        assert not sort(calls, "claims&data=claims", "rev", item, form)["saved"]
    after = sort(calls, "claims&data=claims", "rev", item, {"marks": ["a"], "note": "which fee?"})
    assert after["saved"]
    assert "1 of 3 judged" in words(after)
    assert "100.0" in words(page(calls, "/research/desk", f"{asked}&tab=agreement"))
    assert json.loads(data(page(calls, "/research/desk", f"{asked}&reviewer=rev&item={item}"), "filled")) == {
        "marks": ["a"],
        "note": "which fee?",
    }
    blind = page(calls, "/research/desk", f"{asked}&reviewer=other&item={item}")
    assert data(blind, "filled") == "" and "0 of 3 judged" in words(blind)
