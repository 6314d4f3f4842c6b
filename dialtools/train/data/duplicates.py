"""False negatives: batch-mates that mean the same as the positive."""

from __future__ import annotations

import numpy as np

from dialtools.ranges import places_in


def same_text(
    anchor_N: np.ndarray, positive_N: np.ndarray, negative_M: np.ndarray | None = None
) -> np.ndarray:
    """Return (2N, 2N + M) bool: True where a column has the text of a row, or of its partner.

    Rows are [anchors; positives], columns the same and negatives that pairs name. A row would be
    pushed from what it is, or from what it is pulled to. Oneself and one's partner stay False.

    Args:
        anchor_N, positive_N, negative_M: an integer for each distinct text.
    """
    text = np.concatenate([anchor_N, positive_N])
    partner = np.concatenate([positive_N, anchor_N])
    columns = text if negative_M is None else np.concatenate([text, negative_M])
    same = np.zeros((len(text), len(columns)), bool)
    same[_matches(text, columns)] = True
    same[_matches(partner, columns)] = True
    return _without_self_and_partner(same, len(anchor_N))


def neighbours(dialogue_N: np.ndarray, turn_N: np.ndarray, alone_N: np.ndarray) -> np.ndarray:
    """Return (2N, 2N) bool: True where two non-partners are neighbours in one dialogue.

    Args:
        turn_N: of the positives; below zero where it is not known, and then next to none.
        alone_N: whether a pair is one turn with itself; else its anchor ends a turn before.
    """
    dialogue, known = np.tile(dialogue_N, 2), np.tile(turn_N >= 0, 2)
    turn = np.concatenate([turn_N - ~alone_N, turn_N])
    left, right = _matches(dialogue, dialogue)
    near = np.zeros((len(turn), len(turn)), bool)
    near[left, right] = (np.abs(turn[left] - turn[right]) <= 1) & known[left] & known[right]
    return _without_self_and_partner(near, len(dialogue_N))


def _matches(left: np.ndarray, right: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return all places i, j with left[i] == right[j]; few of all there are, as a rule."""
    order = np.argsort(right, kind="stable")
    first = np.searchsorted(right[order], left, "left")
    sizes = np.searchsorted(right[order], left, "right") - first
    return np.repeat(np.arange(len(left)), sizes), order[places_in(first, sizes)]


def _without_self_and_partner(mask: np.ndarray, n: int) -> np.ndarray:
    """Clear in place where a row meets itself or its partner."""
    rows = np.arange(2 * n)
    mask[rows, rows] = False
    mask[rows, (rows + n) % (2 * n)] = False
    return mask


def rate(excluded: np.ndarray) -> float:
    """Return the share of negatives that are false."""
    rows, columns = excluded.shape
    return float(excluded.sum() / max(1, rows * (columns - 2)))
