"""--engine ray at the prompt: what a cluster does in parts is what one process does."""

from __future__ import annotations

import gzip
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import orjson
import pyarrow.parquet as pq
import pytest
from at_work import ended

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "dialogues.jsonl.gz"
PAIRS = ("dial-pairs", "--window", "1,2,3,4,5", "chats.jsonl")
Done = subprocess.CompletedProcess[str]
Run = Callable[..., Done]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, installed: Path) -> Path:
    """Where all is done: 5,000 dialogues, and the pairs that one process makes of them."""
    path = tmp_path_factory.mktemp("ray")
    (path / "chats.jsonl").write_bytes(gzip.decompress(EXAMPLE.read_bytes()))
    command = [installed / PAIRS[0], *PAIRS[1:], "-q", "-o", "one.parquet"]
    subprocess.run(command, cwd=path, check=True)
    return path


@pytest.fixture(scope="module")
def cluster(store: Any) -> Iterator[Any]:
    pytest.importorskip("ray.data", reason="needs the extra ray")
    from engine.ray_cluster import cluster

    with cluster() as started:
        yield started


@pytest.fixture(scope="module")
def store() -> Iterator[Any]:
    pytest.importorskip("moto", reason="needs moto, an S3 server")
    pytest.importorskip("flask", reason="needs moto, an S3 server")
    from engine.ray_cluster import s3

    with s3() as started:
        yield started


@pytest.fixture
def run(installed: Path, folder: Path) -> Run:
    """Run a command; `code` is the exit status it must end with."""

    def command(name: str, *words: object, code: int = 0) -> Done:
        return ended(installed / name, *words, code=code, cwd=folder, text=True)

    return command


def on_ray(cluster: Any, parts: int, output: str, *more: object) -> list[str]:
    words = ("--engine", "ray", "--address", cluster.address, "--parts", parts, "-o", output, *more)
    return list(map(str, words))


def started(folder: Path, installed: Path, *words: str) -> subprocess.Popen[str]:
    command = [installed / words[0], *words[1:]]
    return subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True)


def same(run: Run, folder: Path, output: str) -> bool:
    run("dialtools", "gather", "-q", output, "-o", "all.parquet", "--overwrite")
    return (folder / "all.parquet").read_bytes() == (folder / "one.parquet").read_bytes()


def said(stderr: str) -> list[str]:
    """Return the lines of stderr that are no heartbeats."""
    return [line for line in stderr.splitlines() if " left)" not in line]


def test_a_node_that_dies_in_the_middle_of_a_part_loses_and_doubles_nothing(
    cluster: Any, folder: Path, installed: Path, run: Run
):
    from engine.ray_cluster import kill, of_node, until, working

    job = started(folder, installed, *PAIRS, *on_ray(cluster, 8, "two-nodes"))
    node, actor = until(lambda: working(cluster))
    os.kill(actor, signal.SIGSTOP)  # so that what it does is not done when it dies
    until(lambda: list(folder.glob("two-nodes/part-*")))
    assert job.poll() is None
    theirs = of_node(node)
    cluster.remove_node(node, allow_graceful=False)
    for pid in theirs:
        kill(pid)
    _, stderr = job.communicate()
    assert job.returncode == 0, stderr
    (closing,) = said(stderr)
    rows = pq.read_metadata(folder / "one.parquet").num_rows
    assert closing.startswith(f"dial-pairs: {rows:,} rows in 8 parts")
    assert same(run, folder, "two-nodes")


def test_a_job_that_was_killed_does_what_is_missing_when_it_is_run_again(
    cluster: Any, folder: Path, installed: Path, run: Run
):
    from engine.ray_cluster import until

    words = [*PAIRS, *on_ray(cluster, 6, "again")]
    job = started(folder, installed, *words)
    until(lambda: len(list(folder.glob("again/part-*"))) >= 2)
    job.kill()
    _, stderr = job.communicate()
    lost, hint = said(stderr)
    assert lost.startswith("dial-pairs: ended from outside; Ray does so")
    assert hint == "  what is done stays: the same line does the rest"
    there = {file: file.stat().st_mtime_ns for file in folder.glob("again/part-*")}
    closing = run(*words).stderr.splitlines()[-1]
    assert "6 parts; " in closing
    assert "of them done before" in closing
    assert (
        there.items()
        <= {file: file.stat().st_mtime_ns for file in folder.glob("again/part-*")}.items()
    )
    assert same(run, folder, "again")
    assert "6 parts; 6 of them done before" in run(*words).stderr
    other = run(*words, "--lower", code=1).stderr
    assert "part-00001-of-00006.parquet: is of another run: --lower was False, is True" in other


@pytest.mark.parametrize("archive", ["own.zip", "own.tar.gz"])
def test_parts_of_an_archive_are_done_once(cluster: Any, folder: Path, run: Run, archive: str):
    lines = (folder / "chats.jsonl").read_bytes().splitlines(keepends=True)
    (folder / "own").mkdir(exist_ok=True)
    for name, part in (("a", lines[:900]), ("b", lines[900:1200]), (".hidden", lines[:9])):
        (folder / "own" / f"{name}.jsonl").write_bytes(b"".join(part))
    kind = "zip" if archive.endswith("zip") else "gztar"
    shutil.make_archive(str(folder / "own"), kind, folder, "own")
    words = ["dial-pairs", archive, *on_ray(cluster, 2, f"{archive}.d")]
    run(*words)
    (folder / f"{archive}.d" / "part-00001-of-00002.parquet").unlink()
    assert "2 parts; 1 of them done before" in run(*words).stderr
    run("dialtools", "gather", "-q", f"{archive}.d", "-o", f"{archive}.parquet")
    run("dial-pairs", archive, "-o", f"{archive}.one.parquet")
    parts, one = (folder / f"{archive}{end}" for end in (".parquet", ".one.parquet"))
    assert parts.read_bytes() == one.read_bytes()
    (folder / "own" / "b.jsonl").unlink()
    shutil.make_archive(str(folder / "own"), kind, folder, "own")
    assert "is of another run: " in run(*words, code=1).stderr


def test_inputs_and_parts_lie_on_s3_and_every_command_reads_them_there(
    cluster: Any, store: Any, folder: Path, run: Run
):
    lines = (folder / "chats.jsonl").read_bytes().splitlines(keepends=True)
    inputs = {"a": lines[:3000], "bad": [*lines[3000:3600], b"{rubbish}\n", *lines[3600:4000]]}
    for name, part in inputs.items():
        (folder / f"{name}.jsonl").write_bytes(b"".join(part))
        with store.open_output_stream(f"bucket/in/{name}.jsonl") as file:
            file.write(b"".join(part))
    words = [f"s3://bucket/in/{name}.jsonl" for name in inputs]
    failed = run("dial-pairs", *words, *on_ray(cluster, 3, "s3://bucket/failed"), code=1)
    first, *hint = said(failed.stderr)
    assert first.startswith("dial-pairs: s3://bucket/in/bad.jsonl:601: ")
    assert len(hint) <= 1
    skipping = ("--on-error", "skip")
    told = run("dial-pairs", *words, *skipping, *on_ray(cluster, 3, "s3://bucket/out"), code=3)
    assert "1 bad record skipped" in told.stderr
    store.delete_file("bucket/out/part-00001-of-00003.parquet")
    again = run("dial-pairs", *words, *skipping, *on_ray(cluster, 3, "s3://bucket/out/"))
    assert "3 parts; 2 of them done before" in again.stderr
    run("dial-pairs", "a.jsonl", "bad.jsonl", *skipping, "-o", "ab.parquet", code=3)
    counts = [
        run("dial-freq", "-q", "--unit", "record", path).stdout
        for path in ("s3://bucket/out", "ab.parquet")
    ]
    assert counts[0] == counts[1]


def test_embeddings_of_a_cluster_are_those_of_one_process(
    cluster: Any, folder: Path, model: Path, scripts: Path, run: Run
):
    records = [{"text": f"text {n}", "n": n} for n in range(300)]
    (folder / "texts.jsonl").write_bytes(b"".join(orjson.dumps(r) + b"\n" for r in records))
    words = ["--model", str(model), "--shard-rows", "40", "texts.jsonl"]
    env = {**os.environ, "OMP_NUM_THREADS": "1"}
    one = [scripts / "dial-embed", *words, "-q", "-o", "vectors.parquet"]
    subprocess.run(one, cwd=folder, env=env, check=True)
    done = run("dial-embed", *words, *on_ray(cluster, 4, "vectors"))
    assert "dial-embed: 300 rows in 4 parts (" in done.stderr
    run("dialtools", "gather", "-q", "vectors", "-o", "gathered.parquet")
    parts, whole = (pq.read_table(folder / f"{name}.parquet") for name in ("gathered", "vectors"))
    assert parts.equals(whole)


def test_the_lines_of_the_page_run_as_printed(
    cluster: Any, folder: Path, installed: Path, run: Run
):
    page = (EXAMPLE.parents[1] / "docs" / "many-machines.md").read_text()
    (lines,) = re.findall(r"^```sh\n(dial-pairs --engine ray.*?)^```", page, re.M | re.S)
    path = f"{installed}:{os.environ['PATH']}"
    env = {**os.environ, "PATH": path, "RAY_ADDRESS": cluster.address}
    ended("bash", "-euc", lines, cwd=folder, env=env)
    run("dial-pairs", "chats.jsonl", "-o", "alone.parquet")
    gathered, alone = ((folder / f"{name}.parquet").read_bytes() for name in ("raypairs", "alone"))
    assert gathered == alone


REFUSED = [
    ("--parts goes with --engine ray", "--parts", "3", "-o", "x"),
    ("--limit counts", "--engine", "ray", "--limit", "1", "-o", "x"),
]


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case[0])
def test_what_has_no_meaning_on_a_cluster_is_refused_before_one_is_looked_for(
    run: Run, folder: Path, case: tuple[str, ...]
):
    reason, *words = case
    (first, *_) = run("dial-pairs", "chats.jsonl", *words, code=2).stderr.splitlines()
    assert reason in first
    assert not (folder / "x").exists()


def test_without_ray_one_line_names_the_extra(installed: Path, folder: Path, tmp_path: Path):
    (tmp_path / "ray.py").write_text("raise ImportError\n")
    command = f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
    command += "from dialtools.cli.pairs import main\nmain(sys.argv[1:])"
    words = ("--engine", "ray", "--parts", "1", "chats.jsonl", "-o", "none")
    done = ended(sys.executable, "-c", command, *words, code=1, cwd=folder, text=True)
    lines = ["dial-pairs: --engine ray needs Ray", "  pip install 'dialtools[ray]'"]
    assert said(done.stderr) == lines
    shutil.rmtree(folder / "none")
