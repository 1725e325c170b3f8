"""The expression graph: scalars that remember how they were computed.

An `Expression` stands in for a float in ordinary Python code. What is computed with it is
simplified at once and stored once: equal operations on equal operands are one node, and whatever
folds to a constant is a plain Python float again.

Normal form. Of each pair of opposite values only one is stored, the other is its negation, and a
negation is pulled out through products, sums and odd functions; so signs meet and cancel, and
``a - b`` shares with ``b - a``. A quotient is a product with a reciprocal, which divisions by the
same number share. `lowering.py` turns the normal form into the cheapest instructions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from numbers import Integral, Real
from typing import Any, NoReturn, Union, cast

from dynamics_ros.kernels.operations import (
    ABSOLUTE,
    ACOS,
    ADD,
    ASIN,
    ATAN2,
    COS,
    EXP,
    INPUT,
    LESS,
    LESS_EQUAL,
    LOG,
    MAXIMUM,
    MINIMUM,
    MULTIPLY,
    NEGATE,
    RECIPROCAL,
    SELECT,
    SIN,
    SQRT,
    SUBTRACT,
    TAN,
    Operation,
)

Scalar = Union['Expression', float]
Operand = Union['Node', float]


def _constant(value: Any) -> float:
    """Return a number as a finite float; what no trace can contain is refused."""
    if value.__class__ is float and math.isfinite(value):
        return value
    if isinstance(value, Real):
        number = float(value)
        if math.isfinite(number):
            return number
        raise ValueError(f'a trace cannot compute with the constant {value}')
    raise TypeError(f'a trace cannot compute with {type(value).__name__}: {value!r}')


class Node:
    """One value of a graph: an operation and its operands.

    Attributes:
        graph: where it is stored.
        index: its place there; operands come first.
        operation: what computes it; `INPUT` for a symbol.
        operands: nodes and floats; for a symbol nothing.
    """

    __slots__ = ('graph', 'index', 'operands', 'operation')

    # NumPy scalars and arrays leave mixed operations to this class.
    __array_ufunc__ = None

    def __init__(
        self, graph: Graph, index: int, operation: Operation, operands: tuple[Operand, ...]
    ) -> None:
        self.graph = graph
        self.index = index
        self.operation = operation
        self.operands = operands

    def __repr__(self) -> str:
        operands = ', '.join(
            f'#{x.index}' if isinstance(x, Node) else repr(x) for x in self.operands
        )
        return f'<{type(self).__name__} #{self.index} = {self.operation.name}({operands})>'

    def _refuse_branch(self, *_: object) -> NoReturn:
        raise TypeError(
            'a traced value has no number yet, so a trace cannot branch on it or convert it; '
            'use less(), less_equal() and select()'
        )

    __bool__ = __float__ = __int__ = _refuse_branch
    __lt__ = __le__ = __gt__ = __ge__ = _refuse_branch
    __eq__ = __ne__ = _refuse_branch
    __hash__ = object.__hash__


class Condition(Node):
    """A truth value that is known when the kernel runs; `select` takes it."""

    __slots__ = ()


class Expression(Node):
    """A real number that is known when the kernel runs; use it like a float."""

    __slots__ = ()

    def __add__(self, other: Scalar) -> Scalar:
        if other.__class__ is Expression:
            return self.graph.add(self, other)
        return self.graph.add_constant(self, _constant(other))

    __radd__ = __add__

    def __sub__(self, other: Scalar) -> Scalar:
        if other.__class__ is Expression:
            return self.graph.subtract(self, other)
        return self.graph.add_constant(self, -_constant(other))

    def __rsub__(self, other: float) -> Scalar:
        return -self.graph.add_constant(self, -_constant(other))

    def __mul__(self, other: Scalar) -> Scalar:
        if other.__class__ is Expression:
            return self.graph.multiply(self, other)
        return self.graph.scale(self, _constant(other))

    __rmul__ = __mul__

    def __truediv__(self, other: Scalar) -> Scalar:
        if other is self:
            return 1.0
        if isinstance(other, Expression):
            return self * self.graph.reciprocal(other)
        return self.graph.scale(self, _constant(1.0 / _constant(other)))

    def __rtruediv__(self, other: float) -> Scalar:
        return self.graph.reciprocal(self) * other

    def __neg__(self) -> Expression:
        return self.graph.negate(self)

    def __pos__(self) -> Expression:
        return self

    def __abs__(self) -> Expression:
        inside = self.graph.unsigned(self)
        if inside.operation is ABSOLUTE:
            return inside
        return self.graph.node(ABSOLUTE, inside)

    def __pow__(self, exponent: int | float) -> Scalar:
        """Return a power: an integer exponent by repeated squaring, or 0.5 for the root."""
        if exponent == 0.5:
            return self.sqrt()
        if not (isinstance(exponent, (Integral, float)) and exponent == int(exponent)):
            raise TypeError(f'a trace takes integer powers and 0.5, not {exponent!r}')
        power: Scalar = 1.0
        square: Scalar = self
        bits = abs(int(exponent))
        while bits:
            if bits & 1:
                power = power * square
            bits >>= 1
            if bits:
                square = square * square
        return 1.0 / power if exponent < 0 else power

    def sqrt(self) -> Expression:
        """Return the square root; NaN below zero."""
        return self.graph.node(SQRT, self)

    def sin(self) -> Expression:
        """Return the sine of an angle in rad."""
        return self.graph.odd(SIN, self)

    def cos(self) -> Expression:
        """Return the cosine of an angle in rad."""
        return self.graph.node(COS, self.graph.unsigned(self))

    def tan(self) -> Expression:
        """Return the tangent of an angle in rad."""
        return self.graph.odd(TAN, self)

    def asin(self) -> Expression:
        """Return the arc sine in rad; NaN outside [-1, 1]."""
        return self.graph.odd(ASIN, self)

    def acos(self) -> Expression:
        """Return the arc cosine in rad; NaN outside [-1, 1]."""
        return self.graph.node(ACOS, self)

    def atan2(self, x: Scalar) -> Expression:
        """Return the angle in rad of the point (x, self)."""
        return self.graph.node(ATAN2, self, self.graph.operand(x))

    def exp(self) -> Expression:
        """Return e to the power of self."""
        return self.graph.node(EXP, self)

    def log(self) -> Expression:
        """Return the natural logarithm; NaN below zero."""
        return self.graph.node(LOG, self)

    def minimum(self, other: Scalar) -> Scalar:
        """Return the smaller of two values; plus infinity is no bound."""
        return self.graph.extremum(MINIMUM, self, other, no_bound=math.inf)

    def maximum(self, other: Scalar) -> Scalar:
        """Return the larger of two values; minus infinity is no bound."""
        return self.graph.extremum(MAXIMUM, self, other, no_bound=-math.inf)

    def where_less(self, other: Scalar, then: Scalar, otherwise: Scalar) -> Scalar:
        """Return one value where self < other, else another one; both are computed."""
        return select(self.less(other), then, otherwise)

    def less(self, other: Scalar) -> Condition | bool:
        """Return whether self < other, for `select`."""
        return self.graph.compare(LESS, self, other)

    def less_equal(self, other: Scalar) -> Condition | bool:
        """Return whether self <= other, for `select`."""
        return self.graph.compare(LESS_EQUAL, self, other)

    def repeat(
        self,
        body: Callable[..., Any],
        initial: Sequence[Scalar],
        limit: int,
        captured: Sequence[Any],
    ) -> list[Scalar]:
        """Return the state after some turns of a loop in this trace: `loop.add_loop`."""
        # A loop is made of a trace, which is made of expressions.
        from dynamics_ros.kernels.loop import add_loop

        return add_loop(self.graph, body, initial, limit, captured)


def select(condition: Condition | bool, a: Scalar, b: Scalar) -> Scalar:
    """Return a where the condition holds, else b; both are computed.

    Args:
        condition: from `Expression.less` or `less_equal`, or a plain bool.
        a, b: expressions or floats.
    """
    if not isinstance(condition, Condition):
        return a if condition else b
    if a is b:
        return a
    graph = condition.graph
    a, b = graph.operand(a), graph.operand(b)
    if a.__class__ is float and b.__class__ is float and a == b:
        return a
    return graph.node(SELECT, condition, a, b)


class Graph:
    """The store of all nodes of one trace."""

    __slots__ = ('_table', 'nodes')

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self._table: dict[tuple[Any, ...], Node] = {}

    def symbol(self) -> Expression:
        """Return a new input."""
        symbol = Expression(self, len(self.nodes), INPUT, ())
        self.nodes.append(symbol)
        return symbol

    def operand(self, value: Scalar) -> Scalar:
        """Return a value as an operand: an expression of this graph or a finite float."""
        if isinstance(value, Expression):
            if value.graph is not self:
                raise ValueError('values of two different traces cannot be combined')
            return value
        return _constant(value)

    def node(self, operation: Operation, *operands: Operand) -> Expression:
        """Return the stored node of an operation, made if it is new; no folding here."""
        # A constant is told from a node's index by its text, which also keeps -0.0 from 0.0.
        key = (operation, *[x.index if isinstance(x, Node) else repr(x) for x in operands])
        return cast(Expression, self.stored(key, operation, operands, Expression))

    def stored(
        self,
        key: tuple[Any, ...],
        operation: Operation,
        operands: tuple[Operand, ...],
        kind: type[Node],
    ) -> Node:
        """Return the node with a key, made if it is new."""
        node = self._table.get(key)
        if node is None:
            node = kind(self, len(self.nodes), operation, operands)
            self.nodes.append(node)
            self._table[key] = node
        return node

    def _pair(self, operation: Operation, a: Expression, b: Expression) -> Expression:
        """Return `node(operation, a, b)`, fast: most nodes come from here."""
        if a.graph is not b.graph:
            raise ValueError('values of two different traces cannot be combined')
        key = (operation, a.index, b.index)
        node = self._table.get(key)
        if node is None:
            node = Expression(self, len(self.nodes), operation, (a, b))
            self.nodes.append(node)
            self._table[key] = node
        return cast(Expression, node)

    # Signs

    def negate(self, a: Expression) -> Expression:
        """Return -a."""
        if a.operation is NEGATE:
            return cast(Expression, a.operands[0])
        return self.node(NEGATE, a)

    def unsigned(self, a: Expression) -> Expression:
        """Return a or -a, whichever the graph stores."""
        return cast(Expression, a.operands[0]) if a.operation is NEGATE else a

    def odd(self, operation: Operation, a: Expression) -> Expression:
        """Return f(a) of an odd function f."""
        if a.operation is NEGATE:
            return self.negate(self.node(operation, *a.operands))
        return self.node(operation, a)

    # Sums

    def add(self, a: Expression, b: Expression) -> Scalar:
        """Return a + b."""
        if a.operation is NEGATE:
            inside = cast(Expression, a.operands[0])
            if b.operation is NEGATE:
                return -self.add(inside, cast(Expression, b.operands[0]))
            return self.subtract(b, inside)
        if b.operation is NEGATE:
            return self.subtract(a, cast(Expression, b.operands[0]))
        if a.operation is SUBTRACT and a.operands[1] is b:
            return cast(Expression, a.operands[0])
        if b.operation is SUBTRACT and b.operands[1] is a:
            return cast(Expression, b.operands[0])
        merged = self._like_terms(a, b, 1.0)
        if merged is not None:
            return merged
        return self._pair(ADD, a, b) if a.index < b.index else self._pair(ADD, b, a)

    def subtract(self, a: Expression, b: Expression) -> Scalar:
        """Return a - b."""
        if a.operation is NEGATE:
            inside = cast(Expression, a.operands[0])
            if b.operation is NEGATE:
                return self.subtract(cast(Expression, b.operands[0]), inside)
            return -self.add(inside, b)
        if b.operation is NEGATE:
            return self.add(a, cast(Expression, b.operands[0]))
        rest = _without_term(a, b)
        if rest is not None:
            return cast(Scalar, rest)
        rest = _without_term(b, a)
        if rest is not None:
            return -cast(Scalar, rest)
        merged = self._like_terms(a, b, -1.0)
        if merged is not None:
            return merged
        if a.index < b.index:
            return self._pair(SUBTRACT, a, b)
        return self.negate(self._pair(SUBTRACT, b, a))

    def _like_terms(self, a: Expression, b: Expression, sign: float) -> Scalar | None:
        """Return c1*x + sign*c2*x as one product, c*(sin(x)^2 + cos(x)^2) as c; else None."""
        factor_a = factor_b = 1.0
        base_a: Operand = a
        base_b: Operand = b
        if a.operation is MULTIPLY and a.operands[1].__class__ is float:
            base_a, factor_a = cast('tuple[Expression, float]', a.operands)
        if b.operation is MULTIPLY and b.operands[1].__class__ is float:
            base_b, factor_b = cast('tuple[Expression, float]', b.operands)
        if base_a is base_b:
            return self.scale(cast(Expression, base_a), factor_a + sign * factor_b)
        if sign > 0.0 and factor_a == factor_b:
            angle_a, angle_b = _squared(base_a, SIN, COS), _squared(base_b, SIN, COS)
            if angle_a is not None and angle_a is angle_b:
                return factor_a
        return None

    def add_constant(self, a: Expression, c: float) -> Scalar:
        """Return a + c; the constants of a nested sum become one."""
        if c == 0.0:
            return a
        if a.operation is NEGATE:
            return -self.add_constant(cast(Expression, a.operands[0]), -c)
        if a.operation is ADD and a.operands[1].__class__ is float:
            inside, inner = cast('tuple[Expression, float]', a.operands)
            if math.isfinite(inner + c):
                return self.add_constant(inside, inner + c)
        key = (ADD, a.index, c, True)
        return cast(Expression, self.stored(key, ADD, (a, c), Expression))

    # Products

    def multiply(self, a: Expression, b: Expression) -> Scalar:
        """Return a * b."""
        negative = False
        if a.operation is NEGATE:
            a = cast(Expression, a.operands[0])
            negative = True
        if b.operation is NEGATE:
            b = cast(Expression, b.operands[0])
            negative = not negative
        product: Scalar
        if a is b and a.operation is SQRT:
            product = cast(Expression, a.operands[0])
        elif a is b and a.operation is ABSOLUTE:
            inside = cast(Expression, a.operands[0])
            product = self._pair(MULTIPLY, inside, inside)
        elif _reciprocal_of(a) is b or _reciprocal_of(b) is a:
            product = 1.0
        elif a.index <= b.index:
            product = self._pair(MULTIPLY, a, b)
        else:
            product = self._pair(MULTIPLY, b, a)
        return -product if negative else product

    def scale(self, a: Expression, c: float) -> Scalar:
        """Return c * a; the constants of a nested product become one."""
        if c == 0.0:
            return 0.0
        if c == 1.0:
            return a
        if a.operation is NEGATE:
            return -self.scale(cast(Expression, a.operands[0]), c)
        if c < 0.0:
            return -self.scale(a, -c)
        if a.operation is MULTIPLY and a.operands[1].__class__ is float:
            inside, inner = cast('tuple[Expression, float]', a.operands)
            # Two extreme constants stay apart, their product might overflow or vanish.
            if 1e-290 < inner * c < 1e290:
                return self.scale(inside, inner * c)
        key = (MULTIPLY, a.index, c, True)
        return cast(Expression, self.stored(key, MULTIPLY, (a, c), Expression))

    def reciprocal(self, a: Expression) -> Expression:
        """Return 1 / a."""
        if a.operation is RECIPROCAL:
            return cast(Expression, a.operands[0])
        return self.odd(RECIPROCAL, a)

    # Choices

    def extremum(self, operation: Operation, a: Expression, b: Scalar, no_bound: float) -> Scalar:
        """Return the minimum or maximum of a and b."""
        if a is b or (not isinstance(b, Expression) and b == no_bound):
            return a
        b = self.operand(b)
        if isinstance(b, Expression) and b.index < a.index:
            a, b = b, a
        return self.node(operation, a, b)

    def compare(self, operation: Operation, a: Expression, b: Scalar) -> Condition | bool:
        """Return the condition of a comparison, or its answer where that is certain."""
        if a is b:
            return operation is LESS_EQUAL
        if not isinstance(b, Expression) and math.isinf(b):
            return b > 0.0
        b = self.operand(b)
        key = (operation, a.index, b.index if isinstance(b, Expression) else repr(b))
        return cast(Condition, self.stored(key, operation, (a, b), Condition))


def _without_term(total: Expression, term: Expression) -> Operand | None:
    """Return total - term where the total is a sum or difference that has this term, else None."""
    if total.operation is ADD:
        a, b = total.operands
        return b if a is term else a if b is term else None
    if total.operation is SUBTRACT and total.operands[0] is term:
        return -cast(Expression, total.operands[1])
    return None


def _reciprocal_of(a: Expression) -> Operand | None:
    return a.operands[0] if a.operation is RECIPROCAL else None


def _squared(a: Operand, *operations: Operation) -> Operand | None:
    """Return x where a is f(x) * f(x) of one of some functions f, else None."""
    if isinstance(a, Node) and a.operation is MULTIPLY and a.operands[0] is a.operands[1]:
        root = a.operands[0]
        if isinstance(root, Node) and root.operation in operations:
            return root.operands[0]
    return None
