"""The start and the models that are merged with it: opened, and found to belong together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from dialtools.encoder.descent import content, descends
from dialtools.encoder.folder import model_folder
from dialtools.encoder.growth import refuse_growth
from dialtools.encoder.pretrained import OLD_BUFFERS
from dialtools.encoder.stated import (
    CENTRED,
    Stated,
    listed_modules,
    read_modules,
    read_stated,
)
from dialtools.encoder.token_weights import read_token_weights
from dialtools.encoder.weights import a_few, misfit_of
from dialtools.errors import ConfigError, ModelError
from dialtools.merge.options import MergeOptions
from dialtools.merge.tensors import Tensors
from dialtools.shown import first_line
from dialtools.streams.bytesio import own_name
from dialtools.streams.making import options_of
from dialtools.streams.provenance import read_provenance

UNUSED = ("pooler",)
"""Parts of a start that a trained model may lack."""
BEGUN = "a start as the recipe makes it of this one: dial-train --max-steps 0, as it was run"
VECTORS = ("pooling", "normalize")
"""What of `Stated` the vectors of two models depend on."""


@dataclass(frozen=True)
class Parent:
    """A model directory.

    Attributes:
        name: as the user calls it.
        tensors: its weights, which are in the folder `inner` of it.
        stated: what it states of its vectors.
    """

    name: str
    folder: Path
    inner: str
    tensors: Tensors
    stated: Stated

    @classmethod
    def open(cls, name: str) -> Parent:
        """Open a model directory, or a name in the local cache.

        Raises:
            ModelError: if it is not there, or is damaged.
        """
        folder = model_folder(name)
        inner = next(iter(read_modules(folder / "modules.json").values()), "")
        stated = read_stated(folder)
        return cls(own_name(name), folder, inner, Tensors(folder / inner), stated)

    @property
    def layout(self) -> list[tuple[str, str]]:
        """Its modules and their folders, but for its centre, which is not its weights'."""
        listed = listed_modules(self.folder / "modules.json")
        return listed[: -len(CENTRED[1:])] if self.stated.center else listed

    @cached_property
    def content(self) -> str:
        """Digests of its files."""
        return content(self.folder)

    @cached_property
    def token_weights(self) -> bytes | None:
        """What its tokens weigh in an average; None where all weigh alike."""
        folder = self.stated.token_weights
        return None if folder is None else read_token_weights(folder, tokens=0).numpy().tobytes()

    @cached_property
    def vocabulary(self) -> dict[str, int]:
        """Its tokens and their numbers; empty where its files do not tell them alike.

        Raises:
            ModelError: if they are damaged.
        """
        path = self.folder / self.inner / "tokenizer.json"
        if not path.is_file():
            return {}
        from tokenizers import Tokenizer

        refuse_growth(path)
        try:
            return Tokenizer.from_file(str(path)).get_vocab(with_added_tokens=True)
        except Exception as error:  # tokenizers raises no other kind
            raise ModelError(f"its tokenizer: {first_line(error)}", where=path) from None


class Family(NamedTuple):
    """A start, the models that were trained from it, and what stands before names in the start.

    A start that was saved with a head calls its encoder so (`bert.`); trained models do not.
    """

    start: Parent
    models: list[Parent]
    prefix: str


def open_family(options: MergeOptions) -> Family:
    """Open what is named, and check that it can be merged.

    Raises:
        ConfigError: if the output is, or holds, one of the models.
        ModelError: if a model is damaged, of another start, or differs from the start in more than
            the numbers of its weights.
    """
    start = Parent.open(options.inputs[0])
    models = [Parent.open(model.name) for model in options.models]
    _refuse_over_inputs(Path(options.output), [start, *models])
    prefix = _prefix(start, models[0])
    for model in models:
        if model.folder.resolve() == start.folder.resolve():
            raise ConfigError("is the start itself", where=model.name)
        if not descends(model.folder, start.folder, start.content):
            raise _other_start(model, start)
        _refuse_other_tokens(model, start)
        _refuse_other_weights(model, start)
        _refuse_other_vectors(model, start, VECTORS)
        _refuse_other_vectors(model, models[0], (*VECTORS, "speaker_tokens"))
        _refuse_misfit(model, start, prefix)
        _refuse_misfit(model, models[0], "")
    return Family(start, models, prefix)


def _refuse_over_inputs(output: Path, parents: Iterable[Parent]) -> None:
    final = output.resolve()
    for parent in parents:
        folder = parent.folder.resolve()
        if final == folder or final in folder.parents:
            raise ConfigError("would be replaced, and is to be read", where=parent.name)


def _other_start(model: Parent, start: Parent) -> ModelError:
    told = options_of(read_provenance(model.folder) or {}).get("model")
    origin = f"trained from {told}" if isinstance(told, str) else "of another start"
    message = f"{origin}, whose weights are not those of {start.name}"
    hint = "its difference from this start is more than its training"
    if model.stated.center:
        hint = "merge it as it was before dialtools center, then center the result"
    return ModelError(message, where=model.name, hint=hint)


def _prefix(start: Parent, model: Parent) -> str:
    names = model.tensors.shapes
    first = min(names, default="")
    ends = (name for name in start.tensors.shapes if name.endswith(f".{first}"))
    for prefix in ("", *(name.removesuffix(first) for name in ends)):
        if all(f"{prefix}{name}" in start.tensors.shapes for name in names):
            return prefix
    return ""


def _refuse_other_tokens(model: Parent, start: Parent) -> None:
    known, own = start.vocabulary, model.vocabulary
    if not known or not own or known == own:
        return
    more, fewer = own.keys() - known.keys(), known.keys() - own.keys()
    changes = [
        f"{len(tokens):,} {what} ({a_few(tokens)})"
        for what, tokens in (("more", more), ("fewer", fewer))
        if tokens
    ]
    raise ModelError(
        f"tokenizer.json: other tokens than those of {start.name}: "
        f"{', '.join(changes) or 'the same in another order'}",
        where=model.name,
        hint=BEGUN,
    )


def _refuse_other_vectors(model: Parent, other: Parent, said: Sequence[str]) -> None:
    """Refuse models whose token vectors become one in another way, where both say how."""
    if model.stated.pooling is None or other.stated.pooling is None:
        return
    for what in said:
        ours, theirs = getattr(model.stated, what), getattr(other.stated, what)
        centred = model.stated.center or other.stated.center
        if ours != theirs and not (centred and what == "normalize"):  # all have length 1 before it
            name = what.replace("_", " ")
            message = f"{name} {ours}, not {theirs} as that of {other.name}"
            hint = f"dial-train --pooling {theirs}" if what == "pooling" else None
            raise ModelError(message, where=model.name, hint=hint)


def _refuse_other_weights(model: Parent, start: Parent) -> None:
    """Refuse a model whose tokens weigh otherwise than the start's in an average."""
    if model.token_weights == start.token_weights:
        return
    hint = "dialtools weigh the start first, train from that, and merge with that"
    raise ModelError(
        f"its tokens weigh otherwise than in {start.name}", where=model.name, hint=hint
    )


def _refuse_misfit(model: Parent, other: Parent, prefix: str) -> None:
    """Refuse tensors of other names or shapes.

    A start may have a head, and constants of old; of a static one all tensors count, as weights of
    tokens that training has put into the vectors.
    """
    has = {name: shape.sizes for name, shape in model.tensors.shapes.items()}
    if misfit := misfit_of(has, _body(other, model, prefix)):
        message = f"not of the shape of {other.name}: {misfit}"
        raise ModelError(message, where=model.name, hint=BEGUN if other.stated.static else None)


def _body(other: Parent, model: Parent, prefix: str) -> dict[str, tuple[int, ...]]:
    """Return the sizes of those tensors that a model must have too, by the model's names."""
    shapes = model.tensors.shapes
    parts = {name.split(".")[0] for name in shapes} - {*UNUSED}
    named = {name.removeprefix(prefix): shape for name, shape in other.tensors.shapes.items()}
    return {
        name: shape.sizes
        for name, shape in named.items()
        if name in shapes
        or other.stated.static
        or (name.split(".")[0] in parts and not OLD_BUFFERS.search(name))
    }
