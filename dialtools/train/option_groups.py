"""Options of dial-train that belong to the run as a whole, in groups of one subject each."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from dialtools.encoder.catalog import POOLINGS
from dialtools.options import RunOptions, argument, input_option, option, output_option, restated
from dialtools.streams.formats import RECORD_FORMATS
from dialtools.streams.options import InputOptions, OutputOptions, ResumeOptions
from dialtools.train import recipe
from dialtools.train.hyperparameters import RECIPE
from dialtools.train.objectives.catalog import OBJECTIVES
from dialtools.train.start import KINDS
from dialtools.values import at_least, folder, positive, ranges, share_below_one, steps_or_epoch

_fresh = partial(option, group="Fresh encoder")
_validation = partial(option, group="Validation")


@dataclass
class StartOptions(InputOptions):
    """What is read, what training starts from, and where the model goes."""

    inputs: tuple[str, ...] = argument(help="pair files; none or - is stdin")
    method: str = option(
        recipe.DEFAULT,
        metavar="RECIPE",
        choices=recipe.names,
        help="recipe: published values, which flags override",
        shown="dse; held if --model embeds sentences",
    )
    model: str | None = option(
        None,
        metavar="DIR",
        parse=folder,
        help="encoder to start from: a directory, or a name in the local cache",
        shown="a fresh small encoder",
    )
    output: str = option(
        "model",
        short="-o",
        metavar="DIR",
        help="model directory to write",
        how=True,
    )
    from_: str | None = restated(
        InputOptions,
        "from_",
        choices=RECORD_FORMATS,
        help="format of the input and, if that is pairs, of --validation",
    )
    limit: int | None = restated(
        InputOptions, "limit", parse=at_least(1), help="use only the first N pairs"
    )
    window: tuple[int, ...] = input_option(
        (),
        metavar="N[,N...]|N-N",
        parse=ranges,
        help="use only pairs of these window sizes",
        shown="all",
    )


@dataclass
class TeacherOptions:
    """Who says, beside what the pairs say, where texts belong."""

    teacher: str | None = option(
        None,
        metavar="FILE",
        group="Teacher",
        help="also learn the vectors of this embedding file, which another encoder has for texts "
        "like these; each step reads a quarter as many texts as pairs",
    )
    teacher_weight: float = option(
        5.0,
        parse=positive,
        group="Teacher",
        help="weight of the teacher beside the pairs, which have 1; its loss is 1 less the cosine "
        "to its vectors",
        goes_with="teacher",
    )


@dataclass
class RecipeOptions:
    """Of a recipe's values those that may stay unsaid."""

    max_steps: int | None = option(
        None,
        parse=at_least(0),
        group=RECIPE,
        help="take N steps, whatever --epochs and --min-steps; 0 saves the start unchanged",
    )
    pooling: str | None = option(
        None,
        choices=POOLINGS,
        group=RECIPE,
        help="how token vectors become one vector",
        shown="the recipe's, else the model's own",
    )
    objective: str | None = option(
        None,
        choices=OBJECTIVES,
        group=RECIPE,
        help="what to learn from the pairs",
    )


@dataclass
class FreshOptions:
    """The encoder that training starts from without --model, or makes of it.

    Its sizes are those of a preset (`fresh.toml`, `static.toml`) unless somebody says them; None is
    for one that the encoder does not have.
    """

    encoder: str | None = _fresh(
        None,
        choices=KINDS,
        help="static: one vector a token, averaged (made from a transformer in --model by "
        "embedding each token alone); transformer: layers",
        shown="what --model is; static without it",
    )
    hidden: int = _fresh(
        None,
        parse=at_least(64),
        help="width of a fresh encoder, or of a static one made from --model",
        shown="256",
    )
    layers: int = _fresh(None, parse=at_least(1), help="layers of a fresh transformer", shown="2")
    vocab_size: int = _fresh(
        None, parse=at_least(300), help="words of a fresh tokenizer", shown="8000; static 14000"
    )


@dataclass
class ValidationOptions:
    """What is held out, and when it is looked at."""

    validation: str | None = _validation(
        None,
        metavar="FILE",
        help="measure 1-of-100 response selection on these pairs during training",
    )
    validation_share: float = _validation(
        0.0,
        metavar="SHARE",
        parse=share_below_one,
        help="hold out this share of the dialogues, and measure that on their pairs",
        not_with="validation",
    )
    validate_every: int = _validation(
        0,
        parse=at_least(0),
        help="measure it every N steps",
        shown="once an epoch",
        goes_with="validation validation_share",
    )
    keep_best: bool = _validation(
        False,
        help="save the checkpoint that validates best (top-1, then top-3 and top-10), not the last",
        goes_with="validation validation_share",
    )


@dataclass
class MemoryOptions:
    """How much is encoded at once, and how a batch fits into memory."""

    micro_batch_tokens: int = option(
        0,
        parse=at_least(0),
        group="Engine",
        help="tokens to encode at once; padding counts only for models that need it",
        shown="1024 on CPU; on CUDA what fits into half of its memory, up to 131072",
    )
    grad_cache: str = option(
        "auto",
        choices=("auto", "on", "off"),
        group="Engine",
        help="save memory for the time of a second encoding: one micro-batch is kept, not the "
        "batch; auto: if that would need over 2 GiB, or half of a GPU's memory",
    )


@dataclass
class ProgressOptions:
    """What is kept on the way, and how a run begins, goes on and is watched."""

    checkpoint_every: int = output_option(
        200,
        parse=at_least(1),
        help="steps between checkpoints, from which --resume goes on",
        how=True,
    )
    snapshot_every: int | str | None = output_option(
        None,
        metavar="N|epoch",
        parse=steps_or_epoch,
        help="also save a model directory every N steps or every epoch, at the start and at "
        "the end, under snapshots/ of the model directory; dial-eval curve scores them",
    )
    resume: bool = restated(
        ResumeOptions, "resume", help="continue from the checkpoint of a stopped run"
    )
    overwrite: bool = restated(
        OutputOptions, "overwrite", help="replace an existing model directory"
    )
    nproc: int = option(
        1,
        parse=at_least(1),
        group="Engine",
        help="processes of this machine that share each step, each on a GPU or a share of the "
        "cores; the batch size stays. torchrun starts its own, whatever N is",
        how=True,
    )
    quiet: bool = restated(RunOptions, "quiet", help="print errors and warnings only")
    cache: str | None = output_option(
        None,
        metavar="DIR",
        help="keep the tokenised pairs here for later runs",
        how=True,
        kept=True,
    )
    tensorboard: str | None = output_option(
        None,
        metavar="DIR",
        help="also write TensorBoard logs here",
        how=True,
        kept=True,
    )
