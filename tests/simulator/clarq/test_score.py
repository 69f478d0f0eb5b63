import pytest
from hypothesis import given
from hypothesis import strategies as st

from logs.rows import Judgment, Turn
from simulator.clarq.score import (
    JUDGE,
    SUCCESS,
    VERSION,
    judge_verdicts,
    lines_after_opening,
    score_dialogue,
    score_episode,
    score_rows,
    turn_length,
    unmatched_lines,
)
from simulator.seats import Line

HELLO = "Hello, what can I do for you?"
ALL = ("1", "2", "2.1", "2.1.1", "3")


def dialogue(task, *answers, ask="Tell me please"):
    """Jax's greeting, the opening, then `answers`: an index gives that node's text."""
    texts = {"0": task.tree.opening} | {node.index: node.text for node in task.tree.nodes}
    lines = [Line("provider", HELLO)]
    for answer in ("0", *answers):
        lines += [Line("seeker", ask), Line("provider", texts.get(answer, answer))]
    return lines


# S


def test_every_node_given_is_a_success(either_lamp):
    scores = score_dialogue(either_lamp, dialogue(either_lamp, *ALL))
    assert (scores.success, scores.needs_judge) == (True, False)
    assert (scores.obtained, scores.missing, scores.judged) == (ALL, (), ())


@pytest.mark.each(
    "reply",
    [
        "Only whale oil burns bright enough",
        "only whale oil burns bright enough!?",
        "Only\u00a0whale oil burns  bright\u202fenough.",
        "Well: ONLY WHALE OIL BURNS BRIGHT ENOUGH, my friend.",
        "Jax: Only whale oil burns bright enough, and the north cellar is dry.",
    ],
)
def test_case_and_final_punctuation_are_ignored(lamp, reply):
    assert score_dialogue(lamp, dialogue(lamp, reply)).obtained == ("1",)


@pytest.mark.parametrize(
    "reply", ["Only whaleoil burns bright enough.", "Only the whale oil burns bright enough.", "Whale oil."]
)
def test_other_words_do_not_count(lamp, reply):
    assert score_dialogue(lamp, dialogue(lamp, reply)).obtained == ()


def test_chinese_texts_count_up_to_their_final_mark(lamp_zh):
    assert score_dialogue(lamp_zh, dialogue(lamp_zh, "好的，只有鲸油烧得够亮，记住了吗？")).obtained == ("1",)
    assert score_dialogue(lamp_zh, dialogue(lamp_zh, "只有\u3000鲸油烧 得够亮")).obtained == ("1",)
    assert score_dialogue(lamp_zh, dialogue(lamp_zh, "只有鲸油得够亮")).obtained == ()


def test_one_line_may_give_several_nodes(lamp):
    both = "Only whale oil burns bright enough. Moreover, it counts as dark once the second bell has rung."
    assert score_dialogue(lamp, dialogue(lamp, both)).obtained == ("1", "3")


def test_missing_nodes_and_no_other_words_are_a_failure(lamp):
    scores = score_dialogue(lamp, dialogue(lamp, "1", "2", "1"))
    assert (scores.success, scores.needs_judge) == (False, False)
    assert scores.missing == ("2.1", "2.1.1", "3")


def test_missing_nodes_and_other_words_need_a_judge(lamp):
    lines = dialogue(lamp, "1", "2", "2.1", "2.1.1", "Wait for the second bell.")
    scores = score_dialogue(lamp, lines)
    assert (scores.success, scores.needs_judge, scores.missing) == (False, True, ("3",))
    assert unmatched_lines(lamp, lines) == ("Wait for the second bell.",)


@pytest.mark.each(
    ("verdicts", "success", "open_", "judged", "missing"),
    [
        ({}, False, True, (), ("2.1.1", "3")),
        ({"2.1.1": True, "3": True}, True, False, ("2.1.1", "3"), ()),
        ({"2.1.1": True}, False, True, ("2.1.1",), ("3",)),
        ({"2.1.1": False}, False, False, (), ("2.1.1", "3")),
        ({"2.1.1": True, "3": False}, False, False, ("2.1.1",), ("3",)),
        ({"3": False}, False, False, (), ("2.1.1", "3")),
        ({"1": False, "9": True}, False, True, (), ("2.1.1", "3")),
    ],
)
def test_one_no_decides_and_all_missing_nodes_need_a_yes(lamp, verdicts, success, open_, judged, missing):
    scores = score_dialogue(lamp, dialogue(lamp, "1", "2", "2.1", "Look around."), verdicts)
    assert (scores.success, scores.needs_judge) == (success, open_)
    assert (scores.judged, scores.missing) == (judged, missing)


def test_where_every_line_gives_a_node_no_verdict_counts(lamp):
    scores = score_dialogue(lamp, dialogue(lamp, "1", "2", "2.1", "2.1.1"), {"3": True})
    assert (scores.success, scores.needs_judge, scores.judged) == (False, False, ())


def test_only_lines_after_the_opening_count(lamp):
    early = f"{lamp.tree.by_index['1'].text} But first tell me your name."
    lines = [
        Line("provider", HELLO),
        Line("seeker", "Hi!"),
        Line("provider", early),
        *dialogue(lamp, "2")[1:],
    ]
    assert score_dialogue(lamp, lines).obtained == ("2",)
    assert lines_after_opening(lamp, lines) == (lamp.tree.by_index["2"].text,)
    assert unmatched_lines(lamp, lines) == ()


def test_without_an_opening_the_first_answer_takes_its_place(lamp):
    lines = [line for line in dialogue(lamp, "1", "2") if line.text != lamp.tree.opening]
    assert score_dialogue(lamp, lines).obtained == ("2",)


@pytest.mark.each("count", [0, 1, 2, 3])
def test_a_dialogue_without_a_reply_is_a_failure(lamp, count):
    scores = score_dialogue(lamp, dialogue(lamp)[:count])
    assert (scores.success, scores.needs_judge, scores.obtained, scores.reached) == (False, False, (), None)
    assert scores.responses == (1 if count == 3 else 0)


# D and L


def test_d_is_the_provider_lines_beyond_the_items_responses(lamp):
    assert score_dialogue(lamp, dialogue(lamp, *ALL)).aqd == 0
    assert score_dialogue(lamp, dialogue(lamp, "1", "2")).aqd == 3 - 6
    assert score_dialogue(lamp, dialogue(lamp, *ALL, "Fine.", "Fine.")).aqd == 2
    assert score_dialogue(lamp, [Line("provider", HELLO)]).aqd == -6


@pytest.mark.each(
    ("text", "language", "length"),
    [
        (" one two  three \n", "en", 3),
        ("one", "en", 0),
        ("", "en", 0),
        ("用哪种油？ ", "zh", 5),
        (" use 油 ?", "zh", 7),
        ("ten\u202fkm of\u00a0rope", "en", 3),
    ],
)
def test_l_counts_blanks_in_english_and_characters_in_chinese(text, language, length):
    assert turn_length(text, language) == length


def test_l_is_the_mean_over_the_seekers_lines(lamp):
    lines = [*dialogue(lamp, "1", ask="a b c"), Line("seeker", "goodbye")]
    assert score_dialogue(lamp, lines).aql == pytest.approx((2 + 2 + 0) / 3)
    assert score_dialogue(lamp, lines[:1]).aql == 0


# Success by number of responses


def test_reached_is_the_response_that_completed_it(lamp):
    assert score_dialogue(lamp, dialogue(lamp, *ALL, "1", "Fine.")).reached == 6
    assert score_dialogue(lamp, dialogue(lamp, "1", "2", "2.1", "1", "2.1.1", "3")).reached == 7
    assert score_dialogue(lamp, dialogue(lamp, "1")).reached is None
    lines = dialogue(lamp, "1", "2", "2.1", "2.1.1", "At the second bell.", "Fine.")
    assert score_dialogue(lamp, lines, {"3": True}).reached == 7


def test_reached_leaves_out_what_was_said_before_the_opening(lamp):
    early = [Line("provider", HELLO), Line("seeker", "Hi!"), Line("provider", lamp.tree.by_index["3"].text)]
    lines = [*early, *dialogue(lamp, "1", "2", "2.1", "2.1.1", "3")[1:]]
    assert score_dialogue(lamp, lines).reached == 7


# From the log


def judgment(node, obtained, at, kind=JUDGE):
    return Judgment(
        id=f"{node}{at}",
        episode_id="e",
        annotator="somebody",
        kind=kind,
        value={"node": node, "obtained": obtained},
        created_at=f"2025-01-01T00:00:0{at}.000Z",
    )


def test_the_latest_verdict_counts():
    rows = [judgment("1", True, 3), judgment("1", False, 2), judgment("2", False, 1)]
    assert judge_verdicts(rows) == {"somebody": {"1": True, "2": False}}
    assert judge_verdicts([judgment("1", True, 1, kind=SUCCESS)]) == {}


def test_an_episode_is_scored_from_its_turns(lamp):
    lines = dialogue(lamp, "1", "2", "2.1", "2.1.1", "Wait a little.")
    turns = [Turn(episode_id="e", number=n, seat=line.seat, text=line.text) for n, line in enumerate(lines)]
    assert score_episode(lamp, turns) == score_dialogue(lamp, lines)
    assert score_episode(lamp, turns, [judgment("3", True, 1)]) == score_dialogue(lamp, lines, {"3": True})


def test_scores_as_rows(lamp):
    rows = score_rows("e", score_dialogue(lamp, dialogue(lamp, *ALL)))
    assert [(row.metric, row.value) for row in rows] == [("success", 1.0), ("aqd", 0.0), ("aql", 2.0)]
    assert {row.version for row in rows} == {VERSION}
    assert rows[0].details["obtained"] == ALL
    assert rows[0].details["reached"] == 6


@given(
    st.lists(st.sampled_from([*ALL, "Hm.", "Wait for the bell."]), max_size=12),
    st.dictionaries(st.sampled_from(ALL), st.booleans()),
)
def test_what_always_holds(lamp, answers, verdicts):
    scores = score_dialogue(lamp, dialogue(lamp, *answers), verdicts)
    assert sorted(scores.obtained + scores.judged + scores.missing) == sorted(ALL)
    assert scores.success == (not scores.missing) == (scores.reached is not None)
    assert not (scores.success and scores.needs_judge)
    assert scores.responses == len(answers) + 1
    assert scores.reached is None or 1 <= scores.reached <= scores.responses
    unjudged = score_dialogue(lamp, dialogue(lamp, *answers))
    assert scores.success >= unjudged.success
