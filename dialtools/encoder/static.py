"""A static encoder: a vector for each token, and of a text their average. No layers, no positions.

It is trained in minutes where a transformer takes hours, and embeds a text in microseconds; the
order of words is lost on it. That of turns need not be: a token may have another vector where it
stands in a turn before the newest. `token_vectors` tells of its files.

V tokens, N texts of T tokens at most, K distinct tokens of a batch, D dimensions.
"""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor, nn

from dialtools.encoder.chain import along
from dialtools.encoder.device import moved, together
from dialtools.encoder.encoder import Encoder
from dialtools.encoder.folder import WEIGHTS
from dialtools.encoder.pretrained import quiet_transformers
from dialtools.encoder.randomness import seeded
from dialtools.encoder.sidefile import write_json
from dialtools.encoder.token_vectors import EARLIER, OURS, UNBOUNDED, TokenVectors
from dialtools.encoder.tokens import SpecialTokens, save_tokenizer
from dialtools.errors import ConfigError

BATCH_TOKENS = 1 << 19
"""Padded tokens a batch, on any device: a token costs a row of the table, and no layer."""


class Table(nn.Module):
    """The vectors, where other encoders have a transformer.

    Attributes:
        earlier: of tokens in turns before the newest; None where all turns are alike.
    """

    def __init__(self, vectors_VD: Tensor, earlier_VD: Tensor | None = None) -> None:
        super().__init__()
        self.embedding = _embedding(vectors_VD)
        self.earlier = None if earlier_VD is None else _embedding(earlier_VD)
        self.config = SimpleNamespace(
            model_type="static", hidden_size=vectors_VD.shape[1], num_hidden_layers=0
        )

    def get_input_embeddings(self) -> nn.Embedding:
        return self.embedding

    def resize_token_embeddings(self, rows: int, *, mean_resizing: bool = False) -> None:
        """Add rows, drawn like those there are, or leave out the last.

        transformers' models have a method of this name.
        """
        old_VD = self.embedding.weight.detach()[:rows]
        new_VD = torch.randn(rows - len(old_VD), old_VD.shape[1]) * old_VD.std()
        self.embedding = _embedding(torch.cat([old_VD, new_VD]))
        if self.earlier is not None:
            self.earlier = _embedding(torch.cat([self.earlier.weight.detach()[:rows], new_VD]))


def _embedding(vectors_VD: Tensor) -> nn.Embedding:
    return nn.Embedding.from_pretrained(vectors_VD, freeze=False)


class StaticEncoder(Encoder):
    """Texts (as token ids) to the average of their tokens' vectors.

    Attributes:
        sparse: gradients are those of the tokens of a batch alone; the optimiser must take them.
    """

    def __init__(
        self,
        vectors_VD: Tensor,
        tokenizer: Any,
        *,
        earlier_VD: Tensor | None = None,
        normalize: bool = False,
    ) -> None:
        super().__init__(
            Table(vectors_VD, earlier_VD),
            tokenizer,
            pooling="mean",
            max_length=UNBOUNDED,
            normalize=normalize,
        )
        self._set_special()
        self.sparse = False

    def _set_special(self) -> None:
        earlier = self.backbone.earlier is not None
        self.special = SpecialTokens.none(self.tokenizer.pad_token_id or 0, earlier=earlier)

    def tell_turns_apart(self) -> None:
        """Give tokens of turns before the newest vectors of their own, equal to begin with."""
        if self.backbone.earlier is None:
            self.backbone.earlier = _embedding(self.backbone.embedding.weight.detach().clone())
            self._set_special()

    @property
    def positions(self) -> int:
        return UNBOUNDED

    @property
    def shape(self) -> str:
        apart = ", earlier turns apart" if self.backbone.earlier is not None else ""
        return f"static, {len(self.tokenizer):,} tokens x {self.dimension}{apart}"

    def batch_tokens(self, precision: str) -> int:
        return BATCH_TOKENS

    @property
    def floats_a_token(self) -> int:
        return 1

    def forward(self, ids_NT: Tensor, mask_NT: Tensor) -> Tensor:
        """Return (N, D) averages; of a text without tokens, zeros.

        Which tokens there are is asked where they come from: on the CPU, no GPU is waited for.
        """
        mask_NT = mask_NT.bool()
        sizes_N = moved(mask_NT.sum(1), self.device)
        earlier_NT = mask_NT & (ids_NT < 0)
        sums_ND = self._sums(self.backbone.embedding, ids_NT, mask_NT & ~earlier_NT)
        if earlier_NT.any():
            sums_ND = sums_ND + self._sums(self.backbone.earlier, ~ids_NT, earlier_NT)
        return sums_ND / sizes_N.clamp(min=1)[:, None]

    def _sums(self, table: nn.Embedding, ids_NT: Tensor, mask_NT: Tensor) -> Tensor:
        """Return (N, D) sums of the vectors of some tokens of each text."""
        ids, sizes_N = ids_NT[mask_NT], mask_NT.sum(1)
        offsets_N = sizes_N.cumsum(0) - sizes_N
        if self.sparse and torch.is_grad_enabled():
            return _SparseBag.apply(table.weight, ids, offsets_N)  # type: ignore[return-value]
        ids, offsets_N = together([ids, offsets_N], self.device)
        return nn.functional.embedding_bag(ids, table.weight, offsets_N, mode="sum")

    def tokens(self, ids_NT: Tensor, mask_NT: Tensor) -> Tensor:
        """Return (N, T, D) vectors of tokens of texts that are one turn each."""
        ids_NT = moved(ids_NT, self.device)
        return nn.functional.embedding(ids_NT, self.backbone.embedding.weight, sparse=self.sparse)

    def freeze(self, layers: int) -> None:
        raise ConfigError(f"--freeze {layers}: a static encoder has no layers")


class _SparseBag(torch.autograd.Function):
    """Sums whose gradient is a row for each distinct token, summed: coalesced as it is made."""

    @staticmethod
    def forward(ctx: Any, weight_VD: Tensor, ids: Tensor, offsets_N: Tensor) -> Tensor:
        present_V = torch.zeros(len(weight_VD), dtype=torch.bool, device=ids.device)
        present_V[ids] = True
        rows_K = present_V.nonzero()[:, 0]
        ids = (present_V.cumsum(0) - 1)[ids]
        rows_K, ids, offsets_N = together([rows_K, ids, offsets_N], weight_VD.device)
        with torch.enable_grad():
            vectors_KD = weight_VD.detach()[rows_K].requires_grad_()
            ctx.sums = nn.functional.embedding_bag(ids, vectors_KD, offsets_N, mode="sum")
        ctx.vectors, ctx.rows, ctx.shape = vectors_KD, rows_K, weight_VD.shape
        return ctx.sums.detach()

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        with torch.enable_grad():
            total = along(ctx.sums, gradients[0])
        (values_KD,) = torch.autograd.grad(total, ctx.vectors)
        gradient = torch.sparse_coo_tensor(
            ctx.rows[None], values_KD, ctx.shape, is_coalesced=True, check_invariants=False
        )
        return gradient, None, None


def fresh_static(tokenizer: Any, *, dimension: int, seed: int) -> StaticEncoder:
    """Return a static encoder of random vectors, of length 1 about."""
    with seeded(seed):
        vectors_VD = torch.randn(len(tokenizer), dimension) / dimension**0.5
    return StaticEncoder(vectors_VD, tokenizer)


def trainable(encoder: TokenVectors) -> StaticEncoder:
    """Return the same encoder in torch."""
    quiet_transformers()
    from transformers import PreTrainedTokenizerFast

    static = StaticEncoder(
        torch.from_numpy(encoder.vectors),
        PreTrainedTokenizerFast(tokenizer_object=encoder.tokenizer),
        earlier_VD=None if encoder.earlier is None else torch.from_numpy(encoder.earlier),
        normalize=encoder.normalize,
    )
    static.max_length = encoder.max_length
    static.center = encoder.center
    return static


def save_static(encoder: StaticEncoder, folder: Path) -> None:
    """Write vectors, tokenizer, and model2vec's config.json into a folder that exists."""
    from safetensors.torch import save_file

    tables = {OURS: encoder.backbone.embedding, EARLIER: encoder.backbone.earlier}
    tensors = {
        name: table.weight.cpu().contiguous() for name, table in tables.items() if table is not None
    }
    save_file(tensors, folder / WEIGHTS, metadata={"format": "pt"})
    save_tokenizer(encoder.tokenizer, folder)
    config = {
        "model_type": "model2vec",
        "architectures": ["StaticModel"],
        "hidden_dim": encoder.dimension,
        "embedding_dtype": "float32",
        "normalize": encoder.normalize,
        "seq_length": 1_000_000,
    }
    write_json(folder / "config.json", config)
