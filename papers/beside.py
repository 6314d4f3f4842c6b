"""Scores in Markdown: ours, in brackets the published ones and the difference.

    python beside.py scores/dse-table7.jsonl [seed-0/scores/dse-table7.jsonl ...]

Files of one target are seeds of one table: mean and standard deviation over them. Where scores do
not bring the published ones (`dial-eval suite --published` writes both), published/TARGET.toml has
them: a title, the names of rows ("data set, setting metric"), and for each model a number for each
row. Its `means` are rows that average others, by a regular expression of their names. SAYS, in the
environment, is what a reader must know of ours: scale, start and seed.
"""

from __future__ import annotations

import json
import os
import re
import sys
import tomllib
from pathlib import Path
from statistics import mean, stdev
from typing import Any

Row = str
Numbers = dict[str, dict[Row, list[float]]]
"""For each model and row a number of each seed."""
PUBLISHED = Path(__file__).parent / "published"


def row_of(score: dict[str, Any]) -> Row:
    """Return what a score is of; of fine-tuning the number of shots is its setting."""
    setting = score["setting"].partition(", lambda ")[0]  # validation chose it
    if score["task"] == "space":
        return score["metric"]
    if " fine-tuned" in setting:
        setting = re.findall(r"\d+-shot", setting)[0]
    of = f"{setting} {score['metric']}".strip()
    return f"{score['dataset']}, {of}"


def read(paths: list[str]) -> tuple[Numbers, Numbers, str]:
    """Return what our models score, what is published, and where that is from."""
    ours: Numbers = {}
    theirs: Numbers = {}
    source = ""
    for path in paths:
        for score in map(json.loads, Path(path).read_text(encoding="utf-8").splitlines()):
            source = score.get("published", source)
            # a space names its file, in the folder of the row
            model = Path(score.get("model") or Path(score["dataset"]).parent).name
            rows = (theirs if "published" in score else ours).setdefault(model, {})
            rows.setdefault(row_of(score), []).append(score["value"])
    return ours, theirs, source


def add_means(numbers: Numbers, means: dict[Row, str]) -> None:
    """Add the rows that are means of others, where there are any of them."""
    for rows in numbers.values():
        for name, pattern in means.items():
            parts = [values for row, values in rows.items() if re.search(pattern, row)]
            if parts:
                rows[name] = [mean(of_seed) for of_seed in zip(*parts, strict=False)]


def published_of(target: str) -> tuple[Numbers, dict[Row, str], str]:
    """Return the published numbers of a target, its means and its title; of most there are none."""
    path = PUBLISHED / f"{target}.toml"
    content = tomllib.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    models = {
        model: {row: [value] for row, value in zip(content["rows"], values, strict=True)}
        for model, values in content.get("models", {}).items()
    }
    return models, content.get("means", {}), content.get("title", "")


def known(row: Row, rows: dict[Row, list[float]]) -> float | None:
    """Return a published number; a table of one setting does not name it."""
    dataset, _, rest = row.partition(", ")
    values = rows.get(row) or rows.get(f"{dataset}, {rest.split(' ')[-1]}")
    return values[0] if values else None


def cell(row: Row, values: list[float] | None, published: float | None) -> str:
    if not values:
        return "–"
    spread = f" ± {stdev(values):.2f}" if len(values) > 1 else ""
    if published is None:
        return f"{mean(values):.2f}{spread}"
    return f"{mean(values):.2f}{spread} ({published:.2f}, {mean(values) - published:+.2f})"


def main() -> None:
    target = Path(sys.argv[1]).stem
    ours, theirs, source = read(sys.argv[1:])
    listed, means, title = published_of(target)
    theirs |= listed
    add_means(ours, means)
    if not listed:
        add_means(theirs, means)
    rows = list(dict.fromkeys(row for numbers in ours.values() for row in numbers))
    rows = [row for row in rows if not means or row in means]
    others = [model for model in theirs if model not in ours]

    heads = [*ours, *(f"{model} †" for model in others)]
    print("| |", " | ".join(heads), "|")
    print("|---|" + "---:|" * len(heads))
    for row in rows:
        cells = [
            cell(row, numbers.get(row), known(row, theirs.get(model, {})))
            for model, numbers in ours.items()
        ]
        numbers = [known(row, theirs[model]) for model in others]
        cells += ["–" if number is None else f"{number:.2f}" for number in numbers]
        print(f"| {row} |", " | ".join(cells), "|")
    seeds = f"; mean of {len(sys.argv) - 1} seeds" if len(sys.argv) > 2 else ""
    print(f"\n{target} ({title or source}): ours (published, difference); † as published.")
    print(f"Ours: {os.environ.get('SAYS', 'unknown scale')}{seeds}.")


if __name__ == "__main__":
    main()
