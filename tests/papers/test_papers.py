"""papers/: every table and figure, from corpora to numbers beside the published, SCALE=tiny."""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from at_work import ended

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


def with_scope(intents: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A third of labelled texts, those of two intents out of scope."""
    outside = ("storm_warning", "symptom_advice")
    return [row | {"label": "oos"} if row["label"] in outside else row for row in intents[::3]]


def two_texts() -> list[dict[str, Any]]:
    """Premises, each with what it entails and what contradicts it."""
    kinds = ("entailment", "contradiction", "neutral")
    return [
        {"text1": f"a dog {i // 3}", "text2": f"a cat {i}", "label": kinds[i % 3], "split": "test"}
        for i in range(240)
    ]


def with_answers(dialogues: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Each turn of a dialogue as the answer to the one before."""
    pairs = [pair for d in dialogues for pair in pairwise(d["turns"])]
    return [
        {"history": [one], "response": other["text"], "split": ("train", "test")[i % 2]}
        for i, (one, other) in enumerate(pairs)
    ]


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Path:
    """A folder with small files under the names of published corpora."""
    home = tmp_path_factory.mktemp("data")
    dialogues = example("dialogues")[:120]
    for row in dialogues:
        row["split"] = "test" if int(row["id"].rpartition("-")[2]) % 4 == 0 else "train"
    corpora = {"woz": dialogues, "clinc150": with_scope(example("intents")), "snli": two_texts()}
    corpora |= {"dstc2_acts": with_acts(dialogues)[::4], "snips": with_slots(dialogues)}
    corpora |= {"amazonqa": with_answers(dialogues)[:440]}
    for name, rows in corpora.items():
        (home / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    test = home / "eval/jddc/test"
    test.mkdir(parents=True)
    (test / "sts.txt").write_text(STS)
    (test / "select.txt").write_text(SELECT)
    return home


@pytest.fixture(scope="module")
def suites(tmp_path_factory) -> Path:
    """The suites of papers/, and DiaEval with a small grid."""
    folder = tmp_path_factory.mktemp("suites")
    for path in (ROOT / "papers/suites").glob("*.toml"):
        shutil.copy(path, folder)
    shipped = (ROOT / "dialtools/eval/suites/diaeval.toml").read_text()
    grid = "lr = [0.1], weight-decay = [0.0], epochs = 2"
    (folder / "diaeval.toml").write_text(shipped.replace('"next" }', f'"next", {grid} }}'))
    return folder


# of each target some rows, so that all of them take a minute
ROWS = {
    "DSE_SETS": "clinc150",
    "DSE_ROWS": "BERT DSE",
    "WINDOW_ROWS": "DSE DSE123-1",
    "WMDC_ROWS": "WMDC",
    "WMDC_WINDOWS": "windows-12",
    "AMOUNTS": "100",
    "CSE_2": "BERT-avg Siamese-S DialogueCSE-I2",
    "CSE_3": "tau-0.5",
    "CSE_4": "negatives-4",
    "TURNS": "1",
    "TADSE_3": "SimCSE-aug TaDSE+MLP",
    "TADSE_4": "u-0",
    "TADSE_5": "L-u TaDSE",
    "TADSE_F": "TaDSE",
    "EVERY": "4",
}


@pytest.fixture(scope="module")
def make(scripts: Path, data: Path, suites: Path, tmp_path_factory) -> Make:
    """Run targets at tiny scale, from a small model made first."""
    out = tmp_path_factory.mktemp("papers")
    env = {**os.environ, "PATH": f"{scripts}:{os.environ['PATH']}", "OMP_NUM_THREADS": "1"}
    dialogues = data / "woz.jsonl"
    start = f"dial-train -q --max-steps 0 --hidden 64 --layers 2 -o {out}/start"
    line = f"dial-pairs -q {dialogues} | {start}"
    subprocess.run(line, shell=True, check=True, env=env, capture_output=True)

    def run(*words: str) -> subprocess.CompletedProcess:
        paths = [f"DATA={data}", f"EVAL={data}/eval", f"DIALOGUES={dialogues}", f"SUITES={suites}"]
        paths += [f"MODEL={out}/start", f"OUT={out}/out"]
        rows = [f"{name}={value}" for name, value in ROWS.items()]
        command = ["make", "-k", "-C", ROOT / "papers", "--no-print-directory", *paths, *rows]
        command += ["SCALE=tiny", "SHARE=0.3", *words]
        return subprocess.run(command, capture_output=True, text=True, env=env)

    return run


# what a target prints: a row and columns; our number, the published, the difference
NUMBER = r"[\d.]+ \([\d.]+, [+-][\d.]+\)"
PRINTED = {
    "dse-table2": (r"CLINC150, 5-shot accuracy", "BERT DSE PairSupCon_†"),
    "dse-table3": (r"CLINC150, 1-shot mean-std oos-recall", "BERT DSE"),
    "dse-table4": (r"AmazonQA, 1-of-100 blocks top-10", "BERT DSE"),
    "dse-table5": (r"dstc2, 10-shot micro-f1", "DSE DSE123-1"),
    "dse-table6": (r"acts", "DSE DSE123-1"),
    "dse-table7": (r"clinc150, 5-shot accuracy", "DSE PairSupCon_†"),
    "dse-table8": (r"CLINC150, 5-shot mean average", "BERT DSE"),
    "dse-table9": (r"amazonqa, 500-shot top-1", "DSE"),
    "dse-table10": (r"CLINC150, 1-shot accuracy", "BERT-large DSE-BERT-large"),
    "dse-table11": (r"AmazonQA, 1-of-100 blocks top-1", "BERT-large DSE-BERT-large"),
    "dse-nli": (r"SNLI, test accuracy", "BERT DSE SimCSE-unsup_†"),
    "wmdc-table2": (r"DSTC2, next micro-f1", "WMDC TOD-BERT-jnt_†"),
    "dialoguecse-table2": (r"JDDC, spearman", "BERT-avg DialogueCSE-I2 GloVe_†"),
    "dialoguecse-table3": (r"JDDC, given map", "tau-0.5"),
    "dialoguecse-table4": (r"JDDC, given map", "negatives-4"),
    "tadse-table3": (r"SNIPS, 1-nearest accuracy", "SimCSE-aug TaDSE+MLP"),
    "tadse-table4": (r"SNIPS, 1-nearest accuracy", "u-0 pair-5_†"),
    "tadse-table5": (r"SNIPS, 1-nearest accuracy", "L-u TaDSE"),
    "tadse-table6": (r"SNIPS, 1-nearest accuracy", "TaDSE L-u-t-pair_†"),
}
SHOWN = {  # without published numbers
    "dialoguecse-figure2": "turns-1",
    "dialoguecse-figure3": "few-100",
    "wmdc-figure3": "windows-12-unweighted",
    "wmdc-figure4": "WMDC-T5-small",
    "wmdc-figure5": "pairs-100",
    "tadse-figure6": "SNIPS, 5-nearest accuracy",
    "tadse-figure8": "uniformity",
    "tadse-figure-lambdas": "SNIPS, lambda 0.5, 1-nearest",
}
DRAWN = {
    "dse-figure1": ["dse/figure1/DSE-intents.png", "dse/figure1/DSE-answers.png"],
    "dse-figure3": ["dse/figure3.svg"],
    "wmdc-figure1": ["wmdc/figure1.svg"],
    "tadse-figure4": ["tadse/figure4/TaDSE.png"],
    "tadse-figure7": ["tadse/figure7.svg"],
    "tadse-figure8": ["tadse/figure8.svg"],
}
TOLD = ("wmdc-table5", "tadse-table1", "tadse-tables7-11", "tadse-table12")
NO_DATA = ("wmdc-table3", "wmdc-table4")


@pytest.fixture(scope="module")
def made(make: Make) -> subprocess.CompletedProcess:
    """All targets in one run."""
    return make("-j", "2", "--output-sync=target", *targets(make))


def targets(make: Make) -> list[str]:
    listed = (line.partition("\t")[0] for line in make("help").stdout.splitlines())
    return [target for target in listed if target != "help"]


@pytest.mark.slow
def test_every_table_and_figure_is_made_of_what_is_there(make: Make, made):
    assert made.returncode == 0, made.stderr[-3000:]
    tried = {*PRINTED, *SHOWN, *DRAWN, *TOLD, *NO_DATA}
    assert tried == set(targets(make)), "each target is tried here"
    assert "left out because not in" in made.stderr and "metalwoz" in made.stderr
    assert all(f"{name}: nothing in" in made.stderr for name in NO_DATA)
    again = make("-n", *targets(make)).stdout
    assert not any(f"dial-{verb}" in again for verb in ("train", "embed", "eval finetune"))


@pytest.mark.slow
@pytest.mark.parametrize("target", PRINTED)
def test_a_table_has_ours_the_published_and_the_difference(made, target: str):
    row, columns = PRINTED[target]
    said = rf"{target} \(.*\): ours .*\nOurs: scale tiny, start .*/start, training seed 0"
    head, rows = re.findall(rf"\| \| (.+) \|\n\|---.*\n((?:\|.*\n)+)\n{said}", made.stdout)[0]
    found = re.search(rf"^\| {row} \| (.+) \|$", rows, re.M)
    assert found, rows
    cells = dict(zip(head.replace(" †", "_†").split(" | "), found[1].split(" | "), strict=True))
    for name in columns.split():
        pattern = r"[\d.]+" if name.endswith("†") else NUMBER
        assert re.fullmatch(pattern, cells[name]), cells


@pytest.mark.slow
def test_a_figure_is_numbers_or_a_picture(made, make: Make):
    for target, text in SHOWN.items():
        assert text in made.stdout, target
    out = Path(re.findall(r"^OUT = (.+)$", make("-pn", "help").stdout, re.M)[0])
    for paths in DRAWN.values():
        assert all((out / path).stat().st_size for path in paths)


def test_another_seed_start_or_data_in_the_same_folder_is_refused(make: Make, tmp_path: Path):
    here = f"OUT={tmp_path}"
    assert make(here, "tadse-tables7-11").returncode == 0
    assert make(here, "tadse-tables7-11").returncode == 0
    for other in ("SEED=1", "MODEL=bert-base-uncased", "DATA=elsewhere"):
        refused = make(here, "-n", "dse-table2", other)
        said = f"{tmp_path} was made with {other.partition('=')[0]}="
        assert (refused.returncode, said in refused.stderr) == (2, True), refused.stderr
    assert make(here, "-n", "dialoguecse-table2", "MODEL=bert-base-chinese").returncode == 0
    assert make(here, "-n", "seeds-dse-table2", "SEEDS=1").returncode == 0


def test_templates_are_made_before_the_start_embeds_with_them(make: Make, tmp_path: Path):
    told = make("-n", f"OUT={tmp_path}", "tadse-figure-lambdas", "TADSE_F=start").stdout
    assert 0 < told.find("--save-templates") < told.find("--templates ")


@pytest.mark.slow
def test_fine_tuning_is_done_again_where_its_data_have_changed(make: Make, data, tmp_path: Path):
    texts = tmp_path / "clinc150.jsonl"
    words = (f"DATA={tmp_path}", f"OUT={tmp_path}/out", "DSE_ROWS=BERT", "dse-table7")
    shutil.copy(data / texts.name, texts)
    scores = []
    for rows in (texts.read_bytes(), b"".join(texts.read_bytes().splitlines(True)[:-9])):
        texts.write_bytes(rows)
        done = make(*words)
        assert done.returncode == 0, done.stderr
        scores.append((tmp_path / "out/scores/dse-table7.jsonl").read_text())
    assert scores[0] != scores[1]


@pytest.mark.parametrize("rules", ["papers", "examples"])
def test_what_a_shell_writes_gets_its_name_when_it_is_whole(rules: str):
    for path in (ROOT / rules).glob("*.mk"):
        assert not re.search(r">\s*\$@\s*(;|$)", path.read_text(), re.M), path


def test_numbers_of_several_seeds_are_a_mean_with_its_spread(tmp_path: Path):
    files = []
    for seed, value in enumerate((50.0, 60.0)):
        path = tmp_path / f"seed-{seed}" / "dse-table2.jsonl"
        path.parent.mkdir()
        row = {"task": "intent", "dataset": "A", "setting": "1-shot", "metric": "accuracy"}
        ours = {**row, "model": "x/DSE", "value": value}
        paper = {**row, "model": "DSE", "value": 40.0, "published": "a paper"}
        path.write_text(json.dumps(ours) + "\n" + json.dumps(paper) + "\n")
        files.append(str(path))
    done = ended(sys.executable, ROOT / "papers/beside.py", *files, text=True)
    assert "| A, 1-shot accuracy | 55.00 ± 7.07 (40.00, +15.00) |" in done.stdout
    assert "mean of 2 seeds" in done.stdout
