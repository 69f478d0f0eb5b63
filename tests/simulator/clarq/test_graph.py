import asyncio
import json
from dataclasses import asdict

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from simulator.clarq import graph
from simulator.clarq.data import is_farewell
from simulator.clarq.graph import ProviderAgent
from simulator.clarq.players.experts_offline import OfflineExperts
from simulator.clarq.players.models import ModelExperts, ModelSeeker
from simulator.errors import SeatError
from simulator.models import ModelOptions, ScriptModel, load_model
from simulator.seats import PersonSeat, Reply, ScriptSeat

BYE = {"en": "Thanks, goodbye!", "zh": "谢谢，再见！"}
GIVE_ALL = ["0", "2", "1", "2.1", "3", "2.1.1"]


def giver(*moves):
    """A provider that makes given moves: an index to give, or words."""
    return ScriptSeat(
        [Reply(move={"give": [m]}) if m[0].isdigit() else Reply(text=m) for m in moves], name="giver"
    )


# Turn-taking


async def test_a_dialogue_from_greeting_to_goodbye(run_graph, check, either_lamp):
    seeker = ScriptSeat([*["How, and which?"] * 6, BYE[either_lamp.language]])
    played = await run_graph(either_lamp, seeker, giver(*GIVE_ALL))
    check(either_lamp, played.turns)
    assert [turn.payload.get("give") for turn in played.turns[2::2]] == [[index] for index in GIVE_ALL]
    assert graph.ending(played.state, 14) == "completed"
    assert played.turns[0].payload == {"greeting": True}
    assert graph.seat_due(played.state, 14) is None


async def test_the_last_question_is_answered_before_the_limit_cuts(run_graph, check, lamp):
    played = await run_graph(lamp, ScriptSeat(["And?"] * 3), giver("0", "1", "2"), limit=3)
    check(lamp, played.turns, limit=3)
    assert graph.ending(played.state, 3) == "truncated"
    assert len(played.turns) == 7


async def test_a_goodbye_in_the_last_turn_completes(run_graph, lamp):
    played = await run_graph(lamp, ScriptSeat(["How?", "GoodBye."]), giver("0"), limit=2)
    assert graph.ending(played.state, 2) == "completed"
    assert played.turns[-1].text == "GoodBye."


@pytest.mark.each(
    ("text", "bye"),
    [
        ("Goodbye!", True),
        ("那就再见了", True),
        ("GOODBYE", True),
        ("Good day. By the way?", False),
        ("", False),
    ],
)
def test_what_counts_as_goodbye(text, bye):
    assert is_farewell(text) == bye


@pytest.mark.parametrize("person", ["seeker", "provider"])
async def test_play_stops_when_a_person_is_to_move(run_graph, lamp, person):
    seats = {"seeker": ScriptSeat(["How?", "Goodbye."]), "provider": giver("0"), person: PersonSeat()}
    played = await run_graph(lamp, seats["seeker"], seats["provider"])
    assert graph.seat_due(played.state, 14) == person
    assert len(played.turns) == (1 if person == "seeker" else 2)


async def test_rebuilt_after_every_turn_it_is_the_same_dialogue(run_graph, either_lamp):
    task = either_lamp
    ask = ["What do I have to do?", "Which oil?", "哪个地窖？", "Where is the key?", BYE[task.language]]
    seats = (ScriptSeat(ask), ProviderAgent(OfflineExperts(), "offline"))
    whole = (await run_graph(task, *seats, seed=5)).turns
    for cut in range(len(whole) + 1):
        resumed = (await run_graph(task, *seats, whole[:cut], seed=5)).turns
        assert list(map(bare, resumed)) == list(map(bare, whole))


def bare(turn):
    return {key: value for key, value in asdict(turn).items() if key not in {"created_at", "seconds"}}


# Views and log


async def test_a_seeker_sees_no_tree_and_a_provider_all_of_it(run_graph, lamp):
    seen = {}

    def look(seat, text):
        def answer(view):
            seen.setdefault(seat, view)
            return text

        return ScriptSeat(answer)

    await run_graph(lamp, look("seeker", "How?"), look("provider", "I wonder."), limit=1, seed=3)
    seeker, provider = seen["seeker"], seen["provider"]
    assert not any(node.text in repr(seeker) for node in lamp.tree.nodes)
    assert lamp.tree.opening not in repr(seeker)
    assert seeker.task.background == lamp.background
    assert provider.task.task == lamp
    assert not provider.task.frontier.opened
    assert (seeker.number, seeker.moves, provider.number, provider.moves) == (1, 0, 2, 0)
    assert len({seeker.seed, provider.seed, 3}) == 3


async def test_the_decision_its_reason_and_the_frontier_are_logged(run_graph, experts, lamp):
    provider = ProviderAgent(experts(choice=("2",)), "script")
    played = await run_graph(lamp, ScriptSeat(["How?", "Which cellar?", "Goodbye"]), provider)
    assert played.turns[2].payload["give"] == ["0"]
    assert played.turns[4].payload == {
        "give": ["2"],
        "type": 2,
        "reason": "chosen",
        "details": {"walk": {}},
        "frontier_before": ["1", "2", "3"],
        "frontier_after": ["1", "2.1", "3"],
        "guards": [],
    }
    assert json.loads(json.dumps(played.turns[4].payload)) == played.turns[4].payload


async def test_a_seeker_that_says_nothing_breaks_the_rules(run_graph, lamp):
    with pytest.raises(SeatError) as caught:
        await run_graph(lamp, ScriptSeat(["  "]), giver("0"))
    assert caught.value.cause == "seeker"


async def test_a_script_that_runs_out_breaks_the_rules(run_graph, lamp):
    with pytest.raises(SeatError, match="script ended before") as caught:
        await run_graph(lamp, ScriptSeat(["How?"]), giver("0"))
    assert caught.value.cause == "seeker"


async def test_the_agent_outside_the_graph_does_as_within(run_graph, experts, lamp):
    async def both(provider):
        return (await run_graph(lamp, ScriptSeat(["How?", "Which?", "Hm?"]), provider, limit=3)).turns

    agent = ProviderAgent(experts(choice=("2", "2.1")), "script")
    within = await both(agent)

    class Outside:
        name, kind, reply = "outside", "script", staticmethod(agent.reply)

    outside = await both(Outside())
    assert [turn.text for turn in within] == [turn.text for turn in outside]
    assert [turn.payload.get("give") for turn in within] == [turn.payload.get("give") for turn in outside]


# Invariants for any model


def adversarial(data, task, asked):
    """A hostile model's answers: valid and malformed ones, other nodes' texts, everything together."""
    tree = task.tree
    texts = [tree.opening, *(node.text for node in tree.nodes)]
    whole = "\n".join(texts)
    secret = st.sampled_from([*texts, whole, whole.upper(), "  ".join(whole)])
    words = st.one_of(
        secret, st.sampled_from(["", " ", "y" * 20_000, "Jax: ", ">>>", "{}"]), st.text(max_size=9)
    )
    fields = {
        "analysis": words,
        "reason": words,
        "relevant": st.booleans(),
        "repeated": st.booleans(),
        "answers": st.booleans(),
        "type": st.integers(1, 6),
        "reply": st.one_of(words, st.just(" ".join(texts[1:]))),
    }
    wrong = st.one_of(st.none(), st.integers(), st.lists(st.text(max_size=3), max_size=2), words)

    def answer(request):
        asked.append(request.purpose)
        if request.schema is None:
            return data.draw(words)
        # Repeated malformed calls end the episode: see test_execute.
        bad = ["types", "missing", "several"] if asked[-3:] != asked[-1:] * 3 else []
        form = data.draw(st.sampled_from(["right"] * 8 + ["prose", *bad]))
        names = request.schema.model_fields
        right = {name: data.draw(fields[name]) for name in names}
        if form == "types":
            return {name: data.draw(wrong) for name in names}
        if form == "missing":
            return dict(list(right.items())[1:])
        if form == "prose":
            return f"I think so.\n```json\n{json.dumps(right, ensure_ascii=False)}\n```"
        return [right, {"type": 99}] if form == "several" else right

    return answer


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data(), multi=st.booleans(), language=st.sampled_from(["en", "zh"]))
def test_the_invariants_hold_whatever_a_model_says(data, multi, language, run_graph, check, lamp, lamp_zh):
    task, limit, asked = (lamp if language == "en" else lamp_zh), 5, []
    options = ModelOptions(script=adversarial(data, task, asked), max_malformed=3)
    provider = ProviderAgent(ModelExperts(load_model("offline/adversary", options)), "model")
    lines = st.one_of(
        st.sampled_from(
            ["Which?", BYE[language], "\n".join(node.text for node in task.tree.nodes), "z" * 9_000]
        ),
        st.text(min_size=1, max_size=30).filter(str.strip),
    )
    seeker = ScriptSeat(lambda view: data.draw(lines))
    played = asyncio.run(run_graph(task, seeker, provider, multi=multi, limit=limit))
    check(task, played.turns, multi=multi, limit=limit)
    assert graph.ending(played.state, limit)
    assert len(asked) < 500


async def test_a_model_in_both_seats(run_graph, check, either_lamp):
    task = either_lamp

    def answer(request):
        if request.purpose == "seeker":
            return BYE[task.language] if request.turn_number > 12 else "Which one?"
        values = {"reason": "so", "analysis": "so", "relevant": True, "type": 2, "answers": True}
        return values | {"repeated": False}

    model = ScriptModel(answer)
    provider = ProviderAgent(ModelExperts(model), "model")
    played = await run_graph(task, ModelSeeker(model), provider)
    check(task, played.turns)
    assert [turn.payload["give"] for turn in played.turns[2::2]] == [
        ["0"],
        ["1"],
        ["2"],
        ["2.1"],
        ["2.1.1"],
        ["3"],
    ]
