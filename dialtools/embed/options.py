"""Options of dial-embed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import ClassVar

from dialtools.corpora.options import AnyRecordOptions
from dialtools.encoder.catalog import POOLINGS
from dialtools.encoder.options import BatchOptions, DeviceOptions, RemoteCodeOptions
from dialtools.errors import ConfigError, proposed
from dialtools.options import RunOptions, option, restated
from dialtools.streams.formats import EMBEDDING_FORMATS
from dialtools.streams.options import EngineOptions, OutputOptions, ResumeOptions
from dialtools.values import at_least, folder, fraction, name_list, share

PER = ("record", "turn", "candidate")
TO_RESPONSE = "to-response"
KINDS = ("center", "top", "whiten", "flow", TO_RESPONSE)

_transform = partial(option, group="Transform")
_compression = partial(option, group="Compression")


@dataclass
class EmbedOptions(
    AnyRecordOptions,
    OutputOptions,
    EngineOptions,
    RemoteCodeOptions,
    DeviceOptions,
    BatchOptions,
    RunOptions,
):
    """What is embedded, with what, and where the vectors go."""

    reads_all: ClassVar[bool] = True

    model: str = option(
        "",
        metavar="DIR",
        parse=folder,
        help="model directory, name in the local cache, or text file of word vectors",
        shown="needed",
    )
    field: tuple[str, ...] = option(
        (),
        metavar="NAMES",
        parse=name_list,
        help="fields to embed, texts or lists of turns; a+b joins two fields into one list of "
        "turns",
        shown="text; context,response; query; text1,text2; anchor,entailment,contradiction; ...",
    )
    per: str = option(
        "record",
        choices=PER,
        help="what a row is: a record; a turn of a dialogue, embedded with the history before "
        "it; a distinct text of `candidates`",
    )
    sample: float | None = option(
        None,
        metavar="SHARE",
        parse=fraction,
        help="embed this share of the records, drawn by --seed",
    )
    limit: int | None = restated(AnyRecordOptions, "limit", parse=at_least(1))
    keep: tuple[str, ...] = option(
        ("all",),
        metavar="NAMES|all|none",
        parse=name_list,
        help="fields of the input to keep; each must have one type in all records",
    )
    normalize: bool | None = option(
        None, help="scale vectors to length 1", shown="as the model says"
    )
    dimensions: int | None = option(
        None,
        parse=at_least(1),
        help="keep only the first N dimensions (then scale, if vectors are scaled); with "
        "whiten, the first N that it makes",
        shown="all",
    )
    dtype: str = option(
        "float32", choices=("float32", "float16"), help="number type of the vectors"
    )
    max_length: int | None = option(
        None, parse=at_least(4), help="cut texts to N tokens", shown="the model's"
    )
    pooling: str | None = option(
        None,
        choices=POOLINGS,
        help="how token vectors become one vector",
        shown="the model's",
    )
    head: str | None = option(
        None,
        metavar="NAME",
        help="pass vectors through a head that dial-train --keep-head saved: shared, or a "
        "window size",
    )
    truncate_side: str = option(
        "auto",
        choices=("auto", "left", "right"),
        help="which side of a long text to cut; auto: left for two turns or more, so that "
        "the newest stay, right for a text or a single turn",
    )
    on_truncate: str = option(
        "warn", choices=("warn", "error", "ignore"), help="what to do when texts were cut"
    )
    tokens: bool = option(False, help="add a column with the number of tokens before any cut")
    float16_round: bool = option(
        False, help="round vectors through float16, as DSE's evaluation does"
    )

    transform: str | None = _transform(
        None,
        metavar="|".join((*KINDS, "FILE")),
        help="change the vectors: center subtracts their mean, top also their first directions, "
        "whiten and flow spread them evenly, all fitted to the input or to --fit-on; to-response "
        "moves contexts (the only field, or the first of two) to where their responses lie, to "
        "find those more often; FILE: as --save-transform wrote it",
    )
    whiten: bool | None = _transform(None, help="short for --transform whiten")
    fit_on: str | None = _transform(
        None,
        metavar="FILE",
        help="fit the transform to these embeddings of the same model, not to the input",
    )
    save_transform: str | None = _transform(
        None, metavar="FILE", help="save the fitted transform, for other inputs", how=True
    )

    templates: str | None = _compression(
        None,
        metavar="FILE",
        help="add the vector of the nearest of these templates (records of dial-augment); both "
        "are then of length 1",
    )
    own_templates: bool = _compression(
        False,
        help="add the vector of each record's own template; this uses the slots of the text, "
        "of test texts as well",
    )
    nearest_templates: int = _compression(
        1,
        parse=at_least(1),
        help="use the mean of the N nearest --templates",
        goes_with="templates",
    )
    compress: float | None = _compression(
        None,
        metavar="LAMBDA",
        parse=share,
        help="mix text and template instead, with weight LAMBDA for the template (TaDSE eq. 5); "
        "of length 1 only with --normalize",
        shown="both vectors side by side",
    )
    align: bool | None = _compression(
        None, help="pass templates through the model's alignment layer", shown="if it has one"
    )

    output: str = restated(
        OutputOptions, "output", help="file to write; - is stdout (not resumable)"
    )
    to: str | None = restated(
        OutputOptions, "to", choices=EMBEDDING_FORMATS, shown="by suffix; arrow on stdout"
    )
    resume: bool = restated(
        ResumeOptions,
        "resume",
        help="continue a stopped run of the same work, or start if there is none",
    )
    shard_rows: int = option(
        65_536,
        parse=at_least(1),
        group="Engine",
        help="rows a shard, the unit of --resume; within a shard each distinct text is encoded "
        "once; one of JSON lines to stdout ends when stdin pauses; 1 answers each line at once",
    )

    def __post_init__(self) -> None:
        if not self.model and not self.print_config:
            raise ConfigError("--model DIR is needed", hint="dial-train makes one")
        self._check_transform()
        self._check_compression()
        if self.resume and self.output == "-":
            raise ConfigError("--resume needs -o FILE; stdout cannot be resumed")
        waits = self.transform in KINDS and not self.fit_on
        of_the_whole = {
            f"--transform {self.transform} is fitted to all parts; --fit-on FILE to others": waits,
            "--save-transform is for one run, which needs no input but --fit-on": (
                self.save_transform
            ),
        }
        self.check_part(self.inputs, of_the_whole)
        self.check_engine(self, {})

    @property
    def with_templates(self) -> bool:
        """Whether vectors of templates are added to those of texts, or mixed with them."""
        return bool(self.templates or self.own_templates)

    def _check_compression(self) -> None:
        if self.templates and self.own_templates:
            raise ConfigError("--templates or --own-templates: give one")
        chosen = self.with_templates
        if not chosen and (self.compress is not None or self.align is not None):
            raise ConfigError(
                "--compress and --align need templates", hint="--templates FILE, or --own-templates"
            )
        if chosen and (self.transform or self.per != "record"):
            raise ConfigError("templates go with records, and without --transform")
        if chosen and self.normalize is False:
            raise ConfigError("--no-normalize: templates go with vectors of length 1")
        if self.own_templates:
            self.field = self.field or ("text", "template")
        if chosen and len(self.field) > 1 + self.own_templates:
            theirs = ", and that of the templates" if self.own_templates else ""
            raise ConfigError(f"templates go with one --field of texts{theirs}")

    def _check_transform(self) -> None:
        if self.whiten and self.transform not in (None, "whiten"):
            raise ConfigError(f"--whiten or --transform {self.transform}: give one")
        self.transform = "whiten" if self.whiten else self.transform
        fitted = self.transform in KINDS
        if self.transform and not fitted and not Path(self.transform).is_file():
            raise ConfigError(
                f"--transform: neither a kind nor a file: {self.transform!r}",
                hint=proposed(self.transform, KINDS),
            )
        of_kinds = {"--fit-on": self.fit_on, "--save-transform": self.save_transform}
        for flag, value in of_kinds.items():
            if value and not fitted:
                raise ConfigError(f"{flag} goes with --transform {'|'.join(KINDS)}")
        if self.transform == TO_RESPONSE and not self.fit_on and len(self.field) not in (0, 2):
            raise ConfigError(
                "--transform to-response is fitted to contexts and their responses",
                hint="--field context,response, or --fit-on FILE with both",
            )
        if self.dimensions and self.transform not in (None, "whiten"):
            raise ConfigError("--dimensions goes with --transform whiten, or with none")
        if fitted and not self.fit_on and self.output == "-":
            raise ConfigError(
                f"--transform {self.transform} is fitted to the whole input "
                "before any of it is written",
                hint="name -o FILE, or --fit-on FILE",
            )
