"""dial-eval mteb - write scores as result files of MTEB

  dial-eval intent --method logreg banking77.parquet -o scores.jsonl
  dial-eval mteb scores.jsonl -o results/ --model-name me/mine

Writes model_meta.json and one JSON file per task, laid out as MTEB lays out
the results of a model, so that they merge with its tools. Only scores made in
MTEB's own way are accepted; everything else is refused with a message.

What is accepted:

Classification: intent --method logreg (8 shots, 10 runs, --seed 0) of
Banking77, MASSIVE and MTOP in English. Similarity: sts of SICK-R and
STSBenchmark. Both need all training and test rows in their published order.

What the files say:

mteb_version and evaluation_time are null, because MTEB did not run.
dataset_revision is that of MTEB's data. Make sure that your data has the same
revision.
"""

from __future__ import annotations

from dataclasses import dataclass

from dialtools.errors import ConfigError
from dialtools.options import RunOptions, argument, option, restated
from dialtools.streams.options import OutputOptions
from dialtools.values import dataset_task


@dataclass
class MtebOptions(RunOptions):
    """Options of `dial-eval mteb`."""

    inputs: tuple[str, ...] = argument(
        help="score files of one model (default: stdin)", metavar="SCORES"
    )
    output: str = restated(
        OutputOptions,
        "output",
        default="",
        metavar="DIR",
        help="folder for the result files",
        kept=True,
    )
    task: tuple[str, ...] = option(
        (),
        metavar="DATASET=TASK",
        parse=dataset_task,
        multiple=True,
        help="MTEB's task for a data set; may be given again",
        shown="by the data set's name",
    )
    model_name: str | None = option(
        None, metavar="NAME", help="name of the model, as organisation/name", shown="as recorded"
    )
    model_revision: str = option(
        "no_revision_available", metavar="NAME", help="revision of the model"
    )
    overwrite: bool = restated(OutputOptions, "overwrite", help="replace existing result files")

    def __post_init__(self) -> None:
        if self.print_config:
            return
        if self.output in ("", "-"):
            raise ConfigError("-o DIR is needed: a file for each task goes there")
