"""A suite as a file: what each key must hold, what is planned of it, and what its records say."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from dialtools.errors import ConfigError
from dialtools.eval.score import Score
from dialtools.eval.suite import Dataset, Row, Suite, load_suite, names
from dialtools.eval.suite_job import Place, Result, _score_of, plan, records

FIRST = 'task = "sts"\nname = "a"\nfile = "f"\nmetrics = ["m"]'
SECOND = FIRST.replace('"a"', '"b"')


def suite(head: str = "", second: str = SECOND, more: str = "") -> str:
    return f'title = "t"\n{head}\n[[set]]\n{FIRST}\n[[set]]\n{second}\n{more}\n'


def load(folder: Path, text: str) -> Suite:
    (folder / "s.toml").write_text(text)
    return load_suite(str(folder / "s.toml"))


def test_a_whole_file_is_a_suite_with_its_defaults(tmp_path: Path):
    more = (
        'settings = ["s", "r"]\noptions = {k = 1}\nfiles = {pool = "g"}\npublished = {A = [1, 2.5]}'
    )
    found = load(tmp_path, suite('source = "P"', more=more))
    first = Dataset("sts", "a", "f", ["m"], [""], {}, {}, {})
    second = Dataset("sts", "b", "f", ["m"], ["s", "r"], {"k": 1}, {"pool": "g"}, {"A": [1, 2.5]})
    assert found == Suite("t", [first, second], "P", str(tmp_path / "s.toml"))
    assert load(tmp_path, suite()).source == "the paper"
    assert second.stems == ["f", "g"]
    assert second.rows() == [Row("sts", "b", setting, "m") for setting in ("s", "r")]
    assert names() == sorted(names()) and {"diaeval", "dse"} <= set(names())
    assert load_suite("dse").name.endswith("suites/dse.toml")


@pytest.mark.parametrize(
    ("key", "values", "expected"),
    [
        ("task", ("3",), "a text"),
        ("name", ("[]",), "a text"),
        ("file", ("{}",), "a text"),
        ("metrics", ('"m"', "[1]", '["m", 1]', "[]"), "a list of texts, one at least"),
        ("settings", ('"m"', "[1]", "{}", "[]"), "a list of texts"),
        ("options", ("3", "[]"), "a table of flags"),
        ("files", ("3", '["f"]', "{pool = 1}"), "a table of names"),
        (
            "published",
            ("3", "[[1]]", "{A = 3}", '{A = ["1"]}', '{A = "1"}', "{A = [nan]}", "{A = [true]}"),
            "a table of lists of",
        ),
    ],
)
def test_a_key_that_holds_something_else_is_named_with_its_set(
    tmp_path: Path, key: str, values: tuple[str, ...], expected: str
):
    for value in values:
        kept = "\n".join(line for line in SECOND.split("\n") if not line.startswith(key))
        with pytest.raises(ConfigError, match=rf"^.*\[\[set\]\] 2: {key}: expected {expected}"):
            load(tmp_path, suite(second=kept, more=f"{key} = {value}"))
    for head in ("title = 3\n[[set]]", 'title = "t"\nsource = []\n[[set]]'):
        with pytest.raises(ConfigError, match=r"toml: (title|source): expected a text"):
            load(tmp_path, head)


def test_what_a_set_lacks_or_has_too_much_is_named(tmp_path: Path):
    for key in ("task", "name", "file", "metrics"):
        kept = "\n".join(line for line in SECOND.split("\n") if not line.startswith(key))
        with pytest.raises(ConfigError, match=rf"\[\[set\]\] 2: no '{key}'"):
            load(tmp_path, suite(second=kept))
    for text, says in (
        (suite(more="filee = 3"), r"\[\[set\]\] 2: unknown key 'filee'"),
        (suite("titlee = 3"), r"s\.toml: unknown key 'titlee'"),
        (suite(more="published = {A = [1, 2]}"), "b: A has 2 numbers, settings x metrics are 1"),
        ('title = "t"', r"has no \[\[set\]\]"),
        ("set = 3", r"has no \[\[set\]\]"),
        ("set = [3]", r"has no \[\[set\]\]"),
        (f"[[set]]\n{FIRST}", "s.toml: no 'title'"),
        (suite(second=SECOND.replace("sts", "stz")), "b: no task 'stz'"),
        (suite(second=FIRST), r"two \[\[set\]\] have sts a m: give them names"),
        (suite(second=SECOND.replace('"b"', '"average"')), "average names the mean of the sets"),
    ):
        with pytest.raises(ConfigError, match=says):
            load(tmp_path, text)
    with pytest.raises(ConfigError, match="no suite: No such file"):
        load_suite(str(tmp_path / "none.toml"))


SET = Dataset("sts", "d", "f", ["m", "k"], published={"A": [1, 2]})


def test_a_plan_tells_what_is_there_and_what_is_missing():
    here, gone = Place("x", 1, SET, {}, ""), Place("y", 2, SET, {}, "no f.parquet")
    assert plan([here]) == {"scores": "x: set 1, sts d"}
    assert plan([gone, here]) == {"scores": "x: set 1, sts d", "missing": "y: set 2, sts d"}


def test_a_row_is_the_score_of_its_setting_or_the_first_of_its_metric():
    scores = [
        Score("sts", "d", setting, metric, 0, 0, 0, 0, n=1, seed=0)
        for metric in ("k", "m")
        for setting in ("s", "r")
    ]
    assert _score_of(Row("sts", "d", "", "m"), scores, where="w") is scores[2]
    assert _score_of(Row("sts", "d", "r", "m"), scores, where="w") is scores[3]
    with pytest.raises(ConfigError, match="w: d: sts has no x m") as error:
        _score_of(Row("sts", "d", "x", "m"), scores, where="w")
    assert error.value.hint == "there are s k, r k, s m, r m"


def test_records_are_what_was_measured_then_averages_then_the_papers_numbers():
    other = Dataset("sts", "e", "f", ["m", "k"], published={"A": [3, 6], "B": [7, 8]})
    both = Suite("t", [SET, other], "P")
    measured = Score("sts", "d", "", "m", 5, 0, 0, 0, n=1, seed=0, each=[1])
    average = Row("sts", "average", "", "m")
    result = Result([measured], {"x": {Row("sts", "d", "", "m"): 5, average: 4.5}})

    def told(*, published: bool) -> list[tuple[object, ...]]:
        found = records(both, result, published=published)
        assert {record["schema"] for record in found} == {"dialtools.score/1"}
        return [
            tuple(record.get(name) for name in ("model", "dataset", "metric", "value", "published"))
            for record in found
        ]

    ours = [(None, "d", "m", 5, None), ("x", "average", "m", 4.5, None)]
    assert told(published=False) == ours
    a = [("d", "m", 1), ("d", "k", 2), ("e", "m", 3), ("e", "k", 6)]
    a += [("average", "m", 2), ("average", "k", 4)]
    papers = [("A", *row, "P") for row in a] + [("B", "e", "m", 7, "P"), ("B", "e", "k", 8, "P")]
    assert told(published=True) == ours + papers
    assert "each" in records(both, result, published=False)[0]
    assert "each" not in records(both, result, published=False, each=False)[0]


def test_a_suite_writes_nothing_that_it_names_itself(
    command: Callable[..., subprocess.CompletedProcess], tmp_path: Path
):
    (tmp_path / "f.jsonl").write_text('{"label":"a","split":"test","embedding":[1,0]}\n')
    for option in (f'save-episodes = "{tmp_path / "e"}"', 'fail-under = ["accuracy=99"]'):
        second = f"{SECOND}\noptions = {{{option}}}".replace("sts", "intent")
        (tmp_path / "s.toml").write_text(suite(second=second))
        said = command("suite", tmp_path / "s.toml", tmp_path, "--task", "intent", code=2).stderr
        assert f"s.toml: b: a suite may not set '{option.split()[0]}'" in said
