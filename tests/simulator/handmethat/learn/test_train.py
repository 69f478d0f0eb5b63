"""`askback train handmethat` from episodes to a robot that plays."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

torch = pytest.importorskip("torch", reason="learned robots need torch: pip install torch==2.13.0")

from app import cli  # noqa: E402
from simulator.errors import InputError  # noqa: E402
from simulator.handmethat.data import load_tasks  # noqa: E402
from simulator.handmethat.learn.seen import read, reading_game  # noqa: E402
from simulator.handmethat.learn.seq2seq import examples_of  # noqa: E402
from simulator.handmethat.learn.train import load_policy, with_demos  # noqa: E402


def train(*arguments: str) -> str:
    result = CliRunner().invoke(cli, ["train", "handmethat", *arguments])
    assert result.exit_code == 0, result.output
    return result.output


@pytest.mark.slow
@pytest.mark.parametrize(
    ("learner", "robot", "column"),
    [("seq2seq", "seq2seq", "loss"), ("drrn", "drrn", "score"), ("offline-drrn", "drrn-greedy", "score")],
)
def test_a_robot_is_trained_and_gives_commands(learner: str, robot: str, column: str, tmp_path: Path) -> None:
    out = tmp_path / "robot.pt"
    output = train(learner, "--limit", "3", "--updates", "12", "--out", str(out), "--seed", "5")
    assert f"{column}: " in output
    assert pd.read_csv(out.with_name("robot.pt.csv"))[column].notna().any()
    assert out.with_name("robot.pt.html").stat().st_size > 1000
    policy = load_policy(f"{robot}:{out}")
    seen = read(reading_game(load_tasks()[0], "partial", 40), ())
    command = policy.command(seen, seed=1)
    assert isinstance(command, str)
    if learner != "seq2seq":
        assert command in seen.valid


def test_examples_follow_the_demonstration_and_oracles_get_more_text() -> None:
    task = load_tasks()[0]
    plain, informed = (examples_of([task], "partial", oracle) for oracle in ("none", "goal"))
    assert [example.command for example in plain] == list(task.demo)
    assert task.demo[0] not in plain[0].history
    assert f"[SEP] {task.demo[0]} [SEP]" in plain[1].history
    assert informed[0].task == f"{plain[0].task} {task.goal}"
    assert examples_of([task], "full")[0].history != plain[0].history


def test_training_without_demonstrations_is_refused() -> None:
    with pytest.raises(InputError, match="demonstrated"):
        with_demos([], 0)
