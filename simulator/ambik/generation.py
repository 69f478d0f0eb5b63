"""Generation of drafts: a model is asked role by role, and every answer is kept (spec 11, steps 2 to 4).

The templates are ``personas/ambik/new_<role>.<language>.jinja``; each is a conversation
(`simulator.ambik.prompts`) with worked examples from the built-in pairs (``shown`` in tables/making.yaml).

A clear task is dropped if it names something that is not in its scene, or if no candidate for it can be read.
Everything else stays as the model wrote it, for annotators to repair. The plan is rewritten for one
candidate: the first, in the annotators' order, that differs from the clear task.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from typing import Annotated, Any, Final, Literal, get_args

from typer import Option

from simulator.ambik.annotation.form import ORDER
from simulator.ambik.data import load_pairs
from simulator.ambik.intents import fold
from simulator.ambik.items import Candidate, Draft, Pair, parting
from simulator.ambik.naming import bare
from simulator.ambik.prompts import TURNS, Prompt, read_line, render_prompt, request_for
from simulator.ambik.scenes import Scene, absent
from simulator.ambik.terms import APPLIANCES, Ambiguity, table
from simulator.generation import Journal, key_of
from simulator.models import ChatModel, Refused
from simulator.runner.options import SeedOption
from simulator.seeds import derive_seed
from trees import Language

Role = Literal["task", "plan", "safety", "common_sense_knowledge", "preferences", "rewrite"]
ROLES: Final[tuple[Role, ...]] = get_args(Role)
"""The roles in the order in which they are asked; a type's role writes the candidate of that type."""


def new_prompt(
    role: Role,
    language: str,
    *,
    scene: str,
    task: str = "",
    plan: Sequence[str] = (),
    ambiguous: str = "",
) -> Prompt:
    """Return the prompt of a role.

    `language`: language of the instructions; tasks and plans are English.
    `scene`: the scene in words, with articles.
    `task`: the clear task; for all roles but ``task``.
    `plan`: steps of the clear task, without numbers; for ``rewrite``.
    `ambiguous`: the ambiguous task; for ``rewrite``.
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
    return render_prompt(f"new_{role}", language, variables)


@cache
def _examples() -> dict[Role, tuple[Pair, ...]]:
    pairs = {pair.id: pair for pair in load_pairs()}
    return {role: tuple(pairs[id] for id in table("making")["shown"][role]) for role in ROLES}


LONGEST: Final = 1000
"""Most letters of a task, a question, an answer or a step; the rest is cut off."""
MOST_STEPS: Final = 20
_LABELS: Final[Mapping[str, str]] = {
    "task": r"(?:(?:new|unclear|ambiguous|clear|rewritten) )?task|(?:新的?|改写后的)?任务",
    "question": "question|问题",
    "answer": "answer|回答",
    "plan": "(?:my |the |its |new )?plan|计划",
}
_LABEL: Final[Mapping[str, re.Pattern[str]]] = {
    field: re.compile(rf"^(?:\W*[0-9][.)])?\W*(?:{words})\W*[:：]\W*", re.I)
    for field, words in _LABELS.items()
}
_STEP: Final = re.compile(
    r"^[\s*#_]*(?:[0-9]{1,3}\s*[.):、]|step\s+[0-9]{1,3}\s*[.:)]?|[-•*]\s)[\s*_]*", re.I
)


def read_task(text: str) -> str:
    """Return the task: the first line with content, without its label; empty if there is none."""
    return read_line(_LABEL["task"].sub("", text.strip(), count=1), LONGEST)


def read_plan(text: str) -> tuple[str, ...]:
    """Return the first run of numbered lines, without their numbers.

    If no line has a number, every line is a step.
    """
    lines = [line for line in text.splitlines() if any(map(str.isalnum, line))]
    first = next((place for place, line in enumerate(lines) if _STEP.match(line)), None)
    if first is None:
        lines = [line for line in lines if not _LABEL["plan"].fullmatch(line.strip())]
        return tuple(_plain_line(line) for line in lines[:MOST_STEPS])
    numbered = []
    for line in lines[first:]:
        if not _STEP.match(line):
            break
        numbered.append(_plain_line(_STEP.sub("", line, count=1)))
    return tuple(filter(None, numbered))[:MOST_STEPS]


def read_candidate(text: str, kind: Ambiguity) -> Candidate | None:
    """Return task, question and answer, the first of each after its label; None if one is missing."""
    fields: dict[str, str] = {}
    for line in text.splitlines():
        for field in ("task", "question", "answer"):
            label = _LABEL[field].match(line)
            if label and (entry := _plain_line(line[label.end() :])):
                fields.setdefault(field, entry)
    return Candidate(type=kind, **fields) if len(fields) == 3 else None


def _plain_line(line: str) -> str:
    """Return a line of text without markup."""
    return " ".join(line.strip(" *_\t").split())[:LONGEST]


PURPOSE: Final = "ambik.new_{role}"
Reason = Literal["refused", "no task", "not in the scene", "no candidate"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Decoding:
    """The decoding parameters of drafts; everything after the clear task is asked at temperature 0."""

    tries: Annotated[int, Option(min=1, help="most tasks to ask for in a scene")] = 1
    temperature: Annotated[float, Option(min=0.0, help="temperature for clear tasks")] = 0.7
    max_tokens: Annotated[int, Option(min=1, help="most tokens of an answer")] = 300
    language: Annotated[Language, Option(help="language of the instructions; tasks are English")] = "en"
    seed: SeedOption = 0


@dataclass(frozen=True, slots=True)
class DroppedTask:
    """A clear task that is not used, and the reason."""

    scene: str
    task: str
    reason: Reason
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SceneDraft:
    """The draft made in a scene, and the tasks dropped before it.

    Attributes:
        draft: None if every task was dropped.
        plan_names: things that the plan names but the scene lacks; annotators repair that.
        rewritten: the candidate for which the plan was rewritten; None if it could not be.
        step: index, from 0, of the first step in which the plans differ; None if there is none.
    """

    scene: str
    draft: Draft | None = None
    dropped: tuple[DroppedTask, ...] = ()
    plan_names: tuple[str, ...] = ()
    rewritten: Ambiguity | None = None
    step: int | None = None


class MissingAnswer(Exception):
    """Raised if an answer is not in the journal and there is no model to ask."""


class Asker:
    """Answers from a journal, or from a model, whose answers are added to the journal.

    `model`: asked for answers that the journal lacks; None to use the journal only.
    """

    def __init__(
        self, service: str, decoding: Decoding, journal: Journal, model: ChatModel | None = None
    ) -> None:
        self.decoding = decoding
        self._about = key_prefix(service, decoding)
        self._journal = journal
        self._model = model

    async def ask(self, scene: Scene, role: Role, attempt: int = 0, **variables: Any) -> str | None:
        """Return the model's answer in a role; None if it refused, which is also kept.

        Raises:
            MissingAnswer: if the journal has no answer and there is no model.
            ModelError: see `simulator.models.errors`.
        """
        prompt = new_prompt(role, self.decoding.language, scene=scene.words, **variables)
        key = self._about + key_of(scene.id, role, attempt, prompt.text)
        if key not in self._journal.rows:
            self._journal.add(
                key, {"scene": scene.id, "role": role, **await self._answer(scene, role, attempt, prompt)}
            )
        text = self._journal.rows[key]["text"]
        return None if text is None else str(text)

    async def _answer(self, scene: Scene, role: Role, attempt: int, prompt: Prompt) -> dict[str, Any]:
        if self._model is None:
            raise MissingAnswer(f"{scene.id}: {role}")
        request = request_for(
            self._model,
            prompt,
            temperature=self.decoding.temperature if role == "task" else 0.0,
            max_tokens=self.decoding.max_tokens,
            seed=derive_seed(self.decoding.seed, scene.id, role, attempt),
            stop=(TURNS[self.decoding.language],),
            repeat=attempt,
            purpose=PURPOSE.format(role=role),
        )
        try:
            return {"text": (await self._model.complete(request)).text}
        except Refused as refused:
            return {"text": None, "refused": str(refused)}


def key_prefix(service: str, decoding: Decoding) -> str:
    """Return the prefix of a command's journal keys; it does not depend on the number of tries."""
    parameters = {name: value for name, value in asdict(decoding).items() if name != "tries"}
    return f"{key_of(service, parameters)}-"


async def make_draft(asker: Asker, scene: Scene) -> SceneDraft:
    """Make a draft in a scene, and return it with the tasks that were dropped."""
    dropped: list[DroppedTask] = []
    for attempt in range(asker.decoding.tries):
        text = await asker.ask(scene, "task", attempt)
        task = read_task(text or "")
        if (rejected := _check_task(scene, text, task)) is not None:
            dropped.append(rejected)
            continue
        return await _draft(asker, scene, task, tuple(dropped))
    return SceneDraft(scene.id, dropped=tuple(dropped))


def _check_task(scene: Scene, text: str | None, task: str) -> DroppedTask | None:
    if text is None:
        return DroppedTask(scene.id, "", "refused")
    if not task:
        return DroppedTask(scene.id, "", "no task")
    names = absent(task, scene.objects)
    return DroppedTask(scene.id, task, "not in the scene", names) if names else None


async def _draft(asker: Asker, scene: Scene, task: str, dropped: tuple[DroppedTask, ...]) -> SceneDraft:
    plan = read_plan(await asker.ask(scene, "plan", task=task) or "")
    candidates: dict[Ambiguity, Candidate] = {}
    for kind in ORDER:
        candidate = read_candidate(await asker.ask(scene, kind, task=task) or "", kind)
        if candidate is not None:
            candidates[kind] = candidate
    if not candidates:
        return SceneDraft(scene.id, dropped=(*dropped, DroppedTask(scene.id, task, "no candidate")))
    chosen = first_changed(task, candidates)
    rewritten: tuple[str, ...] = ()
    if plan and chosen is not None:
        variables: dict[str, Any] = {"task": task, "plan": plan, "ambiguous": candidates[chosen].task}
        rewritten = read_plan(await asker.ask(scene, "rewrite", **variables) or "")
    return SceneDraft(
        scene.id,
        draft=Draft(
            id=scene.id,
            objects=scene.objects,
            scene=scene.words,
            clear=task,
            candidates=candidates,
            plan=plan,
            ambiguous_plan=rewritten,
        ),
        dropped=dropped,
        plan_names=tuple(dict.fromkeys(name for step in plan for name in absent(step, scene.objects))),
        rewritten=chosen if rewritten else None,
        step=parting([*map(bare, plan)], [*map(bare, rewritten)]),
    )


def first_changed(task: str, candidates: Mapping[Ambiguity, Candidate]) -> Ambiguity | None:
    """Return the type of the first candidate, in the annotators' order, that differs from the clear task."""
    kinds = (kind for kind in ORDER if kind in candidates)
    return next((kind for kind in kinds if fold(candidates[kind].task) != fold(task)), None)
