from __future__ import annotations

import pytest

from simulator.ambibench.features import FEATURES, KINDS, Hypothesis, instruction, read_instruction
from simulator.errors import InputError

# Spec section 3: clause by salient feature and by the coded value that is labelled X.
CLAUSES = {
    ("subject", True): "contains a reference to a human",
    ("subject", False): "contains a reference to an animal",
    ("location", True): "contains a reference to an indoor setting",
    ("location", False): "contains a reference to an outdoor setting",
    ("religious", True): "contains a reference to a religious leader",
    ("religious", False): "does not contain a reference to a religious leader",
    ("pronoun", True): "contains a male pronoun",
    ("pronoun", False): "contains a female pronoun",
    ("propn", True): "contains a proper noun",
    ("propn", False): "does not contain a proper noun",
    ("negation", True): "does not contain a negation",
    ("negation", False): "contains a negation",
}


@pytest.mark.each("task", CLAUSES)
def test_informative_instructions(task: tuple[str, bool]) -> None:
    text = instruction("informative", Hypothesis(*task))
    assert text == f"Output 'X' if the sentence {CLAUSES[task]} and 'Y' otherwise."
    assert read_instruction(text) == ("informative", Hypothesis(*task))


def test_the_location_word_can_be_that_of_the_appendix() -> None:
    for value in (True, False):
        task = Hypothesis("location", value)
        text = instruction("informative", task, "location")
        assert text.endswith(f"{task.value} location and 'Y' otherwise.")
        assert read_instruction(text) == ("informative", task)


def test_other_kinds_tell_nothing() -> None:
    frame = "Output 'X' if the sentence contains a {} and 'Y' otherwise."
    tasks = [Hypothesis(feature, value) for feature in FEATURES for value in (True, False)]
    for kind, words in (("uninformative", "[category withheld]"), ("wug", "wug")):
        assert {instruction(kind, task) for task in tasks} == {frame.format(words)}
        assert read_instruction(frame.format(words)) == (kind, None)


def test_instructions_differ() -> None:
    tasks = [Hypothesis(feature, value) for feature in FEATURES for value in (True, False)]
    assert len({instruction(kind, task) for kind in KINDS for task in tasks}) == 12 + 2


@pytest.mark.parametrize(
    "text", ["", "Output X.", "Output 'X' if the sentence contains a wug and 'Y' otherwise"]
)
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(InputError, match="not an instruction"):
        read_instruction(text)
