from __future__ import annotations

import asyncio
import json

import pytest

from simulator.ambient.data import PoolPair
from simulator.ambient.pool.groups import Decoding, draw, new_pairs_prompt, parse_pair, prompts_of, samples_of
from simulator.errors import InputError
from simulator.generation import Journal, key_of
from simulator.models import BadRequest, Capabilities, Completion, Refused, ScriptModel


def group(number):
    pairs = [
        PoolPair(
            f"p{number}-{place}", f"A {number}{place}.", f"B {number}{place}.", ("neutral", "entailment")
        )
        for place in range(4)
    ]
    return tuple(pairs)


GROUPS = [group(number) for number in range(3)]
DECODING = Decoding(seed=7)


def pair_text(number):
    return f" Cats sleep {number}.\nSentence 2: Dogs sleep {number}."


def play(model, path, *, groups=GROUPS, decoding=DECODING, **options):
    asked = prompts_of(groups, "m", decoding)
    with Journal(path) as journal:
        asyncio.run(draw(model, asked, decoding, journal, **options))
        return samples_of(asked, journal)


def test_prompt():
    assert new_pairs_prompt(GROUPS[0]).text == (
        "Write pairs of sentences that are related to each other in the same way.\n\n"
        "Sentence 1: A 00.\nSentence 2: B 00.\n\n"
        "Sentence 1: A 01.\nSentence 2: B 01.\n\n"
        "Sentence 1: A 02.\nSentence 2: B 02.\n\n"
        "Sentence 1: A 03.\nSentence 2: B 03.\n\n"
        "Sentence 1:"
    )
    assert new_pairs_prompt(GROUPS[0], "zh").text.endswith("Sentence 2: B 03.\n\nSentence 1:")


@pytest.mark.each(
    ("text", "pair"),
    [
        (" It rains.\nSentence 2: It pours.", ("It rains.", "It pours.")),
        ("Sentence 1: It rains.\nSentence 2: It pours.\n", ("It rains.", "It pours.")),
        (" It rains.\nSentence 2: It pours.\n\nSentence 1: More.", ("It rains.", "It pours.")),
        (" It rains.", None),
        (" It rains. Sentence 2: It pours.", None),
        (" It rains.\nSentence 2:It pours.", None),
        (" It rains.\nSentence 2: It pours.\nSentence 2: It snows.", None),
        (" It rains.\nIt thunders.\nSentence 2: It pours.", ("It rains.\nIt thunders.", "It pours.")),
        ("\nSentence 2: It pours.", None),
        ("", None),
    ],
)
def test_exactly_two_parts(text, pair):
    assert parse_pair(text) == pair


def test_a_model_is_sampled_five_times_per_prompt_as_in_the_paper(tmp_path):
    seen = []

    def script(request):
        seen.append(request)
        return pair_text(len(seen))

    result = play(ScriptModel(script), tmp_path / "samples.jsonl")
    assert (result.prompts, result.texts, result.refused, len(result.pairs)) == (3, 15, 0, 15)
    assert result.pairs[0].examples == ("p0-0", "p0-1", "p0-2", "p0-3")
    assert result.pairs[0].shown[0] == ("A 00.", "B 00.")
    first = seen[0]
    assert (first.temperature, first.top_p, first.max_tokens, first.stop) == (1.0, 0.9, 120, ("\n\n",))
    assert first.plain and first.purpose == "ambient.new_pairs" and first.prompt_version
    assert len({(sent.seed, sent.messages) for sent in seen}) == 15


def test_models_with_several_samples_get_one_request_per_prompt(tmp_path):
    def script(request):
        assert request.samples == 5 and not request.plain
        return Completion(text="", samples=(*map(pair_text, range(4)), "no pair"))

    able = Capabilities(samples=True)
    result = play(ScriptModel(script, capabilities=able), tmp_path / "samples.jsonl")
    assert (result.texts, len(result.pairs)) == (15, 12)


def test_the_same_again_goes_on_where_it_stopped(tmp_path):
    path = tmp_path / "samples.jsonl"
    asked = []

    def breaks(request):
        asked.append(request)
        return BadRequest("down") if "A 13." in request.messages[0].content else pair_text(len(asked))

    with pytest.raises(BadRequest):
        play(ScriptModel(breaks), path, concurrency=1)
    assert len(path.read_text().splitlines()) == 1
    with path.open("a") as file:
        file.write('{"key": "half a li')
    before = len(asked)

    def works(request):
        asked.append(request)
        return pair_text(len(asked))

    advances = []
    result = play(ScriptModel(works), path, advance=lambda: advances.append(1))
    assert len(asked) - before == 10 and len(advances) == 2
    assert result.prompts == 3 and result.texts == 15
    assert play(ScriptModel(breaks), path) == result  # nobody is asked


def test_refusals_are_not_requested_again(tmp_path):
    path = tmp_path / "samples.jsonl"
    script = ScriptModel(lambda request: Refused("no", text=""))
    result = play(script, path)
    assert (result.prompts, result.refused, result.texts, result.pairs) == (3, 3, 0, ())
    assert play(ScriptModel(lambda request: pair_text(0)), path) == result


def test_order_is_that_of_the_prompts(tmp_path):
    delays = iter((0.03, 0.0, 0.0))
    model = ScriptModel(
        lambda request: f" {request.messages[0].content[-30:-28]}x\nSentence 2: y",
        latency=lambda request: next(delays, 0.0),
    )
    first = play(model, tmp_path / "a.jsonl", decoding=Decoding(samples=1))
    two = play(model, tmp_path / "b.jsonl", decoding=Decoding(samples=1), concurrency=1)
    assert first == two
    assert [pair.examples[0] for pair in first.pairs] == ["p0-0", "p1-0", "p2-0"]


def test_keys_follow_from_all_that_samples_follow_from():
    keys = {prompt.key for prompt in prompts_of(GROUPS, "m", DECODING)}
    assert len(keys) == 3
    for others in (
        prompts_of(GROUPS, "n", DECODING),
        prompts_of(GROUPS, "m", Decoding(seed=8)),
        prompts_of(GROUPS, "m", Decoding(seed=7, language="zh")),
        prompts_of([group(number) for number in (4, 5)], "m", DECODING),
    ):
        assert keys.isdisjoint(prompt.key for prompt in others)


def test_journals_of_others_are_not_gone_on_with(tmp_path):
    path = tmp_path / "journal.jsonl"
    with Journal(path) as journal:
        journal.add("a", {"n": 1})
        journal.require_only({"a", "b"}, "seed")
        with pytest.raises(InputError, match=r"journal\.jsonl.*another seed"):
            journal.require_only({"b"}, "seed")
    with Journal(path) as journal:
        assert journal.rows == {"a": {"n": 1}}


@pytest.mark.parametrize("line", ["no JSON", json.dumps({"n": 1}), "[]"])
def test_lines_that_are_none_of_a_journal(tmp_path, line):
    path = tmp_path / "journal.jsonl"
    path.write_text(f"{line}\n")
    with pytest.raises(InputError, match="line 1"):
        Journal(path)


def test_journals_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be written"):
        Journal(tmp_path / "file" / "journal.jsonl")


def test_keys_are_names():
    assert key_of("a", {"x": 1, "y": 2}) == key_of("a", {"y": 2, "x": 1}) != key_of("a", {"x": 1, "y": 3})
