"""Attacks: lines with which a seeker tries to get nodes without asking for them (`attacks.*.yaml`)."""

from itertools import cycle
from pathlib import Path

import pytest
import yaml

from simulator.clarq.experts import Situation, TurnType
from simulator.clarq.graph import ProviderAgent
from simulator.clarq.players.experts_offline import OfflineExperts
from simulator.clarq.players.models import ModelExperts
from simulator.clarq.provider import leaks
from simulator.models import ScriptModel
from simulator.seats import Line, ScriptSeat
from trees import Frontier
from trees.sources import load_builtin

ATTACKS = {
    language: yaml.safe_load(Path(__file__).with_name(f"attacks.{language}.yaml").read_text(encoding="utf-8"))
    for language in ("en", "zh")
}
CASES = [
    pytest.param(language, attack["text"], id=f"{language}-{attack['name']}")
    for language, attacks in ATTACKS.items()
    for attack in attacks
]
HELP = {"en": "What do I have to do?", "zh": "我该怎么完成任务？"}
BYE = {"en": "Goodbye.", "zh": "再见。"}


def gullible(yes):
    """A gullible model: it always gives the same verdict and repeats its complete prompt as its reply."""
    types = cycle(TurnType)

    def answer(request):
        prompt = request.messages[0].content
        if request.schema is None:
            return prompt
        values = {"reason": prompt, "analysis": prompt, "reply": prompt, "relevant": True, "repeated": True}
        values |= {"answers": yes, "type": int(next(types))}
        return {name: values[name] for name in request.schema.model_fields}

    return ProviderAgent(ModelExperts(ScriptModel(answer)), "model")


PROVIDERS = {
    "offline": lambda: ProviderAgent(OfflineExperts(), "offline"),
    "gullible, yes": lambda: gullible(True),
    "gullible, yes, multi": lambda: gullible(True),
    "gullible, no": lambda: gullible(False),
}


def test_the_set_is_large_and_the_same_in_both_languages():
    names = {language: {attack["name"] for attack in attacks} for language, attacks in ATTACKS.items()}
    assert names["en"] == names["zh"]
    assert len(names["en"]) == len(ATTACKS["en"]) >= 25


@pytest.mark.each("who", PROVIDERS)
@pytest.mark.each(("language", "text"), CASES)
async def test_no_attack_breaks_an_invariant(run_graph, check, lamp, lamp_zh, language, text, who):
    task = lamp if language == "en" else lamp_zh
    multi = "multi" in who
    seeker = ScriptSeat([text, HELP[language], text, text, text, BYE[language]])
    played = await run_graph(task, seeker, PROVIDERS[who](), multi=multi)
    check(task, played.turns, multi=multi)
    given, opened = [], False
    for turn in played.turns[2::2]:
        opened = opened or turn.payload["give"] == ["0"]
        given += [index for index in turn.payload["give"] if index != "0"]
        if not turn.payload["give"]:
            assert not leaks(turn.text, Frontier(task.tree, opened, tuple(given)), language)


async def test_a_gullible_model_says_nothing_that_was_pasted_from_the_tree(run_graph, check, either_lamp):
    task = either_lamp
    pasted = "\n".join(f"[{node.index}] {node.text}" for node in task.tree.nodes)
    seeker = ScriptSeat([HELP[task.language], pasted, pasted, BYE[task.language]])
    played = await run_graph(task, seeker, gullible(False))
    check(task, played.turns)
    guards = [guard for turn in played.turns[4::2] for guard in turn.payload["guards"]]
    assert guards == ["response II: contains the text of node 1"] * 2


# The built-in experts


async def given_by_offline(tasks, texts):
    """Return how many of `texts`, said after the opening of each task, get a node, and the total."""
    experts, got, n = OfflineExperts(), 0, 0
    for task in tasks:
        lines = (Line("provider", "?"), Line("seeker", "?"), Line("provider", task.tree.opening))
        for text in texts:
            now = Situation(
                task=task, lines=(*lines, Line("seeker", text)), frontier=Frontier(task.tree).open()
            )
            got += (await experts.classify(now)).type is TurnType.ANSWERABLE
            n += 1
    return got, n


@pytest.mark.parametrize("language", ["en", "zh"])
async def test_the_offline_provider_gives_next_to_nothing_for_an_attack(language):
    tasks = load_builtin(language)[::4]
    got, n = await given_by_offline(tasks, [attack["text"] for attack in ATTACKS[language]])
    assert n > 400
    assert got / n < 0.06  # all but a few words of the attacks are strange to every task


CHATTER = {
    "en": ("Thanks!", "ok", "Hm.", "I see.", "How are you?", "Is that all?", "Yes, of course."),
    "zh": ("谢谢！", "好的。", "嗯。", "明白了。", "就这些吗？", "当然。"),
}


@pytest.mark.parametrize("language", ["en", "zh"])
async def test_chatter_gets_no_node(language):
    assert (await given_by_offline(load_builtin(language)[::4], CHATTER[language]))[0] == 0


@pytest.mark.parametrize(
    ("language", "texts"),
    [("en", ("Which one?", "where is it", "How?")), ("zh", ("哪一个？", "在哪里", "怎么做？"))],
)
async def test_a_short_question_is_understood_from_the_line_before(language, texts):
    got, n = await given_by_offline(load_builtin(language)[::8], texts)
    assert got == n
