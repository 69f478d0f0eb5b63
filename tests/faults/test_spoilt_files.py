"""Every reader of files that people bring ends well or names what is wrong; none ends in a traceback."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml
from shared_data import SHARED

from logs import LogError
from personas import TemplateError
from simulator.ambibench.files import item_line
from simulator.ambibench.files import read_file as read_ambibench
from simulator.ambibench.generation import generate_instruction
from simulator.ambient.files import kinds as ambient
from simulator.ambik import data as ambik
from simulator.clarq.results import read_results
from simulator.commands.files import check_files
from simulator.errors import AskbackError
from simulator.handmethat.data import load_tasks
from simulator.handmethat.files.episode import file_text
from simulator.handmethat.files.episode import read_file as read_episode
from simulator.handmethat.files.split import read_split
from simulator.jsonlines import write_lines
from simulator.models.budget import read_prices
from simulator.runner.build import read_script
from simulator.studies.files import read_study, scan_study
from trees import bounded
from trees.faults import TaskError
from trees.sources import scan_file

sys.path.insert(0, str(Path(__file__).parent))

from mutations import bombs, mutations

ROOT = Path(__file__).parents[2]
OURS = (AskbackError, LogError, TaskError, TemplateError)
Reader = Callable[[Path], object]


class Sample(NamedTuple):
    """A good file and who reads such files."""

    name: str
    content: bytes
    readers: tuple[Reader, ...]


def check(path: Path) -> object:
    return check_files([path])


def read_tasks(path: Path) -> object:
    return scan_file(path).tasks()


def script(path: Path) -> object:
    return read_script(path, "seeker")


def of_ambient(path: Path) -> object:
    return [kind.read(path) for kind in [ambient.TABLES.kind_of(path)] if kind is not None]


def of_ambik(path: Path) -> object:
    return [kind.read(path) for kind in [ambik.TABLES.kind_of(path)] if kind is not None]


EVERYBODY: tuple[Reader, ...] = (
    *(check, script, read_prices, read_study, read_tasks, read_results, read_ambibench),
    *(of_ambient, of_ambik, read_episode, read_split),
    *(kind.read for kind in (*ambient.TABLES.specs, *ambik.TABLES.specs)),
)


def own_samples(folder: Path) -> Iterator[Sample]:
    """Files in our own formats."""
    tasks = sorted((ROOT / "trees/tasks/en").glob("*.yaml"))[0].read_bytes()[:3000]
    yield Sample("tasks.yaml", tasks, (check, scan_file, read_tasks))
    study = (ROOT / "simulator/ambik/studies/robot.yaml").read_bytes()
    yield Sample("study.yaml", study, (scan_study, read_study, check))
    prices = (ROOT / "simulator/models/prices.yaml").read_bytes()[:1500]
    yield Sample("prices.yaml", prices, (read_prices,))
    moves = b"- hello\n- {text: x, give: ['1', '1.1'], before: 'Well,'}\n- text: |\n    two\n    lines\n"
    yield Sample("script.yaml", moves, (script,))
    yield Sample("split.json", b'{"train": ["a_1"], "validate": ["b_2"], "test": ["c_3"]}', (read_split,))
    episode = file_text(load_tasks()[0]).encode()
    yield Sample("HandMeThat_a.json", episode, (read_episode, check))
    items = folder / "items.jsonl"
    write_lines(items, map(item_line, generate_instruction(0)[:3]))
    yield Sample("items.jsonl", items.read_bytes()[:6000], (read_ambibench, check))


def published_samples() -> Iterator[Sample]:
    """The beginnings of published files, as far as they are at hand."""

    def head(path: Path, lines: int) -> bytes:
        with path.open("rb") as file:
            return b"".join(line for _, line in zip(range(lines), file, strict=False))[:8000]

    for path in sorted((SHARED / "ambient").glob("*.jsonl"))[:6]:
        yield Sample(path.name, head(path, 3), (of_ambient, check))
    for path in sorted((SHARED / "ambient/results").rglob("*.json*"))[:8]:
        yield Sample(path.name, head(path, 3), (of_ambient, check))
    for path in sorted((SHARED / "ambik").glob("*.csv")):
        yield Sample(path.name, head(path, 3), (of_ambik, check))
    for path in sorted((SHARED / "ambik").glob("*.json")):
        yield Sample(path.name, json.dumps(json.loads(path.read_bytes())[:2]).encode(), (of_ambik, check))
    for path in sorted((SHARED / "clarq/English").glob("*.json"))[:2]:
        yield Sample(path.name, path.read_bytes()[:6000], (read_tasks, check))
    for path in sorted((SHARED / "clarq/results").rglob("*.json"))[:1]:
        dialogues = [tasks[:1] for tasks in json.loads(path.read_bytes())[:1]]
        yield Sample(path.name, json.dumps(dialogues).encode(), (read_results, check))
    for path in sorted((SHARED / "ambibench").glob("*.json")):
        yield Sample(path.name, path.read_bytes()[:6000], (read_ambibench, check))


def tracebacks(path: Path, content: bytes, readers: tuple[Reader, ...], label: object) -> list[Any]:
    """Return the exceptions of readers of a file that are not our own errors."""
    path.write_bytes(content)
    escaped: list[Any] = []
    for reader in readers:
        try:
            reader(path)
        except OURS as error:
            assert str(error)
        except Exception as error:
            escaped.append((label, getattr(reader, "__name__", reader), repr(error)[:200]))
    path.unlink()
    return escaped


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("ASKBACK_HOME", str(tmp_path / "home"))


def test_spoilt_files_of_ours_are_named_faults(tmp_path, thorough):
    escaped, cases, copies = [], 0, 80 if thorough else 20
    for number, sample in enumerate(own_samples(tmp_path)):
        for place, spoilt in enumerate(mutations(number, sample.content, copies)):
            escaped += tracebacks(tmp_path / sample.name, spoilt, sample.readers, (sample.name, place))
            cases += 1
    assert escaped == []
    assert cases >= 7 * copies


def test_spoilt_published_files_are_named_faults(tmp_path, thorough):
    samples = list(published_samples())
    if not samples:
        pytest.skip(f"no published data in {SHARED}; ASKBACK_SHARED names the folder that holds data")
    escaped = []
    for number, sample in enumerate(samples):
        for place, spoilt in enumerate(mutations(number, sample.content, 25 if thorough else 5)):
            escaped += tracebacks(tmp_path / sample.name, spoilt, sample.readers, (sample.name, place))
    assert escaped == []


def test_files_that_stand_for_too_much_are_named_faults(tmp_path):
    """Deep, endless and exploding files, put before every reader, whatever its format."""
    escaped = []
    for name, content in bombs().items():
        began = time.process_time()
        escaped += tracebacks(tmp_path / name, content, EVERYBODY, name)
        if time.process_time() - began > 60:
            escaped.append((name, "takes for ever"))
    assert escaped == []


@pytest.mark.each(
    ("text", "problem"),
    [
        ("[" * 101 + "]" * 101, "deeper"),
        ("&a [*a]", "contains itself"),
        (
            "\n".join(["a0: &a0 [x, x]", *(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]" for n in range(1, 40))]),
            "aliases are expanded",
        ),
        ("x" * (bounded.MAX_CHARACTERS + 1), "characters"),
        ("when: 2026-99-99", "month"),
    ],
)
def test_bounds_say_what_is_beyond_them(text, problem):
    with pytest.raises(yaml.YAMLError, match=problem):
        bounded.load(text)


def test_within_the_bounds_yaml_is_read_as_ever():
    text = "a: &a {b: [1, 2.5, yes, null]}\nc: *a\nd: {<<: *a, e: 2026-11-22}\n"
    assert bounded.load(text) == yaml.safe_load(text)
    assert bounded.load("") is None
