"""Prompt templates: Jinja files, one per role and language, versioned by content.

The file of template ``<benchmark>/<name>`` is ``personas/<benchmark>/<name>.<language>.jinja``, or, for a
benchmark of another package, in that package's folder ``prompts`` (`add_folder`). A file of the same
name in the user's folder (environment variable ``ASKBACK_PERSONAS``) overrides it; included
templates can be overridden one by one in the same way.

A template is read once per process, so that the prompts of a run cannot change half-way; `clear_caches` makes
the next `render` read the files again. Every logged prompt carries its template's version: the first twelve
hex digits of the SHA-256 of the template and everything it includes.

Dialogue lines are put into a prompt with the filter ``quoted``, between marks such as
``<<<`` and ``>>>``: a quoted line has no line breaks and cannot close the mark or imitate another speaker.
"""

from __future__ import annotations

import difflib
import hashlib
import os
import re
import traceback
from collections.abc import Collection, Iterator, Mapping, MutableMapping
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
    """A rendered prompt.

    Attributes:
        text: the prompt, without surrounding white space.
        version: content hash of the template (12 hex digits).
    """

    text: str
    version: str


@dataclass(frozen=True, slots=True)
class TemplateInfo:
    """A description of a template.

    Attributes:
        name: ``<benchmark>/<name>``.
        language: ``en`` or ``zh``.
        variables: names of the variables that its caller must provide.
        version: content hash, as in `Rendered`.
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
    """Register a folder of templates ``<name>.<language>.jinja`` for `benchmark`."""
    if _ADDED.get(benchmark) != folder:
        _ADDED[benchmark] = folder
        clear_caches()


def render(name: str, language: str, variables: Mapping[str, Any]) -> Rendered:
    """Fill in the template `name` in `language`.

    Args:
        name: ``<benchmark>/<name>``, without language and suffix.
        language: ``en`` or ``zh``.
        variables: values by name; names the template does not use are ignored.

    Raises:
        TemplateError: if the template does not exist or is malformed, or a variable is missing.
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
        TemplateError: if the template does not exist or is malformed.
    """
    return _load(_override(), name, language).info


def languages_of(name: str) -> tuple[str, ...]:
    """Return the languages in which template `name` exists."""
    benchmark = name.partition("/")[0]
    return tuple(language for other, language in _names(_override(), benchmark) if other == name)


def versions_digest(benchmark: str) -> str:
    """Return a hash (12 hex digits) of the versions of all templates of a benchmark, including overrides.

    Raises:
        TemplateError: if a template is malformed, or there is none that a user's file could override.
    """
    override = _override()
    names, ours = _names(override, benchmark), {name for name, _ in _names(None, benchmark)}
    if unknown := sorted({name for name, _ in names} - ours):
        raise TemplateError(f"{override}: {unknown[0]} overrides no prompt; known: {', '.join(sorted(ours))}")
    infos = [_load(override, name, language).info for name, language in names]
    lines = (f"{info.name}.{info.language} {info.version}" for info in infos)
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:12]


def sources_of(benchmark: str, versions: Collection[str]) -> dict[str, str]:
    """Return, by file name, the texts of a benchmark's templates with one of `versions`, includes too.

    Raises:
        TemplateError: if a template is malformed.
    """
    override = _override()
    environment = _environment(override)
    texts: dict[str, str] = {}
    for name, language in _names(override, benchmark):
        if _load(override, name, language).info.version in versions:
            texts |= _sources(environment, f"{name}.{language}{SUFFIX}")
    return texts


@lru_cache(maxsize=4096)  # the examples in a prompt repeat
def quoted(text: str) -> str:
    """Return `text` on one line and with runs of ``<`` or ``>`` shortened to one, for use between marks."""
    return _MARK.sub(r"\1", " ".join(text.split()))


def clear_caches() -> None:
    """Clear the caches, so that templates are read again."""
    _load.cache_clear()
    _environment.cache_clear()


def _override() -> str | None:
    return os.environ.get(OVERRIDE_VARIABLE) or None


class _Environment(ImmutableSandboxedEnvironment):
    """A sandbox with a fast path for plain data: dataclass fields, dict entries and loop variables."""

    def getattr(self, obj: Any, attribute: str) -> Any:
        kind = type(obj)
        if kind is dict and attribute in obj and not hasattr(dict, attribute):
            return obj[attribute]
        if not attribute.startswith("_") and (
            attribute in getattr(kind, "__dataclass_fields__", ()) or kind is LoopContext
        ):
            return getattr(obj, attribute)
        return super().getattr(obj, attribute)

    def make_globals(self, d: MutableMapping[str, Any] | None) -> MutableMapping[str, Any]:
        # Jinja's chain of dictionaries is ten times as slow to copy, as every `render` does.
        return {**self.globals, **(d or {})}


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
    """Yield name and text of `file` and of every template it includes, imports or extends, each once."""
    assert environment.loader is not None
    waiting, visited = [file], set[str]()
    while waiting:
        current = waiting.pop()
        if current in visited:
            continue
        visited.add(current)
        source, filename, _ = environment.loader.get_source(environment, current)
        yield current, source
        referenced_templates = meta.find_referenced_templates(environment.parse(source, current, filename))
        waiting.extend(sorted((name for name in referenced_templates if name is not None), reverse=True))


def _variables(environment: ImmutableSandboxedEnvironment, sources: Mapping[str, str]) -> frozenset[str]:
    variables = set[str]()
    for source in sources.values():
        variables |= meta.find_undeclared_variables(environment.parse(source))
    return frozenset(variables - environment.globals.keys())


def _names(override: str | None, benchmark: str = "") -> list[tuple[str, str]]:
    """Return name and language of every template, or of a benchmark's, without partials (``_name``)."""
    names = set[tuple[str, str]]()
    roots = [("", folder) for folder in (FOLDER, *((Path(override),) if override else ()))]
    roots += [(f"{owner}/", folder) for owner, folder in _ADDED.items()]
    for prefix, folder in roots:
        for path in folder.rglob(f"*{SUFFIX}"):
            relative = prefix + path.relative_to(folder).as_posix()
            stem, _, language = relative.removesuffix(SUFFIX).rpartition(".")
            own = not benchmark or stem.startswith(f"{benchmark}/")
            if stem and own and not path.name.startswith("_"):
                names.add((stem, language))
    return sorted(names)


def _missing_message(override: str | None, file: str, missing: str) -> str:
    if missing != file:
        return f"{file}: includes {missing}, which does not exist"
    known = [f"{name}.{language}{SUFFIX}" for name, language in _names(override)]
    close = difflib.get_close_matches(file, known, n=1)
    hint = f"; did you mean {close[0]}?" if close else ""
    folder = _ADDED.get(file.partition("/")[0], FOLDER)
    return f"no prompt template {file} in {override + ' or ' if override else ''}{folder}{hint}"


def _render_message(info: TemplateInfo, variables: Mapping[str, Any], error: Exception) -> str:
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename.endswith(SUFFIX)]
    where = f"{frames[-1].filename}:{frames[-1].lineno}" if frames else str(info.path)
    absent = sorted(info.variables - variables.keys())
    note = f" (given: {', '.join(sorted(variables)) or 'nothing'}; not given: {', '.join(absent)})"
    return f"{where}: template {info.name}: {error}{note if absent else ''}"
