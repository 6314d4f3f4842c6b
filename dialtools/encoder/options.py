"""Options of every command that runs an encoder: where, how exactly, how much at once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from dialtools.options import option, restated
from dialtools.values import at_least

PRECISIONS = ("auto", "float32", "bfloat16")
"""Numbers that an encoder calculates with."""

_engine = partial(option, group="Engine")


@dataclass
class DeviceOptions:
    """Where an encoder runs, and how exactly.

    Devices round differently: what is resumed goes on where it began.
    """

    device: str = _engine("auto", metavar="NAME", help="auto, cpu, cuda, cuda:1 or mps")
    precision: str = _engine(
        "auto",
        choices=PRECISIONS,
        help="number type a transformer computes in, a static encoder has float32; auto: bfloat16 "
        "on CUDA, float32 elsewhere",
    )
    threads: int = _engine(
        0, parse=at_least(0), help="number of CPU threads", shown="the cores there are", how=True
    )


@dataclass
class BatchOptions:
    """How much an encoder takes at once where it does not learn."""

    batch_tokens: int = _engine(
        0,
        parse=at_least(0),
        help="tokens a batch, padding included",
        shown="1024 on CPU; on CUDA what fits into half of its free memory, up to 65536",
    )


@dataclass
class RemoteCodeOptions:
    """Whether a model may bring code of its own."""

    trust_remote_code: bool = _engine(False, help="run Python code that comes with the model")


@dataclass
class PieceOptions(RemoteCodeOptions, DeviceOptions, BatchOptions):
    """Of a job whose pieces stand each for itself: it may go on on another device."""

    device: str = restated(DeviceOptions, "device", how=True)
