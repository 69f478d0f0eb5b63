"""The table over records of asking: measures, intervals, rows, notes and the figure."""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from types import SimpleNamespace

import pytest
from statsmodels.stats.proportion import confint_proportions_2indep

from simulator.asking import Asked, Asking
from simulator.commands.asking import asking_figure, notes, printed_table, rows
from simulator.tables.importing import PUBLISHED

_NUMBER = count()


def _asking(need, questions, *, right=None, before=None, useful=None, robot="r", kind="k", item=None, **more):
    record = Asked(
        kind=kind,
        need={True: "person", False: "nothing"}.get(need, need),
        questions=questions,
        useful=useful,
        right_before=before,
        right=right,
        **more,
    )
    return Asking(
        benchmark="ambik",
        run="x",
        episode_id="e",
        item=item or f"i{next(_NUMBER)}",
        cluster=item or f"i{next(_NUMBER)}",
        robot=robot,
        user="u",
        seat=robot,
        record=record,
    )


def test_files_that_name_nobody_are_rows_of_their_own_where_there_are_several():
    first, second = (replace(_asking(True, 1, robot=PUBLISHED), run=run) for run in ("a", "b"))
    assert [row.robot for row in rows([first, first])] == [PUBLISHED]
    assert [(row.robot, row.episodes) for row in rows([first, second, _asking(True, 1)])] == [
        (f"{PUBLISHED} (a)", 1),
        (f"{PUBLISHED} (b)", 1),
        ("r", 1),
    ]


def test_items_that_hang_together_are_one_draw_and_counted_each():
    apart = [_asking(True, number % 2, right=bool(number % 2)) for number in range(8)]
    together = [replace(each, cluster=f"pair-{place % 2}") for place, each in enumerate(apart)]
    (wide,), (narrow,) = rows(together), rows(apart)
    assert wide.when_needed.value == narrow.when_needed.value == 0.5
    assert wide.when_needed.n == narrow.when_needed.n == 8
    assert (wide.when_needed.low, wide.when_needed.high) == (0, 1)
    assert narrow.when_needed.low > 0 and narrow.when_needed.high < 1


def test_measures_say_how_often_and_of_how_many():
    askings = [
        _asking(True, 1, right=True, before=False, useful=1),
        _asking(True, 3, right=True, before=True, useful=0),
        _asking(True, 0, right=False, before=False),
        _asking(False, 0, right=True, before=True),
        _asking(False, 2, right=None, before=True, useful=1),
        _asking(None, 1, open=True),
        _asking(True, 0, right=False, may_ask=False),
    ]
    (row,) = rows(askings)
    assert (row.when_needed.value, row.when_needed.n) == (pytest.approx(2 / 3), 3)
    assert (row.when_not.value, row.when_not.n) == (0.5, 2)
    assert (row.decided.value, row.decided.n) == (0.6, 5)
    assert (row.questions.value, row.questions.n) == (pytest.approx(7 / 6), 6)
    assert (row.useful.value, row.useful.n) == (pytest.approx(2 / 6), 6)
    assert (row.right_asking.value, row.right_asking.n) == (1.0, 2)
    assert (row.right_silent.value, row.right_silent.n) == (pytest.approx(1 / 3), 3)
    assert (row.before.value, row.after.value, row.gain.value) == (0.5, 0.75, 0.25)
    assert (row.episodes, row.open) == (7, 1)


def test_asking_is_told_corrected_for_chance_with_the_n_of_each_cell():
    askings = [
        *(_asking("person", int(place < 3)) for place in range(4)),
        *(_asking("inferred", int(place < 1)) for place in range(5)),
        *(_asking("nothing", 0) for _ in range(5)),
        _asking(None, 1),
    ]
    (row,) = rows(askings)
    cells = [row.when_needed, row.when_inferred, row.when_nothing, row.when_not]
    assert [(cell.value, cell.n) for cell in cells] == [(0.75, 4), (0.2, 5), (0, 5), (0.1, 10)]
    assert (row.youden.value, row.youden.n) == (pytest.approx(0.65), 14)
    assert row.youden.low < 0.65 < row.youden.high
    for always in (0, 1):
        (row,) = rows([*(_asking("person", always) for _ in range(9)), _asking("inferred", always)])
        # Of one case in which it was not needed, nearly nothing is known; of nine in which it was, something.
        ends = pytest.approx((-0.299, 0.793) if always else (-0.793, 0.299), abs=0.001)
        assert row.youden.value == 0 and row.youden[1:3] == ends
    (row,) = rows([_asking("person", 1)])
    assert row.youden is None


def test_a_share_that_does_not_vary_tells_as_much_as_it_has_seen():
    """Its n counts in the interval of J, whether the other share varies or not."""
    for asked_of_62 in (62, 40):
        needed = [_asking("person", int(place < asked_of_62)) for place in range(62)]
        (few,), (many,) = (rows([*needed, *(_asking("nothing", 0) for _ in range(n))]) for n in (1, 20))
        for row, n in ((few, 1), (many, 20)):
            ends = confint_proportions_2indep(asked_of_62, 62, 0, n, compare="diff", method="newcomb")
            assert row.youden[1:3] == pytest.approx(ends)
            assert row.youden.n == 62 + n
        assert few.youden.low < many.youden.low - 0.1


def test_repeats_of_an_item_are_one_cluster():
    askings = [_asking("person", int(place < 10), right=True, item=f"i{place % 2}") for place in range(20)]
    (row,) = rows(askings)
    assert (row.episodes, row.when_needed.n, row.right.n, row.questions.n) == (20, 2, 2, 2)


def test_a_price_is_told_per_question():
    (row,) = rows([_asking("person", 2, price=30.0), _asking("nothing", 1, price=10.0), _asking("person", 0)])
    assert (row.price.value, row.price.n) == (pytest.approx(40 / 3), 3)


def test_the_printed_table_fits_a_page_and_the_figure_names_each_of_six_robots_once():
    askings = [
        _asking(need, 1, robot=f"transformers/organisation/model-{number}-instruct", right=True, useful=1)
        for number in range(6)
        for need in ("person", "inferred", "nothing")
    ]
    table = printed_table(rows(askings))
    assert max(map(len, table.to_latex().splitlines())) < 150
    figure = asking_figure(rows(askings))
    (panel,) = figure.panels
    assert len(panel.marks) == 6
    assert all(max(map(len, mark.categories)) <= 8 for mark in panel.marks)


def test_rows_are_told_by_robot_and_kind_people_first():
    askings = [
        _asking(True, 1, robot="model", kind="b"),
        _asking(True, 1, robot="person", kind="a"),
        _asking(True, 1, robot="model", kind="a"),
    ]
    assert [row.robot for row in rows(askings)] == ["person", "model"]
    kinds = [(row.robot, row.kind) for row in rows(askings, by_kind=True)]
    assert kinds == [("person", "a"), ("model", "a"), ("model", "b")]
    assert {row.user for row in rows(askings, by_user=True)} == {"u"}


def test_without_episodes_there_is_nothing_to_draw():
    assert rows([]) == ()
    assert asking_figure(()) is None
    assert asking_figure(rows([_asking(None, 1)])) is None


def test_notes_are_those_of_the_benchmarks_in_the_table():
    rows = [SimpleNamespace(benchmark=name) for name in ("handmethat", "clarq", "ambik")]
    need, useful, right = (notes(rows)[place] for place in (1, 3, 4))
    assert need.startswith(
        "ClarQ-LLM: person until every node has been given, then nothing. HandMeThat: nothing"
    )
    assert "given (ClarQ-LLM: a node; HandMeThat: fewer things fit; AmbiK: part of the intent)." in useful
    assert useful.endswith("Price: points of HandMeThat's score per question.")
    assert right.startswith(
        "Right: ClarQ-LLM, success; HandMeThat, the human has what was meant; AmbiK, the "
    )
    assert "HandMeThat" not in " ".join(notes(rows[1:2])) and "Price" not in notes(rows[1:2])[3]
