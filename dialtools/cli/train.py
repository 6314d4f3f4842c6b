"""dial-train - train a dialogue encoder on positive pairs

  dial-pairs --window 1,2,3 corpus.jsonl | dial-train
  dial-train --model bert-base-uncased -o dse/ pairs.arrow
  dial-pairs --window 1,2,3 corpus.jsonl | dial-train --method wmdc --model bert-base-uncased -o wmdc/
  dial-train --method simcse --model minilm/ --batch-size 128 utterances.jsonl
  dial-train --method dse --loss nt-xent --batch-size 256 --epochs 3 --validation-share 0.02 --keep-best pairs.jsonl
  dial-pairs --kind self corpus.jsonl | dial-train --method mlm -o adapted/
  dial-pairs --window 3 --follow 3 --merge-speaker --min-turns 4 corpus.jsonl | dial-train --method dialoguecse --negatives all -o matched/
  dial-train --resume -o dse/ --model bert-base-uncased pairs.arrow
  dial-train --dry-run --model bert-base-uncased pairs.arrow
  dial-train --snapshot-every 200 -o run/ pairs.jsonl

Pairs are {"context": [turns, oldest first], "response"}, as dial-pairs writes them. A recipe holds the published
values of a method; flags override it, and --print-config shows the result and where each value came from. DialogueCSE
and the siamese nets also read `follow` (turns after the response) and `negatives`; records of `text` are pairs of a text
with itself, of which masked words and SimCSE learn. Without
--model a small encoder and its tokenizer are trained from nothing. The model directory loads in dialtools,
transformers and sentence-transformers; its path is printed to stdout.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dialtools.cli._command import command
from dialtools.cli._run import Run
from dialtools.train.options import TrainOptions
from dialtools.train.recipe import layers

SNAPSHOTS = "snapshots"

if TYPE_CHECKING:
    from pathlib import Path

    from dialtools.train.loop import Trainer


@command(
    TrainOptions,
    memory="the model and its optimiser, 2 GiB of activations at most, 16 bytes a pair, 12 a distinct utterance; the pairs themselves stay on disk",
    recipe=layers,
)
def main(options: TrainOptions, run: Run) -> None:
    import shutil
    from pathlib import Path

    from dialtools.cli._torch import start_torch

    start_torch(options.threads)
    from dialtools.streams.atomic import refuse_existing
    from dialtools.train import prepare

    final = Path(options.output)
    work = final.with_name(f"{final.name}.partial")
    refuse_existing(final, overwrite=options.overwrite)
    prepare.check_inputs(
        [*options.inputs, *([options.validate] if options.validate else [])], options.model
    )
    if options.dry_run:
        return _plan(final, options, run)
    _claim(work, options)
    trainer, held_out, policy_skipped = _prepare(work, options, run)
    run.skipped = policy_skipped
    log = work / "train-log.jsonl"
    with run.graceful():
        last = _train(trainer, held_out, work, log, options, run)
    if options.keep_best:
        from dialtools.train.checkpoint import load_best

        load_best(trainer, work)
    _save(trainer, final, log, options, run, last)
    shutil.rmtree(work)
    print(final)
    closing = f"{trainer.step:,} steps, {len(trainer.sampler.pairs):,} pairs"
    loss = f", loss {last['loss']:.3f}" if "loss" in last else ""
    run.close(f"{final}: {closing}{loss}{_accuracy(last)}")


def _plan(final: Path, options: TrainOptions, run: Run) -> None:
    """Read the pairs into a folder that does not stay, and say what would be done with them."""
    import tempfile
    from dataclasses import replace
    from pathlib import Path

    from dialtools.train.plan import plan

    with tempfile.TemporaryDirectory(prefix="dial-train-") as work:
        trainer, held_out, run.skipped = _prepare(Path(work), replace(options, cache=None), run)
        lines = plan(trainer, len(held_out[1]) if held_out else 0)
    snapshots = (
        f", snapshots every {options.snapshot_every or trainer.sampler.per_epoch:,}"
        if options.snapshot_every is not None
        else ""
    )
    run.tell_plan(
        {
            **lines,
            "writes": f"{final}, a checkpoint every {options.checkpoint_every:,} steps{snapshots}",
        }
    )


def _claim(work: Path, options: TrainOptions) -> None:
    """Begin the working directory, or check that the one there is this run's."""
    import json
    import shutil

    from dialtools.errors import OutputError
    from dialtools.streams.atomic import atomic_file
    from dialtools.train.checkpoint import check_same, fingerprint

    about = work / "run.json"
    if work.exists() and not (options.resume or options.overwrite):
        raise OutputError(
            "an interrupted run is here",
            where=work,
            hint="--resume goes on, --overwrite starts over",
        )
    if options.resume and about.is_file():
        check_same(json.loads(about.read_text()), fingerprint(options))
        return
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    with atomic_file(about, overwrite=True) as path:
        path.write_text(json.dumps(fingerprint(options)))


def _prepare(work: Path, options: TrainOptions, run: Run) -> tuple[Trainer, Any, int]:
    import shutil

    from dialtools.streams.policy import Policy
    from dialtools.train import prepare

    store_at = prepare.cache_directory(options) or work / "store"
    with Policy(options.on_error, dry=options.dry_run) as policy:
        try:
            count = prepare.spool_inputs(store_at, options, policy)
        except BaseException:
            shutil.rmtree(work, ignore_errors=True)  # nothing to resume yet
            raise
        encoder = prepare.load_encoder(store_at, options, count)
        if not options.model:
            run.warn(prepare.describe_fresh(encoder))
        store = prepare.open_store(store_at, encoder)
        validation = prepare.validation_store(work / "validation", options, encoder, policy)
    pairs, held = prepare.divide(store, options)
    run.info(
        f"{store.counts['pairs']:,} pairs, {store.counts['utterances']:,} distinct utterances, {store.counts['tokens']:,} tokens"
    )
    trainer = prepare.build_trainer(encoder, store, pairs, options)
    if validation is None and len(held):
        validation = (store, held)
    return trainer, validation, policy.skipped


def _train(
    trainer: Trainer, held_out: Any, work: Path, log: Path, options: TrainOptions, run: Run
) -> dict[str, Any]:
    import orjson

    from dialtools.errors import ModelError
    from dialtools.train import checkpoint
    from dialtools.train.loop import NotFinite
    from dialtools.train.validate import response_selection

    facts = (checkpoint.restore(trainer, work) if options.resume else None) or {"best": -1.0}
    lines = log.read_bytes().splitlines(keepends=True) if log.exists() else []
    log.write_bytes(b"".join(line for line in lines if orjson.loads(line)["step"] <= trainer.step))
    every = options.validate_every or trainer.sampler.per_epoch
    writer, last = _tensorboard(options.tensorboard), dict(facts.get("last", {}))
    with log.open("ab") as file, run.progress(trainer.total, "steps") as progress:
        progress.skip(trainer.step)
        if trainer.step == 0:
            _snapshot(trainer, work, options, run, last)
        if held_out and trainer.step == 0:
            _record(file, writer, {"step": 0, **response_selection(trainer, *held_out)})
        try:
            for step in trainer.steps():
                last |= step.record()
                validated = held_out and (step.step % every == 0 or step.step == trainer.total)
                if validated:
                    last |= response_selection(trainer, *held_out)
                    if options.keep_best and last["top-1"] > facts["best"]:
                        facts["best"] = last["top-1"]
                        checkpoint.save_best(trainer, work)
                _record(
                    file,
                    writer,
                    step.record() | ({k: last[k] for k in ("top-1", "top-3")} if validated else {}),
                )
                progress.advance(
                    1, loss=f"{step.loss:.3f}", tokens=f"{step.tokens_per_second:,.0f}/s"
                )
                _snapshot(trainer, work, options, run, last)
                if step.step % options.checkpoint_every == 0 or run.stop_requested:
                    checkpoint.save(trainer, work, facts=facts | {"last": last})
                if run.stop_requested:
                    run.warn(
                        f"stopped at step {step.step:,} of {trainer.total:,}; --resume goes on"
                    )
                    run.interrupted()
        except NotFinite as error:
            batch = (trainer.setting.store.record(int(pair)) for pair in error.pairs)
            (work / "nan-batch.jsonl").write_bytes(
                b"".join(orjson.dumps(row) + b"\n" for row in batch)
            )
            raise ModelError(
                error.message, hint=f"its batch is in {work}/nan-batch.jsonl; {error.hint}"
            ) from None
    return last


def _record(file: Any, writer: Any, row: dict[str, Any]) -> None:
    import orjson

    file.write(orjson.dumps(row) + b"\n")
    file.flush()
    if writer:
        for name, value in row.items():
            writer.add_scalar(name, value, row["step"])


def _tensorboard(directory: str | None) -> Any:
    if not directory:
        return None
    from dialtools.errors import MissingExtra

    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        raise MissingExtra(
            "--tensorboard needs a package that is not installed",
            hint="pip install 'dialtools[tensorboard]'",
        ) from None
    return SummaryWriter(directory)


def _snapshot(
    trainer: Trainer, work: Path, options: TrainOptions, run: Run, last: dict[str, Any]
) -> None:
    """Keep the model as it is now, if this is a step to keep; one that an interrupted run has kept is the same."""
    from dialtools.streams.atomic import atomic_directory

    if options.snapshot_every is None:
        return
    every = options.snapshot_every or trainer.sampler.per_epoch
    at = work / SNAPSHOTS / f"step-{trainer.step:06d}"
    if at.exists() or (trainer.step % every and trainer.step != trainer.total):
        return
    at.parent.mkdir(exist_ok=True)
    with atomic_directory(at, overwrite=False) as directory:
        _write(trainer, directory, options, run, last)


def _save(
    trainer: Trainer, final: Path, log: Path, options: TrainOptions, run: Run, last: dict[str, Any]
) -> None:
    import shutil

    from dialtools.cli._help import toml
    from dialtools.streams.atomic import atomic_directory, link_or_copy

    with atomic_directory(final, overwrite=options.overwrite) as directory:
        _write(trainer, directory, options, run, last)
        shutil.copy(log, directory / "train-log.jsonl")
        origins = {s.key: "resolved" for s in run.specs}
        (directory / "dialtools.toml").write_text(
            toml(run.specs, options, origins), encoding="utf-8"
        )
        if (log.parent / SNAPSHOTS).is_dir():
            shutil.copytree(
                log.parent / SNAPSHOTS, directory / SNAPSHOTS, copy_function=link_or_copy
            )


def _write(
    trainer: Trainer, directory: Path, options: TrainOptions, run: Run, last: dict[str, Any]
) -> None:
    """Write what loads as a model: encoder, what the objective keeps, provenance, card."""
    from dialtools import __version__
    from dialtools.encoder import modeldir
    from dialtools.train.card import card

    counts = {
        **trainer.setting.store.counts,
        "pairs_trained_on": len(trainer.sampler.pairs),
        "steps": trainer.step,
    }
    figures = {
        k: last[k]
        for k in ("loss", "alignment", "uniformity", "accuracy", "top-1", "top-3")
        if k in last
    }
    provenance = {**run.provenance(counts), "final": figures, "weights": trainer.encoder.digest()}
    start = f"`{options.model}`" if options.model else "a fresh encoder"
    text = card(
        version=__version__,
        method=options.method,
        start=start,
        encoder=trainer.encoder,
        pairs=len(trainer.sampler.pairs),
        steps=trainer.step,
        facts={k: round(v, 4) for k, v in figures.items()},
    )
    modeldir.save(trainer.encoder, directory, provenance=provenance, card=text)
    trainer.objective.save(directory)


def _accuracy(last: dict[str, Any]) -> str:
    return f", 1-of-100 response selection {last['top-1']:.1f} %" if "top-1" in last else ""
