"""On a CUDA device everything is as on the CPU; without a GPU the device is one of host memory."""

from __future__ import annotations

import fcntl
import json
import os
import random
import shlex
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch
from at_work import broken_off, ended, logged
from pair_corpus import CITIES, DAYS, Train, as_lines, steps, weights
from transformers import AutoConfig, AutoModel, AutoTokenizer

Run = Callable[..., subprocess.CompletedProcess]
METHODS = ("dse-123-1", "dse-dropout", "dse-dianli", "wmdc", "simcse", "todbert", "mlm")
MATCHING = ("dialoguecse", "siamese-s", "siamese-m")
IN_32 = ("--device", "cuda", "--precision", "float32")
TUNE = shlex.split("dial-eval finetune intent --shots 4 --runs 1 --device cuda --json")
FEW = ("--freeze", 0, "--batch-size", 16, "--max-steps", 3, "--lr", "1e-3")


def visible(environment: dict[str, str]) -> dict[str, str]:
    return {**environment, "CUDA_VISIBLE_DEVICES": os.environ["DIALTOOLS_GPUS"]}


@pytest.fixture(scope="module")
def on_cuda(cuda_scripts: Path, environment: dict[str, str]) -> Run:
    """Run a command where there is a CUDA device, with more variables in its environment."""
    own = visible(environment)

    def run(
        command: str, *arguments: object, code: int = 0, **more: str
    ) -> subprocess.CompletedProcess:
        script = cuda_scripts / command
        return ended(script, *arguments, code=code, env={**own, **more}, timeout=900)

    return run


@pytest.fixture
def waits(on_cuda: Run, cuda_scripts: Path, tmp_path: Path) -> Callable[..., int]:
    """Run a command, and return how often a GPU would have been waited for."""
    if not (cuda_scripts / "libhost_cuda.so").exists():
        pytest.skip("a GPU does not count them")
    counted = tmp_path / "waits"

    def run(*command: object) -> int:
        on_cuda(*command, DIALTOOLS_WAITS=str(counted))
        return int(counted.read_text())

    return run


@pytest.fixture(scope="module")
def steady(model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same without dropout: what is left of its course does not depend on a generator."""
    path = tmp_path_factory.mktemp("steady") / "model"
    shutil.copytree(model, path)
    config = json.loads((path / "config.json").read_text())
    (path / "config.json").write_text(
        json.dumps(config | {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0})
    )
    return path


@pytest.fixture(scope="module")
def templates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Utterances with the templates that they fill."""
    draw = random.Random(0)
    rows = [
        {
            "text": f"a table in {city} on {day}",
            "template": "a table in {CITY} on {DAY}",
            "label": "book",
        }
        if n % 2
        else {
            "text": f"is it warm in {city} on {day}",
            "template": "is it warm in {CITY} on {DAY}",
            "label": "weather",
        }
        for n in range(64)
        for city, day in [(draw.choice(CITIES), draw.choice(DAYS))]
    ]
    path = tmp_path_factory.mktemp("templates") / "templates.jsonl"
    path.write_bytes(as_lines(rows))
    return path


@pytest.fixture(scope="module")
def intents(templates: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same, three of four to learn from."""
    rows = map(json.loads, templates.read_text().splitlines())
    path = tmp_path_factory.mktemp("intents") / "intents.jsonl"
    path.write_bytes(
        as_lines([row | {"split": ("train", "test")[n % 4 == 3]} for n, row in enumerate(rows)])
    )
    return path


def courses(
    train: Train, on_cuda: Run, folder: Path, *arguments: object
) -> tuple[np.ndarray, np.ndarray]:
    """Return losses, alignments and so on of the same run on the CPU and on CUDA, in float32."""
    train(*arguments, "--device", "cpu", "-o", folder / "cpu", small=False)
    on_cuda("dial-train", *arguments, *IN_32, "-o", folder / "cuda")
    logs = [steps(folder / name / "train-log.jsonl") for name in ("cpu", "cuda")]
    figures = sorted(set(logs[0][0]) - {"tokens_per_second"})
    cpu, cuda = (np.array([[row[name] for name in figures] for row in log], float) for log in logs)
    return cpu, cuda


@pytest.mark.parametrize("method", [*METHODS, *MATCHING])
def test_a_method_takes_the_steps_that_it_takes_on_the_cpu(
    method: str, train: Train, on_cuda: Run, steady: Path, pairs: Path, tmp_path: Path
):
    few = ("--negatives", 3) if method in MATCHING else ()
    cpu, cuda = courses(
        train, on_cuda, tmp_path, "--method", method, "--model", steady, *FEW, *few, pairs
    )
    np.testing.assert_allclose(cuda, cpu, rtol=2e-3, atol=2e-4)


@pytest.mark.parametrize(
    "ask",
    [
        "--method dse --clip 1 --ema 0.9 --matryoshka 16,32",
        "--method wmdc --batches mixed",
        "--method dialoguecse --negatives all",
        "--method todbert-joint",
        "--method mlm",
        "--method dse --encoder static --optimizer adamw",
    ],
)
def test_more_steps_wait_no_more_often_for_a_gpu(
    ask: str, waits: Callable[..., int], steady: Path, pairs: Path, tmp_path: Path
):
    """A step's figures come while the GPU goes on; nothing else of a step is asked of it."""
    run = ("dial-train", *shlex.split(ask), "--model", steady, *FEW[:4], *IN_32, pairs)
    few, more = (waits(*run, "--max-steps", n, "-o", tmp_path / str(n)) for n in (2, 5))
    assert few == more > 0


def test_more_batches_of_texts_wait_no_more_often_for_a_gpu(
    waits: Callable[..., int], steady: Path, templates: Path, tmp_path: Path
):
    run = ("dial-embed", "--model", steady, "--device", "cuda", "--field", "text", templates)
    few, more = (
        waits(*run, "--batch-tokens", tokens, "-o", tmp_path / f"{tokens}.npy")
        for tokens in (1024, 16)
    )
    assert few == more > 0


def test_more_steps_of_fine_tuning_wait_no_more_often_for_a_gpu(
    waits: Callable[..., int], steady: Path, intents: Path
):
    seldom = ("--batch-size", 2, "--validate-every", 99, "--model", steady, intents)
    few, more = (waits(*TUNE, *IN_32, *seldom, "--epochs", epochs) for epochs in (1, 4))
    assert few == more > 0


@pytest.mark.parametrize("kind", ["modernbert", "llama"])
def test_what_sees_a_window_or_what_is_before_learns_there_without_padding_too(
    kind: str, train: Train, on_cuda: Run, steady: Path, pairs: Path, tmp_path: Path
):
    tokenizer = AutoTokenizer.from_pretrained(steady)
    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
    sizes |= {"intermediate_size": 48, "vocab_size": len(tokenizer), "local_attention": 8}
    sizes |= {f"{name}_token_id": 0 for name in ("pad", "bos", "eos", "cls", "sep")}
    torch.manual_seed(0)
    model = AutoModel.from_config(AutoConfig.for_model(kind, **sizes))
    for part in (model, tokenizer):
        part.save_pretrained(tmp_path / "model")
    run = ("--model", tmp_path / "model", "--pooling", "mean", *FEW, pairs)
    told = on_cuda("dial-train", *run, "-o", tmp_path / "m", "--dry-run", *IN_32).stdout
    assert b"tokens in the first" in told and b"with padding" not in told
    cpu, cuda = courses(train, on_cuda, tmp_path, *run)
    np.testing.assert_allclose(cuda, cpu, rtol=2e-3, atol=2e-4)


@pytest.mark.parametrize("method", ["tadse", "tadse-paper"])
def test_templates_are_learnt_as_on_the_cpu(
    method: str, train: Train, on_cuda: Run, steady: Path, templates: Path, tmp_path: Path
):
    cpu, cuda = courses(
        train, on_cuda, tmp_path, "--method", method, "--model", steady, *FEW, "--align", templates
    )
    np.testing.assert_allclose(cuda, cpu, rtol=2e-3, atol=2e-4)


def test_a_gpu_is_chosen_by_itself_with_bfloat16_for_matrix_products_and_float32_for_weights(
    on_cuda: Run, steady: Path, pairs: Path, tmp_path: Path
):
    from safetensors.torch import load_file

    for precision in ("auto", "bfloat16", "float32"):
        run = ("--model", steady, *FEW, "--precision", precision, pairs)
        on_cuda("dial-train", *run, "-o", tmp_path / precision)
    auto, bfloat16, float32 = (
        [row["loss"] for row in steps(tmp_path / name / "train-log.jsonl")]
        for name in ("auto", "bfloat16", "float32")
    )
    assert auto == bfloat16 != float32
    np.testing.assert_allclose(auto, float32, rtol=2e-2)
    assert {value.dtype for value in load_file(tmp_path / "auto/model.safetensors").values()} == {
        torch.float32
    }


@pytest.mark.parametrize("device", ["cuda", "cuda:1"])
def test_gradient_caching_repeats_the_dropout_of_its_own_device(
    device: str, on_cuda: Run, cuda_scripts: Path, model: Path, pairs: Path, tmp_path: Path
):
    if device == "cuda:1" and (cuda_scripts / "devices").read_text() == "1":
        pytest.skip("one GPU")
    run = ("--model", model, *FEW, "--device", device, "--precision", "float32", pairs)
    for cache in ("off", "on"):
        twice = ("--grad-cache", cache, "--micro-batch-tokens", 64)
        on_cuda("dial-train", *run, *twice, "-o", tmp_path / cache)
    kept, cached = (
        [row["loss"] for row in steps(tmp_path / cache / "train-log.jsonl")]
        for cache in ("off", "on")
    )
    np.testing.assert_allclose(cached, kept, rtol=1e-5)


def kill(folder: Path, environment: dict[str, str], model: Path, *arguments: object) -> None:
    """Train `model` with the commands of `folder` until 20 steps are in the log, and no further."""
    command = [folder / "dial-train", *arguments, "-o", model]
    broken_off(command, lambda: logged(model) >= 20, env=environment)
    with (model.with_name(f"{model.name}.partial") / "lock").open("rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # a server's fork of it dies a moment later


LONG = shlex.split(
    "--batch-size 32 --max-steps 60 --checkpoint-every 7 --ema 0.5 --merge-with-start 0.7"
)


def test_a_run_that_was_killed_ends_in_the_weights_of_an_unbroken_one(
    on_cuda: Run,
    cuda_scripts: Path,
    environment: dict[str, str],
    model: Path,
    pairs: Path,
    tmp_path: Path,
):
    run = ("--model", model, *LONG, "--device", "cuda", pairs)
    on_cuda("dial-train", *run, "-o", tmp_path / "unbroken")
    kill(cuda_scripts, visible(environment), tmp_path / "broken", *run)
    on_cuda("dial-train", *run, "-o", tmp_path / "broken", "--resume")
    assert weights(tmp_path / "broken") == weights(tmp_path / "unbroken")


def test_a_run_does_not_go_on_in_another_precision_than_it_began(
    on_cuda: Run,
    scripts: Path,
    environment: dict[str, str],
    model: Path,
    pairs: Path,
    tmp_path: Path,
):
    run = ("--model", model, *LONG, pairs)
    kill(scripts, environment, tmp_path / "begun", *run)
    refused = on_cuda("dial-train", *run, "-o", tmp_path / "begun", "--resume", code=2)
    assert b"--precision was float32, is bfloat16" in refused.stderr
    on_cuda("dial-train", *run, "-o", tmp_path / "begun", "--resume", "--precision", "float32")


@pytest.mark.parametrize(("precision", "near"), [("float32", 1e-5), ("bfloat16", 2e-2)])
def test_embeddings_are_those_of_the_cpu(
    precision: str,
    near: float,
    on_cuda: Run,
    scripts: Path,
    environment: dict[str, str],
    model: Path,
    pairs: Path,
    tmp_path: Path,
):
    run = ("--model", model, "--field", "context,response", "--normalize", pairs, "-o")
    there = (tmp_path / "cuda.parquet", "--device", "cuda", "--precision", precision)
    on_cuda("dial-embed", *run, *there)
    command = [scripts / "dial-embed", *run, tmp_path / "cpu.parquet"]
    subprocess.run(list(map(str, command)), check=True, env=environment)
    for column in ("context_embedding", "response_embedding"):
        cuda, cpu = (
            np.stack(pq.read_table(tmp_path / f"{name}.parquet")[column].to_numpy())
            for name in ("cuda", "cpu")
        )
        np.testing.assert_allclose(cuda, cpu, atol=near)


def test_fine_tuning_and_learning_curves_run_on_it(
    on_cuda: Run, model: Path, intents: Path, pairs: Path, tmp_path: Path
):
    tuned = on_cuda(*TUNE, "--epochs", 2, "--model", model, intents)
    assert b"accuracy" in tuned.stdout
    kept = shlex.split("--snapshot-every 2 --device cuda -o")
    on_cuda("dial-train", "--model", model, *FEW, *kept, tmp_path / "run", pairs)
    curve = on_cuda(
        "dial-eval", "curve", "--intent", intents, "--device", "cuda", tmp_path / "run", "--json"
    )
    assert curve.stdout.count(b"accuracy") >= 2


def test_a_device_that_is_not_there_is_refused_in_one_line(
    on_cuda: Run, model: Path, pairs: Path, tmp_path: Path
):
    run = ("--model", model, "--device", "cuda:7", "-o", tmp_path / "model", pairs)
    done = on_cuda("dial-train", *run, code=2)
    assert done.stderr.decode().startswith("dial-train: --device cuda:7: not available here")
