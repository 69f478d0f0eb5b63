from dataclasses import replace

import pytest

from simulator.clarq.reporting.report import compare, pairs
from simulator.clarq.results import import_results, read_results
from simulator.clarq.score import score_run
from simulator.stats import mcnemar, paired_bootstrap

ALL = ("1", "2", "2.1", "2.1.1", "3")


def both(reader):
    return score_run(reader, "one"), score_run(reader, "two")


@pytest.fixture
def filled(put, log, reader, lamp, lamp_zh):
    """Four English items in both runs, one of them lost and two gained; one Chinese; one in a single run."""
    outcomes = [(ALL, ALL), (("1",), ALL), (("2", "1"), (*ALL, "Fine.")), (ALL, ("1",))]
    for place, (one, two) in enumerate(outcomes):
        task = replace(lamp, id=f"lamp-{place}", type=place + 1)
        put(log, task, one, run="one")
        put(log, task, two, run="two")
    put(log, replace(lamp, id="alone"), ALL, run="one")
    put(log, lamp_zh, ALL, run="one")
    put(log, lamp_zh, ALL, run="two")
    return reader


def test_runs_are_compared_on_the_items_they_share(filled):
    english, chinese = compare(*both(filled))
    assert (english.language, chinese.language) == ("en", "zh")
    assert [pair.first.task.id for pair in english.pairs] == ["lamp-0", "lamp-1", "lamp-2", "lamp-3"]
    assert (english.gained, english.lost) == (2, 1)
    assert [pair.first.task.id for pair in english.differing] == ["lamp-1", "lamp-2", "lamp-3"]
    assert (chinese.gained, chinese.lost, chinese.differing) == (0, 0, ())


def test_differences_are_second_minus_first(filled):
    success, aqd, aql = compare(*both(filled))[0].differences
    one, two = [True, False, False, True], [True, True, True, False]
    assert success.first.value == pytest.approx(0.5)
    assert success.second.value == pytest.approx(0.75)
    assert success.difference == paired_bootstrap(one, two)
    assert success.p == mcnemar(one, two)
    assert aqd.difference == paired_bootstrap([0, -4, -3, 0], [0, 0, 1, -4])
    assert (aqd.p, aql.p) == (None, None)
    assert aql.difference.value == 0


def test_swapping_the_runs_turns_the_signs(filled):
    there, back = compare(*both(filled))[0], compare(*reversed(both(filled)))[0]
    assert (there.gained, there.lost) == (back.lost, back.gained)
    for one, two in zip(there.differences, back.differences, strict=True):
        assert one.difference.value == pytest.approx(-two.difference.value)


def test_repeats_are_paired_in_their_order(put, log, reader, lamp):
    for repeat, answers in enumerate((ALL, ("1",), ALL)):
        put(log, lamp, answers, run="one", repeat=repeat)
    for repeat in (7, 4):
        put(log, lamp, ALL if repeat == 7 else ("2",), run="two", repeat=repeat)
    found = pairs(*both(reader))
    assert [(pair.first.episode.repeat, pair.second.episode.repeat) for pair in found] == [(0, 4), (1, 7)]


def test_nothing_in_common(put, log, reader, lamp, lamp_zh):
    put(log, lamp, ALL, run="one")
    put(log, lamp_zh, ALL, run="two")
    assert compare(*both(reader)) == ()


def test_published_single_info_against_multi_info(published, log, reader):
    single, multi = (
        import_results(read_results(path), log, name).id
        for name, pattern in (("single", "*GPT-4o_provider.Comp.En*"), ("multi", "*multi_info*En*"))
        for path in (published / "results").glob(pattern)
    )
    (found,) = compare(score_run(reader, single), score_run(reader, multi))
    success, aqd, aql = found.differences
    assert len(found.pairs) == 100
    assert success.difference.value == pytest.approx(success.second.value - success.first.value)
    # Several nodes per reply save replies, and nothing else speaks for a difference in success (Table V).
    assert aqd.difference.high < -1
    assert success.difference.low < 0 < success.difference.high
    assert aql.difference.n == 100
