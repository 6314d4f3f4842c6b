"""The equations of the losses, loop by loop, in float64."""

from __future__ import annotations

import math

import numpy as np


def hard_negative(f: np.ndarray, temperature: float) -> np.ndarray:
    """(2M,) losses of DSE eq. 1-3 as coded (METHODS 2.4); f: 2M unit rows, partners M apart."""
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


def _views(a: np.ndarray, p: np.ndarray, temperature: float, out: np.ndarray, weigh: bool) -> list:
    """(2M,) losses over both views, without the negatives that `out` names for each row."""
    f, m, losses = np.concatenate([a, p]), len(a), []
    for i in range(2 * m):
        s = [math.exp(float(f[i] @ f[j]) / temperature) for j in range(2 * m)]
        partner = (i + m) % (2 * m)
        others = [s[j] for j in range(2 * m) if j not in (i, partner) and not out[i, j]]
        if weigh and others:
            mean = sum(others) / len(others)
            others = [x / mean * x for x in others]
        losses.append(-math.log(s[partner] / (s[partner] + sum(others))))
    return losses


def hard_negative_masked(a: np.ndarray, p: np.ndarray, t: float, out: np.ndarray) -> np.ndarray:
    losses = _views(a, p, t, out, weigh=True)
    return np.array([(x + y) / 2 for x, y in zip(losses[: len(a)], losses[len(a) :], strict=True)])


def nt_xent_masked(a: np.ndarray, p: np.ndarray, t: float, out: np.ndarray) -> np.ndarray:
    losses = _views(a, p, t, out, weigh=False)
    return np.array([(x + y) / 2 for x, y in zip(losses[: len(a)], losses[len(a) :], strict=True)])


def one_way_masked(a: np.ndarray, p: np.ndarray, t: float, out: np.ndarray) -> np.ndarray:
    """Anchors pick positives; `out` has rows and columns [anchors; positives]."""
    m, losses = len(a), []
    for i in range(m):
        kept = [j for j in range(m) if j == i or not out[i, m + j]]
        s = {j: math.exp(float(a[i] @ p[j]) / t) for j in kept}
        losses.append(-math.log(s[i] / sum(s.values())))
    return np.array(losses)


def info_nce_masked(a: np.ndarray, p: np.ndarray, t: float, out: np.ndarray) -> np.ndarray:
    m = len(a)
    turned = np.roll(out, (m, m), (0, 1))  # rows and columns [positives; anchors]
    return (one_way_masked(a, p, t, out) + one_way_masked(p, a, t, turned)) / 2


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
    """L of METHODS 4.3.

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


def with_named(
    name: str, a: np.ndarray, p: np.ndarray, named: np.ndarray, t: float, out: np.ndarray
) -> np.ndarray:
    """(M,) losses of pairs that name negatives: columns more of anchors, and of both views.

    `out` has rows [anchors; positives] and columns [anchors; positives; named].
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
        if name == "simcse":
            losses.append(of_row(i, answers))
        elif name == "info-nce":
            losses.append((of_row(i, answers) + of_row(i + m, back)) / 2)
        else:
            losses.append((of_row(i, everything) + of_row(i + m, everything)) / 2)
    return np.array(losses)
