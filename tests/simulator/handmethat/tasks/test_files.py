"""Episode files: reading and writing are inverse; faults name the file, the key and the way out."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
from episode_files import task_from_json, write_file

from simulator.errors import InputError
from simulator.handmethat.data import SUFFIX, draw_tasks, load_tasks, write_packed
from simulator.handmethat.files.episode import check_file, file_text, read_file
from simulator.handmethat.hierarchy import hierarchy
from simulator.handmethat.items import Task, item_row, task_from_row, task_to_row
from simulator.handmethat.runs import EpisodeSelection
from simulator.handmethat.world import location_of

NAME = "task-bring_me-64-0-2"


@pytest.fixture
def content(task: Task) -> dict[str, Any]:
    """A published file's content: no key of ours, states in another order, expert texts."""
    data = json.loads(file_text(task))
    del data["askback"]
    data["demo_actions"] = ["move to refrigerator", "open refrigerator"]
    data["demo_observations_fully"] = ["Hello.", "Hello. [SEP] move to refrigerator"]
    data["demo_observations_partially"] = ["Hello.", "Hello. [SEP]"]
    data["task_description"] = "Human moves to the table."
    for key in ("initial_object_dict", "current_object_dict"):
        for record in data[key].values():
            record["states"] = dict(sorted(record["states"].items()))
    return data


def lay(data: dict[str, Any], name: str, where: str, relation: str = "inside", key: str = "both") -> None:
    for records in ("initial_object_dict", "current_object_dict"):
        if key in ("both", records):
            record = data[records][name]
            record.pop("inside", None)
            record.pop("ontop", None)
            record[relation] = where


def first(data: dict[str, Any], cls: str) -> str:
    return next(name for name, record in data["initial_object_dict"].items() if record["class"] == cls)


def test_published_content_is_written_again_key_by_key(content: dict[str, Any]) -> None:
    assert json.loads(file_text(task_from_json(content, NAME))) == content


def test_own_task_is_the_same_after_writing_and_reading(task: Task, tmp_path: Path) -> None:
    path = write_file(task, tmp_path)
    assert path.name == f"{NAME}.json"
    again = read_file(path)
    assert again == task
    assert file_text(again) == path.read_text()


def test_published_content_is_written_again(content: dict[str, Any]) -> None:
    task = task_from_json(content, NAME)
    assert task.profile == "official"
    assert task.demo == ("move to refrigerator", "open refrigerator")
    assert task.description == "Human moves to the table."
    assert json.loads(file_text(task)) == content
    assert task_from_json(json.loads(file_text(task)), NAME) == task


def test_well_formed_variants_are_read(content: dict[str, Any]) -> None:
    data = {key: content[key] for key in sorted(content, reverse=True)}
    data |= {"note": {"b": 1, "a": [1.5, None, True]}}
    for key in ("goal_idx", "level", "_subgoal", "demo_observations_fully"):
        del data[key]
    data |= {"demo_actions": None, "task_description": None, "task_idx": None}
    data["_meaning"] = data["_meaning"][:2]
    table = data["current_object_dict"]["table"]
    table["states"] = {"open": False, "stained": table["states"]["stained"]}
    table["weight"] = 7
    data["current_object_dict"] = dict(reversed(data["current_object_dict"].items()))
    data["utterance"][1] = dict(reversed(data["utterance"][1].items()))
    original = copy.deepcopy(data)
    task = task_from_json(data, "level2_task3_bring_me_goal64")
    assert data == original
    assert (task.level, task.goal_index, task.task_index, task.subgoal) == (2, None, None, None)


def test_level_0_of_the_first_generator_is_level_4(content: dict[str, Any]) -> None:
    content["level"] = 0
    task = task_from_json(content, NAME)
    assert task.level == 4


def test_unknown_types_are_read_as_given(content: dict[str, Any]) -> None:
    robot = {
        "class": "TOOL",
        "subclass": "electric_equipment",
        "type": "robot",
        "ability": ["toggleable", "dustyable", "rag-cleanable"],
        "states": {"toggled": True, "dusty": False},
        "ontop": "table",
    }
    apple = next(name for name in content["initial_object_dict"] if name.startswith("rag#"))
    for key in ("initial_object_dict", "current_object_dict"):
        content[key]["robot#0"] = copy.deepcopy(robot)
        content[key][apple]["ability"] = ["soakable", "sliceable"]
        content[key][apple]["states"]["sliced"] = False
    task = task_from_json(content, NAME)
    world = task.world
    entity = world.entity("robot#0")
    assert world.kinds[entity].cleaners == {"rag"}
    assert world.find_all("toggleable") >> entity & 1 and task.current.toggled >> entity & 1
    assert world.find_all("sliceable") >> world.entity(apple) & 1
    assert hierarchy().kinds["rag"].states == ("soaked",)
    assert json.loads(file_text(task)) == content
    assert task_from_row(item_row(task)).world == world


def test_stale_states_are_kept_as_read_unless_replayed(content: dict[str, Any], tmp_path: Path) -> None:
    world_actions = [
        {"name": "human-move", "arguments": ["h", "floor", "cabinet"]},
        {"name": "human-open-location", "arguments": ["h", "cabinet"]},
        {"name": "human-close-location", "arguments": ["h", "cabinet"]},
    ]
    content["action_list"] = world_actions
    content["current_object_dict"]["cabinet"]["states"]["open"] = True
    (tmp_path / f"{NAME}.json").write_text(json.dumps(content), encoding="utf-8")
    packed = tmp_path / f"packed{SUFFIX}"
    for place in (tmp_path, packed):
        (stale,), (right,) = load_tasks(place), draw_tasks(place, replay=True).tasks
        cabinet = stale.world.entity("cabinet")
        assert stale.current.open >> cabinet & 1 and not right.current.open >> cabinet & 1
        assert stale.current.at == right.current.at == cabinet
        assert stale.current.waiting and right.current.waiting
        if place == tmp_path:
            assert json.loads(file_text(stale)) == content
            write_packed([stale], {}, packed)
    assert list(EpisodeSelection(data=str(packed), replay=True, limit=1).draw()) == [right]
    content["current_object_dict"]["cabinet"]["states"]["open"] = False
    assert json.loads(file_text(draw_tasks(tmp_path, replay=True).tasks[0])) == content


def test_an_action_that_cannot_be_done_matters_only_for_a_replay(
    content: dict[str, Any], tmp_path: Path
) -> None:
    content["action_list"] = [{"name": "human-move", "arguments": ["h", "sofa", "bed"]}]
    (tmp_path / f"{NAME}.json").write_text(json.dumps(content), encoding="utf-8")
    (task,) = load_tasks(tmp_path)
    assert task.current.at == task.world.entity("bed")
    with pytest.raises(InputError, match=r"action_list\.0: human-move cannot be done then: needs at from"):
        draw_tasks(tmp_path, replay=True)


def test_a_held_thing_has_no_place(content: dict[str, Any]) -> None:
    food = first(content, "FOOD")
    content["current_object_dict"][food].pop("inside", None)
    content["current_object_dict"][food].pop("ontop", None)
    task = task_from_json(content, NAME)
    assert task.current.holding == task.world.entity(food)
    assert location_of(task.world, task.current, task.current.holding) < 0
    assert json.loads(file_text(task)) == content


def test_a_row_has_all_that_is_played_and_scored(task: Task) -> None:
    full = replace(task, demo_full=("long",), demo_partial=("text",))
    assert item_row(full) == item_row(task)
    row = json.loads(json.dumps(task_to_row(task)))
    assert task_from_row(row) == task
    assert len(json.dumps(row)) < 20_000
    with pytest.raises(InputError, match="not a HandMeThat item"):
        task_from_row({**row, "world": {"names": ["apple#0"]}})


Broken = tuple[str, Any, str]


def _broken() -> list[Broken]:
    def many(data: dict[str, Any]) -> None:
        bowl = first(data, "RECEPTACLE")
        kind = bowl.split("#")[0]
        for key in ("initial_object_dict", "current_object_dict"):
            more = {f"{kind}#{i}": data[key][bowl] for i in range(10, 250)}
            data[key] = {**data[key], **more}

    def late(data: dict[str, Any]) -> None:
        for key in ("initial_object_dict", "current_object_dict"):
            food = data[key][first(data, "FOOD")]
            more = {f"{food['type']}#{i}": food for i in range(10, 250)}
            moved = {name: data[key].pop(name) for name in [first(data, "RECEPTACLE")]}
            data[key] = {**data[key], **more, **moved}

    def put(*path: Any, value: Any) -> Any:
        def change(data: dict[str, Any]) -> None:
            inner: Any = data
            for step in path[:-1]:
                inner = inner[step]
            inner[path[-1]] = value

        return change

    def drop(*path: Any) -> Any:
        def change(data: dict[str, Any]) -> None:
            inner: Any = data
            for step in path[:-1]:
                inner = inner[step]
            del inner[path[-1]]

        return change

    move = {"name": "human-move", "arguments": ["h", "floor", "moon"]}
    return [
        ("missing key", drop("_meaning"), r"_meaning: is missing"),
        ("wrong type", put("action_list", value={}), r"action_list: is \{\}, not a list"),
        ("record", put("initial_object_dict", "table", value=3), r"initial_object_dict\.table: "),
        ("no records", put("initial_object_dict", value={}), r"there is no floor"),
        ("level", put("level", value=7), r"level: 7: must be 1, 2, 3 or 4"),
        ("bool level", put("level", value=True), r"level: is true, not a whole number"),
        ("class", put("initial_object_dict", "table", "class", value="PLACE"), r"table\.class: 'PLACE'"),
        ("type", put("initial_object_dict", "table", "type", value="desk"), r"named like its type"),
        (
            "container",
            lambda data: lay(data, first(data, "FOOD"), "fridge"),
            r"inside: there is no 'fridge' in this household",
        ),
        ("relation", lambda data: lay(data, first(data, "FOOD"), "table"), r"nothing can lie inside table"),
        (
            "holder",
            lambda data: lay(data, first(data, "TOOL"), first(data, "FOOD"), "ontop"),
            r"nothing can lie on top of",
        ),
        ("location", lambda data: lay(data, "table", "sofa", "ontop"), r"a location cannot be in or on"),
        (
            "two places",
            lambda data: data["initial_object_dict"][first(data, "FOOD")].update(
                inside="sink", ontop="table"
            ),
            r"both under inside and under ontop",
        ),
        (
            "two held",
            lambda data: [
                data["current_object_dict"][name].pop(relation, None)
                for name in (first(data, "FOOD"), first(data, "TOOL"))
                for relation in ("inside", "ontop")
            ],
            r"has no place; give it one",
        ),
        (
            "nested",
            lambda data: lay(data, first(data, "RECEPTACLE"), "bucket#0"),
            r"a receptacle must lie at a location",
        ),
        ("state", put("initial_object_dict", "table", "states", "melted", value=True), r"no such state"),
        (
            "state value",
            put("current_object_dict", "table", "states", "dusty", value="very"),
            r"true or false",
        ),
        (
            "ability",
            put("initial_object_dict", "table", "states", "open", value=True),
            r"'openable' is missing",
        ),
        ("gone", drop("current_object_dict", "sofa"), r"current_object_dict\.sofa: is missing"),
        ("new", drop("initial_object_dict", "sofa"), r"current_object_dict\.sofa: is not in"),
        ("changed", put("current_object_dict", "sofa", "subclass", value="inside"), r"can never change"),
        ("receptacles", many, r"locations and receptacles; Askback takes at most 254"),
        ("late receptacle", late, r"must be among the first 254"),
        ("action", put("action_list", 0, "name", value="human-fly"), r"no such action 'human-fly'"),
        ("arguments", put("action_list", 0, "arguments", value=["h"]), r"must be \(h, from, to\)"),
        ("no arguments", put("action_list", 0, "arguments", value=[]), r"must be \(h, from, to\)"),
        (
            "entity",
            put("_possible_solution", 0, value=move),
            r"_possible_solution\.0\.arguments\.2: .*'moon'",
        ),
        ("quest", put("_meaning", 0, value="fetch_me"), r"_meaning\.0: 'fetch_me' is not one of"),
        ("description", put("_meaning", 1, value=["fruit"]), r"_meaning\.1: must be an object"),
        ("specifier", put("utterance", 1, "taste", value="sweet"), r"utterance\.1\.taste: no such specifier"),
        ("specifier value", put("utterance", 1, "dusty", value=1), r"utterance\.1\.dusty: 1 must be true"),
        ("place", put("utterance", 1, "inside", value="sea"), r"utterance\.1\.inside: there is no 'sea'"),
        ("argument", put("_rsa_meaning", 2, value="table"), r"_rsa_meaning\.2: 'table': bring_me takes null"),
        ("verb", put("_rsa_meaning", value=["change_state", {}, "paint"]), r"'paint' is not one of"),
        ("destination", put("_meaning", value=["move_to", {}, None]), r"_meaning\.2: there is no None"),
        ("short", put("utterance", value=[]), r"utterance\.0: None is not one of"),
        ("pair", put("_useful_objects", 0, value=["table"]), r"_useful_objects\.0: must be \[object"),
        ("object", put("_useful_objects", 0, value=["moon", None]), r"_useful_objects\.0\.0: .*'moon'"),
        ("own", put("askback", value={"seed": 1}), r"askback\.profile: is missing"),
        (
            "listener",
            put("askback", value={"seed": 1, "profile": "v2", "listener": [[["bring_me", {}, None], True]]}),
            r"listener\.0: must be",
        ),
    ]


@pytest.mark.parametrize(
    ("change", "message"), [case[1:] for case in _broken()], ids=[c[0] for c in _broken()]
)
def test_a_faulty_file_is_refused_whole(
    change: Any, message: str, content: dict[str, Any], tmp_path: Path
) -> None:
    path = tmp_path / f"{NAME}.json"
    path.write_text(json.dumps(content))
    assert read_file(path).id == NAME
    change(content)
    path.write_text(json.dumps(content))
    assert check_file(path)[0] is None
    with pytest.raises(InputError, match=message) as caught:
        read_file(path)
    assert str(path) in str(caught.value)


def test_all_faults_of_a_file_are_listed(content: dict[str, Any], tmp_path: Path) -> None:
    content["_meaning"][1] = {"taste": "sweet", "type": 3}
    content["action_list"][0]["name"] = "human-fly"
    path = tmp_path / f"{NAME}.json"
    path.write_text(json.dumps(content))
    messages = [fault.message for fault in check_file(path)[1]]
    assert [message.split(":")[0] for message in messages] == [
        "action_list.0.name",
        "_meaning.1.taste",
        "_meaning.1.type",
    ]
    with pytest.raises(InputError, match="lists 2 more"):
        read_file(path)


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"", "is not JSON"),
        (b'{"level": 1', "is not JSON"),
        (b"\xff\xfe\x00", "is not JSON"),
        (b'{"level": NaN}', "NaN is not a JSON value"),
        (b"[" * 100_000, "is not JSON"),
        (b"[]", r"is \[\], not an object"),
        (b"null", "is null, not an object"),
    ],
)
def test_files_that_are_not_episodes_are_refused(raw: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "level1_task0_bring_me_goal0.json"
    path.write_bytes(raw)
    with pytest.raises(InputError, match=message):
        read_file(path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nothing\.json: cannot be read"):
        read_file(tmp_path / "nothing.json")


def _slots(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    slots = [path] if path else []
    if isinstance(value, dict):
        items: Any = list(value.items())[:8]
    else:
        items = list(enumerate(value))[:4] if isinstance(value, list) else []
    return slots + [slot for key, inner in items for slot in _slots(inner, (*path, key))]


def test_mutated_files_raise_only_input_errors(content: dict[str, Any]) -> None:
    """Seeded mutations replace, remove or duplicate any value at any place."""
    junk: list[Any] = [
        None,
        True,
        -1,
        10**30,
        1.5,
        "",
        "h",
        "apple#0",
        "\x00",
        [],
        [[]],
        {},
        {"": {}},
        "floor",
    ]
    random = Random(0)
    slots = _slots(content)
    refused = 0
    for _ in range(80):
        data = copy.deepcopy(content)
        *path, last = random.choice(slots)
        inner: Any = data
        for step in path:
            inner = inner[step]
        if random.random() < 0.2:
            del inner[last]
        else:
            inner[last] = random.choice(junk)
        original = copy.deepcopy(data)
        try:
            task_from_json(data, NAME)
        except InputError:
            refused += 1
        assert data == original
    assert 20 < refused < 80
