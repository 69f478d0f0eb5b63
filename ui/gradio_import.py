"""The import of Gradio, without what it does for editors alone."""

from __future__ import annotations

import inspect
from importlib import import_module
from typing import Any
from unittest.mock import patch


def import_gradio() -> None:
    """Import Gradio without the interface files (``.pyi``) that it makes anew of each component.

    They are nearly half of the time that its import takes, and where several processes import it at once they
    write into each other's. It goes without them where a component's file cannot be found.
    """
    find_file = inspect.getfile

    def getfile(source: Any) -> str:
        if getattr(source, "__module__", "").startswith("gradio."):
            raise OSError("no interface file is made of it")
        return find_file(source)

    with patch.object(inspect, "getfile", getfile):
        import_module("gradio")
