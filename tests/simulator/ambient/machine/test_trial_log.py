"""Records read from the log: a complete crowdworkers' study with all its events, and runs of players."""

from __future__ import annotations

import json
from random import Random

import pytest
from rich.console import Console

from logs import LogReader, LogWriter
from logs.rows import Run
from simulator import catalog
from simulator.ambient.annotation.linguists import linguist_measures
from simulator.ambient.annotation.rules import read_annotation
from simulator.ambient.assignment import ExampleStudy
from simulator.ambient.benchmark import BENCHMARK
from simulator.ambient.crowd import crowd_measures
from simulator.ambient.data import load_qualification
from simulator.ambient.files.results import CROWD, LINGUISTS
from simulator.ambient.reporting.runs import form_lines, run_measures
from simulator.ambient.sessions import AmbientSessions
from simulator.ambient.trial_log import crowd_records, linguist_records, played_of
from simulator.errors import InputError
from simulator.reports import print_run_report, run_summary
from simulator.seats import Reply
from simulator.seeds import derive_seed
from simulator.studies import Study

SEAT = "annotator"
WORKERS = 9


def crowd_study(**more):
    given = {
        "id": "c",
        "title": "T",
        "benchmark": "ambient",
        "seat": SEAT,
        "settings": {"task": "crowd", "items": 3, "qualification": {"pass": 4}},
        "judgments_per_item": WORKERS,
        "sets_per_participant": 2,
        "completion_codes": {"complete": "C", "screened_out": "S", "returned": "R"},
    }
    return Study(**given | more)


class House:
    def __init__(self, path, study):
        self.study = study
        self.log = LogWriter(path, durable=False, group_seconds=0.0)
        self.reader = LogReader(path)
        self.sessions = AmbientSessions(BENCHMARK, self.log, self.reader, lambda name: None, studies=[study])

    async def enter(self, who):
        return await self.sessions.enter(
            self.study.id, identity={"PROLIFIC_PID": who}, participant_key="", language="en"
        )

    async def play(self, episode, say, until="done"):
        view = await self.sessions.view(episode, SEAT)
        while view.stage != "done" and (view.due is None or view.due.kind != until):
            reply = say(view)
            keyed = Reply(text=reply.text, move=reply.move, key=str(view.number), seconds=2.0)
            view = await self.sessions.submit(episode, SEAT, keyed, number=view.number)
        return view

    def close(self):
        self.reader.close()
        self.log.close()


@pytest.fixture
def house(log_path):
    made = []

    def build(study):
        made.append(House(log_path, study))
        return made[-1]

    yield build
    for built in made:
        built.close()


def worker(seed, qualifies=True):
    """A worker whose opinions are determined by a seed."""
    gold = {question.premise: question.label for question in load_qualification()}
    labels = ("contradiction", "entailment", "neutral")
    random = Random(seed)

    def say(view):
        match view.due.kind if view.due else view.stage:
            case "consent":
                return Reply(text="yes")
            case "instructions":
                return Reply(text="ready")
            case "qualification":
                right = gold[view.shown.premise]
                label = right if qualifies else next(wrong for wrong in labels if wrong != right)
                return Reply(move={"label": label})
            case "label":
                return Reply(move={"label": random.choice(labels)})
            case "plausible":
                return Reply(move={"plausible": [random.random() < 0.8 for _ in view.shown.candidates]})
        return Reply(move={"labels": [random.choice(labels) for _ in view.shown.pairs], "comment": "Hm."})

    return say


async def test_a_study_with_nine_workers_per_item(house, tmp_path):
    made = house(crowd_study())
    for number in range(3):  # who does not qualify, who refuses, who leaves: their places go to others
        entry = await made.enter(f"out{number}")
        await made.play(entry.episode_id, worker(number, qualifies=False))
        entry = await made.enter(f"no{number}")
        await made.play(entry.episode_id, lambda view: Reply(text="no"))
        entry = await made.enter(f"gone{number}")
        await made.play(entry.episode_id, worker(number), until="relabel")
        await made.sessions.withdraw(entry.episode_id)
    done, full = 0, 0
    for number in range(30):
        entry = await made.enter(f"w{number}")
        say, sets = worker(100 + number), 0
        while entry.episode_id is not None:
            await made.play(entry.episode_id, say)
            done, sets = done + 1, sets + 1
            entry = await made.sessions.next_set(entry.episode_id)
        assert sets <= 2
        full += entry.refusal == "full"
    assert (done, full > 0) == (3 * WORKERS, True)
    records = crowd_records(made.reader, [made.study.run_id])
    items = {item.example_id: item for item in ExampleStudy(made.study).items.values()}
    assert len(records) == len(items) == 3
    for record in records:
        item = items[record.id]
        assert record.interpretations == tuple(candidate.sentence for candidate in item.candidates)
        assert record.labels == tuple(candidate.label for candidate in item.candidates)
        assert len(record.original) == WORKERS
        assert {len(votes) for votes in (*record.relabelled, *record.plausible)} == {WORKERS}
    by_hand(made, records)
    path = tmp_path / "crowd.jsonl"
    CROWD.write(path, records)
    again, _, faults = CROWD.read(path)
    assert not faults
    assert crowd_measures(again) == crowd_measures(records)
    logged = run_measures(made.reader, made.study.run_id)["crowd"]
    measures = crowd_measures(records)
    assert logged.measures["kappa, disambiguated"] == measures["kappa_disambiguated"]
    assert logged.counts == {"items": 3}
    # Who refuses is erased, as who withdraws is.
    benchmark = catalog.find("ambient")
    endings = run_summary(made.reader, benchmark, [made.study.run_id]).endings
    assert endings.statuses == {"aborted": 3, "completed": 3 * WORKERS, "erased": 6}
    # Somebody withdraws afterwards: nothing of theirs is left in any record.
    first = next(played for played in played_of(made.reader, [made.study.run_id]))
    before = sum(len(record.original) for record in records)
    mine = [
        played
        for played in played_of(made.reader, [made.study.run_id])
        if played.episode.participant_id == first.episode.participant_id
    ]
    await made.sessions.withdraw(first.episode.id)
    statuses = {"aborted": 3, "completed": 3 * WORKERS - len(mine), "erased": 6 + len(mine)}
    summary = run_summary(made.reader, benchmark, [made.study.run_id])
    assert summary.endings.statuses == statuses
    print_run_report(console := Console(record=True, width=100, quiet=False), summary)
    assert f"{6 + len(mine)} erased" in console.export_text()
    after = crowd_records(made.reader, [made.study.run_id])
    assert sum(len(record.original) for record in after) == before - len(mine)
    assert not [
        line
        for line in form_lines(made.reader, made.study.run_id)
        if line["annotator"] == first.occupant("annotator")
    ]


def by_hand(made, records):
    """Count votes independently: from the log's rows, worker by worker in the order of endings."""
    votes = {record.id: [] for record in records}
    endings = made.reader.endings(made.study.run_id)
    ended = sorted((ending.created_at, id) for id, ending in endings.items() if ending.status == "completed")
    for _, episode in ended:
        forms = {turn.payload["kind"]: turn.payload for turn in made.reader.turns(episode)}
        example = made.reader.item(made.reader.episode(episode).item_hash).name.rpartition(".")[0]
        votes[example].append(
            (forms["label"]["answer"], forms["plausible"]["answers"], forms["relabel"]["answers"])
        )
    for record in records:
        mine = votes[record.id]
        assert record.original == tuple(label for label, _, _ in mine)
        for place in range(3):
            assert record.plausible[place] == tuple(answers[place] for _, answers, _ in mine)
            assert record.relabelled[place] == tuple(answers[place] for _, _, answers in mine)


async def test_every_submitted_form_is_a_line(house):
    made = house(crowd_study())
    entry = await made.enter("w")
    await made.play(entry.episode_id, worker(1), until="relabel")
    lines = list(form_lines(made.reader, made.study.run_id))
    assert [line["step"] for line in lines] == [*["qualification"] * 5, "label", "plausible"]
    plausible = lines[-1]
    episode = made.reader.episode(entry.episode_id)
    assert plausible["annotator"] == episode.participant_id
    assert (plausible["task"], plausible["seed"]) == ("crowd", episode.seed)
    assert plausible["item_id"] == made.reader.item(episode.item_hash).name
    assert len(plausible["shown"]["candidates"]) == 3
    assert plausible["answers"].keys() == {"answers"}
    assert plausible["opened_at"] < plausible["submitted_at"]
    assert set(plausible) == {
        "task", "item_id", "step", "annotator", "shown", "answers", "rewrites", "discard", "comment",
        "opened_at", "submitted_at", "seed", "version",
    }  # fmt: skip
    json.dumps(lines)


async def test_linguists(house, tmp_path):
    study = crowd_study(
        id="l", settings={"task": "annotate", "items": 4}, judgments_per_item=2, sets_per_participant=4
    )
    made = house(study)

    def linguist(seed):
        def say(view):
            if view.due is None:
                return Reply(text="yes")
            random = Random(derive_seed(seed, view.shown.premise))
            if random.random() < 0.2:
                return Reply(move={"discard": "incoherent", "labels": [], "rewrites": [], "comment": "No."})
            rewrites = [
                {
                    "premise": f"{view.shown.premise} ({label})",
                    "hypothesis": view.shown.hypothesis,
                    "label": label,
                }
                for label in ("neutral", "entailment")
            ]
            return Reply(move={"labels": ["neutral", "entailment"], "rewrites": rewrites, "comment": ""})

        return say

    for number in range(2):
        entry = await made.enter(f"l{number}")
        while entry.episode_id is not None:
            await made.play(entry.episode_id, linguist(number))
            entry = await made.sessions.next_set(entry.episode_id)
    records = linguist_records(made.reader, [study.run_id])
    assert len(records) == 4
    for record in records:
        assert len(record.workers) + len(record.discarded) == 2
        assert len(record.workers) == len(record.annotations)
        assert len(record.rewrites) == 2 * len(record.workers)
    assert any(record.discarded for record in records)
    counted = [record for record in records if not record.discarded]
    path = tmp_path / "linguists.jsonl"
    LINGUISTS.write(path, counted)
    again, _, faults = LINGUISTS.read(path)
    assert not faults
    assert linguist_measures(again)["kappa_sets"] == linguist_measures(counted)["kappa_sets"]
    lines = [line for line in form_lines(made.reader, study.run_id) if line["step"] == "annotate"]
    assert len(lines) == 8
    for line in lines:
        assert line["answers"].keys() == {"labels"}
        form = read_annotation(
            {**line["answers"], **{k: line[k] for k in ("rewrites", "discard", "comment")}}
        )
        assert (form.discard is None) == bool(form.labels)


def test_other_runs_are_refused(log_path):
    with LogWriter(log_path, durable=False) as log:
        log.put(Run(id="r", benchmark="clarq", setup="L2L", seed=0))
    with LogReader(log_path) as reader, pytest.raises(InputError, match="of clarq, not of ambient"):
        crowd_records(reader, ["r"])
