"""Files that may not be read: said to be so, not missing, damaged or of another kind."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from at_work import ended

RIGHTS = "-dac_override,-dac_read_search"
BARRED = ["setpriv", "--bounding-set", RIGHTS, "--inh-caps", RIGHTS] if not os.geteuid() else []
"""What runs a command without the right of root to read everything."""

pytestmark = pytest.mark.skipif(
    bool(BARRED) and not shutil.which("setpriv"), reason="root reads everything"
)


@pytest.fixture
def told(installed: Path, environment: dict[str, str], tmp_path: Path):
    """Return what a command that fails says, once nobody may read a file."""

    def run(file: str, line: str) -> str:
        (tmp_path / file).chmod(0)
        command, *words = line.split()
        done = ended(
            *BARRED, installed / command, *words, code=1, env=environment, cwd=tmp_path, text=True
        )
        return done.stderr

    return run


def test_a_part_is_not_said_to_be_missing(told, installed: Path, pairs: Path, tmp_path: Path):
    parts = [tmp_path / f"parts/{n}.parquet" for n in (1, 2)]
    parts[0].parent.mkdir()
    for n, part in enumerate(parts, 1):
        ended(installed / "dial-freq", "--unit", "record", "--shard", f"{n}/2", pairs, "-o", part)
    said = told("parts/2.parquet", "dialtools gather parts -o whole.parquet")
    assert said == "dialtools gather: parts/2.parquet: permission denied\n"


def test_weights_are_not_said_to_be_damaged(told, model: Path, tmp_path: Path):
    shutil.copytree(model, tmp_path / "m")
    said = told("m/model.safetensors", "dialtools cut --layers 1 --model m -o cut")
    assert said == "dialtools cut: m/model.safetensors: permission denied\n"
