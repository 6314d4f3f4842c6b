"""An encoder on its device, as it computes best there."""

from __future__ import annotations

import torch

from dialtools.encoder.encoder import Encoder
from dialtools.encoder.packed import pack
from dialtools.encoder.quick import quicken
from dialtools.encoder.static import StaticEncoder


def placed(encoder: Encoder, device: torch.device, precision: str) -> Encoder:
    """Move an encoder to its device; in training it leaves out padding, if it can.

    Embedding takes thousands of texts in batches of one length, which have next to no padding; of
    the few of a step a third is padding. Only a GPU's own kernel, which is of 16 bits, embeds
    faster without.

    Args:
        precision: in which it will compute. One that will not be trained, as its mode tells, keeps
            its weights in it.
    """
    encoder.to(device)
    if isinstance(encoder, StaticEncoder):
        return encoder
    quicken(encoder)
    # cuDNN's attention, which torch would prefer, prepares for each new shape of a batch
    torch.backends.cuda.enable_cudnn_sdp(False)
    learns = encoder.training and device.type in ("cpu", "cuda")
    if learns or (device.type == "cuda" and precision == "bfloat16"):
        pack(encoder, precision)
    if precision == "bfloat16" and not encoder.training:
        encoder.lower()
    return encoder
