"""Tasks of the Massive Text Embedding Benchmark that are scored here as there, and their data."""

from __future__ import annotations

from typing import NamedTuple


class MtebTask(NamedTuple):
    """A task of MTEB.

    Attributes:
        task: the task of ours that is scored alike.
        revision, subset: of its data.
        test, train: how many rows they have; 0 where it has no training rows.
        known_as: names that the data set goes by here.
    """

    task: str
    revision: str
    subset: str
    test: int
    train: int
    known_as: tuple[str, ...]


MTEB_TASKS = {
    "Banking77Classification": MtebTask(
        task="intent",
        revision="0fd18e25b25c072e09e0d92ab615fda904d66300",
        subset="default",
        test=3080,
        train=10003,
        known_as=("banking77", "bank77"),
    ),
    "MassiveIntentClassification": MtebTask(
        task="intent",
        revision="4672e20407010da34463acc759c162ca9734bca6",
        subset="en",
        test=2974,
        train=11514,
        known_as=("massive", "massive-intent"),
    ),
    "MassiveScenarioClassification": MtebTask(
        task="intent",
        revision="fad2c6e8459f9e1c45d9315f4953d921437d70f8",
        subset="en",
        test=2974,
        train=11514,
        known_as=("massive-scenario",),
    ),
    "MTOPIntentClassification": MtebTask(
        task="intent",
        revision="ae001d0e6b1228650b7bd1c2c65fb50ad11a8aba",
        subset="en",
        test=4386,
        train=15667,
        known_as=("mtop", "mtop-intent"),
    ),
    "MTOPDomainClassification": MtebTask(
        task="intent",
        revision="d80d48c1eb48d3562165c59d59d0034df9fff0bf",
        subset="en",
        test=4386,
        train=15667,
        known_as=("mtop-domain",),
    ),
    "SICK-R": MtebTask(
        task="sts",
        revision="20a6d6f312dd54037fe07a32d58e5e168867909d",
        subset="default",
        test=9927,
        train=0,
        known_as=("sick", "sick-r"),
    ),
    "STSBenchmark": MtebTask(
        task="sts",
        revision="b0fddb56ed78048fa8b90373c8a3cfc37b684831",
        subset="default",
        test=1379,
        train=0,
        known_as=("stsb", "stsbenchmark", "sts-b"),
    ),
}
"""By their names in MTEB."""
PROTOCOL = {
    "intent": "intent --method logreg with 8 shots, 10 runs and --seed 0",
    "sts": "sts, Spearman and Pearson of the test part",
}
"""How each task of ours must be run for its scores to be MTEB's."""
