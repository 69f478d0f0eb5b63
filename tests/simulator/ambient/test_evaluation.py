"""Judgments of models' rewrites: items, and correct rows."""

from collections import Counter

import pytest

from simulator.ambient.crowd import TIES, Tie, evaluation_measures, is_correct
from simulator.ambient.examples import Disambiguation, Example
from simulator.ambient.labels import LABELS, Label, Side
from simulator.ambient.prepare import distractors_of, evaluation_items, labelled_rewrites
from simulator.ambient.records import CrowdRecord, GenerationRecord
from simulator.errors import InputError
from simulator.stats import wilson

E: Label = "entailment"
N: Label = "neutral"
C: Label = "contradiction"
TWO = "1. First. Then the claim is true.\n2. Second. Then the claim is false."
THREE = f"{TWO}\n3. Third. Then the claim is inconclusive."
DISTRACTORS: dict[tuple[str, Side], str] = {(str(id), "premise"): f"distractor {id}" for id in range(100)}


def written(text: str, *ids: int) -> list[GenerationRecord]:
    return [
        GenerationRecord(
            id=str(id),
            premise=f"premise {id}",
            hypothesis="hypothesis",
            premise_ambiguous=True,
            hypothesis_ambiguous=False,
            prompt="",
            generation=text,
            gold={E: "a", C: "b"},
        )
        for id in ids
    ]


def test_candidates_are_the_rewrites_and_the_distractor_fills_up() -> None:
    results = {"m/one": written("1. Only this.", 1), "m/three": written(THREE, 1), "m/two": written(TWO, 1)}
    single, three, two = evaluation_items(results, DISTRACTORS, seed=0)
    assert [item.origin for item in (single, three, two)] == ["m/one", "m/three", "m/two"]
    assert [candidate.sentence for candidate in single.candidates] == ["distractor 1"] * 3
    assert {c.sentence: c.label for c in two.candidates} == {"First.": E, "Second.": C, "distractor 1": None}
    assert {c.label for c in three.candidates} == {E, N, C}
    assert (two.task, two.gold, two.example_id, two.side) == ("evaluate", frozenset({E, C}), "1", "premise")
    assert len({item.id for item in (single, three, two)}) == 3


def test_one_rewrite_leaves_two_slots_to_the_distractor() -> None:
    (item,) = evaluation_items({"m": written(TWO.split("\n")[0], 1)}, DISTRACTORS, seed=0)
    assert Counter(candidate.sentence for candidate in item.candidates) == {"First.": 1, "distractor 1": 2}


def test_every_model_gets_the_same_examples_also_when_they_come_one_by_one() -> None:
    together = evaluation_items(
        {"a": written(TWO, *range(100)), "b": written(THREE, *reversed(range(100)))}, DISTRACTORS, seed=3
    )
    drawn = {model: [item.example_id for item in together if item.origin == model] for model in "ab"}
    assert drawn["a"] == drawn["b"]
    assert len(set(drawn["a"])) == 50
    alone = evaluation_items({"b": written(THREE, *range(100))}, DISTRACTORS, seed=3)
    assert [item.example_id for item in alone] == drawn["b"]
    other = evaluation_items({"b": written(THREE, *range(100))}, DISTRACTORS, seed=4)
    assert {item.example_id for item in other} != set(drawn["b"])
    few = evaluation_items({"b": written(THREE, *range(100))}, DISTRACTORS, seed=3, items=5)
    assert few == alone[:5]


def test_every_order_of_candidates_occurs() -> None:
    items = evaluation_items({"m": written(TWO, *range(100))}, DISTRACTORS, seed=0, items=100)
    orders = Counter(tuple(candidate.label for candidate in item.candidates) for item in items)
    assert len(orders) == 6
    assert min(orders.values()) >= 6


def test_missing_results_are_reported() -> None:
    with pytest.raises(InputError, match="no example has results of every model"):
        evaluation_items({"a": written(TWO, 1), "b": written(TWO, 2)}, DISTRACTORS, seed=0)
    with pytest.raises(InputError, match="no models"):
        evaluation_items({}, DISTRACTORS, seed=0)
    with pytest.raises(InputError, match=r"no distractor for the ambiguous sentence of examples 1$"):
        evaluation_items({"a": written(TWO, 1)}, {}, seed=0)
    assert len(evaluation_items({"a": written(THREE, 1)}, {}, seed=0)) == 1


def test_an_example_without_its_distractor_is_left_out_for_all_models_and_another_is_drawn(caplog) -> None:
    results = {"a": written(TWO, 1, 2, 3), "b": written(THREE, 1, 2, 3)}
    first = evaluation_items(results, DISTRACTORS, seed=0, items=1)[0].example_id
    known = DISTRACTORS | {(first, "premise"): "First."}
    made = evaluation_items(results, known, seed=0, items=2)
    assert {item.example_id for item in made} == {"1", "2", "3"} - {first}
    assert len(made) == 4
    assert (
        f"1 examples left out: no distractor for the ambiguous sentence of examples {first}, or"
        in caplog.text
    )


def test_where_distractors_and_rewrites_come_from() -> None:
    example = Example(
        id="1",
        premise="p",
        hypothesis="h",
        premise_ambiguous=True,
        labels=frozenset({E, N}),
        disambiguations=(Disambiguation("a", "h", E), Disambiguation("b", "h", N)),
        distractors={"premise": "d"},
    )
    assert distractors_of([example]) == {("1", "premise"): "d"}
    (record,) = written("1. Then the claim is true.\n2. This. Then the claim is false.", 1)
    assert labelled_rewrites(record) == {C: "This."}
    (robust,) = written("1) This, then the claim is true", 1)
    assert (labelled_rewrites(robust), list(labelled_rewrites(robust, "robust"))) == ({}, [E])


def judged(
    labels: tuple[Label | None, ...], *slots: tuple[str, int], origin: str = "m", workers: int = 3
) -> CrowdRecord:
    names = {label[0].upper(): label for label in LABELS}
    return CrowdRecord(
        id="1",
        premise="p",
        hypothesis="h",
        side="premise",
        interpretations=("a", "b", "c"),
        labels=labels,
        original=(),
        relabelled=tuple(tuple(names[letter] for letter in votes) for votes, _ in slots),
        plausible=tuple(tuple(worker < yes for worker in range(workers)) for _, yes in slots),
        origin=origin,
    )


GOOD = judged((E, None, N), ("EEN", 2), ("CCC", 0), ("NNN", 3))
TIED = judged((E, None, C), ("EEN", 2), ("NNN", 3), ("CEN", 3))
SHUFFLED = judged((E, None, N), ("EEN", 2), ("NNN", 3), ("CEN", 3))
IMPLAUSIBLE = judged((E, None, N), ("EEE", 1), ("EEE", 3), ("NNN", 3))
ALONE = judged((E, None, None), ("EEE", 3), ("NNN", 0), ("NNN", 0))
NONE = judged((None, None, None), ("EEE", 0), ("NNN", 0), ("NNN", 0))
UNSEEN = judged((E, None, N), ("", 0), ("", 0), ("", 0), workers=0)


@pytest.mark.each(
    ("record", "ties"),
    [
        (GOOD, TIES),
        (TIED, ("first", "lenient")),
        (SHUFFLED, ("lenient",)),
        (IMPLAUSIBLE, ()),
        (ALONE, ()),
        (NONE, ()),
    ],
)
def test_correct(record: CrowdRecord, ties: tuple[Tie, ...]) -> None:
    assert tuple(tie for tie in TIES if is_correct(record, tie)) == ties


def test_share_of_correct_rows_model_by_model() -> None:
    other = judged((E, None, N), ("EEN", 2), ("CCC", 0), ("NNN", 3), origin="other")
    measures = evaluation_measures([GOOD, TIED, ALONE, other, NONE, UNSEEN, IMPLAUSIBLE])
    assert list(measures) == ["m", "other"]
    mine = measures["m"]
    assert mine["correct"].value == pytest.approx(2 / 5)
    assert mine["correct"].n == 5
    assert (mine["rows"], mine["few_rewrites"], mine["without_votes"]) == (6, 2, 1)
    assert mine["workers"] == {0: 1, 3: 5}
    assert measures["other"]["correct"] == pytest.approx(wilson(1, 1))
    strict = evaluation_measures([GOOD, TIED, ALONE], "strict")["m"]["correct"]
    assert strict is not None
    assert strict.value == pytest.approx(1 / 3)
    assert evaluation_measures([UNSEEN])["m"]["correct"] is None
    assert evaluation_measures([]) == {}
