"""Answers of models in this process: heads that are shared, several at a time; tiny models made here."""

import asyncio
import threading
from dataclasses import replace

import pytest
from tiny_models import gpt2, llama, mistral, needs_local, tokenizer

from simulator.models import BadRequest, Message, ModelOptions, Request, load_model
from simulator.models.forward import Heads, size_of

pytestmark = needs_local
TEMPLATE = (
    "{% for m in messages %}<{{ m.role }}>{{ m.content }}<s>{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}"
)
# As some models have it: a system message goes into the first question.
MERGED = (
    "{% set first = messages[0].content if messages[0].role == 'system' else '' %}"
    "{% for m in messages if m.role != 'system' %}<{{ m.role }}>{{ first if loop.last }}{{ m.content }}<s>"
    "{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}"
)
STRICT = "{% if messages[-1].role != 'user' %}{{ raise_exception('user last') }}{% endif %}" + TEMPLATE
HEADS = ["The duck is in the pond. " * 9, "The pope is in the house. " * 7]
ITEMS = ["the lion", "a duck?", "the film studio of the mountain lion, or the house", "X", "Y or X"]
CLOSE = pytest.approx


def vocabulary(template=TEMPLATE):
    special = ("<s>", "<system>", "<user>", "<assistant>")
    return tokenizer([*HEADS, *ITEMS] * 3, special=special, template=template)


MAKERS = {"llama": llama, "gpt2": gpt2, "mistral": mistral}


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    import torch

    made = {}
    for name, make in MAKERS.items():
        made[name] = tmp_path_factory.mktemp(name)
        torch.manual_seed(0)
        make().save_pretrained(made[name])
        vocabulary().save_pretrained(made[name])
    return made


@pytest.fixture
async def loaded(folders):
    made = []

    def load(name="llama", **options):
        path = folders.get(name, name)
        made.append(load_model(f"transformers/{path}", ModelOptions(device="cpu", threads=1, **options)))
        return made[-1]

    yield load
    for each in made:
        await each.close()


def asked(number, *, head=0, shared=2, **fields):
    messages = (
        Message("system", HEADS[head]), Message("user", "Which?"), Message("user", ITEMS[number % len(ITEMS)])
    )  # fmt: skip
    return Request(messages=messages, shared=shared, **{"max_tokens": 24, **fields})


def backend_of(model):
    return model.inner.inner


def numbers(answer):
    return [value for token in answer.logprobs for value in (token.logprob, *(n for _, n in token.top))]


def words(answer):
    return [token.token for token in answer.logprobs]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["llama", "gpt2"])
async def test_a_shared_head_changes_no_text(loaded, name):
    model = loaded(name)
    for number in range(len(ITEMS)):
        for fields in ({"top_logprobs": 5}, {"temperature": 1.0, "seed": number}):
            whole, shared = [await model.complete(asked(number, shared=each, **fields)) for each in (0, 2)]
            assert whole.text == shared.text
            assert whole.usage == shared.usage
            assert words(whole) == words(shared)
            assert numbers(whole) == CLOSE(numbers(shared), abs=1e-4)
    assert len(backend_of(model)._heads) == 1


async def test_an_answer_does_not_depend_on_what_was_asked_before(loaded):
    requests = [asked(number, head=number % 2, top_logprobs=400) for number in range(4)]
    first, then = loaded(), loaded()
    forward = [numbers(await first.complete(each)) for each in requests]
    backward = [numbers(await then.complete(each)) for each in reversed(requests)]
    again = [numbers(await first.complete(each)) for each in requests]
    assert forward == backward[::-1] == again, "to the last bit"


async def test_a_head_is_read_once(loaded, monkeypatch):
    from simulator.models import forward

    read = []
    logits_at = forward.logits_at

    def spy(torch, model, inputs, places):
        read.append(inputs["input_ids"].shape[1])
        return logits_at(torch, model, inputs, places)

    monkeypatch.setattr(forward, "logits_at", spy)
    model = loaded()
    answers = [await model.complete(asked(number, max_tokens=1)) for number in range(3)]
    head, *rest = read
    assert [head + each for each in rest] == [each.usage.input_tokens for each in answers]
    assert head > max(rest)


@pytest.mark.parametrize("template", [MERGED, STRICT])
async def test_a_head_that_the_template_changes_is_not_shared(loaded, folders, tmp_path, template):
    import shutil

    path = shutil.copytree(folders["llama"], tmp_path / "m")
    vocabulary(template).save_pretrained(path)
    model = loaded(path)
    fields = {"shared": 1, "top_logprobs": 3}
    request = asked(1, **fields)
    answer = await model.complete(request)
    assert not len(backend_of(model)._heads)
    assert numbers(answer) == numbers(await model.complete(replace(request, shared=0)))


async def test_a_schema_in_front_is_shared_too(loaded):
    model = backend_of(loaded())
    request = replace(asked(0, schema={"type": "object"}), messages=asked(0).messages[1:], shared=1)
    await model.complete(request)
    assert len(model._heads) == 1


def test_what_cannot_be_shared():
    with pytest.raises(ValueError, match="shared must be between 0 and 3, not 4"):
        asked(0, shared=4)


def test_heads_take_so_much_memory_and_no_more():
    import torch

    def state(tokens):
        return ((torch.zeros(1, 2, tokens, 4), torch.zeros(1, 2, tokens, 4)),)

    read = []

    def get(heads, *ids):
        return heads.get(ids, lambda: read.append(ids) or state(len(ids)))

    heads = Heads(3 * size_of(state(1)))
    get(heads, 1), get(heads, 2), get(heads, 3), get(heads, 1), get(heads, 4)
    assert read == [(1,), (2,), (3,), (4,)]
    get(heads, 1), get(heads, 3)
    assert len(read) == 4
    get(heads, 2)
    assert read[4:] == [(2,)], "it had not been used for longest"
    assert size_of(get(heads, 1, 2, 3, 4)) == 4 * size_of(state(1))
    assert len(heads) == 3, "one that is too large drives nobody out"
    heads.clear()
    assert not len(heads)


async def test_a_model_with_a_short_memory_is_left_to_the_library(loaded):
    model = loaded("mistral")
    assert backend_of(model)._writer is None
    whole, shared = [await model.complete(asked(0, shared=each, top_logprobs=2)) for each in (0, 2)]
    assert numbers(whole) == numbers(shared)


async def test_prompts_that_are_too_long_are_told_and_answers_end_with_the_room(loaded):
    model = loaded("gpt2")
    with pytest.raises(BadRequest, match="at most 512"):
        await model.complete(Request(messages=(Message("user", "é" * 600),)))
    long = Request(messages=(Message("user", "é" * 245),), max_tokens=400, temperature=3.0, seed=1)
    used = (await model.complete(long)).usage
    assert used.input_tokens + used.output_tokens <= 513, "the last token is written and not read"


@pytest.mark.parametrize("name", ["llama", "gpt2"])
async def test_answers_written_together_are_the_same(loaded, name):
    """Texts of random weights part at a hair's breadth nowhere; their numbers are close."""
    requests = [asked(n, head=n % 2, top_logprobs=3, max_tokens=5 + 7 * n) for n in range(5)]
    requests += [asked(n, temperature=1.0, seed=n, samples=1 + n, max_tokens=9) for n in range(3)]
    alone = loaded(name)
    one_by_one = [await alone.complete(each) for each in requests]
    together = await asyncio.gather(*map(loaded(name, together=4).complete, requests))
    for single, batched in zip(one_by_one, together, strict=True):
        assert (single.text, single.samples, single.usage) == (batched.text, batched.samples, batched.usage)
        assert single.finish_reason == batched.finish_reason
        assert numbers(single) == CLOSE(numbers(batched), abs=1e-4)


@pytest.mark.slow
async def test_company_changes_nothing_to_the_last_bit(loaded):
    requests = [asked(n, head=n % 2, top_logprobs=400, max_tokens=3 + 9 * n) for n in range(5)]
    model = loaded(together=4)
    alone = [await model.complete(each) for each in requests]
    for company in (requests, requests[::-1], requests[2:]):
        answers = await asyncio.gather(*map(model.complete, company))
        for each, answer in zip(company, answers, strict=True):
            assert numbers(answer) == numbers(alone[requests.index(each)])


async def test_one_token_is_the_same_with_any_company(loaded):
    requests = [asked(n, top_logprobs=400, max_tokens=1) for n in range(5)]
    alone = loaded()
    one_by_one = [numbers(await alone.complete(each)) for each in requests]
    together = await asyncio.gather(*map(loaded(together=4).complete, requests))
    assert [numbers(each) for each in together] == one_by_one


async def test_a_pass_serves_all_who_write(loaded, monkeypatch):
    model = loaded(together=4)
    slots = backend_of(model)._writer._engine.slots
    steps, step = [], slots.step
    monkeypatch.setattr(slots, "step", lambda tokens: steps.append(len(tokens)) or step(tokens))
    answers = await asyncio.gather(*(model.complete(asked(n, seed=1)) for n in range(8)))
    written = sum(each.usage.output_tokens for each in answers)
    assert set(steps) == {4}
    assert len(steps) < written - len(answers)


async def test_samples_that_are_over_leave_the_batch(loaded, monkeypatch):
    model = loaded()
    slots = backend_of(model)._writer._engine.slots
    steps, step = [], slots.step
    monkeypatch.setattr(slots, "step", lambda tokens: steps.append(len(tokens)) or step(tokens))
    answer = await model.complete(asked(0, samples=12, temperature=1.0, seed=2, stop=("e", "o")))
    assert sum(steps) + 12 == answer.usage.output_tokens, "no pass has a row for nothing"
    assert slots.width == 0


async def test_together_is_part_of_who_answers(loaded):
    alone, four = loaded().identity, loaded(together=4).identity
    assert alone.digest != four.digest
    assert four.extra["together"] == 4
    assert "together" not in alone.extra


@pytest.mark.parametrize("together", [1, 4])
async def test_a_cancelled_call_stops_writing(loaded, together):
    model = loaded(together=together)
    writer = backend_of(model)._writer
    backend_of(model)._ends = frozenset()
    given_up = asyncio.create_task(model.complete(asked(0, max_tokens=450, shared=0)))
    waits = asyncio.create_task(model.complete(asked(1)))
    while not (
        calls := {place[0] for place in writer._places if place and place[0].request.max_tokens == 450}
    ):
        assert not given_up.done()
        await asyncio.sleep(0)
    (call,) = calls
    given_up.cancel()
    assert (await waits).usage.output_tokens >= 1
    answer = await model.complete(asked(2))
    assert answer.usage.output_tokens >= 1
    await asyncio.wrap_future(backend_of(model)._thread.submit(int))  # the round that gave it is over
    assert writer._places == []
    assert len(call.job.written[0]) < 450


async def test_what_is_being_written_when_a_model_is_closed_fails(loaded):
    model = loaded()
    writer = backend_of(model)._writer
    backend_of(model)._ends = frozenset()
    calls = [asyncio.create_task(model.complete(asked(n, max_tokens=300))) for n in range(2)]
    while not writer._places:
        await asyncio.sleep(0)
    await model.close()
    outcomes = await asyncio.gather(*calls, return_exceptions=True)
    assert all(isinstance(each, BaseException) for each in outcomes)


async def test_what_is_being_begun_when_a_model_is_closed_fails(loaded):
    model = loaded()
    writer = backend_of(model)._writer
    engine, begun, closed = writer._engine, threading.Event(), threading.Event()

    def prepare(request):
        begun.set()
        closed.wait()
        return engine.prepare(request)

    writer._engine = replace(engine, prepare=prepare)
    backend_of(model)._ends = frozenset()
    call = asyncio.create_task(model.complete(asked(0, max_tokens=300)))
    await asyncio.to_thread(begun.wait)
    await model.close()
    closed.set()
    (outcome,) = await asyncio.gather(call, return_exceptions=True)
    assert isinstance(outcome, BaseException)


async def test_what_goes_wrong_with_one_harms_no_other(loaded):
    model = loaded(together=4)
    wrong = Request(messages=(Message("user", "é" * 600),))
    outcomes = await asyncio.gather(
        model.complete(asked(0)), model.complete(wrong), model.complete(asked(1)), return_exceptions=True
    )
    assert isinstance(outcomes[1], BadRequest)
    assert [each.usage.output_tokens > 0 for each in (outcomes[0], outcomes[2])] == [True, True]
