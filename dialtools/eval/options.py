"""Options of dial-eval's tasks."""

from __future__ import annotations

from dataclasses import dataclass

from dialtools.errors import ConfigError
from dialtools.metrics import TIES
from dialtools.options import RunOptions, argument, at_least, int_list, option


def gate(text: str) -> str:
    """Check METRIC=VALUE."""
    name, equals, value = text.rpartition("=")
    try:
        float(value)
    except ValueError:
        equals = ""
    if not (name and equals):
        raise ValueError("expected METRIC=VALUE, e.g. accuracy=80")
    return text


@dataclass
class ReportOptions(RunOptions):
    """How scores are told."""

    output: str = option("-", short="-o", metavar="FILE", group="Output", help="file for the scores; - is stdout")
    json: bool = option(False, group="Output", help="scores as JSONL", shown="when stdout is no terminal")
    overwrite: bool = option(False, group="Output", help="replace an output that exists")
    name: str | None = option(None, metavar="NAME", group="Output", help="data set's name in the report", shown="the file's")  # fmt: skip
    fail_under: tuple[str, ...] = option((), metavar="METRIC=VALUE", parse=gate, multiple=True, group="Output", help="exit 4 if a score is lower; may be given again")  # fmt: skip


@dataclass
class LabelledOptions(ReportOptions):
    """Labelled embeddings to learn from, and to be tested on."""

    inputs: tuple[str, ...] = argument(help="one embedding file with a split column, instead of --train and --test")
    train: str | None = option(None, metavar="FILE", group="Input", help="embeddings to learn from")
    test: str | None = option(None, metavar="FILE", group="Input", help="embeddings to be tested on")
    label: str = option("label", metavar="NAME", group="Input", help="column of the labels")
    split: str = option("split", metavar="NAME", group="Input", help="column that tells train from test")
    train_split: str = option("train", metavar="NAME", group="Input", help="its value for training rows")
    test_split: str = option("test", metavar="NAME", group="Input", help="its value for test rows")
    shots: tuple[int, ...] = option((1, 5), metavar="N[,N...]", parse=int_list, help="examples a class")
    runs: int = option(10, metavar="N", parse=at_least(1), help="runs, each with examples drawn anew (seeds seed, seed+1, ...)")  # fmt: skip
    episodes: str | None = option(None, metavar="FILE", help="take the examples from a JSON file instead")
    episode_set: str | None = option(None, metavar="NAME", help="which data set of that file", shown="the only one")
    export_episodes: str | None = option(None, metavar="FILE", help="write the drawn examples for others to use")

    def __post_init__(self) -> None:
        if bool(self.inputs) == bool(self.train or self.test) or bool(self.train) != bool(self.test):
            raise ConfigError("name --train FILE and --test FILE, or one file with a split column")


@dataclass
class IntentOptions(LabelledOptions):
    """Options of `dial-eval intent`."""

    method: str = option("prototype", choices=("prototype", "knn"), help="prototype: few-shot class means; knn: nearest of all training rows")  # fmt: skip
    neighbours: int = option(1, metavar="N", parse=at_least(1), help="k of knn; ties go to the nearer class")
    without: str | None = option(None, metavar="LABEL", help="leave out rows of this label, e.g. oos")


@dataclass
class OosOptions(LabelledOptions):
    """Options of `dial-eval oos`."""

    oos_label: str = option("oos", metavar="LABEL", help="label of what is out of scope")
    validation: str | None = option(None, metavar="FILE", group="Input", help="embeddings to choose a threshold on")
    validation_split: str = option("val", metavar="NAME", group="Input", help="value of the split column for validation rows")  # fmt: skip


@dataclass
class SelectOptions(ReportOptions):
    """Options of `dial-eval select`."""

    inputs: tuple[str, ...] = argument(help="embeddings of pairs: context_embedding and response_embedding")
    query: str = option("context_embedding", metavar="NAME", group="Input", help="vectors of the queries")
    response: str = option("response_embedding", metavar="NAME", group="Input", help="vectors of the responses")
    text: str = option("response", metavar="NAME", group="Input", help="column of the response texts, to tell duplicates")  # fmt: skip
    pool: str | None = option(None, metavar="FILE", group="Input", help="embeddings of candidates with an id column; queries then list `candidates` (ids) and the true one in `positive`")  # fmt: skip
    candidates: int = option(100, metavar="N", parse=at_least(2), help="candidates a query, the true response among them")  # fmt: skip
    sampling: str = option("blocks", choices=("blocks", "random"), help="blocks: those of N consecutive rows, as the DSE reference; random: drawn by --seed")  # fmt: skip
    ties: str = option("average", choices=TIES, help="the true response among equals: in the middle, first, last")
    duplicates: str = option("drop", choices=("drop", "count"), help="candidates with the text of the true response: left out, or against it")  # fmt: skip
