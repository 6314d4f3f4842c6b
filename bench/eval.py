"""Few-shot intent, several runs: each text embedded once, against the procedure of DSE's evaluation script.

That one encodes the support and the test set anew for every run, in file order, batches padded to
their longest text; the row below it does the same through sentence-transformers, which sorts by
length.

python bench/eval.py [labelled.jsonl]: records with text, label and split (train, test).
"""

from __future__ import annotations

import argparse
import gzip
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import torch
from embed import default_model
from side_by_side import compare

from dialtools.embed.shard import Settings, encode_turns
from dialtools.encoder.encoder import Encoder
from dialtools.eval.labelled import Labelled
from dialtools.eval.tasks.intent import prototype_hits
from dialtools.metrics.episodes import sample
from dialtools.metrics.space import unit


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "labelled",
        nargs="?",
        default=Path(__file__).parents[1] / "examples/intents.jsonl.gz",
        type=Path,
    )
    parser.add_argument("--model", default=default_model())
    parser.add_argument("--episodes", type=int, default=10)
    parser.add_argument(
        "--reference-episodes", type=int, default=2, help="timed runs of the reference, scaled up"
    )
    parser.add_argument("--runs", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(1)
    from sentence_transformers import SentenceTransformer

    opened = (
        gzip.open(options.labelled, "rt")
        if options.labelled.suffix == ".gz"
        else options.labelled.open()
    )
    rows = [json.loads(line) for line in opened]
    train, test = ([r for r in rows if r.get("split") == s] for s in ("train", "test"))
    labels = [r["label"] for r in train]
    names = sorted(set(labels))
    encoder, peer = Encoder.load(options.model), SentenceTransformer(options.model, device="cpu")

    def ours(precision: str) -> None:
        settings = Settings(
            max_length=64,
            normalize=True,
            batch_tokens=1024,
            precision=precision,
            float16_round=False,
        )
        known, asked = (
            Labelled(
                encode_turns(
                    encoder, [((r["text"],), None) for r in part], settings, lambda n: None
                ).vectors,
                [r["label"] for r in part],
            )
            for part in (train, test)
        )
        for shots in (1, 5):
            for seed in range(options.episodes):
                prototype_hits(
                    known,
                    asked,
                    names,
                    sample(labels, shots, seed=seed).train,
                    asked.classes(names),
                )

    def as_published(texts: list[str]) -> np.ndarray:
        parts = []
        for start in range(0, len(texts), 100):
            batch = encoder.tokenizer(
                texts[start : start + 100],
                padding=True,
                truncation=True,
                max_length=64,
                return_tensors="pt",
            )
            with torch.no_grad():
                tokens = encoder.backbone(**batch).last_hidden_state
            mask = batch["attention_mask"].unsqueeze(-1)
            parts.append(((tokens * mask).sum(1) / mask.sum(1)).numpy())
        return np.concatenate(parts)

    def reference(encode: Callable[[list[str]], np.ndarray]) -> None:
        for shots in (1, 5):
            for seed in range(options.reference_episodes):
                chosen = sample(labels, shots, seed=seed).train
                support = unit(encode([train[i]["text"] for i in chosen]))
                queries = unit(encode([r["text"] for r in test]))
                np.stack(
                    [support[[labels[i] == name for i in chosen]].mean(0) for name in names]
                ) @ queries.T

    factor = options.episodes / options.reference_episodes
    print(
        f"times of the first two rows are of {options.reference_episodes} episodes: multiply their ratio to ours by {factor:g}"
    )
    compare(
        {
            "reference procedure": partial(reference, as_published),
            "the same, sentence-transformers": partial(
                reference, partial(peer.encode, batch_size=100)
            ),
            "dial-embed + dial-eval": partial(ours, "float32"),
            "the same, bfloat16": partial(ours, "bfloat16"),
        },
        peer="reference procedure",
        runs=options.runs,
    )


if __name__ == "__main__":
    main()
