from __future__ import annotations

import asyncio
import hashlib
import json
import shutil
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from shared_data import shared_path
from task_files import file_name, write_published, write_yaml

import trees
from logs import LogReader, LogWriter
from simulator import catalog, datasets
from simulator.clarq.data import (
    ITEMS,
    background_text,
    item_row,
    load_items,
    read_item,
    register,
    statistics_by_language,
)
from simulator.datasets import add
from simulator.errors import InputError
from simulator.models import ScriptModel
from simulator.studies.declared import sessions_type
from trees import Background, Node, Task, Tree
from trees.checks import PUBLISHED
from trees.sources import load_builtin

TASK = Task(
    id="bread-1",
    type=25,
    language="en",
    background=Background("baker", "baking bread", ("A tin",), (), ("Mill (closed)",)),
    tree=Tree("Bake it.", (Node("1", "Use rye.", "Which flour."), Node("1.1", "From the mill."))),
)
TEXT = st.text(max_size=30)
LISTS = st.lists(TEXT, max_size=3).map(tuple)
TASKS = st.builds(
    Task,
    id=TEXT,
    type=st.integers(1, 31),
    language=st.sampled_from(["en", "zh"]),
    background=st.builds(Background, TEXT, TEXT, LISTS, LISTS, LISTS),
    tree=st.builds(
        Tree,
        TEXT,
        st.lists(TEXT, max_size=4).map(
            lambda texts: tuple(Node(str(number), text, text or None) for number, text in enumerate(texts, 1))
        ),
    ),
    prompt=st.none() | TEXT,
)


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASKBACK_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("ASKBACK_PERSONAS", raising=False)


@pytest.fixture(scope="session")
def clarq_folder() -> Path:
    return shared_path("clarq")


def test_builtin_items_are_the_default() -> None:
    assert load_items() == load_builtin("en")
    assert load_items("builtin", "zh") == load_builtin("zh")


def test_items_are_chosen_by_type_split_and_number() -> None:
    assert {task.type for task in load_items(types=[25, "magic-task"])} == {25, 31}
    assert {task.type for task in load_items(split="development")} == {27, 28, 29, 30, 31}
    assert {task.type for task in load_items(split="test")} == set(range(1, 27))
    assert {task.type for task in load_items(types=[26, 27], split="test")} == {26}


def test_items_from_a_path(tmp_path: Path) -> None:
    write_yaml(tmp_path / "a.yaml", [TASK, replace(TASK, language="zh"), replace(TASK, id="bread-0", type=1)])
    assert [task.id for task in load_items(tmp_path)] == ["bread-0", "bread-1"]
    assert load_items(str(tmp_path / "a.yaml"), "zh") == (replace(TASK, language="zh"),)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"data": "clarq"}, "not registered yet; run `askback data add clarq PATH`"),
        ({"data": "nowhere"}, "neither 'builtin', nor registered .* nor a path"),
        ({"language": "fr"}, "language 'fr': must be one of en, zh"),
        ({"split": "train"}, "split 'train': must be one of test, development"),
        ({"types": [99]}, "99 is not a task type"),
        ({"types": [1], "split": "development"}, "contain no task"),
    ],
)
def test_bad_choices_name_the_way_out(
    options: dict[str, object], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=message):
        load_items(**options)  # type: ignore[arg-type]


def test_faulty_files_are_named(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("id: x\nrole: 3", encoding="utf-8")
    with pytest.raises(InputError, match=r"a\.yaml:1: task x: "):
        load_items(tmp_path)
    write_yaml(tmp_path / "a.yaml", [TASK])
    write_yaml(tmp_path / "b.yaml", [TASK])
    with pytest.raises(InputError, match=r"bread-1 is both in .*a\.yaml and in .*b\.yaml"):
        load_items(tmp_path)


def test_the_background_is_the_published_text_or_rendered() -> None:
    text = background_text(TASK)
    assert "baker" in text
    assert "Mill (closed)" in text
    assert background_text(replace(TASK, prompt="As published.\n")) == "As published.\n"


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_builtin_background_is_complete_and_reveals_nothing(language: str) -> None:
    for task in load_items("builtin", language):
        text, background = background_text(task), task.background
        for part in (
            background.role,
            background.task,
            *background.items,
            *background.skills,
            *background.scenes,
        ):
            assert part in text
        assert task.tree.opening not in text
        assert not any(node.text in text for node in task.tree.nodes)


@given(TASKS)
def test_json_keeps_everything(task: Task) -> None:
    data = json.loads(json.dumps(ITEMS.write(task)))
    assert ITEMS.read(data, "item") == task
    assert item_row(ITEMS.read(data, "item")) == item_row(task)


def test_rows_are_named_by_their_content() -> None:
    row = item_row(TASK)
    canonical = json.dumps(row.data, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    assert row.hash == hashlib.sha256(canonical.encode("utf-8")).hexdigest()
    assert (row.benchmark, row.name, row.language) == ("clarq", "bread-1", "en")
    assert item_row(replace(TASK, source="elsewhere.yaml")) == row
    assert item_row(replace(TASK, prompt="x")).hash != row.hash


@pytest.mark.parametrize(
    "data", [{}, {"id": "x"}, {**ITEMS.write(TASK), "tree": {"opening": "o", "nodes": [{}]}}]
)
def test_other_json_is_refused(data: dict[str, object]) -> None:
    with pytest.raises(InputError, match="item bread-1: "):
        read_item(replace(item_row(TASK), data=data))


def published(folder: Path) -> Path:
    """Create a folder in the published format with one file per language."""
    task = replace(TASK, prompt="You bake.", tree=Tree("Bake it.", (Node("1", "Use rye.", "Which."),)))
    for name in ("English", "Chinese"):
        (folder / name).mkdir(parents=True)
        write_published(folder / name / file_name(25), [task])
    return folder


def test_partial_data_are_registered_only_on_request(tmp_path: Path) -> None:
    source = published(tmp_path / "source")
    with pytest.raises(InputError, match=r"not the published data: en: 1 tasks instead of 310.*--partial"):
        register(source)
    assert datasets.find("clarq") is None
    added = register(source, partial=True)
    assert added.changed
    statistics = statistics_by_language(added.dataset.folder)
    assert {language: held.tasks for language, held in statistics.items()} == {"en": 1, "zh": 1}
    (task,) = load_items("clarq", "zh")
    assert (task.id, task.language, task.tree.opening) == ("25.0", "zh", "Bake it.")


@pytest.mark.parametrize("above", ["", "clarq/", "data/clarq/"])
def test_folders_are_found_up_to_one_level_down(tmp_path: Path, above: str) -> None:
    published(tmp_path / "source" / above)
    if above.count("/") > 1:
        with pytest.raises(InputError, match="no folder English or Chinese"):
            register(tmp_path / "source", partial=True)
    else:
        added = register(tmp_path / "source", partial=True)
        assert sorted(entry.name for entry in added.dataset.folder.iterdir()) == ["Chinese", "English"]


def test_one_language_alone_and_a_zip(tmp_path: Path) -> None:
    source = published(tmp_path / "source")
    added = register(source / "Chinese", "chinese-only", partial=True)
    assert [*statistics_by_language(added.dataset.folder)] == ["zh"]
    with pytest.raises(InputError, match="contain no task in 'en'"):
        load_items("chinese-only", "en")
    archive = shutil.make_archive(str(tmp_path / "clarq"), "zip", tmp_path, "source")
    assert zipfile.is_zipfile(archive)
    register(archive, "zipped", partial=True)
    assert len(load_items("zipped")) == 1


def test_two_copies_side_by_side_are_ambiguous(tmp_path: Path) -> None:
    for name in ("one", "two"):
        published(tmp_path / "source" / name)
    with pytest.raises(InputError, match=r"contains both .*; name the one you mean"):
        register(tmp_path / "source", partial=True)


def test_faulty_published_files_are_not_registered(tmp_path: Path) -> None:
    source = published(tmp_path / "source")
    (source / "English" / file_name(3)).write_text("[", encoding="utf-8")
    with pytest.raises(InputError) as refused:
        register(source, partial=True)
    assert str(refused.value).startswith(f"{source / 'English' / file_name(3)}:1: is not JSON")
    archive = shutil.make_archive(str(tmp_path / "clarq"), "zip", tmp_path, "source")
    with pytest.raises(InputError) as refused:
        register(archive, partial=True)
    assert str(refused.value).startswith(f"{archive}/source/English/{file_name(3)}:1: is not JSON")
    assert datasets.find("clarq") is None


def test_data_of_another_benchmark_are_refused(tmp_path: Path) -> None:
    source = published(tmp_path / "source")
    add("kitchens", "ambik", source, lambda folder: {"x": next(folder.rglob("*.json"))}, lambda folder: {})
    with pytest.raises(InputError, match="'kitchens' belong to ambik, not to clarq"):
        load_items("kitchens")


def test_the_published_data_are_registered_and_loaded(clarq_folder: Path) -> None:
    added = register(clarq_folder)
    assert statistics_by_language(added.dataset.folder) == {"en": PUBLISHED, "zh": PUBLISHED}
    assert register(clarq_folder).changed is False
    for language in ("en", "zh"):
        tasks = load_items("clarq", language)
        assert len(tasks) == 310
        assert [task.id for task in tasks[:2]] == ["1.0", "1.1"]
        assert len(load_items("clarq", language, split="test")) == 260
        assert all(background_text(task) == task.prompt for task in tasks)
        assert all(read_item(item_row(task)) == task for task in tasks)
    assert added.dataset.folder.is_dir()


def test_free_play_on_data_of_one_language_has_no_menu_in_the_other(tmp_path: Path) -> None:
    benchmark = catalog.find("clarq")
    sessions_of = sessions_type(benchmark)
    assert sessions_of is not None
    folder = Path(trees.__file__).parent / "tasks" / "zh"
    with LogWriter(tmp_path / "log", durable=False) as log, LogReader(tmp_path / "log") as reader:
        sessions = sessions_of(benchmark, log, reader, ScriptModel, data=str(folder))
        sessions.require_items()
        assert not sessions.item_menu("en") and sessions.item_menu("zh")
        drawn = asyncio.run(sessions.draw_item({}, "seeker", {}, 1, "en"))
    assert drawn.item.language == "zh"
