"""The chain rule by hand: from the gradient of some vectors back to what they were made of."""

from __future__ import annotations

from torch import Tensor


def along(vectors: Tensor, gradient: Tensor) -> Tensor:
    """Return a scalar of which `gradient` is the gradient in `vectors`, to the bit.

    Backward from it is `vectors.backward(gradient)`, for which torch (2.13) imports sympy, a third
    of a second, to compare two shapes.
    """
    return (vectors * gradient.to(vectors.dtype)).sum()
