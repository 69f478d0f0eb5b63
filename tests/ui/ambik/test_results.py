"""The last page: whether it was right to ask, what was meant, what was filled in."""

from __future__ import annotations

import re

import pytest
from seated import draft_of, item_of, pair_fields, play
from showing import ANSWERED, Log, decided, end_of, ended, fruit, milk, turn, view
from visiting import Page, words

from logs.rows import Ending
from simulator.ambik.forms import read_pair_form
from simulator.ambik.show import broken_off, filled_in
from simulator.ambik.terms import TASK_TYPES
from ui.actions import Actions
from ui.i18n import strings


async def test_the_end_shows_a_form_as_it_was_filled_in(actions: Actions, log: Log) -> None:
    visit = await play(actions, "annotator")
    await visit.begin()
    draft = draft_of(log[1], visit.episode)
    fields = pair_fields(draft)
    named = {name.name: value for name, value in filled_in(read_pair_form(draft, fields))}
    assert [*named][:2] == ["field.clear", "field.objects"]
    assert named["field.step"] == str(fields["step"] + 1)
    assert named["field.objects"] == ", ".join(fields["objects"])
    shown = item_of(log[1], visit.episode)
    filled = [turn("annotator", "", {"kind": "annotate", "form": fields})]
    text = words(end_of("annotator", shown, filled))
    assert strings("en")(f"benchmark.ambik.type.{fields['type']}") in text
    assert "Exactly one thing is open in this task. yes" in text
    assert "In a study" in text and "In a study" not in words(end_of("annotator", shown, filled, study=True))


@pytest.mark.each("seat", ["robot", "user"])
@pytest.mark.each("needed", [True, False])
@pytest.mark.each("asked", [(), (("Which?", "This."),)])
@pytest.mark.each("right", [True, False, None])
def test_whether_it_was_right_to_ask_is_said(
    seat: str, needed: bool, asked: tuple[tuple[str, str], ...], right: bool | None
) -> None:
    action = {True: "Bring the oat milk.", False: "Bring the soy milk.", None: ""}[right]
    html = end_of(seat, milk("ambiguous" if needed else "clear"), decided(action, *asked))
    heading = re.search(r"<h1[^>]*>(.*?)</h1>", html)[1]  # type: ignore[index]
    good = needed == bool(asked)
    assert good == bool(re.search("rightly|right not to|right to ask", heading))
    # Nobody is praised for a question, or for none, who did what was not meant.
    assert (good and right is False) == ("not what was meant" in heading)
    assert (good and right is not False) == ("ab-verdict-good" in html)


def test_the_intent_in_words() -> None:
    text = words(end_of("robot", milk(intent="milk, glass|cup, -can")))
    assert "milk glass / cup − can" in text and "Preferences" in text
    assert "Clear task" in words(end_of("robot", milk("clear")))
    unknown = words(end_of("robot", fruit()))
    assert not [kind for kind in TASK_TYPES if strings("en")(f"benchmark.ambik.type.{kind}") in unknown]


def test_sets_stand_side_by_side() -> None:
    turns = decided("take the milk", marked=("take the milk",))
    sets = (("knowno-test", ("take the oat milk",)), ("lap-test", ()))
    html = end_of("robot", milk(shortlist=("oat milk", "soy milk")), turns, sets=sets)
    text = words(html)
    for part in ("You marked", "take the milk", "oat milk", "knowno-test", "the empty set"):
        assert part in text
    assert "No model has been run" not in text
    assert "No model has been run" in words(end_of("robot", milk()))


def test_a_user_whom_the_robot_did_not_ask_is_told_so() -> None:
    assert "What happened This time the robot had nothing to ask you" in words(
        ended(view("done", "user", study=True), None)
    )
    assert "nothing to ask you" not in words(ended(view("done", "user", study=True, lines=ANSWERED), None))
    assert "nothing to ask you" not in words(ended(view("done", study=True), None))


def test_whether_the_action_was_right_is_said_in_words() -> None:
    for taken, word in (("oat", "right"), ("soy", "not what was meant")):
        html = end_of("user", milk(), decided(f"Take the {taken} milk."))
        assert word in [text.strip() for text in Page(html).texts]
        assert f'<span class="ab-hidden">{word}' not in html


def test_an_episode_that_was_broken_off_tells_no_result() -> None:
    ending = Ending(episode_id="e", status="aborted", cause="robot", message="broke")
    html = ended(view("done", ending=ending), broken_off())
    assert "This ended too early" in words(html)
    assert "What was meant" not in words(html)
