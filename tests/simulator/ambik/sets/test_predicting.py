"""From decisions to thresholds, sets and questions."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import pytest

from simulator.ambik.items import Pair
from simulator.ambik.predicting import calibrate, outcome, prepare, recalibrate
from simulator.ambik.records import Affordance, Calibrated, Decision
from simulator.ambik.terms import DEFAULT, Settings
from simulator.errors import InputError

PLAIN = Settings(temperature=1.0)
REFERENCE = Settings(cp_rule="reference", metrics="reference")
NOT_LISTED = "an option not listed here"
MakeDecision = Callable[..., Decision]


def logs(**shares: float) -> tuple[tuple[str, float], ...]:
    return tuple((letter, math.log(share)) for letter, share in shares.items())


def at(q_hat: float, **fields: object) -> Calibrated:
    return Calibrated(q_hat=q_hat, n=100, epsilon=0.2, rank=81, **fields)


def test_knowno_scores_are_one_minus_the_confidence(make_decision: MakeDecision) -> None:
    options = prepare(make_decision(tokens=logs(A=0.6, b=0.3, X=0.1)), PLAIN).scored
    assert [(option.letter, option.text) for option in options][:2] == [
        ("A", "take the glass mug"),
        ("B", "take the clay mug"),
    ]
    assert [option.nonconformity for option in options] == pytest.approx([1 / 3, 2 / 3, 1, 1])
    assert [option.acceptable for option in options] == [True, False, False, False]


def test_lap_multiplies_by_the_affordance(make_decision: MakeDecision) -> None:
    affordance = {"A": Affordance(1, 0.5), "B": Affordance(0, 0.9), "C": Affordance(1, None)}
    decision = make_decision(method="lap", tokens=logs(A=0.6, B=0.3, C=0.1), affordance=affordance)
    assert [option.nonconformity for option in prepare(decision, PLAIN).scored] == pytest.approx(
        [0.7, 1, 0.95, 1]
    )
    again = prepare(decision, replace(PLAIN, renormalise=True)).scored
    assert [option.nonconformity for option in again] == pytest.approx(
        [1 - 0.3 / 0.35, 1, 1 - 0.05 / 0.35, 1]
    )
    with pytest.raises(InputError, match="option C has no affordance"):
        prepare(replace(decision, affordance={"A": Affordance(1, 1), "B": Affordance(1, 1)}), PLAIN)
    five = replace(decision, options={**decision.options, "E": NOT_LISTED}, tokens=logs(A=0.5, E=0.5))
    assert prepare(five, PLAIN).scored[-1].nonconformity == pytest.approx(0.5)


def test_lofree_counts_what_was_asked_for(make_decision: MakeDecision) -> None:
    samples = {"take the glass mug": 3, "take the clay mug": 1}
    near = {"take the glass mug": 0.0, "take the clay mug": 0.5}
    decision = make_decision(method="lofreecp", samples=samples, similarities=near, draws=8)
    spread = -(3 / 8 * math.log(3 / 8) + 1 / 8 * math.log(1 / 8)) / math.log(8)
    options = prepare(decision, DEFAULT).scored
    assert [option.nonconformity for option in options] == pytest.approx(
        [5 / 8 + 0.1 * spread, 7 / 8 + 0.1 * spread - 0.05]
    )
    assert [(option.letter, option.acceptable) for option in options] == [("", True), ("", False)]
    none = prepare(replace(decision, similarities={}), DEFAULT).scored
    assert none[1].nonconformity == pytest.approx(7 / 8 + 0.1 * spread)
    with pytest.raises(InputError, match="no similarity was logged for the answer 'take the clay mug'"):
        prepare(replace(decision, similarities={"take the glass mug": 0.0}), DEFAULT)


def test_calibration_takes_the_best_right_option_and_the_worst_if_there_is_none(
    make_decision: MakeDecision, make_pair: Callable[..., object]
) -> None:
    both = make_pair(variants="glass\nclay")
    wrong = make_pair("p2", intent="wok")
    decisions = [
        make_decision(both, part="calibration", tokens=logs(A=0.2, B=0.7, C=0.1)),
        make_decision(wrong, part="calibration", tokens=logs(A=0.9, B=0.1)),
        make_decision(make_pair("p3", intent=None), part="calibration", tokens=logs(A=1.0)),
    ]
    calibration = calibrate(decisions, replace(PLAIN, target_success=0.3), run="cal")
    assert calibration.nonconformities == pytest.approx((0.3, 1.0))
    assert (calibration.n, calibration.without, calibration.unknown, calibration.rank, calibration.run) == (
        2,
        1,
        1,
        1,
        "cal",
    )
    assert (calibration.q_hat, calibration.epsilon) == (pytest.approx(0.3), 0.7)
    drawn = make_decision(wrong, part="calibration", method="lofreecp", samples={"take it": 4}, draws=4)
    assert calibrate([drawn], DEFAULT).nonconformities == (math.inf,)


def test_a_calibration_is_of_one_conformal_method(make_decision: MakeDecision) -> None:
    with pytest.raises(InputError, match="knowno, binary"):
        calibrate([make_decision(), make_decision(method="binary", action="take it")], DEFAULT)
    with pytest.raises(InputError, match="are of nohelp"):
        calibrate([make_decision(method="nohelp", action="take it")], DEFAULT)
    assert calibrate([], DEFAULT).q_hat == math.inf


def test_another_target_needs_no_decisions() -> None:
    nonconformities = tuple(place / 100 for place in range(1, 101))
    base = at(0.81, nonconformities=nonconformities, settings={"temperature": 5.0, "target_success": 0.8})
    calibration = recalibrate(base, Settings(target_success=0.9, quantile="numpy_higher"))
    assert (calibration.q_hat, calibration.rank, calibration.epsilon) == (0.92, 91, 0.1)
    assert calibration.settings["target_success"] == 0.9 and calibration.settings["temperature"] == 5.0
    with pytest.raises(InputError, match="has no nonconformities"):
        recalibrate(at(0.81), DEFAULT)


def test_the_set_holds_what_is_at_most_the_threshold(make_decision: MakeDecision) -> None:
    decision = make_decision(tokens=logs(A=0.5, B=0.375, C=0.125))
    q_hat = prepare(decision, PLAIN).scored[1].nonconformity
    prediction = outcome(decision, at(q_hat), PLAIN)
    assert prediction.predicted == ("take the glass mug", "take the clay mug")
    assert (prediction.help, prediction.covered, prediction.removed) == (True, True, 0)
    assert prediction.action == "take the glass mug"
    certain = outcome(decision, at(0.5), PLAIN)
    assert (certain.predicted, certain.help) == (("take the glass mug",), False)
    none = outcome(decision, at(0.4), PLAIN)
    assert (none.predicted, none.help, none.covered) == ((), False, False)
    assert none.action == "take the glass mug"


def test_fillers_are_taken_out_of_sets_and_counted(make_decision: MakeDecision) -> None:
    decision = make_decision(tokens=logs(D=0.7, A=0.3), filled=("D",))
    prediction = outcome(decision, at(math.inf), PLAIN)
    assert len(prediction.predicted) == 3 and prediction.removed == 1
    assert outcome(decision, at(0.75), PLAIN).help is False
    with_filler = outcome(decision, at(0.75), replace(PLAIN, metrics="reference"))
    assert (
        with_filler.predicted == ("take the glass mug", "do nothing")
        and with_filler.help
        and not with_filler.removed
    )
    assert prediction.action == "take the glass mug"


def test_the_original_asks_unless_there_is_one_option_that_is_listed(make_decision: MakeDecision) -> None:
    options = {"A": "take the glass mug", "B": "do nothing", "C": NOT_LISTED}
    original = Settings(temperature=1.0, help="original")

    def asks(q_hat: float, settings: Settings, **shares: float) -> bool:
        return outcome(make_decision(options=options, tokens=logs(**shares)), at(q_hat), settings).help

    assert not asks(0.3, original, A=0.8, B=0.1, C=0.1)
    assert asks(0.1, original, A=0.8, B=0.1, C=0.1)  # empty
    assert asks(0.3, original, C=0.8, A=0.1, B=0.1)  # none of the others
    assert asks(0.95, original, A=0.8, B=0.15, C=0.05)  # fillers count
    assert not asks(0.95, PLAIN, A=0.8, B=0.17, C=0.03)


def test_raw_tokens_that_come_back_twice_count_twice(make_decision: MakeDecision) -> None:
    options = {"A": "take the glass mug", "B": NOT_LISTED}
    tokens = (("A", math.log(0.5)), (" A", math.log(0.25)), ("Option", math.log(0.2)), ("B", math.log(0.05)))
    decision = make_decision(options=options, tokens=tokens)
    raw = Settings(
        tokens="raw_top5", quantile="numpy_higher", not_listed=True, help="original", temperature=1.0
    )
    twice = outcome(decision, at(0.8), raw)
    assert twice.help and twice.predicted == ("take the glass mug",)
    assert not outcome(decision, at(0.6), raw).help
    assert not outcome(decision, at(0.8), replace(raw, tokens="merged")).help
    # A token of no option counts, too: KnowNo's set consists of tokens.
    word = (("A", math.log(0.6)), ("Option", math.log(0.3)), ("B", math.log(0.1)))
    once = outcome(replace(decision, tokens=word), at(0.75), raw)
    assert once.help and once.predicted == ("take the glass mug",)
    assert not outcome(replace(decision, tokens=word), at(0.65), raw).help


def test_who_needs_no_threshold(make_decision: MakeDecision) -> None:
    for certainty, asks in (("uncertain", True), ("certain", False), ("invalid", False), (None, False)):
        prediction = outcome(
            make_decision(method="binary", action="take it", certainty=certainty), None, DEFAULT
        )
        assert (prediction.predicted, prediction.help, prediction.action) == (("take it",), asks, "take it")
    never = outcome(make_decision(method="nohelp", action="use the glass mug"), None, DEFAULT)
    assert (never.help, never.covered) == (False, True)
    empty = outcome(make_decision(method="nohelp", action="do nothing"), None, DEFAULT)
    assert (empty.predicted, empty.removed) == ((), 1)
    person = make_decision(method="person", chosen=("the glass mug", "the pot"), action="the pot")
    assert outcome(person, None, DEFAULT).help is True
    assert outcome(replace(person, asked=False), None, DEFAULT).help is False
    decision = make_decision(method="offline", chosen=("the pot",), asked=True)
    prediction = outcome(decision, None, DEFAULT)
    assert (prediction.predicted, prediction.help, prediction.action, prediction.covered) == (
        ("the pot",),
        True,
        "the pot",
        False,
    )


def of_items(count: int, decision: Decision) -> list[Decision]:
    """Return the same decision on as many items."""
    items = [replace(decision.item, pair=replace(decision.item.pair, id=f"p{n}")) for n in range(count)]
    return [replace(decision, item=item) for item in items]


def test_a_threshold_is_of_the_scores_that_it_was_taken_from(make_decision: MakeDecision) -> None:
    decision = make_decision(tokens=logs(A=0.6, B=0.4), part="calibration")
    calibrated = calibrate(of_items(9, decision), PLAIN)
    with pytest.raises(InputError, match="without a calibration"):
        outcome(decision, None, PLAIN)
    with pytest.raises(InputError, match=r"temperature = 1\.0, the sets with 5\.0"):
        outcome(decision, calibrated, DEFAULT)
    with pytest.raises(InputError, match="tokens"):
        outcome(decision, calibrated, replace(PLAIN, tokens="raw_top5"))
    # What is no part of the scores may differ, and so may what another method's scores are made of.
    assert outcome(decision, calibrated, replace(PLAIN, icr="best_option", entropy_weight=1)).predicted
    drawn = make_decision(method="lofreecp", samples={"take it": 4}, draws=4)
    assert outcome(drawn, replace(calibrated, q_hat=math.inf), DEFAULT).predicted == ("take it",)
    with pytest.raises(InputError, match="entropy_weight"):
        outcome(drawn, calibrated, Settings(entropy_weight=0.2))


def test_the_published_code_pools_right_options_and_keeps_what_lies_above(
    make_decision: MakeDecision, make_pair: Callable[..., Pair]
) -> None:
    both = make_pair(variants="glass\nclay")
    decisions = [
        make_decision(both, part="calibration", tokens=logs(A=0.5, B=0.4, C=0.1)),
        make_decision(replace(both, id="p2"), part="calibration", tokens=logs(A=0.9, C=0.1)),
        make_decision(make_pair("p3", intent="wok"), part="calibration", tokens=logs(A=1.0)),
    ]
    half = replace(REFERENCE, target_success=0.5)
    calibration = calibrate(decisions, half)
    assert calibration.nonconformities == pytest.approx(
        (0.5, 0.4, 0.9)
    )  # none of letters that did not come back
    assert (calibration.n, calibration.rank, calibration.without) == (3, 2, 1)
    assert calibration.q_hat == pytest.approx(0.5 + (0.9 - 0.5) / 3)
    strict = outcome(decisions[0], at(0.5), REFERENCE)
    assert strict.predicted == ()  # above, not at least
    assert outcome(decisions[0], at(0.45), REFERENCE).predicted == ("take the glass mug",)


def test_the_published_code_of_lap_takes_exponents_and_of_lofree_the_rarest(
    make_decision: MakeDecision,
) -> None:
    lap = make_decision(method="lap", tokens=logs(A=1.0), part="calibration")
    values = calibrate(of_items(9, lap), REFERENCE)
    assert values.q_hat == pytest.approx(math.e)
    assert outcome(lap, values, REFERENCE).predicted == ("take the glass mug",)
    assert outcome(lap, at(math.e + 0.01), REFERENCE).predicted == ()
    drawn = make_decision(method="lofreecp", samples={"common": 6, "rare": 2}, draws=8)
    assert outcome(drawn, at(0.5), REFERENCE).predicted == ("rare",)
    # The entropy is divided by the logarithm of two calls, not of eight answers.
    spread = -(0.75 * math.log(0.75) + 0.25 * math.log(0.25)) / math.log(2)
    assert prepare(drawn, REFERENCE).scored[0].nonconformity == pytest.approx(0.25 + 0.1 * spread)
