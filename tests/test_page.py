"""The page that a reader meets: lines, functions and imports, counted."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dialtools.streams.formats import FORMATS

ROOT = Path(__file__).resolve().parents[1]
HOMES = ("dialtools", "tests", "bench", "examples", "papers")
COLUMNS = 100
LONGEST_FUNCTION = 40  # lines, its docstring among them
DEEPEST = 4
BLOCKS = (ast.For, ast.While, ast.If, ast.With, ast.Try)
WITH_COLUMNS = {".py", ".sh", ".cpp"}
MORE_IN_SHELLS = 10  # a command and its flags are one line


def files(*homes: str, suffixes: frozenset[str] | set[str] = frozenset({".py"})) -> list[Path]:
    """Return the files of some folders that are ours."""
    every = [path for home in homes for path in sorted((ROOT / home).rglob("*"))]
    return [path for path in every if path.suffix in suffixes]


def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def place(path: Path, line: int, what: object = "") -> str:
    return f"{path.relative_to(ROOT)}:{line}: {what}".rstrip(": ")


def functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def depth(node: ast.AST) -> int:
    """Return how many blocks stand in one another; an `elif` stands beside its `if`."""
    deepest = 0
    for name, value in ast.iter_fields(node):
        children = value if isinstance(value, list) else [value]
        chained = name == "orelse" and isinstance(node, ast.If) and len(children) == 1
        for child in children:
            if isinstance(child, ast.AST):
                is_elif = chained and isinstance(child, ast.If)
                own = isinstance(child, BLOCKS) and not is_elif
                deepest = max(deepest, own + depth(child))
    return deepest


def without_pragma(line: str) -> str:
    """Return a line without a comment that is for a tool, which ruff does not count either."""
    return re.sub(r"\s*# (type: ignore|noqa|pyright:).*", "", line)


def test_no_line_is_longer_than_a_hundred_columns():
    long = [
        place(path, number, len(line))
        for path in files(*HOMES, suffixes=WITH_COLUMNS)
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if len(without_pragma(line)) > COLUMNS + MORE_IN_SHELLS * (path.suffix == ".sh")
    ]
    assert long == []


def test_the_formatter_is_never_sent_away():
    silenced = [
        place(path, number)
        for path in files(*HOMES)
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if re.search(r"# *fmt: *(skip|off)", line)
    ]
    assert silenced == []


def test_no_function_is_longer_than_a_screen():
    long = [
        place(path, node.lineno, f"{node.name}, {node.end_lineno - node.lineno + 1} lines")
        for path in files(*HOMES)
        for node in functions(parsed(path))
        if node.end_lineno and node.end_lineno - node.lineno >= LONGEST_FUNCTION
    ]
    assert long == []


def test_no_block_is_deeper_than_four():
    deep = [
        place(path, node.lineno, node.name)
        for path in files(*HOMES)
        for node in functions(parsed(path))
        if depth(node) > DEEPEST
    ]
    assert deep == []


def test_the_standard_library_is_imported_at_the_top():
    late = [
        place(path, node.lineno, ", ".join(modules))
        for path in files("dialtools")
        for function in functions(parsed(path))
        for node in ast.walk(function)
        if (modules := imported(node) & sys.stdlib_module_names)
    ]
    assert late == []


def imported(node: ast.AST) -> set[str]:
    """Return the first names of the modules that a statement imports."""
    if isinstance(node, ast.Import):
        return {alias.name.partition(".")[0] for alias in node.names}
    if isinstance(node, ast.ImportFrom) and node.module and not node.level:
        return {node.module.partition(".")[0]}
    return set()


NAMES_OF_OTHERS = {
    "dialtools/cli/_grid.py": "formats of a printed table, which no record has",
    "dialtools/corpora/delimited.py": "the line sep= is Excel's, and of CSV alone",
}


def test_what_a_format_is_stands_in_its_table():
    """Outside streams/ nothing asks for a format by name: it asks the table what the format is."""
    asked = [
        place(path, node.lineno, ast.unparse(node))
        for path in files("dialtools")
        if "streams" not in path.parts and str(path.relative_to(ROOT)) not in NAMES_OF_OTHERS
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.Compare) and names_of_formats(node)
    ]
    assert asked == []


def names_of_formats(node: ast.Compare) -> set[str]:
    """Return the names of formats among what is compared, also within a tuple or a set."""
    sides = [node.left, *node.comparators]
    texts = [part for side in sides for part in ast.walk(side) if isinstance(part, ast.Constant)]
    return {text.value for text in texts if isinstance(text.value, str)} & set(FORMATS) - {"text"}


@pytest.fixture(scope="module")
def ruff() -> dict[str, Any]:
    """Ruff's settings."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["ruff"]


def test_the_linter_counts_columns_everywhere(ruff: dict[str, Any]):
    assert ruff["line-length"] == COLUMNS
    assert "E" in ruff["lint"]["select"] and "E501" not in ruff["lint"].get("ignore", ())
    excuses = ruff["lint"].get("per-file-ignores", {})
    assert not any("E501" in rules for rules in excuses.values())


def test_every_file_is_as_the_formatter_writes_it():
    command = shutil.which("ruff", path=Path(sys.executable).parent)
    if command is None:
        pytest.skip("needs ruff")
    homes = [home for home in HOMES if (ROOT / home).is_dir()]
    done = subprocess.run(
        [command, "format", "--check", *homes], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout
