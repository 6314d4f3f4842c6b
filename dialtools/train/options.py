"""Options of dial-train."""

from __future__ import annotations

from dataclasses import dataclass

from dialtools.encoder.catalog import POOLINGS
from dialtools.errors import ConfigError
from dialtools.options import DRY_RUN, RunOptions, argument, option
from dialtools.streams.formats import RECORD_FORMATS
from dialtools.train import recipe
from dialtools.train.catalog import HEADS, OPTIMISERS, SCHEDULES
from dialtools.train.losses.catalog import LOSSES
from dialtools.train.objectives.catalog import OBJECTIVES, OWNERS
from dialtools.values import (
    ON_ERROR,
    at_least,
    count_or_all,
    int_list,
    on_error_policy,
    steps_or_epoch,
)

RECIPE = {"shown": "by recipe", "group": "Recipe"}


@dataclass
class TrainOptions(RunOptions):
    """What is trained, how, and where it goes."""

    inputs: tuple[str, ...] = argument(help="pair files; none or - is stdin")
    method: str = option(
        "dse",
        metavar="RECIPE",
        choices=recipe.names,
        help="the recipe: published values, which flags override",
    )
    model: str | None = option(
        None,
        metavar="DIR",
        help="encoder to start from: a directory, or a name in the local cache",
        shown="a fresh small encoder",
    )
    output: str = option(
        "model", short="-o", metavar="DIR", help="model directory to write", how=True
    )
    from_: str | None = option(
        None,
        metavar="FORMAT",
        choices=RECORD_FORMATS,
        group="Input",
        help="format of the input",
        shown="by suffix, else by content",
    )
    on_error: str = option(
        "fail",
        choices=ON_ERROR,
        parse=on_error_policy,
        group="Input",
        help="what to do with a record that cannot be used",
        how=True,
    )
    limit: int | None = option(
        None,
        short="-n",
        metavar="N",
        parse=at_least(0),
        group="Input",
        help="use the first N pairs only",
    )
    window: tuple[int, ...] = option(
        (),
        metavar="N[,N...]",
        parse=int_list,
        group="Input",
        help="use pairs of these window sizes only",
        shown="all",
    )

    objective: str | None = option(
        None,
        choices=OBJECTIVES,
        help="what is learnt: contrast of contexts and responses, matching through the context, siamese, utterances with their templates, masked words",
        **RECIPE,
    )
    loss: str | None = option(None, choices=LOSSES, help="the contrast", **RECIPE)
    head: str | None = option(
        None,
        choices=HEADS,
        help="head in training, dropped at the end; window-linear: one for each window size",
        **RECIPE,
    )
    pooling: str | None = option(
        None, choices=POOLINGS, help="how token vectors become one", **RECIPE
    )
    temperature: float | None = option(None, metavar="X", help="temperature of the loss", **RECIPE)
    batch_size: int | None = option(
        None,
        metavar="N",
        parse=at_least(2),
        help="pairs a batch, which is also the pool of negatives",
        **RECIPE,
    )
    epochs: float | None = option(
        None, metavar="X", help="passes over the pairs; may be a fraction", **RECIPE
    )
    max_steps: int | None = option(
        None,
        metavar="N",
        parse=at_least(0),
        group="Recipe",
        help="stop after N steps; 0 saves the start as it is",
    )
    lr: float | None = option(None, metavar="X", help="learning rate of the encoder", **RECIPE)
    head_lr_multiplier: float | None = option(
        None, metavar="X", help="the head's rate is this many times the encoder's", **RECIPE
    )
    weights: str | None = option(
        None,
        choices=("none", "given", "irf"),
        help="none: pairs count alike; given: as the field `weight` says; irf: so, else 1 / (ln f + 1) of the response's frequency",
        **RECIPE,
    )
    weights_mean_one: bool = option(False, group="Recipe", help="scale the weights to a mean of 1")
    batches: str | None = option(
        None,
        choices=("mixed", "by-window"),
        help="by-window: pairs of one window size a batch, sizes in turn",
        **RECIPE,
    )
    optimizer: str | None = option(None, choices=OPTIMISERS, help="optimiser", **RECIPE)
    schedule: str | None = option(
        None,
        choices=SCHEDULES,
        help="learning-rate schedule",
        **RECIPE,
    )
    warmup: float | None = option(
        None, metavar="SHARE", help="share of the steps over which the rate rises", **RECIPE
    )
    weight_decay: float | None = option(
        None, metavar="X", help="weight decay (not on biases and norms)", **RECIPE
    )
    clip: float | None = option(
        None, metavar="X", help="clip gradients at this norm; 0 does not", **RECIPE
    )
    max_length: int | None = option(
        None, metavar="N", parse=at_least(4), help="tokens of a response at most", **RECIPE
    )
    context_max_length: int | None = option(
        None,
        metavar="N",
        parse=at_least(4),
        group="Recipe",
        help="tokens of a context at most; the oldest go first",
        shown="max-length times the longest window",
    )
    speaker_tokens: bool | None = option(None, help="put [USR] or [SYS] before each turn", **RECIPE)
    mask_false_negatives: bool | None = option(
        None,
        help="same text (or template), or next to it in one dialogue, is no negative",
        **RECIPE,
    )

    freeze: int | None = option(
        None,
        metavar="N",
        parse=at_least(0),
        help="keep the embeddings and the first N layers as they are",
        **RECIPE,
    )
    negatives: int | None = option(
        None,
        metavar="N",
        parse=count_or_all,
        help="candidates a context beside its response, of other dialogues by the same role; all: the other responses of the batch",
        **RECIPE,
    )
    context_turns: int | None = option(
        None,
        metavar="N",
        parse=at_least(1),
        help="turns around a response, the nearest (siamese: before it)",
        **RECIPE,
    )
    aggregation: str | None = option(
        None,
        choices=("mean", "attention"),
        help="turns of a context weigh alike (I2), or as a small net says (I1)",
        **RECIPE,
    )
    mask_share: float | None = option(
        None, metavar="SHARE", help="words hidden in masked-word training", **RECIPE
    )
    mask_most: int | None = option(
        None, metavar="N", parse=at_least(1), help="of a text at most", **RECIPE
    )

    template_temperature: float | None = option(
        None,
        metavar="X",
        help="temperature of templates against templates; --temperature is that of utterances",
        **RECIPE,
    )
    pair_temperature: float | None = option(
        None, metavar="X", help="temperature of templates against utterances", **RECIPE
    )
    utterance_share: float | None = option(
        None, metavar="LAMBDA", help="weight of the utterances' loss", **RECIPE
    )
    template_share: float | None = option(
        None, metavar="LAMBDA", help="weight of the templates' loss", **RECIPE
    )
    pair_share: float | None = option(
        None, metavar="LAMBDA", help="weight of the loss of templates against utterances", **RECIPE
    )
    pair_negatives: str | None = option(
        None,
        choices=("utterances", "templates", "both"),
        help="a template picks its utterance among utterances (the paper), an utterance its template among templates, or both",
        **RECIPE,
    )
    align: bool = option(
        False,
        group="Recipe",
        help="a layer of its own on templates, kept beside the model (TaDSE's M_A)",
    )
    align_epochs: float | None = option(
        None, metavar="X", help="passes over the pairs with --align", **RECIPE
    )

    hidden: int = option(
        256, metavar="N", parse=at_least(64), group="Fresh encoder", help="width without --model"
    )
    layers: int = option(
        2, metavar="N", parse=at_least(1), group="Fresh encoder", help="depth without --model"
    )
    vocab_size: int = option(
        8000, metavar="N", parse=at_least(300), group="Fresh encoder", help="words of its tokenizer"
    )

    validate: str | None = option(
        None,
        metavar="FILE",
        group="Validation",
        help="pairs for 1-of-100 response selection during training",
    )
    validation_share: float = option(
        0.0, metavar="SHARE", group="Validation", help="hold out this share of the dialogues for it"
    )
    validate_every: int = option(
        0,
        metavar="N",
        parse=at_least(0),
        group="Validation",
        help="steps between validations",
        shown="once an epoch",
    )
    keep_best: bool = option(
        False, group="Validation", help="save the best checkpoint by validation, not the last"
    )

    device: str = option(
        "auto", metavar="NAME", group="Engine", help="auto, cpu, cuda, cuda:1, mps"
    )
    precision: str = option(
        "auto",
        choices=("auto", "float32", "bfloat16"),
        group="Engine",
        help="auto: bfloat16 on CUDA, float32 elsewhere",
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
    micro_batch_tokens: int = option(
        0,
        metavar="N",
        parse=at_least(0),
        group="Engine",
        help="padded tokens encoded at once",
        shown="1024 on CPU, 32768 on CUDA",
    )
    grad_cache: str = option(
        "auto",
        choices=("auto", "on", "off"),
        group="Engine",
        help="encode twice, keep one micro-batch in memory; auto: when a batch would need over 2 GiB",
    )
    trust_remote_code: bool = option(
        False, group="Engine", help="run code that comes with the model"
    )
    checkpoint_every: int = option(
        200,
        metavar="N",
        parse=at_least(1),
        group="Engine",
        help="steps between checkpoints",
        how=True,
    )
    snapshot_every: int | None = option(
        None,
        metavar="N|epoch",
        parse=steps_or_epoch,
        group="Engine",
        help="keep a model directory of every N steps or of every epoch, of the start and of the end, in snapshots/ of the model directory: dial-eval curve scores them",
        how=True,
    )
    resume: bool = option(
        False,
        group="Engine",
        help="go on from the checkpoint of a run that was stopped",
        how=True,
    )
    overwrite: bool = option(
        False, group="Engine", help="replace a model directory that exists", how=True
    )
    dry_run: bool = option(False, **DRY_RUN)
    cache: str | None = option(
        None,
        metavar="DIR",
        group="Engine",
        help="keep the tokenised pairs here for the next run",
        how=True,
    )
    tensorboard: str | None = option(
        None,
        metavar="DIR",
        group="Engine",
        help="also log for TensorBoard",
        how=True,
    )

    def __post_init__(self) -> None:
        for name, owners in OWNERS.items():
            value = getattr(self, name)
            if (
                value is not None
                and value is not False
                and self.objective
                and self.objective not in owners
            ):
                raise ConfigError(
                    f"--{name.replace('_', '-')} belongs to --objective {' or '.join(owners)}, not to {self.objective}"
                )
        if self.keep_best and not (self.validate or self.validation_share):
            raise ConfigError("--keep-best needs --validate FILE or --validation-share")
        if not 0 <= self.validation_share < 1:
            raise ConfigError("--validation-share: expected a share below 1")
        for name in ("temperature", "template_temperature", "pair_temperature"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise ConfigError(f"--{name.replace('_', '-')}: must be above 0")
        shares = (self.utterance_share, self.template_share, self.pair_share)
        if any(share is not None and share < 0 for share in shares) or set(shares) <= {0}:
            raise ConfigError(
                "--utterance-share, --template-share and --pair-share must be 0 or more, and one above it"
            )
        if self.model and (self.hidden, self.layers, self.vocab_size) != (256, 2, 8000):
            raise ConfigError(
                "--hidden, --layers and --vocab-size belong to a fresh encoder, not to --model"
            )
        if self.resume and self.overwrite:
            raise ConfigError("--resume goes on, --overwrite starts over: give one")
