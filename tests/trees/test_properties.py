"""Properties of all trees: invariants of the walk, and lossless writing and reading of files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from task_files import draft_of, file_name, read_tasks, write_published, write_yaml, yaml_text

from trees import Background, Frontier, Language, Node, Task, Tree, index_key
from trees.checks import check_drafts
from trees.model import tidy
from trees.published import FOLDERS, scan_published
from trees.sources import scan_yaml_text

LANGUAGES: tuple[Language, ...] = ("en", "zh")
QUIET = settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)


def texts(language: Language) -> st.SearchStrategy[str]:
    raw = st.text(st.characters(codec="utf-8", exclude_characters="\n"), min_size=1, max_size=40)
    words = st.sampled_from(
        ["a: b", "- x", "yes", "1.10", "null", "'", '"', "# no", "去 北矿", "{x}", "“好”"]
    )
    return (raw | words).map(lambda text: tidy(text, language)).filter(bool)


@st.composite
def indices(draw: st.DrawFn) -> tuple[str, ...]:
    """Draw the indices of a tree of up to 8 nodes, in any order and possibly with gaps."""
    drawn: list[str] = []
    for number in draw(st.lists(st.integers(1, 12), min_size=1, max_size=8)):
        parent = draw(st.sampled_from(["", *drawn]))
        index = f"{parent}.{number}" if parent else str(number)
        if index not in drawn:
            drawn.append(index)
    return tuple(draw(st.permutations(drawn)))


@st.composite
def tasks(draw: st.DrawFn, *, prompts: bool = False) -> Task:
    language: Language = draw(st.sampled_from(LANGUAGES))
    text = texts(language)
    explained = draw(st.booleans())
    nodes = tuple(Node(index, draw(text), draw(text) if explained else None) for index in draw(indices()))
    lists = (tuple(draw(st.lists(text, max_size=3))) for _ in range(3))
    return Task(
        id=draw(st.from_regex(r"[a-z][a-z-]{0,8}[0-9]{0,2}", fullmatch=True)),
        type=draw(st.integers(1, 31)),
        language=language,
        background=Background(draw(text), draw(text), *lists),
        tree=Tree(draw(text), nodes),
        prompt=draw(st.text(st.characters(codec="utf-8"))) if prompts else None,
    )


@given(indices(), st.data())
def test_a_walk_gives_each_node_once_and_after_its_parent(
    names: tuple[str, ...], data: st.DataObject
) -> None:
    tree = Tree("opening", tuple(Node(index, index) for index in names))
    frontier = Frontier(tree)
    assert frontier.available == ()
    frontier = frontier.open()
    while not frontier.complete:
        available = [node.index for node in frontier.available]
        assert available == sorted(available, key=index_key), (
            "a tree always has a node to give, in index order"
        )
        assert available
        several = data.draw(st.lists(st.sampled_from(available), min_size=1, max_size=3, unique=True))
        after = frontier.give(several)
        assert after.given == (*frontier.given, *several)
        gone = set(several)
        freed = {node.index for node in tree.nodes if node.parent in gone}
        assert {node.index for node in after.available} == (set(available) - gone) | freed
        frontier = after
    assert sorted(frontier.given) == sorted(names)
    for place, index in enumerate(frontier.given):
        parent = tree.by_index[index].parent
        assert parent is None or parent in frontier.given[:place]
    assert frontier.available == frontier.withheld == ()


@given(indices(), st.lists(st.sampled_from(["1", "1.1", "2", "0", "3", "12", "1.1.1"]), max_size=4))
def test_nothing_else_can_be_given(names: tuple[str, ...], chosen: list[str]) -> None:
    frontier = Frontier(Tree("opening", tuple(Node(index, index) for index in names))).open()
    before = frontier.available
    available = {node.index for node in before}
    if set(chosen) <= available and len(set(chosen)) == len(chosen):
        assert frontier.give(chosen).given == tuple(chosen)
    else:
        with pytest.raises(ValueError, match="cannot be given now"):
            frontier.give(chosen)
    assert frontier.given == ()
    assert frontier.available == before


@given(indices())
def test_a_tree_without_a_parent_is_refused(names: tuple[str, ...]) -> None:
    child = next((index for index in names if "." in index), None)
    if child is None:
        return
    parent = child.rpartition(".")[0]
    with pytest.raises(ValueError, match="no parent"):
        Tree("opening", tuple(Node(index, index) for index in names if index != parent))


@QUIET
@given(tasks())
def test_yaml_keeps_everything(task: Task) -> None:
    assert scan_yaml_text(yaml_text(task)).tasks() == (task,)


@QUIET
@given(st.lists(tasks(), min_size=1, max_size=3))
def test_yaml_file_of_several_tasks(tmp_path_factory: pytest.TempPathFactory, several: list[Task]) -> None:
    path = tmp_path_factory.mktemp("yaml") / "several.yaml"
    write_yaml(path, several)
    assert read_tasks(path) == tuple(several)


@QUIET
@given(tasks(prompts=True))
def test_published_form_keeps_everything(tmp_path_factory: pytest.TempPathFactory, task: Task) -> None:
    folder = tmp_path_factory.mktemp("published") / FOLDERS[task.language]
    folder.mkdir()
    path = folder / file_name(task.type)
    write_published(path, [task])
    (read,) = read_tasks(path)
    assert read == Task(**{**vars(task), "id": f"{task.type}.0"})


@QUIET
@given(st.lists(tasks(), max_size=3))
def test_checks_take_any_task(several: list[Task]) -> None:
    for fault in check_drafts(list(map(draft_of, several))):
        assert fault.code
        assert fault.message


@QUIET
@given(st.text(st.sampled_from("ab:- \n\"'[]{}0.1#&*!|>%@,éid你"), max_size=60))
def test_any_text_is_a_task_or_a_fault(text: str) -> None:
    scan = scan_yaml_text(text, "x.yaml")
    assert scan.faults
    assert all(fault.file == "x.yaml" for fault in scan.faults)


@QUIET
@given(
    st.recursive(
        st.none() | st.text("01.\n", max_size=5) | st.integers(),
        lambda inner: (
            st.lists(inner)
            | st.dictionaries(st.sampled_from(["all_response", "background", "background_splitted"]), inner)
        ),
    )
)
def test_any_json_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, value: Any) -> None:
    path: Path = tmp_path_factory.mktemp("json") / file_name(3)
    path.write_text(json.dumps([value, value]), encoding="utf-8")
    scan = scan_published(path)
    assert scan.faults or scan.drafts
