"""dial-eval oos - tell what is out of scope

  dial-eval oos --train train.parquet --test test.parquet --oos-label oos
  dial-eval oos --shots 5 --validation-split val clinc150.parquet

Out of scope is a class with a prototype of its own, and whatever scores no
higher than a threshold: mean - std, mean or mean + std of the test scores
(transductive, as the DSE reference), or the one that is best on validation
rows. Rows of scores are divided by their length as the reference does; `raw`
settings do without. AUROC, AUPR (average precision) and FPR at 95 % recall
take out-of-scope texts as the positive class.

What every test row adds, for dial-eval compare, goes into files: 2 MB of them
for CLINC150. --each has it on a terminal and in a pipe too.
"""

from __future__ import annotations

from dataclasses import dataclass

from dialtools.eval.options.base import ScoreOptions
from dialtools.eval.options.labelled import LabelledOptions
from dialtools.options import option, restated


@dataclass
class OosOptions(LabelledOptions):
    """Options of `dial-eval oos`."""

    oos_label: str = option("oos", metavar="LABEL", help="label of what is out of scope")
    each: bool | None = restated(ScoreOptions, "each", default=None, shown="in a file")
    validation: str | None = option(
        None, metavar="FILE", group="Input", help="embeddings to choose a threshold on"
    )
