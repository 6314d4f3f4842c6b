"""MNLI: multinli_1.0_{train,dev_matched,dev_mismatched}.jsonl, in the layout of SNLI.

The same as .txt has tabs and a header. https://cims.nyu.edu/~sbowman/multinli, OANC and others.
Published: 392,702 pairs for training, 10,000 matched and 10,000 mismatched of validation, of which
9,815 and 9,832 have a label; the others are labelled `-`.
"""

from __future__ import annotations

from dialtools.corpora.native.snli import pairs, record

__all__ = ["raw", "record"]

raw = pairs("multinli_1.0_*")
"""Both validation sets are of one split."""
