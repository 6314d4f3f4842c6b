"""Many sequences to vectors, without gradients."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain, pairwise

import numpy as np
import torch
from torch import Tensor

from dialtools.advance import Advance, silent
from dialtools.encoder.batches import pad, token_batches
from dialtools.encoder.device import autocast
from dialtools.encoder.encoder import Encoder
from dialtools.errors import ModelError

Arrival = Callable[[], np.ndarray]
"""Waits for an array that a GPU may still be computing, and returns it."""


def encode(
    encoder: Encoder,
    sequences: Sequence[np.ndarray],
    *,
    batch_tokens: int,
    precision: str = "float32",
    advance: Advance = silent,
) -> np.ndarray:
    """Encode sequences of token ids, in batches of like length.

    A GPU computes a batch while the next is made, and its vectors come one batch later.

    Args:
        batch_tokens: padded tokens of a batch at most; where they do not fit into a GPU's memory,
            half of them.
        advance: called with the number of sequences after each batch.

    Returns:
        (N, D) float32, in the order of the sequences; zeros for one without a token.

    Raises:
        ModelError: if a single sequence does not fit into a GPU's memory.
    """
    vectors_ND = np.zeros((len(sequences), encoder.dimension), np.float32)
    was_training = encoder.training
    encoder.eval()
    if any(parameter.dtype == torch.bfloat16 for parameter in encoder.parameters()):
        precision = "float32"  # such weights need no casts around each layer
    with torch.inference_mode(), autocast(encoder.device, precision):
        begun = chain(_begun(encoder, sequences, batch_tokens), [None])
        for early, _ in pairwise(begun):  # the next is begun before this one is waited for
            assert early is not None
            rows, arrival = early
            vectors_ND[rows] = arrival()
            advance(len(rows))
    encoder.train(was_training)
    return vectors_ND


def _begun(
    encoder: Encoder, sequences: Sequence[np.ndarray], batch_tokens: int
) -> Iterator[tuple[np.ndarray, Arrival]]:
    """Begin batch after batch; yield the rows of each, and what waits for their vectors."""
    lengths = np.fromiter((len(s) for s in sequences), np.int64, len(sequences))
    alike = encoder.feels_padding
    some = np.flatnonzero(lengths)
    cut = token_batches(lengths[some], max_tokens=batch_tokens, alike=alike)
    batches = [some[rows] for rows in cut[::-1]]
    while batches:
        rows = batches.pop()
        arrival = _arrival(encoder, [sequences[row] for row in rows])
        if arrival is None:
            batches = smaller(rows, batches, lengths, alike=alike)
        else:
            yield rows, arrival


def _arrival(encoder: Encoder, sequences: Sequence[np.ndarray]) -> Arrival | None:
    """Begin a batch; return what waits for its vectors, None if a GPU's memory is too small."""
    try:
        return on_its_way(encoder(*pad(sequences, encoder.special)))
    except torch.OutOfMemoryError:
        pass  # not in the handler: what it holds has to go first
    torch.cuda.empty_cache()
    return None


def on_its_way(vectors: Tensor) -> Arrival:
    """Begin to copy a tensor to the CPU, while a GPU computes on; return what waits for it."""
    if vectors.device.type != "cuda":
        return vectors.cpu().numpy
    host = vectors.to("cpu", non_blocking=True)  # torch pins the memory of such a copy
    copied = torch.cuda.Event()
    copied.record(torch.cuda.current_stream(vectors.device))

    def arrival() -> np.ndarray:
        copied.synchronize()
        return host.numpy()

    return arrival


def smaller(
    rows: np.ndarray, batches: Sequence[np.ndarray], lengths: np.ndarray, *, alike: bool = False
) -> list[np.ndarray]:
    """Return what is left, the last first, in batches of half the tokens of one that did not fit.

    Raises:
        ModelError: if that was a single sequence.
    """
    longest = int(lengths[rows].max())
    if len(rows) == 1:
        raise ModelError(
            f"a text of {longest:,} tokens does not fit into the memory of the GPU",
            hint="--max-length N",
        )
    left = np.concatenate([rows, *batches[::-1]])
    halves = token_batches(lengths[left], max_tokens=len(rows) * longest // 2, alike=alike)
    return [left[half] for half in halves[::-1]]
