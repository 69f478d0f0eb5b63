import json

import pytest
from shared_data import SHARED

from simulator.clarq.results import read_results
from simulator.errors import InputError

RESULTS = SHARED / "clarq" / "results"
needs_data = pytest.mark.skipif(
    not RESULTS.is_dir(), reason=f"published results not found at {RESULTS}; set ASKBACK_SHARED"
)


def record(**changes):
    return {
        "all_response": "Jax: Bake the bread.\nJax: Use rye flour.\nJax: The mill sells rye flour.",
        "gold_structure": ["1", "1.1"],
        "all_response_exaplain": ["Which flour.", "Where to get it."],
        "background_splitted": ["baker", "bake bread", "Rye flour\nWheat flour", "", "Mill\nMarket"],
        "background": "You are a baker.",
        "l2l": [
            [
                "Jax: what can help you?",
                "How do I bake bread?",
                "Jax: Bake the bread.",
                "Which flour, and where is it?",
                "Jax: use rye flour, and the mill sells rye flour.",
                "And where is it sold?",
                "Jax: The mill sells rye flour.",
                "Goodbye!",
            ]
        ],
    } | changes


def write(path, *records):
    path.write_text(json.dumps([list(records), []]), encoding="utf-8")
    return path


def test_reads_task_and_dialogue(tmp_path):
    (dialogue,) = read_results(write(tmp_path / "r.json", record())).dialogues
    task = dialogue.task
    assert (task.id, task.type, task.language) == ("1.0", 1, "en")
    assert task.background.items == ("Rye flour", "Wheat flour")
    assert task.background.skills == ()
    assert task.tree.opening == "Bake the bread."
    assert task.tree.by_index["1.1"].explanation == "Where to get it."
    assert [line.seat for line in dialogue.lines[:3]] == ["provider", "seeker", "provider"]
    assert dialogue.lines[0].text == "what can help you?"


def test_a_child_does_not_count_before_its_parents_turn_is_over(tmp_path):
    (dialogue,) = read_results(write(tmp_path / "r.json", record())).dialogues
    steps = dialogue.steps
    assert [(step.opens, step.given) for step in steps] == [(True, ()), (False, ("1",)), (False, ("1.1",))]
    assert steps[-1].after.complete
    assert not dialogue.multi


def test_a_faulty_row_is_left_out_and_named_by_task_and_field(tmp_path):
    odd = (
        ({"gold_structure": ["1"]}, "all_response has 3 lines"),
        ({"gold_structure": ["1", "2.1"]}, "gold_structure: node '2.1' has no parent"),
        ({"gold_structure": ["1", "x"]}, "gold_structure: node index 'x' is not numbers joined by dots"),
        ({"all_response": None}, "all_response is null, not a text"),
        ({"all_response": " \n"}, "all_response has 0 lines"),
        ({"background_splitted": ["a"]}, "background_splitted has too few entries (1; at least 5)"),
        ({"l2l": [["Jax: hello", 3]]}, "l2l"),
        ({"l2l": None}, "l2l is null, not a list"),
        ({"l2l": [record()["l2l"][0][1:]]}, "l2l[0] begins with the seeker"),
    )
    path = tmp_path / "r.json"
    rows = [record(), *(record(**changes) for changes, _ in odd), "no row", record(background="You bake.")]
    path.write_text(json.dumps([rows, {}, [record(background="You fry.")]]), encoding="utf-8-sig")
    read = read_results(path)
    assert [dialogue.task.id for dialogue in read.dialogues] == ["1.0", f"1.{len(odd) + 2}", "3.0"]
    assert read.unplayed == 0
    assert [fault.task for fault in read.faults] == [*(f"1.{n}" for n in range(1, len(odd) + 2)), "2"]
    for (changes, complaint), fault in zip(odd, read.faults, strict=False):
        assert fault.severity == "error", changes
        assert complaint in str(fault), changes
        assert str(path) in str(fault), changes


def test_rows_of_tasks_that_were_not_played_are_counted(tmp_path):
    """Types 27 to 31 as published: no dialogue, no explanations, the opening's index first."""
    unplayed = {key: value for key, value in record().items() if key != "all_response_exaplain"}
    unplayed |= {"gold_structure": ["0", "1", "1.1"], "l2l": [[], []]}
    path = tmp_path / "whole.json"
    types = [[record(background=f"Baker {kind}.{place}") for place in range(10)] for kind in range(26)]
    types += [[unplayed | {"l2l": [["Jax: what can help you?"]]}] * 10, *[[unplayed] * 10] * 4]
    path.write_text(json.dumps(types), encoding="utf-8")
    read = read_results(path)
    assert (len(read.dialogues), read.unplayed, read.faults) == (260, 50, ())
    played = unplayed | {"l2l": record()["l2l"]}
    path.write_text(json.dumps([[record()], [played], [unplayed, unplayed | {"l2l": []}]]), encoding="utf-8")
    first, second = read_results(path).dialogues
    assert [node.index for node in second.task.tree.nodes] == ["1", "1.1"]
    assert second.task.tree.opening == first.task.tree.opening
    write(path, unplayed)
    with pytest.raises(InputError, match=r"no readable dialogue \(1 rows"):
        read_results(path)
    path.write_text("[[], []]", encoding="utf-8")
    with pytest.raises(InputError, match="no readable dialogue"):
        read_results(path)


def test_a_row_with_faulty_explanations_is_read_without_them(tmp_path):
    read = read_results(write(tmp_path / "r.json", record(all_response_exaplain=["x"])))
    assert [node.explanation for node in read.dialogues[0].task.tree.nodes] == [None, None]
    (warning,) = read.faults
    assert (warning.severity, warning.task) == ("warning", "1.0")


def test_an_invalid_file(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        read_results(tmp_path / "none.json")
    (tmp_path / "bad.json").write_text("{", encoding="utf-8")
    with pytest.raises(InputError, match="is not JSON"):
        read_results(tmp_path / "bad.json")


@needs_data
@pytest.mark.parametrize(
    ("name", "turns", "given", "multi"),
    [
        ("l2l_GPT-4o_seeker_vs_GPT-4o_provider.Comp.En", 450, 380, False),
        ("l2l_GPT-4o_seeker_vs_GPT-4o_provider.Comp.Ch", 424, 375, False),
        ("l2l_GPT-4o_seeker_vs_GPT-4o_multi_info_provider.Comp.En", 289, 383, True),
    ],
)
def test_published_files(name, turns, given, multi):
    dialogues = read_results(RESULTS / f"{name}.types1-10.json").dialogues
    assert len(dialogues) == 100
    steps = [step for dialogue in dialogues for step in dialogue.steps]
    assert sum(step.opens for step in steps) == 100
    decisions = [step for step in steps if step.before.available]
    assert (len(decisions), sum(len(step.given) for step in decisions)) == (turns, given)
    assert any(dialogue.multi for dialogue in dialogues) is multi
