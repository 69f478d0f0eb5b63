"""A draft with all three candidates, a faultless form for it, and a log of such forms."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from logs import LogReader, LogWriter
from logs.rows import Ending, Episode, Participant, Run, Turn
from simulator.ambik.annotation.desk import PAIRS, cases, form_values
from simulator.ambik.forms import read_pair_form
from simulator.ambik.items import Candidate, Draft, DraftItem, item_row
from simulator.ambik.payloads import annotation_move
from simulator.ambik.records import PairForm
from simulator.desk_work import judgment_rows
from simulator.seats import Reply

RUN = "annotators"

CANDIDATES = (
    Candidate(
        type="preferences",
        task="Kitchen Robot, please pour some oat milk into a glass.",
        question="Which glass would you like?",
        answer="The tall one.",
    ),
    Candidate(
        type="common_sense_knowledge",
        task="Kitchen Robot, please pour some milk into the tall glass.",
        question="Which milk?",
        answer="Oat milk.",
    ),
    Candidate(
        type="safety",
        task="Kitchen Robot, please pour some oat milk into the tall glass right away.",
        question="Is the glass hot?",
        answer="Let it cool first.",
    ),
)
PLANS = {
    "clear_plan": ["Take the oat milk out of the fridge.", "Pour oat milk into the tall glass.", "Serve it."],
    "ambiguous_plan": ["Take the oat milk out of the fridge.", "Pour oat milk into a glass.", "Serve it."],
}


@pytest.fixture
def draft() -> Draft:
    """Three glasses and two cartons."""
    return Draft(
        id="x1",
        objects=("tall glass", "small glass", "beer glass", "oat milk", "apple juice", "oven gloves"),
        scene="a tall glass, a small glass, a beer glass, oat milk, apple juice, oven gloves",
        clear="Kitchen Robot, please pour some oat milk into the tall glass.",
        candidates={candidate.type: candidate for candidate in CANDIDATES},
        indirect="Kitchen Robot, the drink made of oats goes into the high glass.",
    )


@pytest.fixture
def move() -> dict[str, Any]:
    """Preferences, with reasons why the other two are not adequate."""
    return {
        "type": "preferences",
        "ambiguous": CANDIDATES[0].task,
        "question": CANDIDATES[0].question,
        "answer": CANDIDATES[0].answer,
        **PLANS,
        "step": 1,
        "shortlist": ["tall glass", "small glass", "beer glass"],
        "intent": "oat milk, tall glass",
        "variants": ["oat milk, tall glass", "oat milk, small glass", "oat milk, beer glass"],
        "passed_over": "No glass is hot; there is but one milk.",
        "one_ambiguity": True,
    }


@pytest.fixture
def form(draft: Draft, move: dict[str, Any]) -> PairForm:
    """The same, read."""
    return read_pair_form(draft, move, annotator="ann")


class Desk:
    """Writes annotators' forms; `reader` reads them."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.log = LogWriter(path, durable=False)
        self.put(
            Run(id=RUN, benchmark="ambik", setup="H2H", seed=0, config={"options": {"task": "annotate"}})
        )
        self.reader = LogReader(path)
        self._count = 0

    def annotate(self, draft: Draft, worker: str, move: Mapping[str, Any], *, ended: bool = True) -> str:
        """A person's form on a draft, whatever it breaks; the draft's key."""
        item = item_row(DraftItem(draft=draft))
        text, payload = annotation_move(Reply(move=dict(move)), draft, name="person", person=False)
        self._count += 1
        id = f"{RUN}/{self._count}"
        self.put(
            item,
            Participant(id=worker),
            Episode(
                id=id,
                run_id=RUN,
                item_hash=item.hash,
                language="en",
                seats={"annotator": "person"},
                seed=0,
                repeat=self._count,
                participant_id=worker,
                options={"task": "annotate"},
            ),
            Turn(episode_id=id, number=0, seat="annotator", text="ready", payload={"kind": "ready"}),
            Turn(episode_id=id, number=1, seat="annotator", text=text, payload=payload, seconds=90.0),
        )
        if ended:
            self.put(Ending(episode_id=id, status="completed"))
        return item.hash

    def decided(self, key: str, person: str, move: dict[str, Any], submission: str) -> Any:
        """The row of a third person's form."""
        draft = next(case.thing for case in cases(self.reader, RUN) if case.key == key)
        values = move if "delete" in move else form_values(read_pair_form(draft, move))
        sent = judgment_rows(PAIRS, self.reader, RUN, person, key, values, submission=submission)
        return sent[0]

    def put(self, *rows: Any) -> None:
        """Write rows."""
        for row in rows:
            self.log.put(row)
        self.log.flush()


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    """An empty run of annotators."""
    made = Desk(tmp_path / "log.sqlite")
    yield made
    made.reader.close()
    made.log.close()
