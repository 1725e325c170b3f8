# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Scalar expressions that record how they were computed.

An `Expression` stands in for a float in ordinary Python code. Operations on it are simplified
(`normal_form.py`) and stored by its graph (`tracing.Graph`); a result that folds to a constant is a
plain Python float.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, Union

import numpy as np

from dynamics_ros.kernels.graph.operations import (
    ABSOLUTE,
    ATAN2,
    ELEMENTARY,
    LESS,
    LESS_EQUAL,
    MAXIMUM,
    MINIMUM,
    SELECT,
    SQRT,
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


class Arithmetic(Protocol):
    """Interface of the graph that stores expressions, implemented by `Graph`."""

    @property
    def nodes(self) -> list[Node]:
        """All nodes, in order of creation."""

    def operand(self, value: Scalar) -> Scalar:
        """Return a value as an operand: an expression of this graph or a finite float."""

    def node(self, operation: Operation, *operands: Operand) -> Expression:
        """Return the node of an operation, without any folding."""

    def negate(self, a: Expression) -> Expression:
        """Return -a."""

    def unsigned(self, a: Expression) -> Expression:
        """Return a or -a, whichever the graph stores."""

    def elementary(self, operation: Operation, a: Expression) -> Expression:
        """Return f(a) of an elementary function f."""

    def add(self, a: Expression, b: Expression) -> Scalar:
        """Return a + b."""

    def subtract(self, a: Expression, b: Expression) -> Scalar:
        """Return a - b."""

    def add_constant(self, a: Expression, c: float) -> Scalar:
        """Return a + c."""

    def multiply(self, a: Expression, b: Expression) -> Scalar:
        """Return a * b."""

    def scale(self, a: Expression, c: float) -> Scalar:
        """Return c * a."""

    def reciprocal(self, a: Expression) -> Expression:
        """Return 1 / a."""

    def extremum(self, operation: Operation, a: Expression, b: Scalar, no_bound: float) -> Scalar:
        """Return the minimum or maximum of a and b; b has no effect if it is ``no_bound``."""

    def compare(self, operation: Operation, a: Expression, b: Scalar) -> Condition | bool:
        """Return the condition of a comparison, or its truth value where it is certain."""

    def repeat(
        self,
        body: Callable[..., Any],
        initial: Sequence[Scalar],
        limit: int,
        captured: Sequence[Any],
    ) -> list[Scalar]:
        """Return the state after the iterations of a loop."""


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
        self, graph: Arithmetic, index: int, operation: Operation, operands: tuple[Operand, ...]
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
        return self.graph.repeat(body, initial, limit, captured)


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
