"""Links and identities: pseudonyms, platform ids, browser bindings, previews, and earlier participation.

There is a link of the study for a platform, a personal link for a single person, and a preview link. A
preview is a copy of the study under another id: it has the same pages, items and steps, enough places, and
nothing done in it counts. Its id contains the hash of the file's content, so a changed file gets a new
preview.
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

# The kind of identity of a participant without a platform id: the server's own key.
_OWN_KEY: Final = "study"
LINK_KEY: Final = "key"
"""The URL parameter that carries `link_key`."""
BROWSER: Final = "browser"
RELEASED: Final = "released"
_LONGEST: Final = 200


class Person(NamedTuple):
    """A person who comes to a study.

    Attributes:
        identities: rows for the log's table of identities; they are stored nowhere else.
        proven: True if the link was signed for this person.
    """

    participant: str
    identities: tuple[Identity, ...] = ()
    proven: bool = False


def recognise(study: Study, key: bytes, who: Mapping[str, str] | str) -> Person | None:
    """Return the person who comes; None if they cannot be identified.

    `who`: the parameters of their URL, or the server's own key for them.
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
    signature = who.get(LINK_KEY, "")
    return Person(participant, tuple(rows), hmac.compare_digest(signature.encode(), personal.encode()))


def link_key(study: Study, key: bytes, who: str = "") -> str:
    """Return the signature of a link into `study` (`LINK_KEY`), which nobody else can forge.

    `key`: the log's key (`logs.load_key`). `who`: the platform id of the person; empty for the study's link.
    """
    # Study ids do not contain colons.
    return pseudonym_of(key, "link", f"{study.id}:{who}")[1:]


def came_by_link(study: Study, key: bytes, who: Mapping[str, str] | str) -> bool:
    """Return True if the person's link is signed, or if the study does not sign its links."""
    if not study.signed_links:
        return True
    parameters = {} if isinstance(who, str) else who
    signature = parameters.get(LINK_KEY, "").encode()
    person = parameters.get(study.identity[0], "").strip()
    return any(hmac.compare_digest(signature, link_key(study, key, name).encode()) for name in {"", person})


class Binding(NamedTuple):
    """The binding of a person's places to a browser.

    Attributes:
        free: True if the places are not bound to another browser.
        row: the row that binds them to this browser.
    """

    free: bool
    row: Identity


def check_binding(reader: LogReader, study: Study, participant: str, key: bytes, browser: str) -> Binding:
    """Return whether the browser with the key `browser` may use a person's places, and the row to bind them.

    The first browser keeps the places, until a researcher releases them (`release_row`). Bindings are per
    study: being first in one study gives no access to another.
    """
    kind = f"{BROWSER}:{study.id}"
    known = [row.value for row in reader.identities(participant_id=participant, kind=kind)]
    times = sum(value.startswith(RELEASED) for value in known)
    mine = f"{pseudonym_of(key, BROWSER, browser)}.{times}"
    bound = {value for value in known if value.endswith(f".{times}") and not value.startswith(RELEASED)}
    return Binding(not bound or mine in bound, Identity(participant_id=participant, kind=kind, value=mine))


def release_row(reader: LogReader, study: Study, participant: str) -> Identity:
    """Return the row that releases a person's places in a study for the next browser."""
    kind = f"{BROWSER}:{study.id}"
    known = reader.identities(participant_id=participant, kind=kind)
    times = sum(row.value.startswith(RELEASED) for row in known)
    return Identity(participant_id=participant, kind=kind, value=f"{RELEASED}.{times}")


def took_part_elsewhere(reader: LogReader, study: Study, participant: str) -> bool:
    """Return True if the person was in a study that `study` excludes before they were in this one.

    A place there is enough, and so is an episode in a study without places.
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
    """Return True if a URL parameter has a usable value; ``{{%PROLIFIC_PID%}}`` was not filled in."""
    return bool(value.strip()) and len(value) <= _LONGEST and "{{" not in value


PREVIEW: Final = ".preview."
"""The part of a preview's id between the study's id and the hash of its content."""
_PLACES: Final = 1000


def study_link(study: Study, key: bytes, site: str) -> str:
    """Return the link for a recruitment platform, with placeholders in double braces for it to fill in."""
    signed = {LINK_KEY: link_key(study, key)} if study.signed_links else {}
    blanks = "&".join(f"{name}={{{{%{name}%}}}}" for name in study.identity)
    return _address(study, site) + "&".join(filter(None, [urlencode(signed), blanks]))


def personal_link(study: Study, key: bytes, site: str, person: str) -> str:
    """Return a link for one person, given their platform id; it works in any browser."""
    return _address(study, site) + urlencode(
        {LINK_KEY: link_key(study, key, person), study.identity[0]: person}
    )


def preview_link(study: Study, key: bytes, site: str) -> str:
    """Return a new link to try a study once as a participant."""
    return personal_link(preview_of(study), key, site, f"preview-{token_hex(4)}")


def preview_of(study: Study) -> Study:
    """Return the preview of a study, which admits everybody with its signed link."""
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
