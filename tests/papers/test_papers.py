"""papers/: a table of each paper, from corpora to numbers beside the published, SCALE=tiny."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
Make = Callable[..., subprocess.CompletedProcess]


STS = """\
0.5\tgood morning\tgood evening
3\tthank you\tthanks
0\tyes\tmay I see the menu
"""
SELECT = """\
0\tyes\ta\t1\t2
1\tyes please\ta\t0\t2
2\tno\tb\t1\t0
"""


def example(name: str) -> list[dict[str, Any]]:
    """The records of a file of examples/."""
    with gzip.open(ROOT / f"examples/{name}.jsonl.gz", "rt") as lines:
        return [json.loads(line) for line in lines]


def with_acts(dialogues: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Every second turn as a response to its history, labelled with an act."""
    turns = [(d["turns"], n) for d in dialogues for n in range(1, len(d["turns"]), 2)]
    return [
        {
            "history": said[:n],
            "response": said[n]["text"],
            "split": ("train", "val", "test")[i % 3],
            "labels": ["ask"] if "?" in said[n]["text"] else ["tell"],
        }
        for i, (said, n) in enumerate(turns)
    ]


def with_slots(dialogues: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The utterances of users."""
    return [
        {"text": t["text"], "label": t["intent"], "slots": t.get("slots", []), "split": d["split"]}
        for d in dialogues
        for t in d["turns"]
        if t["speaker"] == "user"
    ]


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Path:
    """A folder with small files under the names of published corpora."""
    home = tmp_path_factory.mktemp("data")
    dialogues = example("dialogues")[:120]
    for row in dialogues:
        row["split"] = "test" if int(row["id"].rpartition("-")[2]) % 4 == 0 else "train"
    corpora = {"woz": dialogues, "clinc150": example("intents")}
    corpora |= {"dstc2_acts": with_acts(dialogues), "snips": with_slots(dialogues)}
    for name, rows in corpora.items():
        (home / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    test = home / "eval/jddc/test"
    test.mkdir(parents=True)
    (test / "sts.txt").write_text(STS)
    (test / "select.txt").write_text(SELECT)
    return home


@pytest.fixture(scope="module")
def make(scripts: Path, data: Path, tmp_path_factory) -> Make:
    """Run a target at tiny scale, from a small model made first."""
    out = tmp_path_factory.mktemp("papers")
    env = {**os.environ, "PATH": f"{scripts}:{os.environ['PATH']}", "OMP_NUM_THREADS": "1"}
    dialogues = data / "woz.jsonl"
    start = f"dial-train -q --max-steps 0 --hidden 64 --layers 2 -o {out}/start"
    line = f"dial-pairs -q {dialogues} | {start}"
    subprocess.run(line, shell=True, check=True, env=env, capture_output=True)

    def run(*words: str) -> subprocess.CompletedProcess:
        paths = [f"DATA={data}", f"EVAL={data}/eval", f"DIALOGUES={dialogues}"]
        paths += [f"MODEL={out}/start", f"OUT={out}/out"]
        command = ["make", "-C", ROOT / "papers", "--no-print-directory", *paths]
        command += ["SCALE=tiny", "SHARE=0.5", *words]
        return subprocess.run(command, capture_output=True, text=True, env=env)

    return run


# of each table, rows and columns that must be in it
ROWS = {
    "dse-table2": ["CLINC150 | 1-shot accuracy", "CLINC150 | 5-shot accuracy"],
    "wmdc-table2": ["DSTC2 | micro-f1"],
    "dialoguecse-table2": ["JDDC | spearman"],
    "tadse-table5": ["SNIPS | 1-nearest accuracy"],
}
COLUMNS = {
    "dse-table2": ["BERT", "DSE-dropout", "TOD-BERT", "PairSupCon †"],
    "wmdc-table2": ["BERT", "DSE", "WMDC", "TOD-BERT-jnt †"],
    "dialoguecse-table2": ["BERT-avg", "Siamese-S", "DialogueCSE-I2", "DialogueCSE-I2 †"],
    "tadse-table5": ["L-u", "L-u-t-pair", "TaDSE", "TaDSE †"],
}


@pytest.mark.slow
@pytest.mark.parametrize("target", ROWS)
def test_a_table_of_each_paper_runs_from_corpora_to_numbers_beside_the_published(
    make: Make, target: str
):
    rows, columns = ROWS[target], COLUMNS[target]
    plan = make("-n", target)
    assert plan.returncode == 0, plan.stderr
    assert "dial-train" in plan.stdout and "dial-eval suite" in plan.stdout
    done = make(target)
    assert done.returncode == 0, done.stderr
    head = next(line for line in done.stdout.splitlines() if "task" in line and "|" in line)
    assert all(f"| {column} |" in head for column in columns), done.stdout
    for row in rows:
        numbers = next(line for line in done.stdout.splitlines() if row in line).split(" | ")[3:]
        assert len(numbers) >= 2 * len(columns) - 3, done.stdout
    again = make("-n", target)
    assert "dial-train" not in again.stdout and "dial-embed" not in again.stdout, (
        "what is there is not made again"
    )


@pytest.mark.slow
def test_a_table_of_fine_tuned_models_stands_beside_the_published(make: Make):
    done = make("dse-table7")
    assert done.returncode == 0, done.stderr
    head = next(line for line in done.stdout.splitlines() if line.startswith("| |"))
    assert "DSE | " in head and head.count("SimCSE-sup") == 1
    row = next(
        line
        for line in done.stdout.splitlines()
        if line.startswith("| clinc150, 5-shot accuracy |")
    )
    assert row.endswith("| 86.67 |") and row.count("|") == head.count("|")
    assert "dial-eval finetune" not in make("-n", "dse-table7").stdout


def test_corpora_that_are_not_there_are_named(make: Make):
    assert "left out because not in" in make("wmdc-table5").stderr
    assert "metalwoz" in make("wmdc-table5").stderr


def test_help_lists_the_tables(make: Make):
    listed = make("help").stdout
    for target in ("dse-table2", "wmdc-table2", "dialoguecse-table2", "tadse-table3"):
        assert f"{target}\t" in listed
