"""Several sets per person, screening out, leaving and coming back, in a benchmark made up for it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import pytest
from guessing import RIGHT, SEAT, GuessingSessions, House, study

from logs import load_key
from logs.rows import ModelCall
from simulator.errors import ConflictError, InputError
from simulator.runner.logged import MODEL_FAILURE
from simulator.seats import Reply
from simulator.studies.admission import erase_due
from simulator.studies.people import preview_link, preview_of


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    house = House(tmp_path / "log.sqlite")
    yield house
    house.reader.close()
    house.log.close()


async def test_a_preview_is_played_like_the_study_and_counts_nowhere(house: House) -> None:
    preview = preview_of(study())
    assert preview.id.startswith("words.preview.")
    refused = await house.enter("researcher", preview.id)
    assert (refused.episode_id, refused.refusal) == (None, "unsigned")
    for _ in range(2):  # as often as one likes
        link = preview_link(study(), load_key(house.reader.path), "https://lab.example")
        query = dict(parse_qsl(link.partition("?")[2]))
        entry = await house.sessions.enter(preview.id, identity=query, participant_key="k", language="en")
        assert entry.episode_id is not None
        house.again(study())  # a restarted server goes on with it
        assert (await house.say(entry.episode_id, "yes", RIGHT, "a", "b"))["stage"] == "done"
        left = house.sessions.completion(entry.episode_id)
        assert left is not None and (left.code, left.url) == ("PREVIEW", None)
    assert house.states() == [] and [card.id for card in house.sessions.studies()] == ["words"]
    card = house.sessions.study(preview.id)
    assert card is not None and card.preview
    # A file that is changed afterwards has another preview: the first one stays what it was.
    assert preview_of(study(title="Other words")).id != preview.id
    assert (await house.enter("anna")).episode_id is not None


async def test_one_set_after_the_other_until_all_are_done(house: House) -> None:
    episode = await house.first_set("ann")
    assert house.sessions.sets(episode)[:2] == (1, 3)
    assert house.sessions.completion(episode).code == "C"
    words = [(await house.sessions.view(episode, SEAT)).word]
    for number in (2, 3):
        entry = await house.sessions.next_set(episode)
        assert await house.sessions.next_set(episode) == entry, "a double click"
        assert (await house.enter("ann")).episode_id == entry.episode_id, "the link once more"
        episode = entry.episode_id
        assert episode is not None
        view = await house.sessions.view(episode, SEAT)
        assert view.stage == "guess", "neither consent nor quiz again"
        assert house.sessions.completion(episode) is None
        options = house.reader.episode(episode).options
        assert (options["begun"], options["second"], options["cell"]) == (True, True, view.word.split()[0])
        words.append(view.word)
        await house.say(episode, "a")
        assert house.states()[-1] == "started"
        await house.say(episode, "b")
        assert house.sessions.sets(episode)[:2] == (number, 3)
    assert len(dict.fromkeys(words)) == 3, "never two sets of one condition"
    done = await house.sessions.next_set(episode)
    assert (done.episode_id, done.refusal, done.completion.code) == (None, "done", "C")
    assert (await house.enter("ann")).refusal == "done"
    assert house.states() == ["completed"] * 3
    assert len(house.reader.participants()) == 1


async def test_a_break_is_offered_after_so_many_sets_and_does_not_count_as_time(house: House) -> None:
    house.again(study(break_every=2))
    episode = await house.first_set("ann")
    stages = []
    for _ in range(2):
        episode = (await house.sessions.next_set(episode)).episode_id
        stages.append((await house.sessions.view(episode, SEAT)).stage)
        if stages[-1] == "break":
            assert house.states()[-1] == "reserved", "the set begins when the break is over"
            view = await house.sessions.view(episode, SEAT)
            assert (await house.say(episode, "rested"))["stage"] == "guess"
            assert house.states()[-1] == "started"
            assert house.reader.turns(episode)[view.number].payload["kind"] == "break"
        await house.say(episode, "a", "b")
    assert stages == ["guess", "break"]
    assert house.states() == ["completed"] * 3


async def test_the_first_sets_options(house: House) -> None:
    episode = (await house.enter("ann", language="zh")).episode_id
    row = house.reader.episode(episode)
    assert {name: row.options[name] for name in ("study", "language", "place", "second")} == {
        "study": True,
        "language": "zh",
        "place": 1,
        "second": False,
    }
    assert "begun" not in row.options
    assert (await house.sessions.view(episode, SEAT)).word.endswith(" in zh")
    await house.say(episode, "yes", RIGHT, "a", "b")
    following = (await house.sessions.next_set(episode)).episode_id
    assert house.reader.episode(following).options["language"] == "zh"


async def test_a_language_that_the_study_has_not(house: House) -> None:
    house.again(study(settings={"languages": ["zh"]}))
    episode = (await house.enter("ann", language="en")).episode_id
    assert house.reader.episode(episode).options["language"] == "zh"


async def test_nothing_is_left(house: House) -> None:
    house.again(study(conditions=["red", "blue"], judgments_per_item=1))
    first = await house.first_set("ann")
    assert (await house.enter("bob")).episode_id is not None
    entry = await house.sessions.next_set(first)
    assert (entry.refusal, entry.completion.code) == ("full", "C")
    assert (await house.enter("cem")).refusal == "full"
    assert (await house.enter("cem")).completion is None


async def test_one_set_is_one_set(house: House) -> None:
    house.again(study(sets_per_participant=1))
    episode = await house.first_set("ann")
    entry = await house.sessions.next_set(episode)
    assert (entry.refusal, entry.completion.code) == ("taken", "C")
    assert (await house.enter("ann")).refusal == "taken"
    assert house.sessions.sets(episode)[:2] == (1, 1)


async def test_a_set_that_is_not_done_is_the_next_one(house: House) -> None:
    episode = (await house.enter("ann")).episode_id
    await house.say(episode, "yes")
    assert (await house.sessions.next_set(episode)).episode_id == episode


async def test_who_fails_the_quiz_is_screened_out(house: House) -> None:
    free = house.sessions.studies()[0].places_left
    episode = (await house.enter("ann")).episode_id
    assert (await house.say(episode, "yes", "five"))["stage"] == "done"
    assert house.states() == ["screened_out"]
    assert house.sessions.completion(episode).outcome == "screened_out"
    assert house.sessions.completion(episode).code == "S"
    assert house.sessions.studies()[0].places_left == free
    entry = await house.enter("ann")
    assert (entry.refusal, entry.completion.code) == ("taken", "S")
    assert (await house.sessions.next_set(episode)).refusal == "taken"
    assert [turn.text for turn in house.reader.turns(episode)] == ["yes", "five"], "kept: it is paid"


async def test_who_declines_is_erased(house: House) -> None:
    episode = (await house.enter("ann")).episode_id
    await house.say(episode, "no")
    assert house.states() == ["withdrawn"]
    assert house.reader.identities() == []
    assert house.sessions.completion(episode).code == "R"


async def test_whom_a_model_fails_leaves_with_what_they_did(house: House) -> None:
    episode = (await house.enter("ann")).episode_id
    await house.say(episode, "yes", RIGHT, "crash")
    assert house.states() == ["returned"]
    assert [turn.text for turn in house.reader.turns(episode)] == ["yes", RIGHT, "crash"]
    assert house.sessions.completion(episode).code == "R"


@pytest.mark.parametrize(("then", "code"), [("paid_exit", "P"), ("wait", None)])
async def test_whose_model_fails_again_and_again_leaves_as_the_study_says(
    house: House, then: str, code: str | None
) -> None:
    codes = {"complete": "C", "returned": "R", "paid_exit": "P"}
    more = {"model_failure": {"then": then, "tries": 3}, "completion_codes": codes}
    house.again(study(**more))
    episode = (await house.enter("anna")).episode_id
    assert episode is not None
    await house.say(episode, "yes", RIGHT, "mute")  # the first try of three
    house.again(study(**more))
    await house.sessions.view(episode, SEAT)
    assert house.sessions.completion(episode) is None
    await house.sessions.view(episode, SEAT)
    left = house.sessions.completion(episode)
    assert (left.code if left else None) == code
    assert house.states()[-1] == ("returned" if code else "started")
    if code is not None:
        # What was said is kept, the place is free again, and the log says which model failed.
        assert [turn.text for turn in house.reader.turns(episode)][-1] == "mute"
        assert len(house.reader.events(episode_id=episode, kind=MODEL_FAILURE)) == 3


async def test_nobody_new_comes_in_when_the_models_have_cost_what_they_may(house: House) -> None:
    house.again(study(model_budget=1.0))
    episode = await house.first_set("anna")
    assert (await house.enter("ben")).episode_id is not None
    await house.log.write(
        ModelCall(id="c", episode_id=episode, turn_number=0, purpose="x", model="m", cost=1.5)
    )
    entry = await house.enter("cleo")
    assert (entry.episode_id, entry.refusal) == (None, "closed")
    assert (await house.enter("ben")).episode_id is not None
    assert house.sessions._desks["words"].progress().model_cost == 1.5


@pytest.mark.parametrize("when", ["between", "within", "from the set before"])
async def test_withdrawing_takes_all_sets(house: House, when: str) -> None:
    first = await house.first_set("ann")
    second = first
    if when != "between":
        second = (await house.sessions.next_set(first)).episode_id
        await house.say(second, "something telling")
    await house.sessions.withdraw(first if when == "from the set before" else second)
    assert {place.state for place in house.sessions._desks["words"].ledger()} == {"withdrawn"}
    (person,) = house.reader.erased_participants()
    assert any(turn.text != "[erased]" for turn in house.reader.turns(first))
    erase_due(house.reader.path, now=datetime.now(UTC) + timedelta(days=6.9))
    assert house.reader.identities() != []
    erase_due(house.reader.path, now=datetime.now(UTC) + timedelta(days=7.1))
    (receipt,) = house.reader.events(kind="participant.erased")
    assert house.reader.erased_participants() == {receipt.participant_id} != {person}
    texts = [turn.text for episode in (first, second) for turn in house.reader.turns(episode)]
    assert set(texts) == {"[erased]"}
    assert {place.state for place in house.sessions._desks["words"].ledger()} == {"withdrawn"}
    assert house.reader.identities() == []
    assert house.sessions.sets(first)[:2] == (0, 3)
    assert (await house.sessions.next_set(first)).refusal == "taken"
    # Of whoever is erased nothing is known: the same id is somebody new.
    assert (await house.enter("ann")).episode_id not in (None, first, second)
    view = await house.sessions.view(second, SEAT)
    assert view.stage == "done"
    late = Reply(text="more", key="late")
    with pytest.raises(ConflictError):
        await house.sessions.submit(second, SEAT, late, number=view.number)


async def test_withdrawing_ends_what_is_open_in_another_study(house: House) -> None:
    house.again(study(), study(id="other", exclude=[]), study(id="open", exclude=[]))
    other = (await house.enter("ann", "other")).episode_id
    await house.say(other, "yes")
    here = (await house.enter("ann", "open")).episode_id
    await house.sessions.withdraw(here)
    assert house.reader.ending(other).status == "aborted"
    with pytest.raises(ConflictError):
        await house.sessions.submit(other, SEAT, Reply(text=RIGHT, key="late"), number=1)
    assert house.sessions.completion(other).outcome == "returned"


async def test_a_server_killed_at_the_end_of_a_set(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    async def nothing(self: Any, episode: Any, ending: Any) -> None:
        pass

    episode = (await house.enter("ann")).episode_id
    with monkeypatch.context() as patch:
        patch.setattr(GuessingSessions, "_settle", nothing)
        await house.say(episode, "yes", RIGHT, "a", "b")
    assert house.states() == ["started"]
    entry = await house.enter("ann")
    assert house.states() == ["completed", "reserved"]
    assert entry.episode_id not in (None, episode)
    with monkeypatch.context() as patch:
        patch.setattr(GuessingSessions, "_settle", nothing)
        await house.say(entry.episode_id, "a", "b")
    third = await house.sessions.next_set(entry.episode_id)
    assert house.states() == ["completed", "completed", "reserved"]
    assert third.episode_id not in (None, episode, entry.episode_id)


async def test_who_lost_the_place_before_beginning_can_come_back(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    house.again(study(conditions=["red"], judgments_per_item=1, sets_per_participant=1))
    lost = (await house.enter("late")).episode_id
    later = datetime.now(UTC) + timedelta(hours=2)
    monkeypatch.setattr(house.sessions._desks["words"], "_clock", lambda: later)
    other = (await house.enter("next")).episode_id
    with pytest.raises(ConflictError):
        await house.say(lost, "yes")
    assert (await house.enter("late")).refusal == "full"
    await house.sessions.withdraw(other)
    again = (await house.enter("late")).episode_id
    assert again not in (None, lost)
    await house.say(again, "yes", RIGHT, "a", "b")
    assert house.sessions.completion(again).code == "C"
    assert (await house.sessions.view(lost, SEAT)).stage == "done"
    assert house.sessions.completion(again).code == "C"


async def test_what_is_shown_in_the_end(house: House) -> None:
    house.again(study(), study(id="open"))
    hidden = await house.first_set("ann")
    with pytest.raises(ConflictError, match="does not show"):
        await house.sessions.replay(hidden, SEAT)
    shown = (await house.enter("bob", "open")).episode_id
    with pytest.raises(ConflictError):
        await house.sessions.replay(shown, SEAT)
    await house.say(shown, "yes", RIGHT, "a", "b")
    assert (await house.sessions.replay(shown, SEAT))[1:] == ["yes", RIGHT, "a", "b"]
    broken = (await house.enter("cem", "open")).episode_id
    await house.say(broken, "yes", "five")
    with pytest.raises(ConflictError, match="was not finished"):
        await house.sessions.replay(broken, SEAT)


async def test_a_changed_study_gives_no_further_set(house: House) -> None:
    episode = await house.first_set("ann")
    house.again(study(title="Other words"))
    assert (await house.sessions.next_set(episode)).refusal == "closed"


async def test_free_play_has_no_sets(house: House) -> None:
    episode = await house.sessions.start_item("red", {SEAT: "person"}, {"begun": True})
    for call in (house.sessions.next_set, house.sessions.withdraw):
        with pytest.raises(InputError, match="not part of a study"):
            await call(episode)
    with pytest.raises(InputError, match="not part of a study"):
        house.sessions.sets(episode)
    await house.say(episode, "a", "b")
    assert house.sessions.completion(episode) is None
    assert (await house.sessions.replay(episode, SEAT)) == ["red", "a", "b"]


def test_cards(house: House) -> None:
    pay = {"amount": 0.4, "currency": "USD", "minutes": 2}
    house.again(study(pay=pay), study(id="open", participants=5, judgments_per_item=None))
    first, second = house.sessions.studies()
    assert (first.study.benchmark, first.task, first.study.sets_per_participant) == ("guessing", "guess", 3)
    assert (first.places_left, second.places_left) == (8, 5)
    assert (first.languages, first.builtin) == (("en", "zh"), False)
