"""Few-shot intent, several runs: each text embedded once, against DSE's evaluation script.

That one encodes the support and the test set anew for every run, in file order, batches padded to
their longest text; the row below it does the same through sentence-transformers, which sorts by
length.

python bench/eval.py [labelled.jsonl]: records with text, label and split (train, test).
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import torch
from embed import embedded, opened
from inputs import EXAMPLES, default_model, read_records
from sentence_transformers import SentenceTransformer
from side_by_side import compare

from dialtools.encoder.encoder import Encoder
from dialtools.encoder.loading import load_encoder
from dialtools.eval.labelled import Labelled
from dialtools.eval.tasks.intent import prototype_hits
from dialtools.metrics.episodes import sample
from dialtools.metrics.space import unit

PEER = "reference procedure"
SHOTS = (1, 5)
MAX_LENGTH = 64  # tokens, and
BATCH = 100  # texts, as the reference has them

Encode = Callable[[list[str]], np.ndarray]


@dataclass(frozen=True)
class Part:
    """Texts and their labels."""

    texts: list[str]
    labels: list[str]


def read_part(path: Path, split: str) -> Part:
    rows = [row for row in read_records(path) if row.get("split") == split]
    return Part([row["text"] for row in rows], [row["label"] for row in rows])


def ours(train: Part, test: Part, options: argparse.Namespace, precision: str) -> None:
    """Load the model and embed both parts once, then score all episodes."""
    encoder = opened(options, precision)
    names = sorted(set(train.labels))
    known, asked = (
        Labelled(embedded(encoder, part.texts, precision, MAX_LENGTH), part.labels)
        for part in (train, test)
    )
    truth = asked.classes(names)
    for shots in SHOTS:
        for seed in range(options.episodes):
            support = sample(train.labels, shots, seed=seed).train
            prototype_hits(known, asked, names, support, truth)


def used(train: Part, episodes: int) -> Part:
    """Return the training rows that an episode draws: what there is to embed, were nothing else.

    Scores of episodes over these rows alone are no others' (rows are drawn anew); times are.
    """
    drawn = (sample(train.labels, n, seed=seed).train for n in SHOTS for seed in range(episodes))
    rows = sorted({int(row) for rows in drawn for row in rows})
    return Part([train.texts[row] for row in rows], [train.labels[row] for row in rows])


def reference(train: Part, test: Part, encode: Encode, episodes: int) -> None:
    """Encode the support and the test set for every episode."""
    names = sorted(set(train.labels))
    for shots in SHOTS:
        for seed in range(episodes):
            chosen = sample(train.labels, shots, seed=seed).train
            labels = np.array([train.labels[i] for i in chosen])
            support = unit(encode([train.texts[i] for i in chosen]))
            queries = unit(encode(test.texts))
            prototypes = np.stack([support[labels == name].mean(0) for name in names])
            (prototypes @ queries.T).argmax(0)


def encode_as_published(encoder: Encoder, texts: list[str]) -> np.ndarray:
    """Encode texts in the order they come, each batch padded to its longest text."""
    parts = []
    cut = {"truncation": True, "max_length": MAX_LENGTH}
    for start in range(0, len(texts), BATCH):
        some = texts[start : start + BATCH]
        batch = encoder.tokenizer(some, padding=True, return_tensors="pt", **cut)
        with torch.no_grad():
            tokens = encoder.backbone(**batch).last_hidden_state
        mask = batch["attention_mask"].unsqueeze(-1)
        parts.append(((tokens * mask).sum(1) / mask.sum(1)).numpy())
    return np.concatenate(parts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("labelled", nargs="?", default=EXAMPLES / "intents.jsonl.gz", type=Path)
    parser.add_argument("--model", default=default_model())
    parser.add_argument("--episodes", type=int, default=10)
    few = "timed episodes of the reference, scaled up"
    parser.add_argument("--reference-episodes", type=int, default=2, help=few)
    parser.add_argument("--runs", type=int, default=1)
    options = parser.parse_args(namespace=argparse.Namespace(device="cpu"))
    torch.set_num_threads(1)
    parts = [read_part(options.labelled, split) for split in ("train", "test")]
    encoder = load_encoder(options.model)
    peer = SentenceTransformer(options.model, device="cpu")

    drawn = used(parts[0], options.episodes), parts[1]
    timed = options.reference_episodes
    as_published = partial(encode_as_published, encoder)
    sorted_by_length = partial(peer.encode, batch_size=BATCH)
    rows = {
        PEER: partial(reference, *parts, as_published, timed),
        "the same, sentence-transformers": partial(reference, *parts, sorted_by_length, timed),
        "dial-embed + dial-eval": partial(ours, *parts, options, "float32"),
        "the same, bfloat16": partial(ours, *parts, options, "bfloat16"),
        "float32, rows of the episodes alone": partial(ours, *drawn, options, "float32"),
    }
    print(f"times of the first two rows are of {timed} episodes:", end=" ")
    print(f"multiply their ratio to ours by {options.episodes / timed:g}")
    compare(rows, peer=PEER, runs=options.runs)


if __name__ == "__main__":
    main()
