"""The parts of an embedding file that are scored apart: its splits."""

from __future__ import annotations

import numpy as np

from dialtools.errors import DataError, nearest
from dialtools.eval.options.base import PartOptions
from dialtools.streams.vectors import Embeddings


def parts(source: Embeddings, options: PartOptions) -> dict[str, Embeddings]:
    """Return the rows of each split in order of first occurrence; without a split column, all rows under "".

    Raises:
        DataError: if the part that was asked for is not there, or there are no rows.
    """
    if not len(source):
        raise DataError("holds no rows", where=source.name)
    values = [
        "" if v is None else str(v) for v in source.columns.get(options.split) or [""] * len(source)
    ]
    known = list(dict.fromkeys(values))
    if options.part is not None and options.part not in known:
        raise DataError(
            f"no row has {options.split} = {options.part!r}; there are {', '.join(known)}",
            where=source.name,
            hint=nearest(options.part, known),
        )
    wanted = known if options.part is None else [options.part]
    return {
        name: source.select(np.flatnonzero([value == name for value in values])) for name in wanted
    }
