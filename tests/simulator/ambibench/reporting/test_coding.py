"""Test the coding desk: what raters see, the order of outputs, third raters, agreement."""

from __future__ import annotations

import pytest

from logs.erase import erase_participant
from simulator.ambibench import coding
from simulator.ambibench.coding import CODING, DESK, Mark, agreement, set_key, settled_categories
from simulator.ambibench.generation import generate_instruction, generate_verbalise
from simulator.blocks import message
from simulator.desk_work import judgment_rows, next_work
from simulator.errors import InputError
from simulator.stats import cohen_kappa

ITEMS = generate_verbalise(1, per_cell=1)


@pytest.fixture
def outputs(desk, says):
    """Two runs with twelve outputs each, of models whose names raters must not see."""
    for model in ("openai/secret-name", "local/secret-name"):
        desk.play(f"{model}-v", ITEMS, model, lambda item, *_: says(f"It is {item.salient}."))
    return ["openai/secret-name-v", "local/secret-name-v"]


@pytest.fixture
def sort(desk):
    """Log a rater's judgment."""
    count = iter(range(1000))

    def put(episode, rater, category):
        desk.put(CODING.judgment(episode, rater, Mark(category=category), submission=str(next(count))))

    return put


def set_of(*runs):
    """The set of outputs of some runs."""
    return ",".join(map(set_key, runs))


def shown(case):
    """Everything that a rater sees of an output."""
    return [block.text for block in case.show()]


def waiting(desk, data, rater):
    """The names of a rater's pending outputs, in order, found by skipping each."""
    names = [next_work(DESK, desk.reader, data, rater)]
    while (later := names[-1].later) and later != names[0].case.name:
        names.append(next_work(DESK, desk.reader, data, rater, name=later))
    return [work.case.name for work in names if work.case]


def key_of(desk, data, name):
    return next(case.key for case in DESK.cases(desk.reader, data) if case.name == name)


def test_a_rater_sees_the_output_and_the_feature_not_whose_it_is(desk, outputs):
    cases = DESK.cases(desk.reader, set_of(*outputs))
    assert len({case.name for case in cases}) == 24
    for case in cases:
        feature = case.title.removeprefix("It is ").rstrip(".")
        assert shown(case)[3] == case.title
        assert shown(case)[1].fields["label"] == message(f"desks.feature.{feature}")
        assert "secret" not in f"{case.name}{case.title}{shown(case)}"


def test_what_is_left_of_those_who_withdrew_is_not_sorted(desk, says):
    desk.play("people", ITEMS[:2], "person", lambda item, *_: says(f"It is {item.salient}."))
    assert len(DESK.cases(desk.reader, set_of("people"))) == 2
    erase_participant(desk.path, "p1")
    assert len(DESK.cases(desk.reader, set_of("people"))) == 1


def test_the_order_is_each_raters_own_and_stays_as_outputs_are_sorted(desk, outputs, sort):
    data = set_of(*outputs)
    first = waiting(desk, data, "ann")
    assert first == waiting(desk, data, "ann")
    other = waiting(desk, data, "bo")
    assert sorted(first) == sorted(other)
    assert first != other
    sort(key_of(desk, data, first[4]), "ann", "other")
    assert waiting(desk, data, "ann") == first[:4] + first[5:]
    assert waiting(desk, data, "bo") == other
    # Runs come mixed.
    runs = [key_of(desk, data, name).startswith("openai") for name in first]
    assert any(runs[:12])
    assert not all(runs[:12])


def test_two_raters_per_output_and_a_third_where_they_differ(desk, outputs, sort):
    data = set_of(outputs[0])
    name, another = waiting(desk, data, "ann")[:2]
    for rater, category in (("ann", "correct"), ("bo", "incorrect")):
        sort(key_of(desk, data, name), rater, category)
        sort(key_of(desk, data, another), rater, "other")
    work = next_work(DESK, desk.reader, data, "cy")
    assert (work.left, work.deciding, work.differing) == (10, False, 1)
    for left in waiting(desk, data, "cy"):
        sort(key_of(desk, data, left), "cy", "other")
    work = next_work(DESK, desk.reader, data, "cy")
    assert (work.case.name, work.left, work.deciding) == (name, 1, True)
    assert next_work(DESK, desk.reader, data, "ann").differing == 0
    sort(work.case.key, "cy", "incorrect")
    assert next_work(DESK, desk.reader, data, "cy").case is None
    assert next_work(DESK, desk.reader, data, "dee").differing == 0


def test_what_is_settled(outputs, desk, sort):
    episodes = [episode.id for episode in desk.reader.episodes(outputs[0])]
    sorted_as = [
        ("correct",),
        ("correct", "correct"),
        ("correct", "other"),
        ("correct", "other", "incorrect"),
        ("correct", "other", "other"),
        (),
    ]
    for episode, marks in zip(episodes, sorted_as, strict=False):
        for rater, category in zip(("ann", "bo", "cy"), marks, strict=False):
            sort(episode, rater, category)
    settled = settled_categories(desk.reader.judgments(kind=coding.KIND))
    assert [settled.get(episode) for episode in episodes[:6]] == [
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
    assert settled_categories(desk.reader.judgments(kind=coding.KIND)) == {episode: "other"}


def test_agreement_is_cohens_kappa_over_the_first_two(outputs, desk, sort):
    episodes = [episode.id for episode in desk.reader.episodes(outputs[0])]
    ann = ["correct"] * 6 + ["other"] * 4 + ["incorrect"] * 2
    bo = ["correct"] * 5 + ["other"] * 4 + ["incorrect"] * 3
    for place, episode in enumerate(episodes):
        # Whoever comes first, the pair is the same.
        for rater, categories in (("ann", ann), ("bo", bo))[:: 1 if place % 2 else -1]:
            sort(episode, rater, categories[place])
    sort(episodes[5], "cy", "correct")
    (agreed,) = agreement(desk.reader.judgments(kind=coding.KIND))
    assert agreed.raters == ("ann", "bo")
    assert agreed.observed.value == pytest.approx(sum(a == b for a, b in zip(ann, bo, strict=True)) / 12)
    assert agreed.kappa.value == pytest.approx(cohen_kappa(ann, bo))
    assert agreed.kappa.low < agreed.kappa.value < agreed.kappa.high
    assert (agreed.differing, agreed.decided) == (2, 1)


def test_several_raters_are_compared_in_pairs(outputs, desk, sort):
    episodes = [episode.id for episode in desk.reader.episodes(outputs[0])]
    for episode, raters in zip(episodes, (("ann", "bo"), ("bo", "cy"), ("bo", "cy")), strict=False):
        for rater in raters:
            sort(episode, rater, "other")
    agreements = agreement(desk.reader.judgments(kind=coding.KIND))
    # None said anything but one thing.
    assert [(pair.raters, pair.observed.n, pair.observed.value, pair.kappa) for pair in agreements] == [
        (("ann", "bo"), 1, 1, None),
        (("bo", "cy"), 2, 1, None),
    ]
    assert agreement([]) == ()


def test_what_cannot_be_sorted(desk, outputs, says, typed):
    data = set_of(*outputs)
    (name, *_) = waiting(desk, data, "ann")
    with pytest.raises(InputError, match="not a choice of category; choose from correct, incorrect, other"):
        judgment_rows(DESK, desk.reader, data, "ann", name, {"category": "right"}, submission="1")
    with pytest.raises(InputError, match="nothing called 'nothing'"):
        judgment_rows(DESK, desk.reader, data, "ann", "nothing", {"category": "other"}, submission="1")
    desk.play("labels", generate_instruction(1, per_cell=1), "openai/m", typed(1))
    desk.play("open", ITEMS[:1], "openai/m", lambda *_: says("x"), status=None)
    for run in ("labels", "open"):
        with pytest.raises(InputError, match="no set of outputs"):
            DESK.cases(desk.reader, set_of(run))
