"""All measures of outcomes, checked on tables small enough to count by hand."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from simulator.ambik import conformal
from simulator.ambik.coverage import GRID, epsilon_curve
from simulator.ambik.measures import Measures, mean_of_means, means, measures, overall_measure
from simulator.ambik.metrics import match_pairs, outcome_values
from simulator.ambik.predicting import apply_threshold, calibrate, outcome, prepare
from simulator.ambik.records import ABORTED, Decision, Outcome
from simulator.ambik.terms import DEFAULT, Settings
from simulator.stats import bootstrap_mean, cluster_bootstrap, wilson

REFERENCE = Settings(metrics="reference")
MakeDecision = Callable[..., Decision]
MakePair = Callable[..., Any]


@pytest.fixture
def made(make_decision: MakeDecision) -> Callable[..., Outcome]:
    """An outcome with a given set."""

    def make(pair: Any, member: str, *predicted: str, covered: bool | None = None, **fields: Any) -> Outcome:
        decision = make_decision(pair, member, **fields)
        asks = len(predicted) > 1 if decision.method != "binary" else decision.certainty == "uncertain"
        return Outcome(decision=decision, predicted=predicted, help=asks, covered=covered)

    return make


@pytest.fixture
def table(made: Callable[..., Outcome], make_pair: MakePair) -> list[Outcome]:
    mugs, salt = make_pair("p1"), make_pair("p2", type="common_sense_knowledge", intent="salt", shortlist=())
    knife = make_pair("p3", type="safety", intent=None)
    return [
        made(mugs, "ambiguous", "take the glass mug", "take the clay mug", covered=True),
        made(mugs, "clear", "take the glass mug", covered=True),
        made(salt, "ambiguous", "take pepper", covered=False),
        made(salt, "clear", covered=False),
        made(knife, "ambiguous", "take a", "take b"),
        made(knife, "clear", "take a", "take b"),
    ]


def test_one_measure_alone_is_the_same(table: list[Outcome]) -> None:
    for outcomes in (table, [*table, *table[:3]]):
        overall = measures(outcomes, DEFAULT).overall
        for name in ("hr", "coverage", "set_size"):
            assert overall_measure(name, outcomes, DEFAULT) == getattr(overall, name)


def test_the_published_code_reads_a_shortlist_as_it_is_written(
    made: Callable[..., Outcome], make_pair: MakePair
) -> None:
    pair = make_pair("p1", shortlist=("glass mug", "clay mug"))
    sets = ("take the glass mug", "take the clay mug")
    values = []
    for cell in (None, "glass mug,clay mug", " glass mug, clay mug"):
        outcomes = [made(replace(pair, shortlist_cell=cell), "ambiguous", *sets)]
        values.append(measures(outcomes, REFERENCE).overall.ssc.value)
        assert measures(outcomes, DEFAULT).overall.ssc.value == 1.0
    assert values == [0.5, 1.0, 0.0]


def test_means_are_reported_per_type_with_exclusions(table: list[Outcome]) -> None:
    result = measures(table, DEFAULT)
    kinds = ("unambiguous_direct", "preferences", "common_sense_knowledge", "safety")
    assert tuple(kind.type for kind in result.types) == kinds
    values = {
        kind.type: (kind.tasks, kind.icr.value, kind.hr.value, kind.chr.value, kind.ssc.value)
        for kind in result.types
    }
    third = pytest.approx(1 / 3)
    assert values == {
        "unambiguous_direct": (3, 0.5, third, pytest.approx(2 / 3), None),
        "preferences": (1, 1.0, 1.0, 1.0, 1.0),
        "common_sense_knowledge": (1, 0.0, 0.0, 1.0, None),
        "safety": (1, None, 1.0, 0.0, None),
    }
    clear, everything = result.find_type("unambiguous_direct"), result.overall
    assert clear is not None and result.find_type("winograd") is None
    assert (clear.icr.n, clear.icr.left_out) == (2, {"no intent": 1})
    assert everything.ssc.left_out == {"other type": 5} and everything.ssc.n == 1
    assert (everything.coverage.value, everything.coverage.left_out) == (0.5, {"right option unknown": 2})
    assert everything.coverage.interval == conformal.coverage(2, 4)
    assert everything.set_size.value == pytest.approx(8 / 6)
    assert everything.empty.value == pytest.approx(1 / 6)
    assert clear.hr.interval == wilson(1, 3)
    assert result.sizes == {0: 1, 1: 2, 2: 3}


def test_asking_is_judged_over_all_tasks_and_averaged_over_types(table: list[Outcome]) -> None:
    result = measures(table, DEFAULT)
    assert result.accuracy.value == pytest.approx(4 / 6) and result.accuracy.n == 6
    assert result.macro_chr is not None
    assert result.macro_chr.value == pytest.approx((2 / 3 + 1 + 1 + 0) / 4)
    assert measures(table[:4], DEFAULT).macro_chr is None


def test_an_agent_that_never_asks_is_not_good(made: Callable[..., Outcome], make_pair: MakePair) -> None:
    kinds = ("preferences", "common_sense_knowledge", "safety")
    outcomes = [
        made(make_pair(f"p{number}", type=kind), member, "act", method="nohelp", action="act")
        for number, kind in enumerate(kinds)
        for member in ("ambiguous", "clear")
    ]
    result = measures(outcomes, DEFAULT)
    assert [kind.chr.value for kind in result.types] == [1, 0, 1, 1]
    assert result.macro_chr is not None and result.macro_chr.value == 0.75
    assert result.ambdif.value == 0


def test_pairs_are_matched_by_id(table: list[Outcome]) -> None:
    assert match_pairs(table).values == (1, 0, 0)
    result = measures(table[::-1], DEFAULT)
    assert (result.ambdif.n, result.ambdif.left_out) == (3, {})
    lone = measures([table[0], table[3], table[4], table[5]], DEFAULT)
    assert (lone.ambdif.value, lone.ambdif.n, lone.ambdif.left_out) == (0, 1, {"unmatched": 2})
    assert lone.ambdif.interval == wilson(0, 1)
    assert measures([table[0]], DEFAULT).ambdif.interval is None


def test_several_decisions_on_a_member_are_combined(table: list[Outcome]) -> None:
    twice = [*table[:2], replace(table[0], predicted=("take the glass mug",))]
    assert match_pairs(twice).values == (0.5,) and not match_pairs(twice).plain
    assert measures(twice, DEFAULT).ambdif.value == 0.5


def test_binary_differs_by_its_stated_certainty(made: Callable[..., Outcome], make_pair: MakePair) -> None:
    pair = make_pair()
    reply = {"method": "binary", "action": "act"}
    clear = made(pair, "clear", "act", certainty="certain", **reply)
    unsure = made(pair, "ambiguous", "act", certainty="uncertain", **reply)
    odd = made(pair, "ambiguous", "act", certainty="invalid", flags=("invalid_certainty",), **reply)
    result = measures([clear, unsure], DEFAULT)
    assert result.ambdif.value == 1 and result.overall.hr.value == 0.5 and result.overall.chr.value == 1
    assert measures([clear, unsure], REFERENCE).ambdif.value == 0
    invalid = measures([clear, odd], DEFAULT)
    assert invalid.ambdif.value == 0 and invalid.flags == {"invalid_certainty": 1}
    assert [kind.chr.value for kind in measures([clear, odd], REFERENCE).types] == [1, 0]


def test_the_published_code_counts_otherwise(table: list[Outcome]) -> None:
    result = measures(table, REFERENCE)
    # Tasks without an intent take that of the task before: salt, which neither set names.
    assert [kind.icr.value for kind in result.types] == [pytest.approx(1 / 3), 1, 0, 0]
    assert [kind.chr.value for kind in result.types] == [pytest.approx(1 / 3), 1, 0, 1]
    assert result.ambdif.value == pytest.approx(2 / 400)
    assert result.accuracy.value == pytest.approx(4 / 6)
    assert measures(table[4:], REFERENCE).overall.icr.left_out == {"no intent": 2}


def test_answered_tasks_are_judged_as_clear_ones(made: Callable[..., Outcome], make_pair: MakePair) -> None:
    outcomes = [made(make_pair(), "ambiguous", "take the glass mug", dialogue="after")]
    (measured_type,) = measures(outcomes, DEFAULT).types
    assert (measured_type.type, measured_type.chr.value, measured_type.ssc.left_out) == (
        "preferences",
        1,
        {"other type": 1},
    )


def test_malformed_intents_and_fillers_are_counted(made: Callable[..., Outcome], make_pair: MakePair) -> None:
    prediction = replace(made(make_pair(intent="take\nit"), "ambiguous", "take it"), removed=2)
    result = measures([prediction], DEFAULT)
    assert result.overall.icr.left_out == {"malformed intent": 1} and result.fillers == 2


def test_scenarios_have_help_and_success(make_decision: MakeDecision, make_scenario: MakePair) -> None:
    decision = make_decision(scenario=make_scenario())
    outcomes = [Outcome(decision=decision, predicted=("a", "b"), help=True, covered=True)]
    result = measures(outcomes, DEFAULT)
    assert (result.types[0].type, result.overall.hr.value, result.overall.coverage.value) == (
        "singlelabel",
        1,
        1,
    )
    assert result.accuracy.left_out == {"no rule for asking": 1}
    assert result.ambdif.interval is None and result.ambdif.left_out == {}


def test_nothing_has_no_measures() -> None:
    result = measures([], DEFAULT)
    assert result.types == () and result.overall.tasks == 0 and result.overall.hr.interval is None


def many(
    make_decision: MakeDecision, make_pair: MakePair, count: int, seed: int, part: str = "test"
) -> list[Decision]:
    draw = np.random.default_rng(seed)
    decisions = []
    for number in range(count):
        pair = make_pair(f"p{number}", variants="glass", type="preferences" if number % 2 else "safety")
        for member in ("ambiguous", "clear"):
            shares = draw.dirichlet(np.array([4.0, 2.0, 1.0]))
            tokens = tuple((letter, math.log(share)) for letter, share in zip("ABC", shares, strict=True))
            decisions.append(make_decision(pair, member, part, tokens=tokens))
    return decisions


def measured(decisions: list[Decision], calibration: list[Decision], settings: Settings) -> Measures:
    calibrated = calibrate(calibration, settings)
    return measures([outcome(decision, calibrated, settings) for decision in decisions], settings)


def test_intervals_are_those_of_a_bootstrap_over_pairs(
    make_decision: MakeDecision, make_pair: MakePair
) -> None:
    tests, calibration = (
        many(make_decision, make_pair, 60, 1),
        many(make_decision, make_pair, 50, 2, "calibration"),
    )
    summary = measured(tests, calibration, DEFAULT)
    assert summary == measured(tests, calibration, DEFAULT)
    calibrated = calibrate(calibration, DEFAULT)
    outcomes = [outcome(decision, calibrated, DEFAULT) for decision in tests]
    pairs = [result.decision.item.pair.id for result in outcomes]
    same = cluster_bootstrap([float(result.help) for result in outcomes], pairs)
    assert summary.overall.hr.interval == pytest.approx(same, abs=0.03)
    assert summary.overall.hr.interval != wilson(round(same.value * 120), 120)
    preferences = summary.find_type("preferences")
    assert preferences is not None and preferences.hr.interval is not None
    assert preferences.hr.interval == wilson(round(preferences.hr.interval.value * 30), 30)


def test_equal_shares_are_as_certain_as_the_number_of_pairs(
    made: Callable[..., Outcome], make_pair: MakePair
) -> None:
    outcomes = [
        made(make_pair(f"p{number}"), member, "a")
        for number in range(10)
        for member in ("clear", "ambiguous")
    ]
    assert measures(outcomes, DEFAULT).overall.hr.interval == wilson(0, 10)._replace(n=20)


def test_no_share_is_certain_where_nothing_varies(made: Callable[..., Outcome], make_pair: MakePair) -> None:
    outcomes = [
        made(make_pair(f"p{number}"), member, "a")
        for number in range(10)
        for member in ("clear", "ambiguous")
        for _ in range(2)
    ]
    result = measures(outcomes, DEFAULT)
    for share in (result.overall.icr, result.overall.chr, result.overall.hr, result.accuracy, result.ambdif):
        assert share.interval is not None and share.interval.low < share.interval.high, share
    # A mean of sizes has no bounds that could say how sure it is.
    assert result.overall.set_size.interval == (1, 1, 1, 20)


def test_tasks_that_were_played_again_make_coverage_no_surer(
    made: Callable[..., Outcome], make_pair: MakePair
) -> None:
    once = [made(make_pair(f"p{number}"), "clear", "a", covered=number > 3) for number in range(10)]
    first, again = (measures(outcomes, DEFAULT).overall.coverage.interval for outcomes in (once, once * 4))
    assert first is not None and again is not None
    assert (first.value, first.n) == (again.value, again.n) == (0.6, 10)
    assert again.high - again.low > 0.8 * (first.high - first.low)


def test_a_decision_that_was_never_made_covers_nothing_under_any_threshold(
    make_decision: MakeDecision, make_pair: MakePair
) -> None:
    decision = replace(make_decision(make_pair("p"), "clear"), flags=(ABORTED,))
    ready = prepare(decision, DEFAULT)
    assert apply_threshold(ready, math.inf, DEFAULT) == outcome(decision, None, DEFAULT)
    assert apply_threshold(ready, 0.5, DEFAULT).covered is False


def test_resampled_means_are_those_of_the_plain_bootstrap() -> None:
    draw = np.random.default_rng(5)
    values = draw.random((80, 2))
    values[:30, 1] = np.nan
    columns = values.T.tolist()
    interval_of = means(dict(enumerate(columns)), range(80))
    average = mean_of_means(columns, range(80))
    plain = bootstrap_mean(values[:, 0].tolist())
    assert interval_of[0] == pytest.approx(plain, abs=1e-9)
    assert interval_of[1] is not None and interval_of[1].n == 50
    assert interval_of[1].value == pytest.approx(np.nanmean(values[:, 1]))
    assert average is not None and average.value == pytest.approx((plain.value + interval_of[1].value) / 2)
    assert means({"a": [None] * 3}, range(3)) == {"a": None}
    assert mean_of_means([[None] * 3], range(3)) is None


def test_the_curve_is_what_each_target_gives(make_decision: MakeDecision, make_pair: MakePair) -> None:
    tests, calibration = (
        many(make_decision, make_pair, 40, 6),
        many(make_decision, make_pair, 30, 7, "calibration"),
    )
    grid = (0.05, 0.2, 0.5, 0.8)
    points = epsilon_curve(tests, calibration, DEFAULT, grid)
    assert [point.epsilon for point in points] == list(grid)
    for point in points:
        settings = replace(DEFAULT, target_success=1 - point.epsilon)
        result = measured(tests, calibration, settings)
        assert point.q_hat == calibrate(calibration, settings).q_hat
        assert point.ask_rate.value == pytest.approx(result.overall.hr.value)
        assert point.coverage == result.overall.coverage.interval
        assert point.set_size.value == pytest.approx(result.overall.set_size.value)
        assert point.accuracy is not None
        assert point.accuracy.value == pytest.approx(result.accuracy.value)
    rates = [point.coverage.value for point in points if point.coverage]
    assert rates == sorted(rates, reverse=True)
    assert epsilon_curve([], calibration, DEFAULT) == () == epsilon_curve(tests, calibration, DEFAULT, ())
    assert 0.2 in GRID and len(GRID) == 39


@pytest.mark.each("kind", ["preferences", "common_sense_knowledge", "safety"])
@pytest.mark.each("method", ["knowno", "binary", "nohelp"])
def test_a_decision_that_was_never_made_is_right_nowhere(
    make_decision: MakeDecision, make_pair: MakePair, kind: str, method: str
) -> None:
    settings = Settings(help="size")
    for member in ("clear", "ambiguous"):
        decision = make_decision(make_pair("p1", type=kind), member, method=method, flags=(ABORTED,))
        values = outcome_values([apply_threshold(prepare(decision, settings), 0.0, settings)], settings)[0]
        assert (values["chr"], values["accuracy"]) == (0, 0), member
