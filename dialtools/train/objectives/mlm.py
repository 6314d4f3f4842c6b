"""Masked words: an encoder learns the language of a corpus before contrasts (DialogueCSE 5.3)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from dialtools.encoder.batches import where
from dialtools.encoder.folder import WEIGHTS
from dialtools.encoder.quick import linear
from dialtools.encoder.randomness import seeded
from dialtools.encoder.weights import fill
from dialtools.errors import ModelError
from dialtools.train.data.collate import responses
from dialtools.train.draws import generator
from dialtools.train.objectives.base import Batch, Figures, Objective, Part, Setting
from dialtools.train.objectives.catalog import MaskedWordsOptions

KEPT, REPLACED = 0.1, 0.1  # of the chosen words; the others become [MASK] (BERT)
BERT_EPS = 1e-12  # of a layer norm where a configuration names none
STREAM = 1 << 41  # of the random numbers of a step; drawn negatives and epochs use others


class WordHead(nn.Module):
    """BERT's head over words: a transform, then the input embeddings as output layer.

    Attributes:
        is_lent: whether it has learnt already, as a part of a checkpoint.
    """

    is_lent = False

    def __init__(self, embeddings: nn.Embedding, dimension: int, eps: float = BERT_EPS) -> None:
        super().__init__()
        width = embeddings.embedding_dim  # ELECTRA's and ALBERT's is not that of their layers
        self.transform = nn.Sequential(
            nn.Linear(dimension, width), nn.GELU(), nn.LayerNorm(width, eps=eps)
        )
        self.bias = nn.Parameter(torch.zeros(embeddings.num_embeddings))

    def forward(self, hidden_MD: Tensor, words_VD: Tensor) -> Tensor:
        """Return (M, V) logits."""
        return linear(self.transform(hidden_MD), words_VD, self.bias)


class MaskedWords(Objective[MaskedWordsOptions]):
    """Guesses masked words of each pair's response (of each text, for utterances)."""

    least = 1

    def __init__(self, setting: Setting[MaskedWordsOptions]) -> None:
        super().__init__(setting)
        self.head = word_head(setting)

    def note(self) -> str:
        """Tell of a head over words that has learnt nothing."""
        return new_head(self.head, self.setting)

    def collate(self, pairs: np.ndarray, step: int) -> Batch:
        """Choose words of each text and hide them; which, depends on seed and step alone."""
        s, hiding = self.setting, Hiding.of(self.setting)
        draw = generator(s.seed, step, stream=STREAM)
        sequences: list[np.ndarray] = []
        truth: list[np.ndarray] = []
        for sequence in responses(s.store, pairs, s.joining):
            hidden, places = hide(sequence, draw, hiding)
            sequences.append(hidden)
            labels = np.full(len(sequence), -1, np.int64)
            labels[places] = sequence[places]
            truth.append(labels)
        return labelled(self.batches(sequences, pairs, None), truth)

    def encode(self, part: Part) -> Tensor:
        """Return (M, D) the vectors of the hidden words."""
        ids, mask, labels = part
        return where(self.setting.encoder.tokens(ids, mask), labels >= 0)

    def loss(self, rows: Tensor, batch: Batch, figures: Figures) -> Tensor:
        """Return the mean cross entropy of the hidden words."""
        words = self.setting.encoder.backbone.get_input_embeddings().weight
        return guess(self.head(rows, words), self.tensor(batch.extra), figures)


def word_head(setting: Setting[Any]) -> WordHead:
    """Return a head over words: the checkpoint's own, if it has one.

    Raises:
        ModelError: if the tokenizer has nothing to hide a word behind.
    """
    encoder, model = setting.encoder, setting.model
    if encoder.tokenizer.mask_token_id is None:
        raise ModelError(
            "its tokenizer has no mask token",
            where=model,
            hint="masked words need an encoder such as BERT",
        )
    words = encoder.backbone.get_input_embeddings()
    eps = getattr(encoder.backbone.config, "layer_norm_eps", BERT_EPS)
    with seeded(setting.seed):
        head = WordHead(words, encoder.dimension, eps)
    pretrained = pretrained_head(model) if model else {}
    if pretrained:
        bias_V, new = pretrained["bias"], words.num_embeddings - len(pretrained["bias"])
        if new > 0:  # tokens of the speakers: as likely as any at first
            pretrained["bias"] = nn.functional.pad(bias_V, (0, new))
        fill(head, pretrained, where=model)
        head.is_lent = True
    return head


def new_head(head: WordHead, setting: Setting[Any]) -> str:
    """Return the line on a pretrained encoder whose head over words begins from nothing, or ""."""
    if head.is_lent or not setting.model:
        return ""
    return f"{setting.model} has no head over words: a new one learns with it"


def guess(logits_MV: Tensor, truth_M: Tensor, figures: Figures) -> Tensor:
    """Return the mean cross entropy of hidden words; note how many are guessed."""
    figures.update(accuracy=100 * (logits_MV.argmax(1) == truth_M).float().mean())
    return nn.functional.cross_entropy(logits_MV.float(), truth_M)


def labelled(batch: Batch, truth: list[np.ndarray]) -> Batch:
    """Add the words that were hidden: to each micro-batch, -1 where none was, and to the batch.

    Args:
        truth: of each sequence, the hidden word at each place or -1.
    """
    order = np.argsort(batch.place)
    parts: list[Part] = []
    start = 0
    for ids, mask in batch.parts:
        labels = np.full(ids.shape, -1, np.int64)
        for row, i in enumerate(order[start : start + len(ids)]):
            labels[row, : len(truth[i])] = truth[i]
        start += len(ids)
        parts.append((ids, mask, torch.from_numpy(labels)))
    words = np.concatenate([labels[labels >= 0].numpy() for _, _, labels in parts])
    return replace(batch, parts=parts, extra=words)


class Hiding(NamedTuple):
    """How words are hidden.

    Attributes:
        share: of the words of a text; one is hidden at least.
        most: words of a text.
        special: tokens that are no words.
        mask: the token that stands for a hidden word.
        words: tokens of the vocabulary.
    """

    share: float
    most: int
    special: list[int]
    mask: int
    words: int

    @classmethod
    def of(cls, setting: Setting[Any]) -> Hiding:
        """Return how an objective with `MaskedWordsOptions` hides words."""
        options, tokenizer = setting.options, setting.encoder.tokenizer
        special, mask = tokenizer.all_special_ids, tokenizer.mask_token_id
        return cls(options.mask_share, options.max_masked, special, mask, len(tokenizer))


def hide(
    sequence: np.ndarray, draw: np.random.Generator, hiding: Hiding
) -> tuple[np.ndarray, np.ndarray]:
    """Return a text with some of its words hidden, and their places.

    Of these 80 % become [MASK], 10 % another word, 10 % stay (BERT).
    """
    candidates = np.flatnonzero(~np.isin(sequence, hiding.special))
    if not len(candidates):  # a text of special tokens alone still has something to guess
        candidates = np.arange(len(sequence))
    count = min(hiding.most, max(1, round(hiding.share * len(candidates))))
    places = np.sort(draw.choice(candidates, count, replace=False))
    hidden = sequence.copy()
    luck = draw.random(count)
    masked = luck >= KEPT + REPLACED
    replaced = (luck >= KEPT) & ~masked
    hidden[places[masked]] = hiding.mask
    hidden[places[replaced]] = draw.integers(0, hiding.words, int(replaced.sum()))
    return hidden, places


BERT_HEAD = {
    "transform.0.weight": "cls.predictions.transform.dense.weight",
    "transform.0.bias": "cls.predictions.transform.dense.bias",
    "transform.2.weight": "cls.predictions.transform.LayerNorm.weight",
    "transform.2.bias": "cls.predictions.transform.LayerNorm.bias",
    "bias": "cls.predictions.bias",
}
ROBERTA_HEAD = {
    "transform.0.weight": "lm_head.dense.weight",
    "transform.0.bias": "lm_head.dense.bias",
    "transform.2.weight": "lm_head.layer_norm.weight",
    "transform.2.bias": "lm_head.layer_norm.bias",
    "bias": "lm_head.bias",
}
"""Names of WordHead's weights, and what a checkpoint of that kind calls them."""


def pretrained_head(model: str) -> dict[str, Any]:
    """Return the word head that a checkpoint of BERT's or RoBERTa's kind holds, or nothing."""
    from safetensors import safe_open
    from transformers.utils.hub import cached_file

    path = cached_file(
        model,
        WEIGHTS,
        local_files_only=True,
        _raise_exceptions_for_missing_entries=False,
    )
    if not path:
        return {}
    with safe_open(path, "pt") as file:
        # layer norms of BERT's first checkpoints, bert-base-uncased among them, have other names
        names = {
            name.replace(".gamma", ".weight").replace(".beta", ".bias"): name
            for name in file.keys()  # noqa: SIM118 (it is no mapping)
        }
        for table in (BERT_HEAD, ROBERTA_HEAD):
            if names.keys() >= set(table.values()):
                return {ours: file.get_tensor(names[theirs]) for ours, theirs in table.items()}
    return {}
