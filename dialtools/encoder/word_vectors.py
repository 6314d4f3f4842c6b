"""Word vectors from a text file, one word a line: a text is the average of its words' (GloVe, word2vec, fastText)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from hashlib import blake2b

import numpy as np

from dialtools.errors import ModelError
from dialtools.streams.bytesio import open_input

WORDS = re.compile(r"\w+|[^\w\s]")


class WordVectors:
    """V words of D dimensions; a text's words are lower-cased, those that are not known are skipped."""

    def __init__(self, words: dict[str, int], matrix_VD: np.ndarray) -> None:
        self.words, self.matrix = words, matrix_VD
        self.max_length, self.pooling, self.normalize, self.role_tokens = (
            1 << 30,
            "mean",
            False,
            None,
        )

    @property
    def dimension(self) -> int:
        """D, the length of a vector."""
        return self.matrix.shape[1]

    def digest(self) -> str:
        """Return 64 bits of words and vectors, in hex."""
        total = blake2b("\n".join(self.words).encode("utf-8", "surrogatepass"), digest_size=8)
        total.update(np.ascontiguousarray(self.matrix).data)
        return total.hexdigest()

    def encode(self, texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Return (N, D) averages, zeros where no word is known, and (N,) the number of words of each text."""
        vectors, counts = (
            np.zeros((len(texts), self.dimension), np.float32),
            np.zeros(len(texts), np.int64),
        )
        for i, text in enumerate(texts):
            words = WORDS.findall(text.lower())
            known = [self.words[word] for word in words if word in self.words]
            counts[i] = len(words)
            if known:
                vectors[i] = self.matrix[known].mean(0)
        return vectors, counts

    @classmethod
    def load(cls, path: str) -> WordVectors:
        """Read `word number number ...` a line, plain, .gz or .zst; a first line of two numbers is a header.

        Raises:
            ModelError: if it is not such a file, naming the line.
        """
        words: dict[str, int] = {}
        rows: list[np.ndarray] = []
        width = 0
        with open_input(path) as stream:
            for number, line in enumerate(stream, 1):
                fields = line.rstrip().split(b" ")
                if number == 1 and len(fields) == 2 and all(field.isdigit() for field in fields):
                    continue
                width = width or len(fields) - 1
                try:
                    row = np.asarray(fields[len(fields) - width :], np.float32)
                    word = b" ".join(fields[: len(fields) - width]).decode("utf-8")
                except (ValueError, UnicodeDecodeError):
                    row, word = np.zeros(0, np.float32), ""
                if not word or len(row) != width or not np.isfinite(row).all():
                    raise ModelError(
                        f"line {number}: expected a word and {width or 'its'} numbers",
                        where=path,
                        hint="a model is a directory, or a text file of word vectors",
                    )
                if word not in words:
                    words[word] = len(rows)
                    rows.append(row)
        if not rows:
            raise ModelError("holds no word vectors", where=path)
        return cls(words, np.stack(rows))
