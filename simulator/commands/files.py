"""`askback check` and `askback data`, for the files of every benchmark. Bad input raises `InputError`.

Items and studies have their own checkers; the texts of pages and the prompts of models are checked here.
"""

from __future__ import annotations

import difflib
import inspect
import json
import re
from collections.abc import Callable, Iterator, Sequence, Set
from contextlib import nullcontext, suppress
from dataclasses import asdict
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from rich.box import SIMPLE
from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from simulator import catalog, datasets
from simulator.benchmark import Benchmark, Checker, State
from simulator.errors import InputError
from trees import bounded
from trees.bounded import unknown_key
from trees.checks import SET_RULES, check_builtin
from trees.faults import Fault, Severity
from trees.rules import RULES

data_app = typer.Typer(help="Register, list and remove published data.", no_args_is_help=True)


def check(
    paths: Annotated[
        list[Path] | None, typer.Argument(help="files and folders; default: the built-in tasks")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="print the faults as a JSON list")] = False,
    rules: Annotated[
        bool, typer.Option("--rules", help="print the rules that are checked, and exit")
    ] = False,
    base_url: Annotated[
        list[str] | None,
        typer.Option(help="server or fleet of the models that play with people in studies"),
    ] = None,
) -> None:
    """Report file, line and task of every fault. The exit code is 1 if there is an error."""
    console = Console()
    if rules:
        console.print(_rules_table())
        return
    faults = (*check_files(paths), *absent_models(paths, base_url)) if paths else check_builtin()
    if as_json:
        typer.echo(json.dumps([asdict(fault) for fault in faults], ensure_ascii=False, indent=2))
    else:
        _print_faults(console, faults)
    if any(fault.severity == "error" for fault in faults):
        raise typer.Exit(1)


def check_files(paths: Sequence[Path]) -> tuple[Fault, ...]:
    """Return all faults of the files in `paths` (files and folders), each by the checker of its kind."""
    faults: list[Fault] = []
    unclaimed, checked = set(paths), set[Path]()
    checkers = all_checkers()
    packages = [each.folder.resolve() for each in catalog.installed() if each.folder and not each.machine]
    for checker in checkers:
        files_of = {path: checker.find(path) for path in paths}
        if checker.greedy:  # other files of a package are its own affair
            files_of = {path: _outside(packages, files) for path, files in files_of.items()}
        unclaimed -= {path for path, files in files_of.items() if files}
        files = sorted({file for paths in files_of.values() for file in paths} - checked)
        faults.extend(checker.check(files) if files else ())
        checked.update(files)
    known = "; ".join(checker.kind for checker in checkers)
    for path in unclaimed:
        problem = f"nothing to check here; known are {known}" if path.exists() else "does not exist"
        faults.append(Fault(str(path), "", 0, "format", problem))
    # By line number where there is one; ids would sort 10 before 9.
    return tuple(sorted(faults, key=lambda fault: (fault.file, fault.line, fault)))


def _outside(folders: Sequence[Path], files: Sequence[Path]) -> tuple[Path, ...]:
    return tuple(file for file in files if not any(map(file.resolve().is_relative_to, folders)))


def all_checkers() -> list[Checker]:
    """Return the checkers of all files; the first that claims a file gets it, so greedy ones come last."""
    from simulator.items import stray_checker
    from simulator.models import fleet
    from simulator.studies import known

    installed = catalog.installed()
    own = [make(benchmark) for benchmark in installed for make in (_checker, prompt_checker)]
    stray = stray_checker([benchmark.name for benchmark in installed])
    checkers = [known.checker(), fleet.checker(), WORDS, stray, *filter(None, own)]
    return sorted(checkers, key=lambda checker: checker.greedy)


def _checker(benchmark: Benchmark[Any, Any]) -> Checker | None:
    if benchmark.checker is not None:
        return benchmark.checker()
    if benchmark.item is None:
        return None
    from simulator.items import item_checker  # pydantic takes a while to import

    return item_checker(benchmark)


def _register(benchmark: Benchmark[Any, Any]) -> Callable[[Path, str, bool], datasets.Added] | None:
    if benchmark.register is not None or benchmark.item is None:
        return benchmark.register
    from simulator.items import register_items

    return register_items(benchmark)


def absent_models(paths: Sequence[Path], base_url: Sequence[str] | None = None) -> tuple[Fault, ...]:
    """Return a fault for each model in a study file that is to play with people but does not answer now."""
    # Imported late: only checks of studies with models should wait for these imports.
    from simulator.models import KeyMissing, ModelOptions
    from simulator.models.fleet import place_of
    from simulator.models.load import bare_name
    from simulator.studies.files import STUDY, find_studies, lines_of, scan_study
    from simulator.studies.known import absent_opposite, why_absent

    faults: list[Fault] = []
    for file in dict.fromkeys(file for path in paths for file in find_studies(path)):
        study, _ = scan_study(file)
        if study is None:
            continue
        with suppress(InputError):  # reported with the file's other faults
            missing = absent_opposite(study, ModelOptions(base_url=place_of(base_url)))
            named = {str(who): f"settings.{name}" for name, who in study.settings.items()}
            named |= {who: f"pairing.partner.{seat}" for seat, who in study.pairing.partner.items()}
            lines = lines_of(file) if missing else {}
            for who, error in missing.items():
                # Keys belong to a machine: the file may be right on another one.
                severity: Severity = "warning" if isinstance(error, KeyMissing) else "error"
                line, why = lines.get(named.get(who, ""), 0), f"{bare_name(who)}: {why_absent(who, error)}"
                faults.append(Fault(str(file), study.id, line, "opposite", why, severity, kind=STUDY))
    return tuple(faults)


@data_app.command("add")
def data_add(
    benchmark: Annotated[str, typer.Argument(help="name of the benchmark that the data belong to")],
    path: Annotated[Path, typer.Argument(help="folder or zip in the published format")],
    name: Annotated[str | None, typer.Option(help="name for --data; default: BENCHMARK")] = None,
    partial: Annotated[
        bool,
        typer.Option(
            "--partial",
            help="accept incomplete data, and leave faulty rows out; the benchmark's page in docs/ says "
            "whether completeness is checked",
        ),
    ] = False,
    replace: Annotated[
        bool, typer.Option("--replace", help="replace other data that are registered under this name")
    ] = False,
) -> None:
    """Copy published data into your Askback folder, check them, and register them under a name."""
    known = {
        benchmark.name: register
        for benchmark in catalog.installed()
        if (register := _register(benchmark)) is not None
    }
    if benchmark not in known:
        raise InputError(f"data cannot be added for {benchmark!r}; known are {', '.join(known)}")
    from simulator.tables.registering import print_added

    with nullcontext() if replace else datasets.refuse_replacing():
        added = known[benchmark](path, name or benchmark, partial)
    print_added(added)


@data_app.command("list")
def data_list() -> None:
    """List the data you have registered."""
    console = Console()
    registered = datasets.list_all()
    if not registered:
        console.print("No data are registered; see `askback data add --help`.")
        return
    # Names are typed next, so they are not wrapped; nothing is cut.
    table = Table(Column("name", no_wrap=True), Column("benchmark", no_wrap=True))
    for head, no_wrap in (("contents", False), ("added", True), ("from", False)):
        table.add_column(head, overflow="fold", no_wrap=no_wrap)
    for dataset in registered:
        contents = "\n".join(f"{key}: {value}" for key, value in dataset.details.items())
        cells = (dataset.name, dataset.benchmark, contents, dataset.added_at[:10], dataset.source)
        table.add_row(*(Text(cell) for cell in cells))
    console.print(table)


@data_app.command("remove")
def data_remove(name: Annotated[str, typer.Argument(help="name of the data")]) -> None:
    """Unregister data and delete the copy; the original and the log stay unchanged."""
    dataset = datasets.remove(name)
    typer.echo(f"Removed {dataset.name}.")


def _print_faults(console: Console, faults: Sequence[Fault]) -> None:
    if console.is_terminal:
        for file, group in groupby(faults, key=lambda fault: fault.file):
            console.print(_faults_table(file, tuple(group)))
    else:
        # One line per fault, to be searched or opened in an editor.
        for fault in faults:
            typer.echo(f"{fault.severity}: {fault}")
    errors = sum(fault.severity == "error" for fault in faults)
    typer.echo(f"errors: {errors}, warnings: {len(faults) - errors}" if faults else "No faults.")


def _faults_table(file: str, faults: Sequence[Fault]) -> Table:
    table = Table(title=Text(file), title_justify="left", box=SIMPLE)
    for column in ("line", faults[0].kind, "", "code"):
        table.add_column(column, no_wrap=True)
    table.add_column("message", overflow="fold")
    for fault in faults:
        severity = Text(fault.severity, style="red" if fault.severity == "error" else "yellow")
        line = str(fault.line) if fault.line else ""
        table.add_row(line, Text(fault.task), severity, fault.code, Text(fault.message))
    return table


def _rules_table() -> Table:
    table = Table("code", "severity", "finds")
    table.add_row("format", "error", "A file or task cannot be read.")
    for rule in RULES:
        table.add_row(rule.code, rule.severity, inspect.getdoc(rule.find))
    for set_rule in SET_RULES:
        table.add_row(set_rule.code, set_rule.severity, inspect.getdoc(set_rule.find))
    return table


# ---- texts of pages, prompts of models


_WORDS: Final = ("texts", "desks", "research", "phrases")
_DEFAULT: Final = re.compile("title|summary|seat|metric|rule|choice|field|player|error|data|setting|asking")
"""Prefixes of names whose texts default to the declaration's."""
_MESSAGE: Final = re.compile(r"""\bmessage\(\s*["']([\w.]+)["']\s*[,)]""")
_PAGES: Final = Path(__file__).parents[2] / "ui"


def prompt_checker(benchmark: Benchmark[Any, Any]) -> Checker | None:
    """Return the checker of a declared benchmark's prompts; None if no model can play in it."""
    has_prompts = any(seat.prompt for seat in benchmark.seats)
    if benchmark.machine is not None or benchmark.folder is None or not has_prompts:
        return None
    folder = benchmark.folder.resolve() / "prompts"

    def find(path: Path) -> tuple[Path, ...]:
        files = path.rglob("*.jinja") if path.is_dir() else [path]
        return tuple(sorted(file for file in files if file.resolve().parent == folder))

    return Checker(
        f"prompts of {benchmark.title} (NAME.LANGUAGE.jinja in its folder)",
        find,
        partial(prompt_faults, benchmark),
    )


def _find_words(path: Path) -> tuple[Path, ...]:
    files = {file for language in ("en", "zh") for file in bounded.files_with(language, path)}
    return tuple(sorted(file for file in files if file.stem in _WORDS))


def _check_words(files: Sequence[Path]) -> tuple[Fault, ...]:
    from simulator.tables.builtin import read_words  # pydantic takes a while to import

    faults = []
    for file in files:
        try:
            read_words(file)
        except InputError as error:
            problem = str(error).removeprefix(f"{file}:").strip()
            place, _, rest = problem.partition(": ")
            line, problem = (int(place), rest) if place.isdigit() else (0, problem)
            faults.append(Fault(str(file), "", line, "format", problem))
        else:
            faults += _name_faults(file) if file.stem != "phrases" else ()  # phrases have no names
    return tuple(faults)


def _name_faults(file: Path) -> Iterator[Fault]:
    """Yield faults of text names that neither pages nor the package use, or that one language lacks."""
    from simulator.tables.builtin import LOADER

    leaves, lines = list[str](), dict[str, int]()

    def fault(language: str, name: str, problem: str) -> Fault:
        return Fault(str(file), "", lines[f"{language}.{name}"], "words", problem, "warning")

    node = bounded.compose(file.read_text("utf-8"), LOADER)
    assert node is not None
    bounded.read_placed(node, lambda scalar, place: leaves.append(place), lines, [])
    names = {language: [leaf[3:] for leaf in leaves if leaf[:2] == language] for language in ("en", "zh")}
    yield from _missing_names(file, set(names["en"])) if file.stem == "texts" else ()
    known = _words_of(file.parent) | _words_of(_PAGES)
    for language, lacking in (("en", "zh"), ("zh", "en")):
        other = names[lacking]
        for name in names[language]:
            unused = [part for part in re.split(r"[\W_]+", name) if part not in known]
            optional = lacking == "en" and _DEFAULT.fullmatch(name.split(".")[0])
            if unused:
                words = difflib.get_close_matches(unused[0], sorted(known), n=1)
                similar = [known for known in other if known != name]
                near = difflib.get_close_matches(name, similar, n=1, cutoff=0.8) or words
                hint = f"; did you mean {near[0]!r}?" if near else ""
                yield fault(language, name, f"nothing uses the name {name!r}{hint}")
            elif other and name not in other and not optional:
                yield fault(language, name, f"{name!r} has no text in {lacking}")


def _missing_names(file: Path, names: Set[str]) -> Iterator[Fault]:
    """Yield faults of names in calls of `message` that the texts of a package lack; its pages would fail."""
    for source in sorted(file.parent.rglob("*.py")):
        for number, line in enumerate(source.read_text("utf-8", "replace").splitlines(), start=1):
            for name in _MESSAGE.findall(line):
                if name not in names and name.split(".")[0] not in _WORDS:
                    near = difflib.get_close_matches(name, sorted(names), n=1)
                    hint = f"; did you mean {near[0]!r}?" if near else ""
                    problem = f"{file.name} has no text {name!r} in en{hint}"
                    yield Fault(str(source), "", number, "words", problem)


def _words_of(folder: Path) -> set[str]:
    """Return all words in the code, data and templates of a folder."""
    files = (file for suffix in ("py", "yaml", "jinja") for file in folder.rglob(f"*.{suffix}"))
    texts = {f"{name}.yaml" for name in _WORDS}
    files = (file for file in files if file.name not in texts and file.parent.name != "strings")
    return {word for file in files for word in re.split(r"[\W_]+", file.read_text("utf-8", "replace"))}


_KIND: Final = f"texts of pages ({', '.join(f'{name}.yaml' for name in _WORDS)})"
WORDS: Final = Checker(_KIND, _find_words, _check_words)
"""The checker of the texts of any package's pages, by language."""


def prompt_faults(benchmark: Benchmark[Any, Any], files: Sequence[Path] = ()) -> tuple[Fault, ...]:
    """Return the faults of a declared benchmark's prompts: missing, unreadable, or with unknown variables."""
    from personas import TemplateError  # templates take a while to import
    from personas.templates import describe, languages_of
    from simulator.runner.build import machine_of

    machine_of(benchmark)  # registers the benchmark's folder of prompts
    faults = []
    for seat in benchmark.seats:
        if seat.prompt and not languages_of(f"{benchmark.name}/{seat.prompt}"):
            missing = f"{benchmark.folder}/prompts/{seat.prompt}.en.jinja"
            faults.append(Fault(missing, seat.name, 0, "prompt", "the prompt of this seat is missing"))
        elif files and seat.prompt:
            lacking = _item_languages(benchmark) - {*languages_of(f"{benchmark.name}/{seat.prompt}")}
            message = "there is no prompt in this language, which items have; the other one is used"
            for language in sorted(lacking):
                missing = f"{benchmark.folder}/prompts/{seat.prompt}.{language}.jinja"
                faults.append(Fault(missing, "", 0, "prompt", message, "warning"))
    for file in files:
        name, _, language = file.name.removesuffix(".jinja").rpartition(".")
        try:
            variables = describe(f"{benchmark.name}/{name}", language).variables
        except TemplateError as error:
            faults.append(Fault(str(file), "", 0, "prompt", str(error)))
            continue
        for known in [_variables_of(benchmark, seat.name) for seat in benchmark.seats if seat.prompt == name]:
            for variable in sorted(variables - known) if known else ():
                message = unknown_key(variable, sorted(known), "variable")
                faults.append(Fault(str(file), "", _line(file, variable), "prompt", message, "warning"))
    return tuple(faults)


def _item_languages(benchmark: Benchmark[Any, Any]) -> set[str]:
    """Return the languages of the built-in items; empty if they cannot be loaded."""
    from simulator.runner.declared_machine import language_of

    try:
        return {language_of(item) for item in catalog.load_items(benchmark, "builtin")}
    except InputError:
        return set()


def _variables_of(benchmark: Benchmark[Any, Any], seat: str) -> set[str]:
    """Return the variables of a seat's prompt at the start of an episode; empty if they are unknown."""
    assert benchmark.load is not None and benchmark.rules is not None
    try:
        start = State(item=benchmark.load("builtin")[0], rules=benchmark.rules())
        return {"lines", *benchmark.knows(start, seat)}
    except Exception:  # third-party code, which may rely on moves that have not been made yet
        return set()


def _line(file: Path, word: str) -> int:
    """Return the number of the first line of a file that contains a word; 0 if no line does."""
    lines = enumerate(file.read_text("utf-8").splitlines(), start=1)
    return next((number for number, line in lines if re.search(rf"\b{word}\b", line)), 0)
