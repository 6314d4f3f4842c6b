"""What is told of a model that another one was made of, without training."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dialtools.encoder.descent import content
from dialtools.encoder.encoder import Encoder
from dialtools.encoder.folder import model_folder
from dialtools.streams.provenance import read_provenance


def facts_of(encoder: Encoder, model: str, provenance: Mapping[str, Any]) -> dict[str, Any]:
    """Return the provenance of an encoder that was made of `model`, that one's included."""
    folder = model_folder(model)
    own = read_provenance(folder)
    files = content(folder)
    parent = {"name": model, "files": files, **({"provenance": own} if own else {})}
    # of a model, this is where it is looked for
    spoken = {"speaker-tokens": True} if encoder.role_tokens else {}
    return {
        **provenance,
        "options": {**provenance["options"], **spoken},
        "start": files,
        "parents": [parent],
        "weights": encoder.digest(),
    }
