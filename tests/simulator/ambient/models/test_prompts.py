from __future__ import annotations

from dataclasses import replace

import pytest

from simulator.ambient.examples import Disambiguation, Example
from simulator.ambient.items import GenerateItem
from simulator.ambient.labels import Label
from simulator.ambient.prepare import generate_items
from simulator.ambient.prompts import bridge, instruction, prompt, read_prompt
from simulator.errors import InputError

SOUP = Example(
    id="7_c",
    premise="The soup is not very hot.",
    hypothesis="The soup is cold.",
    premise_ambiguous=True,
    labels=frozenset({"neutral", "contradiction"}),
    disambiguations=(
        Disambiguation("The soup is at most a little hot.", "The soup is cold.", "neutral"),
        Disambiguation("The soup is hot, but not very.", "The soup is cold.", "contradiction"),
        Disambiguation("The soup is lukewarm at best.", "The soup is cold.", "neutral"),
    ),
)


def claim(number: int, *, both: bool = False) -> Example:
    """Return an example with an ambiguous claim."""
    readings: tuple[Label, Label] = ("entailment", "neutral")
    return Example(
        id=str(number),
        premise=f"Context {number}.",
        hypothesis=f"Claim {number}.",
        premise_ambiguous=both,
        hypothesis_ambiguous=True,
        disambiguations=tuple(
            Disambiguation(f"Context {number}.", f"Claim {number}, {label}.", label) for label in readings
        ),
    )


CLAIMS = tuple(claim(number) for number in range(8))


def test_a_prompt_ends_after_the_bridge() -> None:
    item = GenerateItem(id="7_c", example=CLAIMS[0], side="hypothesis", shots=(CLAIMS[3],))
    text = prompt(item)
    first, worked, last = text.split("\n\n")
    assert first == instruction("hypothesis").text
    assert worked.splitlines() == [
        "Context: Context 3.",
        "Claim: Claim 3. Given the context alone, is this claim true, false, or inconclusive?",
        "We don't know, because the claim can be interpreted in many different ways:",
        "1. Claim 3, entailment. Then the claim is true.",
        "2. Claim 3, neutral. Then the claim is inconclusive.",
    ]
    assert last.endswith(f"{bridge('hypothesis')}\n")


def test_all_readings_of_a_worked_example_are_listed_in_its_order() -> None:
    item = GenerateItem(id="x", example=SOUP, side="premise", shots=(SOUP,))
    lines = prompt(item).split("\n\n")[1].splitlines()
    assert [line[:2] for line in lines[3:]] == ["1.", "2.", "3."]
    assert lines[4] == "2. The soup is hot, but not very. Then the claim is false."


def test_the_published_slip_can_be_corrected() -> None:
    published, corrected = (instruction("hypothesis", which).text for which in ("published", "corrected"))
    assert "affects whether its correctness." in published
    assert "affects whether it is correct." in corrected
    assert instruction("premise", "corrected") == instruction("premise", "published")
    item = GenerateItem(id="0", example=CLAIMS[0], side="hypothesis", shots=(), instruction="corrected")
    assert prompt(item).startswith(corrected)


def test_the_instruction_is_there_in_chinese() -> None:
    text = prompt(GenerateItem(id="7_c", example=SOUP, side="premise", shots=()), language="zh")
    assert "歧义" in text.split("\n\n")[0]
    assert text.endswith(f"{bridge('premise')}\n")


def test_worked_examples_are_others_of_the_same_side_drawn_per_item() -> None:
    examples = (*CLAIMS, SOUP, *(replace(SOUP, id=f"s{place}") for place in range(4)), claim(9, both=True))
    items = generate_items(examples, seed=5)
    assert [item.id for item in items] == [example.id for example in examples if example.xor]
    for item in items:
        ids = [shot.id for shot in item.shots]
        assert len(set(ids)) == 4
        assert item.id not in ids
        assert all(shot.sides == (item.side,) for shot in item.shots)
    assert items == generate_items(examples, seed=5)
    assert items != generate_items(examples, seed=6)
    # What is drawn for an item does not hang on those in front.
    assert generate_items(examples[2:8] + examples[:2], seed=5)[0].id == "2"
    drawn = {tuple(shot.id for shot in item.shots) for item in items if item.side == "hypothesis"}
    assert len(drawn) > 1


def test_too_few_others_are_refused() -> None:
    with pytest.raises(
        InputError, match=r"needs 4 worked examples, but only 3 other.*ambiguous only in the hypoth"
    ):
        generate_items(CLAIMS[:4], seed=0)
    assert len(generate_items(CLAIMS[:4], seed=0, shots=3)) == 4


def test_prompts_are_read_back() -> None:
    item = generate_items(CLAIMS, seed=0)[0]
    read = read_prompt(prompt(item))
    assert read.instruction == instruction("hypothesis").text
    assert read.side == "hypothesis"
    assert [shot.premise for shot in read.shots] == [shot.premise for shot in item.shots]
    assert [shot.disambiguations for shot in read.shots] == [shot.disambiguations for shot in item.shots]
    assert (read.example.hypothesis, read.example.disambiguations) == ("Claim 0.", ())


def test_a_reading_may_hold_a_number_and_a_verdict() -> None:
    text = "1. It is. 2. Then the claim is true."
    odd = replace(SOUP, disambiguations=(Disambiguation(text, SOUP.hypothesis, "neutral"),))
    item = GenerateItem(id="x", example=SOUP, side="premise", shots=(odd,))
    assert read_prompt(prompt(item)).shots[0].disambiguations == odd.disambiguations


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("Only this.", "one paragraph"),
        ("One.\n\nContext: a\nClaim: b", "paragraph 2 of the prompt is not an example"),
        (
            "One.\n\nContext: a\n"
            "Claim: b Given the context alone, is this claim true, false, or inconclusive?\n"
            f"{bridge('premise')}\n1. c Then the claim is odd.\n",
            "paragraph 2 of the prompt has a reading without a verdict",
        ),
    ],
)
def test_other_texts_are_refused(text: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        read_prompt(text)
