"""The distinct sentences of JDDC's evaluation sets.   cat {sts,select}.txt | python sentences.py

A line of sts.txt is a score and two sentences; one of select.txt a number, a query, its topic and
lists.
"""

from __future__ import annotations

import json
import sys


def main() -> None:
    sentences: dict[str, None] = {}
    for line in sys.stdin:
        fields = line.rstrip("\n").split("\t")
        sentences.update(dict.fromkeys(fields[1:3] if len(fields) == 3 else fields[1:2]))
    for text in sentences:
        print(json.dumps({"text": text}, ensure_ascii=False))


if __name__ == "__main__":
    main()
