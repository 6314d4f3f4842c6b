r"""dial-train - train a dialogue encoder on positive pairs

  dial-pairs --window 1,2,3 corpus.jsonl | dial-train
  dial-train --model bert-base-uncased -o dse/ pairs.arrow
  dial-train --dry-run --model bert-base-uncased pairs.arrow
  dial-train --resume -o dse/ --model bert-base-uncased pairs.arrow
  dial-train --method dse --loss nt-xent --batch-size 256 --epochs 3 \
    --validation-share 0.05 --keep-best pairs.jsonl
  dial-train --model minilm/ -o held/ pairs.arrow
  dial-train --encoder static --model minilm/ -o table/ pairs.arrow
  dial-train --model minilm/ --teacher responses.parquet -o kept/ pairs.arrow
  dial-embed --per turn --model minilm/ corpus.jsonl | \
    dial-train --method distill --model minilm/ --encoder static -o small/
  dial-pairs --window 1,2,3 corpus.jsonl | \
    dial-train --method wmdc --model bert-base-uncased -o wmdc/
  dial-pairs --window 3 --short-windows --follow 3 --inner corpus.jsonl \
    | dial-train --method dialoguecse --negatives all -o matched/
  dial-pairs --kind self corpus.jsonl | dial-train --method mlm -o adapted/
  dial-train --nproc 4 --model bert-base-uncased --batch-size 1024 pairs.arrow

Reads pairs {"context": [turns, oldest first], "response"}, as dial-pairs
writes them. --method names a recipe, which holds the published values of a
method; flags override them, and --print-config shows each value and where it
came from. Most recipes learn from any pairs; see below what others want.
docs/which-method.md says which to take. Without --method it is dse, or, where
--model embeds sentences already (as those of sentence-transformers do), held:
150 steps that learn replies, and keep other texts where they were.

Writes a model directory, and prints its path to stdout. dialtools and
sentence-transformers load it; transformers loads a transformer, model2vec a
static encoder.

Without --model a static encoder (one vector a token, averaged) and its
tokenizer are trained from nothing, in minutes; --encoder transformer trains a
small transformer. After its first steps a run tells how long it will take
here; --dry-run takes these steps alone, or parts of a long one, to tell it.

What recipes learn from:

  same-label                     dial-pairs --kind same-label
  same-answer, same-answer-held  dial-pairs --kind same-answer, and of windows
  mlm, simcse                    dial-pairs --kind self
  simcse-sup                     dial-pairs --kind triple
  dse-dianli                     dial-pairs --kind entailment
  pairsupcon                     dial-pairs --kind nli
  dialoguecse                    dial-pairs --follow
  tadse                          what dial-augment writes
  distill                        what dial-embed writes
  most others                    any pairs

What pairs may carry:

`negatives`, as dialtools mine finds them, are texts to contrast with in
addition to those of the batch. DialogueCSE also reads `follow`, the turns
after the response. A record of `text` is a pair of the text with itself,
from which masked words and SimCSE learn. --method distill reads texts with
their vectors, as dial-embed writes them from a larger model, the teacher;
--teacher FILE learns from them beside the pairs of any other method, and
--hold-weight from what --model itself says of the texts of the pairs.

Stopping and going on:

A run that is stopped keeps its state in DIR.partial/, and --resume goes on
from there, or says that all is done. Pairs that came through a pipe need not
be piped again. Changed inputs or options are refused. With as many --threads
on the same kind of machine, the result is byte for byte that of an unbroken
run, except for speeds in train-log.jsonl; otherwise last digits differ.

How long, and how good:

If a run would take more than three hours of a CPU, dial-train warns (even
under -q) and names what is quicker. With --validation or --validation-share,
a run ends by telling response selection, alignment and uniformity before and
after training, and warns if it selects responses less often than its start.
The model's card and dialtools.json keep these numbers.

Averages and part of the way:

--merge-with-start 0.5 saves a point half way from --model to the trained
weights, or to their average (--ema), which keeps more of what that model was
good at. Validation, --keep-best and snapshots use what would be saved at that
step; steps and checkpoints go on from the last weights.

Several processes:

With --nproc N, or torchrun, the batch is dealt out among several processes,
and the loss is over all of it. So the model is that of one process up to
rounding, and to dropout where small batches are cut finer
(--micro-batch-tokens). If one process ends, all do; --resume may use another
number of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from dialtools.cli._command import command
from dialtools.cli._run import Run
from dialtools.errors import DialError
from dialtools.options import FLAG
from dialtools.streams.tally import counted
from dialtools.train.options import TrainOptions
from dialtools.train.recipe import HELD, layers

if TYPE_CHECKING:
    from dialtools.streams.resume import Work
    from dialtools.train.run import Training

MEMORY = (
    "the model and its optimiser, the weights once more for --ema and once for --merge-with-start, "
    "2 GiB of activations at most, 16 bytes a pair, 12 a distinct utterance; the pairs themselves "
    "stay on disk"
)


@command(TrainOptions, memory=MEMORY, recipe=layers, plans=True)
def main(options: TrainOptions, run: Run) -> None:
    from dialtools.encoder.guest import start_torch

    # before torch is imported, as its environment must be set by then
    start_torch(options.threads, processes=options.nproc)
    from dialtools.encoder.device import slower_precision
    from dialtools.train.join import follows, together
    from dialtools.train.material import check_inputs
    from dialtools.train.plan import dry_run
    from dialtools.train.run import begin, job_of

    if follows():
        return _follow(options)
    check_inputs(options)
    if note := slower_precision(options):
        run.warn(note)
    if options.dry_run:
        lines, run.skipped = dry_run(options, tell=run.warn, caution=run.caution)
        return run.tell_plan(lines)
    job = job_of(options)
    with run.claim(job) as work:
        if work.finished:
            run.tell_path(work.final)
            return run.close(work.finished)
        with together(options.nproc, options.device) as ranks:
            with _before_steps(work, run):
                training = begin(work, options, tell=run.warn, ranks=ranks)
            run.skipped = training.skipped
            run.info(training.size())
            _tell_idle(training, run)
            _tell_of_held(training, run)
            _take_steps(training, run)
        training.save(config=run.config())
    if training.validation:
        run.warn(str(training.validation))
    if line := training.fallen():
        run.caution(line)
    run.tell_path(work.final)
    run.close(f"{work.final}: {training.summary()}")


@contextmanager
def _before_steps(work: Work, run: Run) -> Iterator[None]:
    """Leave nothing of a run that cannot begin; say so where a signal leaves the pairs it read."""
    try:
        yield
    except DialError:
        work.discard()
        raise
    except KeyboardInterrupt:
        if work.kept and work.folder.is_dir() and work.holds:
            run.warn(f"stopped before the first step; the pairs are in {work.folder}: --resume")
        raise


def _follow(options: TrainOptions) -> None:
    """Take steps as another process says, which tells the user what there is to tell."""
    from dialtools.train.follow import follow
    from dialtools.train.join import deaf, together
    from dialtools.train.ranks import LostRank

    deaf()
    with suppress(LostRank), together(options.nproc, options.device) as ranks:
        follow(options, ranks)


def _tell_idle(training: Training, run: Run) -> None:
    """Tell of a rate for a head where there is none, and of a batch that pairs do not fill."""
    trainer = training.trainer
    flag = "head-lr-multiplier"
    learns = any(p.requires_grad for p in trainer.objective.parameters())
    if run.origins[flag] == FLAG and not learns:
        run.warn(f"--{flag} changes nothing: the encoder alone is trained")
    there, wanted = len(trainer.sampler.pairs), trainer.values.batch_size
    if run.origins["batch-size"] == FLAG and there < wanted:
        run.warn(f"--batch-size {wanted}: a step has all {there:,} that there are")


def _tell_of_held(training: Training, run: Run) -> None:
    """Tell of the method where nobody chose one, and the start embeds sentences as it is."""
    options, trainer = training.options, training.trainer
    unnamed = run.origins["method"] == f"recipe {options.method}"
    if unnamed and options.method == HELD and trainer.step == 0 < trainer.total:
        steps = f" ({counted(options.max_steps, 'step')})" if options.max_steps else ""
        way = f"--method {HELD}{steps} learns replies and holds on to the rest"
        run.warn(f"{options.model} embeds sentences already; {way}")


def _take_steps(training: Training, run: Run) -> None:
    """Show each step; after Ctrl-C or SIGTERM write a checkpoint, and end with their status."""
    total = training.trainer.total
    with run.graceful("step"), run.progress(total, "steps") as progress:
        progress.skip(training.trainer.step)
        for step in training.steps():
            if training.forecast.note(step.seconds):
                _tell_time(training, run)
            progress.advance(1, loss=f"{step.loss:.3f}", tokens=f"{step.tokens_per_second:,.0f}/s")
            if run.stop_requested:
                training.checkpoint()
                run.warn(f"stopped at step {step.step:,} of {total:,}; --resume goes on")
                run.interrupted()


def _tell_time(training: Training, run: Run) -> None:
    from dialtools.train.plan import instead

    run.warn(str(training.forecast))
    if line := instead(training.forecast, training.trainer, training.options):
        run.caution(line)


if __name__ == "__main__":
    main()
