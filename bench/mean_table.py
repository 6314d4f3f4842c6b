"""Score files NAME.jsonl and NAME-SEED.jsonl as a table: mean and deviation over seeds.

python mean_table.py scores-*.jsonl
"""

from __future__ import annotations

import json
import re
import statistics
import sys
from pathlib import Path

Cells = dict[str, list[float]]


def read_scores(paths: list[str]) -> dict[str, Cells]:
    """Return the values over seeds of each model and measure."""
    scores: dict[str, Cells] = {}
    for path in map(Path, paths):
        model = re.sub(r"^scores-|-\d$", "", path.stem)
        for row in map(json.loads, path.read_text(encoding="utf-8").splitlines()):
            measure = f"{row['dataset']} {row['metric']}"
            scores.setdefault(model, {}).setdefault(measure, []).append(row["value"])
    return scores


def cell(values: list[float]) -> str:
    mean = f"{statistics.mean(values):.1f}"
    return f"{mean} ± {statistics.stdev(values):.1f}" if len(values) > 1 else mean


def main() -> None:
    scores = read_scores(sys.argv[1:])
    columns = list(next(iter(scores.values())))
    print("| |", " | ".join(columns), "|")
    print("| --- " * (len(columns) + 1) + "|")
    for model, cells in scores.items():
        print(f"| {model} |", " | ".join(cell(cells[column]) for column in columns), "|")


if __name__ == "__main__":
    main()
