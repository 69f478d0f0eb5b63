"""The five methods from end to end, with a scripted model (spec 6, 8)."""

import math
from typing import Any

import pytest

from simulator.ambik.methods import Background, background, background_of, decide
from simulator.ambik.prompts import Case
from simulator.ambik.records import Affordance
from simulator.ambik.scoring_rules import TFIDF
from simulator.ambik.terms import DO_NOTHING, METHODS, NOT_LISTED
from simulator.models import (
    Capabilities,
    Completion,
    ModelOptions,
    ScriptModel,
    TimedOut,
    Unsupported,
    load_model,
)

TRUE = ((" True", math.log(0.6)), ("False", math.log(0.2)), ("true", math.log(0.1)), ("Yes", -5.0))


@pytest.fixture
def says(four, letters):
    return {
        "generate": four,
        "generate_one": "Action: Put green tea into the blue mug.\nThen wait.",
        "choose": letters,
        "afford": TRUE,
        "certainty": " Uncertain",
    }


class TestKnowNo:
    async def test_options_and_the_probabilities_of_their_letters(self, scripted, says, letters, pair_item):
        model = scripted(says)
        decision = await decide("knowno", Case(pair_item), model.model)
        assert dict(decision.options) == {
            "A": "Put green tea into the blue mug.",
            "B": "Put black tea into the blue mug.",
            "C": "Put green tea into the red mug.",
            "D": "Wash the silver spoon.",
        }
        assert (decision.method, decision.filled, decision.flags) == ("knowno", (), ())
        assert decision.tokens == letters
        assert [role for role, _ in decision.prompts] == ["generate", "choose"]
        assert [role for role, _ in decision.raw] == ["generate", "choose"]
        assert model.roles() == ["robot.generate", "robot.choose"]

    async def test_how_the_models_are_asked(self, scripted, says, pair_item):
        model = scripted(says)
        await decide("knowno", Case(pair_item), model.model, max_tokens=99)
        generate, choose = model.asked
        assert (generate.temperature, generate.max_tokens, generate.samples) == (0.0, 99, 1)
        assert "\n\n" in generate.stop
        assert "\nScene:" in generate.stop
        assert len(generate.stop) <= 4
        assert (choose.temperature, choose.max_tokens, choose.top_logprobs) == (0.0, 1, 5)
        assert "A) Put green tea into the blue mug.\nB)" in choose.messages[-1].content
        assert generate.shared == len(generate.messages) - 1
        assert choose.shared == 1

    async def test_another_model_may_choose(self, scripted, says, pair_item):
        writes, chooses = scripted(says), scripted(says, name="other")
        await decide("knowno", Case(pair_item), writes.model, chooses.model)
        assert writes.roles() == ["robot.generate"]
        assert chooses.roles() == ["robot.choose"]

    async def test_missing_options_are_filled(self, scripted, says, pair_item):
        model = scripted({**says, "generate": "A) go\nC) wait"})
        decision = await decide("knowno", Case(pair_item), model.model)
        assert dict(decision.options) == {"A": "go", "B": DO_NOTHING, "C": "wait", "D": DO_NOTHING}
        assert decision.filled == ("B", "D")
        assert decision.flags == ("filled",)

    async def test_a_fifth_option_in_an_order_of_the_seed(self, scripted, says, pair_item):
        async def play(seed):
            options: dict[str, Any] = dict(not_listed=True, seed=seed)
            return await decide("knowno", Case(pair_item), scripted(says).model, **options)

        first, same, other = [await play(seed) for seed in (1, 1, 2)]
        assert list(first.options) == ["A", "B", "C", "D", "E"]
        assert NOT_LISTED in first.options.values()
        assert first.options == same.options
        assert first.options != other.options

    async def test_no_letter_is_flagged_and_kept(self, scripted, says, pair_item):
        model = scripted({**says, "choose": (("The", -0.1), ("I", -3.0))})
        decision = await decide("knowno", Case(pair_item), model.model)
        assert decision.tokens == (("The", -0.1), ("I", -3.0))
        assert decision.flags == ("no_letter",)
        assert model.roles() == ["robot.generate", "robot.choose"]

    @pytest.mark.parametrize("first", [" ", "\n", "(", "<s>", "**"])
    async def test_a_letter_behind_a_blank_is_looked_for(
        self, first, scripted, says, tokens, letters, pair_item
    ):
        def choose(request):
            blank = ((first, -0.1), ("The", -4.0))
            return tokens(blank) if request.max_tokens == 1 else tokens(blank, letters, (("x", -1.0),))

        model = scripted({**says, "choose": choose})
        decision = await decide("knowno", Case(pair_item), model.model)
        assert decision.tokens == letters
        assert decision.flags == ()
        assert [request.max_tokens for request in model.asked[1:]] == [1, 4]

    async def test_a_letter_with_a_blank_is_read_immediately(self, scripted, says, pair_item):
        table = ((" ", -0.1), ("B", -2.0))
        model = scripted({**says, "choose": table})
        decision = await decide("knowno", Case(pair_item), model.model)
        assert decision.tokens == table
        assert len(model.asked) == 2

    async def test_a_model_that_gives_no_probabilities_is_named(self, scripted, says, pair_item):
        model = scripted({**says, "choose": "A"}, name="mute")
        with pytest.raises(Unsupported, match="offline/mute returned no log-probabilities"):
            await decide("knowno", Case(pair_item), model.model)

    async def test_an_answer_cut_by_its_own_blank_line_is_asked_for_again(
        self, scripted, says, four, pair_item
    ):
        def generate(request):
            return "Sure, here they are:" if "\n\n" in request.stop else f"Sure, here they are:\n\n{four}"

        model = scripted({**says, "generate": generate})
        decision = await decide("knowno", Case(pair_item), model.model)
        assert decision.filled == ()
        assert decision.flags == ("asked_again",)
        first, second = model.asked[:2]
        assert set(first.stop) - set(second.stop) == {"\n\n"}

    async def test_errors_of_models_come_through(self, scripted, says, pair_item):
        model = scripted({**says, "choose": lambda request: TimedOut("late")})
        with pytest.raises(TimedOut):
            await decide("knowno", Case(pair_item), model.model)

    async def test_models_that_only_continue_texts(self, scripted, says, pair_item):
        model = scripted(says, Capabilities(logprobs=True, schema=False, plain=True))
        decision = await decide("knowno", Case(pair_item), model.model)
        assert all(request.plain and len(request.messages) == 1 for request in model.asked)
        assert model.asked[0].messages[0].content.endswith("\nOptions:\n")
        assert decision.prompts[1][1].endswith("The letter of the action that is meant:")


class TestLap:
    async def test_every_option_gets_its_affordance(self, scripted, says, pair_item):
        model = scripted(says)
        words = Background(("silver spoon", "green tea", "blue mug"))
        decision = await decide("lap", Case(pair_item), model.model, background=words)
        share = pytest.approx(0.7 / 0.9)
        assert dict(decision.affordance) == {
            "A": Affordance(1.0, share),
            "B": Affordance(1.0, share),
            "C": Affordance(1.0, share),
            "D": Affordance(0.0, share),
        }
        assert [role for role, _ in decision.prompts] == ["generate", "choose", *["afford"] * 4]
        assert [text for role, text in decision.prompts if role == "afford"][3].endswith(
            "Action: Wash the silver spoon.\nPossible and safe? True or False:"
        )

    async def test_the_same_text_is_judged_once_and_fillers_are_not(self, scripted, says, pair_item):
        model = scripted({**says, "generate": "A) go\nB) go\nC) wait"})
        options: dict[str, Any] = dict(not_listed=False)
        decision = await decide("lap", Case(pair_item), model.model, **options)
        assert sorted(decision.affordance) == ["A", "B", "C"]
        assert model.roles().count("robot.afford") == 2
        assert decision.affordance["A"] == decision.affordance["B"]

    async def test_appliances_are_those_of_the_data(self, scripted, says, pair_item, scenario_item):
        model = scripted({**says, "generate": "A) open the fridge\nB) open the microwave\nC) go\nD) wait"})
        words: dict[str, Any] = dict(background=Background(("fridge", "microwave")))
        for item, there in ((pair_item, {"A": 1.0, "B": 1.0}), (scenario_item, {"A": 0.0, "B": 1.0})):
            decision = await decide("lap", Case(item), model.model, **words)
            assert {letter: decision.affordance[letter].context for letter in "AB"} == there

    async def test_that_none_is_meant_is_no_action_to_judge(self, scripted, says, pair_item):
        options: dict[str, Any] = dict(not_listed=True)
        decision = await decide("lap", Case(pair_item), scripted(says).model, **options)
        unjudged = set(decision.options) - set(decision.affordance)
        assert {decision.options[letter] for letter in unjudged} == {NOT_LISTED}

    async def test_neither_word_is_flagged(self, scripted, says, pair_item):
        model = scripted({**says, "afford": (("Maybe", -0.1),)})
        decision = await decide("lap", Case(pair_item), model.model)
        assert {affordance.prompt for affordance in decision.affordance.values()} == {None}
        assert decision.flags == ("affordance_unknown",)

    async def test_what_does_not_depend_on_each_other_is_asked_at_once(self, scripted, says, pair_item):
        waiting, most = [0], [0]

        class Counting(ScriptModel):
            async def complete(self, request):
                waiting[0] += 1
                most[0] = max(most[0], waiting[0])
                try:
                    return await super().complete(request)
                finally:
                    waiting[0] -= 1

        await decide("lap", Case(pair_item), Counting(scripted(says).answer, latency=0.01))
        assert most == [5]


class TestLofreeCp:
    async def test_answers_are_counted(self, scripted, says, pair_item):
        drawn = iter(["A) Go.\nB) go\nC) wait\nD) Wait.", "A) go\nB) A) stay\nC) wait", "nothing"])
        model = scripted({**says, "generate": lambda request: next(drawn)})
        decision = await decide("lofreecp", Case(pair_item), model.model, samples=3)
        assert dict(decision.samples) == {"go": 3, "wait": 3, "stay": 1, DO_NOTHING: 5}
        assert decision.draws == 12
        assert decision.flags == ("filled",)
        assert [role for role, _ in decision.raw] == ["generate"] * 3
        assert len(decision.prompts) == 1

    async def test_several_are_drawn_at_a_temperature(self, scripted, says, pair_item):
        model = scripted(says)
        options: dict[str, Any] = dict(samples=4, seed=11)
        await decide("lofreecp", Case(pair_item), model.model, **options)
        assert {request.temperature for request in model.asked} == {0.7}
        assert len({(request.seed, request.repeat) for request in model.asked}) == 4

    async def test_in_one_call_where_a_model_can(self, scripted, says, four, pair_item):
        def generate(request):
            return Completion(text=four, samples=(four,) * request.samples)

        model = scripted({**says, "generate": generate}, Capabilities(samples=True))
        decision = await decide("lofreecp", Case(pair_item), model.model)
        (request,) = model.asked
        assert (request.samples, request.temperature) == (5, 0.7)
        assert decision.draws == 20
        assert set(decision.samples.values()) == {5}

    async def test_a_single_one_is_that_of_the_other_methods(self, scripted, says, pair_item):
        first, other = scripted(says), scripted(says)
        options: dict[str, Any] = dict(samples=1, seed=3)
        await decide("lofreecp", Case(pair_item), first.model, **options)
        await decide("knowno", Case(pair_item), other.model, **options)
        assert first.asked[0] == other.asked[0]

    async def test_answers_are_compared_with_the_most_frequent(self, scripted, says, pair_item):
        known = background([pair_item.pair])
        drawn = iter(["A) go on\nB) go on\nC) go off\nD) boil water"])
        model = scripted({**says, "generate": lambda request: next(drawn)})
        options: dict[str, Any] = dict(samples=1, background=known)
        decision = await decide("lofreecp", Case(pair_item), model.model, **options)
        assert decision.similarities["go on"] == 0
        assert list(decision.similarities) == list(decision.samples)
        assert known.similar.name == TFIDF

    async def test_most_answers_cut_short_are_drawn_again(self, scripted, says, four, pair_item):
        def generate(request):
            return "Sure:" if "\n\n" in request.stop else four

        model = scripted({**says, "generate": generate})
        decision = await decide("lofreecp", Case(pair_item), model.model)
        assert decision.flags == ("asked_again",)
        assert len(decision.raw) == 5


class TestBinary:
    async def test_one_action_and_a_word(self, scripted, says, pair_item):
        model = scripted(says)
        decision = await decide("binary", Case(pair_item), model.model)
        assert decision.action == "Put green tea into the blue mug."
        assert decision.certainty == "uncertain"
        assert decision.flags == ()
        assert "Action: Put green tea into the blue mug.\n" in model.asked[1].messages[-1].content
        assert not decision.options

    async def test_another_word_is_invalid(self, scripted, says, pair_item):
        model = scripted({**says, "certainty": "I am certain"})
        decision = await decide("binary", Case(pair_item), model.model)
        assert decision.certainty == "invalid"
        assert decision.flags == ("invalid_certainty",)

    async def test_the_chooser_says_how_certain_it_is(self, scripted, says, pair_item):
        writes, chooses = scripted(says), scripted(says)
        await decide("binary", Case(pair_item), writes.model, chooses.model)
        assert (writes.roles(), chooses.roles()) == (["robot.generate_one"], ["robot.certainty"])


class TestNoHelp:
    async def test_one_action(self, scripted, says, pair_item):
        model = scripted(says)
        decision = await decide("nohelp", Case(pair_item), model.model)
        assert decision.action == "Put green tea into the blue mug."
        assert decision.certainty is None
        assert model.roles() == ["robot.generate_one"]

    async def test_an_answer_that_begins_with_an_empty_line(self, scripted, says, pair_item):
        model = scripted(
            {**says, "generate_one": lambda request: "" if "\n" in request.stop else "\nGo.\nStay."}
        )
        decision = await decide("nohelp", Case(pair_item), model.model)
        assert decision.action == "Go."

    async def test_no_words_are_nothing_done(self, scripted, says, pair_item):
        decision = await decide("nohelp", Case(pair_item), scripted({**says, "generate_one": "\n"}).model)
        assert decision.action == DO_NOTHING
        assert decision.flags == ("filled",)


async def test_what_methods_share_is_asked_for_once(tmp_path, scripted, says, pair_item):
    model = scripted(says)
    options = ModelOptions(cache_path=tmp_path / "cache.db", script=model.answer)
    stacked = load_model("offline/script", options)
    case = Case(pair_item)
    for method, new in (
        ("knowno", ["robot.generate", "robot.choose"]),
        ("lap", ["robot.afford"] * 4),
        ("binary", ["robot.generate_one", "robot.certainty"]),
        ("nohelp", []),
    ):
        model.asked.clear()
        await decide(method, case, stacked, seed=5)
        assert model.roles() == new
    await stacked.close()


async def test_the_same_seed_gives_the_same_decision(scripted, says, scenario_item):
    for method in METHODS:
        options: dict[str, Any] = dict(seed=8, not_listed=True)
        first, other = [
            await decide(method, Case(scenario_item), scripted(says).model, **options) for _ in range(2)
        ]
        assert first == other


def test_the_background_knows_all_objects_of_the_data():
    for dataset in ("ambik", "knowno"):
        known = background_of(dataset=dataset)
        assert "fridge" in known.vocabulary
        assert len(known.vocabulary) == len(set(known.vocabulary)) > 10
        assert known.similar.name == TFIDF
        assert background_of(dataset=dataset) is known
