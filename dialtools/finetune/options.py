"""Options of fine-tuning; the defaults are those of DSE's evaluations (app. B.1)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

from dialtools.corpora.options import AnyRecordOptions
from dialtools.encoder.catalog import POOLINGS
from dialtools.encoder.options import PieceOptions
from dialtools.errors import ConfigError
from dialtools.options import RunOptions, argument, input_option, option, restated
from dialtools.streams.options import TAKEN_UP, InputOptions, ResumeOptions, RowLimitOptions, column
from dialtools.values import (
    at_least,
    int_list,
    number_of_runs,
    positive,
    seed_number,
    share_below_one,
)

training = partial(option, group="Training")


@dataclass
class FinetuneOptions(PieceOptions, RowLimitOptions, RunOptions):
    """What is fine-tuned, on how few rows, and when it is compared."""

    inputs: tuple[str, ...] = argument(
        help="one file of records with a split field, instead of --train and --test"
    )
    model: tuple[str, ...] = option(
        (),
        metavar="DIR",
        multiple=True,
        help="encoder to start from: a directory, or a name in the local cache; may be given again",
    )
    shots: tuple[int, ...] = option(
        (1, 5),
        metavar="N[,N...]",
        parse=int_list,
        help="examples per class to train on, and as many to validate on",
    )
    runs: int = option(
        10,
        parse=number_of_runs,
        help="number of runs; each draws new examples (seeds seed, seed+1, ...)",
    )
    train: str | None = input_option(None, metavar="FILE", help="records to learn from")
    test: str | None = input_option(None, metavar="FILE", help="records to test on")
    from_: str | None = restated(AnyRecordOptions, "from_")
    on_error: str = restated(InputOptions, "on_error")
    split: str = column(
        "split", help="field that separates training records from test records", not_with="train"
    )
    train_split: str = column(
        "train", help="value of the split field for training records", not_with="train"
    )
    test_split: str = column(
        "test", help="value of the split field for test records", not_with="train"
    )

    lr: float = training(3e-5, parse=positive, help="highest learning rate")
    batch_size: int = training(16, parse=at_least(1), help="rows per step")
    epochs: int = training(50, parse=at_least(1), help="maximum passes over the training rows")
    warmup: float = training(
        0.05,
        metavar="SHARE",
        parse=share_below_one,
        help="share of the steps over which the rate rises; it then falls linearly to 0",
    )
    validate_every: int = training(
        10, parse=at_least(1), help="steps between validations; at least an epoch"
    )
    patience: int = training(
        5,
        parse=at_least(0),
        help="stop after more validations than this without a better score, at the end of an epoch",
    )
    pooling: str = training("mean", choices=POOLINGS, help="how token vectors become one vector")
    max_length: int = training(64, parse=at_least(4), help="maximum tokens per text")
    train_seed: int = training(
        24, parse=seed_number, help="seed of head, order and dropout; the same in every run"
    )

    resume: bool = restated(
        ResumeOptions,
        "resume",
        help=f"{TAKEN_UP}; no finished run is repeated",
    )

    def __post_init__(self) -> None:
        if not self.model and not self.print_config:
            raise ConfigError("--model DIR is needed", hint="dial-train makes one")
        both = bool(self.train and self.test)
        either = bool(self.train or self.test)
        if both != either or either == bool(self.inputs):
            raise ConfigError(
                "name --train FILE and --test FILE, or one file with a split field",
                hint="files, not stdin: --resume reads them again",
            )
        self.model = tuple(dict.fromkeys(self.model))


def other_default(name: str, default: Any, **changes: Any) -> Any:
    """Return an option of all tasks with another default, or another help text."""
    return restated(FinetuneOptions, name, default=default, **changes)
