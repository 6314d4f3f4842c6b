"""TaDSE: the objective against its transcription, the slot token, the alignment layer."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import numpy as np
import pytest
import torch
from oracles import slow_template
from pair_corpus import Train, as_lines, steps, weights
from safetensors.numpy import load_file

from dialtools.encoder.alignment import load_alignment
from dialtools.encoder.loading import load_encoder
from dialtools.train.losses.template import Same, Terms, Views, template_losses

TAUS, LAMBDAS = (0.05, 0.2, 0.5), (0.7, 1.3, 0.5)
CITIES = ("rome", "oslo", "lima", "bonn", "kyiv", "cork")
FRAMES = ("fly to {}", "a room in {} please", "what is on in {}", "weather {}", "how far is {}")


@pytest.fixture
def records() -> list[dict]:
    """Thirty utterances of five templates, and two without slots."""
    rows = [
        {"text": f.format(c), "template": f.format("{SLOT}"), "label": f}
        for f in FRAMES
        for c in CITIES
    ]
    return [*rows, {"text": "hello"}, {"text": "thanks", "template": "thanks"}]


def views(seed: int = 0, n: int = 5, d: int = 6) -> list[np.ndarray]:
    draw = np.random.default_rng(seed)
    return [draw.normal(size=(n, d)) for _ in range(4)]


def of(arrays: list[np.ndarray], **kwargs: object) -> torch.Tensor:
    unit = (
        torch.nn.functional.normalize(torch.tensor(a, dtype=torch.float32), dim=1) for a in arrays
    )
    return template_losses(Views(*unit), temperature=Terms(*TAUS), share=Terms(*LAMBDAS), **kwargs)  # type: ignore[arg-type]


@pytest.mark.parametrize("negatives", ["utterances", "templates", "both"])
@pytest.mark.parametrize("texts", [(), ("vwxyv", "aabca"), ("vwwyz", "aabca")])
def test_the_objective_is_its_transcription(negatives: str, texts: tuple[str, ...]):
    arrays = views()
    same = None
    if texts:
        same = Same(*(torch.tensor([[a == b for b in side] for a in side]) for side in texts))
    slow = slow_template.losses(
        *arrays, taus=TAUS, lambdas=LAMBDAS, negatives=negatives, texts=texts or None
    )
    np.testing.assert_allclose(of(arrays, negatives=negatives, same=same), slow, rtol=1e-5)


def test_gradients_are_those_of_differences():
    inputs = [torch.tensor(a, requires_grad=True) for a in views(1, 4, 3)]

    def loss(*sides: torch.Tensor) -> torch.Tensor:
        unit = Views(*(torch.nn.functional.normalize(side, dim=1) for side in sides))
        return template_losses(
            unit, temperature=Terms(0.5, 0.5, 0.5), share=Terms(*LAMBDAS), negatives="both"
        ).sum()

    assert torch.autograd.gradcheck(
        loss, inputs, eps=1e-3, atol=2e-2, rtol=2e-2
    )  # similarities are float32


def test_terms_without_a_share_are_left_out():
    arrays = [torch.nn.functional.normalize(torch.tensor(a), dim=1) for a in views()]
    alone = {"temperature": Terms(*TAUS), "share": Terms(1, 0, 0), "negatives": "both"}
    utterances = template_losses(Views(*arrays), **alone)
    arrays[2] = arrays[3] = arrays[2] * float("nan")
    assert torch.equal(utterances, template_losses(Views(*arrays), **alone))


def test_training_brings_utterances_to_their_templates(
    train: Train, records: list[dict], tmp_path: Path
):
    run = ("--method", "tadse", "--batch-size", 8, "--lr", 1e-3, "--epochs", 12)
    train(*run, "-o", tmp_path / "model", stdin=as_lines(records))
    log = steps(tmp_path / "model/train-log.jsonl")
    assert log[-1]["loss"] < 0.2 * log[0]["loss"]
    assert log[0]["alignment"] > 1e-4  # two dropout masks, or utterances would learn nothing
    assert max(row["false_negatives"] for row in log) > 0
    encoder = load_encoder(str(tmp_path / "model"))
    ids = encoder.tokenizer("fly to {SLOT}", add_special_tokens=False)["input_ids"]
    assert (
        encoder.tokenizer.convert_ids_to_tokens(ids)[-1] == "{SLOT}"
        and ids.count(encoder.tokenizer.convert_tokens_to_ids("{SLOT}")) == 1
    )
    train(*run, "-o", tmp_path / "again", stdin=as_lines(records))
    assert weights(tmp_path / "again") == weights(tmp_path / "model")


def test_an_utterance_that_is_there_twice_is_no_negative_of_itself(train: Train, tmp_path: Path):
    twice = 2 * [{"text": "fly to rome", "template": "fly to {SLOT}"}]
    train("--method", "tadse", "--max-steps", 1, "-o", tmp_path / "m", stdin=as_lines(twice))
    assert steps(tmp_path / "m" / "train-log.jsonl")[0]["loss"] == 0


def test_the_slot_token_begins_as_the_mean_of_all_others(
    minilm: str, train: Train, records: list[dict], tmp_path: Path
):
    train(
        "--method",
        "tadse",
        "--model",
        minilm,
        "--max-steps",
        0,
        "-o",
        tmp_path / "m",
        stdin=as_lines(records),
        small=False,
    )
    before, after = (
        load_file(path / "model.safetensors") for path in (Path(minilm), tmp_path / "m")
    )
    name = next(name for name in after if name.endswith("word_embeddings.weight"))
    old, new = (
        next(v for k, v in before.items() if k.endswith("word_embeddings.weight")),
        after[name],
    )
    encoder = load_encoder(str(tmp_path / "m"))
    place = encoder.tokenizer.convert_tokens_to_ids("{SLOT}")
    assert place == len(encoder.tokenizer) - 1
    np.testing.assert_allclose(new[place], old.mean(0), atol=1e-5)
    np.testing.assert_array_equal(new[: len(old)], old)


@pytest.mark.parametrize(
    "flags",
    [
        ("--template-weight", 0, "--pair-weight", 0),
        ("--pair-weight", 0),
        ("--pair-negatives", "both"),
        ("--no-mask-false-negatives",),
    ],
)
def test_the_ablations_are_flags(flags: tuple, train: Train, records: list[dict], tmp_path: Path):
    run = ("--method", "tadse", "--batch-size", 8, "--max-steps", 2)
    train(*run, "-o", tmp_path / "whole", stdin=as_lines(records))
    train(*run, *flags, "-o", tmp_path / "part", stdin=as_lines(records))
    whole, part = (
        steps(tmp_path / name / "train-log.jsonl")[0]["loss"] for name in ("whole", "part")
    )
    assert (part > whole) if flags == ("--no-mask-false-negatives",) else part != whole


def test_the_alignment_layer_stays_beside_the_model(
    train: Train, records: list[dict], tmp_path: Path
):
    run = ("--method", "tadse", "--align", "--epochs", 0.5, "--batch-size", 8)
    train(*run, "-o", tmp_path / "model", stdin=as_lines(records))
    assert len(steps(tmp_path / "model/train-log.jsonl")) == 2  # half of 32 rows in eights
    layer = load_alignment(tmp_path / "model", 64)
    assert layer is not None and layer(torch.zeros(1, 64)).shape == (1, 64)
    train("--method", "tadse", "--max-steps", 1, "-o", tmp_path / "plain", stdin=as_lines(records))
    assert load_alignment(tmp_path / "plain", 64) is None


def test_typed_placeholders_are_tokens_too(train: Train, tmp_path: Path):
    rows = [
        {"text": f"fly to {c} on {d}", "template": "fly to {city} on {time.day}"}
        for c in CITIES
        for d in ("monday", "sunday")
    ]
    train(
        *shlex.split("--method tadse-paper --batch-size 4 --max-steps 1 -o"),
        tmp_path / "m",
        stdin=as_lines(rows),
    )
    tokenizer = load_encoder(str(tmp_path / "m")).tokenizer
    assert {"{city}", "{time.day}"} <= set(tokenizer.get_vocab())
    assert json.loads((tmp_path / "m/1_Pooling/config.json").read_text())["pooling_mode"] == "cls"


def test_what_makes_no_sense_is_said(train: Train, records: list[dict], tmp_path: Path):
    plain = as_lines([{"text": "no"}, {"text": "templates"}, {"text": "here"}])
    run = ("-o", tmp_path / "m")
    assert (
        b"0 placeholders such as {SLOT} in the templates"
        in train("--method", "tadse", *run, stdin=plain, code=1).stderr
    )
    assert (
        b"template: expected a string"
        in train("--method", "tadse", *run, stdin=b'{"text":"a","template":3}\n', code=1).stderr
    )
    lines = as_lines(records)
    assert (
        b"--pair-weight belongs to --objective template, not to contrast"
        in train("--method", "simcse", "--pair-weight", 1, *run, stdin=lines, code=2).stderr
    )
    assert (
        b"one above it"
        in train(
            *shlex.split("--method tadse --utterance-weight 0 --template-weight 0 --pair-weight 0"),
            *run,
            stdin=lines,
            code=2,
        ).stderr
    )
    assert (
        b"the encoder's width, which --head mlp has not"
        in train(*shlex.split("--method tadse --align --head mlp"), *run, code=2).stderr
    )
    assert (
        b"--loss belongs to"
        in train("--method", "tadse", "--loss", "nt-xent", *run, stdin=lines, code=2).stderr
    )
    assert not (tmp_path / "m").exists()
