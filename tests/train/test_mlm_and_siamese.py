"""Domain adaptation by masked words, and the siamese baselines."""

from __future__ import annotations

import json
import shlex
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from pair_corpus import Train, as_lines, pair_records, steps

from dialtools.train.objectives.mlm import Hiding, WordHead, hide, pretrained_head


def test_a_share_of_the_words_is_hidden_80_10_10():
    draw = np.random.default_rng(0)
    sequence = np.array([1, *range(10, 50), 2])
    masked = kept = 0
    for _ in range(2000):
        hidden, places = hide(sequence, draw, Hiding(0.15, 10, [0, 1, 2, 3], 3, words=10_000))
        assert len(set(places)) == 6 and not {0, len(sequence) - 1} & set(places)
        untouched = np.setdiff1d(np.arange(len(sequence)), places)
        assert (hidden[untouched] == sequence[untouched]).all()
        masked += (hidden[places] == 3).sum()
        kept += (hidden[places] == sequence[places]).sum()
    assert masked / 12_000 == pytest.approx(0.8, abs=0.015)
    assert kept / 12_000 == pytest.approx(0.1, abs=0.012)


@pytest.mark.parametrize("kind", ["bert", "roberta"])
def test_the_head_of_a_checkpoint_is_taken_over(kind: str, tmp_path: Path):
    """The same logits as transformers' masked language model."""
    from transformers import BertConfig, BertForMaskedLM, RobertaConfig, RobertaForMaskedLM

    shape = {
        "vocab_size": 50,
        "hidden_size": 16,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "intermediate_size": 20,
    }
    model = (
        BertForMaskedLM(BertConfig(**shape))
        if kind == "bert"
        else RobertaForMaskedLM(RobertaConfig(**shape))
    ).eval()
    for name, value in model.named_parameters():
        if name.endswith(("predictions.bias", "lm_head.bias")):
            torch.nn.init.normal_(value)
    model.save_pretrained(tmp_path)
    words = model.get_input_embeddings()
    head = WordHead(words, 16)
    assert not head.bias.any(), "every word is as likely at first"
    head.load_state_dict(pretrained_head(str(tmp_path)))
    ids = torch.arange(5, 12)[None]
    with torch.no_grad():
        hidden = model.base_model(input_ids=ids).last_hidden_state
        torch.testing.assert_close(
            head(hidden[0], words.weight), model(input_ids=ids).logits[0], rtol=1e-4, atol=1e-5
        )


def test_words_are_guessed_by_a_model_whose_embeddings_are_narrower_than_its_layers(
    train: Train, pairs: Path, model: Path, tmp_path: Path
):
    """ELECTRA's, ALBERT's and MobileBERT's are."""
    from transformers import AutoTokenizer, ElectraConfig, ElectraModel

    start, words = tmp_path / "start", AutoTokenizer.from_pretrained(model)
    layers = {"num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
    sizes = {"vocab_size": len(words), "embedding_size": 16, "hidden_size": 32, **layers}
    ElectraModel(ElectraConfig(**sizes)).save_pretrained(start)
    words.save_pretrained(start)
    ask = shlex.split("--objective mlm --max-steps 1 --threads 1 --device cpu")
    done = train(*ask, "--model", start, "-o", tmp_path / "adapted", pairs, small=False)
    assert b"has no head over words: a new one learns with it" in done.stderr


def test_masked_words_are_learnt_from_utterances_and_the_model_goes_on_to_be_contrasted(
    train: Train, tmp_path: Path
):
    texts = [{"text": row["response"]} for row in pair_records(60)]
    (tmp_path / "texts.jsonl").write_bytes(as_lines(texts))
    train(
        *shlex.split("--objective mlm --epochs 6 --batch-size 32 -o"),
        tmp_path / "adapted",
        tmp_path / "texts.jsonl",
    )
    log = steps(tmp_path / "adapted" / "train-log.jsonl")
    assert np.mean([row["loss"] for row in log[-10:]]) < 0.7 * log[0]["loss"]
    assert (
        json.loads((tmp_path / "adapted" / "dialtools.json").read_text())["options"]["method"]
        == "mlm"
    )
    train(
        "--method",
        "siamese-s",
        "--model",
        tmp_path / "adapted",
        *shlex.split("--freeze 0 --negatives 2 --max-steps 2 -o"),
        tmp_path / "model",
        stdin=as_lines(pair_records(30, windows=(1,))),
        small=False,
    )


@pytest.mark.parametrize(
    "flags", [("siamese-s", "--negatives", 2), ("siamese-m", "--negatives", "all")]
)
def test_siamese_nets_learn(flags: tuple, train: Train, tmp_path: Path):
    rows = pair_records(80, windows=(2,))
    train(
        "--method",
        *flags,
        *shlex.split("--epochs 6 --batch-size 16 -o"),
        tmp_path / "model",
        stdin=as_lines(rows),
    )
    log = steps(tmp_path / "model" / "train-log.jsonl")
    assert np.mean([row["loss"] for row in log[-10:]]) < 0.9 * np.mean(
        [row["loss"] for row in log[:10]]
    )


@pytest.mark.parametrize(("method", "longest"), [("mlm", 90), ("dse", 270)])
def test_a_model_reads_as_many_tokens_as_before_or_as_it_has_learnt_to_read(
    method: str, longest: int, train: Train, model: Path, pairs: Path, tmp_path: Path
):
    own, limit = tmp_path / "own", "sentence_bert_config.json"
    shutil.copytree(model, own)
    (own / limit).write_text('{"max_seq_length": 40}')
    line = ("--model", own, "--method", method, "--max-length", 90, "--max-steps", 0)
    train(*line, "-o", tmp_path / "m", pairs, small=False)
    assert json.loads((tmp_path / "m" / limit).read_text())["max_seq_length"] == longest
