"""Unit vectors that wait on disk come back whole."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest

from dialtools.metrics.unit_vectors import UnitVectors
from dialtools.streams import full


def test_a_disk_that_gives_less_than_it_is_asked_for_is_asked_again(
    monkeypatch: pytest.MonkeyPatch,
):
    rows_VD = np.eye(7, dtype=np.float32)
    vectors = UnitVectors()
    vectors.add_distinct(rows_VD[:3])
    vectors.add_distinct(rows_VD[3:])
    pread, readinto = os.pread, full._Scratch.readinto

    def less(scratch: Any, buffer: Any) -> Any:
        return readinto(scratch, memoryview(buffer)[:5])

    monkeypatch.setattr(os, "pread", lambda file, size, at: pread(file, min(size, 5), at))
    monkeypatch.setattr(full._Scratch, "readinto", less)
    blocks = dict(vectors.blocks(at_once=4))
    assert list(blocks) == [0, 4]
    np.testing.assert_array_equal(np.concatenate([*blocks.values()]), rows_VD)
