from hypothesis import given
from hypothesis import strategies as st

from simulator.clarq.show import tree
from simulator.drawn_blocks import TreeNode
from trees import Frontier, Node, Tree
from ui.render import small_map


def frontier(indices: list[str], opened: bool) -> Frontier:
    return Frontier(Tree("opening", tuple(Node(index, f"text {index}") for index in indices)), opened)


def flat(node: TreeNode) -> list[str]:
    return [node.index, *(index for child in node.children for index in flat(child))]


@st.composite
def indices(draw: st.DrawFn) -> list[str]:
    grown: list[str] = []
    for _ in range(draw(st.integers(0, 8))):
        parent = draw(st.sampled_from(["", *grown]))
        siblings = [index for index in grown if index.rpartition(".")[0] == parent]
        grown.append(f"{parent}.{len(siblings) + 1}".lstrip("."))
    return sorted(grown, key=lambda index: [int(part) for part in index.split(".")])


@given(indices())
def test_every_node_stands_once_under_its_parent(given_indices: list[str]) -> None:
    root = tree(frontier(given_indices, False))
    assert flat(root) == ["0", *given_indices]
    assert root.state == "available"
    for child in root.children:
        assert all(index.startswith(child.index) for index in flat(child))


@given(indices())
def test_the_map_has_room_for_every_node(given_indices: list[str]) -> None:
    drawn = small_map(tree(frontier(given_indices, True)))
    assert sorted(dot.index for dot in drawn.dots) == sorted(["0", *given_indices])
    assert len({(dot.x, dot.y) for dot in drawn.dots}) == len(drawn.dots)
    assert all(14 <= dot.x <= drawn.width - 14 and 14 <= dot.y <= drawn.height - 14 for dot in drawn.dots)
    places = {dot.index: (dot.x, dot.y) for dot in drawn.dots}
    for dot in drawn.dots:
        parent = dot.index.rpartition(".")[0] or "0"
        assert dot.parent == (None if dot.index == "0" else places[parent])
