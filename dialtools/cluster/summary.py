"""What each cluster is about: its size, the rows at its heart, the words that tell it apart.

N rows, K clusters, V words.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from dialtools.cluster.methods import Clusters
from dialtools.cluster.rows import Rows
from dialtools.cluster.stability import Stability
from dialtools.metrics.clusterings import silhouette
from dialtools.words import grown, is_unspaced, pair_terms

SCHEMA = "dialtools.cluster/1"
NEAREST, WORDS = 5, 8
DIGITS = 6
MOSTLY, LONGEST = 0.75, 8
"""Of the texts with two characters, how many have a longer word around them; its characters."""


def summary(
    rows: Rows, clusters: Clusters, stability: Stability | None = None
) -> list[dict[str, Any]]:
    """Return a record of all rows, one of each cluster, the largest first, and one of the noise."""
    return [
        _of_all(rows, clusters, stability),
        *({"schema": SCHEMA, **facts} for facts in cluster_facts(rows, clusters, stability)),
        *_of_noise(clusters),
    ]


def _of_all(rows: Rows, clusters: Clusters, stability: Stability | None) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "schema": SCHEMA,
        "size": len(rows),
        "share": 1.0,
        "clusters": len(clusters),
        "noise": clusters.noise,
    }
    if (value := silhouette(rows.vectors, clusters.labels)) == value:
        facts["silhouette"] = round(value, DIGITS)
    if stability:
        names = ("stability", "low", "high")
        told = zip(names, stability.overall(), strict=True)
        facts |= {name: round(value, DIGITS) for name, value in told if value == value}
    return facts


def cluster_facts(
    rows: Rows, clusters: Clusters, stability: Stability | None = None
) -> list[dict[str, Any]]:
    """Return what is known of each cluster."""
    words = telling_words(rows.texts, clusters.labels, len(clusters))
    sure = stability.of_clusters() if stability else None
    ids, records = rows.ids, []
    for number, size in enumerate(clusters.sizes.tolist()):
        members = np.flatnonzero(clusters.labels == number)
        near = members[np.argsort(clusters.distance[members], kind="stable")]
        facts = {
            "cluster": number,
            "size": size,
            "share": round(size / len(rows), DIGITS),
            "distance": round(float(clusters.distance[members].mean()), DIGITS),
            # of unit rows the one of least mean cosine distance to the others is that which is
            # nearest to their sum
            "medoid": ids[near[0]],
        }
        if sure is not None and sure[number] == sure[number]:
            facts["stability"] = round(float(sure[number]), DIGITS)
        if rows.texts:
            facts["nearest"] = list(dict.fromkeys(rows.texts[row] for row in near))[:NEAREST]
            facts["words"] = words[number]
        records.append(facts)
    return records


def _of_noise(clusters: Clusters) -> list[dict[str, Any]]:
    if not clusters.noise:
        return []
    share = round(clusters.noise / len(clusters.labels), DIGITS)
    return [{"schema": SCHEMA, "cluster": -1, "size": clusters.noise, "share": share}]


def telling_words(texts: Sequence[str], labels_N: np.ndarray, count: int) -> list[list[str]]:
    """Return the words that tell each cluster from the others, those that tell most first.

    By p log(p / q)^2, p and q being the shares of the cluster's texts and of all texts that have
    the word: what is as frequent everywhere tells nothing, so that no list of common words is
    needed. (With the logarithm itself, the word's part in the divergence of the cluster from all,
    "how" and "the" are still among them.) Words of a single text, such as numbers and names, tell
    of no cluster, and come last. Noise counts nothing.
    """
    in_cluster: list[Counter[str]] = [Counter() for _ in range(count)]
    texts_of: list[set[str]] = [set() for _ in range(count)]
    for text, label in zip(texts, labels_N.tolist(), strict=bool(texts)):
        if label >= 0:
            in_cluster[label].update(set(pair_terms(text)))
            if not text.isascii():
                texts_of[label].add(text.lower())
    everywhere: Counter[str] = Counter()
    for counter in in_cluster:
        everywhere.update(counter)
    sizes = np.bincount(labels_N[labels_N >= 0], minlength=count).tolist()
    return [
        _whole(_by_telling(counter, everywhere, size / sum(sizes)), sorted(own))
        for counter, size, own in zip(in_cluster, sizes, texts_of, strict=True)
    ]


def _whole(words: Sequence[str], texts: Sequence[str]) -> list[str]:
    """Return the first words; in a script without blanks as long as they mostly are, apart."""
    whole: list[str] = []
    for word in words:
        if len(whole) == WORDS:
            break
        if is_unspaced(word):
            word = grown(word, texts, share=MOSTLY, longest=LONGEST)
            if any(word in other or other in word for other in whole):
                continue
        whole.append(word)
    return whole


def _by_telling(counter: Counter[str], everywhere: Counter[str], share: float) -> list[str]:
    """Return the words of a cluster that has this share of the texts."""

    def key(word: str) -> tuple[bool, float, int, str]:
        count = counter[word]
        surprise = max(0.0, math.log(count / (share * everywhere[word])))
        return count == 1, -count * surprise**2, -count, word

    return sorted(counter, key=key)
