"""dial-eval compare: score files side by side."""

from __future__ import annotations

import csv
import io
import json
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from oracles import slow_tests as slow
from score_files import Record, Toy, write

Command = Callable[..., subprocess.CompletedProcess]
DRAW = np.random.default_rng(7)
TRUTH = DRAW.random(400)
GOOD, BAD = ((share > TRUTH).astype(int).tolist() for share in (0.8, 0.7))


def record(
    each: object,
    *,
    metric: str = "accuracy",
    value: float | None = None,
    dataset: str = "a/one.parquet",
    **facts: object,
) -> Record:
    """A score record of items."""
    if value is None:
        value = 100 * float(np.nanmean(np.asarray(each, float)))
    return {
        "schema": "dialtools.score/1",
        "task": "intent",
        "dataset": dataset,
        "setting": "1-shot",
        "metric": metric,
        "value": value,
        "n": 400,
        "seed": 0,
        "items": {"text": "00ff"},
        "each": each,
        **facts,
    }


def scores(path: Path, *records: Record) -> Path:
    path.parent.mkdir(exist_ok=True, parents=True)
    path.write_text("".join(json.dumps(one) + "\n" for one in records))
    return path


@pytest.fixture
def compare(command: Command) -> Callable[..., list[Record]]:
    """Run dial-eval compare and return its records."""

    def run(*arguments: object) -> list[Record]:
        return [
            json.loads(line)
            for line in command("compare", "--resamples", 2000, *arguments).stdout.splitlines()
        ]

    return run


def test_a_score_that_is_worse_by_as_much_as_the_gate_lets_pass_passes(command, tmp_path: Path):
    files = (
        scores(tmp_path / f"{right}.jsonl", record([1] * right + [0] * (1000 - right)))
        for right in (21, 11)
    )
    assert 100 * (21 / 1000) - 100 * (11 / 1000) > 1, "as floats have it"
    command("compare", "--fail-if-worse", 1, *files)


def test_the_difference_comes_with_a_paired_interval_and_a_permutation_test(
    compare, tmp_path: Path
):
    before, after = (
        scores(tmp_path / "before.jsonl", record(BAD)),
        scores(tmp_path / "after.jsonl", record(GOOD, dataset="b/one.jsonl")),
    )
    found = compare(before, after)[0]
    gaps = np.subtract(GOOD, BAD)
    assert (found["baseline"], found["model"], found["dataset"], found["test"]) == (
        "before",
        "after",
        "one",
        "permutation",
    )
    assert found["difference"] == pytest.approx(100 * gaps.mean())
    again = np.array(slow.bootstrap(lambda rows: float(100 * gaps[rows].mean()), 400, 1000, 0))
    assert [found["low"], found["high"]] == pytest.approx(
        np.percentile(again, [2.5, 97.5]), abs=0.6
    )
    assert found["p"] < 0.001 and found["significant"]
    assert compare(after, before)[0]["difference"] == -found["difference"]
    parts = scores(tmp_path / "parts.jsonl", record(DRAW.random(400).tolist()))
    assert compare(before, parts) == compare(before, parts) != compare("--seed", 1, before, parts)


def test_rows_of_one_dialogue_are_drawn_and_swapped_together(compare, tmp_path: Path):
    times = np.repeat(np.arange(40), 10)
    few = [
        scores(tmp_path / f"{name}.jsonl", record(each[:40]))
        for name, each in (("a", BAD), ("b", GOOD))
    ]
    many = {
        together: [
            scores(
                tmp_path / f"{together}/{name}.jsonl",
                record(np.asarray(each)[times].tolist(), **facts),
            )
            for name, each in (("a", BAD), ("b", GOOD))
        ]
        for together, facts in (("yes", {"groups": times.tolist()}), ("no", {}))
    }
    once, grouped, apart = (compare(*files)[0] for files in (few, many["yes"], many["no"]))
    assert [grouped[k] for k in ("low", "high", "p")] == pytest.approx(
        [once[k] for k in ("low", "high", "p")], rel=0.1, abs=0.02
    )
    assert (
        apart["high"] - apart["low"] < 0.5 * (grouped["high"] - grouped["low"])
        and apart["p"] < grouped["p"]
    )
    whole = [
        scores(tmp_path / f"whole/{name}.jsonl", record(each, groups=[0] * 400))
        for name, each in (("a", BAD), ("b", GOOD))
    ]
    assert "p" not in compare(*whole)[0]
    other = scores(
        tmp_path / "c.jsonl", record(np.asarray(GOOD)[times].tolist(), groups=(times // 2).tolist())
    )
    assert "p" not in compare(many["yes"][0], other)[0]


def test_a_gate_with_nothing_to_judge_does_not_pass(command: Command, tmp_path: Path):
    bare = {"items": {}, "each": [1]}
    files = [scores(tmp_path / f"{name}.jsonl", record(GOOD, dataset=name) | bare) for name in "ab"]
    said = command("compare", *files, "-o", tmp_path / "none.jsonl", code=1).stderr
    assert "nothing to compare" in said and "--name gives a data set its name" in said
    assert not (tmp_path / "none.jsonl").exists()
    assert "nothing to compare" in command("compare", "--fail-if-worse", 1, *files, code=1).stderr


def test_a_data_set_is_the_baselines_that_has_the_same_items_whatever_its_file_is_called(
    compare, tmp_path: Path
):
    one, two = {"text": "aaaa"}, {"text": "bbbb"}
    base = [record(BAD, dataset="x/one.parquet", items=one), record(BAD, dataset="two", items=two)]
    other = [record(GOOD, dataset="e16.parquet", items=two), record(BAD, dataset="e", items=one)]
    files = scores(tmp_path / "a.jsonl", *base), scores(tmp_path / "b.jsonl", *other)
    found = {r["dataset"]: r["difference"] for r in compare(*files)}
    assert found == {"one": 0, "two": pytest.approx(100 * np.subtract(GOOD, BAD).mean())}


def test_equal_models_do_not_differ(compare, tmp_path: Path):
    found = compare(
        scores(tmp_path / "a.jsonl", record(GOOD)), scores(tmp_path / "b.jsonl", record(GOOD))
    )[0]
    assert (found["difference"], found["low"], found["high"], found["p"], found["significant"]) == (
        0,
        0,
        0,
        1,
        False,
    )


def test_the_more_tests_the_larger_the_adjusted_p_values(compare, tmp_path: Path):
    close = [v if i % 25 else 1 - v for i, v in enumerate(BAD)]
    weak = np.asarray(BAD) ^ (DRAW.random(400) < 0.03)
    sets = {f"set{i}": (BAD, (close, GOOD, weak.tolist())[i % 3]) for i in range(6)}
    files = [
        scores(
            tmp_path / f"{who}.jsonl",
            *(record(pair[k], dataset=name) for name, pair in sets.items()),
        )
        for k, who in enumerate(("a", "b"))
    ]
    found = {kind: compare("--correct", kind, *files) for kind in ("none", "holm", "bh")}
    p = np.array([r["p"] for r in found["none"]])
    assert [r["adjusted_p"] for r in found["none"]] == p.tolist()
    for kind, rejects in (("holm", slow.holm_rejects), ("bh", slow.benjamini_hochberg_rejects)):
        assert [r["significant"] for r in found[kind]] == rejects(p.tolist(), 0.05)
        assert all(r["tests"] == 6 and r["adjusted_p"] >= r["p"] for r in found[kind])


def test_several_seeds_are_a_mean_with_its_spread_and_are_tested_by_their_mean(
    compare, tmp_path: Path
):
    runs = [np.asarray(GOOD) ^ (DRAW.random(400) < 0.05) for _ in range(3)]
    files = [
        scores(tmp_path / "seeds" / f"{i}.jsonl", record(own.tolist(), seed=i))
        for i, own in enumerate(runs)
    ]
    base = scores(tmp_path / "base.jsonl", record(BAD))
    values = [100 * own.mean() for own in runs]
    for operand in (
        tmp_path / "seeds",
        f"{tmp_path}/seeds/*.jsonl",
        f"mine={','.join(map(str, files))}",
    ):
        found = compare(base, operand)[0]
        assert (found["seeds"], found["baseline_seeds"]) == (3, 1)
        assert found["model"] == ("mine" if "mine" in str(operand) else "seeds")
        assert (found["value"], found["std"]) == pytest.approx(
            (np.mean(values), np.std(values, ddof=1))
        )
    average = record(np.mean(runs, axis=0).round(6).tolist())
    alone = compare(base, scores(tmp_path / "alone.jsonl", average))[0]
    assert (found["low"], found["high"], found["p"]) == pytest.approx(
        (alone["low"], alone["high"], alone["p"]), abs=1e-3
    )


def test_scores_that_are_no_means_are_bootstrapped(compare, tmp_path: Path):
    gold = DRAW.normal(size=200)
    near, far = (gold + DRAW.normal(size=200) * noise for noise in (0.5, 1.0))

    def file(name: str, series: np.ndarray) -> Path:
        return scores(
            tmp_path / name,
            record(
                {"x": series.tolist(), "y": gold.tolist()},
                metric="pearson",
                value=100 * np.corrcoef(series, gold)[0, 1],
            ),
        )

    found = compare(file("far.jsonl", far), file("near.jsonl", near))[0]
    again = np.array(
        slow.bootstrap(
            lambda i: 100 * (np.corrcoef(near[i], gold[i]) - np.corrcoef(far[i], gold[i]))[0, 1],
            200,
            1000,
            0,
        )
    )
    assert found["test"] == "bootstrap" and found["significant"]
    assert [found["low"], found["high"]] == pytest.approx(
        np.percentile(again, [2.5, 97.5]), abs=1.5
    )
    means = compare(
        "--test",
        "bootstrap",
        scores(tmp_path / "a.jsonl", record(BAD)),
        scores(tmp_path / "b.jsonl", record(GOOD)),
    )
    assert means[0]["test"] == "bootstrap" and means[0]["p"] < 0.01


def test_what_cannot_be_paired_is_told_and_not_tested(
    command: Command, process: Command, tmp_path: Path
):
    base = scores(
        tmp_path / "base.jsonl",
        record(BAD),
        record(BAD, metric="mrr"),
        record(BAD, metric="bare"),
        record(GOOD, metric="gone"),
    )
    other = record(GOOD, items={"text": "ffff"})
    bare = {k: v for k, v in record(GOOD, metric="bare").items() if k not in ("each", "items")}
    file = scores(tmp_path / "odd.jsonl", other, record(GOOD, metric="mrr"), bare)
    done = command("compare", base, file)
    found = {r["metric"]: r for r in map(json.loads, done.stdout.splitlines())}
    assert "difference" not in found["accuracy"] and "p" not in found["bare"]
    assert found["bare"]["difference"] == pytest.approx(100 * np.subtract(GOOD, BAD).mean())
    assert found["mrr"]["tests"] == 1 and "gone" not in found
    for line in (
        "one 1-shot accuracy: odd: other test items, or another order of them (text differs)",
        "one 1-shot bare: odd: nothing is known of its items",
        "one 1-shot gone: odd: does not have it",
    ):
        assert line in done.stderr
    assert process("compare", "-q", base, file).stderr == ""


def test_scores_of_other_options_of_the_task_are_not_compared(command: Command, tmp_path: Path):
    eye = np.eye(4)
    rows = [{"response": f"r{i}"} for i in range(4)]
    file = write(tmp_path / "p.jsonl", rows, context_embedding=eye, response_embedding=eye * 0 + 1)
    ask = ("select", "--candidates", 2, file, "-o")
    command(*ask, tmp_path / "usual.jsonl")
    command(*ask, tmp_path / "same.jsonl", "--ties", "average", "--seed", 3)
    command(*ask, tmp_path / "kind.jsonl", "--ties", "optimistic", "--duplicates", "count")
    kind = json.loads((tmp_path / "kind.jsonl").read_text().splitlines()[0])
    told = {"candidates": 2, "ties": "optimistic", "duplicates": "count"}
    assert kind["options"] == told
    usual, same, kind = (f"{name}={tmp_path / name}.jsonl" for name in ("usual", "same", "kind"))
    assert "scored with" not in command("compare", usual, same).stderr
    told = command("compare", usual, same, kind).stderr
    assert "kind: scored with another --ties and --duplicates" in told
    command("compare", "--fail-if-worse", 1, usual, kind, code=1)


def test_what_is_learnt_from_may_be_what_is_compared(command: Command, toy: Toy, tmp_path: Path):
    file = write(tmp_path / "train.jsonl", toy.rows("train"), embedding=toy.vectors["train"])
    ask = ("intent", "--shots", 1, "--runs", 3, "--train", file, "--test", file, "-o")
    command(*ask, tmp_path / "said.jsonl")
    command(*ask, tmp_path / "made.jsonl", "--synthetic")
    assert "scored with" not in command("compare", *tmp_path.glob("*[de].jsonl")).stderr


def test_a_gate_minds_which_direction_is_better(command: Command, tmp_path: Path):
    files = [
        scores(tmp_path / f"{name}.jsonl", record(own), record(own, metric="alignment"))
        for name, own in (("a", BAD), ("b", GOOD))
    ]
    points = 100 * np.subtract(GOOD, BAD).mean()
    gate = ("compare", "--fail-if-worse", "1", "--resamples", 100)
    worse = command(*gate, *files, code=4)
    assert (
        f"b: intent one 1-shot alignment is worse than a's by {points:.2f}, above 1" in worse.stderr
    )
    assert len(worse.stdout.splitlines()) == 2, "the report comes before the gate"
    command(*gate, "--metric", "accuracy", *files)
    assert (
        "1-shot accuracy is worse"
        in command(*gate, "--metric", "accuracy", *files[::-1], code=4).stderr
    )
    command("compare", "--fail-if-worse", points + 0.01, "--resamples", 100, *files)


def test_a_gate_fails_where_a_score_of_the_baseline_is_gone_or_of_other_items(
    command: Command, tmp_path: Path
):
    files = [
        scores(tmp_path / f"{name}.jsonl", *records)
        for name, records in (
            ("a", [record(BAD), record(BAD, setting="5-shot"), record(BAD, setting="9-shot")]),
            ("b", [record(GOOD), record(BAD[1:], setting="5-shot"), record(GOOD, dataset="new")]),
        )
    ]
    gate = ("compare", "-q", "--fail-if-worse", "1", "--resamples", 100, *files)
    lost = command(*gate, code=4).stderr
    assert "b: intent one 5-shot accuracy is not compared with a's, and 1 more" in lost
    command(*gate, "--setting", "1-shot")


def test_a_model_alone_is_shown_with_its_intervals(compare, command: Command, tmp_path: Path):
    own = [record([0, 1], setting=setting, low=40.0, high=60.0) for setting in ("1-shot", "5-shot")]
    path = scores(tmp_path / "a.jsonl", *own)
    (shown,) = compare(path, "--setting", "5-shot")
    told = {"setting": "5-shot", "model": "a", "value": 50, "low": 40, "high": 60}
    assert shown.items() >= told.items() and "baseline" not in shown
    table = command("compare", path, "--to", "table").stdout
    assert "95 % interval" in table and table.count("40.00 – 60.00") == 2
    wrong = command("compare", path, "--setting", "1-sho", code=2).stderr
    assert "--setting: no score has '1-sho'" in wrong
    wrong = command("compare", path, "--metric", "acuracy", code=2).stderr
    assert "did you mean accuracy?" in wrong


def test_an_average_of_data_sets_is_shown_and_not_tested(command: Command, tmp_path: Path):
    files = [
        scores(
            tmp_path / f"{name}.jsonl",
            {k: v for k, v in record([], value=value, dataset="average").items() if k != "each"},
        )
        for name, value in (("a", 70.0), ("b", 68.5))
    ]
    done = command("compare", "--fail-if-worse", 1, *files, code=4)
    found = json.loads(done.stdout)
    assert found["difference"] == -1.5 and "p" not in found and "test" not in found
    assert "an average of data sets" in done.stderr and "worse than a's by 1.50" in done.stderr


GOOD_LINE = json.dumps(record([1]))
LABELS = {"truth": [[0]], "guess": [[1]], "labels": 2}
# what is wrong with the items of a score: of which metric, and what is said of it
BAD_ITEMS = [
    ([1, 0], "accuracy", 90, "its items make 50.000, the value is 90.000"),
    (["x"], "accuracy", 1, "each: could not convert"),
    ([{}], "accuracy", 1, "bad.jsonl:1: each: TypeError"),
    ({"z": [1]}, "accuracy", 1, "each: unknown parts z"),
    (LABELS | {"truth": [[9]]}, "micro-f1", 1, "bad.jsonl:1: each:"),
    (LABELS | {"labels": 10**13}, "macro-f1", 1, "each: labels: expected 1 to"),
    (LABELS, "odd", 1, "bad.jsonl:1: each:"),
    ({"x": 3, "y": [1]}, "pearson", 1, "each: has no items"),
    ({"x": [1], "y": [1, 2]}, "pearson", 1, "bad.jsonl:1: each:"),
    (3, "accuracy", 1, "each: expected a list or an object"),
]
TWICE = "bad.jsonl:2: intent one 1-shot accuracy is here a second time"


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ('{"a": 1}', "bad.jsonl:1: no score record"),
        ("nonsense", "bad.jsonl:1"),
        *(
            (json.dumps(record(each, metric=metric, value=value)), says)
            for each, metric, value, says in BAD_ITEMS
        ),
        (json.dumps(record([1]) | {"value": "x"}), "value: expected a number"),
        (json.dumps(record([1]) | {"data": [1]}), "data: expected an object"),
        (f"{GOOD_LINE}\n{GOOD_LINE}", TWICE),
    ],
)
def test_rubbish_is_named_in_one_line(command: Command, tmp_path: Path, line: str, says: str):
    (tmp_path / "bad.jsonl").write_text(line + "\n")
    twin = tmp_path / "twin.jsonl"
    twin.write_text(line.splitlines()[0] + "\n")
    said = command("compare", tmp_path / "bad.jsonl", twin, code=1).stderr
    assert says in said and "defect" not in said and len(said.splitlines()) <= 2


ODD = "50% of_data & {more} | $x ~^ \\ *b*"


def tables(command: Command, tmp_path: Path, kind: str) -> str:
    files = [
        scores(tmp_path / f"{name}.jsonl", record(own, dataset=ODD))
        for name, own in (("a", BAD), ("b", GOOD))
    ]
    return command("compare", "-q", "--to", kind, "--names", "a_b,c|d", *files).stdout


def test_tables_for_latex_compile_what_they_are_given(command: Command, tmp_path: Path):
    text = tables(command, tmp_path, "latex")
    assert (
        r"50\% of\_data \& \{more\} | \$x \textasciitilde{}\textasciicircum{} \textbackslash{} *b*"
        in text
    )
    assert r"a\_b & c|d & difference & adjusted p" in text and r"$<$0.001 \\" in text
    rows = [line for line in text.splitlines() if line.endswith(r"\\")]
    assert all(line.replace(r"\&", "").count("&") == 6 for line in rows)


def test_tables_for_markdown_keep_their_columns(command: Command, tmp_path: Path):
    head, rule, row = tables(command, tmp_path, "markdown").splitlines()[:3]
    assert r"c\|d" in head and rule.startswith("| --- | --- | --- | ---: |")
    assert all(line.replace(r"\|", "").count("|") == 8 for line in (head, rule, row))
    assert r"50% of\_data & {more} \| $x ~^ \\ \*b\*" in row and r"\*" in row.rpartition("]")[2]


def test_csv_holds_the_numbers(command: Command, tmp_path: Path):
    row = next(csv.DictReader(io.StringIO(tables(command, tmp_path, "csv"))))
    assert row["dataset"] == ODD and float(row["difference"]) == pytest.approx(
        100 * np.subtract(GOOD, BAD).mean()
    )


def test_a_person_reads_a_table_and_the_suffix_of_a_file_decides(command: Command, tmp_path: Path):
    table = tables(command, tmp_path, "table")
    steering = scores(tmp_path / "steering.jsonl", record(GOOD, dataset="a\x1b[31mb\nc"))
    assert (
        "\x1b"
        not in command("compare", "-q", "--to", "table", f"x={steering}", f"y={steering}").stdout
    )
    assert (
        "after Holm's correction for 1 test" in " ".join(table.split())
        and "<0.001" in table
        and "]*" in table
    )
    files = (tmp_path / "a.jsonl", tmp_path / "b.jsonl")
    command("compare", "-q", *files, "-o", tmp_path / "t.tex")
    assert (tmp_path / "t.tex").read_text().startswith("% difference to a")
    assert "exists already" in command("compare", *files, "-o", tmp_path / "t.tex", code=1).stderr
    command("compare", "-q", *files, "-o", tmp_path / "t.tex", "--overwrite", "--to", "csv")
    assert (tmp_path / "t.tex").read_text().startswith("schema,")


def two_tasks(command: Command, folder: Path, add: np.ndarray) -> Path:
    """The scores of two tasks on the same rows, their vectors with something added."""
    toy = Toy(["oos", "b", "c"], each=30, noise=0.5)
    folder.mkdir()
    parts: list[object] = []
    for split in ("train", "test"):
        file = write(folder / f"{split}.jsonl", toy.rows(split), embedding=toy.vectors[split] + add)
        parts += [f"--{split}", file]
    lines = ""
    for task in ("intent", "oos"):
        command(task, "-q", *parts, "--runs", 3, "-o", folder / f"{task}-scores.jsonl")
        lines += (folder / f"{task}-scores.jsonl").read_text()
    folder.with_suffix(".jsonl").write_text(lines)
    return folder.with_suffix(".jsonl")


def test_scores_of_real_runs_are_compared_end_to_end(command: Command, tmp_path: Path):
    noise = np.random.default_rng(0).normal(size=(90, 8))
    plain = two_tasks(command, tmp_path / "plain", 0 * noise)
    noisy = two_tasks(command, tmp_path / "noisy", 1.5 * noise)
    lines = command("compare", plain, noisy).stdout.splitlines()
    found: Sequence[Record] = [json.loads(line) for line in lines]
    assert all(r["low"] - 1e-9 <= r["difference"] <= r["high"] + 1e-9 for r in found)
    assert next(r for r in found if r["metric"] == "accuracy")["significant"]
    assert {"auroc", "fpr-at-95-recall", "average", "accuracy", "oos-recall"} <= {
        r["metric"] for r in found
    }
