"""Options of fine-tuning; the defaults are those of DSE's evaluations (METHODS 3.8)."""

from __future__ import annotations

from dataclasses import dataclass

from dialtools.corpora.catalog import CORPORA
from dialtools.encoder.catalog import POOLINGS
from dialtools.errors import ConfigError
from dialtools.options import RECORD_FORMATS, RunOptions, argument, option
from dialtools.values import at_least, int_list, positive, share_below_one


@dataclass
class FinetuneOptions(RunOptions):
    """What is fine-tuned, on how few rows, and when it is compared."""

    inputs: tuple[str, ...] = argument(
        help="one file of records with a split column, instead of --train and --test"
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
        help="examples a class to train on, and as many to validate on",
    )
    runs: int = option(
        10,
        metavar="N",
        parse=at_least(1),
        help="runs, each with examples drawn anew (seeds seed, seed+1, ...)",
    )
    train: str | None = option(None, metavar="FILE", group="Input", help="records to learn from")
    test: str | None = option(None, metavar="FILE", group="Input", help="records to be tested on")
    from_: str | None = option(
        None,
        metavar="FORMAT",
        choices=(*RECORD_FORMATS, *CORPORA),
        group="Input",
        help="format of the input, or a published corpus (folder, archive or file)",
        shown="by suffix or files, else by content",
    )
    split: str = option(
        "split", metavar="NAME", group="Input", help="field that tells train from test"
    )
    train_split: str = option(
        "train", metavar="NAME", group="Input", help="its value for training rows"
    )
    test_split: str = option("test", metavar="NAME", group="Input", help="its value for test rows")

    lr: float = option(
        3e-5, metavar="X", parse=positive, group="Training", help="highest learning rate"
    )
    batch_size: int = option(
        16, metavar="N", parse=at_least(1), group="Training", help="rows a step"
    )
    epochs: int = option(
        50,
        metavar="N",
        parse=at_least(1),
        group="Training",
        help="passes over the few rows at most",
    )
    warmup: float = option(
        0.05,
        metavar="SHARE",
        parse=share_below_one,
        group="Training",
        help="share of the steps over which the rate rises; it then falls to 0 in a line",
    )
    validate_every: int = option(
        10,
        metavar="N",
        parse=at_least(1),
        group="Training",
        help="steps between validations; an epoch at least",
    )
    patience: int = option(
        5,
        metavar="N",
        parse=at_least(0),
        group="Training",
        help="after more validations than this without a better score it stops, at the end of an epoch",
    )
    pooling: str = option(
        "mean",
        choices=tuple(POOLINGS),
        group="Training",
        help="how token vectors become one",
    )
    max_length: int = option(
        64, metavar="N", parse=at_least(4), group="Training", help="tokens of a text at most"
    )
    train_seed: int = option(
        24,
        metavar="N",
        parse=at_least(0),
        group="Training",
        help="seed of head, order and dropout, the same in every run",
    )

    device: str = option(
        "auto",
        metavar="NAME",
        group="Engine",
        help="auto, cpu, cuda, cuda:1, mps",
        how=True,
    )
    precision: str = option(
        "auto",
        choices=("auto", "float32", "bfloat16"),
        group="Engine",
        help="auto: bfloat16 on CUDA, float32 elsewhere",
    )
    threads: int = option(
        0,
        metavar="N",
        parse=at_least(0),
        group="Engine",
        help="CPU threads",
        shown="the cores there are",
        how=True,
    )
    batch_tokens: int = option(
        0,
        metavar="N",
        parse=at_least(0),
        group="Engine",
        help="padded tokens encoded at once",
        shown="1024 on CPU, 32768 on CUDA",
    )
    trust_remote_code: bool = option(
        False, group="Engine", help="run code that comes with the model"
    )
    resume: bool = option(
        False,
        group="Engine",
        help="go on where a stopped job left off (with -o FILE); no finished run is repeated",
        how=True,
    )

    def __post_init__(self) -> None:
        if not self.model and not self.print_config:
            raise ConfigError("--model DIR is needed", hint="dial-train makes one")
        if bool(self.inputs) == bool(self.train or self.test) or bool(self.train) != bool(
            self.test
        ):
            raise ConfigError("name --train FILE and --test FILE, or one file with a split field")
        self.model = tuple(dict.fromkeys(self.model))


@dataclass
class IntentProtocol(FinetuneOptions):
    """A layer of classes on the mean of the token vectors (DSE tables 7 and 10)."""

    text: str = option("text", metavar="NAME", group="Input", help="field of the texts")
    label: str = option("label", metavar="NAME", group="Input", help="field of the labels")
    without: str | None = option(
        None, metavar="LABEL", group="Input", help="leave out rows of this label, e.g. oos"
    )
    dropout: float = option(
        0.1,
        metavar="SHARE",
        parse=share_below_one,
        group="Training",
        help="dropout before the layer",
    )


@dataclass
class SelectProtocol(FinetuneOptions):
    """No head: dot products of the means of the token vectors (DSE table 9)."""

    query: str | None = option(
        None,
        metavar="NAME",
        group="Input",
        help="field of the queries: texts, or lists of turns",
        shown="context, history, query or question",
    )
    response: str = option("response", metavar="NAME", group="Input", help="field of the responses")
    shots: tuple[int, ...] = option(
        (500, 1000),
        metavar="N[,N...]",
        parse=int_list,
        help="pairs to train on, and as many to validate on",
    )
    runs: int = option(
        5,
        metavar="N",
        parse=at_least(1),
        help="runs, each with pairs drawn anew (seeds seed, seed+1, ...)",
    )
    candidates: int = option(
        100,
        metavar="N",
        parse=at_least(2),
        help="candidates a query: the responses of N consecutive rows",
    )
    duplicates: str = option(
        "drop",
        choices=("drop", "count"),
        help="candidates with the text of the true response: left out, or against it, as DSE's code has it",
    )
    rest: str = option(
        "drop",
        choices=("drop", "keep"),
        help="the last test rows, fewer than --candidates: left out as dial-eval select does, or a smaller block as in DSE's fine-tuning",
    )
    batch_size: int = option(
        100,
        metavar="N",
        parse=at_least(2),
        group="Training",
        help="pairs a step, which are each other's negatives",
    )
    validate_every: int = option(
        50,
        metavar="N",
        parse=at_least(1),
        group="Training",
        help="steps between validations; an epoch at least",
    )
    patience: int = option(
        3,
        metavar="N",
        parse=at_least(0),
        group="Training",
        help="after more validations than this without a better score it stops, at the end of an epoch",
    )
    max_length: int = option(
        128,
        metavar="N",
        parse=at_least(4),
        group="Training",
        help="tokens of a query at most; a list of turns keeps its newest",
    )
    response_max_length: int = option(
        128, metavar="N", parse=at_least(4), group="Training", help="tokens of a response at most"
    )


@dataclass
class ActProtocol(FinetuneOptions):
    """A layer of acts, a sigmoid each, on the mean of the token vectors (DSE table 5)."""

    history: str = option(
        "history", metavar="NAME", group="Input", help="field of the turns before the response"
    )
    response: str = option(
        "response", metavar="NAME", group="Input", help="field of the turn that has the acts"
    )
    label: str = option("labels", metavar="NAME", group="Input", help="field of its acts")
    target: str = option(
        "next",
        choices=("next", "current"),
        help="acts of the unseen turn after the history, or of the last turn that is seen (DSE's most likely)",
    )
    truncation: str = option(
        "newest",
        choices=("newest", "words"),
        help="newest: the last tokens stay; words: the last 0.9 max-length words, then the first tokens of these, as DSE's code cuts",
    )
    shots: tuple[int, ...] = option(
        (10, 20),
        metavar="N[,N...]",
        parse=int_list,
        help="examples an act to train on, and as many to validate on",
    )
    runs: int = option(
        5,
        metavar="N",
        parse=at_least(1),
        help="runs, each with examples drawn anew (seeds seed, seed+1, ...)",
    )
    lr: float = option(
        5e-5, metavar="X", parse=positive, group="Training", help="highest learning rate"
    )
    batch_size: int = option(
        32, metavar="N", parse=at_least(1), group="Training", help="rows a step"
    )
    epochs: int = option(
        100,
        metavar="N",
        parse=at_least(1),
        group="Training",
        help="passes over the few rows at most",
    )
    validate_every: int = option(
        30,
        metavar="N",
        parse=at_least(1),
        group="Training",
        help="steps between validations; an epoch at least",
    )
    patience: int = option(
        3,
        metavar="N",
        parse=at_least(0),
        group="Training",
        help="after more validations than this without a better score it stops, at the end of an epoch",
    )
    max_length: int = option(
        32, metavar="N", parse=at_least(4), group="Training", help="tokens of the turns at most"
    )
    dropout: float = option(
        0.2,
        metavar="SHARE",
        parse=share_below_one,
        group="Training",
        help="dropout before the layer",
    )
