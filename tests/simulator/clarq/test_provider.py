import asyncio

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from simulator.clarq import provider as rules
from simulator.clarq.experts import Choice, Classification, Situation, TurnType, Verdict
from simulator.clarq.graph import ProviderAgent, ProviderKnows
from simulator.errors import SeatError
from simulator.seats import Line, View
from trees import Background, Frontier, Node, Task, Tree


def situation(task, frontier, utterance="Which one?"):
    return Situation(task=task, lines=(Line("seeker", utterance),), frontier=frontier)


def opened(task, *given):
    frontier = Frontier(task.tree).open()
    for index in given:
        frontier = frontier.give([index])
    return frontier


def turn(experts, task, frontier, *, multi=False):
    async def take():
        now = situation(task, frontier)
        decision = await rules.classify(experts, now)
        if decision.walking:
            decision = await rules.walk(experts, now, decision, multi=multi)
        return decision, await rules.respond(experts, now, decision)

    return asyncio.run(take())


# The order of the steps (spec section 3)


def test_a_relevant_question_gets_the_opening_and_nothing_else_is_asked(experts, lamp):
    who = experts(relevant_=True)
    decision, reply = turn(who, lamp, Frontier(lamp.tree))
    assert (reply.text, reply.give, decision.type) == (lamp.tree.opening, ("0",), None)
    assert reply.frontier == opened(lamp)
    assert who.asked == ["relevant"]


def test_an_unrelated_beginning_is_refused_until_the_task_is_asked_about(experts, lamp):
    who = experts(relevant_=False, reply="I know nothing about that.")
    decision, reply = turn(who, lamp, Frontier(lamp.tree))
    assert (reply.text, reply.give, decision.type) == (who.reply, (), TurnType.UNRELATED)
    assert not reply.frontier.opened
    assert who.asked == ["relevant", "respond 5"]


@pytest.mark.parametrize("type", [2, 3])
def test_details_are_looked_for_in_the_frontier(experts, lamp, type):
    who = experts(type_=type, choice=("2",))
    decision, reply = turn(who, lamp, opened(lamp))
    assert (reply.give, decision.type, reply.text) == (
        ("2",),
        TurnType.ANSWERABLE,
        lamp.tree.by_index["2"].text,
    )
    assert who.asked == ["classify", "walk"]


@pytest.mark.parametrize("type", [2, 3])
def test_a_detail_that_no_node_answers_is_of_type_3(experts, lamp, type):
    who = experts(type_=type, choice=())
    decision, reply = turn(who, lamp, opened(lamp))
    assert (reply.give, decision.type) == ((), TurnType.UNANSWERABLE)
    assert who.asked == ["classify", "walk", "respond 3"]


@pytest.mark.each("type", [1, 4, 5, 6])
def test_the_other_types_are_answered_without_a_walk(experts, lamp, type):
    who = experts(type_=type, choice=("1",))
    _, reply = turn(who, lamp, opened(lamp))
    assert reply.give == ()
    assert who.asked == ["classify", f"respond {type}"]


@pytest.mark.each("type", range(1, 7))
def test_only_questions_about_details_are_told_that_it_is_enough(experts, lamp, type):
    who = experts(type_=type)
    frontier = opened(lamp, "1", "2", "2.1", "2.1.1", "3")
    decision, reply = turn(who, lamp, frontier)
    assert decision.enough == (type in (2, 3))
    assert who.asked == (["classify"] if type in (2, 3) else ["classify", f"respond {type}"])
    assert reply.text != who.reply if type in (2, 3) else reply.text == who.reply


# Availability


def test_a_single_node_is_the_first_in_frontier_order(experts, lamp):
    _, reply = turn(experts(choice=("3", "1")), lamp, opened(lamp))
    assert reply.give == ("1",)


@pytest.mark.each("choice", [("2.1",), ("1",), ("0",), ("9",), (None,), (1,), ([1],), ({},), ("",)])
@pytest.mark.each("multi", [False, True])
def test_what_is_not_available_is_not_given(experts, lamp, choice, multi):
    decision, reply = turn(experts(choice=choice), lamp, opened(lamp, "1"), multi=multi)
    assert reply.give == ()
    assert decision.details["not_available"] == [str(choice[0])]


def test_several_nodes_are_joined_intact_and_children_wait(experts, either_lamp, contained):
    task = either_lamp
    _, reply = turn(experts(choice=("3", "2.1", "1", "2", "2")), task, opened(task), multi=True)
    assert reply.give == ("1", "2", "3")
    assert all(contained(reply.text, task.tree.by_index[i].text, task.language) for i in reply.give)
    assert [node.index for node in reply.frontier.available] == ["2.1"]


def test_joined_words_are_used_if_they_break_no_text(experts, lamp):
    good = "Well, ONLY WHALE OIL BURNS BRIGHT ENOUGH, and it counts as dark once the second bell has rung!"
    _, reply = turn(experts(choice=("1", "3"), joined=good), lamp, opened(lamp), multi=True)
    assert (reply.text, reply.guards) == (good, ())
    bad = "Only whale oil burns, and it counts as dark once the second bell has rung."
    _, reply = turn(experts(choice=("1", "3"), joined=bad), lamp, opened(lamp), multi=True)
    assert reply.text.startswith("Only whale oil burns bright enough.")
    assert reply.guards == ("joined: breaks a node's text",)


def test_joined_words_do_not_give_another_node_away(experts, lamp):
    leaking = "Only whale oil burns bright enough, and it counts as dark once the second bell has rung."
    leaking += " You find the iron key behind the STOVE!"
    _, reply = turn(experts(choice=("1", "3"), joined=leaking), lamp, opened(lamp), multi=True)
    assert reply.text.startswith("Only whale oil burns bright enough. ")
    assert reply.guards == ("joined: contains the text of node 2.1.1",)


DISGUISES = {
    "as it is": lambda text: text,
    "capitals": str.upper,
    "blanks": lambda text: "  ".join(text),
    "invisible": lambda text: "\u200b".join(text),
    "lines": lambda text: text.replace(" ", "\n"),
    "marks": lambda text: "*".join(text),
    "width": lambda text: "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in text),
    "accents": lambda text: "\u0301".join(text),
    "quoted": lambda text: f"He told me »{text.rstrip('.。')}« and left.",
    "prefix": lambda text: f"Jax: {text}",
}


@pytest.mark.parametrize("disguise", DISGUISES)
@pytest.mark.parametrize("index", ["0", "1", "2.1.1"])
def test_a_response_ii_never_says_what_was_not_given(experts, either_lamp, disguise, index):
    tree = either_lamp.tree
    frontier = Frontier(tree) if index == "0" else opened(either_lamp)
    text = tree.opening if index == "0" else tree.by_index[index].text
    who = experts(relevant_=False, type_=6, reply=f"Listen. {DISGUISES[disguise](text)}")
    _, reply = turn(who, either_lamp, frontier)
    assert reply.guards == (f"response II: contains the text of node {index}",)
    assert not rules.leaks(reply.text, frontier, either_lamp.language)
    assert reply.frontier == frontier


def test_a_response_ii_may_repeat_what_was_given(experts, either_lamp):
    reply = f"As I said: {either_lamp.tree.by_index['1'].text}"
    _, response = turn(experts(type_=4, reply=reply), either_lamp, opened(either_lamp, "1"))
    assert (response.text, response.guards) == (reply, ())


@pytest.mark.parametrize("reply", ["", "   ", "\n"])
def test_an_empty_response_ii_is_replaced(experts, lamp, reply):
    _, response = turn(experts(type_=6, reply=reply), lamp, opened(lamp))
    assert response.text
    assert response.guards == ("response II: empty",)


def test_the_trace_records_each_step(experts, lamp):
    before = opened(lamp)
    decision, reply = turn(experts(choice=("2", "9")), lamp, before)
    assert rules.trace(decision, before, reply) == {
        "give": ["2"],
        "type": 2,
        "reason": "chosen",
        "details": {"walk": {}, "not_available": ["9"]},
        "frontier_before": ["1", "2", "3"],
        "frontier_after": ["1", "2.1", "3"],
        "guards": [],
    }


# People and scripts


def move(lamp, frontier, give=(), before="", after="", text="", multi=False):
    chosen = {"give": give, "before": before, "after": after}
    return rules.take_move(frontier, chosen, text, lamp.language, multi=multi)


def test_a_person_gives_nodes_with_words_around(lamp):
    reply = move(lamp, opened(lamp), ["1"], "Hm.", "Yes.")
    assert (reply.text, reply.give) == ("Hm. Only whale oil burns bright enough. Yes.", ("1",))
    start = move(lamp, Frontier(lamp.tree), ["0"], before="Hello.")
    assert start.text == f"Hello. {lamp.tree.opening}"
    assert start.frontier.opened


@pytest.mark.each("give", ["2", 2, ["2"], ("2",)])
def test_a_node_may_be_named_in_any_form(lamp, give):
    assert move(lamp, opened(lamp), give).give == ("2",)


@pytest.mark.each("nothing", [None, {}, {"give": None}, {"give": []}, {"before": None, "after": None}])
def test_a_move_that_gives_nothing_is_a_response_ii(lamp, nothing):
    reply = rules.take_move(opened(lamp), nothing, "  I cannot tell. ", "en", multi=False)
    assert (reply.text, reply.give) == ("I cannot tell.", ())


@pytest.mark.each(
    ("change", "message"),
    [
        ({"give": ["2.1"]}, "2.1 cannot be given now"),
        ({"give": ["0"]}, "0 cannot be given now"),
        ({"give": ["nonsense"]}, "nonsense cannot be given now"),
        ({"give": ["1", "3"]}, "One piece of information"),
        ({"give": ["1", "1"], "multi": True}, "1, 1 cannot be given now"),
        ({"give": ["1"], "before": "n" * 1001}, "1000 characters; shorten them"),
        ({"give": ["1"], "after": "n" * 1001}, "1000 characters; shorten them"),
        ({"give": ["1"], "after": "You find the iron key behind the stove"}, "text of node 2.1.1"),
        ({"text": "It counts as dark once the second bell has rung."}, "text of node 3"),
        ({"text": " "}, "Pick a node or write"),
        ({}, "Pick a node or write"),
    ],
)
def test_a_person_gets_a_message_about_a_faulty_move(lamp, change, message):
    with pytest.raises(SeatError, match=message) as caught:
        move(lamp, opened(lamp), **change)
    assert caught.value.cause == "provider"


def test_a_tree_that_repeats_words_can_be_played_by_people():
    nodes = (Node("1", "Take the red boat at the pier."), Node("1.1", "the red boat"), Node("2", "At noon."))
    task = Task("t", 1, "en", Background("r", "t"), Tree("Go, take the red boat.", nodes))
    start = move(task, Frontier(task.tree), ["0"])
    reply = move(task, start.frontier, ["1"], after="Hurry.")
    assert reply.text == "Take the red boat at the pier. Hurry."
    with pytest.raises(SeatError, match="node 2"):
        move(task, start.frontier, ["1"], after="At noon!")


# Invariants for any expert


SECRETS = (
    "The herring boat sails at dawn.",
    "Only the blue lantern is lit.",
    "Ask the ferryman for a rope.",
    "Marta keeps the spare oars.",
    "The tide turns at seven bells.",
    "Salt the deck before you step on it.",
)


@st.composite
def trees(draw):
    """Draw a tree of one to six nodes, up to four levels deep."""
    indices = []
    for _ in range(draw(st.integers(1, 6))):
        parents = [None, *(index for index in indices if index.count(".") < 3)]
        parent = draw(st.sampled_from(parents))
        siblings = sum(index.rpartition(".")[0] == (parent or "") for index in indices)
        indices.append(f"{parent}.{siblings + 1}" if parent else str(siblings + 1))
    return Tree("Cross the bay.", tuple(map(Node, indices, SECRETS)))


def words(tree):
    texts = [tree.opening, *(node.text for node in tree.nodes), "\n".join(node.text for node in tree.nodes)]
    spoiled = st.sampled_from(texts).flatmap(
        lambda text: st.sampled_from([disguise(text) for disguise in DISGUISES.values()])
    )
    halves = st.sampled_from(texts).flatmap(
        lambda text: st.integers(1, len(text) - 1).flatmap(
            lambda cut: st.sampled_from([text[:cut], text[cut:]])
        )
    )
    return st.one_of(st.sampled_from(["", " ", "x" * 30_000]), spoiled, halves, st.text(max_size=20))


class Hostile:
    """Experts that draw every answer."""

    name = "test/hostile"

    def __init__(self, data, tree):
        self.draw = data.draw
        self.words = words(tree)
        known = [node.index for node in tree.nodes]
        odd = st.sampled_from(["0", "99", "", None, 1, "1.1.1.1.1"])
        self.choices = st.lists(st.one_of(st.sampled_from(known), odd), max_size=8).map(tuple)

    async def relevant(self, now):
        return Verdict(self.draw(st.booleans()))

    async def classify(self, now):
        return Classification(self.draw(st.sampled_from(TurnType)))

    async def walk(self, now, *, multi):
        return Choice(self.draw(self.choices))

    async def join(self, now, nodes):
        return self.draw(st.one_of(self.words, st.just(" ".join(node.text for node in nodes))))

    async def respond(self, now, type):
        return self.draw(self.words)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data(), tree=trees(), multi=st.booleans())
def test_the_invariants_hold_whatever_an_expert_says(data, tree, multi, contained):
    task = Task("t", 1, "en", Background("r", "t"), tree)
    frontier = Frontier(tree)
    who = ProviderAgent(Hostile(data, tree), "script")
    for number in range(8):
        view = View(
            episode_id="e",
            seat="provider",
            number=number,
            language="en",
            lines=(Line("seeker", "Well?"),),
            task=ProviderKnows(task, frontier),
            seed=0,
            options={"multi": multi},
        )
        reply = asyncio.run(who.reply(view))
        given = tuple(reply.move["give"])
        after = frontier.open() if given == ("0",) else frontier.give(given)
        assert (after != frontier) == bool(given)
        assert multi or len(given) <= 1
        assert reply.text.strip()
        for node in tree.nodes:
            if node.index in given:
                assert contained(reply.text, node.text, "en")
            elif node.index not in after.given:
                assert not contained(reply.text, node.text, "en")
        assert contained(reply.text, tree.opening, "en") or not (after.opened and not frontier.opened)
        assert after.opened or not contained(reply.text, tree.opening, "en")
        frontier = after
