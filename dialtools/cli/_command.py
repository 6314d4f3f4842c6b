"""From an options dataclass to a command: flags, environment, configuration, then the function.

Everything that a command shares with its sisters is here and in the modules that this one
calls, so that a command file is its docstring (help, man page and test) and one function.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from dialtools.catalog import Entry, lookup
from dialtools.cli import _help
from dialtools.cli._exit import finish
from dialtools.cli._run import Run
from dialtools.errors import ConfigError, ExitCode
from dialtools.options import FLAG, Layer, Spec, environment, idle_variables, resolve, specs
from dialtools.streams import bounds
from dialtools.streams.formats import is_archive

if TYPE_CHECKING:
    import click

Recipe = Callable[[dict[str, Any]], Sequence[Layer]]
Function = Callable[[Any, Run], None]
Sisters = Callable[[], "Iterable[Command]"]
CHECKED = "check the options, print what would be read, written and replaced, then stop"
"""What --dry-run does of a command that has no plan to tell."""
ONE_THREAD = ("OPENBLAS_NUM_THREADS", "1")
"""Other threads of OpenBLAS spin when NumPy is imported, for a third of the CPU time of a start."""


@dataclass(frozen=True)
class Command:
    """One command of the suite; calling it runs it and exits.

    Attributes:
        options: dataclass of the options.
        doc: help text, which begins with the command's name.
        memory: what help says of memory, e.g. "streams: O(window)".
        recipe: from the values set so far, further layers of defaults.
        reads_stdin: it does so without a named file.
        plans: under --dry-run it is called, and tells more than what it would read and write.
        multiplies: it multiplies matrices; without, NumPy's library for that gets one thread.
    """

    function: Function
    options: type
    doc: str
    memory: str
    recipe: Recipe | None = None
    reads_stdin: bool = True
    plans: bool = False
    multiplies: bool = True

    @property
    def name(self) -> str:
        return _title(self.doc)

    @property
    def specs(self) -> tuple[Spec, ...]:
        known = specs(self.options)
        if self.plans:
            return known
        return tuple(replace(s, help=CHECKED) if s.name == "dry_run" else s for s in known)

    def __call__(self, argv: Sequence[str] | None = None) -> NoReturn:
        _start(self, argv)

    def title(self, argv: Sequence[str]) -> str:
        """Return the name that errors begin with, whatever follows it."""
        return self.name

    def run(self, argv: list[str], sisters: Sisters | None = None) -> int:
        """Parse, run, and return the exit status.

        Args:
            sisters: returns the commands that have the same variables.
        """
        if answer := _help.answer(argv, self.name, lambda: _help.page(self)):
            sys.stdout.write(answer)
            return ExitCode.OK
        from dialtools.cli._parser import raw_values

        flags = raw_values(self.click_command(), argv, self.specs)
        if flags is None:
            return ExitCode.OK
        options, origins = self.resolve(flags)
        if getattr(options, "print_config", False):
            sys.stdout.write(_help.toml(self.specs, options, origins))
            return ExitCode.OK
        reads_stdin = self.reads_stdin and not options.inputs and "-" in options.files
        if reads_stdin and sys.stdin.isatty():  # nobody was asked for anything
            sys.stderr.write(_help.short_usage(self))
            return ExitCode.USAGE
        if hasattr(options, "bounds"):
            bounds.use(options.bounds)
        if getattr(options, "on_ray", False):
            from dialtools.cli._engine import spread

            return self._run(options, origins, partial(spread, self), sisters)
        if any("://" in n or is_archive(n) for n in getattr(options, "inputs", ())):
            from dialtools.corpora.unpacked import at_hand
            from dialtools.streams.remote import scratch

            with scratch() as folder:
                return self._run(at_hand(options, folder), origins, self.function, sisters)
        return self._run(options, origins, self.function, sisters)

    def _run(
        self, options: Any, origins: dict[str, str], function: Function, sisters: Sisters | None
    ) -> int:
        # a page of help has none of these
        from dialtools.cli._outputs import (
            check_inputs,
            check_names,
            check_outputs,
            check_pipes,
            outputs,
        )
        from dialtools.streams.together import before_outputs, together

        if not self.multiplies:
            os.environ.setdefault(*ONE_THREAD)
        check_names(options, self.specs)
        check_outputs(options, self.specs)
        check_pipes(options, self.specs)
        if not getattr(options, "on_ray", False):  # Ray has use for pandas
            check_inputs(options)
            from dialtools.cli import _pandas

            _pandas.leave_out()
        run = Run(self.name, options, self.specs, origins)
        self._tell_idle_variables(run, sisters)
        if getattr(options, "from_", None) == "text":
            _doubt(options.inputs, run)
        if run.dry and not self.plans:
            run.tell_plan({})
        else:
            files = outputs(options, self.specs)
            with before_outputs(run.inputs.check_if_told), together(*files):
                function(options, run)
        return run.exit_code

    def _tell_idle_variables(self, run: Run, sisters: Sisters | None) -> None:
        """Tell of variables that are named nearly as those of options are, and set nothing."""
        idle = idle_variables(os.environ, self.name, self.specs)
        if idle and sisters:
            every = (spec for sister in sisters() for spec in sister.specs)
            idle = idle_variables(idle, self.name, every)
        for name, hint in idle.items():
            if hint:
                run.warn(f"{name} sets no option; {hint}")

    def resolve(self, flags: Mapping[str, Any]) -> tuple[Any, dict[str, str]]:
        """Return the options object and the source of each value.

        The first that has a value wins: flags, environment, --config, recipe, default.
        """
        variables = environment(self.options, self.name.split()[0], os.environ)
        layers = [Layer(FLAG, flags), variables]
        config = flags.get("config") or variables.values.get("config")
        if config:
            layers.append(_configuration(config))
        if self.recipe:
            known: dict[str, Any] = {}
            for layer in reversed(layers):
                known |= layer.values
            layers += self.recipe(known)
        return resolve(self.options, layers)

    def click_command(self) -> click.Command:
        """Return the parser, which also answers shell completion."""
        from dialtools.cli._parser import parser

        return parser(self.name, self.specs, lambda: _help.page(self))


def command(
    options: type, *, memory: str, doc: str | None = None, **facts: Any
) -> Callable[[Function], Command]:
    """Make a command of `function(options, run)`.

    Args:
        doc: default: the docstring of the function's module.
        facts: of `Command`.
    """

    def wrap(function: Function) -> Command:
        text = doc or sys.modules[function.__module__].__doc__ or ""
        return Command(function, options, text, memory, **facts)

    return wrap


def _doubt(files: Sequence[str], run: Run) -> None:
    """Say of each file taken for plain text which format it begins like."""
    from dialtools.corpora.published import corpus_of

    for file in files:
        if Path(file).is_file() and (format := corpus_of(file, None)):
            run.warn(f"{file}: begins like {format}, and every line is read as a text")


@dataclass(frozen=True)
class Group:
    """A command of sub-commands, each loaded only when it is called."""

    doc: str
    table: Mapping[str, Entry]
    elsewhere: Mapping[str, str] = field(default_factory=dict)
    """The command for a word that is no sub-command, but may well be taken for one."""

    @property
    def name(self) -> str:
        return _title(self.doc)

    def __call__(self, argv: Sequence[str] | None = None) -> NoReturn:
        _start(self, argv)

    def title(self, argv: Sequence[str]) -> str:
        """Return the name that errors begin with: as far as the line names sub-commands."""
        if argv and argv[0] in self.table:
            return self.table[argv[0]].load().title(argv[1:])
        return self.name

    def run(self, argv: list[str], sisters: Sisters | None = None) -> int:
        """Hand the rest of the line to the sub-command that it begins with."""
        if argv and argv[0] == "help":
            argv = [*argv[1:], "--help"]
        if answer := _help.answer(argv, self.name, lambda: _help.group_page(self)):
            sys.stdout.write(answer)
            return ExitCode.OK
        if not (argv and argv[0]):
            known = ", ".join(self.table)
            raise ConfigError("name a task", hint=f"one of {known}; see {self.name} --help")
        if argv[0] in self.elsewhere:
            named = self.elsewhere[argv[0]]
            raise ConfigError(f"{argv[0]} is a command of its own", hint=f"run {named}")
        sisters = sisters or (lambda: self.commands().values())
        return lookup(self.table, argv[0], kind="task").run(argv[1:], sisters)

    def commands(self) -> dict[str, Command]:
        """Return each sub-command by the words that call it, those of a group in the group too."""
        commands: dict[str, Command] = {}
        for word, entry in self.table.items():
            loaded = entry.load()
            if isinstance(loaded, Group):
                commands |= {f"{word} {rest}": sub for rest, sub in loaded.commands().items()}
            else:
                commands[word] = loaded
        return commands

    def click_command(self) -> click.Command:
        """Return a parser for shell completion."""
        import click

        parsers: dict[str, click.Command] = {}
        for name, entry in self.table.items():
            parsers[name] = entry.load().click_command()
            parsers[name].short_help = entry.summary
        return click.Group(self.name, parsers)


def _configuration(path: str) -> Layer:
    """Read a --config file.

    Raises:
        ConfigError: if it is missing or not TOML.
    """
    from dialtools.toml import read_toml

    try:
        return Layer(path, read_toml(path))
    except OSError as error:
        raise ConfigError(error.strerror or str(error), where=path) from None


def _start(called: Command | Group, argv: Sequence[str] | None) -> NoReturn:
    """Answer shell completion, or run and exit."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    variable = completion_variable(called.name)
    if instruction := os.environ.get(variable):
        from click.shell_completion import shell_complete

        sys.exit(shell_complete(called.click_command(), {}, called.name, variable, instruction))
    name = called.title(arguments) or Path(sys.argv[0]).name
    finish(name, lambda: _documented(called).run(arguments), debug="--debug" in arguments)


def _documented(called: Command | Group) -> Command | Group:
    """Return a command that has its docstring, of which its name and its help are made.

    Raises:
        ConfigError: if Python was told to drop docstrings.
    """
    if called.name:
        return called
    message = "python -OO drops the docstrings that help, and transformers, are made of"
    raise ConfigError(message, hint="PYTHONOPTIMIZE=1, which is -O, keeps them")


def completion_variable(name: str) -> str:
    """Return the variable by which a shell asks a command for completions."""
    return f"_{name.replace('-', '_').upper()}_COMPLETE"


def _title(doc: str) -> str:
    """Return the name that a docstring begins with."""
    return doc.split(" - ")[0].strip()
