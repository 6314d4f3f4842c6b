"""dialtools gather - join the parts that --shard wrote into what one run writes

  dialtools gather parts/ -o pairs.arrow
  dialtools gather parts/1.arrow parts/2.arrow | dial-freq --unit record

PART is a file that a command wrote with --shard I/N, or a folder of such
files. Each part records its number, how many parts there are, and the inputs,
options and version it was made with. Their order does not matter. A missing
part, a duplicate or a part of another run is refused.

Writes the same bytes as a single run: the parts one after another for
dial-pairs, dial-augment and dial-embed, the counts added up for dial-freq.
The format is that of the parts. Arrow parts, whose batches are those of one
run, can also become Parquet, npy or fbin.

You need not gather a folder of parts to read it: the other commands accept it
in place of a file.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dialtools.advance import Advance
from dialtools.cli._command import command
from dialtools.cli._run import Run
from dialtools.options import RunOptions, argument, restated
from dialtools.streams.formats import EMBEDDING_FORMATS
from dialtools.streams.options import OutputOptions

if TYPE_CHECKING:
    from dialtools.streams.parts import Whole


@dataclass
class GatherOptions(OutputOptions, RunOptions):
    """Which parts, and where the whole goes."""

    inputs: tuple[str, ...] = argument(
        metavar="PART", shown="PART...", help="parts, or a folder of them"
    )
    to: str | None = restated(
        OutputOptions, "to", choices=EMBEDDING_FORMATS, shown="by suffix, else that of the parts"
    )


@command(
    GatherOptions,
    memory="streams: a batch of a part; for counts, what dial-freq takes",
    reads_stdin=False,
    multiplies=False,
)
def main(options: GatherOptions, run: Run) -> None:
    from dialtools.errors import ConfigError
    from dialtools.streams.parts import gathered
    from dialtools.streams.tally import counted

    if not options.inputs:
        raise ConfigError("name the parts", hint="dialtools gather parts/*.arrow -o whole.arrow")
    whole = gathered(options.inputs)
    with run.progress(len(whole.paths), "parts") as progress:
        _write(whole, options, progress.advance)
    run.close(f"{counted(len(whole.paths), 'part')} of {whole.facts['command']} joined")


def _write(whole: Whole, options: GatherOptions, advance: Advance) -> None:
    command = whole.facts["command"]
    where: dict[str, Any] = {
        "output": options.output,
        "to": options.to,
        "overwrite": options.overwrite,
        "advance": advance,
    }
    if command == "dial-freq":
        from dialtools.freq.output import write_gathered

        write_gathered(whole, **where)
    else:
        from dialtools.streams.join import join

        join(whole, **where, vectors=command == "dial-embed")
