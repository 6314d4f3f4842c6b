"""A static encoder without torch, which takes seconds to start: this one embeds, `static` trains.
Both add the same numbers in the same order, so that their vectors have the same bytes.

Its files are as sentence-transformers (StaticEmbedding) and model2vec have them.
`model.safetensors` holds the vectors, as `embeddings` (ours, model2vec's) or `embedding.weight`;
beside them may stand `earlier`, those of tokens in turns before the newest, which others pass over;
model2vec's may have one vector for several tokens (`mapping`) and weights of tokens (`weights`).
`tokenizer.json` is the tokenizer; what comes around a text does not count.

V tokens, N sequences, D dimensions.
"""

from __future__ import annotations

from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np

from dialtools.encoder.arrays import read_arrays
from dialtools.encoder.catalog import USUAL_POOLING
from dialtools.encoder.center import read_center
from dialtools.encoder.folder import WEIGHTS
from dialtools.encoder.growth import refuse_growth
from dialtools.encoder.stated import Stated
from dialtools.encoder.tokens import MOST_PADDED, Flat, SpecialTokens, check_ids
from dialtools.errors import ConfigError, ModelError
from dialtools.shown import first_line, shape_of

OURS = "embeddings"
EARLIER = "earlier"
NAMES = (OURS, "embedding.weight")
TOKENIZER = "tokenizer.json"
UNBOUNDED = 1 << 30
"""Tokens of a text at most: an average has no end."""
CACHED = 1 << 18
"""Numbers that are summed at once: 1 MiB."""


class TokenVectors:
    """An encoder of averages of tokens' vectors.

    Attributes:
        vectors, earlier: (V, D) float32; of tokens in turns before the newest, if they are apart.
        tokenizer: of the tokenizers library.
        max_length, normalize, center, pooling, role_tokens, special, batch_tokens, device: as
            `Encoder` has them.
    """

    pooling = USUAL_POOLING
    role_tokens = None
    device = "cpu"
    center: np.ndarray | None = None

    def __init__(
        self, vectors_VD: np.ndarray, tokenizer: Any, *, earlier_VD: np.ndarray | None = None
    ) -> None:
        self.vectors = vectors_VD
        self.earlier = earlier_VD
        self.tokenizer = tokenizer
        self.max_length = UNBOUNDED
        self.normalize = False
        self.special = SpecialTokens.none(0, earlier=earlier_VD is not None)

    def batch_tokens(self, precision: str) -> int:
        return 0  # all at once

    @property
    def dimension(self) -> int:
        """D, the length of a vector."""
        return self.vectors.shape[1]

    def digest(self) -> str:
        """Return 64 bits of all vectors, in hex: those of `Encoder.digest`."""
        total = blake2b(digest_size=8)
        for name, table_VD in (("earlier", self.earlier), ("embedding", self.vectors)):
            if table_VD is not None:
                total.update(f"{name}.weight".encode())
                total.update(np.ascontiguousarray(table_VD).data)
        if self.center is not None:
            total.update(self.center.data)
        return total.hexdigest()

    def encode(self, flat: Flat) -> np.ndarray:
        """Return (N, D) float32 averages; of a sequence without tokens, zeros."""
        ids, ends = flat
        sizes_N = np.diff(ends)
        if self.earlier is None:
            sums_ND = _sums(self.vectors, ids, ends)
        else:
            before = ids < 0
            passed = np.append(0, np.cumsum(before))[ends]
            sums_ND = _sums(self.vectors, ids[~before], ends - passed)
            sums_ND += _sums(self.earlier, ~ids[before], passed)
        sums_ND /= np.maximum(sizes_N, 1).astype(np.float32)[:, None]
        return sums_ND


def _sums(table_VD: np.ndarray, ids: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Return (N, D) sums of the rows of each sequence, added from its first token to its last.

    Sequences of like length are summed together, token by token: NumPy's sums of ranges of rows
    take ten times as long.
    """
    starts_N, sizes_N = ends[:-1], np.diff(ends)
    width = table_VD.shape[1]
    sums_ND = np.zeros((len(sizes_N), width), np.float32)
    longest_first = np.argsort(-sizes_N, kind="stable")
    most = max(1, CACHED // width)
    term = np.empty((most, width), np.float32)
    for first in range(0, np.count_nonzero(sizes_N), most):
        rows = longest_first[first : first + most]
        starts, sizes = starts_N[rows], sizes_N[rows]
        total = np.zeros((len(rows), width), np.float32)
        for place in range(sizes[0]):
            n = np.searchsorted(-sizes, -place)  # as many have a token at this place
            np.take(table_VD, ids[starts[:n] + place], axis=0, out=term[:n], mode="clip")
            total[:n] += term[:n]
        sums_ND[rows] = total
    return sums_ND


def load_token_vectors(
    stated: Stated, *, pooling: str | None, max_length: int | None
) -> TokenVectors:
    """Return the static encoder that a folder states.

    Raises:
        ModelError: if it is not there, damaged, or its files do not belong together.
    """
    if pooling not in (None, USUAL_POOLING):
        raise ConfigError(f"--pooling {pooling}: a static encoder averages")
    encoder = read_token_vectors(stated.transformer)
    encoder.normalize = stated.normalize
    if stated.center:
        encoder.center = read_center(stated.center, encoder.dimension)
    encoder.max_length = max_length or UNBOUNDED
    return encoder


def read_token_vectors(folder: Path) -> TokenVectors:
    """Return the static encoder of a folder, unscaled and unbounded.

    Raises:
        ModelError: as `load_token_vectors`.
    """
    path = folder / WEIGHTS
    tensors = read_arrays(path)
    tokenizer = _tokenizer(folder / TOKENIZER)
    most = max(tokenizer.get_vocab().values(), default=0) + 1 + MOST_PADDED
    vectors_VD, earlier_VD = _folded(tensors, path, most=most), tensors.get(EARLIER)
    if earlier_VD is not None:
        if earlier_VD.shape != vectors_VD.shape:
            expected, got = shape_of(vectors_VD.shape), shape_of(earlier_VD.shape)
            raise ModelError(f"{EARLIER}: expected {expected} numbers, got {got}", where=path)
        earlier_VD = _numbers(earlier_VD, EARLIER, path)
    check_ids(
        tokenizer.get_vocab,
        lambda text: tokenizer.encode_batch([text] * 2)[0].ids,  # makes threads
        rows=len(vectors_VD),
        pad=(tokenizer.padding or {}).get("pad_id", 0),
        where=folder,
        least=1.0,
    )
    return TokenVectors(vectors_VD, tokenizer, earlier_VD=earlier_VD)


def _folded(tensors: dict[str, np.ndarray], where: Path, *, most: int) -> np.ndarray:
    """Return the vector of each token.

    Args:
        most: tokens that there may be: a small file may map many.
    """
    name = next((name for name in NAMES if name in tensors), None)
    if name is None:
        raise ModelError(f"no {' or '.join(NAMES)} in it", where=where)
    vectors = _numbers(tensors[name], name, where)
    mapping, weights = tensors.get("mapping"), tensors.get("weights")
    if mapping is not None:
        whole = mapping.ndim == 1 and mapping.dtype.kind in "biu" and mapping.size
        if not whole or int(mapping.min()) < 0 or int(mapping.max()) >= len(vectors):
            raise ModelError(f"mapping: expected rows of {name}", where=where)
        if len(mapping) > most:
            raise ModelError(f"mapping: more tokens than a tokenizer's {most:,}", where=where)
        vectors = vectors[mapping.astype(np.int64)]
    if weights is not None:
        if weights.shape != vectors.shape[:1] or weights.dtype.kind != "f":
            raise ModelError(
                f"weights: expected a number a token, got {_told(weights)}", where=where
            )
        vectors = vectors * weights.astype(np.float32)[:, None]
    if not np.isfinite(vectors).all():
        raise ModelError(f"{name}: not all are finite", where=where)
    return vectors


def _numbers(vectors: np.ndarray, name: str, where: Path) -> np.ndarray:
    """Return rows of numbers as float32."""
    if vectors.ndim != 2 or vectors.dtype.kind != "f" or not vectors.size:
        raise ModelError(f"{name}: expected rows of numbers, got {_told(vectors)}", where=where)
    if not np.isfinite(vectors).all():
        raise ModelError(f"{name}: not all are finite", where=where)
    with np.errstate(over="ignore"):  # told where they are used
        return np.require(vectors, np.float32, ["C", "W"])


def _told(tensor: np.ndarray) -> str:
    """Return what a tensor is, in a few words."""
    return f"{shape_of(tensor.shape)} of {tensor.dtype}"


def _tokenizer(path: Path) -> Any:
    from tokenizers import Tokenizer

    refuse_growth(path)
    try:
        return Tokenizer.from_file(str(path))
    except Exception as error:  # whatever tokenizers raises
        raise ModelError(f"not a tokenizer: {first_line(error)}", where=path) from None
