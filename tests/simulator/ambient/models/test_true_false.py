from __future__ import annotations

import math
from collections.abc import Sequence

import pytest

from simulator.ambient.labels import Side
from simulator.ambient.records import TrueFalseRecord
from simulator.ambient.true_false import (
    FALSE,
    TRUE,
    Reading,
    inconsistent_pairs,
    read_scores,
    read_table,
    read_text,
    right_answer,
    statement,
    true_false_measures,
    true_false_prompt,
)
from simulator.stats import wilson


def four(
    rewrite: str, predictions: Sequence[bool | None], *, id: str = "1", side: Side = "premise"
) -> list[TrueFalseRecord]:
    """Return the four statements on a rewrite with given answers."""
    return [
        TrueFalseRecord(
            id=id,
            side=side,
            disambiguation=rewrite,
            template=template,
            prediction=prediction,
            answer=right_answer(template),
        )
        for template, prediction in enumerate(predictions)
    ]


def test_statements_and_prompts() -> None:
    statements = [statement(template, "A {x}.", "D.") for template in range(4)]
    assert statements == [
        "A {x}. This may mean: D.",
        "A {x}. This does not necessarily mean: D.",
        "A {x}. This cannot mean: D.",
        "A {x}. This can only mean: D.",
    ]
    assert [right_answer(template) for template in range(4)] == [True, True, False, False]
    assert true_false_prompt(2, "A.", "D.") == "Q: A. This cannot mean: D. True or False?\nA:"


def test_scores_are_compared_strictly() -> None:
    assert read_scores(-1.0, -2.0).prediction is True
    assert read_scores(-1.0, -1.0).prediction is False
    reading = read_scores(math.log(0.2), math.log(0.3))
    assert reading.prediction is False
    assert reading.mass == pytest.approx(0.5)
    for pair in ((None, -1.0), (-1.0, None), (math.nan, -1.0)):
        assert read_scores(*pair) == Reading(None)


def test_tables_must_have_both_words() -> None:
    table = {TRUE: math.log(0.2), FALSE: math.log(0.1), " It": math.log(0.1)}
    assert read_table(table).prediction is True
    assert read_table(table).mass == pytest.approx(0.75)
    assert read_table({TRUE: -1.0, "False": -0.1}).prediction is None
    assert read_table({TRUE: math.log(0.2), " It": math.log(0.6)}).mass == pytest.approx(0.25)
    assert read_table({}) == Reading(None)


@pytest.mark.each(
    ("text", "answer"),
    [(" True\n", True), ("False", False), ("true", None), ("True.", None), ("", None), ("True False", None)],
)
def test_texts_must_be_exact(text: str, answer: bool | None) -> None:
    assert read_text(text) == Reading(answer)


def test_no_answer_is_wrong_and_counted() -> None:
    records = four("d", [True, True, None, True])
    measures = true_false_measures(records)
    assert measures["accuracy"].value == pytest.approx(2 / 4)
    assert measures["answered_accuracy"].value == pytest.approx(2 / 3)
    assert measures["answered_accuracy"].n == 3
    assert measures["answered"].value == pytest.approx(3 / 4)
    assert [measures[f"template_{number}"].value for number in (1, 2, 3, 4)] == [1, 1, 0, 0]
    assert (measures["null"].value, measures["null"].n, measures["mass"]) == (1, 4, None)


def test_all_four_and_self_contradictions() -> None:
    records = [
        *four("right", [True, True, False, False]),
        *four("may and cannot", [True, False, True, False]),
        *four("not necessarily and only", [False, True, False, True]),
        *four("cut", [True, True, False]),
    ]
    measures = true_false_measures(records)
    assert measures["all_four"].value == pytest.approx(1 / 4)
    assert measures["all_four"].n == 4
    assert (measures["may_and_cannot"].value, measures["not_necessarily_and_only"].value) == (1, 1)
    assert (measures["incomplete"].value, measures["doubled"].value) == (1, 0)


def test_pairs_of_rewrites_that_cannot_both_be_the_only_reading() -> None:
    only, may = [True, False, False, True], [True, False, False, False]
    both = [*four("a", only), *four("b", only)]
    assert inconsistent_pairs(both) == inconsistent_pairs(both, "reference") == (1, 1)
    # The shortcut looks at the alphabetically first of the two, whatever their order in the file.
    first_only = [*four("b", may), *four("a", only)]
    assert inconsistent_pairs(first_only) == (0, 1)
    assert inconsistent_pairs(first_only, "reference") == (1, 1)
    second_only = [*four("a", may), *four("b", only)]
    assert inconsistent_pairs(second_only, "reference") == (0, 1)
    three = [*both, *four("c", only)]
    assert inconsistent_pairs(three) == (3, 3)
    share = true_false_measures(three)["inconsistent"]
    assert (share.value, share.high, share.n) == (1, 1, 3)
    assert share.low == pytest.approx(wilson(1, 1).low)  # one sentence


def test_sentences_are_distinguished_by_side_and_example() -> None:
    only = [True, False, False, True]
    records = [*four("a", only), *four("b", only, side="hypothesis"), *four("c", only, id="2")]
    assert inconsistent_pairs(records) == (0, 0)
    assert true_false_measures(records)["inconsistent"] is None


def test_of_doubled_statements_the_last_counts() -> None:
    records = [*four("a", [False, True, False, False]), *four("a", [True, True, False, False])]
    measures = true_false_measures(records)
    assert (measures["all_four"].value, measures["doubled"].value, measures["null"].n) == (1, 4, 8)


def test_intervals_resample_sentences() -> None:
    right, wrong = [True, True, False, False], [False, False, True, True]
    records = [
        record
        for number in range(20)
        for rewrite in "ab"
        for record in four(rewrite, right if number % 2 else wrong, id=str(number))
    ]
    wide = true_false_measures(records)["accuracy"]
    assert wide is not None
    # 20 sentences, not 160 statements: sd of the mean is 0.5 / sqrt(20).
    assert wide.value == 0.5
    assert 0.35 < wide.high - wide.low < 0.55


def test_no_records_make_no_numbers() -> None:
    measures = true_false_measures([])
    assert measures["accuracy"] is None
    assert measures["template_1"] is measures["template_4"] is None
    assert measures["null"].n == 0
