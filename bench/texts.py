"""Records of the evaluation sets that the experiments score on.   python texts.py DIR NAME

Only as many as a small machine embeds in minutes; those of a dialogue stay together.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from inputs import read_records

Record = dict[str, Any]


def records(folder: Path, name: str) -> Iterator[Record]:
    return read_records(folder / f"{name}.jsonl.gz")


def every_third(folder: Path, name: str) -> Iterator[Record]:
    return islice(records(folder, name), 0, None, 3)


def in_scope_test(folder: Path, name: str) -> Iterator[Record]:
    """Yield the test rows that have an intent."""
    rows = records(folder, name)
    return (row for row in rows if row["split"] == "test" and row["label"] != "oos")


def quarter_of_dialogues(folder: Path, name: str) -> Iterator[Record]:
    """Yield the turns of every fourth dialogue of DSTC2, and say which belong together."""
    for row in records(folder, name):
        dialogue = row["id"].split("#")[0]
        number = re.search(r"\d+", dialogue)
        if number and int(number[0]) % 4 == 0:
            yield {**row, "dialogue_id": dialogue}


def first_2000(folder: Path, name: str) -> Iterator[Record]:
    return islice(records(folder, name), 2000)


def test_4000(folder: Path, name: str) -> Iterator[Record]:
    return islice((row for row in records(folder, name) if row["split"] == "test"), 4000)


# what is asked for: how it is chosen, and the file that it is of
TEXTS = {
    "clinc150": (every_third, "clinc150"),
    "banking77": (every_third, "banking77"),
    "snips": (every_third, "snips"),
    "clinc150-test": (in_scope_test, "clinc150"),
    "banking77-test": (in_scope_test, "banking77"),
    "dstc2": (quarter_of_dialogues, "dstc2_acts"),
    "citod": (records, "citod"),
    "ubuntu": (first_2000, "ubuntu_irc"),
    "sick": (records, "sick"),
    "snli": (test_4000, "snli"),
}


def main() -> None:
    folder, name = Path(sys.argv[1]), sys.argv[2]
    choose, file = TEXTS[name]
    for record in choose(folder, file):
        print(json.dumps(record, ensure_ascii=False))


if __name__ == "__main__":
    main()
