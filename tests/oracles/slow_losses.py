"""The equations of the losses, loop by loop, in float64."""

from __future__ import annotations

import math

import numpy as np


def hard_negative(f: np.ndarray, temperature: float) -> np.ndarray:
    """(2M,) losses of DSE eq. 1-3 as its code computes them (METHODS 2.4); f: 2M unit rows, partners M apart."""
    m, losses = len(f) // 2, []
    for i in range(2 * m):
        partner = (i + m) % (2 * m)
        s = [math.exp(float(f[i] @ f[j]) / temperature) for j in range(2 * m)]
        others = [s[j] for j in range(2 * m) if j not in (i, partner)]
        mean = sum(others) / len(others)
        weighted = sum((x / mean) * x for x in others)
        losses.append(-math.log(s[partner] / (s[partner] + weighted)))
    return np.array(losses)


def nt_xent(f: np.ndarray, temperature: float) -> np.ndarray:
    """(2M,) losses of NT-Xent over both views."""
    m, losses = len(f) // 2, []
    for i in range(2 * m):
        partner = (i + m) % (2 * m)
        s = [math.exp(float(f[i] @ f[j]) / temperature) for j in range(2 * m)]
        losses.append(-math.log(s[partner] / sum(s[j] for j in range(2 * m) if j != i)))
    return np.array(losses)


def info_nce(a: np.ndarray, p: np.ndarray, temperature: float) -> np.ndarray:
    """(M,) losses of WMDC app. A: anchors against positives and back, averaged."""
    m, losses = len(a), []
    for i in range(m):
        there = [math.exp(float(a[i] @ p[j]) / temperature) for j in range(m)]
        back = [math.exp(float(p[i] @ a[j]) / temperature) for j in range(m)]
        losses.append(-0.5 * math.log(there[i] / sum(there)) - 0.5 * math.log(back[i] / sum(back)))
    return np.array(losses)
