"""Masked words: an encoder goes on learning the language of a corpus before it is contrasted (METHODS 5.5)."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from dialtools.encoder.randomness import seeded
from dialtools.errors import ModelError
from dialtools.train.data.collate import responses
from dialtools.train.objectives.base import Batch, Objective, Setting

KEPT, REPLACED = 0.1, 0.1  # of the chosen words; the others become [MASK] (BERT)


class WordHead(nn.Module):
    """BERT's head over words: a transform, then the input embeddings as output layer, with a bias."""

    def __init__(self, embeddings: nn.Embedding, dimension: int, eps: float = 1e-12) -> None:
        super().__init__()
        self.transform = nn.Sequential(
            nn.Linear(dimension, dimension), nn.GELU(), nn.LayerNorm(dimension, eps=eps)
        )
        self.bias = nn.Parameter(torch.zeros(embeddings.num_embeddings))

    def forward(self, hidden_MD: Tensor, words_VD: Tensor) -> Tensor:
        """Return (M, V) logits."""
        return nn.functional.linear(self.transform(hidden_MD), words_VD, self.bias)


class MaskedWords(Objective):
    """Guesses masked words of each pair's response (of each text, for utterances)."""

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting)
        encoder, options = setting.encoder, setting.options
        if encoder.tokenizer.mask_token_id is None:
            raise ModelError(
                "its tokenizer has no mask token",
                where=options.model,
                hint="masked words need an encoder such as BERT",
            )
        words = encoder.backbone.get_input_embeddings()
        with seeded(options.seed):
            self.head = WordHead(
                words, encoder.dimension, getattr(encoder.backbone.config, "layer_norm_eps", 1e-12)
            )
        pretrained = pretrained_head(options.model) if options.model else {}
        if pretrained:
            self.head.load_state_dict(pretrained)

    def collate(self, pairs: np.ndarray, step: int) -> Batch:
        """Choose words of each text and hide them; which, depends on seed and step alone."""
        s, options = self.setting, self.setting.options
        bits = np.random.Philox(key=[options.seed & (2**64 - 1), step], counter=[0, 0, 0, 1 << 41])
        draw = np.random.Generator(bits)
        sequences, truth = [], []
        for sequence in responses(s.store, pairs, s.special, s.lengths, s.role_tokens):
            hidden, places = hide(
                sequence,
                draw,
                share=options.mask_share or 0.15,
                most=options.mask_most or 10,
                special=s.encoder.tokenizer.all_special_ids,
                mask=s.encoder.tokenizer.mask_token_id,
                words=len(s.encoder.tokenizer),
            )
            sequences.append(hidden)
            labels = np.full(len(sequence), -1, np.int64)
            labels[places] = sequence[places]
            truth.append(labels)
        batch = self.batches(sequences, pairs, None)
        order = np.argsort(batch.place)
        start, parts = 0, []
        for ids, mask in batch.parts:
            group = order[start : start + len(ids)]
            start += len(ids)
            labels = np.full(ids.shape, -1, np.int64)
            for row, i in enumerate(group):
                labels[row, : len(truth[i])] = truth[i]
            parts.append((ids, mask, torch.from_numpy(labels)))
        batch.parts = parts
        batch.about = np.concatenate([part[2][part[2] >= 0].numpy() for part in parts])
        return batch

    def encode(self, part: tuple[Tensor, ...]) -> Tensor:
        """Return (M, D) the vectors of the hidden words."""
        ids, mask, labels = part
        return self.setting.encoder.tokens(ids, mask)[labels >= 0]

    def loss(self, rows: Tensor, batch: Batch, figures: dict[str, float]) -> Tensor:
        """Return the mean cross entropy of the hidden words."""
        words = self.setting.encoder.backbone.get_input_embeddings().weight
        logits, truth = self.head(rows, words), self.tensor(batch.about)
        figures.update(accuracy=100 * float((logits.argmax(1) == truth).float().mean()))
        return nn.functional.cross_entropy(logits.float(), truth)


def hide(
    sequence: np.ndarray,
    draw: np.random.Generator,
    *,
    share: float,
    most: int,
    special: list[int],
    mask: int,
    words: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Return a text with some of its words hidden, and their places: a share of them, one at least, `most` at most.

    Of these 80 % become [MASK], 10 % another word, 10 % stay (BERT).
    """
    open_ = np.flatnonzero(~np.isin(sequence, special))
    if not len(open_):
        open_ = np.arange(len(sequence))
    count = min(most, max(1, round(share * len(open_))))
    places = np.sort(draw.choice(open_, count, replace=False))
    hidden, luck = sequence.copy(), draw.random(count)
    masked, replaced = luck >= KEPT + REPLACED, (luck >= KEPT) & (luck < KEPT + REPLACED)
    hidden[places[masked]] = mask
    hidden[places[replaced]] = draw.integers(0, words, int(replaced.sum()))
    return hidden, places


BERT_HEAD = {
    "transform.0.weight": "transform.dense.weight",
    "transform.0.bias": "transform.dense.bias",
    "transform.2.weight": "transform.LayerNorm.weight",
    "transform.2.bias": "transform.LayerNorm.bias",
    "bias": "bias",
}
ROBERTA_HEAD = {
    "transform.0.weight": "dense.weight",
    "transform.0.bias": "dense.bias",
    "transform.2.weight": "layer_norm.weight",
    "transform.2.bias": "layer_norm.bias",
    "bias": "bias",
}


def pretrained_head(model: str) -> dict[str, Any]:
    """Return the word head that a checkpoint of BERT's or RoBERTa's kind holds, or nothing."""
    from safetensors import safe_open
    from transformers.utils import cached_file

    path = cached_file(
        model,
        "model.safetensors",
        local_files_only=True,
        _raise_exceptions_for_missing_entries=False,
    )
    if not path:
        return {}
    with safe_open(path, "pt") as file:
        names = set(file.keys())
        for home, table in (("cls.predictions.", BERT_HEAD), ("lm_head.", ROBERTA_HEAD)):
            if all(home + theirs in names for theirs in table.values()):
                return {
                    ours: file.get_tensor(home + theirs).float() for ours, theirs in table.items()
                }
    return {}
