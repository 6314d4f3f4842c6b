"""Score files side by side: which differences would be there again with other test items?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from dialtools.errors import ConfigError, proposed
from dialtools.eval import each
from dialtools.eval.compare.columns import Seed, columns_of
from dialtools.eval.compare.comparison import Comparison, Difference, Pair
from dialtools.eval.compare.resampled import Sample, judge_pairs
from dialtools.eval.identity import differing
from dialtools.eval.options.compare import CompareOptions
from dialtools.eval.score import DECIMALS, LOWER_IS_BETTER
from dialtools.eval.suite import AVERAGE, Row
from dialtools.metrics import CORRECTIONS

OF_ALL_TOGETHER = "it is of all items together, and not of single ones"
UNKNOWN = "nothing is known of its items (dial-eval --each keeps that)"


def evaluate(options: CompareOptions) -> Comparison:
    """Return the comparison of the columns with the first, or with --baseline.

    Raises:
        ConfigError: if a name fits none.
        DataError: for a file that holds no scores, or a column with one score twice.
    """
    columns, published = columns_of(options)
    rows = list(dict.fromkeys(row for column in columns.values() for row in column))
    for key in ("metric", "setting"):
        rows = _chosen(rows, key, getattr(options, key))
    comparison = Comparison(columns, rows, options.correct, published=published)
    for sample, pairs in _pairs_by_sample(comparison).items():
        judge_pairs(comparison, sample, pairs, options)

    tested = [d for d in comparison.differences.values() if d.test]
    correction = CORRECTIONS[options.correct].load()
    corrected = correction(np.asarray([difference.p for difference in tested]))
    for difference, adjusted in zip(tested, corrected, strict=True):
        difference.adjusted = float(adjusted)
    return comparison


def _chosen(rows: list[Row], key: str, names: Sequence[str]) -> list[Row]:
    """Return the scores whose metric, or setting, is among the names; all, without names."""
    known = list(dict.fromkeys(getattr(row, key) for row in rows))
    for name in names:
        if name not in known:
            raise ConfigError(f"--{key}: no score has {name!r}", hint=proposed(name, known))
    return [row for row in rows if not names or getattr(row, key) in names]


def _pairs_by_sample(comparison: Comparison) -> dict[Sample, list[Pair]]:
    """Set every difference, say which cannot be tested, and return those that can."""
    by_sample: dict[Sample, list[Pair]] = {}
    for row in comparison.rows:
        for name in list(comparison.columns)[1:]:
            sample = _compared(comparison, row, name)
            if sample is not None:
                by_sample.setdefault(sample, []).append((row, name))
    return by_sample


def _compared(comparison: Comparison, row: Row, name: str) -> Sample | None:
    """Set the difference of a column in one score; return its sample if it can be tested."""
    seeds = comparison.columns[name].get(row, [])
    base_seeds = comparison.columns[comparison.baseline].get(row, [])
    value, base = comparison.value(row, name), comparison.value(row, comparison.baseline)
    if value is None or base is None:
        lacking = comparison.baseline if base is None else name
        comparison.set_aside(row, lacking, "does not have it")
        return None

    pairing = _pairing([*base_seeds, *seeds])
    if pairing.comparable:
        points = round(value.mean - base.mean, DECIMALS)
        gap = points if row.metric in LOWER_IS_BETTER else -points
        comparison.differences[row, name] = Difference(points, gap)
    if pairing.why:
        comparison.set_aside(row, name, pairing.why)
        return None
    record = seeds[0].record
    return Sample(each.size(record["each"]), tuple(record.get("groups", ())))


class Pairing(NamedTuple):
    """What may be done with measurements of two models.

    Attributes:
        comparable: whether their scores may be compared: they are of the same items as far as is
            known.
        why: why they cannot be tested item by item, if so.
    """

    comparable: bool
    why: str | None = None


def _pairing(seeds: Sequence[Seed]) -> Pairing:
    """Return what may be done with some measurements of a score, the baseline's among them."""
    first = seeds[0].record
    items = first.get("items", {})
    apart = [differing(items, seed.record.get("items", {})) for seed in seeds]
    if other := next(filter(None, apart), None):
        verb = "differs" if len(other) == 1 else "differ"
        why = f"other test items, or another order of them ({', '.join(other)} {verb})"
        return Pairing(comparable=False, why=why)
    if other := _options_apart([seed.record.get("options", {}) for seed in seeds]):
        return Pairing(comparable=False, why=f"scored with another {' and '.join(other)}")
    if first["dataset"] == AVERAGE:
        return Pairing(comparable=True, why="an average of data sets")
    if unknown := [seed.record for seed in seeds if not seed.record.get("each")]:
        # --no-each leaves out both; of scores of all items together there is nothing to leave out
        whole = first["task"] == "space" or all(record.get("items") for record in unknown)
        return Pairing(comparable=True, why=OF_ALL_TOGETHER if whole else UNKNOWN)
    if None in apart:
        return Pairing(comparable=True, why="nothing tells which its test items are")
    if len({each.size(seed.record["each"]) for seed in seeds}) > 1:
        return Pairing(comparable=False, why="another number of test items")
    if any(seed.record.get("groups", []) != first.get("groups", []) for seed in seeds):
        return Pairing(comparable=True, why="its items are grouped otherwise (dial-eval --group)")
    return Pairing(comparable=True)


def _options_apart(options: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the flags in which the options of scores differ."""
    flags = dict.fromkeys(key for own in options for key in own)
    return [
        f"--{key}" for key in flags if any(own.get(key) != options[0].get(key) for own in options)
    ]
