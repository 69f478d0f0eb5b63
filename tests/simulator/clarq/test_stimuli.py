"""The paper's personas, and experts of several models."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from app import cli
from logs import LogReader
from simulator.clarq.data import PROVIDER, SEEKER, SeekerKnows, background_text
from simulator.clarq.experts import read_experts
from simulator.clarq.graph import ProviderAgent, ProviderKnows
from simulator.clarq.machine import models_of, seat_for
from simulator.clarq.players.models import messages_for
from simulator.errors import InputError
from simulator.models import ScriptModel
from simulator.seats import Line, View
from trees import Frontier
from trees.sources import load_builtin

GREETINGS = {"en": "what can help you?", "zh": "有什么可以帮助你？"}


def view(task, *lines):
    return View(
        episode_id="e",
        seat="seeker",
        number=len(lines),
        language=task.language,
        lines=tuple(Line("seeker" if place % 2 else "provider", text) for place, text in enumerate(lines)),
        task=SeekerKnows(task.background, background_text(task), task.language),
        seed=0,
    )


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_papers_stimuli(language):
    task = load_builtin(language)[0]
    seen = view(task, GREETINGS[language], "How?", "Like this.")
    background = background_text(task)
    (system, *spoken), _ = messages_for(seen, "chat", "paper")
    assert (system.role, system.content) == ("system", background)
    assert [(message.role, message.content) for message in spoken] == [
        ("user", f"Jax: {GREETINGS[language]}"),
        ("assistant", "How?"),
        ("user", "Jax: Like this."),
    ]
    (message,), version = messages_for(seen, "completion", "paper")
    you = "You" if language == "en" else "你"
    plan = [background, f"Jax: {GREETINGS[language]}\n{you}: How?\nJax: Like this."]
    assert message.content.startswith("\n\n".join(plan) + "\n\n")
    assert message.content.rsplit("\n\n", 1)[1].count("\n") == 0
    assert version != messages_for(seen, "completion")[1]
    assert [message.content for message in messages_for(seen, "chat")[0]][1:] == [
        GREETINGS[language],
        "How?",
        "Like this.",
    ]


def test_personas_are_chosen_by_an_option(tmp_path, monkeypatch):
    monkeypatch.setenv("ASKBACK_HOME", str(tmp_path / "home"))
    log = tmp_path / "log.sqlite"

    def play(*arguments):
        line = ["run", "clarq", "--limit", "2", "--lang", "both", *arguments, "--log", str(log)]
        result = CliRunner().invoke(cli, line)
        assert result.exit_code == 0, result.output

    play("--run", "ours")
    play("--run", "theirs", "--personas", "paper")
    with LogReader(log) as reader:
        greeted = {
            run: {episode.language: reader.turns(episode.id)[0].text for episode in reader.episodes(run)}
            for run in ("ours", "theirs")
        }
        options = [episode.options for episode in reader.episodes("theirs")]
    assert greeted["theirs"] == GREETINGS
    assert set(greeted["ours"].values()).isdisjoint(GREETINGS.values())
    assert {chosen["personas"] for chosen in options} == {"paper"}
    with pytest.raises(InputError, match="default or paper"):
        seat_for(SEEKER, "x/y", lambda name: ScriptModel(lambda request: ""), {"personas": "mine"})


def test_each_expert_can_be_another_model():
    url = "http://localhost:8000/v1"
    cases = {
        "experts:type=a/b,walk=c/d,respond=e/f": {
            "opening": "a/b", "type": "a/b", "walk": "c/d", "join": "e/f", "respond": "e/f",
        },
        f"experts:walk=openai/m@{url}": dict.fromkeys(
            ("opening", "type", "walk", "join", "respond"), f"openai/m@{url}"
        ),
        "experts:type=offline/experts, respond=a/b, join=c/d": {
            "opening": "offline/experts", "type": "offline/experts", "walk": "offline/experts", "join": "c/d",
            "respond": "a/b",
        },
    }  # fmt: skip
    assert {name: read_experts(name) for name in cases} == cases
    assert models_of("experts:type=a/b,walk=c/d,respond=a/b") == ("a/b", "c/d")
    assert models_of("openai/m") == ("openai/m",)
    for wrong in (
        "experts:",
        "experts:type",
        "experts:type=",
        "experts:talk=a/b",
        "experts:type=a/b,type=c/d",
    ):
        with pytest.raises(InputError, match="experts:type=A,walk=B,respond=C"):
            read_experts(wrong)


async def test_every_expert_asks_its_own_model(lamp):
    asked = []

    def models(name):
        def answer(request):
            asked.append((name, request.purpose))
            if request.schema is None:
                return "I cannot say."
            fields = request.schema.model_fields
            return {key: value for key, value in ANSWERS.items() if key in fields}

        return ScriptModel(answer)

    seat = seat_for(PROVIDER, "experts:type=t/t,walk=w/w,respond=r/r", models, {})
    assert isinstance(seat, ProviderAgent)
    assert seat.name == "experts:type=t/t,walk=w/w,respond=r/r"
    for frontier in (Frontier(lamp.tree), Frontier(lamp.tree).open()):
        await seat.reply(
            View(
                episode_id="e",
                seat="provider",
                number=2,
                language="en",
                lines=(Line("provider", "Hello."), Line("seeker", "Which oil?")),
                task=ProviderKnows(lamp, frontier),
                seed=0,
            )
        )
    by_purpose = {
        purpose: {name for name, asked_for in asked if asked_for == purpose} for _, purpose in asked
    }
    assert by_purpose == {
        "provider.opening": {"t/t"},
        "provider.type": {"t/t"},
        "provider.node": {"w/w"},
        "provider.node_again": {"w/w"},
        "provider.assumption": {"w/w"},
        "provider.respond_3": {"r/r"},
    }


ANSWERS = {"reason": "", "relevant": True, "type": 2, "analysis": "", "answers": False}
