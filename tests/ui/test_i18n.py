import re
import string
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from texts import own_texts

from logs import LogReader, LogWriter
from simulator import catalog
from simulator.benchmark import Benchmark
from simulator.commands.compare import comparison
from simulator.commands.run import run_form
from simulator.errors import InputError
from simulator.frames import Frames
from simulator.reporting import Section
from simulator.reports import build_report
from ui.i18n import LANGUAGES, choose_language, strings
from ui.research.runs import Words

sys.path.insert(0, str(Path(__file__).parents[1] / "golden"))

from golden_log import unpack

EN, ZH = strings("en"), strings("zh")


def fields(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name}


def test_both_languages_have_the_same_names() -> None:
    assert set(EN.texts) == set(ZH.texts)


@pytest.mark.each("name", sorted(EN.texts))
def test_both_languages_have_the_same_fields(name: str) -> None:
    assert fields(EN.texts[name]) == fields(ZH.texts[name])
    assert EN.texts[name].strip()
    assert ZH.texts[name].strip()


def test_phrases_of_reports_are_chinese_and_name_what_they_hold() -> None:
    assert not EN.phrases
    for phrase, translation in ZH.phrases.items():
        assert fields(translation) <= fields(phrase), phrase
        assert re.search("[\u4e00-\u9fff]", translation) or re.fullmatch(r"\W*\w?\W*|ε|κ", translation), (
            phrase
        )
    assert ZH.phrase("long: S, D and L with 95 % intervals") == "long：S、D、L 及 95% 区间"
    assert [*map(ZH.phrase, ("0.25 to 1.00", "0.25 to 0.75"))] == ["0.25 至 1.00", "0.25 至 0.75"]
    # Each entry of a list is translated, even if a phrase matches the whole list.
    lacks = "; ".join(
        f"no {who} in setting multiple with informative instructions" for who in ("people", "models")
    )
    translation = "设置 multiple（有信息的指令）没有人的数据；设置 multiple（有信息的指令）没有模型的数据"
    assert (
        ZH.phrase(f"Share of the answers. Missing data: {lacks}.")
        == f"在回答中所占比例。缺少数据：{translation}。"
    )
    # Filters of episodes have Chinese names.
    for name in ("side", "sentence", "profile", "quest", "polarity", "salient task", "construction type"):
        assert ZH.phrase(name) != name
    for unknown in (
        "nothing that is known",
        "Bars are shares. Lines are means.",
        "clear and ambiguous tasks",
    ):
        assert ZH.phrase(unknown) == unknown


def test_names_of_scores_and_values_of_fields_are_chinese(tmp_path: Path) -> None:
    log = unpack(tmp_path)
    with LogReader(log) as reader:
        declared = {metric.name: metric.title for each in catalog.installed() for metric in each.metrics}
        titles = {declared.get(row.metric, row.metric.replace("_", " ")) for row in reader.scores()}
    assert len(titles) > 20
    assert {title for title in titles if not re.search("[\u4e00-\u9fff]", ZH.phrase(title))} <= {*"SDL"}
    for benchmark, field, value in (
        ("handmethat", "quest", "bring_me"),
        ("ambibench", "construction_type", "propn_negation"),
        ("ambibench", "polarity", "he"),
        ("ambient", "gold", "contradiction, entailment"),
        ("clarq", "language", "zh"),
    ):
        assert re.search("[\u4e00-\u9fff]", Words(ZH, benchmark).value("field", field, value)), value
    for text in (
        "built in, offline/kitchen, clarified, answered",
        "LAP, x: threshold infinite, n 4, 1 infinite",
        "the rule (3)",
        "ambiguous_plan: share equal",
        "Share of the answers. Missing data: no buckets of x, after a second name; no people in setting wug.",
    ):
        assert not re.search("[a-z]{4}", ZH.phrase(text).replace("offline/kitchen", "")), text


@pytest.mark.each("benchmark", catalog.installed())
def test_the_options_of_runs_are_explained_in_chinese(benchmark: Benchmark[Any, Any]) -> None:
    helps = {option.note for _, option in run_form(benchmark, ()).fields} - {""}
    assert [text for text in sorted(helps) if not re.search("[\u4e00-\u9fff]", ZH.phrase(text))] == []


@pytest.mark.slow
@pytest.mark.each("benchmark", catalog.installed())
def test_reports_of_all_kinds_of_runs_are_chinese(benchmark: Benchmark[Any, Any], tmp_path: Path) -> None:
    log = unpack(tmp_path)
    with LogWriter(log, durable=False), LogReader(log) as reader:
        runs = [run.id for run in reader.runs() if run.benchmark == benchmark.name]
        sections: list[Section] = []
        for run in runs:
            with suppress(InputError):  # a run that failed
                sections += build_report(benchmark, Frames(log=reader, runs=(run,))).sections
        with suppress(InputError):  # of different tasks
            sections += comparison(reader, runs[:3]).sections
    assert sections
    texts = {
        text for section in sections for text in texts_of(section) if re.search("[a-z]{2} [a-z]{2}", text)
    }
    assert sorted(text for text in texts if not re.search("[\u4e00-\u9fff]", ZH.phrase(text))) == []


def texts_of(section: Section) -> Iterator[str]:
    yield from (section.title, *section.text.splitlines(), *section.remarks)
    for table in section.tables:
        yield from (table.title, *(head.name for head in table.heads))
    for figure in section.figures:
        yield from (figure.title, figure.caption)


def test_chinese_is_chinese() -> None:
    names = [name for name in EN.texts if not name.startswith("research.")]
    same = {
        name for name in names if EN.texts[name] == ZH.texts[name] and re.search("[a-z]{3}", ZH.texts[name])
    }
    names_of_rooms = {
        name for name in same if re.fullmatch(r"\w+\.(name|nav)|benchmark\.\w+\.(name|title|nav)", name)
    }
    assert same - names_of_rooms == {"benchmark.handmethat.stop"}  # commands are English words
    assert [name for name in names if re.search(r"[㐀-鿿]", EN.texts[name])] == ["language.other"]


@pytest.mark.each(
    ("wishes", "chosen"),
    [
        (["zh", "en", None], "zh"),
        ([None, None, "zh-CN,zh;q=0.9,en;q=0.8"], "zh"),
        ([None, "", "de-DE,de;q=0.9,en;q=0.5"], "en"),
        (["fr", None, "ja"], "en"),
        (["../../etc", "zh-Hant"], "zh"),
    ],
)
def test_choosing_a_language(wishes: list[str | None], chosen: str) -> None:
    assert choose_language(*wishes) == chosen


def test_an_unknown_name_is_an_error() -> None:
    with pytest.raises(KeyError):
        EN("no.such.text")


def test_an_unknown_language_falls_back_to_the_default() -> None:
    assert strings("de").language == LANGUAGES[0]


def test_no_template_brings_a_text_of_its_own() -> None:
    assert own_texts() <= {"seed", "EDIT-F1", "AmbDif:  ×", "&gt;"}  # names of measures, and symbols
