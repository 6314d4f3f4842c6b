"""What a model's provenance tells of the start that it was trained from."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from dialtools.encoder.sidefile import SideFile
from dialtools.encoder.stated import read_modules
from dialtools.streams.provenance import digest

SUFFIXES = (".safetensors", ".bin")
TOKENIZER = (
    "tokenizer*",
    "vocab.*",
    "merges.txt",
    "*.model",
    "added_tokens.json",
    "special_tokens_map.json",
)
BEHIND = ("head.safetensors", "alignment.safetensors")
BESIDE = ("config.json", "modules.json", "sentence_*_config.json", *TOKENIZER, *BEHIND)
"""What else decides what a text's vector is: tokens, how many at most, pooling, layers behind."""
WEIGHTS = tuple(f"*{suffix}" for suffix in SUFFIXES)


def layers_behind(model: Path) -> list[Path]:
    """Return the files of the layers that take a model's vectors: a head, an alignment layer."""
    return [model / name for name in BEHIND if (model / name).is_file()]


def content(model: Path) -> str:
    """Return digests of the files of a model and its modules, in one line.

    Those of its encoder are called by their own names, also if it lies in a folder of the model's.
    Of a file of word vectors its own.

    Raises:
        ModelError: if its list of modules is damaged.
    """
    if model.is_file():
        return f"{model.name}:{digest(model)[:8]}"
    return _digests(model, (*WEIGHTS, *BESIDE))


def of_weights(model: Path) -> str:
    """Return digests of a model's weights and its modules', in one line; "" where it has none."""
    return _digests(model, WEIGHTS)


def beside_weights(model: Path) -> str:
    """Return digests of the files of a model but its weights, in one line."""
    return _digests(model, BESIDE)


def _digests(model: Path, patterns: Iterable[str]) -> str:
    inner = list(read_modules(model / "modules.json").values())
    encoder = model / next(iter(inner), "")
    folders = [model, *(model / name for name in inner)]
    files = sorted({file for at in folders for glob in patterns for file in at.glob(glob)})
    names = (file.relative_to(encoder if encoder in file.parents else model) for file in files)
    return " ".join(f"{n}:{digest(f)[:8]}" for n, f in zip(names, files, strict=True))


def descends(model: Path, start: Path, described: str) -> bool:
    """Tell whether a model was trained from a start, as far as it tells what it was trained from.

    The start may also be what another run of the same start has saved before its first step, with
    the tokens that the recipe adds: that of --max-steps 0, or the snapshot of step 0.

    Args:
        described: the `content` of the start.

    Raises:
        ModelError: for provenance that is damaged.
    """
    told = SideFile.read(model / "dialtools.json")
    origin = _origin(told)
    if origin is None or origin == _weights(described):
        return True
    own = SideFile.read(start / "dialtools.json")
    return own.tables("counts").count("steps", least=0) == 0 and _origin(own) == origin


def _origin(told: SideFile) -> Any:
    """Return what identifies the start of a model; None if the model does not tell.

    That is the digest of the start's weights or, of an encoder that began from nothing, the seed
    and the inputs that its tokenizer was made of.
    """
    if weights := _weights(told.text("start") or ""):
        return weights
    options = told.tables("options")
    if told.text("command") != "dial-train" or options.text("model"):
        return None
    inputs = told.field("inputs", list, "a list") or []
    return options.count("seed", least=0), inputs


def _weights(described: str) -> list[str]:
    """Return the files of an encoder's weights among those that `content` describes."""
    names = ((word, word.partition(":")[0]) for word in described.split())
    return [word for word, name in names if name.endswith(SUFFIXES) and "/" not in name]
