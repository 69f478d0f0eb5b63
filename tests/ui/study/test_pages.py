"""The shared pages' texts: all there, all used, none in a template."""

from __future__ import annotations

from typing import get_args

import pytest
from texts import texts_of, unused
from visiting import words

from simulator.studies import Completion, Study
from simulator.studies.admission import Refusal, StudyCard
from ui.declared.study import message_page, short_number, study_offer
from ui.i18n import strings
from ui.render import Frame

CODES = (*get_args(Refusal), "unknown", "declined", "screened_out", "broken", "ended", "withdrawn", "gone")


@pytest.mark.each("language", ["en", "zh"])
@pytest.mark.each("code", CODES)
def test_every_refusal_says_what_to_do(language: str, code: str) -> None:
    texts = strings(language)
    frame = Frame(texts, "/study", "study=x")
    html = message_page(frame, code)
    assert all(texts(f"study.refusal.{code}_{part}") in words(html) for part in ("title", "text"))
    assert len(words(html)) > 60
    handed = message_page(frame, code, completion=Completion("complete", "C0DE", "https://example.org/C0DE"))
    assert 'value="C0DE"' in handed
    assert (
        '<p class="st-buttons"><a class="ab-button ab-large ab-primary" href="https://example.org/C0DE"'
        in handed
    )
    assert "C0DE" not in message_page(frame, code, completion=Completion("complete", None, None))


def test_play_without_a_study_leads_to_the_benchmark() -> None:
    assert 'href="/ambibench"' in message_page(Frame(strings("en")), "closed", home="/ambibench")


def test_numbers_without_idle_decimals() -> None:
    assert [short_number(6.0), short_number(17.5), short_number(0.0)] == ["6", "17.5", "0"]


@pytest.mark.parametrize(
    ("minutes", "expected"), [(1, "about 1 minute"), (3.5, "about 3.5 minutes"), (0, "")]
)
def test_one_minute_is_no_minutes(minutes: float, expected: str) -> None:
    study = Study.model_validate(
        {
            "id": "s",
            "title": {"en": "The study", "zh": "一项研究"},
            "benchmark": "ambik",
            "seat": "robot",
            "participants": 3,
            **({"pay": {"amount": 0, "currency": "USD", "minutes": minutes}} if minutes else {}),
        }
    )
    card = StudyCard(
        study=study,
        task="robot",
        languages=("en",),
        places_left=3,
        closed=False,
        builtin=False,
        preview=False,
    )
    shown = study_offer(Frame(strings("en")), card)
    assert (shown.minutes, shown.title) == (expected, "The study")
    assert study_offer(Frame(strings("zh")), card).title == "一项研究"


def test_every_text_is_used() -> None:
    names = texts_of("study.")
    assert len(names) > 80
    assert unused(names, ["study.offer.many_places", "study.offer.one_place", "study.offer.places"]) == []
