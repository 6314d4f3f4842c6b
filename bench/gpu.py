"""What a GPU does with dialtools, beside sentence-transformers: a row of a table as each is done.

python bench/gpu.py [texts.jsonl] [--model DIR] [--device cpu -n 200 --batch-size 16 --steps 2]

Of the model, and of random weights in BERT base's shape: texts embedded, and pairs learnt from, in
bfloat16. MFU is the share of the device's peak that the layers of the real tokens take: two
operations a weight and token forward, six with backward. GiB are those beside what lay on the
device before. Then how long DSE's own run would take.
"""

from __future__ import annotations

import argparse
import gc
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import embed
import torch
import train
from inputs import DIALOGUES, default_model, read_texts
from transformers import AutoTokenizer, BertConfig, BertModel

from dialtools.encoder.encoder import Encoder
from dialtools.encoder.loading import load_encoder
from dialtools.encoder.placed import placed
from dialtools.encoder.tokens import tokenise
from dialtools.metrics.space import unit

PEAKS = {"H100": 989e12, "H200": 989e12, "A100": 312e12, "L4": 121e12, "A10": 125e12}
"""Operations a second in bfloat16, dense, of tensor cores; by a part of the device's name."""
PUBLISHED_STEPS = 900_000 * 15 / 1024  # DSE's pairs, epochs and batch
PRECISION = "bfloat16"
PEER = "sentence-transformers"
PEER_BATCH = 2048
"""Texts that it takes at once: some 65,000 tokens, as many as we do."""


class Job(NamedTuple):
    """Something to do on the device.

    Attributes:
        tokens: real ones that are computed.
        passes: operations a weight and token.
    """

    name: str
    work: Callable[[], object]
    tokens: int
    passes: int


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("texts", nargs="?", default=DIALOGUES, type=Path)
    parser.add_argument("--model", help="default: the weights of the test extra")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("-n", type=int, default=200_000, help="texts to embed")
    parser.add_argument("--batch-size", type=int, default=1024)
    parser.add_argument("--steps", type=int, default=20)
    options = parser.parse_args()
    options.model = options.model or default_model()
    print(f"{device_name(options.device)}, torch {torch.__version__}, {PRECISION}\n")
    print("| model | what | seconds | tokens/s | MFU | GiB | least cosine |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: |")
    with tempfile.TemporaryDirectory() as folder:
        shape = bert_base(Path(folder) / "bert", options.model)
        for name, model in {"MiniLM": options.model, "BERT base, random": shape}.items():
            options.model = model
            embedding_rows(name, options)
            training_rows(name, options, Path(folder) / name[:4])


def device_name(device: str) -> str:
    return "a CPU" if device == "cpu" else torch.cuda.get_device_name(device)


def bert_base(folder: Path, like: str) -> str:
    """Write random weights of BERT base's shape, with the tokenizer of another model."""
    torch.manual_seed(0)
    tokenizer = AutoTokenizer.from_pretrained(like)
    tokenizer.save_pretrained(folder)
    BertModel(BertConfig(vocab_size=len(tokenizer))).save_pretrained(folder)
    return str(folder)


def embedding_rows(name: str, options: argparse.Namespace) -> None:
    """Print rows of embedding: distinct texts, by the peer and by us."""
    texts = list(islice(distinct(read_texts(options.texts)), options.n))
    encoder = embed.opened(options, PRECISION)
    tokens = token_count(encoder, texts, encoder.max_length)
    few = texts[:1000]
    exact = unit(embed.peer(options, "float32").encode(few))
    ours = partial(embed.embedded, encoder, precision=PRECISION)
    theirs = partial(embed.peer(options, PRECISION).encode, batch_size=PEER_BATCH)
    for who, work in {PEER: theirs, f"dial-embed, {padding(encoder)}": ours}.items():
        least = (unit(work(few)) * exact).sum(1).min()
        job = Job(f"{who}, {len(texts):,} texts", partial(work, texts), tokens, 2)
        row(name, job, encoder, options.device, f"{least:.5f}")


def distinct(texts: list[str]) -> Iterator[str]:
    """Yield texts, none twice: turns, then two turns at once, three, and so on."""
    seen: set[str] = set()
    for turns in range(1, len(texts)):
        for start in range(len(texts) - turns):
            text = " ".join(texts[start : start + turns])
            if text not in seen:
                seen.add(text)
                yield text


def padding(encoder: Encoder) -> str:
    return "without padding" if encoder.is_packed else "padded"


def training_rows(name: str, options: argparse.Namespace, folder: Path) -> None:
    """Print rows of training: plain contrast by the peer and by us, and DSE's own recipe."""
    pairs = train.pairs_of(options)
    folder.mkdir()
    encoder = placed(load_encoder(options.model).train(), torch.device(options.device), PRECISION)
    texts = [text for pair in pairs for text in pair]
    tokens = token_count(encoder, texts, train.MAX_LENGTH)
    what = f"{options.steps} steps of {options.batch_size}"
    try:
        theirs = train.peer(options, pairs, folder, PRECISION, [])
        row(name, Job(f"its trainer, {what}", theirs, tokens, 6), encoder, options.device)
    except ImportError as error:
        print(f"| {name} | its trainer: {error} | | | | | |", flush=True)
    ours = train.ours(options, pairs, folder, PRECISION)
    job = Job(f"dial-train, {padding(encoder)}, {what}", ours, tokens, 6)
    row(name, job, encoder, options.device)
    dse = train.ours(options, pairs, folder / "dse", PRECISION, method="dse")
    job = Job(f"the same, `--method dse`, {what}", dse, tokens, 6)
    seconds = row(name, job, encoder, options.device)
    minutes = PUBLISHED_STEPS * seconds / options.steps / 60
    whole = "900,000 pairs x 15 epochs in batches of 1,024, by that"
    print(f"| {name} | {whole} | {minutes:,.1f} min | | | | |", flush=True)


def token_count(encoder: Encoder, texts: list[str], longest: int) -> int:
    """Return the tokens of texts, special ones too, none beyond the longest of a text."""
    _, ends = tokenise(encoder.tokenizer, texts)
    special = len(encoder.special.prefix) + len(encoder.special.suffix)
    sizes = torch.from_numpy(ends).diff() + special
    return int(sizes.clamp(max=longest).sum())


def row(model: str, job: Job, encoder: Encoder, device: str, cosine: str = "") -> float:
    """Do a job twice, print what the second time took, and return its seconds."""
    seconds = timed(job.work, device)
    on_gpu = device != "cpu"
    before = 0
    if on_gpu:
        gc.collect()
        torch.cuda.reset_peak_memory_stats(device)
        before = torch.cuda.memory_allocated(device)
    seconds = timed(job.work, device)
    peak = next((rate for name, rate in PEAKS.items() if name in device_name(device)), None)
    weights = encoder.backbone.num_parameters(exclude_embeddings=True)
    done = job.passes * weights * job.tokens / seconds
    used = f"{done / peak:.1%}" if peak else ""
    peak_bytes = torch.cuda.max_memory_allocated(device) - before if on_gpu else 0
    memory = f"{peak_bytes / 2**30:.1f}" if on_gpu else ""
    rate = f"{job.tokens / seconds:,.0f}"
    print(
        f"| {model} | {job.name} | {seconds:.2f} | {rate} | {used} | {memory} | {cosine} |",
        flush=True,
    )
    return seconds


def timed(work: Callable[[], object], device: str) -> float:
    """Return the seconds that a call says it took, or those that it took."""
    train.waited_for(device)
    start = time.perf_counter()
    said = work()
    train.waited_for(device)
    return said if isinstance(said, float) else time.perf_counter() - start


if __name__ == "__main__":
    main()
