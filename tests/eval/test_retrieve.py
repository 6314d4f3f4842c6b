"""dial-eval retrieve: given lists, lists that BM25 makes, chance, and the published JDDC sets."""

from __future__ import annotations

import math
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from score_files import Evaluate, Published, score, write

from dialtools.eval import each
from dialtools.eval.options.retrieve import RetrieveOptions
from dialtools.eval.tasks import retrieve
from dialtools.eval.tasks.retrieve import bm25_lists
from dialtools.metrics import paired
from dialtools.streams.vectors import Embeddings
from dialtools.words import index_terms

Command = Callable[..., subprocess.CompletedProcess]
ANGLES = np.deg2rad([0, 10, 20, 30, 40])
FAN = np.stack([np.cos(ANGLES), np.sin(ANGLES)], 1)  # the further apart two rows, the less alike


def test_map_and_mrr_over_given_lists(evaluate: Evaluate, tmp_path: Path):
    """Row 0 ranks b+ c- d+: AP (1 + 2/3)/2, RR 1; row 4 ranks d- c- b+: AP and RR 1/3."""
    rows = [{"id": name} for name in "abcde"]
    rows[0] |= {"positives": ["b", "d"], "negatives": ["c"]}
    rows[4] |= {"positives": ["b"], "negatives": ["c", "d", "e"]}  # itself: left out
    records = evaluate("retrieve", write(tmp_path / "r.jsonl", rows, embedding=FAN))
    assert score(records, "map")["value"] == pytest.approx(100 * (5 / 6 + 1 / 3) / 2)
    assert score(records, "mrr")["value"] == pytest.approx(100 * (1 + 1 / 3) / 2)
    assert score(records, "map")["n"] == 2 and score(records, "map")["setting"] == "given"
    two_of_three, one_of_three = (
        np.mean([1, (1 + 2 / 3) / 2, (1 / 2 + 2 / 3) / 2]),
        np.mean([1, 1 / 2, 1 / 3]),
    )
    assert score(records, "map")["chance"] == pytest.approx(100 * (two_of_three + one_of_three) / 2)


def test_of_the_nearest_rows_those_of_the_same_label_are_counted_the_row_itself_among_them(
    evaluate: Evaluate, tmp_path: Path
):
    rows = [{"label": label} for label in ("a", "a", "b", "b", None)]
    path = write(tmp_path / "near.jsonl", rows, embedding=FAN)
    records = evaluate("retrieve", "--lists", "nearest", "--k", "1,2,3,9", path)
    found = {r["metric"]: r for r in records}
    assert list(found) == ["same-of-1", "same-of-2", "same-of-3"]
    # of two: rows 0 and 1 find each other, row 2 row 1 (the lower of two as near), row 3 row 2
    assert found["same-of-2"]["each"] == [1, 1, 0.5, 1] and found["same-of-2"]["n"] == 4
    # of three: row 3 finds 2 and the row without a label, row 2 its neighbours 1 and 3
    assert found["same-of-3"]["value"] == pytest.approx(100 * np.mean([2, 2, 2, 2]) / 3)
    assert found["same-of-3"]["chance"] == pytest.approx(100 * (1 + 2 * 1 / 4) / 3)


def test_an_empty_label_is_none(evaluate: Evaluate, tmp_path: Path):
    draw = np.random.default_rng(1)
    matrix = draw.normal(size=(12, 4))
    scores = []
    for none in ("", None):
        rows = [{"text": f"t {i}", "label": none if i % 2 else "ab"[i % 4 // 2]} for i in range(12)]
        file = write(tmp_path / f"{none}.jsonl", rows, embedding=matrix)
        found = evaluate("retrieve", file, "--name", "x") + evaluate("space", file)
        scores.append([(r["metric"], r["value"], r["n"]) for r in found])
    assert scores[0] == scores[1]


def test_rows_of_one_text_tie_though_their_vectors_differ_by_a_rounding(
    evaluate: Evaluate, tmp_path: Path
):
    rows = [{"text": text} for text in ("ask", "yes", "yes", "no")]
    rows[0] |= {"positives": [1], "negatives": [2, 3]}
    vectors = np.array([[1, 0], [0.6, 0.8], [0.6 + 1e-7, 0.8], [0, 1]])
    records = evaluate("retrieve", write(tmp_path / "t.jsonl", rows, embedding=vectors))
    assert score(records, "mrr")["value"] == 75, "first or second, each as likely"


def test_ids_are_row_numbers_from_0_within_their_split(evaluate: Evaluate, tmp_path: Path):
    """Trap 36."""
    rows = [
        {"split": split, "positives": [1], "negatives": [2]}
        for split in ("dev", "test")
        for _ in range(3)
    ]
    vectors = np.concatenate([FAN[[0, 1, 2]], FAN[[0, 2, 1]]])
    path = write(tmp_path / "r.jsonl", rows, embedding=vectors)
    records = evaluate("retrieve", path)
    values = {r["setting"]: r["value"] for r in records if r["metric"] == "map"}
    # row 0 of dev finds its positive first, row 2 is its own negative and tells nothing, row 1 its
    # own positive
    assert values == {"dev given": 100, "test given": 50}
    assert [r["setting"] for r in evaluate("retrieve", "--part", "test", path)] == [
        "test given"
    ] * 2


def slow_bm25(terms: list[list[str]], query: int) -> list[float]:
    """k1 1.5, b 0.75, idf ln(1 + (N - df + 0.5)/(df + 0.5)): Lucene's."""
    n, mean = len(terms), sum(map(len, terms)) / len(terms)
    df = Counter(word for words in terms for word in set(words))
    idf = {word: math.log(1 + (n - f + 0.5) / (f + 0.5)) for word, f in df.items()}
    scores = []
    for words in terms:
        tf, norm = Counter(words), 1.5 * (0.25 + 0.75 * len(words) / mean)
        scores.append(sum(idf[word] * tf[word] / (tf[word] + norm) for word in terms[query]))
    return scores


@pytest.mark.parametrize(("words", "low", "high"), [(10, 2, 7), (40, 4, 12)])
def test_bm25_lists_are_those_of_its_formula(words: int, low: int, high: int):
    """Texts of few words score alike, at the border of the list too: the earlier comes first."""
    draw = np.random.default_rng(0)
    names = [f"word{i}" for i in range(words)]
    texts = list(
        dict.fromkeys(" ".join(draw.choice(names, draw.integers(low, high))) for _ in range(60))
    )
    labels = [str(draw.integers(0, 3)) for _ in texts]
    part = Embeddings({"embedding": np.zeros((len(texts), 2))}, {"text": texts, "label": labels})
    lists = bm25_lists(part, RetrieveOptions(inputs=("x",), candidates=12, positives=3))
    ends, terms = np.cumsum(lists.sizes), [index_terms(text) for text in texts]
    assert len(lists.queries) > 40
    for query, end, size in zip(lists.queries, ends, lists.sizes, strict=True):
        scores = [round(score, 5) for score in slow_bm25(terms, query)]
        best = sorted(
            (row for row in range(len(texts)) if row != query and scores[row] > 0),
            key=lambda r: (-scores[r], r),
        )[:12]
        same = [row for row in best if labels[row] == labels[query]][:3]
        assert lists.candidate[end - size : end].tolist() == [
            *same,
            *(r for r in best if labels[r] != labels[query]),
        ]
        assert lists.positive[end - size : end].tolist() == [True] * len(same) + [False] * (
            size - len(same)
        )


def test_copies_of_a_query_are_no_candidates_of_it(evaluate: Evaluate, tmp_path: Path):
    """Case and blanks apart; `limit` has no other row of its label, and is no query."""
    texts = {
        "lost my card": "lost",
        "Lost my  card": "lost",
        "a lost card": "lost",
        "my card limit": "limit",
    }
    rows = [{"text": text, "label": label} for text, label in texts.items()]
    vectors = np.concatenate(
        [FAN[[0, 0]], FAN[[2, 1]]]
    )  # `limit` is nearer to the copies than the third text is
    records = evaluate("retrieve", write(tmp_path / "r.jsonl", rows, embedding=vectors))
    assert score(records, "map")["n"] == 3
    first_two, third = 1 / 2, np.mean([(1 / 2 + 2 / 3) / 2])
    assert score(records, "map")["value"] == pytest.approx(100 * (2 * first_two + third) / 3)


def test_the_closing_line_is_of_the_test_part_wherever_its_rows_stand(
    command: Command, tmp_path: Path
):
    rows = [
        {"id": str(n), "split": split, "positives": ["0"], "negatives": ["1"]}
        for split in ("train", "test")
        for n in range(3)
    ]
    near = [[1, 0], [0, 1], [1, 0.1]]
    far = [[1, 0], [0, 1], [0.1, 1]]
    vectors = np.array([*near, *far], np.float32)
    file = write(tmp_path / "r.jsonl", rows, embedding=vectors)
    said = command("retrieve", "-o", tmp_path / "s.jsonl", file).stderr
    assert "s.jsonl: test given map" in said and ", 3 more (" in said


def test_what_tells_nothing_is_said(command: Command, tmp_path: Path):
    alone = write(
        tmp_path / "a.jsonl",
        [{"text": f"t {i}", "label": str(i)} for i in range(4)],
        embedding=FAN[:4],
    )
    assert (
        "4 rows: no query has both positives and negatives"
        in command("retrieve", alone, code=1).stderr
    )
    wrong = write(tmp_path / "b.jsonl", [{"positives": [7], "negatives": [0]}], embedding=FAN[:1])
    assert (
        "no row has split = 'tset'" in command("retrieve", "--part", "tset", wrong, code=1).stderr
    )


@pytest.mark.shared
def test_one_vector_for_everything_scores_at_the_chance_level_of_the_published_lists_of_jddc(
    evaluate: Evaluate, published: Published, tmp_path: Path
):
    """30 of 70: MAP 46.0; the test split, whose lists are a little shorter, 46.1."""
    rows = published("jddc_retrieval")
    records = evaluate(
        "retrieve", write(tmp_path / "jddc.jsonl", rows, embedding=np.ones((len(rows), 2)))
    )
    found = {(r["setting"], r["metric"]): r for r in records}
    assert [found[s, "map"]["n"] for s in ("dev given", "test given")] == [2094, 6970]
    for key, chance in {
        ("dev given", "map"): 46.0,
        ("test given", "map"): 46.1,
        ("test given", "mrr"): 63.8,
    }.items():
        assert found[key]["value"] == pytest.approx(found[key]["chance"])
        assert found[key]["value"] == pytest.approx(chance, abs=0.06)


def test_of_two_models_that_are_alike_one_in_twenty_seems_to_retrieve_better():
    """Rows that are candidates of each other share their luck; of queries alone it is more."""
    draw, found = np.random.default_rng(1), []
    options = RetrieveOptions(inputs=("x",), lists="bm25", candidates=30)
    words = [f"w{number}" for number in range(30)]
    for _ in range(50):
        labels = draw.integers(0, 5, 40)
        shared = draw.normal(size=(5, 8))[labels] + draw.normal(size=(40, 8))
        texts = [" ".join(draw.choice(words, 6)) for _ in labels]
        columns = {"text": texts, "label": labels.astype(str).tolist()}
        made = []
        for _model in range(2):
            vectors = shared + 0.7 * draw.normal(size=shared.shape)
            part = Embeddings({"embedding": vectors}, columns)
            lists = bm25_lists(part, options)
            record = retrieve._list_scores(part, lists, "", options)[0].record()
            assert record["metric"] == "map"
            own = np.array(record["each"]["own"])
            made.append(np.column_stack([each.statistic("map", record["each"]).values, own]))
        found.append(paired.sign_flips(np.subtract(*made), resamples=300, seed=0) < 0.05)
    both, queries_alone = np.mean(found, axis=0)
    assert both <= 0.09 < queries_alone
