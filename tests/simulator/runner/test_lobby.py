"""Players offered for the seat opposite; nobody else can take it."""

from __future__ import annotations

import pytest

from simulator.errors import InputError
from simulator.runner.lobby import MODELS, Opponent, player_menu, require_offered

OFFERED = player_menu(["offline/a", "offline/a:1"], {"OPENAI_API_KEY": "k", "ANTHROPIC_API_KEY": ""})


def test_a_menu_has_the_built_in_players_a_person_and_models_with_a_key():
    assert OFFERED[:3] == (
        Opponent("offline/a", True),
        Opponent("offline/a:1", True),
        Opponent("person", True),
    )
    models = OFFERED[3:]
    assert {model.name: model.requires for model in models} == MODELS
    assert {model.available for model in models if model.requires == "OPENAI_API_KEY"} == {True}
    assert {model.available for model in models if model.requires == "ANTHROPIC_API_KEY"} == {False}


@pytest.mark.each("name", ["offline/a", "offline/a:1", "person", "openai/gpt-4o"])
def test_who_is_offered_may_sit_down(name):
    require_offered(name, "seeker", OFFERED)


@pytest.mark.each(
    "name",
    ["offline/a:2", "offline/b", "script:/etc/passwd", "anthropic/claude-sonnet-4-5", "openai/other", ""],
)
def test_who_is_not_offered_may_not(name):
    with pytest.raises(InputError, match="the seeker's seat here; choose a player"):
        require_offered(name, "seeker", OFFERED)
