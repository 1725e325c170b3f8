# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Sine and cosine of a vector of angles in LLVM IR, to the last bits of a number.

Three steps without branches: subtract the nearest multiple k of pi/2 (Cody and Waite, with pi/2 in
three pieces and fused multiply-add), evaluate polynomials for sine and cosine of the remainder, at
most pi/4, and select result and sign by k modulo 4. In double precision the remainder is kept as a
sum of two numbers, so that an angle next to a multiple of pi/2 loses no accuracy.

Angles beyond a limit are passed to the mathematical library of the machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from dynamics_ros.kernels.llvm.dialect import (
    DOUBLE,
    SINGLE,
    Dialect,
    Number,
    Writer,
    constant,
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
        round: adding it leaves the nearest whole number in the last bits.
        sine: coefficients of x^3, x^5, ...
        cosine: coefficients of x^4, x^6, ...
    """

    limit: float
    half_pi: tuple[float, float, float]
    round: float
    sine: tuple[float, ...]
    cosine: tuple[float, ...]


# Coefficients of fdlibm, within 2^-58 of the functions
OF_DOUBLES = Constants(
    limit=2.0**20,
    half_pi=(1.5707963267948966, 6.123233995736766e-17, -1.4973849048591698e-33),
    round=1.5 * 2.0**52,
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
    round=1.5 * 2.0**23,
    sine=(-1.0 / 6.0, 1.0 / 120.0, -1.0 / 5040.0, 1.0 / 362880.0),
    cosine=(1.0 / 24.0, -1.0 / 720.0, 1.0 / 40320.0, -1.0 / 3628800.0),
)
CONSTANTS = {DOUBLE: OF_DOUBLES, SINGLE: OF_SINGLES}
LIMIT = OF_DOUBLES.limit


def name(lanes: int, number: Number = DOUBLE) -> str:
    """Return the name of the function for some number of angles."""
    return f'dynamics_ros_sincos{number.libm}_{lanes}'


def signature(lanes: int, dialect: Dialect) -> str:
    """Return result, name and types: (angles, sines, cosines)."""
    number = dialect.number
    pointer = dialect.pointer(number.type)
    return f'void @{name(lanes, number)}({vector(lanes, number.type)}, {pointer}, {pointer})'


def declarations(lanes: int, number: Number = DOUBLE) -> list[str]:
    """Return the declarations that the function for some number of angles needs."""
    one, kind, ending = number.type, vector(lanes, number.type), suffix(lanes, number)
    return [
        f'declare {one} @sin{number.libm}({one})',
        f'declare {one} @cos{number.libm}({one})',
        f'declare {one} @llvm.fabs.{number.suffix}({one})',
        f'declare {kind} @llvm.fabs.{ending}({kind})',
        f'declare {kind} @llvm.fma.{ending}({kind}, {kind}, {kind})',
    ]


def emit(lanes: int, dialect: Dialect, fused: bool) -> str:
    """Return the function for some number of angles.

    Args:
        fused: whether the processor has fused multiply-add; without it libm computes everything.
    """
    kind = _Sincos if dialect.number is DOUBLE else _SingleSincos
    return kind(lanes, dialect).text(fused)


class _Sincos(Writer):
    """Writer of the function that computes sines and cosines."""

    def __init__(self, lanes: int, dialect: Dialect) -> None:
        super().__init__()
        self.lanes = lanes
        self.dialect = dialect
        self.numbers = dialect.number
        self.constants = CONSTANTS[dialect.number]
        self.kind = vector(lanes, self.numbers.type)
        self.whole = vector(lanes, self.numbers.whole)
        self.array = dialect.pointer(self.numbers.type)

    def number(self, value: float) -> str:
        return splat(constant(value, self.numbers), self.lanes, self.numbers.type)

    def integer(self, value: int) -> str:
        return splat(str(value), self.lanes, self.numbers.whole)

    def fma(self, a: str, b: str, c: str) -> str:
        """Return a*b + c with one rounding."""
        operands = ', '.join(f'{self.kind} {x}' for x in (a, b, c))
        return self.emit(
            f'call {self.kind} @llvm.fma.{suffix(self.lanes, self.numbers)}({operands})'
        )

    def operation(self, instruction: str, a: str, b: str) -> str:
        kind = self.kind if instruction.startswith('f') else self.whole
        return self.emit(f'{instruction} {kind} {a}, {b}')

    def bits(self, a: str) -> str:
        return self.emit(f'bitcast {self.kind} {a} to {self.whole}')

    def text(self, fused: bool) -> str:
        arguments = f'{self.kind} %x, {self.array} %s, {self.array} %c'
        head = f'define void @{name(self.lanes, self.numbers)}({arguments}) nounwind {{\n'
        if fused:
            self.polynomials()
            limit = constant(self.constants.limit, self.numbers)
            self.by_libm(f'fcmp ogt {self.numbers.type} %size, {limit}')
        else:
            self.lines.append('  br label %far')
            self.by_libm(f'fcmp true {self.numbers.type} %size, %size')
        return head + '\n'.join([*self.lines, '}', ''])

    def polynomials(self) -> None:
        whole = self.number(self.constants.round)
        # The nearest multiple of pi/2
        shifted = self.fma('%x', self.number(TWO_OVER_PI), whole)
        k = self.operation('fsub', shifted, whole)
        sine, cosine = self.near_zero(k)

        # Quarter turns: odd ones exchange sine and cosine, and bit 1 is the sign.
        quarter = self.bits(shifted)
        one = self.integer(1)
        odd = self.operation('and', quarter, one)
        swap = self.emit(f'icmp ne {self.whole} {odd}, {self.integer(0)}')
        for where, turns, first, second in (
            ('%s', quarter, cosine, sine),
            ('%c', self.operation('add', quarter, one), sine, cosine),
        ):
            choice = vector(self.lanes, 'i1')
            chosen = self.emit(f'select {choice} {swap}, {self.kind} {first}, {self.kind} {second}')
            flipped = self.operation('and', turns, self.integer(2))
            sign = self.operation('shl', flipped, self.integer(8 * self.numbers.size - 2))
            signed = self.operation('xor', self.bits(chosen), sign)
            value = self.emit(f'bitcast {self.whole} {signed} to {self.kind}')
            pointer = self.dialect.pointer(self.kind)
            place = self.emit(f'bitcast {self.array} {where} to {pointer}')
            self.lines.append(
                f'  store {self.kind} {value}, {pointer} {place}, align {self.numbers.size}'
            )
        self.branch_to_libm()

    def near_zero(self, k: str) -> tuple[str, str]:
        """Return sine and cosine of %x - k pi/2, whose magnitude is at most pi/4."""
        add, subtract, multiply = 'fadd', 'fsub', 'fmul'
        half_pi = self.constants.half_pi
        minus_k = self.emit(f'fneg {self.kind} {k}')
        near = self.fma(minus_k, self.number(half_pi[0]), '%x')  # exact
        piece = self.operation(multiply, k, self.number(half_pi[1]))
        missed = self.fma(k, self.number(half_pi[1]), self.emit(f'fneg {self.kind} {piece}'))
        # near - piece = r + tail exactly (Knuth); either may be the larger one
        r = self.operation(subtract, near, piece)
        taken = self.operation(subtract, near, r)
        tail = self.operation(
            subtract,
            self.operation(subtract, near, self.operation(add, r, taken)),
            self.operation(subtract, piece, taken),
        )
        tail = self.operation(subtract, tail, missed)
        tail = self.fma(minus_k, self.number(half_pi[2]), tail)

        z = self.operation(multiply, r, r)
        return self.sine(r, tail, z), self.cosine(r, tail, z)

    def sine(self, r: str, tail: str, z: str) -> str:
        """Return sin(r + tail)."""
        first, *rest = self.constants.sine
        polynomial = self.polynomial(z, rest)
        cube = self.operation('fmul', z, r)
        # r + r^3 (S1 + z p) + tail (1 - z/2)
        correction = self.fma(
            z, self.fma(cube, polynomial, self.operation('fmul', self.number(-0.5), tail)), tail
        )
        return self.operation('fadd', r, self.fma(cube, self.number(first), correction))

    def cosine(self, r: str, tail: str, z: str) -> str:
        """Return cos(r + tail)."""
        polynomial = self.operation('fmul', z, self.polynomial(z, self.constants.cosine))
        # 1 - z/2 in two parts, to compensate its rounding error
        half = self.operation('fmul', z, self.number(0.5))
        most = self.operation('fsub', self.number(1.0), half)
        rounded = self.operation('fsub', self.operation('fsub', self.number(1.0), most), half)
        turned = self.fma(self.emit(f'fneg {self.kind} {r}'), tail, rounded)
        return self.operation('fadd', most, self.fma(z, polynomial, turned))

    def polynomial(self, z: str, coefficients: Sequence[float]) -> str:
        """Return the sum of coefficients times powers of z, split into independent halves."""
        if len(coefficients) <= 3:
            value = self.number(coefficients[-1])
            for coefficient in reversed(coefficients[:-1]):
                value = self.fma(z, value, self.number(coefficient))
            return value
        cube = self.operation('fmul', z, self.operation('fmul', z, z))
        low, high = coefficients[:3], coefficients[3:]
        return self.fma(cube, self.polynomial(z, high), self.polynomial(z, low))

    def branch_to_libm(self) -> None:
        size = self.emit(
            f'call {self.kind} @llvm.fabs.{suffix(self.lanes, self.numbers)}({self.kind} %x)'
        )
        far = self.emit(f'fcmp ogt {self.kind} {size}, {self.number(self.constants.limit)}')
        if self.lanes > 1:
            bits = self.emit(f'bitcast <{self.lanes} x i1> {far} to i{self.lanes}')
            far = self.emit(f'icmp ne i{self.lanes} {bits}, 0')
        self.lines += [f'  br i1 {far}, label %far, label %done', 'done:', '  ret void']

    def by_libm(self, condition: str) -> None:
        """Compute the lanes where a condition holds one by one with libm."""
        number = self.numbers
        angles = f'<{self.lanes} x {number.type}>'
        one = f'insertelement {angles} undef, {self.kind} %x, i64 0'
        self.lines.append('far:')
        lanes = '%x' if self.lanes > 1 else self.emit(one)
        self.lines += [
            '  br label %head',
            'head:',
            '  %i = phi i64 [ 0, %far ], [ %next, %tail ]',
            f'  %angle = extractelement {angles} {lanes}, i64 %i',
            f'  %size = call {number.type} @llvm.fabs.{number.suffix}({number.type} %angle)',
            f'  %beyond = {condition}',
            '  br i1 %beyond, label %lane, label %tail',
            'lane:',
            f'  %sine = call {number.type} @sin{number.libm}({number.type} %angle)',
            f'  %cosine = call {number.type} @cos{number.libm}({number.type} %angle)',
            self.dialect.element('%sp', number.type, '%s', '%i'),
            self.dialect.element('%cp', number.type, '%c', '%i'),
            f'  store {number.type} %sine, {self.array} %sp',
            f'  store {number.type} %cosine, {self.array} %cp',
            '  br label %tail',
            'tail:',
            '  %next = add i64 %i, 1',
            f'  %more = icmp slt i64 %next, {self.lanes}',
            '  br i1 %more, label %head, label %end',
            'end:',
            '  ret void',
        ]


class _SingleSincos(_Sincos):
    """Writer of the single precision function, without the corrections of the last bits."""

    def near_zero(self, k: str) -> tuple[str, str]:
        """Return sine and cosine of %x - k pi/2, whose magnitude is at most pi/4."""
        r, minus_k = '%x', self.emit(f'fneg {self.kind} {k}')
        for piece in self.constants.half_pi:
            r = self.fma(minus_k, self.number(piece), r)
        z = self.operation('fmul', r, r)
        cube = self.operation('fmul', z, r)
        sine = self.fma(cube, self.polynomial(z, self.constants.sine), r)
        quartic = self.fma(z, self.polynomial(z, self.constants.cosine), self.number(-0.5))
        return sine, self.fma(z, quartic, self.number(1.0))
