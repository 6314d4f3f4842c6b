"""What is handed on to a thread: in order, and a failure of either side is one of both."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from dialtools.streams.ahead import ahead, behind


def test_items_are_consumed_in_order_and_all_before_the_block_ends():
    eaten: list[int] = []
    with behind(eaten.extend) as hand_on:
        for item in range(100):
            hand_on(item)
    assert eaten == list(range(100))


def test_a_block_that_fails_breaks_off_what_consumes():
    ended: list[BaseException] = []

    def consume(items: Iterator[int]) -> None:
        try:
            list(items)
        except Exception as error:
            ended.append(error)
            raise

    with pytest.raises(KeyboardInterrupt), behind(consume) as hand_on:
        hand_on(1)
        raise KeyboardInterrupt
    assert len(ended) == 1


@pytest.mark.parametrize("items", [1, 100_000])
def test_what_consumes_and_fails_fails_the_block(items: int):
    def consume(handed: Iterator[int]) -> None:
        raise OSError(f"no room for {next(handed)}")

    with pytest.raises(OSError, match="no room for 0"), behind(consume) as hand_on:
        for item in range(items):
            hand_on(item)


def test_what_is_fetched_ahead_comes_in_order_and_an_error_after_what_was_before_it():
    def items():
        yield from range(3)
        raise ValueError("the fourth")

    found = []
    with pytest.raises(ValueError, match="the fourth"):
        found.extend(ahead(items()))
    assert list(ahead(range(5))) == list(range(5)) and list(ahead([])) == []
    begun = ahead(items())
    assert [next(begun) for _ in range(3)] == [0, 1, 2]
