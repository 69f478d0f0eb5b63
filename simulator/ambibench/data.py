"""Loading of AmbiBench's items: generated from a seed, registered, or read from files."""

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
"""Option of drawing items -> the settings that it applies to."""
# The same for the filters of `generate_items`.
_FILTERS: Final[Mapping[str, tuple[Setting, ...]]] = {
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
    """Options for drawing built-in items, with the defaults of the spec."""

    per_cell: Limit = Field(
        default=None,
        description=f"items per feature and format ({PER_CELL}; verbalise {PER_TASK}) "
        f"or name (aws: {PER_NAME})",
    )
    design: Design = Field(default="stratified", description="features balanced, or drawn by coin flips")
    location_word: LocationWord = Field(
        default="setting", description="word in informative instructions: as sent, or as printed in App. G.2"
    )
    question: Question = Field(default="best_guess", description="verbalise: the question asked")
    spelling: Spelling = Field(default="as_printed", description="verbalise: keep the paper's misspelling?")


class Draw(Drawing):
    """All options for drawing built-in items."""

    length: int = Field(default=LENGTH, ge=1, description="examples per episode (multiple, wug)")
    control: Control = Field(
        default="paper", description="constant feature of the control: the other (paper) or the salient one"
    )
    second_name: bool = Field(default=False, description="aws: add an example with a name of the same origin")
    seed: int = Field(default=0, description="seed of all random choices")

    @property
    def usual(self) -> bool:
        """True if only the seed differs from the defaults."""
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
    """Return the items to play, in the order of drawing or of their files.

    `data`: ``builtin`` (drawn from a seed), the name of registered data, or a file or folder of items.
    `setting`: the setting to load; None for all settings in a file. `fold`: the held-out pair (settings
    ft_train, ft_eval); all three if None. `variant`: the variant of finetuning data; both if None. `draw`:
    how built-in items are drawn; defaults if None. For other data only the seed may differ.

    Raises:
        InputError: if the data do not exist or are faulty, an option is wrong, or no item is left.
    """
    draw = draw or Draw()
    if data == BUILTIN:
        if setting is None:
            raise InputError(f"data {BUILTIN!r}: choose a setting: {', '.join(SETTINGS)}")
        return generate_items(setting, fold=fold, variant=variant, draw=draw)
    if not draw.usual:
        raise InputError(f"data {str(data)!r} are not drawn: drawing options are for {BUILTIN!r} data")
    items = _read(data, duplicates)
    of_setting = (item for item in items if setting in (None, item.setting))
    chosen = tuple(item for item in of_setting if _matches(item, fold, variant))
    if not chosen:
        by_setting = Counter(item.setting for item in items)
        counts = ", ".join(f"{name} {count}" for name, count in by_setting.items())
        raise InputError(f"data {str(data)!r} contain no such items; items by setting: {counts}")
    return chosen


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

    By default they have uninformative instructions (in the setting wug those of that name), both formats, all
    three held-out pairs (`fold`: ft_train, ft_eval) and both variants (ft_train).

    Raises:
        InputError: if an option does not fit the setting.
    """
    for name, level in (("kind", kind), ("format", format), ("fold", fold), ("variant", variant)):
        if level is not None and setting not in _FILTERS[name]:
            raise InputError(f"{name} {level!r}: the setting {setting} has no such option")
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
    return filter_format(_draw(setting, kind or kinds[0], folds, variants, draw), format)


def _draw(
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
            return generate_verbalise(seed, per_cell=per_cell, question=draw.question, spelling=draw.spelling)
        case "aws":
            return generate_aws(seed, followup=draw.second_name, per_name=per_cell)


def filter_format(items: Iterable[Item], format: str | None) -> tuple[Item, ...]:
    """Return the items in a format; all items if it is None. Items of the setting aws are always kept."""
    return tuple(item for item in items if isinstance(item, AwsPrompt) or format in (None, item.format))


def item_files(path: Path) -> tuple[Path, ...]:
    """Return the files of items below a folder, sorted; or the file itself, if it is one."""
    return tuple(file for file in files_below(path) if looks_like_items(file))


def duplicates_of(data: str | Path) -> tuple[Fault, ...]:
    """Return the faults of repeated items without an id; none for built-in data."""
    if data == BUILTIN:
        return ()
    path, _ = datasets.locate(data, BENCHMARK, BUILTIN)
    return tuple(fault for file in _files(path) for fault in read_file(file)[1] if fault.code == CODE)


def _matches(item: Item, fold: Pair | None, variant: Variant | None) -> bool:
    """Return True if an item belongs to a fold and variant; an item without a fold is judged by its pair."""
    if isinstance(item, AwsPrompt):
        return fold is None and variant is None
    in_fold = item.fold == fold if item.fold else (item.pair == fold) == (item.setting == "ft_eval")
    return (fold is None or in_fold) and (variant is None or item.variant in (None, variant))


def _read(data: str | Path, duplicates: Duplicates) -> tuple[Item, ...]:
    path, fixed = datasets.locate(data, BENCHMARK, BUILTIN)
    return _read_registered(path, duplicates) if fixed else _read_path(path, duplicates)


@lru_cache(maxsize=4)
def _read_registered(folder: Path, duplicates: Duplicates) -> tuple[Item, ...]:
    """Return the items of a registered folder, cached: it is named by its content and never changes."""
    return _read_path(folder, duplicates)


def _read_path(path: Path, duplicates: Duplicates) -> tuple[Item, ...]:
    places: dict[str, Path] = {}
    items: list[Item] = []
    for file in _files(path):
        pieces, warnings = read_file(file, duplicates)
        faults = [fault for fault in warnings if fault.code != CODE]
        if faults:
            raise InputError(first_and_more(faults))
        for item, _ in pieces:
            if places.setdefault(item.id, file) != file:
                raise InputError(f"item {item.id} is both in {places[item.id]} and in {file}")
            items.append(item)
    return tuple(items)


def _files(path: Path) -> tuple[Path, ...]:
    files = (path,) if path.is_file() else item_files(path)
    if not files:
        raise InputError(f"{path}: contains no file of AmbiBench items")
    return files
