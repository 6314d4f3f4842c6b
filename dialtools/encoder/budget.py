"""How many tokens a device takes at once: what stays in a CPU's cache, what fits a GPU's memory.

    tokens = the largest power of two <= SHARE x bytes of memory / bytes of a token

A power of two, so that what other programs hold of the memory seldom changes a batch, and with it
the last bits of its vectors.
"""

from __future__ import annotations

import torch

OF_CPU = 1024
LEAST = 1024
TO_EMBED, TO_TRAIN = 1 << 16, 1 << 17
"""Tokens of a batch at most: more keep a GPU no busier."""
OF_OTHERS = 1 << 15
"""For devices that do not tell their memory."""
SHARE = 0.5
"""Of a GPU's memory; the rest is for weights, gradients and the optimiser."""
ACTIVATION_BYTES = 2 << 30
"""That a batch may keep in main memory before `--grad-cache auto` encodes it twice."""
KEPT_FLOATS = 34
"""Activations that a layer keeps for backward: for each token, so many times its width."""
LIVE_FLOATS = 16
"""The same of the one layer at work if none are kept: its input, queries, keys, values, their sum,
and four widths before and after the activation function."""


def tokens_that_fit(memory: int, token_bytes: int, *, most: int) -> int:
    """Return the tokens of a batch by the equation above, LEAST of them and `most` at most."""
    fitting = int(SHARE * memory) // token_bytes
    power = 1 << max(0, fitting.bit_length() - 1)
    return min(most, max(LEAST, power))


def batch_tokens(device: torch.device, token_bytes: int, *, learns: bool) -> int:
    """Return the padded tokens of a batch, or of a micro-batch that is learnt from.

    On a GPU what is learnt from goes by all memory, not by what is free: a resumed run has to
    decide the same.
    """
    if device.type != "cuda":
        return OF_CPU if device.type == "cpu" else OF_OTHERS
    if learns:
        memory = torch.cuda.get_device_properties(device).total_memory
        return tokens_that_fit(memory, token_bytes, most=TO_TRAIN)
    return tokens_that_fit(torch.cuda.mem_get_info(device)[0], token_bytes, most=TO_EMBED)


def activation_bytes(device: torch.device) -> int:
    """Return how much of a batch's activations `--grad-cache auto` keeps in memory."""
    if device.type != "cuda":
        return ACTIVATION_BYTES
    return int(SHARE * torch.cuda.get_device_properties(device).total_memory)
