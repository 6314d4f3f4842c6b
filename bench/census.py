"""Count a Python package as a page: sizes, density, comments, types. One Markdown column a package.

    python bench/census.py dialtools before/dialtools site-packages/csvkit

What cannot be read off the files (type errors) is not here: `make types` counts those.
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

LONG_LINE = 100
LONG_FUNCTION = 40
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
BLOCKS = (ast.For, ast.AsyncFor, ast.While, ast.If, ast.With, ast.AsyncWith, ast.Try, ast.Match)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
NOT_A_COMMENT = re.compile(r"#\s*(fmt:|noqa|type:|pyright:|!|ruff:)")


@dataclass
class Census:
    """What was counted in a package; lists hold one number a file, function or line."""

    file_lines: list[int] = field(default_factory=list)
    line_lengths: list[int] = field(default_factory=list)
    function_lines: list[int] = field(default_factory=list)
    nesting: list[int] = field(default_factory=list)
    parameters: list[bool] = field(default_factory=list)
    returns: list[bool] = field(default_factory=list)
    documented: list[bool] = field(default_factory=list)
    nodes: int = 0
    statements: int = 0
    docstring_lines: int = 0
    comments: int = 0
    suppressed: int = 0
    nested_ternaries: int = 0
    nested_comprehensions: int = 0
    lazy_standard: int = 0


def census(package: Path) -> Census:
    """Count all Python files below a folder."""
    counted = Census()
    for path in sorted(package.rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        _count_lines(source, counted)
        tree = ast.parse(source)
        for node in ast.walk(tree):
            _count_node(node, counted)
        _count_functions(tree, counted)
    return counted


def _count_lines(source: str, counted: Census) -> None:
    lines = source.splitlines()
    counted.file_lines.append(len(lines))
    counted.line_lengths += [len(line) for line in lines if line.strip()]
    counted.suppressed += len(re.findall(r"# fmt: (?:skip|off)", source))
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT and not NOT_A_COMMENT.match(token.string):
            counted.comments += 1


def _count_node(node: ast.AST, counted: Census) -> None:
    counted.nodes += 1
    if isinstance(node, ast.stmt):
        counted.statements += 1
    if isinstance(node, (ast.Module, ast.ClassDef, *FUNCTIONS)) and ast.get_docstring(node):
        docstring = node.body[0]
        counted.docstring_lines += (docstring.end_lineno or 0) - docstring.lineno + 1
    counted.nested_ternaries += _holds_its_like(node, (ast.IfExp,))
    counted.nested_comprehensions += _holds_its_like(node, COMPREHENSIONS)


def _holds_its_like(node: ast.AST, kinds: tuple[type[ast.AST], ...]) -> bool:
    inside = (inner for inner in ast.walk(node) if inner is not node)
    return isinstance(node, kinds) and any(isinstance(inner, kinds) for inner in inside)


def _count_functions(tree: ast.Module, counted: Census) -> None:
    for node in ast.walk(tree):
        if not isinstance(node, FUNCTIONS):
            continue
        counted.function_lines.append((node.end_lineno or 0) - node.lineno + 1)
        counted.nesting.append(_depth(node.body))
        named = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
        typed = [a.annotation is not None for a in named if a.arg not in ("self", "cls")]
        counted.parameters += typed
        counted.returns.append(node.returns is not None)
        if not node.name.startswith("_"):
            counted.documented.append(ast.get_docstring(node) is not None)
        counted.lazy_standard += sum(map(_imports_standard_library, ast.walk(node)))


def _depth(body: Sequence[ast.stmt]) -> int:
    """Return how many blocks deep statements stand; an `elif` is no deeper than its `if`."""
    deepest = 0
    for statement in body:
        if isinstance(statement, BLOCKS):
            deepest = max(deepest, 1 + max(map(_depth, _bodies(statement)), default=0))
    return deepest


def _bodies(block: ast.stmt) -> Iterator[list[ast.stmt]]:
    for name in ("body", "orelse", "finalbody"):
        body = getattr(block, name, [])
        is_elif = name == "orelse" and len(body) == 1 and isinstance(body[0], ast.If)
        yield from _bodies(body[0]) if is_elif else [body]
    for part in (*getattr(block, "handlers", []), *getattr(block, "cases", [])):
        yield part.body


def _imports_standard_library(node: ast.AST) -> bool:
    if isinstance(node, ast.Import):
        return node.names[0].name.split(".")[0] in sys.stdlib_module_names
    is_absolute = isinstance(node, ast.ImportFrom) and node.module and not node.level
    return bool(is_absolute) and node.module.split(".")[0] in sys.stdlib_module_names


def rows(counted: Census) -> dict[str, str]:
    """Return the census as cells of a table by the names of its rows."""
    long_lines = sum(length > LONG_LINE for length in counted.line_lengths)
    non_blank = len(counted.line_lengths)
    comments = percent(counted.comments, non_blank, 1)
    long_functions = sum(lines > LONG_FUNCTION for lines in counted.function_lines)
    return {
        "files, lines": f"{len(counted.file_lines)}, {sum(counted.file_lines):,}",
        "file: median / p90 / max": quantiles(counted.file_lines, 50, 90, 100),
        "functions": f"{len(counted.function_lines):,}",
        "function: median / p90 / p99 / max": quantiles(counted.function_lines, 50, 90, 99, 100),
        f"functions over {LONG_FUNCTION} lines": str(long_functions),
        "line: median / p90 / max": quantiles(counted.line_lengths, 50, 90, 100),
        f"lines over {LONG_LINE}": f"{long_lines:,} ({percent(long_lines, non_blank, 1)})",
        "`fmt: skip` or `off`": str(counted.suppressed),
        "AST nodes a statement": f"{counted.nodes / counted.statements:.1f}",
        "comments, share of lines": f"{counted.comments} ({comments})",
        "docstrings, share of lines": percent(counted.docstring_lines, non_blank, 1),
        "deepest nesting": str(max(counted.nesting)),
        "ternary in a ternary": str(counted.nested_ternaries),
        "comprehension in a comprehension": str(counted.nested_comprehensions),
        "standard library imported in functions": str(counted.lazy_standard),
        "parameters / returns annotated": f"{share(counted.parameters)} / {share(counted.returns)}",
        "public functions documented": share(counted.documented),
    }


def quantiles(values: Sequence[int], *percents: int) -> str:
    """Return quantiles of whole numbers, `5 / 14 / 40`."""
    return " / ".join(f"{np.percentile(values, percent):,.0f}" for percent in percents)


def percent(part: int, whole: int, digits: int) -> str:
    """Return a share as text, `14.8 %`."""
    return f"{100 * part / whole:.{digits}f} %"


def share(flags: Sequence[bool]) -> str:
    """Return how many of them are true, in percent."""
    return percent(sum(flags), len(flags), 0)


def main(packages: Sequence[str]) -> None:
    """Print a Markdown table, a column for each package."""
    columns = [rows(census(Path(package))) for package in packages]
    print("| | " + " | ".join(packages) + " |")
    print("| --- " * (len(packages) + 1) + "|")
    for name in columns[0]:
        print(f"| {name} | " + " | ".join(column[name] for column in columns) + " |")


if __name__ == "__main__":
    main(sys.argv[1:])
