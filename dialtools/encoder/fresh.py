"""A small encoder from nothing: a tokenizer trained on the texts at hand, random weights."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import chain
from typing import Any

import torch

from dialtools.encoder.catalog import USUAL_POOLING
from dialtools.encoder.encoder import Encoder
from dialtools.encoder.pretrained import quiet_transformers
from dialtools.encoder.randomness import seeded
from dialtools.encoder.scripts import LONGEST, normalizer, pre_tokenizer

ALPHABET = 6000
"""Characters of a tokenizer at most, the most frequent; others are [UNK]."""
TOO_LONG = re.compile(rf"[^\W_]{{{LONGEST}}}(?=[^\W_])")
POSITIONS = 512
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


def train_tokenizer(texts: Sequence[str], *, vocab_size: int) -> Any:
    """Train a lower-casing WordPiece tokenizer with BERT's tokens; CJK characters stand alone.

    The same texts give the same tokenizer in every process: resumed runs and kept stores depend on
    it.
    """
    quiet_transformers()
    from tokenizers import Tokenizer, models, trainers

    tokenizer = _with_steps(Tokenizer(models.WordPiece(unk_token="[UNK]")))
    counts: Counter[str] = Counter()
    for word, times in Counter(chain.from_iterable(text.split(" ") for text in texts)).items():
        for c in "".join(tokenizer.normalizer.normalize_str(word).split()):
            counts[c] += times
    by_frequency = sorted(counts, key=lambda c: (-counts[c], c))
    alphabet = sorted(by_frequency[:ALPHABET])
    # the trainer (tokenizers 0.23) numbers "##c" in the order of a hash map; given first, they
    # keep ours
    fixed = [*SPECIAL, *(f"##{c}" for c in alphabet)]
    trainer = trainers.WordPieceTrainer(
        vocab_size=max(vocab_size, len(fixed) + len(alphabet)),
        special_tokens=fixed,
        initial_alphabet=alphabet,
        limit_alphabet=len(alphabet),
        show_progress=False,
    )
    tokenizer.train_from_iterator(map(_cut, texts), trainer)
    return _dressed(tokenizer.get_vocab(with_added_tokens=True))


def _with_steps(tokenizer: Any) -> Any:
    tokenizer.normalizer, tokenizer.pre_tokenizer = normalizer(), pre_tokenizer()
    return tokenizer


def _dressed(vocab: dict[str, int]) -> Any:
    """Return a tokenizer of these pieces that puts [CLS] before and [SEP] behind a text."""
    from tokenizers import Tokenizer, decoders, models, processors
    from transformers import PreTrainedTokenizerFast

    backend = _with_steps(Tokenizer(models.WordPiece(vocab, unk_token="[UNK]")))
    backend.decoder = decoders.WordPiece()
    backend.post_processor = processors.BertProcessing(
        ("[SEP]", vocab["[SEP]"]), ("[CLS]", vocab["[CLS]"])
    )
    names = dict(zip(("pad", "unk", "cls", "sep", "mask"), SPECIAL, strict=True))
    tokens = {f"{name}_token": token for name, token in names.items()}
    return PreTrainedTokenizerFast(tokenizer_object=backend, model_max_length=POSITIONS, **tokens)


def _cut(text: str) -> str:
    """Cut words that no tokenizer takes for words: the trainer's time goes with their square."""
    if len(text) <= LONGEST or max(map(len, text.split()), default=0) <= LONGEST:
        return text
    return TOO_LONG.sub(r"\g<0> ", text)


def fresh_encoder(
    tokenizer: Any,
    *,
    hidden: int,
    layers: int,
    max_length: int = 128,
    pooling: str | None = None,
    seed: int = 0,
) -> Encoder:
    """Return an untrained BERT of the given size for a tokenizer.

    Args:
        pooling: None is the usual one.
    """
    from transformers import BertConfig, BertModel

    config = BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=hidden,
        num_hidden_layers=layers,
        num_attention_heads=_heads(hidden),
        intermediate_size=4 * hidden,
        max_position_embeddings=POSITIONS,
        pad_token_id=tokenizer.pad_token_id,
    )
    with seeded(seed):
        backbone = BertModel(config)
    # Words, not positions, tell texts apart from the start: else all vectors begin as one.
    with torch.no_grad():
        backbone.embeddings.position_embeddings.weight.mul_(0.1)
        backbone.embeddings.token_type_embeddings.weight.zero_()
    return Encoder(backbone, tokenizer, pooling=pooling or USUAL_POOLING, max_length=max_length)


def _heads(hidden: int) -> int:
    """Return how many heads share a width alike, each of 64 dimensions or the fewest above."""
    return next(heads for heads in range(max(1, hidden // 64), 0, -1) if hidden % heads == 0)
