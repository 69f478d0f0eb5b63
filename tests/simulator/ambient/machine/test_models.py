"""Language models in the seat: requests, logged payloads, errors for tasks they cannot do."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from simulator.ambient.continuations import log_odds, ranks_first
from simulator.ambient.graph import MACHINE
from simulator.ambient.likelihoods import ClaimScorer, NliAnnotator
from simulator.ambient.players import ModelAnnotator
from simulator.ambient.prompts import prompt
from simulator.ambient.trial_log import continuation_record, sampled_options
from simulator.ambient.true_false import true_false_prompt
from simulator.errors import SeatError
from simulator.models import (
    Capabilities,
    Completion,
    Likelihood,
    Malformed,
    Request,
    ScoreRequest,
    ScriptModel,
    TokenLogprob,
)
from simulator.models.base import Position, Scored
from simulator.seeds import derive_seed

TRUE, FALSE = " True", " False"


@dataclass
class Toy:
    """A model whose scores depend only on the text, and which records its requests."""

    answer: Any = ""
    asked: list[Any] = field(default_factory=list)

    def complete(self, request: Request) -> Any:
        self.asked.append(request)
        answer = self.answer(request) if callable(self.answer) else self.answer
        return answer

    def score(self, request: ScoreRequest) -> Scored:
        self.asked.append(request)
        if request.continuations:
            values = (self.likelihood(request.text, continuation) for continuation in request.continuations)
            return Scored(likelihoods=tuple(values), seconds=2.0)
        (at,) = request.offsets
        number = -1.0 - derive_seed(0, request.text) % 100 / 10
        return Scored(positions=(Position(offset=at, token=request.text[at], logprob=number),))

    @staticmethod
    def likelihood(before: str, after: str) -> Likelihood:
        return Likelihood(-float(derive_seed(0, before, after) % 50) - 1, len(after.split()))

    def seat(self, **capabilities: bool) -> ModelAnnotator:
        can = Capabilities(**{"schema": True, "seed": True, **capabilities})
        return ModelAnnotator(
            ScriptModel(self.complete, name="toy", scorer=self.score, capabilities=can)  # type: ignore[arg-type]
        )


def scores(item, played):
    return {row.metric: row.value for row in MACHINE.score(item, played.turns, ())}


async def test_true_or_false_by_scores(run, items):
    toy, item = Toy(), items["true_false"]
    played = await run(item, toy.seat(scoring=True, plain=True))
    assert len(played.turns) == 8
    assert len(toy.asked) == 8, "both words in one pass"
    for payload in played.payloads:
        text = true_false_prompt(payload["template"], item.sentence, payload["rewrite"])
        (asked,) = [request for request in toy.asked if request.text == text]
        assert asked.continuations == (TRUE, FALSE)
        true, false = (likelihood.logprob for likelihood in toy.score(asked).likelihoods)
        assert payload["scores"] == {"True": true, "False": false}
        assert payload["prediction"] == (true > false)
        assert 0 < payload["mass"] < 1
        assert payload["decoding"] == {"service": "offline/toy", "scored": True}
        assert payload["shown"]["statement"] in text
    assert [turn.text for turn in played.turns] == [
        "true" if payload["prediction"] else "false" for payload in played.payloads
    ]
    assert scores(item, played)["null"] == 0


async def test_true_or_false_by_a_table(run, items):
    top = ((TRUE, -0.5), (FALSE, -2.0), (" maybe", -3.0))
    written = Completion(text=TRUE, logprobs=(TokenLogprob(TRUE, -0.5, top[1:]),))
    toy = Toy(written)
    played = await run(items["true_false"], toy.seat(plain=True, logprobs=True), top=7)
    assert all(
        request.plain and request.top_logprobs == 7 and request.max_tokens == 1 for request in toy.asked
    )
    assert {payload["prediction"] for payload in played.payloads} == {True}
    assert scores(items["true_false"], played)["accuracy"] == 0.5
    toy.answer = Completion(text=TRUE, logprobs=(TokenLogprob(TRUE, -0.5, ()),))
    played = await run(items["true_false"], toy.seat(plain=True, logprobs=True))
    assert {payload["prediction"] for payload in played.payloads} == {None}
    assert scores(items["true_false"], played) == {
        "accuracy": 0, **{f"accuracy_{n}": 0 for n in range(4)}, "all_right": 0, "null": 1
    }  # fmt: skip


@pytest.mark.parametrize(("word", "read"), [(" True\n", True), ("False", False), ("true", None), ("", None)])
async def test_true_or_false_by_a_word(run, items, word, read):
    toy = Toy(word)
    played = await run(items["true_false"], toy.seat())
    assert not any(request.plain for request in toy.asked)
    assert {payload["prediction"] for payload in played.payloads} == {read}
    assert {turn.text for turn in played.turns} == {word}
    assert {payload["mass"] for payload in played.payloads} == {None}


async def test_only_remaining_statements_are_requested(run, items):
    toy, item = Toy("True"), items["true_false"]
    whole = await run(item, toy.seat())
    toy.asked.clear()
    again = await run(item, toy.seat(), tuple(whole.turns[:5]))
    assert len(toy.asked) == 3
    assert [turn.payload for turn in again.turns] == [turn.payload for turn in whole.turns]


async def test_disambiguations(run, items):
    toy, item = Toy("1. premise 7 whole read 0 Then the claim is true."), items["generate"]
    for plain in (True, False):
        toy.asked.clear()
        played = await run(item, toy.seat(plain=plain), max_tokens=50)
        (request,) = toy.asked
        assert request.messages[0].content == prompt(item)
        assert (request.plain, request.temperature, request.stop, request.max_tokens) == (
            plain, 0.0, ("\n\n",), 50
        )  # fmt: skip
        payload = played.payloads[0]
        assert payload["rewrites"] == {"entailment": "premise 7 whole read 0"}
        assert scores(item, played) == {"edit_f1": 0.5, "edit_f1_robust": 0.5}
        assert payload["decoding"]["plain"] == plain
        assert request.prompt_version


def story(request):
    texts = tuple(
        ["", "  ", "!", " One went. Two", " Two went", " Three"][n % 6] for n in range(request.samples)
    )
    return Completion(text=texts[0], samples=texts, seconds=1.0)


async def test_continuations(run, items):
    toy, item = Toy(story), items["continue"]
    played = await run(item, toy.seat(plain=True, scoring=True, samples=True))
    assert [payload["option"] for payload in played.payloads] == ["y0", "y1", "d"]
    drawn = [request for request in toy.asked if isinstance(request, Request)]
    assert len(toy.asked) == 9
    assert [request.messages[0].content for request in drawn] == [f'"{text}' for _, text in item.options]
    for request in drawn:
        assert (request.plain, request.temperature, request.top_p, request.samples, request.max_tokens) == (
            True,
            1,
            1,
            4,
            8,
        )
        assert request.stop == (".", "!", "?")
    assert len({request.seed for request in drawn}) == 3
    for payload, (_, sentence) in zip(played.payloads, item.options, strict=True):
        # What was stopped at once is nothing; a sentence ends with a full stop.
        assert payload["continuations"] == ["", "", ".", " One went."]
        assert (payload["own"][:3], payload["tokens"][:3]) == ([None] * 3, [0] * 3)
        after_own = toy.likelihood(f'"{sentence}', " One went.")
        after_original = toy.likelihood(f'"{item.sentence}', " One went.")
        assert payload["own"][3] == after_own.logprob
        assert payload["original"][3] == after_original.logprob
        assert payload["tokens"][3] == 2
    kl = [payload["own"][3] - payload["original"][3] for payload in played.payloads]
    assert scores(item, played) == {"ranked": float(kl[2] > max(kl[:2]))}
    assert json.loads(json.dumps(played.payloads)) == played.payloads


async def test_nothing_to_continue_with(run, items):
    toy = Toy(lambda request: Completion(text="", samples=("",) * request.samples))
    played = await run(items["continue"], toy.seat(plain=True, scoring=True, samples=True))
    assert len(toy.asked) == 3
    assert scores(items["continue"], played) == {"ranked": 0}


async def test_a_crowdworker(run, items):
    answers = {
        "label": {"label": "neutral"},
        "plausible": {"plausible": [True, False, True]},
        "relabel": {"labels": ["neutral", "neutral", "entailment"]},
    }
    toy, item = Toy(lambda request: answers[request.purpose.rpartition(".")[2]]), items["crowd"]
    seat = toy.seat()
    seat._model = Parsing(seat._model)
    played = await run(item, seat)
    assert scores(item, played)["relabel"] == 1
    label, plausible, relabel = (sent.messages[0].content for sent in toy.asked)
    assert item.hypothesis in label
    assert item.hypothesis not in plausible
    assert all(
        candidate.sentence in plausible and candidate.sentence in relabel for candidate in item.candidates
    )
    assert not any(candidate.sentence in label for candidate in item.candidates)
    assert item.sentence not in relabel
    assert "person" not in played.payloads[0]


class Parsing:
    """A wrapper that parses answers like the layers around a backend."""

    def __init__(self, inner):
        self.inner, self.name, self.capabilities = inner, inner.name, inner.capabilities

    async def complete(self, request):
        from simulator.models.schema import parse

        answer = await self.inner.complete(request)
        return replace(answer, parsed=parse(answer.text, request.schema)) if request.schema else answer


async def test_a_linguist(run, items, form):
    toy, item = Toy(dict(form("annotate").move)), items["annotate"]
    played = await run(item, toy.seat(schema=False))
    assert played.payloads[0]["labels"] == ["entailment", "neutral"]
    assert toy.asked[0].schema is None
    assert scores(item, played)["exact"] == 1
    toy.answer = {**form("annotate").move, "rewrites": []}
    with pytest.raises(SeatError) as caught:
        await run(item, toy.seat(schema=False))
    assert caught.value.code == "annotation"
    toy.answer = "I would rather not."
    with pytest.raises(Malformed):
        await run(item, toy.seat(schema=False))


async def test_label_sets(run, items):
    toy, item = Toy({"labels": ["neutral", "entailment"]}), items["nli"]
    played = await run(item, toy.seat(schema=False))
    assert [payload["pair"] for payload in played.payloads] == [0, 1, 2]
    assert played.payloads[0]["prediction"] == ["entailment", "neutral"]
    for request, (premise, hypothesis) in zip(toy.asked, item.pairs, strict=True):
        assert premise in request.messages[0].content
        assert hypothesis in request.messages[0].content
    assert scores(item, played) == {"exact": 1, "group_exact": 0}


class Inferring:
    """An NLI model whose scores depend on the pair's length."""

    name, output, threshold = "folder", "labels", -1.0

    def __init__(self):
        self.calls = []

    def scores(self, pairs):
        self.calls.append(list(pairs))
        return [(-2.0, float(len(premise) % 3) - 1.5, 0.5) for premise, _ in pairs]

    def probabilities(self, pairs):
        self.calls.append(list(pairs))
        shares = [0.1 * (number + 1) for number, _ in enumerate(pairs)]
        return [{"contradiction": 0.01, "entailment": share, "neutral": 0.9} for share in shares]


async def test_a_model_of_inference(run, items):
    inferring, item = Inferring(), items["nli"]
    played = await run(item, NliAnnotator("nli:folder", inferring))
    assert inferring.calls == [list(item.pairs)]
    for payload, (premise, _) in zip(played.payloads, item.pairs, strict=True):
        logit = float(len(premise) % 3) - 1.5
        assert payload["logits"] == {"contradiction": -2.0, "entailment": logit, "neutral": 0.5}
        assert payload["prediction"] == [*(["entailment"] if logit > -1 else []), "neutral"]
        assert payload["threshold"] == -1.0
    with pytest.raises(SeatError, match="cannot do crowd"):
        await run(items["crowd"], NliAnnotator("nli:folder", inferring))


async def test_claims(run, items):
    texts = (" It is raining.", "", "It rains", " It is raining. ", " Rain\nfalls.")
    toy = Toy(lambda request: Completion(text=texts[0], samples=texts))
    seat, inferring, item = toy.seat(plain=True, samples=True), Inferring(), items["claim"]
    with pytest.raises(SeatError, match="cannot do the step claim"):
        await run(item, seat)
    seat._scorer = ClaimScorer(inferring)
    toy.asked.clear()
    played = await run(item, seat, top_p=0.4)
    (request,) = toy.asked
    assert (request.samples, request.top_p, request.temperature) == (5, 0.4, 1.0)
    assert "It rains" in request.messages[0].content
    paraphrase, claim = played.payloads
    assert paraphrase["kept"] == ["It is raining.", "Rain falls."]
    assert inferring.calls == [[("It rains", "It is raining."), ("It rains", "Rain falls.")]]
    assert [scored["score"] for scored in claim["paraphrases"]] == [0.1, 0.2]
    assert (claim["score"], claim["flagged"]) == (0.2, True)
    assert scores(item, played) == {"score": 0.2, "flagged": 1.0}
    again = await run(item, seat, tuple(played.turns[:1]))
    assert again.payloads[1] == claim
    toy.answer = Completion(text="", samples=("",) * 5)
    played = await run(item, seat)
    assert (played.payloads[1]["score"], played.payloads[1]["flagged"]) == (None, False)


def uneven(request):
    """Options have different numbers of usable continuations, so that some are subsampled."""
    continued = 5 + request.seed % 7
    texts = [f" It went on {n} times" if n < continued else "" for n in range(request.samples)]
    return Completion(text=texts[0], samples=tuple(texts))


async def test_a_score_and_a_table_are_of_the_same_continuations(run, items):
    toy, differ = Toy(uneven), 0
    for seed in range(20):
        item = replace(items["continue"], wanted=12, id=f"{seed}.premise")
        played = await run(item, toy.seat(plain=True, scoring=True, samples=True), seed=seed)
        record = continuation_record(item, played.turns)
        assert scores(item, played) == {"ranked": float(ranks_first(record))}
        differ += len({len(log_odds(option)) for option in sampled_options(item, played.turns)}) > 1
    assert differ > 10
