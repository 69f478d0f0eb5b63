"""From tokens and samples to confidences and nonconformities, on cases worked out by hand."""

from __future__ import annotations

import math
from string import ascii_uppercase

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from simulator.ambik import scoring_rules as rules

QUIET = settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
LOGS = st.floats(-30, 0)


def logs(*shares: tuple[str, float]) -> tuple[tuple[str, float], ...]:
    return tuple((token, math.log(share)) for token, share in shares)


@pytest.mark.each(
    ("token", "options", "letter"),
    [
        ("A", 4, "A"), (" b", 4, "B"), ("\nC ", 4, "C"), ("4", 4, "D"), (" 1", 4, "A"), ("e", 5, "E"),
        ("5", 5, "E"), ("E", 4, None), ("5", 4, None), ("0", 5, None), ("Option", 5, None), ("AB", 4, None),
        ("", 4, None), ("F", 5, None), ("²", 5, None), ("f", 6, "F"), ("6", 6, "F"),
    ],
)  # fmt: skip
def test_letters_and_numbers_denote_options(token: str, options: int, letter: str | None) -> None:
    assert rules.option_letter(token, ascii_uppercase[:options]) == letter


def test_tokens_for_one_option_are_added_before_the_temperature() -> None:
    tokens = logs(("A", 0.4), ("B", 0.3), (" a", 0.1), ("1", 0.1), ("Answer", 0.1))
    assert {
        key: math.exp(value) for key, value in rules.merge_by_letter(tokens, "ABCD").items()
    } == pytest.approx({"A": 0.6, "B": 0.3})
    shares = rules.confidences(tokens, "ABCD", temperature=2.0)
    roots = math.sqrt(0.6), math.sqrt(0.3)
    assert shares == pytest.approx({"A": roots[0] / sum(roots), "B": roots[1] / sum(roots), "C": 0, "D": 0})


@pytest.mark.parametrize("letters", ["ABDE", "BE", "ABCDEF"])
def test_letters_need_not_be_the_first_ones(letters: str) -> None:
    last = letters[-1]
    tokens = logs(("B", 0.5), (last, 0.2), (str(1 + ascii_uppercase.index(last)), 0.2), ("G", 0.1))
    shares = rules.confidences(tokens, letters, temperature=1.0)
    assert shares == pytest.approx({**dict.fromkeys(letters, 0), "B": 5 / 9, last: 4 / 9})


def test_raw_tokens_stay_as_they_are() -> None:
    tokens = logs(("A", 0.4), ("B ", 0.3), ("A", 0.1), ("b", 0.1), ("Option", 0.1))
    elements = rules.elements(tokens, "ABCDE", 1.0, "raw_top5")
    assert [letter for letter, _ in elements] == ["A", "B", "A"]
    assert [share for _, share in elements] == pytest.approx([0.4, 0.3, 0.1])
    assert rules.confidences(tokens, "ABCDE", 1.0, "raw_top5")["A"] == pytest.approx(0.4)


@QUIET
@given(st.lists(st.tuples(st.sampled_from(["A", "b", " C", "4", "x"]), LOGS), max_size=6), st.floats(0.1, 20))
def test_confidences_of_merged_tokens_add_up(tokens: list[tuple[str, float]], temperature: float) -> None:
    shares = rules.confidences(tokens, "ABCD", temperature)
    named = {letter for token, _ in tokens if (letter := rules.option_letter(token, "ABCD"))}
    assert sum(shares.values()) == pytest.approx(1 if named else 0)
    assert all((shares[letter] > 0) == (letter in named) for letter in "ABCD")


def test_a_higher_temperature_makes_confidences_more_equal() -> None:
    tokens = logs(("A", 0.9), ("B", 0.1))
    sharp, flat = (rules.confidences(tokens, "ABCD", t)["A"] for t in (1.0, 5.0))
    assert sharp == pytest.approx(0.9) and 0.5 < flat < sharp
    assert rules.softmax([-math.inf, -math.inf], 1) == [0, 0]


def test_true_and_false_are_merged() -> None:
    assert rules.probability_of_true(logs(("True", 0.5), (" true", 0.1), ("False", 0.2), ("Yes", 0.2))) == (
        pytest.approx(0.75)
    )
    assert rules.probability_of_true(logs(("Yes", 0.9), ("t", 0.1))) is None
    assert rules.probability_of_true(logs(("Fal", 0.5))) == 0


def test_affordance_multiplies_and_renormalises_only_on_request() -> None:
    confidence, affordance = {"A": 0.6, "B": 0.4}, {"A": 0.5, "B": 1.0}
    assert rules.with_affordance(confidence, affordance) == pytest.approx({"A": 0.3, "B": 0.4})
    again = rules.with_affordance(confidence, affordance, renormalise=True)
    assert again == pytest.approx({"A": 3 / 7, "B": 4 / 7})
    nothing = rules.with_affordance(confidence, {"A": 0.0, "B": 0.0}, renormalise=True)
    assert nothing == {"A": 0, "B": 0}


@pytest.mark.each(
    ("answer", "normalised"),
    [
        ("A) Take the glass  mug.", "take the glass mug"),
        ("2. Pour 1.5 l of milk, slowly!", "pour 1.5 l of milk, slowly!"),
        ("an apple and a pear", "an apple and a pear"),
        ("1.5 l of milk", "1.5 l of milk"),
    ],
)
def test_answers_are_normalised(answer: str, normalised: str) -> None:
    assert rules.count_answers([answer]) == {normalised: 1}


def test_answers_are_counted_after_normalising() -> None:
    assert rules.count_answers(["Take it.", "leave it", "A) take it"]) == {"take it": 2, "leave it": 1}


def test_lofrees_nonconformity_by_hand() -> None:
    samples, near = {"mug": 10, "cup": 6, "bowl": 4}, {"mug": 0.9, "cup": 0.5, "bowl": 0.25}
    shares = [0.5, 0.3, 0.2]
    spread = -sum(share * math.log(share) for share in shares) / math.log(20)
    scores = rules.lofree(samples, near, 20)
    assert scores == pytest.approx(
        {
            "mug": 0.5 + 0.1 * spread,
            "cup": 0.7 + 0.1 * spread - 0.05,
            "bowl": 0.8 + 0.1 * spread - 0.025,
        }
    )
    # The published code divides by the logarithm of the number of calls.
    reference = rules.lofree(samples, near, 20, reference=True)
    assert reference["mug"] == pytest.approx(0.5 + 0.1 * spread * math.log(20) / math.log(5))
    heavy = rules.lofree(samples, near, 20, entropy_weight=0, similarity_weight=1)
    assert heavy == pytest.approx({"mug": 0.5, "cup": 0.2, "bowl": 0.55})


def test_answers_tied_with_the_most_frequent_have_no_similarity_either() -> None:
    scores = rules.lofree({"mug": 2, "cup": 2}, {"mug": 1.0, "cup": 0.7}, 4, entropy_weight=0)
    assert scores == {"mug": 0.5, "cup": 0.5}
    assert rules.most_frequent({"mug": 2, "cup": 1, "pot": 2}) == ("mug", "pot")


def test_entropy_is_between_0_and_1_and_can_exceed_it_in_the_published_code() -> None:
    assert rules.entropy({"mug": 8}, 8) == 0
    assert rules.entropy(dict.fromkeys("abcdefgh", 1), 8) == pytest.approx(1)
    assert rules.entropy(dict.fromkeys("abcdefgh", 1), 8, reference=True) == pytest.approx(3)
    assert rules.entropy({"mug": 2, "cup": 2}, 4, reference=True) == 0
    assert rules.entropy({"mug": 1}, 1) == 0
    assert rules.lofree({}, {}, 4) == {}


def test_a_missing_similarity_is_an_error_unless_it_has_no_weight() -> None:
    with pytest.raises(KeyError):
        rules.lofree({"mug": 3, "cup": 1}, {}, 4)
    assert rules.lofree({"mug": 3, "cup": 1}, {}, 4, entropy_weight=0, similarity_weight=0)["cup"] == 0.75
