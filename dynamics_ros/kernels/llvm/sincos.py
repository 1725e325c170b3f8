# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Sine and cosine of a vector of angles, to the last bits of a number, as a trace.

Three steps without branches: subtract the nearest multiple k of pi/2 (Cody and Waite, with pi/2 in
three pieces and fused multiply-add), evaluate polynomials for sine and cosine of the remainder, at
most pi/4, and choose result and sign by k modulo 4. The remainder is kept as a sum of two numbers,
so that an angle next to a multiple of pi/2 loses no accuracy.

Angles beyond a limit are passed to the mathematical library of the machine.
"""

from __future__ import annotations

from collections.abc import Sequence

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
    Target,
    constant,
    element_at,
    every,
    splat,
    suffix,
    vector,
)

TWO_OVER_PI = 0.6366197723675814


LIMIT = 2.0**20
"""Largest angle [rad] computed here: k has as many bits as the pieces of pi/2 allow."""

HALF_PI = (1.5707963267948966, 6.123233995736766e-17, -1.4973849048591698e-33)
"""Three numbers whose sum is pi/2, to three times as many bits."""

# Coefficients of x^3, x^5, ... and of x^4, x^6, ... of fdlibm, within 2^-58 of the functions
SINE = (
    -1.66666666666666324348e-01,
    8.33333333332248946124e-03,
    -1.98412698298579493134e-04,
    2.75573137070700676789e-06,
    -2.50507602534068634195e-08,
    1.58969099521155010221e-10,
)
COSINE = (
    4.16666666666666019037e-02,
    -1.38888888888741095749e-03,
    2.48015872894767294178e-05,
    -2.75573143513906633035e-07,
    2.08757232129817482790e-09,
    -1.13596475577881948265e-11,
)


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


def sincos_trace() -> Trace:
    """Return the trace of sine and cosine of an angle within the limit."""
    steps = _Steps()
    k = steps(ROUND, steps(MULTIPLY, 0, TWO_OVER_PI))
    minus_k = steps(NEGATE, k)
    sine, cosine = _near_zero(steps, steps(FMA, minus_k, HALF_PI[0], 0), minus_k)
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


def _near_zero(steps: _Steps, near: int, minus_k: int) -> tuple[int, int]:
    """Return sine and cosine of near - k (pi/2 - its first piece), at most pi/4."""
    _, second, third = HALF_PI
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
    first, *rest = SINE
    cube = steps(MULTIPLY, z, r)
    bent = steps(FMA, cube, steps.polynomial(z, rest), steps(MULTIPLY, -0.5, tail))
    sine = steps(ADD, r, steps(FMA, cube, first, steps(FMA, z, bent, tail)))
    # 1 - z/2 in two parts, to compensate its rounding error
    polynomial = steps(MULTIPLY, z, steps.polynomial(z, COSINE))
    half = steps(MULTIPLY, z, 0.5)
    most = steps(SUBTRACT, 1.0, half)
    rounded = steps(SUBTRACT, steps(SUBTRACT, 1.0, most), half)
    turned = steps(FMA, steps(NEGATE, r), tail, rounded)
    return sine, steps(ADD, most, steps(FMA, z, polynomial, turned))


def emit(lanes: int, target: Target) -> str:
    """Return the function for some number of angles.

    Without fused multiply-add, libm computes all of them.
    """
    kind = vector(lanes)
    limit = constant(LIMIT if target.fused else -1.0)
    text = llvm_line.emit(sincos_trace(), 'near', target, lanes, table=False)
    # Each operation has a rounding of its own. Head and tail go, and the load of the angles.
    near = text.replace(' contract ', ' ').split('\n')[3:-2] if target.fused else []
    lines = [
        f'define void @{llvm_line.sincos_name(lanes)}'
        f'({kind} %v0, ptr %out0, ptr %out1) nounwind {{',
        'entry:',
        f'  %angles = alloca {kind}, i64 1, align 64',
        f'  %sizes = call {kind} @llvm.fabs.{suffix(lanes)}({kind} %v0)',
        f'  %near = fcmp ole {kind} %sizes, {splat(limit, lanes)}',
        *near,
        *every('%near', lanes, '%all'),
        '  br i1 %all, label %end, label %far',
        'far:',
        f'  store {kind} %v0, ptr %angles, align 8',
        '  br label %head',
        'head:',
        '  %i = phi i64 [ 0, %far ], [ %next, %tail ]',
        element_at('%place', 'double', '%angles', '%i'),
        '  %angle = load double, ptr %place',
        '  %size = call double @llvm.fabs.f64(double %angle)',
        f'  %done = fcmp ole double %size, {limit}',
        '  br i1 %done, label %tail, label %lane',
        'lane:',
        '  %sine = call double @sin(double %angle)',
        '  %cosine = call double @cos(double %angle)',
        element_at('%sp', 'double', '%out0', '%i'),
        element_at('%cp', 'double', '%out1', '%i'),
        '  store double %sine, ptr %sp',
        '  store double %cosine, ptr %cp',
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
