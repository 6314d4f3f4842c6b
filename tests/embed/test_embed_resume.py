"""dial-embed --resume, as cron lines and make rules say it: always."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from at_work import ended, lines, until

from dialtools.errors import OutputError
from dialtools.streams.sinks import writer
from dialtools.streams.vector_files import read_embeddings

ENV = {**os.environ, "OMP_NUM_THREADS": "1"}
LINES = [json.dumps({"id": n, "text": f"{n} tickets to leeds"}) for n in range(12)]
Run = Callable[..., subprocess.CompletedProcess[bytes]]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "in.jsonl").write_text("\n".join(LINES) + "\n")
    return tmp_path


@pytest.fixture
def run(scripts: Path, minilm: str, folder: Path) -> Run:
    """Run dial-embed in the folder, two rows a shard; check its exit status."""

    def embed(
        *flags: str, code: int = 0, stdin: bytes = b"", out: str = "e.parquet"
    ) -> subprocess.CompletedProcess[bytes]:
        command = [scripts / "dial-embed", "--model", minilm, "--shard-rows", "2", "-o", out]
        return ended(*command, *flags, code=code, cwd=folder, env=ENV, input=stdin)

    return embed


@pytest.fixture
def interrupt(installed: Path, minilm: str, folder: Path) -> Callable[..., None]:
    """Start a run whose input comes from a pipe that stays open, and kill it after two shards."""

    def start(*flags: str) -> None:
        command = [installed / "dial-embed", "--model", minilm, "--shard-rows", "2", *flags]
        process = subprocess.Popen(
            [*command, "-o", "e.parquet"], cwd=folder, env=ENV, stdin=subprocess.PIPE
        )
        assert process.stdin
        process.stdin.write(("\n".join(LINES) + "\n").encode())
        process.stdin.flush()
        pieces = folder / "e.parquet.partial" / "pieces.jsonl"
        until(process, lambda: lines(pieces) >= 2)
        process.kill()
        process.communicate()

    return start


@pytest.mark.parametrize("kind", ["zip", "gztar"])
def test_a_run_over_an_archive_goes_on_where_it_was_killed(
    installed: Path, minilm: str, run: Run, folder: Path, kind: str
):
    (folder / "own").mkdir()
    for part in range(2):
        rows = [json.dumps({"id": n, "text": f"{part} to {n}"}) for n in range(200)]
        (folder / "own" / f"{part}.jsonl").write_text("\n".join(rows) + "\n")
    archive = Path(shutil.make_archive(str(folder / "own"), kind, folder / "own")).name
    flags = ("--resume", "--shard-rows", "10", archive)
    run(*flags, out="whole.parquet")
    command = [installed / "dial-embed", "--model", minilm, *flags, "-o", "e.parquet"]
    process = subprocess.Popen(command, cwd=folder, env=ENV, stderr=subprocess.PIPE)
    until(process, lambda: lines(folder / "e.parquet.partial" / "pieces.jsonl") >= 2)
    process.kill()
    process.communicate()
    run(*flags)
    assert (folder / "e.parquet").read_bytes() == (folder / "whole.parquet").read_bytes()
    assert "finished already" in said(run(*flags))
    (folder / "own" / "0.jsonl").write_text('{"text": "another"}\n')
    shutil.make_archive(str(folder / "own"), kind, folder / "own")
    assert f"is finished, of another job: {archive} was" in said(run(*flags, code=1))


def said(done: subprocess.CompletedProcess[bytes]) -> str:
    return done.stderr.decode()


def test_a_finished_job_is_told_in_one_line_and_nothing_is_embedded_again(run: Run, folder: Path):
    for out in ("e.parquet", "e.arrow", "e.jsonl", "e.npy", "e.fbin"):
        run("--resume", "in.jsonl", out=out)
        before = (folder / out).stat().st_mtime_ns
        again = run("--resume", "in.jsonl", out=out)
        assert f"{out}: finished already, of the same inputs and options" in said(again)
        assert len(said(again).splitlines()) == 1
        assert (folder / out).stat().st_mtime_ns == before
    beside = {path.name for path in folder.glob("*.job.json")}
    told = {"e.jsonl.job.json", "e.npy.job.json", "e.fbin.job.json"}
    assert beside == told, "tables tell their job themselves"


def test_columns_that_lost_their_matrix_are_replaced_by_the_run_that_wrote_them_alone(
    run: Run, folder: Path
):
    run("in.jsonl", out="e.npy")
    (folder / "f.npy.columns.jsonl").write_text("mine")
    for again in ("--resume", "-q"):
        refused = run(again, "in.jsonl", out="f.npy", code=1)
        assert "f.npy.columns.jsonl: exists already" in said(refused)
    assert not list(folder.glob("*.partial")), "said before the work"
    with writer(str(folder / "f.npy"), format="npy"):
        pass  # where the run that was killed has come to write again
    assert (folder / "f.npy.columns.jsonl").read_text() == ""
    with (
        pytest.raises(OutputError, match="exists already"),
        writer(str(folder / "f.npy"), format="npy"),
    ):
        pass


def test_a_finished_job_of_other_options_or_inputs_is_refused_with_both_ways_out(
    run: Run, folder: Path
):
    run("in.jsonl")
    options = run("--resume", "--dtype", "float16", "in.jsonl", code=1)
    assert "--dtype was float32, is float16" in said(options)
    (folder / "in.jsonl").write_text("\n".join(LINES[:3]) + "\n")
    inputs = run("--resume", "in.jsonl", code=1)
    assert "is finished, of another job: in.jsonl was" in said(inputs)
    for refused in (options, inputs):
        assert "--overwrite makes it anew; another -o keeps it" in said(refused)
    run("--overwrite", "in.jsonl")
    assert len(read_embeddings([str(folder / "e.parquet")])) == 3


def test_of_stdin_the_content_counts_not_the_number_of_records(
    run: Run, interrupt: Callable[..., None], folder: Path
):
    interrupt()
    other = "\n".join(LINES).replace("leeds", "porto").encode()
    refused = run("--resume", stdin=other, code=1)
    assert "part-000001.arrow was made of other records than are read now" in said(refused)
    fewer = run("--resume", stdin="\n".join(LINES[:2]).encode(), code=1)
    assert "was made of other records than are read now" in said(fewer)
    whole = "\n".join(LINES).encode()
    run("--resume", stdin=whole)
    assert len(read_embeddings([str(folder / "e.parquet")])) == 12
    assert "finished already" in said(run("--resume", stdin=whole))
    assert "stdin is not what was read of it" in said(run("--resume", stdin=other, code=1))


def test_records_skipped_before_the_interruption_count_after_it_too(
    run: Run, interrupt: Callable[..., None], folder: Path
):
    LINES.insert(1, "not JSON")
    try:
        interrupt("--on-error", "skip")
        whole = "\n".join(LINES).encode()
    finally:
        LINES.remove("not JSON")
    done = run("--resume", "--on-error", "skip", stdin=whole, code=3)
    assert "1 bad record skipped" in said(done)
