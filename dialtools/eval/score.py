"""Score records: one number with its interval, and what it is a number of."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, NamedTuple

import numpy as np

from dialtools.errors import ConfigError, GateError, proposed
from dialtools.eval.each import size, statistic
from dialtools.metrics import counts
from dialtools.metrics.paired import Statistic
from dialtools.metrics.resample import over_items, over_runs

SCHEMA = "dialtools.score/1"
Each = list[Any] | dict[str, list[Any]]
RESAMPLES = 400
"""Of the items, for half of an interval: 400 find it to within 10 %, 95 times in 100."""
BELOW_ZERO = ("spearman", "pearson", "ari")
"""Metrics that may be so; in percent, as all that have an interval."""
LOWER_IS_BETTER = ("fpr-at-95-recall", "uniformity", "alignment", "average-cosine", "inter-cosine")
DECIMALS = 10
"""Of a score: 29 of 50 are 58 percent, not 57.99999999999999."""
DIGITS = 6
"""Of the numbers in `each`: a mean over them misses that of the unrounded ones by 0.0001 points."""


def shares(values_N: np.ndarray) -> list[float | int | None]:
    """Return numbers so that JSON is short: rounded, whole ones as integers, NaN as null."""
    rounded = np.round(np.asarray(values_N, np.float64), DIGITS).tolist()
    return [_shortest(value) for value in rounded]


def _shortest(value: float) -> float | int | None:
    if math.isnan(value):
        return None
    return int(value) if value.is_integer() else value


@dataclass
class Score:
    """One metric in one setting; accuracies in percent.

    Attributes:
        values: a value for each run.
        options: of the task, those that are not its usual ones.
        chosen: hyper-parameters found on validation rows.
        chance: what random order scores on the same lists.
        low, high: 95 % interval: of other items, in other runs if there are several.
        each: what every test item adds (`each` tells how), so that scores can be compared item by
            item.
        items: digests of the columns that tell which the test items are, in their order (`items`).
        groups: of the items, which belong together (for each the number of its dialogue, of its
            block of candidates): intervals keep them whole.
        data: what training and test rows are, and whether they share texts (`sanity`).
        unleaked: the score without the test rows that training rows repeat.
    """

    task: str
    dataset: str
    setting: str
    metric: str
    value: float = math.nan
    low: float = math.nan
    high: float = math.nan
    std: float = math.nan
    runs: int = 1
    _: KW_ONLY
    n: int
    seed: int
    values: list[float] = field(default_factory=list)
    options: dict[str, Any] = field(default_factory=dict)
    chosen: dict[str, Any] = field(default_factory=dict)
    chance: float | None = None
    unleaked: float | None = None
    each: Each = field(default_factory=list)
    items: dict[str, str] = field(default_factory=dict)
    groups: list[int] = field(default_factory=list)
    data: dict[str, Any] = field(default_factory=dict)
    model: str | None = None
    inputs: list[dict[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Let no interval reach beyond what the metric may be, no last bit fail a gate."""
        self.value = round(self.value, DECIMALS) + 0.0  # -0.0 is 0
        least = -100.0 if self.metric in BELOW_ZERO else 0.0
        if least <= self.value <= 100:  # NaN, of no interval, stays
            self.low, self.high = max(self.low, least), min(self.high, 100.0)

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Score:
        """Return the score that a record tells of."""
        return cls(**{name: value for name, value in record.items() if name != "schema"})

    def record(self, *, each: bool = True) -> dict[str, Any]:
        """Return the score as a record; what is not known is left out.

        Args:
            each: keep which the test items are, and what each adds.
        """
        facts = {"schema": SCHEMA, **vars(self)}
        if not each:
            facts |= {"each": [], "items": {}, "groups": []}
        return {name: value for name, value in facts.items() if _is_known(value)}


def _is_known(value: Any) -> bool:
    """Tell whether a field says something: it is neither empty nor NaN."""
    if isinstance(value, float):
        return not math.isnan(value)
    return value is not None and value not in ([], {})


class Scored(NamedTuple):
    """What a task makes of an embedding file.

    Attributes:
        metadata: that of the file, which tells the model.
        notes: what a user should know beside the scores, a line each.
    """

    scores: list[Score]
    metadata: dict[str, str]
    notes: Sequence[str] = ()


def of_runs(
    values: list[float], of_items: tuple[float, float] | None = None, **facts: Any
) -> Score:
    """Return a score over runs, whose interval is of other runs on other items.

    Args:
        of_items: how far the 95 % interval of other items reaches below and above, in percent;
            None: of what each item adds as the facts tell (nothing told: other runs on the same
            items).
    """
    values_R = np.asarray(values, float)
    if of_items is None:
        of_items = _reach_of_items(**facts) if len(values) > 1 else (0.0, 0.0)
    mean, low, high, std = over_runs(values_R, of_items)
    of_all = {"runs": len(values), "values": values_R.tolist()}
    return Score(value=mean, low=low, high=high, std=std, **of_all, **facts)


def _reach_of_items(
    *, metric: str, seed: int, each: Each | None = None, groups: Sequence[int] = (), **_: Any
) -> tuple[float, float]:
    """Return how far the interval of other items, or groups of them, reaches, in percent."""
    if not each:
        return 0.0, 0.0
    found, groups_N = statistic(metric, each), np.asarray(groups) if groups else None
    value, low, high = over_items(
        found, size(each), seed=seed, groups_N=groups_N, resamples=RESAMPLES
    )
    return (100 * (value - low), 100 * (high - value)) if low == low else (0.0, 0.0)


def of_statistic(found: Statistic, *, each: Each, **facts: Any) -> Score:
    """Return the score of one run that its items make together, in percent.

    Its interval is of other items, of whole `groups` if the facts tell any.

    Args:
        found: the share that `each` tells of.
    """
    groups_N = np.asarray(facts["groups"]) if facts.get("groups") else None
    share = over_items(found, size(each), seed=facts["seed"], groups_N=groups_N)
    value, low, high = (100 * bound for bound in share)
    return Score(value=value, low=low, high=high, each=each, **facts)


def of_queries(values_N: np.ndarray, **facts: Any) -> Score:
    """Return a score of one run that is a mean over N queries, in percent."""
    shares_N = np.asarray(values_N, float) / 100
    found = counts.mean(shares_N)
    return of_statistic(found, each=shares(shares_N), n=len(shares_N), **facts)


def gated(scores: list[Score], gates: tuple[str, ...]) -> list[tuple[Score, str]]:
    """Return the scores that --fail-under METRIC=VALUE names, each with its bound.

    METRIC is a metric, or `setting metric`. Commands ask for these before they write scores.

    Raises:
        ConfigError: for a metric that was not measured, or of which lower is better.
    """
    named: list[tuple[Score, str]] = []
    for text in gates:
        name, _, bound = text.rpartition("=")
        hits = [(s, bound) for s in scores if name in (s.metric, f"{s.setting} {s.metric}")]
        if not hits:
            known = dict.fromkeys(
                f"{s.setting} {s.metric}" if " " in name else s.metric for s in scores
            )
            raise ConfigError(f"--fail-under: no metric {name!r}", hint=proposed(name, known))
        if hits[0][0].metric in LOWER_IS_BETTER:
            hint = "dial-eval compare --fail-if-worse fails where it is higher than a baseline's"
            raise ConfigError(f"--fail-under {name}: lower is better", hint=hint)
        named += hits
    return named


def check_gates(named: list[tuple[Score, str]]) -> None:
    """Compare the scores that `gated` returns with their bounds.

    Raises:
        GateError: naming the first score that is too low.
    """
    for score, bound in named:
        if not score.value >= float(bound):
            what = f"{score.task} {score.setting} {score.metric}"
            raise GateError(f"{what} is {score.value:.2f}, below {bound}")
