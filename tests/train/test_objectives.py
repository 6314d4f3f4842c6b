"""Objectives: which tokens of a pair are encoded, and what is contrasted with what."""

from __future__ import annotations

from dataclasses import MISSING, fields
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from oracles import slow_matching
from safetensors.torch import load_file, save_file
from train_parts import (
    contrast_options,
    letters_encoder,
    said,
    sequences,
    setting,
    stored,
    trainer,
)

from dialtools.encoder.encoder import Encoder
from dialtools.errors import ConfigError, DataError
from dialtools.train import health
from dialtools.train.data import duplicates
from dialtools.train.data.collate import Lengths
from dialtools.train.losses.template import Terms, Views
from dialtools.train.objectives import template
from dialtools.train.objectives.base import Batch
from dialtools.train.objectives.catalog import (
    OBJECTIVES,
    JointOptions,
    MaskedWordsOptions,
    MatchingOptions,
    SiameseOptions,
    TemplateOptions,
)
from dialtools.train.objectives.contrast import Contrast, Rows, false_negatives
from dialtools.train.objectives.matching import Matching, Tokens, nearest_turns
from dialtools.train.objectives.mlm import (
    Hiding,
    MaskedWords,
    guess,
    hide,
    labelled,
    pretrained_head,
)
from dialtools.train.objectives.negatives import Negatives, batch_candidates
from dialtools.train.objectives.siamese import Siamese
from dialtools.train.objectives.template import Templates

USER, SYSTEM = "user", "system"


def pair(context: str, response: str, dialogue: str = "d", turn: int = 1, **more: Any) -> dict:
    """A record whose context is turns divided by bars, spoken in turn."""
    turns = context.split(" | ")
    speakers = [USER, SYSTEM] * len(turns)
    fields = {"context": turns, "response": response, "dialogue_id": dialogue, "turn": turn}
    return fields | {"speakers": speakers[: len(turns) + 1]} | more


# contexts and responses


def test_a_long_context_keeps_its_end_and_a_long_response_its_beginning(
    encoder: Encoder, tmp_path: Path
):
    store = stored([[pair("a b | c d e", "f g h i j")]], tmp_path, encoder)
    objective = Contrast(setting(store, encoder, contrast_options(), lengths=Lengths(6, 5)))
    batch = objective.collate(np.arange(1), step=0)
    assert sequences(encoder, batch) == ["[CLS] [SEP] c d e [SEP]", "[CLS] f g h [SEP]"]


def test_a_text_is_encoded_once_within_a_side_and_again_on_the_other(
    encoder: Encoder, tmp_path: Path
):
    rows = [pair("a", "b"), pair("a", "a"), pair("c | a", "b")]
    objective = Contrast(setting(stored([rows], tmp_path, encoder), encoder, contrast_options()))
    batch = objective.collate(np.array([2, 0, 1]), step=0)
    texts = sequences(encoder, batch)
    assert sorted(texts) == sorted(f"[CLS] {t} [SEP]" for t in ("c [SEP] a", "a", "b", "a"))
    assert [texts[i][6:-6] for i in batch.extra.sequence] == ["c [SEP] a", "a", "a", "b", "b", "a"]
    assert batch.extra.keys.tolist() == [0, 1, 1, 2, 2, 1]
    assert batch.extra.sequence[1] != batch.extra.sequence[5], "a dropout mask of its own"


def test_speaker_tokens_say_who_spoke_each_turn(encoder: Encoder, tmp_path: Path):
    store = stored([[pair("a | b", "c")]], tmp_path, encoder)
    roles = tuple(encoder.tokenizer.convert_tokens_to_ids(["[UNK]", "u", "s"]))
    objective = Contrast(setting(store, encoder, contrast_options(), role_tokens=roles))
    texts = sequences(encoder, objective.collate(np.arange(1), step=0))
    assert texts == ["[CLS] u a s b [SEP]", "[CLS] u c [SEP]"]


def test_a_batch_counts_its_tokens_with_and_without_padding(encoder: Encoder, tmp_path: Path):
    store = stored([[pair("a b c", "d"), pair("e", "f")]], tmp_path, encoder)
    for most, padded in ((4000, 4 * 5), (6, 5 + 2 * 3 + 3)):
        objective = Contrast(setting(store, encoder, contrast_options(), max_tokens=most))
        batch = objective.collate(np.arange(2), step=0)
        assert (batch.tokens, batch.computed) == (5 + 3 + 3 + 3, padded)
        assert batch.sizes.tolist() == [5, 3, 3, 3] and batch.pairs.tolist() == [0, 1]


def test_processes_that_share_a_batch_each_have_some_of_it(encoder: Encoder, tmp_path: Path):
    store = stored([[pair("a b c", "d"), pair("e", "f")]], tmp_path, encoder)
    for processes, padded in ((1, [20]), (2, [5, 6, 3]), (3, [5, 3, 3, 3]), (99, [5, 3, 3, 3])):
        objective = Contrast(setting(store, encoder, contrast_options(), processes=processes))
        parts = objective.collate(np.arange(2), step=0).parts
        assert [ids.numel() for ids, _ in parts] == padded


@pytest.mark.parametrize(
    ("name", "options", "steps"),
    [
        ("mlm", MaskedWordsOptions(mask_share=0.5, max_masked=9), 3),
        ("matching", {"aggregation": "mean", "temperature": 1.0, "negatives": 1}, 3),
        ("matching", {"aggregation": "mean", "temperature": 1.0, "negatives": "all"}, 2),
        ("siamese", {"negatives": 1}, 3),
        ("siamese", {"negatives": "all"}, 2),
        ("contrast", contrast_options(), 2),
    ],
)
def test_a_last_pair_alone_is_a_batch_where_it_is_told_from_no_other_of_the_batch(
    name: str, options: Any, steps: int, encoder: Encoder, tmp_path: Path
):
    rows = [pair(a, b, a + b, speakers=[USER, SYSTEM]) for a, b in ("ab", "cd", "ef", "gh", "ij")]
    if isinstance(options, dict):
        options = OBJECTIVES[name].options(context_turns=1, **options)
    store = stored([rows], tmp_path, encoder)
    objective = OBJECTIVES[name].load()(setting(store, encoder, options))
    run = trainer(objective, batch_size=2, max_steps=steps)
    seen = [pair for step in range(steps) for pair in run.sampler.batch(step)]
    assert run.sampler.per_epoch == steps and len(set(seen)) == len(seen) == min(5, 2 * steps)
    assert [step.step for step in run.steps()] == list(range(1, steps + 1))


ADDING = [name for name in OBJECTIVES if name != "distill"]


def adding(name: str) -> Any:
    """Return options with which an objective adds layers of its own."""
    return {
        "contrast": contrast_options(head="linear", classify_weight=1.0),
        "matching": MatchingOptions(
            temperature=1.0, context_turns=1, negatives="all", aggregation="attention"
        ),
        "siamese": SiameseOptions(negatives="all", context_turns=1),
        "template": template_options(head="window-linear", align=True),
        "mlm": MaskedWordsOptions(mask_share=0.5, max_masked=9),
        "joint": JointOptions(**vars(contrast_options(head="tanh")), mask_share=0.5, max_masked=9),
    }[name]


@pytest.mark.parametrize("name", ADDING)
def test_an_objective_learns_in_16_bits_as_in_32(name: str, tmp_path: Path):
    rows = [pair(a, b, a + b, similar=a != "a") for a, b in ("ab", "cd", "ef", "gh")]
    courses: list[list[float]] = []
    for precision in ("float32", "bfloat16"):
        encoder = letters_encoder()
        store = stored([rows], tmp_path, encoder)
        learner = OBJECTIVES[name].load()(setting(store, encoder, adding(name)))
        run = trainer(learner, max_steps=2)
        run.precision = precision
        courses.append([step.loss for step in run.steps()])
    assert courses[0] != courses[1]
    np.testing.assert_allclose(courses[1], courses[0], rtol=0.05)


@pytest.mark.parametrize("name", ADDING)
def test_what_an_objective_adds_is_drawn_from_the_seed_alone(
    name: str, encoder: Encoder, tmp_path: Path
):
    rows = [pair("a", "b", similar=i % 2 == 0) for i in range(2)]
    store = stored([rows], tmp_path, encoder)

    def drawn(seed: int) -> list[torch.Tensor]:
        torch.rand(1)  # what was drawn before has no say
        before = torch.get_rng_state()
        made = OBJECTIVES[name].load()(setting(store, encoder, adding(name), seed=seed))
        assert torch.equal(torch.get_rng_state(), before), "nor is anything drawn from there"
        added = [p for key, p in made.named_parameters() if p.dim() == 2]
        assert added
        return added

    first, again, other = drawn(0), drawn(0), drawn(1)
    assert all(map(torch.equal, first, again)) and not any(map(torch.equal, first, other))


# false negatives

SMALL = st.integers(0, 2)
PAIRS = st.lists(st.tuples(SMALL, SMALL, st.integers(0, 1), st.integers(-1, 4)), min_size=1)


@given(PAIRS)
def test_false_negatives_are_equal_texts_and_neighbours_but_never_oneself_or_ones_partner(
    pairs: list[tuple[int, int, int, int]],
):
    anchor, positive, dialogue, turn = np.array(pairs).T
    n = len(pairs)
    text = [*anchor, *positive]
    partner = [*positive, *anchor]
    alone = anchor == positive  # one turn with itself
    # else the newest turn of a context stands before the response
    spoken_at = [*np.where(alone, turn, turn - 1), *turn]
    same = np.zeros((2 * n, 2 * n), bool)
    near = np.zeros((2 * n, 2 * n), bool)
    for i in range(2 * n):
        for j in range(2 * n):
            if i % n != j % n:
                same[i, j] = text[j] in (text[i], partner[i])
                one = dialogue[i % n] == dialogue[j % n] and min(turn[i % n], turn[j % n]) >= 0
                near[i, j] = one and abs(spoken_at[i] - spoken_at[j]) <= 1
    np.testing.assert_array_equal(duplicates.same_text(anchor, positive), same)
    np.testing.assert_array_equal(duplicates.neighbours(dialogue, turn, alone), near)
    if n > 1:
        assert duplicates.rate(same) == pytest.approx(same.sum() / (2 * n * (2 * n - 2)))
    assert duplicates.rate(np.zeros((2, 2), bool)) == 0


@pytest.mark.parametrize("masked", [True, False])
def test_neighbours_in_a_dialogue_are_false_negatives_where_they_are_masked(
    masked: bool, encoder: Encoder, tmp_path: Path
):
    rows = [pair("a", "b", "x", 1), pair("c", "d", "x", 2), pair("e", "a", "y", 2)]
    store = stored([rows], tmp_path, encoder)
    objective = Contrast(setting(store, encoder, contrast_options(mask_false_negatives=masked)))
    batch = objective.collate(np.arange(3), step=0)
    # rows: the contexts a c e, then the responses b d a
    same = {(0, 5), (3, 5), (5, 0), (2, 0)}
    near = {(0, 1), (3, 1), (3, 4), (1, 0), (1, 3), (4, 3)}
    found = {tuple(at) for at in np.argwhere(false_negatives(batch, objective.setting)).tolist()}
    assert found == same | (near if masked else set())


@pytest.mark.parametrize("masked", [True, False])
def test_pairs_of_other_windows_are_no_negatives_where_each_window_has_a_head(
    masked: bool, encoder: Encoder, tmp_path: Path
):
    """However much of another window's pairs changes, the loss of a window stays."""
    rows = [pair("a", "b", "x", 1), pair("c", "d", "y", 5), pair("e | f", "g", "z", 9)]
    store = stored([rows], tmp_path, encoder)
    options = contrast_options(
        head="window-linear", loss="hard-negative", mask_false_negatives=masked
    )
    objective = Contrast(setting(store, encoder, options))
    vectors = torch.randn(6, 64, generator=torch.Generator().manual_seed(0))

    def loss(rows: torch.Tensor) -> float:
        every = np.arange(6)
        batch = Batch([], every, every, np.arange(3), Rows(every, every))
        return objective.loss(rows, batch, {}).item()

    others = vectors.clone()
    others[[2, 5]] += 3 * torch.randn(2, 64, generator=torch.Generator().manual_seed(1))
    assert loss(others) == pytest.approx(loss(vectors), rel=1e-6)
    others[[0, 1]] = others[[1, 0]]
    assert loss(others) != pytest.approx(loss(vectors), rel=1e-3)


def test_a_window_has_one_head_however_many_pairs_it_has(encoder: Encoder, tmp_path: Path):
    rows = [pair("a | b" if i % 2 else "a", "c", f"d{i}") for i in range(40)]
    store = stored([rows], tmp_path, encoder)
    options = contrast_options(head="window-linear")
    objective = Contrast(setting(store, encoder, options, pairs=np.arange(1, 40, 2)))
    assert sorted(name for name, _ in objective.head.heads.named_children()) == ["2"]


@pytest.mark.parametrize("masked", [True, False])
def test_the_loss_gets_the_mask_and_the_log_the_rate_of_false_negatives(
    masked: bool, encoder: Encoder, tmp_path: Path
):
    rows = [pair("a", "b", "x", 1), pair("c", "d", "x", 2), pair("e", "a", "y", 2)]
    store = stored([rows], tmp_path, encoder)
    options = contrast_options(mask_false_negatives=masked, loss="dot", head="tanh")
    objective = Contrast(setting(store, encoder, options))
    calls: list[tuple[torch.Tensor, torch.Tensor, dict]] = []
    objective.loss_function = lambda a, p, **more: calls.append((a, p, more)) or a.sum(1)
    batch = objective.collate(np.array([2, 0, 1]), step=0)
    vectors = torch.randn(len(batch.place), 64, generator=torch.Generator().manual_seed(0))
    figures: dict[str, float] = {}
    objective.loss(vectors, batch, figures)
    ((anchor, positive, more),) = calls
    false = false_negatives(batch, objective.setting)
    assert more["temperature"] == 0.5
    assert more["excluded"].tolist() == false.tolist() if masked else more["excluded"] is None
    headed = objective.head(vectors[torch.from_numpy(batch.place[batch.extra.sequence])], None)
    torch.testing.assert_close(torch.cat([anchor, positive]), headed)  # "dot": as they leave it
    unit = torch.nn.functional.normalize(headed, dim=1)
    assert figures == {
        "alignment": pytest.approx(float(health.alignment(*unit.chunk(2)))),
        "uniformity": pytest.approx(float(health.uniformity(unit))),
        "false_negatives": pytest.approx(false.sum() / (6 * 4)),
    }


def test_batches_of_one_window_are_drawn_by_the_seed_and_others_mixed(
    encoder: Encoder, tmp_path: Path
):
    rows = [pair(" | ".join("ab"[: 1 + i % 2]), "c", f"d{i}") for i in range(20)]
    store = stored([rows], tmp_path, encoder)

    def batches(which: str, seed: int) -> list[list[int]]:
        some = setting(
            store, encoder, contrast_options(batches=which), seed=seed, pairs=np.arange(4, 20)
        )
        sampler = Contrast(some).sampler(4)
        return [sampler.batch(step).tolist() for step in range(4)]

    for which in ("by-window", "mixed"):
        assert batches(which, 0) == batches(which, 0) != batches(which, 1)
        assert sorted(i for batch in batches(which, 0) for i in batch) == list(range(4, 20))
    windows = [{int(store.window[i]) for i in batch} for batch in batches("by-window", 0)]
    assert all(len(of_batch) == 1 for of_batch in windows)
    assert any(len({int(store.window[i]) for i in b}) == 2 for b in batches("mixed", 0))


def test_each_pair_weighs_as_its_weight_says(encoder: Encoder, tmp_path: Path):
    rows = [pair("a", "b", "x", 1), pair("c", "d", "y", 1), pair("e", "f", "z", 1)]
    store = stored(
        [[row | {"weight": w} for row, w in zip(rows, (2, 0, 0.5), strict=True)]], tmp_path, encoder
    )
    vectors = torch.randn(6, 64, generator=torch.Generator().manual_seed(0))
    order = np.array([2, 0, 1])

    def loss(weights: str) -> torch.Tensor:
        objective = Contrast(setting(store, encoder, contrast_options(weights=weights)))
        each: list[torch.Tensor] = []
        function = objective.loss_function
        objective.loss_function = lambda *a, **k: each.append(function(*a, **k)) or each[0]
        every = np.arange(6)
        batch = Batch([], every, every, order, Rows(every, every))
        total = objective.loss(vectors, batch, {})
        expected = each[0] * torch.tensor({"given": [0.5, 2, 0], "none": [1, 1, 1]}[weights])
        torch.testing.assert_close(total, expected.mean())
        return total

    assert loss("given") != loss("none")


# negatives


@given(st.data())
def test_what_a_batch_answers_or_names_is_a_candidate_and_what_its_dialogue_says_is_kin(
    data: st.DataObject,
):
    n = data.draw(st.integers(1, 8))
    numbers = st.lists(st.integers(0, 4), min_size=n, max_size=n)
    response, dialogue = np.array(data.draw(numbers)), np.array(data.draw(numbers))
    named = np.array(data.draw(st.lists(st.integers(0, 9))), np.int64)
    distinct, truth, kin = batch_candidates(response, dialogue, named)
    assert distinct.tolist() == sorted({*response.tolist(), *named.tolist()})
    assert distinct[truth].tolist() == response.tolist()
    for i in range(n):
        of_dialogue = set(response[dialogue == dialogue[i]].tolist())
        assert kin[i].tolist() == [r in of_dialogue for r in distinct.tolist()]


def crowd() -> list[dict]:
    """Pairs of ten dialogues; every third turn is its dialogue's alone, the rest repeat."""
    draw = np.random.default_rng(0)
    rows = []
    for number in range(10):
        turns = [str(letter) for letter in draw.choice(list("abcdefghijklmnop"), 6)]
        turns[1::3] = [f"{turn} {chr(ord('a') + number)} z" for turn in turns[1::3]]
        for turn in range(1, 5):
            row = pair(" | ".join(turns[max(0, turn - 2) : turn]), turns[turn], f"d{number}", turn)
            row["speakers"] = [USER if at % 2 else SYSTEM for at in range(len(row["context"]) + 1)]
            rows.append(row | {"follow": turns[turn + 1 : turn + 2]})
    return rows


def test_drawn_negatives_are_strangers_of_the_same_role(encoder: Encoder, tmp_path: Path):
    rows = crowd()
    store = stored([rows], tmp_path, encoder)
    every = np.arange(len(store))
    negatives = Negatives(store, every, count=3, seed=0)
    seen = set()
    for step in range(20):
        candidates = negatives.candidates(every, step)
        assert candidates[:, 0].tolist() == store.response[every].tolist()
        for row, drawn in zip(rows, candidates[:, 1:].tolist(), strict=True):
            texts = store.text(drawn)
            assert len(set(texts)) == 3
            around = {row["response"], *row["context"], *row["follow"]}
            assert not around & set(texts)
            for text in texts:
                assert any(
                    other["response"] == text
                    and other["dialogue_id"] != row["dialogue_id"]
                    and other["speakers"][-1] == row["speakers"][-1]
                    for other in rows
                )
            seen.add(tuple(texts))
    assert len(seen) > 400, "drawn anew in each step"


def test_what_is_drawn_depends_on_the_seed_and_the_pairs_named_alone(
    encoder: Encoder, tmp_path: Path
):
    store = stored([crowd()], tmp_path, encoder)
    some = np.arange(20)

    def draw(seed: int, step: int) -> list:
        return Negatives(store, some, count=2, seed=seed).draw(some, step).tolist()

    assert draw(1, 3) == draw(1, 3)
    assert draw(1, 3) != draw(2, 3)
    assert draw(1, 3) != draw(1, 4)
    pool = set(store.response[some].tolist())
    assert {u for row in draw(1, 3) for u in row} <= pool, "held-out pairs lend no negative"


def test_named_negatives_come_first_as_many_as_are_wanted(encoder: Encoder, tmp_path: Path):
    rows = crowd()
    rows[7]["negatives"] = ["q", "r", "q", "s"]
    store = stored([rows], tmp_path, encoder)
    every = np.arange(len(store))
    for count, expected in ((1, ["q"]), (2, ["q", "r"])):
        drawn = Negatives(store, every, count=count, seed=0).draw(np.array([7]), 0)
        assert store.text(drawn[0].tolist()) == expected
    drawn = Negatives(store, every, count=3, seed=0).draw(np.array([7]), 0)
    assert store.text(drawn[0].tolist())[:2] == ["q", "r"] and len(set(drawn[0])) == 3
    with pytest.raises(DataError, match="fewer than 30"):
        Negatives(store, every, count=30, seed=0).draw(np.array([7]), 0)


# matching and siamese


def matching(store: Any, encoder: Encoder, **changes: Any) -> Matching:
    options = MatchingOptions(temperature=0.1, context_turns=2, negatives="all", aggregation="mean")
    return Matching(setting(store, encoder, options, **changes))


def test_a_response_is_matched_with_the_turns_around_it_each_cut_at_its_end(
    encoder: Encoder, tmp_path: Path
):
    rows = [
        pair("a | b c d e", "f g h i", "x", follow=["j k l m", "n"]),
        pair("o", "p", "y"),
    ]
    store = stored([rows], tmp_path, encoder)
    batch = matching(store, encoder, lengths=Lengths(40, 5)).collate(np.arange(2), step=0)
    texts = sequences(encoder, batch)
    turns, candidates, _ = batch.extra
    spoken = [[texts[i][6:-6] if i >= 0 else None for i in row] for row in turns]
    assert spoken == [["b c d", "j k l"], ["o", None]]
    assert [[texts[i][6:-6] for i in row] for row in candidates] == [["f g h"], ["p"]]


def seen_through(tokens: Tokens, response: int, context: torch.Tensor) -> float:
    """How like itself a response is behind the sum of a context's tokens (DialogueCSE 4.1)."""
    rows = tokens.rows[tokens.starts[response] :][: tokens.sizes[response]]
    refined = rows.T @ (rows @ context)
    return torch.nn.functional.cosine_similarity(refined, rows.sum(0), dim=0).item()


def test_the_tokens_of_a_sequence_are_found_where_the_parts_have_them():
    """Three sequences of 2, 3 and 1 tokens, of which the parts hold the longest first."""
    every = np.arange(3)
    batch = Batch([], np.array([1, 0, 2]), np.array([2, 3, 1]), every, None)
    tokens = Tokens(torch.tensor([[20.0], [21], [22], [10], [11], [30]]), batch)
    assert tokens.padded(np.array([0, 1, 2, -1])).squeeze(-1).tolist() == [
        [10, 11, 0],
        [20, 21, 22],
        [30, 0, 0],
        [0, 0, 0],
    ]
    assert tokens.sums(np.array([[0, 2], [1, -1]])).squeeze(-1).tolist() == [[21, 30], [63, 0]]
    assert tokens.padded(np.array([-1])).tolist() == [[[0]]]


@pytest.mark.parametrize("negatives", ["all", 2])
def test_the_log_tells_how_often_the_true_response_is_picked(
    negatives: int | str, encoder: Encoder, tmp_path: Path
):
    store = stored([crowd()], tmp_path, encoder)
    options = MatchingOptions(
        temperature=0.1, context_turns=2, negatives=negatives, aggregation="mean"
    )
    objective = Matching(setting(store, encoder, options))
    batch = objective.collate(np.arange(0, 40, 3), step=0)
    rows = torch.randn(int(batch.sizes.sum()), 64, generator=torch.Generator().manual_seed(0))
    figures: dict[str, float] = {}
    objective.loss(rows, batch, figures)
    tokens = Tokens(rows, batch)
    turns, candidates, _ = batch.extra
    right = 0
    for of_pair, own in zip(turns, candidates, strict=True):
        responses, true = own if negatives != "all" else np.unique(candidates[:, 0]), own[0]
        context = tokens.sums(of_pair[of_pair >= 0]).sum(0)
        scores = [seen_through(tokens, response, context) for response in responses]
        right += int(responses[int(np.argmax(scores))] == true)
    assert figures["accuracy"] == pytest.approx(100 * right / len(candidates))
    unit = torch.nn.functional.normalize(tokens.sums(candidates[:, 0]), dim=1)
    assert figures["uniformity"] == pytest.approx(float(health.uniformity(unit)))


@pytest.mark.parametrize("aggregation", ["mean", "attention"])
@pytest.mark.parametrize("negatives", ["all", 2])
def test_the_matching_loss_is_its_equation(
    negatives: int | str, aggregation: str, encoder: Encoder, tmp_path: Path
):
    """Of a batch, the responses of the dialogue are no negatives; of those drawn, all are."""
    store = stored([crowd()], tmp_path, encoder)
    options = MatchingOptions(
        temperature=0.3, context_turns=4, negatives=negatives, aggregation=aggregation
    )
    objective = Matching(setting(store, encoder, options))
    batch = objective.collate(np.array([0, 3, 5, 12, 20]), step=0)
    rows = torch.randn(int(batch.sizes.sum()), 64, generator=torch.Generator().manual_seed(0))
    tokens = Tokens(rows, batch)
    turns, candidates, _ = batch.extra
    assert (turns < 0).any(), "contexts have fewer turns than could be"

    def said(i: int) -> np.ndarray:
        return tokens.rows[tokens.starts[i] :][: tokens.sizes[i]].double().numpy()

    def score(pooled: np.ndarray) -> float:
        assert objective.weigh is not None
        return objective.weigh(torch.from_numpy(pooled).float()[None])[0].item()

    dialogue = store.dialogue[batch.pairs]
    responses = []
    for n, own in enumerate(candidates):
        if negatives != "all":
            responses.append([said(i) for i in own])
        else:
            kin = set(candidates[dialogue == dialogue[n], 0])
            others = sorted(set(candidates[:, 0]) - kin)
            responses.append([said(i) for i in (own[0], *others)])
    contexts = [[said(i) for i in of_pair if i >= 0] for of_pair in turns]
    weigh = score if aggregation == "attention" else None
    with torch.no_grad():
        expected = slow_matching.loss(contexts, responses, 0.3, weigh)
        assert objective.loss(rows, batch, {}).item() == pytest.approx(expected, rel=1e-4)


def test_the_attention_of_matching_is_drawn_from_the_seed(encoder: Encoder, tmp_path: Path):
    store = stored([crowd()], tmp_path, encoder)
    options = MatchingOptions(
        temperature=0.3, context_turns=2, negatives="all", aggregation="attention"
    )

    def weights(seed: int) -> list[list]:
        objective = Matching(setting(store, encoder, options, seed=seed))
        assert objective.weigh is not None
        return [p.tolist() for p in objective.weigh.parameters()]

    first = weights(0)
    assert first == weights(0) != weights(1)
    assert [len(part) for part in first] == [32, 32, 1, 1] and len(first[0][0]) == 64
    assert matching(store, encoder).weigh is None


def test_turns_around_a_response_come_from_both_sides_in_turn():
    before, after = np.array([1, 2, 3]), np.array([4])
    assert nearest_turns(before, after, 9) == [3, 4, 2, 1]
    assert nearest_turns(before, after, 3) == [3, 4, 2]
    assert nearest_turns(after, before, 2) == [4, 1]
    assert nearest_turns(before[:0], after[:0], 2) == []


def test_a_siamese_context_is_its_newest_turns(encoder: Encoder, tmp_path: Path):
    rows = [pair("a | b | c d", "e f"), pair("g", "e f")]
    store = stored([rows], tmp_path, encoder)
    options = SiameseOptions(negatives="all", context_turns=2)
    objective = Siamese(setting(store, encoder, options, lengths=Lengths(6, 3)))
    batch = objective.collate(np.arange(2), step=0)
    texts = sequences(encoder, batch)
    assert texts == ["[CLS] b [SEP] c d [SEP]", "[CLS] g [SEP]", "[CLS] e [SEP]"]
    assert batch.extra[0].tolist() == [[2], [2]]


def test_among_the_responses_of_a_batch_a_siamese_net_passes_over_those_of_the_dialogue(
    encoder: Encoder, tmp_path: Path
):
    rows = [pair("a", "b", "x"), pair("c", "d", "x"), pair("e", "f", "y"), pair("g", "b", "z")]
    store = stored([rows], tmp_path, encoder)
    objective = Siamese(setting(store, encoder, SiameseOptions(negatives="all", context_turns=1)))
    batch = objective.collate(np.arange(4), step=0)
    vectors = torch.randn(len(batch.place), 64, generator=torch.Generator().manual_seed(0))
    by_text = dict(
        zip(sequences(encoder, batch), vectors[torch.from_numpy(batch.place)], strict=True)
    )
    score = lambda context, response: objective.score(  # noqa: E731
        torch.cat([context, response, (context - response).abs()])[None]
    )[0]
    total = []
    allowed = {"a": "bf", "c": "df", "e": "fbd", "g": "bdf"}  # the true one first
    for context, candidates in allowed.items():
        u = by_text[f"[CLS] {context} [SEP]"]
        logits = torch.stack([score(u, by_text[f"[CLS] {c} [SEP]"]) for c in candidates])
        total.append(torch.logsumexp(logits, 0) - logits[0])
    figures: dict[str, float] = {}
    loss = objective.loss(vectors, batch, figures)
    torch.testing.assert_close(loss, torch.stack(total).mean())
    assert figures["accuracy"] in (0, 25, 50, 75, 100)
    responses = torch.stack([by_text[f"[CLS] {text} [SEP]"] for text in "bdf"])
    unit = torch.nn.functional.normalize(responses, dim=1)
    assert figures["uniformity"] == pytest.approx(float(health.uniformity(unit)), rel=1e-5)


# templates


def template_options(**changes: Any) -> TemplateOptions:
    numbers = {"temperature": 0.1, "template_temperature": 0.2, "pair_temperature": 0.3}
    shares = {"utterance_weight": 1.0, "template_weight": 1.0, "pair_weight": 1.0}
    rest = {"head": "none", "mask_false_negatives": False, "pair_negatives": "both"}
    return TemplateOptions(**numbers | shares | rest | changes)


def test_a_record_without_a_template_is_its_own_and_each_pass_encodes_anew(
    encoder: Encoder, tmp_path: Path
):
    rows = [
        {"text": "a b", "template": "a x"},
        {"text": "c"},
        {"text": "a d", "template": "a x"},
    ]
    store = stored([rows], tmp_path, encoder)
    objective = Templates(setting(store, encoder, template_options()))
    batch = objective.collate(np.arange(3), step=0)
    texts = sequences(encoder, batch)
    for name, expected in (("utterance", ["a b", "c", "a d"]), ("template", ["a x", "c", "a x"])):
        once, again = getattr(batch.extra, name), getattr(batch.extra, f"{name}_again")
        for side in (once, again):
            assert [texts[i][6:-6] for i in side] == expected
        assert not set(once.tolist()) & set(again.tolist()), "dropout makes the views"
    assert len(texts) == 3 + 3 + 2 + 2
    keys = batch.extra.template.tolist()  # equal of one text: masks go by it
    assert keys[0] == keys[2] != keys[1]


def test_templates_have_one_head_whatever_heads_windows_have(encoder: Encoder, tmp_path: Path):
    store = stored([[{"text": "a b", "template": "a x"}, {"text": "c"}]], tmp_path, encoder)
    vectors = torch.randn(8, 64, generator=torch.Generator().manual_seed(0))
    views = []
    for head in ("linear", "window-linear"):
        objective = Templates(setting(store, encoder, template_options(head=head)))
        views.append(objective._views(vectors, objective.collate(np.arange(2), step=0)))
    for one, other in zip(*views, strict=True):
        torch.testing.assert_close(one, other)


def test_the_alignment_layer_is_of_both_passes_of_templates_and_of_no_utterance(
    encoder: Encoder, tmp_path: Path
):
    rows = [{"text": "a b", "template": "a x"}, {"text": "c"}]
    store = stored([rows], tmp_path, encoder)
    objective = Templates(setting(store, encoder, template_options(align=True)))
    batch = objective.collate(np.arange(2), step=0)
    vectors = torch.randn(len(batch.place), 64, generator=torch.Generator().manual_seed(0))
    views = objective._views(vectors, batch)
    unit = torch.nn.functional.normalize
    for name in ("utterance", "utterance_again", "template", "template_again"):
        plain = vectors[torch.from_numpy(batch.place[getattr(batch.extra, name)])]
        assert objective.align is not None
        expected = objective.align(plain) if name.startswith("template") else plain
        torch.testing.assert_close(getattr(views, name), unit(expected, dim=1), msg=name)


@pytest.mark.parametrize("masked", [True, False])
def test_the_template_loss_gets_what_the_options_say_and_the_log_its_figures(
    masked: bool, encoder: Encoder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    rows = [{"text": text, "template": t} for text, t in (("a", "x"), ("b", "y"), ("c", "x"))]
    store = stored([rows], tmp_path, encoder)
    shares = {"utterance_weight": 0.5, "template_weight": 2.0, "pair_weight": 3.0}
    options = template_options(mask_false_negatives=masked, pair_negatives="templates", **shares)
    objective = Templates(setting(store, encoder, options))
    batch = objective.collate(np.arange(3), step=0)
    vectors = torch.randn(len(batch.place), 64, generator=torch.Generator().manual_seed(0))
    each = torch.tensor([1.0, 2.0, 6.0])
    calls: list[tuple[Views, dict]] = []
    monkeypatch.setattr(
        template, "template_losses", lambda views, **more: calls.append((views, more)) or each
    )
    figures: dict[str, float] = {}
    assert objective.loss(vectors, batch, figures).item() == 3
    ((views, more),) = calls
    same = more.pop("same")
    assert (same is not None) is masked
    if masked:  # oneself is no negative anyway
        assert same.utterance.tolist() == np.eye(3, dtype=bool).tolist()
        assert same.template.int().tolist() == [[1, 0, 1], [0, 1, 0], [1, 0, 1]]
    assert more == {
        "temperature": Terms(0.1, 0.2, 0.3),
        "share": Terms(0.5, 2.0, 3.0),
        "negatives": "templates",
    }
    both = torch.cat([views.utterance, views.utterance_again])
    assert figures == {
        "alignment": pytest.approx(float(health.alignment(views.utterance, views.utterance_again))),
        "uniformity": pytest.approx(float(health.uniformity(both))),
        "template_alignment": pytest.approx(
            float(health.alignment(views.template, views.utterance))
        ),
        "false_negatives": pytest.approx(2 / 6),
    }
    one = objective.collate(np.arange(1), step=0)
    objective.loss(vectors[:4], one, figures)
    assert figures["false_negatives"] == 0


def test_the_alignment_layer_is_kept_beside_the_model(encoder: Encoder, tmp_path: Path):
    store = stored([[{"text": "a b", "template": "a x"}]], tmp_path, encoder)
    for align in (True, False):
        folder = tmp_path / str(align)
        folder.mkdir()
        objective = Templates(setting(store, encoder, template_options(align=align)))
        objective.save(folder)
        assert bool(list(folder.iterdir())) is align


# masked words


def test_hidden_words_are_those_with_a_label_were_it_the_first_of_the_vocabulary():
    ids, mask = torch.tensor([[5, 6, 7]]), torch.tensor([[1, 1, 0]])
    rows = torch.arange(6.0).reshape(1, 3, 2)
    asked: list[tuple] = []
    tokens = lambda *given: asked.append(given) or rows  # noqa: E731
    objective: Any = SimpleNamespace(
        setting=SimpleNamespace(encoder=SimpleNamespace(tokens=tokens))
    )
    found = MaskedWords.encode(objective, (ids, mask, torch.tensor([[0, -1, 3]])))
    assert found.tolist() == [[0, 1], [4, 5]]
    assert len(asked) == 1 and asked[0][0] is ids and asked[0][1] is mask


def test_labels_stand_where_their_sequences_do_and_the_first_word_is_one():
    ids = [torch.zeros(1, 3, dtype=torch.int64), torch.zeros(2, 2, dtype=torch.int64)]
    parts: list[Any] = [(part, part) for part in ids]
    batch = Batch(parts, np.array([1, 0, 2]), np.array([2, 3, 1]), np.arange(3), None)
    truth = [np.array([-1, 4]), np.array([0, -1, 7]), np.array([9])]
    found = labelled(batch, truth)
    assert [labels.tolist() for _, _, labels in found.parts] == [[[0, -1, 7]], [[-1, 4], [9, -1]]]
    assert found.extra.tolist() == [0, 7, 4, 9]


def test_seeds_of_all_64_bits_hide_words_of_their_own(encoder: Encoder, tmp_path: Path):
    store = stored([[{"text": " ".join("abcdefghijklmnop")}]], tmp_path, encoder)
    options = MaskedWordsOptions(mask_share=0.5, max_masked=20)
    hidden = {
        tuple(objective.collate(np.arange(1), step=0).extra.tolist())
        for seed in (2**63 + 1, 1, 2)
        for objective in [MaskedWords(setting(store, encoder, options, seed=seed))]
    }
    assert len(hidden) == 3


def test_the_accuracy_of_masked_words_is_the_share_of_those_guessed():
    """Each word is the vector of its number, which the head leaves as it is."""
    words = torch.nn.Embedding.from_pretrained(torch.eye(4))
    objective: Any = SimpleNamespace(
        head=lambda rows, table: rows @ table.T,
        tensor=torch.from_numpy,
        setting=SimpleNamespace(
            encoder=SimpleNamespace(backbone=SimpleNamespace(get_input_embeddings=lambda: words))
        ),
    )
    figures: dict[str, float] = {}
    batch: Any = SimpleNamespace(extra=np.array([2, 0, 1, 3, 3]))
    loss = MaskedWords.loss(objective, 9 * torch.eye(4)[[2, 1, 0, 3, 0]], batch, figures)
    assert figures == {"accuracy": pytest.approx(40)}
    right, wrong = np.log(1 + 3 * np.exp(-9)), np.log(3 + np.exp(9))
    assert loss.item() == pytest.approx((2 * right + 3 * wrong) / 5, rel=1e-5)


def test_a_text_has_a_hidden_word_at_least_and_so_many_at_most():
    def hidden(length: int, share: float, most: int) -> list[int]:
        text = np.array([1, *range(10, 10 + length), 2])
        draw = np.random.default_rng(0)
        changed, places = hide(text, draw, Hiding(share, most, [0, 1, 2, 3], mask=3, words=99))
        assert text.tolist() == [1, *range(10, 10 + length), 2], "the text itself stays"
        assert set(np.flatnonzero(changed != text)) <= set(places.tolist())
        return places.tolist()

    assert hidden(5, 0.9, 9) == sorted(hidden(5, 0.9, 9)) and len(hidden(5, 0.9, 9)) == 4
    assert len(hidden(5, 0.0, 9)) == 1 and len(hidden(5, 1.0, 3)) == 3
    assert hidden(5, 1.0, 5) == [1, 2, 3, 4, 5]
    assert hidden(0, 1.0, 2) == [0, 1], "special tokens alone: still something to guess"


# the catalogue


def test_an_objective_says_its_recipe_and_what_its_options_are_where_no_recipe_does():
    assert {name: (entry.recipe, entry.templates) for name, entry in OBJECTIVES.items()} == {
        "contrast": ("dse", False),
        "matching": ("dialoguecse", False),
        "siamese": ("siamese-m", False),
        "template": ("tadse", True),
        "mlm": ("mlm", False),
        "joint": ("todbert-joint", False),
        "distill": ("distill", False),
    }
    defaults = {
        name: {f.name: f.default for f in fields(entry.options) if f.default is not MISSING}
        for name, entry in OBJECTIVES.items()
    }
    contrast = {
        "weights": "given",
        "weights_mean_one": False,
        "batches": "mixed",
        "guide_floor": 1.0,
        "guide_margin": 0.0,
        "classify_weight": 0.0,
        "keep_head": False,
        "speaker_tokens": False,
        "matryoshka": (),
        "context_max_length": 0,
    }
    assert defaults == {
        "contrast": contrast,
        "joint": contrast,
        "matching": {"negatives_from": "same-role", "matryoshka": ()},
        "siamese": {"negatives_from": "same-role", "matryoshka": (), "context_max_length": 0},
        "template": {"align": False, "keep_head": False, "matryoshka": ()},
        "mlm": {"speaker_tokens": False},
        "distill": {},
    }


def test_an_objective_says_which_pairs_serve_it():
    flags = ("contextual", "named_negatives", "dissimilar", "taught")
    assert {n: [f for f in flags if getattr(entry, f)] for n, entry in OBJECTIVES.items()} == {
        "contrast": ["named_negatives", "dissimilar"],
        "matching": ["named_negatives"],
        "siamese": ["named_negatives"],
        "template": [],
        "mlm": ["contextual"],
        "joint": ["contextual", "named_negatives", "dissimilar"],
        "distill": ["taught"],
    }


def test_what_an_option_chooses_among_is_what_its_objective_knows():
    choices = {
        (name, f.name): set(f.metadata["choices"])
        for name, entry in OBJECTIVES.items()
        for f in fields(entry.options)
        if f.metadata["choices"] and f.name not in ("head", "loss")
    }
    drawn = {"same-role", "any", "other-domain"}
    assert choices == {
        **{(name, "weights"): {"none", "given", "irf"} for name in ("contrast", "joint")},
        **{(name, "batches"): {"mixed", "by-window", "by-kind"} for name in ("contrast", "joint")},
        **{(name, "negatives_from"): drawn for name in ("matching", "siamese")},
        ("matching", "aggregation"): {"mean", "attention"},
        ("template", "pair_negatives"): {"utterances", "templates", "both"},
    }


@pytest.mark.parametrize(
    ("objective", "name", "good", "bad"),
    [
        ("contrast", "temperature", {"0.01": 0.01}, ["0", "-1"]),
        ("matching", "negatives", {"all": "all", "9": 9}, ["0", "-1", "x"]),
        ("siamese", "context_turns", {"1": 1, "2": 2}, ["0"]),
        ("template", "template_temperature", {"0.01": 0.01}, ["0"]),
        ("template", "pair_temperature", {"0.01": 0.01}, ["0"]),
        ("mlm", "mask_share", {"0": 0.0, "1": 1.0}, ["1.1", "-0.1"]),
        ("mlm", "max_masked", {"1": 1}, ["0"]),
    ],
)
def test_what_makes_no_sense_is_no_value_of_an_option(
    objective: str, name: str, good: dict[str, float], bad: list[str]
):
    of_name = {f.name: f for f in fields(OBJECTIVES[objective].options)}
    parse = of_name[name].metadata["parse"]
    assert {text: parse(text) for text in good} == good
    for text in bad:
        with pytest.raises(ValueError, match=r"must be|expected"):
            parse(text)


def test_shares_of_losses_are_none_below_nothing_and_one_above_it():
    for only in ("utterance_weight", "template_weight", "pair_weight"):
        nothing = dict.fromkeys(("utterance_weight", "template_weight", "pair_weight"), 0.0)
        assert getattr(template_options(**nothing | {only: 0.5}), only) == 0.5
        for wrong in (nothing, {only: -0.5}):
            with pytest.raises(ConfigError, match="must be 0 or more, and one above it"):
                template_options(**wrong)


def test_what_contradicts_itself_is_refused():
    for options in (contrast_options, template_options):
        with pytest.raises(ConfigError, match="--keep-head: there is none"):
            options(keep_head=True)
        assert options(keep_head=True, head="tanh").keep_head
    for options in (SiameseOptions, MatchingOptions):
        rest = {"context_turns": 1, "temperature": 0.1, "aggregation": "mean"}
        known = {f.name for f in fields(options)}
        given = {name: value for name, value in rest.items() if name in known}
        with pytest.raises(ConfigError, match="--negatives all draws none"):
            options(**given, negatives="all", negatives_from="any")
        for negatives, drawn_from in ((1, "any"), ("all", "same-role")):
            assert options(**given, negatives=negatives, negatives_from=drawn_from)


def test_words_are_guessed_in_float32_whatever_the_head_computes_in():
    logits = torch.randn(5, 7, generator=torch.Generator().manual_seed(0)).bfloat16()
    truth, figures = torch.tensor([0, 1, 2, 3, 6]), {}
    loss = guess(logits, truth, figures)
    exact = torch.logsumexp(logits.double(), 1) - logits.double()[torch.arange(5), truth]
    assert loss.dtype == torch.float32
    assert loss.item() == pytest.approx(exact.mean().item(), rel=1e-6)
    assert figures == {"accuracy": 20.0 * int((logits.argmax(1) == truth).sum())}


def test_a_checkpoint_lends_its_head_over_words(encoder: Encoder, tmp_path: Path):
    from transformers import BertForMaskedLM

    store = stored([[{"text": "a b"}]], tmp_path, encoder)
    torch.manual_seed(3)
    BertForMaskedLM(encoder.backbone.config).save_pretrained(tmp_path / "bert")
    options = MaskedWordsOptions(mask_share=0.5, max_masked=20)
    lent = pretrained_head(str(tmp_path / "bert"))
    taken = MaskedWords(setting(store, encoder, options, model=str(tmp_path / "bert"))).head
    fresh = MaskedWords(setting(store, encoder, options)).head
    again = MaskedWords(setting(store, encoder, options)).head
    other = MaskedWords(setting(store, encoder, options, seed=1)).head
    assert set(lent) == set(taken.state_dict())
    for name, value in taken.state_dict().items():
        torch.testing.assert_close(value, lent[name])
        torch.testing.assert_close(fresh.state_dict()[name], again.state_dict()[name])
    weight = "transform.0.weight"
    assert not torch.equal(fresh.state_dict()[weight], taken.state_dict()[weight])
    assert not torch.equal(fresh.state_dict()[weight], other.state_dict()[weight])


def test_a_head_is_lent_by_old_names_and_to_tokens_that_are_new(tmp_path: Path):
    from transformers import BertForMaskedLM

    encoder = letters_encoder()
    store = stored([[{"text": "a b"}]], tmp_path, encoder)
    saved = BertForMaskedLM(encoder.backbone.config)
    saved.save_pretrained(tmp_path / "new")
    lent = pretrained_head(str(tmp_path / "new"))
    (tmp_path / "old").mkdir()
    weights = load_file(tmp_path / "new" / "model.safetensors")
    gamma = {"LayerNorm.weight": "LayerNorm.gamma", "LayerNorm.bias": "LayerNorm.beta"}
    old = {
        next((n.replace(new, was) for new, was in gamma.items() if new in n), n): weight
        for n, weight in weights.items()
    }
    assert old.keys() != weights.keys()
    save_file(old, tmp_path / "old" / "model.safetensors")
    encoder.use_speaker_tokens()
    options = MaskedWordsOptions(mask_share=0.5, max_masked=20)
    learnt = MaskedWords(setting(store, encoder, options, model=str(tmp_path / "old")))
    taken = learnt.head.state_dict()
    torch.testing.assert_close(taken.pop("bias"), torch.nn.functional.pad(lent.pop("bias"), (0, 2)))
    torch.testing.assert_close(taken, type(taken)(lent))
    assert learnt.note() == "" and MaskedWords(setting(store, encoder, options)).note() == ""
    (tmp_path / "none").mkdir()
    save_file({"x": torch.ones(1)}, tmp_path / "none" / "model.safetensors")
    fresh = MaskedWords(setting(store, encoder, options, model=str(tmp_path / "none")))
    assert fresh.note() == f"{tmp_path}/none has no head over words: a new one learns with it"


def test_what_is_to_be_guessed_is_what_was_written(encoder: Encoder, tmp_path: Path):
    rows = [{"text": " ".join("abcdefghij"[:n])} for n in (10, 4, 7)]
    store = stored([rows], tmp_path, encoder)
    options = MaskedWordsOptions(mask_share=0.5, max_masked=20)
    objective = MaskedWords(setting(store, encoder, options, max_tokens=24))
    batch = objective.collate(np.arange(3), step=0)
    assert len(batch.parts) > 1
    restored, hidden, guessed = [], 0, []
    for ids, _, labels in batch.parts:
        guessed += labels[labels >= 0].tolist()
        hidden += int((ids != torch.where(labels >= 0, labels, ids)).sum())
        for row in torch.where(labels >= 0, labels, ids):
            restored.append(said(encoder, row[row != encoder.special.pad]))
    assert [restored[i][6:-6] for i in batch.place] == [row["text"] for row in rows]
    assert len(guessed) == 5 + 2 + 4 and hidden >= 5
    assert batch.extra.tolist() == guessed
    other = objective.collate(np.arange(3), step=1)
    assert other.extra.tolist() != guessed
    again = objective.collate(np.arange(3), step=0)
    assert again.extra.tolist() == guessed
