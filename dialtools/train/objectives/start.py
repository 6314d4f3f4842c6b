"""The start of a run, frozen: it says which texts are alike while its encoder learns."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy

import torch
from torch import Tensor, nn

from dialtools.encoder.device import autocast
from dialtools.encoder.encoder import Encoder
from dialtools.train.objectives.base import Part

ROUNDING = 1e-6
"""By so much cosines of one text may differ in float32."""


class FrozenStart:
    """A copy of an encoder as it is now.

    No module, so that it is neither trained nor kept in a checkpoint: a resumed run has it again
    from the same start.
    """

    def __init__(self, encoder: Encoder, *, precision: str) -> None:
        self.encoder = deepcopy(encoder).eval()
        self.precision = precision
        self._parts: Sequence[Part] = ()
        self._rows = torch.empty(0)

    def rows(self, parts: Sequence[Part]) -> Tensor:
        """Return the (R, D) unit vectors of the rows of micro-batches.

        Those of the last are kept: a loss of several prefixes asks for each.
        """
        if self._parts is not parts:
            self._parts, self._rows = parts, self._encoded(parts)
        return self._rows

    @torch.no_grad()
    def _encoded(self, parts: Sequence[Part]) -> Tensor:
        with autocast(self.encoder.device, self.precision):
            rows = [self.encoder(part[0], part[1]) for part in parts]
        return nn.functional.normalize(torch.cat(rows).float(), dim=1)


def held_alike(start: Tensor, *, pairs: int, margin: float, floor: float) -> Tensor:
    """Return (2N, R) bool: True where the start holds a row for as like as the row's partner.

    That is as near as the partner, less a share of that likeness (NV-Retriever, in the form that
    holds below 0 too), and nearer than a floor, as partners in a dialogue are often little alike.
    So the text of a partner is held alike wherever it is in the batch.

    Args:
        start: (R, D) unit vectors of the N anchors, then of the positives, then of any others.
        pairs: N.
        margin: share of the partner's likeness.
        floor: a cosine.
    """
    likeness = start[: 2 * pairs] @ start.T
    partner = likeness.diagonal(pairs)[:pairs].repeat(2)
    return likeness > (partner - margin * partner.abs() - ROUNDING).clamp(min=floor)[:, None]
