"""Verdicts on S: reviewers override judges, who override the rule, each by majority."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from app import cli
from logs.rows import Judgment
from simulator.clarq.reports import run_section, success_answers
from simulator.clarq.review import Review, unanswered_parts, write_changes
from simulator.clarq.score import JUDGE, REVIEW_SUCCESS, SUCCESS, majority, score_run
from simulator.clarq.show import replay
from simulator.errors import InputError

ALL = ("1", "2", "2.1", "2.1.1", "3")
ALMOST = ("1", "2", "Try the iron key.", "It hangs in the kitchen.")  # without 2.1, 2.1.1 and 3


def judged(episode, judge, **nodes):
    return [
        Judgment(
            id=f"{episode}/{judge}/{node}",
            episode_id=episode,
            annotator=judge,
            kind=JUDGE,
            value={"node": node, "obtained": obtained},
        )
        for node, obtained in nodes.items()
    ]


def reviewed(episode, who, key, success):
    value = {"success": success}
    return Judgment(
        id=f"{episode}/{who}/{key}", episode_id=episode, annotator=who, kind=REVIEW_SUCCESS, value=value
    )


YES = {"2.1": True, "2.1.1": True, "3": True}
NO = {"2.1": True, "2.1.1": False}
CASES = (
    # given nodes, judges' verdicts, reviewers' verdicts -> success, needs a judge, who decided
    (ALMOST, [], [], (False, True, "rule")),
    (ALMOST, [YES], [], (True, False, "judges")),
    (ALMOST, [NO], [], (False, False, "judges")),
    (ALMOST, [YES, NO], [], (False, True, "rule")),
    (ALMOST, [YES, YES, NO], [], (True, False, "judges")),
    (ALMOST, [{"2.1": True}], [], (False, True, "judges")),
    (ALMOST, [], [True], (True, False, "people")),
    (ALMOST, [], [False], (False, False, "people")),
    (ALMOST, [NO, NO], [True], (True, False, "people")),
    (ALMOST, [YES], [False], (False, False, "people")),
    (ALMOST, [YES], [True, False, False], (False, False, "people")),
    # On a tie of reviewers the judges decide, on a tie of judges the rule.
    (ALMOST, [YES], [True, False], (True, False, "judges")),
    (ALMOST, [], [True, False], (False, True, "rule")),
    (ALL, [], [], (True, False, "rule")),
    (ALL, [], [False], (False, False, "people")),
    (("1", "2"), [], [True], (True, False, "people")),
)


def test_reviewers_override_judges_and_majorities_count(put, log, reader, lamp):
    wrong = []
    for number, (given, judges, people, expected) in enumerate(CASES):
        run = f"run{number}"
        episode = put(log, lamp, given, run=run)
        for place, verdict in enumerate(judges):
            for row in judged(episode, f"x/{place}", **verdict):
                log.put(row)
        for place, verdict in enumerate(people):
            log.put(reviewed(episode, f"p{place}", number, verdict))
        log.flush()
        (scored,) = score_run(reader, run)
        decision = (scored.scores.success, scored.scores.needs_judge, scored.scores.decided_by)
        if decision != expected:
            wrong.append((number, given, judges, people, decision, expected))
    assert wrong == []


def test_the_latest_verdict_is_compared_with_the_rule(put, log, reader, lamp):
    episode = put(log, lamp, ALMOST)
    for key, success in (("one", True), ("two", False), ("three", True)):
        log.put(reviewed(episode, "ann", key, success))
    log.flush()
    (scored,) = score_run(reader, "run")
    assert (scored.scores.success, scored.scores.missing, scored.scores.judged) == (
        True,
        (),
        ("2.1", "2.1.1", "3"),
    )
    assert not scored.automatic.success
    compared = success_answers([scored], reader.judgments(run_id="run"))
    assert [answer[2:] for answer in compared] == [("no", "yes", True)]


def test_what_the_player_ticks_is_compared_and_settles_nothing(put, log, reader, lamp):
    episode = put(log, lamp, ALMOST)
    log.put(Judgment(id="t", episode_id=episode, annotator="provider", kind=SUCCESS, value={"success": True}))
    log.flush()
    (scored,) = score_run(reader, "run")
    assert not scored.scores.success
    assert len(success_answers([scored], reader.judgments(run_id="run"))) == 1


def test_under_success_no_reason_is_asked_for(put, log, reader, lamp):
    episode = put(log, lamp, ALMOST)
    log.flush()
    seen = replay(lamp, reader.turns(episode))
    assert unanswered_parts(seen, Review()) == ("success", "2.1", "2.1.1", "3")
    assert unanswered_parts(seen, Review(success=False)) == ("2.1", "2.1.1", "3")
    won = Review(success=True)
    (done,) = write_changes("ann", "key", episode, seen, won, replace(won, done=True))
    assert (unanswered_parts(seen, won), done.value) == ((), {"done": True})
    lost = Review(success=False)
    with pytest.raises(InputError, match="still to be answered: 2"):
        list(write_changes("ann", "key", episode, seen, lost, replace(lost, done=True)))


def test_majorities():
    cases = (
        ([], None),
        ([None], None),
        ([True], True),
        ([True, False], None),
        ([True, None, False, False], False),
    )
    assert [(votes, majority(votes)) for votes, _ in cases] == [*cases]


def test_the_report_says_who_decided_s_and_how_judges_agree(put, log, reader, lamp, tmp_path):
    for repeat in range(3):
        episode = put(log, lamp, ALMOST, repeat=repeat)
        for row in [*judged(episode, "x/a", **YES), *judged(episode, "x/b", **(NO if repeat else YES))]:
            log.put(row)
        if repeat:
            log.put(reviewed(episode, "ann", repeat, repeat == 1))
    log.flush()
    section = run_section(reader, "run")
    assert section.data["decided_by"] == {"judges": 1, "people": 2}
    assert section.tables[0].rows[0][2].value == pytest.approx(2 / 3)
    result = CliRunner().invoke(cli, ["score", "run", "run", "--log", str(reader.path)])
    assert result.exit_code == 0, result.output
    assert "S was decided by judges (1), reviewers (2)" in result.output
    assert "x/a and x/b agree on 1 of 3 dialogues" in result.output
    plain = json.loads(
        CliRunner().invoke(cli, ["score", "run", "run", "--json", "--log", str(reader.path)]).stdout
    )
    assert {"first": "x/a", "second": "x/b", "n": 3, "equal": 1, "kappa": 0.0} in plain["sections"][-1][
        "data"
    ]["judges"]
