"""Score files NAME.jsonl and NAME-SEED.jsonl of several models as a table: mean and deviation over seeds."""

from __future__ import annotations

import json
import re
import statistics
import sys
from pathlib import Path


def cell(values: list[float]) -> str:
    return f"{statistics.mean(values):.1f}" + (
        f" ± {statistics.stdev(values):.1f}" if len(values) > 1 else ""
    )


found: dict[str, dict[str, list[float]]] = {}
for path in sys.argv[1:]:
    name = re.sub(r"^scores-|-\d$", "", Path(path).stem)
    for row in map(json.loads, Path(path).read_text().splitlines()):
        found.setdefault(name, {}).setdefault(f"{row['dataset']} {row['metric']}", []).append(
            row["value"]
        )
columns = list(next(iter(found.values())))
print("| |", " | ".join(columns), "|")
print("| --- " * (len(columns) + 1) + "|")
for name, scores in found.items():
    print(f"| {name} |", " | ".join(cell(scores[column]) for column in columns), "|")
