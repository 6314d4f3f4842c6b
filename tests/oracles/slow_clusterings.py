"""Measures of clusterings by their definitions, a pair of rows or an assignment at a time."""

from __future__ import annotations

from collections import Counter
from itertools import combinations, permutations
from math import log

import numpy as np


def nmi(clusters: list[int], labels: list[int]) -> float:
    """Twice the mutual information by the sum of the entropies."""
    n = len(clusters)
    cluster, label, both = (
        Counter(clusters),
        Counter(labels),
        Counter(zip(clusters, labels, strict=True)),
    )
    mutual = sum(
        count / n * log(count * n / (cluster[c] * label[k])) for (c, k), count in both.items()
    )
    entropies = sum(-count / n * log(count / n) for of in (cluster, label) for count in of.values())
    return 2 * mutual / entropies if entropies else 1.0


def adjusted_rand(clusters: list[int], labels: list[int]) -> float:
    """Pairs on which both agree, less those of chance, by their most less those of chance."""
    pairs = list(combinations(range(len(clusters)), 2))
    one = [clusters[i] == clusters[j] for i, j in pairs]
    two = [labels[i] == labels[j] for i, j in pairs]
    both = sum(a and b for a, b in zip(one, two, strict=True))
    chance = sum(one) * sum(two) / len(pairs) if pairs else 0
    most = (sum(one) + sum(two)) / 2
    return 1.0 if most == chance else (both - chance) / (most - chance)


def accuracy(clusters: list[int], labels: list[int]) -> float:
    """The best of all one-to-one assignments of clusters to labels."""
    names, kinds = sorted(set(clusters)), sorted(set(labels))
    padded = [*kinds, *([None] * max(0, len(names) - len(kinds)))]
    return max(
        sum(
            dict(zip(names, chosen, strict=True))[c] == k
            for c, k in zip(clusters, labels, strict=True)
        )
        for chosen in permutations(padded, len(names))
    ) / len(labels)


def precision(clusters: list[int], labels: list[int]) -> float:
    """Each cluster's commonest label."""
    of = {c: Counter(k for d, k in zip(clusters, labels, strict=True) if c == d) for c in clusters}
    return sum(max(counts.values()) for counts in of.values()) / len(labels)


def recall(clusters: list[int], labels: list[int]) -> float:
    return precision(labels, clusters)


def f1(clusters: list[int], labels: list[int]) -> float:
    first, second = precision(clusters, labels), recall(clusters, labels)
    return 2 * first * second / (first + second)


def coverage(clusters: list[int], labels: list[int]) -> float:
    """Rows whose label some cluster has most of; of equal ones the last."""
    of = {c: Counter(k for d, k in zip(clusters, labels, strict=True) if c == d) for c in clusters}
    covered = {max(counts, key=lambda k: (counts[k], k)) for counts in of.values()}
    return sum(k in covered for k in labels) / len(labels)


def silhouette(vectors: np.ndarray, clusters: list[int]) -> float:
    """(b - a) by the larger, of mean cosine distances to one's own and to the nearest cluster."""
    values = []
    for i, own in enumerate(clusters):
        if own < 0:
            continue
        far = {
            c: [1 - vectors[i] @ vectors[j] for j, d in enumerate(clusters) if c == d and i != j]
            for c in set(clusters) - {-1}
        }
        a = float(np.mean(far[own])) if far[own] else None
        b = min(float(np.mean(distances)) for c, distances in far.items() if c != own)
        values.append(0.0 if a is None else (b - a) / max(a, b, 1e-300))
    return float(np.mean(values))
