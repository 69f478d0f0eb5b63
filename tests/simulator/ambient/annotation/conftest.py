"""A log of linguists' episodes, written row by row."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from logs import LogReader, LogWriter
from logs.rows import Ending, Episode, Judgment, Participant, Run, Status, Turn
from simulator.ambient.annotation.rules import Annotation
from simulator.ambient.examples import Disambiguation, Example
from simulator.ambient.items import AnnotateItem, item_row
from simulator.ambient.labels import Label
from simulator.ambient.payloads import turn_content
from simulator.ambient.playing import Options, Step
from simulator.seats import Reply

RUN = "linguists"
P, H = "They met at the bank.", "They met near water."
RIVER, MONEY = "They met at the river bank.", "They met at the savings bank."
NAMES: dict[str, Label] = {"C": "contradiction", "E": "entailment", "N": "neutral"}


def make_form(letters: str, comment: str = "", first: str = RIVER) -> Annotation:
    """Return a valid form for (P, H)."""
    texts = (first, MONEY, "They met at the bench.")
    rewrites = [
        Disambiguation(text, H, NAMES[initial]) for text, initial in zip(texts, letters, strict=False)
    ]
    return Annotation(
        labels=frozenset(NAMES[letter] for letter in letters),
        rewrites=tuple(rewrites) if len(letters) > 1 else (),
        comment=comment,
    )


class Desk:
    """A writer of linguists' forms; `reader` reads them."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.log = LogWriter(path, durable=False)
        self.log.put(Run(id=RUN, benchmark="ambient", setup="H2H", seed=0, config={"task": "annotate"}))
        self.log.flush()
        self.reader = LogReader(path)
        self._count = 0

    def annotate(
        self,
        example: str,
        worker: str,
        annotation: Annotation,
        *,
        seconds: float = 60,
        status: Status | None = "completed",
    ) -> str:
        """Log a person's form on an example and return the example's key."""
        given = AnnotateItem(id=example, example=Example(id=example, premise=P, hypothesis=H))
        item, reply = item_row(given), Reply(move=annotation.payload())
        text, payload = turn_content(given, Step("annotate"), reply, Options(), person=True)
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
            ),
            Turn(episode_id=id, number=0, seat="annotator", text="ready", payload={"kind": "ready"}),
            Turn(episode_id=id, number=1, seat="annotator", text=text, payload=payload, seconds=seconds),
        )
        if status is not None:
            self.put(Ending(episode_id=id, status=status))
        return item.hash

    def put(self, *rows: object) -> None:
        for row in rows:
            self.log.put(row)  # type: ignore[arg-type]
        self.log.flush()

    def judge(self, row: Judgment) -> None:
        self.put(row)


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    made = Desk(tmp_path / "log.sqlite")
    yield made
    made.reader.close()
    made.log.close()


@pytest.fixture
def form() -> Callable[..., Annotation]:
    return make_form
