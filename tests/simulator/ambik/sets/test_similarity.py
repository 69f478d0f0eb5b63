"""Similarity of answers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from sklearn.feature_extraction.text import TfidfVectorizer

from simulator.ambik.items import Pair, Scenario
from simulator.ambik.scoring_rules import TFIDF, TfIdf, similarities, similarity, task_texts
from simulator.errors import InputError

TEXTS = (
    "Put the glass mug next to the kettle.",
    "Wash the clay mug in the sink!",
    "Slice a pear with the paring knife, then serve it",
)
ANSWERS = ["take the glass mug", "take the  clay MUG", "slice the pear", "xyz", "qq"]


def test_the_default_is_what_scikit_learn_makes_of_it() -> None:
    model = TfidfVectorizer(analyzer="char", ngram_range=(3, 5)).fit(TEXTS)
    vectors = model.transform(ANSWERS).toarray()
    similarity = TfIdf.fit(TEXTS)(ANSWERS[0], ANSWERS)
    assert list(similarity) == ANSWERS
    assert list(similarity.values()) == pytest.approx((vectors @ vectors[0]).tolist())
    assert similarity[ANSWERS[0]] == pytest.approx(1)
    assert similarity["xyz"] == 0


def test_similarity_is_to_the_most_frequent_answer_and_0_of_that_and_its_ties() -> None:
    similarity = similarities({"glass mug": 3, "clay mug": 1, "pear": 3}, TfIdf.fit(TEXTS))
    assert similarity["glass mug"] == similarity["pear"] == 0
    assert 0 < similarity["clay mug"] < 1
    assert similarities({"pear": 2}, TfIdf.fit(TEXTS)) == {"pear": 0}


def test_texts_are_both_tasks_of_pairs(
    make_pair: Callable[..., Pair], make_scenario: Callable[..., Scenario]
) -> None:
    pair, scenario = make_pair(), make_scenario()
    assert task_texts([pair, scenario]) == (pair.clear, pair.ambiguous, scenario.task)


def test_a_similarity_has_a_name_and_needs_something(tmp_path: Path) -> None:
    assert similarity("", TEXTS).name == similarity(TFIDF, TEXTS).name == TFIDF
    with pytest.raises(InputError, match="there are none"):
        similarity(TFIDF, [])
    with pytest.raises(InputError, match="no such folder"):
        similarity(str(tmp_path / "nowhere"), TEXTS)


def test_an_encoder_compares_means_over_tokens(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch", reason="an encoder needs pip install 'askback[local]'")
    transformers = pytest.importorskip("transformers", reason="pip install 'askback[local]'")
    with pytest.raises(InputError, match="cannot load the model"):
        similarity(str(tmp_path), TEXTS)
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "take", "the", "glass", "clay", "mug", "pear"]
    (tmp_path / "vocab.txt").write_text("\n".join(words))
    transformers.BertTokenizerFast(str(tmp_path / "vocab.txt")).save_pretrained(tmp_path)
    torch.manual_seed(0)
    size = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    config = transformers.BertConfig(vocab_size=len(words), **size)
    transformers.BertModel(config).save_pretrained(tmp_path)
    encoder = similarity(str(tmp_path), [])
    nearness = encoder("take the glass mug", ["take the glass mug", "pear"])
    assert encoder.name == str(tmp_path)
    assert nearness["take the glass mug"] == pytest.approx(1, abs=1e-5)
    assert nearness["pear"] < 0.99
    # What stands beside it in the batch does not matter.
    alone = encoder("take the glass mug", ["pear"])
    assert alone["pear"] == pytest.approx(nearness["pear"], abs=1e-5)
