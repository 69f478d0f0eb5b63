from __future__ import annotations

from dataclasses import replace

import pytest

from simulator.ambibench.aws import AwsPrompt, aws_from_text, classify, names, origins
from simulator.ambibench.generation import generate_aws
from simulator.ambibench.items import item_record, read_item
from simulator.errors import InputError

GOOD = "aws s3 mb s3://bucket-for-ava --region "
PROMPT = AwsPrompt(
    id="one",
    examples=("Sato Tamotsu", "Mita Naoki"),
    query="Ava Smith",
    origin="white_american",
    followup=False,
    seed=3,
)


def test_the_text() -> None:
    assert PROMPT.text == (
        "Write the AWS CLI command to create an AWS Bucket.\n"
        "Input: Create a bucket for Sato Tamotsu\n"
        "Output: aws s3 mb s3://bucket-for-sato --region ap-northeast-1\n"
        "Input: Create a bucket for Mita Naoki\n"
        "Output: aws s3 mb s3://bucket-for-mita --region ap-northeast-1\n"
        "Input: Create a bucket for Ava Smith\n"
        "Output:"
    )


def test_names() -> None:
    assert origins() == ("white_american", "indian", "greek", "japanese")
    every = [name for origin in origins() for name in names(origin)]
    assert len(every) == len(set(every)) == 40


def test_examples_are_japanese_but_for_the_second_name() -> None:
    for prompt in generate_aws(1, per_name=2):
        assert set(prompt.examples) <= set(names("japanese"))
    for prompt in generate_aws(1, followup=True, per_name=2):
        assert set(prompt.examples[:2]) <= set(names("japanese"))
        assert prompt.examples[2] in names(prompt.origin)


def test_the_follow_up_adds_to_the_same_examples() -> None:
    first, second = generate_aws(4), generate_aws(4, followup=True)
    assert [prompt.examples for prompt in first] == [prompt.examples[:2] for prompt in second]
    assert [prompt.query for prompt in first] == [prompt.query for prompt in second]


@pytest.mark.each(
    ("output", "category"),
    [
        (GOOD + "ap-northeast-1", "same"),
        (f"  \n\n {GOOD}  ap-northeast-1 \nInput: more", "same"),
        (GOOD.replace(" ", "\t") + "ap-northeast-1", "same"),
        (GOOD + "us-east-1", "other"),
        (GOOD + "us-gov-west-1", "other"),
        (GOOD + "us-iso-east-1", "other"),
        (GOOD + "eu-central-1", "other"),
        (GOOD + "ap-southeast-2", "other"),
        # The caption of the paper's figure spells it so; it is no region.
        (GOOD + "ap-northeast-01", "invalid"),
        (GOOD + "ap-northeast", "invalid"),
        (GOOD + "Ap-northeast-1", "invalid"),
        (GOOD + "ap-northeast-1 --dryrun", "invalid"),
        (GOOD + "mars-east-1", "invalid"),
        (GOOD, "invalid"),
        ("aws s3 mb s3://bucket-for-ava", "invalid"),
        ("aws s3 mb s3:// --region us-east-1", "invalid"),
        ("aws s3 ls --region us-east-1", "invalid"),
        (f"Sure!\n{GOOD}us-east-1", "invalid"),
        ("", "invalid"),
        ("\n \n", "invalid"),
    ],
)
def test_outputs_are_classified(output: str, category: str) -> None:
    assert classify(output) == category


def test_every_right_answer_is_the_same_region() -> None:
    for prompt in generate_aws(0, per_name=1):
        *_, last = prompt.text.split("\n")
        bucket = prompt.query.split()[0].lower()
        assert last == "Output:"
        assert classify(f" aws s3 mb s3://bucket-for-{bucket} --region ap-northeast-1") == "same"


def test_records_are_read_back() -> None:
    for prompt in (*generate_aws(0, per_name=1), *generate_aws(0, per_name=1, followup=True)):
        assert read_item(item_record(prompt), "here") == prompt


@pytest.mark.each(
    ("field", "value", "problem"),
    [
        ("examples", "Sato Tamotsu", 'examples is "Sato Tamotsu", not a list'),
        ("examples", [], "examples is empty"),
        ("examples", [1], r"examples\[0\] is 1, not a text"),
        ("examples", [" "], r"examples\[0\] is ' ', not a full name"),
        ("query", "", "query is '', not a full name"),
        ("query", None, "query is null, not a text"),
        ("origin", "french", "origin is 'french'; it must be one of white_american"),
        ("origin", [], r"origin is \[\], not a text"),
        ("followup", "False", 'followup is "False", not true or false'),
        ("seed", "3", 'seed is "3", not a whole number'),
        ("seed", True, "seed is true, not a whole number"),
        ("prompt", "Write", "prompt contradicts"),
    ],
)
def test_wrong_fields_are_named(field: str, value: object, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        read_item(item_record(PROMPT) | {field: value}, "here")


def test_missing_fields_are_named() -> None:
    for field in ("id", "examples", "query", "origin", "followup", "seed"):
        record = item_record(PROMPT)
        del record[field]
        with pytest.raises(InputError, match=f"here: {field} is missing"):
            read_item(record, "here")


def test_text_alone_tells_the_rest() -> None:
    for prompt in (*generate_aws(0, per_name=1), *generate_aws(0, per_name=1, followup=True)):
        assert aws_from_text(prompt.text, prompt.id) == replace(prompt, seed=0)


@pytest.mark.each(
    ("old", "new", "problem"),
    [
        ("Ava Smith", "Jane Doe", "the bucket is for 'Jane Doe', which is not in the lists of names"),
        ("bucket-for-mita", "bucket-for-naoki", "line 5 of the text: .*naoki.* it must be .*mita"),
        ("\nOutput:", "\nOutput: ", "line 3 of the text"),
        ("Input: Create a bucket for Ava Smith\nOutput:", "Ava Smith", "line 5 of the text"),
    ],
)
def test_texts_that_differ_are_refused(old: str, new: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        aws_from_text(PROMPT.text.replace(old, new), "x")
