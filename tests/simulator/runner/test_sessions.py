import asyncio

import pytest
from shown_blocks import in_cards, tree_states

from logs import LogReader, LogWriter, NotInLog
from simulator.blocks import Detail
from simulator.clarq.benchmark import BENCHMARK as CLARQ
from simulator.clarq.machine import MACHINE
from simulator.clarq.sessions import ClarqSessions
from simulator.errors import ConflictError, InputError, SeatError
from simulator.models import ScriptModel, Unavailable
from simulator.runner.sessions import Sessions
from simulator.seats import Reply

H2L = {"seeker": "person", "provider": "offline/experts"}
L2H = {"seeker": "offline/seeker", "provider": "person"}
H2H = {"seeker": "person", "provider": "person"}
H2M = {"seeker": "person", "provider": "offline/script"}


def nobody(name):
    raise AssertionError(f"nobody needs {name}")


class Server:
    """Sessions on a log file; `restart` makes new ones on the same file, as after a crash."""

    def __init__(self, path, models=nobody):
        self.path, self.models = path, models
        self.open()

    def open(self):
        self.log = LogWriter(self.path, durable=True)
        self.reader = LogReader(self.path)
        self.sessions = Sessions(MACHINE, self.log, self.reader, self.models)

    def close(self):
        self.reader.close()
        self.log.close()

    def restart(self):
        self.close()
        self.open()

    def texts(self, episode):
        return [turn.text for turn in self.reader.turns(episode)]


@pytest.fixture
def server(log_path):
    server = Server(log_path)
    yield server
    server.close()


def say(text, key=None, **move):
    return Reply(text=text, key=key, move=move or None)


# A person seeks


async def test_a_person_seeks_to_the_end(server, check, lamp):
    episode = await server.sessions.start_item(lamp, H2L)
    view = await server.sessions.view(episode, "seeker")
    assert (view.my_turn, view.number, tree_states(view)) == (True, 1, {})
    for text in ("How do I light the lamp?", "Which oil should I use?"):
        view = await server.sessions.submit(episode, "seeker", say(text, key=text))
    assert (view.number, view.my_turn, view.stage) == (5, True, "task")
    view = await server.sessions.submit(episode, "seeker", say("Goodbye!", key="bye"))
    assert (view.stage, view.ending.status, view.my_turn, view.waits_for) == ("done", "completed", False, "")
    check(lamp, server.reader.turns(episode))
    scores = {score.metric for score in server.reader.scores(episode_id=episode)}
    assert scores == {"success", "aqd", "aql"}
    (run,) = server.reader.runs()
    assert (run.setup, run.id) == ("H2L", "play-clarq-person-offline-experts")
    assert server.reader.turns(episode)[1].key == "How do I light the lamp?"


async def test_the_turn_limit_ends_it(server, lamp):
    episode = await server.sessions.start_item(lamp, H2L, {"turn_limit": 1})
    view = await server.sessions.submit(episode, "seeker", say("How?"))
    assert (view.ending.status, view.number) == ("truncated", 3)


async def test_the_same_key_is_the_same_turn(server, lamp):
    episode = await server.sessions.start_item(lamp, H2L)
    first = await server.sessions.submit(episode, "seeker", say("How?", key="k1"))
    again = await server.sessions.submit(episode, "seeker", say("How?", key="k1"), number=1)
    assert again == first
    later = await server.sessions.submit(episode, "seeker", say("Which oil?", key="k2"))
    assert await server.sessions.submit(episode, "seeker", say("How?", key="k1")) == later
    assert len(server.texts(episode)) == 5


async def test_two_clicks_at_once_make_one_turn(server, lamp):
    episode = await server.sessions.start_item(lamp, H2L)
    click = [server.sessions.submit(episode, "seeker", say("How?", key="k")) for _ in range(4)]
    views = await asyncio.gather(*click)
    assert all(view == views[0] for view in views)
    assert len(server.texts(episode)) == 3


async def test_two_tabs_at_once_make_one_turn(server, lamp):
    episode = await server.sessions.start_item(lamp, H2L)
    tabs = [
        server.sessions.submit(episode, "seeker", say(text, key=text), number=1)
        for text in ("How?", "Where?")
    ]
    first, second = await asyncio.gather(*tabs, return_exceptions=True)
    assert first.number == 3
    assert isinstance(second, ConflictError)
    assert server.texts(episode)[1] == "How?"


async def test_a_stale_page_is_refused(server, lamp):
    episode = await server.sessions.start_item(lamp, H2L)
    await server.sessions.submit(episode, "seeker", say("How?", key="a"), number=1)
    with pytest.raises(ConflictError, match="moved on"):
        await server.sessions.submit(episode, "seeker", say("What?", key="b"), number=1)
    await server.sessions.submit(episode, "seeker", say("What?", key="b"), number=3)
    with pytest.raises(ConflictError):
        await server.sessions.submit(episode, "seeker", say("Eh?", key="c"), number=7)
    assert len(server.texts(episode)) == 5


async def test_two_servers_on_one_file_agree(server, lamp):
    other = Server(server.path)
    try:
        episode = await server.sessions.start_item(lamp, H2L)
        both = [
            each.sessions.submit(episode, "seeker", say(text, key=text), number=1)
            for each, text in ((server, "How?"), (other, "Where?"))
        ]
        done = await asyncio.gather(*both, return_exceptions=True)
        assert sum(isinstance(outcome, ConflictError) for outcome in done) == 1
        assert not [
            outcome
            for outcome in done
            if isinstance(outcome, Exception) and not isinstance(outcome, ConflictError)
        ]
        views = [await each.sessions.view(episode, "seeker") for each in (server, other)]
        assert views[0] == views[1]
        assert views[0].number == 3
    finally:
        other.close()


async def test_a_reply_after_the_end_is_refused(server, lamp):
    episode = await server.sessions.start_item(lamp, H2L)
    ended = await server.sessions.submit(episode, "seeker", say("Goodbye", key="k"))
    with pytest.raises(ConflictError):
        await server.sessions.submit(episode, "seeker", say("One more thing"))
    assert await server.sessions.submit(episode, "seeker", say("Goodbye", key="k")) == ended


async def test_an_empty_reply_may_be_corrected(server, lamp):
    episode = await server.sessions.start_item(lamp, H2L)
    with pytest.raises(SeatError):
        await server.sessions.submit(episode, "seeker", say("  ", key="k"))
    view = await server.sessions.submit(episode, "seeker", say("How?", key="k"))
    assert view.number == 3


@pytest.mark.parametrize("seat", ["provider", "referee"])
async def test_nobody_takes_a_seat_that_is_no_persons(server, lamp, seat):
    episode = await server.sessions.start_item(lamp, H2L)
    with pytest.raises(InputError, match="No person sits"):
        await server.sessions.view(episode, seat)
    with pytest.raises(InputError, match="No person sits"):
        await server.sessions.submit(episode, seat, say("", give=["0"]))


async def test_an_unknown_episode(server):
    with pytest.raises(NotInLog):
        await server.sessions.view("nothing", "seeker")
    with pytest.raises(NotInLog):
        await server.sessions.submit("nothing", "seeker", say("How?"))


# A person provides


async def test_a_person_provides_with_free_words_and_nodes(server, check, either_lamp):
    task = either_lamp
    episode = await server.sessions.start_item(task, L2H)
    view = await server.sessions.view(episode, "provider")
    assert (view.my_turn, view.number, tree_states(view)["0"]) == (True, 2, "available")
    view = await server.sessions.submit(episode, "provider", say("", give=["0"]))
    assert tree_states(view)["0"] == "given"
    view = await server.sessions.submit(episode, "provider", say("Hm, hm."))
    view = await server.sessions.submit(episode, "provider", say("", give=["2"], before="Ah!"))
    turns = server.reader.turns(episode)
    given = [turn.payload["give"] for turn in turns[2::2] if turn.seat == "provider"]
    assert given == [["0"], [], ["2"]]
    assert turns[6].text.startswith("Ah!")
    states = tree_states(view)
    assert (states["2"], states["2.1"]) == ("given", "available")
    while view.stage == "task":
        view = await server.sessions.submit(episode, "provider", say("That is all I know."))
    check(task, server.reader.turns(episode))


@pytest.mark.parametrize(
    ("move", "text"),
    [
        ({"give": ["2.1"]}, ""),
        ({"give": ["1", "3"]}, ""),
        ({"give": ["nothing"]}, ""),
        ({"give": ["1"], "after": "You find the iron key behind the stove."}, ""),
        ({}, "It counts as dark once the second bell has rung!"),
        ({}, ""),
    ],
)
async def test_an_illegal_move_is_told_and_may_be_corrected(server, lamp, move, text):
    episode = await server.sessions.start_item(lamp, L2H)
    await server.sessions.submit(episode, "provider", say("", give=["0"]))
    before = server.texts(episode)
    with pytest.raises(SeatError):
        await server.sessions.submit(episode, "provider", say(text, key="k", **move))
    assert server.texts(episode) == before
    view = await server.sessions.submit(episode, "provider", say("", key="k", give=["1"]))
    assert (view.number, view.stage) == (len(before) + 2, "task")


# Two people


async def test_two_people_take_turns(server, check, lamp):
    episode = await server.sessions.start_item(lamp, H2H)
    with pytest.raises(ConflictError):
        await server.sessions.submit(episode, "provider", say("Hello again"))
    view = await server.sessions.submit(episode, "seeker", say("How?"))
    assert (view.my_turn, view.waits_for, tree_states(view)) == (False, "provider", {})
    with pytest.raises(ConflictError):
        await server.sessions.submit(episode, "seeker", say("Well?"))
    view = await server.sessions.submit(episode, "provider", say("", give=["0"]))
    assert (view.waits_for, (await server.sessions.view(episode, "seeker")).my_turn) == ("seeker", True)
    await server.sessions.submit(episode, "seeker", say("再见"))
    check(lamp, server.reader.turns(episode))
    assert server.reader.runs()[0].setup == "H2H"


# Faults and restarts


async def test_a_restart_loses_and_doubles_nothing(server, check, lamp):
    episode = await server.sessions.start_item(lamp, H2L)
    for number, text in enumerate(["How?", "Which oil?", "Which cellar?", "Goodbye"]):
        view = await server.sessions.submit(episode, "seeker", say(text, key=text))
        server.restart()
        again = await server.sessions.submit(episode, "seeker", say(text, key=text))
        assert again == view == await server.sessions.view(episode, "seeker")
        assert (view.stage == "done") == (number == 3)
    check(lamp, server.reader.turns(episode))
    assert len(server.reader.scores(episode_id=episode, latest=False)) == 3


async def test_a_reply_that_was_logged_before_a_crash_is_answered_afterwards(server, check, lamp):
    whole = await server.sessions.start_item(lamp, H2L)
    await server.sessions.submit(whole, "seeker", say("Which oil?", key="k"))
    episode = await server.sessions.start_item(lamp, H2L)
    here = await server.sessions._load(server.reader.episode(episode))
    await server.log.write(MACHINE.accept(here.live, here.state, "seeker", say("Which oil?", key="k")))
    server.restart()
    view = await server.sessions.view(episode, "seeker")
    assert (view.number, view.my_turn) == (3, True)
    assert server.texts(episode) == server.texts(whole)


def shaky(fails):
    """A model that fails on its first `fails` calls."""
    calls = []

    def answer(request):
        calls.append(request)
        if len(calls) <= fails:
            raise Unavailable("the server is down")
        values = {"relevant": True, "type": 6, "reason": "so"}
        if request.schema is None:
            return "I could not say."
        return {name: values[name] for name in request.schema.model_fields}

    return lambda name: ScriptModel(answer)


async def test_a_failing_model_keeps_the_dialogue_and_is_asked_again(log_path, lamp):
    server = Server(log_path, shaky(2))
    episode = await server.sessions.start_item(lamp, H2M)
    view = await server.sessions.submit(episode, "seeker", say("How?", key="k"))
    assert (view.number, view.my_turn, view.waits_for, view.stage) == (2, False, "provider", "task")
    assert "the server is down" in view.warning
    assert view.warning.code == "model_unavailable"
    again = await server.sessions.submit(episode, "seeker", say("How?", key="k"))
    assert (again.number, again.warning) == (2, view.warning)
    healed = await server.sessions.view(episode, "seeker")
    assert (healed.number, healed.my_turn, healed.warning) == (3, True, None)
    assert len(server.reader.events(kind="model_failed", episode_id=episode)) == 2
    await server.sessions.submit(episode, "seeker", say("Goodbye"))
    assert server.reader.ending(episode).status == "completed"
    server.close()


async def test_a_bug_opposite_is_told_without_details_and_noted(log_path, lamp):
    def bug(request):
        raise LookupError(lamp.tree.by_index["2.1.1"].text)

    server = Server(log_path, lambda name: ScriptModel(bug))
    episode = await server.sessions.start_item(lamp, H2M)
    view = await server.sessions.submit(episode, "seeker", say("How?"))
    assert (view.warning, view.stage, view.number) == ("LookupError", "task", 2)
    (event,) = server.reader.events(kind="exception", episode_id=episode)
    assert "in bug" in event.details["traceback"]
    server.close()


async def test_a_model_that_breaks_the_rules_ends_it(log_path, lamp):
    server = Server(log_path, lambda name: ScriptModel(lambda request: "   "))
    episode = await server.sessions.start_item(lamp, {"seeker": "offline/script", "provider": "person"})
    ending = server.reader.ending(episode)
    assert (ending.status, ending.cause) == ("aborted", "seeker")
    view = await server.sessions.view(episode, "provider")
    assert (view.stage, view.ending.status) == ("done", "aborted")
    assert server.reader.scores(episode_id=episode) == []
    server.close()


# Afterwards


async def test_replay_and_verdict_only_after_the_end(server, lamp):
    episode = await server.sessions.start_item(lamp, H2L)
    await server.sessions.submit(episode, "seeker", say("Which oil lights the lamp?"))
    with pytest.raises(ConflictError, match="not ended"):
        await server.sessions.replay(episode, "seeker")
    with pytest.raises(ConflictError, match="not ended"):
        await server.sessions.judge(episode, "provider", True, "k")
    await server.sessions.submit(episode, "seeker", say("Goodbye"))
    replay = await server.sessions.replay(episode, "seeker")
    assert [step.gave for step in replay.steps] == [(), (), ("0",), ()]
    for _ in range(2):
        await server.sessions.judge(episode, "provider", False, "k")
    (judgment,) = server.reader.judgments(episode_id=episode)
    assert (judgment.kind, judgment.value, judgment.annotator) == ("success", {"success": False}, "provider")


async def test_plays_of_the_same_seats_share_a_run_however_they_are_named(server, lamp):
    first = await server.sessions.start_item(lamp, H2L)
    second = await server.sessions.start_item(lamp, dict(reversed(H2L.items())))
    assert first != second
    assert len(server.reader.runs()) == 1
    mirrored = Server(server.path, shaky(0))
    await mirrored.sessions.start_item(lamp, {"provider": "person", "seeker": "offline/script"})
    await mirrored.sessions.start_item(lamp, {"seeker": "person", "provider": "offline/script"})
    mirrored.close()
    assert sorted(run.setup for run in server.reader.runs()) == ["H2L", "H2L", "L2H"]


# ClarQ's own


@pytest.fixture
def clarq(server):
    return ClarqSessions(CLARQ, server.log, server.reader, nobody, env={"OPENAI_API_KEY": "k"})


def test_the_menu_lists_every_built_in_task_by_its_type(clarq):
    english, chinese = clarq.item_menu("en"), clarq.item_menu("zh")
    assert [group.label.partition(".")[0] for group in english] == [str(type) for type in range(1, 32)]
    assert english[0].label != chinese[0].label
    for groups in (english, chinese):
        choices = [choice for group in groups for choice in group.choices]
        assert sorted(choice.place for choice in choices) == list(range(1, len(choices) + 1))
        assert all(choice.words.fields["uncertainties"] >= 1 for choice in choices)
        assert all(choice.words.fields["title"] for choice in choices)


@pytest.mark.parametrize(("seat", "offline"), [("provider", "offline/experts"), ("seeker", "offline/seeker")])
def test_opponents(clarq, seat, offline):
    available = {opponent.name: opponent.available for opponent in clarq.opponents(seat)}
    assert available[offline] is available["person"] is available["openai/gpt-4o"] is True
    assert available["anthropic/claude-sonnet-4-5"] is False


async def test_a_task_is_started_by_its_place_and_language(clarq, server):
    place, words = clarq.item_menu("zh")[5].choices[0]
    others, rules = {"provider": "offline/experts"}, {"multi": True}
    episode = await clarq.start(seat="seeker", others=others, rules=rules, item=place, language="zh")
    view = await clarq.view(episode, "seeker")
    (task,) = [part.content.text for part in in_cards(view, Detail) if part.lead]
    assert (view.language, task) == ("zh", words.fields["title"])
    assert server.reader.episode(episode).options == {"multi": True}
    for nowhere in (0, 10_000):
        with pytest.raises(InputError, match="must be from 1 to"):
            await clarq.start(seat="seeker", others=others, rules={}, item=nowhere)


async def test_the_built_in_seeker_may_have_another_manner_than_the_menu_s(clarq, server):
    others = {"seeker": "offline/seeker:hasty"}
    episode = await clarq.start(seat="provider", others=others, rules={}, item=1)
    assert server.reader.episode(episode).seats["seeker"] == "offline/seeker:hasty"


@pytest.mark.parametrize(
    ("seat", "opposite", "who"),
    [
        ("seeker", "provider", "script:/etc/hosts"),
        ("provider", "seeker", "script:/etc/hosts"),
        ("seeker", "provider", "openai/o1-pro"),
        ("seeker", "provider", "anthropic/claude-sonnet-4-5"),
        ("seeker", "provider", "transformers//etc"),
        ("seeker", "provider", "offline/seeker"),
        ("provider", "seeker", "offline/seeker:rude"),
    ],
)
async def test_only_who_is_offered_can_be_asked_for(clarq, server, seat, opposite, who):
    with pytest.raises(InputError, match="choose a player from the list"):
        await clarq.start(seat=seat, others={opposite: who}, rules={}, item=1)
    assert server.reader.episodes() == []
