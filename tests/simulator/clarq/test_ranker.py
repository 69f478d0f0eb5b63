import json
from dataclasses import asdict, replace

import numpy as np
import pytest
from pydantic import ValidationError
from scipy.optimize import check_grad
from shared_data import SHARED
from typer import Typer
from typer.testing import CliRunner

from simulator.clarq.experts import Situation
from simulator.clarq.features import ASKED, NODE, Features, Reading, past_turns
from simulator.clarq.ranker import (
    COEFFICIENTS,
    REASONS,
    SHARES,
    Assessment,
    Coefficients,
    Logistic,
    Style,
    builtin_ranker,
    load_ranker,
)
from simulator.clarq.training import _TrainingSet, fit, fit_logistic, train, train_clarq_ranker
from simulator.errors import InputError
from simulator.seats import Line
from trees import Background, Frontier, Node, Task, Tree

RESULTS = SHARED / "clarq" / "results"
needs_data = pytest.mark.skipif(
    not RESULTS.is_dir(), reason=f"published results not found at {RESULTS}; set ASKBACK_SHARED"
)
RNG = np.random.default_rng(5)


def features(askings=3, nodes=4):
    return Features(RNG.normal(size=(askings, nodes, len(ASKED))), RNG.normal(size=(nodes, len(NODE))))


def coefficients(**changes):
    given = Coefficients(
        asked=dict(zip(ASKED, RNG.normal(size=len(ASKED)), strict=True)),
        node=dict(zip(NODE, RNG.normal(size=len(NODE)), strict=True)),
        strict=-1.0,
        leniency=0.8,
    )
    return replace(given, **changes)


def test_chances_are_those_of_two_passes():
    logits = np.array([-1.0, 0.5])
    ranking = coefficients()
    first, second = 1 / (1 + np.exp(-logits)), 1 / (1 + np.exp(-(logits + 0.8)))
    refused = (1 - first).prod()
    expected = [
        first[0] + refused * second[0],
        (1 - first[0]) * first[1] + refused * (1 - second[0]) * second[1],
        refused * (1 - second).prod(),
    ]
    assert ranking.chances(logits) == pytest.approx(expected)
    assert ranking.chances(logits).sum() == pytest.approx(1)


def style(rejected):
    """A style that rejects with given log-odds; its multi-info provider gives accepted nodes."""
    return Style(
        coefficients(),
        Logistic(dict.fromkeys(REASONS, 0.0), rejected),
        Logistic(dict.fromkeys(SHARES, 0.0) | {"logit": 1.0}, 0.0),
        {"en": 1.0, "zh": 1.0},
    )


def test_the_rejection_has_the_last_word():
    reading = Reading(situation("Which cellar has the wick?"))
    assert Assessment(reading, style(50.0)).best == -1
    assert Assessment(reading, style(-50.0)).best == np.argmax(Assessment(reading, style(0.0)).logits)
    for rejected in (-2.0, 0.0, 2.0):
        assessment = Assessment(reading, style(rejected))
        assert assessment.chances.sum() == pytest.approx(1)
        assert assessment.chances[-1] == pytest.approx(1 / (1 + np.exp(-rejected)))


def test_a_lower_weight_of_none_gives_more_nodes():
    reading = Reading(situation("Which cellar has the wick?"))
    strict = style(0.0)
    factor = Assessment(reading, strict).chances[:-1].max() / 0.5
    for weight, gives in ((factor + 0.01, False), (factor - 0.01, True)):
        assessment = Assessment(reading, replace(strict, none={"en": weight}))
        assert (assessment.best >= 0) is gives


def test_one_fitting_asking_is_enough():
    ranking = coefficients()
    seen = features(askings=1)
    worse = seen.asked.copy()
    worse[..., 0] -= 50 * np.sign(ranking.asked[ASKED[0]])
    both = Features(np.concatenate([seen.asked, worse]), seen.node)
    assert ranking.logits(both) == pytest.approx(ranking.logits(seen))


def test_the_best_of_competing_nodes_is_given():
    ranking = coefficients(leniency=None)
    assert (
        ranking.chances(np.array([2.0, 5.0])).argmax()
        == 1
        > coefficients().chances(np.array([2.0, 5.0])).argmax()
    )
    assert ranking.chances(np.array([-1.0, -2.0])).argmax() == 2


@pytest.mark.parametrize("walked", [True, False])
def test_the_gradient_is_that_of_the_likelihood(walked):
    examples = [(features(RNG.integers(1, 4), n), chosen) for n, chosen in ((3, 1), (2, -1), (4, 3), (1, 0))]
    loss = _TrainingSet(examples, walked).negative_log_likelihood
    point = RNG.normal(size=len(ASKED) + len(NODE) + 2)
    assert check_grad(lambda p: loss(p)[0], lambda p: loss(p)[1], point) < 1e-4


@pytest.mark.parametrize("walked", [True, False])
def test_the_likelihood_is_that_of_the_chances(walked):
    examples = [(features(), chosen) for chosen in (0, 2, -1)]
    ranking = fit(examples, penalty=1.0, walked=walked)
    stack = _TrainingSet(examples, walked)
    weights = np.concatenate([list(ranking.asked.values()), list(ranking.node.values())])
    scaled = weights * np.concatenate([stack.asked_scale, stack.node_scale])
    strict = ranking.strict + weights @ np.concatenate([stack.asked_mean, stack.node_mean])
    surprise, _ = stack.negative_log_likelihood(
        np.concatenate([scaled, [strict, np.log(ranking.leniency or 1)]])
    )
    expected = -sum(np.log(ranking.chances(ranking.logits(seen))[chosen]) for seen, chosen in examples)
    assert surprise == pytest.approx(expected)


def test_training_finds_what_made_the_choices():
    def example():
        drawn = features()
        wins = drawn.asked[:, :, 2].max(axis=0)
        return drawn, (int(wins.argmax()) if wins.max() > 1 else -1)

    learned = fit([example() for _ in range(300)], penalty=1.0, walked=True)
    fresh = [example() for _ in range(200)]
    chances = [learned.chances(learned.logits(seen)) for seen, _ in fresh]
    hits = [
        (-1 if chance.argmax() == len(chance) - 1 else chance.argmax()) == chosen
        for (_, chosen), chance in zip(fresh, chances, strict=True)
    ]
    assert np.mean(hits) > 0.6
    strongest = max(learned.asked, key=lambda name: abs(learned.asked[name]))
    assert strongest == ASKED[2]


def test_a_logistic_regression_meets_the_odds():
    table = RNG.normal(size=(4000, 2)) * [1.0, 5.0] + [0.0, 3.0]
    odds = 1.5 * table[:, 0] - 0.2 * table[:, 1] + 0.5
    outcomes = (RNG.random(len(table)) < 1 / (1 + np.exp(-odds))).astype(float)
    learned = fit_logistic(("one", "other"), table, outcomes, penalty=1.0)
    assert list(learned.weights.values()) == pytest.approx([1.5, -0.2], abs=0.15)
    assert learned.bias == pytest.approx(0.5, abs=0.25)
    assert learned.odds(table[:3]) == pytest.approx(table[:3] @ list(learned.weights.values()) + learned.bias)


def test_the_file_is_read_as_it_was_written():
    ranker = builtin_ranker()
    assert asdict(ranker) == json.loads(COEFFICIENTS.read_text())
    for styles in (ranker.explained, ranker.bare):
        for trained in (styles.chatty, styles.brief):
            assert (tuple(trained.ranking.asked), tuple(trained.ranking.node)) == (ASKED, NODE)
            assert (tuple(trained.rejection.weights), tuple(trained.several.weights)) == (REASONS, SHARES)
        assert styles.chatty.ranking.leniency > 0 and styles.brief.ranking.leniency is None


def test_unknown_features_are_refused(tmp_path):
    plain = asdict(builtin_ranker())
    plain["explained"]["brief"]["ranking"]["surprise"] = 1
    path = tmp_path / "ranker.json"
    path.write_text(json.dumps(plain))
    with pytest.raises(ValidationError, match="surprise"):
        load_ranker(path)


def test_a_file_that_was_trained_again_is_read_again(tmp_path):
    path = tmp_path / "ranker.json"
    path.write_bytes(COEFFICIENTS.read_bytes())
    assert load_ranker(path) == builtin_ranker()
    changed = json.loads(path.read_text())
    changed["bare"]["brief"]["ranking"]["leniency"] = 0.125
    path.write_text(json.dumps(changed))
    assert load_ranker(path).bare.brief.ranking.leniency == 0.125


# Features


TREE = Tree(
    "Fill the lamp with oil. The wick lies in a cellar.",
    (
        Node("1", "Only whale oil burns bright enough.", "There are two oils. Which oil to take."),
        Node("2", "Go to the south cellar.", "There are two cellars. Which cellar to go to for the wick."),
        Node("2.1", "The iron key opens it.", "There are two keys. Which key opens the cellar."),
    ),
)
TASK = Task(
    "lamp", 99, "en",
    Background(
        "keeper", "light the lamp", ("Whale oil", "Olive oil", "Brass key", "Iron key"), (),
        ("North cellar", "South cellar"),
    ),
    TREE,
)  # fmt: skip


def situation(*texts, given=(), task=TASK):
    """A situation with lines of both in turn after the opening; the last is the seeker's."""
    lines = [Line("provider", "Hello"), Line("seeker", "How?"), Line("provider", task.tree.opening)]
    lines += [Line("provider" if turn % 2 else "seeker", text) for turn, text in enumerate(texts)]
    frontier = Frontier(task.tree).open()
    for index in given:
        frontier = frontier.give([index])
    return Situation(task=task, lines=tuple(lines), frontier=frontier)


def asked(reading, name):
    return reading.features.asked[..., ASKED.index(name)]


def test_shares_go_to_the_node_that_is_asked_for():
    reading = Reading(situation("Which cellar has the wick?"))
    assert reading.available == ("1", "2")
    assert asked(reading, "topic_share").max(axis=0)[1] == 1 > asked(reading, "topic_share").max(axis=0)[0]
    assert asked(reading, "other_kind").tolist() == [[1.0, 0.0]]
    assert asked(reading, "kind_not_named").tolist() == [[1.0, 0.0]]


def test_alternatives_name_the_siblings():
    reading = Reading(situation("Is it the north cellar or the south cellar?"))
    assert asked(reading, "siblings_named")[0].tolist() == [0.0, 1.0]
    assert asked(reading, "alternatives")[0].tolist() == [0.0, 1.0]
    only = Reading(situation("Is it the south cellar?"))
    assert asked(only, "only_own_option")[0].tolist() == [0.0, 1.0]


def test_a_question_of_pronouns_points_back():
    assert Reading(situation("Which one?")).pointing
    assert Reading(situation("How?")).pointing
    assert not Reading(situation("How are you?")).pointing
    assert not Reading(situation("Which cellar?")).pointing


def test_words_from_elsewhere_are_off_topic():
    assert not Reading(situation("Which wine goes best with grilled salmon and asparagus?")).on_topic
    assert Reading(situation("Which oil burns best?")).on_topic


def test_past_turns_are_derived_from_the_lines():
    asked = situation(
        "Which oil?", "Only whale oil burns bright enough.", "Hm?", "What do you mean?", "Which cellar?",
        "Go to the south cellar. As I said, only whale oil burns bright enough.", "And?", given=("1", "2"),
    )  # fmt: skip
    assert [(turn.available, turn.given) for turn in past_turns(asked)] == [
        (("1", "2"), ("1",)), (("2",), ()), (("2",), ("2",)),
    ]  # fmt: skip
    assert past_turns(asked)[1].passed_over("2")
    assert not past_turns(asked)[0].passed_over("2")


def test_a_task_without_explanations_has_its_own_coefficients():
    bare = replace(
        TASK, tree=Tree(TREE.opening, tuple(replace(node, explanation=None) for node in TREE.nodes))
    )
    reading = Reading(situation("Which cellar has the wick?", task=bare))
    assert not reading.index.explained
    assert not asked(reading, "similar_to_explanation").any()
    assert reading.features.asked[..., ASKED.index("topic_share")].max(axis=0)[1] == 1


# Training


def test_there_must_be_something_to_train_on(tmp_path):
    (tmp_path / "none.json").write_text("[[]]", encoding="utf-8")
    with pytest.raises(InputError, match="no readable dialogue"):
        train_clarq_ranker([tmp_path / "none.json"], tmp_path / "out.json")
    with pytest.raises(InputError, match="Nothing to train on"):
        train([])


@pytest.mark.slow
@needs_data
def test_training_again_gives_the_committed_coefficients(tmp_path):
    app = Typer()
    app.command()(train_clarq_ranker)
    files = sorted(map(str, RESULTS.glob("*.json")))
    result = CliRunner().invoke(app, [*files, "--out", str(tmp_path / "ranker.json")])
    assert result.exit_code == 0, result.output
    again = load_ranker(tmp_path / "ranker.json")
    committed = builtin_ranker()
    assert again.training == committed.training
    for number, other in zip(numbers(again), numbers(committed), strict=True):
        assert number == pytest.approx(other, abs=5e-3)


def numbers(ranker):
    """Return all coefficients in order."""
    for styles in (ranker.explained, ranker.bare):
        for trained in (styles.chatty, styles.brief):
            yield [*trained.ranking.asked.values(), *trained.ranking.node.values()]
            yield [
                trained.ranking.strict,
                trained.ranking.leniency or 0,
                trained.rejection.bias,
                trained.several.bias,
            ]
            yield [*trained.rejection.weights.values(), *trained.several.weights.values()]
