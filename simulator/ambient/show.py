"""The blocks of an AmbiEnt episode's pages: instructions, and the form of each step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final

from simulator.ambient.annotation.rules import MAX_REWRITES, Problem, check_annotation, read_annotation
from simulator.ambient.data import Guidelines, load_guidelines
from simulator.ambient.items import Task
from simulator.ambient.labels import SHOWN, Label, Side
from simulator.ambient.playing import ParticipantView, ShownTexts
from simulator.blocks import (
    Answered,
    Block,
    Facts,
    Points,
    Progress,
    Quote,
    Quotes,
    Tag,
    Text,
    Translated,
    Words,
    message,
)
from simulator.form_blocks import (
    Checked,
    Choice,
    Colour,
    Difference,
    Entries,
    Field,
    FieldProblem,
    Form,
    Part,
    When,
)

COLOURS: Final[Mapping[Label, Colour]] = {"entailment": "green", "neutral": "gold", "contradiction": "clay"}
_POINTS: Final[Mapping[Task, tuple[str, ...]]] = {
    "crowd": ("pair", "label", "crowd"),
    "evaluate": ("evaluate", "evaluate_pair", "label"),
    "annotate": ("pair", "annotate", "rewrite", "discard"),
    "true_false": ("true_false", "judge"),
}
_OWN_STEPS: Final[Mapping[Task, int]] = {"crowd": 3, "evaluate": 2, "annotate": 1}


def page_blocks(view: ParticipantView) -> tuple[Block, ...]:
    """Return the blocks of a participant's page."""
    if view.stage == "instructions":
        return instructions(view.task, tested=view.tested)
    if view.due is None:
        return ()
    made = progress(view)
    head = () if made is None else (made,)
    match view.due.kind:
        case "plausible":
            return (*head, *_candidates(view.shown), _form(view, _candidate_parts(view.shown)))
        case "relabel":
            lead = Text(message(f"relabel.lead_{view.shown.side}"))
            return (*head, lead, _form(view, (*_pairs(view.shown), _help(), _comment("comment"))))
        case "true_false":
            return (*head, _statement(view.shown), _form(view, (_flag("answer", ("true", "false"), "tf"),)))
        case "annotate":
            return (*head, pair(view.shown.premise, view.shown.hypothesis), annotation_form(view.shown))
    sentences = pair(view.shown.premise, view.shown.hypothesis)
    return (*head, sentences, _form(view, (_label("label", message("label.question")), _help())))


# ---- the frame of a step


def progress(view: ParticipantView) -> Progress | None:
    """Return the number of the current question, step or statement; None if there is only one."""
    own = _OWN_STEPS.get(view.task)
    if view.stage == "qualification":
        return _progress("question", view.done + 1, view.total - (own or 0))
    if own is None:
        return _progress("statement", view.done + 1, view.total)
    return _progress("step", view.done - (view.total - own) + 1, own) if own > 1 else None


def _progress(kind: str, k: int, total: int) -> Progress:
    return Progress(k, total, message(f"steps.{kind}", k=k, total=total))


def _form(view: ParticipantView, blocks: Sequence[Block]) -> Form:
    send = message("answer.finish" if view.done + 1 == view.total else "answer.go")
    rows = earlier(view)
    return Form((*blocks, *((Answered(rows),) if rows else ())), send=send)


def earlier(view: ParticipantView) -> tuple[tuple[Words, Words], ...]:
    """Return the locked answers: the label of the pair, then yes or no for each candidate."""
    label = [label for step, label in view.earlier if step == "label"]
    flags = [flag for step, flag in view.earlier if step != "label"]
    return (
        *((message("steps.said_label"), message(f"labels.{name}")) for name in label),
        *(
            (message("steps.said_candidate", k=k), message(f"field.plausible.{flag}"))
            for k, flag in enumerate(flags, start=1)
        ),
    )


def instructions(task: Task, *, tested: bool) -> tuple[Block, ...]:
    """Return the instructions of a task, which mention the qualification if there is one (`tested`)."""
    names = (*(("qualification",) if tested else ()), *_POINTS[task])
    points = Points([(message(f"point.{name}"), message(f"point.{name}_text")) for name in names])
    if task == "true_false":
        return (points,)
    labels = Part(message("point.labels"), (definitions(),))
    if task != "annotate":
        return (points, labels)
    guides = _guides()
    rules = [
        Text(Translated(*(guide.rewriting[k] for guide in guides))) for k in range(len(guides[0].rewriting))
    ]
    return (points, labels, Part(message("point.rewriting"), rules, folded=True))


# ---- sentences and labels


def tag(label: Label, right: bool | None = None) -> Tag:
    """Return a label in its colour."""
    return Tag(message(f"labels.{label}"), COLOURS[label], right)


def pair(premise: str, hypothesis: str, replaced: Side | None = None) -> Quotes:
    """Return a pair of sentences, marking the `replaced` side if any."""
    texts: Mapping[Side, str] = {"premise": premise, "hypothesis": hypothesis}
    return Quotes(
        [
            Quote(
                message(f"side.{side}"),
                text,
                message(f"side.{side}_note"),
                Tag(message("relabel.replaced")) if side == replaced else None,
            )
            for side, text in texts.items()
        ]
    )


def _guides() -> list[Guidelines]:
    return [load_guidelines(language) for language in ("en", "zh")]


def definitions() -> Facts:
    """Return the definition of each label, with an example."""
    guides = _guides()
    return Facts(
        [
            (
                message(f"labels.{label}"),
                message(
                    "definition",
                    definition=Translated(*(guide.labels[label].definition for guide in guides)),
                    example=Translated(*(guide.labels[label].example for guide in guides)),
                ),
            )
            for label in SHOWN
        ]
    )


def _help() -> Part:
    return Part(message("answer.help"), (definitions(),), folded=True)


def label_choices(*, notes: bool = False) -> tuple[Choice, ...]:
    """Return a choice for each label, in its colour, with a short definition if there are `notes`."""
    return tuple(
        Choice(
            label,
            message(f"labels.{label}"),
            colour=COLOURS[label],
            note=message(f"short.{label}") if notes else "",
        )
        for label in SHOWN
    )


def reasons() -> tuple[Choice, ...]:
    """Return the reasons for discarding a pair as choices."""
    first, _ = guides = [guide.discard for guide in _guides()]
    return tuple(
        Choice(reason, message(f"discard.{reason}"), note=Translated(*(guide[reason] for guide in guides)))
        for reason in first
    )


def _label(name: str, legend: Words, *, quiet: bool = False) -> Field:
    choices = label_choices(notes=not quiet)
    return Field(name, "choice", choices=choices, label=legend, keys="123", required=True, quiet=quiet)


def _flag(name: str, answers: tuple[str, str], keys: str, legend: Words = "") -> Field:
    colours: tuple[Colour, Colour] = ("green", "clay")
    choices = [
        Choice(value, message(f"field.{name.partition('[')[0]}.{answer}"), colour=colour)
        for value, answer, colour in zip(("true", "false"), answers, colours, strict=True)
    ]
    legend = legend or message("true_false.heading")
    return Field(name, "flag", choices=choices, label=legend, keys=keys, required=True, quiet=True)


def _comment(name: str) -> Part:
    field = Field(name, "text", own_words=True, rows=3, label=message("answer.comment_field"))
    return Part(message("answer.comment"), (field,), folded=True)


# ---- a crowdworker's steps, and statements


def _candidates(shown: ShownTexts) -> tuple[Block, ...]:
    sentence = Quotes([Quote(message("plausible.sentence"), shown.sentence)])
    return sentence, Text(message("plausible.judgement"), "muted")


def _candidate_parts(shown: ShownTexts) -> tuple[Part, ...]:
    return tuple(
        Part(
            message("plausible.candidate", k=k + 1),
            (
                Quotes([Quote("", candidate)]),
                _flag(f"plausible[{k}]", ("yes", "no"), "yn", message("plausible.question", k=k + 1)),
            ),
        )
        for k, candidate in enumerate(shown.candidates)
    )


def _pairs(shown: ShownTexts) -> tuple[Part, ...]:
    return tuple(
        Part(
            message("relabel.pair", k=k + 1),
            (
                pair(premise, hypothesis, shown.side),
                _label(f"labels[{k}]", message("relabel.question", k=k + 1), quiet=True),
            ),
        )
        for k, (premise, hypothesis) in enumerate(shown.pairs)
    )


def _statement(shown: ShownTexts) -> Quotes:
    about = shown.sentence if shown.sentence and shown.statement.startswith(shown.sentence) else ""
    return Quotes([Quote(message("true_false.statement"), shown.statement, about=about)])


# ---- a linguist's form


def annotation_form(shown: ShownTexts) -> Form:
    """Return a linguist's form: labels and a rewrite for each reading, or a reason for discarding."""
    discarding = When("discarding")
    labels = Field("labels", "choices", choices=label_choices(notes=True), keys="123")
    kept = When("discarding", unless=True)
    entries = rewrites(shown.premise, shown.hypothesis, message("annotate.changes"))
    blocks = (
        labels._replace(when=kept),
        _help(),
        Field("discarding", "switch"),
        Field("discard", "choice", choices=reasons(), when=discarding, required=True),
        Part("", (entries,), when=When("labels", least=2)),
        Field("comment", "text", own_words=True),
    )
    return Form(blocks, partial(check_page, shown), message("answer.send"))


def rewrites(premise: str, hypothesis: str, changes: Words) -> Entries:
    """Return the entries for the rewrites of a pair, at least one per label; `changes` heads the diffs."""
    texts: Mapping[Side, str] = {"premise": premise, "hypothesis": hypothesis}

    def place(k: int) -> tuple[Block, ...]:
        head = f"rewrites[{k}]."
        label = Field(f"{head}label", "menu", value=SHOWN[k % len(SHOWN)], choices=label_choices())
        sides = (
            (
                Field(f"{head}{side}", "text", value=text),
                Difference("", f"{head}{side}", changes, text=text),
            )
            for side, text in texts.items()
        )
        return (label, *(block for side in sides for block in side))

    return Entries("rewrites", [place(k) for k in range(MAX_REWRITES)], "label", "labels")


def check_page(shown: ShownTexts, values: Mapping[str, Any], language: str) -> Checked:
    """Return the problems of a linguist's form as filled in so far."""
    annotation = read_annotation(values)
    return Checked(
        [field_problem(each) for each in check_annotation(shown.premise, shown.hypothesis, annotation)]
    )


def field_problem(problem: Problem) -> FieldProblem:
    """Return a problem as a message at a field of the page."""
    label = message(f"labels.{problem.label}") if problem.label else ""
    side = message(f"side.{problem.side}_within") if problem.side else ""
    return FieldProblem(
        _place(problem), problem.code, message(f"problem.{problem.code}", side=side, label=label)
    )


def _place(problem: Problem) -> str:
    if problem.number is None:
        at_labels = problem.label or problem.field == "labels"
        return "labels" if at_labels else "rewrites"
    return problem.field if "." in problem.field else f"{problem.field}.label"


# ---- the entry


def picture() -> tuple[Block, ...]:
    """Return an invented pair with its two readings and their labels."""
    readings: Sequence[tuple[str, Label]] = (
        ("The library lends laptops with chargers and tablets with chargers.", "entailment"),
        ("The library lends tablets with chargers, and laptops.", "neutral"),
    )
    return (
        Quotes(
            [
                Quote(message("side.premise"), "The library lends laptops and tablets with chargers."),
                Quote(message("side.hypothesis"), "A borrowed laptop comes with a charger."),
                *(
                    Quote(message("entry.reading", letter=letter), text, tag=tag(label))
                    for letter, (text, label) in zip("AB", readings, strict=True)
                ),
            ]
        ),
    )
