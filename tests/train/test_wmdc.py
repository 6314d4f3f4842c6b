"""WMDC: weights by response frequency, a head for each window size, batches of one window."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from at_work import ended
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import slow_losses
from pair_corpus import Train, as_lines, dialogue, pair_records, steps, weights

from dialtools.streams.chunks import read_chunks
from dialtools.streams.policy import Policy
from dialtools.train import heads
from dialtools.train.data.spool import spool
from dialtools.train.data.store import Store, read_counts
from dialtools.train.data.weights import inverse_response_frequency, pair_weights
from dialtools.train.losses.info_nce import info_nce
from dialtools.train.objectives.contrast import Contrast, Rows

RUN = ("--method", "wmdc", "--batch-size", 32, "--max-steps", 8)
N, D = 9, 6


class Learner(SimpleNamespace):
    """What a loss asks of its objective, without an encoder."""

    _windows, _excluded, _mean = Contrast._windows, Contrast._excluded, Contrast._mean


def objective(window: list[int], weight: np.ndarray, head: heads.PerWindow) -> SimpleNamespace:
    """What of an objective its loss looks at: N pairs, no encoder."""
    options = SimpleNamespace(
        mask_false_negatives=False,
        temperature=0.05,
        batches="mixed",
        guide_floor=1.0,
        hold_weight=0.0,
    )
    store = SimpleNamespace(window=np.array(window, np.int64), similar=np.ones(N, np.uint8))
    setting = SimpleNamespace(options=options, store=store)
    return Learner(
        start=None,
        classifier=None,
        head=head,
        setting=setting,
        weights=weight,
        loss_function=info_nce,
        raw=False,
        tensor=torch.from_numpy,
    )


def difference_quotient(
    function: Callable[[], float], array: np.ndarray, at: tuple[int, ...]
) -> float:
    """Return how fast a function changes with one number of an array."""
    kept, values = array[at], []
    for step in (1e-5, -1e-5):
        array[at] = kept + step
        values.append(function())
    array[at] = kept
    return (values[0] - values[1]) / 2e-5


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 2**32 - 1), st.booleans())
def test_the_loss_is_that_of_the_paper_in_value_and_gradient(seed: int, mixed: bool):
    """WMDC app. A, loop by loop in float64; all gradients by finite differences."""
    draw = np.random.default_rng(seed)
    window = draw.integers(1, 4, N).tolist() if mixed else [2] * N
    frequency = draw.integers(1, 6000, N).tolist()
    weight = np.array([1 / (math.log(f) + 1) for f in frequency])
    vectors = draw.normal(size=(2 * N, D))
    head = heads.build("window-linear", D, seed=1, windows=(1, 2, 3)).double()
    rows = torch.tensor(vectors, requires_grad=True)
    every = np.arange(2 * N)
    batch = SimpleNamespace(place=every, extra=Rows(every, every), pairs=np.arange(N))
    loss = Contrast.loss(objective(window, weight, head), rows, batch, {})
    loss.backward()

    layers = {int(w): layer for w, layer in head.heads.items()}
    copy = lambda tensor: tensor.detach().numpy().copy()  # noqa: E731
    by_hand = {w: (copy(layer.weight), copy(layer.bias)) for w, layer in layers.items()}

    def slow() -> float:
        halves = list(vectors[:N]), list(vectors[N:])
        return slow_losses.wmdc(*halves, window, frequency, by_hand, 0.05)

    assert loss.item() == pytest.approx(slow(), rel=1e-4, abs=1e-6)

    slope = partial(difference_quotient, slow)
    scale = rows.grad.abs().max().item()
    for at in ((0, 0), (3, 2), (N, 1), (2 * N - 1, D - 1)):
        assert rows.grad[at].item() == pytest.approx(slope(vectors, at), abs=1e-3 * scale + 1e-7)
    for w, layer in layers.items():
        if w not in window:
            assert layer.weight.grad is None, "the head of an absent window is left alone"
            continue
        scale = layer.weight.grad.abs().max().item()
        for at in ((0, 0), (2, 5), (D - 1, 1)):
            assert layer.weight.grad[at].item() == pytest.approx(
                slope(by_hand[w][0], at), abs=1e-3 * scale + 1e-6
            )
        assert layer.bias.grad[1].item() == pytest.approx(
            slope(by_hand[w][1], (1,)), abs=1e-3 * scale + 1e-6
        )


def stored(rows: list[dict], directory: Path, *, columns: bool = False) -> Store:
    """Return the store of pairs, without their tokens."""
    path = directory / ("rows.parquet" if columns else "rows.jsonl")
    pq.write_table(pa.Table.from_pylist(rows), path) if columns else path.write_bytes(
        as_lines(rows)
    )
    spool(directory / "store", read_chunks([str(path)], format=None), Policy())
    for name in ("tokens.i4", "token_ends.i8"):
        (directory / "store" / name).write_bytes(b"")
    counts = read_counts(directory / "store" / "spool.json")
    (directory / "store" / "store.json").write_text(json.dumps(counts | {"tokens": 0}))
    return Store(directory / "store")


def frequencies(store: Store) -> dict[str, int]:
    """How often each response occurs, read from its weight."""
    weight = inverse_response_frequency(store, np.arange(len(store)))
    return {
        store.text([i])[0]: round(math.exp(1 / weight[store.response == i][0] - 1))
        for i in np.unique(store.response)
    }


def test_the_weight_of_a_frequency_is_that_of_the_paper(tmp_path: Path):
    """freq 5,371 -> 0.104 with the natural logarithm (WMDC app. A); what was seen once weighs 1."""
    rows = [
        {"context": ["x"], "response": "yes." if i else "no", "dialogue_id": str(i), "turn": 1}
        for i in range(5372)
    ]
    weight = inverse_response_frequency(stored(rows, tmp_path), np.arange(5372))
    assert weight[0] == 1
    assert weight[1:].round(3).tolist() == [0.104] * 5371


DIALOGUES = {
    "a": ["hi", "Thank you.", "bye", "thank you.", "what else?"],
    "b": ["hello", "thank  you.", "bye"],
}


@pytest.mark.parametrize(("named", "shuffled"), [(True, False), (True, True), (False, False)])
def test_a_response_counts_once_in_however_many_windows_it_stands(
    named: bool, shuffled: bool, tmp_path: Path
):
    """Lower-cased and blanks folded; punctuation stays."""
    rows = [
        {"context": turns[t - w : t], "response": turns[t], "turn": t}
        | ({"dialogue_id": name} if named else {})
        for name, turns in DIALOGUES.items()
        for t in range(1, len(turns))
        for w in (1, 2, 3)
        if w <= t
    ]
    if shuffled:
        random.Random(1).shuffle(rows)
    counts = frequencies(stored(rows, tmp_path))
    assert counts == {"Thank you.": 3, "thank you.": 3, "thank  you.": 3, "bye": 2, "what else?": 1}


def test_a_window_that_is_there_again_is_of_another_dialogue_of_the_same_name(tmp_path: Path):
    """Two exports that both number their dialogues from 1."""
    rows = [
        {"context": ["x"] * w, "response": "yes", "turn": 2, "dialogue_id": "1"}
        for w in (1, 2, 1, 2)
    ]
    assert frequencies(stored(rows, tmp_path)) == {"yes": 2}


def test_a_weight_that_is_none_is_refused_in_columns_too(train: Train, tmp_path: Path):
    rows = [row | {"weight": -1.0} for row in pair_records(2)]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "pairs.parquet")
    done = train("-o", tmp_path / "model", tmp_path / "pairs.parquet", code=1)
    assert b"pairs.parquet" in done.stderr
    assert b"weight: expected a number from 0 to 1e+30" in done.stderr


def test_annotated_pairs_train_what_plain_ones_do(train: Train, pairs: Path, tmp_path: Path):
    """Weights in the records, as of dial-freq --annotate, are weights counted here."""
    rows = [orjson.loads(line) for line in pairs.read_bytes().splitlines()]
    once = {(r["dialogue_id"], r["turn"]): r["response"].lower() for r in rows}
    counts: dict[str, int] = {}
    for text in once.values():
        counts[text] = counts.get(text, 0) + 1
    for row in rows:
        row["weight"] = 1 / (math.log(counts[row["response"].lower()]) + 1)
    train(*RUN, "-o", tmp_path / "plain", pairs)
    train(*RUN, "-o", tmp_path / "json", stdin=as_lines(rows))
    assert weights(tmp_path / "plain") == weights(tmp_path / "json")


@pytest.fixture(scope="module")
def model(train: Train, pairs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("wmdc") / "model"
    train(*RUN, "-o", path, pairs)
    return path


@pytest.mark.parametrize(
    "flags",
    [
        ("--window", "1,2"),
        ("--weights", "none"),
        ("--head", "linear"),
        ("--batches", "mixed"),
        ("--weights-mean-one",),
    ],
)
def test_each_ablation_is_a_flag_and_changes_the_model(
    flags: tuple[str, ...], train: Train, model: Path, pairs: Path, tmp_path: Path
):
    train(*RUN, *flags, "-o", tmp_path / "model", pairs)
    log = steps(tmp_path / "model" / "train-log.jsonl")
    assert len(log) == 8
    assert all(math.isfinite(row["loss"]) for row in log)
    assert weights(tmp_path / "model") != weights(model)


def test_choosing_a_window_is_as_if_the_pairs_had_no_other(
    train: Train, model: Path, pairs: Path, tmp_path: Path
):
    only = [
        row
        for line in pairs.read_bytes().splitlines()
        if (row := orjson.loads(line))["window"] == 1
    ]
    start = ("--model", model, *RUN)
    train(*start, "--window", 1, "-o", tmp_path / "chosen", pairs, small=False)
    train(
        *start,
        "--context-max-length",
        128,
        "-o",
        tmp_path / "only",
        stdin=as_lines(only),
        small=False,
    )
    assert weights(tmp_path / "chosen") == weights(tmp_path / "only")


def test_a_window_that_no_pair_has_is_told_with_those_there_are(
    train: Train, pairs: Path, tmp_path: Path
):
    done = train(*RUN, "--window", 7, "-o", tmp_path / "model", pairs, code=1)
    assert b"1, 2, 3" in done.stderr


def test_whole_histories_are_no_window_sizes_for_heads(train: Train, tmp_path: Path):
    rows = [
        {"context": [f"turn {t}" for t in range(n)], "response": "ok"}
        for n in range(1, 20)
        for _ in range(2)
    ]
    done = train(*RUN, "-o", tmp_path / "model", stdin=as_lines(rows), code=2)
    assert b"19 window sizes" in done.stderr
    assert b"--head linear" in done.stderr


def test_the_heads_are_dropped_and_the_options_kept(model: Path):
    from safetensors import safe_open

    with safe_open(model / "model.safetensors", "pt") as file:
        assert not [name for name in file.keys() if "head" in name.lower()]  # noqa: SIM118
    told = json.loads((model / "dialtools.json").read_text())["options"]
    assert (told["loss"], told["head"], told["weights"], told["batches"]) == (
        "info-nce",
        "window-linear",
        "irf",
        "by-window",
    )


def test_pairs_piped_into_wmdc_need_no_other_flag(
    scripts: Path, environment: dict[str, str], tmp_path: Path
):
    draw = random.Random(1)
    corpus = [{"id": f"d{i}", "turns": dialogue(i, draw)} for i in range(30)]
    (tmp_path / "corpus.jsonl").write_bytes(as_lines(corpus))
    pairs = f"{scripts}/dial-pairs --window 1,2,3 corpus.jsonl"
    line = f"{pairs} | {scripts}/dial-train --method wmdc --max-steps 3"
    ended("bash", "-o", "pipefail", "-c", line, cwd=tmp_path, env=environment, timeout=900)
    told = json.loads((tmp_path / "model" / "dialtools.json").read_text())["options"]
    assert (told["loss"], told["head"]) == ("info-nce", "window-linear"), (
        "a fresh encoder changes the rates, not the method"
    )


@pytest.mark.parametrize("columns", [False, True])
@pytest.mark.parametrize("windows", [(1, 2, 3), (3, 2, 1), (2, 1), (3, 1)])
def test_nameless_dialogues_are_told_apart_whatever_the_order_of_their_windows(
    tmp_path: Path, windows: tuple[int, ...], columns: bool
):
    """dial-pairs writes the windows of a response in the order in which they were asked for."""
    talks = [["a", "b", "c", "d"], ["a", "b"], ["a", "b"], ["a", "c", "b", "a", "c"]]
    rows, expected = [], []
    for number, talk in enumerate(talks):
        for turn in range(1, len(talk)):
            for window in (size for size in windows if size <= turn):
                context = talk[turn - window : turn]
                row = {"context": context, "response": talk[turn], "window": window, "turn": turn}
                rows.append(row)
                expected.append(number)
    found = np.asarray(stored(rows, tmp_path, columns=columns).dialogue).tolist()
    numbers = {name: place for place, name in enumerate(dict.fromkeys(found))}
    places = {name: place for place, name in enumerate(dict.fromkeys(expected))}
    assert [numbers[name] for name in found] == [places[name] for name in expected]


@pytest.mark.parametrize("columns", [False, True])
def test_blank_names_are_none_and_a_turn_that_is_not_known_counts_for_itself(
    tmp_path: Path, columns: bool
):
    rows = [
        {"context": [f"q {row}"], "response": "ok", "window": 1, "dialogue_id": name}
        for row, name in enumerate(["", " ", "d", "d", "d"])
    ]
    store = stored(rows, tmp_path, columns=columns)
    assert len(set(np.asarray(store.dialogue).tolist())) == 3
    weights = pair_weights(store, np.arange(5), kind="irf", mean_one=False)
    assert weights == pytest.approx([1 / (np.log(5) + 1)] * 5)
