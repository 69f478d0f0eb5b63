"""AmbiBench's items: generated from a seed, registered data, or files of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import chain, product
from pathlib import Path
from typing import Any, Final, get_args

from pydantic import Field

from simulator import datasets
from simulator.ambibench.aws import AwsPrompt
from simulator.ambibench.features import (
    BRACKETED,
    PAIR_NAMES,
    SETTINGS,
    Format,
    Kind,
    LocationWord,
    Pair,
    Setting,
    Variant,
)
from simulator.ambibench.files import looks_like_items, read_file
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
from simulator.ambibench.items import BENCHMARK
from simulator.ambibench.prompt import Item
from simulator.errors import InputError
from simulator.fields import Fields
from simulator.jsonlines import CODE, Duplicates
from simulator.orders import Limit
from simulator.tables.spec import files_below
from trees.faults import Fault, first_and_more

BUILTIN: Final = "builtin"
_LABELLED: Final = tuple(setting for setting in SETTINGS if setting != "aws")
_EPISODES: Final[tuple[Setting, ...]] = ("instruction", "multiple", "wug")
DRAWS: Final[Mapping[str, tuple[Setting, ...]]] = {
    "per_cell": tuple(setting for setting in SETTINGS if setting != "ft_train"),
    "design": _EPISODES,
    "location_word": ("instruction", "multiple"),
    "length": ("multiple", "wug"),
    "control": ("ft_train",),
    "question": ("verbalise",),
    "spelling": ("verbalise",),
    "second_name": ("aws",),
}
"""How items are drawn: an option -> the settings that it concerns."""
# The same of what tells the items of a setting apart.
_TELLS: Final[Mapping[str, tuple[Setting, ...]]] = {
    "kind": _LABELLED,
    "format": _LABELLED,
    "fold": ("ft_train", "ft_eval"),
    "variant": ("ft_train",),
}
_KINDS: Final[Mapping[Setting, tuple[Kind, ...]]] = {
    "instruction": BRACKETED,
    "multiple": BRACKETED,
    "wug": ("wug",),
}


class Drawing(Fields):
    """Options of how built-in items are drawn; every one has the default of the spec.

    Attributes:
        per_cell: None for the paper's numbers; finetuning sets have a size of their own.
    """

    per_cell: Limit = Field(
        default=None,
        description=f"per feature and format: {PER_CELL} (verbalise {PER_TASK}); aws: per name, {PER_NAME}",
    )
    design: Design = Field(default="stratified", description="stratified by feature, or free coins")
    location_word: LocationWord = Field(
        default="setting", description="of informative instructions: as sent, or as App. G.2 prints"
    )
    question: Question = Field(default="best_guess", description="verbalise: which question")
    spelling: Spelling = Field(default="as_printed", description="verbalise: with the paper's slip?")


class Draw(Drawing):
    """A way of drawing built-in items."""

    length: int = Field(default=LENGTH, ge=1, description="examples per episode (multiple, wug)")
    control: Control = Field(
        default="paper", description="constant in the control: the other feature, or (reference) the salient"
    )
    second_name: bool = Field(default=False, description="aws: with a second name of the origin")
    seed: int = Field(default=0, description="everything descends from it")

    @property
    def usual(self) -> bool:
        """Return True if nothing but the seed differs from the defaults."""
        return self == Draw(seed=self.seed)


def load_items(
    data: str | Path = BUILTIN,
    *,
    setting: Setting | None = "instruction",
    fold: Pair | None = None,
    variant: Variant | None = None,
    draw: Draw | None = None,
    duplicates: Duplicates = "refuse",
) -> tuple[Item, ...]:
    """Return the items to play, in the order in which they were drawn or stand in their files.

    Args:
        data: ``builtin`` (drawn from a seed), the name of registered data, or a file or folder of items.
        setting: which; None for whatever a file holds.
        fold: the pair held out (settings ft_train, ft_eval); all three if None.
        variant: of finetuning; both if None.
        draw: how built-in items are drawn; None for the defaults. Of a file's only the seed may be given.
        duplicates: what becomes of items without an id that a file holds twice.

    Raises:
        InputError: if the data do not exist or are faulty, an option is wrong, or nothing is left to play.
    """
    draw = draw or Draw()
    if data == BUILTIN:
        if setting is None:
            raise InputError(f"data {BUILTIN!r}: say which setting; known are {', '.join(SETTINGS)}")
        return generate_items(setting, fold=fold, variant=variant, draw=draw)
    if not draw.usual:
        raise InputError(f"data {str(data)!r} are there already: how items are drawn is for {BUILTIN!r}")
    items = _read(data, duplicates)
    held = tuple(item for item in items if setting in (None, item.setting) and _is_part(item, fold, variant))
    if not held:
        by_setting = Counter(item.setting for item in items)
        counts = ", ".join(f"{name} {count}" for name, count in by_setting.items())
        raise InputError(f"data {str(data)!r} hold no item of what was asked for; by setting: {counts}")
    return held


def generate_items(
    setting: Setting,
    *,
    kind: Kind | None = None,
    format: Format | None = None,
    fold: Pair | None = None,
    variant: Variant | None = None,
    draw: Draw,
) -> tuple[Item, ...]:
    """Return all items of a setting, drawn from a seed.

    `kind` is of instruction (None for uninformative, or ``wug`` in the setting of that name), `format` of
    examples (None for both), `fold` of the settings ft_train and ft_eval (None for all three), `variant` of
    ft_train (None for both).

    Raises:
        InputError: if an option does not fit the setting.
    """
    for name, level in (("kind", kind), ("format", format), ("fold", fold), ("variant", variant)):
        if level is not None and setting not in _TELLS[name]:
            raise InputError(f"{name}: the items of the setting {setting} do not differ in that")
    kinds = _KINDS.get(setting, ("uninformative",))
    if kind is not None and kind not in kinds:
        raise InputError(f"kind {kind!r}: must be one of {', '.join(kinds)}")
    for name, field in Draw.model_fields.items():
        value = getattr(draw, name)
        if name != "seed" and value != field.default and setting not in DRAWS[name]:
            raise InputError(f"{name} {value!r}: the setting {setting} has no such option")
    if setting == "aws" and (draw.per_cell or 0) > MAX_PER_NAME:
        raise InputError(f"per_cell {draw.per_cell}: a name has {MAX_PER_NAME} prompts at most")
    folds = PAIR_NAMES if fold is None else (fold,)
    variants: tuple[Variant, ...] = get_args(Variant) if variant is None else (variant,)
    return of_format(_drawn(setting, kind or kinds[0], folds, variants, draw), format)


def _drawn(
    setting: Setting, kind: Kind, folds: Sequence[Pair], variants: Sequence[Variant], draw: Draw
) -> Iterable[Item]:
    seed = draw.seed
    per_cell = draw.per_cell or {"verbalise": PER_TASK, "aws": PER_NAME}.get(setting, PER_CELL)
    shared: dict[str, Any] = {"design": draw.design, "location_word": draw.location_word}
    match setting:
        case "instruction":
            return generate_instruction(seed, kind, per_cell=per_cell, **shared)
        case "multiple" | "wug":
            return generate_multiple(seed, kind, per_cell=per_cell, length=draw.length, **shared)
        case "ft_train":
            sets = (generate_finetune(seed, *part, control=draw.control) for part in product(folds, variants))
            return chain.from_iterable(sets)
        case "ft_eval":
            return chain.from_iterable(generate_evaluation(seed, fold, per_cell=per_cell) for fold in folds)
        case "verbalise":
            asked: dict[str, Any] = {"question": draw.question, "spelling": draw.spelling}
            return generate_verbalise(seed, per_cell=per_cell, **asked)
        case "aws":
            return generate_aws(seed, followup=draw.second_name, per_name=per_cell)


def of_format(items: Iterable[Item], format: str | None) -> tuple[Item, ...]:
    """Return the items whose examples have a format, or (None) either; buckets have none."""
    return tuple(item for item in items if isinstance(item, AwsPrompt) or format in (None, item.format))


def item_files(path: Path) -> tuple[Path, ...]:
    """Return the files of items in a folder and the folders below, sorted; a file itself if it is one."""
    return tuple(file for file in files_below(path) if looks_like_items(file))


def duplicates_of(data: str | Path) -> tuple[Fault, ...]:
    """Return the items without an id that files hold twice; built-in ones are drawn."""
    if data == BUILTIN:
        return ()
    path, _ = datasets.locate(data, BENCHMARK, BUILTIN)
    return tuple(fault for file in _files(path) for fault in read_file(file)[1] if fault.code == CODE)


def _is_part(item: Item, fold: Pair | None, variant: Variant | None) -> bool:
    """Return True if an item is of a fold and variant; where a file says no fold, its pair tells."""
    if isinstance(item, AwsPrompt):
        return fold is None and variant is None
    of_fold = item.fold == fold if item.fold else (item.pair == fold) == (item.setting == "ft_eval")
    return (fold is None or of_fold) and (variant is None or item.variant in (None, variant))


def _read(data: str | Path, duplicates: Duplicates) -> tuple[Item, ...]:
    path, fixed = datasets.locate(data, BENCHMARK, BUILTIN)
    return _read_registered(path, duplicates) if fixed else _read_path(path, duplicates)


@lru_cache(maxsize=4)
def _read_registered(folder: Path, duplicates: Duplicates) -> tuple[Item, ...]:
    """Read a registered folder once: these are named by content and never change."""
    return _read_path(folder, duplicates)


def _read_path(path: Path, duplicates: Duplicates) -> tuple[Item, ...]:
    places: dict[str, Path] = {}
    held: list[Item] = []
    for file in _files(path):
        pieces, warnings = read_file(file, duplicates)
        faults = [fault for fault in warnings if fault.code != CODE]
        if faults:
            raise InputError(first_and_more(faults))
        for item, _ in pieces:
            if places.setdefault(item.id, file) != file:
                raise InputError(f"item {item.id} stands both in {places[item.id]} and in {file}")
            held.append(item)
    return tuple(held)


def _files(path: Path) -> tuple[Path, ...]:
    files = (path,) if path.is_file() else item_files(path)
    if not files:
        raise InputError(f"{path}: holds no file of AmbiBench items")
    return files
