"""Prompt templates: Jinja files, one per role and language, versioned by content.

A template ``<benchmark>/<name>`` lives in ``personas/<benchmark>/<name>.<language>.jinja``; those of a
benchmark that is another package's in that package's folder ``prompts`` (`add_folder`). A file of the same
name in the user's folder (environment variable ``ASKBACK_PERSONAS``) takes its place; what a template
includes can be overridden one by one in the same way.

A template is read once per process, so that the prompts of a run cannot change half-way; `forget` makes
the next `render` read the files again. The version goes into the log with every prompt: the first twelve
hex digits of the SHA-256 over the template and everything it includes.

What somebody in a dialogue has said is put into a prompt with the filter ``quoted``, between marks such as
``<<<`` and ``>>>``: it then stands on one line and cannot close the mark or pass for another's line.
"""

from __future__ import annotations

import difflib
import hashlib
import os
import re
import traceback
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from jinja2 import (
    ChoiceLoader,
    FileSystemLoader,
    PrefixLoader,
    StrictUndefined,
    Template,
    TemplateNotFound,
    TemplateSyntaxError,
    UndefinedError,
    meta,
)
from jinja2.exceptions import SecurityError
from jinja2.runtime import LoopContext
from jinja2.sandbox import ImmutableSandboxedEnvironment

from personas import TemplateError as TemplateError

FOLDER = Path(__file__).parent
OVERRIDE_VARIABLE = "ASKBACK_PERSONAS"
SUFFIX = ".jinja"
_ADDED: dict[str, Path] = {}
_MARK = re.compile(r"([<>])\1+")


@dataclass(frozen=True, slots=True)
class Rendered:
    """A prompt.

    Attributes:
        text: the prompt, blanks and line ends around it stripped.
        version: content hash of the template (12 hex digits).
    """

    text: str
    version: str


@dataclass(frozen=True, slots=True)
class TemplateInfo:
    """The description of a template that is not rendered.

    Attributes:
        name: ``<benchmark>/<name>``.
        language: ``en`` or ``zh``.
        variables: the names it takes from its caller.
        version: as in `Rendered`.
        path: the file in use.
    """

    name: str
    language: str
    variables: frozenset[str]
    version: str
    path: Path


@dataclass(frozen=True, slots=True)
class _Loaded:
    template: Template
    info: TemplateInfo


def add_folder(benchmark: str, folder: Path) -> None:
    """Make the templates ``<name>.<language>.jinja`` of a folder those of `benchmark`."""
    if _ADDED.get(benchmark) != folder:
        _ADDED[benchmark] = folder
        forget()


def render(name: str, language: str, variables: Mapping[str, Any]) -> Rendered:
    """Fill in the template `name` in `language`.

    Args:
        name: ``<benchmark>/<name>``, without language and suffix.
        language: ``en`` or ``zh``.
        variables: values by name; names the template does not use are ignored.

    Raises:
        TemplateError: if there is no such template, it is malformed, or a variable is missing.
    """
    loaded = _load(_override(), name, language)
    try:
        text = loaded.template.render(variables)
    except (UndefinedError, SecurityError, TypeError) as error:
        raise TemplateError(_render_message(loaded.info, variables, error)) from error
    return Rendered(text.strip(), loaded.info.version)


def describe(name: str, language: str) -> TemplateInfo:
    """Return the variables, version and file of a template.

    Raises:
        TemplateError: if there is no such template or it is malformed.
    """
    return _load(_override(), name, language).info


def languages_of(name: str) -> tuple[str, ...]:
    """Return the languages in which there is a template called `name`."""
    benchmark = name.partition("/")[0]
    return tuple(language for known, language in _names(_override(), benchmark) if known == name)


def versions_digest(benchmark: str) -> str:
    """Return one hash (12 hex digits) over the versions of a benchmark's templates, overrides included.

    Raises:
        TemplateError: if one of them is malformed.
    """
    override = _override()
    infos = [_load(override, name, language).info for name, language in _names(override, benchmark)]
    lines = (f"{info.name}.{info.language} {info.version}" for info in infos)
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:12]


def sources_of(benchmark: str, versions: Collection[str]) -> dict[str, str]:
    """Return the text of each template of a benchmark in one of these versions, and of what it includes.

    Raises:
        TemplateError: if one of them is malformed.
    """
    override = _override()
    environment = _environment(override)
    texts: dict[str, str] = {}
    for name, language in _names(override, benchmark):
        if _load(override, name, language).info.version in versions:
            texts |= _sources(environment, f"{name}.{language}{SUFFIX}")
    return texts


@lru_cache(maxsize=4096)  # a prompt's examples are the same every time
def quoted(text: str) -> str:
    """Return `text` on one line and without any run of ``<`` or ``>``, to stand between marks in a prompt."""
    return _MARK.sub(r"\1", " ".join(text.split()))


def forget() -> None:
    """Read every template anew when it is next needed."""
    _load.cache_clear()
    _environment.cache_clear()


def _override() -> str | None:
    return os.environ.get(OVERRIDE_VARIABLE) or None


class _Environment(ImmutableSandboxedEnvironment):
    """The sandbox, which need not look closely at data: fields of a dataclass, entries of a dict, a loop."""

    def getattr(self, obj: Any, attribute: str) -> Any:
        kind = type(obj)
        if kind is dict and attribute in obj and not hasattr(dict, attribute):
            return obj[attribute]
        if not attribute.startswith("_") and (
            attribute in getattr(kind, "__dataclass_fields__", ()) or kind is LoopContext
        ):
            return getattr(obj, attribute)
        return super().getattr(obj, attribute)


@lru_cache(maxsize=32)
def _environment(override: str | None) -> ImmutableSandboxedEnvironment:
    if override is not None and not Path(override).is_dir():
        raise TemplateError(f"{override}: not a folder; {OVERRIDE_VARIABLE} must be a folder of templates")
    folders = [FOLDER] if override is None else [Path(override), FOLDER]
    added = {benchmark: FileSystemLoader(folder) for benchmark, folder in _ADDED.items()}
    environment = _Environment(
        loader=ChoiceLoader([*(FileSystemLoader(folder) for folder in folders), PrefixLoader(added)]),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,
        auto_reload=False,
    )
    environment.filters["quoted"] = quoted
    return environment


@lru_cache(maxsize=1024)
def _load(override: str | None, name: str, language: str) -> _Loaded:
    environment = _environment(override)
    file = f"{name}.{language}{SUFFIX}"
    try:
        sources = dict(_sources(environment, file))
        template = environment.get_template(file)
        # Every `render` copies them: of a plain dictionary that takes a tenth of the time.
        template.globals = dict(template.globals)
    except TemplateNotFound as error:
        raise TemplateError(_missing_message(override, file, str(error))) from error
    except TemplateSyntaxError as error:
        raise TemplateError(f"{error.filename or error.name}:{error.lineno}: {error.message}") from error
    except UnicodeDecodeError as error:
        raise TemplateError(f"{file}: not UTF-8 ({error.reason} at byte {error.start})") from error
    digest = hashlib.sha256("\0".join(sources.values()).encode()).hexdigest()
    info = TemplateInfo(
        name=name,
        language=language,
        variables=_variables(environment, sources),
        version=digest[:12],
        path=Path(template.filename or file),
    )
    return _Loaded(template, info)


def _sources(environment: ImmutableSandboxedEnvironment, file: str) -> Iterator[tuple[str, str]]:
    """Yield the text of `file` and of every template it includes, imports or extends, each once."""
    assert environment.loader is not None
    waiting, seen = [file], set[str]()
    while waiting:
        current = waiting.pop()
        if current in seen:
            continue
        seen.add(current)
        source, filename, _ = environment.loader.get_source(environment, current)
        yield current, source
        referenced_templates = meta.find_referenced_templates(environment.parse(source, current, filename))
        waiting.extend(sorted((name for name in referenced_templates if name is not None), reverse=True))


def _variables(environment: ImmutableSandboxedEnvironment, sources: Mapping[str, str]) -> frozenset[str]:
    variables = set[str]()
    for source in sources.values():
        variables |= meta.find_undeclared_variables(environment.parse(source))
    return frozenset(variables - environment.globals.keys())


def _names(override: str | None, below: str = "") -> list[tuple[str, str]]:
    """Name and language of every template in a folder; partial files (leading underscore) are left out."""
    names = set[tuple[str, str]]()
    roots = [("", folder) for folder in (FOLDER, *((Path(override),) if override else ()))]
    roots += [(f"{benchmark}/", folder) for benchmark, folder in _ADDED.items()]
    for prefix, folder in roots:
        for path in folder.rglob(f"*{SUFFIX}"):
            relative = prefix + path.relative_to(folder).as_posix()
            stem, _, language = relative.removesuffix(SUFFIX).rpartition(".")
            if stem and not path.name.startswith("_") and stem.startswith(f"{below}/" if below else ""):
                names.add((stem, language))
    return sorted(names)


def _missing_message(override: str | None, file: str, missing: str) -> str:
    if missing != file:
        return f"{file}: includes {missing}, which does not exist"
    known = [f"{name}.{language}{SUFFIX}" for name, language in _names(override)]
    near = difflib.get_close_matches(file, known, n=1)
    hint = f"; did you mean {near[0]}?" if near else ""
    folder = _ADDED.get(file.partition("/")[0], FOLDER)
    return f"no prompt template {file} in {override + ' or ' if override else ''}{folder}{hint}"


def _render_message(info: TemplateInfo, variables: Mapping[str, Any], error: Exception) -> str:
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename.endswith(SUFFIX)]
    where = f"{frames[-1].filename}:{frames[-1].lineno}" if frames else str(info.path)
    absent = sorted(info.variables - variables.keys())
    note = f" (given: {', '.join(sorted(variables)) or 'nothing'}; not given: {', '.join(absent)})"
    return f"{where}: template {info.name}: {error}{note if absent else ''}"
