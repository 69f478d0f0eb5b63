"""What models are asked for: a clear task, its plan, three candidates, the other plan (spec 11, 2 to 4).

The templates are ``personas/ambik/new_<role>.<language>.jinja``; each is a conversation
(`simulator.ambik.prompts`) with worked examples out of the built-in pairs (``shown`` in tables/making.yaml).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Final, Literal, get_args

from personas.templates import render
from simulator.ambik.data import load_pairs
from simulator.ambik.making.groups import making_table
from simulator.ambik.pairs import Pair
from simulator.ambik.prompts import Prompt, messages_of
from simulator.ambik.terms import APPLIANCES

Role = Literal["task", "plan", "safety", "common_sense_knowledge", "preferences", "rewrite"]
ROLES: Final[tuple[Role, ...]] = get_args(Role)
"""In the order in which they are asked for; a type's role writes the candidate of that type."""


def new_prompt(
    role: Role,
    language: str,
    *,
    scene: str,
    task: str = "",
    plan: Sequence[str] = (),
    ambiguous: str = "",
) -> Prompt:
    """The prompt of a role.

    Args:
        role: what is asked for.
        language: of the instructions; tasks and plans are English.
        scene: with articles.
        task: the clear task; for all roles but ``task``.
        plan: of the clear task, without numbers; for ``rewrite``.
        ambiguous: the ambiguous task; for ``rewrite``.

    Raises:
        TemplateError: if the template is missing or malformed.
    """
    variables = {
        "dataset": "ambik",
        "appliances": APPLIANCES,
        "examples": _examples()[role],
        "scene": scene,
        "task": task,
        "plan": tuple(plan),
        "ambiguous": ambiguous,
    }
    found = render(f"ambik/new_{role}", language, variables)
    messages = messages_of(found.text, f"ambik/new_{role}.{language}")
    return Prompt(messages, found.version, len(messages) - 1)


@cache
def _examples() -> dict[Role, tuple[Pair, ...]]:
    pairs = {pair.id: pair for pair in load_pairs()}
    return {role: tuple(pairs[id] for id in making_table()["shown"][role]) for role in ROLES}
