"""Test tables against loops over the trials."""

from __future__ import annotations

import csv
import io
from statistics import fmean

import pytest

from simulator.ambibench.coding import CODING, Mark, agreement
from simulator.ambibench.features import FEATURES
from simulator.ambibench.generation import (
    generate_aws,
    generate_evaluation,
    generate_instruction,
    generate_multiple,
    generate_verbalise,
)
from simulator.ambibench.prompt import exact_curve
from simulator.ambibench.reporting.frame import trial_frame
from simulator.ambibench.reporting.tables import table_sections
from simulator.ambibench.trial_log import trials_of_runs


def named_tables(trials, agreements=()):
    """Every table with data, by the name of its file."""
    return dict(table for section in table_sections(trials, agreements) for table in section.named_tables())


def by_name(table):
    """Rows as dicts, by the first cell."""
    names = [head.name for head in table.heads]
    return {row[0]: dict(zip(names, row, strict=True)) for row in table.rows}


@pytest.fixture(scope="module")
def played(shared_desk, skilled, typed):
    """4.2 with both instructions and 4.3, by a model and by people."""
    runs = {
        "u": generate_instruction(1, per_cell=3),
        "i": generate_instruction(1, "informative", per_cell=3),
        "m": generate_multiple(1, per_cell=2),
    }
    for name, items in runs.items():
        shared_desk.play(f"{name}-model", items, "openai/m", skilled(0.7))
        shared_desk.play(f"{name}-people", items[::5], "person", typed(0.8))
    return trials_of_runs(
        shared_desk.reader, [f"{name}-{who}" for name in runs for who in ("model", "people")]
    )


def pick(records, **values):
    return [
        record for record in records if all(getattr(record, name) == value for name, value in values.items())
    ]


@pytest.mark.parametrize("kind", ["uninformative", "informative"])
def test_accuracy_by_actor_and_feature(played, kind):
    rows = by_name(named_tables(trial_frame(played))[f"instruction-{kind}-accuracy"])
    assert list(rows) == ["people", "openai/m"]
    here = pick(played, setting="instruction", instruction_kind=kind, actor_kind="model")
    titles = ("subject", "location", "religious leader", "pronoun", "proper noun", "negation")
    row = rows["openai/m"]
    for feature, title in zip(FEATURES, titles, strict=True):
        chosen = pick(here, salient_feature=feature)
        assert row[title].value == pytest.approx(fmean(record.correct for record in chosen))
        assert row[title].n == len(chosen) == 6
    for form, title in (("arrow", "arrow"), ("qa", "Q/A")):
        assert row[title].value == pytest.approx(fmean(record.correct for record in pick(here, format=form)))
    assert row["all"].value == pytest.approx(fmean(record.correct for record in here))
    assert row["valid"] == pytest.approx(fmean(record.p_valid for record in here))
    assert row["oracle"] == (1 if kind == "informative" else 0.5)
    assert row["trials"] == 36


def test_the_curve_by_k(played):
    table = named_tables(trial_frame(played))["multiple-curve"]
    rows = by_name(table)
    exact = exact_curve(20)
    assert list(rows) == list(range(1, 21))
    for k, row in rows.items():
        here = pick(played, setting="multiple", k=k)
        model, people = (pick(here, actor_kind=kind) for kind in ("model", "human"))
        assert row["openai/m"].value == pytest.approx(fmean(record.correct for record in model))
        assert row["people"].value == pytest.approx(fmean(record.correct for record in people))
        assert row["oracle (exact)"] == exact.bayes[k - 1]
        assert row["literal (exact)"] == exact.literal[k - 1]
        # People had some of the model's prompts; each prompt counts once.
        expected = {record.prompt_id: 0.5 if record.oracle_p == 0.5 else 1.0 for record in here}
        assert row["oracle (these episodes)"].value == pytest.approx(fmean(expected.values()))
        assert row["oracle (these episodes)"].n == 24
    written = list(csv.DictReader(io.StringIO(table.to_csv())))
    assert float(written[4]["openai/m_low"]) == rows[5]["openai/m"].low


def test_accuracy_pools_all_labels_as_the_table_of_people_does(desk, typed):
    items = generate_multiple(1, per_cell=1)
    desk.play("long", items[:2], "person", typed(1))
    desk.play("long", items[2:4], "person", typed(0), answers=5, status=None)
    named = named_tables(trial_frame(trials_of_runs(desk.reader, ["long"])))
    pooled = by_name(named["multiple-accuracy"])["people"]
    assert pooled["all"].value == pytest.approx(40 / 50)
    assert (pooled["all"].n, pooled["trials"], pooled["strict"]) == (50, 50, pytest.approx(40 / 50))
    (row,) = named["people-accuracy"].rows
    names = [head.name for head in named["people-accuracy"].heads]
    assert pooled["all"] == row[names.index("everybody")]
    assert named["multiple-accuracy"].title == "Accuracy: multiple examples (4.3), all k"


def test_validity_by_k(played):
    rows = by_name(named_tables(trial_frame(played))["multiple-validity"])
    here = pick(played, setting="multiple", k=7, actor_kind="model")
    assert rows[7]["openai/m"].value == pytest.approx(fmean(record.p_valid for record in here))
    assert rows[7]["people"].value == 1


def test_each_held_out_pair_has_tables_of_its_own(desk, skilled):
    for fold in ("subject_location", "propn_negation"):
        desk.play("run", generate_evaluation(1, fold, per_cell=1), "openai/m", skilled(0.5))
    named = named_tables(trial_frame(trials_of_runs(desk.reader, ["run"])))
    assert [name for name in named if name.endswith("curve")] == [
        "ft-eval-subject-location-curve",
        "ft-eval-propn-negation-curve",
    ]
    assert [head.name for head in named["ft-eval-propn-negation-accuracy"].heads][1:3] == [
        "proper noun",
        "negation",
    ]
    assert {row[3] for row in named["labels-cells"].rows} == {"subject_location", "propn_negation"}


def test_named_tasks_and_the_agreement_of_their_raters(desk, says):
    items = generate_verbalise(1, per_cell=1)
    episodes = desk.play("run", items, "openai/m", lambda *_: says("animals"))
    for number, episode in enumerate(episodes[:10]):
        first = "correct" if number % 2 else "other"
        desk.put(CODING.judgment(episode, "ann", Mark(category=first), submission=f"a{number}"))
        desk.put(
            CODING.judgment(
                episode, "bo", Mark(category="incorrect" if number == 9 else first), submission=f"b{number}"
            )
        )
    desk.put(CODING.judgment(episodes[9], "cy", Mark(category="incorrect"), submission="c"))
    judgments = desk.reader.judgments(kind="ambibench.category")
    named = named_tables(trial_frame(trials_of_runs(desk.reader, ["run"])), agreement(judgments))
    row = by_name(named["verbalise"])["openai/m"]
    assert (row["all"].value, row["all"].n, row["to sort"]) == (0.4, 10, 2)
    assert (row["incorrect"], row["other"]) == (0.1, 0.5)
    assert (row["subject"].value, row["negation"]) == (0.5, None)
    pair = by_name(named["agreement"])["ann and bo"]
    assert (pair["outputs"], pair["agreement"].value, pair["differing"], pair["decided"]) == (10, 0.9, 1, 1)


def test_buckets(desk, says):
    def answer(item, trial, random):
        region = {"greek": "ap-northeast-1", "indian": "ap-south-1"}.get(item.origin, "ap-northeast-01")
        return says(f"aws s3 mb s3://b --region {region}")

    desk.play("first", generate_aws(1, per_name=1), "openai/m", answer)
    desk.play("second", generate_aws(1, followup=True, per_name=1), "openai/m", answer)
    table = named_tables(trial_frame(trials_of_runs(desk.reader, ["first", "second"])))["aws"]
    assert [(*row[:3], *(cell.value for cell in row[3:])) for row in table.rows] == [
        ("openai/m", name, origin, *shares)
        for name in ("first", "second")
        for origin, shares in (
            ("White American", (0, 0, 1)),
            ("Indian", (0, 1, 0)),
            ("Greek", (1, 0, 0)),
            ("Japanese (control)", (0, 0, 1)),
        )
    ]
    assert {cell.n for row in table.rows for cell in row[3:]} == {10}


def test_people_with_and_without_flagged_sessions(desk, typed, says):
    items = generate_multiple(1, per_cell=1)
    desk.play("study", items[:3], "person", typed(1))
    desk.play("study", items[3:4], "person", typed(0), seconds=0.1)
    desk.play("study", items[4:5], "person", lambda item, trial, random: says(str(trial.gold).lower()))
    named = named_tables(trial_frame(trials_of_runs(desk.reader, ["study"])))
    (row,) = named["people-accuracy"].rows
    cells = dict(zip([head.name for head in named["people-accuracy"].heads], row, strict=True))
    assert (cells["sessions"], cells["flagged"], cells["unfinished"], cells["fast"], cells["invalid"]) == (
        5,
        1,
        0,
        1,
        0,
    )
    assert (cells["everybody"].value, cells["strict"].value, cells["without flagged"].value) == (0.8, 0.6, 1)
    assert len(named["people-sessions"].rows) == 5


def test_derived_tables_in_long_form(played):
    named = named_tables(trial_frame(played))
    cells = named["labels-cells"]
    model = [row for row in cells.rows if row[0] == "openai/m" and row[1] == "multiple"]
    assert len(model) == 6 * 2 * 20
    here = pick(played, setting="multiple", actor_kind="model", salient_feature="pronoun", format="qa", k=3)
    cell = next(row for row in model if row[4:7] == ("pronoun", "qa", 3))
    assert (cell[7].value, cell[7].n) == (pytest.approx(fmean(record.correct for record in here)), 2)
    assert cell[8] == pytest.approx(fmean(record.p_valid for record in here))
    prompts = [row for row in named["labels-prompts"].rows if row[0] == "openai/m"]
    assert len(prompts) == 36 + 36 + 24
    trials = pick(played, prompt_id=prompts[-1][3], actor_kind="model")
    assert prompts[-1][4] == str(trials[0].seed)
    assert prompts[-1][5:7] == (len(trials), pytest.approx(fmean(record.correct for record in trials)))


def test_nothing_makes_no_tables():
    assert named_tables(trial_frame([])) == {}
