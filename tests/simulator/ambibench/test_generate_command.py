from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

from simulator.ambibench.data_command import generate_command
from simulator.ambibench.files import read_file
from simulator.ambibench.generation import generate_finetune, generate_instruction, generate_multiple
from simulator.ambibench.prompt import Item, whole_text
from simulator.errors import InputError
from trees.faults import Fault

APP = typer.Typer()
APP.command()(generate_command)
RUN = CliRunner()


def read_items(path: Path) -> tuple[tuple[Item, ...], tuple[Fault, ...]]:
    """The items of a file without their lines, and its faults."""
    items, faults = read_file(path)
    return tuple(item for item, _ in items), faults


def generate(out: Path, *options: str) -> Result:
    return RUN.invoke(APP, ["--out", str(out), *options], catch_exceptions=False)


def test_items_of_a_setting(tmp_path: Path) -> None:
    out = tmp_path / "a.jsonl"
    result = generate(out, "--setting", "multiple", "--kind", "informative", "--per-cell", "2", "--seed", "5")
    assert result.exit_code == 0
    assert read_items(out) == (generate_multiple(5, "informative", per_cell=2), ())
    assert f"Wrote 24 items to {out}." in result.output.replace("\n", "")
    cells = re.findall(r"^\S+ +\S+ +(\d+) \((\d+)\) +(\d+) \((\d+)\) +(\d+) \((\d+)\)", result.output, re.M)
    assert sum(int(cell[4]) for cell in cells) == 24
    assert all(int(cell[0]) + int(cell[2]) == int(cell[4]) for cell in cells)
    assert re.search(r"all +12 \(240\) +12 \(240\) +24 \(480\)", result.output)


def test_the_same_command_writes_the_same_bytes(tmp_path: Path) -> None:
    first, second = tmp_path / "1.jsonl", tmp_path / "2.jsonl"
    generate(first, "--per-cell", "3", "--design", "free_coins", "--location-word", "location")
    generate(second, "--per-cell", "3", "--design", "free_coins", "--location-word", "location")
    assert first.read_bytes() == second.read_bytes()
    assert read_items(first)[0] == generate_instruction(
        0, per_cell=3, design="free_coins", location_word="location"
    )


def test_records_to_finetune_on(tmp_path: Path) -> None:
    out = tmp_path / "train.jsonl"
    options = ("--setting", "ft_train", "--fold", "propn_negation", "--variant", "control")
    assert generate(out, *options, "--control", "reference", "--form", "openai").exit_code == 0
    expected = generate_finetune(0, "propn_negation", "control", control="reference")
    records = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    assert [set(record) for record in records] == [{"prompt", "completion"}] * 272
    assert [record["prompt"] + record["completion"] for record in records] == [
        whole_text(prompt) for prompt in expected
    ]
    for record, prompt in zip(records, expected, strict=True):
        cut, label = (">", "[XY]") if prompt.format == "arrow" else ("\nA:", " [XY]")
        assert record["prompt"].endswith(cut)
        assert re.fullmatch(label, record["completion"])


def test_texts_to_be_read(tmp_path: Path) -> None:
    out = tmp_path / "a.txt"
    assert generate(out, "--format", "qa", "--per-cell", "1", "--form", "text").exit_code == 0
    expected = [whole_text(prompt) for prompt in generate_instruction(0, per_cell=1) if prompt.format == "qa"]
    assert out.read_text(encoding="utf-8") == "\n\n".join(expected) + "\n\n"
    generate(out, "--setting", "aws", "--per-cell", "1", "--second-name", "--form", "text")
    assert out.read_text(encoding="utf-8").count("\nOutput:\n\n") == 40


def test_everything_is_in_one_file(tmp_path: Path) -> None:
    out = tmp_path / "all.jsonl"
    result = generate(out, "--setting", "all", "--seed", "2")
    records = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    assert len({record["id"] for record in records}) == len(records)
    assert Counter(record["setting"] for record in records) == {
        "instruction": 2 * 720,
        "multiple": 720,
        "wug": 720,
        "ft_train": 6 * 272,
        "ft_eval": 3 * 240,
        "verbalise": 120,
        "aws": 400,
    }
    assert re.search(r"greek +│ yes +│ 50", result.output)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("--setting", "4.2"), "setting '4.2': must be one of instruction, .*, all"),
        (("--setting", "all", "--per-cell", "2"), "setting all: drawn as in the paper"),
        (("--setting", "multiple", "--form", "openai"), "only items that ask for one label"),
        (("--setting", "ft_train", "--per-cell", "2"), "per_cell 2: the setting ft_train has no such option"),
        (("--fold", "propn_negation"), "fold 'propn_negation': the setting instruction has no such option"),
        (("--setting", "aws", "--format", "qa"), "format 'qa': the setting aws has no such option"),
    ],
)
def test_wrong_options_are_named_and_nothing_is_written(
    tmp_path: Path, options: tuple[str, ...], problem: str
) -> None:
    out = tmp_path / "a.jsonl"
    with pytest.raises(InputError, match=problem):
        generate(out, *options)
    assert list(tmp_path.iterdir()) == []
