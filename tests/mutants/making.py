"""The mutants of a source file: every small change of meaning at every place, found in the syntax tree.

A mutant replaces one stretch of the text, so that all other lines stay where they are. Left alone: docstrings and
other strings, annotations, decorators, assertions, what stands for type checkers, and the messages of errors.
"""

from __future__ import annotations

import ast
import collections
import difflib
import hashlib
import pathlib
import warnings
from collections.abc import Iterator
from typing import NamedTuple

COMPARED: dict[type[ast.cmpop], tuple[str, ...]] = {
    ast.Lt: ("<=", ">="),
    ast.LtE: ("<", ">"),
    ast.Gt: (">=", "<="),
    ast.GtE: (">", "<"),
    ast.Eq: ("!=",),
    ast.NotEq: ("==",),
    ast.Is: ("is not",),
    ast.IsNot: ("is",),
    ast.In: ("not in",),
    ast.NotIn: ("in",),
}
COMPUTED: dict[type[ast.operator], tuple[str, str]] = {
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "/"),
    ast.Div: ("/", "*"),
    ast.FloorDiv: ("//", "*"),
    ast.Mod: ("%", "*"),
    ast.Pow: ("**", "*"),
    ast.MatMult: ("@", "*"),
    ast.BitOr: ("|", "&"),
    ast.BitAnd: ("&", "|"),
}
EXCHANGED = {"min": "max", "max": "min", "any": "all", "all": "any", "minimum": "maximum", "maximum": "minimum"}
UNTOUCHED_NAMES = {"__all__", "__slots__", "__version__"}


class Mutant(NamedTuple):
    """One change: the text from `start` to `end` becomes `text`."""

    path: str  # inside the checkout
    line: int
    kind: str
    start: int
    end: int
    text: str
    function: str  # the qualified name of the innermost function; empty outside of any
    offset: int  # of the line from that of `def`; −1 in its head
    place: str  # the line, with the stretch marked
    twin: int  # how many equal places of the function come before it

    @property
    def name(self) -> str:
        """Stays the same as long as the line does: changes elsewhere leave a sample nearly as it is."""
        return f"{self.path}:{self.function}:{self.place} -> {self.text} ({self.twin})"

    def apply(self, source: str) -> str:
        """The mutated source."""
        return source[: self.start] + self.text + source[self.end :]

    def diff(self, source: str) -> str:
        """The change for people to read."""
        before, after = source.splitlines(), self.apply(source).splitlines()
        lines = difflib.unified_diff(before, after, self.path, self.path, lineterm="", n=1)
        return "\n".join(list(lines)[2:])


def mutants(path: pathlib.Path, root: pathlib.Path) -> list[Mutant]:
    """All mutants of a file, without repetitions; not all of them compile."""
    source = path.read_text()
    found: dict[tuple[int, int, str], Mutant] = {}
    for mutant in _Finder(source, path.relative_to(root).as_posix()).all():
        if source[mutant.start : mutant.end] != mutant.text:
            found.setdefault((mutant.start, mutant.end, mutant.text), mutant)
    names: collections.Counter[str] = collections.Counter()
    result = []
    for mutant in sorted(found.values()):
        result.append(mutant._replace(twin=names[mutant.name]))
        names[mutant.name] += 1
    return result


def sample(root: pathlib.Path, paths: list[pathlib.Path], count: int, seed: int) -> list[Mutant]:
    """That many mutants of these files, all equally likely, in an order by chance; the same for the same seed."""
    every = [mutant for path in paths for mutant in mutants(path, root)]
    every.sort(key=lambda mutant: hashlib.sha256(f"{seed}:{mutant.name}".encode()).digest())
    chosen: list[Mutant] = []
    for mutant in every:
        if len(chosen) == count:
            break
        if _is_python(mutant.apply((root / mutant.path).read_text())):
            chosen.append(mutant)
    return chosen


def _is_python(source: str) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)
            compile(source, "mutant", "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return False
    return True


class _Finder:
    """Goes through a tree and knows in which function it is."""

    def __init__(self, source: str, path: str) -> None:
        self.source, self.path = source, path
        self.starts = [0]
        for line in source.splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))
        self.encoded = [line.encode() for line in source.splitlines(keepends=True)]
        self.scope: list[str] = []
        self.function, self.first, self.is_head = "", 0, False

    def all(self) -> Iterator[Mutant]:
        yield from self.body(ast.parse(self.source).body)

    def at(self, line: int, column: int) -> int:
        """The place in the text; columns of the tree count bytes."""
        return self.starts[line - 1] + len(self.encoded[line - 1][:column].decode())

    def span(self, node: ast.AST) -> tuple[int, int]:
        assert isinstance(node, ast.expr | ast.stmt | ast.keyword)
        assert node.end_lineno is not None and node.end_col_offset is not None
        return self.at(node.lineno, node.col_offset), self.at(node.end_lineno, node.end_col_offset)

    def text(self, node: ast.AST) -> str:
        start, end = self.span(node)
        return self.source[start:end]

    def make(self, kind: str, start: int, end: int, text: str) -> Mutant:
        line = self.source.count("\n", 0, start) + 1
        offset = -1 if self.is_head else line - self.first
        first, last = self.source.rfind("\n", 0, start) + 1, self.source.find("\n", end)
        place = f"{self.source[first:start]}«{self.source[start:end]}»{self.source[end:last]}".strip()
        return Mutant(self.path, line, kind, start, end, text, self.function, offset, place, 0)

    def replace(self, kind: str, node: ast.AST, text: str) -> Mutant:
        return self.make(kind, *self.span(node), text)

    def between(self, kind: str, left: ast.AST, right: ast.AST, old: str, new: str) -> Iterator[Mutant]:
        """Exchange an operator, which stands between two expressions, perhaps among brackets."""
        start, end = self.span(left)[1], self.span(right)[0]
        place = self.source.find(old, start, end)
        if place >= 0:
            yield self.make(kind, place, place + len(old), new)

    # Statements

    def body(self, statements: list[ast.stmt]) -> Iterator[Mutant]:
        for i, statement in enumerate(statements):
            if i == 0 and isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
                continue  # a docstring
            yield from self.statement(statement)

    def statement(self, node: ast.stmt) -> Iterator[Mutant]:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from self.definition(node)
        elif isinstance(node, ast.ClassDef):
            self.scope.append(node.name)
            yield from self.body(node.body)
            self.scope.pop()
        elif isinstance(node, ast.Assert | ast.Import | ast.ImportFrom | ast.Global | ast.Nonlocal | ast.Pass):
            return
        elif isinstance(node, ast.Raise):
            if self.function:
                yield self.replace("dropped", node, "pass")
        elif isinstance(node, ast.Break | ast.Continue):
            yield self.replace("jump", node, "continue" if isinstance(node, ast.Break) else "break")
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            return
        else:
            yield from self.other(node)

    def other(self, node: ast.stmt) -> Iterator[Mutant]:
        """A statement that holds expressions, and perhaps statements."""
        if isinstance(node, ast.Assign) and UNTOUCHED_NAMES & {ast.unparse(target) for target in node.targets}:
            return
        if self.function and isinstance(node, ast.Assign | ast.AugAssign | ast.Expr) and not _is_text(node):
            yield self.replace("dropped", node, "pass")
        if isinstance(node, ast.AugAssign) and type(node.op) in COMPUTED:
            old, new = COMPUTED[type(node.op)]
            yield from self.between("operator", node.target, node.value, f"{old}=", f"{new}=")
        if isinstance(node, ast.If | ast.While) and not isinstance(node.test, ast.Constant):
            yield self.replace("condition", node.test, f"not ({self.text(node.test)})")
        for field, value in ast.iter_fields(node):
            if field in ("annotation", "returns"):
                continue
            for part in value if isinstance(value, list) else [value]:
                if isinstance(part, ast.stmt):
                    yield from self.statement(part)
                elif isinstance(part, ast.expr):
                    yield from self.expression(part)
                elif isinstance(part, ast.ExceptHandler | ast.match_case):
                    yield from self.body(part.body)
                elif isinstance(part, ast.withitem):
                    yield from self.expression(part.context_expr)

    def definition(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[Mutant]:
        outer = self.function, self.first
        self.scope.append(node.name)
        self.function, self.first, self.is_head = ".".join(self.scope), node.lineno, True
        for default in (*node.args.defaults, *node.args.kw_defaults):
            if default is not None:
                yield from self.expression(default)
        self.is_head = False
        yield from self.body(node.body)
        self.scope.pop()
        self.function, self.first = outer

    # Expressions

    def expression(self, node: ast.expr) -> Iterator[Mutant]:
        if isinstance(node, ast.JoinedStr):
            return
        yield from self.own(node)
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                yield from self.expression(child)
            elif isinstance(child, ast.keyword):
                yield from self.expression(child.value)
            elif isinstance(child, ast.comprehension):
                for part in (child.iter, *child.ifs):
                    yield from self.expression(part)
                for part in child.ifs:
                    yield self.replace("condition", part, f"not ({self.text(part)})")

    def own(self, node: ast.expr) -> Iterator[Mutant]:
        """What can be wrong with this expression itself."""
        if isinstance(node, ast.Compare):
            operands = [node.left, *node.comparators]
            for i, operator in enumerate(node.ops):
                for new in COMPARED[type(operator)]:
                    old = _symbol(operator)
                    yield from self.between("comparison", operands[i], operands[i + 1], old, new)
        elif isinstance(node, ast.BinOp) and type(node.op) in COMPUTED and not _is_text(node):
            yield from self.between("operator", node.left, node.right, *COMPUTED[type(node.op)])
        elif isinstance(node, ast.BoolOp):
            old, new = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
            for left, right in zip(node.values, node.values[1:]):
                yield from self.between("logic", left, right, old, new)
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.Not):
            yield self.replace("sign", node, f"({self.text(node.operand)})")
        elif isinstance(node, ast.IfExp):
            yield self.replace("condition", node.test, f"not ({self.text(node.test)})")
        elif isinstance(node, ast.Constant):
            yield from self.constant(node)
        elif isinstance(node, ast.Call):
            yield from self.call(node)
        elif isinstance(node, ast.Slice):
            for bound in (node.lower, node.upper):
                if bound is not None and not isinstance(bound, ast.Constant):
                    yield self.replace("off by one", bound, f"{self.text(bound)} + 1")

    def constant(self, node: ast.Constant) -> Iterator[Mutant]:
        value = node.value
        if isinstance(value, bool):
            yield self.replace("constant", node, str(not value))
        elif isinstance(value, int):
            yield self.replace("constant", node, str(value + 1))
        elif isinstance(value, float):
            yield self.replace("constant", node, repr(2.0 * value) if value else "1.0")

    def call(self, node: ast.Call) -> Iterator[Mutant]:
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        plain = [argument for argument in node.args if not isinstance(argument, ast.Starred)]
        if name in EXCHANGED:
            end = self.span(node.func)[1]
            yield self.make("min and max", end - len(name), end, EXCHANGED[name])
        if name == "range" and plain:
            last = plain[min(1, len(plain) - 1)]
            yield self.replace("off by one", last, f"{self.text(last)} - 1")
        if len(plain) >= 2 and name not in {*EXCHANGED, "isinstance", "hasattr", "zip"}:
            first, second = plain[0], plain[1]
            start, end = self.span(first)[0], self.span(second)[1]
            middle = self.source[self.span(first)[1] : self.span(second)[0]]
            yield self.make("swapped", start, end, f"{self.text(second)}{middle}{self.text(first)}")
        for keyword in node.keywords:
            if keyword.arg is not None and len(node.args) + len(node.keywords) > 1:
                start, end = self.span(keyword)
                before = self.source.rfind(",", 0, start)
                opening = self.source.rfind("(", 0, start)
                if before > opening:
                    yield self.make("argument left out", before, end, "")


def _symbol(operator: ast.cmpop) -> str:
    return ast.unparse(ast.Compare(ast.Name("a"), [operator], [ast.Name("b")]))[2:-2]


def _is_text(node: ast.AST) -> bool:
    """Whether this is a string, or made of strings: a message, a docstring of a field."""
    return any(
        isinstance(part, ast.JoinedStr) or (isinstance(part, ast.Constant) and isinstance(part.value, str))
        for part in ([node, node.value] if isinstance(node, ast.Expr) else [node])
    ) or (isinstance(node, ast.BinOp) and (_is_text(node.left) or _is_text(node.right)))
