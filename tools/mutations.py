"""Small bugs for the source of a module: one operator, bound, argument or statement is changed at a time.

Texts of messages, annotations and imports are left alone: a changed wording is no bug that a test should find. The
text of a query is code.
"""

import ast
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from tools.reach import statement_names

_COMPARED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
_CALCULATED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv, ast.FloorDiv: ast.Mult, ast.Div: ast.Mult,
    ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.Mod: ast.Add, ast.LShift: ast.RShift, ast.RShift: ast.LShift,
}  # fmt: skip
_CALLED = {
    "min": "max", "max": "min", "any": "all", "all": "any", "sorted": "list", "reversed": "list",
    "startswith": "endswith", "endswith": "startswith", "partition": "rpartition", "rpartition": "partition",
    "lstrip": "rstrip", "rstrip": "lstrip",
}  # fmt: skip
_QUERY = re.compile(r"\s*(SELECT|INSERT|UPDATE|DELETE|WITH|WHERE|ORDER|AND|FROM)\b")
_IN_QUERIES = (
    (" DESC", ""), (" AND ", " OR "), (" <= ", " < "), (" >= ", " > "), (" < ", " <= "), (" > ", " >= "),
    (" = ", " != "), ("MAX(", "MIN("), ("MIN(", "MAX("), ("NOT ", ""), ("DISTINCT ", ""), (" OR IGNORE", ""),
    (" IS NULL", " IS NOT NULL"),
)  # fmt: skip
_LEFT_ALONE = {"annotation", "returns", "decorator_list", "bases", "exc", "cause", "names", "msg"}  # fields of nodes


class Mutation(NamedTuple):
    """A bug: the line and the name of its statement, the part before and after, and whether it is in a function."""

    line: int
    statement: str
    kind: str
    before: str
    after: str
    inside: bool = False


class _Place(NamedTuple):
    """Where a node is in the tree, and the statement that it belongs to."""

    parent: ast.AST
    field: str
    number: int | None  # in a list
    statement: ast.stmt
    inside: bool  # whether it is in the body of a function

    def put(self, node: ast.AST) -> None:
        if self.number is None:
            setattr(self.parent, self.field, node)
        else:
            getattr(self.parent, self.field)[self.number] = node


def mutations(tree: ast.Module) -> Iterator[Mutation]:
    """Puts one bug after the other into a tree. The tree has the bug while its mutation is at hand."""
    names = statement_names(tree)
    for node, place in list(_nodes(tree)):
        for kind, changed in _changes(node, place):
            before, after = ast.unparse(node), ast.unparse(ast.fix_missing_locations(changed))
            if before == after:
                continue
            place.put(changed)
            yield Mutation(place.statement.lineno, names[place.statement], kind, before, after, place.inside)
            place.put(node)


def _nodes(tree: ast.Module) -> Iterator[tuple[ast.AST, _Place]]:
    """Yields the nodes that may be changed, with their places."""
    ahead: list[tuple[ast.AST, ast.stmt | None, bool]] = [(tree, None, False)]
    while ahead:
        parent, statement, outer = ahead.pop()
        for field, value in ast.iter_fields(parent):
            if field in _LEFT_ALONE or (isinstance(parent, ast.ClassDef) and field == "keywords"):
                continue
            found = value if isinstance(value, list) else [value]
            inside = outer or (isinstance(parent, ast.FunctionDef) and field == "body")
            for number, node in enumerate(found):
                if not isinstance(node, ast.AST) or _is_left_alone(node):
                    continue
                home = node if isinstance(node, ast.stmt) else statement
                if home is not None:
                    yield node, _Place(parent, field, number if isinstance(value, list) else None, home, inside)
                if not isinstance(node, ast.JoinedStr) or _is_query(node):
                    ahead.append((node, home, inside))


def _is_left_alone(node: ast.AST) -> bool:
    if isinstance(node, ast.If):
        return ast.unparse(node.test) == "TYPE_CHECKING"
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Constant)  # a docstring
    return isinstance(node, ast.Import | ast.ImportFrom)


def _is_query(node: ast.JoinedStr) -> bool:
    return any(isinstance(part, ast.Constant) and _QUERY.match(str(part.value)) for part in node.values)


Changes = Iterator[tuple[str, ast.AST]]  # what a node can become, with the kind of the change


def _changes(node: ast.AST, place: _Place) -> Changes:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        if _QUERY.match(node.value) or isinstance(place.parent, ast.JoinedStr):
            yield from _queries(node.value)
    elif type(node) in _CHANGES:
        yield from _CHANGES[type(node)](node)


# Expressions


def _queries(text: str) -> Changes:
    for old, new in _IN_QUERIES:
        if old in text:
            yield "query", ast.Constant(text.replace(old, new, 1))


def _constant(node: ast.Constant) -> Changes:
    if isinstance(node.value, bool):
        yield "constant", ast.Constant(not node.value)
    elif isinstance(node.value, int):
        yield "constant", ast.Constant(node.value + 1)
        yield "constant", ast.Constant(node.value - 1)


def _comparison(node: ast.Compare) -> Changes:
    for number, op in enumerate(node.ops):
        changed = [*node.ops[:number], _COMPARED[type(op)](), *node.ops[number + 1 :]]
        yield "comparison", ast.Compare(node.left, changed, node.comparators)


def _logic(node: ast.BoolOp) -> Changes:
    yield "and/or", ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
    for number in range(len(node.values)):
        yield "operand dropped", _joined(node.op, [*node.values[:number], *node.values[number + 1 :]])


def _arithmetic(node: ast.BinOp) -> Changes:
    if type(node.op) in _CALCULATED and not _is_text(node.left) and not _is_text(node.right):
        yield "arithmetic", ast.BinOp(node.left, _CALCULATED[type(node.op)](), node.right)


def _not(node: ast.UnaryOp) -> Changes:
    if isinstance(node.op, ast.Not):
        yield "condition", node.operand


def _choice(node: ast.IfExp) -> Changes:
    yield "condition", ast.IfExp(_negated(node.test), node.body, node.orelse)


def _comprehension(node: ast.comprehension) -> Changes:
    if node.ifs:
        yield (
            "condition",
            ast.comprehension(node.target, node.iter, [_negated(node.ifs[0]), *node.ifs[1:]], node.is_async),
        )


def _subscript(node: ast.Subscript) -> Changes:
    other = {"0": -1, "-1": 0}.get(ast.unparse(node.slice))
    if other is not None:
        yield "first/last", ast.Subscript(node.value, ast.Constant(other), node.ctx)


def _slice(node: ast.Slice) -> Changes:
    if node.lower is not None:
        yield "bounds", ast.Slice(None, node.upper, node.step)
    if node.upper is not None:
        yield "bounds", ast.Slice(node.lower, None, node.step)


def _call(node: ast.Call) -> Changes:
    function, arguments, keywords = node.func, node.args, node.keywords
    ordered = ast.unparse(function) not in ("min", "max") and len(arguments) > 1
    if ordered and not any(isinstance(each, ast.Starred) for each in arguments[:2]):
        yield "arguments swapped", ast.Call(function, [arguments[1], arguments[0], *arguments[2:]], keywords)
    match function:
        case ast.Name("suppress"):
            yield "except dropped", ast.Call(function, [], [])
        case ast.Name("sorted") if keywords:
            others = [each for each in keywords if each.arg != "reverse"]
            if len(others) == len(keywords):
                others = [*keywords, ast.keyword("reverse", ast.Constant(True))]
            yield "order", ast.Call(function, arguments, others)
        case ast.Name(name) if name in _CALLED:
            yield "call", ast.Call(ast.Name(_CALLED[name], ast.Load()), arguments, keywords)
        case ast.Attribute(value, name) if name in _CALLED:
            yield "call", ast.Call(ast.Attribute(value, _CALLED[name], ast.Load()), arguments, keywords)


# Statements


def _condition(node: ast.If | ast.While) -> Changes:
    yield "condition", type(node)(_negated(node.test), node.body, node.orelse)


def _return(node: ast.Return) -> Changes:
    if node.value is not None and not isinstance(node.value, ast.Constant):
        yield "return value", ast.Return(ast.Constant(None))


def _dropped(node: ast.stmt) -> Changes:
    yield "statement dropped", ast.Pass()


def _assignment(node: ast.Assign) -> Changes:
    """A name that is never assigned is an error that every test finds."""
    if not any(isinstance(target, ast.Name | ast.Tuple) for target in node.targets):
        yield "statement dropped", ast.Pass()


def _break(node: ast.Break) -> Changes:
    yield "break/continue", ast.Continue()


def _continue(node: ast.Continue) -> Changes:
    yield "break/continue", ast.Break()
    yield "statement dropped", ast.Pass()


def _try(node: ast.Try) -> Changes:
    for number, handler in enumerate(node.handlers):
        never = ast.ExceptHandler(ast.Tuple([], ast.Load()), handler.name, handler.body)
        handlers = [*node.handlers[:number], never, *node.handlers[number + 1 :]]
        yield "except dropped", ast.Try(node.body, handlers, node.orelse, node.finalbody)


_CHANGES: dict[type[ast.AST], Callable[[Any], Changes]] = {
    ast.Constant: _constant,
    ast.Compare: _comparison,
    ast.BoolOp: _logic,
    ast.BinOp: _arithmetic,
    ast.UnaryOp: _not,
    ast.IfExp: _choice,
    ast.comprehension: _comprehension,
    ast.Subscript: _subscript,
    ast.Slice: _slice,
    ast.Call: _call,
    ast.If: _condition,
    ast.While: _condition,
    ast.Return: _return,
    **dict.fromkeys((ast.Expr, ast.AugAssign, ast.Raise, ast.Delete), _dropped),
    ast.Assign: _assignment,
    ast.Break: _break,
    ast.Continue: _continue,
    ast.Try: _try,
}


def _negated(test: ast.expr) -> ast.expr:
    return (
        test.operand if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not) else ast.UnaryOp(ast.Not(), test)
    )


def _joined(op: ast.boolop, values: Sequence[ast.expr]) -> ast.expr:
    return values[0] if len(values) == 1 else ast.BoolOp(op, list(values))


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str | bytes))
