"""Every example in help and README's main road runs as printed, on small files of those names."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

from dialtools.cli import _man
from dialtools.cli._command import Group
from dialtools.cli._help import sections

ROOT = Path(__file__).resolve().parents[2]


def examples() -> list[str]:
    """The example lines of every command and task, and the shell lines of the README."""
    loaded = [entry.load() for entry in _man.COMMANDS.values()]
    groups = [c for c in loaded if isinstance(c, Group)]
    documents = [c.doc for c in loaded] + [
        task.doc for c in groups for task in c.commands().values()
    ]
    documents += [entry.load().doc for c in groups for entry in c.table.values()]
    readme = re.findall(r"```sh\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    lines = [line for block in readme for line in block.splitlines() if line.startswith("dial-")]
    return list(
        dict.fromkeys([line for document in documents for line in sections(document)[2]] + lines)
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory, scripts) -> tuple[Path, dict[str, str]]:
    """A directory with the files that the examples name."""
    home = tmp_path_factory.mktemp("examples")
    env = {
        **os.environ,
        "PATH": f"{scripts}:{os.environ['PATH']}",
        "OMP_NUM_THREADS": "1",
        "DIAL_TRAIN_MAX_STEPS": "2",
        "DIAL_TRAIN_FREEZE": "0",
        "DIAL_TRAIN_OVERWRITE": "1",
        "DIAL_PAIRS_OVERWRITE": "1",
        "DIAL_EMBED_OVERWRITE": "1",
        "DIAL_FREQ_OVERWRITE": "1",
        "DIAL_AUGMENT_OVERWRITE": "1",
        "DIAL_EVAL_OVERWRITE": "1",
        "DIAL_EVAL_EPOCHS": "1",
        "DIAL_EVAL_RUNS": "1",
    }

    def sh(lines: str) -> None:
        subprocess.run(
            ["bash", "-euo", "pipefail", "-c", lines],
            cwd=home,
            env=env,
            check=True,
            capture_output=True,
        )

    (home / "examples").symlink_to(ROOT / "examples")
    texts(home)
    sh("""
        dial-pairs chats.jsonl -o pairs.jsonl; dial-pairs chats.jsonl -o pairs.arrow; cp pairs.jsonl heldout.jsonl
        dial-pairs --kind self chats.jsonl -o utterances.jsonl
        dial-freq chats.jsonl -o counts.jsonl
        dial-train --hidden 64 --layers 1 -o model pairs.jsonl
        dial-train --hidden 64 --layers 1 --snapshot-every 1 -o run pairs.jsonl
        for name in bert-base-uncased minilm dse adapted tadse; do cp -r model $name; done
        cp -r run other
        dial-embed --model model tickets.jsonl -o clinc.parquet
        for name in clinc150 banking77; do cp clinc.parquet $name.parquet; done
        dial-augment labelled.jsonl -o augmented.jsonl
        dial-embed --model model --templates augmented.jsonl tickets.jsonl -o templates.parquet
        for split in train test; do grep "\\"$split\\"" tickets.jsonl | dial-embed --model model -o $split.parquet; done
        dial-embed --model model pairs.jsonl -o heldout.parquet
        dial-embed --model model --per turn chats.jsonl -o turns.parquet
        dial-embed --model model --field history dstc2_acts.jsonl -o dstc2.parquet
        dial-embed --model model --field history+response --tokens citod.jsonl -o ic-tod.parquet
        cp ic-tod.parquet decode.parquet
        for name in jddc sick snli triplets; do dial-embed --model model $name.jsonl -o $name.parquet; done
        for name in before after minilm trained; do mkdir -p $name; cp dstc2.parquet decode.parquet $name/; done
        for name in before after minilm seeds/dse-1 seeds/dse-2 seeds/wmdc-1 seeds/wmdc-2; do mkdir -p seeds; dial-eval intent clinc.parquet -o $name.jsonl; done
    """)
    vectors = np.random.default_rng(0).standard_normal((120, 8)).tolist()
    pool = [{"id": str(i), "embedding": v} for i, v in enumerate(vectors)]
    pq.write_table(pa.Table.from_pylist(pool), home / "candidates.parquet")
    asked = [{**row, "candidates": [str(j) for j in range(9)], "positive": "3"} for row in pool]
    pq.write_table(pa.Table.from_pylist(asked), home / "queries.parquet")
    return home, env


def texts(home: Path) -> None:
    """Write the small inputs: dialogues, labelled texts, histories with acts, dialogues to judge."""

    def write(name: str, records: list[dict]) -> None:
        (home / name).write_bytes(b"".join(orjson.dumps(r) + b"\n" for r in records))

    splits = ("train", "test", "val")
    talks = [
        {
            "id": str(i),
            "split": splits[i % 3],
            "turns": [
                {
                    "speaker": ("user", "system")[j % 2],
                    "text": f"turn {j} of talk {i} says so",
                    "acts": ["ask" if j % 3 else "tell"],
                }
                for j in range(6)
            ],
        }
        for i in range(60)
    ]
    write("chats.jsonl", talks)
    write("corpus.jsonl", talks)
    (home / "chats.jsonl.zst").write_bytes(zstandard.compress((home / "chats.jsonl").read_bytes()))
    rows = [
        {"text": f"text {i} about {label}", "label": label, "split": split}
        for i in range(14)
        for label in ("oos", "a", "b")
        for split in splits
    ]
    write("tickets.jsonl", rows)
    answered = [
        {"id": t["id"], "history": t["turns"][:-1], "response": "so it is", "split": t["split"]}
        for t in talks
    ]
    write(
        "dstc2_acts.jsonl",
        [{**a, "labels": ["tell"] if i % 2 else ["ask", "tell"]} for i, a in enumerate(answered)],
    )
    judged = [
        {**a, "qi": int(i % 4 == 0), "hi": 0, "is_contradiction": i % 5 == 0}
        for i, a in enumerate(answered)
    ]
    write(
        "citod.jsonl",
        [{**j, "split": {"test": "dev"}.get(j["split"], "train")} for j in judged[:30]]
        + judged[30:],
    )
    asked = {"query": "何时发货", "positives": [0, 1], "negatives": [2]}
    write(
        "jddc.jsonl",
        [{"id": i, **asked, "split": split} for split in ("dev", "test") for i in range(4)],
    )
    alike = [{"text1": f"a dog {i}", "text2": f"a cat {i * i}", "score": i % 5} for i in range(12)]
    write(
        "sick.jsonl",
        [{**row, "split": "trial" if i % 2 else "train"} for i, row in enumerate(alike)],
    )
    pairs = [
        {
            "text1": f"a dog {i // 2}",
            "text2": f"a cat {i}",
            "label": ("entailment", "contradiction")[i % 2],
            "split": "test",
        }
        for i in range(12)
    ]
    write("snli.jsonl", pairs)
    write(
        "triplets.jsonl",
        [
            {"anchor": f"a dog {i}", "entailment": "an animal", "contradiction": "a cat"}
            for i in range(9)
        ],
    )
    measured = {
        "schema": "dialtools.score/1",
        "task": "intent",
        "dataset": "banking77",
        "setting": "8-shot logreg",
        "n": 3080,
        "runs": 10,
        "seed": 0,
        "value": 80.0,
        "values": [80.0] * 10,
        "model": "model",
        "data": {"train": {"rows": 10003}},
    }
    write(
        "scores.jsonl",
        [{**measured, "metric": metric} for metric in ("accuracy", "macro-f1", "weighted-f1")],
    )
    (home / "mine.toml").write_text("""
        title = "mine"
        [[set]]
        task = "act"
        name = "DSTC2"
        file = "dstc2"
        metrics = ["micro-f1"]
    """)
    cities = ("rome", "new york")
    marked = [
        {
            "text": f"fly to {city} {i}",
            "label": "fly",
            "split": "train",
            "slots": [{"start": 7, "end": 7 + len(city), "label": "city"}],
        }
        for i in range(20)
        for city in cities
    ]
    write("labelled.jsonl", marked)
    write("texts.jsonl", [{"text": "back from Rome"}])
    (home / "book.json").write_text('{"city": ["rome", "new york"]}')
    (home / "snips").mkdir()
    for name, line in {"seq.in": "fly to rome", "seq.out": "O O B-city", "label": "fly"}.items():
        (home / "snips" / name).write_text(line + "\n")
    (home / "snli_1.0").mkdir()
    judged = {
        "sentence1": "a dog barks",
        "sentence2": "an animal is loud",
        "gold_label": "entailment",
    }
    (home / "snli_1.0" / "snli_1.0_dev.jsonl").write_bytes(orjson.dumps(judged))
    (home / "glove.txt").write_text("text 1 2\nabout 0 1\na 2 0\nb 0 3\n")
    (home / "lines.txt").write_text("one\ntwo\n")
    (home / "log.csv").write_text(
        "ticket,dialogue_id,from,message,text,sent\n1,1,agent,hello you,hello you,1\n1,1,kim,hi there,hi there,2\n"
    )
    chats = [
        {
            "chat": i % 2,
            "author": "ab"[i % 3 > 1],
            "text": f"row {i}",
            "sent": f"2024-01-01 10:{i:02}",
        }
        for i in range(9)
    ]
    pq.write_table(pa.Table.from_pylist(chats), home / "log.parquet")
    labels = [r["label"] for r in rows if r["split"] == "train"]
    first = [labels.index(label) for label in ("oos", "a", "b")]
    episodes = {"bank77": {"shots": {k: [{"seed": 0, "train_idx": first}] for k in ("1", "5")}}}
    (home / "splits.json").write_bytes(orjson.dumps(episodes))


@pytest.mark.slow
@pytest.mark.parametrize("line", examples())
def test_the_example_runs(folder, tmp_path, line: str):
    made, env = folder
    home = tmp_path / "home"
    shutil.copytree(made, home, symlinks=True)
    if "dial-train" in line and "--resume" in line:
        shutil.rmtree(home / "dse")
        env = {k: v for k, v in env.items() if k != "DIAL_TRAIN_OVERWRITE"}
    if "dial-eval" in line and "--resume" in line:
        env = {k: v for k, v in env.items() if k != "DIAL_EVAL_OVERWRITE"}
    if "dial-embed" in line and "--resume" in line:
        (home / "chats.jsonl.zst").write_bytes(
            zstandard.compress((home / "tickets.jsonl").read_bytes())
        )
    command = re.sub(r"--fail-under \S+", "--fail-under top-1=0", line)
    done = subprocess.run(
        ["bash", "-uo", "pipefail", "-c", command],
        cwd=home,
        env=env,
        capture_output=True,
        text=True,
    )
    allowed = {0, 141} if "head" in line else {0}
    assert done.returncode in allowed, f"{command}\n{done.stderr}"


@pytest.mark.slow
def test_the_first_hour_runs_from_top_to_bottom(folder, tmp_path):
    made, env = folder
    home = tmp_path / "home"
    shutil.copytree(made, home, symlinks=True)
    page = (ROOT / "man/dialtools.7").read_text(encoding="utf-8")
    blocks = re.findall(r"^\.nf\n(dial\\-.*?)^\.fi", page, re.DOTALL | re.MULTILINE)
    script = "".join(blocks).replace("\\-", "-").replace("\\e", "\\").replace("=10", "=0")
    command = ["bash", "-eu", "-c", script]
    done = subprocess.run(command, cwd=home, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert script.count("dial-") > 15
