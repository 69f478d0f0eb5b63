"""Fixed lines of the human and the household (personas/handmethat): one wording per line of the template."""

from __future__ import annotations

from random import Random

from personas.templates import render
from trees import Language


def spoken_line(name: str, language: Language, random: Random | None = None) -> str:
    """A line called `name`: any of its wordings, the first without `random`."""
    wordings = render(f"handmethat/{name}", language, {}).text.splitlines()
    return wordings[int(random.random() * len(wordings)) if random else 0]
