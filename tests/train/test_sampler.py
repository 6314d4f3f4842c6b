"""Which pairs a step sees."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dialtools.errors import DataError
from dialtools.train.data.sampler import Grouped, Sampler, steps_per_epoch


@given(st.lists(st.integers(1, 3), min_size=2, max_size=60), st.integers(2, 9), st.integers(0, 5))
def test_a_batch_holds_one_window_size_and_an_epoch_holds_every_pair_once(
    windows: list[int], size: int, seed: int
):
    window = np.array(windows)
    if np.bincount(window).max() < 2:
        return
    pairs = np.arange(100, 100 + len(window))
    sampler = Grouped(pairs, window, batch_size=size, seed=seed)
    for epoch in range(2):
        batches = [sampler.batch(epoch * sampler.per_epoch + k) for k in range(sampler.per_epoch)]
        assert all(
            len(set(window[batch - 100])) == 1 and 2 <= len(batch) <= size for batch in batches
        )
        seen = np.concatenate(batches)
        assert len(seen) == len(set(seen.tolist()))
        for w, n in zip(*np.unique(window, return_counts=True), strict=True):
            missed = n - int((window[seen - 100] == w).sum())
            assert missed == (n == 1 or n % min(size, n) == 1), "only a pair alone is left out"


@given(st.lists(st.integers(2, 80), min_size=1, max_size=5))
def test_window_sizes_take_turns_in_proportion_to_their_batches(sizes: list[int]):
    window = np.repeat(np.arange(1, len(sizes) + 1), sizes)
    sampler = Grouped(np.arange(len(window)), window, batch_size=2, seed=0)
    turns = np.array([window[sampler.batch(step)[0]] for step in range(sampler.per_epoch)])
    for w in range(1, len(sizes) + 1):
        seen = np.cumsum(turns == w)
        fair = np.arange(1, len(turns) + 1) * seen[-1] / len(turns)
        assert np.abs(seen - fair).max() <= len(sizes) / 2 + 0.5, (
            "never far ahead, never far behind"
        )


def test_each_batch_stands_in_the_middle_of_its_part_of_the_epoch():
    """One at 1/2; three at 1/6, 1/2 and 5/6; two at 1/4 and 3/4. Of two the first goes first."""
    window = np.repeat([1, 2, 3], [2, 6, 4])
    sampler = Grouped(np.arange(12), window, batch_size=2, seed=0)
    assert [window[sampler.batch(step)[0]] for step in range(6)] == [2, 3, 1, 2, 3, 2]


def test_any_step_can_be_asked_for_first_as_after_a_kill():
    window = np.arange(50) % 3
    whole, late = (Grouped(np.arange(50), window, batch_size=4, seed=7) for _ in range(2))
    batches = [whole.batch(step).tolist() for step in range(40)]
    assert [late.batch(step).tolist() for step in range(39, 20, -1)] == batches[39:20:-1]


def test_a_mixed_epoch_is_one_shuffle():
    sampler = Sampler(np.arange(10), batch_size=4, seed=0)
    assert sampler.per_epoch == 3
    assert sorted(np.concatenate([sampler.batch(k) for k in range(3)]).tolist()) == list(range(10))
    assert sampler.batch(0).tolist() != sampler.batch(3).tolist()


def test_by_window_every_epoch_and_every_window_is_shuffled_anew():
    window = np.repeat([1, 2], 40)
    sampler = Grouped(np.arange(80), window, batch_size=4, seed=0)

    def order(sampler: Grouped, epoch: int, w: int) -> list[int]:
        steps = range(epoch * sampler.per_epoch, (epoch + 1) * sampler.per_epoch)
        seen = np.concatenate([sampler.batch(step) for step in steps])
        return (seen[window[seen] == w] % 40).tolist()

    orders = [order(sampler, epoch, w) for epoch in range(3) for w in (1, 2)]
    orders.append(order(Grouped(np.arange(80), window, batch_size=4, seed=1), 0, 1))
    assert all(sorted(one) == list(range(40)) for one in orders)
    assert len(set(map(tuple, orders))) == 7


def test_a_mixed_order_is_of_the_seed_and_the_pairs_named():
    pairs = np.array([3, 9, 4, 1, 7, 12, 30])

    def epoch(seed: int) -> list[list[int]]:
        sampler = Sampler(pairs, batch_size=3, seed=seed)
        assert sampler.per_epoch == 2, "a pair alone has no negatives"
        return [sampler.batch(step).tolist() for step in range(2)]

    assert epoch(0) == epoch(0) != epoch(1)
    assert [len(batch) for batch in epoch(0)] == [3, 3]
    assert {pair for batch in epoch(0) for pair in batch} <= set(pairs.tolist())
    assert epoch(-1) == epoch(2**64 - 1), "a seed is 64 bits"
    assert epoch(2**64 - 1) != epoch(2**64 - 2), "and the last of them counts"


def test_few_pairs_are_one_batch():
    assert [steps_per_epoch(n, 4) for n in (1, 2, 4, 5, 6, 8, 9, 10)] == [1, 1, 1, 1, 2, 2, 2, 3]
    sampler = Sampler(np.arange(3), batch_size=100, seed=0)
    assert sampler.per_epoch == 1 and sorted(sampler.batch(5).tolist()) == [0, 1, 2]


def test_a_pair_alone_in_its_group_is_in_no_batch_and_of_such_alone_there_is_none():
    sampler = Grouped(np.arange(10, 15), np.array([1, 2, 1, 3, 3]), batch_size=2, seed=0)
    assert sampler.pairs.tolist() == [10, 12, 13, 14]
    seen = np.concatenate([sampler.batch(step) for step in range(sampler.per_epoch)])
    assert sorted(seen.tolist()) == sampler.pairs.tolist()
    with pytest.raises(DataError, match="no batch has two"):
        Grouped(np.arange(3), np.array([1, 2, 3]), batch_size=2, seed=0)
