"""dialtools mine: the nearest responses that do not answer a context, and what is no negative."""

from __future__ import annotations

import json
import math
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pair_corpus import Train, as_lines

from dialtools.mine import job
from dialtools.mine.job import ceilings, drawn
from dialtools.mine.options import MineOptions
from dialtools.mine.pairs import known_positives

Mine = Callable[..., subprocess.CompletedProcess]
ANGLES = {"q": 0, "p": 10, "near": 12, "twin": 15, "mid": 30, "far": 80, "back": 170}
"""Degrees on a circle: cosines that a reader can order."""


def vector(text: str) -> list[float]:
    angle = math.radians(ANGLES[text.lower().strip()])
    return [math.cos(angle), math.sin(angle)]


PAIRS = [
    {"context": ["q"], "response": "twin", "kind": "x"},
    {"context": ["far"], "response": "p"},
    {"context": ["far"], "response": "near"},
    {"context": ["back"], "response": "mid"},
    {"context": ["mid"], "response": "far"},
]
TEXTS = [{"text": text, "embedding": vector(text)} for text in ANGLES]


@pytest.fixture
def mine(scripts: Path, environment: dict[str, str], tmp_path: Path) -> Mine:
    """Run it on pairs, by default those above, with the vectors of their texts."""

    def run(
        *arguments: object,
        pairs: Any = PAIRS,
        embeddings: Any = TEXTS,
        code: int = 0,
        environment: dict[str, str] = environment,
    ) -> subprocess.CompletedProcess:
        for name, rows in (("pairs", pairs), ("vectors", embeddings)):
            if isinstance(rows, list):
                (tmp_path / f"{name}.jsonl").write_bytes(as_lines(rows))
        vectors = [] if "--embeddings" in arguments else ["--embeddings", "vectors.jsonl"]
        line = [scripts / "dialtools", "mine", *vectors, *arguments]
        if isinstance(pairs, list):
            line.append("pairs.jsonl")
        done = subprocess.run(
            list(map(str, line)),
            capture_output=True,
            env=environment,
            cwd=tmp_path,
            timeout=300,
            input=pairs if isinstance(pairs, bytes) else b"",
        )
        assert done.returncode == code, done.stderr.decode()
        return done

    return run


def negatives(done: subprocess.CompletedProcess) -> list[list[str]]:
    return [orjson.loads(line)["negatives"] for line in done.stdout.splitlines()]


def test_negatives_are_the_nearest_responses_below_what_the_own_one_scores(mine: Mine):
    done = mine("--relative-margin", 0, "--num-negatives", 2)
    assert negatives(done) == [["mid", "far"], [], [], ["twin", "near"], []]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--relative-margin", "none"], ["p", "near", "mid"]),
        (["--relative-margin", "none", "--range-min", 1], ["near", "mid", "far"]),
        (["--relative-margin", "none", "--range-min", 1, "--range-max", 2], ["near"]),
        (["--relative-margin", "none", "--max-score", 0.98], ["near", "mid", "far"]),
        (["--relative-margin", "none", "--min-score", 0.98], ["p"]),
        (["--relative-margin", "none", "--absolute-margin", 0], ["mid", "far"]),
        (["--relative-margin", 0.2], ["far"]),
        (["--num-negatives", 1], ["mid"]),
    ],
)
def test_margins_bounds_and_ranks_say_which_are_taken(
    mine: Mine, arguments: list[Any], expected: list[str]
):
    assert negatives(mine(*arguments))[0] == expected


def test_a_margin_lowers_a_score_below_0_too():
    options = MineOptions(embeddings=("x",), relative_margin=0.1)
    assert ceilings(np.array([0.5, -0.5, 0.0]), options).tolist() == [0.45, -0.55, 0.0]
    options = MineOptions(embeddings=("x",), absolute_margin=0.2, max_score=0.1)
    assert ceilings(np.array([0.5, -0.5]), options).tolist() == [0.1, -0.7]


def test_no_negative_answers_the_context_anywhere_whatever_its_case_and_blanks(mine: Mine):
    rows = [*PAIRS, {"context": [" Q"], "response": "P "}, {"context": ["q"], "response": "MID"}]
    named = [{"text": text, "embedding": vector(text)} for text in (" Q", "P ", "MID")]
    done = mine("--relative-margin", "none", pairs=rows, embeddings=[*TEXTS, *named])
    assert negatives(done)[0] == ["near", "far"]
    assert negatives(done)[5] == ["near", "far"]


def test_a_text_has_its_own_vector_as_a_context_and_another_as_a_response(mine: Mine):
    """A transform moves contexts alone: here by 70 degrees."""
    moved = {"q": "far", "twin": "back"}
    rows = [
        {
            "context": [text],
            "response": text,
            "context_embedding": vector(moved[text]),
            "response_embedding": vector(text),
        }
        for text in moved
    ]
    pairs = [{"context": ["q"], "response": "twin"}, {"context": ["twin"], "response": "q"}]
    bounds = ("--relative-margin", "none", "--min-score")
    pairs.append({"context": ["twin"], "response": "twin"})
    # 80 degrees are between q as a context and as a response, 0 between it and itself
    assert negatives(mine(*bounds, 0.1, pairs=pairs, embeddings=rows))[0] == ["q"]
    assert negatives(mine(*bounds, 0.2, pairs=pairs, embeddings=rows))[0] == []


def test_every_other_field_stays_as_it_was_and_columns_give_columns(mine: Mine, tmp_path: Path):
    lines = (
        b'{"context": ["q"],  "response":"twin", "n": 123456789012345678901234567890}\n'
        b'{"negatives": ["x"], "context":["back"],"response": "mid"}\n'
        b'{"context":["mid"],"response":"far"}\n'
    )
    (tmp_path / "vectors.jsonl").write_bytes(as_lines(TEXTS))
    out = mine("--relative-margin", "none", pairs=lines, embeddings=None).stdout.splitlines()
    assert out[0] == lines.splitlines()[0][:-1] + b',"negatives":["mid","far"]}'
    assert json.loads(out[1])["negatives"] == ["far", "twin"]

    table = pa.table({"context": [["q"], ["back"]], "response": ["twin", "mid"], "k": [1, None]})
    pq.write_table(table, tmp_path / "pairs.parquet")
    for name in ("out.arrows", "out.parquet"):
        mine("--relative-margin", "none", "-o", name, "pairs.parquet", pairs=b"", embeddings=None)
    found = pq.read_table(tmp_path / "out.parquet")
    assert found["negatives"].to_pylist() == [["mid"], ["twin"]]
    assert found["k"].to_pylist() == [1, None]
    told = json.loads(found.schema.metadata[b"dialtools"])
    assert told["command"] == "dialtools mine"
    assert told["counts"] == {"pairs": 2, "candidates": 2, "negatives": 2, "without": 0}
    streamed = pa.ipc.open_stream(tmp_path / "out.arrows").read_all()
    assert streamed.to_pylist() == found.to_pylist()


def test_the_closing_line_counts_them(mine: Mine):
    told = mine("--relative-margin", 0).stderr.decode()
    assert "5 pairs, 5 negatives, 1.00 a pair; 3 pairs without" in told


def test_a_sample_is_of_the_range_and_depends_on_the_seed(mine: Mine):
    wide = ("--relative-margin", "none", "--sampling-strategy", "random", "--range-max", 4)
    found = {
        tuple(negatives(mine(*wide, "--num-negatives", 2, "--seed", seed))[0]) for seed in range(6)
    }
    assert len(found) > 1
    order = ["p", "near", "mid", "far"]
    assert all(list(two) == sorted(two, key=order.index) for two in found)
    assert mine(*wide).stdout == mine(*wide).stdout


BAD = [
    ({"context": ["q"]}, 'pairs.jsonl:6: no "response"'),
    ({"context": ["q", 7], "response": "p"}, "pairs.jsonl:6: context[1]: expected a string"),
    ({"context": ["q"], "response": 7}, "pairs.jsonl:6: response: expected a string"),
    ({"context": ["unheard"], "response": "p"}, "pairs.jsonl:6: context: no vector of it"),
    ({"context": ["q"], "response": "unheard"}, "pairs.jsonl:6: response: no vector of it"),
]


@pytest.mark.parametrize(("row", "told"), BAD)
def test_a_row_that_cannot_be_used_is_named_or_skipped(mine: Mine, row: Any, told: str):
    assert told in mine(pairs=[*PAIRS, row], code=1).stderr.decode()
    done = mine("--on-error", "skip", pairs=[row, *PAIRS], code=3)
    assert negatives(done) == negatives(mine())


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ([{"embedding": [1.0, 0.0]}], "vectors.jsonl: no column text beside embedding"),
        ([{"context_embedding": [1.0]}], "no column context beside context_embedding"),
        (
            [{"text": "q", "embedding": [1.0, 2.0], "response": "p", "response_embedding": [1.0]}],
            "vectors of 1 dimension beside vectors of 2",
        ),
        ([{"text": "q"}], "holds no embeddings"),
        ([{"text": "q", "embedding": [1.0, None]}], "embedding: expected numbers"),
    ],
)
def test_embeddings_that_do_not_fit_are_refused(mine: Mine, rows: Any, told: str):
    assert told in mine(embeddings=rows, code=1).stderr.decode()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--embeddings", "-"], "stdin can be read once"),
        (["--range-min", 5, "--range-max", 5], "--range-max must be above --range-min"),
        (["--num-negatives", 2000], "--range-max is 20,000 nearest of each pair"),
        (["--relative-margin", -1], "--relative-margin"),
    ],
)
def test_what_makes_no_sense_is_a_usage_error(mine: Mine, arguments: list[Any], told: str):
    assert told in mine(*arguments, "-", pairs=b"", code=2).stderr.decode()


def test_a_limit_leaves_the_other_pairs_unread(mine: Mine):
    assert negatives(mine("-n", 2, "--relative-margin", "none")) == [["p"], ["twin"]]
    done = mine("-n", 0)
    assert done.stdout == b"" and b"0 pairs, 0 negatives (" in done.stderr
    rows = [PAIRS[0], {"context": ["q"], "response": "unknown"}, PAIRS[1], {"context": 5}]
    flags = ("-n", 2, "--on-error", "skip", "--relative-margin", "none")
    done = mine(*flags, pairs=rows, code=3)
    assert negatives(done) == [["p"], ["twin"]] and b"; 1 bad record skipped" in done.stderr


def test_turns_may_be_objects_and_a_context_one_text(mine: Mine):
    rows = [{"context": "q", "response": "twin"}, {"context": [{"text": "q"}], "response": "twin"}]
    done = mine(pairs=[*rows, *PAIRS[1:]])
    assert negatives(done)[:2] == [["mid", "far"]] * 2


def test_vectors_of_two_models_are_refused(mine: Mine, tmp_path: Path):
    for weights in ("one", "two"):
        facts = {"weights": weights, "pooling": "mean", "options": {"model": weights}}
        table = pa.Table.from_pylist(TEXTS).replace_schema_metadata(
            {"dialtools": json.dumps(facts)}
        )
        pq.write_table(table, tmp_path / f"{weights}.parquet")
    both = ["--embeddings", "one.parquet,two.parquet"]
    assert "two.parquet: its vectors are of another model" in mine(*both, code=1).stderr.decode()


def test_vectors_of_zeros_are_like_nothing(mine: Mine):
    rows = [{**row, "embedding": [0.0, 0.0]} for row in TEXTS]
    assert negatives(mine(embeddings=rows, pairs=PAIRS[:1] + PAIRS[3:]))[0] == ["mid", "far"]


# the search


def exact(values: st.SearchStrategy[Any], rows: int, draw: Any) -> np.ndarray:
    """Numbers whose products are exact in any order of summing, so that ties are ties."""
    return np.array(draw(st.lists(values, min_size=rows * 2, max_size=rows * 2))).reshape(rows, 2)


@given(st.data())
def test_the_search_in_blocks_is_the_sorting_of_all_scores(data: st.DataObject):
    pairs, many = data.draw(st.integers(1, 4)), data.draw(st.integers(1, 30))
    eighths = st.integers(-4, 4).map(lambda n: np.float32(n / 8))
    query, candidates = exact(eighths, pairs, data.draw), exact(eighths, many, data.draw)
    count, block = data.draw(st.integers(1, many)), data.draw(st.integers(1, 9))
    ceiling = np.array(data.draw(st.lists(eighths, min_size=pairs, max_size=pairs)))
    known = sorted(
        data.draw(st.sets(st.tuples(st.integers(0, many - 1), st.integers(0, pairs - 1))))
    )
    found = job.nearest(
        query,
        ((i, candidates[i : i + block]) for i in range(0, many, block)),
        count=count,
        ceiling_B=ceiling,
        floor=-0.3,
        known=(
            np.array([row for _, row in known], np.int64),
            np.array([candidate for candidate, _ in known], np.int64),
        ),
    )
    scores = query @ candidates.T
    for i in range(pairs):
        allowed = [
            j for j in range(many) if -0.3 <= scores[i, j] <= ceiling[i] and (j, i) not in known
        ]
        best = sorted(allowed, key=lambda j: (-scores[i, j], j))[:count]
        assert found[i].tolist() == best + [-1] * (count - len(best))


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 6))))
def test_known_positives_are_the_answers_of_each_context(pairs: list[tuple[int, int]]):
    anchor, answer = np.array(pairs, np.int32).reshape(-1, 2).T
    starts, answers = known_positives(anchor, answer)
    for context in range(max((a for a, _ in pairs), default=-1) + 1):
        found = answers[starts[context] : starts[context + 1]].tolist()
        assert found == sorted({b for a, b in pairs if a == context})


def test_what_is_found_does_not_depend_on_blocks_and_threads(
    mine: Mine, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    draw = np.random.default_rng(0)
    texts = [f"t{i}" for i in range(300)]
    rows = [{"text": t, "embedding": draw.normal(size=16).tolist()} for t in texts]
    pairs = [{"context": [texts[i]], "response": texts[i * 7 % 300]} for i in range(300)]
    several = environment | {"OMP_NUM_THREADS": "2", "OPENBLAS_NUM_THREADS": "2"}
    one = mine(pairs=pairs, embeddings=rows)
    assert mine(pairs=pairs, embeddings=rows, environment=several).stdout == one.stdout

    monkeypatch.setattr(job, "PAIRS_AT_ONCE", 7)
    monkeypatch.setattr(job, "CANDIDATES_AT_ONCE", 13)
    from dialtools.streams.policy import Policy

    monkeypatch.chdir(tmp_path)
    mining = job.Mining(
        MineOptions(embeddings=("vectors.jsonl",), inputs=("pairs.jsonl",)), Policy()
    )
    mining.read()
    done: list[int] = []
    mining.search(done.append)
    assert sum(done) == len(pairs)
    assert b"".join(mining.payloads(lines=True)) == one.stdout


def test_embedded_mined_and_learnt_from(
    scripts: Path,
    environment: dict[str, str],
    train: Train,
    model: Path,
    pairs: Path,
    tmp_path: Path,
):
    """Contexts of several turns are found by their turns; the pairs may come through a pipe."""

    def run(*line: object, stdin: bytes = b"") -> bytes:
        return subprocess.run(
            list(map(str, line)), check=True, capture_output=True, env=environment, input=stdin
        ).stdout

    vectors = tmp_path / "v.parquet"
    embed = (scripts / "dial-embed", "--model", model, "--field", "context,response")
    run(*embed, "--keep", "context,response", "--device", "cpu", pairs, "-o", vectors)
    command = (scripts / "dialtools", "mine", "--embeddings", vectors)
    mined = run(*command, stdin=pairs.read_bytes())
    rows = [orjson.loads(line) for line in mined.splitlines()]
    assert len(rows) == 480 and all(len(row["negatives"]) <= 3 for row in rows)
    assert sum(len(row["negatives"]) for row in rows) > 480
    answers: dict[tuple[str, ...], set[str]] = {}
    for row in rows:
        answers.setdefault(tuple(row["context"]), set()).add(row["response"])
    assert not any(answers[tuple(row["context"])] & set(row["negatives"]) for row in rows)
    own = ("--model", model, "--max-steps", 2, "--batch-size", 16, "--device", "cpu")
    done = train(*own, "-o", tmp_path / "m", stdin=mined, small=False)
    assert "named_negatives" in (tmp_path / "m" / "train-log.jsonl").read_text(), done.stderr


def test_no_candidate_that_is_there_is_passed_over_for_one_that_is_not():
    table = np.array([[4, 2, -1, -1, -1], [7, -1, -1, -1, -1], [5, 3, 1, -1, -1]])
    for seed in range(20):
        found = drawn(table, 2, np.random.default_rng(seed)).tolist()
        assert found[:2] == [[4, 2], [7, -1]]
        assert found[2] in ([5, 3], [5, 1], [3, 1])
