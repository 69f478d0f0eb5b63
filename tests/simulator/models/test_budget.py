import asyncio

import pytest

from simulator.errors import InputError
from simulator.models import BadRequest, Budget, BudgetExceeded, Completion, Malformed, Refused, TimedOut
from simulator.models.base import Usage
from simulator.models.budget import _BUILT_IN, Metered, Price, find_price, most_tokens, read_prices
from simulator.models.cache import Recorded
from simulator.models.retry import Retried

PRICE = Price(input=1.0, output=10.0)  # a token of input costs 1e-6 USD


def test_cost():
    price = Price(input=2.0, output=10.0, cached_input=0.5)
    assert price.cost(Usage(1_000_000, 100_000)) == 3.0
    assert price.cost(Usage(1_000_000, 100_000, 400_000)) == pytest.approx(1.2 + 0.2 + 1.0)
    assert Price(input=2.0, output=10.0).cost(Usage(1_000_000, 0, 400_000)) == 2.0


def test_unknown_usage_has_no_cost():
    assert PRICE.cost(Usage()) is None
    assert PRICE.cost(Usage(1)) is None
    assert Price(input=0, output=0).cost(Usage()) == 0.0


def test_beyond_its_range_a_price_is_unknown():
    price = Price(input=1.0, output=1.0, up_to=100)
    assert price.cost(Usage(100, 0)) == pytest.approx(1e-4)
    assert price.cost(Usage(101, 0)) is None


def test_finding_a_price():
    assert find_price("openai/gpt-4o") == find_price("openai/gpt-4o-2024-11-20")
    assert find_price("openai/gpt-4o-2024-05-13").input == 5.0, "listed itself"
    assert find_price("anthropic/claude-haiku-4-5-20251001").output == 5.0
    assert find_price("offline/script").cost(Usage()) == 0.0
    assert find_price("openai/gpt-4o-audio") is None
    assert find_price("openai/who-knows") is None


def test_every_built_in_price_has_a_date():
    for name, price in read_prices(_BUILT_IN).items():
        assert price.as_of >= "2025", name
        assert price.output >= price.input, name


def test_another_server_has_other_prices():
    assert find_price("openai/gpt-4o", built_in=False) is None
    assert find_price("local/smollm2", built_in=False).input == 0.0


def test_the_users_prices_override(tmp_path, monkeypatch):
    path = tmp_path / "prices.yaml"
    path.write_text("openai/gpt-4o: {input: 1, output: 2}\nmy/*: {input: 3, output: 4, as_of: 2026-01-01}")
    assert find_price("openai/gpt-4o", path) == Price(input=1.0, output=2.0)
    assert find_price("my/own", path).as_of == "2026-01-01"
    assert find_price("openai/o3", path).input == 2.0, "the others stay"
    monkeypatch.setenv("ASKBACK_PRICES", str(path))
    assert find_price("openai/gpt-4o", built_in=False).output == 2.0


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("openai/x: 3", "openai/x: expected 'input' and 'output'"),
        ("openai/x: {input: 3}", "openai/x: output is missing"),
        ("openai/x: {input: -3, output: 1}", "openai/x: input is -3; it must be greater"),
        ("openai/x: {input: yes, output: 1}", "openai/x: input is true, not a number"),
        ("openai/x: {input: .inf, output: 1}", "openai/x: input is Infinity, not a number"),
        ("openai/x: {input: 1, output: 1, outptu: 2}", "unknown key 'outptu'"),
        ("- a", "expected a mapping"),
        ("a: [", "is not YAML"),
    ],
)
def test_a_wrong_price_file_is_told(tmp_path, content, message):
    path = tmp_path / "prices.yaml"
    path.write_text(content)
    with pytest.raises(InputError, match=message) as caught:
        read_prices(path)
    assert "prices.yaml" in str(caught.value)


def test_a_missing_price_file_is_told(tmp_path):
    with pytest.raises(InputError, match=r"nowhere\.yaml: No such file"):
        read_prices(tmp_path / "nowhere.yaml")


def test_an_empty_price_file_is_fine(tmp_path):
    path = tmp_path / "prices.yaml"
    path.write_text("# nothing yet\n")
    assert read_prices(path) == {}


# --- the layer ---------------------------------------------------------------------------------------


async def test_answers_are_priced(fake, ask):
    inner = fake(Completion(text="red", usage=Usage(100, 10)))
    assert (await Metered(inner, PRICE).complete(ask())).cost == pytest.approx(2e-4)
    assert (await Metered(inner, None).complete(ask())).cost is None, "unknown, never 0"


async def test_failures_are_priced_if_their_usage_is_known(fake, ask):
    with pytest.raises(Refused) as caught:
        await Metered(fake(Refused("x", usage=Usage(100, 10))), PRICE).complete(ask())
    assert caught.value.cost == pytest.approx(2e-4)


async def test_failures_that_were_not_billed_cost_nothing(fake, ask):
    rows = []
    model = Recorded(Retried(Metered(fake(BadRequest("too long")), PRICE, Budget(1.0))), rows.append)
    with pytest.raises(BadRequest):
        await model.complete(ask())
    model = Recorded(Retried(Metered(fake(), PRICE, Budget(0.0))), rows.append)
    with pytest.raises(BudgetExceeded):
        await model.complete(ask())
    assert [row.cost for row in rows] == [0.0, 0.0]


async def test_a_budget_needs_a_price(fake):
    with pytest.raises(BudgetExceeded, match="fake/model has no price"):
        Metered(fake(), None, Budget(1.0))


async def test_no_call_can_use_more_than_is_set_aside(ask):
    request = ask("äöü 你好 🙂" * 10, max_tokens=50)
    most = most_tokens(request)
    assert most.input_tokens > len(request.messages[0].content.encode())
    assert most.output_tokens == 50


async def test_spending_is_booked(fake, ask):
    budget = Budget(1.0, spent=0.25)
    await Metered(fake(Completion(text="red", usage=Usage(100, 10))), PRICE, budget).complete(ask())
    assert budget.spent == pytest.approx(0.2502)
    assert budget.reserved == pytest.approx(0.0)


async def test_a_call_that_could_exceed_the_budget_is_not_made(fake, ask):
    inner = fake(Completion(text="red", usage=Usage(100, 10)))
    model = Metered(inner, PRICE, Budget(0.02))
    await model.complete(ask(max_tokens=1000))
    with pytest.raises(BudgetExceeded, match="raise the budget"):
        await model.complete(ask(max_tokens=5000))
    assert len(inner.requests) == 1
    assert (await model.complete(ask(max_tokens=10))).text == "red", "a smaller one still fits"


@pytest.mark.parametrize(
    ("error", "booked"),
    [
        (BadRequest("x"), False),
        (TimedOut("x"), True),
        (Malformed("x"), True),
        (ZeroDivisionError(), True),
    ],
)
async def test_what_may_have_been_billed_is_held_to_be(fake, ask, error, booked):
    budget = Budget(1.0)
    with pytest.raises(type(error)):
        await Metered(fake(error), PRICE, budget).complete(ask())
    assert (budget.spent > 0) is booked
    assert budget.reserved == 0


async def test_an_answer_without_usage_is_held_to_have_cost_the_most(fake, ask):
    budget = Budget(1.0)
    await Metered(fake("red"), PRICE, budget).complete(ask(max_tokens=1000))
    assert budget.spent > 0.01


async def test_calls_wait_for_what_others_set_aside(ask, fake):
    budget = Budget(0.025)
    inner = fake()
    gate = asyncio.Event()

    async def complete(request):
        inner.requests.append(request)
        await gate.wait()
        return Completion(text="red", usage=Usage(1, 1))

    inner.complete = complete
    model = Metered(inner, PRICE, budget)
    tasks = [asyncio.create_task(model.complete(ask(max_tokens=1000))) for _ in range(6)]
    await asyncio.sleep(0.01)
    assert len(inner.requests) == 2, "two could cost 0.021 USD, three 0.032"
    gate.set()
    await asyncio.gather(*tasks)
    assert len(inner.requests) == 6
    assert budget.reserved == pytest.approx(0.0)
    assert budget.spent <= budget.limit


async def test_a_cancelled_wait_leaves_no_trace(ask, fake):
    budget = Budget(0.015)
    await budget.reserve(0.01)
    waiting = asyncio.create_task(budget.reserve(0.01))
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    budget.settle(0.01, 0.0)
    assert budget.reserved == 0
    await budget.reserve(0.015)


async def test_beyond_the_range_of_the_price_no_budget_can_be_kept(fake, ask):
    price = Price(input=1.0, output=1.0, up_to=100)
    with pytest.raises(BudgetExceeded, match="beyond the known price"):
        await Metered(fake(), price, Budget(1.0)).complete(ask("long " * 100))
