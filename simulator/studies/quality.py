"""Signs of careless participation, with the underlying numbers.

They prove nothing, and have no automatic consequences: a researcher takes a second look. The signs:

- ``fast``: the median turn took less than a third of the median participant's;
- ``typed``: a text came faster than people type (written by a program, or pasted unnoticed);
- ``pasted``: most of a text of 40 or more characters came from the clipboard;
- ``same``: most of five or more texts, each of twelve or more characters, are the same;
- ``straight``: every scale (three or more) was answered at the same point;
- ``checks``: an attention check was missed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

import pandas as pd

from logs import LogReader
from simulator.runner.logged import erased_episodes
from simulator.runner.machines import is_aside
from simulator.studies.files import Study
from simulator.studies.graph import MISSED
from simulator.studies.questions import ASKED_AFTER, ASKED_BEFORE, TRIED

FAST: Final = 1 / 3
TYPED: Final = 15.0
"""Characters per second. Of 168,000 people, the fastest typists reach 10 (Dhakal et al., CHI 2018)."""
SAME: Final = 0.5
PASTED: Final = 0.5
_LONG_TEXT: Final = 40
_SENTENCE: Final = 12
_TEXTS: Final = 5
_SCALES: Final = 3
_TURN_COLUMNS: Final = ("kind", "aside", "text", "seconds", "payload")
COLUMNS: Final = (
    *("participant", "sets", "turn_seconds", "typed_per_second", "pasted"),
    *("same_text", "scales", "missed", "signs"),
)


def carelessness_signs(reader: LogReader, study: Study) -> pd.DataFrame:
    """Return a row per participant of a study, those with most signs first.

    Columns: ``participant`` (pseudonym), ``sets`` (begun), ``turn_seconds`` (median over turns of the task),
    ``typed_per_second`` (maximum characters per second over texts of 40 or more characters), ``pasted``
    (maximum share of such a text that came from the clipboard), ``same_text`` (share of the most frequent
    text among five or more), ``scales`` (number of distinct points used on three or more scales), ``missed``
    (ids of attention checks), ``signs`` (see above). Undefined numbers are missing.

    Raises:
        NotInLog: if the study was never opened on this log.
    """
    reader.run(study.run_id)
    turns = pd.DataFrame(_turns(reader, study), columns=["participant", "episode", *_TURN_COLUMNS])
    rows = [_row(study, str(person), own) for person, own in turns.groupby("participant", sort=False)]
    table = pd.DataFrame(rows, columns=[*COLUMNS])
    fast = table["turn_seconds"] < table["turn_seconds"].median() * FAST
    table["signs"] = [
        ("fast", *rest) if quick else rest for quick, rest in zip(fast, table["signs"], strict=True)
    ]
    order = table["signs"].map(len).sort_values(ascending=False, kind="stable").index
    return table.loc[order].reset_index(drop=True)


def _turns(reader: LogReader, study: Study) -> Iterator[dict[str, Any]]:
    """Yield participants' turns, without those of people who have withdrawn."""
    for run in study.runs:
        erased = erased_episodes(reader, run)
        for played in reader.turns_of_run(run):
            for turn in () if played.episode.id in erased else played.turns:
                own_turn = turn.seat == study.seat or run != study.run_id
                person = turn.payload.get("participant_id") or (
                    played.episode.participant_id if own_turn else None
                )
                if person:
                    yield {
                        "participant": person,
                        "episode": played.episode.id,
                        "kind": turn.payload.get("kind"),
                        "aside": is_aside(turn),
                        **{name: getattr(turn, name) for name in _TURN_COLUMNS[2:]},
                    }


def _row(study: Study, person: str, turns: pd.DataFrame) -> dict[str, Any]:
    task = turns[~turns["aside"].astype(bool)]
    texts = [text for text in task["text"] if len(text) >= _SENTENCE]
    long = task[(task["text"].str.len() >= _LONG_TEXT) & (task["seconds"] > 0)]
    typed = (long["text"].str.len() / long["seconds"]).max()
    pasted = (
        (long["payload"].map(_pasted_characters).astype(float) / long["text"].str.len()).clip(upper=1).max()
    )
    same = Counter(texts).most_common(1)[0][1] / len(texts) if len(texts) >= _TEXTS else None
    points = _points(study, turns)
    missed = sorted({name for payload in turns["payload"] for name in payload.get(MISSED, ())})
    present = {
        "typed": pd.notna(typed) and typed > TYPED,
        "pasted": pd.notna(pasted) and pasted > PASTED,
        "same": same is not None and same > SAME,
        "straight": len(points) >= _SCALES and len(set(points)) == 1,
        "checks": bool(missed),
    }
    return {
        "participant": person,
        "sets": task["episode"].nunique(),
        "turn_seconds": task["seconds"].median(),
        "typed_per_second": typed,
        "pasted": pasted,
        "same_text": same,
        "scales": len(set(points)) if len(points) >= _SCALES else None,
        "missed": tuple(missed),
        "signs": tuple(sign for sign, is_present in present.items() if is_present),
    }


def _pasted_characters(payload: dict[str, Any]) -> int:
    return int(payload.get("trace", {}).get("pasted", 0))


def _points(study: Study, turns: pd.DataFrame) -> list[int]:
    """Return the answers to the study's scales."""
    scales = {question.id for question in study.questions if question.kind == "scale"}
    asked = turns[turns["kind"].astype(str).str.startswith((ASKED_BEFORE, ASKED_AFTER, TRIED))]
    return [
        answer
        for payload in asked["payload"]
        for name, answer in payload.get("answers", {}).items()
        if name in scales and answer is not None
    ]
