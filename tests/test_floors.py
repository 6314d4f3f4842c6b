"""The house stands: start-up loads nothing heavy, whatever the command."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from at_work import ended

from dialtools.cli import _man

ROOT = Path(__file__).parents[1]
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
    said = ended(sys.executable, "-c", code, text=True)
    assert said.stdout.strip() == "[]"


@pytest.mark.parametrize("command", _man.COMMANDS)
def test_a_command_is_run_by_the_name_of_its_module_as_by_its_own(command: str):
    line = [sys.executable, "-m", f"dialtools.cli.{command.removeprefix('dial-')}", "--version"]
    said = ended(*line, env=os.environ | {"PYTHONPATH": str(ROOT)}, text=True)
    assert said.stdout.startswith(f"{command} ")


@pytest.mark.parametrize(
    ("command", "flags"), [("train", "p.jsonl"), ("embed", "p.jsonl"), ("cut", "--layers 1")]
)
def test_a_model_that_is_not_there_is_told_before_torch_is_loaded(
    command: str, flags: str, tmp_path: Path
):
    (tmp_path / "p.jsonl").write_text('{"context": ["a"], "response": "b"}\n')
    code = f"""
import sys
from dialtools.cli.{command} import main
try:
    main()
finally:
    print("torch" in sys.modules)
"""
    line = [sys.executable, "-c", code, *flags.split(), "--model", "none", "-o", "made"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(line, env=environment, cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (1, "False\n")
    assert "no model 'none' on this machine" in done.stderr


def test_a_static_encoder_learns_without_the_models_of_transformers_and_the_compiler_of_torch(
    tmp_path: Path,
):
    pairs = [{"context": [f"a {word}"], "response": f"b {word}"} for word in "uvwxyz"]
    (tmp_path / "p.jsonl").write_text("".join(json.dumps(pair) + "\n" for pair in pairs))
    code = """
import sys
from dialtools.cli.train import main
try:
    main()
finally:
    heavy = ("transformers.modeling_utils", "torch._dynamo", "sympy")
    print([m for m in heavy if m in sys.modules])
"""
    line = [sys.executable, "-c", code, "-q", "--max-steps", "1", "-o", "made", "p.jsonl"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(line, env=environment, cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout.splitlines() == ["made", "[]"], done.stderr


def test_pyarrow_does_not_bring_pandas_along_and_others_may_import_it(tmp_path: Path):
    (tmp_path / "pandas.py").write_text("print('imported')\n")
    talk = {"turns": [{"text": "a", "speaker": "user"}, {"text": "b", "speaker": "system"}]}
    (tmp_path / "talks.jsonl").write_text(json.dumps(talk))
    line = "from dialtools.cli.pairs import main; main()"
    run = [sys.executable, "-c", line, "-q", "--to", "arrow", "-o", "made.arrow", "talks.jsonl"]
    paths = os.pathsep.join([str(tmp_path), str(ROOT)])
    environment = {**os.environ, "PYTHONPATH": paths}
    done = ended(*run, env=environment, cwd=tmp_path)
    assert (done.stdout, done.stderr) == (b"", b"")
    line = "from dialtools.cli._pandas import leave_out; leave_out(); import pandas"
    run = [sys.executable, "-c", line]
    done = ended(*run, env=environment, cwd=tmp_path)
    assert done.stdout == b"imported\n"
