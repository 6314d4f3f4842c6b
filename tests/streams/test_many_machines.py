"""The page on many machines: its commands run as printed, a queue's by their variables."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import pytest
from at_work import ended
from pair_corpus import as_lines, pair_records

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "many-machines.md").read_text()
SSH = '#!/bin/bash\nshift\nexec bash -c "$*"\n'
"""Every host is this one."""


def blocks(kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)


@pytest.fixture
def shell(tmp_path: Path, scripts: Path, model: Path):
    """Run a script in a folder with the files that the page names; return what is there then."""
    talks = [
        {"id": str(n), "turns": [f"question {n}", f"answer {n % 7}", "thanks"]} for n in range(400)
    ]
    (tmp_path / "chats.jsonl").write_bytes(as_lines(talks))
    texts = [{"text": row["response"]} for row in pair_records(8)]
    (tmp_path / "tickets.jsonl").write_bytes(as_lines(texts * 40))
    shutil.copytree(model, tmp_path / "model")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "ssh").write_text(SSH)
    (tmp_path / "bin" / "ssh").chmod(0o755)
    path = f"{tmp_path / 'bin'}:{scripts}:{os.environ['PATH']}"

    def run(script: str, **variables: str) -> dict[str, bytes]:
        env = {**os.environ, "PATH": path, "OMP_NUM_THREADS": "1", **variables}
        ended("bash", "-euo", "pipefail", "-c", script, cwd=tmp_path, env=env)
        return {file.name: file.read_bytes() for file in tmp_path.iterdir() if file.is_file()}

    return run


def test_parts_by_a_loop_by_xargs_and_by_make(shell):
    loop, xargs, *_ = blocks("sh")
    shell(loop)  # it compares the whole with one run
    counts = shell(xargs)["counts.jsonl"]
    alone = shell("dial-pairs chats.jsonl | dial-freq --unit record > alone.jsonl")["alone.jsonl"]
    assert counts == alone
    (rules,) = blocks("make")
    files = shell(f"cat > Makefile <<'EOF'\n{rules}EOF\nmake -j 2 pairs.arrow")
    assert files["pairs.arrow"] == files["alone.arrow"]


def test_the_tasks_of_a_slurm_array_make_what_one_run_makes(shell):
    (task,) = (block for block in blocks("sh") if "#SBATCH" in block)
    for number in range(1, 9):
        shell(task, SLURM_ARRAY_TASK_ID=str(number))
    (gather,) = re.findall(r"--wrap '(.*?)'", PAGE)
    alone = "dial-embed --model model/ --shard-rows 2000 tickets.jsonl -o alone.parquet"
    files = shell(f"{gather}\n{alone}")
    assert files["embedded.parquet"] == files["alone.parquet"]


def test_the_pods_of_an_indexed_job_make_what_one_run_makes(shell):
    (pod,) = re.findall(r"args:\n +- (.*)", PAGE)
    for number in range(8):
        shell(pod, JOB_COMPLETION_INDEX=str(number))
    gather = "dialtools gather kube.?.arrow -o pairs.arrow"
    files = shell(f"{gather}\ndial-pairs chats.jsonl -o alone.arrow")
    assert files["pairs.arrow"] == files["alone.arrow"]


def test_hosts_over_ssh_make_what_one_run_makes(shell):
    (hosts,) = (block for block in blocks("sh") if "ssh" in block)
    files = shell(f"{hosts}\ndial-freq chats.jsonl -o alone.jsonl")
    assert files["freq.jsonl"] == files["alone.jsonl"]
