"""Positions of labels among a text's tokens, with tokenizers of every kind, made here."""

import importlib.util

import pytest

from simulator.models import BadRequest
from simulator.models.tokens import boundary, continuation, prompt_ids, token_text, tokenise

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("transformers") is None,
    reason="no transformers here: pip install 'askback[local]'",
)
ARROW = "Output 'X' or 'Y'.\nThe duck is in the pond.\n>X\nHe is in the house.\n>Y"
QA = "Output 'X' or 'Y'.\nQ: The duck is in the pond.\nA: X\nQ: He is in the house.\nA: Y"
KINDS = ["bytes", "meta", "lines", "apart", "glued"]


def fast(tokenizer, **special):
    from transformers import PreTrainedTokenizerFast

    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, **special)


def trained(kind):
    """A BPE tokenizer that glues a blank to the word behind it, and of the kind ``lines`` lines, too."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

    tokenizer = Tokenizer(models.BPE(unk_token="<unk>"))
    if kind == "bytes":
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        tokenizer.decoder = decoders.ByteLevel()
        tokenizer.post_processor = processors.ByteLevel(trim_offsets=True)
        alphabet = pre_tokenizers.ByteLevel.alphabet()
    else:
        blanks = pre_tokenizers.Metaspace(prepend_scheme="first")
        lines = pre_tokenizers.Split("\n", "isolated")
        tokenizer.pre_tokenizer = blanks if kind == "lines" else pre_tokenizers.Sequence([lines, blanks])
        tokenizer.decoder = decoders.Metaspace(prepend_scheme="first")
        alphabet = []
    trainer = trainers.BpeTrainer(
        vocab_size=400, special_tokens=["<unk>", "<s>"], initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator([ARROW, QA] * 20, trainer)
    if kind != "bytes":
        tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
    return fast(tokenizer, unk_token="<unk>", bos_token="<s>")


def listed(kind):
    """Whole words: blanks and line feeds are tokens of their own, or ``>X`` is a word."""
    from tokenizers import Regex, Tokenizer, models, pre_tokenizers

    pattern = r"[ \n>]|[^ \n>]+" if kind == "apart" else r"[ \n]|>?[^ \n>]+"
    split = pre_tokenizers.Split(Regex(pattern), "isolated")
    words = {word for text in (ARROW, QA) for word, _ in split.pre_tokenize_str(text)}
    words |= {"X", "Y", ">"}
    vocabulary = {word: number for number, word in enumerate(["<unk>", *sorted(words)])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    tokenizer.pre_tokenizer = split
    return fast(tokenizer, unk_token="<unk>")


@pytest.fixture(scope="module")
def tokenizers():
    made = {kind: trained(kind) for kind in KINDS[:3]}
    return made | {kind: listed(kind) for kind in KINDS[3:]}


def labels(text):
    """Offsets of the labels: a letter behind ``>`` or ``A: ``."""
    return tuple(at for at in range(len(text)) if text[at] in "XY" and text[:at].endswith(("\n>", "\nA: ")))


def spelled(tokenizer, ids):
    return [token_text(tokenizer, each) for each in ids]


@pytest.mark.each("text", [ARROW, QA], ids=["arrow", "qa"])
@pytest.mark.each("kind", KINDS)
def test_each_label_has_a_token_that_is_it(tokenizers, kind, text):
    tokenizer = tokenizers[kind]
    ids, places = tokenise(tokenizer, text, labels(text))
    words = spelled(tokenizer, ids)
    assert [words[place].strip() for place in places] == ["X", "Y"]
    start = ids[0] == tokenizer.bos_token_id
    assert "".join(words[start:]).removeprefix(" ") == text, "no character is lost or added"


@pytest.mark.parametrize(("kind", "blank"), [("bytes", True), ("apart", False), ("glued", False)])
def test_the_blank_is_within_the_label_or_before_it(tokenizers, kind, blank):
    tokenizer = tokenizers[kind]
    ids, (place, _) = tokenise(tokenizer, QA, labels(QA))
    words = spelled(tokenizer, ids)
    assert (words[place], words[place - 1]) == ((" X", ":") if blank else ("X", " "))


def test_where_nothing_is_glued_the_tokens_are_the_tokenizers_own(tokenizers):
    for kind in ("bytes", "meta", "apart"):
        assert tokenise(tokenizers[kind], QA, labels(QA)).ids == tuple(tokenizers[kind](QA)["input_ids"])


def test_a_glued_label_is_cut_off(tokenizers):
    tokenizer = tokenizers["glued"]
    assert ">X" in spelled(tokenizer, tokenizer(ARROW)["input_ids"])
    words = spelled(tokenizer, tokenise(tokenizer, ARROW, labels(ARROW)).ids)
    assert ">X" not in words and words[-2:] == [">", "Y"]
    assert spelled(tokenizer, tokenise(tokenizer, ARROW, labels(ARROW)[:1]).ids)[-1] == ">Y", "only there"


# Kinds that keep lines apart; where lines are one, so is what is in them.
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "lines"])
def test_what_is_before_a_label_does_not_depend_on_what_follows(tokenizers, kind):
    tokenizer = tokenizers[kind]
    ids, (first, _) = tokenise(tokenizer, ARROW, labels(ARROW))
    alone, (place,) = tokenise(tokenizer, ARROW[: labels(ARROW)[0] + 1], labels(ARROW)[:1])
    assert place == first
    assert alone == ids[: first + 1]
    assert ids[:first] == prompt_ids(tokenizer, ARROW[: labels(ARROW)[0]])


def test_the_next_line_is_cut_off_a_label(tokenizers):
    tokenizer = tokenizers["lines"]
    assert any("X\n" in word for word in spelled(tokenizer, tokenizer(QA)["input_ids"]))
    ids, places = tokenise(tokenizer, QA, labels(QA))
    assert [spelled(tokenizer, ids)[place].strip() for place in places] == ["X", "Y"]


def test_a_piece_that_goes_on_begins_with_no_blank_of_the_tokenizers_own(tokenizers):
    tokenizer = tokenizers["meta"]
    assert spelled(tokenizer, tokenizer("X", add_special_tokens=False)["input_ids"])[0].startswith(" ")
    assert spelled(tokenizer, [each.id for each in continuation(tokenizer, "X")]) == ["X"]
    assert "".join(spelled(tokenizer, [each.id for each in continuation(tokenizer, " in the")])) == " in the"


def test_a_character_with_nothing_before_it_is_told(tokenizers):
    with pytest.raises(BadRequest, match="character 0 cannot be scored: no text comes before it"):
        tokenise(tokenizers["bytes"], "X is", (0,))
    assert tokenise(tokenizers["meta"], "X is", (0,)).places == (1,), "it has a token that begins each text"


def test_a_character_without_a_token_is_told():
    from tokenizers import Tokenizer, models, pre_tokenizers

    tokenizer = Tokenizer(models.WordLevel({"<unk>": 0, "a": 1}, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    with pytest.raises(BadRequest, match="no token for character 1"):
        tokenise(fast(tokenizer, unk_token="<unk>"), "a a", (1,))


def test_a_boundary_that_no_cut_makes_is_told():
    from tokenizers import Tokenizer, models, normalizers

    tokenizer = Tokenizer(models.WordLevel({"<unk>": 0}, unk_token="<unk>"))
    tokenizer.normalizer = normalizers.Replace("b", "")
    with pytest.raises(BadRequest, match="character 1"):
        tokenise(fast(tokenizer, unk_token="<unk>"), "abab", (1,))


def test_what_closes_a_text_is_left_out():
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    tokenizer = Tokenizer(models.WordLevel({"<s>": 0, "</s>": 1, "a": 2}, unk_token="a"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 1)]
    )
    made = fast(tokenizer, unk_token="a", bos_token="<s>", eos_token="</s>")
    assert prompt_ids(made, "a a") == (0, 2, 2)
    assert tokenise(made, "a a", (2,)) == ((0, 2, 2), (2,))
    assert prompt_ids(made, "") == (0, 1), "an empty text has nothing that could be closed"


@pytest.mark.each(("text", "offset", "end"), [("A: X", 3, 2), (">X", 1, 1), (" X", 1, 0), ("\n X", 2, 1)])
def test_blanks_before_a_label_are_expected_with_it(text, offset, end):
    assert boundary(text, offset) == end
