"""CUDA where there is none: two devices made of host memory (host_cuda.cpp).

It shows that tensors are where they should be, that autocast, fused optimisers, generators and
gradient caching do on a device what they do on the CPU, and how often a GPU would be waited for: at
its end a command writes that to the file $DIALTOOLS_WAITS. It shows nothing of a GPU's kernels,
memory or speed.
"""

from __future__ import annotations

import atexit
import ctypes
import importlib.util
import os
import shutil
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

DEVICES = 2
MEMORY = 4 << 30
OLDEST_COMPILER = 10  # C++20


def unavailable() -> str:
    """Return why it cannot be built here, or nothing."""
    import torch

    if torch.backends.cuda.is_built():
        return "this torch is built for CUDA and finds no GPU"
    compiler = sys.platform == "linux" and shutil.which("g++")
    if compiler:
        asked = subprocess.run([compiler, "-dumpversion"], capture_output=True, text=True)
        if int(asked.stdout.split(".")[0]) >= OLDEST_COMPILER:
            return ""
    return f"needs Linux and g++ {OLDEST_COMPILER} or newer"


def build(library: Path) -> None:
    """Compile it against the torch of this interpreter.

    Raises:
        subprocess.CalledProcessError: the compiler refused.
    """
    torch = Path(importlib.util.find_spec("torch").submodule_search_locations[0])
    source = Path(__file__).with_suffix(".cpp")
    headers = [f"-I{torch}/include", f"-I{torch}/include/torch/csrc/api/include"]
    libraries = [f"-L{torch}/lib", f"-Wl,-rpath,{torch}/lib", "-lc10", "-ltorch_cpu"]
    options = ["-O0", "-std=c++20", "-shared", "-fPIC"]
    command = ["g++", *options, source, "-o", library, *headers, *libraries]
    subprocess.run(command, check=True)


class Event:
    """What has been done so far: all of it, as nothing is done later."""

    def record(self, stream: object) -> None:
        pass

    def synchronize(self) -> None:
        pass


def note_waits(count: int) -> None:
    """Write how often a GPU would have been waited for, where it is asked."""
    if path := os.environ.get("DIALTOOLS_WAITS"):
        Path(path).write_text(str(count))


def flash(query, key, value, ends, *_: object, scale=None, window_size_right=-1, **__) -> tuple:
    """Attend within texts, as the kernel of 16 bits does, without windows and dropout."""
    import torch

    if window_size_right != -1:
        raise NotImplementedError
    attended = [
        torch.nn.functional.scaled_dot_product_attention(
            *(x[None] for x in text), scale=scale, enable_gqa=True
        )[0]
        for text in texts_of(ends, query, key, value)
    ]
    out = torch.cat(attended, 1).transpose(0, 1).to(query.device, non_blocking=True)
    return out, *(query.new_empty(0) for _ in range(4))


def flash_backward(grad, query, key, value, _out, _sums, ends, *_: object, scale=None, **__):
    """Return the gradients of `flash`."""
    import torch

    groups = query.shape[1] // key.shape[1]
    scale = scale or query.shape[2] ** -0.5
    gradients = []
    for text in texts_of(ends, grad, query, key, value):
        g, q, k, v = (x.float() for x in text)
        k, v = (x.repeat_interleave(groups, 0) for x in (k, v))
        seen = (q @ k.mT * scale).softmax(-1)
        by_value = g @ v.mT
        by_score = seen * (by_value - (seen * by_value).sum(-1, keepdim=True)) * scale
        of_keys = (by_score.mT @ q, seen.mT @ g)
        gradients.append((by_score @ k, *(x.unflatten(0, (-1, groups)).sum(1) for x in of_keys)))
    return tuple(
        torch.cat(parts, 1).transpose(0, 1).to(query.dtype).to(query.device, non_blocking=True)
        for parts in zip(*gradients, strict=True)
    )


def texts_of(ends, *tokens):
    """Yield (H, T, D) parts of several (tokens, H, D) of each text."""
    import torch

    rows = [torch.ops.host_cuda.on_host(x).transpose(0, 1) for x in tokens]
    for begin, end in pairwise(torch.ops.host_cuda.on_host(ends).tolist()):
        yield [x[:, begin:end] for x in rows]


def install(library: str) -> None:
    """Make torch.cuda two devices; to be called before anything imports torch."""
    ctypes.CDLL(library)
    import torch

    host = torch.ops.host_cuda

    def index(device: torch.device | str | int | None = None) -> int:
        number = device if isinstance(device, int) else torch.device(device or "cuda").index
        return host.current() if number is None else number

    stand_ins = {
        "_lazy_init": lambda: None,
        "_is_in_bad_fork": lambda: False,
        "is_available": lambda: True,
        "is_initialized": lambda: True,
        "is_bf16_supported": lambda *ignored: True,
        "is_current_stream_capturing": lambda: False,
        "device_count": lambda: DEVICES,
        "current_device": host.current,
        "set_device": lambda device: host.use(index(device)),
        "synchronize": lambda device=None: None,
        "get_rng_state": lambda device="cuda": host.get_state(index(device)),
        "set_rng_state": lambda state, device="cuda": host.set_state(index(device), state),
        "manual_seed": lambda seed: host.seed(host.current(), seed),
        "manual_seed_all": lambda seed: [host.seed(device, seed) for device in range(DEVICES)],
        "empty_cache": lambda: None,
        "get_device_properties": lambda device=None: SimpleNamespace(total_memory=MEMORY),
        "mem_get_info": lambda device=None: (MEMORY, MEMORY),
        "current_stream": lambda device=None: None,
        "Event": Event,
    }
    for name, stand_in in stand_ins.items():
        setattr(torch.cuda, name, stand_in)
    atexit.register(lambda: note_waits(host.waits()))
    torch.library.impl("aten::_flash_attention_forward", "CUDA")(flash)
    torch.library.impl("aten::_flash_attention_backward", "CUDA")(flash_backward)
    torch._C._cuda_getDevice = host.current
    torch.Tensor.pin_memory = lambda tensor, device=None: tensor
