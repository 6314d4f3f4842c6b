"""What a static encoder may start from: the tokens of a transformer, or vectors of words.

V tokens, D dimensions.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from dialtools.encoder.encode import encode
from dialtools.encoder.encoder import Encoder
from dialtools.encoder.pretrained import quiet_transformers
from dialtools.encoder.static import StaticEncoder
from dialtools.encoder.word_vectors import WordVectors, words_pattern

UNKNOWN = "[UNK]"


def of_transformer(encoder: Encoder, counts_V: np.ndarray, *, dimension: int) -> StaticEncoder:
    """Embed each token alone, centre, keep the directions that vary most, and weigh by rarity.

    As model2vec does, but that the corpus at hand says how frequent a token is: that of rank r
    weighs log(1 + r), with r = 1 for the most frequent.

    Args:
        counts_V: how often the corpus has each token.
    """
    special = encoder.special
    tokens = np.arange(encoder.vocabulary, dtype=np.int32)
    sequences = [np.concatenate([special.prefix, [token], special.suffix]) for token in tokens]
    vectors_VD = encode(encoder, sequences, batch_tokens=encoder.batch_tokens("float32"))
    vectors_VD = _principal(vectors_VD.astype(np.float64), dimension)
    rank_V = np.empty(len(tokens))
    rank_V[np.argsort(-counts_V, kind="stable")] = np.arange(1, len(tokens) + 1)
    vectors_VD *= np.log1p(rank_V)[:, None]
    return StaticEncoder(torch.from_numpy(vectors_VD).float(), encoder.tokenizer)


def of_words(vectors: WordVectors) -> StaticEncoder:
    """Return the same vectors behind a tokenizer of words; a word that is not known is zeros."""
    table_VD = np.concatenate([np.zeros((1, vectors.dimension), np.float32), vectors.matrix])
    return StaticEncoder(torch.from_numpy(table_VD), _word_tokenizer(vectors.words))


def _principal(vectors_VD: np.ndarray, dimension: int) -> np.ndarray:
    """Return centred vectors in the directions in which they vary most, those first.

    Lengths are such that the mean square is 1 a vector.
    """
    centred_VD = vectors_VD - vectors_VD.mean(0)
    values, directions_DD = np.linalg.eigh(centred_VD.T @ centred_VD)
    directions_DK = directions_DD[:, np.argsort(-values)[:dimension]]
    # the largest entry of each is made to be above zero: libraries choose either sign
    largest_K = np.abs(directions_DK).argmax(0)
    signs_K = np.sign(directions_DK[largest_K, np.arange(directions_DK.shape[1])])
    turned_VD = centred_VD @ (directions_DK * signs_K)
    return turned_VD / np.sqrt((turned_VD**2).sum(1).mean())


def _word_tokenizer(words: dict[str, int]) -> Any:
    """Return a tokenizer that finds words as `WordVectors` does; id 0 is a word unknown."""
    quiet_transformers()
    from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    known = {word: number + 1 for word, number in words.items()}
    tokenizer = Tokenizer(models.WordLevel({UNKNOWN: 0, **known}, unk_token=UNKNOWN))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.Split(
        Regex(words_pattern().pattern), behavior="removed", invert=True
    )
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token=UNKNOWN)
