"""Statistics of a dataset, compared with values by hand and with the published numbers."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from simulator.ambient.data import load_examples
from simulator.ambient.data_command import stats_command, stats_report
from simulator.ambient.examples import Disambiguation, Example
from simulator.ambient.files.dataset import CATEGORY_ROWS, category_record
from simulator.ambient.reporting.datasets import (
    category_statistics,
    differences,
    extra_words,
    named_sets,
    statistics,
)
from simulator.ambient.reporting.measures import paper
from simulator.stats import Interval

Rows = dict[str, dict[str, Any]]
Write = Callable[..., Path]
Checks = dict[str, dict[str, Any]]

ONE_SIDE = Example(
    id="1",
    premise="a b",
    hypothesis="x",
    premise_ambiguous=True,
    labels=frozenset({"neutral", "entailment"}),
    disambiguations=(
        Disambiguation("a b c", "x", "entailment"),
        Disambiguation("a b  c d", "x", "neutral"),
        Disambiguation("a", "x", "neutral"),
    ),
    split="dev",
    categories=("lexical", "other"),
)
BOTH = Example(
    id="2_c",
    premise="a",
    hypothesis="x y",
    premise_ambiguous=True,
    hypothesis_ambiguous=True,
    labels=frozenset({"contradiction", "entailment"}),
    disambiguations=(
        Disambiguation("b c", "x", "contradiction"),
        Disambiguation("d", "x", "entailment"),
        Disambiguation("d", "z z z", "entailment"),
    ),
    split="test",
    categories=("lexical",),
)
PLAIN = Example(id="3", premise="a", hypothesis="b", labels=frozenset({"neutral"}), split="test")
BARE = Example(id="4", premise="a", hypothesis="b")
EXAMPLES = (ONE_SIDE, BOTH, PLAIN, BARE)


def value(share: Interval | None) -> Any:
    """Return a share and its denominator."""
    assert share is not None
    assert share.low <= share.value <= share.high
    return share.value, share.n


def test_statistics_by_hand() -> None:
    figures = statistics(EXAMPLES)
    counts = (
        figures["examples"],
        figures["dev"],
        figures["test"],
        figures["curated"],
        figures["generated"],
        figures["numbered"],
    )
    assert counts == (4, 1, 2, 1, 3, 3)
    assert figures["unlabelled"] == 1
    assert value(figures["ambiguous"]) == (pytest.approx(2 / 3), 3)
    assert value(figures["several_labels"]) == (pytest.approx(2 / 3), 3)
    shares = [
        value(share)
        for share in (figures["premise"], figures["hypothesis"], figures["both"], figures["one_side"])
    ]
    assert shares == [(1, 2), (0.5, 2), (0.5, 2), (0.5, 2)]
    assert figures["ambiguous_in"] == {"dev": 1, "test": 1}
    assert named_sets(figures["label_sets"]) == {"C": 0, "E": 0, "N": 1, "CE": 1, "CN": 0, "EN": 1, "CEN": 0}
    # ONE_SIDE +1 +2 -1; BOTH premise +1 0 0, hypothesis -1 -1 +1
    assert value(figures["extra_words"]) == (pytest.approx(2 / 9), 9)
    assert value(figures["extra_words_distinct"]) == (pytest.approx(3 / 7), 7)
    assert value(figures["two_rewrites"]) == (pytest.approx(2 / 3), 3)
    assert value(figures["two_disambiguations"]) == (0, 2)
    assert (figures["rewrites"], figures["disambiguations"]) == ({2: 2, 3: 1}, {3: 2})
    assert (figures["several"], figures["labels_differ"], figures["faulty"]) == (("1", "2_c"), (), ())


def test_contradictions_are_counted() -> None:
    wrong = Example(
        id="9",
        premise="a",
        hypothesis="b",
        premise_ambiguous=True,
        labels=frozenset({"neutral", "entailment"}),
        disambiguations=(Disambiguation("c", "b", "contradiction"), Disambiguation("d", "x", "neutral")),
    )
    figures = statistics([wrong, PLAIN])
    assert (figures["labels_differ"], figures["faulty"]) == (("9",), ("9",))


def test_shares_of_nothing_are_undefined() -> None:
    for examples in ((), (BARE,)):
        figures = statistics(examples)
        assert (
            figures["ambiguous"],
            figures["premise"],
            figures["extra_words"],
            figures["two_rewrites"],
        ) == (None,) * 4
    assert extra_words([PLAIN]) is statistics([PLAIN])["two_rewrites"] is None


def test_shares_of_kinds_are_of_all_mentions() -> None:
    records = [category_record(example) for example in (ONE_SIDE, BOTH)]
    figures = category_statistics(records, [BOTH])
    assert (figures["rows"], figures["mentions"], figures["in_dataset"], figures["not_whole"]) == (2, 3, 1, 0)
    assert value(figures["shares"]["lexical"]) == (pytest.approx(2 / 3), 3)
    assert value(figures["shares"]["other"]) == (pytest.approx(1 / 3), 3)
    assert value(figures["shares"]["scopal"]) == (0, 3)
    assert category_statistics([])["shares"]["scopal"] is None


def test_differences_from_the_published_dataset_are_reported() -> None:
    reported = differences(statistics(EXAMPLES))
    assert reported[0] == "examples: 4, not 1645"
    assert "ambiguous: 2 of 3, not 579 of 1645" in reported
    assert "ambiguous: none, not 579 of 1645" in differences(statistics(()))


def test_the_published_set_is_known(published: Path) -> None:
    figures = statistics(load_examples(published))
    assert (figures["faulty"], differences(figures)) == ((), ())
    assert (value(figures["extra_words"])[1], value(figures["extra_words_distinct"])[1]) == (1328, 1254)
    assert figures["rewrites"] == {2: 604, 3: 14, 4: 1}


def test_the_command_reproduces_the_paper(published: Path, checks: Checks) -> None:
    names = {
        "share_ambiguous": "ambiguous",
        "share_multilabel": "several_labels",
        "premise_share": "premise",
        "hypothesis_share": "hypothesis",
        "both_share": "both",
        "xor_share": "one_side",
        "two_rewrites": "two_rewrites",
    }
    assert {name: checks[f"A1.{check}"]["expected_paper"] for check, name in names.items()} == paper()[
        "dataset"
    ]["shares"]
    assert checks["A1.categories"]["expected_paper"] == paper()["categories"]["shares"]
    assert checks["A1.avg_words"]["expected_paper"] == paper()["dataset"]["extra_words"]
    assert (
        len(CATEGORY_ROWS.read(published / "category_annotations.jsonl").rows)
        == paper()["categories"]["rows"]
    )


def run(*arguments: str) -> str:
    app = typer.Typer()
    app.command()(stats_command)
    result = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert result.exit_code == 0
    return result.output


def test_the_command_prints_tables(rows: Rows, write: Write) -> None:
    path = write("own.jsonl", {**rows["1"], "categories": ["lexical"]}, rows["3"], rows["2_c"], rows["4"])
    printed = run("--data", str(path))
    assert "a side is flagged" in printed
    assert "paper" not in printed
    assert "1 mentions in 1 examples" in " ".join(printed.split())
    assert "several disambiguations of one label: 3" in printed


def test_published_numbers_are_shown_with_the_papers(published: Path) -> None:
    printed = [line.split() for line in run("--data", str(published)).splitlines()]
    assert ["examples", "1645", "1645"] in printed
    assert ["pragmatic", "47", "44.8", "[35.6,", "54.2]", "44.8"] in printed
    assert ["EN", "330", "20.1", "330"] in printed
    assert not any("paper" in line[:-1] for line in printed)


def test_the_command_prints_json(rows: Rows, write: Write) -> None:
    split = {"split": "dev"}
    path = write("own.jsonl", {**rows["1"], "categories": ["lexical"], **split}, {**rows["2_c"], **split})
    dataset, kinds = (
        section["data"] for section in json.loads(run("--data", str(path), "--json"))["sections"]
    )
    figures, categories = dataset["statistics"], kinds["statistics"]
    assert dataset["published"] is False
    assert figures["ambiguous"] == {"value": 0.5, "low": 0.0, "high": 1.0, "n": 2}
    assert figures["label_sets"]["EN"] == 1
    assert figures["ambiguous_in"] == {"dev": 1}
    assert categories["shares"]["lexical"]["n"] == 1
    assert categories["mentions"] == 1
    assert statistics([]).keys() <= figures.keys()


def test_data_without_kinds_have_no_table_of_them(rows: Rows, write: Write) -> None:
    (section,) = stats_report(write("own.jsonl", rows["2_c"])).sections
    assert section.data["statistics"]["examples"] == 1
