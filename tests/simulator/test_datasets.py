from __future__ import annotations

import json
import os
import stat
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from logs.paths import home
from simulator import datasets
from simulator.datasets import Added, add, data_folder, find, list_all, remove
from simulator.errors import InputError


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ASKBACK_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "source"
    (folder / "in").mkdir(parents=True)
    (folder / "in" / "a.txt").write_text("a", encoding="utf-8")
    (folder / "b.txt").write_text("b", encoding="utf-8")
    return folder


def everything(folder: Path) -> Mapping[str, Path]:
    return {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}


def accept(folder: Path) -> Mapping[str, Any]:
    return {"files": len(everything(folder))}


def add_all(source: Path, name: str = "toys") -> Added:
    return add(name, "clarq", source, everything, accept)


def pack(path: Path, entries: Mapping[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    return path


def leftovers() -> list[str]:
    root = data_folder()
    return [path.name for path in root.rglob(".*")] if root.exists() else []


def test_home_is_the_users_unless_the_environment_says_otherwise(
    own_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert home() == own_home
    monkeypatch.setenv("ASKBACK_HOME", "~/x")
    assert home() == Path.home() / "x"
    monkeypatch.delenv("ASKBACK_HOME")
    assert home().name == "askback"


def test_data_are_copied_and_described(source: Path) -> None:
    added = add_all(source)
    assert added.changed
    assert {name: path.read_text("utf-8") for name, path in everything(added.dataset.folder).items()} == {
        "in/a.txt": "a",
        "b.txt": "b",
    }
    assert added.dataset.details == {"files": 2}
    assert find("toys") == added.dataset
    assert list_all() == (added.dataset,)
    assert leftovers() == []


def test_adding_the_same_again_changes_nothing(source: Path, tmp_path: Path) -> None:
    first = add_all(source)
    assert add_all(source) == Added(first.dataset, changed=False)
    zipped = pack(tmp_path / "x.zip", {"in/a.txt": b"a", "b.txt": b"b"})
    assert add_all(zipped) == Added(first.dataset, changed=False), "the same files out of a zip"


def test_new_files_take_the_place_of_the_old(source: Path) -> None:
    first = add_all(source)
    (source / "b.txt").write_text("c", encoding="utf-8")
    second = add_all(source)
    assert second.changed
    assert second.dataset.content != first.dataset.content
    assert find("toys") == second.dataset
    assert not first.dataset.folder.exists()


def test_a_copy_that_was_lost_is_made_again(source: Path) -> None:
    first = add_all(source)
    (first.dataset.folder / "b.txt").unlink()
    for path in first.dataset.folder.rglob("*.txt"):
        path.unlink()
    (first.dataset.folder / "in").rmdir()
    first.dataset.folder.rmdir()
    assert add_all(source).changed
    assert everything(first.dataset.folder).keys() == {"in/a.txt", "b.txt"}


def test_a_failed_check_leaves_the_old_data(source: Path) -> None:
    first = add_all(source)
    (source / "b.txt").write_text("c", encoding="utf-8")

    def refuse(folder: Path) -> Mapping[str, Any]:
        raise InputError("not good")

    with pytest.raises(InputError, match="not good"):
        add("toys", "clarq", source, everything, refuse)
    with pytest.raises(InputError, match="not good"):
        add("new", "clarq", source, everything, refuse)
    assert list_all() == (first.dataset,)
    assert [entry.name for entry in data_folder().iterdir()] == ["toys"]
    assert leftovers() == []


def test_killed_before_the_manifest_is_written(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = add_all(source)
    (source / "b.txt").write_text("c", encoding="utf-8")

    def die(dataset: datasets.Dataset) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(datasets, "_point_at", die)
        with pytest.raises(KeyboardInterrupt):
            add_all(source)
    assert find("toys") == first.dataset
    assert everything(first.dataset.folder)
    assert add_all(source).changed, "the copy that lies there is taken"


def test_removal(source: Path) -> None:
    add_all(source)
    assert remove("toys").name == "toys"
    assert list_all() == ()
    assert list(data_folder().iterdir()) == []
    assert (source / "b.txt").exists()
    with pytest.raises(InputError, match="no data are registered as 'toys'; registered: nothing"):
        remove("toys")


@pytest.mark.parametrize("name", ["", "../x", "a/b", "Toys", ".hidden", "x" * 65])
def test_bad_names(source: Path, name: str) -> None:
    with pytest.raises(InputError, match="lower case"):
        add_all(source, name)
    assert find(name) is None


@pytest.mark.parametrize(
    "name", ["../evil.txt", "in/../../evil.txt", "/evil.txt", "..\\evil.txt", "C:\\evil.txt", "c:evil.txt"]
)
def test_zips_cannot_write_elsewhere(tmp_path: Path, name: str) -> None:
    before = set(tmp_path.parent.iterdir())
    with pytest.raises(InputError, match="points outside the archive"):
        add_all(pack(tmp_path / "x.zip", {"good.txt": b"", name: b"evil"}))
    assert list_all() == ()
    assert not list(tmp_path.rglob("*evil*"))
    assert set(tmp_path.parent.iterdir()) == before


def test_links_in_zips_are_refused(tmp_path: Path) -> None:
    link = zipfile.ZipInfo("link")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        archive.writestr(link, "/etc/passwd")
    with pytest.raises(InputError, match="'link' is a link"):
        add_all(tmp_path / "x.zip")


def test_zip_bombs_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(datasets, "MAX_BYTES", 3_000_000)
    bomb = pack(tmp_path / "x.zip", {f"{number}": bytes(2_000_000) for number in range(2)})
    assert bomb.stat().st_size < 10_000
    with pytest.raises(InputError, match="more than 5000 files or 3 MB"):
        add_all(bomb)
    monkeypatch.setattr(datasets, "MAX_FILES", 1)
    with pytest.raises(InputError, match="more than 1 files"):
        add_all(pack(tmp_path / "y.zip", {"a": b"", "b": b""}))
    assert leftovers() == []


def test_big_folders_are_refused(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(datasets, "MAX_FILES", 1)
    with pytest.raises(InputError, match="more than 1 files"):
        add_all(source)


def test_broken_zips_and_other_files(tmp_path: Path) -> None:
    good = pack(tmp_path / "x.zip", {"a.txt": os.urandom(5_000)})
    spoilt = bytearray(good.read_bytes())
    spoilt[1_000:1_100] = bytes(100)
    good.write_bytes(spoilt)
    with pytest.raises(InputError, match=r"x\.zip: cannot be unpacked"):
        add_all(good)
    with pytest.raises(InputError, match=r"y\.zip: cannot be unpacked"):
        add_all(pack(tmp_path / "y.zip", {"a": b"1", "a/b": b"2"}))
    (tmp_path / "z.txt").write_text("no zip", encoding="utf-8")
    with pytest.raises(InputError, match="neither a folder nor a zip; put the file into a folder"):
        add_all(tmp_path / "z.txt")
    with pytest.raises(InputError, match="no such file or folder"):
        add_all(tmp_path / "nowhere")


def test_a_spoilt_manifest_is_named(source: Path) -> None:
    add_all(source)
    manifest = data_folder() / "toys" / datasets.MANIFEST
    manifest.write_text(json.dumps({"name": "toys"}), encoding="utf-8")
    with pytest.raises(InputError, match=r"dataset\.json: cannot be read"):
        find("toys")
