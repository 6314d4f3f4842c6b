"""dial-eval curve - scores over the steps of training

  dial-eval curve --intent tickets.jsonl run/
  dial-eval curve --intent tickets.jsonl --select pairs.jsonl --plot curve.svg -o curve.jsonl run/
  dial-eval curve --intent tickets.jsonl --shots 5 --metric "5-shot accuracy" --plot curve.png run/ other/

A run is a model directory whose training kept snapshots (dial-train --snapshot-every), or the MODEL.partial of one that
still goes on. Each snapshot embeds the records that are needed and is scored as `dial-eval intent` and `dial-eval select`
score embedding files; the picture has a line for each run, of one metric, with its interval. With -o FILE each finished
point is kept in FILE.partial, and --resume scores the others only.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from dialtools.cli._command import command
from dialtools.cli._grid import Grid, on_screen, show
from dialtools.cli._run import Run
from dialtools.errors import ConfigError, nearest
from dialtools.options import RunOptions, argument, option
from dialtools.values import at_least, int_list, picture

if TYPE_CHECKING:
    from pathlib import Path

    from dialtools.eval.tasks.curve import Intents, Selections
    from dialtools.streams.ledger import Ledger

KEYS = ("plot", "metric", "output", "json", "device", "precision", "batch-tokens")
"""Options that say what is drawn, where scores go or on what machine, not what a score is."""


@dataclass
class CurveOptions(RunOptions):
    """Options of `dial-eval curve`."""

    inputs: tuple[str, ...] = argument(metavar="RUN", help="model directories with snapshots")
    intent: str | None = option(
        None, metavar="FILE", help="labelled records with a split: few-shot intents by prototypes"
    )
    select: str | None = option(
        None, metavar="FILE", help="pairs: the response among those of consecutive rows"
    )
    shots: tuple[int, ...] = option(
        (1, 5), metavar="N[,N...]", parse=int_list, help="intent: examples a class"
    )
    runs: int = option(
        10,
        metavar="N",
        parse=at_least(1),
        help="intent: runs, each with examples drawn anew (seeds seed, seed+1, ...)",
    )
    without: str | None = option(
        None, metavar="LABEL", help="intent: leave out rows of this label, e.g. oos"
    )
    label: str = option("label", metavar="NAME", help="intent: field of the labels")
    split: str = option("split", metavar="NAME", help="intent: field that tells train from test")
    test_split: str = option("test", metavar="NAME", help="intent: its value for test rows")
    candidates: int = option(100, metavar="N", parse=at_least(2), help="select: candidates a query")
    max_length: int | None = option(
        None, metavar="N", parse=at_least(4), help="tokens of a text at most", shown="the model's"
    )
    plot: str | None = option(
        None,
        metavar="FILE",
        parse=picture,
        group="Output",
        help="draw the curves (.png, .svg, .pdf)",
        how=True,
    )
    metric: str | None = option(
        None,
        metavar="NAME",
        group="Output",
        help="which score to draw, e.g. '5-shot accuracy' or top-1",
        shown="the first",
        how=True,
    )
    output: str = option(
        "-",
        short="-o",
        metavar="FILE",
        group="Output",
        help="file for the scores; - is stdout",
        how=True,
    )
    json: bool = option(
        False,
        group="Output",
        help="scores as JSONL",
        shown="when stdout is no terminal",
        how=True,
    )
    overwrite: bool = option(False, group="Output", help="replace outputs that exist", how=True)
    resume: bool = option(
        False,
        group="Output",
        help="go on where a stopped job left off (with -o FILE); no point is scored again",
        how=True,
    )
    batch_tokens: int = option(
        0,
        metavar="N",
        parse=at_least(0),
        group="Engine",
        help="padded tokens a batch",
        shown="1024 on CPU, 32768 on CUDA",
        how=True,
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
        how=True,
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

    def __post_init__(self) -> None:
        if self.print_config:
            return
        if not self.inputs:
            raise ConfigError("name a run", hint="a model directory of dial-train --snapshot-every")
        if not (self.intent or self.select):
            raise ConfigError("nothing to score", hint="--intent FILE, --select FILE, or both")
        if self.resume and self.output == "-":
            raise ConfigError("--resume needs -o FILE; stdout cannot be resumed")
        known = self.metrics
        if self.metric and self.metric not in known:
            raise ConfigError(
                f"--metric: no {self.metric!r}",
                hint=nearest(self.metric, known) or f"choose from {', '.join(known)}",
            )

    @property
    def metrics(self) -> list[str]:
        """The names of the scores, in order."""
        of_intent = [f"{k}-shot accuracy" for k in self.shots] if self.intent else []
        return of_intent + ([*(f"top-{k}" for k in (1, 3, 5, 10)), "mrr"] if self.select else [])


class Point(NamedTuple):
    """A snapshot: its run's name, its step, where it is, and its weights' digest."""

    run: str
    step: int
    path: Path
    weights: str


@command(
    CurveOptions,
    memory="one model, the records, and the vectors of one snapshot",
    reads_stdin=False,
)
def main(options: CurveOptions, run: Run) -> None:
    from pathlib import Path

    from dialtools.streams.atomic import check_parent, refuse_existing
    from dialtools.streams.ledger import Ledger

    for path in (options.output, options.plot):
        if path and path != "-":
            refuse_existing(path, overwrite=options.overwrite)
            check_parent(Path(path))
    points = [
        point
        for name, folder in _names(options.inputs).items()
        for point in _snapshots(name, folder)
    ]
    ledger = Ledger(
        options.output, _about(options, run), resume=options.resume, overwrite=options.overwrite
    )
    rows = _score(points, options, ledger, run)
    _report(rows, options, run)
    if options.plot:
        _draw(rows, options.metric or options.metrics[0], options.plot, overwrite=options.overwrite)
    ledger.remove()
    told = "".join(f"{path}: " for path in (options.output,) if path != "-")
    run.close(f"{told}{len(points):,} points of {len(options.inputs):,} runs")


def _names(folders: tuple[str, ...]) -> dict[str, Path]:
    """Return a name for each run: its folder's, or, where two are called alike, its path."""
    from pathlib import Path

    paths = list(dict.fromkeys(Path(folder) for folder in folders))
    short = [path.absolute().name for path in paths]
    return {
        name if short.count(name) == 1 else str(path): path
        for name, path in zip(short, paths, strict=True)
    }


def _snapshots(name: str, folder: Path) -> list[Point]:
    """Return the snapshots of a run by step.

    Raises:
        DataError: if there is none. ModelError: if one is no model directory of dial-train.
    """
    import orjson

    from dialtools.errors import DataError, ModelError

    steps = {
        int(match[1]): path
        for path in (folder / "snapshots").glob("step-*")
        if (match := re.fullmatch(r"step-(\d+)", path.name))
    }
    if not steps:
        raise DataError(
            "holds no snapshots", where=folder, hint="dial-train --snapshot-every N keeps them"
        )
    points = []
    for step, path in sorted(steps.items()):
        try:
            points.append(
                Point(
                    name,
                    step,
                    path,
                    str(orjson.loads((path / "dialtools.json").read_bytes())["weights"]),
                )
            )
        except (OSError, ValueError, KeyError, TypeError):
            raise ModelError("not a model directory of dial-train", where=path) from None
    return points


def _about(options: CurveOptions, run: Run) -> dict[str, Any]:
    """Return what a resumed job must share with the one it goes on from."""
    from dialtools.streams.provenance import HOW_NOT_WHAT, describe

    told = {
        key: value for key, value in run.resolved().items() if key not in (*HOW_NOT_WHAT, *KEYS)
    }
    return {**told, "inputs": [describe(path) for path in (options.intent, options.select) if path]}


def _score(
    points: list[Point], options: CurveOptions, ledger: Ledger, run: Run
) -> list[dict[str, Any]]:
    """Return the score records of all points, those of an earlier job as they were; the same weights are scored once."""
    from dialtools.cli._torch import start_torch
    from dialtools.streams.provenance import describe

    start_torch(options.threads)
    tasks, rows = _tasks(options), []
    inputs = [describe(path) for path in (options.intent, options.select) if path]
    with run.graceful(), run.progress(len(points), "snapshots") as progress:
        for point in points:
            key = f"step {point.step} {point.weights}"
            if key in ledger.pieces:
                progress.skip(1)
            else:
                ledger.add(key, _records(tasks, point, options))
                progress.advance(1, step=f"{point.step:,}")
            about = {
                "run": point.run,
                "step": point.step,
                "model": str(point.path),
                "inputs": inputs,
            }
            rows += [{**record, **about} for record in ledger.pieces[key]]
            if run.stop_requested:
                run.warn("stopped" + ("; --resume goes on" if ledger.kept else ""))
                run.interrupted()
    return rows


def _tasks(options: CurveOptions) -> list[Intents | Selections]:
    from dialtools.corpora.read import read_records
    from dialtools.eval.tasks.curve import Intents, Selections
    from dialtools.streams.policy import Policy

    tasks: list[Intents | Selections] = []
    if options.intent:
        records = list(read_records([options.intent], format=None, policy=Policy()))
        tasks.append(
            Intents(
                records,
                name=options.intent,
                shots=options.shots,
                runs=options.runs,
                seed=options.seed,
                label=options.label,
                split=options.split,
                test_split=options.test_split,
                without=options.without,
            )
        )
    if options.select:
        records = list(read_records([options.select], format=None, policy=Policy()))
        tasks.append(
            Selections(
                records, name=options.select, candidates=options.candidates, seed=options.seed
            )
        )
    return tasks


def _records(
    tasks: list[Intents | Selections], point: Point, options: CurveOptions
) -> list[dict[str, Any]]:
    """Embed what the tasks need with a snapshot, and score it."""
    from dialtools.corpora.turns import column_of_turns
    from dialtools.embed.shard import Settings, encode_turns
    from dialtools.encoder.device import choose_device, choose_precision, default_batch_tokens
    from dialtools.encoder.encoder import Encoder

    device = choose_device(options.device)
    encoder = Encoder.load(str(point.path), max_length=options.max_length).to(device)
    settings = Settings(
        max_length=encoder.max_length,
        normalize=False,
        float16_round=False,
        batch_tokens=options.batch_tokens or default_batch_tokens(device),
        precision=choose_precision(options.precision, device),
    )
    scores = []
    for task in tasks:
        columns = {field: column_of_turns(task.records, field) for field in task.fields}
        vectors = {
            field: encode_turns(encoder, items, settings, lambda _: None).vectors
            for field, items in columns.items()
        }
        scores += task.scores(vectors)
    return [score.record() for score in scores]


def _title(row: dict[str, Any]) -> str:
    """Return what tells a score from the others of its snapshot."""
    return f"{row['setting']} {row['metric']}" if row["task"] == "intent" else row["metric"]


def _report(rows: list[dict[str, Any]], options: CurveOptions, run: Run) -> None:
    """Print a line for each snapshot, or JSONL."""
    import sys

    from dialtools.streams.sinks import write_records

    if options.json or not on_screen(options.output):
        write_records(rows, options.output, to="jsonl", overwrite=options.overwrite)
        sys.stdout.flush()
        return
    points: dict[tuple[str, int], dict[str, float]] = {}
    for row in rows:
        points.setdefault((row["run"], row["step"]), {})[_title(row)] = row["value"]
    lines = [
        [name, f"{step:,}", *(f"{values[metric]:.2f}" for metric in options.metrics)]
        for (name, step), values in points.items()
    ]
    show(Grid(head=["run", "step", *options.metrics], rows=lines, title="percent"), run)


def _draw(rows: list[dict[str, Any]], metric: str, path: str, *, overwrite: bool) -> None:
    import numpy as np

    from dialtools.plots.curve import draw_scores

    lines: dict[str, list[list[float]]] = {}
    for row in rows:
        if _title(row) == metric:
            bounds = [row.get(name, float("nan")) for name in ("low", "high")]
            lines.setdefault(row["run"], []).append([row["step"], row["value"], *bounds])
    draw_scores(
        {name: np.asarray(points, float) for name, points in lines.items()},
        path,
        y_label=f"{metric}, percent",
        overwrite=overwrite,
    )
