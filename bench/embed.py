"""dial-embed's engine against sentence-transformers.

python bench/embed.py [texts.jsonl] [--model DIR] [--device cuda]: each precision beside itself.
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
from dialtools.encoder.placed import placed
from dialtools.metrics.space import unit

PEER = "sentence-transformers encode"


def embedded(
    encoder: Encoder, texts: list[str], precision: str, max_length: int | None = None
) -> np.ndarray:
    """Return the unit vectors of texts, as dial-embed computes them."""
    settings = Settings(
        max_length=max_length or encoder.max_length,
        normalize=True,
        batch_tokens=encoder.batch_tokens(precision),
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
    parser.add_argument("--device", default="cpu")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    texts = read_texts(options.texts, options.n)
    print(f"{len(texts)} texts, {len(set(texts))} distinct")
    exact = unit(peer(options, "float32").encode(texts))
    for precision in ("float32", "bfloat16"):
        theirs = peer(options, precision)
        ours = partial(embedded, opened(options, precision), texts, precision)
        print(
            f"{precision}, least cosine to the peer's float32: {(ours() * exact).sum(1).min():.6f}"
        )
        rows = {PEER: partial(theirs.encode, texts), f"dial-embed {precision}": ours}
        compare(rows, peer=PEER, runs=options.runs)


def peer(options: argparse.Namespace, precision: str) -> SentenceTransformer:
    """Return the peer with its weights in a precision."""
    dtype = {"torch_dtype": getattr(torch, precision)}
    return SentenceTransformer(options.model, device=options.device, model_kwargs=dtype)


def opened(options: argparse.Namespace, precision: str) -> Encoder:
    """Return the model as dial-embed loads it."""
    encoder = load_encoder(options.model).eval()
    return placed(encoder, torch.device(options.device), precision)


if __name__ == "__main__":
    main()
