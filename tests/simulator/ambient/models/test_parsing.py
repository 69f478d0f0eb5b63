from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.ambient.labels import LABELS, VERBALIZERS, Label
from simulator.ambient.prompts import PARSE_WARNINGS, cut, parse

TRUE, FALSE, OPEN = (VERBALIZERS[label] for label in ("entailment", "contradiction", "neutral"))


def test_two_labelled_rewrites() -> None:
    text = f"1. It rains now. {TRUE}\n2. It rains often. {OPEN}"
    for parser in ("reference", "robust"):
        parsed = parse(text, parser)
        assert parsed.rewrites == {"entailment": "It rains now.", "neutral": "It rains often."}
        assert parsed.warnings == ()


@pytest.mark.each(
    "text", [f"It rains. {TRUE}", f"1) It rains. {TRUE}", "1.", f"2. A {TRUE}", f"1.\nA {TRUE}"]
)
def test_reference_wants_its_beginning(text: str) -> None:
    parsed = parse(text)
    assert parsed.rewrites == {}
    assert parsed.warnings == ("no_list",)


def test_nothing_written() -> None:
    for text in ("", " \n", f"\n\n1. A {TRUE}"):
        assert parse(text).warnings == ("empty",)
    assert parse("", "robust").warnings == ("empty",)
    assert parse(f"\n\n1. A {TRUE}", "robust").rewrites == {"entailment": "A"}


def test_reference_deletes_line_feeds_without_a_blank() -> None:
    text = f"1. It rains\nnow. {TRUE}\n2. It\nsnows. {FALSE}"
    assert parse(text).rewrites == {"entailment": "It rainsnow.", "contradiction": "Itsnows."}
    assert parse(text, "robust").rewrites == {"entailment": "It rains now.", "contradiction": "It snows."}


def test_reference_splits_at_the_first_of_doubled_separators() -> None:
    text = f"1. Look at page 2. It is long. {TRUE}\n2. B {FALSE}"
    parsed = parse(text)
    assert parsed.rewrites == {
        "entailment": "It is long. 2. B " + FALSE,
        "contradiction": f"It is long. {TRUE}2. B",
    }
    assert parsed.warnings == ("separator_repeated", "no_verdict", "several_verdicts")
    assert parse(text, "robust").rewrites == {
        "entailment": "Look at page 2. It is long.",
        "contradiction": "B",
    }


def test_the_third_separator_counts_in_the_second_part_only() -> None:
    text = f"1. See 3. A {TRUE}\n2. B {FALSE}\n3. C {OPEN}"
    parsed = parse(text)
    assert parsed.rewrites == {"entailment": "See 3. A", "contradiction": "B", "neutral": "C"}
    assert parsed.warnings == ()


def test_a_later_rewrite_of_a_label_counts() -> None:
    text = f"1. A {TRUE}\n2. B {TRUE}"
    for parser in ("reference", "robust"):
        parsed = parse(text, parser)
        assert parsed.rewrites == {"entailment": "B"}
        assert parsed.warnings == ("label_repeated",)


def test_a_verdict_anywhere_in_a_piece_is_taken_out() -> None:
    assert parse(f"1. {TRUE} A").rewrites == {"entailment": "A"}
    assert parse(f"1. {TRUE} A", "robust").warnings == ("no_verdict",)


def test_a_verdict_with_nothing_in_front() -> None:
    assert parse(f"1. {TRUE}").rewrites == {"entailment": ""}
    assert parse(f"1. {TRUE}").warnings == ("no_rewrite",)
    assert parse(f"1. {TRUE}", "robust").rewrites == {}
    assert parse(f"1. {TRUE}", "robust").warnings == ("no_rewrite",)


def test_uncut_continuations_are_cut_at_the_first_blank_line() -> None:
    text = f"1. A {TRUE}\n2. B {FALSE}\n\nContext: C\n1. D {OPEN}"
    for parser in ("reference", "robust"):
        assert parse(text, parser).rewrites == {"entailment": "A", "contradiction": "B"}
    assert cut(text).endswith(FALSE)


def test_robust_takes_any_number_of_items_and_sloppy_verdicts() -> None:
    text = (
        "Sure:\n 1) A is so.   then the claim is TRUE\r\n2. B\r\nis so. Then the claim is false .\n"
        "3. In 3.5 days. Then the claim\nis inconclusive\n4. D"
    )
    parsed = parse(text, "robust")
    assert parsed.rewrites == {
        "entailment": "A is so.",
        "contradiction": "B is so.",
        "neutral": "In 3.5 days.",
    }
    assert parsed.warnings == ("no_verdict",)


def test_robust_does_not_split_inside_lines() -> None:
    text = f"1. A 2. B {TRUE}"
    assert parse(text, "robust").rewrites == {"entailment": "A 2. B"}
    assert parse(text).rewrites == {"entailment": "B"}


WORDS = st.text("ab c", min_size=1, max_size=12).filter(lambda text: text == text.strip())


@given(st.lists(st.tuples(WORDS, st.sampled_from(LABELS)), min_size=1, max_size=3))
def test_prompts_are_read_back(items: list[tuple[str, Label]]) -> None:
    text = "\n".join(
        f"{place}. {rewrite} {VERBALIZERS[label]}" for place, (rewrite, label) in enumerate(items, 1)
    )
    expected = {label: rewrite for rewrite, label in items}
    assert parse(text).rewrites == expected
    assert parse(text, "robust").rewrites == expected


@given(st.text(st.sampled_from("123. \nab") | st.characters(), max_size=60))
def test_any_text_can_be_read(text: str) -> None:
    for parser in ("reference", "robust"):
        parsed = parse(text + TRUE, parser)
        assert set(parsed.warnings) <= set(PARSE_WARNINGS)
