"""Marks of fact-checks' complaints: logged by reviewer."""

from typing import Any

import pytest

from logs.rows import Ending, Episode, Run, Turn
from simulator.ambient.annotation.marking import CLAIMS, marked_claims, records_marked_by
from simulator.ambient.claims import claim_measures, is_flagged
from simulator.ambient.items import ClaimItem, item_row
from simulator.desk_work import judgment_rows, next_work
from simulator.errors import InputError

RUN = "claims"
SHARES = {"c1": 0.05, "c2": 0.4, "c3": 0.3}


@pytest.fixture
def keys(desk: Any) -> dict[str, str]:
    """Log three claims, two of which are flagged."""
    desk.put(Run(id=RUN, benchmark="ambient", setup="L2L", seed=0, config={}))
    made = {}
    for id, share in SHARES.items():
        item = item_row(ClaimItem(id=id, claim=f"Claim {id}.", cleaned=f"Claim {id}.", marks="f"))
        made[id] = item.hash
        table = {"contradiction": 0.01, "entailment": 0.9, "neutral": share}
        paraphrase = {"text": f"{id} in other words", "probabilities": table, "score": share}
        payload = {"kind": "claim", "paraphrases": [paraphrase], "score": share, "flagged": share > 0.2}
        seats = {"annotator": "some/model"}
        desk.put(
            item,
            Episode(
                id=f"{RUN}/{id}",
                run_id=RUN,
                item_hash=item.hash,
                language="en",
                seats=seats,
                seed=0,
                repeat=0,
            ),
            Turn(episode_id=f"{RUN}/{id}", number=0, seat="annotator", text="", payload=payload),
            Ending(episode_id=f"{RUN}/{id}", status="completed"),
        )
    return made


def test_the_flagged_come_first(desk: Any, keys: dict[str, str]) -> None:
    cases = marked_claims(desk.reader, RUN)
    assert [(case.thing.id, is_flagged(case.thing)) for case in cases] == [
        ("c2", True),
        ("c3", True),
        ("c1", False),
    ]
    assert [case.key for case in cases] == [keys["c2"], keys["c3"], keys["c1"]]
    assert all(case.opinions.blind == {} for case in cases)


def test_marks_are_each_reviewer_s_own_and_the_newest_counts(desk: Any, keys: dict[str, str]) -> None:
    for who, id, marks, number in (
        ("ann", "c2", "f", 0),
        ("ann", "c2", "a", 1),
        ("ann", "c3", "f", 2),
        ("bo", "c1", "fa", 3),
    ):
        values = {"marks": list(marks), "note": f"n{number}"}
        desk.put(*judgment_rows(CLAIMS, desk.reader, RUN, who, keys[id], values, submission=str(number)))
    work = next_work(CLAIMS, desk.reader, RUN, "bo")
    assert work.case and (work.case.key, work.done, work.left) == (keys["c2"], 1, 2)
    cases = marked_claims(desk.reader, RUN)
    ann = {record.id: record for record in records_marked_by(cases, "ann")}
    assert (ann["c2"].marks, ann["c2"].notes) == (frozenset("a"), "n1")
    assert (ann["c1"].marks, ann["c1"].notes) == (None, "")
    measured = claim_measures(tuple(ann.values()))
    counts = [measured[key].value for key in ("flagged", "ambiguous", "unmarked")]
    assert (measured["n"], *counts) == (2, 2, 1, 1)
    assert measured["precision"].value == 0.5
    assert measured["recall"].value == 1.0
    assert {record.id: record.marks for record in records_marked_by(cases, "bo")}["c1"] == frozenset("af")
    assert all(record.marks is None for record in records_marked_by(cases, "cy"))


def test_a_false_mark_is_refused(desk: Any, keys: dict[str, str]) -> None:
    for key, who, marks, message in (
        ("nowhere", "ann", "a", "nothing called"),
        (keys["c1"], " ", "a", "Say who"),
        (keys["c1"], "ann", "", "Mark what"),
        (keys["c1"], "ann", "ax", "not a choice of marks"),
    ):
        with pytest.raises(InputError, match=message):
            judgment_rows(CLAIMS, desk.reader, RUN, who, key, {"marks": list(marks)}, submission="1")
    with pytest.raises(InputError, match="run the task claim"):
        marked_claims(desk.reader, "linguists")
