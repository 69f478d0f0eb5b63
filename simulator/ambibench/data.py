"""AmbiBench's items: generated from a seed, registered data, or files of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, get_args

from simulator import datasets
from simulator.ambibench.aws import AwsPrompt
from simulator.ambibench.features import (
    FEATURES,
    FORMATS,
    KINDS,
    PAIR_NAMES,
    SETTINGS,
    Feature,
    Format,
    Kind,
    Pair,
    Setting,
    Variant,
)
from simulator.ambibench.files import looks_like_items, read_items
from simulator.ambibench.generation import (
    LENGTH,
    MAX_PER_NAME,
    PER_CELL,
    PER_NAME,
    PER_TASK,
    Control,
    Design,
    Question,
    Spelling,
    generate_aws,
    generate_evaluation,
    generate_finetune,
    generate_instruction,
    generate_multiple,
    generate_verbalise,
)
from simulator.ambibench.instructions import LocationWord
from simulator.ambibench.prompt import Prompt
from simulator.ambibench.rows import BENCHMARK, item_from_row, item_row
from simulator.ambibench.trials import Item
from simulator.duplicates import CODE, Duplicates
from simulator.errors import InputError
from simulator.tables.spec import files_below
from trees.faults import Fault, first_and_more

__all__ = [
    "BENCHMARK",
    "BUILTIN",
    "Draw",
    "duplicates_of",
    "generate_items",
    "item_files",
    "item_from_row",
    "item_row",
    "load_items",
    "setting_of",
]

BUILTIN: Final = "builtin"


@dataclass(frozen=True, kw_only=True)
class Draw:
    """How built-in items are drawn; every option has the default of the spec.

    Attributes:
        seed: everything descends from it.
        per_cell: prompts per salient feature and format (60; ``verbalise`` 10), for ``aws`` per name (5);
            finetuning sets have a size of their own. None for the default.
        design: stratified by salient feature, or free coins (settings instruction, multiple, wug).
        length: examples per episode (settings multiple, wug).
        location_word: of informative instructions.
        control: what is constant in the control of finetuning.
        question: what ``verbalise`` asks.
        spelling: of that question.
        followup: whether ``aws`` has a second name of the origin.
    """

    seed: int = 0
    per_cell: int | None = None
    design: Design = "stratified"
    length: int = LENGTH
    location_word: LocationWord = "setting"
    control: Control = "paper"
    question: Question = "best_guess"
    spelling: Spelling = "as_printed"
    followup: bool = False


def load_items(
    data: str | Path = BUILTIN,
    *,
    setting: Setting | None = "instruction",
    kind: Kind | None = None,
    format: Format | None = None,
    features: Iterable[Feature] | None = None,
    fold: Pair | None = None,
    variant: Variant | None = None,
    draw: Draw | None = None,
    limit: int | None = None,
    duplicates: Duplicates = "refuse",
) -> tuple[Item, ...]:
    """Return the items to play, in the order in which they were drawn or stand in their files.

    Args:
        data: ``builtin`` (drawn from a seed), the name of registered data, or a file or folder of items.
        setting: which; None for whatever a file holds.
        kind: of instruction; None for uninformative of built-in items (``wug`` in the setting of that
            name), and for all of a file.
        format: of the examples; both if None.
        features: salient features wanted; all if None.
        fold: the pair held out (settings ft_train, ft_eval); all three if None.
        variant: of finetuning; both if None.
        draw: how built-in items are drawn; None for the defaults. Of a file's only the seed may be given.
        limit: the first so many only.
        duplicates: what becomes of items without an id that a file holds twice.

    Raises:
        InputError: if the data do not exist or are faulty, an option is wrong, or nothing is left to play.
    """
    wanted = _Wanted(
        setting=setting,
        kind=kind,
        format=format,
        features=None if features is None else tuple(features),
        fold=fold,
        variant=variant,
    )
    wanted.check()
    if limit is not None and limit < 1:
        raise InputError(f"limit {limit}: must be 1 or more")
    draw = draw or Draw()
    if data != BUILTIN:
        if replace(draw, seed=0) != Draw():
            raise InputError(f"data {str(data)!r} are there already: how items are drawn is for {BUILTIN!r}")
        items = _read(data, duplicates)
    elif setting is not None:
        items = generate_items(setting, kind=kind, fold=fold, variant=variant, draw=draw)
    else:
        raise InputError(f"data {BUILTIN!r}: say which setting; known are {', '.join(SETTINGS)}")
    found = [item for item in items if wanted.item(item)]
    if not found:
        held = ", ".join(f"{name} {count}" for name, count in Counter(map(setting_of, items)).items())
        raise InputError(f"data {str(data)!r} hold no item of what was asked for; by setting: {held}")
    return tuple(found[:limit])


def generate_items(
    setting: Setting,
    *,
    kind: Kind | None = None,
    fold: Pair | None = None,
    variant: Variant | None = None,
    draw: Draw,
) -> tuple[Item, ...]:
    """Return all items of a setting, drawn from a seed.

    Args:
        setting: which.
        kind: of instruction, in the settings ``instruction`` and ``multiple``; None for uninformative.
        fold: of the settings ft_train and ft_eval; None for all three.
        variant: of the setting ft_train; None for both.
        draw: the options.

    Raises:
        InputError: if an option does not fit the setting.
    """
    _check_draw(setting, kind, draw)
    per_cell = draw.per_cell or {"verbalise": PER_TASK, "aws": PER_NAME}.get(setting, PER_CELL)
    folds = PAIR_NAMES if fold is None else (fold,)
    variants: tuple[Variant, ...] = get_args(Variant) if variant is None else (variant,)
    match setting:
        case "instruction":
            return generate_instruction(
                draw.seed,
                kind or "uninformative",
                per_cell=per_cell,
                design=draw.design,
                location_word=draw.location_word,
            )
        case "multiple" | "wug":
            return generate_multiple(
                draw.seed,
                "wug" if setting == "wug" else kind or "uninformative",
                per_cell=per_cell,
                length=draw.length,
                design=draw.design,
                location_word=draw.location_word,
            )
        case "ft_train":
            sets = (
                generate_finetune(draw.seed, one, each, control=draw.control)
                for one in folds
                for each in variants
            )
            return tuple(item for some in sets for item in some)
        case "ft_eval":
            return tuple(
                item for one in folds for item in generate_evaluation(draw.seed, one, per_cell=per_cell)
            )
        case "verbalise":
            return generate_verbalise(
                draw.seed, question=draw.question, spelling=draw.spelling, per_cell=per_cell
            )
        case "aws":
            return generate_aws(draw.seed, followup=draw.followup, per_name=per_cell)


def item_files(path: Path) -> tuple[Path, ...]:
    """Return the files of items in a folder and the folders below, sorted; a file itself if it is one."""
    return tuple(file for file in files_below(path) if looks_like_items(file))


def setting_of(item: Item) -> Setting:
    """Return the setting that an item belongs to."""
    return "aws" if isinstance(item, AwsPrompt) else item.setting


# The options of `Draw` that a setting has, besides the seed; and of `load_items`, what it tells apart.
_DRAWS: Final[Mapping[Setting, tuple[str, ...]]] = {
    "instruction": ("per_cell", "design", "location_word"),
    "multiple": ("per_cell", "design", "location_word", "length"),
    "wug": ("per_cell", "design", "length"),
    "ft_train": ("control",),
    "ft_eval": ("per_cell",),
    "verbalise": ("per_cell", "question", "spelling"),
    "aws": ("per_cell", "followup"),
}
_TELLS: Final[Mapping[Setting, tuple[str, ...]]] = {
    "ft_train": ("kind", "format", "features", "fold", "variant"),
    "ft_eval": ("kind", "format", "features", "fold"),
    "aws": (),
}
_KINDS: Final[Mapping[Setting, tuple[Kind, ...]]] = {
    "instruction": ("uninformative", "informative"),
    "multiple": ("uninformative", "informative"),
    "wug": ("wug",),
}


@dataclass(frozen=True, kw_only=True)
class _Wanted:
    """What `load_items` is asked for; None for all."""

    setting: Setting | None
    kind: Kind | None
    format: Format | None
    features: tuple[Feature, ...] | None
    fold: Pair | None
    variant: Variant | None

    def check(self) -> None:
        _check("setting", self.setting, SETTINGS)
        _check("kind", self.kind, KINDS)
        _check("format", self.format, FORMATS)
        _check("fold", self.fold, PAIR_NAMES)
        _check("variant", self.variant, get_args(Variant))
        for feature in self.features or ():
            _check("feature", feature, FEATURES)
        if self.setting is None:
            return
        told = _TELLS.get(self.setting, ("kind", "format", "features"))
        for option in ("kind", "format", "features", "fold", "variant"):
            if getattr(self, option) is not None and option not in told:
                raise InputError(f"{option}: the items of the setting {self.setting} do not differ in that")

    def item(self, item: Item) -> bool:
        """Return True if it is wanted."""
        if self.setting not in (None, setting_of(item)):
            return False
        if isinstance(item, AwsPrompt):
            return all(
                one is None for one in (self.kind, self.format, self.features, self.fold, self.variant)
            )
        return (
            self.kind in (None, item.kind)
            and self.format in (None, item.format)
            and (self.features is None or item.salient in self.features)
            and (self.fold is None or _of_fold(item, self.fold))
            and (self.variant is None or item.variant in (None, self.variant))
        )


def _check_draw(setting: Setting, kind: Kind | None, draw: Draw) -> None:
    if kind is not None:
        _check("kind", kind, _KINDS.get(setting, ("uninformative",)))
    for option in fields(draw):
        value = getattr(draw, option.name)
        if option.name != "seed" and value != option.default and option.name not in _DRAWS[setting]:
            raise InputError(f"{option.name} {value!r}: the setting {setting} has no such option")
    if draw.per_cell is not None and draw.per_cell < 1:
        raise InputError(f"per_cell {draw.per_cell}: must be 1 or more")
    if setting == "aws" and (draw.per_cell or 0) > MAX_PER_NAME:
        raise InputError(f"per_cell {draw.per_cell}: a name has {MAX_PER_NAME} prompts at most")
    if draw.length < 1:
        raise InputError(f"length {draw.length}: must be 1 or more")
    choices = {"design": Design, "location_word": LocationWord, "control": Control}
    for name, known in {**choices, "question": Question, "spelling": Spelling}.items():
        _check(name, getattr(draw, name), get_args(known))


def duplicates_of(data: str | Path) -> tuple[Fault, ...]:
    """Return the items without an id that files hold twice; built-in ones are drawn."""
    if data == BUILTIN:
        return ()
    path, _ = datasets.locate(data, BENCHMARK, BUILTIN)
    files = (path,) if path.is_file() else item_files(path)
    return tuple(fault for file in files for fault in read_items(file)[1] if fault.code == CODE)


def _read(data: str | Path, duplicates: Duplicates) -> tuple[Item, ...]:
    path, fixed = datasets.locate(data, BENCHMARK, BUILTIN)
    return _read_registered(path, duplicates) if fixed else _read_path(path, duplicates)


@lru_cache(maxsize=4)
def _read_registered(folder: Path, duplicates: Duplicates) -> tuple[Item, ...]:
    """Registered folders are named by content and never change, so they are read once."""
    return _read_path(folder, duplicates)


def _read_path(path: Path, duplicates: Duplicates) -> tuple[Item, ...]:
    files = (path,) if path.is_file() else item_files(path)
    if not files:
        raise InputError(f"{path}: holds no file of AmbiBench items")
    found: dict[str, tuple[Item, Path]] = {}
    for file in files:
        items, every = read_items(file, duplicates)
        faults = [fault for fault in every if fault.code != CODE]
        if faults:
            raise InputError(first_and_more(faults))
        for item in items:
            if item.id in found:
                raise InputError(f"item {item.id} stands both in {found[item.id][1]} and in {file}")
            found[item.id] = item, file
    return tuple(item for item, _ in found.values())


def _of_fold(item: Prompt, fold: Pair) -> bool:
    """Return True if an item belongs to a fold; a file need not say, so its pair tells: held out or not."""
    if item.fold is not None:
        return item.fold == fold
    return (item.pair == fold) == (item.setting == "ft_eval")


def _check(what: str, value: Any, known: Collection[Any]) -> None:
    if value is not None and value not in known:
        raise InputError(f"{what} {value!r}: must be one of {', '.join(map(str, known))}")
