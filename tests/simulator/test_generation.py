"""Journals of what was generated, and work that is done so many at a time."""

from __future__ import annotations

import asyncio

import pytest

from simulator.errors import InputError
from simulator.generation import Journal, key_of, map_concurrently


def test_keys_follow_from_their_parts_alone():
    assert key_of("a", {"x": 1, "y": 2}) == key_of("a", {"y": 2, "x": 1})
    assert len({key_of("a"), key_of("b"), key_of("a", "b"), key_of("ab"), key_of(["a", "b"])}) == 5


def test_rows_are_there_again(tmp_path):
    path = tmp_path / "new" / "rows.jsonl"
    with Journal(path) as journal:
        journal.add("one", {"text": "Zwölf\nEier"})
        journal.add("two", {"text": ""})
    with Journal(path) as journal:
        assert journal.rows == {"one": {"text": "Zwölf\nEier"}, "two": {"text": ""}}
        journal.add("three", {"n": 3})
    with Journal(path) as journal:
        assert list(journal.rows) == ["one", "two", "three"]


def test_a_line_that_was_being_written_is_cut_off(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text('{"key": "one", "n": 1}\n{"key": "two", "n"')
    with Journal(path) as journal:
        assert journal.rows == {"one": {"n": 1}}
        journal.add("three", {"n": 3})
    assert path.read_text() == '{"key": "one", "n": 1}\n{"key": "three", "n": 3}\n'


@pytest.mark.parametrize("line", ['{"n": 1}', '{"key": 7}', "nothing", "[1]"])
def test_other_files_are_refused(tmp_path, line):
    path = tmp_path / "rows.jsonl"
    path.write_text(f'{{"key": "one"}}\n{line}\n')
    with pytest.raises(InputError, match="line 2"):
        Journal(path)


def test_rows_of_another_command_are_told(tmp_path):
    with Journal(tmp_path / "rows.jsonl") as journal:
        journal.add("one", {})
        journal.require_only({"one", "two"}, "model")
        with pytest.raises(InputError, match=r"of another command \(with another model\)"):
            journal.require_only({"two"}, "model")


def test_a_place_that_cannot_be_written_is_told(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be written"):
        Journal(tmp_path / "file" / "rows.jsonl")


def test_all_are_done_and_never_more_than_so_many_at_a_time():
    running, most, done = 0, 0, []

    async def do(value):
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0)
        running -= 1
        done.append(value)

    asyncio.run(map_concurrently(iter(range(9)), do, 3))
    assert sorted(done) == list(range(9)) and most == 3


def test_the_first_error_stops_the_others():
    begun, ended = [], []

    async def do(value):
        begun.append(value)
        if value == 1:
            raise ValueError("no")
        await asyncio.sleep(60)
        ended.append(value)

    with pytest.raises(ValueError, match="no"):
        asyncio.run(map_concurrently(iter(range(9)), do, 3))
    assert begun == [0, 1, 2] and not ended
