"""AmbiBench's runs: one per player and part of the experiment (setting, kind of instruction, fold)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from pydantic import Field
from rich.console import Console

from simulator.ambibench.aws import AwsPrompt
from simulator.ambibench.benchmark import BENCHMARK
from simulator.ambibench.data import (
    BUILTIN,
    DRAWS,
    Draw,
    Drawing,
    duplicates_of,
    filter_format,
    generate_items,
    load_items,
)
from simulator.ambibench.features import BRACKETED, PAIR_NAMES, TEXT_SETTINGS, Kind, Pair, Setting
from simulator.ambibench.players import PLAYERS, Options, seat_for
from simulator.ambibench.prompt import PARTICIPANT, Item
from simulator.errors import InputError
from simulator.jsonlines import DuplicatesOption
from simulator.models import ModelOptions, Needs, load_model
from simulator.orders import (
    Limit,
    RunOrder,
    RunSpec,
    Selection,
    idle_options,
    is_model,
    model_abilities,
    play_order,
    played_pairs,
    read_words,
    typed_word,
)
from simulator.runner.command import RunRequest, RunSettings
from simulator.runner.options import ModelFlags
from simulator.seeds import draw_balanced

PLAYED: Final[tuple[Setting, ...]] = ("instruction", "multiple", "wug", "ft_eval", "verbalise", "aws")
_LABELLED: Final = tuple(setting for setting in PLAYED if setting not in TEXT_SETTINGS)
# Option -> the settings that it applies to.
_APPLIES_TO: Final[Mapping[str, tuple[Setting, ...]]] = {
    **DRAWS,
    "kind": ("instruction", "multiple"),
    "fold": ("ft_eval",),
    "formats": tuple(setting for setting in PLAYED if setting != "aws"),
    **dict.fromkeys(("top", "max_tokens", "score_mode", "tie"), _LABELLED),
}
_SHOWN: Final = {"accuracy": "accuracy", "valid": "valid", "same": "same"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """The part of an order that one run plays; `second`: with a second name of the tested origin (aws)."""

    setting: Setting
    kind: Kind | None = None
    fold: Pair | None = None
    second: bool = False

    @property
    def name(self) -> str:
        """Name of the part in a run's name: ``instruction-informative``, ``aws-second``."""
        words = (self.setting, self.kind, self.fold, "second" if self.second else None)
        return "-".join(word for word in words if word)

    def includes(self, item: Item) -> bool:
        """Return True if an item belongs to this part."""
        if isinstance(item, AwsPrompt):
            return self.setting == "aws" and item.followup == self.second
        # Files may omit the held-out pair, which is that of the prompt.
        fold = item.fold or item.pair
        return item.setting == self.setting and self.kind in (None, item.kind) and self.fold in (None, fold)


class TrialSelection(Drawing, Selection):
    """The items to play, and how built-in ones are drawn."""

    setting: str | None = Field(
        default=None,
        description="instruction, multiple, wug, ft_eval, verbalise, aws (comma-separated), or all; "
        "default: instruction,multiple, or all settings in a file",
    )
    kind: Literal["uninformative", "informative", "both"] | None = Field(
        default=None,
        description="kind of instruction; default: both in setting instruction, uninformative in multiple",
    )
    fold: Pair | None = Field(default=None, description="ft_eval: the held-out pair; default: all three")
    formats: Literal["arrow", "qa", "both"] = Field(default="both", description="format of the examples")
    second_name: bool = Field(default=False, description="aws: add a run with a second name")
    limit: Limit = Field(default=None, description="items per run, balanced over formats and tasks")
    duplicates: DuplicatesOption = "refuse"

    @property
    def named(self) -> bool:
        """True if the settings were named explicitly."""
        return self.setting is not None and "all" not in self.setting

    def parts(self, played: Sequence[Item] | None = None) -> tuple[Part, ...]:
        """Return the parts of the settings; for files or `played` items only those that have items.

        Raises:
            InputError: if there is no such setting, or the data are faulty or have no item of any part.
        """
        drawn = self.data == BUILTIN and played is None
        default = "instruction,multiple" if drawn else "all"
        settings = read_words("--setting", self.setting or default, PLAYED)
        parts = tuple(part for setting in settings for part in self._parts_of(setting))
        if drawn:
            return parts
        items = load_items(self.data, setting=None) if played is None else played
        present = tuple(part for part in parts if any(map(part.includes, items)))
        if not present:
            raise InputError(
                f"data {self.data!r} contain no item of {', '.join(part.name for part in parts)}."
            )
        return present

    def _parts_of(self, setting: Setting) -> list[Part]:
        match setting:
            case "instruction" | "multiple":
                kind = self.kind or ("both" if setting == "instruction" else "uninformative")
                return [Part(setting=setting, kind=each) for each in BRACKETED if kind in ("both", each)]
            case "ft_eval":
                return [Part(setting=setting, fold=fold) for fold in PAIR_NAMES if self.fold in (None, fold)]
            case "aws" if self.second_name:
                return [Part(setting=setting), Part(setting=setting, second=True)]
            case _:
                return [Part(setting=setting)]

    def items(self, part: Part, seed: int = 0, played: Sequence[Item] | None = None) -> tuple[Item, ...]:
        """Return the items of a part, drawn by the options that apply to it.

        `played`: choose from these items instead, which were played before.

        Raises:
            InputError: if there are none, or the data are faulty.
        """
        if played is not None:
            items = tuple(played)
        elif self.data == BUILTIN:
            names = [name for name in Drawing.model_fields if part.setting in DRAWS[name]]
            options: dict[str, Any] = {name: getattr(self, name) for name in names}
            draw = Draw(seed=seed, second_name=part.second, **options)
            items = generate_items(part.setting, kind=part.kind, fold=part.fold, draw=draw)
        else:
            items = load_items(self.data, setting=None, duplicates=self.duplicates)
        format = None if self.formats == "both" else self.formats
        chosen = filter_format(filter(part.includes, items), format)
        if not chosen:
            form = "" if self.formats == "both" else f" in {self.formats}"
            raise InputError(f"data {self.data!r} contain no item of {part.name}{form}.")
        return chosen if self.limit is None else draw_balanced(chosen, self.limit, _group, _strata, seed)


def _group(item: Item) -> str:
    """Return the group over which a limited selection is balanced: the format, or the origin of the name."""
    return item.origin if isinstance(item, AwsPrompt) else str(item.format)


def _strata(item: Item) -> tuple[str, ...]:
    return () if isinstance(item, AwsPrompt) else (str(item.salient), str(item.kind))


def _requests(order: RunOrder[TrialSelection, Options]) -> Iterator[RunRequest]:
    chosen, console = order.selection, order.console
    parts = chosen.parts(order.played)
    refuse_idle(order.typed, chosen.data if order.played is None else "--items-of", parts)
    if repeated := len(duplicates_of(chosen.data)):
        outcome = "played again" if chosen.duplicates == "keep" else "left out (--duplicates keep plays them)"
        count = "1 item is repeated" if repeated == 1 else f"{repeated} items are repeated"
        console.print(f"{chosen.data}: {count} and {outcome}.", highlight=False, soft_wrap=True)
    players = order.players[PARTICIPANT]
    pairs = played_pairs(
        players,
        parts,
        _refusal,
        option="--setting",
        named=chosen.named,
        console=console,
        written=lambda part: part.name,
    )
    require_players(players, order.settings.models)
    for player, part in pairs:
        yield order.request(
            chosen.items(part, order.settings.seed, order.played),
            seats={PARTICIPANT: player},
            name=order.run_name(player, part.name, ((each, other.name) for each, other in pairs)),
            config={"part": part.name},
            needs={player: _needs(player, part, order.rules)},
            label=part.name,
            title=part.name,
            shown=_SHOWN,
        )


def refuse_idle(typed: Collection[str], data: str, parts: Sequence[Part]) -> None:
    """Check that each typed option has an effect in at least one part.

    Raises:
        InputError: with the first option that has none.
    """
    played = tuple(dict.fromkeys(part.setting for part in parts))
    if data != BUILTIN and (drawing := [name for name in Drawing.model_fields if name in typed]):
        raise InputError(
            f"--{typed_word(drawing[0])}: the items of {data!r} are not drawn; it is for {BUILTIN} data."
        )
    for name, settings in idle_options(typed, _APPLIES_TO, played):
        raise InputError(
            f"--{typed_word(name)}: has no effect in {', '.join(played)}; it is for {', '.join(settings)}."
        )
    if "location_word" in typed and not any(part.kind == "informative" for part in parts):
        raise InputError("--location-word: only informative instructions have that word; see --kind.")
    if "second_name" in typed and not any(part.second for part in parts):
        raise InputError(f"--second-name: {data!r} contain no item of aws with a second name.")


def _refusal(player: str, part: Part) -> str:
    if player in PLAYERS and part.setting in TEXT_SETTINGS:
        return f"{player} answers with labels, not in free text"
    return ""


def _needs(player: str, part: Part, rules: Options) -> Needs:
    """Return the capabilities that a part needs: labels are read from token probabilities if possible."""
    if part.setting in TEXT_SETTINGS:
        return Needs()
    return Needs(scoring=True) if player.startswith("completions/") else Needs(top_logprobs=rules.top)


def require_players(names: Sequence[str], models: ModelOptions) -> None:
    """Check that all participants are available, before anything is played.

    Raises:
        InputError: if a name is unknown.
        ModelError: if a model's key or a needed extra is missing; says what to do.
    """
    for name in names:
        if name.startswith("offline/"):
            seat_for(PARTICIPANT, name, lambda model: load_model(model, models))
    # A single model is loaded before its first run anyway.
    for name in names if len(names) > 1 else ():
        if is_model(name) and not name.startswith("offline/"):
            model_abilities(name, models)


RUNS: Final = RunSpec(
    selection=TrialSelection,
    rules=Options,
    requests=_requests,
    flags={"together": "", "max_tokens": ""},
)


def evaluate_fold(
    models: Sequence[str], fold: Pair, seed: int, per_cell: int, log: Path, console: Console
) -> tuple[str, ...]:
    """Play the episodes of a held-out pair, print the results, and return the run names."""
    order = RunOrder(
        benchmark=BENCHMARK,
        players={PARTICIPANT: tuple(models)},
        selection=TrialSelection(setting="ft_eval", fold=fold, per_cell=per_cell),
        rules=Options(),
        settings=RunSettings(log=log, models=ModelFlags().options(log), seed=seed),
        console=console,
    )
    return play_order(RUNS, order)
