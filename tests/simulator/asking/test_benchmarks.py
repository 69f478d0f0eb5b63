"""The questions that each benchmark counts as asked, useful and needed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from logs.rows import Turn
from simulator.ambik.data import load_pairs
from simulator.ambik.items import Draft, DraftItem
from simulator.ambik.score import asking_record as ambik_record
from simulator.ambik.score import useful as ambik_useful
from simulator.ambik.selection import pair_items
from simulator.asking import read_asking
from simulator.clarq.score import asking_record as clarq_record
from simulator.clarq.score import is_question
from simulator.clarq.score import need_of as clarq_need
from simulator.commands.asking import rows
from simulator.errors import InputError
from simulator.handmethat.data import load_tasks
from simulator.handmethat.items import task_from_row
from simulator.handmethat.score import asking_record as handmethat_record
from simulator.handmethat.score import exchange
from simulator.handmethat.score import useful as handmethat_useful


def _dialogue(lamp, *pairs):
    """A dialogue of ClarQ-LLM: greeting, the task's opening, then what was asked and what was given."""
    given = {node.index: node.text for node in lamp.tree.nodes} | {"0": lamp.tree.opening}
    lines = [("provider", "Hello?")]
    for text, answer in (("What am I to do?", "0"), *pairs):
        lines += [("seeker", text), *([("provider", given.get(answer, answer))] if answer else [])]
    return [
        Turn(episode_id="e", number=number, seat=seat, text=text) for number, (seat, text) in enumerate(lines)
    ]


def test_in_clarq_a_question_asks_after_the_opening_and_is_useful_if_it_brings_a_node(lamp):
    turns = _dialogue(
        lamp,
        ("Which oil do I need?", "1"),
        ("Which oil do I need?", "1"),
        ("Where is the wick?", "I cannot say."),
        ("So whale oil it is.", "Quite."),
        ("Tell me about the cellar.", "2"),
        ("Thank you. Goodbye!", ""),
    )
    record = clarq_record(lamp, {}, turns, ())
    assert (record.questions, record.useful, record.need) == (4, 2, "person")
    assert record.right is False
    assert record.right_before is None


def test_in_clarq_whoever_gets_everything_is_right(lamp):
    turns = _dialogue(lamp, *((f"And number {node.index}?", node.index) for node in lamp.tree.nodes))
    record = clarq_record(lamp, {}, turns, ())
    assert (record.questions, record.useful, record.right) == (5, 5, True)
    assert record.decisions == (("person", True),)


def test_in_clarq_who_asks_on_when_all_is_given_asks_for_nothing(lamp):
    asked = [(f"And number {node.index}?", node.index) for node in lamp.tree.nodes]
    content = clarq_record(lamp, {}, _dialogue(lamp, *asked, ("Thank you. Goodbye!", "")), ())
    assert content.decisions == (("person", True), ("nothing", False))
    asks_on = clarq_record(lamp, {}, _dialogue(lamp, *asked, ("Is that all?", "It is.")), ())
    assert asks_on.decisions == (("person", True), ("nothing", True))
    nodes = [node.index for node in lamp.tree.nodes]
    assert (clarq_need(lamp), clarq_need(lamp, nodes[1:]), clarq_need(lamp, nodes)) == (
        *("person", "person"),
        "nothing",
    )


def test_in_clarq_who_stops_while_something_is_open_has_not_asked_when_it_was_needed(lamp):
    goodbye = ("Thank you. Goodbye!", "")
    quits = clarq_record(lamp, {}, _dialogue(lamp, ("Which oil do I need?", "1"), goodbye), ())
    assert quits.decisions == (("person", True), ("person", False))
    silent = clarq_record(lamp, {}, _dialogue(lamp, goodbye), ())
    assert silent.decisions == (("person", False),)
    turns = _dialogue(lamp, ("Which oil do I need?", "1"), ("And then?", "Ask."))
    cut_off = clarq_record(lamp, {}, turns, ())
    assert cut_off.decisions == (("person", True),)


def test_in_clarq_nothing_was_asked_where_the_task_was_never_told(lamp):
    turns = [Turn(episode_id="e", number=0, seat="provider", text="Hello?")]
    record = clarq_record(lamp, {}, turns, ())
    assert (record.questions, record.useful) == (0, 0)


@pytest.mark.each(
    ("text", "language", "asks"),
    [
        ("Which of the two?", "en", True),
        ("Please tell me where it is.", "en", True),
        ("I see, the left one.", "en", False),
        ("Goodbye, or shall I wait?", "en", False),
        ("钥匙在哪里", "zh", True),
        ("好的，我明白了。", "zh", False),
    ],
)
def test_in_clarq_questions_are_known_by_their_form(text, language, asks):
    assert is_question(text, (), language) is asks


def test_in_clarq_what_is_answered_with_a_node_was_a_question():
    assert is_question("The cellar, then.", ("2",), "en")


def test_in_handmethat_the_level_says_what_is_open_and_a_question_is_useful_if_less_fits_after_it(reader):
    askings = read_asking(reader, ["h"]).askings
    needs = {"level 1": "nothing", "level 4": "person"}
    assert all(asking.record.need == needs[asking.record.kind] for asking in askings)
    assert all(asking.record.questions == 1 and asking.record.price > 0 for asking in askings)
    assert [asking.record.useful for asking in askings if asking.record.kind == "level 1"] == [0, 0]
    task = load_tasks(levels=[4])[0]
    turns = next(
        played.turns for played in reader.turns_of_run("h") if played.turns[0].payload["kind"] == "utterance"
    )
    ((question, answer),) = exchange(turns)
    assert question.startswith("question:")
    assert answer
    assert handmethat_useful(task, ()) == 0
    assert handmethat_useful(task, [("question: what is the weather?", "I do not know.")]) == 0


def test_in_handmethat_the_price_is_of_the_questions_that_were_answered(reader):
    (played, *_), items = reader.turns_of_run("h"), {row.hash: row for row in reader.items("h")}
    task, kinds = (
        task_from_row(items[played.episode.item_hash]),
        [turn.payload["kind"] for turn in played.turns],
    )
    broken_off = played.turns[: kinds.index("question") + 1]
    record = handmethat_record(task, {}, broken_off, ())
    assert (record.questions, record.price) == (0, 0)


def test_in_handmethat_silence_says_nothing_where_asking_is_not_allowed(reader):
    askings = read_asking(reader, ["h0"]).askings
    assert not any(asking.record.may_ask for asking in askings)
    (row,) = rows(askings)
    assert row.robot == "offline/asker (sees all)"
    assert row.when_needed is None
    assert row.questions is None
    assert row.right.n == 4


def test_in_ambik_the_type_says_what_is_open(reader):
    for asking in read_asking(reader, ["k"]).askings:
        needs = {"preferences": "person", "common sense": "inferred", "safety": "inferred"}
        assert asking.record.need == needs.get(asking.record.kind, "nothing")
    pairs = load_pairs("builtin", "all")
    items = {item.id: item for item in pair_items(pairs[:10])}
    for episode, turns in reader.turns_of_run("k"):
        record = ambik_record(items[episode.id.split("/")[1].rsplit(".", 1)[0]], {"questions": 1}, turns, ())
        assert record.questions == sum(turn.payload.get("kind") == "answer" for turn in turns)


def test_in_ambik_an_answer_is_useful_if_it_tells_what_is_wanted():
    pair = next(
        candidate
        for candidate in load_pairs("builtin", "all")
        if candidate.type == "preferences" and candidate.shortlist
    )
    item = next(candidate for candidate in pair_items([pair]) if candidate.member == "ambiguous")

    def turns(answer, after):
        payloads = [
            ("robot", "", {"kind": "decide", "action": "Do something."}),
            ("user", answer, {"kind": "answer"}),
            ("robot", "", {"kind": "decide", "action": after}),
        ]
        return [
            Turn(episode_id="e", number=number, seat=seat, text=text, payload=payload)
            for number, (seat, text, payload) in enumerate(payloads)
        ]

    preferred = ", ".join(
        concept.alternatives[0].text for concept in pair.intent.concepts if not concept.negative
    )
    assert ambik_useful(item, turns(f"The {preferred}.", "Do something.")) == 1
    # What is done in the end is told as right or wrong; an answer that tells nothing is of no use.
    assert ambik_useful(item, turns("That one.", f"Do it with the {preferred}.")) == 0
    assert ambik_useful(item, turns("I do not mind.", "Do something.")) == 0
    assert ambik_useful(item, turns("That one.", "")[:1]) is None


def test_in_ambik_forms_and_calibration_are_no_episodes_of_asking():
    draft = Draft(id="1", objects=(), scene="", clear="Wait.", candidates={})
    assert ambik_record(DraftItem(draft=draft), {}, (), ()) is None
    (item, *_) = pair_items(load_pairs("builtin", "all")[:1])
    item = replace(item, part="calibration")
    turn = Turn(
        episode_id="e",
        number=0,
        seat="robot",
        text="",
        payload={"kind": "decide", "asks": None, "action": ""},
    )
    # A method that has no threshold yet neither asks nor acts.
    payload = turn.payload | {"method": "knowno", "options": {"A": "Wait."}, "tokens": [["A", -0.1]]}
    turn = Turn(episode_id="e", number=0, seat="robot", text="", payload=payload)
    assert ambik_record(item, {}, (turn,), ()) is None


def test_in_ambik_who_asks_into_the_void_is_not_set_beside_what_came_of_it(reader):
    alone, answered = rows(read_asking(reader, ["k0", "k"]).askings)[::-1]
    assert alone.robot == "offline/kitchen (decides once)"
    assert (alone.seat, alone.manner) == ("offline/kitchen", ("decides once",))
    assert alone.gain is None
    assert answered.gain.n == 20
    assert alone.when_needed == answered.when_needed
    assert alone.useful is None


def test_handmethat_and_clarq_parts_need_a_whole_episode(reader):
    task = load_tasks(levels=[1])[0]
    with pytest.raises(InputError, match="begins with the human's instruction"):
        handmethat_record(task, {}, [Turn(episode_id="e", number=0, seat="robot", text="")], ())
