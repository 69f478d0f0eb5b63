from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from shared_data import SHARED

from simulator.ambibench.data import Draw, generate_items
from simulator.ambibench.features import SETTINGS
from simulator.ambibench.files import finetuning_line, item_line, item_text, looks_like_items, read_file
from simulator.ambibench.generation import draw_multiple, generate_finetune, generate_instruction
from simulator.ambibench.prompt import Item, whole_text
from simulator.errors import InputError
from simulator.jsonlines import write_lines
from trees.faults import Fault

PUBLISHED = SHARED / "ambibench" / "example_prompts.json"
ITEMS = generate_instruction(0, per_cell=1)


def read_items(path: Path) -> tuple[tuple[Item, ...], tuple[Fault, ...]]:
    """The items of a file without their lines, and its faults."""
    items, faults = read_file(path)
    return tuple(item for item, _ in items), faults


def some_of_every_setting() -> list[Item]:
    items = []
    for setting in SETTINGS:
        draw = Draw() if setting == "ft_train" else Draw(per_cell=1)
        items += generate_items(setting, draw=draw)[:12]
    return items


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    items = some_of_every_setting()
    path = tmp_path / "deeper" / "items.jsonl"
    write_lines(path, map(item_line, items))
    assert read_items(path) == (tuple(items), ())
    records, _ = read_file(path)
    assert [record.line for record in records] == list(range(1, len(items) + 1))
    first = path.read_bytes()
    write_lines(path, map(item_line, items))
    assert path.read_bytes() == first
    assert list(path.parent.iterdir()) == [path]
    assert looks_like_items(path)


def test_a_file_is_there_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "items.jsonl"
    write_lines(path, map(item_line, ITEMS[:2]))
    before = path.read_bytes()

    def broken() -> object:
        yield "one"
        raise RuntimeError("power cut")

    with pytest.raises(RuntimeError):
        write_lines(path, broken())
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(InputError, match=r"items.jsonl.x.*cannot be written"):
        write_lines(path / "x", map(item_line, ITEMS))


@pytest.mark.skipif(
    not PUBLISHED.is_file(), reason=f"published prompts not found at {PUBLISHED}; set ASKBACK_SHARED"
)
def test_the_published_file(tmp_path: Path) -> None:
    read, faults = read_file(PUBLISHED)
    assert not faults
    settings = Counter((entry.item.setting, entry.item.variant) for entry in read)
    assert settings == {
        ("instruction", None): 40,
        ("multiple", None): 20,
        ("ft_train", "ambiguous"): 40,
        ("ft_train", "control"): 40,
    }
    lines = PUBLISHED.read_text(encoding="utf-8").splitlines()
    document = json.loads("\n".join(lines))
    records = [record for group in document.values() for record in group["prompts"]]
    for entry, record in zip(read, records, strict=True):
        # The object begins on the line that is named: it parses from there on.
        rest = "\n".join(lines[entry.line - 1 :]).lstrip()
        assert json.JSONDecoder().raw_decode(rest)[0] == record
        assert whole_text(entry.item) == record["prompt"]
    # One group by itself, one record a line, and a list of records are read as well.
    bare = tmp_path / "records.jsonl"
    write_lines(bare, map(json.dumps, records))
    items, faults = read_items(bare)
    assert (len(items), faults) == (140, ())
    (tmp_path / "list.json").write_text(json.dumps(records[:40], indent=1), encoding="utf-8")
    items, faults = read_items(tmp_path / "list.json")
    assert ({item.setting for item in items}, faults) == ({"instruction"}, ())


def test_one_object_in_a_file(tmp_path: Path) -> None:
    for indent in (None, 2):
        path = tmp_path / f"one-{indent}.json"
        path.write_text(json.dumps(json.loads(item_line(ITEMS[0])), indent=indent), encoding="utf-8")
        assert read_items(path) == ((ITEMS[0],), ())


def test_groups_on_one_line(tmp_path: Path) -> None:
    path = tmp_path / "groups.json"
    record = json.loads(item_line(ITEMS[0]))
    path.write_text(json.dumps({"4.2_x": {"note": "{", "prompts": [record]}}), encoding="utf-8")
    records, faults = read_file(path)
    assert ([entry.line for entry in records], faults) == ([1], ())
    path.write_text(json.dumps({"4.2_x": {"prompts": [record]}, "4.3_y": {"prompts": 5}}), encoding="utf-8")
    records, (fault,) = read_file(path)
    assert (len(records), fault.message) == (1, "4.3_y.prompts is not a list")


def test_finetuning_records_are_read_where_they_tell_the_task(tmp_path: Path) -> None:
    prompts = generate_finetune(0, "propn_negation", "ambiguous")
    path = tmp_path / "train.jsonl"
    write_lines(path, map(finetuning_line, prompts))
    items, faults = read_items(path)
    by_text = {whole_text(prompt): prompt for prompt in prompts}
    for item in items:
        original = by_text[whole_text(item)]
        assert (item.setting, item.examples, item.hypothesis) == (
            "ft_train",
            original.examples,
            original.hypothesis,
        )
    assert len(items) + len(faults) == 272
    assert {fault.code for fault in faults} == {"ambiguous"}
    assert "several tasks fit the text" in faults[0].message
    record = json.loads(finetuning_line(prompts[0]))
    assert record["completion"] in ("X", "Y", " X", " Y")
    assert record["prompt"] + record["completion"] == whole_text(prompts[0])
    assert record["prompt"].endswith((">", "\nA:"))


def test_only_one_label_makes_a_finetuning_record() -> None:
    with pytest.raises(InputError, match="only items that ask for one label can be"):
        finetuning_line(draw_multiple(0, "propn", "qa"))
    with pytest.raises(InputError, match="only items"):
        finetuning_line(generate_items("aws", draw=Draw(per_cell=1))[0])


def test_texts_are_read(tmp_path: Path) -> None:
    path = tmp_path / "prompts.txt"
    prompts = [*ITEMS, *generate_items("verbalise", draw=Draw(per_cell=1))]
    write_lines(path, map(item_text, prompts))
    items, faults = read_items(path)
    assert not faults
    assert [whole_text(item) for item in items] == [whole_text(item) for item in prompts]
    assert [item.hypothesis for item in items] == [item.hypothesis for item in prompts]
    assert [item.setting for item in items] == ["instruction"] * 12 + ["verbalise"] * 12
    assert [item.question for item in items] == [item.question for item in prompts]
    assert looks_like_items(path)
    buckets = generate_items("aws", draw=Draw(per_cell=1, second_name=True))
    write_lines(path, map(item_text, buckets))
    items, faults = read_items(path)
    assert ([item.text for item in items], faults) == ([item.text for item in buckets], ())


def test_faults_name_file_line_and_field_and_the_rest_is_kept(tmp_path: Path) -> None:
    good, bad = json.loads(item_line(ITEMS[0])), json.loads(item_line(ITEMS[1]))
    contradicting = json.loads(item_line(ITEMS[2])) | {"id": "odd"}
    for key in ("polarity", "prompt", "salient_task"):
        del contradicting[key]
    lines = [
        json.dumps(good),
        "{",
        json.dumps(bad | {"format": "xml"}),
        "",
        json.dumps(good),
        json.dumps(bad | {"prompt": None}),
        "17",
        json.dumps(contradicting),
        json.dumps({"prompt": "Hello", "completion": " X"}),
        json.dumps(json.loads(item_line(ITEMS[3]))),
    ]
    path = tmp_path / "mixed.jsonl"
    write_lines(path, lines)
    items, faults = read_items(path)
    assert [item.id for item in items] == [ITEMS[0].id, ITEMS[3].id]
    messages = [(fault.line, fault.task, fault.message) for fault in faults]
    assert {fault.file for fault in faults} == {str(path)}
    assert [line for line, _, _ in messages] == [2, 3, 5, 6, 7, 8, 9]
    assert messages[0][2].startswith("is not JSON")
    assert messages[1][1:] == (ITEMS[1].id, 'format is "xml", not one of arrow, qa')
    assert messages[2][2] == "id: the item in line 1 has the same"
    assert messages[3][2] == "prompt contradicts the other fields"
    assert messages[4][2] == "is not an object"
    assert messages[5][1:] == ("odd", "salient_task is missing")
    assert messages[6][2].startswith("line 1 of the text: 'Hello X' is not an instruction")


def test_items_that_contradict_themselves_are_faults(tmp_path: Path) -> None:
    record = json.loads(item_line(ITEMS[0]))
    del record["prompt"]
    record["examples"][1]["task_a"] = not record["examples"][1]["task_a"]
    path = tmp_path / "x.json"
    path.write_text(json.dumps([1, record], indent=1), encoding="utf-8")
    items, faults = read_items(path)
    assert items == ()
    assert [(fault.line, fault.message) for fault in faults] == [
        (2, "neither an object nor a text"),
        (3, "example 2: the codes of its features contradict the sentence."),
    ]


def test_a_bad_line_of_a_text_is_named_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "x.txt"
    text = whole_text(ITEMS[0])
    path.write_text(f"{text}\n\n\n{text.replace('>', '>>')}\n", encoding="utf-8")
    items, faults = read_items(path)
    assert len(items) == 1
    assert [(fault.line, fault.code) for fault in faults] == [(12, "item")]
    assert "is not a label in the format arrow" in faults[0].message


@pytest.mark.parametrize("text", ["", "\n\n", "[]"])
def test_a_file_without_items_is_a_fault(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(text, encoding="utf-8")
    items, faults = read_items(path)
    assert items == ()
    assert [fault.message for fault in faults] == ["contains no items"]


@pytest.mark.parametrize("text", ['{"a": 1', "[" * 100_000, '{"prompts": 3}'])
@pytest.mark.parametrize("name", ["x.json", "x.jsonl"])
def test_broken_json_is_a_fault(tmp_path: Path, text: str, name: str) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    items, faults = read_items(path)
    assert items == ()
    assert len(faults) == 1


def test_what_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none.json: cannot be read"):
        read_items(tmp_path / "none.json")
    (tmp_path / "x.json").write_bytes(b"[\xff]")
    with pytest.raises(InputError, match="not UTF-8"):
        read_items(tmp_path / "x.json")


def test_what_looks_like_items(tmp_path: Path) -> None:
    for name, text, expected in (
        ("a.json", '{"construction_type": 1}', True),
        ("a.py", '{"construction_type": 1}', False),
        ("b.json", '{"initial_object_dict": 1}', False),
        ("c.txt", "notes", False),
        ("d.jsonl", item_line(generate_items("aws", draw=Draw(per_cell=1))[0]), True),
    ):
        (tmp_path / name).write_text(text, encoding="utf-8")
        assert looks_like_items(tmp_path / name) is expected
