"""Report sections on people: their sets and models', and annotators' agreement, counted by hand."""

from __future__ import annotations

import asyncio
import json
from fractions import Fraction

import pytest
from sklearn.metrics import cohen_kappa_score

from logs import LogReader, LogWriter
from logs.rows import Episode, Run, Turn
from simulator.ambik.data import load_drafts, load_pairs
from simulator.ambik.items import DraftItem
from simulator.ambik.machine import MACHINE
from simulator.ambik.trial_log import forms
from simulator.runner.machines import ActiveEpisode
from simulator.seats import Reply, ScriptSeat

from .reports import report

P, C, S = "preferences", "common_sense_knowledge", "safety"
TYPES = {"ann": (P, C, S, P, P, C, P), "bob": (P, C, P, P, C, C, None)}
"""Type by draft; None: the row is deleted."""
SHORT = {"ann": (2, 0, 0, 3, 2, 0, 2), "bob": (2, 0, 2, 2, 0, 0, 0)}
"""Number of things in the shortlists."""
ANSWERS = {"ann": "aabbaab", "bob": "aabaaab"}


def form(draft, who, place):
    kind = TYPES[who][place]
    if kind is None:
        return {"delete": "It is absurd."}
    candidate = draft.candidates[kind]
    return {
        "type": kind,
        "ambiguous": draft.candidates[P].task,
        "question": "Which one?",
        "answer": ANSWERS[who][place],
        "clear_plan": ["Go.", "Take it."],
        "ambiguous_plan": ["Go.", "Take something."],
        "step": 1,
        "shortlist": list(draft.objects[: SHORT[who][place]]),
        "intent": draft.objects[0],
        "variants": list(draft.objects[: SHORT[who][place]]) or [draft.objects[0]],
        "passed_over": candidate.question,
        "one_ambiguity": True,
    }


async def annotate(writer, who, drafts):
    """A run in which `who` fills in the form of every draft."""
    run = f"by-{who}"
    seats = {"annotator": f"script/{who}"}
    config = {"seats": seats, "planned": len(drafts), "options": {"task": "annotate"}}
    writer.put(Run(id=run, benchmark="ambik", setup="L2L", seed=0, config=config))
    for place, draft in enumerate(drafts):
        item = DraftItem(draft=draft)
        row = MACHINE.item_row(item)
        episode = Episode(
            id=f"{run}/{draft.id}/0",
            run_id=run,
            item_hash=row.hash,
            language="en",
            seats=seats,
            seed=0,
            options={"task": "annotate"},
        )
        turns: list[Turn] = []

        async def record(turn, turns=turns):
            turns.append(turn)

        seat = ScriptSeat([Reply(move=form(draft, who, place))])
        live = ActiveEpisode(episode=episode, item=item, seats={"annotator": seat}, record=record)
        state = await MACHINE.advance(live, MACHINE.rebuild([]))
        for entry in (row, episode, *turns, MACHINE.ending(live, state), *MACHINE.score(item, turns, ())):
            writer.put(entry)


@pytest.fixture(scope="module")
def annotated(tmp_path_factory):
    path = tmp_path_factory.mktemp("annotated") / "log.sqlite"
    with LogWriter(path, durable=False) as writer:
        for who in TYPES:
            asyncio.run(annotate(writer, who, load_drafts()[:7]))
    return path


@pytest.fixture(scope="module")
def agreement(annotated):
    with LogReader(annotated) as reader:
        assert [form.annotator for form in forms(reader, ["by-ann", "by-bob"])] == [
            f"script/{who}" for who in TYPES for _ in range(7)
        ]
        (section,) = report(reader, ["by-ann", "by-bob"]).sections
    assert section.name == "agreement"
    return section


def test_who_annotated_what_is_counted(agreement):
    figures = agreement.data["agreement"]
    assert (
        figures["drafts"],
        figures["annotators"],
        figures["forms"],
        figures["single"],
        figures["replaced"],
    ) == (
        7,
        2,
        14,
        0,
        0,
    )
    assert (figures["deleted"], figures["split"], figures["lone"]) == (0, 1, 1)
    assert "kappa is Cohen's" in " ".join(agreement.remarks)
    assert "0 drafts were deleted by all, 1 by some" in agreement.remarks


def test_whether_rows_are_kept(agreement):
    figures = agreement.data["agreement"]
    assert figures["kept"].value == pytest.approx(6 / 7) and figures["kept"].n == 7
    keeps = [[kind is not None for kind in TYPES[who]] for who in TYPES]
    assert figures["kept_kappa"].value == pytest.approx(cohen_kappa_score(*keeps))


def test_types(agreement):
    figures = agreement.data["agreement"]
    # Four of six are the same; 3 + 2 + 1 of one and 3 + 3 of the other give 15 of 36 by chance.
    assert figures["fields"]["type"].value == pytest.approx(4 / 6) and figures["fields"]["type"].n == 6
    chance = Fraction(3 * 3 + 2 * 3 + 1 * 0, 36)
    assert figures["type_kappa"].value == pytest.approx(float((Fraction(4, 6) - chance) / (1 - chance)))
    assert figures["type_kappa"].value == pytest.approx(cohen_kappa_score(*(TYPES[who][:6] for who in TYPES)))


def test_fields(agreement):
    figures = agreement.data["agreement"]
    shares = {name: (share.value, share.n) for name, share in figures["fields"].items()}
    assert shares["answer"] == (pytest.approx(5 / 6), 6)
    assert shares["question"] == shares["ambiguous"] == shares["clear_plan"] == shares["step"] == (1, 6)
    # Of four drafts one at least has a shortlist, of one both have the same.
    assert shares["shortlist"] == (pytest.approx(1 / 4), 4)
    assert shares["variants"] == (pytest.approx(3 / 6), 6)
    # The first, the second and the last of the six.
    assert figures["whole"].value == pytest.approx(3 / 6)


def test_shortlists(agreement):
    figures = agreement.data["agreement"]
    # Two of two things, the same; three and two of them: MASI 1 - 2/3 x 2/3. Across drafts nothing is shared.
    apart = 1 - Fraction(2, 3) ** 2
    observed = Fraction(1, 4) * 2 * apart
    expected = Fraction(2, 4 * 3) * (4 + apart)
    assert figures["shortlist_alpha"].value == pytest.approx(float(1 - observed / expected))
    assert (figures["shortlist_alpha"].n, figures["without_shortlist"]) == (2, 4)


def test_the_table_shows_these_numbers(agreement):
    figures = agreement.data["agreement"]
    shown = {name: value for name, value, _ in agreement.tables[0].rows}
    assert shown["type: Cohen's kappa"] == figures["type_kappa"]
    assert shown["answer: share equal"] == figures["fields"]["answer"]
    assert shown["all fields: share equal"] == figures["whole"]


# ---- people's sets

PAIR = next(pair for pair in load_pairs() if pair.id == "k001")
GLASS, WOOD, FORK, CERAMIC = PAIR.options


def line(method, run, who, **fields):
    return {
        "run_id": run,
        "episode_id": f"{run}.{who}",
        "dataset_version": "builtin",
        "pair_id": PAIR.id,
        "member": "ambiguous",
        "type": PAIR.type,
        "part": "test",
        "method": method,
        "generator": who,
        **fields,
    }


@pytest.fixture(scope="module")
def sets(tmp_path_factory):
    """Two people, NoHelp that takes the first option, KnowNo that has the first and the last in its set."""
    lines = [
        line("person", "study", "ann", marked=[GLASS, WOOD], asks=True),
        line("person", "study", "bob", marked=[GLASS], asks=False, action=GLASS),
        line("nohelp", "plain", "some/model", action=GLASS),
        line(
            "knowno",
            "sure",
            "some/model",
            options=dict(zip("ABCD", PAIR.options, strict=True)),
            token_table=[["A", -0.1], ["D", -0.1], ["B", -9.0], ["C", -9.0]],
            q_hat=0.6,
            epsilon=0.2,
            n_calibration=10,
            rank=9,
        ),
    ]
    path = tmp_path_factory.mktemp("sets") / "lines.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)))
    return report(files=[path]).section("people_sets")


@pytest.mark.parametrize(
    ("run", "expected"),
    [
        (
            "plain",  # {glass} beside {glass, wood} and {glass}
            {
                "jaccard": (1 / 2 + 1) / 2,
                "people_in_model": 1 / 2,
                "model_in_people": 1,
                "people_size": 3 / 2,
                "model_size": 1,
                # It never asks: right for whoever marks one thing alone.
                "several_as_asked": 1 / 2,
                "people_ask": 1 / 2,
                "model_asks": 0,
            },
        ),
        (
            "sure",  # {glass, ceramic}
            {
                "jaccard": (1 / 3 + 1 / 2) / 2,
                "people_in_model": 1 / 2,
                "model_in_people": 0,
                "people_size": 3 / 2,
                "model_size": 2,
                "several_as_asked": 1 / 2,
                "people_ask": 1 / 2,
                "model_asks": 1,
            },
        ),
    ],
)
def test_peoples_sets_are_compared_with_each_run(sets, run, expected):
    rows = [row for row in sets.data["rows"] if row["run"] == run]
    assert [row["type"] for row in rows] == ["all", "preferences"]
    for row in rows:
        assert (row["items"], row["people"], row["decisions"]) == (1, 2, 2)
        for name, value in expected.items():
            assert row["measures"][name].value == pytest.approx(value), name
            assert row["measures"][name].n == 2
    overlap, sizes = (table.rows for table in sets.tables)
    shown = next(row for row in overlap if row[0] == run)
    assert [share.value for share in shown[2:5]] == pytest.approx(list(expected.values())[:3])
    shown = next(row for row in sizes if row[0] == run)
    assert [share.value for share in shown[2:5]] == pytest.approx(
        [expected[name] for name in list(expected)[3:6]]
    )


def test_tasks_that_only_one_side_decided_on_are_counted(sets, tmp_path):
    assert (sets.data["people_alone"], sets.data["models_alone"], sets.data["not_people"]) == (0, 0, 0)
    other = next(pair for pair in load_pairs() if pair.id != PAIR.id and pair.type == PAIR.type)
    lines = [
        line("person", "study", "ann", marked=[GLASS], asks=False),
        line("nohelp", "plain", "m", action=GLASS),
        {**line("person", "study", "cy", marked=[WOOD], asks=False), "pair_id": other.id},
    ]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, lines)))
    section = report(files=[tmp_path / "a.jsonl"]).section("people_sets")
    assert section.data["people_alone"] == 1
    remark = "left out: 1 decisions of people on tasks without a decision of the other side"
    assert remark in section.remarks
