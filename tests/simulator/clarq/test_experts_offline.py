import pytest

from simulator.clarq.compose import contains
from simulator.clarq.experts import Situation, TurnType
from simulator.clarq.experts_offline import OfflineExperts
from simulator.seats import Line
from trees import Background, Frontier, Node, Task, Tree

ENGLISH = Task(
    id="lamp",
    type=99,
    language="en",
    background=Background(
        "keeper",
        "light the lamp",
        ("Whale oil", "Olive oil", "A brass key", "An iron key"),
        ("Polish the lens",),
        ("North cellar", "South cellar", "Harbour"),
    ),
    tree=Tree(
        "Fill the lamp with oil and light it. The wick lies in a cellar.",
        (
            Node("1", "Only whale oil burns bright enough.", "Which oil fills the lamp."),
            Node("2", "Go down to the south cellar for the wick.", "Which cellar holds the wick."),
            Node("2.1", "The iron key opens that cellar.", "How to get into the cellar, which key."),
        ),
    ),
)
CHINESE = Task(
    id="lamp",
    type=99,
    language="zh",
    background=Background(
        "守塔人",
        "点亮灯塔",
        ("鲸油", "橄榄油", "铜钥匙", "铁钥匙"),
        ("擦亮镜片",),
        ("北地窖", "南地窖", "港口"),
    ),
    tree=Tree(
        "往灯里加油，然后点亮它。灯芯在地窖里。",
        (
            Node("1", "只有鲸油够亮。", "回答应该用哪种油。"),
            Node("2", "灯芯要到南地窖去拿。", "回答灯芯在哪个地窖。"),
            Node("2.1", "铁钥匙能打开那个地窖。", "回答怎样进入地窖、用哪把钥匙。"),
        ),
    ),
)


def situation(utterance, task=ENGLISH, given=(), opened=True, seed=0):
    lines = (Line("provider", "?"), Line("seeker", "How?"), Line("provider", task.tree.opening))
    frontier = Frontier(task.tree, opened)
    for index in given:
        frontier = frontier.give([index])
        lines += (Line("seeker", "…?"), Line("provider", task.tree.by_index[index].text))
    return Situation(task=task, lines=(*lines, Line("seeker", utterance)), frontier=frontier, seed=seed)


@pytest.fixture(scope="module")
def experts():
    return OfflineExperts()


@pytest.mark.parametrize(
    ("task", "utterance", "given", "wanted"),
    [
        (ENGLISH, "Which oil should I use, the whale oil or the olive oil?", (), "1"),
        (ENGLISH, "There are two cellars. Which cellar has the wick?", (), "2"),
        (ENGLISH, "The cellar is locked. Which key do I need, the brass one or the iron one?", ("2",), "2.1"),
        (CHINESE, "我应该用哪种油，鲸油还是橄榄油？", (), "1"),
        (CHINESE, "这里有两个地窖，灯芯在北地窖还是南地窖？", (), "2"),
        (CHINESE, "地窖锁着，应该用铜钥匙还是铁钥匙？", ("2",), "2.1"),
    ],
)
async def test_a_plain_question_gets_its_node(experts, task, utterance, given, wanted):
    asked = situation(utterance, task, given)
    assert (await experts.hear(asked)).type is TurnType.ANSWERABLE
    choice = await experts.walk(asked, multi=False)
    assert choice.indices == (wanted,)
    assert sum(choice.details["chances"].values()) == pytest.approx(1, abs=0.01)


@pytest.mark.parametrize(
    ("task", "utterance", "yes"),
    [
        (ENGLISH, "Hello!", False),
        (ENGLISH, "Nice weather today, isn't it?", False),
        (ENGLISH, "Hi Jax, how do I light the lamp?", True),
        (ENGLISH, "Can you help me with my task?", True),
        (CHINESE, "你好！", False),
        (CHINESE, "今天天气真好。", False),
        (CHINESE, "你好，怎么才能点亮灯塔？", True),
        (CHINESE, "请帮我完成任务。", True),
    ],
)
async def test_the_opening_is_for_those_who_ask_about_the_task(experts, task, utterance, yes):
    assert (await experts.relevant(situation(utterance, task, opened=False))).yes is yes


@pytest.mark.parametrize("task", [ENGLISH, CHINESE])
async def test_no_response_two_tells_a_node(experts, task):
    for type in TurnType:
        said = {await experts.respond(situation("?", task, ("1",), seed=seed), type) for seed in range(5)}
        assert len(said) == 5
        for text in said:
            assert not any(contains(text, task.tree.by_index[i].text, task.language) for i in ("2", "2.1"))


async def test_words_are_not_repeated_in_a_row(experts):
    asked = situation("?")
    text = await experts.respond(asked, TurnType.VAGUE)
    again = Situation(
        task=ENGLISH, lines=(*asked.lines, Line("provider", text), asked.lines[-1]), frontier=asked.frontier
    )
    assert await experts.respond(again, TurnType.VAGUE) != text
