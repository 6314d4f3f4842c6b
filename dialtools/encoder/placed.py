"""An encoder on its device, as it computes best there."""

from __future__ import annotations

import torch

from dialtools.encoder.encoder import Encoder
from dialtools.encoder.packed import pack
from dialtools.encoder.static import StaticEncoder


def placed(encoder: Encoder, device: torch.device, precision: str) -> Encoder:
    """Move an encoder to its device; on a GPU it leaves out padding, where it can.

    Args:
        precision: in which it will compute; whether it will be trained, its mode tells.
    """
    encoder.to(device)
    if device.type == "cuda" and not isinstance(encoder, StaticEncoder):
        pack(encoder, precision)
    return encoder
