from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.ambient.data import PoolPair, load_pool
from simulator.ambient.pool.groups import (
    DIMENSIONS,
    WORDS,
    embed,
    embed_by_words,
    features,
    in_drawn_order,
    make_groups,
)
from simulator.errors import InputError


def pool(*seeds: int, size: int = 8) -> list[PoolPair]:
    return [
        PoolPair(f"p{n}", f"A {n}.", f"B {n}.", ("neutral", "entailment" if n in seeds else "neutral"))
        for n in range(size)
    ]


def ids(group):
    return [pair.id for pair in group]


def test_nearest_neighbours_by_decreasing_distance_and_the_seed_last():
    vectors = np.array([[0.0], [10.0], [1.0], [3.0], [-2.0], [50.0], [4.0], [60.0]])
    (group,) = make_groups(pool(0), vectors)
    assert ids(group) == ["p3", "p4", "p2", "p0"]


def test_groups_of_five_and_of_a_pool_that_is_no_larger():
    vectors = np.arange(5.0)[:, None]
    (group,) = make_groups(pool(0, size=5), vectors, 5)
    assert ids(group) == ["p4", "p3", "p2", "p1", "p0"]


def test_the_seed_is_last_also_where_others_lie_at_its_place():
    vectors = np.zeros((8, 2))
    (group,) = make_groups(pool(5), vectors)
    assert group[-1].id == "p5" and len(set(ids(group))) == 4


@given(st.lists(st.integers(-9, 9), min_size=4, max_size=20), st.data())
def test_no_pair_outside_a_group_is_nearer(values, data):
    seed = data.draw(st.integers(0, len(values) - 1))
    (group,) = make_groups(pool(seed, size=len(values)), np.array(values, dtype=float)[:, None])
    inside = [int(id[1:]) for id in ids(group)]
    distance = [abs(value - values[seed]) for value in values]
    furthest = max(distance[place] for place in inside)
    assert all(distance[place] >= furthest for place in range(len(values)) if place not in inside)
    shown = [distance[place] for place in inside]
    assert shown == sorted(shown, reverse=True)
    assert len(set(inside)) == 4 and inside[-1] == seed


def test_pools_that_make_no_group():
    with pytest.raises(InputError, match="no pair whose annotators disagree"):
        make_groups(pool(), np.zeros((8, 1)))
    with pytest.raises(InputError, match="3 pairs"):
        make_groups(pool(0, size=3), np.zeros((3, 1)))


def test_drawn_order_descends_from_the_seed():
    groups = make_groups(pool(*range(8)), np.arange(8.0)[:, None])
    once, again, other = (in_drawn_order(groups, seed) for seed in (1, 1, 2))
    assert once == again and sorted(map(ids, once)) == sorted(map(ids, groups))
    assert once != other


def test_words_put_like_pairs_together():
    pairs = [
        ("Some of the cats sleep.", "All of the cats sleep."),
        ("Some of the dogs bark.", "All of the dogs bark."),
        ("He tried to swim.", "He swam."),
    ]
    embedded = embed(pairs)
    assert embedded.name == WORDS
    near, far = (float(np.linalg.norm(embedded.vectors[0] - embedded.vectors[other])) for other in (1, 2))
    assert near < far
    assert math.isclose(far, math.sqrt(2), abs_tol=0.2)  # nothing in common: a right angle


def test_few_pairs_keep_their_distances_and_many_nearly():
    sentences = [(pair.premise, pair.hypothesis) for pair in load_pool()]
    few = embed_by_words(sentences[:DIMENSIONS])
    assert few.shape == (DIMENSIONS, DIMENSIONS)
    assert np.allclose(np.linalg.norm(few, axis=1), 1)
    many = embed_by_words(sentences)
    assert many.shape == (len(sentences), DIMENSIONS)
    assert np.array_equal(many, embed_by_words(sentences))
    assert np.all(np.linalg.norm(many, axis=1) <= 1 + 1e-9)


def test_neighbours_by_words_share_the_relation_far_more_often_than_by_chance():
    pool = load_pool()
    groups = make_groups(pool, embed_by_words([(pair.premise, pair.hypothesis) for pair in pool]))
    heading = {pair.id: number // 5 for number, pair in enumerate(pool)}  # five under each in the file
    shared = [heading[neighbour.id] == heading[group[-1].id] for group in groups for neighbour in group[:-1]]
    assert sum(shared) / len(shared) > 3 * 4 / 119


def test_features_say_how_the_sentences_differ():
    listed = list(features("It rains.", "It pours."))
    assert listed == [
        *("p it", "p rains", "p it rains", "p only rains"),
        *("h it", "h pours", "h it pours", "h only pours"),
    ]


def test_a_pair_without_words_lies_at_the_origin():
    assert np.allclose(embed_by_words([("...", "!"), ("A cat.", "A dog.")])[0], 0)


def test_encoder_gives_the_first_token_of_the_last_layer(encoder):
    import torch
    import transformers

    pairs = [("the cat sleeps .", "the cat runs ."), ("all dogs .", "some old dogs never sleeps .")]
    advances = []
    embedded = embed(pairs, encoder, device="cpu", advance=advances.append)
    assert embedded.how == "last layer, [CLS]" and sum(advances) == 2
    model = transformers.AutoModel.from_pretrained(encoder).eval()
    read = transformers.AutoTokenizer.from_pretrained(encoder)
    for pair, vector in zip(pairs, embedded.vectors, strict=True):
        with torch.inference_mode():
            state = model(**read(*pair, return_tensors="pt")).last_hidden_state[0, 0]
        assert np.allclose(vector, state.numpy(), atol=1e-5)


def test_of_a_causal_model_the_last_token_is_taken(causal):
    import torch
    import transformers

    pairs = [("the cat sleeps .", "the cat runs ."), ("all dogs .", "some old dogs never sleeps .")]
    embedded = embed(pairs, causal, device="cpu")
    assert embedded.how == "last layer, last token"
    model = transformers.AutoModel.from_pretrained(causal).eval()
    read = transformers.AutoTokenizer.from_pretrained(causal)
    for (premise, hypothesis), vector in zip(pairs, embedded.vectors, strict=True):
        with torch.inference_mode():
            ids = read(f"{premise}\n{hypothesis}", return_tensors="pt")
            state = model(**ids).last_hidden_state[0, -1]
        assert np.allclose(vector, state.numpy(), atol=1e-5)


def test_folders_without_an_encoder(tmp_path):
    pytest.importorskip("transformers", reason="pip install 'askback[local]'")
    pytest.importorskip("torch", reason="pip install 'askback[local]'")
    with pytest.raises(InputError, match="no such folder"):
        embed([("A.", "B.")], tmp_path / "gone")
    with pytest.raises(InputError, match="cannot load the model"):
        embed([("A.", "B.")], tmp_path)
