import pytest
from shown_blocks import in_cards, tree_states

from logs.rows import Ending, Judgment, Turn
from simulator.blocks import Detail, Meter, Text
from simulator.clarq import graph
from simulator.clarq.score import JUDGE
from simulator.clarq.show import replay, result, seat_page, tree, tree_replay
from simulator.drawn_blocks import Tree
from simulator.seats import PersonSeat
from trees import Frontier


async def nothing(turn):
    raise AssertionError("a view records nothing")


def context(task, **changes):
    people = {"seeker": PersonSeat(), "provider": PersonSeat()}
    return graph.Context(episode_id="e", task=task, record=nothing, **{**people, **changes})


def logged(*lines, gives=None):
    """Turns, provider first; `gives` maps turn numbers to the nodes given."""
    return [
        Turn(
            episode_id="e",
            number=number,
            seat="seeker" if number % 2 else "provider",
            text=text,
            payload={"give": gives[number]} if gives and number in gives else {},
        )
        for number, text in enumerate(lines)
    ]


def test_a_seeker_sees_the_dialogue_and_no_tree(lamp):
    turns = logged("Hello?", "How?", lamp.tree.opening, gives={2: ["0"]})
    view = seat_page(context(lamp), graph.rebuild(turns), "seeker")
    assert (view.my_turn, view.waits_for, view.stage, view.number) == (True, "", "task", 3)
    assert (view.language, view.people, view.due.closing) == ("en", ("provider",), "farewell")
    assert Meter("turns", 1, 14) in view.blocks
    assert [move.text for move in view.moves] == ["Hello?", "How?", lamp.tree.opening]
    assert tree_states(view) == {}
    assert Text(lamp.background.task) in [part.content for part in in_cards(view, Detail)]
    assert not any(node.text in repr(view) for node in lamp.tree.nodes)


def test_a_provider_sees_the_tree_and_whose_turn_it_is(lamp):
    turns = logged("Hello?", "How?", lamp.tree.opening, gives={2: ["0"]})
    view = seat_page(context(lamp, multi=True), graph.rebuild(turns), "provider")
    assert (view.my_turn, view.waits_for, view.due.closing) == (False, "seeker", "")
    (known,) = in_cards(view, Tree)
    assert (known.root.text, known.root.state, known.several) == (lamp.tree.opening, "given", True)
    assert tree_states(view) == {
        "0": "given",
        "1": "available",
        "2": "available",
        "2.1": "locked",
        "2.1.1": "locked",
        "3": "available",
    }


def test_nothing_but_the_opening_is_available_before_it(lamp):
    states = tree_states(seat_page(context(lamp), graph.rebuild(logged("Hello?")), "provider"))
    assert states == {"0": "available"} | dict.fromkeys(("1", "2", "2.1", "2.1.1", "3"), "locked")


@pytest.mark.parametrize("stage", ["consent", "instructions", "comprehension"])
def test_of_the_task_nothing_is_shown_while_a_study_asks_for_a_step(lamp, stage):
    turns = logged("Hello?", "How?", lamp.tree.opening, gives={2: ["0"]})
    view = seat_page(context(lamp), graph.rebuild(turns), "provider", stage=stage)
    assert (view.stage, view.moves) == (stage, ())
    known = [lamp.background.task, lamp.tree.opening, *(node.text for node in lamp.tree.nodes)]
    assert not any(text in repr(view) for text in known)


def states_of(node):
    """Return the states of a node and its descendants."""
    below = (pair for child in node.children for pair in states_of(child).items())
    return {node.index: node.state, **dict(below)}


def test_nodes_are_given_available_or_locked(lamp):
    frontier = Frontier(lamp.tree).open().give(["2"]).give(["1"])
    states = {
        "0": "given",
        "1": "given",
        "2": "given",
        "2.1": "available",
        "2.1.1": "locked",
        "3": "available",
    }
    assert states_of(tree(frontier)) == states


def test_no_seat_is_to_move_after_the_end(lamp):
    turns = logged("Hello?", "Goodbye")
    ending = Ending(episode_id="e", status="completed")
    view = seat_page(context(lamp), graph.rebuild(turns), "seeker", ending, "something broke")
    assert (view.my_turn, view.waits_for, view.stage, view.ending.status) == (False, "", "done", "completed")
    assert view.warning == "something broke"


@pytest.mark.parametrize("with_payload", [True, False])
def test_a_replay_shows_the_frontier_around_every_turn(lamp, with_payload):
    recorded = (
        {"type": 2, "reason": "asked", "guards": ["joined"], "frontier_before": ["9"]} if with_payload else {}
    )
    turns = logged(
        "Hello?",
        "How?",
        lamp.tree.opening,
        "Where?",
        lamp.tree.by_index["2"].text,
        "Goodbye",
        gives={2: ["0"], 4: ["2"]},
    )
    turns[4].payload.update(recorded)
    shown = replay(lamp, turns)
    assert [step.gave for step in shown.steps] == [(), (), ("0",), (), ("2",), ()]
    after = [[node.index for node in step.after.available] for step in shown.steps]
    assert (after[1], after[2], after[3], after[4]) == (
        [],
        ["1", "2", "3"],
        ["1", "2", "3"],
        ["1", "2.1", "3"],
    )
    assert [step.before for step in shown.steps[1:]] == [step.after for step in shown.steps[:-1]]
    words = [getattr(word, "name", word) for word in tree_replay(shown).turns[4].why]
    assert words == (["result.heard", "asked"] if with_payload else ["result.no_reason"])
    assert shown.frontier.given == shown.scores.obtained == ("2",)


def test_a_replay_counts_what_judges_said(lamp):
    texts = [lamp.tree.by_index[i].text for i in ("1", "2", "2.1", "2.1.1")]
    lines = ["Hello?", "How?", lamp.tree.opening]
    for text in [*texts, "At the second bell."]:
        lines += ["And?", text]
    turns = logged(*lines, gives={2: ["0"], 4: ["1"], 6: ["2"], 8: ["2.1"], 10: ["2.1.1"]})
    yes = Judgment(
        id="j", episode_id="e", annotator="x", kind=JUDGE, value={"node": "3", "obtained": True, "reason": ""}
    )
    before, after = replay(lamp, turns), replay(lamp, turns, [yes])
    assert not before.scores.success
    assert after.scores.success
    verdicts = [result(each, "seeker", judges=False).blocks[0] for each in (before, after)]
    assert [(verdict.text.name, verdict.figures[0].value.name) for verdict in verdicts] == [
        ("result.unjudged.text", "result.s_no"),
        ("result.success.text", "result.s_yes"),
    ]
