"""Guarding of Response II: what it must not say, and what it may."""

from __future__ import annotations

import pytest

from personas.templates import render
from simulator.clarq.compose import nearly_reveals, says_all_is_known
from simulator.clarq.provider import respond_two
from simulator.clarq.results import read_results
from trees import Frontier
from trees.sources import load_builtin

ALL_KNOWN = {
    "en": (
        "That is all you need to know.",
        "That's everything you need!",
        "Looks good. This is all the information you need to complete the task.",
        "You now know everything you need to know.",
        "You have all the necessary information.",
        "You've got all the details you need.",
        "You already know everything.",
        "There is nothing else you need to know.",
        "Nothing else matters here.",
        "You don't need to know anything else.",
        "No further information is needed.",
        "That should be enough to complete your task.",
        "You have enough information to begin.",
        "You're all set!",
        "You are now ready to go.",
        "That’s all there is to know.",
        "Everything else is irrelevant.",
    ),
    "zh": (
        "这就是你需要知道的全部。",
        "你现在已经知道所有需要的信息了。",
        "这些就足够了。",
        "没有其他需要注意的了。",
        "其他的都不重要。",
        "你不需要知道别的了。",
        "需要知道的你都知道了。",
    ),
}
MAY_BE_SAID = {
    "en": (
        "Looks good.",
        "Your plan sounds fine to me.",
        "I cannot tell you anything about that.",
        "I have already told you about the lamp: fill it with oil.",
        "Do you have everything with you?",
        "Take all the lamps that you find.",
        "Please ask about the steps that are not clear to you.",
        "There may be more to know; ask me about a single step.",
        "I have nothing to say about the weather.",
        "Which of the steps do you need to know more about?",
    ),
    "zh": (
        "听起来不错。",
        "这个我不清楚。",
        "你可以再问问某一个步骤。",
        "我已经说过了，往灯里加油。",
        "你想知道哪一步？",
    ),
}


def test_claims_that_all_is_known():
    wrong = [
        (text, "passed")
        for lang, texts in ALL_KNOWN.items()
        for text in texts
        if not says_all_is_known(text, lang)
    ]
    wrong += [
        (text, "caught")
        for lang, texts in MAY_BE_SAID.items()
        for text in texts
        if says_all_is_known(text, lang)
    ]
    assert wrong == []


def test_a_revealing_response_is_replaced_and_the_guard_logged(lamp):
    frontier = Frontier(lamp.tree).open()
    turn = respond_two(frontier, "Fine. That is all you need to know.", "en")
    assert turn.text == render("clarq/steer_back", "en", {}).text.strip()
    assert turn.guards == ("response II: says that all is known",)
    turn = respond_two(frontier, "Well, only the whale oil burns brightly enough for it.", "en")
    assert turn.guards == ("response II: gives node 1 nearly away",)
    assert turn.text == render("clarq/steer_back", "en", {}).text.strip()
    assert respond_two(frontier, "I cannot say which oil.", "en").text == "I cannot say which oil."
    # Given nodes may be repeated in any words.
    given = frontier.give(["1"])
    assert respond_two(given, "Well, only the whale oil burns brightly enough for it.", "en").guards == ()


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_node_with_a_word_changed_is_nearly_given_away(language):
    """Yield each node of the built-in tasks with its middle word omitted, and with it replaced."""
    caught, tried = 0, 0
    for task in load_builtin(language):
        tree = task.tree
        for node in tree.nodes:
            words = node.text.split(" ") if language == "en" else list(node.text)
            middle = len(words) // 2
            joint = " " if language == "en" else ""
            less = joint.join([*words[:middle], *words[middle + 1 :]])
            more = joint.join([*words[:middle], "indeed" if language == "en" else "的", *words[middle:]])
            for line in (less, more):
                tried += 1
                caught += nearly_reveals(line, node.text, [tree.opening], language)
    assert tried > 50
    assert caught / tried > 0.9


@pytest.mark.parametrize("language", ["en", "zh"])
def test_openings_and_our_own_lines_give_no_node_away(language):
    wrong = []
    for task in load_builtin(language):
        tree = task.tree
        lines = [tree.opening, render("clarq/steer_back", language, {}).text]
        wrong += [
            (task.id, node.index)
            for node in tree.nodes
            for line in lines
            if nearly_reveals(line, node.text, [tree.opening], language)
        ]
    assert wrong == []


def test_published_responses_pass(published):
    """A guard that replaced lines of the published provider would make ours a different instrument."""
    tried, caught = 0, []
    for path in sorted((published / "results").glob("*.json")):
        for dialogue in read_results(path).dialogues:
            for step in dialogue.steps:
                # Once everything is given, the provider says that enough has been collected (step 3).
                if step.before.opened and step.before.available and not step.given:
                    text = dialogue.lines[step.position].text
                    tried += 1
                    if respond_two(step.before, text, dialogue.task.language).guards:
                        caught.append(text)
    assert tried > 150
    assert len(caught) <= tried * 0.01, caught
