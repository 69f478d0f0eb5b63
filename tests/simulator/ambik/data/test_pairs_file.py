"""Files of pairs: named columns, cells by the specification, faults with their places."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator.ambik.files.load_report import load_report
from simulator.ambik.files.pairs import (
    COLUMNS,
    OLD_NAMES,
    identify,
    is_numbered,
    is_pairs,
    read_pairs_file,
    steps,
    write_pairs_file,
)
from simulator.ambik.intents import parse_intent
from simulator.ambik.items import Pair
from simulator.ambik.terms import AMBIGUITIES
from simulator.errors import InputError
from simulator.tables.cells import header_of

Cells = dict[str, str]
NewRow = Callable[..., Cells]
WriteCsv = Callable[..., Path]


def faults(path: Path) -> list[tuple[int, str, str]]:
    return [(fault.line, fault.task, fault.message) for fault in read_pairs_file(path).faults]


def test_a_row_is_read_cell_by_cell(row: NewRow, write: WriteCsv) -> None:
    (pair,) = read_pairs_file(write("a.csv", row(take_amb="1.0", end_of_ambiguity="1.0", id="7.0"))).rows
    assert pair == Pair(
        id="7",
        objects=("red mug", "blue mug", "cocoa", "oat milk"),
        scene="a red mug, a blue mug, cocoa, oat milk",
        clear="Warm the oat milk and pour it into the red mug.",
        indirect="Warm the oat milk and pour it into the mug that is not blue.",
        ambiguous="Warm the oat milk and pour it into a mug.",
        type="preferences",
        shortlist=("red mug", "blue mug"),
        question="Which mug?",
        answer="The red one.",
        clear_plan=("Warm the oat milk.", "Pour it into the red mug."),
        ambiguous_plan=("Warm the oat milk.", "Pour it into a mug."),
        step=1,
        intent=parse_intent("red mug"),
        variants=(parse_intent("red mug"), parse_intent("blue mug")),
        take_ambiguous=True,
    )


def test_empty_cells_are_missing(row: NewRow, write: WriteCsv) -> None:
    empty = ("question", "answer", "amb_shortlist", "end_of_ambiguity", "user_intent", "variants", "take_amb")
    (pair,) = read_pairs_file(write("a.csv", row(**dict.fromkeys(empty, " ")))).rows
    assert (pair.question, pair.shortlist, pair.step, pair.intent) == ("", (), None, None)
    assert (pair.variants, pair.take_ambiguous) == ((), None)


@pytest.mark.parametrize("cell", [" red mug, blue mug", "red mug,blue mug", "red mug, blue mug,", "a, b, a"])
def test_a_shortlist_is_kept_as_it_is_written(
    row: NewRow, write: WriteCsv, tmp_path: Path, cell: str
) -> None:
    (pair,) = read_pairs_file(write("a.csv", row(amb_shortlist=cell))).rows
    assert (pair.shortlist_cell, pair.shortlist_text) == (cell, cell)
    (again,) = read_pairs_file(write_pairs_file(tmp_path / "b.csv", [pair])).rows
    assert again == pair and again.shortlist_cell == cell
    (plain,) = read_pairs_file(write("c.csv", row())).rows
    assert plain.shortlist_cell is None and plain.shortlist_text == "red mug, blue mug"


@pytest.mark.parametrize("word", ["nan", "NaN", "<NA>", "#N/A", "NULL", "None"])
def test_a_word_for_an_empty_cell_is_an_empty_cell(row: NewRow, write: WriteCsv, word: str) -> None:
    empty = ("question", "amb_shortlist", "end_of_ambiguity", "user_intent", "variants", "take_amb")
    worded = write("a.csv", row(**dict.fromkeys(empty, word)))
    blank = write("b.csv", row(**dict.fromkeys(empty, "")))
    assert read_pairs_file(worded).rows == read_pairs_file(blank).rows
    assert faults(write("c.csv", row(ambiguous_task=word))) == [(2, "7", "ambiguous_task is empty")]
    # It is a word of a longer cell too, where it is one like any other.
    (pair,) = read_pairs_file(write("d.csv", row(amb_shortlist="nan, naan"))).rows
    assert pair.shortlist == ("nan", "naan")


@pytest.mark.parametrize(
    "written", ["Common_Sense_Knowledge", "common sense knowledge", "COMMON-SENSE KNOWLEDGE"]
)
def test_a_type_may_be_spelled_otherwise(row: NewRow, write: WriteCsv, written: str) -> None:
    (pair,) = read_pairs_file(write("a.csv", row(ambiguity_type=written))).rows
    assert pair.type == "common_sense_knowledge"
    assert faults(write("b.csv", row(ambiguity_type="Taste"))) == [
        (2, "7", 'ambiguity_type is "Taste", not one of preferences, common_sense_knowledge, safety')
    ]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("head", [b"", b"\xef\xbb\xbf"])
def test_line_ends_byte_order_marks_and_blanks_do_not_matter(
    row: NewRow, write: WriteCsv, end: str, head: bytes
) -> None:
    messy = row(
        question=" Which\u00a0mug? \n",
        plan_for_clear_task="1. Warm the oat milk.\r\n2.\u00a0Pour it into the red mug.\r\n",
        amb_shortlist="red mug,blue mug, ,",
        environment_short=" red mug ,blue mug, cocoa,oat milk,cocoa",
        answer="180° sauté \u202f",
    )
    (pair,) = read_pairs_file(write("a.csv", messy, end=end, head=head)).rows
    assert pair.question == "Which mug?"
    assert pair.clear_plan == ("Warm the oat milk.", "Pour it into the red mug.")
    assert pair.shortlist == ("red mug", "blue mug")
    assert pair.objects == ("red mug", "blue mug", "cocoa", "oat milk")
    assert pair.answer == "180° sauté"


def test_columns_go_by_name_also_by_their_old_ones(row: NewRow, write: WriteCsv) -> None:
    names = {"unambiguous_direct": "singelablel_clear", "unambiguous_indirect": "singelablel_unclear"}
    for index in ("start_of_ambiguity", "end_of_unambiguity"):
        names["end_of_ambiguity"] = index
        file = read_pairs_file(write("a.csv", row(), columns=COLUMNS[::-1], names=names))
        assert file.rows == read_pairs_file(write("b.csv", row())).rows
        assert file.table.renamed == {new: old for new, old in names.items()}
    assert set(names.values()) | {"start_of_ambiguity"} == set(OLD_NAMES)


@pytest.mark.parametrize("spell", [str.upper, lambda name: name.replace("_", " ").title()])
def test_columns_may_be_spelled_otherwise(row: NewRow, write: WriteCsv, spell: Callable[[str], str]) -> None:
    path = write("a.csv", row(), names={name: spell(name) for name in COLUMNS})
    assert is_pairs(header_of(path))
    file = read_pairs_file(path)
    assert file.rows == read_pairs_file(write("b.csv", row())).rows
    messages = [warning.message for warning in load_report(file).warnings if warning.code == "column_form"]
    assert len(messages) == len(COLUMNS)
    assert messages[1] == f"{spell('environment_short')}: this column is read as environment_short"
    # Old names tell the version; capitals do not.
    assert identify(file).version == "other"


def test_a_column_in_other_letters_yields_to_the_one_of_that_name(row: NewRow, write: WriteCsv) -> None:
    columns = (*COLUMNS, "number")
    file = read_pairs_file(write("a.csv", {**row(), "number": "3"}, columns=columns, names={"number": "ID"}))
    assert [pair.id for pair in file.rows] == ["7"] and "ID" in file.table.columns
    with pytest.raises(InputError, match="the column 'Id' and 'ID', which are the same"):
        read_pairs_file(
            write("b.csv", {**row(), "number": "3"}, columns=columns, names={"number": "ID", "id": "Id"})
        )


def test_columns_without_a_name_are_passed_over(row: NewRow, write: WriteCsv) -> None:
    columns = ("number", "Unnamed: 0", *COLUMNS, "note")
    path = write("a.csv", {**row(), "number": "3", "note": "x"}, columns=columns, names={"number": ""})
    file = read_pairs_file(path)
    assert len(file.rows) == 1 and file.table.columns == (*COLUMNS, "note")


def test_without_ids_a_pair_is_named_by_its_row(row: NewRow, write: WriteCsv) -> None:
    columns = tuple(name for name in COLUMNS if name != "id")
    path = write("a.csv", row(), row(ambiguity_type="taste"), row(), columns=columns)
    file = read_pairs_file(path)
    assert not file.has_ids
    assert [pair.id for pair in file.rows] == ["row-1", "row-3"]
    assert [fault.task for fault in file.faults] == ["row-2"]


def test_bad_rows_are_faults_with_their_first_line_and_the_others_are_kept(
    row: NewRow, write: WriteCsv
) -> None:
    path = write(
        "a.csv",
        row(),  # lines 2 to 5, and so on
        row(id="8", ambiguity_type="taste"),
        row(id="9", environment_short=" "),
        row(id="10", end_of_ambiguity="1.5"),
        row(id="11", end_of_ambiguity="-1"),
        row(id="12", take_amb="2"),
        row(id=""),
        row(),
        row(id="13", plan_for_clear_task="Warm.", plan_for_amb_task="Warm.", variants=""),
    )
    assert [(pair.id) for pair in read_pairs_file(path).rows] == ["7", "13"]
    types = ", ".join(AMBIGUITIES)
    assert faults(path) == [
        (6, "8", f'ambiguity_type is "taste", not one of {types}'),
        (10, "9", "environment_short is empty"),
        (14, "10", "end_of_ambiguity is '1.5', not a whole number"),
        (18, "11", "end_of_ambiguity is -1; the first line of a plan is 0"),
        (22, "12", "take_amb is 2, neither 0 nor 1"),
        (26, "", "id is empty"),
        (30, "7", "id: the row in line 2 has the same"),
    ]
    assert read_pairs_file(path).table.spans == {line: line + 3 for line in range(2, 34, 4)} | {34: 34}


def test_broken_csv_is_a_fault_and_what_comes_after_is_read(row: NewRow, write: WriteCsv) -> None:
    path = write("a.csv", row(id="1"), row(id="2"), row(id="3"))
    text = path.read_text(encoding="utf-8")
    quoted = text.replace('2,"red mug, blue mug, cocoa', '2,"red mug", blue mug" x, cocoa', 1)
    path.write_text(quoted, encoding="utf-8")
    assert [pair.id for pair in read_pairs_file(path).rows] == ["1", "3"]
    assert (6, "") in [(line, id) for line, id, _ in faults(path)]
    # A quote that is never closed takes everything behind it.
    path.write_text(text.replace('3,"red', '3,""red"", "', 1) + '"', encoding="utf-8")
    assert [pair.id for pair in read_pairs_file(path).rows] == ["1", "2"]
    assert faults(path)[0][0] == 10


def test_bytes_that_are_no_utf8_are_a_fault_of_their_row(row: NewRow, write: WriteCsv) -> None:
    path = write("a.csv", row(id="1", answer="caf\u00e9"), row(id="2"))
    path.write_bytes(path.read_bytes().replace("\u00e9".encode(), b"\xe9"))
    assert [pair.id for pair in read_pairs_file(path).rows] == ["2"]
    assert faults(path) == [(2, "", "answer is not UTF-8; save the file as CSV UTF-8")]


def test_files_that_cannot_be_read_at_all_say_why(row: NewRow, write: WriteCsv, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.csv: cannot be read"):
        read_pairs_file(tmp_path / "none.csv")
    without = tuple(name for name in COLUMNS if name != "environment_full")
    with pytest.raises(
        InputError, match=r"no column environment_full; the columns are id, environment_short"
    ):
        read_pairs_file(write("a.csv", row(), columns=without))
    twice = write("b.csv", row(), names={"answer": "question"})
    with pytest.raises(InputError, match="the header has the column 'question' twice; leave one of them out"):
        read_pairs_file(twice)
    both = write("c.csv", row(), names={"answer": "start_of_ambiguity"})
    with pytest.raises(InputError, match="'start_of_ambiguity' and 'end_of_ambiguity', which are the same"):
        read_pairs_file(both)
    assert faults(write("d.csv")) == [(0, "", "holds no rows")]
    empty = tmp_path / "e.csv"
    empty.write_text("", encoding="utf-8")
    with pytest.raises(InputError, match="the columns are none"):
        read_pairs_file(empty)


@pytest.mark.each(
    ("plan", "lines"),
    [
        ("1. Wash it.\n2. Peel it.", ("Wash it.", "Peel it.")),
        ("Wash it.\nPeel it.", ("Wash it.", "Peel it.")),
        ("1.Wash it.\n\n 12.  Peel it. \n", ("Wash it.", "Peel it.")),
        ("1) Wash it.\n2) 2 eggs", ("Wash it.", "2 eggs")),
        ("2.5 cups of flour\n3 eggs", ("2.5 cups of flour", "3 eggs")),
        ("1. Heat.\nThat was all!", ("Heat.", "That was all!")),
        ("", ()),
    ],
)
def test_numbers_of_steps_are_taken_off(plan: str, lines: tuple[str, ...]) -> None:
    assert steps(plan) == lines


def test_a_number_is_followed_by_a_blank_or_a_letter() -> None:
    assert all(map(is_numbered, ("1. Wash", "12.Wash", "3) wash", " 4 . wash")))
    assert not any(map(is_numbered, ("2.5 cups", "Wash", "1.", "1 Wash", "2024 bottles", "")))


words = st.text("abcXY é'\"°-", min_size=1, max_size=12).map(str.strip).filter(bool)
lists = st.lists(words, max_size=3, unique=True).map(tuple)
texts = st.lists(words, min_size=1, max_size=3).map("\n".join) | st.lists(words, min_size=1, max_size=3).map(
    ", ".join
)
plans = st.lists(words, max_size=3).map(tuple)
ours = st.builds(
    Pair,
    id=st.integers(0, 999).map(str),
    objects=lists.filter(bool),
    scene=texts,
    clear=texts,
    indirect=st.just("") | texts,
    ambiguous=texts,
    type=st.sampled_from(AMBIGUITIES),
    shortlist=lists,
    question=st.just("") | texts,
    answer=st.just("") | texts,
    clear_plan=plans,
    ambiguous_plan=plans,
    step=st.none() | st.integers(0, 9),
    intent=st.none() | texts.map(parse_intent),
    variants=st.lists(words.map(parse_intent), max_size=3).map(tuple),
    take_ambiguous=st.none() | st.booleans(),
    options=st.just(()),
)


@given(st.lists(ours, min_size=1, max_size=4, unique_by=lambda pair: pair.id))
@settings(max_examples=60)
def test_pairs_that_are_written_are_read_again(
    tmp_path_factory: pytest.TempPathFactory, pairs: list[Pair]
) -> None:
    path = tmp_path_factory.mktemp("pairs") / "a.csv"
    write_pairs_file(path, pairs)
    file = read_pairs_file(path)
    assert file.faults == () and list(file.rows) == pairs


def test_the_published_files_are_read_completely(published: Path) -> None:
    calibration = read_pairs_file(published / "ambik_calib_100.csv")
    test = read_pairs_file(published / "ambik_test_400.csv")
    assert (len(calibration.rows), len(test.rows)) == (100, 400)
    assert calibration.faults == test.faults == ()
    assert not {pair.id for pair in calibration.rows} & {pair.id for pair in test.rows}
    assert all(pair.take_ambiguous is not None for pair in calibration.rows)
    assert all(
        len(pair.clear_plan) > 1 or "\n" not in record.text("plan_for_clear_task")
        for pair, record in zip(test.rows, test.records, strict=True)
    )
    # By hand: the first row of the calibration file, and where the second one begins.
    assert calibration.rows[0].step == 1 and len(calibration.rows[0].clear_plan) == 3
    assert [record.line for record in calibration.records[:2]] == [2, 7]
