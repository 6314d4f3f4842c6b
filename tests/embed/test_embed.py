"""dial-embed through the real command line, on real weights."""

from __future__ import annotations

import json
import os
import select
import shlex
import subprocess
from pathlib import Path
from subprocess import PIPE

import numpy as np
import orjson
import pytest
from at_work import broken_off, ended

from dialtools.streams.making import making
from dialtools.streams.vector_files import read_embeddings

ENV = {**os.environ, "OMP_NUM_THREADS": "1"}


def embed(scripts: Path, *arguments, code: int = 0, **options) -> subprocess.CompletedProcess:
    return ended(scripts / "dial-embed", *arguments, code=code, env=ENV, **options)


@pytest.fixture(scope="module")
def texts() -> list[str]:
    return [
        f"i need {n} tickets to {city} on {day}"
        for n in range(1, 9)
        for city in ("Leeds", "Porto", "東京")
        for day in ("monday", "friday")
    ]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory, texts) -> Path:
    path = tmp_path_factory.mktemp("embed") / "texts.jsonl"
    rows = [{"id": i, "text": text, "label": "x"} for i, text in enumerate(texts * 2)]
    path.write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in rows))
    return path


def test_vectors_are_those_of_sentence_transformers_in_the_order_of_the_input(
    scripts, minilm, corpus, texts, tmp_path
):
    from sentence_transformers import SentenceTransformer

    done = embed(scripts, "--model", minilm, corpus, "-o", tmp_path / "e.parquet")
    assert b"96 rows, 48 texts encoded, 384 dimensions" in done.stderr
    ours = read_embeddings([str(tmp_path / "e.parquet")])
    theirs = SentenceTransformer(minilm, device="cpu").encode(texts * 2)
    np.testing.assert_allclose(ours.matrix, theirs, atol=2e-6)
    assert ours.columns["id"] == list(range(96))


def test_what_a_pipe_has_brought_is_answered_when_it_pauses(scripts, tmp_path):
    (tmp_path / "g.txt").write_text("a 3 0\nb 0 4\n")
    line = [scripts / "dial-embed", "-q", "--model", tmp_path / "g.txt", "--to", "jsonl"]
    with subprocess.Popen(line, stdin=PIPE, stdout=PIPE, env=ENV) as command:
        for _ in range(2):
            command.stdin.write(b'{"text": "a"}\n{"text": "b"}\n')
            command.stdin.flush()
            assert select.select([command.stdout], [], [], 30)[0], "no row in half a minute"
            rows = [orjson.loads(command.stdout.readline()) for _ in range(2)]
            assert [row["embedding"] for row in rows] == [[3, 0], [0, 4]]
        command.stdin.close()
        assert command.wait(30) == 0 and not command.stdout.read()


@pytest.mark.parametrize("scaled", ["--normalize", "--no-normalize"])
def test_the_first_dimensions_are_kept_and_scaled_after(scripts, minilm, corpus, tmp_path, scaled):
    run = ("--model", minilm, "--limit", "12", scaled, corpus, "--resume", "-o")
    whole, short = tmp_path / "whole.parquet", tmp_path / "short.parquet"
    embed(scripts, *run, whole)
    done = embed(scripts, *run, short, "--dimensions", "5")
    assert b"12 rows, 12 texts encoded, 5 dimensions" in done.stderr
    cut = read_embeddings([str(whole)]).matrix[:, :5]
    lengths = np.linalg.norm(cut, axis=1, keepdims=True) if scaled == "--normalize" else 1
    ours = read_embeddings([str(short)])
    np.testing.assert_allclose(ours.matrix, cut / lengths, rtol=1e-5, atol=1e-7)
    assert making(ours.metadata)["options"]["dimensions"] == 5
    embed(scripts, *run, short, "--dimensions", "5")  # finished already
    refused = embed(scripts, *run, short, "--dimensions", "6", code=1)
    assert b"--dimensions was 5, is 6" in refused.stderr


@pytest.mark.shared
def test_vectors_are_the_golden_ones(scripts, minilm, shared, tmp_path):
    probe = np.load(shared / "golden" / "emb_probe.npz")
    lines = b"".join(orjson.dumps({"text": str(t)}) + b"\n" for t in probe["texts"])
    flags = ("--max-length", 64, "--no-normalize", "-o", tmp_path / "e.npy")
    embed(scripts, "--model", minilm, *flags, input=lines)
    np.testing.assert_allclose(np.load(tmp_path / "e.npy"), probe["emb"], atol=2e-6)


def test_a_killed_job_resumes_to_the_bytes_of_an_unbroken_one(
    scripts, installed, minilm, corpus, tmp_path
):
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    flags = ["--model", minilm, "--shard-rows", "6", str(corpus), "-o", "e.parquet"]
    for folder in (whole, broken):
        folder.mkdir()
    embed(scripts, *flags, cwd=whole)
    part = lambda: [*broken.glob("e.parquet.partial/part-*")]  # noqa: E731
    broken_off([installed / "dial-embed", *flags], part, cwd=broken, env=ENV)
    assert not (broken / "e.parquet").exists()
    assert b"--resume goes on" in embed(scripts, *flags, cwd=broken, code=1).stderr
    other = embed(scripts, *flags, "--resume", "--dtype", "float16", cwd=broken, code=2)
    assert b"dtype" in other.stderr or b"cannot resume" in other.stderr
    embed(scripts, *flags, "--resume", cwd=broken)
    assert (broken / "e.parquet").read_bytes() == (whole / "e.parquet").read_bytes()
    assert not (broken / "e.parquet.partial").exists()


def test_a_list_of_turns_is_joined_with_the_separator_and_keeps_its_newest_tokens(scripts, minilm):
    rows = [
        {"context": ["hello there", "a room please"], "response": "sure"},
        {"context": ["[SEP]"], "response": "sure"},
    ]
    long = {"context": ["word " * 400, "a room please"], "response": "sure"}
    data = b"".join(orjson.dumps(r) + b"\n" for r in [*rows, long])
    done = embed(scripts, "--model", minilm, "--to", "jsonl", "--max-length", 6, input=data)
    out = [json.loads(line) for line in done.stdout.splitlines()]
    alone = b'{"text":"there [SEP] a room please"}\n'
    single = embed(scripts, "--model", minilm, "--to", "jsonl", input=alone)
    whole = np.array(json.loads(single.stdout)["embedding"])
    assert np.dot(out[0]["context_embedding"], whole) < 1.001
    assert out[0]["response_embedding"] == out[2]["response_embedding"]
    assert b"texts cut at 6 tokens" in done.stderr


def test_options_of_the_vectors(scripts, minilm, corpus, tmp_path):
    run = ("--model", minilm, corpus, "-o")
    embed(scripts, *run, tmp_path / "e.arrow", *shlex.split("--dtype float16 -n 10 --keep label"))
    found = read_embeddings([str(tmp_path / "e.arrow")])
    assert (len(found), list(found.columns)) == (10, ["label"])
    strict = shlex.split("--max-length 4 --on-truncate error")
    cut = embed(scripts, *run, tmp_path / "f.arrow", *strict, code=1)
    assert b"texts.jsonl:1: longer than 4 tokens" in cut.stderr
    assert not (tmp_path / "f.arrow.partial").exists(), "nothing was finished: nothing to resume"


def test_a_sample_is_drawn_by_the_seed_whatever_the_shards(scripts, minilm, corpus, tmp_path):
    def ids(*flags: object) -> list[int]:
        run = ("--model", minilm, "--sample", 0.2, "--overwrite", *flags, corpus)
        embed(scripts, *run, "-o", tmp_path / "s.arrow")
        return read_embeddings([str(tmp_path / "s.arrow")]).columns["id"]

    drawn = ids()
    assert drawn == ids("--shard-rows", 7) == sorted(set(drawn))
    assert 0 < len(drawn) < len(corpus.read_bytes().splitlines()) / 2
    assert drawn != ids("--seed", 1)


@pytest.mark.parametrize(
    ("flags", "data", "code", "says"),
    [
        (["--model", "no/where"], b'{"text":"a"}\n', 1, "no model 'no/where' on this machine"),
        ([], b"", 2, "--model DIR is needed"),
        (["--field", "txt"], b'{"text":"a"}\n', 2, "no field 'txt' in the input; there are text"),
        ([], b'{"text":1}\n', 1, "<stdin>:1: text: expected a text or a list of turns"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(scripts, minilm, flags, data, code, says):
    model = [] if "--model" in flags or (code == 2 and not flags) else ["--model", minilm]
    done = embed(scripts, *model, *flags, "--to", "jsonl", input=data, code=code)
    assert says in done.stderr.decode()
    assert b"Traceback" not in done.stderr


PLANNED = shlex.split("--shard-rows 40 --max-length 9 --keep id")


def test_a_dry_run_writes_nothing(scripts, minilm, corpus, tmp_path):
    run = ("--model", minilm, *PLANNED, corpus, "-o", "e.parquet", "--dry-run")
    embed(scripts, *run, cwd=tmp_path)
    assert not list(tmp_path.iterdir())

    (tmp_path / "in.jsonl").write_text('{"text": "a"}\n{"text": "the bill"}\n{\n')
    fit = shlex.split("in.jsonl -o fit.parquet --on-error skip")
    embed(scripts, "--model", minilm, *fit, cwd=tmp_path, code=3)
    plan = shlex.split(
        "in.jsonl -o o.parquet --on-error quarantine=bad.jsonl --transform center "
        "--fit-on fit.parquet --save-transform t.safetensors --dry-run"
    )
    embed(scripts, "--model", minilm, *plan, cwd=tmp_path, code=3)
    assert {path.name for path in tmp_path.iterdir()} == {"in.jsonl", "fit.parquet"}


def test_a_dry_run_tells_what_a_run_then_does(scripts, minilm, corpus, tmp_path):
    flags = ["--model", minilm, *PLANNED, corpus, "-o", "e.parquet"]
    planned = embed(scripts, *flags, "--dry-run", cwd=tmp_path)
    plan = dict(line.split(maxsplit=1) for line in planned.stdout.decode().splitlines())
    done = embed(scripts, *flags, "--tokens", cwd=tmp_path)
    found = read_embeddings([str(tmp_path / "e.parquet")])
    assert plan["rows"] == "96, in shards of 40: 3" and plan["carried"] == "id"
    assert plan["texts"].startswith("96 to encode") and b"96 texts encoded" in done.stderr
    tokens = sum(min(count, 9) for count in found.columns["tokens"])
    assert f", {tokens} tokens, 96 texts cut at 9" in plan["texts"]
    assert b"96 of 96 texts cut at 9 tokens" in done.stderr
    size = found.matrix.nbytes / 2**20
    assert plan["vectors"] == f"embedding: 384 dimensions, float32, {size:.1f} MiB"
    assert plan["device"] == "cpu, float32" and plan["writes"] == "e.parquet as parquet"
