"""Fine-tuning as an evaluation: DSE's schedule, heads and losses; the same after a kill.

On real texts it is better than chance.
"""

from __future__ import annotations

import copy
import gzip
import json
import math
import random
import re
import shlex
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from subprocess import PIPE
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pytest
import torch
from at_work import await_content, ended
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import f1_score

from dialtools.encoder.batches import pad
from dialtools.encoder.fresh import fresh_encoder, train_tokenizer
from dialtools.encoder.randomness import seeded
from dialtools.finetune import act, tune
from dialtools.finetune.act import Act, ActProtocol
from dialtools.finetune.intent import Intent, IntentProtocol
from dialtools.finetune.job import Runs, job_of
from dialtools.finetune.options import FinetuneOptions
from dialtools.finetune.schedule import Schedule, follow
from dialtools.finetune.select import Select, SelectProtocol
from dialtools.metrics.episodes import sample_sets
from dialtools.streams.job_files import add_piece

Records = list[dict[str, Any]]


def write(path: Path, records: Records) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


@pytest.fixture(scope="module")
def intents(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four intents that a word tells apart, eight texts each to learn from and to be tested on."""
    words = {"eat": "restaurant", "day": "monday", "city": "paris", "end": "thanks"}
    rows = [
        {"text": f"{word} {other} {i}", "label": label, "split": split}
        for split in ("train", "test")
        for i, other in enumerate(["in", "on", "a", "table", "is", "free", "shall", "book"])
        for label, word in words.items()
    ]
    return write(tmp_path_factory.mktemp("intents") / "intents.jsonl", rows)


# --- the schedule


def transcription(rows: int, o: Schedule, scores: Iterator[float]) -> dict[str, Any]:
    """DSE's loop, line by line: what it evaluates, when it stops, its rates.

    These are of transformers' linear schedule.
    """
    loader = math.ceil(rows / o.batch_size)
    total = int(rows * o.epochs / o.batch_size)
    best, count, steps, chosen, evaluated, rates = 0, 0, 0, [], [], []
    eval_steps = max(o.validate_every, loader)
    for _ in range(o.epochs):
        for _ in range(loader):
            if steps % eval_steps == 0:
                evaluated.append(steps)
                metric = next(scores)
                if metric <= best:
                    count += 1
                else:
                    count, best = 0, metric
                    chosen.append(steps)
            warm = int(total * o.warmup)
            rates.append(
                steps / max(1, warm)
                if steps < warm
                else max(0.0, (total - steps) / max(1, total - warm))
            )
            steps += 1
        if count > o.patience:
            break
    return {"evaluated": evaluated, "chosen": chosen, "rates": rates, "best": best}


@settings(max_examples=300)
@given(
    st.integers(1, 60),
    st.integers(1, 20),
    st.integers(1, 12),
    st.integers(1, 9),
    st.integers(0, 4),
    st.sampled_from([0, 0.05, 0.3]),
    st.lists(st.integers(0, 6), min_size=1, max_size=30),
)
def test_points_patience_and_rates_agree_with_a_transcription_of_the_reference(
    rows, batch, epochs, every, patience, warmup, scores
):
    def endless() -> Iterator[float]:
        yield from scores
        while True:
            yield scores[-1]

    schedule = Schedule(rows, batch, epochs, every, patience, warmup)
    expected = transcription(rows, schedule, endless())
    given_scores, evaluated, kept, rates, seen = endless(), [], [], [], []

    def validate() -> float:
        evaluated.append(len(rates))
        return next(given_scores)

    def step(at: np.ndarray, rate: float) -> None:
        rates.append(rate)
        seen.extend(at.tolist())

    course = follow(
        schedule,
        step=step,
        validate=validate,
        keep=lambda: kept.append(len(rates)),
        draw=np.random.default_rng(0),
    )
    assert evaluated == expected["evaluated"] and kept == expected["chosen"]
    assert course.best == expected["best"]
    assert rates == pytest.approx(expected["rates"])
    assert course.steps == len(rates)
    assert course.chosen == (kept[-1] if kept else 0)
    assert all(
        sorted(seen[i : i + rows]) == list(range(rows)) for i in range(0, len(seen), rows)
    ), "an epoch is every row once"


def test_the_worked_example():
    """77 rows in batches of 16 are 5 steps; a tie is no gain; more than 5 misses end it."""
    validations = iter([10, 20, 20, 20, 20, 20, 20, 20, 99])
    course = follow(
        Schedule(77, 16, 50, 10, 5, 0.05),
        step=lambda rows, rate: None,
        validate=lambda: next(validations),
        keep=lambda: None,
        draw=np.random.default_rng(0),
    )
    assert (course.best, course.chosen) == (20, 10)
    assert course.steps == 75  # the sixth miss is at step 70, in the epoch that ends at 75


def test_rows_with_several_labels_are_drawn_once():
    labels = [("a", "b"), ("a",), ("b",), ("a", "b"), ("c",)]
    world = random.Random(3)
    a, b, c = (world.sample(rows, min(4, len(rows))) for rows in ([0, 1, 3], [0, 2, 3], [4]))
    b = [row for row in b if row not in a]
    drawn = sample_sets(labels, 2, seed=3)
    assert drawn.train.tolist() == a[:2] + b[:1] + c
    assert drawn.val.tolist() == a[2:]


# --- heads, losses, scores


def test_a_head_is_dropout_and_a_small_layer_or_nothing():
    head = tune.build_head(384, 77, dropout=0.2)
    assert head[0].p == 0.2
    assert head[1].weight.std().item() == pytest.approx(0.02, rel=0.05)
    assert not head[1].bias.any()
    assert not list(tune.build_head(384, 0, dropout=0.1).parameters())


class Watched(torch.nn.Linear):
    """A head that notes for each batch whether it is in training."""

    seen: ClassVar[list[bool]] = []

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        self.seen.append(self.training)
        return super().forward(input)


def steps_by_hand(encoder: Any, task: Intent, sequences: list[np.ndarray]) -> None:
    """Take the first six of nine steps, of three rows at most, as the train seed 7 orders them."""
    with seeded(7):
        head = torch.nn.Linear(16, 4)
    optimiser = torch.optim.AdamW(
        [*encoder.parameters(), *head.parameters()], weight_decay=0.0, eps=1e-6
    )
    rows, draw = sample_sets(task.labels, 2, seed=1).train, np.random.default_rng(7)
    orders = [draw.permutation(8) for _ in range(2)]
    rates = [0, 1 / 2, 1, 5 / 6, 4 / 6, 3 / 6]  # it rises for 2 of 8 steps
    steps = [order[i : i + 3] for order in orders for i in (0, 3, 6)]
    for rate, at in zip(rates, steps, strict=True):
        optimiser.param_groups[0]["lr"] = 0.01 * rate
        optimiser.zero_grad()
        batch = [sequences[row] for row in rows[at]]
        scores = head(encoder(*pad(batch, encoder.special)))
        torch.nn.functional.cross_entropy(
            scores, torch.from_numpy(task.train.truth[rows[at]])
        ).backward()
        optimiser.step()


def test_a_run_tests_its_best_state_after_steps_of_adamw_from_the_encoder_as_it_was_loaded(
    intents: Path, monkeypatch: pytest.MonkeyPatch
):
    options = {"batch_size": 3, "epochs": 3, "warmup": 0.3, "lr": 0.01, "train_seed": 7}
    options["validate_every"] = 1
    task = Intent(IntentProtocol(inputs=(str(intents),), model=("m",), **options))
    texts = [turns[0] for turns, _ in task.train.sides[0]]
    encoder = fresh_encoder(train_tokenizer(texts, vocab_size=200), hidden=16, layers=1)
    for layer in encoder.modules():
        if isinstance(layer, torch.nn.Dropout):
            layer.p = 0.0
    mine = copy.deepcopy(encoder)
    monkeypatch.setattr(tune, "build_head", lambda d, outputs, dropout: Watched(d, outputs))
    qualities = iter([1, 2, 3] * 2)  # before the steps 0, 3 and 6
    monkeypatch.setattr(task, "quality", lambda figures: next(qualities))
    tuner = tune.Tuner(task, encoder)
    tuner.run(2, seed=1)
    Watched.seen.clear()
    result = tuner.run(2, seed=1)
    assert (result.chosen, result.steps, result.rows) == (6, 9, 8)
    assert Watched.seen == [False, True, True, True] * 3 + [False]
    steps_by_hand(mine.train(), task, tuner.train.sides[0])
    batch = pad(tuner.test.sides[0], mine.special)
    with torch.no_grad():
        torch.testing.assert_close(encoder.eval()(*batch), mine.eval()(*batch), atol=1e-3, rtol=0)


@pytest.fixture
def pair_file(tmp_path: Path) -> Path:
    rows = [
        {"query": f"question {i}", "response": f"answer {i % 5}", "split": s}
        for s in ("train", "test")
        for i in range(6)
    ]
    return write(tmp_path / "pairs.jsonl", rows)


def test_losses_are_the_formulas(intents: Path, pair_file: Path, tmp_path: Path):
    draw = torch.Generator().manual_seed(0)
    scores = torch.randn(5, 4, generator=draw)
    truth = torch.tensor([0, 3, 1, 1, 2])
    chosen = scores.exp()[range(5), truth] / scores.exp().sum(1)
    loss = Intent(IntentProtocol(inputs=(str(intents),), model=("m",))).loss([scores], truth)
    assert loss.item() == pytest.approx(-chosen.log().mean().item(), rel=1e-6)

    query, response = torch.randn(6, 8, generator=draw), torch.randn(6, 8, generator=draw)
    odds = (query @ response.T).exp()  # from query to response, as they are
    chosen = odds.diag() / odds.sum(1)
    task = Select(SelectProtocol(inputs=(str(pair_file),), model=("m",), candidates=3))
    loss = task.loss([query, response], truth)
    assert loss.item() == pytest.approx(-chosen.log().mean().item(), rel=1e-5)

    rows = [
        {"history": ["hi"], "response": "yes", "labels": ["a", "b"], "split": s}
        for s in ("train", "test")
    ]
    task = Act(ActProtocol(inputs=(str(write(tmp_path / "acts.jsonl", rows)),), model=("m",)))
    true = torch.randint(0, 2, (5, 4), generator=draw).float()
    p = scores.sigmoid()
    expected = -(true * p.log() + (1 - true) * (1 - p).log()).mean()
    assert task.loss([scores], true).item() == pytest.approx(expected.item(), rel=1e-6)
    figures = task.figures([scores.numpy()], true.numpy())
    for name in ("micro", "macro"):
        expected = 100 * f1_score(true, p > 0.5, average=name, zero_division=0)
        assert figures[f"{name}-f1"] == pytest.approx(expected)
    assert task.quality(figures) == pytest.approx((figures["micro-f1"] + figures["macro-f1"]) / 2)


def test_response_selection_counts_blocks_duplicates_and_the_rest_as_told(pair_file: Path):
    query, response = np.eye(6), np.eye(6)
    # row 5 has the text of row 0, and beats it
    query[1], query[5], response[5] = query[2], query[0], 2 * response[0]
    for size, duplicates, rest, right in (
        (6, "drop", "drop", 5 / 6),
        (6, "count", "drop", 4 / 6),
        (5, "drop", "drop", 4 / 5),
        (5, "drop", "keep", 4 / 5),  # one row alone is no block
        (4, "drop", "keep", 5 / 6),
    ):
        asked = {"candidates": size, "duplicates": duplicates, "rest": rest}
        task = Select(SelectProtocol(inputs=(str(pair_file),), model=("m",), **asked))
        sides = [query[: task.tested], response[: task.tested]]
        figures = task.figures(sides, task.test.truth)
        assert figures["top-1"] == pytest.approx(100 * right)
        assert task.quality(figures) == pytest.approx(
            sum(figures[f"top-{k}"] for k in (1, 3, 5, 10))
        )


@pytest.mark.parametrize("lengths", [(8, 64), (64, 8)])
def test_an_encoder_is_opened_for_the_longer_of_query_and_response(pair_file: Path, lengths):
    sides = dict(zip(("max_length", "response_max_length"), lengths, strict=True))
    options = SelectProtocol(inputs=(str(pair_file),), model=("m",), candidates=3, **sides)
    task = Select(options)
    assert task.longest == 64
    tokenizer = train_tokenizer(["question answer"], vocab_size=99)
    encoder = fresh_encoder(tokenizer, hidden=16, layers=1, max_length=3)  # and reads no more
    found = task.sequences(encoder, task.train)
    assert {len(sequence) for side in found for sequence in side} == {3}


def test_words_are_kept_from_the_end_and_tokens_from_their_beginning(minilm: str):
    """DSE's cut of acts: 0.9 max-length words, marks among them.

    Long words then push the newest out.
    """
    from dialtools.encoder.loading import load_encoder

    encoder = load_encoder(minilm)

    def decode(told: tuple[np.ndarray, bool]) -> str:
        return encoder.tokenizer.decode(told[0])

    turns = (("good morning to you", "the table is free"), None)
    assert (
        decode(act.last_words(encoder, turns, 32))
        == "[CLS] [SEP] good morning to you [SEP] the table is free [SEP]"
    )
    nine = decode(act.last_words(encoder, turns, 10))
    assert nine == "[CLS] good morning to you [SEP] the table is [SEP]", (
        "9 words and 2 tokens around them are one too many"
    )
    long = ((" ".join(["antidisestablishmentarianism"] * 3) + " please",), None)
    kept = decode(act.last_words(encoder, long, 12))
    assert kept.startswith("[CLS] [SEP] antidisestablishmentarianism")
    assert "please" not in kept


# --- through the command


@pytest.fixture(scope="module")
def finetune(
    scripts: Path, environment: dict[str, str]
) -> Callable[..., subprocess.CompletedProcess]:
    def run(task: str, *arguments: object, code: int = 0) -> subprocess.CompletedProcess:
        line = [str(scripts / "dial-eval"), "finetune", task, *map(str, arguments)]
        return ended(*line, code=code, text=True, env=environment, timeout=900)

    return run


FEW = ("--runs", 1, "--epochs", 1, "--device", "cpu", "--threads", 1, "--json")
SHORT = shlex.split(
    "--shots 1,2 --runs 2 --epochs 6 --validate-every 2 --lr 1e-3 --device cpu --threads 1"
)


def scores(path: Path) -> Records:
    return [json.loads(line) for line in path.read_text().splitlines()]


def job_line(scripts: Path, model: Path, records: Path, out: Path, *more: object) -> list[str]:
    words = ("intent", *SHORT, *more, "--model", model, records, "-o", out)
    return [str(scripts / "dial-eval"), "finetune", *map(str, words)]


def kill_after_a_run(line: list[str], out: Path, environment: dict[str, str]) -> Path:
    """Start a job and kill it once a run of it is kept; return the folder of what is kept."""
    process = subprocess.Popen(line, stdout=PIPE, stderr=PIPE, env=environment)
    partial = Path(f"{out}.partial")
    await_content(partial / "pieces.jsonl", process)
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=120)
    return partial


def test_a_killed_job_repeats_no_finished_run_and_ends_in_the_same_scores(
    finetune, model: Path, intents: Path, tmp_path: Path, scripts: Path, environment: dict[str, str]
):
    whole, broken = tmp_path / "whole.jsonl", tmp_path / "broken.jsonl"
    line = ("intent", *SHORT, "--model", model, intents, "-o")
    finetune(*line, whole)
    assert not Path(f"{whole}.partial").exists()
    partial = kill_after_a_run(job_line(scripts, model, intents, broken), broken, environment)

    if not broken.exists():  # the signal was in time
        # a finished run is taken as it stands: what was kept comes out
        kept = {path.name: path.read_bytes() for path in partial.iterdir()}
        first, *others = scores(partial / "pieces.jsonl")
        first["value"]["figures"]["accuracy"] = 12.5
        (partial / "pieces.jsonl").unlink()
        for piece in (first, *others):
            add_piece(partial, piece["key"], piece["value"], skipped=piece["skipped"])
        other = tmp_path / "other"
        other.symlink_to(model)
        finetune(*line, broken, "--model", other, "--resume")  # of the same weights: none repeated
        assert [s["values"][0] for s in scores(broken)[::2]] == [12.5, 12.5]

        broken.unlink()
        partial.mkdir()
        for name, content in kept.items():
            (partial / name).write_bytes(content)
        finetune(*line, broken, "--resume")
    assert broken.read_bytes() == whole.read_bytes()
    assert not partial.exists()
    told = [(s["setting"], s["runs"], s["n"]) for s in scores(whole)]
    assert told == [("1-shot fine-tuned", 2, 32), ("2-shot fine-tuned", 2, 32)]


def test_a_killed_job_goes_on_on_request_and_with_its_own_options_and_records_only(
    finetune, model: Path, intents: Path, tmp_path: Path, scripts: Path, environment: dict[str, str]
):
    records, out = tmp_path / "records.jsonl", tmp_path / "out.jsonl"
    records.write_bytes(intents.read_bytes())
    many = ("--runs", 500)  # so that the signal is in time
    kill_after_a_run(job_line(scripts, model, records, out, *many), out, environment)
    line = ("intent", *SHORT, *many, "--model", model, records, "-o", out)
    assert "--resume goes on" in finetune(*line, code=1).stderr
    refused = finetune(*line, "--lr", "2e-3", "--resume", code=2).stderr
    assert "cannot resume: --lr was 0.001, is 0.002" in refused
    records.write_bytes(intents.read_bytes() + b"\n")
    refused = finetune(*line, "--resume", code=1).stderr
    assert "records.jsonl was" in refused
    assert "--overwrite starts over" in refused and "another -o leaves this as it is" in refused


def test_a_job_whose_seed_tells_its_test_rows_goes_on_with_that_seed_alone(
    finetune, model: Path, intents: Path, tmp_path: Path, scripts: Path, environment: dict[str, str]
):
    out, many = tmp_path / "out.jsonl", ("--runs", 500, "--test-share", 0.3)
    kill_after_a_run(job_line(scripts, model, intents, out, *many), out, environment)
    line = ("intent", *SHORT, "--model", model, intents, "-o", out, "--resume", "--seed", 1)
    refused = finetune(*line, "--runs", 1, "--test-share", 0.3, code=2).stderr
    assert "cannot resume: --seed was 0, is 1" in refused


def test_a_model_in_the_local_cache_is_known_by_its_content(
    intents: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("dialtools.finetune.job.model_folder", lambda name: tmp_path)
    options = FinetuneOptions(inputs=(str(intents),), model=("some/model",))
    told = []
    for weights in ("as they were", "others"):
        (tmp_path / "model.safetensors").write_text(weights)
        told += job_of("dial-test", options).description()["models"]
    assert {model["name"] for model in told} == {"some/model"}
    assert told[0]["sha256"] != told[1]["sha256"]


def test_a_finished_job_says_so_and_one_of_other_records_or_options_is_refused(
    finetune, model: Path, intents: Path, tmp_path: Path
):
    records, out = tmp_path / "records.jsonl", tmp_path / "out.jsonl"
    records.write_bytes(intents.read_bytes())
    usual = ("intent", "--model", model, *FEW, records, "-o", out, "--resume")
    line = (*usual, "--shots", 1)
    finetune(*line)
    before = out.read_bytes()
    assert "out.jsonl: finished already, of the same inputs and options" in finetune(*line).stderr

    for changed in (
        lambda: finetune(*usual, "--shots", 2, code=1),
        lambda: records.write_bytes(intents.read_bytes() + b"\n") and finetune(*line, code=1),
    ):
        told = changed().stderr
        assert "is finished, of another job" in told
        assert "--overwrite makes it anew; another -o keeps it" in told
    assert out.read_bytes() == before


def test_a_terminated_job_says_how_far_it_came_and_two_runs_do_not_mix(
    finetune, model: Path, intents: Path, tmp_path: Path, scripts: Path, environment
):
    out = tmp_path / "out.jsonl"
    line = job_line(scripts, model, intents, out, "--runs", 500)
    process = subprocess.Popen(line, stdout=PIPE, stderr=PIPE, env=environment)
    await_content(tmp_path / "out.jsonl.partial" / "pieces.jsonl", process)
    second = finetune(*line[2:], "--resume", code=1)
    assert "another run is at work here" in second.stderr
    assert len(second.stderr.splitlines()) == 1

    process.send_signal(signal.SIGTERM)
    _, told = process.communicate(timeout=120)
    assert process.returncode == -signal.SIGTERM
    assert b" of 1,000 runs; --resume goes on" in told
    assert not out.exists()


@pytest.fixture(scope="module")
def turns(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Responses with acts, twelve in each of two splits, four of a dialogue."""
    rows = [
        {
            "history": [{"speaker": "user", "text": f"a table for {i}"}],
            "response": f"booked {i % 7}",
            "split": split,
            "dialogue_id": i // 4,
            "labels": ["ask", "tell"][: 1 + i % 2],
        }
        for split in ("train", "test")
        for i in range(12)
    ]
    return write(tmp_path_factory.mktemp("turns") / "turns.jsonl", rows)


def test_response_selection_runs_over_models_and_reports_by_model(
    finetune, model: Path, turns: Path, scripts: Path, tmp_path: Path
):
    other = tmp_path / "other"
    other.symlink_to(model)
    two_models = ("--model", model, "--model", other)
    done = finetune("select", *two_models, "--shots", 4, "--candidates", 5, *FEW, turns)
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert [s["model"] for s in found if s["metric"] == "top-1"] == [str(model), str(other)]
    assert {s["metric"] for s in found} == {"top-1", "top-3", "top-5", "top-10", "mrr"}
    assert {s["n"] for s in found} == {10}, "the last two rows are no whole block"
    assert all(s["groups"] == [0] * 5 + [1] * 5 for s in found)
    (tmp_path / "scores.jsonl").write_text(done.stdout)
    line = [scripts / "dial-eval", "compare", "--to", "jsonl", tmp_path / "scores.jsonl"]
    compared = ended(*line, text=True).stdout.splitlines()
    assert {row["p"] for row in map(json.loads, compared)} == {1}  # one model twice


@pytest.mark.parametrize("rest", ["drop", "keep"])
def test_a_query_that_has_only_its_response_to_pick_is_left_out_and_told(
    finetune, model: Path, turns: Path, tmp_path: Path, rest: str
):
    *rows, last = scores(turns)  # of 11 test rows the last is a block by itself, if kept
    thanked = [row | {"response": "thanks"} if 12 <= i < 17 else row for i, row in enumerate(rows)]
    ask = ("select", "--model", model, "--shots", 4, "--candidates", 5, "--rest", rest, *FEW)
    done = finetune(*ask, write(tmp_path / "t.jsonl", thanked))
    alone = {"drop": 5, "keep": 6}[rest]
    assert f"{alone} rows left out: no candidate but the response" in done.stderr
    assert {json.loads(line)["n"] for line in done.stdout.splitlines()} == {5}
    same = write(tmp_path / "same.jsonl", [row | {"response": "thanks"} for row in (*rows, last)])
    assert "no query has a candidate but its response" in finetune(*ask, same, code=1).stderr


def as_dialogues(turns: Path) -> Records:
    """Return responses with acts as dialogues of a question and an answer, and one without acts."""
    found = []
    for number, row in enumerate(scores(turns)):
        answer = {"speaker": "system", "text": row["response"], "acts": row["labels"]}
        talk = [*row["history"], answer]
        found.append({"id": number, "split": row["split"], "turns": talk})
    wrong = [{"speaker": "user", "text": "a"}, {"speaker": "system", "text": "b", "acts": "ask"}]
    return [*found, {"id": "bad", "split": "train", "turns": wrong}]


@pytest.mark.parametrize("target", ["next", "current"])
def test_a_dialogue_is_an_example_for_each_turn_with_acts(tmp_path: Path, target: str):
    told = [("user", "hello", ["greet"]), ("system", "hi", ["greet"]), ("user", "a table", None)]
    told += [("system", "for two?", ["ask"])]
    turns = [{"speaker": who, "text": text, "acts": acts} for who, text, acts in told]
    rows = [{"id": split, "split": split, "turns": turns} for split in ("train", "test")]
    asked = {"inputs": (str(write(tmp_path / "d.jsonl", rows)),), "model": ("m",), "target": target}
    task = Act(ActProtocol(**asked))
    texts = ["hello", "hi", "a table", "for two?"]
    # the first turn answers nothing; the third has no acts
    seen = [1, 3] if target == "next" else [1, 2, 4]
    assert [list(turns) for turns, _ in task.test.sides[0]] == [texts[:n] for n in seen]
    assert task.labels == [("greet",)] * (len(seen) - 1) + [("ask",)]
    file = asked["inputs"][0]
    files = asked | {"inputs": (), "train": file, "test": file}
    both, first = (Act(ActProtocol(**files, limit=limit)).train.sides[0] for limit in (None, 1))
    assert (len(both), len(first)) == (2 * len(seen), len(seen))
    of_user = Act(ActProtocol(**asked, speaker="system"))
    assert [len(turns) for turns, _ in of_user.test.sides[0]] == (
        [1, 3] if len(seen) == 2 else [2, 4]
    )


@pytest.mark.parametrize(("target", "cut"), [("next", "newest"), ("current", "words")])
def test_acts_are_learnt_of_the_next_turn_or_the_current_one(
    finetune, model: Path, turns: Path, tmp_path: Path, target: str, cut: str
):
    flags = ("--shots", 2, "--target", target, "--truncation", cut)
    file, code = turns, 0
    if target == "next":  # the same as dialogues, one of which cannot be used
        file, code = write(tmp_path / "dialogues.jsonl", as_dialogues(turns)), 3
    done = finetune("act", "--model", model, *flags, *FEW, "--on-error", "skip", file, code=code)
    assert ("1 bad record skipped" in done.stderr) == (code == 3)
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert found[0]["setting"] == f"{target} 2-shot fine-tuned"
    assert {"micro-f1", "macro-f1"} <= {s["metric"] for s in found}
    own = next(s for s in found if s["metric"] == "samples-f1")
    assert own["value"] == pytest.approx(100 * sum(own["each"]) / own["n"], abs=1e-3)
    assert {"history", "labels"} <= own["items"].keys()
    assert ["each" in s for s in found] == [s is own for s in found], "others are of all rows"
    groups = [i // 4 for i in range(12)] if target == "current" else None  # a row a dialogue
    assert own.get("groups") == groups


def test_fine_tuned_models_can_be_compared_and_published_corpora_read(
    finetune, model: Path, scripts: Path, tmp_path: Path
):
    texts = {
        name: [[f"{word} {i}", word] for i in range(6) for word in ("eat", "go")]
        for name in ("train", "val", "test")
    }
    corpus = tmp_path / "clinc"
    corpus.mkdir()
    (corpus / "data_full.json").write_text(
        json.dumps({**texts, "oos_train": [], "oos_val": [], "oos_test": [["hm", "oos"]]})
    )
    flags = [*SHORT, "--model", model, *shlex.split("--from clinc150 --without oos --name c")]
    for name, rate in (("one", "1e-3"), ("two", "1e-5")):
        finetune("intent", *flags, corpus, "--lr", rate, "-o", tmp_path / f"{name}.jsonl")
    score = scores(tmp_path / "one.jsonl")[0]
    assert score["n"] == len(score["each"]) == 12
    assert score["value"] == pytest.approx(100 * sum(score["each"]) / 12)
    line = [scripts / "dial-eval", "compare", tmp_path / "one.jsonl", tmp_path / "two.jsonl"]
    done = ended(*line, text=True)
    assert {row["test"] for row in map(json.loads, done.stdout.splitlines()) if "test" in row} == {
        "bootstrap"
    }, done.stdout


OTHER = shlex.split(
    "--lr 1e-4 --batch-size 4 --warmup 0.2 --validate-every 1 --patience 0 --max-length 12 "
    "--pooling cls --train-seed 3 --precision bfloat16 --batch-tokens 48"
)
INTENT = shlex.split("--text said --label kind --without other --dropout 0.3 --shots 2")
SELECT = shlex.split(
    "--query said --response answer --response-max-length 8 --candidates 6 --duplicates count "
    "--rest keep --shots 3"
)
ACT = shlex.split(
    "--history said --response answer --label acts --target current --dropout 0 --shots 2"
)
SPLITS = shlex.split("--split part --train-split learn --test-split try")


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files `all`, `learn` and `try` whose fields have other names than ours."""
    folder = tmp_path_factory.mktemp("parts")
    rows = [
        {
            "said": f"{word} {i} " + "very long " * 9,
            "kind": word,
            "answer": f"yes {i}",
            "acts": [word],
            "part": part,
        }
        for part in ("learn", "try")
        for i in range(5)
        for word in ("eat", "go", "other")
    ]
    write(folder / "all.jsonl", rows)
    for part in ("learn", "try"):
        write(folder / f"{part}.jsonl", [row for row in rows if row["part"] == part])
    return folder


def test_fields_files_and_protocol_of_intents_can_be_others(finetune, model: Path, parts: Path):
    ask = ("intent", *INTENT, *OTHER, "--model", model, *FEW)
    done = finetune(*ask, *SPLITS, parts / "all.jsonl")
    found = json.loads(done.stdout)
    assert found["n"] == 10
    assert "20 of 20 texts were longer than their maximal length, and cut" in done.stderr

    files = ("--train", parts / "learn.jsonl", "--test", parts / "try.jsonl")
    again = json.loads(finetune(*ask, *files, "--name", "mine").stdout)
    assert again["dataset"] == "mine"
    assert again["values"] == found["values"]
    assert again["chosen"] == found["chosen"]


def test_rows_that_are_tested_and_learnt_and_labels_alike_are_told(
    finetune, model: Path, intents: Path, tmp_path: Path
):
    rows = [json.loads(line) for line in intents.read_text().splitlines()]
    for row in rows:
        if row["split"] == "test":
            row["text"] = f"{row['text'].upper()}!" + " then" * (row["label"] == "day")
        elif row["text"].startswith("paris"):
            row["label"] = "City "
    done = finetune("intent", "--model", model, *FEW, write(tmp_path / "rows.jsonl", rows))
    assert "24 of 32 test rows occur in training" in done.stderr
    assert "8 of 32 test rows are of classes without training rows" in done.stderr

    rows[2]["label"] = "city"
    done = finetune("intent", "--model", model, *FEW, write(tmp_path / "rows.jsonl", rows))
    assert "case or blanks alone tell classes apart: 'City ' and 'city'" in done.stderr


def test_a_gate_that_is_not_met_leaves_the_scores(
    finetune, model: Path, parts: Path, tmp_path: Path
):
    ask = ("intent", *INTENT, *OTHER, "--model", model, *FEW, *SPLITS, parts / "all.jsonl")
    low = ("--fail-under", "accuracy=101", "-o", tmp_path / "low.jsonl")
    finetune(*ask, *low, code=4)
    finetune(*ask, *low, "--resume", code=4)  # finished, and no better for that
    left = sorted(path.name for path in tmp_path.glob("low*"))
    assert left == ["low.jsonl", "low.jsonl.job.json"], "the scores are written, and the job done"


def test_fields_of_responses_and_acts_can_be_others(finetune, model: Path, parts: Path):
    protocol = (*OTHER, "--model", model, *FEW, *SPLITS, parts / "all.jsonl")
    selected = finetune("select", *SELECT, *protocol)
    assert json.loads(selected.stdout.splitlines()[0])["n"] == 15
    finetune("act", *ACT, *protocol)


def test_a_dry_run_tells_its_time_and_writes_nothing(
    finetune, model: Path, intents: Path, tmp_path: Path
):
    ask = ("intent", "--model", model, "--shots", "1,2", "--runs", 3, "--epochs", 2, intents)
    told = finetune(*ask, "--dry-run", "-o", tmp_path / "scores.jsonl").stdout
    plan = dict(line.split(maxsplit=1) for line in told.splitlines())
    assert plan["rows"] == "32 to learn from, 32 to be tested on"
    assert plan["runs"] == "6: 1 model, 1 and 2 shots, 3 of each"
    steps = 3 * 2 * (1 + 1)  # of 4 and 8 rows, a batch each
    assert re.fullmatch(
        rf"about \d+ s: {steps} steps of [\d.e-]+ s, 12 validations of \d+ s on 1 thread, "
        "if no run ends early",
        plan["time"],
    )
    assert not list(tmp_path.iterdir())


def test_a_split_of_numbers_is_named_as_text(finetune, model: Path, tmp_path: Path):
    rows = [
        {"text": f"{word} {i}", "label": word, "split": split}
        for split in (0, 1)
        for i in range(3)
        for word in ("eat", "go")
    ]
    file = write(tmp_path / "numbers.jsonl", rows)
    splits = ("--train-split", 0, "--test-split", 1)
    done = finetune("intent", "--model", model, "--shots", 1, *FEW, *splits, file)
    assert json.loads(done.stdout)["n"] == 6


def test_a_dry_run_finds_that_no_row_is_left_to_validate_on(
    finetune, model: Path, intents: Path, tmp_path: Path
):
    four = tmp_path / "four.jsonl"
    four.write_text("".join(intents.read_text().splitlines(keepends=True)[:4]))
    ask = ("intent", "--model", model, "--train", four, "--test", intents)
    said = [finetune(*ask, *dry, code=1).stderr for dry in ((), ("--dry-run",))]
    assert all(line.endswith("4 training rows, none left to validate on\n") for line in said)


def test_rows_fewer_than_a_batch_are_told_to_teach_nothing(finetune, model: Path, intents: Path):
    ask = ("intent", "--model", model, *FEW, "--shots", 1, "--batch-size", 64, "--epochs", 1)
    for dry in ((), ("--dry-run",)):
        said = finetune(*ask, *dry, intents).stderr
        assert "nothing is learnt of" in said and "1 epoch: together fewer than a batch" in said
    assert "nothing is" not in finetune(*ask, "--batch-size", 2, "--dry-run", intents).stderr


def test_the_words_that_are_kept_fit_the_positions_and_what_is_cut_is_told(
    finetune, model: Path, tmp_path: Path
):
    rows = [
        {"history": [f"{word} " * (600 if i % 2 else 2)], "labels": [word], "split": split}
        for split in ("train", "test")
        for i in range(4)
        for word in ("eat", "go")
    ]
    words = ("--truncation", "words", "--max-length", 600, "--shots", 1)
    file = write(tmp_path / "long.jsonl", rows)
    said = finetune("act", "--model", model, *words, *FEW, file).stderr
    assert "8 of 16 texts were longer than their maximal length, and cut" in said


def test_models_of_equal_weights_and_other_tokenizers_have_runs_of_their_own(
    model: Path, intents: Path, tmp_path: Path
):
    other = tmp_path / "other"
    shutil.copytree(model, other)
    lengths = other / "sentence_bert_config.json"
    lengths.write_text(json.dumps(json.loads(lengths.read_text()) | {"do_lower_case": True}))
    asked = {"shots": (1,), "runs": 1, "epochs": 1, "device": "cpu"}
    names = (str(model), str(other), str(shutil.copytree(model, tmp_path / "copy")))
    task = Intent(IntentProtocol(inputs=(str(intents),), model=names, **asked))
    pieces: dict[str, Any] = {}
    work: Any = SimpleNamespace(pieces=pieces, add=pieces.__setitem__)
    assert [piece.fresh for piece in Runs(task, task.options, work, tell=print).take()] == [
        True,
        True,
        False,
    ]


def test_a_drawn_test_neither_tests_nor_learns_what_dial_augment_made(
    intents: Path, tmp_path: Path
):
    own = [json.loads(line) for line in intents.read_text().splitlines()]
    made = [row | {"text": f"made {row['text']}", "synthetic": True} for row in own]
    file = write(tmp_path / "augmented.jsonl", own + made)
    options = IntentProtocol(inputs=(str(file),), model=("m",), test_share=0.25)
    task, alone = Intent(options), Intent(replace(options, inputs=(str(intents),)))
    assert task.train.sides == alone.train.sides and len(task.labels) == 48
    assert [row["text"] for _, row in task.test_records] == [
        row["text"] for _, row in alone.test_records
    ]


BOTH = ("--train", "intents.jsonl", "--test", "intents.jsonl")


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        ((), 2, "name --train FILE and --test FILE"),
        (("--label", "lable", "intents.jsonl"), 1, "intents.jsonl:1: no field 'lable'"),
        (
            ("--test-split", "tst", "intents.jsonl"),
            1,
            "no row has split = 'tst'; there are train, test",
        ),
        (("-o", "no/where.jsonl", "intents.jsonl"), 1, "no such directory"),
        (("--resume", "intents.jsonl"), 2, "--resume needs -o FILE"),
        (("--lr", "0", "intents.jsonl"), 2, "must be above 0"),
        (("--dropout", "1", "intents.jsonl"), 2, "must be below 1"),
        ((*BOTH, "--test-share", "0.5"), 2, "--test-share has no meaning beside --train"),
        ((*BOTH, "--test-split", "b"), 2, "--test-split has no meaning beside --train"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(
    finetune, model: Path, intents: Path, arguments, code: int, says: str
):
    words = [str(intents) if word == "intents.jsonl" else word for word in arguments]
    done = finetune("intent", "--model", model, *words, code=code)
    assert says in done.stderr
    assert len(done.stderr.splitlines()) <= 2


@pytest.mark.shared
def test_minilm_learns_five_intents_of_banking77_from_five_examples_each(
    finetune, minilm: str, shared: Path, tmp_path: Path
):
    with gzip.open(shared / "data" / "eval" / "banking77.jsonl.gz", "rt") as lines:
        rows = [json.loads(line) for line in lines]
    kept = sorted({row["label"] for row in rows})[:5]
    file = write(tmp_path / "five.jsonl", [row for row in rows if row["label"] in kept])
    out = tmp_path / "scores.jsonl"
    flags = shlex.split("--shots 5 --runs 1 --epochs 6 --device cpu")
    finetune("intent", "--model", minilm, *flags, file, "-o", out)
    found = scores(out)[0]
    assert found["n"] == 200
    assert found["value"] > 70, "chance is 20"
    assert found["chosen"]["rows"] == [25]
