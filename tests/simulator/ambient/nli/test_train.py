"""Training of tiny models, created here without downloads."""

from __future__ import annotations

import json
import math
import os

import pytest
from typer.testing import CliRunner

os.environ["HF_HUB_OFFLINE"] = "1"
torch = pytest.importorskip("torch", reason="training needs torch: pip install 'askback[local]'")
transformers = pytest.importorskip("transformers", reason="pip install 'askback[local]'")

import typer  # noqa: E402

from simulator.ambient.data import load_examples  # noqa: E402
from simulator.ambient.files.nli import NLI_PREDICTIONS, read_logits, read_seed  # noqa: E402
from simulator.ambient.labels import LABELS  # noqa: E402
from simulator.ambient.nli.families import CLASSES, FAMILIES, output_of  # noqa: E402
from simulator.ambient.nli.metrics import nli_records  # noqa: E402
from simulator.ambient.nli.predict import load_predictor  # noqa: E402
from simulator.ambient.nli.train import (  # noqa: E402
    Stage,
    fit,
    loss_of,
    new_model,
    train_seeds,
    updates_of,
)
from simulator.ambient.nli.training_data import TrainConfig, read_training  # noqa: E402
from simulator.ambient.train_nli_command import dev_and_test, train_ambient_nli  # noqa: E402
from simulator.errors import InputError  # noqa: E402

pytestmark = pytest.mark.usefixtures("one_thread")


def cli() -> typer.Typer:
    app = typer.Typer()
    app.command()(train_ambient_nli)
    return app


def train(*words):
    return CliRunner().invoke(
        cli(), [*map(str, words)], catch_exceptions=False, env={"COLUMNS": "200", "NO_COLOR": "1"}
    )


def options(encoder, training, ambient, out, *more):
    return (
        *("--train", f"{training}=2", "--base", encoder, "--data", ambient, "--rate", "0.01"),
        *("--batch", "8", "--seeds", "42", "--threads", "1", "--out", out, *more),
    )


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_trains_tunes_scores_and_can_be_loaded(encoder, training, ambient, tmp_path, family):
    out = tmp_path / "my-model"
    result = train(*options(encoder, training, ambient, out, "--family", family))
    assert result.exit_code == 0, result.output
    assert "my-model" in result.output and "Table 5" in result.output
    record = read_seed(out / "seed42.json")
    assert (record.threshold is None) == (family == "set")
    assert isinstance(record.threshold, dict) == (family == "regression")
    folder = out / "seed42"
    dev, test = (read_logits(folder / f"{split}_logits.jsonl") for split in ("dev", "test"))
    assert (dev.faults, test.faults) == ((), ())
    # Eighteen originals and two readings of each of three ambiguous ones.
    assert [row.pair for row in test.rows].count(0) == 18
    assert len(test.rows) == 18 + 2 * 3
    assert {len(row.scores) for row in test.rows} == {len(CLASSES[output_of(family)])}
    predictions = NLI_PREDICTIONS.read(folder / "predictions.jsonl").rows
    predictor = load_predictor(folder)
    assert predictor.family == family
    assert predictor.threshold == record.threshold
    pairs = [(row.premise, row.hypothesis) for row in predictions]
    assert predictor.label_sets(pairs) == [row.predicted for row in predictions]
    again = nli_records(test.rows, record.threshold)
    assert [row.predicted for row in again] == [row.predicted for row in predictions]


def test_it_learns(encoder, training, ambient, tmp_path):
    words = options(encoder, training, ambient, tmp_path / "m", "--family", "multilabel")
    train(*[str(word).replace("=2", "=20") for word in words])
    # Only the three ambiguous ones out of eighteen cannot be learnt from single labels.
    assert read_seed(tmp_path / "m" / "seed42.json").em > 0.7
    curve = json.loads((tmp_path / "m" / "seed42" / "curve.json").read_text())["multilabel"]
    assert curve["loss"][-1] < curve["loss"][0] / 2
    assert len(curve["loss"]) == 20 * 6


def test_a_causal_model_can_be_trained_too(causal, training, ambient, tmp_path):
    result = train(*options(causal, training, ambient, tmp_path / "m"))
    assert result.exit_code == 0, result.output
    predictor = load_predictor(tmp_path / "m" / "seed42")
    first, two = predictor.scores([("the dog sleeps .", "the cat never rests ."), ("the dog sleeps .", "x")])
    alone = predictor.scores([("the dog sleeps .", "x")])[0]
    # What stands beside it in a batch is no matter.
    assert two == pytest.approx(alone, abs=1e-5)
    assert first != pytest.approx(two, abs=1e-3)


def test_the_same_seed_learns_the_same(encoder, training, ambient, tmp_path):
    for name in ("a", "b"):
        train(*options(encoder, training, ambient, tmp_path / name, "--seeds", "42,43"))
    a, b, other = (
        (tmp_path / place / "test_logits.jsonl").read_bytes()
        for place in ("a/seed42", "b/seed42", "a/seed43")
    )
    assert a == b != other


@pytest.mark.slow
def test_seeds_that_are_trained_side_by_side_learn_the_same(encoder, training, ambient, tmp_path):
    pytest.importorskip("ray", reason="pip install 'askback[ray]'")
    ways = {"here": (), "processes": ("--workers", "2"), "cluster": ("--executor", "ray")}
    for name, more in ways.items():
        done = train(*options(encoder, training, ambient, tmp_path / name, "--seeds", "42,43", *more))
        assert "seed 42: EM" in done.output and "seed 43: EM" in done.output, done.output
    for path in sorted(path for path in (tmp_path / "here").glob("seed*/*.json*")):
        for name in ways:
            beside = tmp_path / name / path.relative_to(tmp_path / "here")
            assert path.read_bytes() == beside.read_bytes(), (name, path)


def test_a_seed_that_is_finished_is_not_trained_again(encoder, training, ambient, tmp_path):
    out = tmp_path / "m"
    train(*options(encoder, training, ambient, out))
    before = (out / "seed42" / "model.safetensors").stat().st_mtime_ns
    (out / "seed43").mkdir()
    (out / "seed43" / "half").write_text("left over", encoding="utf-8")
    result = train(*options(encoder, training, ambient, out, "--seeds", "42,43"))
    assert "seed 42: EM" in result.output and "(trained before)" in result.output
    assert (out / "seed42" / "model.safetensors").stat().st_mtime_ns == before
    assert (out / "seed43.json").is_file() and not (out / "seed43" / "half").exists()


def test_another_training_does_not_go_into_the_folder(encoder, training, ambient, tmp_path):
    train(*options(encoder, training, ambient, tmp_path / "m"))
    with pytest.raises(InputError, match=r"other settings \(config\); name another folder"):
        train(*options(encoder, training, ambient, tmp_path / "m", "--warmup", "0.2"))
    copy = tmp_path / "other.jsonl"
    copy.write_text(training.read_text().replace("dog", "cat"), encoding="utf-8")
    with pytest.raises(InputError, match=r"other settings \(files\)"):
        train(*options(encoder, copy, ambient, tmp_path / "m"))


def test_an_interrupted_seed_leaves_no_scores(encoder, training, ambient, tmp_path, monkeypatch):
    from simulator.ambient.nli import train as module

    def stopped(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "write_seed", stopped)
    result = CliRunner().invoke(cli(), [*map(str, options(encoder, training, ambient, tmp_path / "m"))])
    assert result.exit_code != 0
    assert not (tmp_path / "m" / "seed42.json").exists()
    monkeypatch.undo()
    assert train(*options(encoder, training, ambient, tmp_path / "m")).exit_code == 0
    assert (tmp_path / "m" / "seed42.json").is_file()


def test_the_best_epoch_by_loss_on_held_out_pairs_is_kept(encoder, training):
    pairs = read_training(training, "multilabel").rows
    config = TrainConfig(rate=0.5, batch=8)
    torch.manual_seed(1)
    model, tokenizer = new_model(str(encoder), "multilabel", LABELS, "cpu")
    # So high a rate does harm sooner or later.
    curve = fit(model, tokenizer, [Stage(pairs[:32], 4)], config, 1, held_out=pairs[32:])
    assert len(curve.held_out) == 4
    from simulator.ambient.nli.train import mean_loss

    best = mean_loss(model, tokenizer, pairs[32:], config)
    assert best == pytest.approx(min(curve.held_out), rel=1e-5)
    assert curve.held_out[curve.best_epoch - 1] == min(curve.held_out)


def test_losses_are_those_of_the_families():
    logits = torch.tensor([[0.5, -1.0, 2.0]])
    target = torch.tensor([[0.0, 0.25, 0.75]])
    shares = [math.exp(logit) / sum(map(math.exp, (0.5, -1.0, 2.0))) for logit in (0.5, -1.0, 2.0)]
    soft = -(0.25 * math.log(shares[1]) + 0.75 * math.log(shares[2]))
    assert loss_of(logits, target, "distributional").item() == pytest.approx(soft, rel=1e-5)
    squares = (0.25 + 1.25**2 + 1.25**2) / 3
    assert loss_of(logits, target, "regression").item() == pytest.approx(squares, rel=1e-5)
    odds = [1 / (1 + math.exp(-logit)) for logit in (0.5, -1.0, 2.0)]
    yes_no = -(math.log(1 - odds[0]) + math.log(1 - odds[1]) + math.log(odds[2])) / 3
    asked = torch.tensor([[0.0, 0.0, 1.0]])
    assert loss_of(logits, asked, "multilabel").item() == pytest.approx(yes_no, rel=1e-5)


def test_updates_are_counted_over_stages():
    assert updates_of([Stage(range(33), 2), Stage(range(8), 1)], 8) == 2 * 5 + 1


def test_a_head_that_the_base_has_is_drawn_anew(encoder, training, ambient, tmp_path):
    train(*options(encoder, training, ambient, tmp_path / "m", "--family", "classifier"))
    base = str(tmp_path / "m" / "seed42")
    torch.manual_seed(5)
    fresh, _ = new_model(base, "multilabel", LABELS, "cpu")
    trained = transformers.AutoModelForSequenceClassification.from_pretrained(base)
    assert torch.equal(
        fresh.roberta.embeddings.word_embeddings.weight, trained.roberta.embeddings.word_embeddings.weight
    )
    assert not torch.allclose(fresh.classifier.out_proj.weight, trained.classifier.out_proj.weight)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--seeds", "42,42"), "must be distinct whole numbers"),
        (("--seeds", "x"), "must be distinct whole numbers"),
        (("--base", "no/such/folder"), "cannot train on no/such/folder"),
        (("--base", "local/none"), "there is no local/none"),
        (("--data", "no-such-data"), "no-such-data"),
        (("--held-out", "nowhere.jsonl"), "cannot be read"),
    ],
)
def test_invalid_trainings_are_refused(encoder, training, ambient, tmp_path, words, message):
    from simulator.errors import AskbackError

    with pytest.raises(AskbackError, match=message):
        train(*options(encoder, training, ambient, tmp_path / "m", *words))


def test_faulty_pairs_are_named(encoder, training, ambient, tmp_path):
    bad = tmp_path / "bad.jsonl"
    bad.write_text('{"premise": "a", "hypothesis": "b", "label": "yes"}\n', encoding="utf-8")
    with pytest.raises(InputError, match=r"bad\.jsonl:1: .*label is .yes.*1 of 1 rows are faulty"):
        train(*options(encoder, bad, ambient, tmp_path / "m"))


def test_the_examples_have_what_the_tests_need(ambient):
    assert len(load_examples(str(ambient), "dev")) == 12
    assert sum(example.ambiguous for example in load_examples(str(ambient), "test")) == 3


def test_data_without_splits_are_split_with_a_message(encoder, training, ambient, tmp_path):
    lines = (ambient / "test.jsonl").read_text() + (ambient / "dev.jsonl").read_text()
    (tmp_path / "all.jsonl").write_text(lines, encoding="utf-8")
    words = options(encoder, training, tmp_path / "all.jsonl", tmp_path / "m", "--dev-share", "0.4")
    result = train(*words)
    assert "tuned on 12 random examples, scores are on the other 18" in result.output
    rows = read_logits(tmp_path / "m" / "seed42" / "dev_logits.jsonl").rows
    drawn = {row.id for row in rows}
    assert len(drawn) == 12 and drawn != {str(number) for number in range(12)}
    examples = load_examples(str(tmp_path / "all.jsonl"))
    assert {example.id for example in dev_and_test(examples, 0.4)[0]} == drawn
    with pytest.raises(InputError, match="0 dev and 30 test examples"):
        dev_and_test(examples, 0.0)


def test_seeds_are_reported_one_by_one(encoder, training, ambient, tmp_path):
    from contextlib import contextmanager

    from simulator.ambient.nli.train import Material

    seen = []

    @contextmanager
    def bar(seed, updates):
        yield lambda done, loss: seen.append((seed, updates, done))

    material = Material(
        base=str(encoder),
        name="tiny",
        stages=(Stage(read_training(training, "binary").rows, 1),),
        held_out=(),
        dev=load_examples(str(ambient), "dev"),
        test=load_examples(str(ambient), "test"),
        files={},
    )
    config = TrainConfig(family="binary", batch=16)
    records = train_seeds(material, config, (7,), tmp_path / "m", bar=bar)
    assert [record.seed for record in records] == [7]
    assert seen == [(7, 9, done) for done in range(1, 10)]
