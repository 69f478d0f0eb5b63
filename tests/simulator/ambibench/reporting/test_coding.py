"""Sorting outputs: what a rater sees, who comes next, who decides, how far raters agree."""

from __future__ import annotations

from dataclasses import asdict

import pytest

from logs.erase import erase_participant
from simulator.ambibench import coding
from simulator.ambibench.coding import agreement, episode_of, mark, settled, to_code, to_decide
from simulator.ambibench.features import VALUES
from simulator.ambibench.generation import generate_instruction, generate_verbalise
from simulator.errors import InputError
from simulator.stats import cohen_kappa

ITEMS = generate_verbalise(1, per_cell=1)


@pytest.fixture
def outputs(desk, says):
    """Two runs with twelve outputs each, of models that must not be told."""
    for model in ("openai/secret-name", "local/secret-name"):
        desk.play(f"{model}-v", ITEMS, model, lambda item, *_: says(f"It is {item.salient}."))
    return ["openai/secret-name-v", "local/secret-name-v"]


@pytest.fixture
def sort(desk):
    """Put a rater's mark into the log."""
    count = iter(range(1000))

    def put(episode, rater, category):
        desk.put(mark(episode, rater, category, key=str(next(count))))

    return put


def test_a_rater_sees_the_output_and_the_feature_not_whose_it_is(desk, outputs):
    seen = to_code(desk.reader, outputs, "ann")
    assert len(seen) == 24
    for one in seen:
        assert one.text == f"It is {one.feature}."
        assert one.values == VALUES[one.feature]
        assert "secret" not in str(asdict(one))
    assert len({one.token for one in seen}) == 24


def test_what_is_left_of_those_who_withdrew_is_not_sorted(desk, says):
    desk.play("people", ITEMS[:2], "person", lambda item, *_: says(f"It is {item.salient}."))
    assert len(to_code(desk.reader, ["people"], "ann")) == 2
    erase_participant(desk.path, "p1")
    (left,) = to_code(desk.reader, ["people"], "ann")
    assert left.text == f"It is {left.feature}."


def test_the_order_is_each_raters_own_and_stays_as_outputs_are_sorted(desk, outputs, sort):
    first = [one.token for one in to_code(desk.reader, outputs, "ann")]
    assert first == [one.token for one in to_code(desk.reader, outputs, "ann")]
    other = [one.token for one in to_code(desk.reader, outputs, "bo")]
    assert sorted(first) == sorted(other)
    assert first != other
    sort(episode_of(desk.reader, outputs, first[4]), "ann", "other")
    assert [one.token for one in to_code(desk.reader, outputs, "ann")] == first[:4] + first[5:]
    assert [one.token for one in to_code(desk.reader, outputs, "bo")] == other
    # Runs come mixed.
    runs = [episode_of(desk.reader, outputs, token).startswith("openai") for token in first]
    assert any(runs[:12])
    assert not all(runs[:12])


def test_two_raters_per_output_and_a_third_where_they_differ(desk, outputs, sort):
    run = outputs[0]
    token, another = (one.token for one in to_code(desk.reader, run, "ann")[:2])
    differing, agreed = (episode_of(desk.reader, run, each) for each in (token, another))
    for rater, category in (("ann", "correct"), ("bo", "incorrect")):
        sort(differing, rater, category)
        sort(agreed, rater, "other")
    assert len(to_code(desk.reader, run, "cy")) == 10
    assert [one.token for one in to_decide(desk.reader, run, "cy")] == [token]
    assert to_decide(desk.reader, run, "ann") == ()
    sort(differing, "cy", "incorrect")
    assert to_decide(desk.reader, run, "dee") == ()


def test_what_is_settled(outputs, desk, sort):
    episodes = [one.id for one in desk.reader.episodes(outputs[0])]
    said = [
        ("correct",),
        ("correct", "correct"),
        ("correct", "other"),
        ("correct", "other", "incorrect"),
        ("correct", "other", "other"),
        (),
    ]
    for episode, marks in zip(episodes, said, strict=False):
        for rater, category in zip(("ann", "bo", "cy"), marks, strict=False):
            sort(episode, rater, category)
    found = settled(desk.reader.judgments(kind=coding.KIND))
    assert [found.get(episode) for episode in episodes[:6]] == [
        "correct",
        "correct",
        None,
        "incorrect",
        "other",
        None,
    ]


def test_a_changed_mind_counts_in_its_old_place(outputs, desk, sort):
    episode = desk.reader.episodes(outputs[0])[0].id
    for rater, category in (("ann", "correct"), ("bo", "other"), ("cy", "incorrect"), ("ann", "other")):
        sort(episode, rater, category)
    assert settled(desk.reader.judgments(kind=coding.KIND)) == {episode: "other"}


def test_agreement_is_cohens_kappa_over_the_first_two(outputs, desk, sort):
    episodes = [one.id for one in desk.reader.episodes(outputs[0])]
    ann = ["correct"] * 6 + ["other"] * 4 + ["incorrect"] * 2
    bo = ["correct"] * 5 + ["other"] * 4 + ["incorrect"] * 3
    for place, episode in enumerate(episodes):
        # Whoever comes first, the pair is the same.
        for rater, said in (("ann", ann), ("bo", bo))[:: 1 if place % 2 else -1]:
            sort(episode, rater, said[place])
    sort(episodes[5], "cy", "correct")
    (told,) = agreement(desk.reader.judgments(kind=coding.KIND))
    assert told.raters == ("ann", "bo")
    assert told.observed.value == pytest.approx(sum(a == b for a, b in zip(ann, bo, strict=True)) / 12)
    assert told.kappa.value == pytest.approx(cohen_kappa(ann, bo))
    assert told.kappa.low < told.kappa.value < told.kappa.high
    assert [(one.episode_id, one.first, one.second, one.decided) for one in told.disagreements] == [
        (episodes[5], "correct", "other", "correct"),
        (episodes[9], "other", "incorrect", None),
    ]


def test_several_raters_are_compared_in_pairs(outputs, desk, sort):
    episodes = [one.id for one in desk.reader.episodes(outputs[0])]
    for episode, raters in zip(episodes, (("ann", "bo"), ("bo", "cy"), ("bo", "cy")), strict=False):
        for rater in raters:
            sort(episode, rater, "other")
    found = agreement(desk.reader.judgments(kind=coding.KIND))
    assert [(one.raters, one.observed.n, one.kappa.value) for one in found] == [
        (("ann", "bo"), 1, 1),
        (("bo", "cy"), 2, 1),
    ]
    assert agreement([]) == ()


def test_what_cannot_be_sorted(desk, outputs, says, typed):
    with pytest.raises(InputError, match="no category; they are correct, incorrect, other"):
        mark("e", "ann", "right", key="1")
    with pytest.raises(InputError, match="no output 'nothing'"):
        episode_of(desk.reader, outputs, "nothing")
    desk.play("labels", generate_instruction(1, per_cell=1), "openai/m", typed(1))
    with pytest.raises(InputError, match="labels has no outputs to be sorted"):
        to_code(desk.reader, "labels", "ann")
    desk.play("open", ITEMS[:1], "openai/m", lambda *_: says("x"), status=None)
    with pytest.raises(InputError, match="open has no outputs"):
        to_code(desk.reader, "open", "ann")
