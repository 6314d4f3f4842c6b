"""Weights from files: all that a module has, and nothing but them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from dialtools.encoder.arrays import refused
from dialtools.errors import ModelError
from dialtools.shown import listed, shape_of

TOLD = 3
"""Names that an error tells of many."""
LONGEST_NAME = 80
"""Characters of a name: a file may have any."""
BLOCK = 1 << 20
"""Numbers that are summed at once: twice their size as float64 does not double a large tensor."""


def read_tensors(path: Path) -> dict[str, Tensor]:
    """Read a safetensors file.

    Raises:
        ModelError: if it is damaged.
        DataError: if it cannot be opened.
    """
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        return load_file(path)
    except (OSError, SafetensorError) as error:
        raise refused(path, error) from None


class Shape(NamedTuple):
    """Of a tensor in a file: the type of its numbers, as safetensors calls it, and its sizes."""

    kind: str
    sizes: tuple[int, ...]


def opened(path: Path) -> tuple[Any, dict[str, Shape]]:
    """Open a safetensors file; return it, and the shapes in its header.

    Raises:
        ModelError: if it is damaged.
        DataError: if it cannot be opened.
    """
    from safetensors import SafetensorError, safe_open

    try:
        file = safe_open(path, "pt")
        slices = {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118 - no mapping
        return file, {n: Shape(s.get_dtype(), tuple(s.get_shape())) for n, s in slices.items()}
    except (OSError, SafetensorError) as error:
        raise refused(path, error) from None


def merged(start: Tensor, others: Sequence[tuple[Tensor, float]]) -> Tensor:
    """Return start + the sum of weight * (other - start), in the type of the start.

    The sum is in float64, so that what no other has moved keeps its bits, and a lone other of
    weight 1 is that other. Numbers that are not floating point are the start's.
    """
    if not start.is_floating_point():
        return start.clone()
    result = torch.empty_like(start, memory_format=torch.contiguous_format)
    blocks = (tensor.reshape(-1).split(BLOCK) for tensor in (start, *(each for each, _ in others)))
    for into, first, *rest in zip(result.view(-1).split(BLOCK), *blocks, strict=True):
        base = first.double()
        total = base.clone()
        for block, (_, weight) in zip(rest, others, strict=True):
            total += weight * (block.double() - base)
        into.copy_(total)
    return result


def fill(module: nn.Module, tensors: Mapping[str, Tensor], *, where: object) -> None:
    """Give a module its weights.

    Raises:
        ModelError: if the tensors are not those that the module has, naming them.
    """
    has, wants = (
        {n: tuple(x.shape) for n, x in of.items()} for of in (tensors, module.state_dict())
    )
    if misfit := misfit_of(has, wants):
        raise ModelError(f"not the weights of this model: {misfit}", where=where)
    module.load_state_dict(dict(tensors))


def misfit_of(has: Mapping[str, tuple[int, ...]], wants: Mapping[str, tuple[int, ...]]) -> str:
    """Say in what the sizes of tensors differ from those that are wanted; "" if in nothing."""
    return describe_misfit(
        missing=wants.keys() - has.keys(),
        unexpected=has.keys() - wants.keys(),
        shapes={
            name: (sizes, wants[name])
            for name, sizes in has.items()
            if wants.get(name, sizes) != sizes
        },
    )


def describe_misfit(
    *,
    missing: Collection[str] = (),
    unexpected: Collection[str] = (),
    shapes: Mapping[str, tuple[tuple[int, ...], tuple[int, ...]]] | None = None,
) -> str:
    """Say in what weights and a model differ, naming a few of each kind; "" if in nothing.

    Args:
        shapes: of weights that differ in it, as they are and as they should be.
    """
    parts: list[str] = []
    if missing:
        parts.append(f"{len(missing):,} missing ({a_few(missing)})")
    if shapes:
        told = (
            f"{name[:LONGEST_NAME]} {shape_of(has)}, not {shape_of(wants)}"
            for name, (has, wants) in sorted(shapes.items())
        )
        parts.append(f"{len(shapes):,} of another shape ({a_few(told)})")
    if unexpected:
        parts.append(f"{len(unexpected):,} too many ({a_few(unexpected)})")
    return "; ".join(parts)


def a_few(names: Iterable[str]) -> str:
    """Return the first of some names in their order, and how many more there are."""
    return listed(sorted(names), TOLD, 2 * LONGEST_NAME)
