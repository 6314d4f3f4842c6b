"""Options of the tasks on labelled texts: intent, oos."""

from __future__ import annotations

from dataclasses import dataclass

from dialtools.errors import ConfigError
from dialtools.eval.options.base import ThreePartOptions
from dialtools.options import option
from dialtools.values import at_least, int_list, shares


@dataclass
class LabelledOptions(ThreePartOptions):
    """Labelled embeddings, and the few of them that a run may see."""

    label: str = option("label", metavar="NAME", group="Input", help="column of the labels")
    shots: tuple[int, ...] = option(
        (1, 5), metavar="N[,N...]", parse=int_list, help="examples a class"
    )
    runs: int = option(
        10,
        metavar="N",
        parse=at_least(1),
        help="runs, each with examples drawn anew (seeds seed, seed+1, ...)",
    )
    episodes: str | None = option(
        None, metavar="FILE", help="take the examples from a JSON file instead"
    )
    episode_set: str | None = option(
        None, metavar="NAME", help="which data set of that file", shown="the only one"
    )
    export_episodes: str | None = option(
        None,
        metavar="FILE",
        help="write the drawn examples for others to use",
        how=True,
    )


@dataclass
class IntentOptions(LabelledOptions):
    """Options of `dial-eval intent`."""

    method: str = option(
        "prototype",
        choices=("prototype", "knn", "logreg"),
        help="prototype: few-shot class means; knn: nearest of all training rows; logreg: few-shot logistic regression as in MTEB",
    )
    shots: tuple[int, ...] = option(
        (), metavar="N[,N...]", parse=int_list, help="examples a class", shown="1,5; logreg: 8"
    )
    neighbours: tuple[int, ...] = option(
        (1,), metavar="K[,K...]", parse=int_list, help="k of knn; ties go to the nearer class"
    )
    synthetic: bool = option(False, help="made utterances (`synthetic`) count as training rows too")
    template_references: bool = option(
        False,
        help="knn: the templates of training rows are neighbours too (files of dial-embed --templates)",
    )
    sweep_compress: tuple[float, ...] = option(
        (),
        metavar="LAMBDA[,...]",
        parse=shares,
        help="mix vectors of texts and templates; which lambda is chosen on validation rows (TaDSE eq. 5)",
    )
    validation: str | None = option(
        None, metavar="FILE", group="Input", help="embeddings to choose lambda on"
    )
    validation_split: str | None = option(
        None,
        metavar="NAME",
        group="Input",
        help="value of the split column for validation rows; without any, a tenth of the training rows",
        shown="validation, validate, valid, val or dev",
    )
    without: str | None = option(
        None, metavar="LABEL", help="leave out rows of this label, e.g. oos"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        self.shots = self.shots or ((8,) if self.method == "logreg" else (1, 5))
        if self.template_references and self.method != "knn":
            raise ConfigError("--template-references goes with --method knn")
        if self.method == "logreg" and (self.episodes or self.export_episodes):
            raise ConfigError("--episodes and --export-episodes go with --method prototype")


@dataclass
class OosOptions(LabelledOptions):
    """Options of `dial-eval oos`."""

    oos_label: str = option("oos", metavar="LABEL", help="label of what is out of scope")
    validation: str | None = option(
        None, metavar="FILE", group="Input", help="embeddings to choose a threshold on"
    )
