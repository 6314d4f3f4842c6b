"""dial-eval select: blocks, random candidates, given lists, ties and duplicates."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest
from score_files import Evaluate, Record, score, write

from dialtools.eval.options.select import SelectOptions
from dialtools.eval.tasks.select import among_rows, given_lists
from dialtools.metrics.resample import over_shares
from dialtools.streams.vectors import Embeddings

Command = Callable[..., subprocess.CompletedProcess]


def pairs(
    path: Path, contexts: np.ndarray, responses: np.ndarray, texts: list[str] | None = None
) -> Path:
    texts = texts or [f"response {i}" for i in range(len(contexts))]
    rows = [{"context": [f"context {i}"], "response": text} for i, text in enumerate(texts)]
    return write(path, rows, context_embedding=contexts, response_embedding=responses)


@pytest.fixture(scope="module")
def noisy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    draw = np.random.default_rng(2)
    contexts = draw.normal(size=(45, 6))
    return pairs(
        tmp_path_factory.mktemp("select") / "noisy.jsonl",
        contexts,
        contexts + draw.normal(size=(45, 6)),
    )


def test_a_block_of_consecutive_rows_is_the_list_of_candidates(evaluate: Evaluate, tmp_path: Path):
    # two blocks of two: the first finds its responses, the second has them swapped
    path = pairs(tmp_path / "p.jsonl", np.eye(4), np.eye(4)[[0, 1, 3, 2]])
    records = evaluate("select", path, "--candidates", 2)
    assert score(records, "top-1")["value"] == 50 and score(records, "top-3")["value"] == 100
    assert score(records, "mrr")["value"] == pytest.approx(75) and score(records, "top-1")["n"] == 4


def test_the_remainder_that_fills_no_block_is_dropped(evaluate: Evaluate, noisy: Path):
    records = evaluate("select", noisy, "--candidates", 10)
    assert score(records, "top-1")["n"] == 40


def test_an_encoder_that_says_the_same_of_everything_scores_at_chance(
    evaluate: Evaluate, tmp_path: Path
):
    # one vector whose products need rounding, in a width where BLAS switches kernels
    same = np.repeat(np.random.default_rng(4).normal(size=(1, 67)), 20, 0)
    path = pairs(tmp_path / "p.jsonl", same, same)
    top1 = {
        ties: score(evaluate("select", path, "--candidates", 10, "--ties", ties), "top-1")["value"]
        for ties in ("average", "optimistic", "pessimistic")
    }
    assert top1 == {"average": pytest.approx(10), "optimistic": 100, "pessimistic": 0}


def test_a_response_that_stands_twice_in_a_block_is_no_rival_of_itself(
    evaluate: Evaluate, tmp_path: Path
):
    vectors = np.eye(4)
    vectors[1] = vectors[0]
    path = pairs(tmp_path / "p.jsonl", vectors, vectors, ["thanks", "thanks", "a", "b"])
    for ties in ("average", "pessimistic"):
        records = evaluate("select", path, "--candidates", 4, "--ties", ties)
        assert score(records, "top-1")["value"] == 100
    counted = evaluate("select", path, "--candidates", 4, "--duplicates", "count")
    assert score(counted, "top-1")["value"] == pytest.approx(75)


@pytest.mark.parametrize("how", ["blocks", "random", "pool"])
def test_a_query_whose_candidates_all_say_the_same_is_left_out_and_told(
    command: Command, evaluate: Evaluate, tmp_path: Path, how: str
):
    # the first block, and the first list, ask nothing; the others are answered wrong
    texts = ["thanks", "thanks", "a", "b"]
    path = pairs(tmp_path / "p.jsonl", np.eye(4), np.eye(4)[[0, 1, 3, 2]], texts)
    ask, n = ["select", path, "--candidates", 2], 2
    if how == "random":
        ask, n = [*ask, "--sampling", "random", "--limit", 2], 0
    if how == "pool":
        lists = [{"candidates": ["a", "c"], "positive": "a"}, {"candidates": list("ab")}]
        path = write(
            tmp_path / "q.jsonl", [lists[0], lists[1] | {"positive": "b"}], embedding=np.eye(2)
        )
        said = [{"id": "a", "text": "yes"}, {"id": "b", "text": "no"}, {"id": "c", "text": "yes"}]
        pool = write(tmp_path / "pool.jsonl", said, embedding=np.eye(2)[[1, 0, 1]])
        ask, n = ["select", path, "--pool", pool], 1
    if not n:
        assert "no query has a candidate but its response" in command(*ask, code=1).stderr
        return
    assert f"{n} row" in (told := command(*ask).stderr) and "no candidate but the" in told
    found = score(evaluate(*ask), "top-1")
    assert (found["value"], found["n"]) == (0, n)
    assert found.get("groups") == (None if how == "pool" else [0, 0])


def test_scores_without_the_blocks_that_ask_nothing_can_be_compared(
    command: Command, tmp_path: Path
):
    texts = ["thanks", "thanks", *"abcd"]
    path = pairs(tmp_path / "p.jsonl", np.eye(6), np.eye(6)[[0, 1, 3, 2, 4, 5]], texts)
    file = tmp_path / "scores.jsonl"
    command("select", path, "--candidates", 2, "-o", file)
    assert json.loads(file.read_text().splitlines()[0])["groups"] == [0, 0, 1, 1]
    compared = command("compare", file, f"again={file}", "--to", "jsonl").stdout.splitlines()
    assert {json.loads(line)["difference"] for line in compared} == {0}


def test_random_candidates_that_are_all_the_rows_equal_one_block(evaluate: Evaluate, noisy: Path):
    block = evaluate("select", noisy, "--candidates", 45)
    random = evaluate("select", noisy, "--candidates", 45, "--sampling", "random")
    for metric in ("top-1", "top-3", "top-5", "top-10", "mrr"):
        assert score(random, metric)["value"] == pytest.approx(score(block, metric)["value"])


def test_random_candidates_depend_on_the_seed_alone(evaluate: Evaluate, noisy: Path):
    ask = ("select", noisy, "--candidates", 5, "--sampling", "random", "--seed")
    values = [score(evaluate(*ask, seed), "mrr")["value"] for seed in (1, 1, 2)]
    assert values[0] == values[1] != values[2]


def test_scores_have_an_interval_that_holds_them(evaluate: Evaluate, noisy: Path):
    for metric in ("top-1", "mrr"):
        found = score(evaluate("select", noisy, "--candidates", 5), metric)
        assert found["low"] <= found["value"] <= found["high"] and found["low"] < found["high"]


def test_queries_of_a_block_share_candidates_so_that_the_interval_is_over_blocks(
    evaluate: Evaluate, noisy: Path
):
    found = score(evaluate("select", noisy, "--candidates", 5), "top-1")
    assert found["groups"] == np.repeat(range(9), 5).tolist() and found["n"] == 45
    blocks = np.reshape(found["each"], (9, 5)).sum(1)
    low, high = over_shares(blocks, np.full(9, 5))
    assert (found["value"], found["low"], found["high"]) == pytest.approx(
        (100 * blocks.sum() / 45, 100 * low, 100 * high)
    )
    assert "low" not in score(
        evaluate("select", noisy, "--candidates", 45), "top-1"
    )  # one block tells no spread
    assert "groups" not in score(
        evaluate("select", noisy, "--candidates", 5, "--sampling", "random"), "top-1"
    )


def test_the_length_of_vectors_does_not_matter(evaluate: Evaluate, tmp_path: Path):
    draw = np.random.default_rng(3)
    contexts, responses = draw.normal(size=(30, 4)), draw.normal(size=(30, 4))
    plain = evaluate("select", pairs(tmp_path / "a.jsonl", contexts, responses), "--candidates", 10)
    longer = responses * draw.uniform(0.1, 9, size=(30, 1))
    scaled = evaluate("select", pairs(tmp_path / "b.jsonl", contexts, longer), "--candidates", 10)
    assert score(plain, "mrr")["value"] == pytest.approx(score(scaled, "mrr")["value"])


def test_given_candidate_lists_name_rows_of_a_pool(evaluate: Evaluate, tmp_path: Path):
    pool = write(
        tmp_path / "pool.jsonl",
        [{"id": name, "text": name} for name in "abcd"],
        embedding=np.eye(4),
    )
    queries = [
        {"candidates": ["a", "b", "c"], "positive": "a"},
        {"candidates": ["b", "d"], "positive": "d"},
    ]
    vectors = np.array([[0.5, 0.9, 0.1, 0.0], [0.0, 0.2, 0.0, 0.9]])
    path = write(tmp_path / "queries.jsonl", queries, context_embedding=vectors)
    records = evaluate("select", path, "--pool", pool)
    assert score(records, "top-1")["value"] == 50 and score(records, "top-3")["value"] == 100
    assert score(records, "mrr")["value"] == pytest.approx(75)
    assert {(record["setting"], record["n"]) for record in records} == {("given candidates", 2)}
    assert not any("groups" in record for record in records), "lists are no blocks"


def test_fewer_pairs_than_one_block_is_said_and_not_scored(command: Command, noisy: Path):
    failed = command("select", noisy, "--candidates", 100, code=1)
    assert "45" in failed.stderr and "100" in failed.stderr and "Traceback" not in failed.stderr


@pytest.mark.parametrize("ids", [[{}] * 3, [{"id": n} for n in range(3)]])
def test_given_lists_may_name_texts_and_the_response_stands_for_the_true_one(
    evaluate: Evaluate, tmp_path: Path, ids: list[Record]
):
    # the layout of DSTC7-Ubuntu: history, response, candidates; the true one is in the first list,
    # not in the second
    pool = write(
        tmp_path / "pool.jsonl",
        [{"text": text, **own} for text, own in zip(("yes", "no", "well"), ids, strict=True)],
        embedding=np.eye(3),
    )
    queries = [
        {"candidates": ["no", "yes"], "response": "yes"},
        {"candidates": ["yes", "no"], "response": "well"},
    ]
    path = write(
        tmp_path / "queries.jsonl",
        queries,
        history_embedding=np.array([[1, 0.5, 0], [0.9, 0.3, 0.5]]),
    )
    records = evaluate("select", path, "--pool", pool)
    assert score(records, "top-1")["value"] == 50
    assert score(records, "mrr")["value"] == pytest.approx(75)


def test_a_candidate_that_the_pool_lacks_is_named(command: Command, tmp_path: Path):
    pool = write(tmp_path / "pool.jsonl", [{"text": "yes"}], embedding=np.ones((1, 2)))
    path = write(
        tmp_path / "queries.jsonl",
        [{"candidates": ["no"], "response": "yes"}],
        embedding=np.ones((1, 2)),
    )
    assert "row 1 names candidate 'no'" in command("select", path, "--pool", pool, code=1).stderr


@pytest.mark.parametrize("duplicates", ["drop", "count"])
def test_the_true_candidate_is_none_of_its_own_rivals_though_the_list_has_it_twice(duplicates: str):
    source = Embeddings(
        {"context_embedding": np.eye(3)[:1]},
        {"candidates": [["b", "a", "a", "c"]], "positive": ["a"]},
    )
    texts = ["yes", "Yes", "yes"]  # c says what a says
    pool = Embeddings({"embedding": np.eye(3)[[0, 1, 0]]}, {"id": list("abc"), "text": texts})
    found = given_lists(source, pool, SelectOptions(inputs=("x",), duplicates=duplicates))
    assert found.tolist() == [[0, {"drop": 0, "count": 1}[duplicates]]]


def drawn(texts: list[str], candidates: int, duplicates: str = "drop") -> list[list[int]]:
    """Return the ranks of random sampling where every other response is nearer than the true one.

    A rank is then how many others were drawn.
    """
    rows = len(texts)
    vectors = {"context_embedding": 1 - np.eye(rows), "response_embedding": np.eye(rows)}
    options = SelectOptions(
        inputs=("x",),
        sampling="random",
        candidates=candidates,
        text="says",
        duplicates=duplicates,
    )
    return among_rows(Embeddings(vectors, {"says": texts}), options).tolist()


def test_as_many_others_are_drawn_as_are_asked_for_and_what_says_the_same_where_it_counts():
    assert drawn(list("abcde"), 3) == [[2, 0]] * 5
    assert drawn(list("abcde"), 5) == [[4, 0]] * 5
    assert drawn(list("aaab"), 4) == [[1, 0]] * 3 + [[3, 0]]
    assert drawn(list("aaab"), 4, "count") == [[3, 0]] * 4


def test_fewer_random_candidates_than_asked_for_are_told(command: Command, tmp_path: Path):
    path = pairs(tmp_path / "p.jsonl", np.eye(4), np.eye(4), ["thanks", "thanks", "thanks", "a"])
    ask = ("select", path, "--sampling", "random", "--candidates")
    few = "dial-eval select: 3 of 4 rows have fewer than 4 candidates, 2 at least: "
    assert f"{few}too few rows have another text" in command(*ask, 4).stderr
    assert "fewer" not in command(*ask, 2).stderr
    assert "fewer" not in command(*ask, 4, "--duplicates", "count").stderr


def test_the_last_of_nearly_all_rows_are_not_waited_for(monkeypatch: pytest.MonkeyPatch):
    draw = Mock(wraps=np.random.default_rng(0))
    monkeypatch.setattr("dialtools.eval.tasks.select.np.random.default_rng", lambda _: draw)
    for texts in ([f"{i}" for i in range(200)], [f"{min(i, 20)}" for i in range(200)]):
        draw.reset_mock()
        assert drawn(texts, 200) == [[200 - texts.count(text), 0] for text in texts]
        assert draw.integers.call_count + draw.choice.call_count == 200


def test_the_queries_are_the_vectors_that_are_named_or_those_of_a_usual_name():
    def top(query: str | None, *names: str) -> list[list[int]]:
        vectors = {name: np.eye(2)[[0, 1] if i == 0 else [1, 0]] for i, name in enumerate(names)}
        source = Embeddings({**vectors, "response_embedding": np.eye(2)})
        options = SelectOptions(inputs=("x",), candidates=2, query=query)
        return among_rows(source, options).tolist()

    right, wrong = [[0, 0]] * 2, [[1, 0]] * 2
    assert top("own", "own", "context_embedding") == right
    assert top(None, "own", "context_embedding") == wrong
    assert top(None, "context_embedding", "history_embedding", "query_embedding") == right
    assert top(None, "history_embedding", "query_embedding") == right
