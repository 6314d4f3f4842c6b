"""dial-eval oos - tell what is out of scope

  dial-eval oos --train train.parquet --test test.parquet --oos-label oos
  dial-eval oos --shots 5 --validation-split val clinc150.parquet

A text is out of scope if it is nearest to the prototype of the out-of-scope
class, or if its best score is not above a threshold. Scores are given for the
thresholds mean - std, mean and mean + std of the test scores (transductive,
as in the DSE reference), and with validation rows for the quantile of their
scores, in steps of 0.5 %, that gives them the best `average`.

Rows that dial-augment made (`synthetic`) are not training rows unless you
pass --synthetic; --test-share leaves them out.

The results of single test rows, for dial-eval compare, are kept only in
files: 5 MB of them for CLINC150. --each keeps them on a terminal and in a
pipe too.

Scores:

At each threshold:
  accuracy      rows with the right class, out of scope being one of them
  in-accuracy   the same, of in-scope rows
  oos-accuracy  rows rightly told to be in or out of scope
  oos-recall    out-of-scope rows that are found
  average       the mean of these four

Without a threshold, out-of-scope texts being the positive class, by how like
they are to the nearest class that is in scope:
  auroc             area under the ROC curve
  aupr              average precision
  fpr-at-95-recall  in-scope rows given up where 95 % of the others are found

In-scope rows with the wrong class are errors of the first two. Each row of
similarities is divided by its length, as in the reference; settings with
`raw` skip that.
"""

from __future__ import annotations

from dataclasses import dataclass

from dialtools.eval.options.base import ScoreOptions
from dialtools.eval.options.labelled import LabelledOptions
from dialtools.options import option, restated
from dialtools.values import composed


@dataclass
class OosOptions(LabelledOptions):
    """Options of `dial-eval oos`."""

    oos_label: str = option(
        "oos", metavar="LABEL", parse=composed, help="label of out-of-scope rows"
    )
    each: bool | None = restated(ScoreOptions, "each", default=None, shown="in a file")
