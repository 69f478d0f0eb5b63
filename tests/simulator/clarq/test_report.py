from dataclasses import replace
from statistics import fmean

import pytest

from logs.erase import erase_participant
from logs.rows import Judgment
from simulator.clarq.reports import run_section
from simulator.clarq.score import JUDGE, score_run
from simulator.stats import bootstrap_mean, share, wilson

ALL = ("1", "2", "2.1", "2.1.1", "3")


@pytest.fixture
def filled(put, log, reader, lamp, lamp_zh):
    """Dialogues of which 2 of 3 English ones and 0 of 1 Chinese ones succeed; others are not scored."""
    later = replace(lamp, id="lamp-2", type=2)
    put(log, lamp, ALL)
    put(log, lamp, (*ALL, "Fine."), repeat=1, status="truncated")
    put(log, later, ("1", "Hm."))
    put(log, lamp_zh, ("1", "2"))
    put(log, later, ALL, repeat=1, status="aborted")
    put(log, later, ALL, repeat=2, status="failed")
    put(log, later, (), repeat=3, status=None)
    return reader


def by_language(reader, run="run"):
    return run_section(reader, run).tables[0].rows


def test_one_row_per_language_in_order(filled):
    english, chinese = by_language(filled)
    # Two plays of one English task and one of another: two items.
    success = share([True, True, False], ["lamp", "lamp", "other"])
    extra = bootstrap_mean([0, 1, -3], ["lamp", "lamp", "other"])
    assert (success.value, success.n) == (pytest.approx(2 / 3), 2)
    assert english == ("en", 2, success, extra, (1, 1, 1, 2), 1, 0)
    assert (chinese[0], chinese[2], chinese[5]) == ("zh", wilson(0, 1), 0)
    assert chinese[4].value == len("And then?")


def test_one_row_per_type_and_language(filled):
    rows = run_section(filled, "run").tables[1].rows
    assert [(row[0].split(".")[0], row[1]) for row in rows] == [("1", 1), ("2", 1), ("1", 1)]
    assert rows[0][0] != rows[2][0]


def test_what_is_not_scored_is_counted(filled):
    assert run_section(filled, "run").data["unscored"] == 3


def test_a_remark_explains_how_aborted_dialogues_count(filled, put, log, lamp):
    assert not any("failing seat" in remark for remark in run_section(filled, "run").remarks)
    for repeat in (5, 6):
        put(log, lamp, ALL, repeat=repeat, status="aborted", cause="seeker")
    section = run_section(filled, "run")
    (aborted,) = (remark for remark in section.remarks if "failing seat" in remark)
    assert aborted.startswith("2 dialogues that a failing seat aborted count as unsuccessful in S")
    assert [row[6] for row in section.tables[0].rows] == [2, 0]
    assert [row[6] for row in run_section(filled, "run", exclude_aborted=True).tables[0].rows] == [0, 0]


def test_withdrawn_participants_are_left_out_and_counted(put, log, log_path, reader, lamp):
    put(log, lamp, ALL)
    stays = put(log, lamp, ALL, repeat=1, person="stays")
    put(log, lamp, ALL, repeat=2, person="gone")
    put(log, lamp, ("1",), repeat=3, status="aborted", person="gone")
    erase_participant(log_path, "gone")
    (row,) = by_language(reader)
    assert (row[2], row[4]) == (share([True] * 2, ["lamp"] * 2), (1, None, None, 1))
    assert run_section(reader, "run").data["unscored"] == 2
    assert [scored.episode.id for scored in score_run(reader, "run") if scored.episode.participant_id] == [
        stays
    ]


def test_the_curve_rises_to_the_success_rate(filled):
    curves = run_section(filled, "run").data["curve"]
    assert len(curves["en"]) == 14
    assert curves["en"][-1] == pytest.approx(by_language(filled)[0][2].value)
    assert curves["en"][4:6] == (0, pytest.approx(2 / 3))
    assert set(curves["zh"]) == {0}


def test_only_the_latest_attempt_counts(put, log, reader, lamp):
    put(log, lamp, ("1",), status="failed")
    put(log, lamp, ALL, attempt=1)
    assert run_section(reader, "run").data["unscored"] == 0
    assert by_language(reader)[0][2].value == 1


def test_judgments_are_counted_and_only_of_their_kind(put, log, reader, lamp):
    episode = put(log, lamp, ("1", "2", "2.1", "2.1.1", "Wait for the bell."))

    def judge(kind, obtained):
        value = {"node": "3", "obtained": obtained, "reason": ""}
        log.put(Judgment(id=kind, episode_id=episode, annotator="x", kind=kind, value=value))
        log.flush()
        row = by_language(reader)[0]
        return row[2].value, row[5]

    assert judge("review.note", True) == (0, 1)
    assert judge(JUDGE, True) == (1, 0)


def test_runs_are_kept_apart(put, log, reader, lamp):
    put(log, lamp, ALL)
    put(log, lamp, (), run="other")
    assert by_language(reader)[0][1] == 1
    assert fmean(scored.scores.success for scored in score_run(reader, "run")) == 1


def test_a_run_without_ended_episodes_has_no_rows(put, log, reader, lamp):
    put(log, lamp, ("1",), status=None)
    section = run_section(reader, "run", draws=True)
    assert (section.tables, section.figures, section.data["curve"], section.data["unscored"]) == (
        [],
        (),
        {},
        1,
    )
