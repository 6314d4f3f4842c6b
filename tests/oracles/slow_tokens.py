"""The turns of one item joined piece by piece."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dialtools.encoder.tokens import SpecialTokens


def assemble(
    turns: Sequence[np.ndarray],
    special: SpecialTokens,
    *,
    max_length: int,
    newest: bool = True,
    roles: Sequence[int] | None = None,
) -> tuple[np.ndarray, bool]:
    """Join turns into one sequence: [CLS] t1 [SEP] t2 [SEP].

    With roles it is [CLS] [USR] t1 [SYS] t2 [SEP].

    Args:
        turns: token ids of each turn, oldest first.
        max_length: tokens at most, special ones included.
        newest: a long context loses its oldest tokens; False: its last ones.
        roles: the id of the speaker's token of each turn, in place of separators.

    Returns:
        (tokens,) int32 ids, and whether tokens were cut.
    """
    pieces: list[np.ndarray] = []
    for i, turn in enumerate(turns):
        if roles is not None:
            pieces.append(np.asarray([roles[i]], np.int32))
        elif i:
            pieces.append(special.separator)
        pieces.append(~turn if special.earlier and i < len(turns) - 1 else turn)
    body = np.concatenate(pieces) if len(pieces) > 1 else pieces[0]
    room = max(max_length - len(special.prefix) - len(special.suffix), 1)
    cut = len(body) > room
    if cut:
        body = body[-room:] if newest else body[:room]
    return np.concatenate([special.prefix, body, special.suffix]), cut
