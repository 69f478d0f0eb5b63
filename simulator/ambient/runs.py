"""AmbiEnt's runs: each task with each player that can do it, and the items of a task (spec 5 to 10)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import Final, Literal, NamedTuple

from pydantic import Field

from logs.paths import default_path
from simulator.ambient.continuations import STEMS
from simulator.ambient.data import BUILTIN, Split, load_claims, load_examples
from simulator.ambient.distractors import DistractorRule, Relations, read_relations
from simulator.ambient.examples import Example
from simulator.ambient.files.dataset import load_distractors
from simulator.ambient.files.results import CLAIMS
from simulator.ambient.items import (
    TASKS,
    AnnotateItem,
    ClaimItem,
    CrowdItem,
    GenerateItem,
    InstructionText,
    Item,
    NliItem,
    Task,
)
from simulator.ambient.labels import Side
from simulator.ambient.likelihoods import PREFIX
from simulator.ambient.players import TASKS_OF
from simulator.ambient.playing import ANNOTATOR, Options
from simulator.ambient.prepare import (
    SHOTS,
    annotate_items,
    claim_items,
    continue_items,
    crowd_items,
    distractors_of,
    evaluation_items,
    generate_items,
    nli_items,
    results_of,
    true_false_items,
)
from simulator.errors import InputError
from simulator.field_options import logged_values
from simulator.models import Capabilities, Needs
from simulator.orders import (
    Limit,
    RunOrder,
    RunSpec,
    Selection,
    is_model,
    model_abilities,
    names_all,
    played_pairs,
    read_words,
    typed_word,
)
from simulator.runner.command import RunRequest
from simulator.seeds import draw_strata

_read_relations = lru_cache(maxsize=1)(read_relations)  # ConceptNet's is large
_NO_RESULTS: Final = "name the results file or the run to evaluate with --results"
_CROWD: Final = {"plausible": "plausible", "relabel": "label"}


class _TaskRun(NamedTuple):
    """The runs of a task: scores shown as progress, options of its episodes, needs of its model.

    Other options are left out, so that they do not give different names to equal runs.
    """

    shown: Mapping[str, str]
    options: tuple[str, ...] = ()
    needs: Needs = Needs()


_RUNS_OF: Final[Mapping[Task, _TaskRun]] = {
    "crowd": _TaskRun(_CROWD, needs=Needs(schema=True)),
    "evaluate": _TaskRun(_CROWD, needs=Needs(schema=True)),
    "annotate": _TaskRun({"exact": "exact"}, needs=Needs(schema=True)),
    "generate": _TaskRun({"edit_f1": "EDIT-F1"}, ("max_tokens",)),
    "true_false": _TaskRun({"accuracy": "accuracy", "null": "null"}, ("top",), Needs(scoring=True)),
    "continue": _TaskRun({"ranked": "ranked"}, needs=Needs(samples=True, scoring=True)),
    "nli": _TaskRun({"exact": "EM", "group_exact": "group EM"}, needs=Needs(schema=True)),
    "claim": _TaskRun({"flagged": "flagged"}, ("max_tokens", "nli", "top_p"), Needs(samples=True)),
}


class ExampleSelection(Selection):
    """The tasks to run, and how their items are made."""

    task: str = Field(
        default="generate",
        description="generate, true-false, continue, crowd, evaluate, annotate, nli, claim (comma list), "
        "or all that the model can do",
    )
    split: Split | None = Field(
        default=None, description="split of the data; default: test if there is one; builtin has no splits"
    )
    shots: int = Field(default=SHOTS, ge=0, description="generate: worked examples in a prompt")
    instruction: InstructionText = Field(
        default="published",
        description="generate: with the grammatical slip of the published prompts, or without",
    )
    continuations: int = Field(default=100, ge=1, description="continue: samples per sentence")
    stem: Literal["plain", "instructed"] | None = Field(
        default=None, description="continue: text before each sentence; default: by the model's name"
    )
    distractor: DistractorRule = Field(
        default="paper", description="continue: rule that makes the distractor"
    )
    relations: Path | None = Field(
        default=None, description="continue: categories of words (ConceptNet, CSV or TSV)"
    )
    results: tuple[str, ...] = Field(
        default=(), description="evaluate: a results file or a run; may be repeated"
    )
    distractors: Path | None = Field(
        default=None, description="crowd, evaluate: file made by `askback generate ambient-distractors`"
    )
    limit: Limit = Field(default=None, description="number of items per run, stratified by side and labels")

    @property
    def tasks(self) -> tuple[Task, ...]:
        """The distinct tasks, in the order of the specification."""
        return read_words("--task", self.task, TASKS)

    def examples(self) -> tuple[Example, ...]:
        """Return the examples from which items are made."""
        if self.data == BUILTIN:
            return load_examples()
        if self.split is not None:
            return load_examples(self.data, self.split)
        examples = load_examples(self.data)
        return tuple(example for example in examples if example.split == "test") or examples

    def categories(self) -> Relations | None:
        """Return the relations given for distractors, if any."""
        return None if self.relations is None else _read_relations(self.relations)

    def items(self, task: Task, player: str, seed: int = 0, log: Path | None = None) -> tuple[Item, ...]:
        """Return the items of a task for a player.

        `log`: the log with the runs to evaluate; default: the usual one.

        Raises:
            InputError: if there are no items or the data are faulty.
        """
        items = tuple(self._make_items(task, player, seed, log or default_path()))
        if not items:
            raise InputError(f"data {self.data!r} contain no items for the task {task}.")
        return items if self.limit is None else draw_strata(items, self.limit, _strata, seed)

    def _make_items(self, task: Task, player: str, seed: int, log: Path) -> Sequence[Item]:
        match task:
            case "crowd":
                return crowd_items(self.examples(), seed=seed, distractors=self._distractors())
            case "evaluate":
                if not self.results:
                    raise InputError(f"--task evaluate: {_NO_RESULTS}")
                distractors = {**distractors_of(self.examples()), **self._distractors()}
                return evaluation_items(results_of(self.results, log), distractors, seed=seed)
            case "annotate":
                return annotate_items(self.examples())
            case "generate":
                return generate_items(
                    self.examples(), seed=seed, shots=self.shots, instruction=self.instruction
                )
            case "true_false":
                return true_false_items(self.examples())
            case "continue":
                return continue_items(
                    self.examples(),
                    seed=seed,
                    stem=STEMS[self.stem or suited_stem(player)],
                    wanted=self.continuations,
                    distractor=self.distractor,
                    relations=self.categories(),
                )
            case "nli":
                return nli_items(self.examples())
            case "claim":
                return self._claims()

    def _distractors(self) -> Mapping[tuple[str, Side], str]:
        return {} if self.distractors is None else load_distractors(self.distractors, self.examples())

    def _claims(self) -> Sequence[Item]:
        if self.data == BUILTIN:
            return claim_items(load_claims())
        rows, _, faults = CLAIMS.read(Path(self.data))
        if faults:
            raise InputError(str(faults[0]))
        return claim_items(rows)


def suited_stem(player: str) -> str:
    """Return the stem for a player, whose name shows whether it is instruction-tuned."""
    words = player.lower()
    return "instructed" if player.startswith("local/") or "instruct" in words or "chat" in words else "plain"


def _strata(item: Item) -> tuple[str, ...]:
    """Return an item's stratum in samples: its ambiguous side and labels."""
    if isinstance(item, ClaimItem):
        return (item.marks,)
    if isinstance(item, AnnotateItem | NliItem):
        example = item.example
        return (*example.sides, *sorted(example.labels))
    labels = item.gold if isinstance(item, CrowdItem) else ()
    if isinstance(item, GenerateItem):
        labels = item.example.labels
    return (item.side, *sorted(labels))


def _requests(order: RunOrder[ExampleSelection, Options]) -> list[RunRequest]:
    selection, players = order.selection, order.players[ANNOTATOR]
    selection.categories()  # reports a faulty file even if no task uses it
    models = order.settings.models

    @lru_cache
    def capabilities(player: str) -> Capabilities | None:
        asked = is_model(player) and not player.startswith(("offline/", PREFIX))
        return model_abilities(player, models).capabilities if asked else None

    def reason(player: str, task: Task) -> str:
        if task == "evaluate" and not selection.results:
            return _NO_RESULTS
        return refusal(task, player, partial(capabilities, player), order.rules)

    pairs = played_pairs(
        players,
        selection.tasks,
        reason,
        option="--task",
        named=not names_all(selection.task),
        console=order.console,
        written=typed_word,
    )
    # Makes the items of all tasks, so that faulty data are reported before anything is played.
    return [_request(order, *pair, names=pairs) for pair in pairs]


def _request(
    order: RunOrder[ExampleSelection, Options], player: str, task: Task, names: Sequence[tuple[str, Task]]
) -> RunRequest:
    run, rules, name = _RUNS_OF[task], logged_values(order.rules), typed_word(task)
    return order.request(
        order.selection.items(task, player, order.settings.seed, order.settings.log),
        seats={ANNOTATOR: player},
        name=order.run_name(player, name, ((who, typed_word(other)) for who, other in names)),
        options={option: rules[option] for option in run.options},
        config={"split": order.selection.split, "task": task},
        needs={player: run.needs},
        label=name,
        title=name,
        shown=run.shown,
    )


def refusal(task: Task, player: str, capabilities: Callable[[], Capabilities | None], rules: Options) -> str:
    """Return the reason why a player cannot do a task; empty if it can.

    `capabilities`: returns those of a language model; called last, since its weights may be missing.
    """
    if player in TASKS_OF:
        return "" if task in TASKS_OF[player] else f"{player} cannot do this task"
    if player.startswith(PREFIX):
        return "" if task == "nli" else f"{player} predicts label sets, which only the task nli needs"
    if task == "claim" and not rules.nli:
        return "paraphrases of claims are scored by an NLI model: name its folder with --nli FOLDER"
    if (available := capabilities()) is None:
        return ""
    if task == "continue" and not (available.scoring and available.plain):
        return (
            f"{player} gives no probabilities of texts, which the task continue needs; "
            "use transformers/…, local/… or completions/…"
        )
    if _RUNS_OF[task].needs.schema and not available.schema:
        return f"{player} only continues plain texts; the task {task} needs a chat model"
    return ""


RUNS: Final = RunSpec(
    selection=ExampleSelection,
    rules=Options,
    requests=_requests,
    flags={"together": "", "max_tokens": "max_tokens", "top_p": "top_p"},
)
