"""Where a pair of sentences lies among others: a vector each, near for like pairs (spec 2.2.1).

Either a transformers encoder says it, by the state of its last layer at the first token ([CLS]); of a model
that reads from left to right only the last token has seen the whole pair, so that one's is taken. Or, without
any model, words do: ``offline/words`` counts words, neighbouring words, and what only one of the two
sentences says, hashed into a fixed number of columns, and keeps the directions in which pairs differ most.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from hashlib import blake2b
from itertools import pairwise
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from simulator.ambient.nli.predict import MAX_LENGTH, Pair, batches, encode, load_config, load_local
from simulator.errors import InputError
from simulator.models.weights import imported

Vectors = NDArray[np.float64]
"""One row a pair."""
Tell = Callable[[int], None]
"""Is told how many more pairs have been read."""

WORDS: Final = "offline/words"
COLUMNS: Final = 1 << 14
DIMENSIONS: Final = 64
_BATCH: Final = 64
_WORD: Final = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")


class Embedding(NamedTuple):
    """Vectors, and whose.

    Attributes:
        name: of the encoder's folder, or ``offline/words``.
        how: what of it they are, in words.
    """

    name: str
    how: str
    vectors: Vectors


def embed(
    pairs: Sequence[Pair],
    encoder: Path | None = None,
    *,
    device: str | None = None,
    tell: Tell = lambda read: None,
) -> Embedding:
    """Return a vector for each pair, by the encoder in a folder or, without one, by ``offline/words``.

    Raises:
        Unsupported: if torch or transformers is missing.
        InputError: if the folder holds no encoder.
    """
    if encoder is None:
        return Embedding(WORDS, f"words, in {DIMENSIONS} dimensions at most", of_words(pairs))
    return _of_encoder(pairs, encoder, device, tell)


def of_words(pairs: Sequence[Pair]) -> Vectors:
    """Return the vectors of ``offline/words``: features of pairs, hashed with signs, on main directions."""
    from scipy.sparse import csr_array
    from scipy.sparse.linalg import svds

    hashed = [[_column(feature) for feature in features(*pair)] for pair in pairs]
    rows = np.repeat(np.arange(len(pairs)), [len(entries) for entries in hashed])
    entries = np.array([entry for row in hashed for entry in row], dtype=np.int64).reshape(-1, 2)
    counts = csr_array((entries[:, 1].astype(float), (rows, entries[:, 0])), shape=(len(pairs), COLUMNS))
    lengths = np.sqrt(np.asarray(counts.multiply(counts).sum(axis=1)).ravel())
    scaled = csr_array(counts.multiply(1 / np.where(lengths == 0, 1, lengths)[:, None]))
    if len(pairs) <= DIMENSIONS:
        # Few pairs keep all their distances: those are in the products of the rows with each other.
        values, vectors = np.linalg.eigh(np.asarray((scaled @ scaled.T).todense()))
        return np.asarray(vectors * np.sqrt(np.clip(values, 0, None)), dtype=np.float64)
    start = np.ones(min(scaled.shape))  # of the iteration, so that the same pairs give the same vectors
    left, values, _ = svds(scaled, k=DIMENSIONS, v0=start)
    return np.asarray(left * values, dtype=np.float64)


def features(premise: str, hypothesis: str) -> Iterator[str]:
    """Yield what ``offline/words`` looks at.

    Words and neighbouring words of each sentence, and the words that only one of them has: how the
    sentences differ is what relates them.
    """
    first, second = ([word.lower() for word in _WORD.findall(text)] for text in (premise, hypothesis))
    for side, words, others in (("p", first, second), ("h", second, first)):
        yield from (f"{side} {word}" for word in words)
        yield from (f"{side} {word} {after}" for word, after in pairwise(words))
        yield from (f"{side} only {word}" for word in words if word not in others)


def _column(feature: str) -> tuple[int, int]:
    """Return where a feature is counted, and with which sign."""
    number = int.from_bytes(blake2b(feature.encode(), digest_size=8).digest())
    return (number >> 1) % COLUMNS, 1 if number & 1 else -1


def _of_encoder(pairs: Sequence[Pair], folder: Path, device: str | None, tell: Tell) -> Embedding:
    config = load_config(folder, "a transformers encoder")
    if config.is_encoder_decoder:
        raise InputError(f"{folder}: is an encoder-decoder model; name an encoder, such as a RoBERTa")
    torch = imported("torch")
    model, tokenizer = load_local("AutoModel", folder, device)
    first = tokenizer.cls_token_id is not None
    vectors: Vectors = np.zeros((len(pairs), config.hidden_size))
    with torch.inference_mode():
        for places in batches(pairs, _BATCH):
            encoded = encode(tokenizer, [pairs[place] for place in places], MAX_LENGTH).to(model.device)
            states = model(**encoded).last_hidden_state.float()
            mask = encoded["attention_mask"]
            # Padding may stand on either side.
            chosen = mask.argmax(1) if first else mask.shape[1] - 1 - mask.flip(1).argmax(1)
            vectors[places] = states[torch.arange(len(places), device=states.device), chosen].cpu().numpy()
            tell(len(places))
    return Embedding(str(folder), f"last layer, {'[CLS]' if first else 'last token'}", vectors)
