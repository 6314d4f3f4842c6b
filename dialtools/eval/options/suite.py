"""dial-eval suite - run a whole benchmark over one or several models

  dial-eval suite diaeval minilm/ trained/
  dial-eval suite --published diaeval minilm/
  dial-eval suite mine.toml before/ after/ -o scores.jsonl

A suite names data sets, tasks, their flags and metrics. Name one that is
shipped (TAB completes the names), or a TOML file of the same form. Give each
model a folder of embedding files, named as the suite says.

Data sets that a folder lacks are reported and left out. An average is shown
only if all data sets of its task are there. With -o FILE each finished data
set is kept in FILE.partial, and --resume scores only the others.

Files of diaeval:

Write each with dial-embed -o FOLDER/NAME.parquet, the flags of this list, and
records that have the fields of the last column. The first four take
--max-length 256.

  dstc2              --field history           history, labels, split
  gsim               --field history           history, labels, split
  ic-tod             --field history+response  ..., qi, hi, split
  decode             --field turns --tokens    turns, is_contradiction, split
  ubuntu             --field history           history, response, candidates
  ubuntu-candidates  --per candidate           the same records

Published numbers:

--published shows the paper's numbers beside yours. They may come from other
texts, lengths and training rows.
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
        shown="SUITE DIR...",
        choices=suite.names,
    )
    task: tuple[str, ...] = option(
        (),
        metavar="NAMES",
        choices=TASKS,
        parse=name_list,
        help="run only these tasks of the suite",
        shown="all",
    )
    published: bool = option(False, help="show the paper's numbers beside yours")
    output: str = restated(TableOutputOptions, "output")  # a table, or scores
    to: str | None = restated(TableOutputOptions, "to")
    json: bool = restated(ScoreOptions, "json", not_with="to")
    resume: bool = restated(
        ResumeOptions, "resume", help=f"{TAKEN_UP}; no data set is scored again"
    )

    def __post_init__(self) -> None:
        if len(self.inputs) < 2 and not self.print_config:
            raise ConfigError(
                "name a suite and a folder for each model",
                hint="e.g. dial-eval suite diaeval before/ after/",
            )
