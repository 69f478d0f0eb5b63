"""The shared pages' texts: all there, all used, none in a template."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import pytest
from visiting import words

import ui
from simulator.studies import Completion
from simulator.studies.cards import Refusal, StudyCard
from ui.i18n import strings
from ui.render.environment import environment
from ui.render.frame import Frame
from ui.study.pages import message_page, offer, whole

CODES = (*get_args(Refusal), "unknown", "declined", "screened_out", "broken", "withdrawn", "gone")


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("code", CODES)
def test_every_refusal_says_what_to_do(language: str, code: str) -> None:
    texts = strings(language)
    frame = Frame(texts, "/study", "study=x")
    html = message_page(frame, code)
    assert all(texts(f"study.refusal.{code}_{part}") in words(html) for part in ("title", "text"))
    assert len(words(html)) > 60
    handed = message_page(frame, code, completion=Completion("complete", "C0DE", "https://example.org/C0DE"))
    assert 'value="C0DE"' in handed
    assert 'href="https://example.org/C0DE"' in handed
    assert "C0DE" not in message_page(frame, code, completion=Completion("complete", None, None))


def test_play_without_a_study_leads_to_the_benchmark() -> None:
    assert 'href="/ambibench"' in message_page(Frame(strings("en")), "closed", home="/ambibench")


def test_numbers_without_idle_decimals() -> None:
    assert [whole(6.0), whole(17.5), whole(0.0)] == ["6", "17.5", "0"]


@pytest.mark.parametrize(("minutes", "said"), [(1, "about 1 minute"), (3.5, "about 3.5 minutes"), (0, "")])
def test_one_minute_is_no_minutes(minutes: float, said: str) -> None:
    card = StudyCard(
        id="s",
        benchmark="ambik",
        title="The study",
        task="robot",
        open=True,
        places_left=3,
        minutes=minutes,
        pay="",
        languages=("en",),
        texts={},
    )
    assert offer(Frame(strings("en")), card).minutes == said


def test_no_template_brings_a_text_of_its_own() -> None:
    loader = environment().loader
    assert loader is not None
    names = [name for name in environment().list_templates() if name.startswith("study/")]
    assert len(names) > 5
    for name in names:
        source, _, _ = loader.get_source(environment(), name)
        bare = re.sub(r"\{[{%#].*?[}%#]\}", "", source, flags=re.DOTALL)
        texts = [text.strip() for text in re.findall(r">([^<]+)<", bare)]
        assert [text for text in texts if re.search(r"[^\W\d_]{2,}", text)] == [], name


def test_every_text_is_used() -> None:
    templates = environment()
    assert templates.loader is not None
    sources = [templates.loader.get_source(templates, name)[0] for name in templates.list_templates()]
    sources += [path.read_text(encoding="utf-8") for path in Path(ui.__file__).parent.rglob("*.py")]
    source = "\n".join(sources)
    made = tuple(re.findall(r"""["']([\w.]+[._])["']\s*~""", source))
    made += ("study.offer.no_places", "study.offer.one_place", "study.offer.places")
    names = [name for name in strings("en").texts if name.startswith("study.")]
    assert len(names) > 80
    assert [name for name in names if name not in source and not name.startswith(made)] == []
