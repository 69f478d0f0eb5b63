"""Faulty packages: each is reported with name, file and line, and everything else keeps working."""

from __future__ import annotations

import logging
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from markup import office_at, page_at
from packages import ROOT
from visiting import no_models

import askback
from logs import LogReader, LogWriter
from personas import templates
from simulator import catalog
from simulator.catalog import warn_once, was_reported
from simulator.commands.files import check_files
from simulator.commands.score import score_command
from simulator.deferred import later
from simulator.errors import InputError
from simulator.studies.declared import DeclaredSessions
from simulator.studies.files import find_studies
from simulator.studies.known import all_builtin
from simulator.studies.steering import study_statuses
from ui import i18n
from ui.declared.actions import DeclaredActions
from ui.server import served_benchmarks
from ui.tokens import Signer

from .conftest import forget

Install = Callable[..., Path]


@pytest.fixture
def warnings(caplog: pytest.LogCaptureFixture) -> Callable[[], list[str]]:
    """Return a function that returns the catalog's warnings since its last call."""
    caplog.set_level(logging.WARNING, "simulator.catalog")

    def messages() -> list[str]:
        texts = [record.getMessage() for record in caplog.records if record.name == "simulator.catalog"]
        caplog.clear()
        return texts

    return messages


@pytest.fixture
def add(
    installed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[str, str], Path]]:
    """Return a function that installs a one-file package ``faulty`` with entry points and code."""
    site = tmp_path / "site"
    monkeypatch.syspath_prepend(str(site))
    monkeypatch.setattr(catalog, "_REGISTERED", {})

    def install(points: str, text: str = "") -> Path:
        about = site / "faulty-1.0.dist-info"
        about.mkdir(parents=True)
        (about / "METADATA").write_text("Metadata-Version: 2.1\nName: faulty\nVersion: 1.0\n", "utf-8")
        (about / "entry_points.txt").write_text(points, "utf-8")
        (site / "faulty.py").write_text(text, "utf-8")
        forget()
        return site

    yield install
    sys.modules.pop("faulty", None)
    forget()


@pytest.fixture
def copied(site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of twenty questions in a copy that a test may damage."""
    target = tmp_path / "copy"
    shutil.copytree(site, target)
    monkeypatch.setenv("ASKBACK_HOME", str(tmp_path / "home"))
    monkeypatch.syspath_prepend(str(target))
    known = sys.modules.pop("twenty_questions", None)
    forget()
    i18n._read.cache_clear()
    yield target / "twenty_questions"
    sys.modules.pop("twenty_questions", None)
    if known is not None:
        sys.modules["twenty_questions"] = known
    forget()
    i18n._read.cache_clear()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("import no_such_module", "No module named 'no_such_module', .*faulty.py:1"),
        ("x = = 1", r"SyntaxError: .*faulty.py, line 1"),
        ("", "has no attribute 'BENCHMARK'"),
        ("BENCHMARK = 7", "is not a Benchmark; its type is int"),
        (
            "from twenty_questions import BENCHMARK",
            "is a Benchmark called 'twenty_questions'; give the entry point that name",
        ),
    ],
)
def test_an_unusable_benchmark_is_reported_once(add, warnings, text, words):
    add("[askback.benchmarks]\nfaulty = faulty:BENCHMARK\n", text)
    assert {"clarq", "twenty_questions", "faulty"} <= set(catalog.names())
    assert "faulty" not in {benchmark.name for benchmark in catalog.installed()}
    (message,) = warnings()
    assert "faulty = faulty:BENCHMARK" in message and re.search(words, message)
    with pytest.raises(InputError, match=words):
        catalog.find("faulty")


def test_the_command_of_a_broken_package_reports_it_once(add, tmp_path):
    site = add("[askback.benchmarks]\nfaulty = faulty:BENCHMARK\n", "raise ValueError('no ink')\n")
    environment = os.environ | {"PYTHONPATH": f"{site}{os.pathsep}{ROOT}", "ASKBACK_HOME": str(tmp_path)}
    command = [sys.executable, "-m", "app", "run", "faulty"]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr.count("no ink")) == (1, 1)


def test_an_error_is_omitted_only_if_it_was_reported_completely(monkeypatch):
    monkeypatch.setattr("simulator.catalog._warned", set())
    warn_once("the benchmark faulty is left out: no ink, no paper")
    assert was_reported("no ink, no paper")
    assert not any(map(was_reported, ("", "no paper", "no ink", "faulty")))


def test_a_package_cannot_take_a_built_in_name(add, warnings):
    add("[askback.benchmarks]\nclarq = faulty:BENCHMARK\n", "BENCHMARK = 7")
    assert catalog.find("clarq").name == "clarq"
    (message,) = warnings()
    assert "faulty:BENCHMARK of the package faulty is left out" in message


def test_an_extension_that_cannot_be_imported_only_fails_when_used(add, warnings, tmp_path):
    groups = ("scorers", "models", "seats")
    add("\n".join(f"[askback.{group}]\nnone_{group} = faulty:none" for group in groups))
    log = tmp_path / "log.sqlite"
    run = askback.run("twenty_questions", limit=1, log=log)
    score_command(run, log=log)
    (message,) = warnings()
    assert "none_scorers = faulty:none cannot be imported" in message
    for who in ("none_models/x", "plugin/none_seats"):
        with pytest.raises(InputError, match=r"faulty:none cannot be imported.*the package faulty"):
            askback.run("twenty_questions", asker=who, log=log)
    with pytest.raises(InputError, match=r"known: none_models/…, openai/…"):
        askback.run("twenty_questions", asker="nobody/x", log=log)


def test_a_faulty_study_of_a_package_is_left_out(copied, warnings, tmp_path):
    study = copied / "studies" / "asker.yaml"
    valid = study.read_text("utf-8")
    (copied / "studies" / "other.yaml").write_text(valid.replace("asker", "other", 1) + "a: [", "utf-8")
    assert len(find_studies(copied / "studies")) == 2
    known = all_builtin()
    assert {"twenty-questions-asker", "clarq-h2l"} <= set(known) and "twenty-questions-other" not in known
    (message,) = warnings()
    assert re.search(r"a study of twenty_questions is left out: .*other\.yaml:1[23]: ", message)


def test_a_study_with_faulty_settings_is_left_out(copied, warnings, tmp_path):
    study = copied / "studies" / "asker.yaml"
    study.write_text(study.read_text("utf-8").replace("{questions: 15}", "{questionss: 15}"), "utf-8")
    path = tmp_path / "log.sqlite"
    with LogWriter(path, durable=False) as log, LogReader(path) as reader:
        standing = {each.study.id for each in study_statuses(log, reader)}
        sessions = DeclaredSessions(catalog.find("twenty_questions"), log, reader, no_models)
        assert sessions.studies() == ()
    assert "clarq-h2l" in standing and "twenty-questions-asker" not in standing
    (message,) = warnings()
    assert "study twenty-questions-asker is left out: " in message and "unknown setting questionss" in message


def test_a_second_study_with_the_same_id_is_left_out(copied, warnings, tmp_path):
    study = copied / "studies" / "asker.yaml"
    study.write_text(study.read_text("utf-8").replace("twenty-questions-asker", "clarq-h2l"), "utf-8")
    assert all_builtin()["clarq-h2l"].benchmark == "clarq"
    path = tmp_path / "log.sqlite"
    with LogWriter(path, durable=False) as log, LogReader(path) as reader:
        assert DeclaredSessions(catalog.find("twenty_questions"), log, reader, no_models).studies() == ()
    (message,) = warnings()
    assert "a study of twenty_questions is left out: clarq also has a study 'clarq-h2l'" in message


def test_a_desk_that_cannot_be_made_is_left_out(copied, warnings, tmp_path, monkeypatch):
    benchmark = catalog.find("twenty_questions")
    object.__setattr__(benchmark, "desks", (later("twenty_questions:BENCHMARK"),))
    path = tmp_path / "log.sqlite"
    with LogWriter(path, durable=False) as log, LogReader(path) as reader:
        html = page_at(office_at(log, reader), "/research/desk", "")["html"]
    assert "Reviewing dialogues" in html
    (message,) = warnings()
    assert "a desk of twenty_questions is left out: TypeError" in message


def test_items_missing_from_the_installation_are_reported(copied):
    (copied / "items.yaml").unlink()
    with pytest.raises(InputError, match=r"items\.yaml: no such file; .*package-data"):
        catalog.find("twenty_questions").load("builtin")


def test_items_of_an_unknown_benchmark_are_reported(tmp_path):
    file = tmp_path / "items.yaml"
    file.write_text("items_of: twenty_question\nitems:\n- {name: a}\n- {name: b}\n", "utf-8")
    (fault,) = check_files([file])
    assert fault.line == 1 and fault.message.startswith("items_of: no benchmark is called 'twenty_question'")


def test_a_folder_of_a_package_can_be_checked(copied):
    assert check_files([copied]) == ()
    templates.clear_caches()
    (copied / "texts.yaml").write_text("en:\n  title: Twenty: questions\n", "utf-8")
    (copied / "prompts" / "asker.en.jinja").write_text("{% if %}", "utf-8")
    faults = {(Path(fault.file).name, fault.line) for fault in check_files([copied])}
    assert faults == {("texts.yaml", 2), ("asker.en.jinja", 0)}


def test_misspelt_names_are_reported_with_line_and_suggestion(copied):
    for name, right, wrong in (
        ("texts.yaml", "  instructions.asker: Ask", "  instructions.akser: Ask"),
        ("texts.yaml", "  remaining: 剩余问题数\n", ""),
        ("prompts/asker.en.jinja", "remaining", "remainig"),
    ):
        text = (copied / name).read_text("utf-8")
        assert right in text
        (copied / name).write_text(text.replace(right, wrong), "utf-8")
    templates.clear_caches()
    faults = check_files([copied])
    assert {fault.severity for fault in faults} == {"warning"}
    assert {(Path(fault.file).name, fault.line, fault.message) for fault in faults} == {
        ("texts.yaml", 3, "nothing uses the name 'instructions.akser'; did you mean 'instructions.asker'?"),
        ("texts.yaml", 7, "'remaining' has no text in zh"),
        ("texts.yaml", 17, "'instructions.asker' has no text in en"),
        ("asker.en.jinja", 6, "unknown variable 'remainig'; did you mean 'remaining'?"),
    }


def test_other_files_of_a_package_are_its_own_and_all_its_modules_use_texts(copied):
    (copied / "steps.yaml").write_text("steps: {north: 1}\n", "utf-8")
    (copied / "desks.py").write_text('CHOICES = ("kind",)\nHEAD = message("remainig", n=1)\n', "utf-8")
    (copied / "desks.yaml").write_text("en: {manner.kind: Kind}\nzh: {manner.kind: 和善}\n", "utf-8")
    (copied / "manner.py").write_text("error, code = 1, 'rude'", "utf-8")
    texts = (copied / "texts.yaml").read_text("utf-8")
    (copied / "texts.yaml").write_text(
        texts + "  error.rude: 太无礼了。\n", "utf-8"
    )  # English is the error's
    (fault,) = check_files([copied])
    assert (Path(fault.file).name, fault.line) == ("desks.py", 2)
    assert fault.message == "texts.yaml has no text 'remainig' in en; did you mean 'remaining'?"


def test_a_package_with_unreadable_texts_is_not_in_the_browser(copied, warnings, tmp_path):
    (copied / "texts.yaml").write_text("en:\n  title: Twenty: questions\n", "utf-8")
    assert i18n.strings("en")("benchmark.clarq.name") == "ClarQ-LLM"
    assert i18n.strings("zh")("benchmark.twenty_questions.name") == "Twenty questions"
    (message,) = warnings()
    assert re.search(r"texts file of twenty_questions is left out: .*texts\.yaml:2: is not YAML", message)
    path = tmp_path / "log.sqlite"
    with LogWriter(path, durable=False) as log, LogReader(path) as reader:
        made = [catalog.find(name) for name in ("twenty_questions", "clarq")]
        serving = (made[0].sessions or (lambda: DeclaredSessions), made[1].sessions)
        sessions = [kind()(each, log, reader, no_models) for kind, each in zip(serving, made, strict=True)]
        benchmarks = served_benchmarks(sessions, Signer(b"a secret for tests"))
    assert [(served.name, served.link.path) for served in benchmarks] == [("clarq", "/")]
    assert isinstance(benchmarks[0], DeclaredActions)
    assert "twenty_questions in the browser is left out" in warnings()[0]
