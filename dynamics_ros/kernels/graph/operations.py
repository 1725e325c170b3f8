# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Table of scalar operations, the only definition of their meaning.

One row gives the value of an operation on floats and arrays, its derivative, and its text in
Python, C and LLVM IR. Expressions, derivatives, printers and constant folding read this table.
"""

from __future__ import annotations

import copyreg
import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

COMPARISON, SUM, PRODUCT, SIGN, CALL = range(5)
"""Operator precedence levels, the loosest first; Python and C agree on these."""


@dataclass(frozen=True, eq=False)
class Operation:
    """One scalar operation.

    Attributes:
        name: name in operation counts.
        arity: number of operands.
        evaluate: computes the value on Python floats.
        python: its Python text; ``{0}`` stands for the first operand. The functions that it calls
            are names of `SCALAR_FUNCTIONS`.
        c: its C text.
        llvm: its LLVM instructions on a type ``{type}``, the last one defining ``{result}``; empty
            for an input and for sine and cosine.
        precedence: precedence of its text; a call and a name bind tightest.
        condition: whether the result is a truth value instead of a number.
        slopes: its derivative by each operand, from its value and its operands; None if it has
            none, or selects one of its operands.
        ufunc: its function on arrays, with IEEE 754 results where floats would raise; None if
            operators compute it.
        meaning: one line for an elementary function, which `kernels.math` then has.
        parity: 1 for f(-x) = f(x), -1 for f(-x) = -f(x).
    """

    name: str
    arity: int
    evaluate: Callable[..., Any]
    python: str
    c: str
    llvm: tuple[str, ...]
    precedence: int = CALL
    condition: bool = False
    slopes: Callable[..., tuple[Any, ...]] | None = None
    ufunc: Callable[..., Any] | None = None
    meaning: str = ''
    parity: int = 0


def _arithmetic(
    name: str,
    symbol: str,
    instruction: str,
    precedence: int,
    value: Callable[..., float],
    slopes: Callable[..., tuple[Any, ...]] | None,
) -> Operation:
    text = f'{{0}} {symbol} {{1}}'
    # contract: a*b + c may become one fused instruction; no other change is allowed.
    llvm = f'{{result}} = {instruction} contract {{type}} {{0}}, {{1}}'
    return Operation(name, 2, value, text, text, (llvm,), precedence, slopes=slopes)


def _elementary(
    name: str,
    value: Callable[..., float],
    ufunc: Callable[..., Any],
    meaning: str,
    *slopes: Callable[..., Any],
    parity: int = 0,
    c: str = '',
    llvm: str | None = None,
) -> Operation:
    """Return the row of a function; in C and in the library of LLVM it has its own name."""
    operands = ', '.join(f'{{{i}}}' for i in range(len(slopes)))
    typed = ', '.join(f'{{type}} {{{i}}}' for i in range(len(slopes)))
    called = f'{name}{{lanes}}' if llvm is None else llvm
    return Operation(
        name,
        len(slopes),
        value,
        f'{name}({operands})',
        f'{c or name}({operands})',
        (f'{{result}} = call {{type}} @{called}({typed})',) if called else (),
        slopes=lambda *values: tuple([slope(*values) for slope in slopes]),
        ufunc=ufunc,
        meaning=meaning,
        parity=parity,
    )


def _comparison(name: str, symbol: str, predicate: str, value: Callable[..., bool]) -> Operation:
    text = f'{{0}} {symbol} {{1}}'
    llvm = f'{{result}} = fcmp {predicate} {{type}} {{0}}, {{1}}'
    return Operation(name, 2, value, text, text, (llvm,), COMPARISON, condition=True)


def _extremum(name: str, predicate: str, value: Callable[..., float], ufunc: Any) -> Operation:
    return Operation(
        name,
        2,
        value,
        f'{name}({{0}}, {{1}})',
        f'{name}({{0}}, {{1}})',
        (
            f'{{result}}.c = fcmp {predicate} {{type}} {{0}}, {{1}}',
            '{result} = select {condition} {result}.c, {type} {0}, {type} {1}',
        ),
        ufunc=ufunc,
    )


def erfc(x: Any) -> Any:
    """Return SciPy's function of an array."""
    # This import takes as long as that of the rest of the package.
    from scipy.special import erfc as function

    return function(x)


INPUT = Operation('input', 0, lambda: math.nan, '', '', ())
ADD = _arithmetic('add', '+', 'fadd', SUM, operator.add, lambda y, a, b: (1.0, 1.0))
SUBTRACT = _arithmetic('subtract', '-', 'fsub', SUM, operator.sub, lambda y, a, b: (1.0, -1.0))
MULTIPLY = _arithmetic('multiply', '*', 'fmul', PRODUCT, operator.mul, lambda y, a, b: (b, a))
DIVIDE = _arithmetic('divide', '/', 'fdiv', PRODUCT, operator.truediv, None)
NEGATE = Operation(
    'negate',
    1,
    operator.neg,
    '-{0}',
    '-{0}',
    ('{result} = fneg {type} {0}',),
    SIGN,
    slopes=lambda y, a: (-1.0,),
)
RECIPROCAL = Operation(
    'reciprocal',
    1,
    lambda a: 1.0 / a,
    '1.0 / {0}',
    '1.0 / {0}',
    ('{result} = fdiv contract {type} {one}, {0}',),
    PRODUCT,
    slopes=lambda y, a: (-(y * y),),
    parity=-1,
)
ABSOLUTE = _elementary(
    *('absolute', abs, np.absolute, 'Absolute value.'),
    lambda y, a: a.where_less(0.0, -1.0, 1.0),
    c='fabs',
    llvm='llvm.fabs.{suffix}',
)
SQRT = _elementary(
    *('sqrt', math.sqrt, np.sqrt, 'Square root; NaN below zero.'),
    lambda y, a: 0.5 / y,
    llvm='llvm.sqrt.{suffix}',
)
# Sines and cosines of many angles are computed together by a function of this package.
SIN = _elementary(
    *('sin', math.sin, np.sin, 'Sine of an angle in rad.'),
    lambda y, a: a.cos(),
    parity=-1,
    llvm='',
)
COS = _elementary(
    *('cos', math.cos, np.cos, 'Cosine of an angle in rad.'),
    lambda y, a: -a.sin(),
    parity=1,
    llvm='',
)
TAN = _elementary(
    *('tan', math.tan, np.tan, 'Tangent of an angle in rad.'),
    lambda y, a: 1.0 + y * y,
    parity=-1,
)
ASIN = _elementary(
    *('asin', math.asin, np.arcsin, 'Arc sine in rad; NaN outside [-1, 1].'),
    lambda y, a: 1.0 / (1.0 - a * a).sqrt(),
    parity=-1,
)
ACOS = _elementary(
    *('acos', math.acos, np.arccos, 'Arc cosine in rad; NaN outside [-1, 1].'),
    lambda y, a: -1.0 / (1.0 - a * a).sqrt(),
)
EXP = _elementary('exp', math.exp, np.exp, 'e to the power of x.', lambda y, a: y)
LOG = _elementary(
    'log', math.log, np.log, 'Natural logarithm; NaN below zero.', lambda y, a: 1.0 / a
)
TANH = _elementary(
    *('tanh', math.tanh, np.tanh, 'Hyperbolic tangent.'), lambda y, a: 1.0 - y * y, parity=-1
)
ERFC = _elementary(
    *('erfc', math.erfc, erfc, 'Complementary error function of x.'),
    lambda y, a: -2.0 / math.sqrt(math.pi) * (-(a * a)).exp(),
)
ATAN2 = _elementary(
    *('atan2', math.atan2, np.arctan2, 'Angle in rad of the point (x, y), from y and x.'),
    lambda angle, y, x: x * (1.0 / (x * x + y * y)),
    lambda angle, y, x: -(y * (1.0 / (x * x + y * y))),
)
MINIMUM = _extremum('minimum', 'olt', min, np.minimum)
MAXIMUM = _extremum('maximum', 'ogt', max, np.maximum)
LESS = _comparison('less', '<', 'olt', operator.lt)
LESS_EQUAL = _comparison('less_equal', '<=', 'ole', operator.le)
SELECT = Operation(
    'select',
    3,
    lambda condition, a, b: a if condition else b,
    'select({0}, {1}, {2})',
    '({0} ? {1} : {2})',
    ('{result} = select {condition} {0}, {type} {1}, {type} {2}',),
    ufunc=np.where,
)
# Of sines and cosines: a*b + c with one rounding, and the nearest whole number.
FMA = Operation(
    *('fma', 3, lambda a, b, c: a * b + c, 'fma({0}, {1}, {2})', 'fma({0}, {1}, {2})'),
    ('{result} = call {type} @llvm.fma.{suffix}({type} {0}, {type} {1}, {type} {2})',),
)
ROUND = Operation(
    *('round', 1, lambda a: float(round(a)), 'round({0})', 'rint({0})'),
    ('{result} = call {type} @llvm.rint.{suffix}({type} {0})',),
)
# Element of the final state of a loop: operands are the loop and the index as a constant.
ELEMENT = Operation('element', 2, lambda state, place: math.nan, '', '', ())

OPERATIONS = tuple(x for x in vars().copy().values() if isinstance(x, Operation) and x.python)
"""All operations of printed traces."""

ELEMENTARY = tuple(row for row in OPERATIONS if row.meaning)
"""Elementary functions. One more is one more row: expressions, NumPy, `kernels.math`, derivatives
and all printed languages have it."""

SCALAR_FUNCTIONS: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {row.name: row.evaluate for row in OPERATIONS if row.ufunc} | {'some': bool}
)
"""Functions of printed traces on Python floats, by name."""

ARRAY_FUNCTIONS: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {row.name: row.ufunc for row in OPERATIONS if row.ufunc} | {'some': np.any}
)
"""Functions of printed traces on arrays of states, by name."""

_BY_NAME = {row.name: row for row in (INPUT, ELEMENT, *OPERATIONS)}


def _of_name(name: str) -> Operation:
    return _BY_NAME[name]


# Operations are compared by identity, also after unpickling in another process.
copyreg.pickle(Operation, lambda operation: (_of_name, (operation.name,)))
