"""Scoring by models in this process: tiny ones with random weights, made here."""

import asyncio
import importlib.util
import json
import os
import shutil
import threading

import pytest
from tiny_models import LINES, bart, gpt2, llama, needs_local, text_of, tokenizer

from simulator.errors import InputError
from simulator.models import BadRequest, Message, ModelOptions, Request, ScoreRequest, Unsupported, load_model
from simulator.models.forward import Row, batches, predict
from simulator.models.weights import silence

pytestmark = needs_local
needs_peft = pytest.mark.skipif(
    importlib.util.find_spec("peft") is None, reason="no peft here: pip install 'askback[local]'"
)
CLOSE = pytest.approx


def request_of(count, top=5, **fields):
    text, offsets = text_of(count, **fields)
    return ScoreRequest(text=text, offsets=offsets, top=top)


def words():
    return tokenizer([text_of(6)[0], text_of(6, layout="\nA: {}")[0]] * 9)


def saved(path, model):
    model.save_pretrained(path)
    words().save_pretrained(path)
    return path


MAKERS = {"llama": llama, "gpt2": gpt2, "bart": bart}


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    return {name: saved(tmp_path_factory.mktemp(name), make()) for name, make in MAKERS.items()}


@pytest.fixture
async def loaded(folders):
    made = []

    def load(name):
        path = folders.get(name, name)
        made.append(load_model(f"transformers/{path}", ModelOptions(device="cpu", threads=1)))
        return made[-1]

    yield load
    for each in made:
        await each.close()


def by_hand(folder, request):
    """Log-probabilities of the plain loop: each label by itself, a pass over the text before it."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    words, model = AutoTokenizer.from_pretrained(folder), AutoModelForCausalLM.from_pretrained(folder).eval()
    rows = []
    for offset in request.offsets:
        end = offset - request.text[:offset].endswith(" ")
        ids = words(request.text[:end], return_tensors="pt")["input_ids"]
        with torch.inference_mode():
            logprobs = torch.log_softmax(model(ids).logits[0, -1], -1)
        best = torch.topk(logprobs, request.top)
        label = words(request.text[end : offset + 1])["input_ids"]
        table = [
            (words.decode([each]), value)
            for each, value in zip(best.indices, best.values.tolist(), strict=True)
        ]
        rows.append((words.decode(label), logprobs[label[0]].item(), table))
    return rows


@pytest.mark.parametrize("layout", ["\n>{}", "\nA: {}"], ids=["arrow", "qa"])
@pytest.mark.parametrize("name", ["llama", "gpt2"])
async def test_one_pass_gives_what_the_loop_gives(loaded, folders, name, layout):
    request = request_of(6, layout=layout)
    answer = await loaded(name).score(request)
    assert tuple(each.offset for each in answer.positions) == request.offsets
    for position, (token, logprob, table) in zip(
        answer.positions, by_hand(folders[name], request), strict=True
    ):
        assert position.token == token
        assert position.logprob == CLOSE(logprob, abs=1e-4)
        assert [each for each, _ in position.top] == [each for each, _ in table]
        assert [value for _, value in position.top] == CLOSE([value for _, value in table], abs=1e-4)
    assert [value for _, value in position.top] == sorted((value for _, value in position.top), reverse=True)
    assert answer.usage.output_tokens == 0 and answer.usage.input_tokens > 50


@pytest.mark.parametrize("name", MAKERS)
async def test_a_batch_gives_what_single_texts_give(loaded, name):
    model = loaded(name)
    requests = [request_of(count, start=count) for count in (1, 9, 3, 5, 2, 7)]
    alone = [await model.score(each) for each in requests]
    together = await asyncio.gather(*map(model.score, requests))
    for single, batched in zip(alone, together, strict=True):
        assert single.usage == batched.usage
        for left, right in zip(single.positions, batched.positions, strict=True):
            assert (left.offset, left.token) == (right.offset, right.token)
            assert left.logprob == CLOSE(right.logprob, abs=1e-4)
            assert [value for _, value in left.top] == CLOSE([value for _, value in right.top], abs=1e-4)


async def test_calls_of_one_moment_share_passes(loaded, monkeypatch):
    from simulator.models import transformers_backend

    passes = []
    predict = transformers_backend.predict
    monkeypatch.setattr(
        transformers_backend, "predict", lambda *given: passes.append(len(given[2])) or predict(*given)
    )
    model = loaded("llama")
    await asyncio.gather(*(model.score(request_of(count)) for count in (1, 2, 3, 4)))
    assert sum(passes) == 4 and len(passes) <= 2


async def test_later_text_changes_nothing_before_it(loaded):
    model, request = loaded("llama"), request_of(6)
    cut = request.offsets[3]
    for later in (" and then?", "", "\nQ: Who?\nA: me"):
        text = request.text[: cut + 1] + later
        changed = await model.score(ScoreRequest(text=text, offsets=request.offsets[:4], top=5))
        whole = await model.score(request)
        for position, original in zip(changed.positions, whole.positions[:4], strict=True):
            assert position.logprob == CLOSE(original.logprob, abs=1e-4)
            assert [each for each, _ in position.top] == [each for each, _ in original.top]


async def test_other_labels_before_change_what_is_expected(loaded):
    model, request = loaded("llama"), request_of(4)
    first = request.offsets[0]
    text = request.text[:first] + "Y" + request.text[first + 1 :]
    changed = await model.score(ScoreRequest(text=text, offsets=request.offsets, top=5))
    whole = await model.score(request)
    assert changed.positions[0].top == whole.positions[0].top
    assert changed.positions[3].logprob != CLOSE(whole.positions[3].logprob, abs=1e-4)


async def test_tables_may_be_empty_or_everything(loaded):
    model = loaded("llama")
    none, every = [(await model.score(request_of(2, top=top))).positions[0] for top in (0, 10_000)]
    assert none.top == () and none.logprob == CLOSE(every.logprob, abs=1e-4)
    assert len(every.top) == 400
    assert dict(every.top)[every.token] == CLOSE(every.logprob, abs=1e-4)


async def test_an_answering_model_is_asked_for_each_prefix(loaded, folders):
    """BART reads the text before a label; its answer starts with its own start token."""
    import torch
    from transformers import AutoTokenizer, BartForConditionalGeneration

    request = request_of(3, layout="\nA: {}")
    answer = await loaded("bart").score(request)
    words = AutoTokenizer.from_pretrained(folders["bart"])
    model = BartForConditionalGeneration.from_pretrained(folders["bart"]).eval()
    for position in answer.positions:
        read = words(request.text[: position.offset - 1], return_tensors="pt")["input_ids"]
        with torch.inference_mode():
            logits = model(input_ids=read, decoder_input_ids=torch.tensor([[0]])).logits[0, -1]
        logprobs = torch.log_softmax(logits, -1)
        label = words(request.text[position.offset - 1 : position.offset + 1])["input_ids"][0]
        assert position.logprob == CLOSE(logprobs[label].item(), abs=1e-4)
        assert position.token in (" X", " Y")


async def test_an_answering_model_with_the_blank_apart_is_looked_at_behind_it(folders, loaded):
    """The blank is what it writes first; its label is expected after that."""
    import torch
    from transformers import AutoTokenizer, BartForConditionalGeneration

    request = request_of(1, layout="\nA:  {}")  # two blanks: the first is a token of its own
    (position,) = (await loaded("bart").score(request)).positions
    words = AutoTokenizer.from_pretrained(folders["bart"])
    model = BartForConditionalGeneration.from_pretrained(folders["bart"]).eval()
    read = words(request.text[: position.offset - 2], return_tensors="pt")["input_ids"]
    blank, label = words("  X")["input_ids"]
    with torch.inference_mode():
        logits = model(input_ids=read, decoder_input_ids=torch.tensor([[0, blank]])).logits[0, -1]
    assert position.logprob == CLOSE(torch.log_softmax(logits, -1)[label].item(), abs=1e-4)


async def test_an_answering_model_answers_a_plain_text(loaded):
    request = Request(messages=(Message("user", "The duck is"),), plain=True, max_tokens=4, top_logprobs=2)
    completion = await loaded("bart").complete(request)
    assert 1 <= len(completion.logprobs) <= 4
    assert completion.text == "".join(each.token for each in completion.logprobs).replace("<s>", "")


async def test_a_plain_text_is_continued_with_its_blank(loaded):
    request = Request(messages=(Message("user", "The duck is"),), plain=True, max_tokens=6, top_logprobs=1)
    completion = await loaded("llama").complete(request)
    assert completion.text == "".join(each.token for each in completion.logprobs).replace("<s>", "")


def test_numbers_of_16_bits_do_not_tie(folders):
    import torch
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(folders["llama"], dtype=torch.bfloat16).eval()
    ids = tuple(range(1, 40))
    row = Row(ids, (), ((38, 7),), 400)
    ((seen,),) = predict(torch, model, [row])
    with torch.inference_mode():
        hidden = model.model(torch.tensor([ids])).last_hidden_state[0, -1].float()
        logprobs = torch.log_softmax(model.lm_head.weight.float() @ hidden, -1)
    assert seen.logprob == CLOSE(logprobs[7].item(), abs=1e-4)
    assert len({value for _, value in seen.top}) > 390
    assert not model.lm_head._forward_hooks and not model.lm_head._forward_pre_hooks


def test_long_batches_are_cut():
    rows = [
        Row((0,) * length, (), ((0, 0),) * looks, 1) for length, looks in ((5, 1), (9, 1), (4, 1), (30, 1))
    ]
    assert batches(rows, 18) == [[3], [1, 0], [2]]
    many = [Row((0,), (), ((0, 0),) * 300, 1)] * 2
    assert batches(many, 1000) == [[0], [1]], "tables take memory, too"


async def test_a_model_finetuned_anew_is_another_model(folders, loaded, tmp_path):
    folder = shutil.copytree(folders["gpt2"], tmp_path / "m")
    first, again = loaded(folder).identity, loaded(folder).identity
    os.utime(folder / "model.safetensors", (1, 1))
    assert first == again != loaded(folder).identity


# --- what goes wrong ---------------------------------------------------------------------------------


async def test_a_text_that_is_too_long_is_told_and_harms_no_other(loaded):
    model = loaded("llama")
    answers = await asyncio.gather(
        model.score(request_of(100)), model.score(request_of(2)), return_exceptions=True
    )
    assert isinstance(answers[0], BadRequest) and "at most 512" in str(answers[0])
    assert len(answers[1].positions) == 2


async def test_nothing_can_be_expected_of_the_first_character(loaded):
    with pytest.raises(BadRequest, match="character 0 cannot be scored: no text comes before it"):
        await loaded("gpt2").score(ScoreRequest(text="X is", offsets=(0,)))


async def test_a_cancelled_call_is_not_read(loaded):
    model = loaded("llama")
    task = asyncio.create_task(model.score(request_of(5)))
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert task.cancelled()
    assert len((await model.score(request_of(2))).positions) == 2


async def test_what_waits_when_a_model_is_closed_ends(folders):
    model = load_model(f"transformers/{folders['llama']}", ModelOptions(device="cpu", threads=1))
    backend = model.inner.inner
    started, go = threading.Event(), threading.Event()
    backend._thread.submit(lambda: (started.set(), go.wait(60)))
    started.wait(60)
    task = asyncio.create_task(model.score(request_of(2)))
    await asyncio.sleep(0.01)
    await model.close()
    go.set()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, 60)


def test_two_event_loops_share_a_model(folders):
    model = load_model(f"transformers/{folders['llama']}", ModelOptions(device="cpu", threads=1))
    logprobs = []

    def play():
        async def both():
            return await asyncio.gather(*(model.score(request_of(count)) for count in (1, 2, 3)))

        logprobs.append([each.positions[0].logprob for each in asyncio.run(both())])

    threads = [threading.Thread(target=play) for _ in range(3)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    asyncio.run(model.close())
    assert len(logprobs) == 3
    assert logprobs[0] == CLOSE(logprobs[1], abs=1e-4)
    assert logprobs[0] == CLOSE(logprobs[2], abs=1e-4)


# --- adapters ----------------------------------------------------------------------------------------


@pytest.fixture
def adapter(folders, tmp_path):
    """A LoRA adapter of the Llama with weights that are not nothing; without a tokenizer of its own."""
    import torch
    import transformers
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForCausalLM

    torch.manual_seed(1)
    base = AutoModelForCausalLM.from_pretrained(folders["llama"])
    with silence(transformers):
        tuned = get_peft_model(base, LoraConfig(r=4, init_lora_weights=False, target_modules="all-linear"))
    tuned.save_pretrained(tmp_path / "adapter")
    return tmp_path / "adapter"


@needs_peft
async def test_an_adapter_is_loaded_with_its_base(loaded, adapter, folders):
    import torch
    import transformers
    from peft import PeftModel
    from transformers import AutoModelForCausalLM, AutoTokenizer

    request = request_of(2)
    answer, plain = await loaded(adapter).score(request), await loaded("llama").score(request)
    base = AutoModelForCausalLM.from_pretrained(folders["llama"])
    with silence(transformers):
        tuned = PeftModel.from_pretrained(base, adapter).eval()
    words = AutoTokenizer.from_pretrained(folders["llama"])
    ids = words(request.text[: request.offsets[0]], return_tensors="pt")["input_ids"]
    with torch.inference_mode():
        logprobs = torch.log_softmax(tuned(ids).logits[0, -1], -1)
    assert answer.positions[0].logprob == CLOSE(logprobs[words("X")["input_ids"][0]].item(), abs=1e-4)
    assert answer.positions[0].logprob != CLOSE(plain.positions[0].logprob, abs=1e-3)


@needs_peft
@pytest.mark.parametrize("base", [None, ""])
def test_an_adapter_without_a_base_is_told(adapter, base):
    file = adapter / "adapter_config.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "base_model_name_or_path": base}))
    with pytest.raises(InputError, match=r"adapter_config\.json: base_model_name_or_path is empty"):
        load_model(f"transformers/{adapter}")


async def test_a_tokenizer_without_offsets_cannot_score(folders, monkeypatch):
    model = load_model(f"transformers/{folders['llama']}", ModelOptions(device="cpu", threads=1))
    backend = model.inner.inner
    backend.capabilities = type(backend.capabilities)(plain=True)
    with pytest.raises(Unsupported, match="reports no offsets"):
        await backend.score(request_of(1))
    await model.close()


AFTER = (" The duck is in the pond.", " no", "?", " The mountain lion is in the film studio, Y.", "\nX")


def sum_by_hand(folder, prefix, after):
    """The plain loop: token by token, a pass over everything before it."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    words, model = AutoTokenizer.from_pretrained(folder), AutoModelForCausalLM.from_pretrained(folder).eval()
    read, total = words(prefix)["input_ids"], 0.0
    for token in words(after)["input_ids"]:
        with torch.inference_mode():
            total += torch.log_softmax(model(torch.tensor([read])).logits[0, -1], -1)[token].item()
        read = [*read, token]
    return total, len(words(after)["input_ids"])


@pytest.mark.parametrize("name", ["llama", "gpt2"])
async def test_continuations_are_summed_over_their_tokens(loaded, folders, name):
    prefix = '"The pope is in the house.'
    scored = await loaded(name).score(ScoreRequest(text=prefix, continuations=AFTER))
    for likelihood, after in zip(scored.likelihoods, AFTER, strict=True):
        total, tokens = sum_by_hand(folders[name], prefix, after)
        assert likelihood.logprob == CLOSE(total, abs=1e-3)
        assert likelihood.tokens == tokens
    assert scored.positions == ()


async def test_an_encoder_decoder_model_answers_with_continuations(loaded, folders):
    import torch
    from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

    prefix, folder = "The pope is in the house.", folders["bart"]
    scored = await loaded("bart").score(ScoreRequest(text=prefix, continuations=AFTER))
    words, model = AutoTokenizer.from_pretrained(folder), AutoModelForSeq2SeqLM.from_pretrained(folder).eval()
    read = words(prefix, return_tensors="pt")["input_ids"]
    for likelihood, after in zip(scored.likelihoods, AFTER, strict=True):
        ids = words(after, add_special_tokens=False)["input_ids"]
        with torch.inference_mode():
            given = torch.tensor([[0, *ids[:-1]]])
            logprobs = torch.log_softmax(model(input_ids=read, decoder_input_ids=given).logits[0], -1)
        total = sum(logprobs[place, id].item() for place, id in enumerate(ids))
        assert likelihood.logprob == CLOSE(total, abs=1e-3)
        assert likelihood.tokens == len(ids)


async def test_a_hundred_continuations_are_a_few_passes(loaded, monkeypatch):
    from simulator.models import transformers_backend

    passes = []
    predict = transformers_backend.predict
    monkeypatch.setattr(
        transformers_backend, "predict", lambda *given: passes.append(len(given[2])) or predict(*given)
    )
    model = loaded("gpt2")
    texts = tuple(f" {LINES[number % 3]} {number}" for number in range(100))
    conditions = [f'"The duck {word}.' for word in ("is", "was")]
    requests = [ScoreRequest(text=each, continuations=texts) for each in conditions]
    alone = [await model.score(each) for each in requests]
    passes.clear()
    together = await asyncio.gather(*map(model.score, requests))
    assert sum(passes) == 200
    assert len(passes) <= 20
    for single, batched in zip(alone, together, strict=True):
        assert [each.tokens for each in single.likelihoods] == [each.tokens for each in batched.likelihoods]
        assert [each.logprob for each in single.likelihoods] == CLOSE(
            [each.logprob for each in batched.likelihoods], abs=1e-3
        )
