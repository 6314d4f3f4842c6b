"""Scores as result files of the Massive Text Embedding Benchmark, where they were made as its own are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from dialtools.errors import ConfigError, DataError, nearest
from dialtools.eval.compare.columns import read_scores
from dialtools.eval.options.mteb import MtebOptions

ENGLISH = ["eng-Latn"]
F1 = {"accuracy": "accuracy", "f1": "macro-f1", "f1_weighted": "weighted-f1"}
"""MTEB's name of a metric: ours."""


class Task(NamedTuple):
    """A task of MTEB: our task, revision of its data, subset, rows, and names that the data set goes by here."""

    task: str
    revision: str
    subset: str
    test: int
    train: int
    known_as: tuple[str, ...]


MTEB_TASKS = {
    "Banking77Classification": Task(
        "intent",
        "0fd18e25b25c072e09e0d92ab615fda904d66300",
        "default",
        3080,
        10003,
        ("banking77", "bank77"),
    ),
    "MassiveIntentClassification": Task(
        "intent",
        "4672e20407010da34463acc759c162ca9734bca6",
        "en",
        2974,
        11514,
        ("massive", "massive-intent"),
    ),
    "MassiveScenarioClassification": Task(
        "intent",
        "fad2c6e8459f9e1c45d9315f4953d921437d70f8",
        "en",
        2974,
        11514,
        ("massive-scenario",),
    ),
    "MTOPIntentClassification": Task(
        "intent",
        "ae001d0e6b1228650b7bd1c2c65fb50ad11a8aba",
        "en",
        4386,
        15667,
        ("mtop", "mtop-intent"),
    ),
    "MTOPDomainClassification": Task(
        "intent", "d80d48c1eb48d3562165c59d59d0034df9fff0bf", "en", 4386, 15667, ("mtop-domain",)
    ),
    "SICK-R": Task(
        "sts", "20a6d6f312dd54037fe07a32d58e5e168867909d", "default", 9927, 0, ("sick", "sick-r")
    ),
    "STSBenchmark": Task(
        "sts",
        "b0fddb56ed78048fa8b90373c8a3cfc37b684831",
        "default",
        1379,
        0,
        ("stsb", "stsbenchmark", "sts-b"),
    ),
}
PROTOCOL = {
    "intent": "intent --method logreg with 8 shots, 10 runs and --seed 0",
    "sts": "sts, Spearman and Pearson of the test part",
}


@dataclass
class Export:
    """Result files by name, and for each data set that has none why."""

    files: dict[str, dict[str, Any]] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)


def evaluate(options: MtebOptions) -> Export:
    """Return the result files that the scores make, `model_meta.json` among them.

    Raises:
        DataError: if none of the scores is MTEB's, or they are of several models.
    """
    named = _named(options)
    found, models = Export(), {}
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for seed in read_scores(options.inputs):
        groups.setdefault((seed.row.task, seed.row.dataset), []).append(seed.record)
    for (task, dataset), own in groups.items():
        name = named.get(dataset) or next(
            (
                name
                for name, t in MTEB_TASKS.items()
                if dataset.lower() in (name.lower(), *t.known_as) and t.task == task
            ),
            None,
        )
        try:
            if name is None or MTEB_TASKS[name].task != task:
                raise ValueError(
                    "no task of MTEB is scored so"
                    if name is None
                    else f"{name} is scored by dial-eval {MTEB_TASKS[name].task}"
                )
            found.files[f"{name}.json"] = result(name, own)
            models.update({str(record.get("model")): None for record in own})
        except ValueError as error:
            found.refused[f"{task} {dataset}"] = str(error)
    if not found.files:
        raise DataError(
            "; ".join(f"{what}: {why}" for what, why in found.refused.items()) or "holds no scores",
            where=", ".join(options.inputs),
        )
    if len(models) > 1 and not options.model_name:
        raise DataError(
            f"scores of several models: {', '.join(models)}",
            where=", ".join(options.inputs),
            hint="--model-name if they are one",
        )
    found.files["model_meta.json"] = meta(
        options.model_name or next(iter(models)), options.model_revision
    )
    return found


def _named(options: MtebOptions) -> dict[str, str]:
    named = dict(text.rpartition("=")[::2] for text in options.task)
    for name in named.values():
        if name not in MTEB_TASKS:
            raise ConfigError(
                f"--task: no task {name!r}",
                hint=nearest(name, list(MTEB_TASKS)) or f"choose from {', '.join(MTEB_TASKS)}",
            )
    return named


def result(name: str, records: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the content of a result file.

    Raises:
        ValueError: saying what MTEB does otherwise.
    """
    task = MTEB_TASKS[name]
    setting = (
        "8-shot logreg"
        if task.task == "intent"
        else next(
            (
                s
                for s in ("test", "", "all")
                if any(r["setting"] == s and r.get("n") == task.test for r in records)
            ),
            "test",
        )
    )
    own = {record["metric"]: record for record in records if record["setting"] == setting}
    if task.task == "sts" and all(r.get("n") != task.test for r in records):
        raise ValueError(f"no part has the {task.test:,} rows of {name}")
    needed = list(F1.values()) if task.task == "intent" else ["spearman", "pearson"]
    if any(metric not in own for metric in needed):
        raise ValueError(f"{name} is {PROTOCOL[task.task]}")
    for metric in needed:
        record = own[metric]
        if record.get("n") != task.test:
            raise ValueError(f"{record.get('n', 0):,} test rows, those of {name} are {task.test:,}")
        rows = ((record.get("data") or {}).get("train") or {}).get("rows", 0)
        if task.train and rows != task.train:
            raise ValueError(f"{rows:,} training rows, those of {name} are {task.train:,}")
        if task.task == "intent" and (
            record.get("runs"),
            record.get("seed"),
            len(record.get("values", ())),
        ) != (10, 0, 10):
            raise ValueError(f"{name} is {PROTOCOL['intent']}")
    scores = _classification(own) if task.task == "intent" else _sts(own)
    scores |= {"hf_subset": task.subset, "languages": ENGLISH}
    return {
        "dataset_revision": task.revision,
        "task_name": name,
        "mteb_version": None,
        "scores": {"test": [scores]},
        "evaluation_time": None,
        "kg_co2_emissions": None,
    }


def _classification(own: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    runs = [
        {theirs: own[ours]["values"][i] / 100 for theirs, ours in F1.items()} for i in range(10)
    ]
    means = {theirs: own[ours]["value"] / 100 for theirs, ours in F1.items()}
    return {**means, "main_score": means["accuracy"], "scores_per_experiment": runs}


def _sts(own: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    values = {f"cosine_{metric}": own[metric]["value"] / 100 for metric in ("pearson", "spearman")}
    return {**values, "main_score": values["cosine_spearman"]}


def meta(name: str, revision: str) -> dict[str, Any]:
    """Return the content of model_meta.json: name and revision; the rest is not known here."""
    unknown = (
        "release_date",
        "languages",
        "n_parameters",
        "max_tokens",
        "embed_dim",
        "license",
        "open_weights",
        "public_training_code",
        "reference",
        "use_instructions",
        "training_datasets",
        "adapted_from",
        "superseded_by",
        "loader",
    )
    return {
        "name": name,
        "revision": revision,
        **dict.fromkeys(unknown),
        "framework": [],
        "similarity_fn_name": "cosine",
    }
