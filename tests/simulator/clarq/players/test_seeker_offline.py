from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from personas.templates import render
from simulator.clarq import graph
from simulator.clarq.data import SeekerKnows, is_farewell, load_items
from simulator.clarq.players.experts_offline import OfflineExperts
from simulator.clarq.players.seeker_offline import STYLES, OfflineSeeker, case_of, open_topics
from simulator.clarq.score import DialogueScores, score_dialogue
from simulator.clarq.seeker.knowledge import Group
from simulator.clarq.seeker.noticing import ORDER, Topic
from simulator.errors import InputError
from simulator.seats import Line, Reply, View
from simulator.seeds import derive_seed
from trees import Background, Task

ENGLISH = Background(
    role="snow farmer",
    task="harvesting the first snow of the year",
    items=("A tin shovel", "A pearl shovel", "A sieve", "Some coins"),
    skills=("Whistle a high tune", "Whistle a low tune"),
    scenes=("Owl Ridge", "Hare Ridge", "Ice House (the door is guarded by a walrus)", "Tinker's Shop"),
)
OPENING = (
    "Climb the ridge before sunrise. Lift the snow with a shovel, cheer it up so that it does not melt,"
    " and buy a glass lid for the Ice House."
)
CHINESE = Background(
    role="雪农",
    task="收割今年的第一场雪",
    items=("一把锡铲子", "一把珍珠铲子", "一个筛子"),
    skills=("高声对雪唱歌", "低声对雪唱歌"),
    scenes=("猫头鹰岭", "野兔岭", "冰屋（门口有海象把守）"),
)
CHINESE_OPENING = "日出以前爬上山岭，用铲子把雪铲起来，哄它高兴，再去找铁匠奶奶，最后送到冰屋。"


def view(
    background: Background,
    replies: Sequence[str] = (),
    mine: Sequence[str] = (),
    *,
    language: str = "en",
    seed: int = 0,
    **options: object,
) -> View:
    """The view after a greeting, then the seeker's and the provider's lines in turn."""
    lines = [Line("provider", "Hello, I'm Jax.")]
    for position, text in enumerate(mine):
        lines += [
            Line("seeker", text),
            *(Line("provider", reply) for reply in replies[position : position + 1]),
        ]
    return View(
        episode_id="e",
        seat="seeker",
        number=len(lines),
        language=language,
        lines=tuple(lines),
        task=SeekerKnows(background, "", "zh" if language == "zh" else "en"),
        seed=seed,
        options=options,
    )


async def talk(
    background: Background, replies: Sequence[str], style: str = "careful", **more: object
) -> list[Reply]:
    """Return the seeker's lines if the provider answers with `replies` in order."""
    seeker, mine, spoken = OfflineSeeker(style), list[str](), list[Reply]()
    for turn in range(len(replies) + 1):
        reply = await seeker.reply(view(background, replies[:turn], mine, **more))  # type: ignore[arg-type]
        spoken.append(reply)
        mine.append(reply.text)
    return spoken


def topics(view: View) -> tuple[Topic, ...]:
    return open_topics(case_of(view))


def kinds(reply: Reply) -> list[str]:
    return [topic["kind"] for topic in reply.trace["topics"]]


def test_its_name_contains_its_style() -> None:
    assert [OfflineSeeker(style).name for style in STYLES] == [
        "offline/seeker",
        "offline/seeker:hasty",
        "offline/seeker:verbose",
    ]
    assert OfflineSeeker().kind == "offline"


def test_an_unknown_style_is_refused_with_the_known_ones() -> None:
    with pytest.raises(InputError, match="careful, hasty, verbose"):
        OfflineSeeker("sleepy")


@pytest.mark.each("style", STYLES)
async def test_first_it_asks_how_the_task_is_done(style: str) -> None:
    reply = await OfflineSeeker(style).reply(view(ENGLISH))
    assert ENGLISH.task in reply.text
    assert kinds(reply) == ["start"]
    assert not is_farewell(reply.text)


async def test_it_asks_again_if_the_provider_does_not_answer_and_gives_up_in_the_end() -> None:
    spoken = await talk(ENGLISH, ["What?", "Pardon?", "Who are you?"])
    assert [reply.trace["act"] for reply in spoken] == ["start", "start", "start", "goodbye"]


async def test_it_names_the_options_of_what_is_left_open_one_at_a_time() -> None:
    _, ridge, shovel, *_ = await talk(
        ENGLISH, [OPENING, "The snow lies on Hare Ridge.", "Take the tin shovel."]
    )
    assert "Owl Ridge or Hare Ridge" in ridge.text
    assert "the tin shovel or the pearl shovel" in shovel.text
    assert len(kinds(ridge)) == len(kinds(shovel)) == 1


async def test_what_a_line_has_settled_is_not_asked() -> None:
    asked = await talk(ENGLISH, [OPENING, "The snow lies on Hare Ridge, so bring the pearl shovel."])
    assert "pearl shovel" not in asked[-1].text
    assert kinds(asked[-1]) == ["where"]


async def test_it_comes_back_once_to_a_choice_that_the_reply_passed_over() -> None:
    replies = [
        OPENING,
        "Take the tin shovel.",
        "A glass lid is sold in Tinker's Shop.",
        *["I could not say."] * 9,
    ]
    spoken = await talk(ENGLISH, replies)
    about_the_ridge = [reply.text for reply in spoken if "Hare Ridge" in reply.text]
    assert len(about_the_ridge) == 2


async def test_every_kind_of_topic_is_noticed() -> None:
    noticed = topics(view(ENGLISH, [OPENING], ["Hello"]))
    by_kind = {topic.kind: topic for topic in reversed(noticed)}
    assert by_kind["choice"].options == ("Owl Ridge", "Hare Ridge")
    assert by_kind["where"].about == "a glass lid"
    assert by_kind["obstacle"].about == "the door is guarded by a walrus"
    assert by_kind["how"].about == "cheer it up so that it does not melt"
    assert {topic.options for topic in noticed if topic.kind == "alternatives"} == {
        ("whistle a high tune", "whistle a low tune")
    }


@pytest.mark.each(
    ("line", "kind", "about"),
    [
        ("Rub the snow with a suitable tool.", "which", "tool"),
        ("A woman called Ottoline knows the way; ask Ottoline for it.", "where", "Ottoline"),
        ("The walrus steps aside for whoever brings him a treat.", "which", "treat"),
        ("Begin when the air pressure is right.", "which", "air pressure"),
    ],
)
def test_a_later_line_raises_new_topics_and_they_come_first(line: str, kind: str, about: str) -> None:
    first = topics(
        view(ENGLISH, [OPENING, f"The snow on the ridge is shy. {line}"], ["Hello", "Which one?"])
    )[0]
    assert (first.kind, first.about) == (kind, about)


def test_what_a_skill_requires_must_be_found() -> None:
    background = Background(
        "diver", "diving for bells", skills=("Dive for bells (requires a copper helmet)",)
    )
    noticed = topics(view(background, ["You have to dive for bells at night."], ["Hello"]))
    assert ("where", "a copper helmet") in [(topic.kind, topic.about) for topic in noticed]


async def test_chinese() -> None:
    spoken = await talk(
        CHINESE,
        [
            CHINESE_OPENING,
            "雪在野兔岭上。",
            "用锡铲子吧。",
            "铁匠奶奶住在野兔岭。",
            "海象爱听歌，唱一首就行。",
        ],
        language="zh",
    )
    text = [reply.text for reply in spoken]
    assert CHINESE.task in text[0]
    assert "猫头鹰岭，还是野兔岭" in text[1]
    assert "锡铲子，还是珍珠铲子" in text[2]
    assert "铁匠奶奶" in text[3]
    assert "海象" in text[4]
    assert not any(is_farewell(line) for line in text[:-1])


@pytest.mark.each("style", STYLES)
async def test_it_leaves_when_it_is_told_that_it_knows_enough(style: str) -> None:
    enough = render("clarq/enough", "en", {}).text
    reply = (await talk(ENGLISH, [OPENING, enough], style))[-1]
    assert is_farewell(reply.text)
    assert "enough" in reply.trace["why"]


@pytest.mark.each("language", ["en", "zh"])
@pytest.mark.each("style", STYLES)
async def test_the_last_turn_allowed_says_goodbye(style: str, language: str) -> None:
    background, opening = (ENGLISH, OPENING) if language == "en" else (CHINESE, CHINESE_OPENING)
    spoken = await talk(background, [opening] * 3, style, language=language, turn_limit=3)
    assert [is_farewell(reply.text) for reply in spoken[:3]] == [False, False, True]


async def test_the_hasty_one_asks_two_questions_and_leaves() -> None:
    spoken = await talk(ENGLISH, [OPENING, "The snow lies on Hare Ridge.", "Take the tin shovel."], "hasty")
    assert [reply.trace["act"] for reply in spoken] == ["start", "ask", "ask", "goodbye"]


async def test_the_verbose_one_asks_all_at_once_and_repeats_what_was_not_answered() -> None:
    _, first, second = await talk(ENGLISH, [OPENING, "The snow lies on Hare Ridge."], "verbose")
    assert len(kinds(first)) == 3
    assert first.text.count("\n") >= 3
    assert "Owl Ridge" not in second.text
    assert "pearl shovel" in first.text and "pearl shovel" in second.text


@pytest.mark.each("style", STYLES)
async def test_the_same_view_gives_the_same_reply_and_seeds_change_words_only(style: str) -> None:
    seeds = range(6)
    replies = [
        await OfflineSeeker(style).reply(view(ENGLISH, [OPENING], ["Hello"], seed=seed)) for seed in seeds
    ]
    again = [
        await OfflineSeeker(style).reply(view(ENGLISH, [OPENING], ["Hello"], seed=seed)) for seed in seeds
    ]
    assert replies == again
    assert len({reply.text for reply in replies}) == 3
    assert len({str(reply.trace["topics"]) for reply in replies}) == 1


@pytest.mark.each("language", ["en", "zh"])
@pytest.mark.each("variant", range(3))
@pytest.mark.each("section", ["items", "skills", "scenes"])
@pytest.mark.each("kind", [*ORDER[1:], "passed"])
def test_every_wording_says_what_it_asks_for(kind: str, section: str, variant: int, language: str) -> None:
    for options in (("black door", "red door"), ()):
        for sort in ("", "known", "thing", "place", "person", "time", "value", "way"):
            if not options and kind in {"obstacle", "alternatives", "passed"}:
                continue
            topic = Topic(
                kind=kind,  # type: ignore[arg-type]
                about="door",
                options=options,
                sort=sort,
                section="person" if kind == "where" and sort == "person" else section,
                step="open the door",
            )
            variables = {"act": "ask", "manner": "careful", "variant": variant, "task": "t", "notes": []}
            first, again = (
                render(
                    "clarq/offline_seeker", language, {**variables, "topics": [topic], "again": again}
                ).text.strip()
                for again in (False, True)
            )
            for text in (first, again):
                assert all(option in text for option in options) if kind == "choice" else "door" in text
                assert not is_farewell(text)
                assert text[-1] in "?？"
            assert kind == "passed" or first != again


@pytest.mark.each("style", STYLES)
async def test_a_task_about_goodbyes_does_not_end_the_dialogue(style: str) -> None:
    background = Background(
        "host", "saying goodbye to the guests", items=("A loud goodbye", "A quiet goodbye")
    )
    spoken = await talk(background, ["Say goodbye to the guests at a suitable door."], style)
    assert all(is_farewell(reply.text) == (reply.trace["act"] == "goodbye") for reply in spoken)
    assert spoken[0].trace["act"] == "start"


WORDS = [
    *("the", "a", "ridge", "shovel", "snow", "Take", "take", "buy", "find", "you", "need", "to", "then"),
    *(
        "and",
        "Owl",
        "Hare",
        "with",
        "suitable",
        "tool",
        "Mr",
        "Frost",
        "who",
        "sells",
        ",",
        ".",
        "(",
        ")",
        ":",
    ),
    *("把", "铲子", "山岭", "需要", "找", "奶奶", "，", "。", "合适的", "工具", "再"),
]
LINES = st.one_of(st.text(max_size=120), st.lists(st.sampled_from(WORDS), max_size=30).map(" ".join))


@settings(max_examples=60, deadline=None)
@given(
    replies=st.lists(LINES, min_size=1, max_size=9),
    style=st.sampled_from(STYLES),
    language=st.sampled_from(["en", "zh"]),
    seed=st.integers(0, 2**31),
)
async def test_whatever_the_provider_says_it_speaks_and_ends_in_time(
    replies: list[str], style: str, language: str, seed: int
) -> None:
    background = ENGLISH if language == "en" else CHINESE
    limit = len(replies) + 1
    spoken = await talk(background, replies, style, language=language, seed=seed, turn_limit=limit)
    for reply in spoken:
        assert reply.text.strip()
        assert is_farewell(reply.text) == (reply.trace["act"] == "goodbye")
    assert is_farewell(spoken[-1].text)


async def play(task: Task, style: str) -> DialogueScores:
    async def record(turn: object) -> None:
        lines.append(turn)

    lines: list[object] = []
    context = graph.Context(
        episode_id="e",
        task=task,
        seeker=OfflineSeeker(style),
        provider=graph.ProviderAgent(OfflineExperts(), "offline"),
        record=record,
        seed=derive_seed(1, task.id),
    )
    state = (
        await graph.build_graph()
        .compile()
        .ainvoke(graph.rebuild([]), context=context, config={"recursion_limit": 90})
    )
    assert graph.ending(state, context.turn_limit) == "completed"
    return score_dialogue(task, [Line(seat, text) for seat, text in state["lines"]])


@pytest.mark.slow
@pytest.mark.parametrize("language", ["en", "zh"])
async def test_asking_back_pays_on_the_built_in_tasks(language: str) -> None:
    """A seeker that asks about open topics learns far more than one that asks two questions and leaves."""
    tasks = load_items("builtin", language)[::3]
    share: dict[str, float] = {}
    success: dict[str, float] = {}
    for style in STYLES:
        scores = [await play(task, style) for task in tasks]
        share[style] = sum(len(score.obtained) for score in scores) / sum(
            len(task.tree.nodes) for task in tasks
        )
        success[style] = sum(score.success for score in scores) / len(tasks)
    assert success["careful"] >= {"en": 0.7, "zh": 0.6}[language]
    assert success["careful"] > success["hasty"] + 0.3
    assert min(share["careful"], share["verbose"]) > share["hasty"] + 0.2


def test_every_process_takes_the_last_word_for_a_group() -> None:
    words = ("制作", "网式", "陷阱", "准备", "野兽", "放好")
    group = Group("skills", "陷阱", frozenset(words), ("制作网式陷阱", "制作洞式陷阱"), ())
    for last in words:
        others = "，".join(word for word in words if word != last)
        assert group.mention(f"{others}，{last}", "zh") == last
