from dataclasses import replace

import pytest

from logs.rows import Turn
from simulator.clarq.review import (
    DONE,
    NOTE,
    PROVIDER_ERROR,
    REVIEW_SUCCESS,
    SEEKER_FAILURE,
    Pen,
    ProviderMark,
    Review,
    expectable_nodes,
    finish,
    mark_failure,
    mark_provider,
    mark_success,
    possible_errors,
    provider_steps,
    read_reviews,
    unanswered,
    write_changes,
    write_note,
)
from simulator.clarq.views import replay
from simulator.errors import InputError

ANN = Pen("ann", "key-1")


@pytest.fixture
def dialogue(lamp):
    """Opening refused, then given; nodes 2 and 2.1 given; an empty answer. 1, 2.1.1 and 3 are missing."""
    texts = {node.index: node.text for node in lamp.tree.nodes}
    said = [("Hello?", ()), ("I do not know.", ()), (lamp.tree.opening, ("0",))]
    said += [(texts["2"], ("2",)), (texts["2.1"], ("2.1",)), ("Fine.", ())]
    turns = [
        Turn(episode_id="e", number=2 * place, seat="provider", text=text, payload={"give": list(give)})
        for place, (text, give) in enumerate(said)
    ]
    turns += [
        Turn(episode_id="e", number=2 * place + 1, seat="seeker", text="And?")
        for place in range(len(said) - 1)
    ]
    return replay(lamp, sorted(turns, key=lambda turn: turn.number))


def pens():
    number = 0
    while True:
        number += 1
        yield Pen("ann", f"key-{number}")


def test_the_greeting_and_the_seeker_are_not_reviewed(dialogue):
    assert [step.number for step in provider_steps(dialogue)] == [2, 4, 6, 8, 10]
    for number in (0, 3, 12, -1):
        with pytest.raises(InputError, match=f"turn {number} "):
            mark_provider(ANN, "e", dialogue, number, ProviderMark())


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
    row = mark_provider(ANN, "e", dialogue, 10, ProviderMark(1, "2.1.1", hallucination=True))
    assert (row.id, row.episode_id, row.annotator) == ("e/review/ann/key-1", "e", "ann")
    assert (row.kind, row.turn_number, row.key) == (PROVIDER_ERROR, 10, "key-1")
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
        mark_provider(ANN, "e", dialogue, number, mark)


def test_only_missing_nodes_have_a_reason(dialogue):
    assert mark_failure(ANN, "e", dialogue, "3", "forgotten").value == {"node": "3", "failure": "forgotten"}
    with pytest.raises(InputError, match="node 2 is not missing"):
        mark_failure(ANN, "e", dialogue, "2", "forgotten")
    with pytest.raises(InputError, match="overlooked, forgotten, hidden, provider"):
        mark_failure(ANN, "e", dialogue, "3", "lazy")


def test_notes_are_of_a_turn_or_the_dialogue(dialogue):
    assert write_note(ANN, "e", dialogue, " odd ", 3).value == {"text": "odd"}
    assert write_note(ANN, "e", dialogue, "odd", None).kind == NOTE
    with pytest.raises(InputError, match="turns 0 to 10"):
        write_note(ANN, "e", dialogue, "odd", 11)
    with pytest.raises(InputError, match="4001"):
        write_note(ANN, "e", dialogue, "x" * 4001, None)


def read(rows):
    """Ann's review of the one episode; empty before she has said anything."""
    return read_reviews(rows).get(("e", "ann"), Review(annotator="ann"))


def test_the_latest_mark_counts(dialogue):
    pen = pens()
    rows = [
        mark_provider(next(pen), "e", dialogue, 6, ProviderMark(1, "1")),
        mark_provider(next(pen), "e", dialogue, 6, ProviderMark(2)),
        mark_provider(next(pen), "e", dialogue, 8, ProviderMark(hallucination=True)),
        mark_failure(next(pen), "e", dialogue, "3", "hidden"),
        mark_failure(next(pen), "e", dialogue, "1", "hidden"),
        mark_failure(next(pen), "e", dialogue, "1", None),
        mark_success(next(pen), "e", True),
        mark_success(next(pen), "e", False),
        write_note(next(pen), "e", dialogue, "first", 6),
        write_note(next(pen), "e", dialogue, "second", 6),
    ]
    review = read(rows)
    assert review.provider == {6: ProviderMark(2), 8: ProviderMark(hallucination=True)}
    assert review.seeker == {"3": "hidden"}
    assert review.success is False
    assert review.notes == {6: "second"}
    assert not review.done


def test_reviewers_do_not_see_each_other(dialogue):
    rows = [mark_success(Pen("bob", "key-1"), "e", True), mark_success(Pen("ann", "key-1"), "e", False)]
    assert {place: review.success for place, review in read_reviews(rows).items()} == {
        ("e", "bob"): True,
        ("e", "ann"): False,
    }


def test_a_review_is_finished_when_everything_is_said(dialogue):
    pen, rows = pens(), []
    assert unanswered(dialogue, read(rows)) == ("success", "1", "2.1.1", "3")
    rows.append(mark_success(next(pen), "e", False))
    rows += [mark_failure(next(pen), "e", dialogue, node, "overlooked") for node in ("1", "2.1.1")]
    with pytest.raises(InputError, match="still to be said: 3"):
        finish(next(pen), "e", dialogue, read(rows))
    rows.append(mark_failure(next(pen), "e", dialogue, "3", "provider"))
    rows.append(finish(next(pen), "e", dialogue, read(rows)))
    assert rows[-1].kind == DONE
    assert read(rows).done
    rows.append(finish(next(pen), "e", dialogue, read(rows), done=False))
    assert not read(rows).done


def test_judgments_of_other_kinds_are_no_marks(dialogue):
    row = replace(mark_success(ANN, "e", True), kind="success")
    assert read_reviews([row]) == {}
    assert {REVIEW_SUCCESS, SEEKER_FAILURE}.isdisjoint({"success", "judge"})


def test_the_marks_between_two_reviews_lead_from_one_to_the_other(dialogue):
    before = Review(annotator="ann", provider={6: ProviderMark(2)}, seeker={"1": "hidden"}, notes={6: "odd"})
    after = replace(
        before,
        provider={6: ProviderMark(1, "3"), 8: ProviderMark()},
        seeker={"3": "provider"},
        success=False,
        notes={6: "", None: "well"},
    )
    rows = list(write_changes(ANN, "e", dialogue, before, after))
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
    assert list(write_changes(ANN, "e", dialogue, after, after)) == []
    with pytest.raises(InputError, match="still to be said: 1"):
        list(write_changes(ANN, "e", dialogue, after, replace(after, done=True)))


def test_marks_of_somebody_who_is_erased_are_none(dialogue):
    mark = mark_provider(next(pens()), "e", dialogue, 6, ProviderMark(2))
    assert read([replace(mark, value={"erased": True})]) == Review(annotator="ann")
