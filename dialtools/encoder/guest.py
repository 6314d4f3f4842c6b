"""Start torch as a well-behaved guest of the machine."""

from __future__ import annotations

import os

ENVIRONMENT = {
    # spinning threads starve each other on a busy machine
    "OMP_WAIT_POLICY": "PASSIVE",
    # kernels are compiled for each shape, about 0.3 MiB apiece, and batches seldom have the same
    # shape twice: a cache of the default 1,024 grows by hundreds of MiB and saves no time
    "ONEDNN_PRIMITIVE_CACHE_CAPACITY": "16",
}


def start_torch(threads: int | None, *, processes: int = 1) -> None:
    """Import torch for the first time; what the user has set in the environment stays.

    Args:
        threads: of the CPU; torch's own choice without.
        processes: that share them then.
    """
    for name, value in ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    import torch

    torch.set_num_threads(threads or max(1, torch.get_num_threads() // processes))
