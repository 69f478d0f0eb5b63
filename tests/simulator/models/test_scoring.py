"""Scored texts pass through every layer as answers do: cache, budget, retries, log, replay."""

import json
import math

import pytest

from logs import LogWriter
from logs.rows import Episode, Item, ModelCall, Run
from simulator.models import (
    BadRequest,
    Budget,
    BudgetExceeded,
    Identity,
    ModelOptions,
    NotRecorded,
    ScoreRequest,
    ScriptModel,
    Unavailable,
    Unsupported,
    load_model,
)
from simulator.models.base import Position, Request, Scored, Usage
from simulator.models.budget import Metered, Price
from simulator.models.cache import Cached, ResponseCache, decode, encode
from simulator.models.keys import content_key, request_key
from simulator.models.layers import Layer
from simulator.models.limits import Limited
from simulator.models.load import add_layers
from simulator.models.retry import Retried

TEXT = "Output 'X' or 'Y'.\nThe duck is in the pond.\n>X"
LABEL = len(TEXT) - 1


def asked(text=TEXT, **fields):
    return ScoreRequest(**{"text": text, "offsets": (LABEL,), "top": 2, **fields})


def scored(logprob=-0.5, **fields):
    table = (("X", logprob), ("Y", float("-inf")))
    position = Position(offset=LABEL, token="X", logprob=logprob, top=table)
    return Scored(**{"positions": (position,), "usage": Usage(12, 0), **fields})


class Scripted(ScriptModel):
    """Gives prepared scores, one after the other; the last one for ever."""

    def __init__(self, *answers, provider="offline"):
        self.answers = list(answers) or [scored()]
        self.asked = []
        super().__init__(lambda request: "written", scorer=self._next)
        self.identity = Identity(provider, "m")
        self.name = self.identity.name

    def _next(self, request):
        self.asked.append(request)
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


# --- requests ----------------------------------------------------------------------------------------


@pytest.mark.each("offsets", [(), (3, 3), (4, 3), (-1,), (len(TEXT),)])
def test_offsets_must_ascend_within_the_text(offsets):
    with pytest.raises(ValueError, match="must ascend within"):
        asked(offsets=offsets)


def test_a_table_cannot_be_shorter_than_empty():
    assert asked(top=0).top == 0
    with pytest.raises(ValueError, match="must not be negative"):
        asked(top=-1)


@pytest.mark.each("change", [{"text": TEXT + "."}, {"offsets": (3,)}, {"offsets": (3, LABEL)}, {"top": 3}])
def test_whatever_changes_the_numbers_is_in_the_key(change):
    assert content_key(asked(**change)) != content_key(asked())


def test_what_is_for_the_log_alone_is_not():
    for_the_log = {"purpose": "p", "prompt_version": "1", "episode_id": "e", "turn_number": 2}
    assert content_key(asked(**for_the_log)) == content_key(asked())


def test_plain_texts_have_keys_of_their_own_and_chats_keep_theirs(ask):
    chat, plain = ask("a"), ask("a", plain=True)
    assert content_key(chat) != content_key(plain)
    assert isinstance(chat, Request) and not chat.plain


# --- what cannot score -------------------------------------------------------------------------------


async def test_chat_interfaces_say_that_they_cannot(make, provider, ask):
    model = make(provider)
    with pytest.raises(Unsupported, match=f"{provider}/some-model cannot score a given text"):
        await model.score(asked())
    with pytest.raises(Unsupported, match=f"{provider}/some-model takes chat messages only"):
        await model.complete(ask(plain=True))
    assert not model.capabilities.scoring and not model.capabilities.plain


async def test_a_script_without_a_scorer_cannot():
    model = load_model("offline/script", ModelOptions(script=lambda request: ""))
    assert not model.capabilities.scoring
    with pytest.raises(Unsupported, match="offline/script cannot"):
        await model.score(asked())


async def test_a_script_with_one_can():
    options = ModelOptions(script=lambda request: "", scorer=lambda request: scored())
    model = load_model("offline/script", options)
    assert model.capabilities.scoring and model.capabilities.plain
    assert (await model.score(asked())).positions == scored().positions


# --- layers ------------------------------------------------------------------------------------------


async def test_layers_look_at_no_number(tmp_path):
    inner = Scripted()
    cache = ResponseCache(tmp_path / "c.sqlite")
    for layer in (
        Layer(inner),
        Metered(inner, None),
        Retried(inner),
        Limited(inner, 3),
        Cached(inner, cache),
    ):
        assert (await layer.score(asked())).positions == scored().positions
    assert len(inner.asked) == 5
    await cache.close()


async def test_it_has_its_price_and_the_budget_is_kept():
    budget = Budget(1.0)
    model = Metered(Scripted(), Price(input=1000, output=0), budget)
    assert (await model.score(asked())).cost == budget.spent == pytest.approx(0.012)
    with pytest.raises(BudgetExceeded):
        await Metered(Scripted(), Price(input=10_000, output=0), budget).score(asked())
    assert budget.reserved == 0


async def test_the_second_time_nobody_is_asked(tmp_path):
    inner = Scripted(scored(cost=0.5), scored(-9.0))
    path = tmp_path / "c.sqlite"
    model = Cached(Retried(inner), ResponseCache(path))
    first, again = await model.score(asked()), await model.score(asked(purpose="another"))
    assert (first.cached, first.cost, first.attempts) == (False, 0.5, 1)
    assert (again.cached, again.cost, again.attempts) == (True, 0.0, 0)
    assert (again.positions, again.usage) == (first.positions, first.usage)
    assert (await model.score(asked(top=1))).positions[0].logprob == -9.0
    await model.close()
    other = Cached(Scripted(Unavailable("nobody there")), ResponseCache(path))
    assert (await other.score(asked())).positions == first.positions, "it outlives the process"
    await other.close()


def test_what_is_stored_comes_back():
    stored = encode(scored(-0.125, cost=3.0, seconds=2.0))
    assert decode(stored) == scored(-0.125, cost=0.0, cached=True, attempts=0)


# --- log and replay ----------------------------------------------------------------------------------

FOR_THE_LOG = {"purpose": "participant", "prompt_version": "v1", "episode_id": "e", "turn_number": 1}


async def test_a_scored_text_becomes_a_row():
    rows = []
    model = add_layers(Scripted(), ModelOptions(recorder=rows.append))
    answer = await model.score(asked(**FOR_THE_LOG))
    (row,) = rows
    assert isinstance(row, ModelCall)
    assert (row.episode_id, row.turn_number, row.purpose, row.prompt_version) == ("e", 1, "participant", "v1")
    assert (row.model, row.input_tokens, row.output_tokens, row.cost, row.error) == (
        "offline/m",
        12,
        0,
        0.0,
        "",
    )
    assert row.request == {
        "key": request_key(model.identity, asked()),
        "text": TEXT,
        "offsets": [LABEL],
        "top": 2,
        "base_url": "",
        "extra": {},
        "ignored": [],
    }
    assert row.response == {
        "positions": [[LABEL, "X", -0.5, [["X", -0.5], ["Y", -9999.0]]]],
        "cached_input_tokens": None,
    }
    assert math.isinf(answer.positions[0].top[1][1]), "only the log has no infinite numbers"
    json.dumps([row.request, row.response], allow_nan=False)


async def test_a_failure_becomes_a_row():
    rows = []
    model = add_layers(Scripted(BadRequest("too long")), ModelOptions(recorder=rows.append))
    with pytest.raises(BadRequest):
        await model.score(asked(**FOR_THE_LOG))
    assert (rows[0].error, rows[0].attempts, rows[0].request["text"]) == ("BadRequest", 1, TEXT)
    assert rows[0].response == {"text": "", "message": "too long"}


@pytest.fixture
async def logged(tmp_path):
    path = tmp_path / "log.sqlite"
    async with LogWriter(path, durable=False) as log:
        log.put(Run(id="r", benchmark="ambibench", setup="L2L", seed=1))
        log.put(Item(hash="h", benchmark="ambibench", name="i", language="en", data={}))
        log.put(Episode(id="e", run_id="r", item_hash="h", language="en", seats={}, seed=1))
        options = ModelOptions(recorder=log.put)
        for provider, numbers in (("openai", (-1.0, -2.0)), ("anthropic", (-1.0, -3.0))):
            model = add_layers(Scripted(*map(scored, numbers), provider=provider), options)
            await model.score(asked("same " + TEXT, offsets=(LABEL + 5,), **FOR_THE_LOG))
            await model.score(asked("other " + TEXT, offsets=(LABEL + 6,), **FOR_THE_LOG))
        with pytest.raises(BadRequest):
            await add_layers(Scripted(BadRequest("no")), options).score(asked(**FOR_THE_LOG))
    return path


async def test_a_logged_run_scores_again(logged):
    model = load_model("replay/r", ModelOptions(recordings=logged))
    assert model.capabilities.scoring and model.capabilities.plain
    answer = await model.score(asked("same " + TEXT, offsets=(LABEL + 5,)))
    assert answer.positions == (
        Position(offset=LABEL, token="X", logprob=-1.0, top=(("X", -1.0), ("Y", -9999.0))),
    )
    assert answer.cost == 0.0
    with pytest.raises(NotRecorded, match="different answers from openai/m and anthropic/m"):
        await model.score(asked("other " + TEXT, offsets=(LABEL + 6,)))
    with pytest.raises(NotRecorded, match="no answer to this request"):
        await model.score(
            asked(),
        )
