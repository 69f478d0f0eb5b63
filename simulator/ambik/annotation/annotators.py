"""Annotators (spec 11, 11.1): models that follow people's guidelines, and a trivial built-in one."""

from __future__ import annotations

from typing import Any, Final, cast

from pydantic import BaseModel

from personas.templates import render
from simulator.ambik.annotation.form import ORDER, Problem, check_fields, errors_of
from simulator.ambik.data import load_guidelines
from simulator.ambik.files.pairs import steps
from simulator.ambik.forms import proposed_step
from simulator.ambik.items import Draft, line_of
from simulator.ambik.methods import request_in
from simulator.ambik.naming import names_in
from simulator.ambik.playing import AnnotatorKnows, Options
from simulator.ambik.prompts import Prompt
from simulator.ambik.terms import APPLIANCES, Ambiguity
from simulator.models import ChatModel, Message
from simulator.models.schema import parse
from simulator.seats import Kind, Reply, View

MOST_TOKENS: Final = 2048
PURPOSE: Final = "annotator.annotate"
FIRST_CANDIDATE: Final = "offline/first-candidate"


class FirstCandidate:
    """The annotator that takes the first candidate without errors and deletes a draft that has none.

    It uses no judgment: the intent is what the clear plan names where the plans differ. Bots use it.
    """

    name: Final = FIRST_CANDIDATE
    kind: Kind = "offline"

    async def reply(self, view: View) -> Reply:
        """Fill in the form of a draft."""
        draft: Draft = view.task.item.draft
        problems: list[Problem] = []
        for kind in ORDER:
            if kind in draft.candidates:
                move = _candidate_form(draft, kind)
                errors = errors_of(check_fields(draft, move))
                if not errors:
                    return Reply(text=str(move["ambiguous"]), move=move)
                problems += errors
        reason = str(problems[0]) if problems else "No candidate is proposed."
        return Reply(text=reason, move={"delete": reason})


def _candidate_form(draft: Draft, kind: Ambiguity) -> dict[str, Any]:
    """Return a candidate's form; for preferences it lacks a second option, which drafts do not propose."""
    candidate, step = draft.candidates[kind], proposed_step(draft)
    in_clear = names_in(line_of(draft.plan, step), draft.objects)
    in_ambiguous = names_in(line_of(draft.ambiguous_plan, step), draft.objects)
    intent = ", ".join(name for name in in_clear if name not in in_ambiguous)
    return {
        "type": kind,
        "ambiguous": candidate.task,
        "question": candidate.question,
        "answer": candidate.answer,
        "step": step,
        "intent": intent,
        "variants": [intent],
        "passed_over": "They break a rule." if kind != ORDER[0] else "",
        "one_ambiguity": True,
    }


class Filled(BaseModel):
    """The form as a model fills it in: the step is counted from 1, as on the page."""

    delete: str
    clear: str
    objects: list[str]
    scene: str
    indirect: str
    type: Ambiguity | None
    passed_over: str
    ambiguous: str
    one_ambiguity: bool
    question: str
    answer: str
    clear_plan: list[str]
    ambiguous_plan: list[str]
    step: int | None
    shortlist: list[str]
    intent: str
    variants: list[str]
    comment: str


class ModelAnnotator:
    """A model that fills in the form; its problems are logged with its turn."""

    kind: Kind = "model"

    def __init__(self, model: ChatModel) -> None:
        self._model = model
        self.name = model.name

    async def reply(self, view: View) -> Reply:
        """Fill in the form of a draft.

        Raises:
            ModelError: if the model fails, or its answer is not a form.
        """
        knows: AnnotatorKnows = view.task
        prompt = annotation_prompt(knows.item.draft, Options.read(view.options).language)
        has_schema = self._model.capabilities.schema
        schema = Filled if has_schema else None
        request = request_in(view, self._model, prompt, PURPOSE, max_tokens=MOST_TOKENS, schema=schema)
        answer = await self._model.complete(request)
        filled = cast(Filled, answer.parsed if has_schema else parse(answer.text, Filled))
        return Reply(text=answer.text, move=move_of(filled), seconds=answer.seconds)


def annotation_prompt(draft: Draft, language: str) -> Prompt:
    """Return a model's prompt: the guidelines for people, and the draft."""
    guide = load_guidelines(language)
    variables = {
        "rules": [step.text for step in guide.steps],
        "types": [{"key": kind, "definition": guide.types[kind].definition} for kind in ORDER],
        "type_test": guide.type_test,
        "appliances": APPLIANCES,
        "objects": draft.objects,
        "scene": draft.scene,
        "clear": draft.clear,
        "indirect": draft.indirect,
        "candidates": [draft.candidates[kind] for kind in ORDER if kind in draft.candidates],
        "plan": draft.plan,
        "ambiguous_plan": draft.ambiguous_plan,
    }
    rendered = render("ambik/annotate", language, variables)
    return Prompt((Message("user", rendered.text),), rendered.version, 0)


def move_of(filled: Filled) -> dict[str, Any]:
    """Return a form as a move (`forms.read_pair_form`): plans without numbers, the step counted from 0."""
    move = filled.model_dump()
    for name in ("clear_plan", "ambiguous_plan"):
        move[name] = list(steps("\n".join(move[name])))
    # An invalid step is reported as missing, among the form's problems.
    move["step"] = filled.step - 1 if filled.step is not None and filled.step > 0 else None
    return move
