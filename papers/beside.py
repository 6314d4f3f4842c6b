"""Scores in Markdown, the published ones beside.

    python beside.py published/dse-table7.toml scores.jsonl...

The TOML file has a title, the names of rows ("data set, setting metric"), and for each published
model a number for each row.
"""

from __future__ import annotations

import json
import sys
import tomllib
from pathlib import Path
from typing import Any

Cells = dict[str, str]


def measured(paths: list[str]) -> dict[str, Cells]:
    """Return what our models score, by model and row."""
    models: dict[str, Cells] = {}
    for path in paths:
        for score in map(json.loads, Path(path).read_text(encoding="utf-8").splitlines()):
            setting = score["setting"].split(" fine-tuned")[0]
            row = f"{score['dataset']}, {setting} {score['metric']}"
            models.setdefault(Path(score["model"]).name, {})[row] = cell(score)
    return models


def cell(score: dict[str, Any]) -> str:
    spread = f" ± {score['std']:.1f}" if "std" in score else ""
    return f"{score['value']:.2f}{spread}"


def main() -> None:
    published = tomllib.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    ours = measured(sys.argv[2:])
    theirs = published["models"]
    heads = [*ours, *(f"{model} †" for model in theirs)]
    print("| |", " | ".join(heads), "|")
    print("|---|" + "---:|" * len(heads))
    for number, row in enumerate(published["rows"]):
        if any(row in cells for cells in ours.values()):
            cells = [cells.get(row, "–") for cells in ours.values()]
            cells += [f"{values[number]:.2f}" for values in theirs.values()]
            print(f"| {row} |", " | ".join(cells), "|")
    print(f"\n{published['title']}; † as published")


if __name__ == "__main__":
    main()
