"""A task is one file and one entry: added in a copy, it is a command, and a task of suites."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
from score_files import write

ROOT = Path(__file__).resolve().parents[2]
FILE = '''"""dial-eval length - how long vectors are

  dial-eval length rows.parquet

The mean length of the vectors of each part, times 100.
"""

from __future__ import annotations

from dataclasses import dataclass

from dialtools.eval.options.base import PartOptions


@dataclass
class LengthOptions(PartOptions):
    """Options of `dial-eval length`."""


def evaluate(options: LengthOptions):
    import numpy as np

    from dialtools.eval.rows import rows_by_part
    from dialtools.eval.score import Scored, of_queries
    from dialtools.streams.vectors import read_embeddings

    source = read_embeddings(options.inputs)
    parts = rows_by_part(source, split=options.split, part=options.part)
    facts = {"task": "length", "dataset": options.name or source.name, "seed": options.seed}
    scores = [
        of_queries(
            100 * np.linalg.norm(part.matrix, axis=1), setting=setting, metric="length", **facts
        )
        for setting, part in parts.items()
    ]
    return Scored(scores, source.metadata, ["lengths are no similarity"])
'''
ENTRY = """TASKS = {
    "length": Task(
        target="dialtools.eval.tasks.length:evaluate",
        summary="how long vectors are",
        options="dialtools.eval.tasks.length:LengthOptions",
    ),
"""
SUITE = """
title = "Mine"
[[set]]
task = "length"
name = "Rows"
file = "rows"
metrics = ["length"]
options = { part = "test" }
"""
RUN = "import sys; from dialtools.cli.eval import main; main(sys.argv[1:])"


def test_a_task_added_as_one_file_and_one_entry_is_a_command_and_a_task_of_suites(tmp_path: Path):
    copy = tmp_path / "copy"
    shutil.copytree(
        ROOT / "dialtools", copy / "dialtools", ignore=shutil.ignore_patterns("__pycache__")
    )
    (copy / "dialtools/eval/tasks/length.py").write_text(FILE)
    catalog = copy / "dialtools/eval/tasks/catalog.py"
    catalog.write_text(catalog.read_text().replace("TASKS = {\n", ENTRY, 1))

    def dial_eval(*arguments: object) -> subprocess.CompletedProcess:
        return subprocess.run(
            [sys.executable, "-X", "importtime", "-c", RUN, *map(str, arguments)],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(copy)},
            capture_output=True,
            text=True,
            check=True,
        )

    rows = [{"split": split} for split in ("train", "test", "test")]
    write(tmp_path / "rows.jsonl", rows, embedding=np.array([[1.0, 0], [3, 4], [0, 1]]))
    (tmp_path / "mine.toml").write_text(SUITE)

    assert re.search("length +how long vectors are", dial_eval("--help").stdout)
    page = dial_eval("length", "--help")
    assert "The mean length of the vectors" in page.stdout and "--part NAME" in page.stdout
    assert "numpy" not in page.stderr
    done = dial_eval("length", "rows.jsonl")
    values = [json.loads(line)["value"] for line in done.stdout.splitlines()]
    assert values == [100, 300] and "lengths are no similarity" in done.stderr
    of_suite = dial_eval("suite", "mine.toml", ".", "--json").stdout
    assert json.loads(of_suite)["value"] == 300
