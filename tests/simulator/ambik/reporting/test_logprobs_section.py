"""The report section on a published run's log-probabilities."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from simulator.ambik import conformal
from simulator.ambik.files.published import Logprobs, decisions_of
from simulator.ambik.predicting import calibrate, outcome
from simulator.ambik.reporting.file_sections import QUANTILES, logprobs_section
from simulator.ambik.terms import DEFAULT
from simulator.errors import InputError


def run_of(number: int) -> list[Logprobs]:
    generator = random.Random(number)
    letters = "ABCD"
    return [
        Logprobs(
            item=str(place),
            split="calibration",
            options={letter: f"take {letter}" for letter in letters},
            true_options=(generator.choice(letters),),
            top_tokens=tuple(generator.choices(letters, k=5)),
            top_logprobs=tuple(-generator.random() * 6 for _ in range(5)),
        )
        for place in range(number)
    ]


@pytest.mark.each("number", [2, 5, 9, 24])
@pytest.mark.each("target", [0.5, 0.8, 0.95])
def test_left_out_is_each_item_by_the_threshold_of_all_others(number: int, target: float) -> None:
    records = run_of(number)
    base = replace(DEFAULT, target_success=target, not_listed=True)
    rules = logprobs_section(records, "run.json", switches={"target_success": target}).data["rules"]
    decisions = decisions_of(records, "run.json")
    for tokens in ("merged", "raw_top5"):
        for quantile in QUANTILES:
            settings = replace(base, tokens=tokens, quantile=quantile)
            covered = 0
            for place, decision in enumerate(decisions):
                others = calibrate([*decisions[:place], *decisions[place + 1 :]], settings)
                covered += bool(outcome(decision, others, settings).covered)
            coverage = rules[f"{tokens}.{quantile}"]["left_out_coverage"]
            assert coverage == conformal.coverage(covered, number)


def test_the_chosen_help_rule_is_not_reported_under_the_other_name() -> None:
    records = run_of(24)
    sections = [
        logprobs_section(records, "run.json", switches={"help": rule, "target_success": 0.1})
        for rule in ("size", "original")
    ]
    tables = [section.tables[1].rows for section in sections]
    assert tables[0] == tables[1]
    assert any(row[2] != row[3] for row in tables[0])


def test_records_of_the_split_test_are_not_calibrated_on() -> None:
    records = run_of(24)
    mixed = [
        record.model_copy(update={"split": "test"}) if place >= 18 else record
        for place, record in enumerate(records)
    ]
    section = logprobs_section(mixed, "run.json")
    assert section.data["n"] == 18
    assert section.data["rules"] == logprobs_section(records[:18], "run.json").data["rules"]
    assert "6 records of the split test" in section.remarks[0]
    with pytest.raises(InputError, match="no record is of the split calib"):
        logprobs_section(mixed[18:], "run.json")
