"""Word vectors from a text file, one word a line (GloVe, word2vec, fastText).

A text is the average of its words; V words, D dimensions.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from hashlib import blake2b

import numpy as np

from dialtools.encoder.token_vectors import UNBOUNDED
from dialtools.errors import ModelError
from dialtools.streams.bytesio import open_input
from dialtools.words import combining_marks


@cache
def words_pattern() -> re.Pattern[str]:
    """Return what finds runs of letters, their marks and digits, and single other signs.

    Files of word vectors have both.
    """
    letters = rf"\w{combining_marks()}"
    return re.compile(rf"[{letters}]+|[^{letters}\s]")


class WordVectors:
    """An encoder of averages; a text's words are lower-cased, those that are not known are skipped.

    Attributes:
        max_length, pooling, normalize, role_tokens, batch_tokens: as `Encoder` has them.
    """

    max_length = UNBOUNDED
    pooling = "mean"
    normalize = False
    role_tokens = None
    center = None

    def __init__(self, words: dict[str, int], matrix_VD: np.ndarray) -> None:
        self.words = words
        self.matrix = matrix_VD

    @property
    def dimension(self) -> int:
        """D, the length of a vector."""
        return self.matrix.shape[1]

    def batch_tokens(self, precision: str) -> int:
        return 0  # all at once

    def digest(self) -> str:
        """Return 64 bits of words and vectors, in hex."""
        total = blake2b("\n".join(self.words).encode("utf-8", "surrogatepass"), digest_size=8)
        total.update(np.ascontiguousarray(self.matrix).data)
        return total.hexdigest()

    def encode(self, texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Return averages and numbers of words of N texts.

        Returns:
            (N, D) float32, zeros where no word is known, and (N,) words of each text.
        """
        vectors = np.zeros((len(texts), self.dimension), np.float32)
        counts = np.zeros(len(texts), np.int64)
        for i, text in enumerate(texts):
            words = words_pattern().findall(text.lower())
            known = [self.words[word] for word in words if word in self.words]
            counts[i] = len(words)
            if known:
                vectors[i] = self.matrix[known].mean(0)
        return vectors, counts

    @classmethod
    def load(cls, path: str) -> WordVectors:
        """Read `word number number ...` a line; a first line of two numbers is a header.

        Of a word that stands there in capitals alone, the first spelling counts.

        Raises:
            ModelError: if it is not such a file, naming the line.
        """
        words: dict[str, int] = {}
        capitals: set[str] = set()
        rows: list[np.ndarray] = []
        width = 0
        with open_input(path) as stream:
            for number, line in enumerate(stream, 1):
                fields = line.rstrip().split(b" ")
                if number == 1 and len(fields) == 2 and all(map(bytes.isdigit, fields)):
                    continue  # word2vec's header: the number of words, and that of dimensions
                width = width or len(fields) - 1
                word, row_D = _word(fields, width)
                if not word:
                    message = f"line {number}: expected a word and {width or 'its'} numbers"
                    hint = "a model is a directory, or a text file of word vectors"
                    raise ModelError(message, where=path, hint=hint)
                lower = word.lower()
                if lower not in words:
                    words[lower] = len(rows)
                    rows.append(row_D)
                    if word != lower:
                        capitals.add(lower)
                elif word in capitals:
                    capitals.remove(word)
                    rows[words[word]] = row_D
        if not rows:
            raise ModelError("holds no word vectors", where=path)
        return cls(words, np.stack(rows))


def _word(fields: list[bytes], width: int) -> tuple[str, np.ndarray]:
    """Return a word, which may have blanks in it, and its numbers; "" if the line is none."""
    border = len(fields) - width
    try:
        row_D = np.asarray(fields[border:], np.float32)
        word = b" ".join(fields[:border]).decode("utf-8")
    except (ValueError, UnicodeDecodeError):
        return "", np.zeros(0, np.float32)
    usable = len(row_D) == width > 0 and np.isfinite(row_D).all()
    return (word, row_D) if usable else ("", row_D)
