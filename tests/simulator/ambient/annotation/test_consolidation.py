"""Linguists' annotations consolidated by validators: what is due, what holds, what is exported."""

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from logs import LogReader, LogWriter, erase_participant
from logs.rows import Run
from simulator.ambient.annotation.consolidation import (
    FormProblems,
    agreement,
    case,
    checklist_points,
    consolidate,
    consolidated_examples,
    export_dataset,
    flow,
    results,
    to_consolidate,
    to_discuss,
)
from simulator.ambient.annotation.linguists import annotated, worker_forms, worker_statistics
from simulator.ambient.annotation.rules import Annotation
from simulator.ambient.data import load_examples
from simulator.ambient.examples import Disambiguation
from simulator.ambient.files.results import LINGUISTS
from simulator.ambient.importing.runs import import_file
from simulator.ambient.trial_log import linguist_records
from simulator.errors import InputError

RUN = "linguists"
P, H = "They met at the bank.", "They met near water."
RIVER, MONEY = "They met at the river bank.", "They met at the savings bank."
GONE = Annotation(discard="incoherent")
Form = Callable[..., Annotation]


@pytest.fixture
def keys(desk: Any, form: Form) -> dict[str, str]:
    """Four examples with two annotations, one with one, one that a linguist discarded."""
    made = {}
    for example in ("1", "2", "3", "4"):
        desk.annotate(example, "ann", form("EN", comment="two of them"), seconds=30)
        made[example] = desk.annotate(example, "bo", form("N"), seconds=10)
    made["5"] = desk.annotate("5", "ann", form("E"), seconds=90)
    desk.annotate("6", "ann", form("E"), seconds=90)
    made["6"] = desk.annotate("6", "bo", GONE, seconds=20)
    return made


@pytest.fixture
def submit(desk: Any) -> Callable[..., None]:
    count = iter(range(1000))

    def put(key: str, validator: str, annotation: Annotation, **more: Any) -> None:
        more = {"submission": str(next(count)), **more}
        desk.judge(consolidate(desk.reader, RUN, key, validator, annotation, **more))

    return put


def states(desk: Any) -> dict[str, str]:
    return {one.example.id: one.state for one in results(desk.reader, RUN)}


def test_what_a_validator_sees(desk: Any, keys: dict[str, str]) -> None:
    one = case(desk.reader, RUN, keys["1"])
    assert (one.id, one.premise, one.hypothesis, one.mine) == ("1", P, H, None)
    first, second = one.voices
    assert first.labels == {"entailment", "neutral"}
    assert first.comment == "two of them"
    assert first.rewrites[0] == Disambiguation(RIVER, H, "entailment")
    assert second.labels == {"neutral"}
    assert second.rewrites == ()
    assert "ann" not in str(asdict(one))


def test_what_is_due(desk: Any, keys: dict[str, str], form: Form, submit: Callable[..., None]) -> None:
    assert sorted(one.id for one in to_consolidate(desk.reader, RUN, "vi")) == ["1", "2", "3", "4"]
    orders = {
        tuple(one.id for one in to_consolidate(desk.reader, RUN, name)) for name in ("vi", "wu", "xi", "yo")
    }
    assert len(orders) > 1
    submit(keys["1"], "vi", form("N"))
    assert sorted(one.id for one in to_consolidate(desk.reader, RUN, "vi")) == ["2", "3", "4"]
    assert sorted(one.id for one in to_consolidate(desk.reader, RUN, "wu")) == ["2", "3", "4"]
    several = to_consolidate(desk.reader, RUN, "wu", validators=2)
    assert sorted(one.id for one in several) == ["1", "2", "3", "4"]
    assert states(desk) == {
        "1": "validated",
        "2": "due",
        "3": "due",
        "4": "due",
        "5": "open",
        "6": "dropped",
    }


def test_the_newest_form_of_a_validator_counts_and_nobody_else_sees_it(
    desk: Any, keys: dict[str, str], form: Form, submit: Callable[..., None]
) -> None:
    submit(keys["1"], "vi", form("N"))
    submit(keys["1"], "vi", form("EN", comment="changed"), checklist=["vagueness", "temporal_order"])
    mine = case(desk.reader, RUN, keys["1"], "vi").mine
    assert mine is not None
    assert mine.payload() == form("EN", comment="changed").payload()
    assert mine.checklist == tuple(
        name for name in checklist_points() if name in ("vagueness", "temporal_order")
    )
    assert case(desk.reader, RUN, keys["1"], "wu").mine is None
    assert all(one.mine is None for one in to_consolidate(desk.reader, RUN, "wu", validators=2))
    (first, *_) = consolidated_examples(desk.reader, RUN)
    assert first.labels == {"entailment", "neutral"}


def test_validators_who_differ_discuss_and_one_form_decides(
    desk: Any, keys: dict[str, str], form: Form, submit: Callable[..., None]
) -> None:
    submit(keys["1"], "vi", form("EN"))
    submit(keys["1"], "wu", form("EN", first="They met beside the river."))
    submit(keys["2"], "vi", form("EN"))
    submit(keys["2"], "wu", form("N"))
    submit(keys["3"], "vi", form("EN"))
    submit(keys["3"], "wu", GONE)
    submit(keys["4"], "vi", GONE)
    submit(keys["4"], "wu", GONE.model_copy(update={"discard": "offensive"}))
    assert list(states(desk).values()) == [
        *("validated", "discuss", "discuss", "discarded"),
        *("open", "dropped"),
    ]
    # In other words, yet the same outcome: the first holds.
    (one,) = consolidated_examples(desk.reader, RUN)
    assert one.disambiguations[0].premise == RIVER
    # Who has yet to see an example alone is not told of it.
    assert [one.example.id for one in to_discuss(desk.reader, RUN, "vi")] == ["2", "3"]
    assert to_discuss(desk.reader, RUN, "xi", validators=3) == ()
    assert list(to_discuss(desk.reader, RUN, "vi")[0].forms) == ["vi", "wu"]
    with pytest.raises(InputError, match="Example 1: validators do not differ"):
        submit(keys["1"], "vi", form("N"), decides=True)
    submit(keys["2"], "wu", form("CEN"), decides=True)
    submit(keys["2"], "wu", form("CN"), decides=True)
    submit(keys["3"], "xi", GONE, decides=True)
    assert states(desk)["2"] == "validated"
    assert states(desk)["3"] == "discarded"
    assert consolidated_examples(desk.reader, RUN)[1].labels == {"contradiction", "neutral"}
    assert to_discuss(desk.reader, RUN, "vi") == ()
    due = to_consolidate(desk.reader, RUN, "xi", validators=3)
    assert sorted(one.id for one in due) == ["1", "4"]
    measured = agreement(desk.reader, RUN)
    # Of four examples that both saw, one of them discarded two; 1: EN EN, 2: EN N.
    assert (measured.raters, measured.rows, measured.discarded) == (2, 2, 2)
    assert measured.agreement["identical"] is not None
    assert measured.agreement["identical"].value == 0.5


def test_flow(desk: Any, keys: dict[str, str], form: Form, submit: Callable[..., None]) -> None:
    submit(keys["1"], "vi", form("EN"))
    submit(keys["2"], "vi", GONE)
    submit(keys["3"], "vi", form("EN"))
    submit(keys["3"], "wu", form("E"))
    found = flow(desk.reader, RUN)
    assert asdict(found) == {
        "generated": 6,
        "annotated": 5,
        "dropped": 1,
        "due": 1,
        "discuss": 1,
        "discarded": 1,
        "validated": 1,
    }


def test_what_cannot_be_consolidated(
    desk: Any, keys: dict[str, str], form: Form, submit: Callable[..., None]
) -> None:
    rewrites = (*form("EN").rewrites[:1], Disambiguation(P, H, "neutral"))
    one_changed = form("EN").model_copy(update={"rewrites": rewrites})
    with pytest.raises(FormProblems, match="Only one rewrite changes the premise") as raised:
        submit(keys["1"], "vi", one_changed)
    assert [one.code for one in raised.value.problems] == ["one_changed"]
    with pytest.raises(InputError, match="Example 6 was discarded by a linguist"):
        submit(keys["6"], "vi", form("E"))
    with pytest.raises(InputError, match="Example 5 has too few annotations"):
        submit(keys["5"], "vi", form("E"))
    with pytest.raises(InputError, match="no example 'x' in linguists"):
        case(desk.reader, RUN, "x")
    with pytest.raises(InputError, match="'mood' is no point of the checklist; they are temporal_order"):
        submit(keys["1"], "vi", form("E"), checklist=["mood"])
    with pytest.raises(InputError, match="who consolidates"):
        submit(keys["1"], " ", form("E"))
    assert set(states(desk).values()) == {"due", "open", "dropped"}


def test_a_form_sent_twice_is_one(
    desk: Any, keys: dict[str, str], form: Form, submit: Callable[..., None]
) -> None:
    for _ in range(2):
        submit(keys["1"], "vi", form("EN"), submission="same")
    assert len(desk.reader.judgments(kind="ambient.consolidation")) == 1


def test_the_export_can_be_read_as_a_dataset(
    desk: Any, keys: dict[str, str], form: Form, submit: Callable[..., None], tmp_path: Path
) -> None:
    path = tmp_path / "consolidated.jsonl"
    with pytest.raises(InputError, match="no example is consolidated yet"):
        export_dataset(desk.reader, RUN, path)
    submit(keys["2"], "vi", form("EN"))
    submit(keys["1"], "vi", form("N"))
    submit(keys["3"], "vi", GONE)
    assert export_dataset(desk.reader, RUN, path) == 2
    assert load_examples(path) == consolidated_examples(desk.reader, RUN)
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert [row["id"] for row in rows] == [1, 2]
    assert rows[1] == {
        "id": 2,
        "premise": P,
        "hypothesis": H,
        "premise_ambiguous": True,
        "hypothesis_ambiguous": False,
        "labels": "entailment, neutral",
        "disambiguations": [
            {"premise": RIVER, "hypothesis": H, "label": "entailment"},
            {"premise": MONEY, "hypothesis": H, "label": "neutral"},
        ],
    }


def test_what_linguists_did(desk: Any, keys: dict[str, str]) -> None:
    ann, bo = worker_statistics(worker_forms(desk.reader, RUN))
    assert (ann.worker, ann.examples, ann.seconds) == ("ann", 6, 30)
    assert ann.ambiguous == pytest.approx(4 / 6)
    assert ann.discarded == 0
    assert (bo.worker, bo.examples, bo.seconds, bo.discarded) == ("bo", 5, 10, 0.2)


def test_which_forms_of_linguists_count(desk: Any, form: Form) -> None:
    desk.annotate("1", "ann", form("E"))
    desk.annotate("1", "ann", form("N"))
    desk.annotate("1", "bo", form("C"), status="aborted")
    key = desk.annotate("1", "cy", form("C"), status=None)
    (one,) = annotated(desk.reader, RUN).values()
    assert (one.key, [f.annotation for f in one.forms], one.complete) == (key, [form("N")], False)


def test_whoever_is_erased_said_nothing(
    desk: Any, keys: dict[str, str], form: Form, submit: Callable[..., None]
) -> None:
    submit(keys["1"], "vi", form("EN"))
    erase_participant(desk.path, "bo")
    # What a validator made of it is the validator's; all else waits for another linguist.
    assert states(desk) == {"1": "validated", "2": "open", "3": "open", "4": "open", "5": "open", "6": "open"}
    assert len(case(desk.reader, RUN, keys["1"]).voices) == 1


def test_other_runs_are_refused(desk: Any) -> None:
    with pytest.raises(InputError, match="no examples that linguists annotate"):
        flow(desk.reader, RUN)
    desk.put(Run(id="other", benchmark="clarq", setup="H2H", seed=0))
    with pytest.raises(InputError, match="other has no examples that linguists annotate"):
        flow(desk.reader, "other")


def test_rewrites_of_a_merged_row_are_under_neither_linguist(tmp_path):
    """A published row does not say whose a rewrite is."""
    row = {
        "id": 7,
        "premise": "They met at the bank.",
        "hypothesis": "They met near water.",
        "worker_ids": ["a", "b"],
        "annotations": ["neutral", "entailment|neutral"],
        "disambiguations": {
            "entailment": [{"premise": "They met at the river bank.", "hypothesis": "They met near water."}],
            "neutral": [{"premise": "They met at the savings bank.", "hypothesis": "They met near water."}],
        },
    }
    path, log = tmp_path / "linguists.jsonl", tmp_path / "log.sqlite"
    path.write_text(json.dumps(row) + "\n", encoding="utf-8")
    with LogWriter(log, durable=False) as writer:
        run = import_file(path, writer).run.id
    with LogReader(log) as reader:
        (shared,) = (case(reader, run, key, "val") for key in annotated(reader, run))
        assert [voice.rewrites for voice in shared.voices] == [(), ()]
        assert {one.label for one in shared.merged} == {"entailment", "neutral"}
        (back,), (given,) = linguist_records(reader, [run]), LINGUISTS.read(path).rows
        assert (back.annotations, back.rewrites) == (given.annotations, given.rewrites)
