"""dial-eval, in this process and as a real one, and the reference's embeddings."""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
from at_work import ended
from score_files import Evaluate, Record, Toy

from dialtools.cli._exit import _outcome
from dialtools.cli.eval import main


class Piped(io.TextIOWrapper):
    """A stdout that is kept: to a program that asks it is a pipe, no terminal and no file."""

    def __init__(self) -> None:
        self.written = io.BytesIO()
        super().__init__(self.written, encoding="utf-8")
        self.ends = os.pipe()

    def fileno(self) -> int:
        return self.ends[1]

    def text(self) -> str:
        """Return what was written, and be gone."""
        self.flush()
        for end in self.ends:
            os.close(end)
        return self.written.getvalue().decode()


@pytest.fixture(scope="session")
def command() -> Callable[..., subprocess.CompletedProcess]:
    """Run dial-eval in this process, so quickly that it can be run with a thousand faults.

    `code` is the exit status it must end with; `process` is the command as its users have it.
    """

    def run(*arguments: object, code: int = 0) -> subprocess.CompletedProcess:
        line = list(map(str, arguments))
        kept = {key: value for key, value in os.environ.items() if not key.startswith("DIAL_")}
        stdout, stderr = Piped(), io.StringIO()
        with (
            mock.patch.dict(os.environ, kept, clear=True),
            contextlib.redirect_stdout(stdout),
            contextlib.redirect_stderr(stderr),
        ):
            status = _outcome(main.title(line), lambda: main.run(line), debug=False)
        said = stderr.getvalue()
        assert status == code, said
        return subprocess.CompletedProcess(line, status, stdout.text(), said)

    return run


@pytest.fixture(scope="session")
def process(scripts: Path) -> Callable[..., subprocess.CompletedProcess]:
    """Run dial-eval as a real process; `code` is the exit status it must end with."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("DIAL_")}

    def run(*arguments: object, code: int = 0, **options: object) -> subprocess.CompletedProcess:
        line = [str(scripts / "dial-eval"), *map(str, arguments)]
        return ended(*line, code=code, text=True, env={**kept, "OMP_NUM_THREADS": "1"}, timeout=900)

    return run


@pytest.fixture(scope="session")
def evaluate(command: Callable[..., subprocess.CompletedProcess]) -> Evaluate:
    """Run dial-eval and return its score records."""

    def run(*arguments: object) -> list[Record]:
        return [json.loads(line) for line in command(*arguments, "--json").stdout.splitlines()]

    return run


@pytest.fixture(scope="session")
def toy() -> Toy:
    return Toy(["book", "cancel", "greet", "pay", "ask"])


@pytest.fixture(scope="session")
def toy_files(toy: Toy, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return toy.write(tmp_path_factory.mktemp("toy"))


@pytest.fixture(scope="session")
def rows(shared: Path) -> Callable[[str], list[Record]]:
    """Read `golden/eval_NAME.jsonl.gz`."""

    def read(name: str) -> list[Record]:
        with gzip.open(shared / "golden" / f"eval_{name}.jsonl.gz", "rt") as lines:
            return [json.loads(line) for line in lines]

    return read


@pytest.fixture(scope="session")
def published(shared: Path) -> Callable[[str], list[Record]]:
    """Read an evaluation set, `data/eval/NAME.jsonl.gz`."""

    def read(name: str) -> list[Record]:
        with gzip.open(shared / "data" / "eval" / f"{name}.jsonl.gz", "rt") as lines:
            return [json.loads(line) for line in lines]

    return read


@pytest.fixture(scope="session")
def embed(minilm: str) -> Callable[[list[str]], np.ndarray]:
    """Embed texts with MiniLM, 64 tokens at most, each distinct text once in the session."""
    from oracles.slow_tokens import assemble

    from dialtools.encoder.encode import encode
    from dialtools.encoder.loading import load_encoder
    from dialtools.encoder.tokens import tokenise

    encoder, known = load_encoder(minilm), {}

    def run(texts: list[str]) -> np.ndarray:
        new = [text for text in dict.fromkeys(texts) if text not in known]
        ids, offsets = tokenise(encoder.tokenizer, new)
        turns = [ids[offsets[i] : offsets[i + 1]] for i in range(len(new))]
        sequences = [
            assemble([turn], encoder.special, max_length=64, newest=False)[0] for turn in turns
        ]
        known.update(zip(new, encode(encoder, sequences, batch_tokens=4096), strict=True))
        return np.stack([known[text] for text in texts])

    return run
