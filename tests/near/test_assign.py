"""dialtools assign: the nearest class of rows, or none; thresholds; routers kept and applied."""

from __future__ import annotations

import json
import math
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from near.conftest import Near, at, rows
from pair_corpus import as_lines

from dialtools.metrics.classify import threshold_at_precision, threshold_at_recall
from dialtools.near.router import Router


def labelled(label: Any, *degrees: float) -> list[dict[str, Any]]:
    return [{"text": f"{label} {d}", "label": label, "embedding": at(d)} for d in degrees]


EXAMPLES = [*labelled("east", -10, 10), *labelled("north", 80, 100)]
"""Prototypes at 0 and 90 degrees."""
ROWS = [{"id": d, "n": {"deep": [d]}, "embedding": at(d)} for d in (5, 30, 70, 200)]
HELD = [
    *labelled("east", 0, 10, 20, 30, 40),
    *labelled("north", 90, 85, 75, 20),
    *labelled("none", 50, 200),
]
COSINE_10, COSINE_20, COSINE_30, COSINE_40 = 0.984808, 0.939693, 0.866025, 0.766044


def assigned(done: subprocess.CompletedProcess) -> list[str]:
    return [row["assigned"] for row in rows(done)]


def test_a_row_has_its_fields_its_class_its_score_and_the_runners_up(near: Near):
    done = near("assign", "r.jsonl", "--examples", "e.jsonl", "--min-cosine", 0, r=ROWS, e=EXAMPLES)
    assert rows(done)[1] == {
        "id": 30,
        "n": {"deep": [30]},
        "assigned": "east",
        "score": COSINE_30,
        "runners_up": [{"label": "north", "score": 0.5}],
    }
    assert assigned(done) == ["east", "east", "north", "none"]
    # what is near nothing is told its nearest classes, too
    assert [r["label"] for r in rows(done)[3]["runners_up"]] == ["north", "east"]
    assert done.stderr.decode().startswith("dialtools assign: 4 rows, 2 classes; 1 none (")


def test_fields_that_are_written_anew_are_told(near: Near):
    scored = [row | {"score": 7, "assigned": "west"} for row in ROWS]
    done = near("assign", "r.jsonl", "--examples", "e.jsonl", r=scored, e=EXAMPLES)
    assert rows(done)[0]["score"] < 7
    assert "4 rows, 2 classes; written anew: assigned, score (" in done.stderr.decode()


def test_a_vector_of_zeros_is_near_to_no_class(near: Near):
    blank = [*ROWS[:1], {"id": 0, "embedding": [0.0] * len(at(0))}]
    done = near("assign", "r.jsonl", "--examples", "e.jsonl", r=blank, e=EXAMPLES)
    assert assigned(done) == ["east", "none"]
    assert "2 rows, 2 classes; 1 none; 1 vector of zeros" in done.stderr.decode()


def test_an_example_of_zeros_makes_no_class_that_is_nearer_than_far_ones(near: Near):
    blank = [{"label": label, "embedding": [0.0, 0.0]} for label in ("void", "east")]
    for flags in ((), ("--nearest", 3)):
        ask = ("assign", "r.jsonl", "--examples", "e.jsonl", *flags)
        done = near(*ask, r=ROWS, e=EXAMPLES + blank)
        assert done.stdout == near(*ask, e=EXAMPLES).stdout
        assert "2 examples of zeros left out" in done.stderr.decode()


def test_examples_of_classes_that_case_and_blanks_alone_tell_apart_are_told(near: Near):
    slips = [*EXAMPLES, {**EXAMPLES[0], "label": "East "}]
    said = near("assign", "r.jsonl", "--examples", "e.jsonl", r=ROWS, e=slips).stderr.decode()
    assert "case or blanks alone tell classes apart: 'East ' and 'east'\n" in said


def test_a_class_whose_examples_cancel_has_no_prototype_and_is_refused(near: Near):
    # three ways that add up to nothing, but for rounding: what rounding leaves is no direction
    apart = labelled("all", 0, 120, 240)
    ask = ("assign", "r.jsonl", "--examples", "e.jsonl")
    said = near(*ask, r=ROWS, e=EXAMPLES + apart, code=1).stderr.decode()
    assert said == (
        "dialtools assign: e.jsonl: the examples of all cancel each other: their mean is zeros\n"
        "  --nearest N scores a class by its examples\n"
    )
    done = near(*ask, "--nearest", 1)
    assert assigned(done)[-1] == "all"


def test_validation_rows_of_zeros_alone_are_near_to_no_class(near: Near):
    held = [{"label": "east", "embedding": [0.0, 0.0]}]
    ask = ("assign", "--examples", "e.jsonl", "--validation", "v.jsonl", "r.jsonl")
    said = near(*ask, e=EXAMPLES, v=held, r=ROWS).stderr.decode()
    assert "no threshold reaches recall 0.95: 0.0% of the rows" in said


def test_runners_up_and_fields_are_as_many_as_asked_for(near: Near):
    ask = ("assign", "r.jsonl", "--examples", "e.jsonl", "-n", 2)
    done = near(*ask, "--runners-up", 0, "--keep", "none", r=ROWS, e=EXAMPLES)
    assert [set(row) for row in rows(done)] == [{"assigned", "score", "runners_up"}] * 2
    assert all(row["runners_up"] == [] for row in rows(done))
    assert set(rows(near(*ask, "--keep", "id"))[0]) == {"id", "assigned", "score", "runners_up"}


def test_without_a_threshold_each_row_gets_its_nearest_class_and_that_is_told(near: Near):
    done = near("assign", "r.jsonl", "--examples", "e.jsonl", r=ROWS, e=EXAMPLES)
    assert assigned(done) == ["east", "east", "north", "north"]
    assert "no thresholds" in done.stderr.decode()


def test_a_class_may_be_as_near_as_its_nearest_examples(near: Near):
    ask = ("assign", "r.jsonl", "--examples", "e.jsonl", "--min-cosine", 0.5, "--nearest")
    one = near(*ask, 1, r=ROWS, e=EXAMPLES)
    assert rows(one)[1]["score"] == COSINE_20  # of 10 degrees
    both = rows(near(*ask, 2))[1]["score"]
    assert both == pytest.approx((COSINE_20 + COSINE_40) / 2, abs=1e-6)
    assert rows(near(*ask, 9))[1]["score"] == both  # there are no more


def thresholds(near: Near, tmp_path: Path, *asked: object) -> tuple[dict[str, float], str]:
    """The threshold of each class that validation rows make, and what was told of them."""
    files = {"e": EXAMPLES, "v": HELD}
    done = near(
        *("assign", "--examples", "e.jsonl", "--validation", "v.jsonl", *asked),
        *("--save-router", "router.parquet", "--overwrite"),
        **files,
    )
    table = pq.read_table(tmp_path / "router.parquet").to_pydict()
    return dict(zip(table["label"], table["threshold"], strict=True)), done.stderr.decode()


@pytest.mark.parametrize(
    ("asked", "east", "north", "told"),
    [
        # of 9 rows of classes, 8 are nearest to theirs: east within 40, north within 15 degrees
        (["--recall", 0.5], 0.965926, 0.965926, ""),
        (["--recall", 0.85], COSINE_40, COSINE_40, ""),
        ([], COSINE_40, COSINE_40, "no threshold reaches recall 0.95: 88.9% of the rows"),
        (["--per-class", "--recall", 0.6], COSINE_20, 0.965926, ""),
        (["--per-class", "--recall", 0.8], COSINE_30, 0.965926, "of 1 class no threshold reaches"),
        # within 15 degrees 5 rows are right, at 20 one is and one is not
        (["--precision", 1.0], 0.965926, 0.965926, ""),
        (["--precision", 0.87], COSINE_30, COSINE_30, ""),
        (["--per-class", "--precision", 0.9], COSINE_10, 0.965926, ""),
        (["--per-class", "--precision", 0.8, "--min-cosine", 0.99], 0.99, 0.99, ""),
    ],
)
def test_thresholds_are_what_validation_rows_ask_for(
    near: Near, tmp_path: Path, asked: list[Any], east: float, north: float, told: str
):
    found, said = thresholds(near, tmp_path, *asked)
    assert found == {"east": pytest.approx(east, abs=1e-6), "north": pytest.approx(north, abs=1e-6)}
    assert told in said
    assert ("reaches" in said) == bool(told)


def test_what_validation_rows_get_is_told(near: Near, tmp_path: Path):
    _, said = thresholds(near, tmp_path, "--recall", 0.5)  # within 15 degrees
    assert (
        "of 9 validation rows of the classes 55.6% get the right one, 0.0% another; "
        "of 2 others 100.0% get none\n"
    ) in said
    _, said = thresholds(near, tmp_path, "--recall", 0.85)  # within 40
    assert "88.9% get the right one, 11.1% another; of 2 others 50.0% get none\n" in said


def test_a_router_is_an_embedding_file_that_assigns_as_its_making_did(near: Near, tmp_path: Path):
    for nearest in ((), ("--nearest", 1)):
        ask = ("assign", "--examples", "e.jsonl", "--min-cosine", 0.5, "--none", "oos", *nearest)
        near(*ask, "--save-router", "router.parquet", "--overwrite", e=EXAMPLES, r=ROWS)
        table = pq.read_table(tmp_path / "router.parquet")
        assert table.column_names == ["label", "threshold", "embedding"]
        assert table.num_rows == (4 if nearest else 2)
        again = near("assign", "--router", "router.parquet", stdin=as_lines(ROWS))
        assert again.stdout == near(*ask, "r.jsonl").stdout
        assert assigned(again)[-1] == "oos"
        assert rows(near("neighbors", "r.jsonl", "router.parquet", "--keep", "none", "-k", 1))


def test_a_router_that_was_saved_gives_every_digit_of_the_scores_that_set_its_thresholds(
    tmp_path: Path,
):
    draw = np.random.default_rng(0)
    examples_ND, labels = draw.normal(size=(60, 48)).astype(np.float32), list("abc") * 20
    rows_ND = draw.normal(size=(500, 48)).astype(np.float32)
    for nearest in (None, 2):
        made = Router.of_examples(examples_ND, labels, nearest=nearest, none="none")
        made.space = {"weights": "w", "pooling": "mean"}
        made.save(str(tmp_path / "r.parquet"), facts={}, overwrite=True)
        read = Router.load(str(tmp_path / "r.parquet"))
        assert made.space.items() <= read.space.items()
        np.testing.assert_array_equal(read.scores(rows_ND), made.scores(rows_ND))


def test_examples_of_none_are_left_out_and_labels_need_not_be_texts(near: Near):
    examples = [*labelled(7, 0), *labelled(True, 90), *labelled("none", 30)]
    done = near("assign", "r.jsonl", "--examples", "e.jsonl", e=examples, r=ROWS)
    assert assigned(done) == ["7", "7", "true", "true"]
    assert "1 example of none left out" in done.stderr.decode()


SOUTHERN = [{"text": "said", "embedding": at(d)} for d in (-40, -30, -20, 95, 100)]
"""Of a log: three near east, two near north."""
FAR = [{"text": "far", "embedding": at(d)} for d in (220, 230)]
"""Of a log: what is less near to east and north than they are to each other."""


def transcribed(log: list[dict[str, Any]]) -> np.ndarray:
    """Return both prototypes after three rounds, by the words of `refined`."""
    east, north = np.array(at(0)), np.array(at(90))
    for _ in range(3):
        found: list[list[np.ndarray]] = [[], []]
        for row in log:
            vector = np.array(row["embedding"])
            near = [vector @ east, vector @ north]
            if max(near) > east @ north:
                found[near.index(max(near))].append(vector)
        told = [2 * np.array(at(0)), 2 * np.array(at(90))]  # two examples each
        moved = [
            mean + 2 * sum(rows) / np.linalg.norm(sum(rows)) if rows else mean
            for mean, rows in zip(told, found, strict=True)
        ]
        east, north = (each / np.linalg.norm(each) for each in moved)
    return np.array([east, north])


def prototypes(near: Near, folder: Path, log: list[dict[str, Any]]) -> np.ndarray:
    """Return the vectors of a router that has seen a log."""
    arguments = ["--examples", "e.jsonl", "--unlabelled", "u.jsonl"]
    near("assign", *arguments, "--save-router", "r.parquet", "--overwrite", e=EXAMPLES, u=log)
    return np.array(pq.read_table(folder / "r.parquet")["embedding"].to_pylist())


@pytest.mark.parametrize("log", [SOUTHERN, SOUTHERN[:3], [*SOUTHERN, *FAR], FAR])
def test_rows_of_a_log_move_the_prototype_that_they_are_surely_of(
    near: Near, tmp_path: Path, log: list[dict[str, Any]]
):
    moved = prototypes(near, tmp_path, log)
    np.testing.assert_allclose(moved, transcribed(log), atol=1e-6)
    assert (moved[0] @ np.array(at(-30)) > math.cos(math.radians(29))) == (log is not FAR)


def test_what_is_near_to_no_class_moves_none(near: Near, tmp_path: Path):
    blank = [{"embedding": [0.0, 0.0]}]
    alone = prototypes(near, tmp_path, SOUTHERN)
    np.testing.assert_array_equal(prototypes(near, tmp_path, [*SOUTHERN, *FAR, *blank]), alone)


def test_rows_are_assigned_as_they_come(
    installed: Path, environment: dict[str, str], tmp_path: Path
):
    (tmp_path / "e.jsonl").write_bytes(as_lines(EXAMPLES))
    line = [
        installed / "dialtools",
        "assign",
        "--examples",
        "e.jsonl",
        "--keep",
        "none",
        "--runners-up",
        0,
    ]
    pipe = subprocess.PIPE
    with subprocess.Popen(
        list(map(str, line)), stdin=pipe, stdout=pipe, env=environment, cwd=tmp_path
    ) as running:
        assert running.stdin and running.stdout
        running.stdin.write(as_lines(ROWS))
        running.stdin.flush()
        assert orjson.loads(running.stdout.readline())["assigned"] == "east"  # not yet closed
        running.stdin.close()
        assert len(running.stdout.readlines()) == len(ROWS) - 1
        assert running.wait() == 0


def test_files_of_two_models_are_not_assigned_by_examples_that_tell_none(
    near: Near, tmp_path: Path
):
    for name in ("one", "two"):
        facts = {"weights": name, "pooling": "mean"}
        table = pa.table({"embedding": pa.array([at(1)], pa.list_(pa.float32(), 2))})
        table = table.replace_schema_metadata({"dialtools": json.dumps(facts)})
        pq.write_table(table, tmp_path / f"{name}.parquet")
    examples = [{"label": "a", "embedding": at(0)}]
    ask = ("assign", "--examples", "ex.jsonl", "one.parquet")
    near(*ask, ex=examples)
    told = near(*ask, "two.parquet", ex=examples, code=1).stderr.decode()
    assert "two.parquet: its vectors are of another model" in told


def test_tables_hold_what_lines_hold(near: Near, tmp_path: Path):
    ask = ("assign", "r.jsonl", "--examples", "e.jsonl", "--min-cosine", 0)
    lines = rows(near(*ask, r=ROWS, e=EXAMPLES))
    near(*ask, "-o", "a.parquet")
    table = pq.read_table(tmp_path / "a.parquet")
    assert table.to_pylist() == lines
    assert json.loads(table.schema.metadata[b"dialtools"])["command"] == "dialtools assign"


def test_a_column_that_json_has_no_kind_for_stays_what_it_is(near: Near, tmp_path: Path):
    times = pa.array([1, 2], pa.timestamp("ns", "UTC"))
    vectors = pa.array([at(1), at(2)], pa.list_(pa.float32(), 2))
    pq.write_table(pa.table({"when": times, "embedding": vectors}), tmp_path / "t.parquet")
    near("assign", "t.parquet", "--examples", "e.jsonl", "-o", "a.parquet", e=EXAMPLES)
    assert pq.read_table(tmp_path / "a.parquet")["when"].combine_chunks() == times


BOTH = ("r.jsonl", "--examples", "e.jsonl", "--validation", "v.jsonl")


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (["r.jsonl"], 2, "--examples FILE or --router FILE: give one"),
        (
            ["r.jsonl", "--examples", "e.jsonl", "--recall", 0.9],
            2,
            "--recall goes with --validation",
        ),
        (["r.jsonl", "--router", "e.jsonl", "--nearest", 1], 2, "--nearest has no meaning beside"),
        (["r.jsonl", "--examples", "-", "--validation", "-"], 2, "stdin can be read once"),
        (["--examples", "-"], 2, "stdin can be read once"),
        (["--router", "e.jsonl", "--unlabelled", "v.jsonl"], 2, "goes with --examples"),
        ([*BOTH, "--unlabelled", "v.jsonl", "--nearest", 1], 2, "--unlabelled has no meaning"),
        ([*BOTH, "--unlabelled", "-"], 2, "is read several times: a file, not a pipe"),
        ([*BOTH, "--unlabelled", "short.jsonl"], 1, "short.jsonl: vectors of 1 dimension"),
        ([*BOTH, "--recall", 1, "--precision", 1], 2, "--recall or --precision: give one"),
        (["r.jsonl", "--router", "e.jsonl"], 1, "e.jsonl: is no router"),
        (["r.jsonl", "--examples", "r.jsonl"], 1, "no column 'label'; there are id, n\n  --label"),
        (["r.jsonl", "--examples", "gap.jsonl"], 1, "gap.jsonl: no row has a label"),
        (["r.jsonl", "--examples", "odd.jsonl"], 1, "odd.jsonl:1: label: expected a string"),
        (["--examples", "e.jsonl", "--validation", "e.jsonl"], 2, "is the file of"),
        (["r.jsonl", "--examples", "none.jsonl"], 1, "holds no example of a class"),
        (["short.jsonl", "--examples", "e.jsonl"], 1, "of 1 dimension beside vectors of 2"),
        (["r.jsonl", "--examples", "e.jsonl", "--keep", "m"], 1, "--keep: no field 'm'"),
    ],
)
def test_what_makes_no_sense_is_told_in_a_line(
    near: Near, arguments: list[Any], code: int, told: str
):
    files = {
        "r": ROWS,
        "e": EXAMPLES,
        "v": HELD,
        "gap": [*labelled(None, 1), *labelled("", 1)],
        "odd": labelled(["a"], 1),
        "none": labelled("none", 1),
        "short": [{"embedding": [1.0]}],
    }
    said = near("assign", *arguments, code=code, **files).stderr.decode()
    assert told in said.replace('"', "'") and "Traceback" not in said


@pytest.mark.parametrize(
    "change",
    [
        {"label": ["a", "b", "a"]},
        {"label": [1, 2, 3]},
        {"threshold": [0.1, float("nan"), 0.2]},
        {"facts": {"nearest": 0, "none": "none"}},
        {"facts": {"nearest": None}},
        {"facts": 7},
    ],
)
def test_a_damaged_router_is_none(near: Near, tmp_path: Path, change: dict[str, Any]):
    facts = change.pop("facts", {"nearest": None, "none": "none"})
    columns = {"label": ["a", "b", "c"], "threshold": [0.1, 0.2, 0.3], **change}
    vectors = pa.array([at(1), at(2), at(3)], pa.list_(pa.float32(), 2))
    table = pa.table({**columns, "embedding": vectors})
    told = {"dialtools": json.dumps({"router": facts})}
    pq.write_table(table.replace_schema_metadata(told), tmp_path / "x.parquet")
    done = near("assign", "r.jsonl", "--router", "x.parquet", code=1, r=ROWS)
    assert b"x.parquet: is no router" in done.stderr


SCORED = st.lists(st.tuples(st.integers(0, 5), st.booleans()), min_size=1, max_size=15)


@given(SCORED, st.sampled_from([0.1, 0.5, 0.9, 1.0]))
def test_a_threshold_is_the_best_of_all_that_there_could_be(
    scored: list[tuple[int, bool]], share: float
):
    scores = np.array([score / 5 for score, _ in scored])
    right = np.array([is_right for _, is_right in scored])
    precise = [t for t in set(scores) if right[scores >= t].mean() >= share - 1e-9]
    assert threshold_at_precision(scores, right, share) == min(precise, default=float("inf"))
    found = [t for t in set(scores[right]) if (scores[right] >= t).mean() >= share - 1e-9]
    assert threshold_at_recall(scores[right], share) == max(found, default=float("inf"))
