from __future__ import annotations

import json
import zipfile
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from shared_data import SHARED

from simulator import datasets
from simulator.ambibench.data import Draw, item_files, load_items
from simulator.ambibench.data_command import check_items, register, setting_findings
from simulator.ambibench.files import finetuning_line, item_line
from simulator.ambibench.generation import (
    generate_aws,
    generate_finetune,
    generate_instruction,
    generate_multiple,
)
from simulator.ambibench.prompt import Prompt
from simulator.errors import InputError
from simulator.jsonlines import write_lines
from simulator.tables.registering import print_added

PUBLISHED = SHARED / "ambibench" / "example_prompts.json"
GROUPED = generate_instruction(0, per_cell=1)
EPISODE = generate_multiple(0, per_cell=1)[0]
TRAIN = generate_finetune(0, "propn_negation", "control")


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASKBACK_HOME", str(tmp_path / "home"))


def test_files_are_found_by_what_they_hold(tmp_path: Path) -> None:
    write_lines(tmp_path / "in" / "a.jsonl", map(item_line, GROUPED))
    write_lines(tmp_path / "in" / "deep" / "b.json", map(item_line, GROUPED))
    write_lines(tmp_path / "in" / "other.json", ["{}"])
    files = (tmp_path / "in" / "a.jsonl", tmp_path / "in" / "deep" / "b.json")
    assert item_files(tmp_path / "in") == files
    assert item_files(files[0]) == files[:1]
    assert item_files(tmp_path / "in" / "other.json") == ()
    assert item_files(tmp_path / "none") == ()


def test_good_files_have_no_faults(tmp_path: Path) -> None:
    write_lines(tmp_path / "a.jsonl", map(item_line, GROUPED))
    write_lines(tmp_path / "b.jsonl", map(item_line, [*load_items(setting="aws"), *TRAIN]))
    assert check_items([tmp_path / "a.jsonl", tmp_path / "b.jsonl"]) == ()


@pytest.mark.skipif(
    not PUBLISHED.is_file(), reason=f"published prompts not found at {PUBLISHED}; set ASKBACK_SHARED"
)
def test_the_published_prompts_defects_are_warnings() -> None:
    faults = check_items([PUBLISHED])
    assert {fault.severity for fault in faults} == {"warning"}
    control = [fault for fault in faults if "other feature must be constant" in fault.message]
    assert control
    # Spec section 14: the published control holds the salient feature; those written to the rule do not.
    assert not any("paper_rule" in fault.task for fault in faults)
    short = [fault for fault in faults if fault.message.startswith("examples: 3, not 4 to 20")]
    assert {fault.task.rsplit("-", 1)[0] for fault in short} == {
        "4.4_finetune_ambiguous",
        "4.4_finetune_control",
    }
    assert all(fault.line for fault in faults if fault.code == "setting")


@pytest.mark.each(
    ("prompt", "finding"),
    [
        (
            replace(GROUPED[0], examples=GROUPED[0].examples[::-1]),
            ("error", "examples: must be one of each"),
        ),
        (replace(GROUPED[0], examples=GROUPED[0].examples[:2]), ("error", "examples: must be one of each")),
        (replace(EPISODE, examples=EPISODE.examples[:7]), ("warning", "examples: 7, not 20")),
        (replace(EPISODE, setting="wug"), ("error", "instruction_kind: uninformative in the setting wug")),
        (replace(EPISODE, kind="wug"), ("error", "instruction_kind: wug in the setting multiple")),
        (replace(EPISODE, setting="verbalise"), ("error", "question: missing")),
        (
            replace(EPISODE, setting="ft_eval", fold="propn_negation"),
            ("error", "fold: propn_negation"),
        ),
        (replace(TRAIN[0], fold=TRAIN[0].pair), ("error", "fold: subject_location is held out")),
        (replace(TRAIN[0], examples=TRAIN[0].examples[:3]), ("warning", "examples: 3, not 4 to 20")),
        (replace(TRAIN[0], kind="informative"), ("warning", "instruction_kind: informative")),
        (
            generate_finetune(0, "propn_negation", "control", control="reference")[1],
            ("warning", "ft_variant: the other feature must be constant"),
        ),
    ],
)
def test_what_a_setting_does_not_allow(prompt: Prompt, finding: tuple[str, str]) -> None:
    (reported,) = setting_findings(prompt)
    assert reported[0] == finding[0]
    assert reported[1].startswith(finding[1])


@pytest.mark.each("prompt", [GROUPED[0], EPISODE, TRAIN[0], replace(EPISODE, setting="ft_eval")])
def test_what_a_setting_allows(prompt: Prompt) -> None:
    assert not list(setting_findings(prompt))


def test_faults_of_items_and_of_balance(tmp_path: Path) -> None:
    loaded = [prompt for prompt in generate_multiple(0, per_cell=20) if prompt.x_is]
    path = tmp_path / "a.jsonl"
    write_lines(path, map(item_line, [*loaded, replace(EPISODE, id="short", examples=EPISODE.examples[:7])]))
    faults = check_items([path])
    assert Counter(fault.code for fault in faults)["setting"] == 1
    (short,) = [fault for fault in faults if fault.code == "setting"]
    assert (short.task, short.line, short.severity) == ("short", len(loaded) + 1, "warning")
    balance = [fault for fault in faults if fault.code == "balance"]
    assert balance
    assert {fault.severity for fault in balance} == {"warning"}
    assert any("polarity" in fault.message for fault in balance)


def test_two_files_with_one_id_are_named(tmp_path: Path) -> None:
    write_lines(tmp_path / "a.jsonl", map(item_line, GROUPED[:2]))
    write_lines(tmp_path / "b.jsonl", map(item_line, GROUPED[1:3]))
    (fault,) = check_items([tmp_path / "a.jsonl", tmp_path / "b.jsonl"])
    assert (fault.task, fault.line, fault.code) == (GROUPED[1].id, 1, "id")
    assert "a.jsonl has the same" in fault.message
    with pytest.raises(InputError, match=r"1 fault, the first in b.jsonl:1: id"):
        register(tmp_path, "both")


def test_unreadable_files_are_faults(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(b"\xff")
    (fault,) = check_items([tmp_path / "a.json"])
    assert fault.code == "format"
    assert fault.message.startswith("is not UTF-8")


def test_a_file_a_folder_and_a_zip_can_be_registered(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    write_lines(folder / "deep" / "a.jsonl", map(item_line, GROUPED))
    write_lines(folder / "deep" / "notes.txt", ["not an item"])
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.write(folder / "deep" / "a.jsonl", "a.jsonl")
    for number, path in enumerate((folder, folder / "deep" / "a.jsonl", tmp_path / "a.zip")):
        added = register(path, f"items-{number}")
        assert added.changed
        assert dict(added.dataset.details) == {"items": 12, "instruction": 12}
        assert load_items(f"items-{number}") == GROUPED
        assert not register(path, f"items-{number}").changed
        assert len(list(added.dataset.folder.rglob("*.*"))) == 1


def test_what_was_registered_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_lines(tmp_path / "a.jsonl", map(item_line, [*GROUPED, EPISODE]))
    print_added(register(tmp_path / "a.jsonl", "mine", False))
    assert "Registered as 'mine' in" in capsys.readouterr().out
    print_added(register(tmp_path / "a.jsonl", "mine", False))
    assert capsys.readouterr().out == "'mine' has not changed: items 13, instruction 12, multiple 1.\n"
    entry = datasets.find("mine")
    assert entry is not None
    assert entry.benchmark == "ambibench"


def test_faulty_items_are_not_registered(tmp_path: Path) -> None:
    write_lines(tmp_path / "a.jsonl", map(item_line, [replace(EPISODE, setting="verbalise")]))
    with pytest.raises(InputError, match=r"1 fault, the first in a.jsonl:1: question: missing"):
        register(tmp_path / "a.jsonl", "bad")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="contains no file of AmbiBench items"):
        register(tmp_path / "empty", "bad")
    with pytest.raises(InputError, match="no such file"):
        register(tmp_path / "none.jsonl", "bad")
    assert datasets.find("bad") is None


def test_data_of_another_benchmark_are_refused(tmp_path: Path) -> None:
    write_lines(tmp_path / "a.jsonl", map(item_line, GROUPED))
    added = register(tmp_path / "a.jsonl", "mine")
    manifest = added.dataset.folder.parent / "dataset.json"
    record = json.loads(manifest.read_text(encoding="utf-8")) | {"benchmark": "clarq"}
    manifest.write_text(json.dumps(record), encoding="utf-8")
    with pytest.raises(InputError, match="belong to clarq, not to ambibench"):
        load_items("mine", draw=Draw())


def test_names_are_of_the_origin_that_a_prompt_says(tmp_path: Path) -> None:
    indian, second = generate_aws(0, per_name=1)[10], generate_aws(0, per_name=1, followup=True)[0]
    wrong = [
        replace(indian, id="origin", origin="greek"),
        replace(indian, id="stranger", query="Bob Bobson"),
        replace(indian, id="example", examples=(indian.examples[0], "Ava Smith")),
        replace(second, id="second", examples=(*second.examples[:2], "Riya Gupta")),
        second,
    ]
    write_lines(tmp_path / "aws.jsonl", map(item_line, wrong))
    messages = {
        fault.task: (fault.severity, fault.message) for fault in check_items([tmp_path / "aws.jsonl"])
    }
    assert messages == {
        "origin": ("error", f"query: {indian.query} is a name of indian, not of greek"),
        "stranger": ("warning", "query: Bob Bobson is not in the list of names of any origin"),
        "example": ("error", "examples: Ava Smith is a name of white_american, not of japanese"),
        "second": ("error", "examples: Riya Gupta is a name of indian, not of white_american"),
    }


def test_a_finetuning_record_that_leaves_the_task_open_is_no_error_but_cannot_be_registered(
    tmp_path: Path,
) -> None:
    lines = [finetuning_line(item) for item in generate_finetune(0, "propn_negation")]
    write_lines(tmp_path / "train.jsonl", lines)
    faults = check_items([tmp_path / "train.jsonl"])
    assert {(fault.severity, fault.code) for fault in faults} == {("warning", "ambiguous")}
    with pytest.raises(InputError, match=r"faults, the first in train\.jsonl"):
        register(tmp_path / "train.jsonl")
