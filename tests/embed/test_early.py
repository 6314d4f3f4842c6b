"""What is to be embedded next is read and tokenised meanwhile, where that pays; without a GPU."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from threading import current_thread, main_thread

import pytest
from train_parts import letters_encoder

from dialtools.embed.model import Model
from dialtools.embed.options import EmbedOptions
from dialtools.embed.run import Embedding
from dialtools.embed.shard import Settings
from dialtools.errors import DataError
from dialtools.streams.policy import Policy
from dialtools.streams.provenance import Inputs
from dialtools.streams.resume import Work

ROWS = [{"id": n, "text": "abc" * n} for n in range(1, 10)]
SETTINGS = Settings(
    max_length=30, normalize=True, batch_tokens=64, precision="float32", float16_round=False
)
Run = Callable[..., list[bool]]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Embed in.jsonl, two rows a shard; tell of each that was tokenised whether by a thread."""
    monkeypatch.chdir(tmp_path)
    Path("in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))

    def embed(
        out: str,
        *,
        gpu: bool,
        resume: bool = False,
        stop_after: int = 0,
        inputs: tuple[str, ...] = ("in.jsonl",),
    ) -> list[bool]:
        monkeypatch.setattr(Model, "overlaps", gpu)
        options = EmbedOptions(model="m", inputs=inputs, output=out, shard_rows=2, from_="jsonl")
        embedding = Embedding(options, Model(letters_encoder(), SETTINGS), Policy(), lambda n: None)
        apart: list[bool] = []
        tokenised = embedding.embedder.tokenised

        def told(shard):
            apart.append(current_thread() is not main_thread())
            return tokenised(shard)

        embedding.embedder.tokenised = told
        job = embedding.job("dial-embed", Inputs(options.inputs))
        with Work(out, job, resume=resume, overwrite=False) as work:
            for count in embedding.shards(work):
                if count == stop_after:
                    return apart
            embedding.write(work)
        return apart

    return embed


def test_a_thread_makes_shards_for_a_gpu_and_none_changes(run: Run):
    assert run("cpu.npy", gpu=False) == [False] * 5
    assert run("gpu.npy", gpu=True) == [True] * 5
    assert Path("gpu.npy").read_bytes() == Path("cpu.npy").read_bytes()


@pytest.mark.parametrize("inputs", [(), ("-",)])
def test_of_a_pipe_no_shard_is_made_ahead(
    run: Run, inputs: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
):
    """A signal would have to wait for what the pipe has yet to bring."""
    content = io.BytesIO(Path("in.jsonl").read_bytes())
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BufferedReader(content)))
    assert run("piped.npy", gpu=True, inputs=inputs) == [False] * 5


def test_a_run_that_was_stopped_goes_on_and_tokenises_no_shard_again_that_is_finished(run: Run):
    run("cpu.npy", gpu=False)
    assert all(run("gpu.npy", gpu=True, stop_after=2))
    assert not Path("gpu.npy").exists()
    assert run("gpu.npy", gpu=True, resume=True) == [True] * 3
    assert Path("gpu.npy").read_bytes() == Path("cpu.npy").read_bytes()


def test_a_bad_record_is_told_by_its_line_after_the_shards_before_it(run: Run):
    with Path("in.jsonl").open("a") as file:
        file.write('{"text": 3}\n')
    with pytest.raises(DataError, match=r"in\.jsonl:10: text: "):
        run("gpu.npy", gpu=True)
    assert len(list(Path("gpu.npy.partial").glob("part-*"))) == 4
