"""Test that figures draw the numbers that loops give, and name missing data."""

from __future__ import annotations

from dataclasses import replace
from statistics import fmean

import pytest

from simulator.ambibench.coding import CODING, Mark
from simulator.ambibench.features import PAIR_NAMES
from simulator.ambibench.generation import (
    generate_aws,
    generate_evaluation,
    generate_instruction,
    generate_multiple,
    generate_verbalise,
)
from simulator.ambibench.prompt import exact_curve
from simulator.ambibench.reporting.figures import FIGURES, chosen_figures
from simulator.ambibench.reporting.frame import trial_frame
from simulator.ambibench.trial_log import trials_of_runs
from simulator.errors import InputError
from simulator.figures import Bars, Level, Line, to_vega_lite

FEATURES = ("subject", "location", "religious leader", "pronoun", "proper noun", "negation")


COMMAND = "aws s3 mb s3://b --region ap-northeast-1"


@pytest.fixture(scope="module")
def whole(shared_desk, skilled, typed, says):
    """A small version of the paper's data: two models, and people where the paper has them."""
    desk, both = shared_desk, ("uninformative", "informative")
    for model, skill in (("openai/m", 0.8), ("local/t0pp", 0.4)):
        for kind in both:
            desk.play(f"{model}-{kind}", generate_instruction(1, kind, per_cell=2), model, skilled(skill))
        desk.play(f"{model}-m", generate_multiple(1, per_cell=2), model, skilled(skill, valid=skill))
        desk.play(f"{model}-w", generate_multiple(1, "wug", per_cell=1), model, skilled(skill))
        for fold in PAIR_NAMES:
            desk.play(f"{model}-f", generate_evaluation(1, fold, per_cell=1), model, skilled(skill))
        named = desk.play(f"{model}-v", generate_verbalise(1, per_cell=1), model, lambda *_: says("animals"))
        for number, episode in enumerate(named):
            desk.put(
                CODING.judgment(
                    episode, "ann", Mark(category="correct" if number < 3 else "other"), submission=episode
                )
            )
        for second in (False, True):
            desk.play(
                f"{model}-a", generate_aws(1, followup=second, per_name=1), model, lambda *_: says(COMMAND)
            )
    for kind in both:
        desk.play(f"people-{kind}", generate_instruction(2, kind, per_cell=1), "person", typed(0.9))
    desk.play("people-m", generate_multiple(2, per_cell=1), "person", typed(0.9))
    return trials_of_runs(desk.reader, [run.id for run in desk.reader.runs()])


def pick(records, **values):
    return [
        record for record in records if all(getattr(record, name) == value for name, value in values.items())
    ]


def marks(panel, kind):
    return {mark.name: mark for mark in panel.marks if isinstance(mark, kind)}


def drawn(number, records):
    figure, missing = FIGURES[number](trial_frame(records))
    assert missing == ()
    return figure


def test_all_of_them_can_be_drawn(whole):
    frame = trial_frame(whole)
    for number, build in FIGURES.items():
        figure, missing = build(frame)
        assert missing == (), number
        assert len(to_vega_lite(figure)["concat"]) == len(figure.panels)
        assert figure.name in (f"figure-{number}", f"figures-{number}")


def test_figure_2_has_people_and_models_by_task(whole):
    figure = drawn("2", whole)
    assert [panel.title for panel in figure.panels] == [
        "uninformative instruction",
        "informative instruction",
    ]
    for panel, kind in zip(figure.panels, ("uninformative", "informative"), strict=True):
        bars = marks(panel, Bars)
        assert list(bars) == ["people", "openai/m", "local/t0pp"]
        assert marks(panel, Level)["chance"].y == 0.5
        here = pick(whole, setting="instruction", instruction_kind=kind)
        for name, records in (
            ("people", pick(here, actor_kind="human")),
            ("openai/m", pick(here, actor_id="openai/m")),
        ):
            assert bars[name].categories == FEATURES
            means = [
                fmean(record.correct for record in pick(records, salient_feature=feature))
                for feature in ("subject", "location", "religious", "pronoun", "propn", "negation")
            ]
            assert bars[name].y == pytest.approx(means)
            assert all(
                low <= y <= high
                for low, y, high in zip(bars[name].low, bars[name].y, bars[name].high, strict=True)
            )


def test_figure_3_has_people_models_and_the_oracle(whole):
    (panel,) = drawn("3", whole).panels
    lines = marks(panel, Line)
    assert list(lines) == ["people", "openai/m", "local/t0pp", "oracle (exact)"]
    assert lines["oracle (exact)"].y == exact_curve(20).bayes
    for name, kind in (("people", "human"), ("openai/m", "model")):
        here = [
            record
            for record in pick(whole, setting="multiple", actor_kind=kind)
            if name in ("people", record.actor_id)
        ]
        assert lines[name].x == tuple(range(1, 21))
        assert lines[name].y == pytest.approx(
            [fmean(record.correct for record in pick(here, k=k)) for k in range(1, 21)]
        )


def test_figure_4_has_a_panel_per_pair(whole):
    figure = drawn("4", whole)
    titles = ["subject / location", "religious leader / pronoun", "proper noun / negation"]
    assert [panel.title for panel in figure.panels] == titles
    for panel, fold in zip(figure.panels, PAIR_NAMES, strict=True):
        lines = marks(panel, Line)
        assert list(lines) == ["openai/m", "local/t0pp", "oracle (exact)"]
        here = pick(whole, setting="ft_eval", fold=fold, actor_id="openai/m")
        assert lines["openai/m"].y[4] == fmean(record.correct for record in pick(here, k=5))
        assert panel.y_range == (0, 1)


def test_figure_4_tells_apart_what_a_model_was_trained_on(whole):
    records = [
        replace(record, ft_variant="control" if record.actor_id == "local/t0pp" else None)
        for record in pick(whole, setting="ft_eval")
    ]
    panel = drawn("4", records).panels[0]
    assert list(marks(panel, Line))[:2] == ["openai/m", "local/t0pp, finetuned (control)"]


def test_the_models_of_the_three_folds_are_one_line(desk, skilled):
    for fold in PAIR_NAMES:
        for variant in ("ambiguous", "control"):
            model = f"transformers/models/ambibench-{fold}-{variant}"
            desk.play(f"{fold}-{variant}", generate_evaluation(1, fold, per_cell=1), model, skilled(0.8))
    records = trials_of_runs(desk.reader, [run.id for run in desk.reader.runs()])
    assert {record.ft_variant for record in records} == {"ambiguous", "control"}
    for panel in drawn("4", records).panels:
        assert list(marks(panel, Line))[:2] == [
            "transformers/models/ambibench-ambiguous",
            "transformers/models/ambibench-control",
        ]


def test_figure_5_has_the_share_of_correct_names(whole):
    figure = drawn("5", whole)
    assert [panel.title for panel in figure.panels] == ["openai/m", "local/t0pp"]
    (bars,) = marks(figure.panels[0], Bars).values()
    assert bars.categories == FEATURES
    assert bars.y == (1, 0.5, 0, 0, 0, 0)


def test_figure_6_has_regions_by_origin_before_and_after(whole):
    figure = drawn("6", whole)
    assert [panel.title for panel in figure.panels] == [
        f"{model}: {when}"
        for model in ("openai/m", "local/t0pp")
        for when in ("first name of its origin", "after a second name")
    ]
    same, other, invalid = figure.panels[0].marks
    assert same.categories == ("White American", "Indian", "Greek", "Japanese (control)")
    assert (same.y, other.y, invalid.y) == ((1,) * 4, (0,) * 4, (0,) * 4)


def test_figure_7_has_the_probability_of_labels_of_models(whole):
    (panel,) = drawn("7", whole).panels
    lines = marks(panel, Line)
    assert list(lines) == ["openai/m", "local/t0pp"]
    here = pick(whole, setting="multiple", actor_id="local/t0pp", k=9)
    assert lines["local/t0pp"].y[8] == pytest.approx(fmean(record.p_valid for record in here))
    assert not marks(panel, Level)


def test_figure_8_compares_the_bracket_with_the_wug(whole):
    (panel,) = drawn("8", whole).panels
    lines = marks(panel, Line)
    assert list(lines)[:2] == ["openai/m, [category withheld]", "openai/m, wug"]
    bracket, wug = list(lines.values())[:2]
    assert (bracket.style, wug.style, bracket.colour) == ("solid", "dashed", wug.colour)
    here = pick(whole, setting="wug", actor_id="openai/m", k=2)
    assert wug.y[1] == fmean(record.correct for record in here)


@pytest.mark.parametrize(("number", "kind"), [("10", "informative"), ("12", "uninformative")])
def test_figures_10_and_12_have_each_model_by_feature(whole, number, kind):
    bars = marks(drawn(number, whole).panels[0], Bars)
    assert tuple(bars) == FEATURES
    assert bars["negation"].categories == ("openai/m", "local/t0pp")
    here = pick(
        whole, setting="instruction", instruction_kind=kind, salient_feature="negation", actor_kind="model"
    )
    assert bars["negation"].y == tuple(
        fmean(record.correct for record in pick(here, actor_id=model)) for model in ("openai/m", "local/t0pp")
    )


@pytest.mark.parametrize(("number", "kind"), [("11", "informative"), ("13", "uninformative")])
def test_figures_11_and_13_have_the_mean_over_models_by_format(whole, number, kind):
    bars = marks(drawn(number, whole).panels[0], Bars)
    assert list(bars) == ["arrow", "Q/A"]
    here = pick(whole, setting="instruction", instruction_kind=kind, actor_kind="model", format="qa")
    means = [
        fmean(record.correct for record in pick(here, salient_feature="propn", actor_id=model))
        for model in ("openai/m", "local/t0pp")
    ]
    assert bars["Q/A"].y[4] == pytest.approx(fmean(means))


def test_figures_14_to_18_have_a_panel_per_model(whole):
    figure = drawn("14-18", whole)
    assert [panel.title for panel in figure.panels] == ["openai/m", "local/t0pp"]
    lines = marks(figure.panels[1], Line)
    assert tuple(lines) == FEATURES
    here = pick(whole, setting="multiple", actor_id="local/t0pp", salient_feature="religious", k=11)
    assert lines["religious leader"].y[10] == fmean(record.correct for record in here)


def test_figure_19_has_t0pp_and_the_mean_over_the_others(whole):
    third = [
        replace(record, actor_id="openai/n", trial_id=f"n{record.trial_id}", correct=1 - record.correct)
        for record in pick(whole, setting="multiple", actor_id="openai/m")
    ]
    figure = drawn("19", [*whole, *third])
    assert [panel.title for panel in figure.panels] == ["local/t0pp", "mean over 2 models"]
    alone, others = (marks(panel, Line) for panel in figure.panels)
    here = pick(whole, setting="multiple", actor_id="local/t0pp", format="arrow", k=4)
    assert alone["arrow"].y[3] == fmean(record.correct for record in here)
    assert others["Q/A"].y == pytest.approx([0.5] * 20)


# What is missing


def test_without_trials_nothing_is_drawn_and_all_say_why():
    for number, build in FIGURES.items():
        figure, missing = build(trial_frame([]))
        assert figure is None, number
        assert any("askback run ambibench --setting" in reason for reason in missing), number


def test_a_figure_with_one_half_says_what_the_other_half_needs(whole):
    records = pick(whole, setting="instruction", instruction_kind="informative", actor_kind="model")
    figure, missing = FIGURES["2"](trial_frame(records))
    assert [panel.title for panel in figure.panels] == ["informative instruction"]
    assert missing[0].startswith("no people in setting instruction with uninformative instructions")
    assert "askback run ambibench --setting instruction --kind uninformative --model NAME" in missing[1]
    assert "no models in setting instruction with uninformative instructions" in figure.caption


def test_a_fold_that_is_missing_is_named(whole):
    records = pick(whole, setting="ft_eval", fold="propn_negation")
    figure, missing = FIGURES["4"](trial_frame(records))
    assert len(figure.panels) == 1
    assert [reason.rpartition("--fold ")[2].split()[0] for reason in missing] == [
        "subject_location",
        "religious_pronoun",
    ]


def test_outputs_that_nobody_has_sorted_are_named(desk, says):
    desk.play("v", generate_verbalise(1, per_cell=1), "openai/m", lambda *_: says("animals"))
    figure, missing = FIGURES["5"](trial_frame(trials_of_runs(desk.reader, ["v"])))
    assert figure is None
    assert missing[0].startswith("outputs of openai/m have not been sorted")


def test_models_with_one_instruction_only_make_no_figure_8(whole):
    records = [
        *pick(whole, setting="multiple", actor_id="openai/m"),
        *pick(whole, setting="wug", actor_id="local/t0pp"),
    ]
    figure, missing = FIGURES["8"](trial_frame(records))
    assert figure is None
    assert "no model has played both" in missing[0]


def test_numbers_of_figures_as_people_write_them():
    assert chosen_figures(["3"]) == ("3",)
    assert chosen_figures(["19,2", "15", "14-18"]) == ("2", "14-18", "19")
    assert chosen_figures(["all"]) == tuple(FIGURES)
    with pytest.raises(InputError, match="--figure 9: there is no such figure"):
        chosen_figures(["9"])
