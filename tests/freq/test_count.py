"""The group-by beneath dial-freq."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from dialtools.freq.count import OURS, Counting
from dialtools.freq.texts import Texts


def test_counts_beyond_memory_spill_and_come_out_whole():
    """64 MB of distinct texts in 48 MB; half of them come again after all the others."""
    distinct, batch = 800_000, 20_000
    said = [
        f"a rather long text that is said {i % 2 + 1} times and has the number {i:06d} of all"
        for i in range(distinct)
    ]
    with Counting(memory=OURS + (48 << 20), threads=1) as counting:
        for texts in (said, said[1::2]):
            for start in range(0, len(texts), batch):
                counting.add(Texts(0, "said", pa.array(texts[start : start + batch])))
        counting.finish()
        assert sum(file.stat().st_size for file in Path(counting.folder).rglob("*")) > 0
        assert (counting.total, counting.distinct) == (distinct * 3 // 2, distinct)
        ranked = [
            (text, n)
            for texts, counts in counting.ranked()
            for text, n in zip(texts.to_pylist(), counts, strict=True)
        ]
        assert ranked == [(text, 2) for text in sorted(said[1::2])] + [
            (text, 1) for text in sorted(said[::2])
        ]
        folder = Path(counting.folder)
    assert not folder.exists()
