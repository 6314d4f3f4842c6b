"""The centre that a run gives what it saves: the mean of its vectors of what it learns from.

It is taken off all vectors (`encoder.center`), as `dialtools center` has it taken off.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dialtools.encoder.center import EQUAL
from dialtools.encoder.encode import encode
from dialtools.encoder.static import StaticEncoder
from dialtools.metrics.space import unit
from dialtools.train.data.collate import Joining, responses
from dialtools.train.data.store import Store
from dialtools.train.loop import Trainer

MOST, MOST_STATIC = 4_096, 20_000
"""Responses whose mean is taken (off by the root of one in as many); static ones cost little."""
Side = Callable[[Store, np.ndarray, Joining], list[np.ndarray]]


def take_center(trainer: Trainer) -> None:
    """Give the encoder its centre as its weights are now; before a step its start's is right."""
    if not trainer.step:
        return
    trainer.encoder.center = None
    if trainer.values.center:
        store, pairs = trainer.setting.store, np.asarray(trainer.setting.pairs)
        most = MOST_STATIC if isinstance(trainer.encoder, StaticEncoder) else MOST
        some = pairs[:: -(-len(pairs) // most)]
        mean_D = vectors(trainer, responses, store, some).mean(0, dtype=np.float64)
        if np.linalg.norm(mean_D) < 1 - EQUAL:
            trainer.encoder.center = mean_D.astype(np.float32)


def vectors(trainer: Trainer, side: Side, store: Store, pairs: np.ndarray) -> np.ndarray:
    """Return (P, D) unit vectors of a side of the pairs, less the centre if there is one."""
    setting, encoder = trainer.setting, trainer.encoder
    sequences = side(store, pairs, setting.joining)
    tokens, precision = setting.max_tokens, trainer.precision
    found_PD = unit(encode(encoder, sequences, batch_tokens=tokens, precision=precision))
    return found_PD if encoder.center is None else unit(found_PD - encoder.center)
