from dataclasses import replace

import pytest

from logs.rows import Turn
from simulator.clarq.review import (
    DONE,
    NOTE,
    PROVIDER_ERROR,
    REVIEW_SUCCESS,
    SEEKER_FAILURE,
    ProviderMark,
    Review,
    expectable_nodes,
    possible_errors,
    read_reviews,
    unanswered_parts,
    write_changes,
)
from simulator.clarq.show import replay
from simulator.errors import InputError


@pytest.fixture
def dialogue(lamp):
    """Opening refused, then given; nodes 2 and 2.1 given; an empty answer. 1, 2.1.1 and 3 are missing."""
    texts = {node.index: node.text for node in lamp.tree.nodes}
    moves = [("Hello?", ()), ("I do not know.", ()), (lamp.tree.opening, ("0",))]
    moves += [(texts["2"], ("2",)), (texts["2.1"], ("2.1",)), ("Fine.", ())]
    turns = [
        Turn(episode_id="e", number=2 * place, seat="provider", text=text, payload={"give": list(give)})
        for place, (text, give) in enumerate(moves)
    ]
    turns += [
        Turn(episode_id="e", number=2 * place + 1, seat="seeker", text="And?")
        for place in range(len(moves) - 1)
    ]
    return replay(lamp, sorted(turns, key=lambda turn: turn.number))


def changes(dialogue, before=None, who="ann", key="key", **after):
    """The marks of a reviewer, in order."""
    before = before or Review()
    return list(write_changes(who, key, "e", dialogue, before, replace(before, **after)))


def test_the_greeting_and_the_seeker_are_not_reviewed(dialogue):
    assert [step.turn.number for step in dialogue.steps if step.reviewable] == [2, 4, 6, 8, 10]
    for number in (0, 3, 12, -1):
        with pytest.raises(InputError, match=f"turn {number} "):
            changes(dialogue, provider={number: ProviderMark()})


@pytest.mark.parametrize(
    ("number", "errors", "nodes"),
    [
        (2, (0, 1), ("0",)),  # refused the opening: it should perhaps have given it
        (4, (0, 2), ()),  # gave the opening: nothing else could be given
        (6, (0, 1, 2), ("1", "3")),  # gave 2 when 1 and 3 were there
        (8, (0, 1, 2), ("1", "3")),
        (10, (0, 1), ("1", "2.1.1", "3")),
    ],
)
def test_what_can_have_gone_wrong_follows_from_the_frontier(dialogue, number, errors, nodes):
    step = dialogue.steps[number]
    assert possible_errors(step) == errors
    assert expectable_nodes(step) == nodes


def test_a_mark_says_what_was_seen(dialogue):
    (row,) = changes(dialogue, provider={10: ProviderMark(1, "2.1.1", hallucination=True)})
    assert (row.id, row.episode_id, row.annotator) == ("e/review/ann/key", "e", "ann")
    assert (row.kind, row.turn_number, row.key) == (PROVIDER_ERROR, 10, "key")
    assert row.value == {"type": 1, "node": "2.1.1", "hallucination": True}


@pytest.mark.parametrize(
    ("number", "mark"),
    [
        (2, ProviderMark(2)),
        (4, ProviderMark(1)),
        (6, ProviderMark(1, "2")),
        (6, ProviderMark(1, "2.1")),
        (6, ProviderMark(2, "1")),
        (6, ProviderMark(0, "1")),
    ],
)
def test_an_error_that_cannot_have_happened_is_refused(dialogue, number, mark):
    with pytest.raises(InputError, match=f"turn {number}"):
        changes(dialogue, provider={number: mark})


def test_only_missing_nodes_have_a_reason(dialogue):
    (row,) = changes(dialogue, seeker={"3": "forgotten"})
    assert (row.kind, row.value) == (SEEKER_FAILURE, {"node": "3", "failure": "forgotten"})
    with pytest.raises(InputError, match="node 2 is not missing"):
        changes(dialogue, seeker={"2": "forgotten"})
    with pytest.raises(InputError, match="overlooked, forgotten, hidden, provider"):
        changes(dialogue, seeker={"3": "lazy"})


def test_notes_are_of_a_turn_or_the_dialogue(dialogue):
    turn, whole = changes(dialogue, notes={3: " odd ", None: "odd"})
    assert (turn.kind, turn.turn_number, turn.value) == (NOTE, 3, {"text": "odd"})
    assert (whole.kind, whole.turn_number) == (NOTE, None)
    with pytest.raises(InputError, match="turns 0 to 10"):
        changes(dialogue, notes={11: "odd"})
    with pytest.raises(InputError, match="4001"):
        changes(dialogue, notes={None: "x" * 4001})


def read(rows):
    """Return Ann's review of the only episode; empty before her first mark."""
    return read_reviews(rows).get(("e", "ann"), Review())


def test_the_latest_mark_counts(dialogue):
    rows = []
    for number, change in enumerate(
        (
            {"provider": {6: ProviderMark(1, "1")}, "notes": {6: "first"}, "success": True},
            {"provider": {6: ProviderMark(2), 8: ProviderMark(hallucination=True)}},
            {"seeker": {"3": "hidden", "1": "hidden"}},
            {"seeker": {"3": "hidden"}, "notes": {6: "second"}, "success": False},
        )
    ):
        rows += changes(dialogue, read(rows), key=str(number), **change)
    assert read(rows) == Review(
        provider={6: ProviderMark(2), 8: ProviderMark(hallucination=True)},
        seeker={"3": "hidden"},
        success=False,
        notes={6: "second"},
    )


def test_reviewers_do_not_see_each_other(dialogue):
    rows = [*changes(dialogue, who="bob", success=True), *changes(dialogue, success=False)]
    assert {place: review.success for place, review in read_reviews(rows).items()} == {
        ("e", "bob"): True,
        ("e", "ann"): False,
    }


def test_a_review_is_finished_when_everything_is_said(dialogue):
    assert unanswered_parts(dialogue, Review()) == ("success", "1", "2.1.1", "3")
    review = Review(success=False, seeker=dict.fromkeys(("1", "2.1.1"), "overlooked"))
    with pytest.raises(InputError, match="still to be answered: 3"):
        changes(dialogue, review, done=True)
    rows = changes(dialogue, success=False, seeker={**review.seeker, "3": "provider"}, done=True)
    assert rows[-1].kind == DONE
    assert read(rows).done
    rows += changes(dialogue, read(rows), done=False)
    assert not read(rows).done


def test_judgments_of_other_kinds_are_not_marks(dialogue):
    (row,) = changes(dialogue, success=True)
    assert read_reviews([replace(row, kind="success")]) == {}


def test_the_marks_between_two_reviews_lead_from_one_to_the_other(dialogue):
    before = Review(provider={6: ProviderMark(2)}, seeker={"1": "hidden"}, notes={6: "odd"})
    after = replace(
        before,
        provider={6: ProviderMark(1, "3"), 8: ProviderMark()},
        seeker={"3": "provider"},
        success=False,
        notes={6: "", None: "well"},
    )
    rows = list(write_changes("ann", "key", "e", dialogue, before, after))
    assert [(row.kind, row.turn_number, row.value) for row in rows] == [
        (PROVIDER_ERROR, 6, {"type": 1, "node": "3", "hallucination": False}),
        (PROVIDER_ERROR, 8, {"type": 0, "node": None, "hallucination": False}),
        (REVIEW_SUCCESS, None, {"success": False}),
        (SEEKER_FAILURE, None, {"node": "1", "failure": None}),
        (SEEKER_FAILURE, None, {"node": "3", "failure": "provider"}),
        (NOTE, 6, {"text": ""}),
        (NOTE, None, {"text": "well"}),
    ]
    assert len({row.id for row in rows}) == len(rows)
    assert changes(dialogue, after) == []
    with pytest.raises(InputError, match="still to be answered: 1"):
        changes(dialogue, after, done=True)


def test_erased_marks_do_not_count(dialogue):
    (mark,) = changes(dialogue, provider={6: ProviderMark(2)})
    assert read([replace(mark, value={"erased": True})]) == Review()
