"""Files are complete or absent."""

from __future__ import annotations

import os

import pytest

from simulator.errors import InputError
from simulator.output_files import write_atomically


@pytest.mark.parametrize(
    "content", [b"a\nb\xc3\xbc\n", "a\nbü\n", ["a\n", "bü\n"], (part for part in ("a\nb", "ü\n"))]
)
def test_what_is_written_are_the_same_bytes(tmp_path, content):
    path = write_atomically(tmp_path / "new" / "file.txt", content)
    assert path.read_bytes() == "a\nbü\n".encode()
    assert [file.name for file in path.parent.iterdir()] == ["file.txt"]


def test_what_was_there_stays_if_writing_breaks_off(tmp_path):
    path = write_atomically(tmp_path / "file.txt", "before")

    def parts():
        yield "after"
        raise RuntimeError("broken off")

    with pytest.raises(RuntimeError):
        write_atomically(path, parts())
    assert path.read_text() == "before"
    assert [file.name for file in tmp_path.iterdir()] == ["file.txt"]


def test_a_place_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="below cannot be written"):
        write_atomically(tmp_path / "file" / "below", "x")


def test_a_private_file_is_its_owners_alone(tmp_path):
    before = os.umask(0)
    try:
        paths = [write_atomically(tmp_path / str(private), "x", private=private) for private in (True, False)]
    finally:
        os.umask(before)
    assert [path.stat().st_mode & 0o777 for path in paths] == [0o600, 0o666]
