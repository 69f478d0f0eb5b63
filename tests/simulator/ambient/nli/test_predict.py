from __future__ import annotations

import json
import math
import os
import shutil

import pytest
from scipy.special import softmax

os.environ["HF_HUB_OFFLINE"] = "1"
torch = pytest.importorskip("torch", reason="models need torch: pip install 'askback[local]'")
transformers = pytest.importorskip("transformers", reason="pip install 'askback[local]'")

from simulator.ambient.claims import score_paraphrases  # noqa: E402
from simulator.ambient.labels import LABEL_SETS, LABELS, format_labels  # noqa: E402
from simulator.ambient.nli.families import CLASSES, SET_NAMES  # noqa: E402
from simulator.ambient.nli.predict import load_predictor  # noqa: E402
from simulator.errors import InputError  # noqa: E402

pytestmark = pytest.mark.usefixtures("one_thread")
PAIRS = [("the dog sleeps .", "the cat never rests ."), ("the duck sleeps .", "the duck rests .")]


@pytest.fixture
def classifier(encoder, tmp_path):
    """Return a function that saves a model with classes in any order, as other programs would."""

    def make(names, **config):
        torch.manual_seed(2)
        model = transformers.AutoModelForSequenceClassification.from_pretrained(
            encoder, num_labels=len(names), id2label=dict(enumerate(names)), **config
        )
        folder = tmp_path / "model"
        model.save_pretrained(folder)
        transformers.AutoTokenizer.from_pretrained(encoder).save_pretrained(folder)
        return folder

    return make


def named(predictor, pairs):
    return [dict(zip(CLASSES[predictor.output], row, strict=True)) for row in predictor.scores(pairs)]


def raw(folder, pairs):
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModelForSequenceClassification.from_pretrained(folder).eval()
    with torch.no_grad():
        return [model(**tokenizer(*pair, return_tensors="pt")).logits[0].tolist() for pair in pairs]


def test_classes_are_found_by_name_in_any_order(classifier):
    folder = classifier(["ENTAILMENT", "neutral", "Contradiction"])
    predictor = load_predictor(folder)
    assert predictor.family == "classifier"
    for by_label, row in zip(named(predictor, PAIRS), raw(folder, PAIRS), strict=True):
        assert list(by_label) == list(LABELS)
        assert by_label["entailment"] == pytest.approx(row[0], abs=1e-5)
        assert by_label["neutral"] == pytest.approx(row[1], abs=1e-5)
        assert by_label["contradiction"] == pytest.approx(row[2], abs=1e-5)
    for by_label in predictor.probabilities(PAIRS):
        assert sum(by_label.values()) == pytest.approx(1)


def test_a_multilabel_model_has_a_probability_for_each_label_by_itself(classifier):
    folder = classifier(list(LABELS), problem_type="multi_label_classification")
    predictor = load_predictor(folder)
    assert predictor.family == "multilabel"
    for logits, by_label in zip(named(predictor, PAIRS), predictor.probabilities(PAIRS), strict=True):
        assert by_label == {
            label: pytest.approx(1 / (1 + math.exp(-logit))) for label, logit in logits.items()
        }
    (folder / "nli.json").write_text(json.dumps({"family": "distributional"}))
    assert load_predictor(folder).probabilities(PAIRS) != pytest.approx(by_label)
    (paraphrase,) = score_paraphrases(predictor, PAIRS[0][0], (PAIRS[0][1],))
    assert paraphrase.score == sorted(paraphrase.probabilities.values())[1]


def test_a_classifier_over_sets_needs_no_threshold(classifier):
    names = sorted(SET_NAMES, reverse=True)
    predictor = load_predictor(classifier(names))
    assert predictor.family == "set"
    for pair, predicted, shares in zip(
        PAIRS, predictor.label_sets(PAIRS), predictor.probabilities(PAIRS), strict=True
    ):
        (logits,) = named(predictor, [pair])
        assert format_labels(predicted) == max(logits, key=lambda name: logits[name])
        by_set = dict(zip(logits, softmax([*logits.values()]), strict=True))
        for label in LABELS:
            expected = sum(by_set[format_labels(labels)] for labels in LABEL_SETS if label in labels)
            assert shares[label] == pytest.approx(expected)


def test_one_number_is_a_regression(classifier):
    predictor = load_predictor(classifier(["LABEL_0"]))
    assert predictor.family == "regression"
    assert set(named(predictor, PAIRS)[0]) == {"value"}
    with pytest.raises(InputError, match="not label probabilities"):
        predictor.probabilities(PAIRS)


def test_a_threshold_is_given_tuned_or_missed(classifier):
    folder = classifier(list(LABELS))
    predictor = load_predictor(folder)
    with pytest.raises(InputError, match="has no threshold"):
        predictor.label_sets(PAIRS)
    (folder / "nli.json").write_text(json.dumps({"family": "multilabel", "threshold": -1.5}))
    tuned = load_predictor(folder)
    assert (tuned.family, tuned.threshold) == ("multilabel", -1.5)


def test_order_and_company_do_not_matter(classifier):
    predictor = load_predictor(classifier(list(LABELS)))
    many = [(f"the {noun} sleeps .", "the cat rests ." * (1 + at % 3)) for at, noun in enumerate("abcdefg")]
    together = predictor.scores(many)
    for pair, expected in zip(many, together, strict=True):
        assert predictor.scores([pair])[0] == pytest.approx(expected, abs=1e-5)
    assert predictor.scores([]) == []


def test_a_pair_is_cut_to_the_longest_that_is_read(classifier):
    folder = classifier(list(LABELS))
    (folder / "nli.json").write_text(json.dumps({"family": "classifier", "max_length": 16}))
    predictor = load_predictor(folder)
    long = ("the dog sleeps . " * 50, "the cat rests .")
    assert all(map(math.isfinite, predictor.scores([long])[0]))


def test_invalid_models_are_refused(classifier, encoder, causal, tmp_path):
    with pytest.raises(InputError, match="no such folder"):
        load_predictor(tmp_path / "nowhere")
    for folder in (encoder, causal):
        with pytest.raises(InputError, match="is not a model for sequence classification"):
            load_predictor(folder)
    folder = classifier(["LABEL_0", "LABEL_1", "LABEL_2"])
    with pytest.raises(InputError, match=r"id2label names the classes label_0, label_1, label_2"):
        load_predictor(folder)
    shutil.rmtree(folder)
    folder = classifier(list(LABELS))
    (folder / "nli.json").write_text(json.dumps({"family": "set"}))
    with pytest.raises(InputError, match="which do not fit family set"):
        load_predictor(folder)
    for text, message in (
        ("{", r"nli\.json: is not JSON"),
        ('{"family": "tree"}', r"nli\.json: family must be one of regression"),
        ('{"family": "multilabel", "threshold": {"neutral": [0, 1]}}', "has no interval for contradiction"),
        ('{"family": "multilabel", "threshold": "high"}', "is .high., not a number"),
    ):
        (folder / "nli.json").write_text(text)
        with pytest.raises(InputError, match=message):
            load_predictor(folder)
