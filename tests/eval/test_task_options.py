"""Options of tasks: which go together, which stdin is read for, and what the others come to."""

from __future__ import annotations

from typing import Any

import pytest

from dialtools.cli._outputs import check_pipes
from dialtools.errors import ConfigError
from dialtools.eval.options.act import ActOptions
from dialtools.eval.options.base import FileOptions, ThreePartOptions
from dialtools.eval.options.cluster import ClusterOptions
from dialtools.eval.options.curve import CurveOptions
from dialtools.eval.options.infer import InferOptions
from dialtools.eval.options.intent import IntentOptions
from dialtools.eval.options.mteb import MtebOptions
from dialtools.eval.options.oos import OosOptions
from dialtools.eval.options.plot import PlotOptions
from dialtools.eval.options.select import SelectOptions
from dialtools.eval.options.suite import SuiteOptions
from dialtools.options import specs

ONE: dict[str, Any] = {"inputs": ("x",)}
TWO: dict[str, Any] = {"train": "a", "test": "b"}
SPLIT = "name --train FILE and --test FILE, or one file with a split column"
MTEB = "--protocol mteb is of k-means, with as many clusters as labels"


@pytest.mark.parametrize(
    ("kind", "fine", "wrong", "says"),
    [
        *(
            (kind, [{}, ONE, TWO], [ONE | TWO, {"train": "a"}, ONE | {"test": "b"}], SPLIT)
            for kind in (ThreePartOptions, IntentOptions, OosOptions, ActOptions, InferOptions)
        ),
        (
            ActOptions,
            [TWO | {"validation": "c"}],
            [ONE | {"validation": "c"}],
            "--validation FILE goes with --train FILE and --test FILE",
        ),
        (
            ClusterOptions,
            [ONE | {"part": "p"}, ONE | {"part": "p", "protocol": "mteb"}],
            [ONE | {"part": "p", "protocol": "induce"}],
            "--part goes with the other protocols",
        ),
        (
            ClusterOptions,
            [ONE | {"protocol": "mteb"}, ONE | {"clusters": "3"}],
            [ONE | {"protocol": "mteb", "clusters": "3"}],
            MTEB,
        ),
        (
            CurveOptions,
            [ONE | {name: "f"} for name in ("intent", "oos", "select")] + [{"print_config": True}],
            [ONE],
            "nothing to score",
        ),
        (CurveOptions, [], [{"intent": "f"}], "name a run"),
        (
            CurveOptions,
            [ONE | {"select": "f", "metric": ("mrr",)}],
            [ONE | {"intent": "f", "metric": ("mrr",)}],
            "--metric: no 'mrr'",
        ),
        (
            MtebOptions,
            [{"output": "d"}, {"print_config": True}],
            [{}, {"output": "-"}],
            "-o DIR is needed",
        ),
        (
            PlotOptions,
            [ONE | {"output": f"a.{kind}"} for kind in ("png", "svg", "pdf", "html")]
            + [{"print_config": True, "output": "a"}],
            [ONE | {"output": name} for name in ("a", "a.jpg")],
            "-o FILE: name it .png, .svg, .pdf or .html",
        ),
        (
            PlotOptions,
            [{"output": "a.png"}],
            [{"inputs": ("x", "y"), "output": "a.png"}],
            "name one embedding file",
        ),
        (
            SuiteOptions,
            [{"inputs": ("s", "d")}, {"inputs": ("s",), "print_config": True}],
            [{"inputs": ("s",)}, {"inputs": ()}],
            "name a suite and a folder for each model",
        ),
    ],
)
def test_what_does_not_go_together_is_refused_and_what_does_is_not(
    kind: type, fine: list[dict[str, Any]], wrong: list[dict[str, Any]], says: str
):
    for values in fine:
        kind(**values)
    for values in wrong:
        with pytest.raises(ConfigError, match=says):
            kind(**values)


def test_stdin_is_read_where_no_file_is_named_and_only_once():
    assert FileOptions().files == ("-",) and FileOptions(inputs=("x", "y")).files == ("x", "y")
    assert ThreePartOptions(train="-", test="b").files == ()
    twice: list[tuple[type, dict[str, Any], str]] = [
        (ThreePartOptions, {"train": "-", "test": "-"}, "--train and --test"),
        (ThreePartOptions, {"validation": "-"}, "INPUT and --validation"),
        (ThreePartOptions, TWO | {"validation": "-", "train": "-"}, "--validation and --train"),
        (FileOptions, {"inputs": ("-", "-")}, "INPUT and INPUT"),
        (SelectOptions, {"pool": "-"}, "INPUT and --pool"),
    ]
    for kind, values, places in twice:
        with pytest.raises(ConfigError, match=f"stdin can be read once, but is {places}$"):
            check_pipes(kind(**values), specs(kind))
    check_pipes(SelectOptions(inputs=("x",), pool="-"), specs(SelectOptions))


def test_shots_are_those_of_the_method_and_metrics_of_a_curve_those_of_its_tasks():
    shots = {method: IntentOptions(**ONE, method=method).shots for method in ("prototype", "knn")}
    assert shots == {"prototype": (1, 5), "knn": (1, 5)}
    assert IntentOptions(**ONE, method="logreg").shots == (8,)
    assert IntentOptions(**ONE, method="logreg", shots=(3,)).shots == (3,)
    every = CurveOptions(**ONE, intent="i", oos="o", select="s", shots=(1, 2)).metrics
    scope = every[2:-5]
    assert every[:2] == ["1-shot accuracy", "2-shot accuracy"]
    assert every[-5:] == ["top-1", "top-3", "top-5", "top-10", "mrr"]
    assert len(scope) % 2 == 0 and [name[:7] for name in scope[:2]] == ["1-shot ", "2-shot "]
    assert CurveOptions(**ONE, oos="o", shots=(1, 2)).metrics == scope
    assert (
        ActOptions(**ONE, hidden=(0, 1), lr=(0.1, 0.2, 0.3), weight_decay=(0, 1, 2, 3, 4)).points
        == 30
    )


def test_a_metric_that_is_nearly_one_of_a_curve_is_told():
    for name, says in (("2-shot acuracy", "did you mean 2-shot accuracy?"), ("f1", "choose from")):
        with pytest.raises(ConfigError) as error:
            CurveOptions(**ONE, intent="i", shots=(2,), metric=(name,))
        assert says in str(error.value.hint)
