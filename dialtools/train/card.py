"""The model's README: what it is, how to use it, how it was made."""

from __future__ import annotations

from typing import Any

TEMPLATE = """---
library_name: sentence-transformers
pipeline_tag: sentence-similarity
tags: [sentence-transformers, feature-extraction, dialogue, dialtools]
---

# A dialogue encoder

Made by dialtools {version}: recipe `{method}` from {start}, {pairs:,} pairs, {steps:,} steps.

```sh
dial-embed --model . texts.jsonl -o embeddings.parquet
```

```python
from sentence_transformers import SentenceTransformer

vectors = SentenceTransformer("path/to/this/directory").encode(["i need a table for two", "book a restaurant"])
```

{dimension} dimensions, {pooling} pooling, {max_length} tokens at most, {normalised}.

| | |
| --- | --- |
{rows}

`dialtools.json` holds the provenance, `train-log.jsonl` each step, `dialtools.toml` the options
(`dial-train --config dialtools.toml` runs it again).
"""


def card(
    *,
    version: str,
    method: str,
    start: str,
    encoder: Any,
    pairs: int,
    steps: int,
    facts: dict[str, Any],
) -> str:
    """Return the card of a trained encoder in Markdown."""
    rows = "\n".join(f"| {name} | {value} |" for name, value in facts.items())
    return TEMPLATE.format(
        version=version,
        method=method,
        start=start,
        pairs=pairs,
        steps=steps,
        rows=rows,
        dimension=encoder.dimension,
        pooling=encoder.pooling,
        max_length=encoder.max_length,
        normalised="unit length" if encoder.normalize else "not normalised",
    )
