"""Questions of a study to its participants: before the task of the first set, or after the task of every set.

A study file lists them under ``questions``::

    - id: age
      text: {en: "How old are you?", zh: 您的年龄是？}
      kind: number

Questions with ``when: comprehension`` have a right answer. A person who answers one wrongly reads the
instructions again and gets another try, up to `comprehension_tries`; after that they are screened out.
Questions before or after the task with a right answer are attention checks: a person who misses one
continues, and leaves with the code ``failed_check``, if the study has one.

The answers are one turn of the log, ``questions_before`` or ``questions_after``, or one turn per try, and
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
# 30,000 in the pages' languages; other people use a decimal comma, as in 1,5.
_THOUSANDS: Final = re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d*)?")
ASKED_BEFORE: Final = "questions_before"
ASKED_AFTER: Final = "questions_after"
TRIED: Final = "comprehension_"
"""The kinds of the turns with the answers; the last one is followed by the number of the try."""
ASKED: Final[Mapping[str, When]] = {
    "comprehension": "comprehension",
    ASKED_BEFORE: "before",
    ASKED_AFTER: "after",
}
"""The stages at which questions are asked."""
MOST_TRIES: Final = 5


def by_language(words: Any) -> Any:
    """Return `words` unchanged, after checking that the keys of a mapping are languages.

    Raises:
        ValueError: if another key is among them.
    """
    if isinstance(words, Mapping) and (unknown := [name for name in words if name not in get_args(Language)]):
        raise ValueError(f"{unknown[0]!r} is not a language of the pages ({', '.join(get_args(Language))})")
    return words


def as_typed(answer: Any) -> Any:
    """Return an answer as pages send it, as text: YAML reads some as numbers or booleans."""
    if isinstance(answer, list):
        return [as_typed(part) for part in answer]
    return answer if answer is None else str(answer)


Words = Annotated[Text | dict[Language, Text], BeforeValidator(by_language)]
"""One text, or one for each language of the pages."""


class Question(BaseModel):
    """A question of a study.

    Attributes:
        id: the name of the answer in the log and in frames.
        kind: a ``line`` or ``text`` to type, a ``number``, one ``choice`` or several ``choices`` from a list,
            or a point of a ``scale``.
        when: ``before`` the task of a person's first set, ``after`` the task of every set, or
            ``comprehension``: after the instructions of the first set.
        right: the right answer of a comprehension question or attention check; a list for ``choices``.
        choices: logged value -> text (by language) of each choice; a list if both are the same.
        points: the number of points of a scale, which begins at 1.
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
            raise ValueError(
                "a list contains plain texts; by language, use `logged: {en: …, zh: …}` for each"
            )
        names = [str(choice) for choice in value]
        if doubled := [name for name in names if names.count(name) > 1]:
            raise ValueError(f"{doubled[0]!r} is listed twice")
        return {name: name for name in names}

    @model_validator(mode="after")
    def _fits_its_kind(self) -> Self:
        if (self.kind in ("choice", "choices")) != (len(self.choices) > 1):
            raise ValueError(
                f"{self.id}: choice and choices need two or more choices, and other kinds must have none"
            )
        for kind, names in (("number", ("least", "most")), ("scale", ("points", "ends"))):
            fields = type(self).model_fields
            stray = [name for name in names if getattr(self, name) != fields[name].default]
            if stray and self.kind != kind:
                raise ValueError(f"{self.id}: {stray[0]} is for kind {kind}; this is of kind {self.kind}")
        if self.least is not None and self.most is not None and self.least > self.most:
            raise ValueError(f"{self.id}: least ({self.least:g}) is larger than most ({self.most:g})")
        if self.when == "comprehension" and self.right is None:
            raise ValueError(f"{self.id}: a question with when: comprehension must have a right answer")
        if self.right is not None:
            try:
                self.read(self.right, "study")
            except SeatError as error:
                raise ValueError(f"{self.id}: right: {error}") from None
        return self

    def is_right(self, answer: Answer) -> bool:
        """Return True if a logged answer is the right one; phones write what is typed with a capital."""
        right = self.read(self.right, "study")
        if self.kind in ("line", "text"):
            return str(answer).casefold() == str(right).casefold()
        if isinstance(answer, list) and isinstance(right, list):
            return set(answer) == set(right)
        return answer == right

    def all_words(self) -> dict[str, Words]:
        """Return all texts of the question that pages show, by name."""
        ends = {} if self.ends is None else {"first end": self.ends[0], "last end": self.ends[1]}
        return {"text": self.text, **self.choices, **ends}

    def read(self, value: Any, seat: str) -> Answer:
        """Return an answer as it is logged; None if an optional question was left open.

        Raises:
            SeatError: if it is not an answer to this question.
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
            message = f"{text!r} is not a number; {self.id!r} must be one."
            raise SeatError(message, seat, code="question_number", value=text) from None
        least = -math.inf if self.least is None else self.least
        most = math.inf if self.most is None else self.most
        if not (math.isfinite(number) and least <= number <= most):
            message = f"{text} is out of range for {self.id!r}."
            raise SeatError(message, seat, code="question_range", value=text)
        return int(number) if number.is_integer() else number


def missed_checks(questions: Sequence[Question], answers: Mapping[str, Answer]) -> list[str]:
    """Return the ids of the questions that were not answered rightly."""
    checks = (question for question in questions if question.right is not None)
    return [question.id for question in checks if not question.is_right(answers[question.id])]


def read_answers(questions: Sequence[Question], answers: Any, seat: str) -> dict[str, Answer]:
    """Return the answers to questions as they are logged, by id.

    Raises:
        SeatError: if an answer is missing, or does not fit its question.
    """
    filled = answers if isinstance(answers, Mapping) else {}
    return {question.id: question.read(filled.get(question.id), seat) for question in questions}
