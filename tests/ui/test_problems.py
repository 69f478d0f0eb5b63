"""Problems are stated in the language of the page, by their codes."""

from __future__ import annotations

import ast
import re
import string
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from texts import texts_under

import logs
import simulator
import ui
from logs import NotInLog
from simulator.clarq.players.experts_offline import REASONS, parse_reason, reason
from simulator.clarq.show import reason_words as provider_reason
from simulator.errors import InputError, SeatError, Trouble
from simulator.models import ModelError
from simulator.models.errors import RateLimited
from ui.accounts import NotAllowedError
from ui.i18n import LANGUAGES, problem_text, strings, trouble_text

ROOT = Path(ui.__file__).parent.parent
SEAT = ("SeatError", "FormError", "PairFormError")
OF_ITS_PAGE = ("DeskError",)
"""Errors whose words stand at the one page that shows them."""
PREFIX = {
    "ambibench": "benchmark.ambibench.refused.",
    "ambient": "benchmark.ambient.refused.",
    "ambik": "benchmark.ambik.refused.",
}
PREFIXES = PREFIX | {"clarq": "benchmark.clarq.refused.", "handmethat": "benchmark.handmethat.refused."}
"""Where the words for what a benchmark refuses stand; `PREFIX` has those whose people fill in forms."""
SHARED = ("not_due", "nothing_said", "no_choice")
"""Codes of what the shared layers refuse a seat, whatever the benchmark."""
NOBODY = ("players", "offline", "importing", "seats.py")
"""Parts of the simulator where no person sits."""


class Raised(NamedTuple):
    """A code that is given to an error, and the names of the values in it."""

    path: Path
    error: str
    code: str
    named: frozenset[str]


def _raised() -> Iterator[Raised]:
    for package in (logs, simulator, ui):
        for path in sorted(Path(package.__file__ or "").parent.rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if not isinstance(node, ast.Raise) or not isinstance(node.exc, ast.Call):
                    continue
                given = {keyword.arg: keyword.value for keyword in node.exc.keywords if keyword.arg}
                code = given.pop("code", None)
                if isinstance(code, ast.Constant):
                    error = ast.unparse(node.exc.func)
                    yield Raised(path.relative_to(ROOT), error, str(code.value), frozenset(given))


@pytest.fixture(scope="module")
def raised() -> tuple[Raised, ...]:
    return tuple(_raised())


@pytest.fixture(scope="module")
def coded(raised: tuple[Raised, ...]) -> list[Raised]:
    return [row for row in raised if row.error not in (*SEAT, *OF_ITS_PAGE)]


@pytest.fixture(scope="module")
def at_seats(raised: tuple[Raised, ...]) -> list[Raised]:
    return [row for row in raised if row.error in SEAT and not any(part in str(row.path) for part in NOBODY)]


def models(kind: type[ModelError] = ModelError) -> Iterator[type[ModelError]]:
    yield kind
    for further in kind.__subclasses__():
        yield from models(further)


def fields(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name}


@pytest.mark.each("language", LANGUAGES)
def test_every_code_has_words_in_both_languages(language: str, coded: list[Raised]) -> None:
    assert len(coded) > 50
    texts = strings(language)
    assert [row for row in coded if f"problem.{row.code}" not in texts.texts] == []
    assert [row for row in coded if not fields(texts.texts[f"problem.{row.code}"]) <= row.named] == []


@pytest.mark.each("language", LANGUAGES)
def test_every_rule_that_a_person_may_break_has_words(language: str, at_seats: list[Raised]) -> None:
    texts, lacking = strings(language), []
    assert len(at_seats) > 20
    for row in at_seats:
        name = row.path.parts[1]
        prefixes = [PREFIXES[name]] if name in PREFIXES else []
        if row.path.parts[:2] == ("simulator", "forms.py"):
            prefixes = list(PREFIX.values())
        names = [f"{prefix}{row.code}" for prefix in prefixes]
        if row.path.parts[1] in ("runner", "studies"):
            names = (
                [f"problem.seat_{row.code}"]
                if row.code in SHARED or row.code.startswith("question_")
                else [f"{each}over" for each in PREFIX.values()]
            )
        assert names, row
        lacking += [(row, name) for name in names if name not in texts.texts]
    assert lacking == []


def test_words_are_of_something(coded: list[Raised], at_seats: list[Raised]) -> None:
    """No text is left over, and both languages are languages of their own."""
    logged = {"log_failed", "log_conflict", "not_in_log"}
    known = {row.code for row in coded} | {kind.code for kind in models()} | logged
    known |= {f"seat_{row.code}" for row in at_seats if row.code.startswith("question_")}
    known |= {NotAllowedError.code, "seat_form"}  # an error's own; a seat's, of every form made from a model
    known |= {"uncoded", "program", *(f"seat_{code}" for code in SHARED)}
    english, chinese = (texts_under(strings(language), "problem") for language in ("en", "zh"))
    assert set(english) == set(chinese) == known
    assert [code for code, text in chinese.items() if not any("一" <= sign <= "鿿" for sign in text)] == []


def test_an_error_is_said_by_its_code() -> None:
    error = InputError("There is no task of level 7 here.", code="no_level", level=7)
    assert str(error) == "There is no task of level 7 here."
    assert problem_text(strings("en"), error) == "There is no task of level 7."
    assert problem_text(strings("zh"), error) == "没有难度为 7 的任务。"
    missing = NotInLog("there is no run 'x' in the log", "x")
    assert problem_text(strings("zh"), missing) == "日志中没有“x”。"


def test_what_has_no_code_is_said_as_it_is() -> None:
    error = InputError("file.jsonl:3: no label")
    assert problem_text(strings("en"), error) == "file.jsonl:3: no label"
    assert problem_text(strings("zh"), error) == "服务器的说明（英文）：file.jsonl:3: no label"


def test_a_room_s_code_is_no_other_s() -> None:
    refused = SeatError("'tea' was not offered.", "robot", code="not_offered")
    assert problem_text(strings("zh"), refused) == "服务器的说明（英文）：'tea' was not offered."
    assert problem_text(strings("zh"), SeatError("Wait.", "robot", code="not_due")) == "还没有轮到您。"


def test_trouble_opposite_is_said_by_its_code() -> None:
    error = RateLimited("429 too many")
    warning = Trouble(f"RateLimited: {error}", error.code)
    assert warning == "RateLimited: 429 too many"
    assert trouble_text(strings("en"), warning) == "The model's server is too busy at the moment."
    assert trouble_text(strings("zh"), warning) == "模型的服务器现在太忙。"
    assert trouble_text(strings("zh"), "稍等") == "稍等"


def test_the_built_in_providers_reasons_are_in_the_page_s_language() -> None:
    wrong = []
    for code, sentence in REASONS.items():
        fields = {name: "1.2" for name in re.findall(r"\{(\w+)\}", sentence)}
        logged = reason(code, **fields)
        if parse_reason(logged) != (code, fields):
            wrong.append(f"{logged} is taken for {parse_reason(logged)}")
        translated = in_chinese(logged)
        if translated == logged or ("1.2" in translated) != bool(fields):
            wrong.append(f"{logged}: {translated}")
    assert wrong == []
    assert in_chinese("A model's own words.") == "A model's own words."
    assert in_chinese("") == strings("zh")("benchmark.clarq.result.no_reason")


def in_chinese(logged: str) -> str:
    """A provider's reason as a Chinese page says it."""
    reason = provider_reason(logged)
    return (
        reason
        if isinstance(reason, str)
        else strings("zh")(f"benchmark.clarq.{reason.name}", **reason.fields)
    )
