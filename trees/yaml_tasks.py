"""Reader of Askback's own task files: YAML, one task per document.

::

    id: gather-resources-1
    type: 1
    language: en
    role: beekeeper
    task: bringing in the heather honey
    items: [a smoker, a straw hive]     # items, skills, scenes: lists, may be left out
    opening: What the provider says first, full of uncertainty.
    prompt: null                        # the seeker's whole prompt; normally left out, a template renders it
    nodes:
      - index: "1"
        text: What resolves one uncertainty.
        explanation: What it settles and when it may be used.

Every fault is reported with the line it stands in. Scalars are taken as written, so an index need not be
quoted (``1.10`` stays ``1.10``). Texts may be folded over several lines.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, StringConstraints, ValidationError

from trees import bounded
from trees.faults import Fault
from trees.model import Background, Draft, Node, Scan
from trees.text import tidy

SUFFIXES = (".yaml", ".yml")
_NULL = "tag:yaml.org,2002:null"
# ``nodes.0.text``; nothing below is valid.
_DEEPEST = 2
# libyaml is ten times as fast; PyYAML is built without it on some platforms and reads the same.
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


def scan_yaml(path: str | Path) -> Scan:
    """Read what can be read of a file, and say what cannot."""
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        return Scan(faults=(Fault(str(path), "", 0, "format", str(error)),))
    return scan_yaml_text(text, str(path))


def scan_yaml_text(text: str, source: str = "") -> Scan:
    """Read a text that `source` names, like `scan_yaml`."""
    try:
        bounded.check_text(text)
        documents = list(yaml.compose_all(text, Loader=_Loader))
    except yaml.MarkedYAMLError as error:
        return Scan(faults=(_syntax_fault(source, error),))
    except yaml.YAMLError as error:
        return Scan(faults=(Fault(source, "", 0, "format", f"not YAML: {error}"),))
    except RecursionError:
        return Scan(faults=(Fault(source, "", 0, "format", "is nested beyond all reason"),))
    drafts: list[Draft] = []
    faults: list[Fault] = []
    for document in documents:
        read = _document(document, source)
        if isinstance(read, Draft):
            drafts.append(read)
        else:
            faults.extend(read)
    if not documents:
        faults.append(Fault(source, "", 1, "format", "holds no task"))
    return Scan(tuple(drafts), tuple(faults))


def _document(document: yaml.Node, source: str) -> Draft | list[Fault]:
    lines: dict[str, int] = {}
    twice: list[tuple[int, str]] = []
    value = bounded.read_placed(document, _scalar, lines, twice, deepest=_DEEPEST)
    faults = [Fault(source, "", line, "format", f"key {key!r} stands twice") for line, key in twice]
    name = str(value.get("id") or "") if isinstance(value, Mapping) else ""
    try:
        model = _TaskModel.model_validate(value)
    except ValidationError as error:
        faults.extend(_model_faults(error, lines, source, name))
        return sorted(faults, key=lambda fault: fault.line)
    return faults or _draft(model, lines, source)


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
    """Return a scalar as it is written."""
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
