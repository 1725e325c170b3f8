# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Scalar expressions that record how they were computed, in a normal form.

An `Expression` stands in for a float in ordinary Python code. Its graph simplifies operations at
once and stores them once: equal operations on equal operands are one node; a result that folds to a
constant is a plain Python float.

Of each pair of opposite values only one is stored and the other is its negation. Negations are
pulled out through products, sums and odd functions, so that signs cancel and ``a - b`` shares a
node with ``b - a``. A quotient is a product with a reciprocal, which divisions by the same number
share. `trace.lower` turns the normal form into the cheapest instructions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, NoReturn, Union, cast

import numpy as np

from dynamics_ros.errors import InvalidArgumentError, TooLargeError
from dynamics_ros.kernels.graph.operations import (
    ABSOLUTE,
    ADD,
    ATAN2,
    ELEMENTARY,
    INPUT,
    LESS,
    LESS_EQUAL,
    MAXIMUM,
    MINIMUM,
    MULTIPLY,
    NEGATE,
    RECIPROCAL,
    SELECT,
    SQRT,
    SUBTRACT,
    Operation,
)
from dynamics_ros.kernels.graph.symbols import Traced

Scalar = Union['Expression', float]
Operand = Union['Node', float]


def constant(value: Any) -> float:
    """Return a number as a finite float; refuse values that a trace cannot contain."""
    if value.__class__ is float and math.isfinite(value):
        return value
    if isinstance(value, Real):
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if math.isfinite(number):
            return number
        raise ValueError(f'a trace cannot compute with the constant {number}')
    raise TypeError(f'a trace cannot compute with {type(value).__name__}: {value!r}')


class Node(Traced):
    """One value of a graph: an operation and its operands.

    Attributes:
        graph: the graph that stores the node.
        index: index in the graph's nodes; operands have smaller ones.
        operation: the operation that computes the value; `INPUT` for a symbol.
        operands: nodes and floats; empty for a symbol.
    """

    __slots__ = ('graph', 'index', 'operands', 'operation')

    def __init__(
        self, graph: NormalForm, index: int, operation: Operation, operands: tuple[Operand, ...]
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
            'a traced value has no number yet, so a trace cannot branch on it (if, while, and, or, '
            'not, ==, min, max); where(a < b, x, y), minimum and maximum of '
            'dynamics_ros.kernels.math choose when it runs'
        )

    def _refuse_number(self) -> NoReturn:
        raise TypeError(
            'a traced value has no number yet, so it cannot become a float or an index; np.sin and '
            'the like take it in place of functions of math, np.zeros_like(q, shape=3) makes an '
            'array for it'
        )

    __bool__ = __eq__ = __ne__ = _refuse_branch
    __float__ = __int__ = __index__ = _refuse_number
    __hash__ = object.__hash__


class Condition(Node):
    """Truth value that is known only when the kernel runs; an argument of `select`."""

    __slots__ = ()

    def choose(self, a: Scalar, b: Scalar) -> Scalar:
        """Return a where the condition holds, else b; both are computed."""
        return select(self, a, b)

    def __and__(self, other: Condition | bool) -> Condition | bool:
        if not isinstance(other, Condition):
            return self if other else False
        return _holds(select(self, select(other, 1.0, 0.0), 0.0))

    def __or__(self, other: Condition | bool) -> Condition | bool:
        if not isinstance(other, Condition):
            return True if other else self
        return _holds(select(self, 1.0, select(other, 1.0, 0.0)))

    def __invert__(self) -> Condition | bool:
        return _holds(select(self, 0.0, 1.0))

    __rand__ = __and__
    __ror__ = __or__


class Expression(Node):
    """Real number that is known only when the kernel runs; used like a float.

    It has a method for each row of `ELEMENTARY`, such as ``sin``.
    """

    __slots__ = ()

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Callable[[], Expression]: ...

    def __add__(self, other: Scalar) -> Scalar:
        if other.__class__ is Expression:
            return self.graph.add(self, other)
        if isinstance(other, np.ndarray):
            return NotImplemented
        return self.graph.add_constant(self, constant(other))

    __radd__ = __add__

    def __sub__(self, other: Scalar) -> Scalar:
        if other.__class__ is Expression:
            return self.graph.subtract(self, other)
        if isinstance(other, np.ndarray):
            return NotImplemented
        return self.graph.add_constant(self, -constant(other))

    def __rsub__(self, other: float) -> Scalar:
        return -self.graph.add_constant(self, -constant(other))

    def __mul__(self, other: Scalar) -> Scalar:
        if other.__class__ is Expression:
            return self.graph.multiply(self, other)
        if isinstance(other, np.ndarray):
            return NotImplemented
        return self.graph.scale(self, constant(other))

    __rmul__ = __mul__

    def __truediv__(self, other: Scalar) -> Scalar:
        if other is self:
            return 1.0
        if isinstance(other, Expression):
            return self * self.graph.reciprocal(other)
        if isinstance(other, np.ndarray):
            return NotImplemented
        return self.graph.scale(self, constant(1.0 / constant(other)))

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
        """Return a power: an integer exponent by repeated squaring, or 0.5 as a square root."""
        if exponent == 0.5:
            return self.graph.elementary(SQRT, self)
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

    def angle_at(self, y: float) -> Expression:
        """Return the angle in rad of the point (self, y) with a constant y."""
        return self.graph.node(ATAN2, constant(y), self)

    def atan2(self, x: Scalar) -> Expression:
        """Return the angle in rad of the point (x, self)."""
        return self.graph.node(ATAN2, self, self.graph.operand(x))

    def minimum(self, other: Scalar) -> Scalar:
        """Return the smaller of two values; plus infinity has no effect."""
        return self.graph.extremum(MINIMUM, self, other, no_bound=math.inf)

    def maximum(self, other: Scalar) -> Scalar:
        """Return the larger of two values; minus infinity has no effect."""
        return self.graph.extremum(MAXIMUM, self, other, no_bound=-math.inf)

    def where_less(self, other: Scalar, then: Scalar, otherwise: Scalar) -> Scalar:
        """Return ``then`` where self < other, else ``otherwise``; both are computed."""
        return select(self.less(other), then, otherwise)

    def __lt__(self, other: Scalar) -> Condition | bool:
        return NotImplemented if isinstance(other, np.ndarray) else self.less(other)

    def __le__(self, other: Scalar) -> Condition | bool:
        return NotImplemented if isinstance(other, np.ndarray) else self.less_equal(other)

    def __gt__(self, other: Scalar) -> Condition | bool:
        return NotImplemented if isinstance(other, np.ndarray) else (-self).less(-other)

    def __ge__(self, other: Scalar) -> Condition | bool:
        return NotImplemented if isinstance(other, np.ndarray) else (-self).less_equal(-other)

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
        """Return the state after the iterations of a loop in this trace: `Graph.repeat`."""
        found: list[Scalar] = cast(Any, self.graph).repeat(body, initial, limit, captured)
        return found


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


def _holds(one: Scalar) -> Condition | bool:
    """Return the condition that a value of 0 or 1 is 1."""
    return one > 0.5


def _method(operation: Operation) -> Callable[[Expression], Expression]:
    def method(self: Expression) -> Expression:
        return self.graph.elementary(operation, self)

    method.__name__, method.__doc__ = operation.name, operation.meaning
    return method


for _row in ELEMENTARY:
    if _row.arity == 1:
        setattr(Expression, _row.name, Expression.__abs__ if _row is ABSOLUTE else _method(_row))


MAX_NODES = 1_500_000
"""Largest number of nodes of a trace: about 0.7 GB while tracing. The largest kernel of a humanoid
with 38 joints has 150,000, that of two arms with hands on a free base and 101 joints 1.3 million.
"""


class NormalForm:
    """Store of all nodes of one trace, and the rules that turn expressions into nodes.

    Attributes:
        nodes: all nodes, operands before the nodes that use them.
    """

    __slots__ = ('_name', '_table', 'nodes')

    def __init__(self, name: str = 'a trace') -> None:
        """Create an empty store.

        Args:
            name: name of the traced function, for errors.
        """
        self._name = name
        self.nodes: list[Node] = []
        self._table: dict[tuple[Any, ...], Node] = {}

    def _index(self) -> int:
        index = len(self.nodes)
        if index >= MAX_NODES:
            raise TooLargeError(self._name, index)
        return index

    def symbol(self) -> Expression:
        """Return a new input."""
        symbol = Expression(self, self._index(), INPUT, ())
        self.nodes.append(symbol)
        return symbol

    def operand(self, value: Scalar) -> Scalar:
        """Return a value as an operand: an expression of this graph or a finite float."""
        if isinstance(value, Expression):
            if value.graph is not self:
                raise ValueError('values of two different traces cannot be combined')
            return value
        return constant(value)

    def result(self, value: Any, name: str) -> Operand:
        """Return an element of an output as an operand.

        Args:
            value: the element that the traced function returned.
            name: name of the output, for the error.

        Raises:
            InvalidArgumentError: the value is not a finite number of this graph.
        """
        if isinstance(value, Node) and not isinstance(value, Expression):
            raise InvalidArgumentError(name, 'a condition is no output', 'numbers')
        try:
            return self.operand(value)
        except (TypeError, ValueError) as error:
            expected = 'finite numbers of this trace'
            raise InvalidArgumentError(name, str(error), expected) from None

    def node(self, operation: Operation, *operands: Operand) -> Expression:
        """Return the stored node of an operation, created if it is new, without folding."""
        # Constants enter the key as text, unlike node indices; this also tells -0.0 from 0.0.
        key = (operation, *[x.index if isinstance(x, Node) else repr(x) for x in operands])
        return cast(Expression, self.stored(key, operation, operands, Expression))

    def stored(
        self,
        key: tuple[Any, ...],
        operation: Operation,
        operands: tuple[Operand, ...],
        kind: type[Node],
    ) -> Node:
        """Return the node with a key, created if it is new."""
        node = self._table.get(key)
        if node is None:
            node = kind(self, self._index(), operation, operands)
            self.nodes.append(node)
            self._table[key] = node
        return node

    def _pair(self, operation: Operation, a: Expression, b: Expression) -> Expression:
        """Return `node(operation, a, b)` by a short path: most nodes are created here."""
        if a.graph is not b.graph:
            raise ValueError('values of two different traces cannot be combined')
        key = (operation, a.index, b.index)
        node = self._table.get(key)
        if node is None:
            node = Expression(self, self._index(), operation, (a, b))
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

    def elementary(self, operation: Operation, a: Expression) -> Expression:
        """Return f(a) of an elementary function or reciprocal f."""
        if a.operation is NEGATE and operation.parity:
            inside = self.node(operation, *a.operands)
            return inside if operation.parity > 0 else self.negate(inside)
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
        """Return c1*x + sign*c2*x as one product; else None."""
        factor_a = factor_b = 1.0
        base_a: Operand = a
        base_b: Operand = b
        if a.operation is MULTIPLY and a.operands[1].__class__ is float:
            base_a, factor_a = cast('tuple[Expression, float]', a.operands)
        if b.operation is MULTIPLY and b.operands[1].__class__ is float:
            base_b, factor_b = cast('tuple[Expression, float]', b.operands)
        if base_a is base_b:
            return self.scale(cast(Expression, base_a), factor_a + sign * factor_b)
        return None

    def add_constant(self, a: Expression, c: float) -> Scalar:
        """Return a + c; merges the constant with that of a nested sum."""
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
        """Return c * a; merges the constant with that of a nested product."""
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
            # Two extreme constants stay separate, because their product might overflow or vanish.
            if 1e-290 < inner * c < 1e290:
                return self.scale(inside, inner * c)
        key = (MULTIPLY, a.index, c, True)
        return cast(Expression, self.stored(key, MULTIPLY, (a, c), Expression))

    def reciprocal(self, a: Expression) -> Expression:
        """Return 1 / a."""
        if a.operation is RECIPROCAL:
            return cast(Expression, a.operands[0])
        return self.elementary(RECIPROCAL, a)

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
        """Return the condition of a comparison, or its truth value where it is certain."""
        if a is b:
            return operation is LESS_EQUAL
        if not isinstance(b, Expression) and math.isinf(b):
            return b > 0.0
        b = self.operand(b)
        key = (operation, a.index, b.index if isinstance(b, Expression) else repr(b))
        return cast(Condition, self.stored(key, operation, (a, b), Condition))


def _without_term(total: Expression, term: Expression) -> Operand | None:
    """Return total - term if the total is a sum or difference with this term, else None."""
    if total.operation is ADD:
        a, b = total.operands
        return b if a is term else a if b is term else None
    if total.operation is SUBTRACT and total.operands[0] is term:
        return -cast(Expression, total.operands[1])
    return None


def _reciprocal_of(a: Expression) -> Operand | None:
    return a.operands[0] if a.operation is RECIPROCAL else None
