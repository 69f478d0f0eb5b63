"""The parts of an experiment that are played as runs of their own: a setting, an instruction kind, a fold."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from simulator.ambibench.aws import AwsPrompt
from simulator.ambibench.data import BUILTIN, Draw, load_items
from simulator.ambibench.features import PAIR_NAMES, Format, Kind, Pair, Setting
from simulator.ambibench.trials import Item
from simulator.duplicates import Duplicates
from simulator.errors import InputError
from simulator.sampling import balanced

Kinds = Literal["uninformative", "informative", "both"]
PLAYED: Final[tuple[Setting, ...]] = ("instruction", "multiple", "wug", "ft_eval", "verbalise", "aws")
WRITTEN: Final[tuple[Setting, ...]] = ("verbalise", "aws")
"""Settings that want free text."""
_LABELLED: Final[tuple[Setting, ...]] = tuple(one for one in PLAYED if one not in WRITTEN)
# How items are drawn: the settings that an option concerns; in others it is left at its default.
_DRAWS: Final[Mapping[str, tuple[Setting, ...]]] = {
    "per_cell": PLAYED,
    "design": ("instruction", "multiple", "wug"),
    "location_word": ("instruction", "multiple"),
    "question": ("verbalise",),
    "spelling": ("verbalise",),
}
# The same of options that say what is played of a setting, and how answers are asked for and read.
_CONCERNS: Final[Mapping[str, tuple[Setting, ...]]] = {
    **_DRAWS,
    "kind": ("instruction", "multiple"),
    "fold": ("ft_eval",),
    "second_name": ("aws",),
    "formats": tuple(one for one in PLAYED if one != "aws"),
    "top": _LABELLED,
    "max_tokens": _LABELLED,
    "score_mode": _LABELLED,
    "tie": _LABELLED,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """What one run plays.

    Attributes:
        kind: of instruction, in the settings that have several.
        fold: the pair that is held out (ft_eval).
        second: with a second name of the tested origin (aws).
    """

    setting: Setting
    kind: Kind | None = None
    fold: Pair | None = None
    second: bool = False

    @property
    def name(self) -> str:
        """Stands in the run's name: ``instruction-informative``, ``aws-second``."""
        words = (self.setting, self.kind, self.fold, "second" if self.second else None)
        return "-".join(word for word in words if word)


def read_settings(text: str) -> tuple[Setting, ...]:
    """``instruction,multiple`` or ``all`` as settings, each once, in the order of the paper.

    Raises:
        InputError: if it names one that there is not.
    """
    wanted = [word.strip() for word in text.split(",")]
    for word in wanted:
        if word not in (*PLAYED, "all"):
            raise InputError(f"--setting {word!r}: known are {', '.join(PLAYED)} and all.")
    return tuple(one for one in PLAYED if one in wanted or "all" in wanted)


def parts(
    settings: Sequence[Setting], *, kind: Kinds | None = None, fold: Pair | None = None, second: bool = False
) -> tuple[Part, ...]:
    """The parts of some settings.

    Args:
        settings: the settings.
        kind: of instruction; None as in the paper: both in 4.2, the uninformative one in 4.3.
        fold: of ft_eval; None for all three.
        second: play ``aws`` with a second name, too.
    """
    both: tuple[Kind, ...] = ("uninformative", "informative")
    found: list[Part] = []
    for setting in settings:
        if setting == "instruction":
            found += [Part(setting=setting, kind=one) for one in both if kind in (None, "both", one)]
        elif setting == "multiple":
            wanted = kind or "uninformative"
            found += [Part(setting=setting, kind=one) for one in both if wanted in ("both", one)]
        elif setting == "ft_eval":
            found += [Part(setting=setting, fold=one) for one in PAIR_NAMES if fold in (None, one)]
        elif setting == "aws":
            found += [Part(setting=setting, second=one) for one in ((False, True) if second else (False,))]
        else:
            found.append(Part(setting=setting))
    return tuple(found)


def held_parts(data: str, wanted: Sequence[Part]) -> tuple[Part, ...]:
    """Those of `wanted` that files hold items of; built-in items there are of all.

    Raises:
        InputError: if the data are faulty, or hold none of them.
    """
    if data == BUILTIN:
        return tuple(wanted)
    items = load_items(data, setting=None)
    found = tuple(part for part in wanted if any(_belongs(item, part) for item in items))
    if not found:
        raise InputError(f"data {data!r} hold no item of {', '.join(part.name for part in wanted)}.")
    return found


def refuse_idle(given: Iterable[str], data: str, wanted: Sequence[Part]) -> None:
    """See that each option that was given changes something in at least one part.

    Args:
        given: names of the command's options, as its parameters have them.
        data: where the items come from.
        wanted: the parts.

    Raises:
        InputError: for the first that does not; names it as it is typed.
    """
    played = tuple(dict.fromkeys(part.setting for part in wanted))
    for name in given:
        option = f"--{name.replace('_', '-')}"
        concerned = _CONCERNS.get(name, PLAYED)
        if name in _DRAWS and data != BUILTIN:
            raise InputError(f"{option}: the items of {data!r} are there already; it is for {BUILTIN} data.")
        if not set(played) & set(concerned):
            raise InputError(
                f"{option}: nothing changes with it in {', '.join(played)}; it is for {', '.join(concerned)}."
            )
        if name == "location_word" and not any(part.kind == "informative" for part in wanted):
            raise InputError(f"{option}: only informative instructions have that word; see --kind.")
        if name == "second_name" and not any(part.second for part in wanted):
            raise InputError(f"{option}: {data!r} hold no bucket with a second name.")


def part_items(
    data: str,
    part: Part,
    draw: Draw,
    *,
    form: Format | None = None,
    limit: int | None = None,
    duplicates: Duplicates = "refuse",
) -> tuple[Item, ...]:
    """The items of a part.

    Args:
        data: ``builtin``, the name of registered data, or a path.
        part: what is played.
        draw: how built-in items are drawn; what does not concern the part is passed over.
        form: the format wanted; both if None. Buckets have none.
        limit: so many at most, as many of each format and task.
        duplicates: what becomes of items without an id that a file holds twice.

    Raises:
        InputError: if there are none, or the data are faulty.
    """
    if data == BUILTIN:
        draw = _concerning(part, draw)
        items = load_items(data, setting=part.setting, kind=part.kind, fold=part.fold, draw=draw)
    else:
        items = load_items(data, setting=None, draw=draw, duplicates=duplicates)
    found = tuple(item for item in items if _belongs(item, part) and _has_format(item, form))
    if not found:
        raise InputError(f"data {data!r} hold no item of {part.name}{f' in {form}' if form else ''}.")
    return found if limit is None else balanced(found, limit, _group, _strata, draw.seed)


def _belongs(item: Item, part: Part) -> bool:
    if isinstance(item, AwsPrompt):
        return part.setting == "aws" and item.followup == part.second
    # A file need not say which pair was held out: it is the one that is asked about.
    fold = item.fold or item.pair
    return item.setting == part.setting and part.kind in (None, item.kind) and part.fold in (None, fold)


def _has_format(item: Item, form: Format | None) -> bool:
    return isinstance(item, AwsPrompt) or form in (None, item.format)


def _concerning(part: Part, draw: Draw) -> Draw:
    """`draw` with the options that a part does not have at their defaults."""
    given = {name: getattr(draw, name) for name, settings in _DRAWS.items() if part.setting in settings}
    return replace(Draw(seed=draw.seed, followup=part.second), **given)


def _group(item: Item) -> str:
    """Of what a part of the items has equally many: the format; of buckets the names' origin."""
    return item.origin if isinstance(item, AwsPrompt) else str(item.format)


def _strata(item: Item) -> tuple[str, ...]:
    return () if isinstance(item, AwsPrompt) else (str(item.salient), str(item.kind))
