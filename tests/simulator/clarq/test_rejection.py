"""Whether the built-in provider knows when nobody asked: labelled questions, attributes, slips of the pen."""

import os
from pathlib import Path

import pytest

from simulator.clarq import provider
from simulator.clarq.attributes import asked_attribute, settled_attributes
from simulator.clarq.data import load_items
from simulator.clarq.labelled import load_questions, training_questions
from simulator.clarq.lexical import corrected, similar_topics
from simulator.clarq.players.experts_model import picks_one_of_several
from simulator.clarq.players.experts_offline import OfflineExperts
from simulator.errors import InputError
from trees import Background, Node
from trees.builtin import load_builtin

DATA = Path(os.environ.get("ASKBACK_SHARED", Path(__file__).parents[4] / "shared" / "data")) / "clarq"


async def given(experts, situation):
    decision = await provider.listen(experts, situation)
    if decision.walking:
        decision = await provider.walk(experts, situation, decision, multi=False)
    return decision.give


# The rates, with some slack: of 208 English and 188 Chinese questions to tasks that nothing is trained on.
@pytest.mark.parametrize("language", ["en", "zh"])
async def test_next_to_nothing_is_given_unasked(language):
    questions = load_questions(Path(__file__).with_name(f"held_back.{language}.yaml"), language)
    experts = OfflineExperts()
    answers = [(question.nodes, await given(experts, question.situation)) for question in questions]
    unasked = sum(1 for nodes, give in answers if give and not nodes)
    right = sum(1 for nodes, give in answers if (give[0] in nodes if give else not nodes))
    assert len(answers) > 180
    assert 100 * unasked / len(answers) <= 4
    assert right / len(answers) >= 0.9


def test_no_question_is_trained_on_and_held_back():
    seen = {(one.situation.task.id, one.situation.utterance) for one in training_questions()}
    for language in ("en", "zh"):
        held = load_questions(Path(__file__).with_name(f"held_back.{language}.yaml"), language)
        assert not seen & {(one.situation.task.id, one.situation.utterance) for one in held}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("no-such-task:\n- Which? -> 1\n", "no-such-task"),
        ("gather-resources-1:\n- Which peak?\n", "not of the form"),
        ("gather-resources-1:\n- Which tea? -> 2.1\n", "2.1 is not available"),
    ],
)
def test_a_label_that_does_not_fit_is_named(tmp_path, text, message):
    path = tmp_path / "questions.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=message):
        load_questions(path, "en")


ASKED = {
    "en": {
        "Where can I get willow?": "where",
        "When does it open?": "when",
        "Who is Basim?": "name",
        "Who built it?": "maker",
        "Who could help me?": "who",
        "How long is the film?": "length",
        "How many bells are there?": "count",
        "How do I open the door?": "how",
        "Which oil?": None,
        "I rest when I am tired.": None,
    },
    "zh": {
        "柳条在哪里买？": "where",
        "几点开门？": "when",
        "他是谁？": "name",
        "谁能帮我？": "who",
        "片子有多长？": "length",
        "一共有几口钟？": "count",
        "门怎么开？": "how",
        "哪种油？": None,
    },
}


@pytest.mark.parametrize("language", ["en", "zh"])
def test_what_is_asked_for(language):
    found = {asking: asked_attribute(asking, language) for asking in ASKED[language]}
    assert found == ASKED[language]


def test_what_a_node_settles():
    background = Background("a", "b", (), ("Dig deep",), ("Mill", "Barn"))
    node = Node("1", "The owl sleeps in the mill until midnight.", "Which building to look in.")
    assert {"where", "when"} <= settled_attributes(node, background, ["Mill"], "en")
    assert not {"length", "name", "price"} & settled_attributes(node, background, ["Mill"], "en")


def test_slips_of_the_pen():
    assert corrected("wich road, and were do i turn", "en") == "which road, and were do i turn"
    assert corrected("were do i turn", "en") == "where do i turn"
    assert corrected("要爬那座山", "zh") == "要爬哪座山"
    assert corrected("那座山高吗", "zh") == "那座山高吗"
    assert similar_topics("lagon", {"lagoon", "lantern"}) == ("lagoon",)
    assert similar_topics("tower", {"power", "lantern"}) == ()
    assert similar_topics("浅摊", {"浅滩", "水道"}) == ("浅滩",)


@pytest.mark.skipif(not DATA.is_dir(), reason=f"published tasks not found at {DATA}")
@pytest.mark.parametrize(("language", "count"), [("en", 554), ("zh", 428)])
def test_the_third_pass_hears_of_options_where_the_reference_does(language, count):
    nodes = [node for task in load_items(DATA, language) for node in task.tree.nodes]
    assert sum(picks_one_of_several(node.explanation or "") for node in nodes) == count
    assert (
        sum(
            picks_one_of_several(node.explanation or "")
            for task in load_builtin(language)
            for node in task.tree.nodes
        )
        > 200
    )
