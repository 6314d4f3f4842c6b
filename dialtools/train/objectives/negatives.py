"""Negatives drawn for each pair: responses of other dialogues by the same role (DialogueCSE, METHODS 5.1)."""

from __future__ import annotations

import numpy as np

from dialtools.errors import DataError
from dialtools.train.data.store import Store

TRIES = 50


class Negatives:
    """Draws K utterances for each pair, anew in each step, as a function of seed and step alone."""

    def __init__(self, store: Store, pairs: np.ndarray, *, count: int, seed: int) -> None:
        self.store, self.count, self.seed = store, count, seed
        role = np.asarray(store.response_role)[pairs]
        self.pools = {int(r): pairs[role == r] for r in np.unique(role)}

    def draw(self, pairs: np.ndarray, step: int) -> np.ndarray:
        """Return (N, K) utterances: those that a pair names, as many as there are, else drawn.

        A drawn one is of another dialogue, by the speaker role of the response, and neither it nor
        a turn of its context.

        Raises:
            DataError: if the pairs do not have K such responses.
        """
        bits = np.random.Philox(key=[self.seed & (2**64 - 1), step], counter=[0, 0, 0, 1 << 40])
        draw = np.random.Generator(bits)
        return np.stack([self._of(int(pair), draw) for pair in pairs])

    def _of(self, pair: int, draw: np.random.Generator) -> np.ndarray:
        store = self.store
        found = dict.fromkeys(store.negatives[store.negative(pair)][: self.count].tolist())
        pool = self.pools[int(store.response_role[pair])]
        own = {
            int(store.response[pair]),
            *store.turns[store.context(pair)].tolist(),
            *store.follow[store.after(pair)].tolist(),
        }
        for _ in range(TRIES):
            if len(found) == self.count:
                break
            some = pool[draw.integers(0, len(pool), 2 * (self.count - len(found)))]
            some = some[store.dialogue[some] != store.dialogue[pair]]
            new = [u for u in store.response[some].tolist() if u not in own]
            found.update(dict.fromkeys(new[: self.count - len(found)]))
        if len(found) < self.count:
            raise DataError(
                f"fewer than {self.count} responses of other dialogues to contrast a response with",
                hint="--negatives N asks for fewer",
            )
        return np.fromiter(found, np.int64, self.count)


def of_batch(
    responses_N: np.ndarray, dialogue_N: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the J distinct responses of a batch, (N,) which of them is each pair's own, and (N, J) those of its dialogue.

    The latter are no negatives of it.
    """
    distinct, truth = np.unique(responses_N, return_inverse=True)
    kin = np.zeros((len(truth), len(distinct)), bool)
    np.logical_or.at(kin.T, truth, dialogue_N[:, None] == dialogue_N[None, :])
    return distinct, truth, kin
