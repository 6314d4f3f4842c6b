"""DialogueCSE: the objective beside its transcription, negatives, freezing, the command."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import torch
from at_work import ended
from oracles import slow_matching
from pair_corpus import Train, as_lines, steps
from safetensors.numpy import load_file
from torch import nn
from written import json_value

from dialtools.encoder.encoder import Encoder
from dialtools.encoder.fresh import fresh_encoder, train_tokenizer
from dialtools.encoder.tokens import SpecialTokens
from dialtools.streams.chunks import read_chunks
from dialtools.streams.policy import Policy
from dialtools.train.data.collate import Lengths
from dialtools.train.data.spool import spool, tokenise_store
from dialtools.train.data.store import Store
from dialtools.train.objectives.base import Setting
from dialtools.train.objectives.catalog import MatchingOptions
from dialtools.train.objectives.matching import Matching, Tokens

ROWS = json_value("""
    [{"context": ["hello", "a table for two please"], "response": "for which day",
      "follow": ["on friday", "done"], "dialogue_id": "a",
      "speakers": ["user", "system", "system"]},
     {"context": ["i need a taxi"], "response": "where to", "follow": [], "dialogue_id": "b",
      "speakers": ["user", "system"]},
     {"context": ["my train is late", "sorry"], "response": "may i help", "follow": ["no"],
      "dialogue_id": "c", "speakers": ["user", "system", "system"]},
     {"context": ["where to"], "response": "to the station on the hill", "follow": ["ok"],
      "dialogue_id": "b", "speakers": ["system", "user"]}]
""")


class Words(nn.Module):
    """An encoder whose token vectors are those of a table, and whose padding is poison."""

    def __init__(self, encoder: Encoder) -> None:
        super().__init__()
        self.special: SpecialTokens = encoder.special
        self.dimension, self.device = 5, torch.device("cpu")
        self.token_weights = None
        self.table = nn.Embedding(len(encoder.tokenizer), 5, dtype=torch.float64)

    def tokens(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        return self.table(ids).masked_fill(mask[..., None] == 0, float("nan"))


@pytest.fixture
def store(tmp_path: Path) -> tuple[Store, Words]:
    texts = [t for row in ROWS for t in (*row["context"], row["response"], *row["follow"])]
    encoder = fresh_encoder(
        train_tokenizer(texts * 3, vocab_size=300), hidden=64, layers=1, pooling="mean", seed=0
    )
    (tmp_path / "rows.jsonl").write_bytes(as_lines(ROWS))
    spool(tmp_path / "store", read_chunks([str(tmp_path / "rows.jsonl")]), Policy())
    tokenise_store(tmp_path / "store", encoder.tokenizer)
    torch.manual_seed(0)
    return Store(tmp_path / "store"), Words(encoder)


def matching(store: Store, words: Words, *, negatives: int, aggregation: str) -> Matching:
    setting = Setting(
        encoder=words,  # type: ignore[arg-type]
        store=store,
        pairs=np.arange(len(store)),
        options=MatchingOptions(
            temperature=0.1, context_turns=3, negatives=negatives, aggregation=aggregation
        ),
        seed=0,
        lengths=Lengths(20, 20),
        max_tokens=16,
    )
    return Matching(setting).double()


def by_hand(
    words: Words, built: Matching, batch: object, candidates: Sequence[Sequence[int]]
) -> tuple:
    """Return contexts and candidates as token matrices, in the order of a batch's sequences."""
    table = words.table.weight.detach().numpy()
    sequences: dict[int, np.ndarray] = {}
    start = 0
    order = np.argsort(batch.place)  # type: ignore[attr-defined]
    for part in batch.parts:  # type: ignore[attr-defined]
        for row, i in enumerate(order[start : start + len(part[0])]):
            sequences[int(i)] = table[part[0][row][part[1][row].bool()].numpy()]
        start += len(part[0])
    contexts = [[sequences[int(i)] for i in row if i >= 0] for row in batch.extra.turns]  # type: ignore[attr-defined]
    return contexts, [[sequences[int(i)] for i in row] for row in candidates]


@pytest.mark.parametrize("aggregation", ["mean", "attention"])
@pytest.mark.parametrize("negatives", [1, 0])
def test_loss_and_gradients_are_those_of_the_transcription(
    aggregation: str, negatives: int, store: tuple[Store, Words]
):
    """DialogueCSE 4.1-4.4: ragged turns, poisoned padding; gradients by differences."""
    data, words = store
    built = matching(data, words, negatives=negatives, aggregation=aggregation)
    assert (built.weigh is not None) == (aggregation == "attention")
    pairs = np.arange(3)
    batch = built.collate(pairs, step=0)
    assert len(batch.parts) > 1 and any((mask == 0).any() for _, mask in batch.parts)

    def fast() -> torch.Tensor:
        rows = torch.cat([built.encode(part) for part in batch.parts])
        return built.loss_of_tokens(Tokens(rows, batch), batch, {})

    own = batch.extra.candidates
    if negatives == 0:
        own = np.asarray([[row, *(r for r in own[:, 0] if r != row)] for row in own[:, 0]])
    weigh = None
    if built.weigh is not None:
        weigh = lambda pooled: built.weigh(torch.from_numpy(pooled)[None])[0].item()  # noqa: E731
    value = fast()
    value.backward()
    slow = lambda: slow_matching.loss(*by_hand(words, built, batch, own), 0.1, weigh)  # noqa: E731
    assert value.item() == pytest.approx(slow(), rel=1e-6)
    gradient = words.table.weight.grad
    assert torch.isfinite(gradient).all()
    seen = gradient.abs().sum(1).nonzero().ravel().tolist()
    for word in seen[:: max(1, len(seen) // 4)]:
        for k in (0, 3):
            slopes = []
            for shift in (1e-6, -1e-6):
                with torch.no_grad():
                    words.table.weight[word, k] += shift
                slopes.append(slow())
                with torch.no_grad():
                    words.table.weight[word, k] -= shift
            assert gradient[word, k].item() == pytest.approx(
                (slopes[0] - slopes[1]) / 2e-6, rel=1e-3, abs=1e-6
            )


def dialogues(n: int) -> bytes:
    topics = (
        *("taxi", "hotel", "train", "museum", "doctor", "pizza"),
        *("flight", "concert", "dentist", "garage", "parcel", "printer"),
    )
    rows = []
    for i in range(n):
        topic, other = topics[i % 12], topics[(i * 5 + 1) % 12]
        turns = [
            f"hello i need a {topic}",
            f"a {topic} for when?",
            f"the {topic} for tomorrow",
            f"your {topic} is booked",
            f"and a {other} too",
            f"the {other} is booked as well",
            f"thanks for the {topic}",
        ]
        rows.append(
            {
                "id": str(i),
                "turns": [
                    {"speaker": ("user", "system")[j % 2], "text": t} for j, t in enumerate(turns)
                ],
            }
        )
    return as_lines(rows)


@pytest.fixture(scope="module")
def sides(scripts: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pairs with turns on both sides of the response."""
    folder = tmp_path_factory.mktemp("sides")
    (folder / "corpus.jsonl").write_bytes(dialogues(120))
    flags = ["--window", "3", "--follow", "3", "--merge-speaker", "--min-turns", "4"]
    ended(scripts / "dial-pairs", *flags, folder / "corpus.jsonl", "-o", folder / "sides.jsonl")
    return folder / "sides.jsonl"


RUN = ("--method", "dialoguecse", "--layers", 2, "--batch-size", 16)


@pytest.mark.parametrize(
    "flags",
    [("--negatives", 4), ("--negatives", "all"), ("--negatives", 2, "--aggregation", "attention")],
)
def test_it_learns(flags: tuple, train: Train, sides: Path, tmp_path: Path):
    train(*RUN, *flags, "--epochs", 4, "-o", tmp_path / "model", sides)
    log = steps(tmp_path / "model" / "train-log.jsonl")
    first, final = (np.mean([row["loss"] for row in part]) for part in (log[:10], log[-10:]))
    assert final < 0.8 * first
    assert np.mean([row["accuracy"] for row in log[-10:]]) > np.mean(
        [row["accuracy"] for row in log[:10]]
    )


def test_a_pooling_of_which_it_learns_nothing_is_told(train: Train, sides: Path, tmp_path: Path):
    run = (*RUN, "--freeze", 0, "--max-steps", 0, "--overwrite", "-o", tmp_path / "m", sides)
    told = b"matching learns with means of tokens all the same"
    assert b"--pooling cls: " + told in train(*run, "--pooling", "cls").stderr
    assert told not in train(*run).stderr


def test_given_negatives_are_used(train: Train, sides: Path, tmp_path: Path):
    rows = [json.loads(line) for line in sides.read_bytes().splitlines()[:40]]
    (tmp_path / "given.jsonl").write_bytes(
        as_lines([{**row, "negatives": ["never", "ever"], "dialogue_id": "one"} for row in rows])
    )
    train(
        *RUN, "--negatives", 2, "--max-steps", 2, "-o", tmp_path / "model", tmp_path / "given.jsonl"
    )
    failed = train(
        *RUN,
        *shlex.split("--negatives 3 --max-steps 2 -o"),
        tmp_path / "more",
        tmp_path / "given.jsonl",
        code=1,
    )
    assert b"fewer than 3 responses of other dialogues" in failed.stderr


def test_frozen_layers_stay_and_the_others_learn(train: Train, sides: Path, tmp_path: Path):
    train(*RUN, "--max-steps", 0, "-o", tmp_path / "start", sides)
    for method in ("dialoguecse", "dse"):
        trained = tmp_path / method
        own = ("--negatives", 2) if method == "dialoguecse" else ()
        train(
            "--method",
            method,
            "--model",
            tmp_path / "start",
            *own,
            *shlex.split("--freeze 1 --max-steps 3 --lr 1e-3 -o"),
            trained,
            sides,
            small=False,
        )
        before, after = (
            load_file(path / "model.safetensors") for path in (tmp_path / "start", trained)
        )
        changed = {name for name in before if not np.array_equal(before[name], after[name])}
        assert any("layer.1" in name for name in changed)
        assert not any("embeddings" in name or "layer.0" in name for name in changed)


def test_an_option_of_another_method_names_its_owner(train: Train, sides: Path, tmp_path: Path):
    contrast, matching = ("--method", "dse"), ("--method", "dialoguecse")
    negatives = b"--negatives belongs to --objective matching or siamese, not to contrast"
    tokens = b"--speaker-tokens belongs to --objective contrast, mlm or joint, not to matching"
    loss = b"--loss belongs to --objective contrast or joint, not to matching"
    for flags, says in {
        (*contrast, "--negatives", 3): negatives,
        (*contrast, "--negatives", "all"): negatives,
        (*matching, "--speaker-tokens"): tokens,
        (*matching, "--loss", "dot"): loss,
        (*RUN, "--freeze", 2): b"the encoder has 2 layers",
    }.items():
        assert says in train(*flags, "-o", tmp_path / "model", sides, code=2).stderr
