"""Several processes that take the steps of one run together.

Each has the whole model, and knows the whole batch. Its micro-batches are dealt out; their rows are
gathered, so that every process has the loss over all of them, with its masks and negatives, as one
process has; each then takes the gradients of its own micro-batches, and the sum of all is the
gradient of one process. Rank 0 leads: it alone reads the pairs, writes, and says when to stop.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn

from dialtools.errors import DialError

PATIENCE = timedelta(days=7)
"""A leader may spool for hours before it needs the others; one that dies is noticed at once."""


NONE, DENSE, SPARSE = range(3)
"""What gradient of a parameter a process has, the more general last."""


class LostRank(DialError):
    """Another process of the run has ended."""


class Ranks:
    """One process that is alone, or its place among several.

    Attributes:
        rank: 0 leads.
        size: processes of the run.
        local: 0 is the first of its machine.
    """

    rank = 0
    size = 1
    local = 0

    def own(self, count: int) -> range:
        """Return which of some micro-batches are this process's to encode."""
        return range(self.rank, count, self.size)

    def gathered(self, pieces: Sequence[Tensor], count: int) -> tuple[Tensor, list[int]]:
        """Return the rows of all `count` micro-batches in their order, and how many each has.

        Args:
            pieces: (n, D) rows of this process's own.
        """
        return torch.cat(list(pieces)), [len(piece) for piece in pieces]

    def sum_gradients(self, parameters: Sequence[nn.Parameter]) -> None:
        """Add up the gradients of all processes, in each of them."""

    def go(self, goes: bool = True) -> bool:
        """Tell whether there is another step, as the leader says it."""
        return goes

    def shared(self, value: Any) -> Any:
        """Return what the leader gives."""
        return value

    def align(self, module: nn.Module) -> None:
        """Give every process the leader's weights."""


ALONE = Ranks()


class Together(Ranks):
    """A place among the processes of a group, which is joined when it is made.

    Args:
        device: where this one computes.

    Raises:
        LostRank: from each method, if another process has ended.
    """

    def __init__(self, *, rank: int, size: int, local: int, device: torch.device) -> None:
        self.rank, self.size, self.local = rank, size, local
        self.device = device
        if device.type == "cuda":
            torch.cuda.set_device(device)
        with noticed():
            dist.init_process_group(rank=rank, world_size=size, timeout=PATIENCE)

    def gathered(self, pieces: Sequence[Tensor], count: int) -> tuple[Tensor, list[int]]:
        with noticed():
            sizes = torch.zeros(count, dtype=torch.int64)
            sizes[self.rank :: self.size] = torch.tensor([len(piece) for piece in pieces])
            width = torch.tensor(pieces[0].shape[1:] if pieces else (0,), dtype=torch.int64)
            dist.all_reduce(sizes)
            dist.all_reduce(width, dist.ReduceOp.MAX)
            of_rank = [int(sizes[rank :: self.size].sum()) for rank in range(self.size)]
            own = torch.zeros(0, int(width), device=self.device)
            if pieces:
                own = torch.cat(list(pieces)).float()
            by_rank = self._all_rows(own, of_rank)
        blocks = [
            rows.split(sizes[rank :: self.size].tolist()) for rank, rows in enumerate(by_rank)
        ]
        in_order = [blocks[i % self.size][i // self.size] for i in range(count)]
        return torch.cat(in_order), sizes.tolist()

    def _all_rows(self, own: Tensor, sizes: Sequence[int]) -> list[Tensor]:
        """Return the rows of each process; they are sent padded to the most that one has."""
        padded = own.new_zeros(max(sizes), *own.shape[1:])
        padded[: len(own)] = own
        everyone = [torch.empty_like(padded) for _ in range(self.size)]
        dist.all_gather(everyone, padded)
        return [rows[:size] for rows, size in zip(everyone, sizes, strict=True)]

    def sum_gradients(self, parameters: Sequence[nn.Parameter]) -> None:
        with noticed():
            kinds = torch.tensor([_kind(parameter.grad) for parameter in parameters])
            dist.all_reduce(kinds, dist.ReduceOp.MAX)
            for parameter, kind in zip(parameters, kinds.tolist(), strict=True):
                if kind == SPARSE:
                    parameter.grad = self._sum_rows(parameter)
                elif kind == DENSE:
                    if parameter.grad is None:
                        parameter.grad = torch.zeros_like(parameter)
                    dist.all_reduce(parameter.grad)

    def _sum_rows(self, parameter: nn.Parameter) -> Tensor:
        """Return the sum of gradients of some rows of a table."""
        own = parameter.grad
        if own is None:
            nothing = torch.zeros(1, 0, dtype=torch.int64, device=parameter.device)
            own = torch.sparse_coo_tensor(
                nothing, parameter.detach()[:0], parameter.shape, check_invariants=False
            )
        own = own.coalesce()
        counts = torch.zeros(self.size, dtype=torch.int64)
        counts[self.rank] = own.indices().shape[1]
        dist.all_reduce(counts)
        sizes = counts.tolist()
        places = torch.cat(self._all_rows(own.indices()[0], sizes))
        values = torch.cat(self._all_rows(own.values(), sizes))
        whole = torch.sparse_coo_tensor(
            places[None], values, parameter.shape, check_invariants=False
        )
        return whole.coalesce()

    def go(self, goes: bool = True) -> bool:
        with noticed():
            told = torch.tensor([goes], dtype=torch.int64)
            dist.broadcast(told, src=0)
        return bool(told)

    def shared(self, value: Any) -> Any:
        with noticed():
            box = [value]
            dist.broadcast_object_list(box, src=0)
        return box[0]

    def align(self, module: nn.Module) -> None:
        with noticed():
            for tensor in module.state_dict().values():
                dist.broadcast(tensor, src=0)


def _kind(gradient: Tensor | None) -> int:
    if gradient is None:
        return NONE
    return SPARSE if gradient.is_sparse else DENSE


@contextmanager
def noticed() -> Generator[None]:
    """Raise LostRank for what torch raises when a process is gone."""
    try:
        yield
    except torch.OutOfMemoryError:
        raise
    except RuntimeError as error:
        raise LostRank(
            "another process of this run has ended", hint="--resume goes on from the checkpoint"
        ) from error
