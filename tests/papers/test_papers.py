"""papers/: a table of each paper, from corpora to numbers beside the published ones, at SCALE=tiny."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
Make = Callable[..., subprocess.CompletedProcess]


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Path:
    """A folder with small files under the names of published corpora."""
    home = tmp_path_factory.mktemp("data")
    with gzip.open(ROOT / "examples/dialogues.jsonl.gz", "rt") as lines:
        dialogues = [json.loads(line) for line in lines][:120]
    with gzip.open(ROOT / "examples/intents.jsonl.gz", "rt") as lines:
        intents = [json.loads(line) for line in lines]
    for row in dialogues:
        row["split"] = "test" if int(row["id"].rpartition("-")[2]) % 4 == 0 else "train"
    turns = [(d, n) for d in dialogues for n in range(1, len(d["turns"]), 2)]
    acts = [
        {
            "history": d["turns"][:n],
            "response": d["turns"][n]["text"],
            "split": ("train", "val", "test")[i % 3],
            "labels": ["ask"] if "?" in d["turns"][n]["text"] else ["tell"],
        }
        for i, (d, n) in enumerate(turns)
    ]
    slotted = [
        {"text": t["text"], "label": t["intent"], "slots": t.get("slots", []), "split": d["split"]}
        for d in dialogues
        for t in d["turns"]
        if t["speaker"] == "user"
    ]
    for name, rows in {
        "woz": dialogues,
        "clinc150": intents,
        "dstc2_acts": acts,
        "snips": slotted,
    }.items():
        (home / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    for kind, lines in {
        "sts": [
            "0.5\tgood morning\tgood evening",
            "3\tthank you\tthanks",
            "0\tyes\tmay I see the menu",
        ],
        "select": ["0\tyes\ta\t1\t2", "1\tyes please\ta\t0\t2", "2\tno\tb\t1\t0"],
    }.items():
        path = home / f"eval/jddc/test/{kind}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(lines) + "\n")
    return home


@pytest.fixture(scope="module")
def make(scripts: Path, data: Path, tmp_path_factory) -> Make:
    """Run a target at tiny scale, from a small model made first."""
    out = tmp_path_factory.mktemp("papers")
    env = {**os.environ, "PATH": f"{scripts}:{os.environ['PATH']}", "OMP_NUM_THREADS": "1"}
    dialogues = data / "woz.jsonl"
    subprocess.run(
        f"dial-pairs -q {dialogues} | dial-train -q --max-steps 0 --hidden 64 --layers 2 -o {out}/start",
        shell=True,
        check=True,
        env=env,
        capture_output=True,
    )

    def run(*words: str) -> subprocess.CompletedProcess:
        given = [
            f"DATA={data}",
            f"EVAL={data}/eval",
            f"DIALOGUES={dialogues}",
            f"MODEL={out}/start",
            f"OUT={out}/out",
            "SCALE=tiny",
            "SHARE=0.5",
        ]
        return subprocess.run(
            ["make", "-C", ROOT / "papers", "--no-print-directory", *given, *words],
            capture_output=True,
            text=True,
            env=env,
        )

    return run


@pytest.mark.slow
@pytest.mark.parametrize(
    ("target", "rows", "columns"),
    [
        (
            "dse-table2",
            ["CLINC150 | 1-shot accuracy", "CLINC150 | 5-shot accuracy"],
            ["BERT", "DSE-dropout", "TOD-BERT", "PairSupCon †"],
        ),
        ("wmdc-table2", ["DSTC2 | micro-f1"], ["BERT", "DSE", "WMDC", "TOD-BERT-jnt †"]),
        (
            "dialoguecse-table2",
            ["JDDC | spearman"],
            ["BERT-avg", "Siamese-S", "DialogueCSE-I2", "DialogueCSE-I2 †"],
        ),
        ("tadse-table5", ["SNIPS | 1-nearest accuracy"], ["L-u", "L-u-t-pair", "TaDSE", "TaDSE †"]),
    ],
)
def test_a_table_of_each_paper_runs_from_corpora_to_numbers_beside_the_published(
    make: Make, target: str, rows: list[str], columns: list[str]
):
    plan = make("-n", target)
    assert (
        plan.returncode == 0 and "dial-train" in plan.stdout and "dial-eval suite" in plan.stdout
    ), plan.stderr
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
