"""A loss, an objective, a format, a task, a corpus: each is one file and one entry, in a copy."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from eval.score_files import write
from pair_corpus import SMALL, as_lines, pair_records, steps

ROOT = Path(__file__).resolve().parents[1]
Run = Callable[..., subprocess.CompletedProcess]


class Addition(NamedTuple):
    """What is added: a file, and what stands at the head of a table."""

    file: str
    content: str
    catalog: str
    table: str
    entry: str


LOSS = Addition(
    file="dialtools/train/losses/attract.py",
    content='''"""Attraction: 1 - cosine, and no negatives."""

from __future__ import annotations

from torch import Tensor


def attract(
    anchor_ND: Tensor,
    positive_ND: Tensor,
    *,
    temperature: float,
    excluded: Tensor | None = None,
    negative_MD: Tensor | None = None,
) -> Tensor:
    """Return (N,) how far each anchor is from its positive, in units of the temperature."""
    return (1 - (anchor_ND * positive_ND).sum(1)) / temperature
''',
    catalog="dialtools/train/losses/catalog.py",
    table="LOSSES = {\n",
    entry="""    "attract": LossEntry(f"{_HOME}.attract:attract", "nearer, whatever the others do"),
""",
)
OBJECTIVE = Addition(
    file="dialtools/train/objectives/norm.py",
    content='''"""Responses as vectors of one length."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from torch import Tensor

from dialtools.train.data.collate import responses
from dialtools.train.objectives.base import Batch, Objective
from dialtools.train.objectives.catalog import NormOptions


class Norm(Objective[NormOptions]):
    """Learns that a response's vector has the length of --norm."""

    def collate(self, pairs: np.ndarray, step: int) -> Batch:
        setting = self.setting
        rows = setting.texts(setting.store.response[pairs])
        return self.batches(rows, pairs, None)

    def loss(self, rows: Tensor, batch: Batch, figures: dict[str, float]) -> Tensor:
        return (rows.norm(dim=1) - self.setting.options.norm).square().mean()
''',
    catalog="dialtools/train/objectives/catalog.py",
    table="OBJECTIVES = {\n",
    entry="""    "norm": ObjectiveEntry(
        f"{_HOME}.norm:Norm", "vectors of one length", options=NormOptions, recipe="mlm"
    ),
""",
)
FORMAT = Addition(
    file="dialtools/streams/loud.py",
    content='''"""JSON Lines in capitals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from dialtools.streams.sinks import Write, open_output


@contextmanager
def loud_writer(
    output: str, *, overwrite: bool, metadata: Mapping[str, str], floats: bool
) -> Iterator[Write]:
    """Open an output for lines, which are written in capitals."""
    with open_output(output, overwrite=overwrite) as file:
        yield lambda blob: file.write(blob.upper())
''',
    catalog="dialtools/streams/formats.py",
    table="FORMATS = {\n",
    entry="""    "loud": Format(
        "JSON Lines in capitals",
        suffixes=(".loud",),
        lines=True,
        writer="dialtools.streams.loud:loud_writer",
    ),
""",
)
TASK = Addition(
    file="dialtools/eval/tasks/length.py",
    content='''"""dial-eval length - how long vectors are

  dial-eval length rows.parquet

The mean length of the vectors of each part, times 100.
"""

from __future__ import annotations

from dataclasses import dataclass

from dialtools.eval.options.base import PartOptions


@dataclass
class LengthOptions(PartOptions):
    """Options of `dial-eval length`."""


def evaluate(options: LengthOptions):
    import numpy as np

    from dialtools.eval.rows import rows_by_part
    from dialtools.eval.score import Scored, of_queries
    from dialtools.streams.vector_files import read_embeddings

    source = read_embeddings(options.inputs)
    parts = rows_by_part(source, split=options.split, part=options.part)
    facts = {"task": "length", "dataset": options.name or source.name, "seed": options.seed}
    scores = [
        of_queries(
            100 * np.linalg.norm(part.matrix, axis=1), setting=setting, metric="length", **facts
        )
        for setting, part in parts.items()
    ]
    return Scored(scores, source.metadata, ["lengths are no similarity"])
''',
    catalog="dialtools/eval/tasks/catalog.py",
    table="TASKS = {\n",
    entry="""    "length": Task(
        target="dialtools.eval.tasks.length:evaluate",
        summary="how long vectors are",
        options="dialtools.eval.tasks.length:LengthOptions",
    ),
""",
)
CORPUS = Addition(
    file="dialtools/corpora/native/duets.py",
    content='''"""Duets: lists of two sentences."""

from __future__ import annotations

from typing import Any

from dialtools.corpora.native.raw import Raw, dialogue, field, items, turn

raw = items("duets_*.json")


def record(raw: Raw) -> dict[str, Any]:
    """Return a dialogue of two turns."""
    turns = [
        turn("user", field(raw.value, "call", str)),
        turn("system", field(raw.value, "answer", str)),
    ]
    return dialogue(raw, turns, id=field(raw.value, "id", str))
''',
    catalog="dialtools/corpora/catalog.py",
    table="_BY_NAME: dict[str, Corpus] = {\n",
    entry="""    "duets": _corpus(
        "two sentences each", alone=("duets_*.json",), licence="CC0", source="nowhere"
    ),
""",
)
# the options of an objective stand beside its entry
NORM_OPTIONS = """
@dataclass(frozen=True, kw_only=True)
class NormOptions:
    \"\"\"Options of --objective norm.\"\"\"

    norm: float = by_recipe(default=1.0, metavar="X", parse=positive, help="length of a vector")


"""
SUITE = """
title = "Mine"
[[set]]
task = "length"
name = "Rows"
file = "rows"
metrics = ["length"]
options = { part = "test" }
"""


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package with one of each added, and nothing else changed."""
    home = tmp_path_factory.mktemp("copy")
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "dialtools", home / "dialtools", ignore=ignored)
    for added in (LOSS, OBJECTIVE, FORMAT, TASK, CORPUS):
        assert not (home / added.file).exists()
        (home / added.file).write_text(added.content)
        insert(home / added.catalog, before="", at=added.table, after=added.entry)
    insert(home / OBJECTIVE.catalog, before=NORM_OPTIONS, at="_HOME = ", after="")
    return home


def insert(path: Path, *, before: str, at: str, after: str) -> None:
    text = path.read_text()
    assert text.count(at) == 1
    path.write_text(text.replace(at, before + at + after))


@pytest.fixture
def run(copy: Path, tmp_path: Path) -> Run:
    """Run a command of the copy."""

    def run(command: str, *arguments: object, code: int = 0) -> subprocess.CompletedProcess:
        room = command.removeprefix("dial-")
        program = f"import sys; from dialtools.cli.{room} import main; main(sys.argv[1:])"
        line = [sys.executable, "-X", "importtime", "-c", program, *map(str, arguments)]
        environment = {**os.environ, "PYTHONPATH": str(copy)}
        done = subprocess.run(line, cwd=tmp_path, env=environment, capture_output=True, text=True)
        lines = [line for line in done.stderr.splitlines() if not line.startswith("import time")]
        assert done.returncode == code, "\n".join(lines)
        return done

    return run


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    path = tmp_path / "pairs.jsonl"
    path.write_bytes(as_lines(pair_records(20)))
    return path


@pytest.fixture
def chats(tmp_path: Path) -> Path:
    path = tmp_path / "chats.jsonl"
    path.write_text('{"id": "d", "turns": ["hello you", "hi there"]}\n')
    return path


def test_a_loss(run: Run, pairs: Path, tmp_path: Path):
    assert "attract" in run("dial-train", "--help").stdout
    two = (*SMALL, "--max-steps", 2, "-o", tmp_path / "model", pairs)
    run("dial-train", "--loss", "attract", *two)
    assert len(steps(tmp_path / "model" / "train-log.jsonl")) == 2
    assert "did you mean attract" in run("dial-train", "--loss", "atract", *two, code=2).stderr


def test_an_objective_and_its_own_option(run: Run, pairs: Path, tmp_path: Path):
    page = run("dial-train", "--help").stdout
    assert "norm" in page and "--norm X" in page and "length of a vector" in page
    two = (*SMALL, "--max-steps", 2, "-o", tmp_path / "model", pairs)
    run("dial-train", "--objective", "norm", "--norm", "2.5", *two)
    assert len(steps(tmp_path / "model" / "train-log.jsonl")) == 2
    refused = run("dial-train", "--objective", "contrast", "--norm", 2, *two, code=2).stderr
    assert "--norm belongs to --objective norm, not to contrast" in refused


def test_an_output_format(run: Run, chats: Path, tmp_path: Path):
    assert "loud" in run("dial-pairs", "--help").stdout
    assert '"RESPONSE":"HI THERE"' in run("dial-pairs", "--to", "loud", chats).stdout
    run("dial-pairs", chats, "-o", "pairs.loud")
    assert '"HELLO YOU"' in (tmp_path / "pairs.loud").read_text(), "its suffix tells it"
    assert '"TEXT":"HELLO YOU"' in run("dial-freq", "--to", "loud", chats).stdout


def test_a_task_of_dial_eval_and_of_suites(run: Run, tmp_path: Path):
    rows = [{"split": split} for split in ("train", "test", "test")]
    write(tmp_path / "rows.jsonl", rows, embedding=np.array([[1.0, 0], [3, 4], [0, 1]]))
    (tmp_path / "mine.toml").write_text(SUITE)

    assert re.search("length +how long vectors are", run("dial-eval", "--help").stdout)
    page = run("dial-eval", "length", "--help")
    assert "The mean length of the vectors" in page.stdout and "--part NAME" in page.stdout
    assert "numpy" not in page.stderr
    done = run("dial-eval", "length", "rows.jsonl")
    values = [json.loads(line)["value"] for line in done.stdout.splitlines()]
    assert values == [100, 300] and "lengths are no similarity" in done.stderr
    of_suite = run("dial-eval", "suite", "mine.toml", ".", "--json").stdout
    assert json.loads(of_suite)["value"] == 300


def test_a_corpus(run: Run, tmp_path: Path):
    duets = [{"id": "one", "call": "who is there", "answer": "me"}]
    (tmp_path / "duets_1.json").write_text(json.dumps(duets))
    (pair,) = map(json.loads, run("dial-pairs", "duets_1.json").stdout.splitlines())
    assert (pair["context"], pair["response"]) == (["who is there"], "me")
    assert run("dial-pairs", "--from", "duets", "duets_1.json").stdout
    assert "duets" in run("dialtools", "formats").stdout
