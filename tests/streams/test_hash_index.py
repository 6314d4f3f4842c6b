"""Keys to ids, in the order in which they come: as a dict numbers them."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dialtools.streams.hash_index import HashIndex

KEYS = st.integers(-5, 300)


def check(index: HashIndex, known: dict[int, int]) -> None:
    assert index.size == len(known)
    asked = np.arange(-9, 310)
    assert index.find(asked).tolist() == [known.get(key, -1) for key in asked.tolist()]
    sizes = [len(run) for run, _ in index.runs]
    assert all(4 * b <= a for a, b in pairwise(sizes)), "few runs"


@given(st.lists(st.lists(KEYS, unique=True, max_size=40), max_size=12))
def test_an_index_numbers_keys_in_the_order_in_which_they_are_new(batches: list[list[int]]):
    index, known = HashIndex(), {}
    for keys in batches:
        ids, new = index.ids(np.array(keys, np.int64))
        assert new.tolist() == [key not in known for key in keys]
        for key in keys:
            known.setdefault(key, len(known))
        assert ids.tolist() == [known[key] for key in keys]
        check(index, known)


@given(st.lists(st.lists(KEYS, max_size=40), max_size=12))
def test_keys_that_occur_again_have_one_id_and_are_new_where_they_first_are(batches):
    index, known = HashIndex(), {}
    for keys in batches:
        firsts = [i for i, key in enumerate(keys) if key not in known and key not in keys[:i]]
        ids, places = index.add(np.array(keys, np.int64))
        for key in keys:
            known.setdefault(key, len(known))
        assert ids.tolist() == [known[key] for key in keys] and places.tolist() == firsts
        check(index, known)
