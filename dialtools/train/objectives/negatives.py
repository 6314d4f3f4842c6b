"""Candidates beside a pair's response: what it names, what is drawn, or the batch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

import numpy as np

from dialtools.errors import DataError
from dialtools.train.data.collate import named_negatives
from dialtools.train.data.store import Store
from dialtools.train.draws import generator
from dialtools.train.objectives.base import Setting
from dialtools.train.objectives.catalog import ANY_ROLE, OTHER_DOMAIN, SAME_ROLE, CandidateOptions

CandidateT = TypeVar("CandidateT", bound=CandidateOptions)
TRIES = 50  # rounds of drawing before all are looked at: rare ones are hardly ever drawn
STREAM = 1 << 40  # of the random numbers of a step; epochs' orders use streams below


class Negatives:
    """Draws K utterances for each pair, anew in each step, as a function of seed and step alone.

    Attributes:
        count: K; 0 draws none, and the other responses of the batch serve.
    """

    def __init__(
        self,
        store: Store,
        pairs: np.ndarray,
        *,
        count: int,
        seed: int,
        drawn_from: str = SAME_ROLE,
    ) -> None:
        self.store = store
        self.count = count
        self.seed = seed
        self.drawn_from = drawn_from
        if drawn_from == OTHER_DOMAIN and not np.asarray(store.domain)[pairs].all():
            raise DataError(
                "pairs without a domain, which --negatives-from other-domain needs",
                hint="dial-pairs --domain writes it",
            )
        role = np.asarray(store.response_role)[pairs] * (drawn_from != ANY_ROLE)
        self.pools = {int(r): pairs[role == r] for r in np.unique(role)}

    @classmethod
    def of(cls, setting: Setting[CandidateT]) -> Negatives:
        """Return the negatives that the options of an objective ask for."""
        options = setting.options
        return cls(
            setting.store,
            setting.pairs,
            count=options.negatives if isinstance(options.negatives, int) else 0,
            seed=setting.seed,
            drawn_from=options.negatives_from,
        )

    @property
    def of_batch(self) -> bool:
        """Whether the other responses of the batch are the negatives."""
        return self.count == 0

    @property
    def least(self) -> int:
        """Pairs of a batch at least: one alone has the negatives that are drawn for it."""
        return 2 if self.of_batch else 1

    def candidates(self, pairs: np.ndarray, step: int) -> np.ndarray:
        """Return (N, 1 + K) utterances: the true response of each pair, then those drawn."""
        true = self.store.response[pairs].astype(np.int64)[:, None]
        return true if self.of_batch else np.concatenate([true, self.draw(pairs, step)], 1)

    def named(self, pairs: np.ndarray) -> np.ndarray:
        """Return (M,) distinct utterances that pairs name, to be beside the responses of a batch.

        There are none where each pair has candidates of its own, among which they are.
        """
        if not self.of_batch:
            return np.zeros(0, np.int64)
        return np.unique(named_negatives(self.store, pairs)[0])

    def asked(
        self, pairs: np.ndarray, candidates_NK: np.ndarray, named_M: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """Return (N, K) or, of a batch, (J,) candidates, each pair's own, and which are none."""
        if self.of_batch:
            return batch_candidates(candidates_NK[:, 0], self.store.dialogue[pairs], named_M)
        return candidates_NK, np.zeros(len(candidates_NK), np.int64), None

    def draw(self, pairs: np.ndarray, step: int) -> np.ndarray:
        """Return (N, K) utterances: those that a pair names, as many as there are, else drawn.

        A drawn one is of another dialogue, by the speaker role of the response (or as
        --negatives-from has it), and neither it nor a turn of its context.

        Raises:
            DataError: if the pairs do not have K such responses.
        """
        draw = generator(self.seed, step, stream=STREAM)
        return np.stack([self._draw_for(int(pair), draw) for pair in pairs])

    def _draw_for(self, pair: int, draw: np.random.Generator) -> np.ndarray:
        store = self.store
        named = store.negatives[store.negative(pair)].tolist()
        other = [u for u in named if u != store.response[pair]]
        chosen = dict.fromkeys(list(dict.fromkeys(other))[: self.count])
        role = int(store.response_role[pair]) if self.drawn_from != ANY_ROLE else 0
        pool = self.pools[role]
        around = {
            int(store.response[pair]),
            *store.turns[store.context(pair)].tolist(),
            *store.follow[store.after(pair)].tolist(),
        }
        for tries in range(TRIES + 1):
            missing = self.count - len(chosen)
            if not missing:
                break
            some = pool[draw.integers(0, len(pool), 2 * missing)]
            if tries == TRIES:
                some = draw.permutation(pool)
            some = some[store.dialogue[some] != store.dialogue[pair]]
            if self.drawn_from == OTHER_DOMAIN:
                some = some[store.domain[some] != store.domain[pair]]
            new = dict.fromkeys(u for u in store.response[some].tolist() if u not in around)
            chosen = dict.fromkeys([*(chosen | new)][: self.count])
        if len(chosen) < self.count:
            raise self._too_few()
        return np.fromiter(chosen, np.int64, self.count)

    def _too_few(self) -> DataError:
        kinds, fewer = ["of other dialogues"], "--negatives N asks for fewer"
        if self.drawn_from == OTHER_DOMAIN:
            kinds.append("of another domain")
        if len(self.pools) > 1:
            kinds.append("of the same role")
            fewer += ", --negatives-from any takes those of any role"
        found = f"fewer than {self.count} responses {' and '.join(kinds)} to contrast a response"
        return DataError(f"{found} with", hint=fewer)


def batch_candidates(
    responses_N: np.ndarray, dialogue_N: np.ndarray, named_M: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Let all responses of a batch, and all that its pairs name, be the candidates of each pair.

    Returns:
        (J,) the distinct candidates, (N,) which of them is each pair's own, and (N, J) bool, those
        of its dialogue, which are no negatives of it.
    """
    n = len(responses_N)
    distinct, place = np.unique(np.concatenate([responses_N, named_M]), return_inverse=True)
    truth = place[:n]
    kin = np.zeros((len(truth), len(distinct)), bool)
    np.logical_or.at(kin.T, truth, dialogue_N[:, None] == dialogue_N[None, :])
    return distinct, truth, kin


def places_of(utterances: np.ndarray, place: Mapping[int, int]) -> np.ndarray:
    """Return where the sequence of each utterance stands, in the shape of the utterances."""
    places = [place[utterance] for utterance in utterances.ravel().tolist()]
    return np.asarray(places, np.int64).reshape(utterances.shape)
