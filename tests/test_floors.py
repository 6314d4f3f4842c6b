"""The house stands: start-up loads nothing heavy, whatever the command."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = (
    "torch",
    "ray",
    "transformers",
    "pyarrow",
    "numpy",
    "sklearn",
    "spacy",
    "rich",
    "zstandard",
)


@pytest.mark.parametrize("command", ["pairs", "train", "embed", "eval"])
def test_a_command_loads_nothing_heavy_before_it_works(command: str):
    code = f"import sys, dialtools.cli.{command}; print([m for m in {HEAVY!r} if m in sys.modules])"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "[]"
