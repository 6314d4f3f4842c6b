"""dial-eval suite - run a whole benchmark over one or several models

  dial-eval suite diaeval minilm/ trained/
  dial-eval suite --published diaeval minilm/
  dial-eval suite mine.toml before/ after/ -o scores.jsonl

A suite names data sets, tasks, their flags and metrics: a shipped one (TAB
completes their names), or a TOML file like them. A folder holds the embedding
files of a model, each under the name that its suite gives it; those of diaeval
come from dial-embed -o FOLDER/NAME.parquet, of records with the fields behind:

  dstc2              --field history           history, labels, split
  gsim               --field history           history, labels, split
  ic-tod             --field history+response  ..., qi, hi, split
  decode             --field turns --tokens    turns, is_contradiction, split
  ubuntu             --field history           history, response, candidates
  ubuntu-candidates  --per candidate           the same records

The first four take --max-length 256. What a folder lacks is named and left
out; an average is shown where all sets of its task are there. --published
puts the paper's numbers beside, which other texts, lengths and training rows
may have made. With -o FILE each finished data set is kept in FILE.partial, and
--resume scores the others only.
"""

from __future__ import annotations

from dataclasses import dataclass

from dialtools.errors import ConfigError
from dialtools.eval import suite
from dialtools.eval.options.base import ScoreOptions
from dialtools.eval.tasks.catalog import TASKS
from dialtools.options import argument, option, restated
from dialtools.streams.options import TAKEN_UP, ResumeOptions, TableOutputOptions
from dialtools.values import name_list


@dataclass
class SuiteOptions(ScoreOptions):
    """Options of `dial-eval suite`."""

    inputs: tuple[str, ...] = argument(
        help="a suite, then a folder of embedding files for each model",
        metavar="SUITE DIR",
        choices=suite.names,
    )
    task: tuple[str, ...] = option(
        (),
        metavar="NAMES",
        choices=TASKS,
        parse=name_list,
        help="only these tasks of the suite",
        shown="all",
    )
    published: bool = option(False, help="show the paper's numbers beside")
    to: str | None = restated(TableOutputOptions, "to")

    resume: bool = restated(
        ResumeOptions, "resume", help=f"{TAKEN_UP}; no data set is scored again"
    )

    def __post_init__(self) -> None:
        if len(self.inputs) < 2 and not self.print_config:
            raise ConfigError(
                "name a suite and a folder for each model",
                hint="e.g. dial-eval suite diaeval before/ after/",
            )
