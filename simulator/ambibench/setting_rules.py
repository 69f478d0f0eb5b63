"""What each setting asks of its prompts (spec section 5), beyond what every prompt must be."""

from __future__ import annotations

from collections.abc import Iterator

from simulator.ambibench.aws import CONTROL, AwsPrompt, names, origins
from simulator.ambibench.features import PAIRS
from simulator.ambibench.generation import LENGTH, LENGTHS
from simulator.ambibench.prompt import Prompt
from simulator.ambibench.prompt_text import is_grouped
from simulator.ambibench.trials import Item
from trees.faults import Severity

Finding = tuple[Severity, str]


def setting_findings(prompt: Item) -> tuple[Finding, ...]:
    """Return where a prompt is not what its setting asks for; each with its severity and a sentence."""
    if isinstance(prompt, AwsPrompt):
        return tuple(_buckets(prompt))
    if prompt.setting == "instruction":
        return tuple(_instruction(prompt))
    if prompt.setting == "ft_train":
        return tuple(_finetuning(prompt))
    return tuple(_episode(prompt))


def _instruction(prompt: Prompt) -> Iterator[Finding]:
    if not is_grouped([(example.a, example.b) for example in prompt.examples]):
        yield "error", "examples: not one of each group and a query that breaks the grouping"


def _finetuning(prompt: Prompt) -> Iterator[Finding]:
    length = len(prompt.examples)
    if prompt.kind != "uninformative":
        yield "warning", f"instruction_kind: {prompt.kind}; finetuning is uninformative"
    if length not in LENGTHS:
        yield "warning", f"examples: {length}, not {LENGTHS[0]} to {LENGTHS[-1]}"
    if prompt.fold == prompt.pair:
        yield "error", f"fold: {prompt.fold} is held out, and must not be learned"
    if prompt.variant == "control":
        yield from _control(prompt)


def _control(prompt: Prompt) -> Iterator[Finding]:
    salient = PAIRS[prompt.pair].index(prompt.salient)
    other = {(example.a, example.b)[1 - salient] for example in prompt.examples}
    if len(other) > 1:
        yield "warning", "ft_variant: a control's other feature is constant; here it varies"


def _episode(prompt: Prompt) -> Iterator[Finding]:
    if len(prompt.examples) != LENGTH:
        yield "warning", f"examples: {len(prompt.examples)}, not {LENGTH}"
    if (prompt.setting == "wug") != (prompt.kind == "wug") and prompt.setting in ("wug", "multiple"):
        yield "error", f"instruction_kind: {prompt.kind} in the setting {prompt.setting}"
    if prompt.setting == "ft_eval" and prompt.fold not in (None, prompt.pair):
        yield "error", f"fold: {prompt.fold} is held out, but {prompt.pair} is asked about"
    if prompt.setting == "verbalise" and not prompt.question:
        yield "error", "question: missing"


def _buckets(prompt: AwsPrompt) -> Iterator[Finding]:
    """Results are told by origin, so a name must be of the origin that the prompt says (spec section 9)."""
    *examples, last = prompt.examples
    of_origin = [("query", prompt.query), *([("examples", last)] if prompt.followup else [])]
    of_control = [("examples", name) for name in (examples if prompt.followup else prompt.examples)]
    for field, name, wanted in (
        *((*one, prompt.origin) for one in of_origin),
        *((*one, CONTROL) for one in of_control),
    ):
        origin = next((one for one in origins() if name in names(one)), None)
        if origin is None:
            yield "warning", f"{field}: {name} is not among the names of any origin"
        elif origin != wanted:
            yield "error", f"{field}: {name} is a name of {origin}, not of {wanted}"
