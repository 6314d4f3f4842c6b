"""Each text to where a teacher has it: a smaller encoder in place of a larger one.

As in the distillation of sentence encoders (Reimers and Gurevych 2020), a text's vector is to be
the teacher's. With the start of a run as the teacher, texts stay where it has them while something
else is learnt. N texts of a batch, D dimensions of the encoder, E of the teacher.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor, nn

from dialtools.encoder.encode import encode
from dialtools.encoder.encoder import Encoder
from dialtools.metrics.space import unit
from dialtools.train.data.collate import alone, responses, utterances
from dialtools.train.objectives.base import Batch, Figures, Objective, Setting
from dialtools.train.objectives.catalog import DistillOptions

SEEN = 4096
"""Texts that say how the teacher's space is turned into the encoder's."""
AT_ONCE = 1 << 16
"""Rows of the teacher that are averaged at once."""
LEAST = 1024
"""Texts that say what all texts of a log share."""
MOST = 1 << 14
"""Texts that the start embeds: more of them take long, and say little more."""


class Lessons(Protocol):
    """Texts by number, and where a teacher has them."""

    def texts(self, which: np.ndarray) -> list[np.ndarray]:
        """Return the tokens of N texts, as the encoder that learns reads them."""
        ...

    def vectors(self, which: np.ndarray) -> np.ndarray:
        """Return (N, E) their vectors, in float16."""
        ...


class Recorded:
    """Lessons of an embedding file: the responses of pairs that have a vector in the store."""

    def __init__(self, setting: Setting[Any]) -> None:
        self.store, self.joining = setting.store, setting.joining

    def texts(self, which: np.ndarray) -> list[np.ndarray]:
        return responses(self.store, which, self.joining)

    def vectors(self, which: np.ndarray) -> np.ndarray:
        return self.store.vectors[self.store.teacher[which]]


class Held:
    """Lessons of the start: distinct utterances of the pairs, and the vectors that it has for them.

    Args:
        setting: of what learns from the pairs.
        start: whose vectors they are: the encoder itself, or the one that it was made of.
        count: of the utterances, about; of more of them every second, third, ...
    """

    def __init__(self, setting: Setting[Any], start: Encoder, *, count: int) -> None:
        every = utterances(setting.store, setting.pairs)
        self.utterances = every[:: -(-len(every) // count)]
        self.store, self.joining = setting.store, setting.joining
        # a start that a table was made of has places for so many tokens
        lengths = replace(setting.lengths, response=min(setting.lengths.response, start.positions))
        as_start = self.joining._replace(special=start.special, lengths=lengths)
        vectors_TE = encode(
            start,
            alone(self.store, self.utterances, as_start),
            batch_tokens=setting.max_tokens,
            precision=setting.precision,
        )
        self.vectors_TE = unit(vectors_TE).astype(np.float16)

    def __len__(self) -> int:
        return len(self.utterances)

    def texts(self, which: np.ndarray) -> list[np.ndarray]:
        return alone(self.store, self.utterances[which], self.joining)

    def vectors(self, which: np.ndarray) -> np.ndarray:
        return self.vectors_TE[which]


class Distill(Objective[DistillOptions]):
    """Moves each text's vector towards the teacher's.

    The teacher's vectors are first centred, so that what all texts of a log share does not count,
    and turned to where the encoder has the same texts at its start: tokens and layers that the log
    does not teach stay in the same space as those it does.

    Args:
        setting: its `pairs` are the numbers of the lessons.
        lessons: those of the store, unless others are given.

    Attributes:
        centre: (E,) the mean of the teacher's vectors.
        turn: (E, D) from the teacher's space to the encoder's.
    """

    least = 1
    centre: Tensor
    turn: Tensor

    def __init__(self, setting: Setting[DistillOptions], lessons: Lessons | None = None) -> None:
        super().__init__(setting)
        self.lessons = lessons = lessons or Recorded(setting)
        pairs = setting.pairs
        sums = [
            lessons.vectors(pairs[i : i + AT_ONCE]).sum(0, dtype=np.float64)
            for i in range(0, len(pairs), AT_ONCE)
        ]
        centre_E = np.sum(sums, axis=0) / len(pairs)
        some = pairs[:: -(-len(pairs) // SEEN)]
        begun_ND = encode(
            setting.encoder,
            lessons.texts(some),
            batch_tokens=setting.max_tokens,
            precision=setting.precision,
        )
        turn_ED = turned(lessons.vectors(some) - centre_E, begun_ND)
        self.register_buffer("centre", torch.from_numpy(centre_E).float())
        self.register_buffer("turn", torch.from_numpy(turn_ED).float())

    def collate(self, pairs: np.ndarray, step: int) -> Batch:
        """Return the texts of a batch, and what the teacher says of them."""
        return self.batches(self.lessons.texts(pairs), pairs, self.lessons.vectors(pairs))

    def loss(self, rows: Tensor, batch: Batch, figures: Figures) -> Tensor:
        """Return one less the mean cosine between the encoder's vectors and the teacher's."""
        taught_NE = self.tensor(batch.extra).float() - self.centre
        ours_ND = rows[self.tensor(batch.place)]
        cosines_N = nn.functional.cosine_similarity(ours_ND, taught_NE @ self.turn)
        figures["cosine"] = cosines_N.detach().mean()
        return 1 - cosines_N.mean()


def hold(setting: Setting[Any], start: Encoder, *, reads: int) -> Distill:
    """Return what keeps texts of the pairs where the start has them.

    Args:
        reads: texts that all steps together read.
    """
    held = Held(setting, start, count=min(max(reads, LEAST), MOST))
    numbers = np.arange(len(held))
    return Distill(replace(setting, pairs=numbers, options=DistillOptions()), held)


def turned(teacher_NE: np.ndarray, student_ND: np.ndarray) -> np.ndarray:
    """Return the (E, D) turn that brings a teacher's rows nearest to a student's of the same texts.

    It keeps angles between rows: its columns, or where E < D its rows, are orthonormal (orthogonal
    Procrustes). Of more dimensions than the student has, those in which rows vary most are kept.
    """
    teacher_NE = teacher_NE.astype(np.float64)
    values_E, directions_EE = np.linalg.eigh(teacher_NE.T @ teacher_NE)
    kept = np.argsort(-values_E)[: student_ND.shape[1]]
    kept_EK = directions_EE[:, kept]
    left, _, right = np.linalg.svd((teacher_NE @ kept_EK).T @ unit(student_ND), full_matrices=False)
    return kept_EK @ (left @ right)
