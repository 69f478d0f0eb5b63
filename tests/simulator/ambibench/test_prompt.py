from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from shared_data import SHARED

from simulator.ambibench.features import FEATURES, FORMATS, KINDS
from simulator.ambibench.generation import draw_instruction, draw_multiple
from simulator.ambibench.items import (
    AmbiguousTextError,
    TextError,
    is_grouped,
    likely_setting,
    prompt_from_text,
    read_item,
)
from simulator.ambibench.prompt import (
    Example,
    Prompt,
    check_prompt,
    completion,
    consistent,
    label_offsets,
    scored_positions,
    shown_text,
    trials,
    whole_text,
)
from simulator.errors import InputError

PUBLISHED = SHARED / "ambibench" / "example_prompts.json"
needs_published = pytest.mark.skipif(
    not PUBLISHED.is_file(), reason=f"published prompts not found at {PUBLISHED}; set ASKBACK_SHARED"
)
HEAD = "Output 'X' if the sentence contains a [category withheld] and 'Y' otherwise."
EXAMPLES = (
    Example("The worm is in the canyon.", False, False, "Y"),
    Example("The critic is in the courtroom.", True, True, "X"),
    Example("The duck is in the house.", False, True, "X"),
)
prompts = st.builds(
    draw_multiple,
    st.integers(0, 2**31 - 1),
    st.sampled_from(FEATURES),
    st.sampled_from(FORMATS),
    st.sampled_from(KINDS),
    length=st.integers(1, 20),
)


def made(form: str, **changes: Any) -> Prompt:
    base: dict[str, Any] = {
        "id": "p",
        "setting": "instruction",
        "pair": "subject_location",
        "salient": "location",
        "x_is": True,
        "kind": "uninformative",
        "instruction": HEAD,
        "examples": EXAMPLES,
        "seed": 1,
    }
    return Prompt(**(base | {"format": form} | changes))


@cache
def records() -> list[tuple[str, dict[str, Any]]]:
    if not PUBLISHED.is_file():
        return []
    document = json.loads(PUBLISHED.read_text(encoding="utf-8"))
    return [(name, record) for name, group in document.items() for record in group["prompts"]]


def test_the_arrow_format() -> None:
    prompt = made("arrow")
    text = (
        f"{HEAD}\nThe worm is in the canyon.\n>Y\nThe critic is in the courtroom.\n>X\n"
        "The duck is in the house.\n>X"
    )
    assert whole_text(prompt) == text
    assert shown_text(prompt, 1) == f"{HEAD}\nThe worm is in the canyon.\n>"
    assert shown_text(prompt, 3) == text[:-1]
    assert completion(prompt, 3) == "X"


def test_the_qa_format() -> None:
    prompt = made("qa")
    text = (
        f"{HEAD}\nQ: The worm is in the canyon.\nA: Y\nQ: The critic is in the courtroom.\nA: X\n"
        "Q: The duck is in the house.\nA: X"
    )
    assert whole_text(prompt) == text
    assert shown_text(prompt, 1) == f"{HEAD}\nQ: The worm is in the canyon.\nA:"
    assert shown_text(prompt, 3) == text[:-2]
    assert completion(prompt, 1) == " Y"


@settings(max_examples=40)
@given(prompts)
def test_cuts_labels_and_offsets_agree(prompt: Prompt) -> None:
    text, offsets = whole_text(prompt), label_offsets(prompt)
    assert len(offsets) == len(prompt.examples)
    for k, (offset, example) in enumerate(zip(offsets, prompt.examples, strict=True), start=1):
        shown = shown_text(prompt, k)
        assert text[offset] == example.label
        assert shown == text[:offset].rstrip(" ")
        assert shown + completion(prompt, k) == text[: offset + 1]
        assert not shown.endswith((" ", "\n"))
        # Prompts are prefix-consistent: k examples are k - 1 examples plus one.
        assert whole_text(replace(prompt, examples=prompt.examples[:k])) == text[: offset + 1]
    assert not text.endswith("\n") and "\n\n" not in text
    assert offsets[-1] == len(text) - 1


@settings(max_examples=40)
@given(prompts)
def test_text_alone_tells_the_rest(prompt: Prompt) -> None:
    text = whole_text(prompt)
    try:
        again = prompt_from_text(text, id=prompt.id, setting=prompt.setting)
    except AmbiguousTextError as error:
        assert prompt.kind != "informative"
        mine = tuple(task for task in error.hypotheses if task.pair == prompt.pair)
        assert mine == consistent(prompt.pair, prompt.examples)
    else:
        assert replace(again, seed=prompt.seed) == prompt


@settings(max_examples=40)
@given(prompts, st.integers(1, 20))
def test_a_cut_text_lacks_its_last_label(prompt: Prompt, k: int) -> None:
    k = min(k, len(prompt.examples))
    with pytest.raises(InputError, match="the last label is missing"):
        prompt_from_text(shown_text(prompt, k), id="x")


def test_an_ambiguous_text_names_what_fits() -> None:
    text = f"{HEAD}\nThe worm is in the canyon.\n>Y\nThe critic is in the courtroom.\n>X"
    with pytest.raises(AmbiguousTextError) as caught:
        prompt_from_text(text, id="x")
    assert "subject (human is X), or location (indoor is X)" in str(caught.value)
    assert [hypothesis.feature for hypothesis in caught.value.hypotheses] == ["subject", "location"]
    # Until a sentence tells, even the pair may be open.
    with pytest.raises(AmbiguousTextError) as caught:
        prompt_from_text(f"{HEAD}\nThe critic is in the theatre.\n>X", id="x")
    assert {task.pair for task in caught.value.hypotheses} == {"subject_location", "propn_negation"}


def test_a_question_after_the_prompt_is_told_from_examples() -> None:
    prompt = made("qa", setting="verbalise", question="What is the [category withheld]?")
    assert trials(prompt)[0].text == f"{whole_text(prompt)}\nWhat is the [category withheld]?"
    assert replace(prompt_from_text(trials(prompt)[0].text, id="p"), seed=1) == prompt


@pytest.mark.each(
    ("text", "line", "problem"),
    [
        ("Hello", 1, "not an instruction"),
        (HEAD, 1, "an example needs a line"),
        (f"{HEAD}\nThe worm is in the canyon.", 2, "an example needs a line"),
        (f"{HEAD}\nThe worm is in the canyon.\n>Z", 3, "not a label in the format arrow"),
        (f"{HEAD}\nThe worm is in the canyon.\n> X", 3, "not a label in the format arrow"),
        (f"{HEAD}\nThe worm is in the canyon.\n>\nThe worm is in the canyon.\n>X", 3, "not a label"),
        (
            f"{HEAD}\nThe worm is in the canyon.\nA: X\nQ: The worm is in the canyon.\nA: X",
            2,
            "not a sentence in",
        ),
        (f"{HEAD}\nQ: The worm is in the canyon.\nA:X", 3, "not a label in the format qa"),
        (f"{HEAD}\nThe worm is in the canyon.\n>X\n", 4, "not a sentence in the format arrow"),
        (f"{HEAD}\nThe worm is in the canyon.\n>X\nThe worm is in the canyon.", 4, "its label is missing"),
        (f"{HEAD}\nThe worm is in the can.\n>X", 2, "outside the templates"),
        (
            "Output 'X' if the sentence contains a male pronoun and 'Y' otherwise.\n"
            "She is in the house with the pope.\n>X",
            1,
            "contradicts",
        ),
    ],
)
def test_a_bad_line_is_named(text: str, line: int, problem: str) -> None:
    with pytest.raises(TextError, match=problem) as caught:
        prompt_from_text(text, id="x")
    assert caught.value.line == line


def test_sentences_and_labels_that_do_not_go_together() -> None:
    mixed = f"{HEAD}\nThe worm is in the canyon.\n>X\nHe is in the house with the pope.\n>X"
    with pytest.raises(InputError, match="not all belong to the same pair"):
        prompt_from_text(mixed, id="x")
    with pytest.raises(InputError, match="follow neither feature of subject_location"):
        prompt_from_text(f"{HEAD}\nThe worm is in the canyon.\n>X\nThe worm is in the canyon.\n>Y", id="x")


def test_which_labels_are_scored() -> None:
    assert scored_positions(made("qa")) == (3,)
    assert scored_positions(made("qa", setting="ft_train")) == (3,)
    for setting in ("multiple", "wug", "ft_eval"):
        assert scored_positions(made("qa", setting=setting)) == (1, 2, 3)
    assert scored_positions(made("qa", setting="verbalise")) == ()


@pytest.mark.each(
    ("changes", "problem"),
    [
        ({"examples": (Example("The worm is here.", False, False, "Y"),)}, "example 1: .*not a sentence"),
        (
            {"examples": (Example("The worm is in the canyon.", True, False, "Y"),)},
            "example 1: .*codes of its features contradict",
        ),
        (
            {"examples": (*EXAMPLES[:2], replace(EXAMPLES[2], label="Y"))},
            "example 3: the label Y does not follow",
        ),
        ({"salient": "subject"}, "example 3: the label X does not follow subject, human labelled X"),
        ({"kind": "wug"}, "its instruction is uninformative, not wug"),
        (
            {
                "kind": "informative",
                "instruction": HEAD.replace("[category withheld]", "reference to a human"),
                "examples": EXAMPLES[:2],
            },
            "instruction contradicts its labels",
        ),
    ],
)
def test_prompts_that_contradict_themselves(changes: dict[str, Any], problem: str) -> None:
    check_prompt(made("qa"))
    with pytest.raises(InputError, match=problem):
        check_prompt(made("qa", **changes))


def test_settings_are_told_from_form() -> None:
    assert likely_setting("uninformative", EXAMPLES) == "instruction"
    assert likely_setting("informative", EXAMPLES[:2]) == "multiple"
    assert likely_setting("wug", EXAMPLES[:2]) == "wug"
    assert likely_setting("uninformative", EXAMPLES, "What?") == "verbalise"
    assert not is_grouped([(True, True), (True, True), (True, False)])
    assert not is_grouped([(True, True), (False, False), (True, True)])


@needs_published
@pytest.mark.each("number", range(140))
def test_published_prompts_are_rebuilt_and_read(number: int) -> None:
    group, record = records()[number]
    prompt = read_item({**record, "id": "p"}, "p")
    assert isinstance(prompt, Prompt)
    check_prompt(prompt)
    assert whole_text(prompt) == record["prompt"]
    try:
        again = prompt_from_text(record["prompt"], id="p", setting=prompt.setting)
    except AmbiguousTextError as error:
        # Three examples or fewer can fit two tasks; so does no prompt that is meant to tell.
        assert group in ("4.4_finetune_ambiguous", "4.4_finetune_control")
        assert set(error.hypotheses) >= set(consistent(prompt.pair, prompt.examples))
    else:
        assert (again.format, again.instruction) == (record["format"], record["instruction"])
        assert (again.pair, again.salient) == (record["construction_type"], record["salient_task"])
        coded = [(example.sentence, example.a, example.b, example.label) for example in again.examples]
        fields = ("sentence", "task_a", "task_b", "label")
        assert coded == [tuple(example[name] for name in fields) for example in record["examples"]]
    if "finetune_prompt" in record:
        last = len(prompt.examples)
        assert shown_text(prompt, last) == record["finetune_prompt"]
        assert completion(prompt, last) == record["finetune_completion"]


@settings(max_examples=40)
@given(st.integers(0, 2**31 - 1), st.sampled_from(FEATURES), st.sampled_from(FORMATS))
def test_two_groups_and_a_query_always_tell_the_task(seed: int, feature: str, form: str) -> None:
    prompt = draw_instruction(seed, feature, form)
    assert len(consistent(prompt.pair, prompt.examples[:2])) == 2
    assert replace(prompt_from_text(whole_text(prompt), id=prompt.id), seed=seed) == prompt
