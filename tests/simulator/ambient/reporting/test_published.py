"""The JSON of `askback score ambient` contains all reference values that published files can confirm."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from ambient_rows import Call, by_kind, spelled

from logs import LogReader
from simulator.ambient import trial_log
from simulator.ambient.files.kinds import TABLES
from simulator.stats import half_up

Json = dict[str, Any]
Get = Callable[[Json], Any]


def dataset(key: str) -> Get:
    return lambda sections: sections["dataset"]["ambient"]["measures"][key]["value"]


def dataset_of(*path: str, measure: Callable[[Any], Any] = lambda value: value) -> Get:
    def get(sections: Json) -> Any:
        value = sections["dataset"]["ambient"]
        for key in path:
            value = value[key]
        return measure(value)

    return get


def measure(kind: str, name: str, *keys: str) -> Get:
    def get(sections: Json) -> Any:
        measures = sections[kind][name]["measures"]
        values = [measures[key]["value"] for key in keys]
        return values[0] if len(values) == 1 else values

    return get


def more(kind: str, name: str, *path: str) -> Get:
    def get(sections: Json) -> Any:
        value = sections[kind][name]
        for key in path:
            value = value[key]
        return value

    return get


def inference(model: str) -> Get:
    def get(sections: Json) -> Any:
        model_found = sections["nli"]["results"]["models"][model]
        return [[model_found[key]["mean"], model_found[key]["sd"]] for key in ("em", "f1", "group_em")]

    return get


def threshold(model: str) -> Get:
    return lambda sections: sections["nli"]["results"]["models"][model]["threshold"]


_VARIANTS = {
    "denominator=predicted labels": "denominator: predicted",
    "denominator=union (paper footnote 6 reading)": "denominator: union",
    "split()": "tokens: whitespace",
    "lower": "tokens: lower",
    "lower+nopunct": "tokens: lower, no punctuation",
    "wordpunct": "tokens: words and signs",
}
# The list of stop words behind this one is not told anywhere.
_NO_RULE = "lower+nopunct+stopwords"


def variants(name: str) -> Get:
    def get(sections: Json) -> Any:
        values = sections["generation"][name]["variants"]
        return {check: values[ours] for check, ours in _VARIANTS.items()}

    return get


def set_classifier(sections: Json) -> Any:
    section = sections["nli"]["results"]
    measures, model = section["measures"], section["models"]["roberta-large-wanli-set"]
    name = "roberta-large-wanli-set"
    by_label = [model["f1_by_label"][label] for label in ("contradiction", "entailment", "neutral")]
    return [measures[f"{name}.em"]["value"], measures[f"{name}.f1"]["value"], by_label]


def categories(sections: Json) -> Any:
    measures = sections["categories"]["category_annotations"]["measures"]
    return {key: measure["value"] for key, measure in measures.items() if key != "in_dataset"}


def generated(name: str) -> dict[str, Get]:
    return {
        f"A3.{name}.stored_mean": measure("generation", name, "edit_f1_stored"),
        f"A3.{name}.recomputed": measure("generation", name, "edit_f1_recomputed"),
        f"A3.{name}.from_generation": measure("generation", name, "edit_f1"),
        f"A3.{name}.variants": variants(name),
        f"A3.{name}.n_pred": more("generation", name, "n_pred"),
        f"A3.{name}.patterns": measure(
            "generation", name, "pattern_empty", "pattern_copied", "pattern_restated"
        ),
    }


def judged(name: str, mass: str) -> dict[str, Get]:
    templates = [f"template_{place}" for place in (1, 2, 3, 4)]
    return {
        f"A4.{name}.templates": measure("true_false", name, *templates, "accuracy"),
        f"A4.{name}.excl_null": measure("true_false", name, "answered_accuracy"),
        f"A4.{name}.all_four": measure("true_false", name, "all_four"),
        f"A4.{name}.inconsistent_pairs": measure("true_false", name, "inconsistent"),
        f"A4.{name}.inconsistent_pairs_sorted": more("true_false", name, "inconsistent_pairs", "reference"),
        f"A4.{name}.self_contradiction": more("true_false", name, "self_contradictions"),
        f"A4.{name}.tf_mass": measure("true_false", name, mass),
    }


WHERE: Mapping[str, Get] = {
    **{f"A1.{key}": dataset(key) for key in ("dev", "test", "curated", "generated")},
    "A1.total": dataset("examples"),
    "A1.n_ambiguous": dataset("number_ambiguous"),
    "A1.share_ambiguous": dataset("ambiguous"),
    "A1.share_multilabel": dataset("several_labels"),
    "A1.premise_share": dataset("premise"),
    "A1.hypothesis_share": dataset("hypothesis"),
    "A1.both_share": dataset("both"),
    "A1.xor_share": dataset("one_side"),
    "A1.label_distribution": dataset_of("label_sets"),
    "A1.avg_words": dataset("extra_words"),
    "A1.avg_words_dedup": dataset("extra_words_distinct"),
    "A1.two_rewrites": dataset("two_rewrites"),
    "A1.two_rewrites_ex": dataset("two_disambiguations"),
    "A1.categories": categories,
    "A1.ids_unique": dataset("examples"),
    "A1.dev_test_partition": dataset_of(
        "splits", measure=lambda splits: [splits["in_both"], splits["in_neither"] == 0]
    ),
    "A1.dev_test_vs_full": dataset_of("rows_that_differ", measure=lambda ids: dict.fromkeys(ids)),
    "A1.id_types": dataset_of("ids", measure=lambda ids: {"str": ids["text"], "int": ids["number"]}),
    "A1.test_ambiguous": dataset("ambiguous_test"),
    "A1.dev_ambiguous": dataset("ambiguous_dev"),
    "A1.labels_vs_disamb": dataset_of("labels_differ", measure=len),
    "A1.nonamb_with_disamb": dataset_of("unambiguous_with_disambiguations"),
    "A1.dup_label_disamb": dataset_of("several_of_one_label", measure=len),
    "A1.max_disamb": dataset_of("disambiguations", measure=lambda sizes: max(map(int, sizes))),
    "A1.cat_in_full": measure("categories", "category_annotations", "in_dataset"),
    **generated("davinci"),
    **generated("text-davinci-003"),
    **judged("davinci", "mass"),
    **judged("gpt-3.5-turbo", "answered"),
    "A5.davinci": measure("continuation", "davinci", "accuracy"),
    "A5.davinci.random": measure("continuation", "davinci", "random"),
    "A5.davinci.nan": measure("continuation", "davinci", "missing"),
    **{f"A6.{model}": inference(model) for model in ("roberta-large-mnli", "roberta-large-wanli")},
    "A6.binary_models": inference("binary_models"),
    **{f"A6.threshold.{model}": threshold(model) for model in ("roberta-large-mnli", "roberta-large-wanli")},
    "A6.threshold.binary_models": threshold("binary_models"),
    "A6.predictions.roberta-large-wanli-set": set_classifier,
    "A9.edit_f1_cases": more("edit_f1_cases", "edit_f1_cases", "computed"),
}


@pytest.fixture(scope="module")
def scored(published: Path) -> Json:
    """Return the command's output for all files."""
    import typer
    from typer.testing import CliRunner

    from simulator.ambient.benchmark import BENCHMARK
    from simulator.commands.report import files_command

    app = typer.Typer()
    app.command()(files_command(BENCHMARK))
    given = [str(published / "ambient"), str(published / "edit_f1_cases.json"), "--json"]
    result = CliRunner().invoke(app, given)
    assert result.exit_code == 0, result.output
    sections: Json = by_kind(result.stdout)
    return sections


def expected_values(published: Path) -> dict[str, Any]:
    checks = json.loads((published / "expected_examples.json").read_text(encoding="utf-8"))
    expected = {
        check["id"]: check["reproduced"]
        for check in checks
        if check["work"] == "AmbiEnt" and check["checkable_with_given_files"]
    }
    for name in ("davinci", "text-davinci-003"):
        del expected[f"A3.{name}.variants"][_NO_RULE]
    return expected


def same(expected: Any, computed: Any) -> bool:
    """Return True if values are equal after rounding to the expected digits."""
    if isinstance(expected, dict):
        return expected.keys() == computed.keys() and all(
            same(value, computed[key]) for key, value in expected.items()
        )
    if isinstance(expected, list):
        return len(expected) == len(computed) and all(map(same, expected, computed))
    if isinstance(expected, float):
        digits = -int(Decimal(repr(expected)).as_tuple().exponent)
        return float(half_up(computed, min(digits, 9))) == pytest.approx(expected, abs=1e-9)
    return bool(expected == computed)


def test_every_check_is_looked_for(published: Path) -> None:
    assert set(expected_values(published)) == set(WHERE)


@pytest.mark.each("check", sorted(WHERE))
def test_the_printed_digits_are_found(check: str, published: Path, scored: Json) -> None:
    expected, computed = expected_values(published)[check], WHERE[check](scored)
    assert same(expected, computed), f"{check}: {computed}, not {expected}"


def test_nothing_is_left_out_of_the_published_files(scored: Json) -> None:
    assert scored["faults"] == []
    assert scored["unreadable"] == []
    assert scored["generation"]["davinci"]["differences"] == []
    assert scored["generation"]["davinci"]["max_difference"] < 1e-9
    chance = scored["continuation"]["davinci"]["measures"]["random_examples"]
    assert (half_up(chance["value"], 1), chance["n"], chance["paper"]) == ("32.8", 543, 32.8)


FILES = {
    "results/TF_evaluation/davinci.jsonl": trial_log.true_false_records,
    "results/generative_evaluation/davinci-n4.jsonl": trial_log.generation_records,
    "results/continuation_evaluation/davinci/results.jsonl": trial_log.continuation_records,
    "results/multilabel/roberta-large-wanli-set/predictions.jsonl": trial_log.nli_records,
    "crowdworker_annotations_first60.jsonl": trial_log.crowd_records,
}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(file_name, marks=pytest.mark.slow if "davinci" in file_name else ())
        for file_name in FILES
    ],
)
def test_a_published_file_is_exported_from_the_log_unchanged(
    name: str, published: Path, tmp_path: Path, call: Call
) -> None:
    path, log = published / "ambient" / name, tmp_path / "log.sqlite"
    result = call("import", path, "--log", log)
    assert result.exit_code == 0, result.output
    kind = TABLES.kind_of(path)
    assert kind is not None
    with LogReader(log) as reader:
        exported = FILES[name](reader, [run.id for run in reader.runs()])
    # The log has crowdworkers' rows in the order of their items.
    expected = kind.read(path).rows
    assert sorted(map(spelled, exported), key=str) == sorted(map(spelled, expected), key=str)
