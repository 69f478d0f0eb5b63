from typing import get_args

import pytest

from simulator.clarq.data import SeekerKnows
from simulator.clarq.players.models import SEED, Mode, ModelSeeker, messages_for
from simulator.errors import InputError
from simulator.models import ScriptModel, Unavailable
from simulator.models.keys import request_key
from simulator.seats import Line, View

PROMPT = "You keep the lamp. Say goodbye once you know."


def view(task, *texts, repeat=0):
    lines = tuple(Line("seeker" if n % 2 else "provider", text) for n, text in enumerate(texts))
    return View(
        episode_id="e",
        seat="seeker",
        number=len(lines),
        language=task.language,
        lines=lines,
        task=SeekerKnows(task.background, PROMPT, task.language),
        seed=1,
        repeat=repeat,
    )


async def asked(task, mode, *texts, answer="Which oil?", **changes):
    requests = []

    def script(request):
        requests.append(request)
        return answer

    reply = await ModelSeeker(ScriptModel(script), mode).reply(view(task, *texts, **changes))
    return reply.text, requests[0]


async def test_completion_mode_is_one_message_with_background_and_dialogue(either_lamp):
    you = {"en": "You", "zh": "你"}[either_lamp.language]
    _, request = await asked(either_lamp, "completion", "Hello?", "How?", "Fill it.")
    (message,) = request.messages
    assert message.role == "user"
    assert message.content.startswith(PROMPT)
    assert f"\nJax: Hello?\n{you}: How?\nJax: Fill it.\n" in message.content
    assert message.content.endswith(f"{you}:")
    assert len(request.prompt_version) == 12


async def test_chat_mode_is_a_conversation(either_lamp):
    _, request = await asked(either_lamp, "chat", "Hello?", "How?", "Fill it.")
    assert [(message.role, message.content) for message in request.messages] == [
        ("system", PROMPT),
        ("user", "Hello?"),
        ("assistant", "How?"),
        ("user", "Fill it."),
    ]
    assert request.prompt_version == ""


@pytest.mark.parametrize("mode", get_args(Mode))
async def test_a_request_is_reproducible_and_names_its_turn(either_lamp, mode):
    _, request = await asked(either_lamp, mode, "Hello?", "How?", "Fill it.", repeat=2)
    assert (request.temperature, request.seed, request.schema) == (0, SEED, None)
    assert (request.purpose, request.episode_id, request.turn_number, request.repeat) == ("seeker", "e", 3, 2)


@pytest.mark.parametrize("mode", get_args(Mode))
async def test_each_repetition_asks_the_model_again(lamp, mode):
    identity = ScriptModel(str).identity
    keys = [
        request_key(identity, (await asked(lamp, mode, "Hello?", repeat=repeat))[1]) for repeat in (0, 0, 1)
    ]
    assert keys[0] == keys[1] != keys[2]


@pytest.mark.parametrize("mode", get_args(Mode))
async def test_the_prompt_contains_everything_the_seeker_knows(either_lamp, mode):
    messages, _ = messages_for(view(either_lamp, "Hello?"), mode)
    text = "\n".join(message.content for message in messages)
    assert not any(node.text in text for node in either_lamp.tree.nodes)
    assert either_lamp.tree.opening not in text


@pytest.mark.each(
    ("answer", "expected"),
    [
        ("Which oil?", "Which oil?"),
        ("  You: Which oil? \n", "Which oil?"),
        ("你：用哪种油？", "用哪种油？"),
        ("你: 用哪种油？", "用哪种油？"),
        ("Your oil: which?", "Your oil: which?"),
        ("", ""),
        ("Which oil?\n\nJax: Whale oil.\nYou: Goodbye!", "Which oil?"),
        ("Which\noil, Jax: olive?", "Which\noil, Jax: olive?"),
        ("**You:** Which oil?\n**Jax:** Whale oil.\n**You:** Goodbye!", "Which oil?"),
    ],
)
@pytest.mark.each("mode", get_args(Mode))
async def test_the_speakers_name_is_no_part_of_what_is_said(lamp, mode, answer, expected):
    assert (await asked(lamp, mode, "Hello?", answer=answer))[0] == expected


def test_an_unknown_mode_is_refused():
    with pytest.raises(InputError, match="completion or chat, not 'dialogue'"):
        ModelSeeker(ScriptModel(str), "dialogue")


async def test_a_failing_model_is_not_hidden(lamp):
    seeker = ModelSeeker(ScriptModel(lambda request: Unavailable("down")))
    with pytest.raises(Unavailable):
        await seeker.reply(view(lamp, "Hello?"))
