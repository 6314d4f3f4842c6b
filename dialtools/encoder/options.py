"""Options of every command that runs an encoder: where, how exactly, how much at once."""

from __future__ import annotations

from dataclasses import dataclass

from dialtools.options import option
from dialtools.values import at_least

PRECISIONS = ("auto", "float32", "bfloat16")
"""Numbers that an encoder calculates with."""


@dataclass
class EngineOptions:
    """Where an encoder runs, and how."""

    batch_tokens: int = option(
        0,
        metavar="N",
        parse=at_least(0),
        group="Engine",
        help="padded tokens a batch",
        shown="1024 on CPU, 32768 on CUDA",
    )
    device: str = option(
        "auto",
        metavar="NAME",
        group="Engine",
        help="auto, cpu, cuda, cuda:1, mps",
        how=True,
    )
    precision: str = option(
        "auto",
        choices=PRECISIONS,
        group="Engine",
        help="auto: bfloat16 on CUDA, float32 elsewhere",
    )
    threads: int = option(
        0,
        metavar="N",
        parse=at_least(0),
        group="Engine",
        help="CPU threads",
        shown="the cores there are",
        how=True,
    )
