import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.clarq.compose import contains, join_texts, strip_final

TEXTS = st.text(min_size=1).filter(strip_final)


@pytest.mark.each(
    ("line", "text", "language", "expected"),
    [
        ("Well. Take the NORTH road, it is dry.", "Jax: Take the north road.", "en", True),
        ("Take the north ro", "Take the north road.", "en", False),
        ("好的，请走北路！", "Jax：请走北路。", "zh", True),
        ("ABC", "abc", "zh", False),
        ("anything", "...", "en", False),
        ("Take the\u00a0north  road", "Take the north\u202froad.", "en", True),
        ("Take then orth road", "Take the north road.", "en", False),
        ("\u3000请走\u3000北路", "请 走北路。", "zh", True),
    ],
)
def test_containment(line, text, language, expected):
    assert contains(line, text, language) is expected


def test_strip_final_takes_the_speaker_and_the_end_marks():
    assert strip_final("Jax: Really?! ") == "Really"
    assert strip_final("真的吗？！") == "真的吗"


def test_joined_by_connectives_names_keep_their_capital():
    joined = join_texts(["You need rope", "The shop sells it.", "Mira knows why."], "en")
    assert joined == "You need rope. In addition, the shop sells it. Moreover, Mira knows why."
    assert join_texts(["去北边。", "带绳子"], "zh") == "去北边。另外，带绳子。"
    assert join_texts(["Go north,", "take rope;"], "en") == "Go north. In addition, take rope;"


def test_a_single_text_is_unchanged():
    assert join_texts(["Jinchuan it is"], "en") == "Jinchuan it is"


def test_nothing_to_join():
    with pytest.raises(ValueError, match="nothing"):
        join_texts([], "en")


@given(st.lists(TEXTS, min_size=1, max_size=7), st.sampled_from(["en", "zh"]))
def test_every_text_stays_intact(texts, language):
    joined = join_texts(texts, language)
    assert all(contains(joined, text, language) for text in texts)
