"""From an options dataclass to a command: parsing, help, errors, exit status.

Everything that a command shares with its sisters is here, so that a command file is its
docstring (help, man page and test) and one function.
"""

from __future__ import annotations

import errno
import os
import signal
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

import click

from dialtools import __version__
from dialtools.catalog import Entry
from dialtools.cli import _help
from dialtools.cli._run import Run
from dialtools.errors import ConfigError, DialError, ExitCode, nearest
from dialtools.options import Layer, Spec, environment, resolve, specs

Recipe = Callable[[dict[str, Any]], Sequence[Layer]]


class Command:
    """One command of the suite; calling it runs it and exits."""

    def __init__(
        self,
        function: Callable[[Any, Run], None],
        options: type,
        *,
        name: str,
        doc: str,
        memory: str,
        recipe: Recipe | None,
        reads_stdin: bool,
    ) -> None:
        self.function, self.options, self.name, self.doc, self.memory = (
            function,
            options,
            name,
            doc,
            memory,
        )
        self.recipe, self.reads_stdin = recipe, reads_stdin
        self.specs = specs(options)

    def __call__(self, argv: Sequence[str] | None = None) -> NoReturn:
        arguments = list(sys.argv[1:] if argv is None else argv)
        complete(self.name, self.click_command)
        finish(self.name, lambda: self.run(arguments), debug="--debug" in arguments)

    def run(self, argv: list[str]) -> int:
        """Parse, run, and return the exit status."""
        given = self.parse(argv)
        options, origins = self.resolve(given)
        if getattr(options, "print_config", False):
            sys.stdout.write(_help.toml(self.specs, options, origins))
            return ExitCode.OK
        if self.reads_stdin and not options.inputs and sys.stdin.isatty():
            sys.stderr.write(_help.short_usage(self))
            return ExitCode.USAGE
        run = Run(self.name, options, self.specs, origins)
        with run:
            self.function(options, run)
        return run.exit_code

    def parse(self, argv: list[str]) -> dict[str, Any]:
        """Return the raw text of each flag that was given, by TOML key."""
        with self.click_command().make_context(self.name, argv) as context:
            raw = {spec.key: context.params.get(spec.name) for spec in self.specs}
        return {key: value for key, value in raw.items() if value not in (None, ())}

    def resolve(self, given: Mapping[str, Any]) -> tuple[Any, dict[str, str]]:
        """Return the options object and the source of each value: flags, environment, --config, recipe, default."""
        layers = [Layer("flag", given), environment(self.options, self.name.split()[0], os.environ)]
        config = given.get("config") or layers[1].values.get("config")
        if config:
            layers.append(_help.read_toml(config))
        if self.recipe:
            layers += self.recipe(
                {key: value for layer in reversed(layers) for key, value in layer.values.items()}
            )
        return resolve(self.options, layers)

    def click_command(self) -> click.Command:
        """Return the parser, which also answers shell completion."""
        parameters = [*(_parameter(spec) for spec in self.specs), _version(self.name)]
        settings = {"help_option_names": ["--help", "-h"]}
        command = _Parser(self.name, params=parameters, help=self.doc, context_settings=settings)
        command.owner = self
        return command


class _Parser(click.Command):
    """A click command that shows help in the order of the suite: examples first."""

    owner: Command

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        formatter.write(_help.page(self.owner))


class _Choices(click.ParamType):
    """Completes a fixed set of words; checking them is left to `dialtools.options`."""

    name = "choice"

    def __init__(self, words: Sequence[str]) -> None:
        self.words = words

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[Any]:
        from click.shell_completion import CompletionItem

        return [CompletionItem(word) for word in self.words if word.startswith(incomplete)]


def _version(name: str) -> click.Option:
    def show(context: click.Context, _option: click.Parameter, wanted: bool) -> None:
        if wanted:
            click.echo(f"{name} {__version__}")
            context.exit()

    return click.Option(
        ["--version"], is_flag=True, expose_value=False, is_eager=True, callback=show
    )


def _parameter(spec: Spec) -> click.Parameter:
    path = (
        click.Path()
        if (spec.metavar or "") in ("FILE", "DIR", "INPUT") or spec.positional
        else click.STRING
    )
    kind = _Choices(spec.choices) if spec.choices else path
    if spec.positional:
        return click.Argument([spec.name], nargs=-1, type=kind, metavar=f"[{spec.metavar}]...")
    names = [spec.name, *([spec.short] if spec.short else [])]
    if spec.type is bool:
        flags = f"{spec.flag}/--no-{spec.key}" if spec.negatable else spec.flag
        return click.Option([*names, flags], is_flag=True, default=None)
    return click.Option([*names, spec.flag], type=kind, default=None, multiple=spec.multiple)


def command(
    options: type,
    *,
    memory: str,
    name: str | None = None,
    doc: str | None = None,
    recipe: Recipe | None = None,
    reads_stdin: bool | None = None,
) -> Callable[..., Command]:
    """Make a command of `function(options, run)`.

    Args:
        options: dataclass of the options.
        memory: what help says of memory, e.g. "streams: O(window)".
        name: the command's name; default: the first word of the module's docstring.
        doc: help text; default: the module's docstring.
        recipe: from the values set so far, further layers of defaults.
        reads_stdin: without a named file the command reads stdin; default: if it has INPUT arguments.
    """

    def wrap(function: Callable[[Any, Run], None]) -> Command:
        text = doc or sys.modules[function.__module__].__doc__ or ""
        stdin = any(s.positional for s in specs(options)) if reads_stdin is None else reads_stdin
        title = name or text.split(" - ")[0].strip()
        return Command(
            function, options, name=title, doc=text, memory=memory, recipe=recipe, reads_stdin=stdin
        )

    return wrap


class Group:
    """A command with sub-commands, each loaded only when it is called."""

    def __init__(self, doc: str, table: Mapping[str, Entry]) -> None:
        self.doc, self.table, self.name = doc, table, doc.split(" - ")[0].strip()

    def __call__(self, argv: Sequence[str] | None = None) -> NoReturn:
        arguments = list(sys.argv[1:] if argv is None else argv)
        complete(self.name, self.click_command)
        finish(self.name, lambda: self.run(arguments), debug="--debug" in arguments)

    def run(self, argv: list[str]) -> int:
        """Hand the rest of the line to the sub-command that it begins with."""
        word = argv[0] if argv else ""
        if word in self.table:
            return self.table[word].load().run(argv[1:])
        if word in ("--help", "-h"):
            sys.stdout.write(_help.group_page(self))
            return ExitCode.OK
        if word == "--version":
            sys.stdout.write(f"{self.name} {__version__}\n")
            return ExitCode.OK
        known = list(self.table)
        if not word:
            raise ConfigError(
                "name a task", hint=f"one of {', '.join(known)}; see {self.name} --help"
            )
        raise ConfigError(
            f"no task {word!r}", hint=nearest(word, known) or f"choose from {', '.join(known)}"
        )

    def commands(self) -> dict[str, Command]:
        """Return each sub-command by the words that call it, those of a group in the group too."""
        found: dict[str, Command] = {}
        for word, entry in self.table.items():
            loaded = entry.load()
            inner = loaded.commands().items() if isinstance(loaded, Group) else [("", loaded)]
            found.update({f"{word} {rest}".strip(): sub for rest, sub in inner})
        return found

    def click_command(self) -> click.Command:
        """Return a parser for shell completion."""
        commands = {name: entry.load().click_command() for name, entry in self.table.items()}
        return click.Group(self.name, commands=commands)


def group(doc: str, table: Mapping[str, Entry]) -> Group:
    """Make a command of sub-commands from its docstring and table."""
    return Group(doc, table)


def complete(name: str, parser: Callable[[], click.Command]) -> None:
    """Answer the shell's question for completions, if it asks one, and exit."""
    variable = f"_{name.replace('-', '_').upper()}_COMPLETE"
    instruction = os.environ.get(variable)
    if instruction:
        from click.shell_completion import shell_complete

        sys.exit(shell_complete(parser(), {}, name, variable, instruction))


def finish(name: str, body: Callable[[], int], *, debug: bool) -> NoReturn:
    """Run the body and end the process as CONVENTIONS say: the one place where errors are shown."""
    signal.signal(signal.SIGTERM, _terminate)
    try:
        code = body()
        sys.stdout.flush()
    except click.exceptions.Exit as done:
        code = done.exit_code
    except click.UsageError as error:
        code = _report(name, ConfigError(_plain(error), hint=_hint(error) or f"see {name} --help"))
    except DialError as error:
        if debug:
            traceback.print_exc()
        code = _report(name, error)
    except KeyboardInterrupt:
        code = ExitCode.INTERRUPTED
    except OSError as error:
        if error.errno == errno.EPIPE or "Broken pipe" in str(error):
            _die_of_broken_pipe()
        code = _report(
            name, DialError(error.strerror or str(error), where=error.filename), debug=debug
        )
    except Exception as error:
        text = f"{type(error).__name__}: {error}".splitlines()[0]
        code = _report(
            name, DialError(text, hint="this looks like a defect; --debug shows where"), debug=debug
        )
    _exit(code)


def _exit(code: int) -> NoReturn:
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        _die_of_broken_pipe()
    sys.exit(int(code))


def _report(name: str, error: DialError, *, debug: bool = False) -> int:
    if debug:
        traceback.print_exc()
    sys.stderr.write(f"{name}: {error}\n")
    if error.hint:
        sys.stderr.write(f"  {error.hint}\n")
    return error.exit_code


def _plain(error: click.UsageError) -> str:
    message = error.message[:1].lower() + error.message[1:]
    return message.rstrip(".").split(" (Possible")[0].split(" Did you mean")[0]


def _hint(error: click.UsageError) -> str | None:
    close = getattr(error, "possibilities", None)
    return nearest(getattr(error, "option_name", ""), list(close)) if close else None


def _terminate(_number: int, _frame: object) -> NoReturn:
    sys.exit(ExitCode.TERMINATED)  # unwinds, so that temporary files go


def _die_of_broken_pipe() -> NoReturn:
    # Python ignores SIGPIPE; a well-behaved filter dies of it, and says nothing.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    os.kill(os.getpid(), signal.SIGPIPE)
    sys.exit(ExitCode.BROKEN_PIPE)
