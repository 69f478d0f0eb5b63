"""How one JSON value is written differently from another: order of keys, absent keys, keys unknown to us.

A file that has been read is written again from what was understood; the difference between that and what
was read is kept as its layout, so that nothing of the file is lost.

A layout is None (no difference), ``{"is": value}`` (another value altogether), or a difference of objects::

    {"order": [keys], "without": [keys], "with": {key: value}, "in": {key: layout}}
"""

from __future__ import annotations

from collections.abc import Mapping
from sys import intern
from typing import Any

Layout = dict[str, Any]


def find_layout(ours: Any, theirs: Any) -> Layout | None:
    """Return what `apply_layout` needs to make `theirs` out of `ours`."""
    # Unlike ==, the text tells true from 1 and one order of keys from another, and is as fast.
    if repr(ours) == repr(theirs):
        return None
    if not (isinstance(ours, dict) and isinstance(theirs, dict)):
        return {"is": theirs}
    found: Layout = {}
    if without := [key for key in ours if key not in theirs]:
        found["without"] = without
    if more := {intern(key): value for key, value in theirs.items() if key not in ours}:
        found["with"] = more
    inner = {
        intern(key): layout
        for key, value in ours.items()
        if key in theirs and (layout := find_layout(value, theirs[key])) is not None
    }
    if inner:
        found["in"] = inner
    if [*(key for key in ours if key in theirs), *more] != list(theirs):
        found["order"] = [intern(key) for key in theirs]
    return found or None


def apply_layout(ours: Any, layout: Layout | None) -> Any:
    """`ours` written as `layout` says; `ours` itself stays as it is."""
    if layout is None:
        return ours
    if "is" in layout:
        return layout["is"]
    inner: Mapping[str, Layout] = layout.get("in", {})
    without = layout.get("without", ())
    made = {key: apply_layout(value, inner.get(key)) for key, value in ours.items() if key not in without}
    made |= layout.get("with", {})
    order = layout.get("order")
    if not order:
        return made
    return {key: made[key] for key in order if key in made} | made
