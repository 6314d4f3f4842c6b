"""The store: whatever way the pairs come in, the same training."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pair_corpus import Train, as_lines, pair_records, weights
from train_parts import letters_encoder, recipe_options, stored

from dialtools.streams import checksums
from dialtools.train.data import overlap
from dialtools.train.material import cache_key

RUN = ("--batch-size", 32, "--max-steps", 8)


@pytest.fixture(scope="module")
def model(train: Train, pairs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("store") / "model"
    train(*RUN, "-o", path, pairs)
    return path


def list_views(rows: list[dict]) -> pa.RecordBatch:
    """Return a batch whose contexts are views over turns, as of `dial-pairs --to arrow`."""
    said = {}
    for r in rows:
        turns = zip([*r["context"], r["response"]], r["speakers"], strict=True)
        said |= {
            (r["dialogue_id"], r["turn"] - r["window"] + i): turn for i, turn in enumerate(turns)
        }
    place = {turn: i for i, turn in enumerate(sorted(said))}
    texts, speakers = (pa.array([said[turn][side] for turn in place]) for side in (0, 1))
    first = pa.array([place[r["dialogue_id"], r["turn"] - r["window"]] for r in rows], pa.int32())
    window = pa.array([r["window"] for r in rows], pa.int32())
    all_speakers = pa.ListViewArray.from_arrays(
        first, pa.array([r["window"] + 1 for r in rows], pa.int32()), speakers
    )
    plain = {
        name: pa.array([r[name] for r in rows]) for name in ("response", "dialogue_id", "turn")
    }
    contexts = pa.ListViewArray.from_arrays(first, window, texts)
    return pa.RecordBatch.from_pydict(
        {"context": contexts, "window": window, "speakers": all_speakers, **plain}
    )


def test_the_arrow_lane_trains_the_same_model_as_json_lines(
    train: Train, model: Path, tmp_path: Path
):
    rows = pair_records(40)
    batches = [list_views(rows[start : start + 100]) for start in range(0, len(rows), 100)]
    path = tmp_path / "pairs.arrow"
    with pa.ipc.new_stream(path, batches[0].schema) as stream:
        for batch in batches:
            stream.write_batch(batch)
    train(*RUN, "-o", tmp_path / "model", stdin=path.read_bytes())
    assert weights(tmp_path / "model") == weights(model)


def test_parquet_trains_the_same_model_as_json_lines(train: Train, model: Path, tmp_path: Path):
    pq.write_table(pa.Table.from_pylist(pair_records(40)), tmp_path / "pairs.parquet")
    train(*RUN, "-o", tmp_path / "model", tmp_path / "pairs.parquet")
    assert weights(tmp_path / "model") == weights(model)


@pytest.mark.parametrize(
    "run",
    [
        ("--validation-share", 0.5),  # of dialogues, which are named by numbers here
        ("--method", "tadse"),  # learns from templates
    ],
)
def test_numbers_as_names_and_templates_are_the_same_through_every_lane(
    run: tuple[object, ...], train: Train, tmp_path: Path
):
    rows = [
        {**row, "dialogue_id": int(row["dialogue_id"][1:]), "template": f"so {{N}} {number}"}
        for number, row in enumerate(pair_records(10))
    ]
    (tmp_path / "pairs.jsonl").write_bytes(as_lines(rows))
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "pairs.parquet")
    models = []
    for file in ("pairs.jsonl", "pairs.parquet"):
        models.append(tmp_path / f"model-{file}")
        train(*RUN, *run, "-o", models[-1], tmp_path / file)
    assert weights(models[0]) == weights(models[1])


def test_several_files_are_one_stream(train: Train, model: Path, tmp_path: Path):
    rows = pair_records(40)
    (tmp_path / "a.jsonl").write_bytes(as_lines(rows[:123]))
    (tmp_path / "b.jsonl").write_bytes(as_lines(rows[123:]))
    train(*RUN, "-o", tmp_path / "model", tmp_path / "a.jsonl", tmp_path / "b.jsonl")
    assert weights(tmp_path / "model") == weights(model)


def test_an_empty_text_is_trained_as_a_full_stop(train: Train, model: Path, tmp_path: Path):
    rows = pair_records(40)
    for name, text in (("empty", ""), ("stop", ".")):
        changed = [{**r, "context": [text, *r["context"][1:]]} for r in rows[:9]] + rows[9:]
        (tmp_path / name).write_bytes(as_lines(changed))
        line = (*RUN, "--model", model, "-o", tmp_path / f"{name}-model", tmp_path / name)
        train(*line, small=False)
    assert weights(tmp_path / "empty-model") == weights(tmp_path / "stop-model")


def test_a_kept_store_gives_the_same_model_again(
    train: Train, model: Path, pairs: Path, tmp_path: Path
):
    for name in ("first", "second"):
        train(*RUN, "--cache", tmp_path / "cache", "-o", tmp_path / name, pairs)
        assert weights(tmp_path / name) == weights(model)
    assert any((tmp_path / "cache").iterdir())


def test_a_store_of_a_pipe_is_not_kept_and_told_so(train: Train, pairs: Path, tmp_path: Path):
    run = ("--max-steps", 0, "--cache", tmp_path / "cache", "-o", tmp_path / "m")
    done = train(*run, stdin=pairs.read_bytes())
    assert b"--cache keeps no pairs that come through a pipe" in done.stderr
    assert not (tmp_path / "cache").exists()


def test_a_kept_store_is_of_one_tokenizer_however_that_is_written_down(
    train: Train, model: Path, pairs: Path, tmp_path: Path
):
    own = tmp_path / "own"
    shutil.copytree(model, own)
    tokenizer = json.loads((own / "tokenizer.json").read_text())
    (own / "tokenizer.json").unlink()
    (own / "tokenizer_config.json").write_text('{"tokenizer_class": "BertTokenizer"}')
    words = sorted(tokenizer["model"]["vocab"], key=tokenizer["model"]["vocab"].__getitem__)
    for number, order in enumerate((words, [*words[:20], *reversed(words[20:])])):
        (own / "vocab.txt").write_text("".join(f"{word}\n" for word in order))
        line = ("--max-steps", 1, "--model", own, "--cache", tmp_path / "cache")
        train(*line, "-o", tmp_path / f"out{number}", pairs, small=False)
    assert len(list((tmp_path / "cache").glob("*/store.json"))) == 2


def test_a_kept_store_is_of_the_tokenizer_that_its_configuration_makes_of_a_file(
    train: Train, model: Path, pairs: Path, tmp_path: Path
):
    own, said = tmp_path / "own", "tokenizer_config.json"
    shutil.copytree(model, own)
    told = json.loads((own / said).read_text())
    for lower in (True, True, False):
        told |= {"do_lower_case": lower, "tokenizer_class": "BertTokenizer"}
        (own / said).write_text(json.dumps(told))
        line = ("--max-steps", 0, "--model", own, "--cache", tmp_path / "cache")
        train(*line, "-o", tmp_path / "out", "--overwrite", pairs, small=False)
    assert len(list((tmp_path / "cache").glob("*/store.json"))) == 2


def test_a_kept_store_serves_no_run_that_reads_its_file_otherwise(
    train: Train, pairs: Path, tmp_path: Path
):
    cached = ("--max-steps", 0, "--cache", tmp_path / "cache", "--on-error", "skip")
    rows = [*pair_records(8), {"context": ["long"], "response": "x " * (2 << 20)}]
    (tmp_path / "a.jsonl").write_bytes(as_lines(rows))
    train(*cached, "--bounds", "line=1MB", "-o", tmp_path / "m", tmp_path / "a.jsonl", code=3)
    train(*cached, "-o", tmp_path / "n", tmp_path / "a.jsonl")
    (tmp_path / "a.jsonl").rename(tmp_path / "a.tsv")
    told = train(*cached, "-o", tmp_path / "o", tmp_path / "a.tsv", code=1).stderr
    assert b"a.tsv: cannot read tsv here" in told


def test_what_an_older_version_kept_under_other_checksums_is_not_looked_at(monkeypatch):
    options = recipe_options()
    inputs = [{"name": "pairs.jsonl", "sha256": "0"}]
    now = cache_key(None, options, inputs)
    monkeypatch.setattr(checksums, "KIND", "none")
    assert now and cache_key(None, options, inputs) != now


def test_what_is_kept_is_of_all_that_decides_what_is_read_and_of_nothing_else(monkeypatch):
    inputs = [{"name": f"{name}.jsonl", "sha256": name} for name in ("pairs", "seen")]

    def key(inputs=inputs, **values: object) -> str | None:
        return cache_key(None, recipe_options(**values), inputs)

    others = [
        *({"limit": 10}, {"limit": 20}, {"from": "tsv"}, {"bounds": ("line=1MB",)}),
        *({"method": "tadse"}, {"method": "distill"}, {"teacher": "seen.jsonl"}),
        {"vocab_size": 500},
    ]
    keys = [key(), *(key(**other) for other in others), key(inputs[::-1]), key(inputs[:1])]
    keys.append(key([{**inputs[0], "name": "pairs.tsv"}, inputs[1]]))
    for package, value in (("version", lambda _: "0"), ("__version__", "0")):
        with monkeypatch.context() as other_package:
            other_package.setattr(f"dialtools.train.material.{package}", value)
            keys.append(key())
    assert None not in keys and len({*keys}) == len(keys)
    same = {"window": (1,), "seed": 5, "batch_size": 8, "on_error": "skip", "max_length": 9}
    assert key(**same) == key([{**file, "name": f"moved/{file['name']}"} for file in inputs])
    assert key(**same) == keys[0]


@pytest.mark.parametrize("name", ["spool.json", "store.json"])
def test_a_kept_store_whose_counts_are_damaged_is_told(
    train: Train, pairs: Path, tmp_path: Path, name: str
):
    run = ("--max-steps", 0, "--cache", tmp_path / "cache", pairs)
    train(*run, "-o", tmp_path / "m")
    (kept,) = (tmp_path / "cache").glob(f"*/{name}")
    for damaged in ("", "{}", "[5]", '{"pairs": 1.5}'):
        kept.write_text(damaged)
        told = train(*run, "-o", tmp_path / "n", code=1).stderr.decode()
        assert f"{kept}: damaged: its counts cannot be read" in told
        assert f"rm -r {kept.parent}" in told


def flip(file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        ("tokens.i4", flip),
        ("texts.bin", flip),
        ("turns.i4", lambda file: os.truncate(file, file.stat().st_size - 3)),
        ("turn_ends.i8", lambda file: os.truncate(file, 0)),
        ("weight.f4", Path.unlink),
    ],
)
def test_a_kept_store_of_which_a_file_is_damaged_is_told(
    train: Train, pairs: Path, tmp_path: Path, name: str, damage: Callable[[Path], None]
):
    run = ("--max-steps", 0, "--cache", tmp_path / "cache", pairs)
    train(*run, "-o", tmp_path / "m")
    (kept,) = (tmp_path / "cache").glob(f"*/{name}")
    damage(kept)
    told = train(*run, "-o", tmp_path / "n", code=1).stderr.decode()
    assert told.splitlines()[-2:] == [
        f"dial-train: {kept}: damaged since it was written",
        f"  rm -r {kept.parent}",
    ]


def test_a_context_may_have_more_turns_than_16_bits_count(train: Train, tmp_path: Path):
    rows = [{"context": ["a b"] * 40_000, "response": "c"}, {"context": ["d"], "response": "e"}]
    (tmp_path / "pairs").write_bytes(as_lines(rows))
    train("--max-steps", 1, "--cache", tmp_path / "cache", "-o", tmp_path / "m", tmp_path / "pairs")
    (window,) = (tmp_path / "cache").glob("*/window.*")
    assert np.fromfile(window, window.suffix[1:]).tolist() == [40_000, 1]


@pytest.mark.parametrize("line", [b'{"context": 7, "response": "b"}', b"[1]", b'{"text": "\xff"}'])
def test_a_bad_pair_is_named_by_file_and_line(line: bytes, train: Train, tmp_path: Path):
    (tmp_path / "pairs.jsonl").write_bytes(as_lines(pair_records(2)[:2]) + line + b"\n")
    done = train("-o", tmp_path / "model", tmp_path / "pairs.jsonl", code=1)
    assert b"pairs.jsonl:3: " in done.stderr
    assert b"Traceback" not in done.stderr and not (tmp_path / "model").exists()


def test_bad_pairs_can_be_skipped_and_are_counted(
    train: Train, model: Path, pairs: Path, tmp_path: Path
):
    (tmp_path / "pairs.jsonl").write_bytes(b'{"context": 1}\n' + pairs.read_bytes())
    train(*RUN, "--on-error", "skip", "-o", tmp_path / "model", tmp_path / "pairs.jsonl", code=3)
    assert weights(tmp_path / "model") == weights(model)


def test_validation_pairs_are_of_the_wanted_windows(train: Train, pairs: Path, tmp_path: Path):
    rows = [{"context": ["a"] * size, "response": f"b {i}"} for i in range(9) for size in (1, 2)]
    (tmp_path / "v").write_bytes(as_lines(rows))
    line = ("--max-steps", 1, "--validation", tmp_path / "v", "--window", 1, pairs)
    told = train(*line, "-o", tmp_path / "m").stderr.decode()
    assert "9 validation pairs" in told
    (tmp_path / "v").write_bytes(as_lines([*rows[1::2], rows[0]]))
    told = train(*line, "-o", tmp_path / "n", code=1).stderr.decode()
    assert "fewer than two positive pairs of --window" in told


def test_pairs_are_shared_whose_context_and_response_have_the_same_tokens_each_in_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(overlap, "AT_ONCE", 2)
    encoder = letters_encoder()
    both = (["a b", "c"], "d e"), (["f"], "g"), (["h"], "h i")
    other = (["g"], "f"), (["h i"], "h"), (["a b"], "c d e"), (["b", "c"], "d e")
    sides = []
    for name, pairs in (("train", (*both, *both[:1])), ("held", (*other, *both, *both))):
        (folder := tmp_path / name).mkdir()
        rows = [{"context": context, "response": response} for context, response in pairs]
        sides.append(stored([rows], folder, encoder))
    train, held = sides
    for some, known, found in ((10, 4, 6), (6, 4, 2), (10, 1, 2), (4, 4, 0)):
        pairs, others = np.arange(some), np.arange(known)
        told = overlap.shared(pairs, held, others, train, vocabulary=encoder.vocabulary)
        assert told == found, (some, known)


def test_validation_on_what_is_trained_on_is_told_and_on_some_of_it_is_not(
    train: Train, tmp_path: Path
):
    own = pair_records(40)
    others = [{**row, "response": f"{row['response']} {row['response']}"} for row in own]
    files = {"train": own, "most": own[:60] + others[:40], "fewer": own[:49] + others[:51]}
    for name, rows in files.items():
        (tmp_path / name).write_bytes(as_lines(rows))
    line = ("--max-steps", 0, tmp_path / "train", "--overwrite", "-o", tmp_path / "m")
    told = train(*line, "--validation", tmp_path / "most").stderr.decode()
    assert "--validation: 60 of 100 pairs are trained on, and tell little" in told
    assert "are trained on" not in train(*line, "--validation", tmp_path / "fewer").stderr.decode()
