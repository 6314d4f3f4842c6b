"""Options of dial-embed."""

from __future__ import annotations

from dataclasses import dataclass

from dialtools.embed.rows import PER
from dialtools.errors import ConfigError
from dialtools.options import InputOptions, RunOptions, at_least, name_list, option

EMBEDDING_FORMATS = ("parquet", "arrow", "jsonl", "npy")


@dataclass
class EmbedOptions(InputOptions, RunOptions):
    """What is embedded, with what, and where the vectors go."""

    model: str = option("", metavar="DIR", help="encoder: a model directory, or a name in the local cache")
    field: tuple[str, ...] = option((), metavar="NAMES", parse=name_list, help="fields to embed: texts, or lists of turns; a+b reads both as one list of turns", shown="text; context,response of pairs")  # fmt: skip
    per: str = option("record", choices=PER, help="a row for each record; each turn of a dialogue, embedded with the history before it; each distinct text in `candidates`")  # fmt: skip
    keep: tuple[str, ...] = option(("all",), metavar="NAMES|all|none", parse=name_list, help="fields of the input to carry along")  # fmt: skip
    normalize: bool | None = option(None, help="scale vectors to length 1", shown="as the model says")
    dtype: str = option("float32", choices=("float32", "float16"), help="numbers of the vectors")
    max_length: int | None = option(None, metavar="N", parse=at_least(4), help="tokens of a text at most", shown="the model's")  # fmt: skip
    pooling: str | None = option(None, choices=("mean", "cls", "max", "last"), help="how token vectors become one", shown="the model's")  # fmt: skip
    on_truncate: str = option("warn", choices=("warn", "error", "ignore"), help="when texts were cut")
    tokens: bool = option(False, help="add a column of the token counts before any cut")
    float16_round: bool = option(False, help="round vectors through float16, as DSE's evaluation does")

    output: str = option("-", short="-o", metavar="FILE", group="Output", help="file to write; - is stdout (not resumable)")  # fmt: skip
    to: str | None = option(None, metavar="FORMAT", choices=EMBEDDING_FORMATS, group="Output", help="format of the output", shown="by suffix; arrow on stdout")  # fmt: skip
    overwrite: bool = option(False, group="Output", help="replace an output that exists")
    resume: bool = option(False, group="Output", help="go on where a stopped run of the same work left off; start if there is none")  # fmt: skip
    shard_rows: int = option(65_536, metavar="N", parse=at_least(1), group="Engine", help="rows a shard: the unit of resumption; within one each distinct text is encoded once")  # fmt: skip
    batch_tokens: int = option(0, metavar="N", parse=at_least(0), group="Engine", help="padded tokens a batch", shown="1024 on CPU, 32768 on CUDA")  # fmt: skip
    device: str = option("auto", metavar="NAME", group="Engine", help="auto, cpu, cuda, cuda:1, mps")
    precision: str = option("auto", choices=("auto", "float32", "bfloat16"), group="Engine", help="auto: bfloat16 on CUDA, float32 elsewhere")  # fmt: skip
    threads: int = option(0, metavar="N", parse=at_least(0), group="Engine", help="CPU threads", shown="the cores there are")  # fmt: skip
    trust_remote_code: bool = option(False, group="Engine", help="run code that comes with the model")

    def __post_init__(self) -> None:
        if not self.model and not self.print_config:
            raise ConfigError("--model DIR is needed", hint="dial-train makes one")
        if self.resume and self.output == "-":
            raise ConfigError("--resume needs -o FILE; stdout cannot be resumed")
