"""dial-embed's engine against sentence-transformers.

python bench/embed.py [texts.jsonl] [--model DIR]
"""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path

import numpy as np
import torch
from inputs import DIALOGUES, default_model, read_texts
from sentence_transformers import SentenceTransformer
from side_by_side import compare

from dialtools.embed.shard import Settings, encode_turns
from dialtools.encoder.encoder import Encoder
from dialtools.encoder.loading import load_encoder

PEER = "sentence-transformers encode"
BATCH_TOKENS = 1024


def embedded(
    encoder: Encoder, texts: list[str], precision: str, max_length: int | None = None
) -> np.ndarray:
    """Return the unit vectors of texts, as dial-embed computes them."""
    settings = Settings(
        max_length=max_length or encoder.max_length,
        normalize=True,
        batch_tokens=BATCH_TOKENS,
        precision=precision,
        float16_round=False,
    )
    items = [((text,), None) for text in texts]
    return encode_turns(encoder, items, settings, lambda done: None).vectors


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("texts", nargs="?", default=DIALOGUES, type=Path)
    parser.add_argument("--model", default=default_model())
    parser.add_argument("-n", type=int, default=2000)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    texts = read_texts(options.texts, options.n)
    ours = partial(embedded, load_encoder(options.model), texts)
    peer = SentenceTransformer(options.model, device="cpu")

    theirs = peer.encode(texts, normalize_embeddings=True)
    least = {name: (ours(name) * theirs).sum(1).min() for name in ("float32", "bfloat16")}
    cosines = ", ".join(f"{name} {cosine:.6f}" for name, cosine in least.items())
    print(f"{len(texts)} texts, {len(set(texts))} distinct; least cosine: {cosines}")
    rows = {
        PEER: lambda: peer.encode(texts),
        "dial-embed float32": lambda: ours("float32"),
        "dial-embed bfloat16": lambda: ours("bfloat16"),
    }
    compare(rows, peer=PEER, runs=options.runs)


if __name__ == "__main__":
    main()
