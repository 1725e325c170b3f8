# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Sine and cosine of a vector of angles, to the last bits of a number, as a trace.

Three steps without branches: subtract the nearest multiple k of pi/2 (Cody and Waite, with pi/2 in
three pieces and fused multiply-add), evaluate polynomials for sine and cosine of the remainder, at
most pi/4, and choose result and sign by k modulo 4. In double precision the remainder is kept as a
sum of two numbers, so that an angle next to a multiple of pi/2 loses no accuracy.

Angles beyond a limit are passed to the mathematical library of the machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from dynamics_ros.kernels.graph.operations import (
    ABSOLUTE,
    ADD,
    FMA,
    INPUT,
    MULTIPLY,
    NEGATE,
    ROUND,
    SUBTRACT,
    Operation,
)
from dynamics_ros.kernels.graph.trace import Instruction, Trace, Variable
from dynamics_ros.kernels.llvm import line as llvm_line
from dynamics_ros.kernels.llvm.dialect import (
    DOUBLE,
    SINGLE,
    Number,
    Target,
    constant,
    element_at,
    every,
    splat,
    suffix,
    vector,
)

TWO_OVER_PI = 0.6366197723675814


class Constants(NamedTuple):
    """Constants of the functions for one number format.

    Attributes:
        limit: largest angle [rad] computed here: k has as many bits as the pieces of pi/2 allow.
        half_pi: three numbers whose sum is pi/2, to three times as many bits.
        sine: coefficients of x^3, x^5, ...
        cosine: coefficients of x^4, x^6, ...
    """

    limit: float
    half_pi: tuple[float, float, float]
    sine: tuple[float, ...]
    cosine: tuple[float, ...]


# Coefficients of fdlibm, within 2^-58 of the functions
OF_DOUBLES = Constants(
    limit=2.0**20,
    half_pi=(1.5707963267948966, 6.123233995736766e-17, -1.4973849048591698e-33),
    sine=(
        -1.66666666666666324348e-01,
        8.33333333332248946124e-03,
        -1.98412698298579493134e-04,
        2.75573137070700676789e-06,
        -2.50507602534068634195e-08,
        1.58969099521155010221e-10,
    ),
    cosine=(
        4.16666666666666019037e-02,
        -1.38888888888741095749e-03,
        2.48015872894767294178e-05,
        -2.75573143513906633035e-07,
        2.08757232129817482790e-09,
        -1.13596475577881948265e-11,
    ),
)
# The first terms of the series, with errors less than 2^-28 of each function
OF_SINGLES = Constants(
    limit=2.0**12,
    half_pi=(1.5707963705062866, -4.371138828673793e-08, -1.7151245100058819e-15),
    sine=(-1.0 / 6.0, 1.0 / 120.0, -1.0 / 5040.0, 1.0 / 362880.0),
    cosine=(1.0 / 24.0, -1.0 / 720.0, 1.0 / 40320.0, -1.0 / 3628800.0),
)
CONSTANTS = {DOUBLE: OF_DOUBLES, SINGLE: OF_SINGLES}
LIMIT = OF_DOUBLES.limit


class _Steps:
    """Instructions in the order of their calls; a graph would simplify rounding errors away."""

    def __init__(self) -> None:
        self.nodes = [Instruction(INPUT, (0, 0))]

    def __call__(self, operation: Operation, *operands: int | float) -> int:
        self.nodes.append(Instruction(operation, operands))
        return len(self.nodes) - 1

    def polynomial(self, z: int, coefficients: Sequence[float]) -> int | float:
        """Return the sum of coefficients times powers of z, split into independent halves."""
        if len(coefficients) > 3:
            cube = self(MULTIPLY, z, self(MULTIPLY, z, z))
            high, low = (self.polynomial(z, x) for x in (coefficients[3:], coefficients[:3]))
            return self(FMA, cube, high, low)
        value: int | float = coefficients[-1]
        for coefficient in reversed(coefficients[:-1]):
            value = self(FMA, z, value, coefficient)
        return value


def sincos_trace(number: Number) -> Trace:
    """Return the trace of sine and cosine of an angle within the limit."""
    steps, half_pi = _Steps(), CONSTANTS[number].half_pi
    k = steps(ROUND, steps(MULTIPLY, 0, TWO_OVER_PI))
    minus_k = steps(NEGATE, k)
    near_zero = _of_double if number is DOUBLE else _of_single
    sine, cosine = near_zero(steps, steps(FMA, minus_k, half_pi[0], 0), minus_k)
    # k = 4 n + m with m from -2 to 2: (sine, cosine) times 1 - |m| if m is even, (cosine, -sine)
    # times m if it is odd; each factor is 0 in the other case.
    m = steps(FMA, steps(ROUND, steps(MULTIPLY, k, 0.25)), -4.0, k)
    even = steps(SUBTRACT, 1.0, steps(ABSOLUTE, m))
    odd = steps(FMA, steps(NEGATE, m), steps(MULTIPLY, even, even), m)
    results = [
        steps(FMA, odd, cosine, steps(MULTIPLY, even, sine)),
        steps(FMA, steps(NEGATE, odd), sine, steps(MULTIPLY, even, cosine)),
    ]
    outputs = (Variable('sine', ()), Variable('cosine', ()))
    inputs = (Variable('angle', ()),)
    return Trace('sincos', '', inputs, outputs, tuple(steps.nodes), tuple(results))


def _of_double(steps: _Steps, near: int, minus_k: int) -> tuple[int, int]:
    """Return sine and cosine of near - k (pi/2 - its first piece), at most pi/4."""
    constants = OF_DOUBLES
    _, second, third = constants.half_pi
    piece = steps(MULTIPLY, minus_k, second)
    missed = steps(FMA, minus_k, second, steps(NEGATE, piece))
    # near + piece = r + tail exactly (Knuth); either may be the larger one
    r = steps(ADD, near, piece)
    added = steps(SUBTRACT, r, near)
    tail = steps(
        ADD, steps(SUBTRACT, near, steps(SUBTRACT, r, added)), steps(SUBTRACT, piece, added)
    )
    tail = steps(FMA, minus_k, third, steps(ADD, tail, missed))
    z = steps(MULTIPLY, r, r)
    # r + r^3 (S1 + z p) + tail (1 - z/2)
    first, *rest = constants.sine
    cube = steps(MULTIPLY, z, r)
    bent = steps(FMA, cube, steps.polynomial(z, rest), steps(MULTIPLY, -0.5, tail))
    sine = steps(ADD, r, steps(FMA, cube, first, steps(FMA, z, bent, tail)))
    # 1 - z/2 in two parts, to compensate its rounding error
    polynomial = steps(MULTIPLY, z, steps.polynomial(z, constants.cosine))
    half = steps(MULTIPLY, z, 0.5)
    most = steps(SUBTRACT, 1.0, half)
    rounded = steps(SUBTRACT, steps(SUBTRACT, 1.0, most), half)
    turned = steps(FMA, steps(NEGATE, r), tail, rounded)
    return sine, steps(ADD, most, steps(FMA, z, polynomial, turned))


def _of_single(steps: _Steps, near: int, minus_k: int) -> tuple[int, int]:
    """Return the same in single precision, without the corrections of the last bits."""
    r = near
    for piece in OF_SINGLES.half_pi[1:]:
        r = steps(FMA, minus_k, piece, r)
    z = steps(MULTIPLY, r, r)
    sine = steps(FMA, steps(MULTIPLY, z, r), steps.polynomial(z, OF_SINGLES.sine), r)
    quartic = steps(FMA, z, steps.polynomial(z, OF_SINGLES.cosine), -0.5)
    return sine, steps(FMA, z, quartic, 1.0)


def emit(lanes: int, target: Target) -> str:
    """Return the function for some number of angles.

    Without fused multiply-add, libm computes all of them.
    """
    number = target.number
    kind, one = vector(lanes, number.type), number.type
    limit = constant(CONSTANTS[number].limit if target.fused else -1.0, number)
    text = llvm_line.emit(sincos_trace(number), 'near', target, lanes, table=False)
    # Each operation has a rounding of its own. Head and tail go, and the load of the angles.
    near = text.replace(' contract ', ' ').split('\n')[3:-2] if target.fused else []
    lines = [
        f'define void @{llvm_line.sincos_name(lanes, number)}'
        f'({kind} %v0, ptr %out0, ptr %out1) nounwind {{',
        'entry:',
        f'  %angles = alloca {kind}, i64 1, align 64',
        f'  %sizes = call {kind} @llvm.fabs.{suffix(lanes, number)}({kind} %v0)',
        f'  %near = fcmp ole {kind} %sizes, {splat(limit, lanes, one)}',
        *near,
        *every('%near', lanes, '%all'),
        '  br i1 %all, label %end, label %far',
        'far:',
        f'  store {kind} %v0, ptr %angles, align {number.size}',
        '  br label %head',
        'head:',
        '  %i = phi i64 [ 0, %far ], [ %next, %tail ]',
        element_at('%place', one, '%angles', '%i'),
        f'  %angle = load {one}, ptr %place',
        f'  %size = call {one} @llvm.fabs.{number.suffix}({one} %angle)',
        f'  %done = fcmp ole {one} %size, {limit}',
        '  br i1 %done, label %tail, label %lane',
        'lane:',
        f'  %sine = call {one} @sin{number.libm}({one} %angle)',
        f'  %cosine = call {one} @cos{number.libm}({one} %angle)',
        element_at('%sp', one, '%out0', '%i'),
        element_at('%cp', one, '%out1', '%i'),
        f'  store {one} %sine, ptr %sp',
        f'  store {one} %cosine, ptr %cp',
        '  br label %tail',
        'tail:',
        '  %next = add i64 %i, 1',
        f'  %more = icmp slt i64 %next, {lanes}',
        '  br i1 %more, label %head, label %end',
        'end:',
        '  ret void',
        '}',
    ]
    return '\n'.join(lines)
