"""Who comes: pseudonyms, outside identities, and who has taken part elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from logs import LogReader, pseudonym_of
from logs.rows import Identity
from simulator.studies.files import Study, run_id

# Where a participant has no outside identity, the server's own key stands for them.
_OWN_KEY: Final = "study"
_LONGEST: Final = 200


class Person(NamedTuple):
    """Somebody who comes.

    Attributes:
        participant: the pseudonym.
        identities: what goes into the log's table of identities, and nowhere else.
    """

    participant: str
    identities: tuple[Identity, ...] = ()


def recognise(study: Study, key: bytes, who: Mapping[str, str] | str) -> Person | None:
    """Who comes; None if nothing says so.

    Args:
        study: says which parameters name a person.
        key: of the log (`logs.load_key`).
        who: the parameters of the URL they came by, or the server's own key for them.
    """
    if isinstance(who, str):
        known = _usable(who) and not study.require_identity
        return Person(pseudonym_of(key, _OWN_KEY, who)) if known else None
    given = {name: who[name].strip() for name in study.identity if _usable(who.get(name, ""))}
    first = study.identity[0]
    if first not in given:
        return None
    participant = pseudonym_of(key, first.lower(), given[first])
    rows = (Identity(participant_id=participant, kind=kind.lower(), value=given[kind]) for kind in given)
    return Person(participant, tuple(rows))


def took_part_elsewhere(reader: LogReader, study: Study, participant: str) -> bool:
    """Whether the person was in a study that `study` excludes, before they were in this one.

    Having been given a place is enough, and so is an episode in a study that gives no places.
    """
    excluded = _excluded_runs(reader, study)
    rows = reader.assignments(participant_id=participant, latest=False)
    runs = list(dict.fromkeys(row.run_id for row in rows))
    if next((run for run in runs if run == study.run_id or run in excluded), None) in excluded:
        return True
    return any(
        episode.run_id in excluded and episode.run_id not in runs
        for episode in reader.episodes(participant_id=participant)
    )


def _excluded_runs(reader: LogReader, study: Study) -> frozenset[str]:
    if study.exclude is not None:
        return frozenset(map(run_id, study.exclude))
    runs = (run.id for run in reader.runs() if run.benchmark == study.benchmark)
    return frozenset(id for id in runs if id.startswith(run_id("")) and id != study.run_id)


def _usable(value: str) -> bool:
    """Whether a parameter names somebody; ``{{%PROLIFIC_PID%}}`` is a link that was not filled in."""
    return bool(value.strip()) and len(value) <= _LONGEST and "{{" not in value
