"""Questions of a study's own: before the task, in a person's first set, or after it, in every set.

A study file lists them under ``questions``; four lines make one::

    - id: age
      text: {en: "How old are you?", zh: 您的年龄是？}
      kind: number

Those ``when: comprehension`` have a right answer. Who answers one wrongly reads the instructions again,
and has another try, as often as the study says (`comprehension_tries`), and does not take part after that.
A question before or after the task that has a right answer is an attention check: whoever misses one goes on,
and leaves with the code ``failed_check``, if the study has one.

The answers are one turn of the log, ``questions_before``, ``questions_after`` or one for each try, and
columns of the frame of episodes (``answer.age``).
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final, Literal, Self, get_args

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    field_validator,
    model_validator,
)

from simulator.errors import SeatError
from simulator.forms import checked_length
from trees import Language

When = Literal["comprehension", "before", "after"]
Kind = Literal["line", "text", "number", "choice", "choices", "scale"]
Answer = str | float | int | list[str] | None

Text = Annotated[str, StringConstraints(min_length=1, strip_whitespace=True)]
SCALE_POINTS: Final = range(2, 12)
# 30,000 in the pages' languages; elsewhere a comma parts decimals, as in 1,5.
_THOUSANDS: Final = re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d*)?")
ASKED_BEFORE: Final = "questions_before"
ASKED_AFTER: Final = "questions_after"
TRIED: Final = "comprehension_"
"""Kinds of the turns that hold the answers; of the last one the number of the try follows."""
ASKED: Final[Mapping[str, When]] = {
    "comprehension": "comprehension",
    ASKED_BEFORE: "before",
    ASKED_AFTER: "after",
}
"""Stages at which they are asked."""
MOST_TRIES: Final = 5


def by_language(words: Any) -> Any:
    """Return the words as they are, if what they go by are languages.

    Raises:
        ValueError: if something else is among them.
    """
    if isinstance(words, Mapping) and (unknown := [name for name in words if name not in get_args(Language)]):
        raise ValueError(
            f"{unknown[0]!r} is no language of the pages; they have {', '.join(get_args(Language))}"
        )
    return words


def as_typed(answer: Any) -> Any:
    """Return an answer as a page sends it: YAML reads some as numbers or as true and false."""
    if isinstance(answer, list):
        return [as_typed(part) for part in answer]
    return answer if answer is None else str(answer)


Words = Annotated[Text | dict[Language, Text], BeforeValidator(by_language)]
"""One text, or one for each language of the pages."""


class Question(BaseModel):
    """A question of a study's own.

    Attributes:
        id: of the answer, in the log and in frames.
        kind: a ``line`` or a ``text`` that is typed, a ``number``, one ``choice`` or several ``choices`` of a
            list, or a point of a ``scale``.
        when: ``before`` the task, in a person's first set, or ``after`` it, in every set; ``comprehension``:
            after the instructions of the first set.
        right: the right answer of a question about the instructions, or of an attention check; several of
            ``choices`` as a list.
        choices: of ``choice`` and ``choices``: what is logged, and its words (by language); a list where both
            are the same.
        points: of a scale, which begins at 1.
        ends: words for the two ends of a scale.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]*$", max_length=40)]
    text: Words
    kind: Kind = "line"
    when: When = "after"
    right: Annotated[str | list[str] | None, BeforeValidator(as_typed)] = None
    choices: dict[Text, Words] = Field(default_factory=dict)
    points: int = Field(7, ge=SCALE_POINTS.start, lt=SCALE_POINTS.stop)
    ends: tuple[Words, Words] | None = None
    least: float | None = None
    most: float | None = None
    optional: bool = False

    @field_validator("choices", mode="before")
    @classmethod
    def _read_options(cls, value: Any) -> Any:
        if not isinstance(value, list | tuple):
            return value
        if any(isinstance(choice, Mapping | list) for choice in value):
            raise ValueError("a list holds plain texts; by language, write `logged: {en: …, zh: …}` for each")
        names = [str(choice) for choice in value]
        if doubled := [name for name in names if names.count(name) > 1]:
            raise ValueError(f"{doubled[0]!r} is listed twice")
        return {name: name for name in names}

    @model_validator(mode="after")
    def _fits_its_kind(self) -> Self:
        if (self.kind in ("choice", "choices")) != (len(self.choices) > 1):
            raise ValueError(
                f"{self.id}: a choice needs a list of two choices or more, and other kinds have none"
            )
        for kind, names in (("number", ("least", "most")), ("scale", ("points", "ends"))):
            fields = type(self).model_fields
            stray = [name for name in names if getattr(self, name) != fields[name].default]
            if stray and self.kind != kind:
                raise ValueError(f"{self.id}: {stray[0]} is for kind {kind}; this is of kind {self.kind}")
        if self.least is not None and self.most is not None and self.least > self.most:
            raise ValueError(f"{self.id}: least ({self.least:g}) is larger than most ({self.most:g})")
        if self.when == "comprehension" and self.right is None:
            raise ValueError(f"{self.id}: what is asked when: comprehension has a right answer")
        if self.right is not None:
            try:
                self.read(self.right, "study")
            except SeatError as error:
                raise ValueError(f"{self.id}: right: {error}") from None
        return self

    def is_right(self, answer: Answer) -> bool:
        """Return True if an answer, as it is logged, is the right one."""
        right = self.read(self.right, "study")
        if isinstance(answer, list) and isinstance(right, list):
            return set(answer) == set(right)
        return answer == right

    def all_words(self) -> dict[str, Words]:
        """Return everything of it that a page shows, by what it is."""
        ends = {} if self.ends is None else {"first end": self.ends[0], "last end": self.ends[1]}
        return {"text": self.text, **self.choices, **ends}

    def read(self, value: Any, seat: str) -> Answer:
        """Return an answer as it is logged; None where an optional question was left open.

        Raises:
            SeatError: if it is no answer to this question.
        """
        filled = [str(part).strip() for part in (value if isinstance(value, list) else [value or ""])]
        texts = [checked_length(text, seat) for text in filled if text]
        if not texts:
            if self.optional:
                return None
            raise SeatError(f"The question {self.id!r} has no answer.", seat, code="question_empty")
        if self.kind == "number":
            return self._number(texts[0], seat)
        known = [str(point) for point in range(1, self.points + 1)] if self.kind == "scale" else self.choices
        if known and not set(texts) <= set(known):
            message = f"{', '.join(texts)} is not among the answers to {self.id!r}."
            raise SeatError(message, seat, code="question_choice")
        if self.kind == "choices":
            return texts
        return int(texts[0]) if self.kind == "scale" else texts[0]

    def _number(self, text: str, seat: str) -> float | int:
        text = text.replace("，", ",")
        plain = text.replace(",", "") if _THOUSANDS.fullmatch(text) else text.replace(",", ".")
        try:
            number = float(plain)
        except ValueError:
            message = f"{text!r} is not a number, as {self.id!r} asks for."
            raise SeatError(message, seat, code="question_number") from None
        least = -math.inf if self.least is None else self.least
        most = math.inf if self.most is None else self.most
        if not (math.isfinite(number) and least <= number <= most):
            message = f"{text} is smaller or larger than {self.id!r} can be."
            raise SeatError(message, seat, code="question_range")
        return int(number) if number.is_integer() else number


def missed_checks(questions: Sequence[Question], answers: Mapping[str, Answer]) -> list[str]:
    """Return the ids of the questions with a right answer that were answered otherwise."""
    checks = (question for question in questions if question.right is not None)
    return [question.id for question in checks if not question.is_right(answers[question.id])]


def read_answers(questions: Sequence[Question], answers: Any, seat: str) -> dict[str, Answer]:
    """Return the answers to some questions, by their ids, as they are logged.

    Raises:
        SeatError: if an answer is missing, or does not fit its question.
    """
    filled = answers if isinstance(answers, Mapping) else {}
    return {question.id: question.read(filled.get(question.id), seat) for question in questions}
