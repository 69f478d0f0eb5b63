"""Who comes, and by which links: pseudonyms, outside identities, and who has taken part elsewhere.

A platform is given the study's link; there is one for a single person, and one that tries the study out. A
preview is the study once more, under an id of its own: pages, items and way are the same, places without
limit, and nothing that is done there counts. Its id holds the hash of what the file says, so a changed file
has another preview, while a study that is open stays as it is.
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from secrets import token_hex
from typing import Final, NamedTuple
from urllib.parse import urlencode

from logs import LogReader, pseudonym_of
from logs.rows import Identity
from simulator.studies.files import Study, run_id
from simulator.studies.parts import Codes

# Where a participant has no outside identity, the server's own key stands for them.
_OWN_KEY: Final = "study"
LINK_KEY: Final = "key"
"""The parameter of a link in which `link_key` stands."""
BROWSER: Final = "browser"
RELEASED: Final = "released"
_LONGEST: Final = 200


class Person(NamedTuple):
    """Somebody who comes.

    Attributes:
        identities: what goes into the log's table of identities, and nowhere else.
        proven: whether their link was signed for them alone.
    """

    participant: str
    identities: tuple[Identity, ...] = ()
    proven: bool = False


def recognise(study: Study, key: bytes, who: Mapping[str, str] | str) -> Person | None:
    """Return who comes; None if nothing says so.

    `who`: the parameters of the URL they came by, or the server's own key for them.
    """
    if isinstance(who, str):
        known = _is_usable(who) and not study.require_identity
        return Person(pseudonym_of(key, _OWN_KEY, who)) if known else None
    ids = {name: who[name].strip() for name in study.identity if _is_usable(who.get(name, ""))}
    first = study.identity[0]
    if first not in ids:
        return None
    participant = pseudonym_of(key, first.lower(), ids[first])
    rows = (Identity(participant_id=participant, kind=kind.lower(), value=ids[kind]) for kind in ids)
    personal = link_key(study, key, ids[first])
    shown = who.get(LINK_KEY, "")
    return Person(participant, tuple(rows), hmac.compare_digest(shown.encode(), personal.encode()))


def link_key(study: Study, key: bytes, who: str = "") -> str:
    """Return what a link into `study` carries as `LINK_KEY`, so that no stranger can write such a link.

    Args:
        study: the study.
        key: of the log (`logs.load_key`).
        who: the outside identity of the one person it is for; empty: for everybody whom a platform sends.
    """
    # A colon stands in no study's id.
    return pseudonym_of(key, "link", f"{study.id}:{who}")[1:]


def came_by_link(study: Study, key: bytes, who: Mapping[str, str] | str) -> bool:
    """Return True if somebody came by a link of the study's, or if the study does not sign its links."""
    if not study.signed_links:
        return True
    parameters = {} if isinstance(who, str) else who
    shown = parameters.get(LINK_KEY, "").encode()
    person = parameters.get(study.identity[0], "").strip()
    return any(hmac.compare_digest(shown, link_key(study, key, name).encode()) for name in {"", person})


class Binding(NamedTuple):
    """The answer to a browser that asks for a person's places.

    Attributes:
        free: whether no other browser has them.
    """

    free: bool
    row: Identity


def bind(reader: LogReader, study: Study, participant: str, key: bytes, browser: str) -> Binding:
    """Return whether the browser of the key `browser` may use a person's places, and what binds them to it.

    The first browser has them, until a researcher releases them (`release`). Each study counts by itself:
    whoever comes first in one of them gets into no other.
    """
    kind = f"{BROWSER}:{study.id}"
    known = [row.value for row in reader.identities(participant_id=participant, kind=kind)]
    times = sum(value.startswith(RELEASED) for value in known)
    mine = f"{pseudonym_of(key, BROWSER, browser)}.{times}"
    bound = {value for value in known if value.endswith(f".{times}") and not value.startswith(RELEASED)}
    return Binding(not bound or mine in bound, Identity(participant_id=participant, kind=kind, value=mine))


def release(reader: LogReader, study: Study, participant: str) -> Identity:
    """Return the row that frees a person's places in a study for whichever browser comes next."""
    kind = f"{BROWSER}:{study.id}"
    known = reader.identities(participant_id=participant, kind=kind)
    times = sum(row.value.startswith(RELEASED) for row in known)
    return Identity(participant_id=participant, kind=kind, value=f"{RELEASED}.{times}")


def took_part_elsewhere(reader: LogReader, study: Study, participant: str) -> bool:
    """Return True if the person was in a study that `study` excludes, before they were in this one.

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


def _is_usable(value: str) -> bool:
    """Return True if a parameter names somebody; ``{{%PROLIFIC_PID%}}`` is a link that was not filled in."""
    return bool(value.strip()) and len(value) <= _LONGEST and "{{" not in value


PREVIEW: Final = ".preview."
"""Stands in the id of a preview, between its study's and the hash of what that says."""
_PLACES: Final = 1000


def study_link(study: Study, key: bytes, site: str) -> str:
    """Return the link that a recruiting platform is given; what it fills in stands in double braces."""
    signed = {LINK_KEY: link_key(study, key)} if study.signed_links else {}
    blanks = "&".join(f"{name}={{{{%{name}%}}}}" for name in study.identity)
    return _address(study, site) + "&".join(filter(None, [urlencode(signed), blanks]))


def personal_link(study: Study, key: bytes, site: str, person: str) -> str:
    """Return a link for one person, named as the platform names them; it works in any browser."""
    return _address(study, site) + urlencode(
        {LINK_KEY: link_key(study, key, person), study.identity[0]: person}
    )


def preview_link(study: Study, key: bytes, site: str) -> str:
    """Return a link that plays a study once as a participant; every call makes another one."""
    return personal_link(preview_of(study), key, site, f"preview-{token_hex(4)}")


def preview_of(study: Study) -> Study:
    """Return the study that a preview of `study` is, in which everybody with its signed link may play."""
    return study.model_copy(
        update={
            "id": f"{study.id}{PREVIEW}{study.content_hash[:8]}",
            "participants": None,
            "judgments_per_item": _PLACES,
            "completion_codes": Codes(**dict.fromkeys(Codes.model_fields, "PREVIEW")),
            "completion_url": None,
            "exclude": (),
            "require_identity": False,
            "signed_links": True,
        }
    )


def _address(study: Study, site: str) -> str:
    return f"{site.rstrip('/')}/{study.benchmark}/study/{study.id}?"
