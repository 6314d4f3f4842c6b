"""The parser of a command's flags, made from its specs; it also answers shell completion.

click splits the command line and completes it; what texts mean is left to `dialtools.options`,
so that flags, variables and TOML keys are read by the same words.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from typing import Any

import click
from click.shell_completion import CompletionItem

from dialtools import __version__
from dialtools.cli._help import ASKS_HELP
from dialtools.elsewhere import INPUTS, meant
from dialtools.errors import ConfigError, close, question
from dialtools.options import Spec

PATHS = ("FILE", "DIR", "INPUT")
"""Metavars that the shell completes as paths."""


def parser(name: str, all_specs: Sequence[Spec], page: Callable[[], str]) -> click.Command:
    """Return the parser of a command; --help prints what `page` returns."""
    message = "%(prog)s %(version)s"
    version = click.version_option(__version__, prog_name=name, message=message, help=None)
    return version(_Parser(name, page, [*map(_parameter, all_specs)]))


def raw_values(
    command: click.Command, argv: list[str], all_specs: Sequence[Spec]
) -> dict[str, object] | None:
    """Return the raw text of each flag that was given, by TOML key.

    None is for a line that asks for help or the version, which are written.

    Raises:
        ConfigError: for a line that cannot be read.
    """
    try:
        with command.make_context(command.name, argv) as context:
            raw: dict[str, Any] = {spec.key: context.params.get(spec.name) for spec in all_specs}
    except click.exceptions.Exit:
        return None
    except click.UsageError as error:
        hint = _near(error) or f"see {command.name} --help"
        raise ConfigError(_message(error), hint=hint) from error
    for spec in all_specs:
        if not spec.positional:
            raw[spec.key] = _said(spec, raw[spec.key])
    return {key: value for key, value in raw.items() if value not in (None, ())}


def _said(spec: Spec, value: Any) -> Any:
    """Return the text of a flag, or those of one that may be given again.

    Raises:
        ConfigError: for one without a text, as `--part "$PART"` is where nobody set PART.
    """
    value = _once(spec, value) if spec.lists else value
    for text in value if isinstance(value, tuple) else (value,):
        if isinstance(text, str) and not (text.strip(", ") if spec.lists else text):
            raise ConfigError(f"{spec.flag}: {text!r}: expected a text")
    return value


def _once(spec: Spec, texts: Sequence[str]) -> str | None:
    """Return the text of a list's flag.

    Raises:
        ConfigError: for a flag that stands there again: to override, or to add, nobody can tell.
    """
    if len(texts) > 1:
        hint = f"a comma stands between values: {spec.flag} {shlex.quote(','.join(texts))}"
        raise ConfigError(f"{spec.flag} is given {len(texts)} times", hint=hint)
    return texts[0] if texts else None


def _message(error: click.UsageError) -> str:
    """Return click's message in our voice, without its suggestions: ours stand in the next line."""
    message = error.message[:1].lower() + error.message[1:]
    return message.rstrip(".").split(" (Possible")[0].split(" Did you mean")[0]


def _near(error: click.UsageError) -> str | None:
    """Return a hint that names the options nearest to one that there is not."""
    if not isinstance(error, click.NoSuchOption):
        return None
    name = error.option_name.lstrip("-")
    parameters = [] if error.ctx is None else error.ctx.command.params
    if name in INPUTS and any(isinstance(p, click.Argument) for p in parameters):
        return "what is read is named without a flag"
    flags = [flag[2:] for p in parameters for flag in p.opts if flag.startswith("--")]
    kin = [flag for flag in flags if flag.split("-")[0] == name.split("-")[0]]
    family = kin if len(kin) < 3 else []  # --min-words for --min
    near = meant(name, flags) or family or close(name, flags, likeness=0.7)
    return question(f"--{flag}" for flag in near)


class _Parser(click.Command):
    """A click command with help of our own: examples first."""

    def __init__(
        self, name: str, page: Callable[[], str], parameters: list[click.Parameter]
    ) -> None:
        settings = {"help_option_names": [*ASKS_HELP]}
        super().__init__(name, params=parameters, context_settings=settings)
        self.page = page

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        formatter.write(self.page())


class _Choices(click.ParamType):
    """Completes the words of an option, in a list the last one; it does not check them.

    Args:
        files: they are offered, too, as the shell does.
    """

    name = "choice"

    def __init__(self, words: Sequence[str], *, several: bool, files: bool) -> None:
        self.words = [word.removesuffix("FILE") for word in words]  # which the user names
        self.several, self.files = several, files

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        before, comma, last = incomplete.rpartition(",") if self.several else ("", "", incomplete)
        matching = [word for word in self.words if word.startswith(last)]
        offered = [CompletionItem(f"{before}{comma}{word}") for word in matching]
        return [*offered, CompletionItem(incomplete, type="file")] if self.files else offered


def _parameter(spec: Spec) -> click.Parameter:
    kind = _kind(spec)
    if spec.positional:
        return click.Argument([spec.name], nargs=-1, type=kind, metavar=spec.usage)
    names = [spec.name, *([spec.short] if spec.short else [])]
    if spec.type is bool:
        flags = f"{spec.flag}/--no-{spec.key}" if spec.negatable else spec.flag
        return click.Option([*names, flags], is_flag=True, default=None)
    several = spec.multiple or spec.lists
    return click.Option([*names, spec.flag], type=kind, default=None, multiple=several)


def _kind(spec: Spec) -> click.ParamType:
    if spec.choices:
        several = spec.lists and not spec.positional
        return _Choices(spec.choices, several=several, files=spec.positional)
    stated = (spec.metavar or "").split("|")
    path = spec.positional or any(name in PATHS for name in stated)
    if words := [name for name in stated if name.islower()]:
        return _Choices(words, several=spec.lists, files=path)
    return click.Path() if path else click.STRING
