"""A dial-train step against sentence-transformers' trainer (MultipleNegativesRankingLoss).

python bench/train.py [dialogues.jsonl] [--model DIR]: same model, pairs, batch, lengths, optimiser
(AdamW), and loss.
"""

from __future__ import annotations

import argparse
import itertools
import tempfile
from pathlib import Path

import numpy as np
import torch
from inputs import default_model, read_texts
from side_by_side import compare

from dialtools.streams.sinks import write_records


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "texts",
        nargs="?",
        default=Path(__file__).parents[1] / "examples/dialogues.jsonl.gz",
        type=Path,
    )
    parser.add_argument("--model", default=default_model())
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--steps", type=int, default=4, help="steps a run")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    texts = read_texts(options.texts, options.batch_size * options.steps + 1)
    pairs = list(itertools.pairwise(texts))
    with tempfile.TemporaryDirectory() as folder:
        rows = {"sentence-transformers trainer": peer(options, pairs, Path(folder))}
        rows |= {
            f"dial-train {p}": ours(options, pairs, Path(folder) / p, p)
            for p in ("float32", "bfloat16")
        }
        print(f"{options.steps} steps of {options.batch_size} pairs, {options.threads} thread(s)")
        compare(rows, peer="sentence-transformers trainer", runs=options.runs)


def ours(options: argparse.Namespace, pairs: list[tuple[str, str]], work: Path, precision: str):
    """Return a call that takes the steps with our engine."""
    from dialtools.encoder.encoder import Encoder
    from dialtools.streams.chunks import read_chunks
    from dialtools.streams.policy import Policy
    from dialtools.train import prepare
    from dialtools.train.data.spool import spool, tokenise_store
    from dialtools.train.data.store import Store
    from dialtools.train.options import recipe_options

    work.mkdir()
    write_records(({"context": [a], "response": b} for a, b in pairs), str(work / "pairs.jsonl"))
    settings = recipe_options(
        method="simcse",
        inputs=(str(work / "pairs.jsonl"),),
        model=options.model,
        head="none",
        batch_size=options.batch_size,
        epochs=1.0,
        lr=2e-5,
        max_length=64,
        precision=precision,
        device="cpu",
        grad_cache="off",
    )
    encoder = Encoder.load(options.model)
    spool(work / "store", read_chunks(settings.inputs), Policy())
    tokenise_store(work / "store", encoder.tokenizer)
    store = Store(work / "store")
    trainer = prepare.build_trainer(encoder, store, np.arange(len(store)), settings)

    def steps() -> None:
        trainer.step = 0
        for _ in trainer.steps():
            pass

    return steps


def peer(options: argparse.Namespace, pairs: list[tuple[str, str]], work: Path):
    """Return a call that takes the steps with sentence-transformers' trainer, its set-up left out of the time."""
    from datasets import Dataset
    from sentence_transformers import (
        SentenceTransformer,
        SentenceTransformerTrainer,
        SentenceTransformerTrainingArguments,
    )
    from sentence_transformers.losses import MultipleNegativesRankingLoss

    model = SentenceTransformer(options.model, device="cpu")
    model.max_seq_length = 64
    data = Dataset.from_dict({"anchor": [a for a, _ in pairs], "positive": [b for _, b in pairs]})
    settings = SentenceTransformerTrainingArguments(
        str(work / "peer"),
        per_device_train_batch_size=options.batch_size,
        num_train_epochs=1,
        learning_rate=2e-5,
        report_to=[],
        save_strategy="no",
        disable_tqdm=True,
        logging_strategy="no",
        use_cpu=True,
    )

    def steps() -> None:
        SentenceTransformerTrainer(
            model=model, args=settings, train_dataset=data, loss=MultipleNegativesRankingLoss(model)
        ).train()

    steps()
    return steps


if __name__ == "__main__":
    main()
