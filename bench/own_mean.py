"""Vectors less the mean of the log that they are used on: of a set's own training texts, no labels.

python bench/own_mean.py VECTORS CENTRED OUT: folders of vectors as `bench/tasks.sh` has them, of a
model and of its centred twin. OUT has the intent sets of the first, each centred on its own
training texts (those that are out of scope left out, as no labelled set would have them) by the
arithmetic of `dialtools center`, and links to the other sets of the second.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from dialtools.metrics.space import unit

SETS = ("clinc150", "banking77", "snips")


def centred_on_itself(table: pa.Table) -> pa.Table:
    """Return rows whose unit vectors have the mean of the training texts' taken off."""
    column = table["embedding"].combine_chunks()
    vectors_ND = unit(column.values.to_numpy().reshape(len(column), -1))
    in_scope = pc.not_equal(table["label"], "oos")
    log_N = pc.and_(pc.equal(table["split"], "train"), in_scope).to_numpy()
    vectors_ND = unit(vectors_ND - vectors_ND[log_N].mean(0, dtype=np.float64)).astype(np.float32)
    again = pa.FixedSizeListArray.from_arrays(pa.array(vectors_ND.ravel()), vectors_ND.shape[1])
    return table.set_column(table.schema.get_field_index("embedding"), "embedding", again)


def main() -> None:
    plain, centred, out = map(Path, sys.argv[1:])
    out.mkdir()
    for file in sorted(plain.glob("*.parquet")):
        if file.stem in SETS:
            pq.write_table(centred_on_itself(pq.read_table(file)), out / file.name)
        else:
            os.link(centred / file.name, out / file.name)


if __name__ == "__main__":
    main()
