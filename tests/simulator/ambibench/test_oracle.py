"""Test the oracle by enumeration, by simulation, and on single episodes (spec section 12)."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from statistics import fmean

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from shared_data import SHARED

from simulator.ambibench.features import FEATURES, FORMATS, hypotheses
from simulator.ambibench.generation import draw_multiple, generate_instruction, generate_multiple
from simulator.ambibench.prompt import Curve, Example, beliefs, best_guess, exact_curve

EXPECTED = SHARED / "expected_examples.json"


def test_the_first_positions_are_those_of_the_specification() -> None:
    curve = exact_curve()
    assert curve.bayes[:3] == (0.5, 0.75, 0.875)
    assert curve.literal[:3] == (0.5, 0.5, 0.75)
    assert curve.identified[:3] == (0.0, 0.0, 0.5)


def test_every_position_follows_from_what_is_left_to_be_known() -> None:
    # After n examples the task is open if all of them had both features alike, or all unlike: 2 / 2 ** n.
    # While it is open, the two rules left disagree on every other sentence.
    curve = exact_curve(20)
    for k in range(2, 21):
        known = 1 - 2.0 ** (2 - k)
        assert curve.identified[k - 1] == pytest.approx(known)
        assert curve.literal[k - 1] == pytest.approx(known + (1 - known) / 2)
        assert curve.bayes[k - 1] == pytest.approx(known + (1 - known) * 0.75)


def simulated_curve(episodes: int, seed: int, length: int = 20) -> Curve:
    """The three curves as means over random episodes; they approach `exact_curve`.

    Args:
        episodes: how many; 100,000 take about a second.
        seed: of the examples.
        length: examples per episode.
    """
    # Values of feature a and b; the truth is "a is X". A hypothesis (feature, polarity) predicts X or not.
    a, b = np.random.default_rng(seed).integers(0, 2, size=(2, episodes, length)).astype(bool)
    left = np.ones((4, episodes), dtype=bool)
    curves: list[list[float]] = [[], [], []]
    for k in range(length):
        says = np.stack([a[:, k], ~a[:, k], b[:, k], ~b[:, k]])
        remaining = left.sum(axis=0)
        right = (left & (says == a[:, k])).sum(axis=0)
        known = remaining == 1
        correct = np.where(2 * right == remaining, 0.5, 2 * right > remaining)
        for curve, values in zip(curves, (correct, np.where(known, 1.0, 0.5), known), strict=True):
            curve.append(float(values.mean()))
        left &= says == a[:, k]
    bayes, literal, identified = map(tuple, curves)
    return Curve(bayes, literal, identified)


def test_simulation_agrees_with_enumeration_within_four_standard_errors() -> None:
    episodes = 100_000
    for seed in (1, 2):
        for exact, simulated in zip(exact_curve(12), simulated_curve(episodes, seed, 12), strict=True):
            for value, other in zip(exact, simulated, strict=True):
                assert abs(value - other) <= 4 * math.sqrt(0.25 / episodes)


def test_generated_episodes_are_as_hard_as_the_curve_says() -> None:
    thought = [beliefs(prompt) for prompt in generate_multiple(5)]
    for k in range(1, 9):
        mean = fmean(beliefs_by_k[k - 1].bayes for beliefs_by_k in thought)
        assert abs(mean - exact_curve().bayes[k - 1]) <= 4 * math.sqrt(0.25 / len(thought))


@pytest.mark.skipif(not EXPECTED.is_file(), reason=f"no checks at {EXPECTED}; set ASKBACK_SHARED")
def test_the_given_check_of_setting_4_2() -> None:
    checks = {check["id"]: check for check in json.loads(EXPECTED.read_text(encoding="utf-8"))}
    withheld, given = checks["C2.oracle_4.2"]["reproduced"]
    for kind, value in (("uninformative", withheld), ("informative", given)):
        prompts = generate_instruction(0, kind)
        assert fmean(beliefs(prompt)[2].bayes for prompt in prompts) == value


def test_an_informative_instruction_is_told_from_the_first_label_on() -> None:
    for prompt in generate_multiple(0, "informative", per_cell=1):
        assert all(
            belief.identified and belief.bayes == 1 and belief.p_gold == 1 for belief in beliefs(prompt)
        )


@settings(max_examples=60)
@given(st.integers(0, 2**31 - 1), st.sampled_from(FEATURES), st.sampled_from(FORMATS))
def test_a_posterior_is_what_the_labels_leave(seed: int, feature: str, form: str) -> None:
    prompt = draw_multiple(seed, feature, form)  # type: ignore[arg-type]
    for belief in beliefs(prompt):
        seen = prompt.examples[: belief.k - 1]
        fitting = [
            hypothesis
            for hypothesis in hypotheses(prompt.pair)
            if all(hypothesis.label(each.a, each.b) == each.label for each in seen)
        ]
        assert belief.posterior == {
            hypothesis: (1 / len(fitting) if hypothesis in fitting else 0.0)
            for hypothesis in hypotheses(prompt.pair)
        }
        assert prompt.hypothesis in fitting
        assert belief.identified == (len(fitting) == 1)
        example = prompt.examples[belief.k - 1]
        says_x = sum(hypothesis.label(example.a, example.b) == "X" for hypothesis in fitting) / len(fitting)
        assert belief.p_x == pytest.approx(says_x)
        right = says_x if example.label == "X" else 1 - says_x
        assert belief.p_gold == pytest.approx(right)
        assert belief.bayes == (0.5 if right == 0.5 else float(right > 0.5))


def test_labels_that_nothing_explains_are_an_error() -> None:
    prompt = generate_multiple(0, per_cell=1)[0]
    same = [Example("", True, True, label) for label in ("X", "Y", "X")]
    with pytest.raises(ValueError, match="no hypothesis about subject_location"):
        beliefs(replace(prompt, examples=tuple(same)))


def test_a_guess_is_no_label() -> None:
    assert [best_guess(p) for p in (0.75, 0.5, 0.0)] == ["X", None, "Y"]
