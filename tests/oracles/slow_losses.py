"""The equations of the losses, loop by loop, in float64."""

from __future__ import annotations

import math

import numpy as np


def hard_negative(f: np.ndarray, temperature: float) -> np.ndarray:
    """(2M,) losses of DSE eq. 1-3 as coded; f: 2M unit rows, partners M apart."""
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


def cosine(a: np.ndarray, b: np.ndarray) -> float:
    return float(a @ b) / math.sqrt(float(a @ a) * float(b @ b))


def wmdc(
    context: list[np.ndarray],
    response: list[np.ndarray],
    window: list[int],
    frequency: list[int],
    heads: dict[int, tuple[np.ndarray, np.ndarray]],
    temperature: float,
) -> float:
    """L of WMDC's appendix A.

    Encoder outputs go through the head (weight, bias) of their window and are contrasted with that
    window's pairs only; each pair is weighted by 1 / (log f + 1) of its response.
    """
    c = [heads[w][0] @ x + heads[w][1] for x, w in zip(context, window, strict=True)]
    r = [heads[w][0] @ x + heads[w][1] for x, w in zip(response, window, strict=True)]
    total = 0.0
    for i, w in enumerate(window):
        mates = [j for j, other in enumerate(window) if other == w]
        own = math.exp(cosine(c[i], r[i]) / temperature)
        there = sum(math.exp(cosine(c[i], r[j]) / temperature) for j in mates)
        back = sum(math.exp(cosine(r[i], c[j]) / temperature) for j in mates)
        loss = -0.5 * math.log(own / there) - 0.5 * math.log(own / back)
        total += loss / (math.log(frequency[i]) + 1)
    return total / len(window)


def of_pairs(
    name: str, a: np.ndarray, p: np.ndarray, named: np.ndarray, t: float, out: np.ndarray
) -> np.ndarray:
    """(M,) losses by name of pairs, without the negatives that `out` names for each row.

    Named negatives are columns more. `out` has rows [anchors; positives] and columns
    [anchors; positives; named].
    """
    m, losses = len(a), []
    columns = np.concatenate([a, p, named])

    def of_row(i: int, mates: range) -> float:
        partner = (i + m) % (2 * m)
        s = [math.exp(float(columns[i] @ c) / t) for c in columns]
        others = [s[j] for j in mates if j not in (i, partner) and not out[i, j]]
        if name == "hard-negative" and others:
            mean = sum(others) / len(others)
            others = [x / mean * x for x in others]
        return -math.log(s[partner] / (s[partner] + sum(others)))

    everything, answers, back = range(len(columns)), range(m, len(columns)), range(m)
    for i in range(m):
        if name in ("simcse", "dot"):
            losses.append(of_row(i, answers))
        elif name == "info-nce":
            losses.append((of_row(i, answers) + of_row(i + m, back)) / 2)
        else:
            losses.append((of_row(i, everything) + of_row(i + m, everything)) / 2)
    return np.array(losses)
