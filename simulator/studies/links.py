"""Addresses of a study: what a platform is given, one for a single person, and one that tries it out.

A preview is the study once more, under an id of its own: pages, items and way are the same, places without
limit, and nothing that is done there counts. Its id holds the hash of what the file says, so a changed file
has another preview, while a study that is open stays as it is.
"""

from __future__ import annotations

from secrets import token_hex
from typing import Final
from urllib.parse import urlencode

from simulator.studies.files import Study
from simulator.studies.parts import Codes
from simulator.studies.people import LINK_KEY, link_key

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
