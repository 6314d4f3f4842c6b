"""dial-embed's engine against sentence-transformers' ONNX and OpenVINO back ends.

python bench/backends.py [texts.jsonl] [--model DIR] [--work DIR]

One thread each; the peers' models are exported and quantised in WORK, outside the clock. Needs what
`pip install "sentence-transformers[onnx,openvino]<6"` brings, in an environment of its own: its
ONNX back end asks for transformers 4.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from tempfile import gettempdir

import numpy as np
import onnxruntime
import torch
from embed import embedded
from inputs import DIALOGUES, default_model, read_texts
from sentence_transformers import SentenceTransformer, export_dynamic_quantized_onnx_model

from dialtools.encoder.loading import load_encoder

Embed = Callable[[list[str]], np.ndarray]


def onnx(model: str, file: str) -> Embed:
    """Return encode of the ONNX back end on one thread."""
    session = onnxruntime.SessionOptions()
    session.intra_op_num_threads = session.inter_op_num_threads = 1
    kwargs = {"file_name": file, "session_options": session, "provider": "CPUExecutionProvider"}
    peer = SentenceTransformer(model, device="cpu", backend="onnx", model_kwargs=kwargs)
    return partial(peer.encode, normalize_embeddings=True)


def openvino(model: str, **kwargs: object) -> Embed:
    """Return encode of the OpenVINO back end on one thread."""
    threads = {"INFERENCE_NUM_THREADS": 1, "INFERENCE_PRECISION_HINT": "f32"}
    kwargs = {"ov_config": threads, **kwargs}
    peer = SentenceTransformer(model, device="cpu", backend="openvino", model_kwargs=kwargs)
    return partial(peer.encode, normalize_embeddings=True)


def exported(model: str, work: Path) -> str:
    """Export a model to ONNX, float32 and int8, and to OpenVINO, unless that is done."""
    folder = str(work)
    if not (work / "onnx" / "model.onnx").is_file():
        peer = SentenceTransformer(model, device="cpu", backend="onnx")
        peer.save_pretrained(folder)
        export_dynamic_quantized_onnx_model(peer, "avx512_vnni", folder)
    return folder


def peers(model: str, work: Path) -> Iterator[tuple[str, Embed]]:
    """Yield the peers that are there, by name."""
    from optimum.intel import OVWeightQuantizationConfig

    torch_peer = SentenceTransformer(model, device="cpu")
    yield "sentence-transformers, torch", partial(torch_peer.encode, normalize_embeddings=True)
    folder = exported(model, work)
    yield "the same, ONNX float32", onnx(folder, "onnx/model.onnx")
    yield "the same, ONNX int8", onnx(folder, "onnx/model_qint8_avx512_vnni.onnx")
    yield "the same, OpenVINO float32", openvino(model)
    eight = OVWeightQuantizationConfig(bits=8)
    yield "the same, OpenVINO, int8 weights", openvino(model, quantization_config=eight)


def timed(embed: Embed, texts: list[str]) -> tuple[float, float]:
    """Return wall and CPU seconds."""
    wall, cpu = time.perf_counter(), time.process_time()
    embed(texts)
    return time.perf_counter() - wall, time.process_time() - cpu


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("texts", nargs="?", default=DIALOGUES, type=Path)
    parser.add_argument("--model", default=default_model())
    parser.add_argument("--work", default=Path(gettempdir()) / "exported", type=Path)
    parser.add_argument("-n", type=int, default=1000)
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    torch.set_num_threads(1)
    texts = read_texts(options.texts, options.n)
    encoder = load_encoder(options.model)
    ours = {
        f"dial-embed {name}": partial(embedded, encoder, precision=name)
        for name in ("float32", "bfloat16")
    }
    rows = {**ours, **dict(peers(options.model, options.work))}
    whole = rows["dial-embed float32"](texts)
    least = {name: (embed(texts) * whole).sum(1).min() for name, embed in rows.items()}
    taken = {name: [] for name in rows}
    for _ in range(options.runs):
        for name, embed in rows.items():
            taken[name].append(timed(embed, texts))
    for name, runs in taken.items():
        wall, cpu = (statistics.median(column) for column in zip(*runs, strict=True))
        speed = f"{len(texts) / wall:8,.0f} texts/s {len(texts) / cpu:8,.0f} a CPU second"
        print(f"{name:34} {speed}  least cosine {least[name]:.5f}")


if __name__ == "__main__":
    main()
