"""Options as data: one dataclass field is flag, TOML key, environment variable and man-page line.

    @dataclass
    class PairOptions(InputOptions, OutputOptions, RunOptions):
        window: tuple[int, ...] = option((1,), help="window sizes", parse=int_list)
        format: str | None = option(None, help="format of the output", choices=FORMATS)

The flag of field `min_words` is `--min-words`, its key in a TOML file `min-words`, its
variable `DIAL_PAIRS_MIN_WORDS`. A trailing underscore (`from_`) is dropped.
"""

from __future__ import annotations

import dataclasses
import inspect
import types
import typing
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cache, partial
from typing import Any, cast

from dialtools.elsewhere import meant
from dialtools.errors import ConfigError, close, nearest, question
from dialtools.shown import quoted
from dialtools.values import boolean, number, seed_number, whole_number

Choices = Iterable[str] | Callable[[], Iterable[str]]
Companion = str | tuple[str, tuple[str | bool | float, ...]]
"""What another option needs beside it: an option's name, or names between blanks, one of which has
to be given; or a name and values, one of which it has to have: `(False,)` is a flag's --no-."""

PARSERS: dict[type, Callable[[str], Any]] = {bool: boolean, int: whole_number, float: number}
"""How the text of an option without a parser of its own is read; others stay as they are."""


ALIKE = 0.84
"""How like a variable of somebody else's may be to one of ours, as a share of both."""


@dataclass(frozen=True)
class Spec:
    """All that parser, help, man page and completion know of one option."""

    name: str
    help: str
    type: type
    default: Any
    short: str | None = None
    metavar: str | None = None
    choices: tuple[str, ...] | None = None
    parse: Callable[[str], Any] | None = None
    group: str = "Options"
    positional: bool = False
    negatable: bool = False
    multiple: bool = False
    shown: str | None = None
    how: bool = False
    kept: bool = False
    goes_with: Companion | None = None
    not_with: Companion | None = None
    unsaid: bool = False

    @property
    def key(self) -> str:
        """The name in flags and TOML files."""
        return self.name.rstrip("_").replace("_", "-")

    @property
    def flag(self) -> str:
        return f"--{self.key}"

    @property
    def usage(self) -> str:
        """How a positional stands in the line of usage."""
        return self.shown or f"[{self.metavar}]..."

    @property
    def writes(self) -> bool:
        """Whether it names what is written: a file or folder that does not change the result."""
        named = any(word in (self.metavar or "") for word in ("FILE", "DIR"))
        return named and self.how and self.name != "config"

    def variable(self, command: str) -> str:
        """Return the environment variable that sets the option of a command."""
        return self.beginning(command) + self.key.upper().replace("-", "_")

    @staticmethod
    def beginning(command: str) -> str:
        """Return how the environment variables of a command begin."""
        return f"{command}-".upper().replace("-", "_")

    @property
    def lists(self) -> bool:
        """Whether one text of the option names several values, separated by commas."""
        return self.type is tuple and not self.multiple


def option(
    default: Any,
    *,
    help: str,
    short: str | None = None,
    metavar: str | None = None,
    choices: Choices | None = None,
    parse: Callable[[str], Any] | None = None,
    group: str = "Options",
    multiple: bool = False,
    shown: str | None = None,
    how: bool = False,
    kept: bool = False,
    goes_with: Companion | None = None,
    not_with: Companion | None = None,
    unsaid: bool = False,
) -> Any:
    """Return a dataclass field that is a flag.

    Args:
        default: the value without the flag; the only place where it stands.
        choices: all values there are: a table (its keys), names, or a function that returns names
            and is first called when a command is built, so that it may look into files.
        parse: turns the text of the flag into the value (`values`); raises ValueError with the
            reason.
        multiple: the flag may be given again; the value is a tuple.
        shown: what help says of the default, when the value itself is not plain.
        how: it changes how a run goes or where its results lie, not what it makes; such an option
        may differ between a run and its resumption, and is no part of provenance.
        kept: what it names is written into, and never replaced: a cache.
        goes_with: another option without which, or beside other values of which, this one has no
            meaning: on the command line it is refused, elsewhere it counts as not given.
        not_with: another option beside which, or beside values of which, it has none.
        unsaid: it has no default, and another layer says it: without a meaning it stays.
    """
    facts = dict(locals())
    return field(default=facts.pop("default"), metadata=facts)


input_option = partial(option, group="Input")
output_option = partial(option, group="Output")
run_option = partial(option, group="Run", how=True)


def restated(owner: type, name: str, *, default: Any = dataclasses.MISSING, **changes: Any) -> Any:
    """Return an option of a class of options anew, for a class that inherits all but a part of it.

    Args:
        default: another default; without it, that of the owner.
        changes: of `option`, what is different.
    """
    inherited = next(f for f in dataclasses.fields(owner) if f.name == name)
    kept = inherited.default if default is dataclasses.MISSING else default
    return field(default=kept, metadata={**inherited.metadata, **changes})


def argument(
    *,
    help: str,
    metavar: str = "INPUT",
    shown: str | None = None,
    choices: Choices | None = None,
) -> Any:
    """Return a dataclass field that is the list of positional arguments.

    Args:
        shown: how usage has it: without one, any number of them or none.
        choices: names that completion offers beside files; others are allowed.
    """
    facts = {"help": help, "metavar": metavar, "shown": shown, "choices": choices}
    return field(default=(), metadata={**facts, "positional": True})


@cache
def specs(options: type) -> tuple[Spec, ...]:
    """Return the options of a dataclass, those that it declares first and in its order."""
    hints = typing.get_type_hints(options)
    every = [f for f in dataclasses.fields(options) if "help" in f.metadata]
    place = {name: at for at, name in enumerate(inspect.get_annotations(options))}
    every.sort(key=lambda f: place.get(f.name, len(place)))
    return tuple(_spec(f, hints[f.name]) for f in every)


def settings(options: Any) -> dict[str, Any]:
    """Return the options that change what a run makes, by TOML key, without positional ones."""
    return {
        spec.key: getattr(options, spec.name)
        for spec in specs(options.__class__)
        if not (spec.how or spec.positional)
    }


def _spec(f: dataclasses.Field[Any], hint: Any) -> Spec:
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        hint = next(a for a in typing.get_args(hint) if a is not type(None))
    kind = typing.get_origin(hint) or hint
    facts = dict(f.metadata)
    choices: Choices | None = facts.get("choices")
    if choices is not None:
        facts["choices"] = tuple(choices() if callable(choices) else choices)
    return Spec(
        name=f.name,
        type=kind,
        default=f.default,
        negatable=kind is bool and f.default is not False,
        **facts,
    )


def parse_value(spec: Spec, value: Any, *, source: str) -> Any:
    """Return a flag's text, or a TOML value, as the type of the option.

    Raises:
        ConfigError: naming `source` (a flag, a key, a variable), the text, and what is allowed.
    """
    try:
        return _parse(spec, value)
    except ValueError as error:
        reason = str(error) or f"expected {spec.type.__name__}"
        hint = nearest(str(value), list(spec.choices)) if spec.choices else None
        given = cast("Iterable[object]", value if isinstance(value, tuple) else (value,))
        raise ConfigError(
            f"{source}: {', '.join(map(quoted, given))}: {reason}", hint=hint
        ) from None


def _parse(spec: Spec, value: Any) -> Any:
    if value in ([], ()) and spec.default == ():
        return ()
    several = isinstance(value, list | tuple)
    values = list(cast("Iterable[object]", value if several else (value,)))
    if not all(isinstance(v, str | int | float) for v in values):
        raise ValueError("expected a text, a number, true or false, or a list of these")
    texts = [str(v) for v in values]
    if spec.multiple or spec.positional:
        return tuple(_parse_text(spec, text) for text in texts)
    return _parse_text(spec, ",".join(texts))


def _parse_text(spec: Spec, text: str) -> Any:
    if "\0" in text:  # a configuration can have it, which no argument can
        raise ValueError("a NUL stands in no text and in no name")
    if spec.parse:
        return spec.parse(text)
    if spec.choices and not spec.positional and text not in spec.choices:
        raise ValueError(f"choose from {', '.join(spec.choices)}")
    return PARSERS.get(spec.type, str)(text)


FLAG = "flag"
"""The name of the layer of the command line."""


@dataclass(frozen=True)
class Layer:
    """One source of values: its name for origins, raw values by TOML key, and where these stand."""

    name: str
    values: Mapping[str, Any]
    places: Mapping[str, str] = field(default_factory=dict[str, str])

    def source(self, key: str) -> str:
        """Return where the value of a key stands, for messages."""
        return self.places.get(key, f"{self.name}: {key}")


def resolve(options: type, layers: Sequence[Layer]) -> tuple[Any, dict[str, str]]:
    """Return the options object and where each value came from: the first layer that has its key.

    A value that has no meaning beside the others is refused in the first layer, which is of this
    run alone; in the others, which may be of many runs, it counts as not given.

    Raises:
        ConfigError: for an unknown key, a value that cannot be read, or one without a meaning.
    """
    by_key = {spec.key: spec for spec in specs(options)}
    for layer in layers:
        _check_keys(layer, list(by_key))

    values, origins = _values(by_key, layers)
    given = {
        spec.name: spec
        for spec in by_key.values()
        if spec.name in values
        and (values[spec.name] != spec.default or _is_said(spec, values, origins))
        and (origins[spec.key] == layers[0].name or not spec.unsaid)
    }
    resolved = options(**values)
    while unmeant := {n: why for n, spec in given.items() if (why := _unmeant(resolved, spec))}:
        spec = given.pop(_first(unmeant, given))
        if origins[spec.key] == layers[0].name:
            flag = f"--no-{spec.key}" if values[spec.name] is False else spec.flag
            raise ConfigError(f"{flag} {unmeant[spec.name]}")
        values[spec.name] = spec.default
        origins[spec.key] = "default"
        setattr(resolved, spec.name, spec.default)
    return options(**values), origins


def _values(
    by_key: Mapping[str, Spec], layers: Sequence[Layer]
) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the value that the first layer which has one gives to each option, and whose it is."""
    values: dict[str, Any] = {}
    origins = dict.fromkeys(by_key, "default")
    for key, spec in by_key.items():
        layer = next((layer for layer in layers if layer.values.get(key) is not None), None)
        if layer:
            origins[key] = layer.name
            source = spec.flag if layer.name == FLAG else layer.source(key)
            values[spec.name] = parse_value(spec, layer.values[key], source=source)
    return values, origins


def _first(unmeant: Collection[str], given: Mapping[str, Spec]) -> str:
    """Return an option without a meaning that has none whatever becomes of the others."""
    firm = (name for name in unmeant if not _companions(given[name]).intersection(unmeant))
    return next(firm, next(iter(unmeant)))


def _companions(spec: Spec) -> set[str]:
    """Return the names of the options beside which one has a meaning, or none."""
    both = (c for c in (spec.goes_with, spec.not_with) if c)
    return {name for c in both for name in (c.split() if isinstance(c, str) else c[:1])}


def _is_said(spec: Spec, values: Mapping[str, Any], origins: Mapping[str, str]) -> bool:
    """Tell whether a flag says a default aloud; that something is off has a meaning anywhere."""
    return origins[spec.key] == FLAG and values[spec.name] is not False


def _unmeant(options: Any, spec: Spec) -> str:
    """Return why an option has no meaning beside the values of others, or nothing."""
    if spec.goes_with and not _holds(options, spec.goes_with):
        return f"goes with {_shown(spec.goes_with)}"
    if spec.not_with and _holds(options, spec.not_with):
        return f"has no meaning beside {_shown(spec.not_with)}"
    return ""


def _holds(options: Any, companion: Companion) -> bool:
    if isinstance(companion, str):
        return any(getattr(options, name) for name in companion.split())
    name, values = companion
    return getattr(options, name) in values


def _shown(companion: Companion) -> str:
    if isinstance(companion, str):
        return " or ".join(f"--{name.replace('_', '-')}" for name in companion.split())
    name, values = companion
    flag = name.replace("_", "-")
    if values[0] is False:
        return f"--no-{flag}"
    texts = (f"{value:g}" if type(value) is float else str(value) for value in values)
    return f"--{flag} {' or '.join(texts)}"


def _check_keys(layer: Layer, known: list[str]) -> None:
    for key in layer.values:
        if key not in known:
            hint = question(meant(key, known) or close(key, known))
            raise ConfigError(f"{layer.name}: unknown key {quoted(key)}", hint=hint)


def environment(options: type, command: str, environ: Mapping[str, str]) -> Layer:
    """Return the layer of `DIAL_<CMD>_<FLAG>` variables."""
    names = {spec.key: spec.variable(command) for spec in specs(options) if not spec.positional}
    values = {key: environ[name] for key, name in names.items() if environ.get(name)}
    return Layer("environment", values, places=names)


def idle_variables(environ: Iterable[str], command: str, known: Iterable[Spec]) -> dict[str, str]:
    """Return the variables that begin as those of a command do, and set no option.

    Args:
        command: e.g. `dial-eval intent`; its variables begin with its first word alone.

    Returns:
        a hint with each; empty, where no option has nearly that name.
    """
    first, *task = command.split()
    start = Spec.beginning(first)
    of_task = Spec.beginning("-".join(task)) if task else ""
    keys = {spec.variable(first): spec.key for spec in known if not spec.positional}
    idle: dict[str, str] = {}
    for name in environ:
        if name.startswith(start) and name not in keys:
            key = name.removeprefix(start).removeprefix(of_task).lower().replace("_", "-")
            close = get_close_matches(key, keys.values(), n=1, cutoff=ALIKE)
            variables = [name for name, key in keys.items() if key in close]
            idle[name] = f"did you mean {variables[0]}?" if variables else ""
    return idle


@dataclass
class RunOptions:
    """How the run behaves."""

    seed: int = option(0, parse=seed_number, group="Run", help="seed of all random choices")
    quiet: bool = run_option(False, short="-q", help="print errors only")
    verbose: bool = run_option(False, short="-v", help="print more")
    debug: bool = run_option(False, help="show tracebacks")
    dry_run: bool = run_option(
        False,
        help="check everything, print what would be read, done, written and replaced, then stop",
    )
    color: str = run_option(
        "auto",
        choices=("auto", "always", "never"),
        help="colour on a terminal",
    )
    config: str | None = run_option(
        None,
        metavar="FILE",
        help="TOML file of options (keys are flags)",
    )
    print_config: bool = run_option(
        False,
        help="print every option with its value and its source, then stop",
    )

    @property
    def files(self) -> tuple[str, ...]:
        """The files of the arguments; `-` is stdin, which is read where none is named."""
        return getattr(self, "inputs", ()) or ("-",)
