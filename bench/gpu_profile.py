"""Where a GPU's time goes: steps and embedding as they are and without one thing, and profiles.

python bench/gpu_profile.py [texts.jsonl] [--model DIR] [--to FOLDER]

Prints the milliseconds of a step of DSE (the least of some runs) and those of embedding, each
variant after the others in one process; then writes of each, as it is, what its kernels take and
what keeps Python.
"""

from __future__ import annotations

import argparse
import cProfile
import io
import pstats
import tempfile
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any
from unittest.mock import patch

import embed
import gpu
import torch
import train
from inputs import DIALOGUES, default_model, read_texts
from torch.profiler import ProfilerActivity, profile

from dialtools.encoder import blocks, lowered

Work = Callable[[], object]


def variants() -> dict[str, AbstractContextManager[Any]]:
    """Return what a run is tried without."""
    rooms = {f"blocks of {room} alone": {room: cost} for room, cost in blocks.COSTS.items()}
    costs = rooms | {"no blocks": {}}
    return {
        "as it is": nullcontext(),
        **{name: patch.object(blocks, "COSTS", cost) for name, cost in costs.items()},
        "autocast": patch.object(lowered, "called", _autocast),
    }


def _autocast(backbone: Callable[..., Any], dtype: torch.dtype, given: dict[str, Any]) -> Any:
    """Let autocast cast weights, layer by layer, as it would without us."""
    return backbone(**given)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("texts", nargs="?", default=DIALOGUES, type=Path)
    parser.add_argument("--model", default=default_model())
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--precision", default=gpu.PRECISION)
    parser.add_argument("-n", type=int, default=100_000, help="texts to embed")
    parser.add_argument("--batch-size", type=int, default=1024)
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--to", type=Path, default=Path("gpu-profile"), help="folder of profiles")
    options = parser.parse_args()
    options.to.mkdir(parents=True, exist_ok=True)
    print(f"{gpu.device_name(options.device)}, torch {torch.__version__}, {options.precision}\n")
    print("| model | variant | ms a step | ms to embed |\n| --- | --- | ---: | ---: |")
    with tempfile.TemporaryDirectory() as folder:
        shape = gpu.bert_base(Path(folder) / "bert", options.model)
        for name, model in {"BERT-base": shape, "MiniLM": options.model}.items():
            options.model = model
            looked_into(name, options, Path(folder) / name)


def looked_into(name: str, options: argparse.Namespace, folder: Path) -> None:
    """Print rows of a model and write its profiles."""
    pairs = train.pairs_of(options)
    folder.mkdir()
    steps = train.ours(options, pairs, folder, options.precision, method="dse")
    texts = list(islice(gpu.distinct(read_texts(options.texts)), options.n))
    encoder = embed.opened(options, options.precision)
    embedding = partial(embed.embedded, encoder, texts, options.precision)
    for variant, without in variants().items():
        with without:
            step = _least(steps, options) / options.steps
            whole = _least(embedding, options)
        print(f"| {name} | {variant} | {step:.1f} | {whole:.0f} |", flush=True)
    for what, work in {"steps": steps, "embedding": embedding}.items():
        (options.to / f"{name}-{what}.txt").write_text(_profiles(work, options.device))


def _least(work: Work, options: argparse.Namespace) -> float:
    """Return the milliseconds of the fastest run, after one that warms up."""
    seconds = [gpu.timed(work, options.device) for _ in range(1 + options.runs)]
    return 1000 * min(seconds[1:])


def _profiles(work: Work, device: str) -> str:
    """Return what kernels, operators and Python functions take."""
    text = io.StringIO()
    python = cProfile.Profile()
    python.runcall(gpu.timed, work, device)
    for order in ("tottime", "cumtime"):
        pstats.Stats(python, stream=text).sort_stats(order).print_stats(40)
    gpus = [] if device == "cpu" else [ProfilerActivity.CUDA]
    with profile(activities=[ProfilerActivity.CPU, *gpus]) as seen:
        gpu.timed(work, device)
    averages = seen.key_averages()
    for order in ("self_device_time_total", "self_cpu_time_total"):
        text.write(averages.table(sort_by=order, row_limit=40, max_name_column_width=90))
    return text.getvalue()


if __name__ == "__main__":
    main()
