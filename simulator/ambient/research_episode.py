"""The blocks of an AmbiEnt episode on researchers' pages, including what participants did not see."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from logs.rows import Turn
from simulator.ambient import reveal
from simulator.ambient.examples import Example
from simulator.ambient.generation import edit_f1, gold_rewrites
from simulator.ambient.items import (
    AnnotateItem,
    ClaimItem,
    ContinueItem,
    GenerateItem,
    Item,
    NliItem,
    TrueFalseItem,
    item_from_row,
)
from simulator.ambient.labels import SHOWN, Label, Side
from simulator.ambient.playing import statements
from simulator.ambient.prompts import prompt
from simulator.ambient.reporting.figures import log_odds_figure
from simulator.ambient.score import values
from simulator.ambient.show import pair, tag
from simulator.ambient.trial_log import continuation_record, payloads, sampled_options
from simulator.blocks import (
    Block,
    Card,
    Cell,
    Facts,
    Message,
    Passage,
    Quote,
    Quotes,
    Revision,
    Span,
    Table,
    Tag,
    Text,
    Words,
    message,
)
from simulator.form_blocks import Part as Group
from simulator.reporting import Section
from simulator.research import PageContent, PageRequest
from simulator.stats import half_up
from simulator.word_diff import word_diff

_SAMPLES: Final = 8
_NOTHING: Final = "–"


def named_text(text: str, **fields: object) -> Message:
    """Return the text called ``research.{text}``."""
    return message(f"research.{text}", **fields)


def tags(labels: Iterable[Label]) -> Sequence[Words | Tag]:
    """Return labels as tags in display order, or a text saying that there are none."""
    chosen = set(labels)
    return [tag(label) for label in SHOWN if label in chosen] or [named_text("none")]


def number(value: float | None, digits: int = 3) -> str:
    """Format a number, with a dash for None."""
    return _NOTHING if value is None else half_up(value, digits)


def episode(request: PageRequest, id: str) -> Sequence[PageContent]:
    """Return an episode's scores and answers, with the right ones."""
    reader = request.reader
    row = reader.episode(id)
    item, turns = item_from_row(reader.item(row.item_hash)), reader.turns(id)
    scores = values(item, turns) if reader.ending(id) else {}
    known = [
        (named_text(f"score.{name}"), f"{value:g}") for name, value in scores.items() if value is not None
    ]
    return (
        *([Card(named_text("scores"), [Facts(known)])] if known else []),
        *_shown_item(request, item, turns, row.seed),
    )


def _shown_item(request: PageRequest, item: Item, turns: Sequence[Turn], seed: int) -> Sequence[PageContent]:
    match item:
        case GenerateItem():
            return _generation_blocks(item, turns)
        case TrueFalseItem():
            return _judgment_blocks(item, turns)
        case ContinueItem():
            return _continuation_blocks(request, item, turns, seed)
        case NliItem():
            return _nli_blocks(item, turns)
        case ClaimItem():
            return _claim_blocks(item, turns)
    forms = payloads(turns, "annotate" if isinstance(item, AnnotateItem) else "relabel")
    comment = forms[-1].get("comment") if forms else ""
    merged = isinstance(item, AnnotateItem) and forms and forms[-1].get("merged")
    return (
        *reveal.details(item, turns, "research.answered", "research.form", "research.dataset"),
        *([Text(named_text("merged"), "muted")] if merged else []),
        *([Card(named_text("comment"), [Text(comment)])] if comment else []),
    )


def original(example: Example) -> Card:
    """Return an example's original pair, with ambiguous sides flagged."""
    flagged = Tag(named_text("flagged"))
    quotes = pair(example.premise, example.hypothesis).quotes
    sides: tuple[Side, ...] = ("premise", "hypothesis")
    shown = [
        quote._replace(tag=flagged if side in example.sides else None)
        for side, quote in zip(sides, quotes, strict=True)
    ]
    return Card(named_text("pair"), [Quotes(shown)])


def _generation_blocks(item: GenerateItem, turns: Sequence[Turn]) -> Sequence[Block]:
    turn = next((turn for turn in turns if turn.payload.get("kind") == "generate"), None)
    payload: Mapping[str, Any] = turn.payload if turn else {}
    reference, robust = payload.get("rewrites", {}), payload.get("robust", {})
    warnings = payload.get("warnings", [])
    return (
        original(item.example),
        _parsed_rewrites(item, "parsed", reference),
        *([_parsed_rewrites(item, "parsed_robust", robust)] if robust != reference else []),
        *([Text(named_text("parse_warnings", warnings=", ".join(warnings)))] if warnings else []),
        Card(named_text("prompt"), [Passage([Span(payload.get("prompt") or prompt(item))])], folded=True),
        Card(named_text("generation"), [Passage([Span(turn.text if turn else _NOTHING)])]),
    )


def _parsed_rewrites(item: GenerateItem, parser: str, rewrites: Mapping[Label, str]) -> Card:
    original, gold = item.example.sentence(item.side), gold_rewrites(item.example, item.side)
    parts: list[Block] = []
    for label in SHOWN:
        right, predicted = gold.get(label), rewrites.get(label)
        if right is None and predicted is None:
            continue
        score = None if right is None else 0.0 if predicted is None else edit_f1(original, right, predicted)
        against = original if right is None else right
        revisions = [
            *([Revision(named_text("gold"), word_diff(original, right))] if right is not None else []),
            *([Revision(named_text("read"), word_diff(against, predicted))] if predicted is not None else []),
        ]
        facts = Facts([(named_text("score.edit_f1"), number(score))])
        parts.append(Group(message(f"labels.{label}"), [*revisions, facts]))
    return Card(named_text(parser), [Text(named_text("parsed_note"), "muted"), *parts])


def _judgment_blocks(item: TrueFalseItem, turns: Sequence[Turn]) -> Sequence[Block]:
    answers = {payload["number"]: payload for payload in payloads(turns, "true_false")}
    numbered = list(enumerate(statements(item)))
    head = [named_text(name) for name in ("statement", "expected", "answered", "mass")]
    return (
        Card(message(f"side.{item.side}"), [Quotes([Quote("", item.sentence)])]),
        *(
            Card(
                named_text("reading", k=k),
                [
                    Revision("", word_diff(item.sentence, rewrite)),
                    Table(
                        [
                            _judgement(statement.text, statement.answer, answers.get(number))
                            for number, statement in numbered
                            if statement.rewrite == rewrite
                        ],
                        head,
                    ),
                ],
            )
            for k, rewrite in enumerate(item.rewrites, start=1)
        ),
    )


def _judgement(text: str, right: bool, answer: Mapping[str, Any] | None) -> Sequence[object]:
    if answer is None:
        return text, reveal.truth(right), _NOTHING, _NOTHING
    prediction = answer["prediction"]
    word = named_text("unread") if prediction is None else reveal.truth(prediction)
    return (
        text,
        reveal.truth(right),
        Cell(word, "right" if prediction == right else "wrong"),
        number(answer["mass"]),
    )


def _continuation_blocks(
    request: PageRequest, item: ContinueItem, turns: Sequence[Turn], seed: int
) -> Sequence[PageContent]:
    record, sampled = continuation_record(item, turns, seed), sampled_options(item, turns)
    estimates = {option.name: option.kl for option in record.options}
    options: list[Block] = [
        Group(
            _option(sample.name, k),
            [
                Revision("", word_diff(item.sentence, sample.sentence.removeprefix(item.stem))),
                Facts([(named_text("estimate"), number(estimates.get(sample.name), 2))]),
            ],
        )
        for k, sample in enumerate(sampled, start=1)
    ]
    samples: list[Block] = [
        Group(_option(sample.name, k), [Passage([Span("\n".join(sample.continuations[:_SAMPLES]))])])
        for k, sample in enumerate(sampled, start=1)
        if sample.continuations
    ]
    count = record.num_conts
    counted = [] if count is None else [Text(named_text("continuations", count=count), "muted")]
    shown: list[PageContent] = [
        Card(message(f"side.{item.side}"), [Quotes([Quote("", item.sentence)])]),
        Card(named_text("options"), [*counted, *options]),
    ]
    # An imported file has estimates and the number of continuations, but not the continuations.
    if samples:
        figure = log_odds_figure(request.reader, [request.run.id], item.id)
        shown += [
            Section(name="log-odds", title="Log-odds of the continuations", figures=[figure]),
            Card(named_text("samples"), samples, folded=True),
        ]
    return shown


def _option(name: str, k: int) -> Message:
    return message("result.distractor") if name == "d" else named_text("reading", k=k)


def _nli_blocks(item: NliItem, turns: Sequence[Turn]) -> Sequence[Block]:
    answers = {payload["pair"]: payload for payload in payloads(turns, "nli")}
    example = item.example
    parts = [
        Group(named_text("original"), [_prediction_facts(example.labels, answers.get(0))]),
        *(
            Group(
                named_text("reading", k=k),
                [
                    *reveal.revisions(example.premise, example.hypothesis, reading),
                    _prediction_facts([reading.label], answers.get(k)),
                ],
            )
            for k, reading in enumerate(example.disambiguations, start=1)
        ),
    ]
    return original(example), Card(named_text("pairs"), parts)


def _prediction_facts(gold: Iterable[Label], answer: Mapping[str, Any] | None) -> Facts:
    rows: list[tuple[Words, Words | Sequence[Words | Tag]]] = [(named_text("gold"), tags(gold))]
    if answer is not None:
        right = frozenset(answer["prediction"]) == frozenset(gold)
        verdict = Tag(named_text("right" if right else "wrong"), right=right)
        rows.append((named_text("predicted"), [*tags(answer["prediction"]), verdict]))
        logits = answer.get("logits") or {}
        rows.append(
            (named_text("logits"), "  ".join(f"{name} {value:.2f}" for name, value in logits.items()))
        )
    return Facts(rows)


def _claim_blocks(item: ClaimItem, turns: Sequence[Turn]) -> Sequence[Block]:
    answers = payloads(turns, "claim")
    head = [
        named_text("paraphrase"),
        *(message(f"labels.{label}") for label in SHOWN),
        named_text("score.score"),
    ]
    rows = [
        (
            each["text"],
            *(number((each["probabilities"] or {}).get(label)) for label in SHOWN),
            number(each["score"]),
        )
        for each in (answers[-1]["paraphrases"] if answers else ())
    ]
    quotes = [Quote(named_text("claim"), item.cleaned)]
    if item.cleaned != item.claim:
        quotes.append(Quote(named_text("as_said"), item.claim))
    return Card(named_text("claim"), [Quotes(quotes)]), *(
        [Card(named_text("paraphrases"), [Table(rows, head)])] if rows else []
    )
