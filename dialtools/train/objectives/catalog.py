"""The objectives by name, each with the options that belong to it.

An objective is a module here and an entry in OBJECTIVES: its options, a frozen dataclass of
`by_recipe` fields, are flags of dial-train by standing there, and belong to whichever objectives
have them. What several share is a small base. This module loads no torch: help reads it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

from dialtools.catalog import Entry
from dialtools.errors import ConfigError
from dialtools.train.catalog import HEADS
from dialtools.train.hyperparameters import RECIPE, by_recipe
from dialtools.train.losses.catalog import LOSSES
from dialtools.values import (
    ALL,
    at_least,
    cosine,
    count_or_all,
    int_list,
    not_negative,
    positive,
    share,
)

_OF = f"{RECIPE}, --objective"
_contrast = partial(by_recipe, group=f"{_OF} contrast and joint (DSE, WMDC, SimCSE, ...)")
_candidates = partial(by_recipe, group=f"{_OF} matching and siamese (DialogueCSE, ...)")
_templates = partial(by_recipe, group=f"{_OF} template (TaDSE)")
_masked = partial(by_recipe, group=f"{_OF} mlm and joint (masked words)")

ALIGN_EPOCHS = 8
"""Passes over the pairs with --align (TaDSE app. B)."""
BATCHES = ("mixed", "by-window", "by-kind")
SAME_ROLE, ANY_ROLE, OTHER_DOMAIN = NEGATIVES_FROM = ("same-role", "any", "other-domain")


@dataclass(frozen=True)
class ObjectiveEntry(Entry):
    """An objective and what belongs to it.

    Attributes:
        options: frozen dataclass of `by_recipe` fields; the objective gets it settled.
        recipe: the recipe of --objective where --method names none; of one that is another
            objective's, the values that both have.
        templates: it learns from templates, whose placeholders are tokens of their own.
        contextual: it learns words in their context, which a static encoder does not see.
        named_negatives: it contrasts a pair with the negatives that it names.
        dissimilar: pairs that say that they are not similar serve, as negatives of others.
        contexts: it learns from contexts, not from responses alone.
        taught: it learns from texts with vectors that a teacher has for them.
    """

    options: type[Any]
    recipe: str
    templates: bool = False
    contextual: bool = False
    named_negatives: bool = False
    dissimilar: bool = False
    contexts: bool = True
    taught: bool = False


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class TemperatureOptions:
    """Of objectives with a softmax over similarities."""

    temperature: float = by_recipe(
        parse=positive,
        help="temperature of the loss: the lower it is, the more the nearest negatives count",
        not_with=("utterance_weight", (0.0,)),
    )


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class HeadOptions:
    """Of objectives whose vectors go through a head."""

    head: str = by_recipe(
        choices=HEADS,
        help="layer behind the encoder, used in training and dropped at the end; window-linear: "
        "one for each window size",
    )
    keep_head: bool = by_recipe(
        default=False,
        help="keep the head beside the model, for dial-embed --head",
    )

    def __post_init__(self) -> None:
        if self.keep_head and self.head == "none":
            raise ConfigError("--keep-head: there is none", hint="--head names one")


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class FalseNegativeOptions:
    """Of objectives that contrast the texts of a batch with each other."""

    mask_false_negatives: bool = by_recipe(
        help="do not use as negatives the same text (or template), or its neighbours in the "
        "dialogue: they may be right answers",
    )


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class MatryoshkaOptions:
    """Of objectives whose vectors may be cut short."""

    matryoshka: tuple[int, ...] = by_recipe(
        default=(),
        metavar="N[,N...]",
        parse=int_list,
        help="also train the first N dimensions by themselves, so that vectors can be cut to them",
    )


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ContextOptions:
    """Of objectives that read a context as one sequence."""

    context_max_length: int = by_recipe(
        default=0,
        parse=at_least(4),
        help="cut contexts to N tokens, the oldest first",
        shown="max-length times the longest window, up to 512 or max-length",
    )


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class SpeakerOptions:
    """Of objectives that join turns to one sequence."""

    speaker_tokens: bool = by_recipe(
        default=False,
        help="put [USR] or [SYS] before each turn",
    )


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class CandidateOptions(MatryoshkaOptions):
    """Of objectives that pick a response among candidates for its context."""

    negatives: int | str = _candidates(
        metavar="N|all",
        parse=count_or_all,
        help="negatives of a context, from other dialogues (--negatives-from); all: the other "
        "responses of the batch",
    )
    negatives_from: str = _candidates(
        default=SAME_ROLE,
        choices=NEGATIVES_FROM,
        help="which responses of other dialogues: of the same role, of any role, or of the "
        "same role in dialogues of another `domain` (dial-pairs --domain)",
    )
    context_turns: int = _candidates(
        parse=at_least(1), help="turns around a response, the nearest N (siamese: before it)"
    )

    def __post_init__(self) -> None:
        if self.negatives == ALL and self.negatives_from != SAME_ROLE:
            raise ConfigError(
                f"--negatives-from {self.negatives_from} says which are drawn, "
                "and --negatives all draws none"
            )


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ContrastOptions(
    HeadOptions,
    TemperatureOptions,
    FalseNegativeOptions,
    SpeakerOptions,
    MatryoshkaOptions,
    ContextOptions,
):
    """Options of --objective contrast."""

    loss: str = _contrast(choices=LOSSES, help="the contrastive loss")
    weights: str = _contrast(
        default="given",
        choices=("none", "given", "irf"),
        help="none: pairs count alike; given: by their field `weight`; irf: by it, else by 1 / "
        "(ln f + 1) of the response's frequency",
    )
    weights_mean_one: bool = _contrast(
        default=False, help="scale the weights to a mean of 1", not_with=("weights", ("none",))
    )
    batches: str = _contrast(
        default="mixed",
        choices=BATCHES,
        help="by-window: a batch has pairs of one window size, sizes in turn; by-kind: of one "
        "`kind`",
    )
    guide_floor: float = _contrast(
        default=1.0,
        metavar="COSINE",
        parse=cosine,
        help="use no negative that the start finds as similar to a text as its partner, and "
        "more similar than this cosine; 1: no guide",
    )
    guide_margin: float = _contrast(
        default=0.0,
        metavar="SHARE",
        parse=share,
        help="with --guide-floor: nor one that it finds less similar than the partner by up to "
        "this share",
    )
    classify_weight: float = _contrast(
        default=0.0,
        parse=not_negative,
        help="weight of a second loss: telling `similar` pairs from others (PairSupCon)",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.guide_margin and self.guide_floor >= 1:
            raise ConfigError("--guide-margin goes with --guide-floor")


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class MatchingOptions(CandidateOptions, TemperatureOptions):
    """Options of --objective matching."""

    aggregation: str = _candidates(
        choices=("mean", "attention"),
        help="of matching: mean: the turns of a context count alike (I2); attention: a small "
        "network weighs them (I1)",
    )


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class SiameseOptions(CandidateOptions, ContextOptions):
    """Options of --objective siamese."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class TemplateOptions(HeadOptions, TemperatureOptions, FalseNegativeOptions, MatryoshkaOptions):
    """Options of --objective template."""

    template_temperature: float = _templates(
        parse=positive,
        help="temperature between templates; --temperature is that between utterances",
        not_with=("template_weight", (0.0,)),
    )
    pair_temperature: float = _templates(
        parse=positive,
        help="temperature between templates and utterances",
        not_with=("pair_weight", (0.0,)),
    )
    utterance_weight: float = _templates(
        metavar="LAMBDA", help="weight of the loss between utterances"
    )
    template_weight: float = _templates(
        metavar="LAMBDA", help="weight of the loss between templates"
    )
    pair_weight: float = _templates(
        metavar="LAMBDA", help="weight of the loss between templates and utterances"
    )
    pair_negatives: str = _templates(
        choices=("utterances", "templates", "both"),
        help="utterances: a template picks its utterance among them (as in the paper); templates: "
        "an utterance picks its template; or both",
        not_with=("pair_weight", (0.0,)),
    )
    align: bool = _templates(
        default=False,
        help="train a layer for templates, saved beside the model (TaDSE's M_A); as it learns from "
        f"nothing, training makes {ALIGN_EPOCHS} passes, unless --epochs says how many",
        goes_with="template_weight pair_weight",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        shares = (self.utterance_weight, self.template_weight, self.pair_weight)
        if min(shares) < 0 or max(shares) == 0:
            raise ConfigError(
                "--utterance-weight, --template-weight and --pair-weight must be 0 or more, "
                "and one above it"
            )
        if self.align and HEADS[self.head].own_width:
            raise ConfigError(
                f"--align keeps a layer of the encoder's width, which --head {self.head} has not",
                hint="--head tanh, linear or none",
            )


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class MaskedWordsOptions(SpeakerOptions):
    """Options of --objective mlm."""

    mask_share: float = _masked(
        metavar="SHARE",
        parse=share,
        help="share of the words to mask, at least one a text",
    )
    max_masked: int = _masked(parse=at_least(1), help="mask at most N words a text")


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class DistillOptions:
    """Options of --objective distill: it has none of its own."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class JointOptions(ContrastOptions, MaskedWordsOptions):
    """Options of --objective joint."""


_HOME = "dialtools.train.objectives"
OBJECTIVES = {
    "contrast": ObjectiveEntry(
        f"{_HOME}.contrast:Contrast",
        "contexts and responses that belong together (DSE, WMDC, SimCSE, TOD-BERT)",
        options=ContrastOptions,
        recipe="dse",
        named_negatives=True,
        dissimilar=True,
    ),
    "matching": ObjectiveEntry(
        f"{_HOME}.matching:Matching",
        "responses seen through their context (DialogueCSE)",
        options=MatchingOptions,
        recipe="dialoguecse",
        named_negatives=True,
    ),
    "siamese": ObjectiveEntry(
        f"{_HOME}.siamese:Siamese",
        "a matching head over context and response",
        options=SiameseOptions,
        recipe="siamese-m",
        named_negatives=True,
    ),
    "template": ObjectiveEntry(
        f"{_HOME}.template:Templates",
        "utterances, their templates, and the two together (TaDSE)",
        options=TemplateOptions,
        recipe="tadse",
        templates=True,
        contexts=False,
    ),
    "mlm": ObjectiveEntry(
        f"{_HOME}.mlm:MaskedWords",
        "masked words (domain adaptation)",
        options=MaskedWordsOptions,
        recipe="mlm",
        contextual=True,
        contexts=False,
    ),
    "joint": ObjectiveEntry(
        f"{_HOME}.joint:Joint",
        "responses and masked words of their contexts, together (TOD-BERT)",
        options=JointOptions,
        recipe="todbert-joint",
        contextual=True,
        named_negatives=True,
        dissimilar=True,
    ),
    "distill": ObjectiveEntry(
        f"{_HOME}.distill:Distill",
        "the vectors that a teacher has for texts (a smaller model in place of a larger one)",
        options=DistillOptions,
        recipe="distill",
        contexts=False,
        taught=True,
    ),
}
