"""Faults of Python source: small changes of one expression or statement, as edits of the text."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

_COMPARISONS: Mapping[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_ARITHMETIC: Mapping[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}
_COMMUTATIVE = ("minimum", "maximum", "gcd", "lcm", "array_equal", "isclose", "add", "multiply")
"""Functions to which the order of two arguments is one."""
_CALLS = {"any": "all", "all": "any", "min": "max", "max": "min"}


class Kind(Enum):
    """What a fault changes."""

    COMPARISON = "comparison"
    LOGIC = "logic"
    NEGATION = "negation"
    CALL = "call"
    ARITHMETIC = "arithmetic"
    CONSTANT = "constant"
    SLICE = "slice"
    STATEMENT = "statement"
    ARGUMENTS = "arguments"
    BRANCH = "branch"
    RETURN = "return"


@dataclass(frozen=True, slots=True)
class Fault:
    """One change of a file.

    Attributes
    ----------
    path
        Of the file, from the root of the tree.
    place
        The function or class that has it, by its qualified name; empty for the module.
    start, end
        The characters that are replaced.
    new
        What replaces them.
    number
        Tells alike changes of one place apart, from 0.
    """

    path: str
    kind: Kind
    place: str
    line: int
    start: int
    end: int
    old: str
    new: str
    number: int = 0

    @property
    def name(self) -> str:
        """A text that stays while other lines of the file change."""
        again = f" ({self.number + 1})" if self.number else ""
        return f"{self.path} {self.place}: {_flat(self.old)} => {_flat(self.new)}{again}"

    def planted(self, text: str) -> str:
        """The file's text with the fault."""
        return text[: self.start] + self.new + text[self.end :]


def list_faults(path: str, text: str) -> tuple[Fault, ...]:
    """Every fault of a file, in the order of its lines."""
    found = sorted(_Lister(path, text).faults(), key=lambda fault: (fault.start, fault.end))
    seen: Counter[str] = Counter()
    numbered = []
    for fault in found:
        if not _compiles(f"_[{fault.new}]" if fault.kind is Kind.SLICE else fault.new):
            continue
        numbered.append(_numbered(fault, seen[fault.name]))
        seen[fault.name] += 1
    return tuple(numbered)


def _numbered(fault: Fault, number: int) -> Fault:
    values = {name: getattr(fault, name) for name in Fault.__dataclass_fields__}
    return Fault(**{**values, "number": number})


def _compiles(text: str) -> bool:
    """Whether a piece of a file can be parsed: the whole file takes a hundred times as long."""
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True


def _flat(text: str) -> str:
    """Text on one line."""
    return " ".join(text.split())


class _Lister(ast.NodeVisitor):
    """Lists the faults of a file. Left out is what does not compute: annotations, decorators,
    assertions, what is there for type checkers alone, and text."""

    def __init__(self, path: str, text: str) -> None:
        self._path = path
        self._text = text
        self._found: list[Fault] = []
        self._places: list[str] = []
        # The offset of each line, in characters; columns of nodes count bytes.
        self._lines = text.splitlines(keepends=True)
        self._offsets = [0]
        for line in self._lines:
            self._offsets.append(self._offsets[-1] + len(line))

    def faults(self) -> list[Fault]:
        """All faults, unsorted."""
        self.visit(ast.parse(self._text))
        return self._found

    # Where -------------------------------------------------------------------------------

    def _offset(self, line: int, column: int) -> int:
        before = self._lines[line - 1].encode()[:column].decode()
        return self._offsets[line - 1] + len(before)

    def _replace(self, kind: Kind, node: ast.expr | ast.stmt, new: str | ast.AST) -> None:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        start = self._offset(node.lineno, node.col_offset)
        end = self._offset(node.end_lineno, node.end_col_offset)
        text = new if isinstance(new, str) else ast.unparse(new)
        place, old = ".".join(self._places), self._text[start:end]
        if _flat(text) != _flat(old):
            fault = Fault(self._path, kind, place, node.lineno, start, end, old, text)
            self._found.append(fault)

    # What is left out --------------------------------------------------------------------

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """Text, in which positions of expressions are wrong before Python 3.12."""

    def visit_Assert(self, node: ast.Assert) -> None:
        """A statement that is always true."""

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None and "TypeAlias" not in ast.unparse(node.annotation):
            self.visit(node.value)

    def visit_If(self, node: ast.If) -> None:
        if ast.unparse(node.test) == "TYPE_CHECKING":
            return
        self.generic_visit(node)

    def visit_Raise(self, node: ast.Raise) -> None:
        """Only whether it raises; not what it says."""
        self._replace(Kind.STATEMENT, node, "pass")

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self._places.append(node.name)
        for default in (*node.args.defaults, *node.args.kw_defaults):
            if default is not None:
                self.visit(default)
        for statement in node.body:
            self.visit(statement)
        self._places.pop()

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._places.append(node.name)
        for statement in node.body:
            self.visit(statement)
        self._places.pop()

    # Expressions -------------------------------------------------------------------------

    def visit_Compare(self, node: ast.Compare) -> None:
        for at, operator in enumerate(node.ops):
            ops = list(node.ops)
            ops[at] = _COMPARISONS[type(operator)]()
            self._replace(Kind.COMPARISON, node, ast.Compare(node.left, ops, node.comparators))
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        self._replace(Kind.LOGIC, node, f"({ast.unparse(ast.BoolOp(other, node.values))})")
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        if isinstance(node.op, ast.Not):
            self._replace(Kind.NEGATION, node, f"({ast.unparse(node.operand)})")
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        other = _ARITHMETIC.get(type(node.op))
        if other is not None and not any(map(_is_sequence, (node.left, node.right))):
            changed = ast.unparse(ast.BinOp(node.left, other(), node.right))
            self._replace(Kind.ARITHMETIC, node, f"({changed})")
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        if isinstance(node.func, ast.Name) and node.func.id in _CALLS:
            self._replace(Kind.CALL, node.func, _CALLS[node.func.id])
        elif len(node.args) > 1 and not _is_commutative(node):
            first, second, *rest = node.args
            swapped = ast.Call(node.func, [second, first, *rest], node.keywords)
            if ast.unparse(first) != ast.unparse(second):
                self._replace(Kind.ARGUMENTS, node, swapped)
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, bool):
            self._replace(Kind.CONSTANT, node, str(not node.value))
        elif isinstance(node.value, int):
            self._replace(Kind.CONSTANT, node, str(node.value + 1))

    def visit_Slice(self, node: ast.Slice) -> None:
        if node.lower is not None:
            self._replace(Kind.SLICE, node, ast.Slice(None, node.upper, node.step))
        if node.upper is not None:
            self._replace(Kind.SLICE, node, ast.Slice(node.lower, None, node.step))
        self.generic_visit(node)

    def visit_IfExp(self, node: ast.IfExp) -> None:
        swapped = ast.IfExp(node.test, node.orelse, node.body)
        self._replace(Kind.BRANCH, node, f"({ast.unparse(swapped)})")
        self.generic_visit(node)

    # Statements --------------------------------------------------------------------------

    def visit_Expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Call):
            self._replace(Kind.STATEMENT, node, "pass")
            self.visit(node.value)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self._replace(Kind.STATEMENT, node, "pass")
        self.generic_visit(node)

    def visit_Continue(self, node: ast.Continue) -> None:
        self._replace(Kind.BRANCH, node, "break")

    def visit_Break(self, node: ast.Break) -> None:
        self._replace(Kind.BRANCH, node, "pass")

    def visit_Return(self, node: ast.Return) -> None:
        self._replace(Kind.RETURN, node, "pass")
        if node.value is None:
            return
        # `None` is as false as `False`, and mypy sees the difference.
        if not (isinstance(node.value, ast.Constant) and node.value.value in (None, False)):
            self._replace(Kind.RETURN, node, "return None")
        for call in ast.walk(node.value):
            # A call that empties something and returns it: what is left where it only looks?
            if isinstance(call, ast.Call) and _is_pop(call):
                self._replace(Kind.STATEMENT, call, _looked_at(call))
        self.visit(node.value)

    def visit_Assign(self, node: ast.Assign) -> None:
        if isinstance(node.value, ast.Call) and _is_pop(node.value):
            self._replace(Kind.STATEMENT, node.value, _looked_at(node.value))
        self.generic_visit(node)


def _is_commutative(call: ast.Call) -> bool:
    """Whether the first two arguments may be swapped, or are not two."""
    if any(isinstance(argument, ast.Starred) for argument in call.args[:2]):
        return True
    return isinstance(call.func, ast.Attribute) and call.func.attr in _COMMUTATIVE


def _is_pop(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr == "pop" and not call.args


def _looked_at(call: ast.Call) -> str:
    """The last element, which stays where it is."""
    assert isinstance(call.func, ast.Attribute)
    return f"{ast.unparse(call.func.value)}[-1]"


def _is_sequence(node: ast.expr) -> bool:
    """Whether an operand is certainly text or a list, which have no difference."""
    return isinstance(node, ast.JoinedStr | ast.List | ast.Tuple | ast.ListComp) or (
        isinstance(node, ast.Constant) and not isinstance(node.value, int | float)
    )
