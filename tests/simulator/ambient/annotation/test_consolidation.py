"""Consolidation of linguists' annotations by validators: queue, decisions, export."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from logs import LogReader, LogWriter, erase_participant
from logs.rows import Run
from simulator.ambient.annotation.consolidation import (
    ANNOTATIONS,
    agreement,
    consolidated_examples,
    export_dataset,
    flow,
    results,
)
from simulator.ambient.annotation.linguists import annotated_examples, worker_forms, worker_statistics
from simulator.ambient.annotation.rules import Annotation
from simulator.ambient.data import load_examples, load_guidelines
from simulator.ambient.examples import Disambiguation
from simulator.ambient.files.results import LINGUISTS
from simulator.ambient.importing.runs import import_file
from simulator.ambient.trial_log import linguist_records
from simulator.desk_work import differences, judgment_rows, next_work
from simulator.desks import Case
from simulator.errors import InputError
from simulator.form_blocks import Field
from simulator.judging import DeskFormError

RUN = "linguists"
P, H = "They met at the bank.", "They met near water."
RIVER, MONEY = "They met at the river bank.", "They met at the savings bank."
GONE = Annotation(discard="incoherent")
Form = Callable[..., Annotation]


@pytest.fixture
def keys(desk: Any, form: Form) -> dict[str, str]:
    """Log four examples with two annotations, one with one, and one discarded by a linguist."""
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
        values = {**annotation.payload(), "checklist": more.pop("checklist", [])}
        more = {"submission": str(next(count)), "deciding": more.pop("decides", False), **more}
        desk.put(*judgment_rows(ANNOTATIONS, desk.reader, RUN, validator, key, values, **more))

    return put


def case(reader: LogReader, run: str, key: str) -> Case[Any]:
    return next(each for each in ANNOTATIONS.cases(reader, run) if each.key == key)


def due(desk: Any, validator: str, validators: int = 1) -> list[str]:
    """Return the ids of the examples waiting for a validator, in order."""
    table = replace(ANNOTATIONS, raters=validators)
    ids, name = [], ""
    waiting = {each.name for each in table.cases(desk.reader, RUN) if table.awaits(each, validator)}
    for _ in waiting:
        work = next_work(table, desk.reader, RUN, validator, name=name)
        assert work.case is not None
        ids.append(work.case.thing.id)
        name = work.later
    return ids


def to_discuss(desk: Any, validator: str, validators: int = 1) -> list[str]:
    """Return the ids of the examples on which validators differ and that this one may decide."""
    table = replace(ANNOTATIONS, raters=validators)
    cases = table.cases(desk.reader, RUN)
    return [each.thing.id for each in cases if table.may_decide(each, validator)]


def states(desk: Any) -> dict[str, str]:
    return {result.annotated.example.id: result.state for result in results(desk.reader, RUN)}


def test_what_a_validator_sees(desk: Any, keys: dict[str, str]) -> None:
    example_case = case(desk.reader, RUN, keys["1"])
    texts = [part.value for part in example_case.entries()["rewrites"].places[0] if isinstance(part, Field)]
    assert (example_case.thing.id, texts[1:]) == ("1", [P, H])
    first, second = example_case.offers
    assert first.values["labels"] == ["entailment", "neutral"]
    assert first.remark == "two of them"
    assert first.values["rewrites"][0] == {"premise": RIVER, "hypothesis": H, "label": "entailment"}
    assert (second.values["labels"], second.values["rewrites"]) == (["neutral"], [])
    assert "ann" not in f"{example_case.offers}{list(example_case.show())}"


def test_examples_waiting_for_a_validator(
    desk: Any, keys: dict[str, str], form: Form, submit: Callable[..., None]
) -> None:
    assert sorted(due(desk, "vi")) == ["1", "2", "3", "4"]
    orders = {tuple(due(desk, name)) for name in ("vi", "wu", "xi", "yo")}
    assert len(orders) > 1
    submit(keys["1"], "vi", form("N"))
    assert sorted(due(desk, "vi")) == ["2", "3", "4"]
    assert sorted(due(desk, "wu")) == ["2", "3", "4"]
    assert sorted(due(desk, "wu", 2)) == ["1", "2", "3", "4"]
    assert states(desk) == {"1": "validated", "2": "due", "3": "due", "4": "due", "5": "open", "6": "dropped"}


def test_the_latest_form_of_a_validator_counts_and_is_hidden_from_others(
    desk: Any, keys: dict[str, str], form: Form, submit: Callable[..., None]
) -> None:
    submit(keys["1"], "vi", form("N"))
    submit(keys["1"], "vi", form("EN", comment="changed"), checklist=["vagueness", "temporal_order"])
    example_case = case(desk.reader, RUN, keys["1"])
    mine = example_case.own("vi")
    assert mine is not None
    assert mine.payload() == form("EN", comment="changed").payload()
    known = [name for name, _ in load_guidelines().checklist]
    assert mine.checklist == tuple(name for name in known if name in ("vagueness", "temporal_order"))
    assert example_case.own("wu") is None
    assert not replace(ANNOTATIONS, raters=2).may_see(example_case, "wu")
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
    (example,) = consolidated_examples(desk.reader, RUN)
    assert example.disambiguations[0].premise == RIVER
    # Who has yet to see an example alone is not told of it.
    assert to_discuss(desk, "vi") == ["2", "3"]
    assert to_discuss(desk, "xi", 3) == []
    work = next_work(ANNOTATIONS, desk.reader, RUN, "vi", deciding=True)
    assert (work.done, work.left) == (2, 2)  # what is to be decided waits, though "vi" has judged it
    table = replace(ANNOTATIONS, raters=3)
    shown, hidden = differences(table, table.cases(desk.reader, RUN), "xi")
    assert (shown, hidden) == ((), 2)
    with pytest.raises(InputError, match="there is nothing to decide"):
        submit(keys["1"], "vi", form("N"), decides=True)
    submit(keys["2"], "wu", form("CEN"), decides=True)
    submit(keys["2"], "wu", form("CN"), decides=True)
    submit(keys["3"], "xi", GONE, decides=True)
    assert states(desk)["2"] == "validated"
    assert states(desk)["3"] == "discarded"
    assert consolidated_examples(desk.reader, RUN)[1].labels == {"contradiction", "neutral"}
    assert to_discuss(desk, "vi") == []
    assert sorted(due(desk, "xi", 3)) == ["1", "4"]
    measured = agreement(desk.reader, RUN)
    # Of four examples that both saw, one of them discarded two; 1: EN EN, 2: EN N.
    assert (measured["raters"], measured["rows"], measured["discarded"]) == (2, 2, 2)
    assert measured["identical"].value == 0.5


def test_flow(desk: Any, keys: dict[str, str], form: Form, submit: Callable[..., None]) -> None:
    submit(keys["1"], "vi", form("EN"))
    submit(keys["2"], "vi", GONE)
    submit(keys["3"], "vi", form("EN"))
    submit(keys["3"], "wu", form("E"))
    assert flow(desk.reader, RUN) == {
        "generated": 6,
        "annotated": 5,
        "dropped": 1,
        "due": 1,
        "discuss": 1,
        "discarded": 1,
        "validated": 1,
    }


def test_forms_that_cannot_be_consolidated(
    desk: Any, keys: dict[str, str], form: Form, submit: Callable[..., None]
) -> None:
    rewrites = (*form("EN").rewrites[:1], Disambiguation(P, H, "neutral"))
    one_changed = form("EN").model_copy(update={"rewrites": rewrites})
    with pytest.raises(DeskFormError) as raised:
        submit(keys["1"], "vi", one_changed)
    assert [problem.code for problem in raised.value.problems] == ["one_changed"]
    for closed in ("5", "6"):  # too few annotations; discarded by a linguist
        with pytest.raises(InputError, match="cannot be judged now"):
            submit(keys[closed], "vi", form("E"))
    with pytest.raises(InputError, match="nothing called 'x'"):
        submit("x", "vi", form("E"))
    with pytest.raises(InputError, match="'mood' is not a choice of checklist; choose from temporal_order"):
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
    with pytest.raises(InputError, match="no example has been consolidated yet"):
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


def test_statistics_of_linguists(desk: Any, keys: dict[str, str]) -> None:
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
    (annotated,) = annotated_examples(desk.reader, RUN).values()
    assert (annotated.key, [f.annotation for f in annotated.forms], annotated.complete) == (
        key,
        [form("N")],
        False,
    )


def test_answers_of_erased_people_are_excluded(
    desk: Any, keys: dict[str, str], form: Form, submit: Callable[..., None]
) -> None:
    submit(keys["1"], "vi", form("EN"))
    erase_participant(desk.path, "bo")
    # What a validator made of it is the validator's; all else waits for another linguist.
    assert states(desk) == {"1": "validated", "2": "open", "3": "open", "4": "open", "5": "open", "6": "open"}
    assert len(case(desk.reader, RUN, keys["1"]).offers) == 1


def test_other_runs_are_refused(desk: Any) -> None:
    with pytest.raises(InputError, match="no examples for linguists to annotate"):
        flow(desk.reader, RUN)
    desk.put(Run(id="other", benchmark="clarq", setup="H2H", seed=0))
    with pytest.raises(InputError, match="other has no examples for linguists to annotate"):
        flow(desk.reader, "other")


def test_rewrites_of_a_merged_row_are_under_neither_linguist(tmp_path):
    """Published rows do not attribute rewrites."""
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
        (shared,) = ANNOTATIONS.cases(reader, run)
        *voices, merged = [offer.values for offer in shared.offers]
        assert [voice["rewrites"] for voice in voices] == [[], []]
        assert {rewrite["label"] for rewrite in merged["rewrites"]} == {"entailment", "neutral"}
        (back,), (given,) = linguist_records(reader, [run]), LINGUISTS.read(path).rows
        assert (back.annotations, back.rewrites) == (given.annotations, given.rewrites)
