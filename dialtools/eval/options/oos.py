"""dial-eval oos - tell what is out of scope

  dial-eval oos --train train.parquet --test test.parquet --oos-label oos
  dial-eval oos --shots 5 --validation-split val clinc150.parquet

A text is out of scope if it is nearest to the prototype of the out-of-scope
class, or if its best score is not above a threshold. Scores are given for the
thresholds mean - std, mean and mean + std of the test scores (transductive,
as in the DSE reference), and with validation rows for the one that is best on
them.

Each row of scores is divided by its length, as in the reference; `raw`
settings skip that. AUROC, AUPR (average precision) and FPR at 95 % recall
take out-of-scope texts as the positive class.

The results of single test rows, for dial-eval compare, are kept only in
files: 5 MB of them for CLINC150. --each keeps them on a terminal and in a
pipe too.
"""

from __future__ import annotations

from dataclasses import dataclass

from dialtools.eval.options.base import ScoreOptions
from dialtools.eval.options.labelled import LabelledOptions
from dialtools.options import option, restated


@dataclass
class OosOptions(LabelledOptions):
    """Options of `dial-eval oos`."""

    oos_label: str = option("oos", metavar="LABEL", help="label of out-of-scope rows")
    each: bool | None = restated(ScoreOptions, "each", default=None, shown="in a file")
    validation: str | None = option(
        None, metavar="FILE", group="Input", help="embeddings to choose a threshold on"
    )
