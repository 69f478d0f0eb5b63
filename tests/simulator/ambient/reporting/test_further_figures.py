"""Figures beyond the paper's: ids, items across files, ties, templates, chance, gold, tokens, marks."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from simulator.ambient.crowd import crowd_measures
from simulator.ambient.data import load_examples
from simulator.ambient.files.results import CROWD, LINGUISTS
from simulator.ambient.generation import TOKENIZERS
from simulator.ambient.records import ClaimRecord, CrowdRecord, Paraphrase
from simulator.ambient.reporting.answers import claims_results, kept_rewrites
from simulator.ambient.reporting.measures import Results
from simulator.ambient.reporting.sections import read_contents
from simulator.ambient.reporting.sources import Context, ReportSettings
from simulator.frames import Frames
from simulator.jsonlines import count_left_out


@pytest.fixture
def folder(published: Path) -> Path:
    return published / "ambient"


def section(paths: list[Path], kind: str, name: str, data: Path) -> Any:
    found = read_contents(Frames(files=tuple(paths), settings=ReportSettings(data=str(data))))
    return next(one for one in found.results if (one.kind, one.name) == (kind, name))


def shortened(source: Path, target: Path, change: Any) -> Path:
    lines = source.read_text(encoding="utf-8").splitlines()
    target.write_text("\n".join(change(lines)) + "\n", encoding="utf-8")
    return target


def test_ids_that_come_again_and_those_of_no_example_are_counted(folder: Path, tmp_path: Path) -> None:
    source = folder / "results" / "generative_evaluation" / "davinci-n4.jsonl"
    path = shortened(
        source,
        tmp_path / "m.jsonl",
        lambda lines: [
            *lines[:10],
            lines[0].replace('"generation":"', '"generation":"Again. ', 1),
            json.dumps(json.loads(lines[11]) | {"id": "no such id"}),
        ],
    )
    found = section([path], "generation", "m", folder)
    assert (found.data["duplicate_ids"], found.data["foreign_ids"]) == (1, 1)
    whole = section([source], "generation", "davinci", folder)
    assert (whole.data["duplicate_ids"], whole.data["foreign_ids"]) == (0, 0)


def test_different_items_of_files_and_the_best_template_are_reported(folder: Path, tmp_path: Path) -> None:
    results = folder / "results" / "TF_evaluation"
    part = shortened(results / "davinci.jsonl", tmp_path / "part.jsonl", lambda lines: lines[:-1])
    files = [results / "davinci.jsonl", results / "gpt-3.5-turbo.jsonl", part]
    found = section(files, "true_false", "davinci", folder)
    assert list(found.data["same_items"].values()) == [True, False]
    assert found.data["best_template"] == [4]
    assert section(files, "true_false", "gpt-3.5-turbo", folder).data["best_template"] == [1]


def test_chance_is_given_over_all_splits_and_the_test_split(folder: Path) -> None:
    file = folder / "results" / "continuation_evaluation" / "davinci" / "results.jsonl"
    found = section([file], "continuation", "davinci", folder)
    ambiguous = [one for one in load_examples(folder) if one.ambiguous]
    expected = sum(1 / (1 + len(one.disambiguations)) for one in ambiguous) / len(ambiguous)
    told = found.measure("random_all").value
    assert (told.value, told.n) == (pytest.approx(expected), 579)


def test_how_much_of_the_gold_linguists_wrote(folder: Path) -> None:
    """In the first rows, validators kept no rewrite word for word."""
    examples = {one.id: one for one in load_examples(folder)}
    read = LINGUISTS.read(folder / "linguist_annotations_first60.jsonl")
    found = kept_rewrites(read.rows, examples)
    assert found is not None and (found.value, found.n) == (0, 26)
    gold = [
        replace(one, rewrites=examples[one.id].disambiguations[:1]) for one in read.rows if one.id in examples
    ]
    some = kept_rewrites(gold, examples)
    ambiguous = [one for one in gold if examples[one.id].disambiguations]
    assert some is not None and some.value == pytest.approx(len(ambiguous) / 26)


def test_crowd_agreement_with_distractors_and_ties(folder: Path) -> None:
    read = CROWD.read(folder / "crowdworker_annotations_first60.jsonl")
    found = crowd_measures(read.rows)
    assert found["kappa_with_distractor"].n == 180 and found["kappa_disambiguated"].n == 120
    votes = [row.relabelled[slot] for row in read.rows for slot in row.true_slots]
    counts = [sorted((said.count(one) for one in set(said)), reverse=True) for said in votes]
    assert found["ties"]["two"] == sum(len(one) > 1 and one[0] == one[1] for one in counts)
    row = CrowdRecord(
        id="1",
        premise="p",
        hypothesis="h",
        side="premise",
        interpretations=("a", "b", "p"),
        labels=("entailment", "neutral", None),
        original=("neutral",) * 3,
        relabelled=(("entailment", "neutral", "contradiction"),) * 3,
        plausible=((True, True, False),) * 3,
    )
    odd = crowd_measures([row])
    assert (odd["ties"]["three"], odd["ties"]["two"], odd["repeated_distractors"]) == (2, 0, 1)
    assert odd["distractor_plausible"].n == 1 and odd["distractor_plausible_told_apart"] is None
    assert count_left_out(read.faults) == 0


def test_edit_f1_has_variants_without_stop_words_and_with_signs_one_by_one() -> None:
    assert TOKENIZERS["words and single signs"]('He said: "No!"') == ["He", "said", ":", '"', "No", "!", '"']
    assert TOKENIZERS["lower, no punctuation, no stop words"]("He went to the river bank.") == [
        *("went", "river"),
        "bank",
    ]


def test_unmarked_claims_are_flagged() -> None:
    claim = ClaimRecord(id="1", claim="c", cleaned="c", paraphrases=(Paraphrase("p", 0.9),))
    found = claims_results(Results(kind="claims", name="c", records=[claim]), Context())
    assert found.measure("flagged_of_all").value == 1
    assert found.measure("flagged").value is None and "no claim is marked" in found.measure("flagged").note
