"""One definition of each number. Nothing heavy is imported here."""

from __future__ import annotations

from dialtools.catalog import Entry

TIES = ("average", "optimistic", "pessimistic")

CORRECTIONS = {
    "holm": Entry("dialtools.metrics.paired:holm", "after Holm's correction for"),
    "bh": Entry(
        "dialtools.metrics.paired:benjamini_hochberg",
        "after Benjamini and Hochberg's correction for",
    ),
    "none": Entry("dialtools.metrics.paired:uncorrected", "uncorrected, in"),
}
"""Of the p-values of many tests; the summary goes before the number of tests."""
