#!/usr/bin/env python3
"""Print the scores before and after training, side by side: table.py BEFORE AFTER (folders of score files)."""

from __future__ import annotations

import json
import sys
from pathlib import Path

ROWS = [
    ("intent.jsonl", "1-shot", "accuracy", "intent, 1 example a class"),
    ("intent.jsonl", "5-shot", "accuracy", "intent, 5 examples a class"),
    ("select.jsonl", None, "top-1", "right response of 100 first"),
    ("select.jsonl", None, "top-3", "right response of 100 in the first three"),
]


def score(folder: str, file: str, setting: str | None, metric: str) -> tuple[float, float]:
    """Return the value of a metric and half its 95 % interval."""
    for line in (Path(folder) / file).read_text().splitlines():
        record = json.loads(line)
        if record["metric"] == metric and setting in (None, record["setting"]):
            return record["value"], (record["high"] - record["low"]) / 2
    raise SystemExit(f"{folder}/{file}: no {metric}")


def main() -> None:
    before, after = sys.argv[1:3]
    print(
        f"\n{'percent right (± 95 % interval)':42}{'before':>16}{'after training':>18}{'gain':>8}"
    )
    for file, setting, metric, name in ROWS:
        (a, da), (b, db) = score(before, file, setting, metric), score(after, file, setting, metric)
        print(f"{name:42}{f'{a:.1f} ± {da:.1f}':>16}{f'{b:.1f} ± {db:.1f}':>18}{b - a:>+8.1f}")
    print(
        "\nbefore: the same encoder untrained; after: trained on dialogues alone, without one label."
    )


if __name__ == "__main__":
    main()
