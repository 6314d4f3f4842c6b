"""The model's README: what it is, how it was made, how to use it."""

from __future__ import annotations

from dialtools import __version__

CARD = """---
library_name: sentence-transformers
pipeline_tag: sentence-similarity
tags: [sentence-transformers, feature-extraction, dialogue, dialtools]
---

# {title}

Made by dialtools {version}: {how}

```sh
dial-embed --model . texts.jsonl -o embeddings.parquet
```

{more}`dialtools.json` holds the provenance, {beside}.
"""


def card(
    title: str, how: str, *, more: str = "", beside: str = "that of the model included"
) -> str:
    """Return the card of a model in Markdown.

    Args:
        how: it was made, a sentence or more.
        more: paragraphs behind the way to use it, a blank line after each.
        beside: what stands beside the provenance.
    """
    return CARD.format(title=title, version=__version__, how=how, more=more, beside=beside)
