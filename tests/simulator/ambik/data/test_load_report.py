"""Oddities of rows are reported with their place, not repaired; versions; several files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from simulator.ambik.data import load_pairs, read_pairs
from simulator.ambik.files.load_report import LoadReport, load_report, merge
from simulator.ambik.files.pairs import COLUMNS, identify, read_pairs_file
from simulator.ambik.items import parting
from simulator.ambik.terms import table
from simulator.errors import InputError

Cells = dict[str, str]
NewRow = Callable[..., Cells]
WriteCsv = Callable[..., Path]


def warnings_of(path: Path) -> list[tuple[str, str]]:
    return [(warning.code, warning.message) for warning in load_report(read_pairs_file(path)).warnings]


@pytest.fixture
def odd(row: NewRow, write: WriteCsv) -> Callable[..., list[tuple[str, str]]]:
    """Return the oddities reported for one row with some cells changed."""
    return lambda **changed: warnings_of(write("a.csv", row(**changed)))


Odd = Callable[..., list[tuple[str, str]]]


def ids(report: LoadReport, code: str) -> tuple[str, ...]:
    """The pairs with an oddity, each once."""
    return tuple(dict.fromkeys(oddity.task for oddity in report.oddities if oddity.code == code))


def test_a_good_row_is_not_odd(odd: Odd) -> None:
    assert odd() == []
    assert odd(take_amb="1") == []
    assert odd(ambiguity_type="safety", amb_shortlist="") == []


@pytest.mark.parametrize(
    ("changed", "code", "message"),
    [
        ({"question": ""}, "empty", "question: is empty"),
        ({"user_intent": " "}, "empty", "user_intent: is empty"),
        ({"unambiguous_indirect": ""}, "indirect_missing", "unambiguous_indirect: is empty"),
        ({"answer": "The\u00a0red\u00a0one."}, "no_break", "answer: 2 no-break spaces, read as blanks"),
        (
            {"answer": "The r\u0435d \u0430nd r\u0435d one."},
            "look_alike",
            "answer: Cyrillic letters that look Latin (U+0435 for e, U+0430 for a); they match nothing",
        ),
        (
            {"answer": "NaN", "variants": "None"},
            "word_for_empty",
            "answer, variants: a word that means empty is read as an empty cell",
        ),
        (
            {"ambiguity_type": "Preferences"},
            "type_form",
            "ambiguity_type: 'Preferences' is read as preferences",
        ),
        (
            {"user_intent": "red mug\uff0c\uff0dblue mug"},
            "full_width",
            "user_intent: \uff0c \uff0d do not separate or negate anything; only , | - do",
        ),
        (
            {"amb_shortlist": "red mug\u3001blue mug"},
            "full_width",
            "amb_shortlist: \u3001 do not separate or negate anything; only , | - do",
        ),
        (
            {"environment_short": "red mug, cocoa, blue mug, cocoa"},
            "repeated",
            "environment_short: cocoa twice",
        ),
        ({"amb_shortlist": ""}, "shortlist_missing", "amb_shortlist: is empty in a row of preferences"),
        ({"ambiguity_type": "safety"}, "shortlist_type", "amb_shortlist: is filled in a row of safety"),
        ({"amb_shortlist": "red mug"}, "shortlist_single", "amb_shortlist: contains only red mug"),
        (
            {"amb_shortlist": "red mug, blue mug,"},
            "shortlist_comma",
            "amb_shortlist: has a comma with nothing before or after it",
        ),
        (
            {"amb_shortlist": "Red Mug, green mug, oven"},
            "shortlist_scene",
            "amb_shortlist: green mug: not in the scene",
        ),
        (
            {"user_intent": "1. Pour.\n2. Stir."},
            "intent_malformed",
            "user_intent: is a text or has no keywords; not measured",
        ),
        (
            {"user_intent": "red mug, --blue"},
            "intent_form",
            "user_intent: '--blue': several leading hyphens are read as one",
        ),
        ({"user_intent": "red mug,pour"}, "intent_form", "user_intent: no blank after a comma"),
        (
            {"user_intent": "Mug|cup|mug"},
            "intent_form",
            "user_intent: mug: the same alternative in two letter cases",
        ),
        (
            {"variants": "red mug\n" + "x" * 201},
            "variants_malformed",
            "variants: 1 of 2 lines are texts",
        ),
        (
            {"variants": "", "take_amb": "0"},
            "variants_missing",
            "variants: is empty in a calibration row",
        ),
        ({"end_of_ambiguity": ""}, "step_missing", "end_of_ambiguity: is empty"),
        ({"end_of_ambiguity": "0"}, "step_equal", "end_of_ambiguity: line 0 of both plans is the same"),
        (
            {"end_of_ambiguity": "0"},
            "parts_after",
            "end_of_ambiguity: is 0, but the plans first differ at line 1",
        ),
        (
            {"plan_for_amb_task": "1. Warm it.\n2. Pour it into a mug."},
            "parts_before",
            "end_of_ambiguity: is 1, but the plans first differ at line 0",
        ),
        (
            {"end_of_ambiguity": "2"},
            "step_outside",
            "end_of_ambiguity: is 2, but plan_for_amb_task has 2 lines, counted from 0",
        ),
        (
            {"plan_for_amb_task": "1. Warm the oat milk.\n2. Pour it into the red mug."},
            "plans_equal",
            "plan_for_amb_task: is the same as plan_for_clear_task",
        ),
        (
            {"plan_for_clear_task": "1. Warm the oat milk.\n2. Pour it into the red mug.\n\nEnjoy!"},
            "plan_notes",
            "plan_for_clear_task: 1 of 3 lines have no number",
        ),
        (
            {"plan_for_clear_task": "1. Warm the oat milk.\n2. Pour it.3. Serve it."},
            "plan_one_line",
            "plan_for_clear_task: a line contains several numbered steps, which count as one",
        ),
    ],
)
def test_every_oddity_is_reported(odd: Odd, changed: Cells, code: str, message: str) -> None:
    assert (code, message) in odd(**changed)
    assert code in table("oddities")["titles"]


@pytest.mark.parametrize(
    ("letters", "latin"),
    [
        ("\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u043a", "aeopcyxk"),
        ("\u0410\u0412\u0415\u041a\u041c\u041d\u041e\u0420\u0421\u0422\u0423\u0425", "ABEKMHOPCTYX"),
        ("\u0432\u043c\u043d\u0442", "BMHT"),
        ("\u0455\u0456\u0458\u04bb\u0501\u051b\u051d\u0475\u04cf\u0433", "sijhdqwvlr"),
        ("\u0405\u0406\u0408\u04ae\u04c0\u050c\u051a\u051c\u0474", "SIJYIGQWV"),
    ],
)
def test_each_cyrillic_letter_that_looks_latin_is_reported(odd: Odd, letters: str, latin: str) -> None:
    ((code, message),) = odd(answer=f"mug {letters}")
    letters_named = ", ".join(
        f"U+{ord(letter):04X} for {other}" for letter, other in zip(letters, latin, strict=True)
    )
    assert code == "look_alike" and f"({letters_named})" in message


def test_a_missing_plan_is_reported_once(odd: Odd) -> None:
    assert odd(plan_for_clear_task="", plan_for_amb_task="") == [
        ("empty", "plan_for_clear_task: is empty"),
        ("empty", "plan_for_amb_task: is empty"),
    ]


def test_a_number_in_a_sentence_is_no_step(odd: Odd) -> None:
    plan = "1. Heat it to 355. Then wait 2.5 minutes.\n2. Pour it into {} mug."
    assert odd(plan_for_clear_task=plan.format("the red"), plan_for_amb_task=plan.format("a")) == []


def test_warnings_have_file_line_and_id_and_the_report_counts_them(row: NewRow, write: WriteCsv) -> None:
    path = write("a.csv", row(), row(id="8", amb_shortlist=""), row(id="9", amb_shortlist=""))
    report = load_report(read_pairs_file(path))
    assert [(warning.file, warning.line, warning.task, warning.severity) for warning in report.warnings] == [
        (str(path), 6, "8", "warning"),
        (str(path), 10, "9", "warning"),
    ]
    assert report.counts == {"shortlist_missing": 2}
    assert ids(report, "shortlist_missing") == ("8", "9") and ids(report, "empty") == ()
    breaks = {id: (cell["clear_plan"], cell["ambiguous_plan"]) for id, cell in report.cells.items()}
    assert breaks == dict.fromkeys("789", (1, 1))
    assert report.lines()[1:] == ("preferences without a shortlist: 2",)


def test_a_row_without_take_amb_is_reported_where_others_have_it(row: NewRow, write: WriteCsv) -> None:
    path = write("calib.csv", row(id="1", take_amb="1"), row(id="2"), row(id="3", take_amb="0"), row(id="4"))
    report = load_report(read_pairs_file(path))
    (warning,) = report.warnings
    assert (warning.code, warning.task, warning.line) == ("take_missing", "2", 6)
    assert warning.message.startswith("take_amb: is empty where other rows have it; read as a test; 2 rows")
    assert report.counts == {"take_missing": 2} and ids(report, "take_missing") == ("2", "4")
    for rows in ([row(id="1"), row(id="2")], [row(id="1", take_amb="1"), row(id="2", take_amb="0")]):
        assert warnings_of(write("b.csv", *rows)) == []
    assert "take_missing" not in read_pairs().report.counts


def test_a_pair_that_several_files_hold_is_counted_once(row: NewRow, write: WriteCsv) -> None:
    same = "Warm the oat milk.\nPour it into the red mug."
    new = {"plan_for_clear_task": same, "plan_for_amb_task": same, "variants": "", "amb_shortlist": ""}
    rows = [
        row(id="1", amb_shortlist="red mug, green mug", question="A\u00a0mug?", answer="The\u00a0red"),
        row(id="2", **new, unambiguous_indirect=""),
        row(id="3", **new),
        row(id="4", **new, unambiguous_indirect=""),
        row(id="5", user_intent="--red, --blue"),
    ]
    rows = [{**row, "ambiguous_task": f"Fill mug {row['id']}."} for row in rows]
    calibration = [{**rows[0], "take_amb": "1"}, {**rows[4], "take_amb": "0"}]
    columns = tuple(name for name in COLUMNS if name != "id")
    paths = (
        write("AmbiK_data.csv", *rows),
        write("ambik_test.csv", *rows[1:4], columns=columns),
        write("calib.csv", *calibration),
    )
    alone = load_report(read_pairs_file(paths[0])).counts
    assert alone == {
        "indirect_missing": 2,
        "no_break": 2,
        "shortlist_missing": 3,
        "shortlist_scene": 1,
        "intent_form": 1,
        "step_equal": 3,
        "plans_equal": 3,
        "plan_clear": 3,
        "new_pairs": 3,
    }
    loaded = merge([read_pairs_file(path) for path in paths])
    assert loaded.faults == ()
    assert loaded.report.counts == {"no_ids": 1, **alone}
    # Places are told in each of the files.
    told_in = [
        Path(warning.file).name for warning in loaded.report.warnings if warning.code == "shortlist_scene"
    ]
    assert told_in == ["AmbiK_data.csv", "calib.csv"]


def test_missing_columns_are_reported_once(row: NewRow, write: WriteCsv) -> None:
    columns = tuple(name for name in COLUMNS if name not in ("id", "question", "user_intent", "take_amb"))
    path = write("a.csv", row(), row(), columns=columns)
    assert [warning for warning in warnings_of(path) if warning[0] != "intent"] == [
        ("no_ids", "id: missing column; pairs are named by their rows (row-1, row-2, …)"),
        ("no_column", "no column question, user_intent"),
    ]


def test_pairs_of_the_kind_added_in_2025_are_reported_together(row: NewRow, write: WriteCsv) -> None:
    same = "Warm the oat milk.\nPour it into the red mug."
    new = {"plan_for_clear_task": same, "plan_for_amb_task": same, "variants": "", "amb_shortlist": ""}
    path = write("a.csv", row(), row(id="8", **new), row(id="9", **new, unambiguous_indirect=""))
    assert [(code, message.rpartition("; ")[2]) for code, message in warnings_of(path)] == [
        *(
            (code, "2 rows, of which this is the first")
            for code in ("new_pairs", "plan_clear", "step_equal", "plans_equal", "shortlist_missing")
        ),
        ("indirect_missing", "unambiguous_indirect: is empty"),
    ]
    loaded = identify(read_pairs_file(path))
    assert loaded.version == "2025"
    report = read_pairs(path).report
    # What all of them have is told once, and counted for each.
    common = dict.fromkeys(("shortlist_missing", "step_equal", "plans_equal", "plan_clear", "new_pairs"), 2)
    assert report.counts == {"indirect_missing": 1, **common}
    assert ids(report, "new_pairs") == ("8", "9")


def test_equal_plans_are_identified_as_one_of_the_two(row: NewRow, write: WriteCsv) -> None:
    def new(id: str, plan: str) -> Cells:
        plans = {"plan_for_clear_task": plan, "plan_for_amb_task": plan}
        return row(id=id, user_intent="red mug", end_of_ambiguity="1", variants="", **plans)

    clear, ambiguous = (
        "Warm the oat milk.\nPour it into the red mug.",
        "Warm the oat milk.\nPour it into a mug.",
    )
    path = write("a.csv", row(id="1"), new("6", clear), new("7", ambiguous), new("8", ambiguous))
    report = read_pairs(path).report
    assert ids(report, "plan_clear") == ("6",)
    assert ids(report, "plan_ambiguous") == ("7", "8")
    assert "the clear task has an ambiguous step: 2" in " ".join(report.lines())


def test_released_and_added_pairs_are_distinguished(row: NewRow, write: WriteCsv) -> None:
    added = {"variants": "", "unambiguous_indirect": ""}
    path = write("a.csv", row(id="1"), row(id="2", **added), row(id="3"))
    assert [pair.id for pair in load_pairs(path, "added")] == ["2"]
    assert [pair.id for pair in load_pairs(path, "released")] == ["1", "3"]
    with pytest.raises(InputError, match="have no added pairs; those added in 2025 have neither"):
        load_pairs(write("b.csv", row(id="1")), "added")


def test_versions_are_recognized_by_rows_and_columns(row: NewRow, write: WriteCsv) -> None:
    def version(path: Path) -> str:
        return identify(read_pairs_file(path)).version

    def rows(calibration: tuple[int, int, int], test: tuple[int, int, int]) -> list[Cells]:
        kinds = ("preferences", "common_sense_knowledge", "safety")
        made = [
            (kind, taken)
            for taken, counts in (("1", calibration), ("", test))
            for kind, count in zip(kinds, counts, strict=True)
            for _ in range(count)
        ]
        return [
            row(id=str(place), ambiguity_type=kind, take_amb=taken)
            for place, (kind, taken) in enumerate(made)
        ]

    none = (0, 0, 0)
    assert version(write("a.csv", *rows((47, 40, 13), none))) == "paper"
    assert version(write("b.csv", *rows(none, (189, 159, 52)))) == "paper"
    assert version(write("c.csv", *rows((47, 40, 13), (189, 159, 52)))) == "paper"
    assert version(write("d.csv", *rows(none, (236, 199, 65)))) == "paper"
    assert version(write("e.csv", *rows((47, 40, 12), none))) == "other"
    assert version(write("f.csv", *rows(none, (900, 0, 0)))) == "2025"
    assert version(write("g.csv", row(), names={"unambiguous_direct": "singelablel_clear"})) == "june_2024"
    assert version(write("h.csv", row())) == "other"
    assert version(write("i.csv", row(), names={"end_of_ambiguity": "start_of_ambiguity"})) == "other"


def merged(*paths: Path) -> tuple[list[str], list[tuple[str, str, str]], list[str]]:
    loaded = merge([read_pairs_file(path) for path in paths])
    faults = [(Path(fault.file).name, fault.task, fault.message) for fault in loaded.faults]
    return [pair.id for pair in loaded.pairs], faults, list(loaded.report.lines())


def test_two_files_are_one_set_of_pairs(row: NewRow, write: WriteCsv) -> None:
    calibration = write("calib.csv", row(id="1", take_amb="1"), row(id="2", take_amb="0"))
    ids, faults, _ = merged(calibration, write("test.csv", row(id="3")))
    assert (ids, faults) == (["1", "2", "3"], [])


def test_a_pair_for_calibration_may_not_be_among_the_tests(row: NewRow, write: WriteCsv) -> None:
    calibration = write("calib.csv", row(id="1", take_amb="1"), row(id="2", take_amb="0"))
    leaking = write("test.csv", row(id="2"), row(id="3"))
    message = "id: the pair is for calibration in calib.csv and cannot also be a test"
    for paths in ((calibration, leaking), (leaking, calibration)):
        ids, faults, _ = merged(*paths)
        assert sorted(ids) == ["1", "2", "3"]
        assert faults == [("test.csv", "2", message)]


def test_a_file_of_everything_may_hold_the_calibration_rows(row: NewRow, write: WriteCsv) -> None:
    everything = write("all.csv", row(id="1"), row(id="2"), row(id="3"))
    calibration = write("calib.csv", row(id="1", take_amb="1"), row(id="2", take_amb="0"))
    loaded = merge([read_pairs_file(everything), read_pairs_file(calibration)])
    assert loaded.faults == () and loaded.report.repeated == 2
    assert [pair.take_ambiguous for pair in loaded.pairs] == [True, False, None]


def test_one_id_is_one_pair(row: NewRow, write: WriteCsv) -> None:
    first = write("a.csv", row(id="1"))
    ids, faults, _ = merged(first, write("b.csv", row(id="1", ambiguous_task="Something else.")))
    assert ids == ["1"]
    assert faults == [("b.csv", "1", "id: another pair has it in a.csv:2")]


def test_files_without_ids_take_those_that_another_file_gives_the_same_tasks(
    row: NewRow, write: WriteCsv
) -> None:
    columns = tuple(name for name in COLUMNS if name != "id")
    known = write("a.csv", row(id="41"))
    bare = write("b.csv", row(), row(ambiguous_task="Fill a mug."), columns=columns)
    ids, faults, lines = merged(known, bare)
    assert (ids, faults) == (["41", "row-2"], [])
    assert "1 pairs without an id get it from the same pair in another file" in lines
    other = write("c.csv", row(), row(ambiguous_task="Take a mug."), columns=columns)
    assert merged(bare, other)[:2] == (["b-row-1", "b-row-2", "c-row-1", "c-row-2"], [])


def test_versions_must_not_be_mixed(row: NewRow, write: WriteCsv, tmp_path: Path) -> None:
    old = {"unambiguous_direct": "singelablel_clear"}
    write("old.csv", row(id="1"), names=old)
    write("own.csv", row(id="2"))
    assert "version" not in read_pairs(tmp_path / "data").report.counts
    rows = [row(id=str(1000 + place)) for place in range(900)]
    write("new.csv", *rows)
    report = read_pairs(tmp_path / "data").report
    assert report.counts["version"] == 1
    (warning,) = (warning for warning in report.warnings if warning.code == "version")
    assert Path(warning.file).name == "old.csv" and "must not be mixed" in warning.message


def test_the_calibration_rows_of_2025_are_those_of_the_paper(
    row: NewRow, write: WriteCsv, tmp_path: Path
) -> None:
    kinds = ["preferences"] * 47 + ["common_sense_knowledge"] * 40 + ["safety"] * 13
    rows = [row(id=str(place), ambiguity_type=kind, take_amb="1") for place, kind in enumerate(kinds)]
    write("calib.csv", *rows)
    write("test.csv", *(row(id=str(1000 + place)) for place in range(900)))
    report = read_pairs(tmp_path / "data").report
    assert [file.version for file in report.files] == ["paper", "2025"]
    assert "version" not in report.counts


def test_the_first_difference_of_two_plans() -> None:
    assert parting(("a", "b"), ("a", "c")) == 1
    assert parting(("a",), ("a", "c")) is None
    assert parting((), ("a",)) is None


def test_the_oddities_of_the_published_data(published: Path) -> None:
    loaded = read_pairs(published)
    report = loaded.report
    assert (len(loaded.pairs), loaded.faults) == (500, ())
    assert [file.version for file in report.files] == ["paper", "paper"]
    assert ids(report, "intent_malformed") == ("427",)
    assert len(ids(report, "shortlist_single")) == 2 and len(ids(report, "shortlist_comma")) == 1
    # Counted once more by another program, straight from the cells.
    assert report.counts == {
        "no_break": 3,
        "repeated": 17,
        "shortlist_missing": 38,
        "shortlist_type": 16,
        "shortlist_single": 2,
        "shortlist_comma": 1,
        "shortlist_scene": 23,
        "intent_malformed": 1,
        "intent_form": 1,
        "step_equal": 21,
        "plans_equal": 11,
        "parts_before": 14,
        "parts_after": 8,
        "plan_notes": 6,
        "plan_one_line": 1,
    }
