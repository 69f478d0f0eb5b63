"""`askback report ambient`: runs and files, figures, forms, exports."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from ambient_rows import (
    HYPOTHESIS,
    PREMISE,
    READINGS,
    Call,
    by_kind,
    claim,
    crowd,
    estimates,
    example,
    generation,
    lines,
    linguists,
    plain,
    predicted,
    statements,
)

from logs import LogReader, LogWriter, erase_participant
from logs.rows import Ending, Episode, Participant, Run, Turn
from simulator.ambient.examples import Disambiguation, Example
from simulator.ambient.files.kinds import TABLES
from simulator.ambient.items import ContinueItem, Item, NliItem, item_row
from simulator.ambient.payloads import turn_content
from simulator.ambient.playing import Options, task_steps
from simulator.ambient.reporting.figures import FlowDiagram, label_sets_venn
from simulator.ambient.trial_log import crowd_records
from simulator.errors import InputError
from simulator.seats import Reply


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "log.sqlite"


def play(log: Path, run: str, item: Item, replies: Sequence[Reply], seat: str = "local/tiny") -> None:
    """Return an episode of an item as logged in play."""
    row = item_row(item)
    with LogWriter(log, durable=False) as writer:
        writer.put(Run(id=run, benchmark="ambient", setup="L2L", seed=0, config={"planned": 2}))
        writer.put(row)
        episode = Episode(
            id=f"{run}/{item.id}",
            run_id=run,
            item_hash=row.hash,
            language="en",
            seats={"annotator": seat},
            seed=0,
        )
        writer.put(episode)
        for number, (step, reply) in enumerate(zip(task_steps(item), replies, strict=True)):
            text, payload = turn_content(item, step, reply, Options(), person=False)
            writer.put(
                Turn(episode_id=episode.id, number=number, seat="annotator", text=text, payload=payload)
            )
        writer.put(Ending(episode_id=episode.id, status="completed"))


def continued(log: Path) -> None:
    item = ContinueItem(
        id="1.premise",
        example_id="1",
        side="premise",
        sentence=PREMISE,
        rewrites=tuple(READINGS.values()),
        distractor="The horse rang.",
    )

    def sampled(odds: float) -> Reply:
        lists = {"continuations": ["He left.", "She stayed."], "own": [-1.0, -2.0], "tokens": [3, 4]}
        return Reply(move={**lists, "original": [-1.0 - odds, -2.0 - 2 * odds]})

    play(log, "walk", item, [sampled(0.5), sampled(0.25), sampled(2.0)])


def inferred(log: Path) -> None:
    known = Example(
        id="1",
        premise=PREMISE,
        hypothesis=HYPOTHESIS,
        premise_ambiguous=True,
        labels=frozenset({"entailment", "neutral"}),
        disambiguations=(
            Disambiguation(READINGS["entailment"], HYPOTHESIS, "entailment"),
            Disambiguation(READINGS["neutral"], HYPOTHESIS, "neutral"),
        ),
    )

    def answered(*labels: str) -> Reply:
        logits = {
            label: 2.0 if label in labels else -2.0 for label in ("contradiction", "entailment", "neutral")
        }
        return Reply(move={"prediction": labels, "logits": logits, "threshold": 0.0})

    replies = [answered("entailment", "neutral"), answered("entailment"), answered("neutral")]
    play(log, "infer", NliItem(id="1", example=known), replies, "nli:model")


def imported(call: Call, log: Path, *files: Path, data: Path | None = None) -> list[str]:
    more = [] if data is None else ["--data", data]
    result = call("import", *files, "--log", log, *more)
    assert result.exit_code == 0, result.output
    return [line.split()[1] for line in result.stdout.splitlines() if line.startswith("run ")]


def test_a_run_and_a_file_share_a_table(tmp_path: Path, log: Path, call: Call) -> None:
    mine = lines(tmp_path / "mine.jsonl", statements(1, [True, True, False, False], READINGS["neutral"]))
    (run,) = imported(call, log, mine)
    other = lines(tmp_path / "other.jsonl", statements(1, [False, True, False, True], READINGS["neutral"]))
    written = lines(tmp_path / "writer-n4.jsonl", [generation(1, dict(READINGS), 1.0)])
    printed = call("report", run, other, written, "--log", log).stdout
    table = [line.split() for line in printed[printed.index("Table 4") :].splitlines()]
    assert ["mine", "100.0"] in table
    assert ["other", "50.0"] in table
    assert ["writer", "100.0"] in table
    assert ["repeats", "the", "sentence", "0.0"] in table
    assert ["chance", "50.0"] in table
    by_template = [line.split() for line in printed[printed.index("Table 10") :].splitlines()]
    assert ["other", "0.0", "100.0", "100.0", "0.0", "50.0", "4"] in by_template
    assert f"4 rows of run {run}" in printed


def test_judgments_of_a_model_are_in_its_row(tmp_path: Path, log: Path, call: Call) -> None:
    judged = []
    for id in (1, 2):
        row = crowd(id) | {"q0_gold": [], "origin": "writer"}
        judged.append(row)
    for place in (1, 2, 3):
        judged[1][f"d{place}_gold"] = [False] * 9
    (run,) = imported(call, log, lines(tmp_path / "judged.jsonl", judged))
    written = lines(tmp_path / "writer-n4.jsonl", [generation(1, dict(READINGS), 1.0)])
    result = call("report", run, written, "--log", log)
    assert ["writer", "100.0", "50.0"] in [line.split() for line in result.stdout.splitlines()]
    plain_json = by_kind(call("report", run, written, "--log", log, "--json").stdout)
    (section,) = plain_json["evaluation"].values()
    assert (section["measures"]["correct.writer"]["value"], section["measures"]["correct.writer"]["n"]) == (
        50.0,
        2,
    )


def test_crowdworkers_of_two_runs_and_table_1(tmp_path: Path, log: Path, call: Call) -> None:
    runs = imported(
        call, log, lines(tmp_path / "first.jsonl", [crowd(1)]), lines(tmp_path / "second.jsonl", [crowd(2)])
    )
    refused = call("report", *runs, "--votes", 3, "--log", log)
    assert "--votes 3: there are no votes on an example with this id" in str(refused.exception)
    printed = call("report", *runs, "--votes", 2, "--log", log).stdout
    header = next(line for line in printed.splitlines() if "in the paper" in line)
    assert header.split() == ["first", "second", "in", "the", "paper"]
    assert printed.count("Table 1:") == 1


def test_inference_of_runs_and_files_is_in_table_5(tmp_path: Path, log: Path, call: Call) -> None:
    inferred(log)
    folder = tmp_path / "other-model"
    lines(folder / "predictions.jsonl", [predicted(1, "neutral", "neutral"), predicted(2, "neutral", "")])
    sections = by_kind(call("report", "infer", folder, "--log", log, "--json").stdout)
    measures = sections["nli"]["results"]["measures"]
    assert measures["nli:model.group_em"]["value"] == 100.0
    assert measures["other-model.em"]["value"] == 50.0
    printed = call("report", "infer", folder, "--log", log).stdout
    assert "Table 5" in printed


@pytest.mark.slow
def test_figures_and_tables_are_written(tmp_path: Path, log: Path, call: Call) -> None:
    lines(tmp_path / "data" / "ambient_full.jsonl", [example(1), plain(2), plain(3)])
    runs = imported(
        call,
        log,
        lines(tmp_path / "m.jsonl", statements(1, [True] * 4, READINGS["neutral"])),
        lines(
            tmp_path / "ling.jsonl", [linguists(1, "neutral", "entailment|neutral"), linguists(2, "neutral")]
        ),
    )
    continued(log)
    inferred(log)
    out = tmp_path / "out"
    more = ["--instance", "1.premise", "--pair", "1:1", "--out", out, "--log", log]
    result = call("report", *runs, "walk", "infer", tmp_path / "data", *more)
    assert result.exit_code == 0, result.output
    names = {path.name for path in out.iterdir()}
    for figure in ("figure-2", "figure-3", "true-false", "log-odds-1_premise", "labels-1_1"):
        assert {f"{figure}.png", f"{figure}.svg", f"{figure}.csv"} <= names
    for table in ("table_4-exact", "table_4-rounded", "table_10-exact"):
        assert {f"{table}.csv", f"{table}.tex"} <= names
    areas = list(csv.DictReader((out / "figure-3.csv").read_text().splitlines()))
    held = {(row["entailment"], row["neutral"], row["contradiction"]): row["count"] for row in areas}
    assert held["1", "1", "0"] == "1"
    assert held["1", "0", "0"] == "2"
    flow = dict(csv.reader((out / "figure-2.csv").read_text().splitlines()))
    assert (flow["generated"], flow["annotated"], flow["due"], flow["validated"]) == ("2", "1", "1", "0")
    counts = list(csv.DictReader((out / "log-odds-1_premise.csv").read_text().splitlines()))
    assert {row["series"] for row in counts} == {"y0 (mean 0.75)", "y1 (mean 0.38)", "d (mean 3.00)"}
    assert sum(float(row["y"]) for row in counts) == 6
    labels = {
        row["category"]: float(row["y"])
        for row in csv.DictReader((out / "labels-1_1.csv").read_text().splitlines())
    }
    assert labels["entailment"] == pytest.approx(0.8808, abs=1e-4)
    assert labels["neutral"] == pytest.approx(0.1192, abs=1e-4)


def test_estimates_without_samples_have_no_histogram(tmp_path: Path, log: Path, call: Call) -> None:
    lines(tmp_path / "test.jsonl", [example(1)])
    (run,) = imported(call, log, lines(tmp_path / "m" / "results.jsonl", [estimates(1, 0.1, 0.2, 0.3)]))
    refused = call("report", run, "--instance", "1", "--out", tmp_path / "out", "--log", log)
    assert isinstance(refused.exception, InputError)
    assert "only estimates" in str(refused.exception)
    assert call("report", run, "--log", log).exit_code == 0


def test_what_ended_otherwise_is_said(log: Path, call: Call) -> None:
    continued(log)
    printed = " ".join(call("report", "walk", "--log", log).stdout.split())
    assert "1 episodes of the run have not ended and are not in these numbers" in printed


def test_withdrawn_participants_are_mentioned_at_the_top(tmp_path: Path, log: Path, call: Call) -> None:
    continued(log)
    with LogReader(log) as reader, LogWriter(log, durable=False) as writer:
        (episode,) = reader.episodes("walk")
        writer.put(Participant(id="gone"))
        taken_back = replace(episode, id="back", repeat=1, participant_id="gone")
        writer.put(taken_back)
        writer.put(Ending(episode_id="back", status="aborted", message="The participant withdrew.")).result()
        erase_participant(log, "gone")
    printed = " ".join(call("report", "walk", "--log", log).stdout.split())
    assert printed.startswith("walk 1 completed, 1 erased")
    assert "aborted" not in printed
    assert "have not ended" not in printed
    report = json.loads(call("report", "walk", "--json", "--log", log).stdout)
    assert (report["statuses"], report["failures"]) == ({"completed": 1, "erased": 1}, {})


def test_exported_runs_are_files_that_score_the_same(tmp_path: Path, log: Path, call: Call) -> None:
    files = [
        lines(
            tmp_path / "m.jsonl",
            statements(1, [True, None, False, True], READINGS["neutral"], TF_prob_mass=0.25),
        ),
        lines(tmp_path / "m-n4.jsonl", [generation(1, dict(READINGS), 1.0), generation("2_c", {}, 0.0)]),
        lines(tmp_path / "m" / "results.jsonl", [estimates(1, 0.1, 0.2, 0.3)]),
        lines(tmp_path / "m" / "predictions.jsonl", [predicted(1, "neutral", "")]),
        lines(tmp_path / "votes.jsonl", [crowd(1), crowd(2)]),
        lines(tmp_path / "ling.jsonl", [linguists(1, "neutral", "entailment|neutral")]),
        lines(tmp_path / "c" / "results.jsonl", [claim(1, 1 / 3, 0.5) | {"annotations": ["a"]}]),
    ]
    lines(tmp_path / "full.jsonl", [example(1)])
    runs = imported(call, log, *files, data=tmp_path / "full.jsonl")
    out = tmp_path / "out"
    result = call("report", *runs, "--export", out, "--log", log)
    assert result.exit_code == 0, result.output
    written = {
        "results/TF_evaluation/m.jsonl": files[0],
        "results/generative_evaluation/m-n4.jsonl": files[1],
        "results/continuation_evaluation/m/results.jsonl": files[2],
        "results/multilabel/m/predictions.jsonl": files[3],
        "votes-crowdworker_annotations.jsonl": files[4],
        "ling-linguist_annotations.jsonl": files[5],
        "results/claims/c/results.jsonl": files[6],
    }
    for name, file in written.items():
        known, again = TABLES.kind_of(file), TABLES.kind_of(out / name)
        assert known is not None
        assert again is not None
        assert known.name == again.name
        assert again.read(out / name).rows == known.read(file).rows, name


def test_forms_are_written_line_by_line(tmp_path: Path, log: Path, call: Call) -> None:
    (run,) = imported(call, log, lines(tmp_path / "votes.jsonl", [crowd(1)]))
    path = tmp_path / "forms.jsonl"
    result = call("report", run, "--lines", path, "--log", log)
    assert "27 lines" in result.stderr
    forms: list[dict[str, Any]] = [json.loads(line) for line in path.read_text().splitlines()]
    assert [form["step"] for form in forms[:3]] == ["label", "plausible", "relabel"]
    assert forms[1]["shown"]["candidates"] == [
        READINGS["entailment"],
        "A bell rang last.",
        READINGS["neutral"],
    ]
    assert forms[1]["shown"]["distractors"] == [1]
    with LogReader(log) as reader:
        (record,) = crowd_records(reader, [run])
    assert [form["answers"]["answers"][1] for form in forms if form["step"] == "plausible"] == list(
        record.plausible[1]
    )


def test_items_of_models_are_written_line_by_line(tmp_path: Path, log: Path, call: Call) -> None:
    rows = [generation(1, dict(READINGS), 1.0), generation(2, {}, 0.0)]
    (run,) = imported(call, log, lines(tmp_path / "m-n4.jsonl", rows))
    continued(log)
    path = tmp_path / "items.jsonl"
    assert call("report", run, "walk", "--lines", path, "--log", log).exit_code == 0
    first, second, third = (json.loads(line) for line in path.read_text().splitlines())
    assert (first["task"], first["item_id"], first["model"]) == ("generate", "1", "m")
    assert (first["prompt"], first["output"]) == ("Say.", [rows[0]["generation"]])
    assert (first["scores"]["edit_f1"], second["scores"]["edit_f1"]) == (1.0, 0.0)
    assert second["results"][0]["warnings"] == ["empty"]
    assert third["results"][2]["own"] == [-1.0, -2.0]
    assert third["scores"] == {"ranked": 1.0}


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (["--pair", "1", "--out", "x"], "need a run"),
        (["--instance", "1"], "name a folder for them with --out"),
        (["--data", "nowhere"], "nowhere"),
    ],
)
def test_wishes_that_cannot_be_met(given: list[str], reason: str, tmp_path: Path, call: Call) -> None:
    path = lines(tmp_path / "m.jsonl", statements(1, [True] * 4, READINGS["neutral"]))
    refused = call("report", path, *given)
    assert isinstance(refused.exception, InputError)
    assert reason in str(refused.exception)


def test_boxes_of_the_flow_and_where_it_is_drawn(tmp_path: Path) -> None:
    flow = dict(generated=9, annotated=7, dropped=2, due=1, discuss=1, discarded=1, validated=2)
    diagram = FlowDiagram(flow)
    assert [box.number for box in diagram.boxes()] == [9, 7, 2, 2, 2, 2, 1]
    first = diagram.save(tmp_path / "a.svg").read_bytes()
    assert first == diagram.save(tmp_path / "b.svg").read_bytes()
    with pytest.raises(InputError, match="name of the diagram must end in"):
        diagram.save(tmp_path / "a.gif")


def test_every_label_set_has_its_area() -> None:
    counts = {"entailment": 3, "contradiction, entailment": 2, "contradiction, entailment, neutral": 1}
    venn = label_sets_venn(counts)
    assert venn.total == 6
    assert venn.counts[True, False, True] == 2
    assert venn.counts[True, True, True] == 1
    assert venn.counts[False, True, False] == 0


def test_runs_are_compared_with_their_own_data(call: Call, log: Path, tmp_path: Path) -> None:
    other = lines(tmp_path / "data" / "dataset.jsonl", [example(number) for number in range(6)])
    for run, data in (("own", "builtin"), ("other", other)):
        assert call("run", "--run", run, "--data", data, "--limit", 2, "--log", log).exit_code == 0
    printed = call("report", "own", "other", "--log", log).stdout
    assert re.findall(r"rows with other gold or sentences +(\d+)", printed) == ["0", "0"]
