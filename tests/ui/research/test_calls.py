import re

import gradio as gr
import pytest
from markup import checked, office_at, page_at, words

from logs import LogReader
from logs.erase import erase_participant
from logs.rows import Participant
from simulator import frames
from simulator.clarq.reports import run_section
from simulator.commands.compare import comparison
from ui.i18n import strings
from ui.research import list_page
from ui.research.address import Address
from ui.research.blocks import Visit
from ui.research.list_page import RunList
from ui.research.report_pages import item_rows
from ui.research.runs import run_card, run_cards

EPISODE = "one/gather-resources-1.en/0"


def page(calls, path="/research", query="", language="en"):
    return checked(page_at(calls, path, query, language))


PAGES = [
    ("/research", ""),
    ("/research", "run=one"),
    ("/research", "run=one&tab=dialogues"),
    ("/research", f"run=one&tab=dialogues&episode={EPISODE}"),
    ("/research", "run=one&tab=dialogues&episode=one/gather-resources-1.zh/0"),
    ("/research", "run=one&tab=compare"),
    ("/research", "run=one&tab=compare&runs=two"),
    ("/research", "run=one&tab=compare&runs=two&item=gather-resources-1"),
    ("/research/compare", "runs=one&runs=two"),
    ("/research/compare", "runs=one"),
    ("/research/report", "runs=one&runs=two"),
    ("/research/report", ""),
    ("/research", "run=nowhere"),
    ("/research/data", ""),
    ("/research/data", "benchmark=clarq"),
    ("/research/data", "benchmark=clarq&item=gather-resources-1.zh&f.language=zh"),
    ("/research/review", ""),
    ("/research/review", "run=one"),
    ("/research/review", "run=one&reviewer=ann"),
    ("/research/review", "run=one&tab=agreement"),
    ("/research/review", "run=one&reviewer=a%20b"),
]


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize(("path", "query"), PAGES)
def test_every_page_is_well_formed_in_both_languages(calls, path, query, language):
    answer = page(calls, path, query, language)
    assert "research." not in words(answer)


def test_an_empty_log_says_what_to_type(bench):
    answer = page(office_at(bench.writer, bench.reader))
    assert "askback run clarq --limit 4 --lang en" in words(answer)
    assert "askback import clarq-results FILE" in words(answer)


@pytest.mark.parametrize(
    ("language", "missing", "name"),
    [
        ("en", "The log has no “no”.", "“a b” cannot be used as a name."),
        ("zh", "日志中没有“no”。", "“a b”不能用作名称。"),
    ],
)
def test_what_cannot_be_shown_is_said_in_the_language_of_the_page(calls, language, missing, name):
    assert missing in words(page(calls, query="run=no", language=language))
    assert name in words(page(calls, "/research/review", "run=one&reviewer=a+b", language))
    assert missing in words(page(calls, "/research/review", "run=no&reviewer=ann", language))


def test_the_list_shows_progress_seats_and_cost(calls):
    answer = page(calls)
    assert "4 of 6" in words(answer)
    assert "2 of 2" in words(answer)
    assert "$0.0020" in words(answer)
    assert "offline/experts" in words(answer)


def test_scores_are_those_of_the_report(calls):
    answer = page(calls, query="run=one")
    for _, _, success, *_ in run_section(calls.reader, "one").tables[0].rows:
        assert f"{success.value:.3f}" in words(answer)
    assert len(answer["figures"]) == 4
    assert "Success by number of provider responses" in words(answer)
    assert "success by number of responses (en)" in words(answer)
    chinese = words(page(calls, query="run=one", language="zh"))
    assert "成功率随回复数的变化（en）" in chinese and "success by number" not in chinese
    assert "1 dialogue needs a judge" in words(answer)
    assert "openai/gpt-test" in words(answer)
    assert "askback report clarq one" in words(answer)


@pytest.mark.parametrize(
    ("filters", "runs"),
    [
        (("", "", ""), {"one", "two", "house"}),
        (("tw", "", ""), {"two"}),
        (("", "clarq", ""), {"one", "two"}),
        (("", "handmethat", "L2L"), {"house"}),
        (("OFFLINE/experts", "", ""), {"one", "two", "house"}),
        (("nothing", "", ""), set()),
    ],
)
def test_the_list_is_filtered_and_sorts_by_the_scores_themselves(calls, filled, filters, runs):
    filled.run("house", benchmark="handmethat")
    rows = RunList(Visit(strings("en"), Address(), calls))
    sheet, more = rows.rows(*filters)
    assert {cells[0].value for cells in sheet.rows} == runs
    assert more == any(run_card(calls.reader, calls.reader.run(run)).live for run in runs)
    if runs == {"one", "two"}:
        frame = frames.episodes(calls.reader, ["two"])
        (two,) = [cells for cells in sheet.rows if cells[0].value == "two"]
        assert two[4].value == frame["success"].mean()
        for sort, place in list_page.SORT_BY.items():
            values = [cells[place].value for cells in rows.rows(*filters, sort)[0].rows]
            known = [value for value in values if value is not None]
            assert values == [*sorted(known, reverse=sort != "run"), *[None] * (len(values) - len(known))]


def test_a_list_that_stands_as_it_did_is_not_sent_again(calls, filled, monkeypatch):
    monkeypatch.setattr(list_page, "SCORE_SECONDS", 600.0)  # a busy machine takes its time for the scores
    rows = RunList(Visit(strings("en"), Address(), calls))
    before, _ = rows.rows("", "", "")
    assert rows.shown("", "", "", "", before)[1] == gr.skip()
    filled.play("two", filled.tasks["en"][2])
    assert rows.shown("", "", "", "", before)[1] != gr.skip()


def test_runs_are_compared_item_by_item(calls):
    answer = page(calls, query="run=one&tab=compare&runs=two&item=gather-resources-1")
    rows = comparison(calls.reader, ["one", "two"]).sections[0].tables[1].rows
    assert len(rows) > 1
    for row in rows:
        assert f"{row[6].value:.3f}".replace("-", "−") in words(answer)
    assert answer["html"].count('class="rs-column"') == 2
    assert "And then &lt;b&gt;what&lt;/b&gt;?" in answer["html"]
    assert "askback compare one two" in words(answer)
    items = list(item_rows(calls.reader, ["one", "two"]))
    differing = sum(row.differs for row in items)
    assert f"Item by item they differ on {differing} of {len(items)}" in words(answer)


def test_what_cannot_be_compared_is_told(calls, filled):
    filled.run("house", benchmark="handmethat")
    assert "Only runs of one benchmark" in words(page(calls, "/research/compare", "runs=one&runs=house"))
    assert "Only runs of one benchmark" in words(page(calls, "/research/report", "runs=one&runs=house"))


def test_who_withdraws_is_gone_from_a_run_that_was_read_before(calls, filled):
    filled.writer.put(Participant(id="gone"))
    filled.play("two", filled.tasks["en"][2], person="gone")
    assert "escort-mission-1" in words(page(calls, query="run=two&tab=dialogues"))
    erase_participant(filled.writer.path, "gone")
    assert "escort-mission-1" not in words(page(calls, query="run=two&tab=dialogues"))
    for language, remark in (("en", "withdrawn or excluded, not counted"), ("zh", "已退出")):
        assert remark in words(page(calls, query="run=two", language=language))


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("outcome=success", {"gather-resources-1.en", "gather-resources-1.zh"}),
        ("outcome=failure", {"gather-resources-2.en", "escort-mission-1.en"}),
        ("f.needs_judge=True", {"escort-mission-1.en"}),
        ("outcome=unscored", set()),
        ("f.language=zh", {"gather-resources-1.zh"}),
        ("f.type=2", {"escort-mission-1.en"}),
        ("text=LANTERN,+perhaps", {"escort-mission-1.en"}),
        ("text=nobody+said+this", set()),
    ],
)
def test_dialogues_can_be_filtered(calls, query, expected):
    html = page(calls, query=f"run=one&tab=dialogues&{query}")["html"]
    listed = re.search(r"<ul tabindex.*?</ul>", html, re.DOTALL).group()
    assert {name for name in re.findall(r"episode=one%2F([\w.-]+)%2F0", listed)} == expected


def test_what_people_and_models_wrote_is_escaped(calls):
    html = page(calls, query=f"run=one&tab=dialogues&episode={EPISODE}")["html"]
    assert "And then &lt;b&gt;what&lt;/b&gt;?" in html
    assert "<b>what</b>" not in html
    html = page(calls, query="run=one&tab=dialogues&episode=one/escort-mission-1.en/0")["html"]
    assert "Which &lt;i&gt;type&lt;/i&gt;?" in html


def test_a_dialogue_that_is_being_played_is_shown_as_far_as_it_is(calls, filled):
    open_one = filled.play("two", filled.tasks["en"][2], status=None)
    answer = page(calls, query=f"run=two&tab=dialogues&episode={open_one}")
    assert "data-replay" not in answer["html"] and "rs-turns" in answer["html"]


def test_dialogues_are_listed_while_further_ones_begin(calls, filled, monkeypatch):
    read = LogReader.items

    def read_items(reader, run=None):
        items = read(reader, run)
        filled.play("two", filled.tasks["en"][2], status=None)
        filled.writer.flush()
        return items

    monkeypatch.setattr(LogReader, "items", read_items)
    assert "gather-resources-2" in words(page(calls, query="run=two&tab=dialogues"))


def test_runs_of_a_benchmark_that_is_not_installed_are_listed(calls, filled):
    filled.run("house", benchmark="elsewhere")
    assert "house" in words(page(calls))
    assert "There is no benchmark called" in words(page(calls, query="run=house"))


def test_what_was_tried_out_is_not_listed(calls, filled):
    listed = [card.run.id for card in run_cards(calls.reader)]
    filled.run("study-mine.preview.0a1b2c3d")
    assert [card.run.id for card in run_cards(calls.reader)] == listed
