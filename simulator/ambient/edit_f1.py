"""EDIT-F1: does a predicted rewrite change the words that the gold rewrite changes (spec 6.4)."""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Final, Literal, get_args

from simulator.ambient.labels import Label

Tokenizer = Callable[[str], Sequence[str]]
Denominator = Literal["gold", "predicted", "union"]
DENOMINATORS: Final[tuple[Denominator, ...]] = get_args(Denominator)
Edit = tuple[Literal["-", "+"], str]
"""A deleted or an added token."""

_NO_PUNCTUATION: Final = str.maketrans("", "", string.punctuation)
_WORDS_AND_SIGNS: Final = re.compile(r"\w+|[^\w\s]+")
_SINGLE_SIGNS: Final = re.compile(r"\w+|[^\w\s]")
# Words without content of their own: articles, pronouns, auxiliaries, prepositions, conjunctions.
_STOP_WORDS: Final = frozenset(
    re.findall(
        r"\w+",
        "a an the this that these those i you he she it we they me him her us them my your his its our their "
        "is am are was were be been being do does did have has had will would shall should can could may "
        "might must of in on at by for with from to into about as and or but if than then not no so there",
    )
)


def tokens(text: str) -> Sequence[str]:
    """Split at single blanks only, as the rule says: punctuation stays, two blanks make an empty token."""
    return text.split(" ")


def _plain(text: str) -> Sequence[str]:
    return text.lower().translate(_NO_PUNCTUATION).split()


def _content(text: str) -> Sequence[str]:
    return [word for word in _plain(text) if word not in _STOP_WORDS]


TOKENIZERS: Final[Mapping[str, Tokenizer]] = {
    "blank": tokens,
    "whitespace": str.split,
    "lower": lambda text: text.lower().split(" "),
    "lower, no punctuation": _plain,
    "words and signs": _WORDS_AND_SIGNS.findall,
    "words and single signs": _SINGLE_SIGNS.findall,
    "lower, no punctuation, no stop words": _content,
}
"""The rule first, then others to see how much hangs on it; the paper's numbers come from the rule."""


def edits(original: str, rewrite: str, tokenize: Tokenizer = tokens) -> Counter[Edit]:
    """Return the multiset of tokens that a rewrite deletes and adds; where they stand does not matter."""
    before, after = Counter(tokenize(original)), Counter(tokenize(rewrite))
    deleted: dict[Edit, int] = {("-", token): count for token, count in (before - after).items()}
    added: dict[Edit, int] = {("+", token): count for token, count in (after - before).items()}
    return Counter({**deleted, **added})


def edit_f1(original: str, gold: str, predicted: str, *, tokenize: Tokenizer = tokens) -> float:
    """Return F1 of the predicted edits against the gold ones.

    Args:
        original: the ambiguous sentence.
        gold: its rewrite in the dataset.
        predicted: a model's.
        tokenize: makes tokens.

    Returns:
        0 to 1; 1 if neither edits anything, 0 if only one of them does.
    """
    right, made = edits(original, gold, tokenize), edits(original, predicted, tokenize)
    if not right and not made:
        return 1.0
    shared = (right & made).total()
    if not shared:
        return 0.0
    precision, recall = shared / made.total(), shared / right.total()
    return 2 * precision * recall / (precision + recall)


def item_edit_f1(
    original: str,
    gold: Mapping[Label, str],
    predicted: Mapping[Label, str],
    *,
    denominator: Denominator = "gold",
    tokenize: Tokenizer = tokens,
) -> float:
    """Return mean EDIT-F1 over the gold labels; one not predicted counts 0, one too many is ignored.

    Args:
        original: the ambiguous sentence.
        gold: label -> rewrite.
        predicted: label -> rewrite.
        denominator: what the sum is divided by: the number of gold labels (which gives the paper's table);
            of predicted ones; of both together (as a footnote of the paper can be read).
        tokenize: makes tokens.

    Returns:
        0 to 1; 0 if there is nothing to divide by.
    """
    labels = {"gold": gold.keys(), "predicted": predicted.keys(), "union": gold.keys() | predicted.keys()}
    if not labels[denominator]:
        return 0.0
    shared = [label for label in gold if label in predicted]
    total = sum(edit_f1(original, gold[label], predicted[label], tokenize=tokenize) for label in shared)
    return total / len(labels[denominator])
