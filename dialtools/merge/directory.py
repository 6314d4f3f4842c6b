"""The merged model as a directory: files of the first model, merged weights, what made it."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson

from dialtools import __version__
from dialtools.encoder.card import card
from dialtools.encoder.folder import WEIGHTS
from dialtools.encoder.sidefile import write_json
from dialtools.encoder.stated import LAYERS, POOLER, WORD_WEIGHTS
from dialtools.encoder.token_vectors import read_token_vectors
from dialtools.encoder.weights import merged
from dialtools.errors import ModelError
from dialtools.merge.options import MergeOptions
from dialtools.merge.parents import Family, Parent
from dialtools.merge.tensors import Tensors, write
from dialtools.options import specs
from dialtools.streams.bytesio import own_name
from dialtools.streams.provenance import (
    SCHEMA,
    argv_of_result,
    describe,
    plain_settings,
    read_provenance,
)

LAYOUT = (".json", ".txt", ".model")
"""Suffixes of what a model has beside its weights: configuration, tokenizer, pooling."""
PROVENANCE = "dialtools.json"
ITS_OWN = (PROVENANCE, "model.safetensors.index.json")
HOW = """the weights of `{start}`, and of each model a part of the way that it
went from there in training.

| model | part of the way |
| --- | --- |
{rows}

Tokenizer, pooling and length are those of `{first}`."""


def write_merged(directory: Path, family: Family, weights: Sequence[float]) -> None:
    """Write a model that loads: the files of the first model, and merged weights.

    A centre is left out, and the norm before it where the start has none: training added both.

    Args:
        directory: exists and is empty.
        weights: of the models.

    Raises:
        ModelError: if merged numbers are not finite.
    """
    first = family.models[0]
    added = first.stated.center and not family.start.stated.normalize
    modules = dict(first.layout[:-1] if added else first.layout)
    for inner in dict.fromkeys(["", first.inner, *modules.values()]):
        (directory / inner).mkdir(parents=True, exist_ok=True)
        for file in (first.folder / inner).glob("*"):
            if file.suffix in LAYOUT and file.name not in ITS_OWN and file.is_file():
                shutil.copyfile(file, directory / inner / file.name)
    if first.stated.center:
        path = directory / "modules.json"
        write_json(path, orjson.loads(path.read_bytes())[: len(modules)])
    _write_weights(directory / first.inner / WEIGHTS, family, weights)
    for kind in {LAYERS, WORD_WEIGHTS} & modules.keys():
        file = Path(modules[kind]) / WEIGHTS
        shutil.copyfile(first.folder / file, directory / file)
    if POOLER in modules:
        _write_pooler(directory / modules[POOLER] / WEIGHTS, Tensors(directory / first.inner))


def _write_pooler(path: Path, whole: Tensors) -> None:
    """Write the pooler's weights a second time, as a step of their own."""
    of_pooler = {f"linear.{name}": f"pooler.dense.{name}" for name in ("weight", "bias")}
    shapes = {name: whole.shapes[theirs] for name, theirs in of_pooler.items()}
    write(path, shapes, lambda name: whole.read(of_pooler[name]))


def _write_weights(path: Path, family: Family, weights: Sequence[float]) -> None:
    start, prefix = family.start.tensors, family.prefix
    first = family.models[0].tensors
    shapes = {name: start.shapes[f"{prefix}{name}"] for name in first.shapes}

    def tensor(name: str) -> Any:
        others = [
            (model.tensors.read(name), weight)
            for model, weight in zip(family.models, weights, strict=True)
        ]
        whole = merged(start.read(f"{prefix}{name}"), others)
        if whole.is_floating_point() and not whole.isfinite().all():
            raise _not_finite(name, family)
        return whole

    write(path, shapes, tensor)


def _not_finite(name: str, family: Family) -> ModelError:
    """Return the error that names the model whose weights are not finite; else their sum is not."""
    if not family.start.tensors.read(f"{family.prefix}{name}").isfinite().all():
        return ModelError(f"{name}: not finite", where=family.start.name)
    for model in family.models:
        if not model.tensors.read(name).isfinite().all():
            return ModelError(f"{name}: not finite", where=model.name)
    return ModelError(f"{name}: merged, it is not finite")


def finish(
    directory: Path, family: Family, weights: Sequence[float], options: MergeOptions
) -> None:
    """Write what tells of a merged model: its provenance and its card."""
    first = family.models[0]
    told = plain_settings(options)
    if first.stated.speaker_tokens:
        told["speaker-tokens"] = True  # of a model, this is where it is looked for
    facts = {
        "schema": SCHEMA,
        "version": __version__,
        "pooling": first.stated.pooling,
        "command": "dialtools merge",
        "argv": argv_of_result([*map(own_name, sys.argv[1:])], specs(MergeOptions)),
        "options": told,
        "inputs": [describe(path) for path in options.choose_on],
        "start": family.start.content,
        "parents": [
            _told(family.start),
            *(
                {**_told(model), "weight": weight}
                for model, weight in zip(family.models, weights, strict=True)
            ),
        ],
        "weights": _digest(directory / first.inner, first),
    }
    write_json(directory / PROVENANCE, facts)
    (directory / "README.md").write_text(_card(family, weights), encoding="utf-8")


def _digest(folder: Path, first: Parent) -> str:
    """Return the digest of the merged encoder that files of its vectors tell."""
    if first.stated.static:
        return read_token_vectors(folder).digest()
    return Tensors(folder).digest(first.token_weights or b"")


def _told(parent: Parent) -> Mapping[str, Any]:
    """Return what is known of a parent: its files, and its own provenance if it has any."""
    own = read_provenance(parent.folder)
    facts = {"name": parent.name, "files": parent.content}
    return {**facts, "provenance": own} if own else facts


def _card(family: Family, weights: Sequence[float]) -> str:
    rows = [
        f"| `{model.name}` | {weight:g} |"
        for model, weight in zip(family.models, weights, strict=True)
    ]
    first = family.models[0].name
    how = HOW.format(start=family.start.name, rows="\n".join(rows), first=first)
    return card("A merged dialogue encoder", how, beside="that of each model included")
