from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.ambient.distractors import (
    Relations,
    builtin_relations,
    distractor_for,
    plural,
    read_relations,
    table,
)
from simulator.errors import InputError

ZOO = Relations(
    kinds={
        "dog": {"animal": 3, "friend": 1},
        "cat": {"animal": 2},
        "pal": {"friend": 5},
        "paris": {"city": 1},
    }
    | {"rome": {"city": 1}, "cats": {"musical": 4}, "evita": {"musical": 4}},
    members={
        "animal": {"dog": 3, "cat": 2},
        "friend": {"dog": 1, "pal": 5},
        "city": {"Paris": 1, "Rome": 1},
        "musical": {"cats": 4, "evita": 4},
    },
    names=frozenset({"city"}),
)


def texts(sentence: str, **options: object) -> Counter[str]:
    """Return the distractors of a sentence for 40 seeds."""
    return Counter(distractor_for(sentence, seed=seed, **options).text for seed in range(40))  # type: ignore[arg-type]


def test_the_table_is_large_enough() -> None:
    groups = table("kinds")
    words = [word.partition(":")[0] for kind in groups["kinds"].values() for word in kind["words"].split()]
    assert len(groups["kinds"]) >= 60
    assert len(set(words)) >= 1200
    assert all(re.fullmatch(r"[a-z]+(-[a-z]+)*", word) for word in words)
    for group in groups.values():
        for kind in group.values():
            listed = [word.partition(":")[0] for word in kind["words"].split()]
            assert len(listed) == len(set(listed)) >= 2
    relations = builtin_relations()
    assert relations.kinds_of("orange") == {"fruit": 3}
    assert relations.kinds_of("Study") == {"room": 1.5}


def test_a_noun_becomes_another_of_its_best_kind() -> None:
    distractor = distractor_for("The dog barks.", seed=0, relations=ZOO)
    assert distractor == ("The cat barks.", "dog", "cat", "kind", "animal")
    assert set(texts("The dog barks.", relations=ZOO)) == {"The cat barks."}


def test_exactly_one_complete_word_is_replaced() -> None:
    assert set(texts("Dogma says the dog's tail is a dog's.", relations=ZOO)) == {
        "Dogma says the cat's tail is a dog's.",
        "Dogma says the dog's tail is a cat's.",
    }


def test_number_and_case_are_kept() -> None:
    assert set(texts("Dogs bark.", relations=ZOO)) == {"Cats bark."}
    assert set(texts("It is a DOG!", relations=ZOO)) == {"It is a CAT!"}
    variants = texts("They saw two mice.")
    assert "They saw two mice." not in variants
    assert all(text.endswith("s.") or text.split()[-1] in ("sheep.", "deer.", "moose.") for text in variants)


def test_names_become_names() -> None:
    variants = texts("We met in Paris.")
    assert all(text.removeprefix("We met in ")[0].isupper() for text in variants)
    assert len(variants) > 5
    # In small letters a name's word is what else it is; at the beginning, too.
    assert {distractor_for("A turkey ran.", seed=seed).kind for seed in range(9)} == {"bird"}
    assert {distractor_for("They ate in Turkey.", seed=seed).kind for seed in range(9)} == {"country"}
    assert {distractor_for("Turkey is good.", seed=seed).kind for seed in range(9)} == {"bird"}
    assert {distractor_for("London is big.", seed=seed).kind for seed in range(9)} == {"city"}


def test_one_noun_is_drawn_and_a_strange_one_leaves_a_pronoun() -> None:
    # The paper's rule draws one noun; the name has no kind here, so a pronoun of the sentence is replaced.
    steps = {distractor_for("He fed Xaver a dog.", seed=seed, relations=ZOO).step for seed in range(20)}
    assert steps == {"kind", "pronoun"}
    tried = [
        distractor_for("He fed Xaver a dog.", seed=s, rule="reference", relations=ZOO) for s in range(20)
    ]
    assert {distractor.step for distractor in tried} == {"kind"}


@pytest.mark.each(
    ("sentence", "expected"),
    [
        ("I agree.", {"We agree.", "You agree."}),
        ("It was as I said.", {"It was as we said.", "It was as you said."}),
        ("It was as we said.", {"It was as I said.", "It was as you said."}),
        ("It hurt himself.", {f"It hurt {w}self." for w in ("her", "my", "your")} | {"It hurt themselves."}),
        ("He'll agree.", {"She'll agree.", "They'll agree."}),
    ],
)
def test_a_pronoun_becomes_another_of_its_group(sentence: str, expected: set[str]) -> None:
    assert set(texts(sentence, relations=ZOO)) == expected


def test_the_last_resort() -> None:
    assert set(texts("Xaver met Yves.", relations=ZOO)) == {"Xaver met Corgi."}
    assert set(texts("The Bx met the Cx.", relations=ZOO)) == {
        "The Corgi met the Cx.",
        "The Bx met the Corgi.",
    }
    assert set(texts("It is hot.", relations=ZOO)) == {"It is corgi."}
    distractor = distractor_for("So be it.", seed=0, relations=ZOO)
    assert (distractor.step, distractor.kind) == ("last_resort", "")
    with pytest.raises(InputError, match="contains no word"):
        distractor_for("1 + 1 = 2!", seed=0)


def test_verbs_are_distinguished_from_nouns_by_the_preceding_word() -> None:
    assert {distractor_for("I can watch the dog.", seed=seed).word for seed in range(20)} == {"dog"}
    assert {distractor_for("I have a watch.", seed=seed).word for seed in range(20)} == {"watch"}
    assert {distractor_for("She may be second.", seed=seed).step for seed in range(9)} == {"pronoun"}


def test_the_reference_rule() -> None:
    # The best-weighted member of all kinds, not a random one of the best kind.
    distractor = distractor_for("The dog barks at Paris.", seed=1, rule="reference", relations=ZOO)
    dog = "The pal barks at paris."
    assert {variant for variant in texts("The dog barks at Paris.", rule="reference", relations=ZOO)} == {
        dog,
        "The dog barks at rome.",
    }
    assert distractor.text[0] == "T"
    # First substring, and all other letters small.
    assert set(texts("Dogma: I and NASA like a dog.", rule="reference", relations=ZOO)) >= {
        "Dogma: i and nasa like a pal."
    }
    assert set(texts("A hotdog for the dog.", rule="reference", relations=ZOO)) == {"A hotpal for the dog."}
    # The form itself comes first, then the singular.
    assert set(texts("Two cats.", rule="reference", relations=ZOO)) == {"Two evita."}
    assert set(texts("Two dogs.", rule="reference", relations=ZOO)) == {"Two pal."}


@pytest.mark.each(
    ("noun", "many"),
    [
        ("dog", "dogs"),
        ("box", "boxes"),
        ("city", "cities"),
        ("boy", "boys"),
        ("man", "men"),
        ("sheep", "sheep"),
    ],
)
def test_plurals(noun: str, many: str) -> None:
    assert plural(noun) == many


def test_every_noun_of_the_table_is_found_again_by_its_plural() -> None:
    relations = builtin_relations()
    kinds = set(relations.members) - relations.names
    nouns = {noun for kind in kinds for noun in relations.members[kind]} - set(
        table("words")["function_words"].split()
    )
    lost = [noun for noun in sorted(nouns) if distractor_for(f"Qq {plural(noun)} qq", seed=0).step != "kind"]
    assert lost == []


@given(
    st.text(st.sampled_from("aI dogs'’.-Dé ") | st.characters(), min_size=1, max_size=30), st.integers(0, 99)
)
def test_any_text_has_one_or_no_word(text: str, seed: int) -> None:
    try:
        distractor = distractor_for(text, seed=seed)
    except InputError:
        assert not any(sign.isalpha() for sign in text)
        return
    assert distractor == distractor_for(text, seed=seed)
    assert distractor.word in text
    assert distractor.text.count(distractor.replacement) >= 1


RAW = (
    '/a/[/r/IsA/,/c/en/dog/,/c/en/animal/]\t/r/IsA\t/c/en/dog/n\t/c/en/animal\t{"weight": 4.0}\n'
    '/a/[/r/IsA/,/c/en/cat/,/c/en/animal/]\t/r/IsA\t/c/en/cat\t/c/en/animal\t{"weight": 1.0}\n'
    '/a/[/r/IsA/,/c/fr/chat/,/c/en/animal/]\t/r/IsA\t/c/fr/chat\t/c/en/animal\t{"weight": 1.0}\n'
    '/a/[/r/AtLocation/,/c/en/cat/,/c/en/mat/]\t/r/AtLocation\t/c/en/cat\t/c/en/mat\t{"weight": 1.0}\n'
)


@pytest.mark.parametrize(
    "text",
    [
        RAW,
        "start,relation,end,weight\ndog,IsA,animal,4\ncat,IsA,animal,1\nhot dog,IsA,animal,9\n",
        "\ufeffdog\tIsA\tanimal\t4.0\r\n\r\n/c/en/cat/n\t/r/IsA\t/c/en/animal\t1\r\ncat\tHasA\ttail\t2\r\n",
        '"dog","IsA","animal","4"\n"cat","IsA","animal","1"\n',
    ],
)
def test_relations_of_a_file(tmp_path: Path, text: str) -> None:
    path = tmp_path / "relations"
    path.write_bytes(text.encode())
    from_file = read_relations(path)
    assert from_file.kinds == {"dog": {"animal": 4}, "cat": {"animal": 1}}
    assert from_file.members == {"animal": {"dog": 4, "cat": 1}}
    assert distractor_for("My dog is here.", seed=0, relations=from_file).text == "My cat is here."


def test_kinds_of_several_words(tmp_path: Path) -> None:
    path = tmp_path / "relations.tsv"
    path.write_text("dog\tIsA\tfour_legged_friend\t1\n", encoding="utf-8")
    assert read_relations(path).kinds_of("Dog") == {"four legged friend": 1}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("dog,IsA,animal,1\ncat,IsA\n", ":2: has 2 columns; expected start, relation, end, weight"),
        ("dog,IsA,animal,much\n", ":1: weight: 'much' contains no number"),
        ("dog,IsA,animal,inf\n", ":1: weight: 'inf' is not finite"),
        ("/a/x\t/r/IsA\t/c/en/dog\t/c/en/animal\t{}\n", ":1: weight: '{}' contains no number"),
        ("dog,HasA,tail,1\n", "contains no English IsA relations"),
        ("", "contains no English IsA relations"),
    ],
)
def test_wrong_relations_are_named(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "relations.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=re.escape(f"{path}")) as caught:
        read_relations(path)
    assert problem in str(caught.value)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        read_relations(tmp_path / "none")
    (tmp_path / "latin").write_bytes(b"caf\xe9,IsA,place,1\n")
    with pytest.raises(InputError, match="is not UTF-8"):
        read_relations(tmp_path / "latin")
