"""The fuzzer notices what is planted, draws the same again, and calls every command rightly."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from fuzz import campaign, cases, families, minimise, oracle
from fuzz.bench import Bench, Outcome
from fuzz.cases import Case
from fuzz.uses import USES
from fuzz.zygote import Ended

CASE = Case("records", [["dial-pairs"], ["in.jsonl"]], {"in.jsonl": b'{"turns": ["a", "b"]}\n'})


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    bench = Bench(tmp_path_factory.mktemp("fuzz"))
    yield bench
    bench.close()


def outcome(status: int, stderr: str = "", stdout: bytes = b"", **more: list[str]) -> Outcome:
    return Outcome(Ended(status, 1 << 28, 0.1, False), stdout, stderr, **more)


@pytest.mark.parametrize(
    ("ended", "complaint"),
    [
        (outcome(-11), "exit status -11"),
        (outcome(1), "fails without a word"),
        (outcome(1, "dial-pairs: a: b\n  this looks like a defect; ...\n"), "looks like a defect"),
        (outcome(0, "x.py:3: RuntimeWarning: nan\n"), "Warning:"),
        (outcome(1, "dial-pairs: \x1b[2J\n"), "raw on the terminal"),
        (outcome(1, "dial-pairs: a\nand b\n"), "does not begin with the command's name"),
        (outcome(0, stdout=b'{"a":,}\n'), "not JSON"),
        (outcome(1, "dial-pairs: a\n", made=["out/o.arrow"]), "leaves an output"),
        (outcome(0, made=["out/.o.arrow.17.tmp"]), "temporary file"),
        (outcome(0, temporary=["dial-x"]), "$TMPDIR"),
        (outcome(3, changed=["in.jsonl"]), "changes an input"),
    ],
)
def test_what_a_run_may_not_do_is_noticed(ended: Outcome, complaint: str):
    assert complaint in "; ".join(oracle.complaints(CASE, ended))


@pytest.mark.parametrize(
    "ended",
    [
        outcome(0, "dial-pairs: 1 pair from 1 dialogue (0.0 s)\n", b'{"context":["a"]}\n'),
        outcome(1, "dial-pairs: in.jsonl:1: not JSON\n  one record a line\n"),
        outcome(2, "dial-pairs: --window: 'x': expected a whole number\n"),
    ],
)
def test_what_a_run_may_do_is_no_finding(ended: Outcome):
    assert oracle.complaints(CASE, ended) == []


def test_one_seed_draws_the_same_cases():
    model = Path  # cases of models are of files that a machine makes its own way
    draws = [
        [families.drawn_case("7", number, model, family) for number in range(6)]
        for family in (*families.FAMILIES, *families.FAMILIES)
        if family not in families.MODELS
    ]
    half = len(draws) // 2
    assert draws[:half] == draws[half:]
    assert draws[0] != [families.drawn_case("8", number, model, "records") for number in range(6)]


def test_a_case_shrinks_to_what_fails():
    lines = b"".join(b'{"turns": ["a", "b"], "n": %d}\n' % n for n in range(64))
    case = Case("records", [*CASE.words, ["--lower"]], {"in.jsonl": lines, "side": b"x"})

    def fails(smaller: Case) -> bool:
        return b'"n": 37' in smaller.files.get("in.jsonl", b"") and smaller.argv[0] == "dial-pairs"

    least = minimise.minimised(case, fails, seconds=20)
    assert least.argv == ["dial-pairs"]
    assert least.files == {"in.jsonl": b'{"n": 37}'}


def test_every_use_of_a_command_works_before_it_is_disturbed(bench: Bench):
    refused = []
    for use, kind in [(known, kind) for known in USES for kind in known.kinds.split()]:
        draw = Random(0)
        content = cases.lines(draw, cases.drawn(draw, kind, use.rows), 0)[0]
        case = cases.called(draw, "sound", use, "in.jsonl", content, sound=True)
        ended = bench.run(case)
        wrong = oracle.complaints(case, ended)
        # no sound file of a few rows is a data set of MTEB
        if ended.ended.status != ("mteb" in use.command) or wrong:
            refused.append((use.command, kind, wrong, ended.stderr[-200:]))
    assert refused == []


# without the family of models, whose files depend on the machine that trained them
@pytest.mark.parametrize("family", [name for name in families.FAMILIES if name != "models"])
def test_fixed_cases_of_a_family_find_nothing(bench: Bench, family: str, tmp_path: Path):
    options = Namespace(
        seed="7", first=0, cases=30, jobs=1, minutes=20.0, family=family, to=tmp_path
    )
    tally = campaign.tried(bench, options)
    assert not tally.seen, [*tmp_path.rglob("run.sh")]
    assert tally.runs.total() == 30
