"""Man pages and shell completions, generated from the commands themselves.

python -m dialtools.cli._man        writes man/ and completions/ of the checkout
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from click.shell_completion import BashComplete, FishComplete, ShellComplete, ZshComplete

from dialtools.catalog import Entry
from dialtools.cli._command import Command, Group, completion_variable
from dialtools.cli._help import flag_names, grouped, help_text, sections, value_name
from dialtools.cli._records_page import records_page
from dialtools.cli._roff import bold, definition, header, italic, literal, prose, roff, titled
from dialtools.cli._surroundings import ENVIRONMENT, FILES, Note, notes_for
from dialtools.errors import EXIT_CODES
from dialtools.options import Spec

COMMANDS = {
    "dial-pairs": Entry("dialtools.cli.pairs:main", "dialogues to positive pairs"),
    "dial-augment": Entry(
        "dialtools.cli.augment:main", "utterances to templates, and to more utterances"
    ),
    "dial-freq": Entry(
        "dialtools.cli.freq:main", "utterances to counts, and pairs to weighted pairs"
    ),
    "dial-train": Entry("dialtools.cli.train:main", "pairs to a trained encoder"),
    "dial-embed": Entry("dialtools.cli.embed:main", "text to embedding files"),
    "dial-eval": Entry("dialtools.cli.eval:main", "embedding files to scores"),
    "dialtools": Entry(
        "dialtools.cli.dialtools:main", "formats that can be read, parts joined, models added up"
    ),
}
OTHER_PAGES = {"dialtools": 7, "dialtools-records": 5, "dialtools-methods": 7}
"""Pages that are no command's: overview, records, methods."""

SHELLS: dict[str, type[ShellComplete]] = {
    "bash/{0}": BashComplete,
    "zsh/_{0}": ZshComplete,
    "fish/{0}.fish": FishComplete,
}

MENDED = {
    # a value with * in it is no pattern of files
    "+=($value)": '+=("$value")',
    # bash makes three words of --kind=self, the second of them =
    "    local response\n": """\
    local response
    local word words=()

    for word in "${COMP_WORDS[@]:0:COMP_CWORD+1}"; do
        [[ $word == '=' ]] || words+=("$word")
    done
    [[ ${COMP_WORDS[COMP_CWORD]} == '=' ]] && words+=('')
""",
    '"${COMP_WORDS[*]}" COMP_CWORD=$COMP_CWORD': '"${words[*]}" COMP_CWORD=$((${#words[@]} - 1))',
    # where names of our own are offered, files come beside them
    """\
            COMPREPLY=()
            compopt -o default
""": """\
            if (( ${#COMPREPLY[@]} )); then
                compopt -o filenames
                mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -f -- "$value")
            else
                compopt -o default
            fi
""",
    # zsh and fish replace the whole word by what is offered, --kind= and all
    "    local -a response\n": """\
    local -a response
    local before=${(M)words[CURRENT]#--*=}
""",
    'completions+=("$key")': 'completions+=("$before$key")',
    "            _path_files -f\n": """\
            (( $#completions )) || compset -P 1 '--*='
            _path_files -f
""",
    "    for completion in $response;\n": """\
    set -l before (string match -r -- '^--[^=]+=' (commandline -t));

    for completion in $response;
""",
    # nor is a value with a comma two
    'string split ","': 'string split -m 1 ","',
    "complete_path $metadata[2];": """\
complete_path $metadata[2] | string replace -r -- '^' "$before";\
""",
    "echo $metadata[2];": 'echo "$before"$metadata[2];',
}
"""What click's scripts have, and what stands in ours."""


def man_page(command: Command | Group) -> str:
    """Return the page of a command in roff (man macros)."""
    doc = sections(command.doc)
    every = [command] if isinstance(command, Command) else list(command.commands().values())
    all_specs = list(dict.fromkeys(spec for task in every for spec in task.specs))

    lines = header(doc.name, 1)
    lines += [".SH NAME", roff(f"{doc.name} - {doc.summary}")]
    lines += [".SH SYNOPSIS", _synopsis(command)]
    if doc.examples:
        lines += titled("EXAMPLES", literal("\n".join(doc.examples).splitlines()))
    lines += titled("DESCRIPTION", prose(doc.rest)) if doc.rest else []
    lines += _details(doc.details)
    if isinstance(command, Group):
        lines += _tasks(command)
    else:
        lines += [*_options(command.specs, ".SH"), ".SH MEMORY", roff(command.memory)]
    lines += [".SH ENVIRONMENT", *_variables(doc.name, all_specs)]
    lines += [".SH FILES", *_definitions(notes_for(FILES, doc.name, all_specs))]
    lines.append(".SH EXIT STATUS")
    for code, text in EXIT_CODES.items():
        lines += definition(bold(str(int(code))), text)
    pages = [(other, 1) for other in COMMANDS if other != doc.name] + list(OTHER_PAGES.items())
    lines += [".SH SEE ALSO", ",\n".join(f"{bold(page)}({number})" for page, number in pages)]
    return "".join(f"{line}\n" for line in lines)


def _synopsis(command: Command | Group) -> str:
    if isinstance(command, Group):
        inputs = f"[{italic('INPUT')}]..."
        return f"{bold(command.name)} {italic('TASK')} [{italic('OPTIONS')}] {inputs}"
    positional = "".join(f" {s.usage}" for s in command.specs if s.positional)
    inputs = re.sub(r"[A-Z]+", lambda name: italic(name[0]), positional)
    return f"{bold(command.name)} [{italic('OPTIONS')}]{inputs}"


def _tasks(group: Group) -> list[str]:
    """Return a section for each task, and one for the options that all of them have."""
    tasks = group.commands()
    shared = set.intersection(*(set(task.specs) for task in tasks.values()))
    lines: list[str] = []
    for name, task in tasks.items():
        doc = sections(task.doc)
        others = [spec for spec in task.specs if spec not in shared]
        lines += [f'.SH "{roff(name.upper())}"', roff(doc.summary[:1].upper() + doc.summary[1:])]
        lines += literal("\n".join(doc.examples).splitlines()) if doc.examples else []
        lines += prose(doc.rest) if doc.rest else []
        lines += _details(doc.details)
        lines += [*_options(others, ".SS"), ".PP", roff(f"Memory: {task.memory}")]
    common = [spec for spec in next(iter(tasks.values())).specs if spec in shared]
    return [*lines, '.SH "OPTIONS OF EVERY TASK"', *_options(common, ".SS")]


def _details(details: dict[str, str]) -> list[str]:
    return [line for title, text in details.items() for line in titled(title, prose(text), ".SS")]


def _options(all_specs: Sequence[Spec], heading: str) -> list[str]:
    lines: list[str] = []
    for group, members in grouped(all_specs).items():
        lines.append(f'{heading} "{roff(group.upper())}"')
        for spec in members:
            value = value_name(spec)
            term = f"{bold(flag_names(spec))} {italic(value)}" if value else bold(flag_names(spec))
            lines += definition(term, help_text(spec, all_choices=True))
    return lines


def _variables(name: str, all_specs: Sequence[Spec]) -> list[str]:
    """Return the variables that set the command's own flags, and those of its surroundings."""
    prefix = name.upper().replace("-", "_")
    example = next(spec for spec in all_specs if spec.type is not bool and not spec.positional)
    text = (
        f"every flag has a variable, such as {example.variable(name)} for {example.flag}; "
        "a flag goes before its variable, a variable before --config"
    )
    term = f"{bold(f'{prefix}_')}{italic('FLAG')}"
    notes = notes_for(ENVIRONMENT, name, all_specs)
    return [*definition(term, text), *_definitions(notes)]


def _definitions(notes: Iterable[Note]) -> list[str]:
    return [line for note in notes for line in definition(bold(note.name), note.text)]


def documents() -> dict[str, str]:
    """Return every generated file: its path in the checkout and its text."""
    files = {"man/dialtools-records.5": records_page()}
    for name, entry in COMMANDS.items():
        command = entry.load()
        files[f"man/{name}.1"] = man_page(command)
        for path, shell in SHELLS.items():
            script = shell(command.click_command(), {}, name, completion_variable(name))
            # not script.source(), which asks the bash of this machine for its version
            text = script.source_template % script.source_vars()
            for theirs, ours in MENDED.items():
                text = text.replace(theirs, ours)
            files[f"completions/{path.format(name)}"] = text
    return files


def main(root: Path) -> None:
    """Write the generated files under the root of a checkout."""
    for path, text in documents().items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
