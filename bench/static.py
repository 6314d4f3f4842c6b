"""dial-embed's engine against model2vec and sentence-transformers, on a static encoder.

python bench/static.py [texts.jsonl] [--model DIR] [--work DIR]

Without --model, model2vec distils one of the encoder that the tests use, in WORK, outside the
clock. Needs `pip install "model2vec[distill]"`.
"""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path
from tempfile import gettempdir

import torch
from embed import embedded
from inputs import DIALOGUES, default_model, read_texts
from model2vec import StaticModel
from sentence_transformers import SentenceTransformer
from side_by_side import compare

from dialtools.encoder.loading import load_encoder
from dialtools.metrics.space import unit

PEER = "model2vec encode, two processes where it sees fit"


def distilled(work: Path) -> str:
    """Return the folder of a static encoder of 256 dimensions, made once."""
    if not (work / "config.json").is_file():
        from model2vec.distill import distill

        distill(default_model(), pca_dims=256).save_pretrained(work)
    return str(work)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("texts", nargs="?", default=DIALOGUES, type=Path)
    parser.add_argument("--model")
    parser.add_argument("--work", default=Path(gettempdir()) / "bench-static", type=Path)
    parser.add_argument("-n", type=int, default=60_000)
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    torch.set_num_threads(1)
    texts = read_texts(options.texts, options.n)
    model = options.model or distilled(options.work)
    theirs, ours = StaticModel.from_pretrained(model), load_encoder(model)
    other = SentenceTransformer(model, device="cpu")
    exact = unit(theirs.encode(texts).astype("float32"))
    found = embedded(ours, texts, "float32")
    print(f"{len(texts)} texts, {len(set(texts))} distinct")
    print(f"least cosine to model2vec's {(found * exact).sum(1).min():.6f}")
    rows = {
        PEER: partial(theirs.encode, texts),
        "the same, one process": partial(theirs.encode, texts, use_multiprocessing=False),
        "sentence-transformers encode": partial(other.encode, texts, show_progress_bar=False),
        "dial-embed": partial(embedded, ours, texts, "float32"),
    }
    compare(rows, peer=PEER, runs=options.runs)


if __name__ == "__main__":
    main()
