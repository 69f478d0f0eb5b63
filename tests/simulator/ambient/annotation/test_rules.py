"""The rules of a linguist's form, one by one (spec 3, 4)."""

import json
from itertools import product
from typing import get_args

import pytest
from shared_data import SHARED

from simulator.ambient.annotation.rules import (
    SENTENCES,
    Annotation,
    Code,
    Problem,
    check_annotation,
    consolidated_example,
    describe,
    flags,
    read_annotation,
)
from simulator.ambient.examples import Disambiguation, Example, findings
from simulator.ambient.labels import parse_label, parse_labels
from simulator.errors import InputError

P, H = "They met at the bank.", "They met near water."
PAIR = Example(id="7", premise=P, hypothesis=H)


def form(labels: str, *rewrites: tuple[str, str, str]) -> Annotation:
    return Annotation(
        labels=parse_labels(labels),
        rewrites=tuple(Disambiguation(a, b, parse_label(c)) for a, b, c in rewrites),
    )


def problems(annotation: Annotation, *, consolidated: bool = False) -> list[tuple[str, str]]:
    return [
        (problem.code, problem.field)
        for problem in check_annotation(P, H, annotation, consolidated=consolidated)
    ]


RIVER, MONEY = "They met at the river bank.", "They met at the savings bank."
GOOD_ROWS = ((RIVER, H, "entailment"), (MONEY, H, "neutral"))
GOOD = form("entailment, neutral", *GOOD_ROWS)


@pytest.mark.each(
    "annotation",
    [
        Annotation(discard="offensive"),
        form("contradiction"),
        GOOD,
        form("entailment, neutral", (RIVER, "a", "entailment"), (MONEY, "b", "neutral")),
        form("entailment, neutral", (P, "a", "entailment"), (P, "b", "neutral"), (P, "c", "neutral")),
        form(
            "entailment, neutral, contradiction",
            *((RIVER, text, "entailment") for text in "ab"),
            (MONEY, "a", "neutral"),
            (MONEY, "b", "contradiction"),
        ),
    ],
)
def test_what_may_be_submitted(annotation: Annotation) -> None:
    assert problems(annotation) == []
    assert problems(annotation, consolidated=True) == []


@pytest.mark.each(
    ("annotation", "expected"),
    [
        (Annotation(), [("no_labels", "labels")]),
        (Annotation(discard="offensive", labels=parse_labels("neutral")), [("discarded", "labels")]),
        (Annotation(discard="not_fluent", rewrites=GOOD.rewrites), [("discarded", "rewrites")]),
        (form("neutral", (RIVER, H, "neutral")), [("one_label", "rewrites")]),
        (
            form("entailment, neutral"),
            [("label_without_rewrite", "labels.entailment"), ("label_without_rewrite", "labels.neutral")],
        ),
        (
            form("entailment, neutral", (RIVER, H, "entailment"), (MONEY, H, "entailment")),
            [("label_without_rewrite", "labels.neutral")],
        ),
        (
            form("entailment, neutral", *GOOD_ROWS, ("x", H, "contradiction")),
            [("label_not_chosen", "rewrites[2].label")],
        ),
        (
            form("entailment, neutral", *GOOD_ROWS, *((text, H, "neutral") for text in "abc")),
            [("too_many", "rewrites")],
        ),
        (form("entailment, neutral", *GOOD_ROWS, (RIVER + " ", H, "neutral")), [("same", "rewrites[2]")]),
        (form("entailment, neutral", *GOOD_ROWS, ("  ", H, "neutral")), [("empty", "rewrites[2].premise")]),
        (
            form("entailment, neutral", (P, H, "entailment"), (" " + P, H, "neutral")),
            [("same", "rewrites[1]"), ("nothing_changed", "rewrites")],
        ),
        (
            form("entailment, neutral", (RIVER, H, "entailment"), (P, H, "neutral")),
            [("one_changed", "premise")],
        ),
        (
            form("entailment, neutral", (RIVER, H, "entailment"), (P, "x", "neutral")),
            [("one_changed", "premise"), ("one_changed", "hypothesis")],
        ),
        (
            form("entailment, neutral", (RIVER, H, "entailment"), (MONEY, "x", "neutral")),
            [("one_changed", "hypothesis")],
        ),
    ],
)
def test_what_may_not(annotation: Annotation, expected: list[tuple[str, str]]) -> None:
    assert problems(annotation) == expected


def test_a_row_of_the_dataset_has_two_distinct_rewrites_of_an_ambiguous_side() -> None:
    one_premise = form("entailment, neutral", (RIVER, "x", "entailment"), (RIVER, "y", "neutral"))
    assert problems(one_premise) == []
    assert problems(one_premise, consolidated=True) == [("one_distinct", "premise")]
    assert flags(P, H, one_premise) == (False, True)
    left = form("entailment, neutral", *GOOD_ROWS, (P, H, "neutral"))
    assert problems(left) == []
    assert problems(left, consolidated=True) == [("unchanged", "rewrites[2].premise")]


def test_how_many_changed_rewrites_a_side_may_have() -> None:
    """Return all ways to change up to four rewrites: 0 or at least 2 per side, at least one side with 2."""
    for size in (1, 2, 3, 4):
        for changed in product(product((False, True), repeat=2), repeat=size):
            rewrites = [
                (f"premise {place}" if first else P, f"hypothesis {place}" if other else H, label)
                for place, ((first, other), label) in enumerate(
                    zip(changed, ("entailment", *["neutral"] * 3), strict=False)
                )
            ]
            counts = [sum(column) for column in zip(*changed, strict=True)]
            allowed = 1 not in counts and max(counts) >= 2
            codes = {code for code, _ in problems(form("entailment, neutral", *rewrites))}
            assert (not codes & {"one_changed", "nothing_changed"}) == allowed


def test_a_problem_names_what_it_concerns() -> None:
    assert str(Problem("empty", "rewrites[1].hypothesis")) == "Rewrite 2: the hypothesis is empty."
    assert str(Problem("label_without_rewrite", "labels.neutral")) == "There is no rewrite for neutral."
    assert Problem("same", "rewrites[0]").side is None
    assert set(SENTENCES) == set(get_args(Code))


def test_consolidated_example() -> None:
    given = form("neutral, entailment", *((f"{a} ", b, c) for a, b, c in GOOD_ROWS))
    made = consolidated_example(PAIR, given)
    assert made == Example(
        id="7",
        premise=P,
        hypothesis=H,
        premise_ambiguous=True,
        labels=frozenset({"entailment", "neutral"}),
        disambiguations=GOOD.rewrites,
    )
    assert not consolidated_example(PAIR, form("neutral")).ambiguous


def test_forms_that_give_no_row() -> None:
    with pytest.raises(InputError, match="Example 7 was discarded"):
        consolidated_example(PAIR, Annotation(discard="incoherent"))
    with pytest.raises(InputError, match="Example 7: There is no rewrite for neutral"):
        consolidated_example(PAIR, form("entailment, neutral", *GOOD_ROWS[:1], (MONEY, H, "entailment")))


def test_a_form_goes_through_json() -> None:
    for annotation in (GOOD, form("neutral"), Annotation(discard="offensive", comment="no")):
        assert read_annotation(json.loads(json.dumps(annotation.payload()))) == annotation
    assert describe(GOOD) == "entailment, neutral"
    assert describe(Annotation(discard="offensive")) == "discarded (offensive)"
    assert read_annotation({"labels": ["neutral"]}) == form("neutral")


@pytest.mark.each(
    ("payload", "field"),
    [
        ({"labels": ["maybe"]}, "labels"),
        ({"labels": "neutral"}, "labels"),
        ({"discard": "dull"}, "discard"),
        ({"rewrites": [{"premise": "a", "hypothesis": 3, "label": "neutral"}]}, r"rewrites\[0\].hypothesis"),
        ({"rewrites": [{"premise": "a", "hypothesis": "b", "label": None}]}, r"rewrites\[0\].label"),
        ({"comment": 3}, "comment"),
    ],
)
def test_a_form_that_cannot_be_read(payload: dict[str, object], field: str) -> None:
    with pytest.raises(InputError, match=field):
        read_annotation(payload)


def test_valid_forms_give_valid_rows_of_the_dataset() -> None:
    """All forms of two and three rewrites built from a few sentences, some of which are allowed."""
    readings = [
        Disambiguation(premise, hypothesis, parse_label(label))
        for premise, hypothesis, label in product(
            ("p", "q", " s"), ("r", "t ", "u"), ("entailment", "neutral")
        )
    ]
    allowed = 0
    for rewrites in (*product(readings, repeat=2), *product(readings, repeat=3)):
        annotation = Annotation(labels=parse_labels("entailment, neutral"), rewrites=rewrites)
        if check_annotation("p", "r", annotation, consolidated=True):
            continue
        made = consolidated_example(Example(id="7", premise="p", hypothesis="r"), annotation)
        assert [finding for finding in findings(made) if finding.severity == "error"] == []
        assert frozenset(reading.label for reading in made.disambiguations) == made.labels
        assert (made.premise_ambiguous, made.hypothesis_ambiguous) == flags("p", "r", annotation)
        assert check_annotation("p", "r", annotation) == ()
        allowed += 1
    assert allowed > 100


PUBLISHED = SHARED / "ambient" / "ambient_full.jsonl"


@pytest.mark.skipif(not PUBLISHED.is_file(), reason=f"no dataset at {PUBLISHED}; set ASKBACK_SHARED")
def test_published_rows_satisfy_the_rules() -> None:
    codes = {}
    for line in PUBLISHED.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        annotation = form(
            row["labels"], *((r["premise"], r["hypothesis"], r["label"]) for r in row["disambiguations"])
        )
        texts = row["premise"], row["hypothesis"]
        assert flags(*texts, annotation) == (row["premise_ambiguous"], row["hypothesis_ambiguous"])
        if faults := check_annotation(*texts, annotation, consolidated=True):
            codes[str(row["id"])] = [fault.code for fault in faults]
    assert len(codes) == 1
    assert set(*codes.values()) <= {"label_without_rewrite", "label_not_chosen"}
