"""Options of every command that runs an encoder: where, how exactly, how much at once."""

from __future__ import annotations

from dataclasses import dataclass

from dialtools.options import option, restated
from dialtools.values import at_least

PRECISIONS = ("auto", "float32", "bfloat16")
"""Numbers that an encoder calculates with."""


@dataclass
class DeviceOptions:
    """Where an encoder runs, and how exactly.

    Devices round differently: what is resumed goes on where it began.
    """

    device: str = option(
        "auto",
        metavar="NAME",
        group="Engine",
        help="auto, cpu, cuda, cuda:1 or mps",
    )
    precision: str = option(
        "auto",
        choices=PRECISIONS,
        group="Engine",
        help="number type to compute in; auto: bfloat16 on CUDA, float32 elsewhere",
    )
    threads: int = option(
        0,
        parse=at_least(0),
        group="Engine",
        help="number of CPU threads",
        shown="the cores there are",
        how=True,
    )


@dataclass
class BatchOptions:
    """How much an encoder takes at once where it does not learn."""

    batch_tokens: int = option(
        0,
        parse=at_least(0),
        group="Engine",
        help="tokens a batch, padding included",
        shown="1024 on CPU; on CUDA what fits into half of its free memory, up to 65536",
    )


@dataclass
class RemoteCodeOptions:
    """Whether a model may bring code of its own."""

    trust_remote_code: bool = option(
        False,
        group="Engine",
        help="run Python code that comes with the model",
    )


@dataclass
class PieceOptions(RemoteCodeOptions, DeviceOptions, BatchOptions):
    """Of a job whose pieces stand each for itself: it may go on on another device."""

    device: str = restated(DeviceOptions, "device", how=True)
