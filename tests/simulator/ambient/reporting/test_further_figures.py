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
    contents = read_contents(Frames(files=tuple(paths), settings=ReportSettings(data=str(data))))
    return next(result for result in contents.results if (result.kind, result.name) == (kind, name))


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
    result = section([path], "generation", "m", folder)
    assert (result.data["duplicate_ids"], result.data["foreign_ids"]) == (1, 1)
    whole = section([source], "generation", "davinci", folder)
    assert (whole.data["duplicate_ids"], whole.data["foreign_ids"]) == (0, 0)


def test_different_items_of_files_and_the_best_template_are_reported(folder: Path, tmp_path: Path) -> None:
    results = folder / "results" / "TF_evaluation"
    part = shortened(results / "davinci.jsonl", tmp_path / "part.jsonl", lambda lines: lines[:-1])
    files = [results / "davinci.jsonl", results / "gpt-3.5-turbo.jsonl", part]
    result = section(files, "true_false", "davinci", folder)
    assert list(result.data["same_items"].values()) == [True, False]
    assert result.data["best_template"] == [4]
    assert section(files, "true_false", "gpt-3.5-turbo", folder).data["best_template"] == [1]


def test_chance_is_given_over_all_splits_and_the_test_split(folder: Path) -> None:
    file = folder / "results" / "continuation_evaluation" / "davinci" / "results.jsonl"
    result = section([file], "continuation", "davinci", folder)
    ambiguous = [example for example in load_examples(folder) if example.ambiguous]
    expected = sum(1 / (1 + len(example.disambiguations)) for example in ambiguous) / len(ambiguous)
    chance = result.measure("random_all").value
    assert (chance.value, chance.n) == (pytest.approx(expected), 579)


def test_how_much_of_the_gold_linguists_wrote(folder: Path) -> None:
    """In the first rows, validators kept no rewrite word for word."""
    examples = {example.id: example for example in load_examples(folder)}
    read = LINGUISTS.read(folder / "linguist_annotations_first60.jsonl")
    share = kept_rewrites(read.rows, examples)
    assert share is not None and (share.value, share.n) == (0, 26)
    gold = [
        replace(record, rewrites=examples[record.id].disambiguations[:1])
        for record in read.rows
        if record.id in examples
    ]
    gold_share = kept_rewrites(gold, examples)
    ambiguous = [record for record in gold if examples[record.id].disambiguations]
    assert gold_share is not None and gold_share.value == pytest.approx(len(ambiguous) / 26)


def test_crowd_agreement_with_distractors_and_ties(folder: Path) -> None:
    read = CROWD.read(folder / "crowdworker_annotations_first60.jsonl")
    measures = crowd_measures(read.rows)
    assert measures["kappa_with_distractor"].n == 180 and measures["kappa_disambiguated"].n == 120
    votes = [row.relabelled[slot] for row in read.rows for slot in row.true_slots]
    counts = [
        sorted((relabelled.count(label) for label in set(relabelled)), reverse=True) for relabelled in votes
    ]
    assert measures["ties"]["two"] == sum(len(tally) > 1 and tally[0] == tally[1] for tally in counts)
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
    results = claims_results(Results(kind="claims", name="c", records=[claim]), Context())
    assert results.measure("flagged_of_all").value == 1
    assert (
        results.measure("flagged").value is None and "no claim is marked" in results.measure("flagged").note
    )
