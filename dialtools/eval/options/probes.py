"""Options of the tasks that train a layer on frozen embeddings: act, infer."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from dialtools.errors import ConfigError
from dialtools.eval.options.base import ThreePartOptions
from dialtools.options import input_option, option
from dialtools.streams.options import column
from dialtools.values import at_least, bounded, fraction, list_of, share_below_one, whole_numbers

MOST_DECAY = 1000

_probe = partial(option, group="Probe")


@dataclass
class ProbeOptions(ThreePartOptions):
    """One layer trained on frozen embeddings, its hyper-parameters chosen on validation rows."""

    validation_share: float = input_option(
        0.0,
        metavar="SHARE",
        parse=share_below_one,
        help=(
            "if there are no validation rows, hold out this share of the training dialogues or rows"
        ),
    )
    group: str | None = column(
        None,
        help="column that groups rows: intervals, and the tests of dial-eval compare, keep rows "
        "with the same value together",
        shown="dialogue_id, if there is one",
    )
    lr: tuple[float, ...] = _probe(
        (1e-4, 1e-3, 1e-2),
        metavar="X[,X...]",
        parse=list_of(fraction),
        help="learning rates to try, with Adam",
    )
    weight_decay: tuple[float, ...] = _probe(
        (0.0, 1e-5, 1e-4, 1e-3),
        metavar="X[,X...]",
        parse=list_of(bounded(low=0, high=MOST_DECAY)),
        help="weight decays (L2 penalties) to try",
    )
    hidden: tuple[int, ...] = _probe(
        (0,),
        metavar="N[,N...]",
        parse=whole_numbers,
        help="sizes of a hidden layer to try; 0: one linear layer",
    )
    batch_size: int = _probe(64, parse=at_least(1), help="rows per step")
    epochs: int = _probe(200, parse=at_least(1), help="maximum passes over the training rows")
    patience: int = _probe(
        5,
        parse=at_least(1),
        help="stop after this many passes without a better validation score or loss",
    )

    @property
    def points(self) -> int:
        """How many layers are trained."""
        return len(self.hidden) * len(self.lr) * len(self.weight_decay)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.validation and not self.train:
            raise ConfigError(
                "--validation FILE goes with --train FILE and --test FILE",
                hint="--validation-split NAME chooses rows of one file",
            )
