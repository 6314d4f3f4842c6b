"""Scores as result files of the Massive Text Embedding Benchmark, if they were made as its own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import orjson

from dialtools.errors import ConfigError, DataError, proposed
from dialtools.eval.compare.columns import read_scores
from dialtools.eval.compare.mteb_tasks import MTEB_TASKS, PROTOCOL
from dialtools.eval.options.mteb import MtebOptions
from dialtools.streams.atomic import atomic_file, refuse_existing
from dialtools.streams.bytesio import display_name

ENGLISH = ["eng-Latn"]
F1 = {"accuracy": "accuracy", "f1": "macro-f1", "f1_weighted": "weighted-f1"}
"""MTEB's name of a metric: ours."""
RUNS = 10
"""Of MTEB's classification: each draws its own examples."""
NOT_KNOWN_HERE = (
    "release_date",
    "languages",
    "n_parameters",
    "memory_usage_mb",
    "max_tokens",
    "embed_dim",
    "license",
    "open_weights",
    "public_training_code",
    "public_training_data",
    "reference",
    "use_instructions",
    "training_datasets",
    "adapted_from",
    "superseded_by",
    "loader",
)
"""Fields of model_meta.json that stay null: embeddings do not tell them."""


@dataclass
class Export:
    """Result files by name, and for each data set that has none why."""

    files: dict[str, dict[str, Any]] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)


def evaluate(options: MtebOptions) -> Export:
    """Return the result files that the scores make, `model_meta.json` among them.

    Raises:
        ConfigError: if --task names a data set or a task that is not there.
        DataError: if none of the scores is MTEB's, or they are of several models, or of no name.
    """
    named = _named(options)
    by_dataset: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for seed in read_scores(options.inputs):
        by_dataset.setdefault((seed.row.task, seed.row.dataset), []).append(seed.record)

    _check_named(named, [dataset for _, dataset in by_dataset])

    export = Export()
    by_name: dict[str, list[dict[str, Any]]] = {}
    for (task, dataset), records in by_dataset.items():
        try:
            by_name.setdefault(_mteb_name(task, dataset, named), []).extend(records)
        except ValueError as error:
            export.refused[f"{task} {dataset}"] = str(error)
    models: dict[str | None, None] = {}
    for name, records in by_name.items():
        try:
            export.files[f"{name}.json"] = result_file(name, records)
            models |= dict.fromkeys(record.get("model") for record in records)
        except ValueError as error:
            what = dict.fromkeys(f"{r['task']} {r['dataset']}" for r in records)
            export.refused[", ".join(what)] = str(error)

    where = ", ".join(map(display_name, options.files))
    if not export.files:
        refused = "; ".join(f"{what}: {why}" for what, why in export.refused.items())
        raise DataError(refused or "holds no scores", where=where)
    model = options.model_name or _only(models, where)
    export.files["model_meta.json"] = meta_file(model, options.model_revision)
    return export


def _only(models: Iterable[str | None], where: str) -> str:
    """Return the name of the only model.

    Raises:
        DataError: if there are several, or it is not told.
    """
    first, *others = models
    if others:
        several = f"scores of several models: {', '.join(map(str, (first, *others)))}"
        raise DataError(several, where=where, hint="--model-name if they are one")
    if first is None:
        raise DataError("nothing tells the model", where=where, hint="--model-name names it")
    return first


def write_results(export: Export, folder: str, *, overwrite: bool) -> None:
    """Write the result files; none if one of them exists and may not be replaced."""
    root = Path(folder)
    root.mkdir(parents=True, exist_ok=True)
    for name in export.files:
        refuse_existing(root / name, overwrite=overwrite)
    for name, content in export.files.items():
        with atomic_file(root / name, overwrite=overwrite) as temporary:
            temporary.write_bytes(
                orjson.dumps(content, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
            )


def _named(options: MtebOptions) -> dict[str, str]:
    """Return {data set: task of MTEB}, as --task says."""
    named: dict[str, str] = {}
    for text in options.task:
        dataset, _, name = text.rpartition("=")
        if name not in MTEB_TASKS:
            known = list(MTEB_TASKS)
            raise ConfigError(f"--task: no task {name!r}", hint=proposed(name, known))
        named[dataset] = name
    return named


def _check_named(named: Mapping[str, str], datasets: Sequence[str]) -> None:
    """Raise ConfigError for a data set of --task that no score is of."""
    known = list(dict.fromkeys(datasets))
    for dataset in named:
        if dataset not in known:
            hint = proposed(dataset, known)
            raise ConfigError(f"--task: no score is of data set {dataset!r}", hint=hint)


def _mteb_name(task: str, dataset: str, named: Mapping[str, str]) -> str:
    """Return the task of MTEB that a data set is.

    Raises:
        ValueError: if it is none, or one that another task of ours scores.
    """
    if dataset in named:
        name = named[dataset]
        if MTEB_TASKS[name].task != task:
            raise ValueError(f"{name} is scored by dial-eval {MTEB_TASKS[name].task}")
        return name
    for name, known in MTEB_TASKS.items():
        if known.task == task and dataset.lower() in (name.lower(), *known.known_as):
            return name
    raise ValueError("no task of MTEB is scored so")


def result_file(name: str, records: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the content of a result file.

    Raises:
        ValueError: saying what MTEB does otherwise.
    """
    task = MTEB_TASKS[name]
    classification = task.task == "intent"
    setting = "8-shot logreg" if classification else _sts_setting(name, records)
    defined = [each for each in records if each["setting"] == setting and "value" in each]
    by_metric = {record["metric"]: record for record in defined}
    metrics = list(F1.values()) if classification else ["spearman", "pearson"]
    if any(metric not in by_metric for metric in metrics):
        raise ValueError(f"{name} is {PROTOCOL[task.task]}")
    if len(by_metric) < len(defined):
        raise ValueError(f"{name} is here more than once: a result is of one model, and one run")
    for metric in metrics:
        _check_protocol(name, by_metric[metric])

    scores = _classification(by_metric) if classification else _sts(by_metric)
    scores |= {"hf_subset": task.subset, "languages": ENGLISH}
    return {
        "dataset_revision": task.revision,
        "task_name": name,
        "mteb_version": None,
        "scores": {"test": [scores]},
        "evaluation_time": None,
        "kg_co2_emissions": None,
    }


def _sts_setting(name: str, records: Sequence[Mapping[str, Any]]) -> str:
    """Return the part that has the rows of MTEB's test split: test, the only one, or all."""
    size = MTEB_TASKS[name].test
    if all(record.get("n") != size for record in records):
        raise ValueError(f"no part has the {size:,} rows of {name}")
    whole = {record["setting"] for record in records if record.get("n") == size}
    return next((setting for setting in ("test", "", "all") if setting in whole), "test")


def _check_protocol(name: str, record: Mapping[str, Any]) -> None:
    """Refuse a score of other rows, or, of a classification, of other runs."""
    task = MTEB_TASKS[name]
    train = (record.get("data") or {}).get("train")
    tested, learnt = _count(record, "n"), _count(train, "rows")
    if tested != task.test:
        raise ValueError(f"{tested:,} test rows, those of {name} are {task.test:,}")
    if task.train and learnt != task.train:
        raise ValueError(f"{learnt:,} training rows, those of {name} are {task.train:,}")
    values = [value for value in record.get("values", ()) if value is not None]
    runs = record.get("runs"), record.get("seed"), len(values)
    if task.task == "intent" and runs != (RUNS, 0, RUNS):
        raise ValueError(f"{name} is {PROTOCOL['intent']}")


def _count(told: Any, name: str) -> int:
    """Return a number of rows that is told under a name, 0 where none is."""
    number = cast("dict[str, Any]", told).get(name) if isinstance(told, dict) else None
    return number if type(number) is int else 0


def _classification(by_metric: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    runs = [
        {theirs: by_metric[ours]["values"][run] / 100 for theirs, ours in F1.items()}
        for run in range(RUNS)
    ]
    means = {theirs: by_metric[ours]["value"] / 100 for theirs, ours in F1.items()}
    return {**means, "main_score": means["accuracy"], "scores_per_experiment": runs}


def _sts(by_metric: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    values = {
        f"cosine_{metric}": by_metric[metric]["value"] / 100 for metric in ("pearson", "spearman")
    }
    return {**values, "main_score": values["cosine_spearman"]}


def meta_file(name: str, revision: str) -> dict[str, Any]:
    """Return the content of model_meta.json: name and revision; the rest is not known here."""
    return {
        "name": name,
        "revision": revision,
        **dict.fromkeys(NOT_KNOWN_HERE),
        "framework": [],
        "similarity_fn_name": "cosine",
    }
