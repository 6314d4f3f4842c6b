"""dial-eval sts: correlations of cosines with annotated scores."""

from __future__ import annotations

import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from score_files import Evaluate, Published, score, unit, write

from dialtools.metrics.counts import Spearman, pearson
from dialtools.metrics.resample import over_items

Command = Callable[..., subprocess.CompletedProcess]


def cosines(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return (
        unit(a.astype(np.float32)).astype(float) * unit(b.astype(np.float32)).astype(float)
    ).sum(1)


def test_every_split_and_all_rows_are_scored(evaluate: Evaluate, tmp_path: Path):
    """Trap 37: over all rows at once, never a mean of parts."""
    draw = np.random.default_rng(0)
    a, b = draw.normal(size=(2, 60, 5))
    rows = [
        {"split": "dev" if i < 20 else "test", "score": int(draw.integers(1, 6))} for i in range(60)
    ]
    gold = np.asarray([row["score"] for row in rows])
    path = write(tmp_path / "s.jsonl", rows, text1_embedding=a, text2_embedding=b)
    records = evaluate("sts", path)
    for setting, part in {"dev": slice(0, 20), "test": slice(20, 60), "all": slice(0, 60)}.items():
        found = score(records, "spearman", setting)
        assert found["value"] == pytest.approx(
            100 * stats.spearmanr(cosines(a, b)[part], gold[part]).statistic, abs=1e-4
        )
        assert found["low"] < found["value"] < found["high"]
        line = score(records, "pearson", setting)["value"]
        assert line == pytest.approx(
            100 * stats.pearsonr(cosines(a, b)[part], gold[part]).statistic, abs=1e-4
        )
    (rank, line) = evaluate("sts", "--part", "dev", path, "--seed", 5, "--name", "mine")
    for record, correlation in ((rank, Spearman), (line, pearson)):
        expected = over_items(correlation(cosines(a, b)[:20], gold[:20]), 20, seed=5)
        found = [record[name] for name in ("value", "low", "high")]
        assert found == pytest.approx([100 * x for x in expected], abs=1e-4)
        facts = [record[name] for name in ("task", "dataset", "setting", "runs", "n", "seed")]
        assert facts == ["sts", "mine", "dev", 1, 20, 5] and "std" not in record
        assert list(record["items"]) == ["score"]
    assert records[0]["dataset"] == str(path)


def test_cosines_that_differ_in_late_digits_can_be_compared(command: Command, tmp_path: Path):
    """Of an encoder that has collapsed, or of one never trained, all are nearly 1."""
    draw = np.random.default_rng(3)
    a, b = draw.normal(size=6) + 0.003 * draw.normal(size=(2, 200, 6))
    near = (unit(a) * unit(b)).sum(1)
    rows = [{"score": value} for value in (near + near.std() * draw.normal(size=200)).tolist()]
    path = write(tmp_path / "s.jsonl", rows, text1_embedding=a, text2_embedding=b)
    for name in ("x.jsonl", "y.jsonl"):
        command("sts", path, "-o", tmp_path / name)
    compared = command("compare", tmp_path / "x.jsonl", tmp_path / "y.jsonl").stdout
    assert compared.count('"difference":0.0') == 2


def test_the_texts_may_be_named_among_several(evaluate: Evaluate, tmp_path: Path):
    draw = np.random.default_rng(1)
    a, b, c = draw.normal(size=(3, 9, 4))
    path = write(
        tmp_path / "s.jsonl",
        [{"similarity": i} for i in range(9)],
        a_embedding=a,
        b_embedding=b,
        c_embedding=c,
    )
    found = score(evaluate("sts", "--texts", "c,a", "--score", "similarity", path), "spearman")
    assert found["value"] == pytest.approx(
        100 * stats.spearmanr(cosines(a, c), np.arange(9)).statistic, abs=1e-4
    )


def test_what_cannot_be_correlated_is_said(command: Command, tmp_path: Path):
    vectors = np.random.default_rng(2).normal(size=(3, 4))
    both = {"text1_embedding": vectors, "text2_embedding": vectors[::-1]}
    for name, rows, says in (
        ("one.jsonl", [{"score": 1}] * 3, "3 rows: no two values of score differ"),
        ("dev.jsonl", [{"score": 1, "split": "dev"}] * 3, "3 rows of dev: no two values of"),
        (
            "odd.jsonl",
            [{"score": 1}, {"score": "x"}, {"score": 2}],
            "odd.jsonl:2: score: expected a number, got a string",
        ),
        ("no.jsonl", [{"label": 1}] * 3, "no column 'score'"),
    ):
        assert says in command("sts", write(tmp_path / name, rows, **both), code=1).stderr


@pytest.mark.shared
@pytest.mark.parametrize(
    ("name", "splits"),
    [("jddc_sts", {"dev": 1000, "test": 2000}), ("sick", {"train": 4500, "trial": 500})],
)
def test_published_sets_are_read_as_they_are(
    name: str, splits: dict[str, int], evaluate: Evaluate, published: Published, tmp_path: Path
):
    """With counts of characters as vectors: shared ones tell something in both languages."""
    rows = published(name)
    common = Counter(c for row in rows for c in row["text1"] + row["text2"]).most_common(300)
    place = {c: i for i, (c, _) in enumerate(common)}

    def counts(field: str) -> np.ndarray:
        found = np.full((len(rows), len(place)), 1e-3)
        for i, row in enumerate(rows):
            for c in row[field]:
                if c in place:
                    found[i, place[c]] += 1
        return found

    vectors = {f"{field}_embedding": counts(field) for field in ("text1", "text2")}
    records = evaluate("sts", write(tmp_path / "s.jsonl", rows, **vectors))
    assert {r["setting"]: r["n"] for r in records} == {**splits, "all": sum(splits.values())}
    expected = stats.spearmanr(cosines(*vectors.values()), [row["score"] for row in rows]).statistic
    assert score(records, "spearman", "all")["value"] == pytest.approx(100 * expected, abs=0.01)
    assert expected > 0.3
