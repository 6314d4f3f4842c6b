"""dial-eval intent - few-shot intent classification

  dial-eval intent --train train.parquet --test test.parquet --shots 1,5
  dial-eval intent --episodes splits.json --episode-set bank77 \\
    banking77.parquet
  dial-eval intent --method knn -k 1,3,5 banking77.parquet
  dial-eval intent --method knn --sweep-compress 0,0.1,0.5 templates.parquet
  dial-eval intent --method logreg --name banking77 banking77.parquet

By default each class has a prototype: the mean of the unit vectors of its
examples, not rescaled. A text goes to the prototype with the largest dot
product. Each run draws k examples per class with Python's generator, as the
DSE reference does.

--method knn uses all training rows. --method logreg is MTEB's protocol.

MTEB's protocol:

--method logreg trains scikit-learn's LogisticRegression (at most 100
iterations) on 8 rows per class, on vectors as they are. Rows are drawn as
MTEB draws them from its seed 42, to which --seed is added. Scores are
accuracy, macro F1 and weighted F1.

Score records:

Each record has the balance of the classes, and the number of test rows that
also occur among the training rows (lower-cased, without punctuation).
`unleaked` is the score without those rows, with the same thresholds and
examples. `each` has the result of every test row, for dial-eval compare;
--no-each leaves it out.

Augmented rows and templates:

Rows that dial-augment made (`synthetic`) are not training rows unless you
pass --synthetic; --test-share leaves them out. --sweep-compress reads files
with vectors of texts and of templates (dial-embed --templates) and mixes
them: lambda t + (1 - lambda) u, where t is the template's vector and u the
text's. Lambda is chosen on validation rows and recorded in the score's
`chosen`.
"""

from __future__ import annotations

from dataclasses import dataclass

from dialtools.catalog import Entry, summaries
from dialtools.eval.options.labelled import LabelledOptions
from dialtools.options import option, restated
from dialtools.values import composed, int_list, shares

METHODS = {
    "prototype": Entry(
        "dialtools.eval.tasks.intent:prototype_scores",
        "few-shot class means",
    ),
    "knn": Entry(
        "dialtools.eval.tasks.intent:neighbour_scores",
        "nearest of all training rows",
    ),
    "logreg": Entry(
        "dialtools.eval.tasks.intent:regression_scores",
        "few-shot logistic regression, as in MTEB",
    ),
}
OF_PROTOTYPES = ("method", ("prototype",))


@dataclass
class IntentOptions(LabelledOptions):
    """Options of `dial-eval intent`."""

    method: str = option(
        "prototype",
        choices=METHODS,
        help=summaries(METHODS),
    )
    shots: tuple[int, ...] = option(
        (),
        metavar="N[,N...]",
        parse=int_list,
        help="examples per class",
        shown="1,5; logreg: 8",
        goes_with=("method", ("prototype", "logreg")),
    )
    runs: int = restated(LabelledOptions, "runs", goes_with=("method", ("prototype", "logreg")))
    k: tuple[int, ...] = option(
        (1,),
        short="-k",
        metavar="K[,K...]",
        parse=int_list,
        help="knn: number of neighbours; ties go to the nearer class",
        goes_with=("method", ("knn",)),
    )
    template_references: bool = option(
        False,
        help=(
            "knn: templates of training rows are neighbours too (files of dial-embed --templates)"
        ),
        goes_with=("method", ("knn",)),
    )
    sweep_compress: tuple[float, ...] = option(
        (),
        metavar="LAMBDA[,...]",
        parse=shares,
        help=(
            "mix vectors of texts and templates, with the lambda that is best on validation "
            "rows (TaDSE eq. 5)"
        ),
    )
    train: str | None = restated(LabelledOptions, "train")
    test: str | None = restated(LabelledOptions, "test")
    validation: str | None = restated(LabelledOptions, "validation", goes_with="sweep_compress")
    split: str = restated(LabelledOptions, "split")
    train_split: str = restated(LabelledOptions, "train_split")
    test_split: str = restated(LabelledOptions, "test_split")
    validation_split: str | None = restated(
        LabelledOptions,
        "validation_split",
        help=(
            "value of the split column for validation rows; without any, a tenth of the "
            "training rows is used"
        ),
        goes_with="sweep_compress",
    )
    episodes: str | None = restated(LabelledOptions, "episodes", goes_with=OF_PROTOTYPES)
    save_episodes: str | None = restated(LabelledOptions, "save_episodes", goes_with=OF_PROTOTYPES)
    without: str | None = option(
        None, metavar="LABEL", parse=composed, help="leave out rows with this label, e.g. oos"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        self.shots = self.shots or ((8,) if self.method == "logreg" else (1, 5))
