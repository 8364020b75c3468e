"""The core with every operation watched: what the compiled one would do otherwise than Python is an error here."""

import ast
import operator
from functools import cache
from types import ModuleType
from typing import Any, Final

from gpusim.sim.core.source import CHIP

_OPERATORS: Final = {
    "Add": operator.add,
    "Sub": operator.sub,
    "Mult": operator.mul,
    "FloorDiv": operator.floordiv,
    "Mod": operator.mod,
    "LShift": operator.lshift,
    "RShift": operator.rshift,
    "BitAnd": operator.and_,
    "BitOr": operator.or_,
    "BitXor": operator.xor,
}
"""By the name of the operator in ``ast``."""


class _Watched(ast.NodeTransformer):
    """Puts a call in place of every operator and every index."""

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        called = ast.Name("_operated", ast.Load())
        kind = ast.Constant(type(node.op).__name__)
        return ast.copy_location(ast.Call(called, [kind, node.left, node.right], []), node)

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        """An element of a column refuses what has more than 64 bits by itself."""
        self.generic_visit(node)
        if isinstance(node.target, ast.Subscript):
            return node
        read = ast.parse(ast.unparse(node.target), mode="eval").body
        value = self.visit(ast.copy_location(ast.BinOp(read, node.op, node.value), node))
        return ast.copy_location(ast.Assign([node.target], value), node)

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.slice, ast.Slice):  # of Python's objects: no view is cut
            return node
        node.slice = ast.copy_location(ast.Call(ast.Name("_indexed", ast.Load()), [node.slice], []), node.slice)
        return node


def _operated(kind: str, left: Any, right: Any) -> Any:
    """Operate; of integers, only where C answers as Python does."""
    result = _OPERATORS[kind](left, right)
    if isinstance(result, int):
        if kind in ("FloorDiv", "Mod"):
            assert left >= 0, f"{left} is divided"
            assert right > 0, f"divided by {right}"
        assert -(1 << 63) <= result < 1 << 63, f"{left} {kind} {right} has more than 64 bits"
    return result


def _indexed(index: Any) -> Any:
    """Return an index; C does not count from the end."""
    assert not isinstance(index, int) or index >= 0, f"index {index}"
    return index


@cache
def checked_core() -> ModuleType:
    """The module of the watched core."""
    return watched(CHIP.code())


def watched(text: str) -> ModuleType:
    """The module of a text, with every operation watched."""
    module = ModuleType("watched")
    tree = ast.fix_missing_locations(_Watched().visit(ast.parse(text)))
    module.__dict__.update(_operated=_operated, _indexed=_indexed)
    exec(compile(tree, "watched", "exec"), module.__dict__)  # noqa: S102 - a text of this project
    return module
