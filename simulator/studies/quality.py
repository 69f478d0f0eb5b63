"""Signs that a participant did not take care, with the numbers that they rest on.

None of them proves anything, and nothing follows by itself: a researcher looks at what was said. The signs:

- ``fast``: the median turn took less than a third of what the median participant needed;
- ``typed``: a text came faster than people type (written by a program, or pasted unseen);
- ``pasted``: most of a text of 40 characters or more came by the clipboard;
- ``same``: most of five texts or more, each of twelve characters or more, are the same;
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
"""Characters a second. Of 168,000 people, the fastest typists reach 10 (Dhakal et al., CHI 2018)."""
SAME: Final = 0.5
PASTED: Final = 0.5
_LONG_TEXT: Final = 40
_SENTENCE: Final = 12
_TEXTS: Final = 5
_SCALES: Final = 3
_OF_TURNS: Final = ("kind", "aside", "text", "seconds", "payload")
COLUMNS: Final = (
    *("participant", "sets", "turn_seconds", "typed_per_second", "pasted"),
    *("same_text", "scales", "missed", "signs"),
)


def signs(reader: LogReader, study: Study) -> pd.DataFrame:
    """Return a row per participant of a study, those with signs first.

    Columns: ``participant`` (pseudonym), ``sets`` that were begun, ``turn_seconds`` (median of
    the turns of the task), ``typed_per_second`` (most characters a second in a text of 40 or more),
    ``pasted`` (greatest share of such a text that came by the clipboard),
    ``same_text`` (share of the most frequent text of five or more), ``scales`` (different points used, of
    three scales or more), ``missed`` (ids of attention checks), ``signs`` (as above). A number that cannot
    be had is missing.

    Raises:
        NotInLog: if the study was never opened on this log.
    """
    reader.run(study.run_id)
    turns = pd.DataFrame(_turns(reader, study), columns=["participant", "episode", *_OF_TURNS])
    rows = [_row(study, str(person), mine) for person, mine in turns.groupby("participant", sort=False)]
    table = pd.DataFrame(rows, columns=[*COLUMNS])
    usual = table["turn_seconds"].median()
    fast = table["turn_seconds"] < usual * FAST
    table["signs"] = [
        ("fast", *rest) if quick else rest for quick, rest in zip(fast, table["signs"], strict=True)
    ]
    order = table["signs"].map(len).sort_values(ascending=False, kind="stable").index
    return table.loc[order].reset_index(drop=True)


def _turns(reader: LogReader, study: Study) -> Iterator[dict[str, Any]]:
    """Yield what participants said, those who have withdrawn left out."""
    for run in study.runs:
        erased = erased_episodes(reader, run)
        for played in reader.turns_of_run(run):
            for turn in () if played.episode.id in erased else played.turns:
                alone = turn.seat == study.seat or run != study.run_id
                person = turn.payload.get("participant_id") or (
                    played.episode.participant_id if alone else None
                )
                if person:
                    yield {
                        "participant": person,
                        "episode": played.episode.id,
                        "kind": turn.payload.get("kind"),
                        "aside": is_aside(turn),
                        **{name: getattr(turn, name) for name in _OF_TURNS[2:]},
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
    shown = {
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
        "signs": tuple(name for name, there in shown.items() if there),
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
