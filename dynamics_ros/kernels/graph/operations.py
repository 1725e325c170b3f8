# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Table of scalar operations, the only definition of their meaning.

One row gives the value of an operation and its text in Python, C and LLVM IR. The expression graph,
the emitters and the constant folding all read this table.
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
    """

    name: str
    arity: int
    evaluate: Callable[..., Any]
    python: str
    c: str
    llvm: tuple[str, ...]
    precedence: int = CALL
    condition: bool = False


def _arithmetic(
    name: str, symbol: str, instruction: str, precedence: int, value: Callable[..., float]
) -> Operation:
    text = f'{{0}} {symbol} {{1}}'
    # contract: a*b + c may become one fused instruction; no other change is allowed.
    llvm = f'{{result}} = {instruction} contract {{type}} {{0}}, {{1}}'
    return Operation(name, 2, value, text, text, (llvm,), precedence)


def _function(name: str, value: Callable[..., float], c: str, llvm: str) -> Operation:
    arity = 2 if name == 'atan2' else 1
    operands = ', '.join(f'{{{i}}}' for i in range(arity))
    typed = ', '.join(f'{{type}} {{{i}}}' for i in range(arity))
    call = f'{{result}} = call {{type}} @{llvm}({typed})'
    return Operation(
        name,
        arity,
        value,
        f'{name}({operands})',
        f'{c}({operands})',
        (call,) if llvm else (),
    )


def _comparison(name: str, symbol: str, predicate: str, value: Callable[..., bool]) -> Operation:
    text = f'{{0}} {symbol} {{1}}'
    llvm = f'{{result}} = fcmp {predicate} {{type}} {{0}}, {{1}}'
    return Operation(name, 2, value, text, text, (llvm,), COMPARISON, condition=True)


def _extremum(name: str, predicate: str, value: Callable[..., float]) -> Operation:
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
    )


INPUT = Operation('input', 0, lambda: math.nan, '', '', ())
ADD = _arithmetic('add', '+', 'fadd', SUM, operator.add)
SUBTRACT = _arithmetic('subtract', '-', 'fsub', SUM, operator.sub)
MULTIPLY = _arithmetic('multiply', '*', 'fmul', PRODUCT, operator.mul)
DIVIDE = _arithmetic('divide', '/', 'fdiv', PRODUCT, operator.truediv)
NEGATE = Operation('negate', 1, operator.neg, '-{0}', '-{0}', ('{result} = fneg {type} {0}',), SIGN)
RECIPROCAL = Operation(
    'reciprocal',
    1,
    lambda a: 1.0 / a,
    '1.0 / {0}',
    '1.0 / {0}',
    ('{result} = fdiv contract {type} {one}, {0}',),
    PRODUCT,
)
SQRT = _function('sqrt', math.sqrt, 'sqrt', 'llvm.sqrt.{suffix}')
ABSOLUTE = _function('absolute', math.fabs, 'fabs', 'llvm.fabs.{suffix}')
# Sines and cosines of many angles are computed together by a function of this package.
SIN = _function('sin', math.sin, 'sin', '')
COS = _function('cos', math.cos, 'cos', '')
TAN = _function('tan', math.tan, 'tan', 'tan{lanes}')
ASIN = _function('asin', math.asin, 'asin', 'asin{lanes}')
ACOS = _function('acos', math.acos, 'acos', 'acos{lanes}')
EXP = _function('exp', math.exp, 'exp', 'exp{lanes}')
LOG = _function('log', math.log, 'log', 'log{lanes}')
TANH = _function('tanh', math.tanh, 'tanh', 'tanh{lanes}')
ERFC = _function('erfc', math.erfc, 'erfc', 'erfc{lanes}')
ATAN2 = _function('atan2', math.atan2, 'atan2', 'atan2{lanes}')
MINIMUM = _extremum('minimum', 'olt', min)
MAXIMUM = _extremum('maximum', 'ogt', max)
LESS = _comparison('less', '<', 'olt', operator.lt)
LESS_EQUAL = _comparison('less_equal', '<=', 'ole', operator.le)
SELECT = Operation(
    'select',
    3,
    lambda condition, a, b: a if condition else b,
    'select({0}, {1}, {2})',
    '({0} ? {1} : {2})',
    ('{result} = select {condition} {0}, {type} {1}, {type} {2}',),
)
# Element of the final state of a loop: operands are the loop and the index as a constant.
ELEMENT = Operation('element', 2, lambda state, place: state[int(place)], '', '', ())

OPERATIONS: tuple[Operation, ...] = (
    ADD,
    SUBTRACT,
    MULTIPLY,
    DIVIDE,
    NEGATE,
    RECIPROCAL,
    SQRT,
    ABSOLUTE,
    SIN,
    COS,
    TAN,
    ASIN,
    ACOS,
    EXP,
    LOG,
    TANH,
    ERFC,
    ATAN2,
    MINIMUM,
    MAXIMUM,
    LESS,
    LESS_EQUAL,
    SELECT,
)


def _erfc_of_array(x: Any) -> Any:
    # This import takes as long as that of the rest of the package.
    from scipy.special import erfc

    return erfc(x)


SCALAR_FUNCTIONS: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {
        **{row.name: row.evaluate for row in OPERATIONS if row.python.startswith(f'{row.name}(')},
        'some': bool,
    }
)
"""Functions of printed traces on Python floats, by name."""

ARRAY_FUNCTIONS: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {
        **{name: getattr(np, name) for name in ('sqrt', 'absolute', 'sin', 'cos', 'tan')},
        'asin': np.arcsin,
        'acos': np.arccos,
        'exp': np.exp,
        'log': np.log,
        'tanh': np.tanh,
        'erfc': _erfc_of_array,
        'atan2': np.arctan2,
        'minimum': np.minimum,
        'maximum': np.maximum,
        'select': np.where,
        'some': np.any,
    }
)
"""Functions of printed traces on arrays of states; IEEE 754 results where floats would raise."""

_BY_NAME = {row.name: row for row in (INPUT, ELEMENT, *OPERATIONS)}


def _of_name(name: str) -> Operation:
    return _BY_NAME[name]


# Operations are compared by identity, also after unpickling in another process.
copyreg.pickle(Operation, lambda operation: (_of_name, (operation.name,)))
