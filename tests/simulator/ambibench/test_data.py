from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from simulator.ambibench.data import Draw, generate_items, item_files, load_items
from simulator.ambibench.data_command import register
from simulator.ambibench.features import FEATURES
from simulator.ambibench.files import item_line
from simulator.ambibench.generation import (
    generate_aws,
    generate_evaluation,
    generate_finetune,
    generate_instruction,
    generate_multiple,
)
from simulator.errors import InputError
from simulator.jsonlines import write_lines


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASKBACK_HOME", str(tmp_path / "home"))


def test_builtin_items_are_those_of_the_generators() -> None:
    small = Draw(seed=7, per_cell=1)
    assert load_items(draw=small) == generate_instruction(7, per_cell=1)
    assert generate_items("multiple", kind="informative", draw=small) == generate_multiple(
        7, "informative", per_cell=1
    )
    assert load_items(setting="wug", draw=small) == generate_multiple(7, "wug", per_cell=1)
    assert load_items(setting="ft_train", fold="propn_negation", variant="control") == generate_finetune(
        0, "propn_negation", "control"
    )
    assert load_items(setting="ft_eval", fold="propn_negation", draw=small) == generate_evaluation(
        7, "propn_negation", per_cell=1
    )
    assert load_items(setting="aws", draw=Draw(per_cell=2, second_name=True)) == generate_aws(
        0, followup=True, per_name=2
    )


@pytest.mark.each(
    ("setting", "count"),
    [("instruction", 720), ("ft_train", 6 * 272), ("verbalise", 120), ("aws", 200)],
)
def test_sizes_are_the_papers(setting: Any, count: int) -> None:
    items = load_items(setting=setting)
    assert len(items) == len({item.id for item in items}) == count
    assert {item.setting for item in items} == {setting}


def test_what_is_not_wanted_is_left_out() -> None:
    prompts = generate_items("instruction", format="qa", draw=Draw(per_cell=3))
    assert Counter((prompt.salient, prompt.format) for prompt in prompts) == {
        (feature, "qa"): 3 for feature in FEATURES
    }


@pytest.mark.each(
    ("options", "problem"),
    [
        ({"kind": "wug"}, "kind 'wug': must be one of uninformative, informative"),
        ({"setting": "wug", "kind": "informative"}, "kind 'informative': must be one of wug"),
        ({"setting": "ft_eval", "kind": "informative"}, "kind 'informative': must be one of uninformative"),
        ({"fold": "propn_negation"}, "fold 'propn_negation': the setting instruction has no such option"),
        ({"setting": "ft_eval", "variant": "control"}, "variant 'control': the setting ft_eval has no"),
        ({"setting": "aws", "format": "qa"}, "format 'qa': the setting aws has no such option"),
        ({"draw": Draw(length=4)}, "length 4: the setting instruction has no such option"),
        ({"setting": "ft_train", "draw": Draw(per_cell=4)}, "per_cell 4: the setting ft_train has no such"),
        ({"draw": Draw(control="reference")}, "control 'reference': the setting instruction has no"),
        ({"setting": "aws", "draw": Draw(per_cell=73)}, "per_cell 73: a name has 72 prompts at most"),
    ],
)
def test_wrong_options_are_named(options: dict[str, Any], problem: str) -> None:
    with pytest.raises(InputError, match=re.escape(problem)):
        generate_items(**{"setting": "instruction", "draw": Draw(), **options})
    with pytest.raises(InputError, match="choose a setting"):
        load_items(setting=None)


def test_items_of_files_are_chosen_by_setting_and_more(tmp_path: Path) -> None:
    small = Draw(per_cell=1)
    first = [*load_items(draw=small), *generate_items("instruction", kind="informative", draw=small)]
    second = [*load_items(setting="ft_eval", draw=Draw(per_cell=1)), *load_items(setting="aws")]
    write_lines(tmp_path / "data" / "a.jsonl", map(item_line, first))
    write_lines(tmp_path / "data" / "deep" / "b.jsonl", map(item_line, second))
    (tmp_path / "data" / ".hidden.jsonl").write_text("[", encoding="utf-8")
    folder = tmp_path / "data"
    assert item_files(folder) == (folder / "a.jsonl", folder / "deep" / "b.jsonl")
    assert load_items(folder, setting=None) == (*first, *second)
    assert load_items(str(folder)) == tuple(first)
    assert load_items(folder, setting="aws") == tuple(second[12:])
    assert len(load_items(folder, setting="ft_eval", fold="propn_negation")) == 4
    assert load_items(folder, draw=Draw(seed=9)) == tuple(first)
    with pytest.raises(InputError, match="by setting: instruction 24, ft_eval 12, aws 200"):
        load_items(folder, setting="multiple")
    with pytest.raises(InputError, match="drawing options are for 'builtin'"):
        load_items(folder, draw=Draw(per_cell=1))


def test_a_fold_that_a_file_does_not_tell_is_told_by_the_pair(tmp_path: Path) -> None:
    train = [replace(prompt, fold=None) for prompt in generate_finetune(0, "propn_negation")[:100]]
    write_lines(tmp_path / "a.jsonl", map(item_line, train))
    pair = train[0].pair
    assert {prompt.pair for prompt in train} == {pair}
    assert len(load_items(tmp_path / "a.jsonl", setting="ft_train", fold="propn_negation")) == 100
    with pytest.raises(InputError, match="contain no such items"):
        load_items(tmp_path / "a.jsonl", setting="ft_train", fold=pair)


def test_registered_data_have_a_name(tmp_path: Path) -> None:
    items = load_items(draw=Draw(per_cell=1))
    write_lines(tmp_path / "a.jsonl", map(item_line, items))
    register(tmp_path / "a.jsonl", "mine")
    (tmp_path / "a.jsonl").unlink()
    assert load_items("mine") == items


def test_data_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"neither 'builtin', nor registered .* nor a path"):
        load_items("nothing-such")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="contains no file of AmbiBench items"):
        load_items(tmp_path / "empty")


def test_faulty_files_are_refused_and_say_where(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    write_lines(path, map(item_line, load_items(draw=Draw(per_cell=1))))
    text = path.read_text(encoding="utf-8").replace('"format": "qa"', '"format": "xml"', 2)
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=r'a.jsonl:2: .*format is "xml".*and 1 more: run `askback check`'):
        load_items(path)


def test_the_same_id_in_two_files_is_refused(tmp_path: Path) -> None:
    items = load_items(draw=Draw(per_cell=1))
    write_lines(tmp_path / "a.jsonl", map(item_line, items))
    write_lines(tmp_path / "b.jsonl", map(item_line, items[:1]))
    with pytest.raises(InputError, match=r"is both in .*a.jsonl and in .*b.jsonl"):
        load_items(tmp_path)


def test_options_out_of_their_range_are_refused() -> None:
    for options in ({"per_cell": 0}, {"length": 0}, {"design": "latin"}):
        with pytest.raises(ValidationError):
            Draw(**options)
