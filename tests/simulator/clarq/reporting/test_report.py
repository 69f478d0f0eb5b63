from dataclasses import replace
from statistics import fmean

import pytest

from logs.erase import erase_participant
from logs.rows import Judgment
from simulator.clarq.reporting.report import report, run_section
from simulator.clarq.score import JUDGE, score_run
from simulator.stats import bootstrap_mean, share, wilson

ALL = ("1", "2", "2.1", "2.1.1", "3")


@pytest.fixture
def filled(put, log, reader, lamp, lamp_zh):
    """Three languages' worth of endings: en 2 of 3 succeed, zh 0 of 1, others are not scored."""
    later = replace(lamp, id="lamp-2", type=2)
    put(log, lamp, ALL)
    put(log, lamp, (*ALL, "Fine."), repeat=1, status="truncated")
    put(log, later, ("1", "Hm."))
    put(log, lamp_zh, ("1", "2"))
    put(log, later, ALL, repeat=1, status="aborted")
    put(log, later, ALL, repeat=2, status="failed")
    put(log, later, (), repeat=3, status=None)
    return reader


def test_one_row_per_language_in_order(filled):
    english, chinese = report(filled, "run").by_language
    assert (english.label, chinese.label) == ("en", "zh")
    # Two plays of one English task and one of another: two items.
    assert english.success == share([True, True, False], ["lamp", "lamp", "other"])
    assert (english.success.value, english.success.n) == (pytest.approx(2 / 3), 2)
    assert chinese.success == wilson(0, 1)
    assert english.aqd == bootstrap_mean([0, 1, -3], ["lamp", "lamp", "other"])
    assert english.aql == (1, 1, 1, 2)
    assert chinese.aql.value == len("And then?")
    assert (english.needs_judge, chinese.needs_judge) == (1, 0)


def test_one_row_per_type_and_language(filled):
    rows = report(filled, "run").by_type
    assert [(row.label.split(".")[0], row.success.n) for row in rows] == [("1", 1), ("2", 1), ("1", 1)]
    assert rows[0].label != rows[2].label


def test_statuses_and_what_is_not_scored(filled):
    found = report(filled, "run")
    assert found.statuses == {"completed": 3, "truncated": 1, "aborted": 1, "failed": 1, "open": 1}
    assert found.unscored == 3


def test_what_aborted_dialogues_count_as_is_said_where_there_are_any(filled):
    found = report(filled, "run")
    assert not any("failing seat" in remark for remark in run_section(found).remarks)
    rows = tuple(replace(row, aborted=2) for row in found.by_language)
    remarks = run_section(replace(found, by_language=rows)).remarks
    (said,) = (remark for remark in remarks if "failing seat" in remark)
    assert said.startswith("4 dialogues that a failing seat aborted count as unsuccessful in S")


def test_who_has_withdrawn_does_not_count_and_is_told(put, log, log_path, reader, lamp):
    put(log, lamp, ALL)
    stays = put(log, lamp, ALL, repeat=1, person="stays")
    put(log, lamp, ALL, repeat=2, person="gone")
    put(log, lamp, ("1",), repeat=3, status="aborted", person="gone")
    erase_participant(log_path, "gone")
    found = report(reader, "run")
    (row,) = found.by_language
    assert (row.success, row.aql) == (share([True] * 2, ["lamp"] * 2), (1, None, None, 1))
    assert (found.statuses, found.unscored) == ({"completed": 2, "erased": 2}, 2)
    assert [one.episode.id for one in score_run(reader, "run") if one.episode.participant_id] == [stays]


def test_the_curve_ends_at_the_success_rate(filled):
    found = report(filled, "run")
    assert found.curve["en"][-1] == pytest.approx(found.by_language[0].success.value)
    assert found.curve["en"][4:6] == (0, pytest.approx(2 / 3))
    assert set(found.curve["zh"]) == {0}


def test_only_the_latest_attempt_counts(put, log, reader, lamp):
    put(log, lamp, ("1",), status="failed")
    put(log, lamp, ALL, attempt=1)
    found = report(reader, "run")
    assert found.statuses == {"completed": 1}
    assert found.by_language[0].success.value == 1


def test_judgments_are_counted_and_only_of_their_kind(put, log, reader, lamp):
    episode = put(log, lamp, ("1", "2", "2.1", "2.1.1", "Wait for the bell."))

    def judge(kind, obtained):
        value = {"node": "3", "obtained": obtained, "reason": ""}
        log.put(Judgment(id=kind, episode_id=episode, annotator="x", kind=kind, value=value))
        log.flush()
        return report(reader, "run").by_language[0]

    row = judge("review.note", True)
    assert (row.success.value, row.needs_judge) == (0, 1)
    row = judge(JUDGE, True)
    assert (row.success.value, row.needs_judge) == (1, 0)


def test_runs_are_kept_apart(put, log, reader, lamp):
    put(log, lamp, ALL)
    put(log, lamp, (), run="other")
    assert report(reader, "run").by_language[0].success.n == 1
    assert fmean(one.scores.success for one in score_run(reader, "run")) == 1


def test_a_run_without_ended_episodes_has_no_rows(put, log, reader, lamp):
    put(log, lamp, ("1",), status=None)
    found = report(reader, "run")
    assert (found.by_language, found.by_type, found.curve) == ((), (), {})
    assert (found.statuses, found.unscored) == ({"open": 1}, 1)
