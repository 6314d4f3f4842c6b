"""Frequencies and their imbalance by their definitions, an occurrence at a time."""

from __future__ import annotations

from collections import Counter
from math import log2

import numpy as np


def responses(pairs: list[dict]) -> Counter[str]:
    """Each turn once, in however many windows it is a response."""
    once = {(p["dialogue_id"], p["turn"]): p["response"] for p in pairs}
    return Counter(once.values())


def imbalance(counts: Counter[str]) -> dict[str, float | None]:
    """The figures of a corpus, from every one of its texts."""
    n = sorted(counts.values(), reverse=True)
    total, v = sum(n), len(n)
    ranks, logs = np.log(np.arange(1, v + 1)), np.log(n)
    differences = sum(abs(a - b) for a in n for b in n)
    return {
        "total": total,
        "distinct": v,
        "distinct_share": v / total,
        "top_1_percent_share": sum(n[: max(1, v // 100)]) / total,
        "gini": differences / (2 * v * total),
        "entropy_bits": -sum(c / total * log2(c / total) for c in n),
        "zipf_slope": float(np.polyfit(ranks, logs, 1)[0]) if v > 1 else None,
    }
