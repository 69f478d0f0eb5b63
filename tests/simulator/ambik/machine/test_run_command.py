"""`askback run ambik` and `askback score`: calibration before the test, resuming both, and refusals."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
import typer
from rich.console import Console

from logs import LogReader
from simulator.ambik.assignment import Settings as StudySettings
from simulator.ambik.assignment import episode_options
from simulator.ambik.benchmark import BENCHMARK
from simulator.ambik.data import load_pairs, load_scenarios
from simulator.ambik.playing import Options
from simulator.ambik.predicting import calibrate, outcome
from simulator.ambik.reporting.exporting import form_lines
from simulator.ambik.reporting.results import summary_section
from simulator.ambik.runs import RUNS, calibrated_on, require_matching
from simulator.ambik.selection import KitchenSelection, spread_evenly
from simulator.ambik.terms import DEFAULT, Settings
from simulator.ambik.trial_log import (
    calibration_of,
    conformal_sets,
    decisions,
    exchanges_of,
    forms,
    offered_by,
    options_of,
    played_of,
)
from simulator.commands.score import score_run
from simulator.errors import InputError
from simulator.models import Completion, ModelOptions, TokenLogprob, Unavailable
from simulator.orders import RunOrder, play_order
from simulator.reporting import json_text
from simulator.reports import run_summary
from simulator.runner.command import RunSettings
from simulator.runner.options import HERE, Engine
from simulator.seeds import derive_seed
from simulator.stats import Interval, wilson

# fmt: off
SPEC_13 = {
    "run_id", "version", "dataset", "dataset_version", "pair_id", "member", "type", "expected_help",
    "context", "dialogue", "method", "generator", "chooser", "decoding", "prompts", "raw_outputs",
    "options", "filled_options", "token_table", "scores", "affordance", "samples", "nonconformity", "q_hat",
    "epsilon", "n_calibration", "rank", "prediction_set", "certainty", "help", "icr_found", "icr_total",
    "icr", "hr", "chr", "ssc", "flags", "seed", "time",
}
# fmt: on


@pytest.fixture
def askback(commands):
    return commands(BENCHMARK)


def runs(path):
    with LogReader(path) as reader:
        return {run.id: run for run in reader.runs()}


class Model:
    """A language model of a few rules: what it writes and how sure it is depend on the prompt alone."""

    def __init__(self):
        self.asked = []
        self.broken = False

    def __call__(self, request):
        role = request.purpose.rpartition(".")[2]
        self.asked.append(role)
        if self.broken:
            raise Unavailable("the model is away")
        drawn = derive_seed(request.seed or 0, request.messages[-1].content)
        match role:
            case "generate":
                return "\n".join(
                    f"{letter}) Use thing {(drawn >> place) % 5}." for place, letter in enumerate("ABCD")
                )
            case "generate_one":
                return f"Use thing {drawn % 5}."
            case "certainty":
                return "uncertain" if drawn % 2 else "certain"
            case "ask":
                return "Which one shall I use?"
            case "choose":
                table = tuple((letter, -1.0 - (drawn >> place) % 7) for place, letter in enumerate("ABCD"))
            case _:
                table = (("True", -0.1 - drawn % 3), ("False", -2.0))
        best = max(table, key=lambda pair: pair[1])
        return Completion(text=best[0], logprobs=(TokenLogprob(*best, table),))


@pytest.fixture
def model():
    return Model()


@pytest.fixture
def order(log_path, model, console, tmp_path, monkeypatch):
    monkeypatch.setenv("ASKBACK_HOME", str(tmp_path / "home"))

    def make(*methods, name="t", robot="offline/script", rules=None, models=None, calibration=()):
        return RunOrder(
            benchmark=BENCHMARK,
            players={"robot": (robot,), "user": ("offline/item",)},
            selection=KitchenSelection(
                method=",".join(methods), limit=12, calibration_limit=8, calibration=calibration
            ),
            rules=Options(**(rules or {})),
            settings=RunSettings(
                log=log_path, models=models or ModelOptions(script=model), engine=HERE, name=name
            ),
            console=console,
        )

    return make


@pytest.fixture
def play(order):
    return lambda *methods, **more: play_order(RUNS, order(*methods, **more))


@pytest.fixture
def console():
    return Console(width=200, record=True, quiet=True)


def test_the_built_in_robots_play_both_members_of_the_test_part(askback, log_path):
    output = askback("run", "--limit", 12, "--model", "offline/kitchen", "--model", "offline/never-asks")
    logged = runs(log_path)
    assert [run.config["seats"]["robot"] for run in logged.values()] == [
        "offline/kitchen",
        "offline/never-asks",
    ]
    assert {run.config["planned"] for run in logged.values()} == {12}
    assert {run.config["dataset_version"] for run in logged.values()} == {"builtin"}
    assert "help rate" in output and "AmbDif" in output and "askback report ambik" in output
    with LogReader(log_path) as reader:
        for run in logged:
            parts = {(decision.item.part, decision.item.member) for decision in decisions(reader, [run])}
            assert parts == {("test", "ambiguous"), ("test", "clear")}
            assert not exchanges_of(played_of(reader, [run]))
    again = askback("run", "--limit", 12)
    assert len(runs(log_path)) == 2 and "12/12" in again


@pytest.mark.parametrize("option", ["--method", "--calibration-limit", "--samples", "--temperature"])
def test_options_of_methods_are_reported_if_none_is_played(askback, option):
    value = "knowno" if option == "--method" else 3
    output = askback("run", "--limit", 4, option, value)
    assert f"{option} has no effect here: it is for models, which play a method" in output
    assert "not for offline/kitchen" in output


def test_questions_are_answered_and_reported_before_and_after(askback, log_path):
    askback("run", "--model", "offline/always-asks", "--questions", 1, "--types", "preferences", "--member",
            "ambiguous", "--run", "q")  # fmt: skip
    with LogReader(log_path) as reader:
        exchanges = exchanges_of(played_of(reader, ["q"]))
        assert exchanges and all(len(exchange.questions) == 1 for exchange in exchanges)
        assert {exchange.before.item.type for exchange in exchanges} == {"preferences"}
        assert all(exchange.before.asked and not exchange.after.asked for exchange in exchanges)
        assert (exchanges[0].robot, exchanges[0].user) == ("offline/always-asks", "offline/item")
        measured = summary_section(reader, "q").data["exchange"]
        assert measured["asked when needed"].value == 1 and measured["asked when not needed"] is None
        assert measured["asked when needed"] == wilson(len(exchanges), len(exchanges))
        assert measured["right after"].value >= measured["right before"].value
        _, baselines = summary_section(reader, "q").tables
        assert all(isinstance(row[1], Interval) and isinstance(row[-1], Interval) for row in baselines.rows)
    output = askback("score", "q", "--json")
    (section,) = json.loads(output)["sections"]
    assert section["data"]["exchange"]["questions"]["value"] == 1


def test_a_conformal_method_is_calibrated_first(play, log_path, model):
    played = play("knowno")
    assert played == ("t",)
    logged_runs = runs(log_path)
    assert list(logged_runs) == ["t-calibration", "t"]
    option = logged_runs["t"].config["options"]["calibration"]
    with LogReader(log_path) as reader:
        logged = decisions(reader, ["t-calibration"])
        assert {decision.item.part for decision in logged} == {"calibration"} and len(logged) == 8
        assert all(decision.asked is None for decision in logged)
        made = calibrate(logged, DEFAULT, run="t-calibration")
        assert (option["q_hat"], option["n"], option["rank"]) == (made.q_hat, 8, 8)
        assert calibration_of(reader, "t") == made
        for decision in decisions(reader, ["t"]):
            assert decision.asked == outcome(decision, made, DEFAULT).help
            assert decision.item.part == "test"
        report = summary_section(reader, "t").data["calibration"]
        assert (report.n, report.rank, report.q_hat) == (8, 8, made.q_hat)
        json_text(run_summary(reader, BENCHMARK, ["t"]))
        assert offered_by(reader, "t").keys() == {decision.item.id for decision in decisions(reader, ["t"])}
        first = decisions(reader, ["t"])[0]
        shown = conformal_sets(reader, replace(first.item, options=("Something for people.",)))
        assert shown == (("t", outcome(first, made, DEFAULT).predicted),)
    before = len(model.asked)
    play("knowno")
    assert len(model.asked) == before


def test_a_study_takes_only_a_threshold_of_the_same_method_and_model(play, log_path):
    play("knowno")
    opposite = {"task": "decide", "opposite": "offline/script", "calibration": "t-calibration"}
    tests = KitchenSelection().tests()
    with LogReader(log_path) as reader:
        options = episode_options(StudySettings(**opposite, method="knowno"), reader, tests)
        assert options["calibration"] == runs(log_path)["t"].config["options"]["calibration"]
        for other in ({"method": "lap"}, {"method": "knowno", "opposite": "openai/gpt-4o"}):
            with pytest.raises(InputError, match=r"its (method|model) is"):
                episode_options(StudySettings(**{**opposite, **other}), reader, tests)
        with pytest.raises(InputError, match="no run"):
            episode_options(StudySettings(**{**opposite, "calibration": "x"}, method="knowno"), reader, tests)


def test_a_studys_threshold_is_of_the_runs_own_settings_and_of_other_items(play, log_path):
    play("knowno", rules={"settings": {"not_listed": True}})
    settings = StudySettings(
        task="decide", opposite="offline/script", method="knowno", calibration="t-calibration"
    )
    with LogReader(log_path) as reader:
        options = Options.read(episode_options(settings, reader, KitchenSelection().tests()))
        assert options.settings == Settings(not_listed=True) == options_of(reader, "t").settings
        made = calibrate(decisions(reader, ["t-calibration"]), options.settings)
        assert options.calibration.q_hat == made.q_hat
        with pytest.raises(InputError, match="contains the test item"):
            episode_options(settings, reader, KitchenSelection().calibrating())


def test_thresholds_can_be_changed_without_another_calibration(play, log_path, model):
    play("knowno", name=None)
    first = model.asked.count("generate")
    rules = {"settings": Settings(target_success=0.6, temperature=1.0)}
    play("knowno", name=None, rules=rules)
    assert [("calibration" in run) for run in runs(log_path)] == [True, False, False]
    assert model.asked.count("generate") == first + 12
    with LogReader(log_path) as reader:
        last = list(runs(log_path))[-1]
        assert calibration_of(reader, last).epsilon == 0.4
        assert options_of(reader, last).settings.temperature == 1.0


@pytest.mark.slow
def test_several_methods_each_have_their_calibration(play, log_path):
    played = play("knowno", "lap", "lofreecp", "binary", "nohelp")
    assert played == ("t-knowno", "t-lap", "t-lofreecp", "t-binary", "t-nohelp")
    assert [run for run in runs(log_path) if run not in played] == [
        "t-knowno-calibration", "t-lap-calibration", "t-lofreecp-calibration",
    ]  # fmt: skip
    with LogReader(log_path) as reader:
        for run in played:
            lines = list(form_lines(reader, run))
            assert len(lines) == 12
            for line in lines:
                assert line.keys() >= SPEC_13
                json.dumps(line, allow_nan=False)
        lap = next(iter(form_lines(reader, "t-lap")))
        assert lap["affordance"].keys() == lap["scores"].keys() == lap["options"].keys()
        assert set(lap["decoding"]) == {"generate", "choose", "afford"}
        assert lap["expected_help"] == (lap["type"] == "preferences")
        assert [prompt["role"] for prompt in lap["prompts"]][:2] == ["generate", "choose"]
        loose = next(iter(form_lines(reader, "t-lofreecp")))
        assert (
            sum(loose["samples"].values()) <= 20 and loose["similarities"].keys() == loose["samples"].keys()
        )
        assert [*score_run(reader, BENCHMARK, "t-binary")]


@pytest.mark.slow
def test_others_score_what_one_process_does(play, log_path):
    played = play("binary")
    with LogReader(log_path) as reader:
        alone, shared = (
            [replace(score, created_at="") for score in score_run(reader, BENCHMARK, played[0], engine)]
            for engine in (Engine(), Engine(workers=2))
        )
    assert alone and shared == alone


def test_a_run_that_is_there_serves_as_calibration(play, log_path):
    play("knowno", name="a")
    play("knowno", name="b", calibration=("a-calibration",))
    logged_runs = runs(log_path)
    assert "b-calibration" not in logged_runs
    assert logged_runs["b"].config["options"]["calibration"]["run"] == "a-calibration"


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"methods": ("lap",)}, "method"),
        ({"rules": {"context": "action_only"}}, "context"),
        ({"rules": {"settings": {"not_listed": True}}}, "not_listed"),
        ({"rules": {"chooser": "offline/script-two"}}, "chooser"),
        ({"robot": "offline/script2"}, "model"),
        ({"rules": {"max_tokens": 9}}, "max_tokens"),
    ],
)
def test_a_calibration_that_was_made_otherwise_is_refused(play, change, named):
    play("knowno", name="a")
    with pytest.raises(InputError, match=f"its {named} is"):
        play(*change.pop("methods", ["knowno"]), name="b", calibration=("a-calibration",), **change)


@pytest.mark.parametrize("name", ["data", "dataset", "similarity"])
def test_a_calibration_of_other_data_or_another_similarity_is_refused(play, log_path, name):
    play("lofreecp", name="a")
    options = runs(log_path)["a"].config["options"]
    with LogReader(log_path) as reader:
        require_matching(reader, "a-calibration", "offline/script", options)
        with pytest.raises(InputError, match=f"its {name} is"):
            require_matching(reader, "a-calibration", "offline/script", {**options, name: "knowno"})


def test_items_of_the_calibration_are_never_tested(play, log_path):
    play("knowno", name="a")
    with pytest.raises(InputError, match="contains the test item"):
        play("knowno", name="b", calibration=("a",))
    calibrating = KitchenSelection().calibrating()
    with LogReader(log_path) as reader:
        assert calibrated_on(reader, "a-calibration", DEFAULT, KitchenSelection().tests())
        with pytest.raises(InputError, match="contains the test item"):
            calibrated_on(reader, "a-calibration", DEFAULT, calibrating)
    with pytest.raises(InputError, match="none of these runs"):
        play("lap", name="b", calibration=("a", "a-calibration"))


def test_a_calibration_that_failed_is_played_again_before_the_test(play, log_path, model):
    model.broken = True
    models = ModelOptions(script=model, max_attempts=1)
    with pytest.raises(typer.Exit):
        play("knowno", models=models)
    assert list(runs(log_path)) == ["t-calibration"]
    model.broken = False
    assert play("knowno", models=models) == ("t",)
    assert list(runs(log_path)) == ["t-calibration", "t"]


def test_forms_are_filled_in_by_annotators_only(askback, log_path, tmp_path):
    script = tmp_path / "forms.yaml"
    script.write_text("- {delete: It is absurd.}\n", encoding="utf-8")
    output = askback("run", "--task", "annotate", "--model", f"script:{script}", "--limit", 3, "--run", "f")
    assert "3 forms" in output
    with LogReader(log_path) as reader:
        assert [form.delete for form in forms(reader, ["f"])] == ["It is absurd."] * 3
        assert reader.run("f").config["seats"] == {"annotator": f"script:{script}"}
        (line, *_) = form_lines(reader, "f")
        assert (line["form"]["delete"], line["seat"]) == ("It is absurd.", "annotator")
    assert "the annotator is" in askback("run", "--task", "annotate", error=InputError)


def test_methods_without_probabilities_are_refused_by_name(askback, log_path, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    message = askback("run", "--model", "anthropic/claude-sonnet-4-5", "--method", "knowno", error=InputError)
    assert "KnowNo" in message and "anthropic/claude-sonnet-4-5" in message and "--chooser" in message
    assert not log_path.exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--method", "guess"), "known are knowno"),
        (("--types", "sweet"), "the types are preferences"),
        (("--types", ","), "--types ',' names no type; the types are preferences"),
        (("--model", "offline/nobody"), "offline/nobody"),
        (("--user", "offline/nobody"), "offline/item"),
        (("--target-success", 1.5), "--target-success is 1.5; it must be less than 1"),
        (("--temperature", 0), "--temperature is 0.0; it must be greater than 0"),
        (("--model", "person"), "askback app"),
        (("--user", "person"), "askback app"),
        (("--data", "nowhere"), "nowhere"),
    ],
)
def test_errors_are_reported_before_anything_is_played(askback, log_path, arguments, message):
    assert message in askback("run", *arguments, error=InputError)
    assert not log_path.exists() or not runs(log_path)


def test_scenarios_that_are_all_for_calibration_can_be_divided(monkeypatch):
    scenarios = [
        replace(scenario, id=str(place), part="calibration")
        for place, scenario in enumerate(load_scenarios()[:6])
    ]
    monkeypatch.setattr("simulator.ambik.selection.load_scenarios", lambda data: tuple(scenarios))
    chosen = KitchenSelection(dataset="knowno", calibration_limit=4)
    assert [item.scenario.id for item in chosen.calibrating()] == ["0", "1", "2", "3"]
    assert [item.scenario.id for item in chosen.tests()] == ["4", "5"]
    for limit in (None, 6):
        with pytest.raises(InputError, match="--calibration-limit N"):
            chosen.model_copy(update={"calibration_limit": limit}).tests()


def test_reading_the_command_line():
    selection = KitchenSelection(method="lap, KnowNo", types="common-sense-knowledge,safety")
    assert (selection.methods, selection.named) == (("knowno", "lap"), True)
    assert selection.named_types == ("common_sense_knowledge", "safety")
    assert not KitchenSelection().named
    assert not KitchenSelection(method="ALL").named
    assert KitchenSelection(method="ALL").methods == KitchenSelection().methods
    assert KitchenSelection().named_types == ()
    assert spread_evenly(range(10), 4) == (0, 2, 5, 7)
    assert len(KitchenSelection().calibrating()) == len(load_pairs("builtin", "calibration"))
