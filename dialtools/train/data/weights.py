"""How much each pair counts: as its record says, or less the more frequent its response (WMDC)."""

from __future__ import annotations

import numpy as np

from dialtools.chance import stable_hash
from dialtools.freq.normalise import AS_WMDC, normalise
from dialtools.freq.weights import Weighting
from dialtools.train.data.store import Store, utterance_texts


def pair_weights(store: Store, pairs: np.ndarray, *, kind: str, mean_one: bool) -> np.ndarray:
    """Return (P,) float32 weights of all pairs of a store, of which `pairs` alone have a say.

    Args:
        kind: `none` 1 for all; `given` what the records say, 1 where they say nothing; `irf` what
            the records say, else 1 / (ln f + 1), f the frequency of the response (WMDC
            app. A).
        mean_one: scale so that the mean over `pairs` is 1.
    """
    if kind == "none":
        return np.ones(len(store), np.float32)
    weights = np.array(store.weight)
    unsaid = np.isnan(weights)
    if kind == "irf" and unsaid.any():
        weights = np.where(unsaid, inverse_response_frequency(store, pairs), weights)
    weights = np.nan_to_num(weights, nan=1.0)
    if mean_one:
        weights /= max(float(weights[pairs].mean()), 1e-12)
    return weights.astype(np.float32)


def inverse_response_frequency(store: Store, pairs: np.ndarray) -> np.ndarray:
    """Return (P,) 1 / (ln f + 1), f the frequency of the response among `pairs`.

    Counted as dial-freq counts: a turn counts once, though it answers a context of every window
    size, and again where a window is there again, of another dialogue of the
    same name. Pairs that do not say of which dialogue or turn they are count each for itself.
    """
    folded = _folded(store)
    response = np.asarray(store.response)
    place = np.asarray(store.dialogue)[pairs].astype(np.uint64)
    for part in (store.turn, store.response):
        place = _mixed(place, np.asarray(part)[pairs])
    unknown = np.asarray(store.turn)[pairs] < 0
    place[unknown] = np.arange(unknown.sum(), dtype=np.uint64)  # each for itself
    windowed = _mixed(place, np.asarray(store.window)[pairs])
    _, first, times = np.unique(windowed, return_index=True, return_counts=True)
    _, once, turn = np.unique(place[first], return_index=True, return_inverse=True)
    most = np.zeros(len(once), np.int64)
    np.maximum.at(most, turn, times)
    kinds = int(folded.max(initial=0)) + 1
    frequency = np.bincount(folded[response[pairs[first[once]]]], weights=most, minlength=kinds)
    return Weighting()(frequency)[folded[response]]


def _mixed(numbers: np.ndarray, more: np.ndarray) -> np.ndarray:
    """Return one 64-bit number for two, with splitmix's constant."""
    mixed = (numbers ^ (numbers >> np.uint64(29))) * np.uint64(0x9E3779B97F4A7C15)
    return mixed + more.astype(np.uint64)


def _folded(store: Store) -> np.ndarray:
    """Return (U,) an integer for each utterance, the same where texts are counted as one."""
    hashes = np.fromiter(
        (stable_hash(normalise(text, AS_WMDC)) for text in utterance_texts(store.directory)),
        np.uint64,
        store.counts["utterances"],
    )
    return np.unique(hashes, return_inverse=True)[1]
