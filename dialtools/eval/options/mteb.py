"""dial-eval mteb - scores as result files of MTEB, if made as its own

  dial-eval intent --method logreg banking77.parquet -o scores.jsonl
  dial-eval mteb scores.jsonl -o results/ --model-name me/mine

Writes one JSON file for each task and model_meta.json, as MTEB lays out the
results of a model, so that they merge with its tools. Only what is scored as
MTEB scores it: classification by intent --method logreg (8 shots, 10 runs,
--seed 0) of Banking77, MASSIVE and MTOP in English, and sts of SICK-R and
STSBenchmark, of all their training and test rows in their published order.
Everything else is refused with a line. mteb_version and evaluation_time are
null: MTEB did not run; dataset_revision is that of MTEB's data, which yours
should be.
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
        help="which task of MTEB a data set is; may be given again",
        shown="by the data set's name",
    )
    model_name: str | None = option(
        None, metavar="NAME", help="name of the model, as organisation/name", shown="as recorded"
    )
    model_revision: str = option("no_revision_available", metavar="NAME", help="its revision")
    overwrite: bool = restated(OutputOptions, "overwrite", help="replace result files that exist")

    def __post_init__(self) -> None:
        if self.print_config:
            return
        if self.output in ("", "-"):
            raise ConfigError("-o DIR is needed: a file for each task goes there")
