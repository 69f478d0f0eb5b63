"""The offline seeker over complete dialogues: one question per slot, and an end."""

import asyncio
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest

from personas.templates import render
from simulator.clarq import graph
from simulator.clarq.data import SeekerKnows, load_items
from simulator.clarq.players.experts_offline import OfflineExperts
from simulator.clarq.players.seeker_offline import OfflineSeeker, make_case, plan
from simulator.clarq.seeker.knowledge import knowledge_of, split_entry
from simulator.clarq.seeker.noticing import Topic
from simulator.clarq.seeker.reading import read_requirement
from simulator.seats import Line, View
from simulator.seeds import derive_seed
from trees import Background, Task

NOTHING = {"en": "I cannot say more about that.", "zh": "这一点我说不了更多。"}


@cache
def builtin_turns(language: str) -> tuple[tuple[Task, tuple[tuple[View, str, dict, bool], ...]], ...]:
    """Return view, line, trace and whether a node was given, per turn of every third built-in task."""
    return tuple((task, asyncio.run(_played(task))) for task in load_items("builtin", language)[::3])


async def _played(task: Task) -> tuple[tuple[View, str, dict, bool], ...]:
    turns: list = []
    views: list[View] = []

    class Watched(OfflineSeeker):
        async def reply(self, view: View):
            views.append(view)
            return await super().reply(view)

    async def record(turn: object) -> None:
        turns.append(turn)

    context = graph.Context(
        episode_id="e",
        task=task,
        seeker=Watched(),
        provider=graph.ProviderAgent(OfflineExperts(), "offline"),
        record=record,
        seed=derive_seed(1, task.id),
    )
    await (
        graph.build_graph()
        .compile()
        .ainvoke(graph.rebuild([]), context=context, config={"recursion_limit": 90})
    )
    mine = [number for number, turn in enumerate(turns) if turn.seat == "seeker"]
    return tuple(
        (
            view,
            turns[number].text,
            turns[number].payload["trace"],
            number + 1 < len(turns) and bool(turns[number + 1].payload.get("give")),
        )
        for view, number in zip(views, mine, strict=True)
    )


@pytest.mark.parametrize("language", ["en", "zh"])
def test_no_question_goes_through_the_inventory(language: str) -> None:
    """A question names background entries of one kind only, or entries mentioned before."""
    scanned = []
    for task, turns in builtin_turns(language):
        knowledge = knowledge_of(task.background, language)
        alike = [set(group.options) for group in knowledge_of(task.background, language).groups]
        names = [split_entry(text).name for text in (*task.background.items, *task.background.skills)]
        for view, text, trace, _ in turns:
            heard = knowledge.terms(" ".join(line.text for line in view.lines if line.seat == "provider"))
            named = [name for name in names if name.lower() in text.lower() and trace["act"] == "ask"]
            odd = [name for name in named if not knowledge.terms(name) & heard]
            if len(odd) > 1 and not any(
                {name.lower() for name in odd} <= {o.lower() for o in g} for g in alike
            ):
                scanned.append((task.id, text))
    assert not scanned


@pytest.mark.parametrize("language", ["en", "zh"])
def test_what_was_refused_is_asked_once_more_at_most_and_in_other_words(language: str) -> None:
    asked = 0
    for task, turns in builtin_turns(language):
        refused: dict[str, list[str]] = {}
        texts = [text for _, text, trace, _ in turns if trace["act"] == "ask"]
        assert len(texts) == len(set(texts)), task.id
        for _, text, trace, given in turns:
            for topic in trace["topics"] if trace["act"] == "ask" else ():
                asked += 1
                earlier = refused.setdefault(topic["slot"], [])
                assert len(earlier) < 2, (task.id, text)
                if not given:
                    earlier.append(text)
    assert asked > 60


async def _talk(
    background: Background, replies: Sequence[str], language: str = "en"
) -> list[tuple[str, dict]]:
    """Return the seeker's lines and traces if the provider says `replies` and then repeats the last."""
    lines, spoken = [Line("provider", "Hello.")], []
    for turn in range(30):
        view = View(
            episode_id="e",
            seat="seeker",
            number=len(lines),
            language=language,
            lines=tuple(lines),
            task=SeekerKnows(background, "", language),
            seed=turn,
            options={"turn_limit": 40},
        )
        reply = await OfflineSeeker().reply(view)
        spoken.append((reply.text, reply.trace))
        if reply.trace["act"] == "goodbye":
            break
        lines += [Line("seeker", reply.text), Line("provider", replies[min(turn, len(replies) - 1)])]
    return spoken


@pytest.mark.parametrize("language", ["en", "zh"])
async def test_against_a_wall_every_slot_is_asked_and_given_up(language: str) -> None:
    """The seeker gives up on a provider that says nothing new after the opening."""
    for task in load_items("builtin", language)[::6]:
        spoken = await _talk(task.background, [task.tree.opening, NOTHING[language]], language)
        assert spoken[-1][1]["act"] == "goodbye", task.id
        slots = [topic["slot"] for _, trace in spoken for topic in trace["topics"]]
        assert max(map(slots.count, slots)) <= 2
        texts = [text for text, _ in spoken]
        assert len(texts) == len(set(texts)), task.id


async def test_it_stops_when_the_slots_are_closed() -> None:
    background = Background(
        "snow farmer",
        "harvesting the first snow",
        items=("A tin shovel", "A pearl shovel", "A sieve", "Some coins"),
        scenes=("Owl Ridge", "Hare Ridge", "Tinker's Shop"),
    )
    opening = "Walk up the ridge before sunrise and take a shovel with you."
    replies = [opening, "The snow lies on Hare Ridge.", "Take the tin shovel."]
    acts = [trace["act"] for _, trace in await _talk(background, [*replies, NOTHING["en"]])]
    assert acts == ["start", "ask", "ask", "goodbye"]


@pytest.mark.parametrize(
    ("reply", "asked"),
    [
        ("You have to defeat the goblin and the chimera in the arena.", "the goblin"),
        ("In the arena, replace the crystal oscillator, the inductor and the chimera.", "the inductor"),
    ],
)
async def test_things_of_one_enumeration_are_all_asked_about(reply: str, asked: str) -> None:
    background = Background("fighter", "winning in the arena", skills=("Cast ice magic", "Cast fire magic"))
    spoken = await _talk(background, [reply, "The chimera fears ice magic.", NOTHING["en"]])
    assert any(text.endswith(f"about {asked}?") for text, _ in spoken)


async def test_a_choice_decided_in_passing_is_confirmed() -> None:
    background = Background(
        "boat builder",
        "building a boat",
        scenes=("East Coast", "West Coast"),
        items=("Pine wood", "Oak wood"),
    )
    opening = "Take wood to the coast and build the boat there."
    replies = [opening, "Take the oak wood. Ropes lie on the East Coast.", NOTHING["en"]]
    spoken = await _talk(background, replies)
    assert any("East Coast" in text and "West Coast" in text for text, _ in spoken)


@pytest.mark.each(
    ("language", "reply", "asked"),
    [
        ("en", "Meet Henry at the tavern at the agreed trading time.", "the agreed trading time?"),
        ("en", "Be at the auction on time.", " time"),
        ("en", "Return the book at the same time.", ""),
        ("zh", "在约好的交易时间到酒馆找到亨利。", "交易时间"),
        ("zh", "按时参加拍卖活动。", "时间"),
        ("zh", "在十分钟时间内写好名字。", ""),
    ],
)
async def test_the_time_of_an_appointment_is_asked(language: str, reply: str, asked: str) -> None:
    task = "meeting Henry, the auction and the book" if language == "en" else "找到亨利，参加拍卖，写好名字"
    spoken = await _talk(Background("", task), [reply, NOTHING[language]], language)
    assert [trace["act"] for _, trace in spoken].count("start") == 1
    asking = [text for text, trace in spoken for topic in trace["topics"] if topic["kind"] == "which"]
    times = [text for text in asking if "time" in text or "时间" in text]
    assert len(times) == bool(asked), times
    assert all(asked in text for text in times)


async def test_it_gives_up_asking_how_after_two_refusals() -> None:
    opening = "Teach the goose to sing. Teach the cat to dance. Teach the dog to knit. Teach the cow to fly."
    spoken = await _talk(Background("teacher", "teaching"), [opening, NOTHING["en"]])
    assert [trace["topics"][0]["kind"] for _, trace in spoken if trace["act"] == "ask"] == ["how", "how"]


async def test_a_person_is_asked_for_as_one_of_several_not_by_name() -> None:
    reply = "去说服一家邻居，号角一响就来帮忙。"
    for seed in range(3):
        now = View(
            episode_id="e",
            seat="seeker",
            number=3,
            language="zh",
            lines=(Line("provider", "你好。"), Line("seeker", "你好！"), Line("provider", reply)),
            task=SeekerKnows(Background("守卫", "说服邻居来守城"), "", "zh"),
            seed=seed,
        )
        text = (await OfflineSeeker().reply(now)).text
        assert "哪一位" in text
        assert "谁" not in text


def test_a_plan_depends_only_on_the_dialogue() -> None:
    task = load_items("builtin", "en")[3]
    texts = (task.tree.opening, *(node.text for node in task.tree.nodes))
    plans = [plan(make_case(task.background, texts[:end], "en"), "careful") for end in range(len(texts) + 1)]
    for shorter, longer in pairwise(plans):
        assert longer[:-1] == shorter


# Grammar


@pytest.mark.each(
    ("text", "language", "sort", "what"),
    [
        ("entering content and address", "en", "activity", "enter content and address"),
        ("choosing one of the four directions", "en", "activity", "choose one of the four directions"),
        ("cutting the ropes", "en", "activity", "cut the ropes"),
        ("to attach a file", "en", "activity", "attach a file"),
        ("knowing the spell", "en", "knowledge", "spell"),
        ("knowledge of clocks", "en", "knowledge", "clocks"),
        ("the recipient's email address", "en", "knowledge", "recipient's email address"),
        ("painting supplies", "en", "thing", "painting supplies"),
        ("lightning crystals", "en", "thing", "lightning crystals"),
        ("a copper helmet", "en", "thing", "a copper helmet"),
        ("选择四个方向之一", "zh", "activity", "选择四个方向之一"),
        ("输入地址和内容", "zh", "knowledge", "地址和内容"),
        ("消耗木材", "zh", "thing", "木材"),
        ("水晶石", "zh", "thing", "水晶石"),
    ],
)
def test_what_a_skill_requires_is_a_thing_knowledge_or_an_activity(text, language, sort, what) -> None:
    requirement = read_requirement(text, language)
    assert (requirement.sort, requirement.what) == (sort, what)


WRONG = {
    "en": re.compile(
        r"\b(?:an?|the) (?:an?|the)\b|\b(?:find|get|for|meet) \w+ing (?:the|an?|one|some|of|\w+ and)\b"
        r"|\ba [aeio]\w|\ban [bcdfgjklmnpqrstvwyz]|  |[,.;:]\?|\?\?|[Ww]hich (?:the|an?)\b"
        r"|\b(?:find|get) to\b|^[a-z]"
    ),
    "zh": re.compile(r"[?,;!]|[，。：]？|？？|，，|“”|(?:弄到|找)(?:选择|输入|知道|消耗|对|了)"),
}


def _all_topics(task: Task, language: str) -> Iterator[Topic]:
    """Yield all topics that may be noticed in the course of a task."""
    texts = (task.tree.opening, *(node.text for node in task.tree.nodes))
    for end in range(1, len(texts) + 1):
        yield from make_case(task.background, texts[:end], language).noticed


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_question_about_the_built_in_tasks_is_well_formed(language: str) -> None:
    _check_grammar(load_items("builtin", language), language)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_question_about_published_tasks_is_well_formed(language: str, published: Path) -> None:
    _check_grammar(load_items(published, language)[::4], language)


def _check_grammar(tasks: Sequence[Task], language: str) -> None:
    questions = set()
    for task in tasks:
        for number, topic in enumerate(dict.fromkeys(_all_topics(task, language))):
            variables = {"act": "ask", "manner": "careful", "variant": number, "task": "t", "notes": []}
            variables |= {"topics": [topic], "again": number % 4 == 3}
            questions.add(" ".join(render("clarq/offline_seeker", language, variables).text.split()))
    assert len(questions) > 300
    assert not [text for text in questions if WRONG[language].search(text) or text[-1] not in "?？"]


def test_what_is_listed_twice_is_no_choice():
    twice = Background("a guard", "keep the peace", items=("a sword", "a sword", "an apple"))
    assert knowledge_of(twice, "en").groups == ()
    assert knowledge_of(replace(twice, items=("a sword", "a bow", "an apple")), "en").groups
