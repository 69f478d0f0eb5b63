"""Finding and reading task files; the format of our own is YAML, one task per document.

::

    id: gather-resources-1
    type: 1
    language: en
    role: beekeeper
    task: bringing in the heather honey
    items: [a smoker, a straw hive]     # items, skills, scenes: optional lists
    opening: The provider's first answer, full of uncertainty.
    prompt: null                        # the seeker's complete prompt; if omitted, a template renders it
    nodes:
      - index: "1"
        text: The response that resolves one uncertainty.
        explanation: What it clarifies and when it may be used.

Every fault is reported with its line. Scalars are read as written, so an index need not be
quoted (``1.10`` stays ``1.10``). Texts may be folded over several lines.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, StringConstraints, ValidationError

from trees import bounded
from trees.faults import Fault
from trees.model import Background, Draft, Language, Node, Scan, Task, index_key, tidy
from trees.published import FILE_NAME, scan_published

SUFFIXES = (".yaml", ".yml")
_NULL = "tag:yaml.org,2002:null"
# The depth of ``nodes.0.text``; nothing deeper is valid.
_MAX_DEPTH = 2
# libyaml is ten times as fast; on platforms where PyYAML lacks it, the result is the same.
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

_Index = Annotated[str, StringConstraints(pattern=r"^\d+(\.\d+)*$")]
_Strings = Annotated[tuple[str, ...], BeforeValidator(lambda value: () if value is None else value)]


class _NodeModel(BaseModel):
    model_config = ConfigDict(extra="forbid")

    index: _Index
    text: str
    explanation: str | None = None


class _TaskModel(BaseModel):
    model_config = ConfigDict(extra="forbid")

    id: Annotated[str, StringConstraints(min_length=1)]
    type: int
    language: Literal["en", "zh"]
    role: str
    task: str
    items: _Strings = ()
    skills: _Strings = ()
    scenes: _Strings = ()
    opening: str
    prompt: str | None = None
    nodes: tuple[_NodeModel, ...]


def is_task_file(path: Path) -> bool:
    """Return True if `path` has the name of a task file: YAML, or a published file's name."""
    return path.suffix.lower() in SUFFIXES or FILE_NAME.fullmatch(path.name) is not None


def find_task_files(path: str | Path) -> tuple[Path, ...]:
    """Return the task files below a folder, sorted and without hidden ones.

    If `path` is a file, it is returned itself, whatever its name.
    """
    path = Path(path)
    if not path.is_dir():
        return (path,)
    files = (file for file in path.rglob("*") if file.is_file() and is_task_file(file))
    return tuple(sorted(file for file in files if not _is_hidden(file.relative_to(path))))


def scan_file(path: str | Path) -> Scan:
    """Read the tasks of one file, collecting faults instead of raising them."""
    path = Path(path)
    if not path.is_file():
        return Scan(faults=(Fault(str(path), "", 0, "format", "no such file" + _suggest_similar(path)),))
    if path.suffix.lower() in SUFFIXES:
        return scan_yaml(path)
    if path.suffix.lower() == ".json":
        return scan_published(path)
    message = f"a task file ends in {', '.join(SUFFIXES)} or .json"
    return Scan(faults=(Fault(str(path), "", 0, "format", message),))


def scan(paths: Iterable[str | Path]) -> Scan:
    """Read all task files in `paths` (files and folders)."""
    scans = []
    for path in paths:
        files = find_task_files(path)
        if not files:
            scans.append(Scan(faults=(Fault(str(path), "", 0, "format", "contains no task files"),)))
        scans.extend(map(scan_file, files))
    return _merge(scans)


def load_tasks(path: str | Path) -> tuple[Task, ...]:
    """Return all tasks in a file or folder, both languages, sorted by language, type and id.

    Raises:
        TaskError: if a task cannot be read; names file, line and task.
    """
    return tuple(sorted(scan([path]).tasks(), key=lambda task: (task.language, *task_key(task))))


def task_key(task: Task) -> tuple[int, str, tuple[int, ...], str]:
    """Return the sort key: type, then id with its trailing number as a number."""
    stem = task.id.rstrip("0123456789.")
    tail = task.id[len(stem) :].strip(".")
    numbers = index_key(tail) if tail and ".." not in tail else ()
    return task.type, stem, numbers, task.id


def _is_hidden(path: Path) -> bool:
    return any(part.startswith(".") or part == "__MACOSX" for part in path.parts)


def _suggest_similar(path: Path) -> str:
    if not path.parent.is_dir():
        return ""
    near = difflib.get_close_matches(path.name, [entry.name for entry in path.parent.iterdir()], n=1)
    return f"; did you mean {near[0]}?" if near else ""


@cache
def load_builtin(language: Language) -> tuple[Task, ...]:
    """Return the built-in tasks in `language`, sorted by type, then id.

    Raises:
        TaskError: if a task cannot be read.
    """
    return tuple(sorted((draft.task() for draft in scan_builtin(language)), key=task_key))


def scan_builtin(language: Language) -> tuple[Draft, ...]:
    """Return the built-in tasks with the lines of their fields, in file order.

    Raises:
        TaskError: if a file cannot be read.
    """
    folder = resources.files("trees") / "tasks" / language
    files = [entry for entry in folder.iterdir() if entry.name.endswith(SUFFIXES)]
    scan = _merge(
        scan_yaml_text(file.read_text(encoding="utf-8"), f"trees/tasks/{language}/{file.name}")
        for file in sorted(files, key=lambda file: file.name)
    )
    scan.tasks()
    return scan.drafts


def scan_yaml(path: str | Path) -> Scan:
    """Read the tasks of a YAML file, collecting faults instead of raising them."""
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        return Scan(faults=(Fault(str(path), "", 0, "format", str(error)),))
    return scan_yaml_text(text, str(path))


def scan_yaml_text(text: str, source: str = "") -> Scan:
    """Read the tasks of a YAML text like `scan_yaml`; `source` names it in faults."""
    try:
        bounded.check_text(text)
        documents = list(yaml.compose_all(text, Loader=_Loader))
    except yaml.MarkedYAMLError as error:
        return Scan(faults=(_syntax_fault(source, error),))
    except yaml.YAMLError as error:
        return Scan(faults=(Fault(source, "", 0, "format", f"not YAML: {error}"),))
    except RecursionError:
        return Scan(faults=(Fault(source, "", 0, "format", "is nested too deeply"),))
    if not documents:
        return Scan(faults=(Fault(source, "", 1, "format", "contains no task"),))
    return _merge(_scan_document(document, source) for document in documents)


def _merge(scans: Iterable[Scan]) -> Scan:
    parts = list(scans)
    drafts = tuple(draft for part in parts for draft in part.drafts)
    return Scan(drafts, tuple(fault for part in parts for fault in part.faults))


def _scan_document(document: yaml.Node, source: str) -> Scan:
    lines: dict[str, int] = {}
    duplicates: list[tuple[int, str]] = []
    value = bounded.read_placed(document, _scalar, lines, duplicates, max_depth=_MAX_DEPTH)
    faults = [Fault(source, "", line, "format", f"key {key!r} is given twice") for line, key in duplicates]
    name = str(value.get("id") or "") if isinstance(value, Mapping) else ""
    try:
        model = _TaskModel.model_validate(value)
    except ValidationError as error:
        faults.extend(_model_faults(error, lines, source, name))
        return Scan(faults=tuple(sorted(faults, key=lambda fault: fault.line)))
    return Scan(faults=tuple(faults)) if faults else Scan((_draft(model, lines, source),))


def _draft(model: _TaskModel, lines: Mapping[str, int], source: str) -> Draft:
    def clean(text: str) -> str:
        return tidy(text, model.language)

    lists = (tuple(map(clean, entries)) for entries in (model.items, model.skills, model.scenes))
    return Draft(
        id=model.id,
        type=model.type,
        language=model.language,
        background=Background(clean(model.role), clean(model.task), *lists),
        opening=clean(model.opening),
        nodes=tuple(
            Node(node.index, clean(node.text), clean(node.explanation or "") or None) for node in model.nodes
        ),
        prompt=model.prompt,
        source=source,
        kind="yaml",
        line=lines[""],
        lines=lines,
    )


def _scalar(node: yaml.Node, place: str) -> Any:
    """Return the text of a scalar, uninterpreted; None for null."""
    return None if node.tag == _NULL else node.value


def _model_faults(
    error: ValidationError, lines: Mapping[str, int], source: str, name: str
) -> Iterator[Fault]:
    for fault in error.errors():
        parts = [str(part) for part in fault["loc"]]
        line = lines[bounded.known_place(".".join(parts), lines)]
        yield Fault(source, name, line, "format", _message(fault["type"], parts, fault["msg"]))


def _message(kind: str, parts: Sequence[str], message: str) -> str:
    place = ".".join(parts)
    model: type[BaseModel] = _NodeModel if parts[:1] == ["nodes"] else _TaskModel
    if kind == "extra_forbidden":
        return bounded.unknown_key(place, model.model_fields)
    if kind == "model_type":
        return f"{place or 'a task'} must be a mapping with the keys {', '.join(model.model_fields)}"
    if kind == "missing":
        return f"key {place!r} is missing"
    if parts[-1:] == ["index"]:
        return f"{place}: an index is dot-separated whole numbers like 1 or 1.2"
    message = message[:1].lower() + message[1:].replace("tuple", "list")
    return f"{place}: {message}"


def _syntax_fault(source: str, error: yaml.MarkedYAMLError) -> Fault:
    mark = error.problem_mark or error.context_mark
    hint = "; quote texts that contain ': ' or begin with a special character" if mark else ""
    return Fault(source, "", mark.line + 1 if mark else 0, "format", f"not YAML: {error.problem}{hint}")
