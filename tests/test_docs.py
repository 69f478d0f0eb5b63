"""The README and the pages of docs/: short enough, links that resolve, commands and options that exist."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from pkgutil import resolve_name

import pytest
import typer
import yaml

import app
from simulator import catalog
from simulator.commands.derived import benchmark_commands, draw
from simulator.deferred import _command

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
MOST_LINES = 150
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
YAML = re.compile(r"^( *)```yaml\n(.*?)^ *```", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"(?:^|`)askback ([^`#\n]*)", re.MULTILINE)
# The benchmark that this page writes is not installed here; tests/plugins holds its commands.
ELSEWHERE = "guess_number"
COMMANDS = {**app.COMMANDS, **benchmark_commands()}


def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= MOST_LINES


@pytest.mark.each("page", PAGES, ids=lambda page: page.name)
def test_links_resolve(page):
    links = [link for link in LINK.findall(page.read_text(encoding="utf-8")) if "://" not in link]
    for link in links:
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


def test_every_page_is_in_the_index():
    index = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    assert [
        page.name for page in PAGES[2:] if f"({page.name})" not in index and page.name != "README.md"
    ] == []


@pytest.mark.each("page", PAGES, ids=lambda page: page.name)
def test_commands_and_their_options_exist(page):
    for line in COMMAND.findall(page.read_text(encoding="utf-8")):
        words = line.split()
        if not words or ELSEWHERE in words or words[0].isupper():
            continue
        options = {word.partition("=")[0] for word in words if word.startswith("--")}
        command = command_at(words)
        assert command is not None, line
        known = {
            name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)
        }
        assert options <= known | {"--help"}, line


def test_every_command_is_on_the_page_of_commands():
    page = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    rows = [re.findall("`([^`]+)`", line) for line in page.splitlines() if line.startswith("| `askback ")]
    first = [row[0].split()[1:] for row in rows]
    named = {
        (words[0], name) for words, row in zip(first, rows, strict=True) for name in (words[-1], *row[1:])
    }
    named |= {(words[0],) for words in first}
    known = {tuple(words.split()) for words in COMMANDS}
    for group in ("study", "log", "data", "users"):
        known |= {(group, name) for name in command_at([group]).commands}
    assert sorted(known - named - {("score", "run")}) == []


@pytest.mark.each("page", PAGES, ids=lambda page: page.name)
def test_examples_of_yaml_can_be_read(page):
    for indent, example in YAML.findall(page.read_text(encoding="utf-8")):
        yaml.safe_load("\n".join(line.removeprefix(indent) for line in example.split("\n")))


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as code hosts make them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def command_at(words: list[str]):
    """The command that a line begins with, or the group if it names no more; None if there is none."""
    if words[0].startswith("--"):
        return typer.main.get_command(app.cli)
    for count in (2, 1):
        if (name := " ".join(words[:count])) in COMMANDS:
            place = COMMANDS[name].place
            return _command(resolve_name(place) if isinstance(place, str) else place())
    group = app.GROUPS.get(words[0])
    if group is None:
        return None
    if words[0] in PLACES:
        group = resolve_name(PLACES[words[0]])
    commands = dict(subcommands(group))
    if len(words) == 1 or words[1].startswith("--"):
        return typer.main.get_group(group)
    return commands.get(words[1]) or (commands.get("run") if words[0] == "score" else None)


PLACES = {
    "study": "simulator.studies.command:study_app",
    "data": "simulator.commands.files:data_app",
    "log": "logs.cli:log_app",
    "users": "ui.accounts:users_app",
}


def subcommands(group: typer.Typer) -> Iterator[tuple[str, object]]:
    yield from typer.main.get_group(group).commands.items()


@pytest.mark.parametrize("name", [*catalog.names(), "study"])
def test_the_docs_show_the_state_machine_as_it_is(name: str) -> None:
    page = ROOT / "docs" / f"{'studies' if name == 'study' else name}.md"
    drawn = f"```mermaid\n{draw(name).strip()}\n```"
    assert drawn in page.read_text(encoding="utf-8"), f"askback graph {name} draws another one"
