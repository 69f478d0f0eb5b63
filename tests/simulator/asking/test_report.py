"""`askback report asking`: what is read from a log, and the same by plain counting of turns and items."""

from __future__ import annotations

import json

import pytest
import typer
from typer.testing import CliRunner

from logs import LogReader, LogWriter
from logs.rows import Ending, Episode, Participant, Run
from simulator.asking import askable, asking_spec, may_ask_back, read_asking
from simulator.benchmark import AskingSpec
from simulator.commands.asking import report_asking, rows
from simulator.errors import InputError

cli = typer.Typer()
cli.command()(report_asking)


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


def test_a_room_in_which_nobody_asks_is_refused():
    with pytest.raises(InputError, match="nobody asks back in ambibench; runs of clarq"):
        asking_spec("ambibench")


def test_a_run_of_another_benchmark_is_refused_by_its_name(tmp_path):
    path = tmp_path / "log.sqlite"
    with LogWriter(path, durable=False) as writer:
        writer.put(Run(id="night", benchmark="ambient", setup="L2L", seed=0))
    with LogReader(path) as reader, pytest.raises(InputError, match="night: nobody asks back in ambient"):
        read_asking(reader, ["night"])


def test_records_of_three_rooms_are_read_from_logged_turns(reader):
    read = read_asking(reader, ["c", "h", "k", "k"])
    assert read.left_out == {}
    by_benchmark = {
        name: [asking for asking in read.askings if asking.benchmark == name] for name in askable()
    }
    assert [len(askings) for askings in by_benchmark.values()] == [2, 4, 20]
    assert all(asking.asked and asking.record.need == "person" for asking in by_benchmark["clarq"])
    assert {asking.record.kind for asking in by_benchmark["handmethat"]} == {"level 1", "level 4"}
    assert {asking.robot for asking in by_benchmark["handmethat"]} == {"offline/asker"}
    assert {asking.user for asking in by_benchmark["ambik"]} == {"offline/item"}


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
        read = read_asking(reader, ["k"])
    assert read.left_out == {"erased": 1, "not ended": 1}
    assert len(read.askings) == 1


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


def _decided(read):
    return sum(len(asking.record.decisions) for asking in read.askings)


@pytest.mark.parametrize(("run", "robot"), [("c", "seeker"), ("h", "robot"), ("k", "robot")])
def test_what_a_failing_seat_aborted_is_not_right_and_decides_nothing_but_what_was_asked(
    log, tmp_path, run, robot
):
    path = tmp_path / "log.sqlite"
    _broken_off(log, path, run, robot)
    with LogReader(log) as reader:
        (whole,) = rows(read_asking(reader, [run]).askings)
    with LogReader(path) as reader:
        counted, without = read_asking(reader, [run]), read_asking(reader, [run], exclude_aborted=True)
    (row,) = rows(counted.askings)
    assert counted.aborted == without.aborted == {f"{robot}: it said nothing": 2}
    assert (row.robot, row.episodes, row.aborted) == (whole.robot, whole.episodes, 2)
    broken = [asking for asking in counted.askings if asking.record.aborted]
    assert sorted(asking.asked for asking in broken) == [False, True]
    assert [[each.asked for each in asking.record.decisions] for asking in broken if asking.asked] == [[True]]
    assert not any(asking.record.decisions for asking in broken if not asking.asked)
    assert not any(asking.record.right or asking.record.open for asking in broken)
    remaining = rows(without.askings)
    right = sum(robot_row.right.value * robot_row.right.n for robot_row in remaining if robot_row.right)
    assert row.right.value * row.right.n == pytest.approx(right)
    assert row.right.n == sum(robot_row.right.n for robot_row in remaining if robot_row.right) + 2
    assert _decided(counted) == _decided(without) + 1
    assert not counted.left_out and without.left_out == {"aborted": 2}


def test_the_aborted_are_told_beside_the_table(log, tmp_path):
    path = tmp_path / "log.sqlite"
    _broken_off(log, path, "k", "robot")
    result = CliRunner().invoke(cli, ["k", "--log", str(path)])
    assert "2 aborted: robot: it said nothing" in result.output and "count as unsuccessful" in result.output
    result = CliRunner().invoke(cli, ["k", "--log", str(path), "--exclude-aborted"])
    assert "They are excluded from the scores" in result.output
    document = json.loads(CliRunner().invoke(cli, ["k", "--log", str(path), "--json"]).stdout)
    assert document["aborted"] == {"robot: it said nothing": 2} and document["rows"][0]["aborted"] == 2


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


class _Counted:
    """An episode by what its turns and its item's row say, without any benchmark's rules."""

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
            new = [concept for concept in pair["intent"].split(", ") if not concept.startswith("-")]
            new = [concept for concept in new if not _realised(concept, pair[member])]
            answered = any(_realised(concept, text) for concept in new for text in answers)
            # One question at most could be asked.
            self.useful = int(bool(answers) and answered)


def _nodes(tree):
    return [node["index"] for node in tree["nodes"] if node["index"] != "0"]


def _realised(intent, text):
    """Spec 3, without its rules for what is malformed."""

    def is_met(concept):
        there = any(name.strip().lower() in text.lower() for name in concept.lstrip("-").split("|"))
        return there != concept.startswith("-")

    return all(map(is_met, intent.split(", ")))


def _mean(values):
    return sum(values) / len(values) if values else None


@pytest.mark.parametrize("run", ["c", "h", "k", "n"])
def test_the_report_has_what_plain_counting_gives(log, reader, run):
    items = {row.hash: row for row in reader.items(run)}
    counted = [_Counted(items[episode.item_hash], turns) for episode, turns in reader.turns_of_run(run)]
    result = CliRunner().invoke(cli, [run, "--json", "--log", str(log)])
    (row,) = json.loads(result.stdout)["rows"]
    needed, spare = ([episode for episode in counted if episode.needed == which] for which in (True, False))
    asked, silent = (
        [episode for episode in counted if bool(episode.questions) == which] for which in (True, False)
    )
    chosen = [episode for episode in counted if episode.before is not None]
    later = [asks for episode in counted for asks in episode.later]
    expected = {
        "when_needed": ([episode.questions > 0 for episode in needed], len(needed)),
        "when_not": ([*(episode.questions > 0 for episode in spare), *later], len(spare) + len(later)),
        "decided": (
            [
                *((episode.questions > 0) == episode.needed for episode in counted),
                *(not asks for asks in later),
            ],
            len(counted),
        ),
        "questions": ([episode.questions for episode in counted], len(counted)),
        "right": ([episode.after for episode in counted], len(counted)),
        "right_asking": ([episode.after for episode in asked], len(asked)),
        "right_silent": ([episode.after for episode in silent], len(silent)),
        "before": ([episode.before for episode in chosen], len(chosen)),
        "after": ([episode.after for episode in chosen], len(chosen)),
        "gain": ([episode.after - episode.before for episode in chosen], len(chosen)),
    }
    assert row["episodes"] == len(counted)
    for name, (values, n) in expected.items():
        cell = row[name]
        assert (cell and cell["value"]) == (pytest.approx(_mean(values)) if values else None), name
        assert cell is None or cell["n"] == n, name
    if run != "h" and asked:
        questions = sum(episode.questions for episode in asked)
        assert row["useful"]["value"] == pytest.approx(sum(episode.useful for episode in asked) / questions)
        assert row["useful"]["n"] == questions


@pytest.mark.each(
    "given", [(), ("read",), ("read_item",), ("record", "read", "read_item"), ("record", "read")]
)
def test_a_record_of_asking_is_made_in_one_of_two_ways(given):
    with pytest.raises(ValueError, match="either `record`, or both `read` and `read_item`"):
        AskingSpec(robot="a", user="b", **dict.fromkeys(given, print))
