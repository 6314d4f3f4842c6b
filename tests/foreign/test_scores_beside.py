"""dial-eval retrieve beside pytrec_eval, which is trec_eval's own code."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from foreign.conftest import Dial

pytrec_eval = pytest.importorskip("pytrec_eval", reason="needs the foreign extra")
QUERIES, DOCUMENTS, DIMENSIONS = 60, 40, 8


def test_map_and_mrr_are_those_of_trec_eval(dial: Dial, tmp_path: Path):
    draw = np.random.default_rng(0)
    x = draw.normal(size=(QUERIES + DOCUMENTS, DIMENSIONS)).astype(np.float32)
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    names = [f"r{i}" for i in range(len(x))]
    run, relevant, rows = {}, {}, [{"id": name} for name in names]
    for query in range(QUERIES):
        chosen = QUERIES + draw.choice(DOCUMENTS, 20, replace=False)
        good = int(draw.integers(1, 6))
        positives, negatives = ([names[i] for i in part] for part in np.split(chosen, [good]))
        rows[query] = {"id": names[query], "positives": positives, "negatives": negatives}
        relevant[names[query]] = {name: int(name in positives) for name in positives + negatives}
        run[names[query]] = {names[i]: float(x[query] @ x[i]) for i in chosen}
    lines = [
        json.dumps({**row, "embedding": vector.tolist()}) + "\n"
        for row, vector in zip(rows, x, strict=True)
    ]
    (tmp_path / "rows.jsonl").write_text("".join(lines))
    told = dial("dial-eval retrieve --json rows.jsonl", cwd=tmp_path)
    ours = {record["metric"]: record["value"] for record in map(json.loads, told.splitlines())}
    theirs = pytrec_eval.RelevanceEvaluator(relevant, {"map", "recip_rank"}).evaluate(run)
    for metric, measure in (("map", "map"), ("mrr", "recip_rank")):
        mean = float(np.mean([scores[measure] for scores in theirs.values()]))
        assert ours[metric] == pytest.approx(100 * mean, abs=1e-6)
