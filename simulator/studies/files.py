"""Study files: YAML, one study per file, checked by `askback check`.

::

    id: number-of-examples
    title: Finding the pattern
    benchmark: NAME
    language: en
    seat: participant
    settings: {setting: multiple}           # read by the benchmark
    conditions: [subject, location]         # default: the benchmark's; nested ones: subject/arrow/x
    participants: 96                        # or a number per condition: {subject: 16, location: 16}
    pay: {amount: 2.0, currency: USD, minutes: 10}
    completion_codes: {complete: C1ABCDEF, screened_out: C2ABCDEF, returned: C3ABCDEF}
    completion_url: https://app.prolific.com/submissions/complete?cc={code}

A title or text of the study is a single text, or one for each language of the pages::

    title: {en: Finding the pattern, zh: 找出规律}

In studies that pair two people (`simulator.studies.pairing`), `seats` replaces `seat`::

    setup: H2H
    seats: [seeker, provider]
    pairing: {wait_minutes: 5, grace_seconds: 120, then: model, partner: {seeker: offline/seeker}}

Questions to participants (`simulator.studies.questions`) are a list::

    questions:
      - id: age
        text: {en: "How old are you?", zh: 您的年龄是？}
        kind: number

Scalars are read as text, so a code such as 0123 need not be quoted; within ``settings`` they have their YAML
types. `Study` documents the other keys.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self

import yaml
from pydantic import (
    Field,
    JsonValue,
    NonNegativeFloat,
    PositiveFloat,
    PositiveInt,
    StringConstraints,
    ValidationError,
    field_validator,
    model_validator,
)

from logs.rows import Json, Setup, content_hash
from simulator.errors import InputError
from simulator.studies.parts import Codes, ModelFailure, Pairing, Part, Pay, Resume, StudySettings
from simulator.studies.questions import MOST_TRIES, Question, Text, Words
from trees import Language, bounded
from trees.faults import Fault, first_and_more

_Name = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]+([._-][a-z0-9]+)*$", max_length=60)]
PEOPLE: Final = "people-"
STUDY: Final = "study"
"""`Fault.kind` of study files."""
TEXTS: Final = ("consent", "instructions", "debriefing", "break")
_QUOTES: Final = "a text that contains ? : , # or a brace must be quoted"
# Pages show conditions, and the log names cells by them; the slash nests a condition in another one.
_Condition = Annotated[str, StringConstraints(pattern=r"^[^/\s]+(/[^/\s]+)*$")]


Assignment = Literal["balanced", "random", "finish_items"]


class Study(Part):
    """A study, as declared in its file.

    Attributes:
        id: the name in the log (`run_id`) and in links.
        title: the title for participants: a text, or one per language, like `texts`.
        language: the default language of participants' pages.
        seat: the participant's seat; empty if there are `seats`.
        seats: the two seats of people who play with each other; a newcomer gets the one that needs a person.
        pairing: how people are paired; only with `seats`.
        setup: humans and models per side, as in `logs.rows.Run`.
        conditions: the cells of the design; empty for the benchmark's cells.
        participants: number of people, in total (spread evenly over the conditions) or by condition; an even
            number with `seats`. Exactly one of this and `judgments_per_item` is required.
        judgments_per_item: number of people (with `seats`: pairs) per item; each condition is an item.
        assignment: which condition a newcomer gets. ``balanced``: the one with the fewest people; ``random``:
            any with room; ``finish_items``: the one with the most people that has room, so that items are
            completed one after the other.
        sets_per_participant: the most sets a person may do, each of another condition.
        break_every: number of sets after which a person is offered a break.
        pay: the pay for a set; None for no pay.
        contact: contact for questions about the study or participants' rights, shown below the consent and to
            people who cannot take part or continue.
        completion_url: https URL to go to at the end; ``{code}`` is replaced by the completion code.
        stale_after_minutes: minutes without a move after which a place may be given to another person.
        exclude: studies whose participants may not take part; None for all other studies of the benchmark.
        identity: URL parameters that identify a person; the first one names the person.
        require_identity: True to admit only people with the first of these parameters.
        signed_links: True to admit only people whose link carries the study's key, as printed by `askback
            study links`; then knowing a person's id is not enough to take their place.
        erase_after_days: days until people who withdrew are erased, during which a researcher can undo the
            withdrawal. 0: erase immediately.
        keep_out_erased: True to keep erased people out of the study. (People excluded by a researcher are
            recognised and kept out in every study.)
        texts: plain texts (`TEXTS`) that replace the benchmark's; ``debriefing`` is shown at the end of every
            set, ``break`` in a break.
        questions: questions to participants about the instructions, before and after the task.
        comprehension_tries: attempts at the questions about the instructions; a person who has not answered
            all of them correctly by then is screened out.
        model_failure: what happens to a person whose model does not answer.
        model_budget: spending limit for models in US dollars; once reached, nobody new is admitted.
    """

    id: _Name
    title: Words
    benchmark: Text
    language: Language = "en"
    seat: str = ""
    seats: Annotated[tuple[Text, ...], Field(min_length=2, max_length=2)] | None = None
    pairing: Pairing = Pairing()
    setup: Setup = "H2L"
    settings: dict[str, JsonValue] = Field(default_factory=dict)
    conditions: tuple[_Condition, ...] = ()
    participants: PositiveInt | dict[str, PositiveInt] | None = None
    judgments_per_item: PositiveInt | None = None
    assignment: Assignment = "balanced"
    sets_per_participant: PositiveInt = 1
    break_every: PositiveInt | None = None
    pay: Pay | None = None
    contact: Words | None = None
    completion_codes: Codes = Codes()
    completion_url: str | None = None
    resume: Resume = Resume()
    stale_after_minutes: PositiveFloat = 60.0
    exclude: tuple[_Name, ...] | None = None
    identity: tuple[Text, ...] = Field(("PROLIFIC_PID", "STUDY_ID", "SESSION_ID"), min_length=1)
    require_identity: bool = False
    signed_links: bool = False
    erase_after_days: NonNegativeFloat = 7.0
    keep_out_erased: bool = False
    texts: dict[str, Words] = Field(default_factory=dict)
    questions: tuple[Question, ...] = ()
    comprehension_tries: Annotated[int, Field(ge=1, le=MOST_TRIES)] = 2
    model_failure: ModelFailure = ModelFailure()
    model_budget: PositiveFloat | None = None
    seed: int = 0

    @field_validator("participants", mode="before")
    @classmethod
    def _participants(cls, value: Any) -> Any:
        counts = [*value.values()] if isinstance(value, Mapping) else [value]
        whole = all(str(count).isdecimal() and int(count) for count in counts)
        if value is not None and not (counts and whole):
            raise ValueError("must be a positive whole number, or one for each condition")
        return value

    @field_validator("conditions", "identity", "seats")
    @classmethod
    def _require_distinct(cls, value: tuple[str, ...] | None) -> tuple[str, ...] | None:
        if value and (twice := [name for name in dict.fromkeys(value) if value.count(name) > 1]):
            raise ValueError(f"{', '.join(twice)} occurs twice")
        return value

    @field_validator("completion_url")
    @classmethod
    def _https(cls, value: str | None) -> str | None:
        if value is not None and not value.startswith("https://"):
            raise ValueError("must begin with https://, as it carries the completion code")
        return value

    @model_validator(mode="after")
    def _require_goal(self) -> Self:
        if (self.participants is None) == (self.judgments_per_item is None):
            raise ValueError("give either participants or judgments_per_item")
        self._check_seats()
        if isinstance(self.participants, dict) and self.conditions:
            unknown = [name for name in self.participants if not _has_prefix(self.conditions, name)]
            if unknown:
                raise ValueError(f"participants: {', '.join(unknown)} is not among the conditions")
        ids = [question.id for question in self.questions]
        if twice := [name for name in dict.fromkeys(ids) if ids.count(name) > 1]:
            raise ValueError(f"questions: {', '.join(twice)} occurs twice")
        asked = {
            f"questions: {question.id}: {part}": words
            for question in self.questions
            for part, words in question.all_words().items()
        }
        contact = {} if self.contact is None else {"contact": self.contact}
        said = {"model_failure: say": self.model_failure.say}
        for name, words in {"title": self.title, **contact, **said, **self.texts, **asked}.items():
            if not isinstance(words, str) and self.language not in words:
                raise ValueError(f"{name}: lacks a text in the study's language, {self.language}")
        return self

    def _check_seats(self) -> None:
        """Refuse a study without a seat, or with paired people and numbers or partners that do not fit."""
        if (self.seats is None) == (not self.seat):
            raise ValueError("give either seat, or seats for people who are paired")
        if self.seats is None:
            if "pairing" in self.model_fields_set:
                raise ValueError("pairing: only allowed with seats")
            return
        if self.setup != "H2H":
            raise ValueError("setup: must be H2H if people are paired")
        if unknown := [seat for seat in self.pairing.partner if seat not in self.seats]:
            raise ValueError(f"pairing: partner: {unknown[0]} is not among the seats")
        counts = self.participants.values() if isinstance(self.participants, dict) else [self.participants]
        if any(count is not None and count % 2 for count in counts):
            raise ValueError("participants: must be even if people are paired")

    @property
    def people(self) -> tuple[str, ...]:
        """The participants' seats."""
        return self.seats or (self.seat,)

    def in_language(self, language: Language, words: Words) -> str:
        """Return a text in a language, or in the study's language if it is not translated."""
        return words if isinstance(words, str) else words.get(language, words[self.language])

    def title_in(self, language: Language) -> str:
        """Return the title as `in_language` does."""
        return self.in_language(language, self.title)

    def texts_in(self, language: Language) -> dict[str, str]:
        """Return the study's texts as `in_language` does."""
        return {name: self.in_language(language, words) for name, words in self.texts.items()}

    def contact_in(self, language: Language) -> str:
        """Return the contact as `in_language` does; empty if the study names no contact."""
        return "" if self.contact is None else self.in_language(language, self.contact)

    @property
    def run_id(self) -> str:
        """The run that the study's rows belong to."""
        return run_id(self.id)

    @property
    def sets_run(self) -> str:
        """The run of each person's own consent and questions; with two seats it is a separate run."""
        return f"{PEOPLE}{self.id}" if self.seats else self.run_id

    @property
    def runs(self) -> tuple[str, ...]:
        """All runs of the study; the scored one first."""
        return tuple(dict.fromkeys((self.run_id, self.sets_run)))

    @property
    def stale_after(self) -> timedelta:
        """The time without a move after which a place may be given to another person."""
        return timedelta(minutes=self.stale_after_minutes)

    @property
    def content_hash(self) -> str:
        """The sha256 of the file's contents; comments, order and layout do not count."""
        return content_hash(self.to_json())

    def to_json(self) -> Json:
        """Return the keys that the file sets, without defaults."""
        return self.model_dump(mode="json", exclude_unset=True)


def run_id(study_id: str) -> str:
    """Return the run of the study called `study_id`."""
    return f"study-{study_id}"


def read_study(path: str | Path) -> Study:
    """Read a study file.

    Raises:
        InputError: names file, line, field and what is wrong.
    """
    study, faults = scan_study(Path(path))
    if study is None:
        raise InputError(first_and_more(faults))
    return study


def find_studies(path: Path) -> tuple[Path, ...]:
    """Return the study files in a folder and its subfolders, or a file itself if it is one."""
    return bounded.files_with("benchmark", path)


def _has_prefix(conditions: Sequence[str], name: str) -> bool:
    return any(f"{condition}/".startswith(f"{name}/") for condition in conditions)


def scan_study(path: Path) -> tuple[Study | None, tuple[Fault, ...]]:
    """Return the study in a file, or its faults."""

    def fault(line: int, message: str, name: str = "") -> Fault:
        return Fault(str(path), name, line, "format", message, kind=STUDY)

    try:
        node = bounded.compose(path.read_text(encoding="utf-8-sig"), _Loader)
    except (OSError, UnicodeDecodeError) as error:
        return None, (fault(0, f"cannot be read ({getattr(error, 'strerror', 'not UTF-8')})"),)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        return None, (fault(mark.line + 1 if mark else 0, f"not YAML: {error.problem}; {_QUOTES}"),)
    except yaml.YAMLError as error:
        return None, (fault(0, f"not YAML: {error}"),)
    if not isinstance(node, yaml.MappingNode):
        return None, (fault(1, f"must be a mapping with the keys {', '.join(Study.model_fields)}"),)
    lines: dict[str, int] = {"": 1}
    twice: list[tuple[int, str]] = []
    try:
        value = bounded.read_placed(node, _scalar, lines, twice)
    except (ValueError, OverflowError) as error:  # an impossible number
        return None, (fault(max(lines.values()), f"not YAML: {error}"),)
    name = str(value.get("id") or "")
    faults = [fault(line, f"key {key!r} occurs twice", name) for line, key in twice]
    try:
        study = Study.model_validate(value)
    except ValidationError as error:
        faults += [fault(line, message, name) for line, message in _messages(error, lines)]
        return None, tuple(sorted(faults))
    for text in (text for text in study.texts if text not in TEXTS):
        faults.append(fault(lines[f"texts.{text}"], bounded.unknown_key(f"texts.{text}", TEXTS), name))
    return (None, tuple(faults)) if faults else (study, ())


def lines_of(path: Path) -> Mapping[str, int]:
    """Return the line of each field of a study file, by its path (``settings.opposite``)."""
    node, lines = bounded.compose(path.read_text(encoding="utf-8-sig"), _Loader), {"": 1}
    if node is not None:
        bounded.read_placed(node, _scalar, lines, [])
    return lines


class _Loader(yaml.SafeLoader):
    """A YAML loader that reads dates as text, since JSON has no dates."""

    yaml_implicit_resolvers = {  # noqa: RUF012
        letter: [(tag, pattern) for tag, pattern in resolvers if not tag.endswith(":timestamp")]
        for letter, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }


def _scalar(node: yaml.Node, place: str) -> Any:
    """Return a scalar as text, or with its YAML type within ``settings``."""
    if place.startswith("settings.") or node.tag.endswith(":null"):
        return _Loader("").construct_object(node)
    return node.value


def _messages(error: ValidationError, lines: Mapping[str, int]) -> Iterator[tuple[int, str]]:
    """Yield line and message of each invalid field, once per field."""
    reported: set[str] = set()
    for fault in error.errors():
        place = ".".join(str(part) for part in fault["loc"])
        where = bounded.known_place(place, lines)
        if (field := place if fault["type"] in ("missing", "extra_forbidden") else where) in reported:
            continue
        reported.add(field)
        yield lines[where], _message(fault["type"], place, where, fault["msg"])


def _message(kind: str, place: str, where: str, message: str) -> str:
    if kind == "extra_forbidden":
        known: dict[str, Any] = {
            "pay": Pay,
            "completion_codes": Codes,
            "resume": Resume,
            "pairing": Pairing,
            "model_failure": ModelFailure,
            "questions": Question,
        }
        parent = place.rpartition(".")[0]
        if place in StudySettings.model_fields:
            return f"key {place!r} belongs under `settings`"
        return bounded.unknown_key(place, known.get(parent.partition(".")[0], Study).model_fields)
    if kind == "missing":
        return f"key {place!r} is missing"
    message = message.removeprefix("Value error, ").replace("tuple", "list")
    message = message[:1].lower() + message[1:]
    return f"{where}: {message}" if where else message
