"""Where a model lies: a directory, or the hub's local cache. Nothing is downloaded."""

from __future__ import annotations

import re
from pathlib import Path

from dialtools.errors import ModelError

WEIGHTS = "model.safetensors"
"""The file of a model's weights, where they are in one."""
HUB_NAME = re.compile(r"\w[\w.-]*(/\w[\w.-]*)?")


def model_folder(name: str) -> Path:
    """Return the folder of a model: a directory, or a name that is in the local cache of the hub.

    Raises:
        ModelError: if it is neither; nothing is downloaded.
    """
    if Path(name).is_dir():
        return Path(name)
    from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(name, local_files_only=True))
    except Exception:  # each version of the library has kinds of its own for "not there"
        hint = "give a directory with a config.json"
        if HUB_NAME.fullmatch(name):
            hint = f"give a directory; what is on the hub is fetched so: hf download {name}"
        raise ModelError(f"no model {name!r} on this machine", hint=hint) from None
