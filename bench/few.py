"""A few labelled texts of a set of intents, or what to test them on.

python few.py FILE N SEED: N training rows of each intent, drawn by the seed
python few.py FILE SPLIT: every third row of a split
"""

from __future__ import annotations

import json
import sys
from itertools import islice
from pathlib import Path
from random import Random

from inputs import read_lines


def rows_of(path: Path, split: str) -> list[bytes]:
    """Return the rows of a split that have an intent."""
    rows = ((line, json.loads(line)) for line in read_lines(path))
    return [line for line, row in rows if row["split"] == split and row["label"] != "oos"]


def drawn(path: Path, number: int, seed: str) -> list[bytes]:
    """Return so many training rows of each intent."""
    of_label: dict[str, list[bytes]] = {}
    for line in rows_of(path, "train"):
        of_label.setdefault(json.loads(line)["label"], []).append(line)
    draw = Random(seed)
    return [line for label in sorted(of_label) for line in draw.sample(of_label[label], number)]


def main() -> None:
    path, *what = sys.argv[1:]
    if len(what) == 1:
        rows = [*islice(rows_of(Path(path), what[0]), 0, None, 3)]
    else:
        rows = drawn(Path(path), int(what[0]), what[1])
    sys.stdout.buffer.writelines(rows)


if __name__ == "__main__":
    main()
