"""The learned robots' networks: shapes, probabilities, and that they learn something small."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="learned robots need torch: pip install torch==2.13.0")

from simulator.errors import InputError  # noqa: E402
from simulator.handmethat.learn.drrn import Drrn, Reading, Replay, Transition, choose, learn_from  # noqa: E402
from simulator.handmethat.learn.seen import (  # noqa: E402  # noqa: E402
    END,
    UNKNOWN,
    DrrnConfig,
    PromptText,
    Seq2SeqConfig,
    Vocabulary,
    build_vocabulary,
    split,
)
from simulator.handmethat.learn.seq2seq import (  # noqa: E402
    Example,
    Seq2Seq,
    number,
    shorten,
    tensors,
    train_seq2seq,
    words_of,
)
from simulator.handmethat.learn.train import load_policy, save_checkpoint  # noqa: E402

SMALL = Seq2SeqConfig.named("small", updates=150, batch=16, embedding=16, width=16, convolutions=1, rate=0.01)


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)
    torch.manual_seed(0)


def copying(count: int, seed: int = 0) -> list[Example]:
    """A task that only copying solves: which of two things is red."""
    drawn = random.Random(seed)
    examples = []
    for _ in range(count):
        red, blue = drawn.sample(["lamp 0", "cup 1", "pen 2", "box 0"], 2)
        seen = [f"a red {red}", f"a blue {blue}"]
        drawn.shuffle(seen)
        examples.append(Example(" ".join(seen), "give me the red one", f"pick up {red}"))
    return examples


def test_the_published_sizes_are_named() -> None:
    paper, drrn = Seq2SeqConfig.named("paper"), DrrnConfig.named("paper")
    assert (paper.embedding, paper.width, paper.convolutions, paper.kernel, paper.heads) == (768, 64, 5, 5, 1)
    assert (paper.rate, paper.clip, paper.batch, paper.label_smoothing) == (1e-3, 5, 64, 0.1)
    assert (drrn.embedding, drrn.width, drrn.discount, drrn.rate) == (128, 128, 0.9, 1e-4)
    assert (drrn.environments, drrn.steps, drrn.target_every, drrn.replay) == (8, 100_000, 100, 500_000)
    with pytest.raises(InputError, match="use one of paper, small"):
        Seq2SeqConfig.named("huge")


def test_words_are_numbers_and_back() -> None:
    words = build_vocabulary(["Pick up the apple 1.", "pick up [SEP] it"])
    assert split("Pick up, [SEP] apple_pie 1.") == ["pick", "up", ",", "[SEP]", "apple_pie", "1", "."]
    assert words.decode(words.encode("pick up apple")) == "pick up apple"
    assert words.encode("unicorn") == [UNKNOWN]
    assert words.decode([*words.encode("pick up"), END, 7]) == "pick up"


def test_a_long_text_keeps_its_two_ends() -> None:
    assert shorten(list(range(10)), 5) == [0, 1, 7, 8, 9]
    assert shorten([1, 2], 5) == [1, 2]


def test_next_words_are_probabilities_and_padding_changes_nothing() -> None:
    words = words_of(copying(20))
    network = Seq2Seq(SMALL, len(words)).eval()
    examples = number(copying(3), words, SMALL)
    observation, task, command = tensors(examples)
    logarithms = network(observation, task, command)
    assert logarithms.shape == (3, command.shape[1], len(words))
    assert torch.allclose(logarithms.exp().sum(-1), torch.ones(3, command.shape[1]), atol=1e-4)
    wider = torch.cat([observation, torch.zeros(3, 4, dtype=torch.long)], dim=1)
    assert torch.allclose(network(wider, task, command), logarithms, atol=1e-4)


@pytest.mark.slow
def test_behaviour_cloning_learns_to_copy(tmp_path: Path) -> None:
    examples = copying(200)
    words = words_of(examples)
    network = Seq2Seq(SMALL, len(words))
    losses = train_seq2seq(network, number(examples, words, SMALL), SMALL, seed=1)
    assert len(losses) == 150
    assert sum(losses[-10:]) < 0.5 * sum(losses[:10])
    save_checkpoint(tmp_path / "robot.pt", SMALL, words, network, {"oracle": "none"})
    robot = load_policy(f"seq2seq:{tmp_path / 'robot.pt'}")
    unseen = copying(20, seed=9)
    right = sum(robot.command(seen_of(example), 0) == example.command for example in unseen)
    assert right >= 15


def seen_of(example: Example) -> PromptText:
    return PromptText(example.history, example.task, "", "", "", ())


def test_the_same_seed_trains_the_same_network() -> None:
    examples = copying(50)
    words = words_of(examples)
    config = Seq2SeqConfig.named("small", updates=5, batch=8, embedding=8, width=8, convolutions=1)
    curves = []
    for _ in range(2):
        torch.manual_seed(3)
        network = Seq2Seq(config, len(words))
        curves.append(train_seq2seq(network, number(examples, words, config), config, seed=4))
    assert curves[0] == curves[1]


def test_a_drrn_learns_which_command_pays() -> None:
    config = DrrnConfig.named("small", embedding=8, width=8, batch=16, rate=0.01)
    network = Drrn(config, 10)
    start = Reading((4,), (5,), (6,))
    episodes = [[Transition(start, (7,), 1.0, start, ())], [Transition(start, (8,), -1.0, start, ())]]
    optimiser = torch.optim.Adam(network.parameters(), lr=config.rate)
    for _ in range(60):
        loss = learn_from(
            network, network, [moment for episode in episodes for moment in episode] * 4, config.discount
        )
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    good, bad = network([start], [[(7,), (8,)]])[0].tolist()
    assert good > 0.5 > -0.5 > bad


def test_values_of_a_state_do_not_depend_on_its_neighbours() -> None:
    network = Drrn(DrrnConfig.named("small"), 20)
    first, second = Reading((4, 5), (6,), (7,)), Reading((8,), (9, 9, 9), ())
    together = network([first, second], [[(3,), (4, 5)], [(6,)]])
    assert torch.allclose(together[0], network([first], [[(3,), (4, 5)]])[0], atol=1e-6)
    assert [len(values) for values in together] == [2, 1]


def test_replay_prefers_the_best_episodes() -> None:
    reading = Reading((1,), (1,), (1,))
    bad, good, better = (Transition(reading, (n,), float(n), reading, ()) for n in (1, 2, 3))
    replay = Replay(capacity=100, priority=0.5)
    replay.add([bad], -40)
    replay.add([good] * 10, 95)
    replay.add([better] * 10, 96)
    batch = replay.sample(8, random.Random(0))
    assert batch[:4] == [better] * 4
    assert len(batch) == 8


def test_a_choice_is_greedy_or_drawn() -> None:
    values = torch.tensor([0.0, 5.0, 1.0])
    assert choose(values, random.Random(0), greedy=True) == 1
    drawn = [choose(torch.tensor([0.0, 0.0]), random.Random(seed)) for seed in range(50)]
    assert set(drawn) == {0, 1}


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("seq2seq:", "use seq2seq:FILE"),
        ("seq2seq:nowhere.pt", "no such checkpoint"),
        ("seq2seq:{file}", "is not a checkpoint"),
        ("drrn:{robot}", "write seq2seq:"),
    ],
)
def test_a_wrong_checkpoint_is_reported_with_the_way_out(name: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("hello")
    words = Vocabulary(("<pad>", "<unknown>", "<begin>", "<end>", "[SEP]"))
    save_checkpoint(tmp_path / "robot", SMALL, words, Seq2Seq(SMALL, 5), {})
    with pytest.raises(InputError, match=message):
        load_policy(name.format(file=tmp_path / "file", robot=tmp_path / "robot"))
