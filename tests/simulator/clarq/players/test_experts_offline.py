import pytest
from shared_data import SHARED

from simulator.clarq.compose import contains
from simulator.clarq.experts import Situation, TurnType
from simulator.clarq.players import experts_offline
from simulator.clarq.players.experts_offline import OfflineExperts
from simulator.clarq.results import read_results
from simulator.seats import Line
from trees import Background, Frontier, Node, Task, Tree

RESULTS = SHARED / "clarq" / "results"

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
    ("task", "utterance", "given", "node"),
    [
        (ENGLISH, "Which oil should I use, the whale oil or the olive oil?", (), "1"),
        (ENGLISH, "There are two cellars. Which cellar has the wick?", (), "2"),
        (ENGLISH, "The cellar is locked. Which key do I need, the brass one or the iron one?", ("2",), "2.1"),
        (CHINESE, "我应该用哪种油，鲸油还是橄榄油？", (), "1"),
        (CHINESE, "这里有两个地窖，灯芯在北地窖还是南地窖？", (), "2"),
        (CHINESE, "地窖锁着，应该用铜钥匙还是铁钥匙？", ("2",), "2.1"),
        # Saying what one lacks, cannot do or does not know is a question.
        (ENGLISH, "I have two kinds of oil and can't tell them apart", (), "1"),
        (ENGLISH, "I don't have a wick", (), "2"),
        (CHINESE, "灯芯我没有", (), "2"),
        (CHINESE, "地窖我进不去", ("2",), "2.1"),
    ],
)
async def test_a_plain_question_gets_its_node(experts, task, utterance, given, node):
    asked = situation(utterance, task, given)
    assert (await experts.classify(asked)).type is TurnType.ANSWERABLE
    choice = await experts.walk(asked, multi=False)
    assert choice.indices == (node,)
    assert sum(choice.details["chances"].values()) == pytest.approx(1, abs=0.01)


@pytest.mark.each(
    ("task", "utterance"),
    [
        (ENGLISH, "I have no fear of cellars."),
        (ENGLISH, "I don't have any doubts about the oil."),
        (ENGLISH, "I remember when my uncle had a cellar."),
        (ENGLISH, "I know how oil is made."),
        (ENGLISH, "My aunt, who owns a cellar, sells oil."),
        (CHINESE, "我没有去过北地窖。"),
        (CHINESE, "我没有兴趣。"),
        (CHINESE, "我知道鲸油怎么炼。"),
    ],
)
async def test_a_remark_asks_for_nothing(experts, task, utterance):
    assert (await experts.classify(situation(utterance, task))).type is not TurnType.ANSWERABLE


@pytest.mark.each(
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
async def test_no_response_ii_reveals_a_node(experts, task):
    for type in TurnType:
        replies = {await experts.respond(situation("?", task, ("1",), seed=seed), type) for seed in range(5)}
        assert len(replies) == 5
        for text in replies:
            assert not any(contains(text, task.tree.by_index[i].text, task.language) for i in ("2", "2.1"))


async def test_words_are_not_repeated_in_a_row(experts):
    asked = situation("?")
    text = await experts.respond(asked, TurnType.VAGUE)
    again = Situation(
        task=ENGLISH, lines=(*asked.lines, Line("provider", text), asked.lines[-1]), frontier=asked.frontier
    )
    assert await experts.respond(again, TurnType.VAGUE) != text


@pytest.mark.parametrize(
    ("task", "utterance", "given", "type"),
    [
        (ENGLISH, "So I fill the lamp with whale oil and polish the lens.", ("1",), TurnType.WHOLE_TASK),
        (ENGLISH, "I fill the lamp with whale oil. Is that correct?", ("1",), TurnType.WHOLE_TASK),
        (
            ENGLISH,
            "How long does the lens have to be polished in the harbour?",
            ("1",),
            TurnType.UNANSWERABLE,
        ),
        (ENGLISH, "Sorry, which oil burns bright enough?", ("1",), TurnType.REPEATED),
        (ENGLISH, "Who won the football game yesterday evening?", ("1",), TurnType.UNRELATED),
        (ENGLISH, "Is there anything else?", ("1",), TurnType.VAGUE),
        (ENGLISH, "Thanks a lot.", ("1",), TurnType.VAGUE),
        (ENGLISH, "what else?", ("1",), TurnType.VAGUE),
        (ENGLISH, "Is that all?", ("1",), TurnType.VAGUE),
        (ENGLISH, "which oil was it again", ("1",), TurnType.REPEATED),
        (ENGLISH, "I don't have any more questions about the oil.", ("1",), TurnType.WHOLE_TASK),
        (CHINESE, "那么我往灯里加鲸油，再擦亮镜片。", ("1",), TurnType.WHOLE_TASK),
        (CHINESE, "镜片要在港口擦亮多长时间？", ("1",), TurnType.UNANSWERABLE),
        (CHINESE, "抱歉，哪种油够亮？", ("1",), TurnType.REPEATED),
        (CHINESE, "昨天晚上的足球比赛谁赢了？", ("1",), TurnType.UNRELATED),
        (CHINESE, "还有其他的吗？", ("1",), TurnType.VAGUE),
        (CHINESE, "就这些吗", ("1",), TurnType.VAGUE),
        (CHINESE, "哪种油来着", ("1",), TurnType.REPEATED),
    ],
)
async def test_what_no_node_answers_has_a_type(experts, task, utterance, given, type):
    asked = situation(utterance, task, given)
    heard = await experts.classify(asked)
    assert heard.type is type, heard.reason
    assert (await experts.walk(asked, multi=False)).indices == ()
    assert (await experts.walk(asked, multi=True)).indices == ()


async def test_the_type_is_answerable_just_when_the_walk_gives_something(experts):
    for utterance in ("Which cellar?", "What about the weather?", "Is that right?", "The key?", "How?", ""):
        asked = situation(utterance)
        answerable = (await experts.classify(asked)).type is TurnType.ANSWERABLE
        given = [(await experts.walk(asked, multi=multi)).indices for multi in (False, True)]
        assert answerable is any(given)


async def test_a_repeated_question_is_compared_once_with_what_was_given(experts, monkeypatch):
    compare, compared = experts_offline._fits_given, []
    monkeypatch.setattr(experts_offline, "_fits_given", lambda each: compared.append(each) or compare(each))
    asked = situation("Sorry, which oil burns bright enough?", given=("1",))
    assert (await experts.classify(asked)).type is TurnType.REPEATED
    assert len(compared) == 1


async def test_nothing_is_walked_when_nothing_is_left(experts):
    asked = situation("Which key opens the cellar?", given=("1", "2", "2.1"))
    assert (await experts.walk(asked, multi=False)).indices == ()
    assert (await experts.classify(asked)).type is TurnType.REPEATED


@pytest.mark.parametrize(
    ("task", "utterance"),
    [
        (
            ENGLISH,
            "Which oil do I take, whale oil or olive oil? And which cellar has the wick, north or south?",
        ),
        (CHINESE, "我应该用哪种油，鲸油还是橄榄油？另外，灯芯在北地窖还是南地窖？"),
    ],
)
async def test_two_questions_get_one_answer_or_both(experts, task, utterance):
    asked = situation(utterance, task)
    assert (await experts.walk(asked, multi=False)).indices == ("1",)
    assert (await experts.walk(asked, multi=True)).indices == ("1", "2")


async def test_a_pointing_question_continues_from_the_last_node(experts):
    assert (await experts.walk(situation("Which one?", given=("2",)), multi=False)).indices == ("2.1",)
    assert (await experts.walk(situation("哪一把？", CHINESE, ("2",)), multi=False)).indices == ("2.1",)
    assert (await experts.walk(situation("How?", given=("1",)), multi=False)).indices == ()


@pytest.mark.parametrize("task", [ENGLISH, CHINESE])
async def test_what_is_asked_again_is_said_again(experts, task):
    question = "Which oil burns bright enough?" if task is ENGLISH else "哪种油够亮？"
    reply = await experts.respond(situation(question, task, ("1", "2")), TurnType.REPEATED)
    assert contains(reply, task.tree.by_index["1"].text, task.language)


async def test_a_task_without_explanations_is_played_as_well(experts):
    bare = Task(
        id="bare", type=99, language="en", background=ENGLISH.background,
        tree=Tree(ENGLISH.tree.opening, tuple(Node(n.index, n.text) for n in ENGLISH.tree.nodes)),
    )  # fmt: skip
    choice = await experts.walk(situation("Which cellar has the wick, north or south?", bare), multi=False)
    assert choice.indices == ("2",)


async def test_the_same_situation_gets_the_same_answer_from_anybody(experts):
    asked = situation("Which cellar has the wick?", seed=3)
    other = OfflineExperts()
    assert await other.walk(asked, multi=False) == await experts.walk(asked, multi=False)
    assert await other.respond(asked, TurnType.VAGUE) == await experts.respond(asked, TurnType.VAGUE)


@pytest.mark.skipif(
    not RESULTS.is_dir(), reason=f"published results not found at {RESULTS}; set ASKBACK_SHARED"
)
async def test_it_opens_when_the_published_provider_does(experts):
    first = [
        (dialogue, step)
        for path in sorted(RESULTS.glob("*.json"))
        for dialogue in read_results(path).dialogues
        for step in list(dialogue.steps)[:1]
    ]
    assert len(first) == 300
    for dialogue, step in first:
        asked = Situation(task=dialogue.task, lines=dialogue.lines[: step.position], frontier=step.before)
        assert (await experts.relevant(asked)).yes is step.opens, asked.utterance
