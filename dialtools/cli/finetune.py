"""dial-eval finetune - fine-tune an encoder on a few examples, and test it

  dial-eval finetune intent --model model/ tickets.jsonl
  dial-eval finetune select --model model/ --shots 500 --train pairs.jsonl --test heldout.jsonl
  dial-eval finetune act --target current --model model/ dstc2_acts.jsonl

Reads records, not embeddings, and trains: all of the encoder and a small head, with the state that is best on as many
validation examples. Examples, schedule, heads and lengths are those of DSE's evaluations; every one is a flag. A job is
shots times runs times models; with -o FILE each finished run is kept in FILE.partial, and --resume repeats none.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dialtools.catalog import Entry
from dialtools.cli._command import command, group
from dialtools.cli._run import Run, duration
from dialtools.cli._scores import report
from dialtools.errors import ConfigError, GateError
from dialtools.eval.options.base import ReportOptions
from dialtools.finetune.options import ActProtocol, IntentProtocol, SelectProtocol

if TYPE_CHECKING:
    from dialtools.encoder.encoder import Encoder
    from dialtools.eval.score import Score
    from dialtools.finetune.task import Task
    from dialtools.finetune.tune import Tuner
    from dialtools.streams.ledger import Ledger

MEMORY = "the model five times (as loaded, at its best, and its optimiser), the tokens of all records, a batch"
KEYS = ("model", "shots", "runs", "name", "output", "json", "fail-under", "device")
"""Options that say which runs there are or where scores go, not how a run goes."""


@dataclass
class IntentOptions(IntentProtocol, ReportOptions):
    """Options of `dial-eval finetune intent`."""


@dataclass
class SelectOptions(SelectProtocol, ReportOptions):
    """Options of `dial-eval finetune select`."""


@dataclass
class ActOptions(ActProtocol, ReportOptions):
    """Options of `dial-eval finetune act`."""


@command(
    IntentOptions,
    memory=MEMORY,
    reads_stdin=False,
    name="dial-eval finetune intent",
    doc="""dial-eval finetune intent - intents, learnt from a few examples by all of the encoder

  dial-eval finetune intent --model model/ tickets.jsonl
  dial-eval finetune intent --model bert-base-uncased --model dse/ --shots 1,5 --without oos tickets.jsonl -o scores.jsonl
  dial-eval finetune intent --resume --model dse/ --train tickets.jsonl --test tickets.jsonl -o dse.jsonl

Records of `text`, `label` and `split`. A run draws k examples a class to train on and k to validate on, as `dial-eval
intent` draws them; the layer stands on the mean of the token vectors. The state with the best validation accuracy is
tested; validations are at step 0 and then every 10 steps, or every epoch where that is more.
""",
)
def intent(options: IntentOptions, run: Run) -> None:
    from dialtools.cli._torch import start_torch

    start_torch(options.threads)
    from dialtools.finetune.intent import Intent

    _evaluate(lambda: Intent(options), "intent", "", options, run)


@command(
    SelectOptions,
    memory=MEMORY,
    reads_stdin=False,
    name="dial-eval finetune select",
    doc="""dial-eval finetune select - responses among candidates, learnt from a few pairs

  dial-eval finetune select --model model/ --train pairs.jsonl --test heldout.jsonl
  dial-eval finetune select --model model/ --shots 100 --candidates 20 dstc2_acts.jsonl

Records of a query (`context`, `history`, `query` or `question`: a text, or a list of turns) and its `response`. There
is no head: the other responses of a batch are the negatives, scores are dot products of means of token vectors, not
scaled, and the loss looks from query to response only, as DSE's code has it. The state with the largest sum of top-1,
3, 5 and 10 on validation pairs is tested.
""",
)
def select(options: SelectOptions, run: Run) -> None:
    from dialtools.cli._torch import start_torch

    start_torch(options.threads)
    from dialtools.finetune.select import Select

    _evaluate(lambda: Select(options), "select", f"1-of-{options.candidates} ", options, run)


@command(
    ActOptions,
    memory=MEMORY,
    reads_stdin=False,
    name="dial-eval finetune act",
    doc="""dial-eval finetune act - acts of a turn, learnt from a few examples by all of the encoder

  dial-eval finetune act --model model/ dstc2_acts.jsonl
  dial-eval finetune act --target current --truncation words --shots 10,20 --model model/ dstc2_acts.jsonl

Records of `history`, the `response` to it and the acts of that response in `labels`. `next` reads the history alone,
`current` the response too, which is what the data of DSE's table amounts to. An act is predicted where its sigmoid is
above 0.5; the state with the largest mean of micro and macro F1 on validation rows is tested.
""",
)
def act(options: ActOptions, run: Run) -> None:
    from dialtools.cli._torch import start_torch

    start_torch(options.threads)
    from dialtools.finetune.act import Act

    _evaluate(lambda: Act(options), "act", f"{options.target} ", options, run)


TASKS = {
    "intent": Entry("dialtools.cli.finetune:intent", "intents"),
    "select": Entry("dialtools.cli.finetune:select", "responses among candidates"),
    "act": Entry(
        "dialtools.cli.finetune:act", "acts of the next system turn, or of the current one"
    ),
}
main = group(__doc__ or "", TASKS)


def _evaluate(prepare: Any, name: str, setting: str, options: Any, run: Run) -> None:
    """Take all runs, those of an earlier job excepted; report; forget the runs."""
    from pathlib import Path

    from dialtools.streams.atomic import refuse_existing
    from dialtools.streams.ledger import Ledger

    if options.output == "-" and options.resume:
        raise ConfigError("--resume needs -o FILE; stdout cannot be resumed")
    if options.output != "-":
        refuse_existing(options.output, overwrite=options.overwrite)
    ledger = Ledger(
        options.output,
        _about(name, options, run),
        resume=options.resume,
        overwrite=options.overwrite,
    )
    task = prepare()
    found = _runs(task, options, ledger, run)
    scores = [
        score
        for model in options.model
        for shots in options.shots
        for score in _scores(
            name, f"{setting}{shots}-shot fine-tuned", model, found[model, shots], task, options
        )
    ]
    try:
        report(scores, {}, options, run)
    except GateError:  # the scores are written
        ledger.remove()
        raise
    ledger.remove()
    rows = [result for results in found.values() for result in results]
    each = sum(result["seconds"] for result in rows) / len(rows)
    where = "" if options.output == "-" else f"{Path(options.output)}: "
    run.close(
        f"{where}{len(rows):,} runs, {duration(each)} and {sum(r['steps'] for r in rows) // len(rows):,} steps each"
    )


def _runs(
    task: Task[Any], options: Any, ledger: Ledger, run: Run
) -> dict[tuple[str, int], list[dict[str, Any]]]:
    """Return the results of each model and shot count, by seed; runs that the ledger has are taken from it."""
    from dialtools.finetune.tune import load_encoder

    found: dict[tuple[str, int], list[dict[str, Any]]] = {}
    wanted = [
        (shots, seed)
        for shots in options.shots
        for seed in range(options.seed, options.seed + options.runs)
    ]
    total = len(options.model) * len(wanted)
    with run.progress(total, "runs") as progress:
        try:
            for model in options.model:
                encoder = load_encoder(model, task)
                weights, tuner = encoder.digest(), None
                for shots, seed in wanted:
                    key = f"{weights} {shots}-shot seed {seed}"
                    if key in ledger.pieces:
                        progress.skip(1)
                    else:
                        tuner = tuner or _tuner(task, encoder, run)
                        ledger.add(key, tuner.run(shots, seed).record())
                        progress.advance(1, **_told(ledger.pieces[key]))
                    found.setdefault((model, shots), []).append(ledger.pieces[key])
        except (KeyboardInterrupt, SystemExit):
            done = sum(map(len, found.values()))
            run.warn(
                f"stopped after {done:,} of {total:,} runs"
                + ("; --resume goes on" if ledger.kept else "")
            )
            raise
    return found


def _tuner(task: Task[Any], encoder: Encoder, run: Run) -> Tuner:
    from dialtools.finetune.tune import Tuner

    tuner = Tuner(task, encoder)
    if task.cut:
        texts = len(tuner.train.sides) * (len(tuner.train.truth) + len(tuner.test.truth))
        run.warn(f"{task.cut:,} of {texts:,} texts were longer than their maximal length, and cut")
    return tuner


def _told(result: dict[str, Any]) -> dict[str, str]:
    metric, value = next(iter(result["figures"].items()))
    return {metric: f"{value:.1f}"}


def _scores(
    name: str,
    setting: str,
    model: str,
    results: list[dict[str, Any]],
    task: Task[Any],
    options: Any,
) -> list[Score]:
    """Return a score over the runs for each metric."""
    import numpy as np

    from dialtools.corpora.splits import group_numbers
    from dialtools.eval.identity import TELLING, identity
    from dialtools.eval.score import of_runs, shares

    dataset = options.name or options.test or ", ".join(options.inputs)
    facts = {
        "task": name,
        "dataset": dataset,
        "setting": setting,
        "n": task.tested,
        "seed": options.seed,
        "model": model,
        "chosen": {
            "step": [result["chosen"] for result in results],
            "rows": [result["rows"] for result in results],
        },
    }
    asked = [record for _, record in task.asked[: task.tested]]
    label = getattr(options, "label", "label")
    told = [name for name in (*TELLING, label) if asked and all(name in record for record in asked)]
    facts["items"] = identity(
        {name: [record[name] for record in asked] for name in told}, also=(label,)
    )
    together = task.together or group_numbers([record.get("dialogue_id") for record in asked])
    each = {
        metric: shares(np.mean([result["each"][metric] for result in results], 0))
        for metric in results[0]["each"]
    }
    return [
        of_runs(
            [result["figures"][metric] for result in results],
            metric=metric,
            each=each.get(metric, []),
            groups=together if metric in each else [],
            **facts,
        )
        for metric in results[0]["figures"]
    ]


def _about(name: str, options: Any, run: Run) -> dict[str, Any]:
    """Return what a resumed job must share with the one it goes on from: inputs, and options that change a run."""
    from dialtools.encoder.device import settled_precision
    from dialtools.streams.provenance import HOW_NOT_WHAT, describe

    told = {
        key: value
        for key, value in run.resolved().items()
        if key not in (*HOW_NOT_WHAT, *KEYS, "seed")
    }
    inputs = [describe(path) for path in (*options.inputs, options.train, options.test) if path]
    return {"task": name, **told, "precision": settled_precision(options), "inputs": inputs}
