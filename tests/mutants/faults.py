"""Realistic faults of a Python file: each is one small change of its text.

A fault is what a tired person writes: `<` for `<=`, a mask not applied, a seed forgotten, two
arguments swapped. What only people read (docstrings, messages, annotations) is left alone.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from types import CodeType

BETWEEN = "  ->  "


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


OTHER_OPERATOR: dict[type, type] = {
    **{ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt},
    **{ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is},
    **{ast.In: ast.NotIn, ast.NotIn: ast.In, ast.And: ast.Or, ast.Or: ast.And},
    **{ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult},
    **{ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.Mod: ast.FloorDiv},
}
_PAIRS = (
    *("min max", "any all", "sum mean", "argmin argmax", "startswith endswith", "lstrip rstrip"),
    *("split rsplit", "floor ceil", "zeros ones", "minimum maximum", "logical_and logical_or"),
)
OTHER_NAME = {a: b for pair in map(str.split, _PAIRS) for a, b in (pair, pair[::-1])}
OTHER_TEXT = {"mean": "sum", "sum": "mean", "left": "right", "right": "left"}
# x.detach() or nn.functional.normalize(x): as if it were x
UNDONE = _words(
    "detach copy clone float strip lower casefold masked_fill clamp clip abs log log1p exp sqrt "
    "normalize softmax sorted reversed set unique softplus nan_to_num cumsum resolve absolute "
    "rstrip lstrip removesuffix removeprefix"
)
MODULES = _words("np torch nn functional math os F json orjson pa pc itertools")
# keywords that the callee can do without, so that dropping one goes unnoticed until it matters
FORGOTTEN = _words(
    "seed generator axis dim keepdim keepdims key reverse start stable kind side minlength copy "
    "mask excluded weights weight initial default ddof errors encoding newline overwrite "
    "reduction daemon dtype endpoint method correction maxsplit replace"
)
COMMUTE = _words(
    "max min maximum minimum logaddexp equal array_equal array_equiv hypot gcd suppress"
)
UNREAD = _words("warn warning info debug heartbeat log")  # calls that tell people
UNSEEN = ("annotation", "returns", "decorator_list", "bases")
LARGE = 256  # larger whole numbers are sizes of buffers: one more or less is the same program


@dataclass(frozen=True)
class Fault:
    """One change of one file.

    Attributes:
        path: of the file, from the root of the repository.
        line: where it begins, from 1.
        scope: the qualified name of the function that it is in; "" at module level.
        before, after: the lines that it changes, white space folded.
        source: the whole file with the fault.
    """

    path: str
    line: int
    scope: str
    before: str
    after: str
    source: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}  {shorten(self.before)}{BETWEEN}{shorten(self.after)}"

    @property
    def name(self) -> str:
        """The fault as lists of faults have it."""
        return f"{self.path}  {self.before}{BETWEEN}{self.after}"

    def makes_another(self, program: CodeType) -> bool:
        """Whether it is Python at all, and not the same program in other words."""
        try:
            return compiled(self.source) != program
        except SyntaxError:
            return False


def compiled(source: str) -> CodeType:
    """Return what a file does: equal for texts that differ in brackets and line breaks alone."""
    return compile(ast.unparse(ast.parse(source)), "", "exec")


def shorten(text: str) -> str:
    """Return at most a line's worth of text."""
    return text if len(text) <= 160 else f"{text[:157]}..."


def find(path: str, source: str) -> Iterator[Fault]:
    """Yield the faults of a file, in the order of its lines."""
    seen = set()
    for node, scope in _code(ast.parse(source), ""):
        for changed, text in _changes(node):
            fault = replace(path, source, scope, changed, text)
            if fault.name not in seen and fault.before != fault.after:
                seen.add(fault.name)
                yield fault


def replace(path: str, source: str, scope: str, node: ast.AST, text: str) -> Fault:
    """Put a text in the place of a node."""
    data = source.encode()
    starts = [0]
    for line in data.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    begin = starts[node.lineno - 1] + node.col_offset
    end = starts[node.end_lineno - 1] + node.end_col_offset
    first, last = starts[node.lineno - 1], starts[node.end_lineno]
    middle = data[first:begin] + text.encode() + data[end:last]
    whole = (data[:first] + middle + data[last:]).decode()
    fold = lambda piece: " ".join(piece.decode().split())  # noqa: E731
    return Fault(path, node.lineno, scope, fold(data[first:last]), fold(middle), whole)


def _code(node: ast.AST, scope: str) -> Iterator[tuple[ast.AST, str]]:
    """Yield the nodes that run, each with the qualified name of its function."""
    if _is_for_people(node):
        return
    yield node, scope
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.LShift):
        return  # a size such as 1 << 20
    inner = scope
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        inner = f"{scope}.{node.name}".removeprefix(".")
        if not isinstance(node, ast.ClassDef):
            inner += ".<locals>"
    for field, value in ast.iter_fields(node):
        if field in UNSEEN:
            continue
        # defaults are made when the function is defined, in the scope around it
        where = scope if isinstance(node, ast.arguments) and "defaults" in field else inner
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from _code(child, where)


def function_of(scope: str) -> str:
    """Return the outermost function or method of a scope, or nothing at module or class level."""
    return scope.split(".<locals>")[0] if ".<locals>" in scope else ""


def _is_for_people(node: ast.AST) -> bool:
    """Whether a node is a message, a docstring, or of the reader of types."""
    match node:
        case ast.Raise() | ast.JoinedStr() | ast.Import() | ast.ImportFrom() | ast.Assert():
            return True
        case ast.Expr(value=ast.Constant()) | ast.keyword(arg="strict" | "metavar" | "help"):
            return True
        case ast.FunctionDef(name="__repr__" | "__str__"):
            return True
        case ast.If(test=ast.Name(id="TYPE_CHECKING")):
            return True
        case ast.Call(func=ast.Attribute(attr=name)):
            return name in UNREAD and not _is_module(node.func.value)
    return False


def _is_module(node: ast.AST) -> bool:
    return getattr(node, "id", getattr(node, "attr", "")) in MODULES


def _changes(node: ast.AST) -> Iterator[tuple[ast.AST, str]]:
    """Yield what to replace, and by what text."""
    for change in CHANGES.get(type(node), ()):
        for text in change(node):
            yield (node, text) if isinstance(text, str) else text


def _with(node: ast.AST, **fields: object) -> str:
    """Return the text of a node with some fields changed."""
    changed = copy.copy(node)
    for name, value in fields.items():
        setattr(changed, name, value)
    return ast.unparse(changed)


def _compare(node: ast.Compare) -> Iterator[str]:
    for i, operator in enumerate(node.ops):
        ops = list(node.ops)
        ops[i] = OTHER_OPERATOR[type(operator)]()
        yield _with(node, ops=ops)


def _operation(node: ast.BinOp) -> Iterator[str]:
    of_text = any(
        isinstance(side, ast.JoinedStr) or isinstance(getattr(side, "value", None), str)
        for side in (node.left, node.right)
        if isinstance(side, ast.JoinedStr | ast.Constant)
    )
    if type(node.op) in OTHER_OPERATOR and not of_text:
        yield f"({_with(node, op=OTHER_OPERATOR[type(node.op)]())})"
    if isinstance(node.op, ast.FloorDiv):
        yield f"-(-({ast.unparse(node.left)}) // ({ast.unparse(node.right)}))"


def _either(node: ast.BoolOp) -> Iterator[str]:
    yield f"({_with(node, op=OTHER_OPERATOR[type(node.op)]())})"
    for i in range(len(node.values)):
        rest = node.values[:i] + node.values[i + 1 :]
        yield ast.unparse(rest[0]) if len(rest) == 1 else _with(node, values=rest)


def _sign(node: ast.UnaryOp) -> Iterator[str]:
    if not isinstance(node.op, ast.UAdd):
        yield f"({ast.unparse(node.operand)})"


def _constant(node: ast.Constant) -> Iterator[str]:
    value = node.value
    if isinstance(value, bool):
        yield str(not value)
    elif isinstance(value, int) and value < LARGE:
        yield from map(str, {value + 1, abs(value - 1)})
    elif isinstance(value, float):
        yield str(value * 2 or 1.0)
    elif isinstance(value, str) and value in OTHER_TEXT:
        yield repr(OTHER_TEXT[value])


def _condition(node: ast.If | ast.While | ast.IfExp) -> Iterator[tuple[ast.AST, str]]:
    yield from _negated(node.test)
    if isinstance(node, ast.If) and isinstance(node.body[0], ast.Raise) and not node.orelse:
        yield node.test, "False"


def _negated(test: ast.expr) -> Iterator[tuple[ast.AST, str]]:
    done_elsewhere = isinstance(test, ast.UnaryOp) or (
        isinstance(test, ast.Compare)
        and isinstance(test.ops[0], ast.Eq | ast.NotEq | ast.Is | ast.IsNot | ast.In | ast.NotIn)
    )
    if not done_elsewhere:
        yield test, f"not ({ast.unparse(test)})"


def _filters(node: ast.comprehension) -> Iterator[tuple[ast.AST, str]]:
    for test in node.ifs:
        yield test, "True"
        yield from _negated(test)


def _swapped_arguments(node: ast.Call) -> Iterator[str]:
    if getattr(node.func, "id", getattr(node.func, "attr", "")) in COMMUTE:
        return
    kinds = [ast.Name, ast.Attribute, ast.Constant, ast.Subscript]
    for i, (a, b) in enumerate(zip(node.args, node.args[1:], strict=False)):
        if type(a) is type(b) and type(a) in kinds:
            yield _with(node, args=[*node.args[:i], b, a, *node.args[i + 2 :]])


def _forgotten_keyword(node: ast.Call) -> Iterator[str]:
    for keyword in node.keywords:
        usual = ast.unparse(node.func).endswith("normalize") and ast.unparse(keyword) == "dim=1"
        if keyword.arg in FORGOTTEN and not usual:
            yield _with(node, keywords=[k for k in node.keywords if k is not keyword])


def _other_function(node: ast.Call) -> Iterator[str]:
    match node.func:
        case ast.Name(id=name) if name in OTHER_NAME:
            yield _with(node, func=ast.Name(OTHER_NAME[name]))
        case ast.Attribute(_, "split" | "rsplit") if len(node.args) + len(node.keywords) < 2:
            return  # without a bound they are one
        case ast.Attribute(value, name) if name in OTHER_NAME:
            yield _with(node, func=ast.Attribute(value, OTHER_NAME[name]))


def _undone(node: ast.Call) -> Iterator[str]:
    match node:
        case ast.Call(ast.Attribute(value, name)) if name in UNDONE and not _is_module(value):
            yield ast.unparse(value)
        case ast.Call(ast.Name("sorted" | "reversed" | "set"), [first]):
            yield f"list({ast.unparse(first)})"
        case ast.Call(ast.Name("range"), [*first, last]):
            yield _with(node, args=[*first, ast.BinOp(last, ast.Sub(), ast.Constant(1))])
        case ast.Call(ast.Attribute(_, name) | ast.Name(name), [first, *_]) if name in UNDONE:
            yield f"({ast.unparse(first)})"


def _transposed(node: ast.Attribute) -> Iterator[str]:
    if node.attr in ("T", "mT"):
        yield ast.unparse(node.value)


def _slice(node: ast.Slice) -> Iterator[str]:
    for side, operator in (("lower", ast.Add()), ("upper", ast.Sub())):
        if end := getattr(node, side):
            yield _with(node, **{side: None})
            if not isinstance(end, ast.Constant):
                yield _with(node, **{side: ast.BinOp(end, operator, ast.Constant(1))})


def _left_out(node: ast.stmt) -> Iterator[str]:
    match node:
        case ast.Expr(value=ast.Call()) | ast.AugAssign() | ast.Delete():
            yield "pass"
        case ast.Assign(targets=[ast.Subscript()]):
            yield "pass"
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            if any(getattr(part, "id", "") == name for part in ast.walk(value)):
                yield "pass"
        case ast.Break():
            yield "continue"
        case ast.Continue():
            yield "break"
        case ast.Return(value=ast.Tuple(elts=[a, b])):
            yield f"return ({ast.unparse(b)}, {ast.unparse(a)})"
    if isinstance(node, ast.AugAssign) and type(node.op) in OTHER_OPERATOR:
        yield _with(node, op=OTHER_OPERATOR[type(node.op)]())


def _without(node: ast.With) -> Iterator[tuple[ast.AST, str]]:
    """Keep the body of `with torch.no_grad():` or `with seeded(seed):`, not what it is under."""
    if len(node.items) == 1 and node.items[0].optional_vars is None:
        yield node.items[0].context_expr, "__import__('contextlib').nullcontext()"


def _decorators(node: ast.FunctionDef) -> Iterator[tuple[ast.AST, str]]:
    for decorator in node.decorator_list:
        if any(name in ast.unparse(decorator) for name in ("no_grad", "inference_mode")):
            yield decorator, "(lambda function: function)"


Change = Callable[[ast.AST], Iterable["str | tuple[ast.AST, str]"]]
CHANGES: dict[type, tuple[Change, ...]] = {
    ast.Compare: (_compare,),
    ast.BinOp: (_operation,),
    ast.BoolOp: (_either,),
    ast.UnaryOp: (_sign,),
    ast.Constant: (_constant,),
    ast.If: (_condition,),
    ast.While: (_condition,),
    ast.IfExp: (_condition,),
    ast.comprehension: (_filters,),
    ast.Call: (_swapped_arguments, _forgotten_keyword, _other_function, _undone),
    ast.Attribute: (_transposed,),
    ast.Slice: (_slice,),
    ast.With: (_without,),
    ast.FunctionDef: (_decorators,),
    **dict.fromkeys((ast.Expr, ast.AugAssign, ast.Delete, ast.Assign), (_left_out,)),
    **dict.fromkeys((ast.Break, ast.Continue, ast.Return), (_left_out,)),
}
