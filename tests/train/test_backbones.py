"""T5 encoders and decoder-only backbones: trained, saved, and read by others."""

from __future__ import annotations

import shlex
from pathlib import Path

import numpy as np
import pytest
import torch
from at_work import ended
from pair_corpus import Train, pair_records, steps

TEXTS = [
    "i want a thai restaurant in oslo",
    "yes",
    "there are 4 sushi places in lima, which day?",
    "on friday please",
]


def tokenizer(vocabulary: int):
    """A byte-level tokenizer like GPT-2's: no separator, no padding token, padding on the left."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=["<|end|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )
    bpe.train_from_iterator((row["response"] for row in pair_records(20)), trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=bpe, eos_token="<|end|>", bos_token="<|end|>", padding_side="left"
    )


def backbone(family: str, n: int):
    """A tiny model with random weights; of t5-encoder the half that `T5EncoderModel` saves."""
    import transformers as t

    t5 = t.T5Config(
        vocab_size=n,
        d_model=32,
        num_layers=1,
        num_heads=2,
        d_kv=16,
        d_ff=32,
        decoder_start_token_id=0,
    )
    causal = {
        "vocab_size": n + 8,
        "hidden_size": 32,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "num_key_value_heads": 1,
        "intermediate_size": 32,
    }
    torch.manual_seed(0)
    return {
        "t5": lambda: t.T5ForConditionalGeneration(t5),
        "t5-encoder": lambda: t.T5EncoderModel(t5),
        "gpt2": lambda: t.GPT2LMHeadModel(
            t.GPT2Config(vocab_size=n, n_embd=32, n_layer=2, n_head=2)
        ),
        "qwen2": lambda: t.Qwen2ForCausalLM(t.Qwen2Config(**causal)),
        "llama": lambda: t.LlamaModel(t.LlamaConfig(**causal)),
    }[family]()


POOLING = {"t5": "mean", "t5-encoder": "mean", "gpt2": "last", "qwen2": "last", "llama": "last"}
RUN = shlex.split(
    "--batch-size 16 --max-steps 12 --lr 3e-3 --head-lr-multiplier 1 --threads 1 --device cpu"
)


@pytest.mark.parametrize(("family", "pooling"), POOLING.items())
def test_a_backbone_trains_and_its_directory_gives_the_same_vectors_everywhere(
    family: str,
    pooling: str,
    train: Train,
    scripts: Path,
    environment: dict[str, str],
    pairs: Path,
    tmp_path: Path,
):
    from sentence_transformers import SentenceTransformer

    words = tokenizer(400)
    words.save_pretrained(tmp_path / "start")
    backbone(family, len(words)).save_pretrained(tmp_path / "start")
    model = tmp_path / "model"
    start = ("--method", "wmdc", "--model", tmp_path / "start", "--pooling", pooling)
    train(*start, *RUN, "-o", model, pairs, small=False)
    log = steps(model / "train-log.jsonl")
    assert len(log) == 12
    assert log[-1]["loss"] < log[0]["loss"]

    embed = [scripts / "dial-embed", "--model", model, "--from", "text", "-o", tmp_path / "e.npy"]
    lines = "\n".join(TEXTS).encode()
    ended(*embed, input=lines, env=environment)
    ours = np.load(tmp_path / "e.npy")
    theirs = SentenceTransformer(str(model), device="cpu").encode(TEXTS)
    np.testing.assert_allclose(ours, theirs, atol=1e-5)
    np.testing.assert_allclose(ours, alone(family, pooling, model), atol=1e-5)


def alone(family: str, pooling: str, model: Path) -> np.ndarray:
    """Vectors of each text alone: what it is batched with, and padding, must not matter."""
    from transformers import AutoModel, AutoModelForTextEncoding, AutoTokenizer

    kind = AutoModelForTextEncoding if family.startswith("t5") else AutoModel
    saved = kind.from_pretrained(model).eval()
    tokens = AutoTokenizer.from_pretrained(model)
    ids = [tokens(text, return_tensors="pt")["input_ids"] for text in TEXTS]
    with torch.no_grad():
        hidden = [saved(input_ids=row).last_hidden_state[0] for row in ids]
    return np.stack([(rows[-1] if pooling == "last" else rows.mean(0)).numpy() for rows in hidden])


def test_a_tokenizer_of_another_model_is_told(train: Train, pairs: Path, tmp_path: Path):
    tokenizer(400).save_pretrained(tmp_path)
    backbone("gpt2", 100).save_pretrained(tmp_path)
    done = train("--model", tmp_path, "-o", tmp_path / "model", pairs, code=1, small=False)
    assert b"100" in done.stderr
    assert b"tokenizer" in done.stderr
    assert b"defect" not in done.stderr
