"""A dial-train step against sentence-transformers' trainer (MultipleNegativesRankingLoss).

python bench/train.py [dialogues.jsonl] [--model DIR] [--device cuda]: same model, pairs, batch,
lengths, optimiser (AdamW), loss and precision.

Both clocks run from the first step to the end of the last: batches are drawn and put together under
the clock, models, data sets, optimisers and trainers are made before it starts. What the peer's
set-up takes is printed apart.
"""

from __future__ import annotations

import argparse
import itertools
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from inputs import DIALOGUES, default_model, read_texts
from side_by_side import Run, Work, compare
from transformers import PrinterCallback, TrainerCallback

from dialtools.encoder.loading import load_encoder
from dialtools.options import Layer, resolve
from dialtools.streams.chunks import read_chunks
from dialtools.streams.policy import Policy
from dialtools.streams.sinks import write_records
from dialtools.train import prepare, recipe
from dialtools.train.data.spool import spool, tokenise_store
from dialtools.train.data.store import Store
from dialtools.train.options import TrainOptions

PEER = "sentence-transformers trainer"
MAX_LENGTH = 64
LEARNING_RATE = 2e-5
Pairs = list[tuple[str, str]]
Steps = Callable[[], float]
"""Takes the steps of a run and returns the seconds they took."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("texts", nargs="?", default=DIALOGUES, type=Path)
    parser.add_argument("--model", default=default_model())
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--steps", type=int, default=4, help="steps a run")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--device", default="cpu")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    pairs = pairs_of(options)
    set_up: list[float] = []
    print(f"{options.steps} steps of {options.batch_size} pairs, {options.threads} thread(s)")
    for precision in ("float32", "bfloat16"):
        with tempfile.TemporaryDirectory() as folder:
            rows: dict[str, Work] = {
                PEER: peer(options, pairs, Path(folder), precision, set_up),
                f"dial-train {precision}": ours(options, pairs, Path(folder), precision),
            }
            compare(rows, peer=PEER, runs=options.runs, measure=timed_by_itself)
    print(f"outside its clock, {PEER} takes {statistics.median(set_up):.2f} s to set up a run")


def pairs_of(options: argparse.Namespace) -> Pairs:
    """Return as many pairs of neighbouring turns as the steps of a run take."""
    texts = read_texts(options.texts, options.batch_size * options.steps + 1)
    return list(itertools.pairwise(texts))


def timed_by_itself(work: Work) -> Run:
    """Return the seconds that a call says its steps took."""
    seconds = work()
    assert isinstance(seconds, float)
    return Run(seconds, None)


def ours(
    options: argparse.Namespace,
    pairs: Pairs,
    folder: Path,
    precision: str,
    *,
    method: str = "simcse",
) -> Steps:
    """Return a call that takes the steps with our engine."""
    folder.mkdir(exist_ok=True)
    records = folder / f"{precision}.jsonl"
    write_records(({"context": [a], "response": b} for a, b in pairs), str(records))
    given = {
        "method": method,
        "model": options.model,
        **({"head": "none"} if method == "simcse" else {}),
        "batch-size": options.batch_size,
        "epochs": 1.0,
        "lr": LEARNING_RATE,
        "max-length": MAX_LENGTH,
        "precision": precision,
        "device": options.device,
        "grad-cache": "auto" if options.device != "cpu" else "off",
    }
    settings, _ = resolve(TrainOptions, [Layer("bench", given), *recipe.layers(given)])
    encoder = load_encoder(options.model)
    spool(folder / precision, read_chunks([str(records)]), Policy())
    tokenise_store(folder / precision, encoder.tokenizer)
    store = Store(folder / precision)
    trainer = prepare.build_trainer(encoder, store, np.arange(len(store)), settings)

    def steps() -> float:  # an epoch more: its batches have other shapes, as in a long run
        trainer.total = trainer.step + trainer.sampler.per_epoch
        start = time.perf_counter()
        for _ in trainer.steps():
            pass
        waited_for(options.device)
        return time.perf_counter() - start

    return steps


def waited_for(device: str) -> None:
    """Let a GPU end what it was given: until then no clock may stop."""
    if device != "cpu":
        torch.cuda.synchronize(device)


class Clock(TrainerCallback):
    """Runs from the first step, its batch not drawn yet, to the end of the last."""

    def __init__(self, device: str) -> None:
        self.device = device
        self.start = 0.0
        self.seconds = 0.0

    def on_train_begin(self, *_: Any, **__: Any) -> None:
        self.start = time.perf_counter()

    def on_train_end(self, *_: Any, **__: Any) -> None:
        waited_for(self.device)
        self.seconds = time.perf_counter() - self.start


def _settings(options: argparse.Namespace, folder: Path, precision: str) -> Any:
    """Return those of the peer's trainer: ours, and nothing saved, logged or reported."""
    from sentence_transformers import SentenceTransformerTrainingArguments

    return SentenceTransformerTrainingArguments(
        str(folder),
        per_device_train_batch_size=options.batch_size,
        num_train_epochs=1,
        learning_rate=LEARNING_RATE,
        report_to=[],
        save_strategy="no",
        disable_tqdm=True,
        logging_strategy="no",
        use_cpu=options.device == "cpu",
        bf16=precision == "bfloat16",
    )


def peer(
    options: argparse.Namespace, pairs: Pairs, folder: Path, precision: str, set_up: list[float]
) -> Steps:
    """Return a call that takes the steps with sentence-transformers' trainer.

    A trainer is good for one run, so each call makes one, outside the clock.

    Args:
        set_up: is given the seconds that a call took beside its steps.

    Raises:
        ImportError: where the peer, or what it trains with, is not installed.
    """
    from datasets import Dataset
    from sentence_transformers import SentenceTransformer, SentenceTransformerTrainer
    from sentence_transformers.losses import MultipleNegativesRankingLoss

    model = SentenceTransformer(options.model, device=options.device)
    model.max_seq_length = MAX_LENGTH
    anchors, positives = zip(*pairs, strict=True)
    data = Dataset.from_dict({"anchor": anchors, "positive": positives})
    loss = MultipleNegativesRankingLoss(model)
    settings = _settings(options, folder / "peer", precision)

    def steps() -> float:
        clock = Clock(options.device)
        start = time.perf_counter()
        trainer = SentenceTransformerTrainer(
            model=model, args=settings, train_dataset=data, loss=loss, callbacks=[clock]
        )
        trainer.remove_callback(PrinterCallback)
        trainer.train()
        set_up.append(time.perf_counter() - start - clock.seconds)
        return clock.seconds

    return steps


if __name__ == "__main__":
    main()
