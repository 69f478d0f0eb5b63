"""Error reports for functions of a package that raise or return invalid values."""

from __future__ import annotations

import logging
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal

import pandas as pd
import pytest
from fake_sessions import front
from markup import judge_desk, office_at, page_at
from pydantic import BaseModel
from pydantic import Field as Limited
from rich.console import Console
from visiting import no_models, words

import askback
from logs import LogReader, LogWriter
from logs.rows import Item
from personas import TemplateError
from simulator import catalog
from simulator.asking import read_asking
from simulator.benchmark import Benchmark, Due, Metric, Move
from simulator.commands.files import prompt_faults
from simulator.commands.report import output_report
from simulator.commands.score import added_scores, score_command
from simulator.desks import Case, Desk, Group, Sheet
from simulator.errors import AskbackError, InputError, SeatError
from simulator.form_blocks import Choice, Field
from simulator.frames import Frames
from simulator.judging import Form, JudgingForm, Opinions
from simulator.models import ScriptModel
from simulator.reports import build_report, mean_of, print_runs
from simulator.research import research_pages
from simulator.runner.build import machine_of
from simulator.runner.declared_machine import DeclaredMachine
from simulator.stats import bootstrap_mean, share
from simulator.studies.declared import DeclaredSessions
from ui.actions import Actions
from ui.declared.actions import DeclaredActions
from ui.i18n import strings
from ui.tokens import Signer

from .conftest import ROSE, begin

Spoil = Callable[..., Benchmark[Any, Any]]


@pytest.fixture
def spoil(installed: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Spoil]:
    """Return a function that replaces functions of twenty questions in a benchmark called ``spoilt``."""
    monkeypatch.setattr(catalog, "_REGISTERED", {})
    yield lambda **changed: replace(catalog.find("twenty_questions"), name="spoilt", **changed)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The path of an empty log."""
    return tmp_path / "log.sqlite"


def answers(**values: Any) -> Callable[[Any], Any]:
    """Return a score function with these values."""
    return lambda state: {"success": 1.0, "questions": 2.0} | values


@pytest.mark.parametrize(
    ("cause", "message", "changed"),
    [
        ("scorer", "score returned succes; its metrics are", {"score": lambda state: {"succes": 1.0}}),
        ("scorer", "score returned success 2.0; a share is", {"score": answers(success=2.0)}),
        (
            "scorer",
            "score: questions is nan; expected a finite number",
            {"score": answers(questions=math.nan)},
        ),
        ("scorer", "score: success is 'yes'; expected a finite number", {"score": answers(success="yes")}),
        ("infrastructure", "outcome returned 'won'; expected completed or", {"outcome": lambda state: "won"}),
        (
            "infrastructure",
            "accept returned Move(seat='nobody'",
            {"accept": lambda state, due, reply: Move("nobody", "ask", "Is it?")},
        ),
        (
            "infrastructure",
            "next_seat returned Due(seat='askr'",
            {"next_seat": lambda state: Due("askr", "ask")},
        ),
        (
            "infrastructure",
            "next_seat returned 'asker'; expected None or a Due of asker or answerer.",
            {"next_seat": lambda state: "asker"},
        ),
        ("scorer", "score returned None; expected a mapping from metrics", {"score": lambda state: None}),
        (
            "infrastructure",
            "knows returned 7; expected a mapping from names to values.",
            {"knows": lambda state, seat: 7},
        ),
    ],
)
def test_an_invalid_return_value_fails_the_episode(spoil, path, cause, message, changed):
    run = askback.run(spoil(**changed), limit=2, log=path)
    with LogReader(path) as reader:
        endings = [reader.ending(each.id) for each in reader.episodes(run, latest=True)]
    assert [(ending.status, ending.cause) for ending in endings] == [("failed", cause)] * 2
    assert all(ending.message.startswith(f"InputError: spoilt: {message}") for ending in endings)


@pytest.mark.parametrize("function", ["score", "knows"])
def test_an_exception_is_reported_with_its_line_in_the_package(spoil, path, function):
    def look(*arguments: Any) -> Any:
        return pd.DataFrame()["nothing"]

    run = askback.run(spoil(**{function: look}), limit=1, log=path)
    with LogReader(path) as reader:
        (ending,) = [reader.ending(each.id) for each in reader.episodes(run, latest=True)]
    place = f"{__file__}:{look.__code__.co_firstlineno + 1}"
    assert ending.status == "failed" and ending.message == f"KeyError: 'nothing', {place}"


def test_a_player_returns_a_text_or_a_reply(spoil, path):
    asker, *others = catalog.find("twenty_questions").seats
    odd = replace(asker, players={"offline/odd": lambda view: 7})
    run = askback.run(spoil(seats=(odd, *others)), limit=1, log=path)
    with LogReader(path) as reader:
        (ending,) = [reader.ending(each.id) for each in reader.episodes(run, latest=True)]
    assert ending.message == "InputError: offline/odd returned 7; it must return a text or a Reply."


def test_a_raising_record_function_is_reported(spoil, path, monkeypatch):
    asking = replace(catalog.find("twenty_questions").asking, record=lambda state: {}["nothing"])
    benchmark = spoil(asking=asking)
    monkeypatch.setitem(catalog._REGISTERED, "spoilt", benchmark)
    run = askback.run(benchmark, limit=1, log=path)
    with LogReader(path) as reader, pytest.raises(InputError, match=r"spoilt: record: KeyError: .*\.py:\d+"):
        list(read_asking(reader, [run]))


def test_declared_metrics_are_columns_of_every_run(spoil, path):
    def give_up(state: Any, due: Any, reply: Any) -> Any:
        raise SeatError("I give up.", due.seat, code="gave_up")

    costs = (Metric("success", "success", unsuccessful=0.0), Metric("questions", "q", "q", unsuccessful=20.0))
    aborted = askback.run(spoil(accept=give_up, metrics=costs), limit=2, log=path)
    failed = askback.run(spoil(score=lambda state: {}["x"], metrics=costs), limit=2, seed=2, log=path)
    log = askback.load_log(path)
    assert log.frame(aborted)[["success", "questions"]].to_numpy().tolist() == [[0.0, 20.0]] * 2
    assert log.frame(failed).dropna(subset=["success", "questions"]).empty


def test_two_items_with_one_name_are_refused_before_anything_is_written(spoil, path):
    thing = catalog.find("twenty_questions").load("builtin")[0]
    with pytest.raises(InputError, match=rf"several items are called {thing.name}; item names"):
        askback.run(spoil(), items=[thing, thing.model_copy(update={"facts": ("odd",)})], log=path)
    with LogReader(path) as reader:
        assert reader.runs() == []


def test_a_load_that_raises_or_returns_nothing_is_reported(spoil, path):
    def load(data: str) -> Any:
        raise ValueError("no maps")

    place = f"{__file__}:{load.__code__.co_firstlineno + 1}"
    message = f"spoilt: load of the data 'builtin': ValueError: no maps, {place}"
    with pytest.raises(InputError, match=f"^{re.escape(message)}$"):
        askback.run(spoil(load=load), log=path)
    with pytest.raises(InputError, match="returned no items"):
        askback.run(spoil(load=lambda data: ()), log=path)


def test_a_wrong_result_of_research_is_named(spoil):
    with pytest.raises(InputError, match=r"spoilt: research returned 7; expected a ResearchPages"):
        research_pages(spoil(research=lambda: 7))


def test_items_are_objects(spoil, path):
    with pytest.raises(InputError, match="items: 'nope' is not a Thing; pass objects"):
        askback.run(spoil(), items=["nope"], log=path)


def test_a_run_without_ended_episodes_is_reported(spoil, path, caplog):
    caplog.set_level(logging.WARNING, "simulator.runner.command")
    run = askback.run(spoil(score=lambda state: {"succes": 1.0}), limit=1, log=path)
    assert (
        f"no episode of {run} was played to its end: InputError: spoilt: score returned succes" in caplog.text
    )
    caplog.clear()
    askback.run(spoil(), limit=1, log=path)
    assert caplog.text == ""


def test_a_benchmark_name_must_suit_options_and_urls(installed):
    for name in ("Map-3", "map 3", "3map", ""):
        with pytest.raises(ValueError, match="lower case letters, digits and _"):
            replace(catalog.find("twenty_questions"), name=name)


def test_a_metric_cannot_have_the_name_of_a_column_of_every_frame(spoil):
    with pytest.raises(ValueError, match="rename the metric 'turns', a column"):
        spoil(metrics=(Metric("success", "success"), Metric("turns", "turns", "turns")))


ACTS = Desk[Form](
    name="acts",
    form=JudgingForm(kind="spoilt.acts", model=Form, about="episode"),
    fields=(),
    sets=lambda reader: ["run"],
    cases=lambda reader, run: [Case(key="1", name="one", title="1", show=tuple)],
    outcome=str,
    read=lambda case, values, decides: Form(),
    sheet=lambda case, form: Sheet([Group([Field("act", "choice", choices=[Choice("asks")])])]),
)


def test_of_installed_files_only_those_of_extensions_are_named_in_errors(installed, monkeypatch):
    monkeypatch.setattr(catalog, "_extensions", catalog._extensions.__wrapped__)
    files = [f"/site-packages/{file}" for file in ("twenty_questions/a.py", "simulator/a.py", "pandas/a.py")]
    assert [catalog._extends(file) for file in files] == [True, False, False]


def test_an_episode_without_an_end_says_so(spoil, path, monkeypatch):
    monkeypatch.setattr(DeclaredMachine, "steps", lambda self, context: 5)
    endless = spoil(next_seat=lambda state: Due("asker", "ask"))
    run = askback.run(endless, log=path, limit=1)
    with LogReader(path) as reader:
        ending = next(iter(reader.endings(run).values()))
    assert (ending.status, ending.message) == (
        "failed",
        "InputError: the episode has not ended after 5 steps.",
    )


def test_a_desk_needs_no_text_on_keys_and_its_title_is_translated(spoil, log, monkeypatch):
    monkeypatch.setitem(catalog._REGISTERED, "spoilt", spoil(desks=(lambda: ACTS,)))
    monkeypatch.setitem(strings("zh").phrases, "Twenty questions", "二十个问题")
    office, at = office_at(*log), "desk=spoilt.acts&data=run&reviewer=ann"
    assert "asks" in (page := page_at(office, "/research/desk", at)["html"]) and "acts.keys" not in page
    for query in ("", "desk=spoilt.acts", at):
        assert "二十个问题" in page_at(office, "/research/desk", query, "zh")["html"]


def test_a_desk_that_raises_is_reported_on_its_page(spoil, log, monkeypatch):
    desk = replace(ACTS, sets=lambda reader: {}["nothing"])
    monkeypatch.setitem(catalog._REGISTERED, "spoilt", spoil(desks=(lambda: desk,)))
    page = page_at(office_at(*log), "/research/desk", "desk=spoilt.acts")["html"]
    assert re.search(
        r"The page /research/desk: KeyError: &#39;nothing&#39;, \S+test_faulty_functions.py:\d+", page
    )


class Rating(Form):
    """A form with a number to choose and a short remark."""

    points: Literal[1, 2, 3]
    remark: str = Limited("", max_length=5)


def test_a_desk_without_read_builds_its_form_and_shows_problems_at_its_fields(spoil, log, monkeypatch):
    rating = JudgingForm(kind="spoilt.rating", model=Rating)
    item = Item(hash="1", benchmark="spoilt", name="rose", language="en", data={})

    def cases(reader: LogReader, run: str) -> list[Case[Rating]]:
        opinions = rating.read(reader, run).get("1", Opinions())
        return [Case(key="1", name="one", title="1", show=tuple, item=item, opinions=opinions)]

    fields = (Field("points", "choice", choices=[*map(Choice, (1, 2, 3))]), Field("remark"))
    desk = replace(ACTS, form=rating, read=None, sheet=None, outcome=str, fields=fields, cases=cases)
    monkeypatch.setitem(catalog._REGISTERED, "spoilt", spoil(desks=(lambda: desk,)))
    office, at = office_at(*log), "desk=spoilt.acts&data=run&reviewer=ann"
    call = {"query": at, "item": "one", "key": "a-key-of-mine"}
    refused = judge_desk(office, {**call, "form": {"points": "3", "remark": "longer"}})
    assert refused["places"] == {"remark": ["This is too long."]}
    unknown = judge_desk(office, {**call, "form": {"points": "4"}})
    assert "4" in unknown["problem"]
    assert judge_desk(office, {**call, "form": {"points": "3", "remark": "fine"}})["saved"]
    (row,) = office.reader.judgments(kind="spoilt.rating")
    assert row.value == {"run": "run", "points": 3, "remark": "fine"}
    other = {**call, "query": at.replace("ann", "bob"), "form": {"points": "1"}, "key": "another-key"}
    assert judge_desk(office, other)["saved"]
    differing = page_at(office, "/research/desk", f"{at}&tab=agreement")["html"]
    assert re.findall(r'class="rs-chip">(\d)<', differing)[-2:] == ["3", "1"]


class Letter(BaseModel, extra="forbid"):
    """An item with a field that has another name in files."""

    name: str
    from_: str = Limited(alias="from")


def test_an_item_is_read_from_the_log_whatever_its_fields_are_called_in_files(spoil):
    machine = machine_of(spoil(item=Letter))
    row = machine.item_row(letter := Letter.model_validate({"name": "first", "from": "Ada"}))
    assert machine.read_item(row) == letter
    with pytest.raises(InputError, match=r"^item first in the log is not an item of spoilt: from is missing"):
        machine.read_item(replace(row, data={"name": "first"}))


def test_a_missing_prompt_is_reported_before_the_run(spoil):
    asker, *others = catalog.find("twenty_questions").seats
    benchmark = spoil(seats=(replace(asker, prompt="askr"), *others))
    expected = re.escape(f"no prompt template spoilt/askr.en.jinja in {benchmark.folder}/prompts")
    with pytest.raises(TemplateError, match=expected):
        machine_of(benchmark).seat_for("asker", "any/model", lambda name: ScriptModel(str, name=name), {})
    assert "askr.en.jinja" in str(prompt_faults(benchmark))
    assert prompt_faults(catalog.find("twenty_questions")) == ()
    spoilt = spoil(load=lambda data: [SimpleNamespace(language="de")])
    spoilt = replace(spoilt, name="twenty_questions")
    (fault, *_) = prompt_faults(spoilt, [spoilt.folder / "prompts" / "asker.en.jinja"])
    assert fault.file.endswith("asker.de.jinja") and "no prompt in this language" in fault.message


def test_a_graded_share_has_a_bootstrap_interval():
    values = [1.0, 0.0, 1.0, 1.0]
    frame = pd.DataFrame({"run": ["a"] * 4, "item": [*"abcd"], "overlap": values})
    plain, graded = Metric("overlap", "overlap"), Metric("overlap", "overlap", graded=True)
    assert mean_of(frame, plain, str) == share([True, False, True, True], [*"abcd"])
    assert mean_of(frame, graded, str) == bootstrap_mean(values, [*"abcd"], bounds=(0.0, 1.0))
    assert mean_of(frame, plain, str) != mean_of(frame, graded, str)


def broken(source: Frames) -> Any:
    """A report function that fails."""
    return source.nothing_of_the_kind


def test_a_failing_section_is_reported_and_the_others_are_shown(spoil, path, capsys):
    benchmark = spoil(reports=(broken,))
    run = askback.run(benchmark, limit=1, log=path)
    problem = "spoilt: the report function broken failed .AttributeError: .*nothing_of_the_kind"
    with LogReader(path) as reader:
        with pytest.raises(InputError, match=problem):
            print_runs(Console(), reader, benchmark, [run])
        assert "1 completed" in capsys.readouterr().out
        report = build_report(benchmark, Frames(log=reader, runs=(run,)))
    assert [section.name for section in report.sections] == ["metrics"]
    with pytest.raises(Exception, match="1"):
        output_report(report, None)
    assert re.search(problem, capsys.readouterr().err)


def test_a_report_says_that_intervals_are_over_groups_of_items(spoil, path):
    remarks = []
    for cluster in (str, lambda name: name[0]):
        benchmark = spoil(cluster=cluster)
        run = askback.run(benchmark, limit=1, log=path)
        with LogReader(path) as reader:
            (metrics,) = build_report(benchmark, Frames(log=reader, runs=(run,))).sections
        remarks.append([*metrics.remarks, metrics.figures[0].caption])
    assert [sum("group" in remark for remark in each) for each in remarks] == [0, 2]


def test_the_page_of_a_run_reports_a_failing_section(spoil, log):
    writer, reader = log
    run = askback.run(spoil(reports=(broken,)), limit=1, log=reader.path)
    html = page_at(office_at(writer, reader), "/research", f"run={run}")["html"]
    assert "the report function broken failed" in html and "Metrics" in html


def test_a_metric_of_another_package_that_raises_is_left_out(spoil, path, monkeypatch, caplog):
    run = askback.run(spoil(), limit=3, log=path)
    scorers = {
        "many": lambda item, turns, judgments: "many",
        "never": lambda item, turns, judgments: 1 / 0,
        "turns": lambda item, turns, judgments: len(turns),
    }
    monkeypatch.setattr(catalog, "extensions", lambda group: scorers)
    monkeypatch.setattr(catalog, "package_name", lambda group, name: "others")
    caplog.set_level(logging.WARNING, "simulator.catalog")
    with LogReader(path) as reader:
        metrics = [score.metric for score in added_scores(reader, catalog.find("spoilt"), run)]
    assert metrics == ["turns"] * 3
    warnings = " ".join(record.getMessage() for record in caplog.records)
    assert (
        "the metric many of the package others is left out: many is 'many'; expected a finite number"
        in warnings
    )
    assert "the metric never of the package others is left out: ZeroDivisionError" in warnings


def test_a_score_that_raises_names_its_episode(spoil, path, monkeypatch):
    run = askback.run(spoil(), limit=1, log=path)
    monkeypatch.setitem(catalog._REGISTERED, "spoilt", spoil(score=lambda state: {}["nothing"]))
    with pytest.raises(AskbackError, match=rf"spoilt: score of {run}/\S+: KeyError: 'nothing', .*\.py:\d+"):
        score_command(run, log=path)


async def test_a_raising_view_is_not_reported_as_a_missing_dialogue(
    spoil: Spoil, log: tuple[LogWriter, LogReader], monkeypatch: pytest.MonkeyPatch
) -> None:
    benchmark, signer = spoil(view=lambda state, seat: {}["nothing"]), Signer(b"a secret for tests")
    monkeypatch.setitem(catalog._REGISTERED, "spoilt", benchmark)
    served = DeclaredActions(DeclaredSessions(benchmark, *log, no_models, studies=[]), signer)
    player = await begin(Actions(signer, {**front(signer), "spoilt": served}), benchmark="spoilt", item=ROSE)
    assert "Something went wrong" in words(await player.look())
    signed = signer.sign(replace(signer.read(player.at["query"][2:]), episode_id="elsewhere"))
    player.at["query"] = f"t={signed}"
    assert "Dialogue not found" in words(await player.look())
