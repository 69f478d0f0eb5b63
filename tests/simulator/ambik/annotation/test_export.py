"""New pairs in the published format."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from simulator.ambik.annotation.desk import export_run
from simulator.ambik.data import load_pairs
from simulator.ambik.files.pairs import COLUMNS, clean_pair, export_pairs, read_pairs_file
from simulator.ambik.intents import parse_intent, parse_variants
from simulator.ambik.items import Draft
from simulator.ambik.records import PairForm
from simulator.errors import InputError

Move = dict[str, Any]
RUN = "annotators"


def test_pairs_read_back_as_they_are(tmp_path: Path) -> None:
    pairs = tuple(replace(pair, options=()) for pair in load_pairs())
    assert export_pairs(tmp_path / "new.csv", pairs) == pairs
    assert read_pairs_file(tmp_path / "new.csv").rows == pairs


def test_a_file_has_the_published_columns_and_numbered_plans(tmp_path: Path, form: PairForm) -> None:
    assert form.pair is not None
    quoted = replace(form.pair, question='Which, "tall" or small?')
    export_pairs(tmp_path / "new.csv", [quoted])
    head, *rest = (tmp_path / "new.csv").read_text(encoding="utf-8").splitlines()
    assert head.split(",") == list(COLUMNS)
    text = "\n".join(rest)
    assert '"Which, ""tall"" or small?"' in text
    assert (
        "1. Take the oat milk out of the fridge.\n2. Pour oat milk into the tall glass.\n3. Serve it." in text
    )
    assert ',1,"oat milk, tall glass",' in text


def test_what_no_file_can_hold_is_cleaned(tmp_path: Path, form: PairForm) -> None:
    assert form.pair is not None
    odd = replace(
        form.pair,
        clear="Kitchen\u00a0Robot,\r\nplease  pour.",
        objects=("a  cup", "cup", "cup"),
        clear_plan=("Take\nit.", " "),
        intent=parse_intent("oat\u00a0milk"),
        options=("Pour.",),
    )
    (written,) = export_pairs(tmp_path / "new.csv", [odd])
    assert written == clean_pair(odd)
    assert written.clear == "Kitchen Robot, please pour."
    assert written.objects == ("a cup", "cup")
    assert written.clear_plan == ("Take it.",)
    assert written.intent == parse_intent("oat milk")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"objects": ("salt, pepper",)}, "objects"),
        ({"clear": ""}, "unambiguous_direct"),
        ({"variants": (replace(parse_variants("a")[0], text=""),)}, "variants"),
    ],
)
def test_what_would_not_read_back_is_refused(
    tmp_path: Path, form: PairForm, changes: dict[str, Any], message: str
) -> None:
    assert form.pair is not None
    with pytest.raises(InputError, match=message):
        export_pairs(tmp_path / "new.csv", [replace(form.pair, **changes)])
    assert not (tmp_path / "new.csv").exists()


def test_two_pairs_of_one_id_are_refused(tmp_path: Path, form: PairForm) -> None:
    assert form.pair is not None
    with pytest.raises(InputError, match="nothing was written"):
        export_pairs(tmp_path / "new.csv", [form.pair, form.pair])


def test_decided_pairs_of_a_run_are_written(tmp_path: Path, desk: Any, draft: Draft, move: Move) -> None:
    drafts = [replace(draft, id=f"x{n}") for n in range(4)]
    for draft in drafts[:3]:
        desk.annotate(draft, "ann", {"delete": "No."} if draft.id == "x2" else move)
    desk.annotate(drafts[0], "bob", move)
    key = desk.annotate(drafts[1], "bob", move | {"answer": "No."})
    desk.annotate(drafts[2], "bob", {"delete": "No."})
    desk.annotate(drafts[3], "bob", move)
    path = tmp_path / "annotators-pairs.csv"
    export_run(desk.reader, RUN, path)
    assert [row.id for row in read_pairs_file(path).rows] == ["x0"]
    desk.put(desk.decided(key, "cleo", move | {"answer": "Yes."}, submission="s"))
    pairs = export_run(desk.reader, RUN, path)
    assert [(pair.id, pair.answer) for pair in pairs] == [("x0", "The tall one."), ("x1", "Yes.")]
    assert read_pairs_file(path).rows == pairs


def test_forms_that_break_rules_make_no_row(tmp_path: Path, desk: Any, draft: Draft, move: Move) -> None:
    wrong = move | {"question": "Which."}
    for who in ("ann", "bob"):
        desk.annotate(draft, who, wrong)
    for who in ("ann", "bob"):
        desk.annotate(replace(draft, id="x3"), who, {"delete": "No."})
    with pytest.raises(InputError, match="no finished pairs"):
        export_run(desk.reader, RUN, tmp_path / "a.csv")
    for who in ("ann", "bob"):
        desk.annotate(replace(draft, id="x4"), who, move)
    assert [pair.id for pair in export_run(desk.reader, RUN, tmp_path / "a.csv")] == ["x4"]
