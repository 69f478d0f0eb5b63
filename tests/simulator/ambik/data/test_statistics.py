"""Statistics by their counting rules, and the known figures of the published data."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from simulator.ambik.data import load_pairs, read_pairs
from simulator.ambik.files.pairs import read_pair
from simulator.ambik.intents import parse_intent
from simulator.ambik.items import Pair
from simulator.ambik.statistics import groups, remarks, statistics, stats_command, tables, texts, to_json
from simulator.ambik.terms import AMBIGUITIES, MEMBERS, paper
from simulator.errors import InputError
from simulator.jsonlines import Row

Cells = dict[str, str]
NewRow = Callable[..., Cells]
WriteCsv = Callable[..., Path]
Checks = dict[str, dict[str, Any]]


@pytest.fixture
def pair(row: NewRow) -> Pair:
    return read_pair(Row({name: text for name, text in row().items() if text}), "7")


def test_words_are_counted_by_the_papers_rules() -> None:
    figures = texts(["The red mug, the RED one.", "A mug  here!"])
    # Between single blanks stands an empty part where there are two.
    assert figures["words"] is not None and figures["words"].value == (6 + 4) / 2
    assert (figures["total"], figures["unique"]) == (9, 6)  # the, red, mug, one, a, here
    nothing = texts([])
    assert (nothing["words"], nothing["total"]) == (None, 0)


def test_plan_length_is_the_number_of_line_breaks_in_the_cell(row: NewRow, write: WriteCsv) -> None:
    long = "1. Warm the oat milk.\n2. Pour it into the red mug.\n\nEnjoy!\n"
    loaded = read_pairs(write("a.csv", row(), row(id="8", plan_for_clear_task=long)))
    figures = statistics(loaded.pairs, loaded.report.cells)["clear_plans"]
    assert figures["mean"] is not None and figures["lines"] is not None
    assert (figures["mean"].value, figures["median"], figures["least"], figures["most"]) == (
        (1 + 3) / 2,
        2.0,
        1,
        3,
    )
    assert figures["lines"].value == (2 + 3) / 2
    # Without the cells it is one less than steps.
    assert statistics(loaded.pairs)["clear_plans"]["most"] == 2


def test_intents_and_shortlists_are_counted_where_there_are_some(pair: Pair) -> None:
    pairs = [
        pair,
        replace(pair, intent=parse_intent("mug, -blue, pour"), shortlist=()),
        replace(pair, intent=parse_intent("1. Pour.\n2. Stir."), type="safety", shortlist=("a", "b", "c")),
        replace(pair, intent=None, type="safety", shortlist=(), variants=(), step=None),
    ]
    figures = statistics(pairs)
    assert figures["intents"] is not None and (figures["intents"].value, figures["intents"].n) == (2.0, 2)
    assert figures["intent_counts"] == {1: 1, 3: 1}
    assert (figures["malformed"], figures["without_intent"]) == (1, 1)
    assert figures["shortlist"] is not None and figures["shortlist"].value == 0.5
    assert figures["shortlist_preferences"] is not None and figures["shortlist_preferences"][::3] == (0.5, 2)
    assert figures["shortlist_sizes"] == {2: 1, 3: 1}
    assert figures["variants"] == {0: 1, 2: 3} and figures["steps"] == {1: 3}
    assert figures["types"] == {"preferences": 2, "common_sense_knowledge": 0, "safety": 2}
    assert figures["balance"] == {}


def test_nothing_has_no_shares() -> None:
    figures = statistics([])
    assert (figures["shortlist"], figures["objects"], figures["clear_plans"]["median"]) == (None, None, None)
    assert set(figures["shares"].values()) == {None}


def test_groups_are_parts_and_types(pair: Pair) -> None:
    calibration = replace(pair, id="8", take_ambiguous=False)
    assert {name: len(held) for name, held in groups([pair, calibration]).items()} == {
        "all": 2,
        "calibration": 1,
        "test": 1,
        "preferences": 2,
    }
    assert list(groups([pair])) == ["all", "preferences"]


def test_the_papers_numbers_come_with_the_remark_that_they_are_of_other_data(
    row: NewRow, write: WriteCsv
) -> None:
    loaded = read_pairs(write("a.csv", row()))
    assert "for the data of June 2024, which these are not" in remarks(loaded)[-1]
    cells = [cell for table in tables(loaded) for line in table.rows for cell in line]
    for values in paper()["statistics"].values():
        assert set(values.values()) <= set(cells)
    old = read_pairs(write("b.csv", row(), names={"unambiguous_direct": "singelablel_clear"}))
    assert not any("which these are not" in line for line in remarks(old))
    assert to_json(old)["paper"]["these_data"] and not to_json(loaded)["paper"]["these_data"]


def test_the_command_prints_all_of_it(capsys: pytest.CaptureFixture[str]) -> None:
    stats_command()
    shown = capsys.readouterr().out
    for title in (
        "Types",
        "Words of the tasks (Table 2)",
        "Length of the plans (Table 5)",
        "By part and type",
    ):
        assert title in shown
    stats_command(part="calibration", as_json=True)
    plain = json.loads(capsys.readouterr().out)
    assert plain["groups"]["all"]["pairs"] == len(load_pairs(part="calibration"))
    assert plain["groups"]["all"]["balance"].keys() == set(MEMBERS)
    with pytest.raises(InputError, match="part 'dev': must be one of all, calibration, test"):
        stats_command(part="dev")


def test_faulty_data_have_no_statistics(row: NewRow, write: WriteCsv) -> None:
    path = write("a.csv", row(), row(id="8", ambiguity_type="x"))
    with pytest.raises(InputError, match="ambiguity_type is"):
        stats_command(data=str(path))


def test_type_shares_of_the_published_data(published: Path, checks: Checks) -> None:
    check = checks["B1.types_500"]
    figures = statistics(load_pairs(published))
    shares = {
        kind: round(100 * share.value, 1) for kind, share in figures["shares"].items() if share is not None
    }
    assert shares == check["reproduced"] == check["expected_paper"]
    assert list(figures["types"].values()) == [236, 199, 65] and list(figures["types"]) == list(AMBIGUITIES)


def test_balance_of_the_published_calibration_rows(published: Path, checks: Checks) -> None:
    check = checks["B5.calibration_balance"]
    figures = statistics(load_pairs(published, "calibration"))
    ambiguous, clear = check["reproduced"]["amb (take_amb=1)"], check["reproduced"]["unamb (0)"]
    assert figures["balance"] == {"ambiguous": ambiguous, "clear": clear}
    assert sum(ambiguous.values()) == sum(clear.values()) == 50


def test_words_are_parts_of_the_raw_cells(row: NewRow, write: WriteCsv) -> None:
    path = write("a.csv", row(id="1", ambiguous_task="Fill a mug. ", unambiguous_direct="Fill  the red mug."))
    loaded = read_pairs(path)
    figures = statistics(loaded.pairs, loaded.report.cells)
    assert figures["ambiguous"]["words"] is not None and figures["clear"]["words"] is not None
    assert (figures["ambiguous"]["words"].value, figures["clear"]["words"].value) == (4, 5)
    assert (figures["ambiguous"]["total"], figures["clear"]["total"]) == (3, 4)


def test_words_of_the_published_pairs(published: Path) -> None:
    loaded = read_pairs(published)
    figures = statistics(loaded.pairs, loaded.report.cells)
    assert figures["clear"]["words"] is not None and figures["ambiguous"]["words"] is not None
    # Counted once more straight from the cells: outer blanks make parts, too.
    assert round(figures["clear"]["words"].value, 3) == 35.708
    assert round(figures["ambiguous"]["words"].value, 3) == 27.118
