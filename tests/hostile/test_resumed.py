"""What lies in a working folder may be damaged: --resume refuses it in one line, or is not hurt."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

LINES = b"".join(json.dumps({"text": f"text {n}"}).encode() + b"\n" for n in range(8))
RUBBISH = [b"", b"{", b"[]", b"5", b"{}", b'{"job": 5}\n', b'{"key": "part-000001.arrow"}\n']


@pytest.fixture(scope="module")
def stopped(
    installed: Path, environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """A folder with a run of dial-embed that was killed after two of its shards."""
    folder = tmp_path_factory.mktemp("stopped")
    (folder / "words.txt").write_text("text 1 2\n")
    command = [installed / "dial-embed", "--model", "words.txt", "--shard-rows", "2"]
    process = subprocess.Popen(
        [*command, "-o", "e.parquet"], cwd=folder, env=environment, stdin=subprocess.PIPE
    )
    assert process.stdin
    process.stdin.write(LINES)
    process.stdin.flush()
    pieces = folder / "e.parquet.partial" / "pieces.jsonl"
    deadline = time.monotonic() + 300
    while not (pieces.exists() and pieces.read_bytes().count(b"\n") >= 2):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    return folder


@pytest.mark.parametrize("file", ["job.json", "pieces.jsonl", "part-000001.arrow", "lock"])
@pytest.mark.parametrize("content", RUBBISH)
def test_damage_of_a_working_folder_is_told_in_one_line(
    scripts: Path,
    environment: dict[str, str],
    stopped: Path,
    tmp_path: Path,
    file: str,
    content: bytes,
):
    folder = shutil.copytree(stopped, tmp_path / "copy")
    if file == "job.json" and content.startswith(b'{"'):
        content = json.dumps({"schema": "dialtools.job/1", **json.loads(content)}).encode()
    (folder / "e.parquet.partial" / file).write_bytes(content)
    command = [scripts / "dial-embed", "--model", "words.txt", "--shard-rows", "2"]
    done = subprocess.run(
        [*command, "--resume", "-o", "e.parquet"],
        cwd=folder,
        env=environment,
        input=LINES,
        capture_output=True,
    )
    said = done.stderr.decode()
    assert done.returncode in (0, 1, 2)
    assert "defect" not in said
    assert said.count("\n") <= 2
    if done.returncode:
        assert "e.parquet.partial" in said or "cannot resume" in said
    else:
        assert (folder / "e.parquet").exists()
