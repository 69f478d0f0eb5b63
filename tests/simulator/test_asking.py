"""The record of asking or acting: what each room counts, and the table over all of them."""

from __future__ import annotations

import json
from itertools import count
from pathlib import Path
from types import SimpleNamespace

import pytest
import typer
from typer.testing import CliRunner

from logs import LogReader, LogWriter
from logs.rows import Ending, Episode, Participant, Run, Turn
from simulator.ambik.asking import asked as ambik_asked
from simulator.ambik.asking import useful as ambik_useful
from simulator.ambik.data import load_pairs
from simulator.ambik.items import DraftItem
from simulator.ambik.pairs import Draft
from simulator.ambik.prepare import pair_items
from simulator.ambik.room import ROOM as AMBIK
from simulator.asking import Asked, Asking, askable, askings, load_asking, may_ask_back
from simulator.clarq.asking import asked as clarq_asked
from simulator.clarq.asking import is_question
from simulator.clarq.asking import need_of as clarq_need
from simulator.clarq.data import load_items
from simulator.clarq.room import ROOM as CLARQ
from simulator.commands.asking import asking_figure, notes, printed_table, report_asking, rows
from simulator.errors import InputError
from simulator.handmethat.asking import asked as handmethat_asked
from simulator.handmethat.asking import exchange
from simulator.handmethat.asking import useful as handmethat_useful
from simulator.handmethat.data import load_tasks
from simulator.handmethat.playing import Posed
from simulator.handmethat.room import ROOM as HANDMETHAT
from simulator.runner.command import RunRequest, RunSettings, play
from simulator.runner.model_flags import ModelFlags

cli = typer.Typer()
cli.command()(report_asking)


def _dialogue(lamp, *pairs):
    """A dialogue of ClarQ-LLM: greeting, the task's opening, then what was asked and what was given."""
    given = {node.index: node.text for node in lamp.tree.nodes} | {"0": lamp.tree.opening}
    lines = [("provider", "Hello?")]
    for text, answer in (("What am I to do?", "0"), *pairs):
        lines += [("seeker", text), *([("provider", given.get(answer, answer))] if answer else [])]
    return [
        Turn(episode_id="e", number=number, seat=seat, text=text) for number, (seat, text) in enumerate(lines)
    ]


def test_in_clarq_a_question_asks_after_the_opening_and_is_useful_if_it_brings_a_node(lamp):
    turns = _dialogue(
        lamp,
        ("Which oil do I need?", "1"),
        ("Which oil do I need?", "1"),
        ("Where is the wick?", "I cannot say."),
        ("So whale oil it is.", "Quite."),
        ("Tell me about the cellar.", "2"),
        ("Thank you. Goodbye!", ""),
    )
    told = clarq_asked(lamp, {}, turns, ())
    assert (told.questions, told.useful, told.need) == (4, 2, "person")
    assert told.right is False
    assert told.right_before is None


def test_in_clarq_whoever_gets_everything_is_right(lamp):
    turns = _dialogue(lamp, *((f"And number {node.index}?", node.index) for node in lamp.tree.nodes))
    told = clarq_asked(lamp, {}, turns, ())
    assert (told.questions, told.useful, told.right) == (5, 5, True)
    assert told.decisions == (("person", True),)


def test_in_clarq_who_asks_on_when_all_is_given_asks_for_nothing(lamp):
    asked = [(f"And number {node.index}?", node.index) for node in lamp.tree.nodes]
    content = clarq_asked(lamp, {}, _dialogue(lamp, *asked, ("Thank you. Goodbye!", "")), ())
    assert content.decisions == (("person", True), ("nothing", False))
    asks_on = clarq_asked(lamp, {}, _dialogue(lamp, *asked, ("Is that all?", "It is.")), ())
    assert asks_on.decisions == (("person", True), ("nothing", True))
    nodes = [node.index for node in lamp.tree.nodes]
    assert (clarq_need(lamp), clarq_need(lamp, nodes[1:]), clarq_need(lamp, nodes)) == (
        *("person", "person"),
        "nothing",
    )


def test_in_clarq_nothing_was_asked_where_the_task_was_never_told(lamp):
    turns = [Turn(episode_id="e", number=0, seat="provider", text="Hello?")]
    told = clarq_asked(lamp, {}, turns, ())
    assert (told.questions, told.useful) == (0, 0)


@pytest.mark.each(
    ("text", "language", "asks"),
    [
        ("Which of the two?", "en", True),
        ("Please tell me where it is.", "en", True),
        ("I see, the left one.", "en", False),
        ("Goodbye, or shall I wait?", "en", False),
        ("钥匙在哪里", "zh", True),
        ("好的，我明白了。", "zh", False),
    ],
)
def test_in_clarq_questions_are_known_by_their_form(text, language, asks):
    assert is_question(text, (), language) is asks


def test_in_clarq_what_is_answered_with_a_node_was_a_question():
    assert is_question("The cellar, then.", ("2",), "en")


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    """Short runs of all rooms, with built-in players."""
    path = tmp_path_factory.mktemp("asking") / "log.sqlite"
    clarq = load_items("builtin", "en", limit=2)
    tasks = [task for level in (1, 4) for task in load_tasks("builtin", levels=[level], limit=2)]
    posed = tuple(Posed(task, "en") for task in tasks)
    pairs = tuple(pair_items(load_pairs("builtin", "all")[:10], part="test"))
    played = [
        ("c", CLARQ, {"seeker": "offline/seeker", "provider": "offline/experts"}, tuple(clarq), {}),
        ("h", HANDMETHAT, {"robot": "offline/asker", "human": "offline/giver"}, posed, {"mode": "partial"}),
        (
            "h0",
            HANDMETHAT,
            {"robot": "offline/asker", "human": "offline/giver"},
            posed,
            {"mode": "full", "max_questions": 0},
        ),
        ("k", AMBIK, {"robot": "offline/kitchen", "user": "offline/item"}, pairs, {"questions": 1}),
        ("k0", AMBIK, {"robot": "offline/kitchen", "user": "offline/item"}, pairs, {"questions": 0}),
        ("n", AMBIK, {"robot": "offline/never-asks", "user": "offline/item"}, pairs, {"questions": 1}),
    ]
    for name, room, seats, items, options in played:
        wanted = RunRequest(
            room=room,
            seats=seats,
            items=items,
            settings=RunSettings(log=path, models=ModelFlags().options(path), name=name, workers=1),
            options=options,
        )
        play(wanted, _Silent())
    return path


class _Silent:
    """A console that shows nothing: `play` draws its progress on a terminal only."""

    def __new__(cls):
        from rich.console import Console

        return Console(quiet=True)


@pytest.fixture
def reader(log):
    with LogReader(log) as reader:
        yield reader


@pytest.mark.each(
    ("benchmark", "seats", "may"),
    [
        ("clarq", {"seeker", "provider"}, True),
        ("handmethat", {"robot", "human"}, True),
        ("ambik", {"robot", "user"}, True),
        ("ambik", {"annotator"}, False),
        ("ambik", set(), True),
        ("ambient", {"annotator"}, False),
    ],
)
def test_nobody_asks_back_where_the_seat_is_not_there(benchmark: str, seats: set[str], may: bool) -> None:
    assert may_ask_back(benchmark, seats) is may


def test_every_room_says_who_asks_and_who_answers():
    for name in askable():
        part = load_asking(name)
        assert part.ROBOT != part.USER


def test_a_room_in_which_nobody_asks_is_refused():
    with pytest.raises(InputError, match="nobody asks back in ambibench; runs of clarq"):
        load_asking("ambibench")


def test_a_run_of_another_benchmark_is_refused_by_its_name(tmp_path):
    path = tmp_path / "log.sqlite"
    with LogWriter(path, durable=False) as writer:
        writer.put(Run(id="night", benchmark="ambient", setup="L2L", seed=0))
    with LogReader(path) as reader, pytest.raises(InputError, match="night: nobody asks back in ambient"):
        askings(reader, ["night"])


def test_records_of_three_rooms_are_read_from_logged_turns(reader):
    found = askings(reader, ["c", "h", "k", "k"])
    assert found.left_out == {}
    by_room = {name: [one for one in found.askings if one.benchmark == name] for name in askable()}
    assert [len(some) for some in by_room.values()] == [2, 4, 20]
    assert all(one.asked and one.told.need == "person" for one in by_room["clarq"])
    assert {one.told.kind for one in by_room["handmethat"]} == {"level 1", "level 4"}
    assert {one.robot for one in by_room["handmethat"]} == {"offline/asker"}
    assert {one.user for one in by_room["ambik"]} == {"offline/item"}


def test_in_handmethat_the_level_says_what_is_open_and_a_question_is_useful_if_less_fits_after_it(reader):
    found = askings(reader, ["h"]).askings
    needs = {"level 1": "nothing", "level 4": "person"}
    assert all(one.told.need == needs[one.told.kind] for one in found)
    assert all(one.told.questions == 1 and one.told.price > 0 for one in found)
    assert [one.told.useful for one in found if one.told.kind == "level 1"] == [0, 0]
    task = load_tasks("builtin", levels=[4], limit=1)[0]
    turns = next(
        played.turns for played in reader.turns_of_run("h") if played.turns[0].payload["kind"] == "utterance"
    )
    ((question, answer),) = exchange(turns)
    assert question.startswith("question:")
    assert answer
    assert handmethat_useful(task, ()) == 0
    assert handmethat_useful(task, [("question: what is the weather?", "I do not know.")]) == 0


def test_in_handmethat_silence_says_nothing_where_asking_is_not_allowed(reader):
    found = askings(reader, ["h0"]).askings
    assert not any(one.told.may_ask for one in found)
    (row,) = rows(found)
    assert row.robot == "offline/asker (sees all)"
    assert row.when_needed is None
    assert row.questions is None
    assert row.right.n == 4


def test_in_ambik_the_type_says_what_is_open(reader):
    for one in askings(reader, ["k"]).askings:
        needs = {"preferences": "person", "common sense": "inferred", "safety": "inferred"}
        assert one.told.need == needs.get(one.told.kind, "nothing")
    pairs = load_pairs("builtin", "all")
    items = {one.id: one for one in pair_items(pairs[:10], part="test")}
    for episode, turns in reader.turns_of_run("k"):
        told = ambik_asked(items[episode.id.split("/")[1].rsplit(".", 1)[0]], {"questions": 1}, turns, ())
        assert told.questions == sum(turn.payload.get("kind") == "answer" for turn in turns)


def test_in_ambik_an_answer_is_useful_if_it_tells_what_is_wanted():
    pair = next(one for one in load_pairs("builtin", "all") if one.type == "preferences" and one.shortlist)
    item = next(one for one in pair_items([pair], part="test") if one.member == "ambiguous")

    def turns(answer, after):
        payloads = [
            ("robot", "", {"kind": "decide", "action": "Do something."}),
            ("user", answer, {"kind": "answer"}),
            ("robot", "", {"kind": "decide", "action": after}),
        ]
        return [
            Turn(episode_id="e", number=number, seat=seat, text=text, payload=payload)
            for number, (seat, text, payload) in enumerate(payloads)
        ]

    wanted = ", ".join(one.alternatives[0].text for one in pair.intent.concepts if not one.negative)
    assert ambik_useful(item, turns(f"The {wanted}.", "Do something.")) == 1
    # What is done in the end is told as right or wrong; an answer that tells nothing is of no use.
    assert ambik_useful(item, turns("That one.", f"Do it with the {wanted}.")) == 0
    assert ambik_useful(item, turns("I do not mind.", "Do something.")) == 0
    assert ambik_useful(item, turns("That one.", "")[:1]) is None


def test_in_ambik_forms_and_calibration_are_no_episodes_of_asking():
    draft = Draft(id="1", objects=(), scene="", clear="Wait.", candidates={})
    assert ambik_asked(DraftItem(draft=draft), {}, (), ()) is None
    (item, *_) = pair_items(load_pairs("builtin", "all")[:1], part="calibration")
    turn = Turn(
        episode_id="e",
        number=0,
        seat="robot",
        text="",
        payload={"kind": "decide", "asks": None, "action": ""},
    )
    # A method that has no threshold yet neither asks nor acts.
    payload = turn.payload | {"method": "knowno", "options": {"A": "Wait."}, "tokens": [["A", -0.1]]}
    turn = Turn(episode_id="e", number=0, seat="robot", text="", payload=payload)
    assert ambik_asked(item, {}, (turn,), ()) is None


def test_in_ambik_who_asks_into_the_void_is_not_set_beside_what_came_of_it(reader):
    alone, answered = rows(askings(reader, ["k0", "k"]).askings)[::-1]
    assert alone.robot == "offline/kitchen (decides once)"
    assert (alone.seat, alone.manner) == ("offline/kitchen", ("decides once",))
    assert alone.gain is None
    assert answered.gain.n == 20
    assert alone.when_needed == answered.when_needed
    assert alone.useful is None


_NUMBER = count()


def _asking(need, questions, *, right=None, before=None, useful=None, robot="r", kind="k", item=None, **more):
    told = Asked(
        kind=kind,
        need={True: "person", False: "nothing"}.get(need, need),
        questions=questions,
        useful=useful,
        right_before=before,
        right=right,
        **more,
    )
    return Asking(
        benchmark="ambik",
        run="x",
        episode_id="e",
        item=item or f"i{next(_NUMBER)}",
        robot=robot,
        user="u",
        seat=robot,
        told=told,
    )


def test_measures_say_how_often_and_of_how_many():
    found = [
        _asking(True, 1, right=True, before=False, useful=1),
        _asking(True, 3, right=True, before=True, useful=0),
        _asking(True, 0, right=False, before=False),
        _asking(False, 0, right=True, before=True),
        _asking(False, 2, right=None, before=True, useful=1),
        _asking(None, 1, open=True),
        _asking(True, 0, right=False, may_ask=False),
    ]
    (row,) = rows(found)
    assert (row.when_needed.value, row.when_needed.n) == (pytest.approx(2 / 3), 3)
    assert (row.when_not.value, row.when_not.n) == (0.5, 2)
    assert (row.decided.value, row.decided.n) == (0.6, 5)
    assert (row.questions.value, row.questions.n) == (pytest.approx(7 / 6), 6)
    assert (row.useful.value, row.useful.n) == (pytest.approx(2 / 6), 6)
    assert (row.right_asking.value, row.right_asking.n) == (1.0, 2)
    assert (row.right_silent.value, row.right_silent.n) == (pytest.approx(1 / 3), 3)
    assert (row.before.value, row.after.value, row.gain.value) == (0.5, 0.75, 0.25)
    assert (row.episodes, row.open) == (7, 1)


def test_asking_is_told_corrected_for_chance_with_the_n_of_each_cell():
    found = [
        *(_asking("person", int(place < 3)) for place in range(4)),
        *(_asking("inferred", int(place < 1)) for place in range(5)),
        *(_asking("nothing", 0) for _ in range(5)),
        _asking(None, 1),
    ]
    (row,) = rows(found)
    cells = [row.when_needed, row.when_inferred, row.when_nothing, row.when_not]
    assert [(one.value, one.n) for one in cells] == [(0.75, 4), (0.2, 5), (0, 5), (0.1, 10)]
    assert (row.youden.value, row.youden.n) == (pytest.approx(0.65), 14)
    assert row.youden.low < 0.65 < row.youden.high
    for always in (0, 1):
        (row,) = rows([*(_asking("person", always) for _ in range(9)), _asking("inferred", always)])
        # Of one case in which it was not needed, nearly nothing is known.
        assert row.youden.value == 0 and row.youden.low < -0.7 and row.youden.high > 0.7
    (row,) = rows([_asking("person", 1)])
    assert row.youden is None


def test_repeats_of_an_item_are_one_cluster():
    found = [_asking("person", int(place < 10), right=True, item=f"i{place % 2}") for place in range(20)]
    (row,) = rows(found)
    assert (row.episodes, row.when_needed.n, row.right.n, row.questions.n) == (20, 2, 2, 2)


def test_a_price_is_told_per_question():
    (row,) = rows([_asking("person", 2, price=30.0), _asking("nothing", 1, price=10.0), _asking("person", 0)])
    assert (row.price.value, row.price.n) == (pytest.approx(40 / 3), 3)


def test_the_printed_table_fits_a_page_and_the_figure_names_each_of_six_robots_once():
    found = [
        _asking(need, 1, robot=f"transformers/organisation/model-{number}-instruct", right=True, useful=1)
        for number in range(6)
        for need in ("person", "inferred", "nothing")
    ]
    table = printed_table("t", rows(found))
    assert max(map(len, table.to_latex().splitlines())) < 150
    figure = asking_figure(rows(found))
    (panel,) = figure.panels
    assert len(panel.marks) == 6
    assert all(max(map(len, mark.categories)) <= 8 for mark in panel.marks)


def test_rows_are_told_by_robot_and_kind_people_first():
    found = [
        _asking(True, 1, robot="model", kind="b"),
        _asking(True, 1, robot="person", kind="a"),
        _asking(True, 1, robot="model", kind="a"),
    ]
    assert [one.robot for one in rows(found)] == ["person", "model"]
    kinds = [(one.robot, one.kind) for one in rows(found, by_kind=True)]
    assert kinds == [("person", "a"), ("model", "a"), ("model", "b")]
    assert {one.user for one in rows(found, by_user=True)} == {"u"}


def test_without_episodes_there_is_nothing_to_draw():
    assert rows([]) == ()
    assert asking_figure(()) is None
    assert asking_figure(rows([_asking(None, 1)])) is None


def test_who_was_erased_and_what_has_not_ended_is_left_out_and_counted(log, tmp_path):
    path = tmp_path / "log.sqlite"
    with LogReader(log) as reader, LogWriter(path, durable=False) as writer:
        writer.put(Run(id="k", benchmark="ambik", setup="L2L", seed=0))
        writer.put(Participant(id="gone", details={"erased": True}))
        played = list(reader.turns_of_run("k"))[:3]
        for item in reader.items("k"):
            writer.put(item)
        for place, (episode, turns) in enumerate(played):
            fields = {name: getattr(episode, name) for name in Episode.__dataclass_fields__}
            writer.put(Episode(**{**fields, "participant_id": "gone" if place == 0 else None}))
            for turn in turns:
                writer.put(turn)
            if place < 2:
                writer.put(Ending(episode_id=episode.id, status="completed"))
    with LogReader(path) as reader:
        found = askings(reader, ["k"])
    assert found.left_out == {"erased": 1, "not ended": 1}
    assert len(found.askings) == 1


ASKS = {
    "c": lambda turn: turn.seat == "provider" and turn.number > 4,
    "h": lambda turn: turn.payload.get("kind") == "answer",
    "k": lambda turn: turn.payload.get("kind") == "answer",
}


def _broken_off(source, path, run, robot):
    """Copy a run; two robots fell silent, one before its first move and one after its first question."""
    left = ["silent", "asked"]
    with LogReader(source) as reader, LogWriter(path, durable=False) as writer:
        writer.put(reader.run(run))
        for item in reader.items(run):
            writer.put(item)
        cut = {}
        for played in reader.turns_of_run(run):
            asked = next((turn.number for turn in played.turns if ASKS[run](turn)), None)
            if asked is not None and left:
                cut[played.episode.id] = asked if left.pop() == "asked" else -1
        for episode, turns in reader.turns_of_run(run):
            writer.put(episode)
            for turn in turns:
                if turn.number <= cut.get(episode.id, turn.number):
                    writer.put(turn)
            broken = Ending(episode_id=episode.id, status="aborted", cause=robot, message="it said nothing")
            writer.put(broken if episode.id in cut else reader.ending(episode.id))
    assert not left


def _decided(found):
    return sum(len(one.told.decisions) for one in found.askings)


@pytest.mark.parametrize(("run", "robot"), [("c", "seeker"), ("h", "robot"), ("k", "robot")])
def test_what_a_failing_seat_aborted_is_not_right_and_decides_nothing_but_what_was_asked(
    log, tmp_path, run, robot
):
    path = tmp_path / "log.sqlite"
    _broken_off(log, path, run, robot)
    with LogReader(log) as reader:
        (whole,) = rows(askings(reader, [run]).askings)
    with LogReader(path) as reader:
        found, without = askings(reader, [run]), askings(reader, [run], exclude_aborted=True)
    (row,) = rows(found.askings)
    assert found.aborted == without.aborted == {f"{robot}: it said nothing": 2}
    assert (row.robot, row.episodes, row.aborted) == (whole.robot, whole.episodes, 2)
    broken = [one for one in found.askings if one.told.aborted]
    assert sorted(one.asked for one in broken) == [False, True]
    assert [[each.asked for each in one.told.decisions] for one in broken if one.asked] == [[True]]
    assert not any(one.told.decisions for one in broken if not one.asked)
    assert not any(one.told.right or one.told.open for one in broken)
    kept = rows(without.askings)
    right = sum(one.right.value * one.right.n for one in kept if one.right)
    assert row.right.value * row.right.n == pytest.approx(right)
    assert row.right.n == sum(one.right.n for one in kept if one.right) + 2
    assert _decided(found) == _decided(without) + 1
    assert not found.left_out and without.left_out == {"aborted": 2}


def test_the_aborted_are_told_beside_the_table(log, tmp_path):
    path = tmp_path / "log.sqlite"
    _broken_off(log, path, "k", "robot")
    told = CliRunner().invoke(cli, ["k", "--log", str(path)])
    assert "2 aborted: robot: it said nothing" in told.output and "count as unsuccessful" in told.output
    told = CliRunner().invoke(cli, ["k", "--log", str(path), "--exclude-aborted"])
    assert "They are left out of the scores" in told.output
    told = json.loads(CliRunner().invoke(cli, ["k", "--log", str(path), "--json"]).stdout)
    assert told["aborted"] == {"robot: it said nothing": 2} and told["rows"][0]["aborted"] == 2


def test_one_table_over_all_rooms(log, tmp_path):
    out = tmp_path / "out"
    runs = ["c", "h", "k", "n"]
    result = CliRunner().invoke(cli, [*runs, "--log", str(log), "--out", str(out)], env={"COLUMNS": "100"})
    assert result.exit_code == 0, result.output
    for name in ("ClarQ-LLM", "HandMeThat", "AmbiK", "offline/never-asks", "Who asked, by what was open"):
        assert name in result.output
    written = {path.name for path in out.iterdir()}
    assert {"asking.json", "asking.csv", "asking.tex", "asking-by-kind.csv", "asking-figure.svg"} <= written
    header, *lines = (out / "asking.csv").read_text(encoding="utf-8").splitlines()
    assert "asked, person_n" in header
    assert [line.split(",")[0] for line in lines] == ["ClarQ-LLM", "HandMeThat", "AmbiK", "AmbiK"]


def test_json_has_every_episode_and_every_n(log):
    result = CliRunner().invoke(cli, ["k", "--json", "--log", str(log)])
    told = json.loads(result.stdout)
    assert [one["robot"] for one in told["rows"]] == ["offline/kitchen"]
    assert told["rows"][0]["decided"]["n"] == len(told["episodes"]) == 20
    assert told["episodes"][0]["told"]["kind"]


def test_a_file_is_no_folder_for_the_results(log, tmp_path):
    there = Path(tmp_path / "there")
    there.write_text("")
    result = CliRunner().invoke(cli, ["k", "--log", str(log), "--out", str(there)])
    assert isinstance(result.exception, InputError)


def test_handmethat_and_clarq_parts_need_a_whole_episode(reader):
    task = load_tasks("builtin", levels=[1], limit=1)[0]
    with pytest.raises(InputError, match="begins with the human's instruction"):
        handmethat_asked(task, {}, [Turn(episode_id="e", number=0, seat="robot", text="")], ())


# ---- the same by plain counting of turns and items


class _Counted:
    """An episode by what its turns and its item's row say, without any room's rules."""

    def __init__(self, item, turns):
        kinds = [turn.payload.get("kind") for turn in turns]
        self.before, self.later = None, []
        if item.benchmark == "clarq":
            opened = [turn.number for turn in turns if turn.seat == "provider"][1]
            asking = [turn for turn in turns if turn.seat == "seeker" and turn.number > opened]
            asking = [turn for turn in asking if "?" in turn.text]
            given = [node for turn in turns for node in turn.payload.get("give", ()) if node != "0"]
            self.needed, self.questions = True, len(asking)
            self.useful = sum(bool(turns[turn.number + 1].payload["give"]) for turn in asking)
            self.after = sorted(given) == sorted(_nodes(item.data["tree"]))
            last = max(turn.number for turn in turns if turn.payload.get("give"))
            rest = [turn for turn in turns if turn.seat == "seeker" and turn.number > last]
            self.later = [any("?" in turn.text for turn in rest)] if self.after and rest else []
        elif item.benchmark == "handmethat":
            self.needed = item.name.split("-")[1] == "4"
            self.questions, self.useful = kinds.count("question"), None
            self.after = kinds[-1] == "thanks"
        else:
            pair, member = item.data["pair"], item.data["member"]
            acts = [turn.payload["action"] for turn in turns if turn.payload["kind"] == "decide"]
            answers = [turn.text for turn in turns if turn.payload["kind"] == "answer"]
            self.needed = member == "ambiguous" and pair["type"] == "preferences"
            self.questions = len(answers)
            self.before, self.after = (_realised(pair["intent"], acts[place]) for place in (0, -1))
            new = [one for one in pair["intent"].split(", ") if not one.startswith("-")]
            new = [one for one in new if not _realised(one, pair[member])]
            told = any(_realised(one, text) for one in new for text in answers)
            # One question at most could be asked.
            self.useful = int(bool(answers) and told)


def _nodes(tree):
    return [node["index"] for node in tree["nodes"] if node["index"] != "0"]


def _realised(intent, text):
    """Spec 3, without its rules for what is malformed."""

    def found(concept):
        there = any(one.strip().lower() in text.lower() for one in concept.lstrip("-").split("|"))
        return there != concept.startswith("-")

    return all(map(found, intent.split(", ")))


def _mean(values):
    return sum(values) / len(values) if values else None


@pytest.mark.parametrize("run", ["c", "h", "k", "n"])
def test_the_report_has_what_plain_counting_gives(log, reader, run):
    items = {row.hash: row for row in reader.items(run)}
    counted = [_Counted(items[episode.item_hash], turns) for episode, turns in reader.turns_of_run(run)]
    result = CliRunner().invoke(cli, [run, "--json", "--log", str(log)])
    (row,) = json.loads(result.stdout)["rows"]
    needed, spare = ([one for one in counted if one.needed == which] for which in (True, False))
    asked, silent = ([one for one in counted if bool(one.questions) == which] for which in (True, False))
    chosen = [one for one in counted if one.before is not None]
    later = [asks for one in counted for asks in one.later]
    expected = {
        "when_needed": ([one.questions > 0 for one in needed], len(needed)),
        "when_not": ([*(one.questions > 0 for one in spare), *later], len(spare) + len(later)),
        "decided": (
            [*((one.questions > 0) == one.needed for one in counted), *(not asks for asks in later)],
            len(counted),
        ),
        "questions": ([one.questions for one in counted], len(counted)),
        "right": ([one.after for one in counted], len(counted)),
        "right_asking": ([one.after for one in asked], len(asked)),
        "right_silent": ([one.after for one in silent], len(silent)),
        "before": ([one.before for one in chosen], len(chosen)),
        "after": ([one.after for one in chosen], len(chosen)),
        "gain": ([one.after - one.before for one in chosen], len(chosen)),
    }
    assert row["episodes"] == len(counted)
    for name, (values, n) in expected.items():
        told = row[name]
        assert (told and told["value"]) == (pytest.approx(_mean(values)) if values else None), name
        assert told is None or told["n"] == n, name
    if run != "h" and asked:
        questions = sum(one.questions for one in asked)
        assert row["useful"]["value"] == pytest.approx(sum(one.useful for one in asked) / questions)
        assert row["useful"]["n"] == questions


def test_notes_are_those_of_the_benchmarks_in_the_table():
    rows = [SimpleNamespace(benchmark=name) for name in ("handmethat", "clarq", "ambik")]
    need, useful, right = (notes(rows)[place] for place in (1, 3, 4))
    assert need.startswith(
        "ClarQ-LLM: person until every node has been given, then nothing. HandMeThat: nothing"
    )
    assert "told (ClarQ-LLM: a node; HandMeThat: fewer things fit; AmbiK: what the intent wants)." in useful
    assert useful.endswith("Price: points of HandMeThat's score per question.")
    assert right.startswith(
        "Right: ClarQ-LLM, success; HandMeThat, the human has what was meant; AmbiK, the "
    )
    assert "HandMeThat" not in " ".join(notes(rows[1:2])) and "Price" not in notes(rows[1:2])[3]
