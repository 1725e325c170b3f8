# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Sine and cosine of a vector of angles in LLVM IR, to the last bits of a double.

Three steps, all without a branch: the nearest multiple k of pi/2 is taken off (Cody and Waite, with
pi/2 in three pieces of 53 bits and fused multiply-add), sine and cosine of the rest, at most pi/4,
are polynomials, and k modulo 4 says which is which and with what sign. The coefficients are those
of fdlibm, which are within 2^-58 of the functions. What is left of k pi/2 is kept as a sum of two
doubles, so an angle next to a multiple of pi/2 loses nothing.

Beyond `LIMIT` each angle goes to the mathematical library of the machine.
"""

from __future__ import annotations

from dynamics_ros.kernels.llvm.dialect import Dialect, Writer, constant, splat, suffix, vector

LIMIT = 2.0**20
"""Largest angle [rad] computed here: k has 20 bits, which the three pieces of pi/2 allow."""

# pi/2 = the sum of these, to 160 bits
HALF_PI = (1.5707963267948966, 6.123233995736766e-17, -1.4973849048591698e-33)
TWO_OVER_PI = 0.6366197723675814
ROUND = 1.5 * 2.0**52
"""Adding it leaves the nearest whole number in the last bits."""

# Of x^3, x^5, ... and of x^4, x^6, ...
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


def name(lanes: int) -> str:
    """Return the name of the function of so many angles."""
    return f'dynamics_ros_sincos_{lanes}'


def signature(lanes: int, dialect: Dialect) -> str:
    """Return result, name and types: (angles, where the sines go, where the cosines go)."""
    pointer = dialect.pointer('double')
    return f'void @{name(lanes)}({vector(lanes)}, {pointer}, {pointer})'


def declarations(lanes: int) -> list[str]:
    """Return the declarations of the functions that the function of so many angles calls."""
    kind = vector(lanes)
    return [
        'declare double @sin(double)',
        'declare double @cos(double)',
        'declare double @llvm.fabs.f64(double)',
        f'declare {kind} @llvm.fabs.{suffix(lanes)}({kind})',
        f'declare {kind} @llvm.fma.{suffix(lanes)}({kind}, {kind}, {kind})',
    ]


def emit(lanes: int, dialect: Dialect, fused: bool) -> str:
    """Return the function of so many angles.

    Args:
        fused: whether the processor has fused multiply-add; without it libm computes it all.
    """
    return _Sincos(lanes, dialect).text(fused)


class _Sincos(Writer):
    """Writes the function that computes sines and cosines, line after line."""

    def __init__(self, lanes: int, dialect: Dialect) -> None:
        super().__init__()
        self.lanes = lanes
        self.dialect = dialect
        self.kind = vector(lanes)
        self.whole = vector(lanes, 'i64')
        self.double = dialect.pointer('double')

    def number(self, value: float) -> str:
        return splat(constant(value), self.lanes)

    def fma(self, a: str, b: str, c: str) -> str:
        """Return a*b + c with one rounding."""
        operands = ', '.join(f'{self.kind} {x}' for x in (a, b, c))
        return self.emit(f'call {self.kind} @llvm.fma.{suffix(self.lanes)}({operands})')

    def operation(self, instruction: str, a: str, b: str) -> str:
        kind = self.kind if instruction.startswith('f') else self.whole
        return self.emit(f'{instruction} {kind} {a}, {b}')

    def bits(self, a: str) -> str:
        return self.emit(f'bitcast {self.kind} {a} to {self.whole}')

    def text(self, fused: bool) -> str:
        arguments = f'{self.kind} %x, {self.double} %s, {self.double} %c'
        head = f'define void @{name(self.lanes)}({arguments}) nounwind {{\n'
        if fused:
            self.polynomials()
            self.by_libm(f'fcmp ogt double %size, {constant(LIMIT)}')
        else:
            self.lines.append('  br label %far')
            self.by_libm('fcmp true double %size, %size')
        return head + '\n'.join([*self.lines, '}', ''])

    def polynomials(self) -> None:
        add, subtract, multiply = 'fadd', 'fsub', 'fmul'
        # The nearest multiple of pi/2
        shifted = self.fma('%x', self.number(TWO_OVER_PI), self.number(ROUND))
        k = self.operation(subtract, shifted, self.number(ROUND))
        minus_k = self.emit(f'fneg {self.kind} {k}')
        near = self.fma(minus_k, self.number(HALF_PI[0]), '%x')  # exact
        piece = self.operation(multiply, k, self.number(HALF_PI[1]))
        missed = self.fma(k, self.number(HALF_PI[1]), self.emit(f'fneg {self.kind} {piece}'))
        # near - piece = r + tail exactly (Knuth); either may be the larger one
        r = self.operation(subtract, near, piece)
        taken = self.operation(subtract, near, r)
        tail = self.operation(
            subtract,
            self.operation(subtract, near, self.operation(add, r, taken)),
            self.operation(subtract, piece, taken),
        )
        tail = self.operation(subtract, tail, missed)
        tail = self.fma(minus_k, self.number(HALF_PI[2]), tail)

        z = self.operation(multiply, r, r)
        sine = self.sine(r, tail, z)
        cosine = self.cosine(r, tail, z)

        # Quarter turns: odd ones exchange the two, and bit 1 is the sign.
        quarter = self.bits(shifted)
        one = splat('1', self.lanes, 'i64')
        odd = self.operation('and', quarter, one)
        swap = self.emit(f'icmp ne {self.whole} {odd}, {splat("0", self.lanes, "i64")}')
        for where, turns, first, second in (
            ('%s', quarter, cosine, sine),
            ('%c', self.operation('add', quarter, one), sine, cosine),
        ):
            choice = vector(self.lanes, 'i1')
            chosen = self.emit(f'select {choice} {swap}, {self.kind} {first}, {self.kind} {second}')
            flipped = self.operation('and', turns, splat('2', self.lanes, 'i64'))
            sign = self.operation('shl', flipped, splat('62', self.lanes, 'i64'))
            signed = self.operation('xor', self.bits(chosen), sign)
            value = self.emit(f'bitcast {self.whole} {signed} to {self.kind}')
            pointer = self.dialect.pointer(self.kind)
            place = self.emit(f'bitcast {self.double} {where} to {pointer}')
            self.lines.append(f'  store {self.kind} {value}, {pointer} {place}, align 8')
        self.branch_to_libm()

    def sine(self, r: str, tail: str, z: str) -> str:
        """Return sin(r + tail)."""
        s = [self.number(x) for x in SINE]
        w = self.operation('fmul', z, z)
        low = self.fma(z, self.fma(z, s[3], s[2]), s[1])
        high = self.fma(z, s[5], s[4])
        polynomial = self.fma(self.operation('fmul', z, w), high, low)
        cube = self.operation('fmul', z, r)
        # r + r^3 (S1 + z p) + tail (1 - z/2)
        correction = self.fma(
            z, self.fma(cube, polynomial, self.operation('fmul', self.number(-0.5), tail)), tail
        )
        return self.operation('fadd', r, self.fma(cube, s[0], correction))

    def cosine(self, r: str, tail: str, z: str) -> str:
        """Return cos(r + tail)."""
        c = [self.number(x) for x in COSINE]
        w = self.operation('fmul', z, z)
        low = self.fma(z, self.fma(z, c[2], c[1]), c[0])
        high = self.fma(z, self.fma(z, c[5], c[4]), c[3])
        polynomial = self.operation('fmul', z, self.fma(self.operation('fmul', z, w), high, low))
        # 1 - z/2 in two parts, so that its rounding is made good
        half = self.operation('fmul', z, self.number(0.5))
        most = self.operation('fsub', self.number(1.0), half)
        rounded = self.operation('fsub', self.operation('fsub', self.number(1.0), most), half)
        turned = self.fma(self.emit(f'fneg {self.kind} {r}'), tail, rounded)
        return self.operation('fadd', most, self.fma(z, polynomial, turned))

    def branch_to_libm(self) -> None:
        size = self.emit(f'call {self.kind} @llvm.fabs.{suffix(self.lanes)}({self.kind} %x)')
        far = self.emit(f'fcmp ogt {self.kind} {size}, {self.number(LIMIT)}')
        if self.lanes > 1:
            bits = self.emit(f'bitcast <{self.lanes} x i1> {far} to i{self.lanes}')
            far = self.emit(f'icmp ne i{self.lanes} {bits}, 0')
        self.lines += [f'  br i1 {far}, label %far, label %done', 'done:', '  ret void']

    def by_libm(self, condition: str) -> None:
        """Compute the lanes where a condition holds one after the other."""
        one = f'insertelement <1 x double> undef, {self.kind} %x, i64 0'
        angles = vector(self.lanes) if self.lanes > 1 else '<1 x double>'
        self.lines.append('far:')
        lanes = '%x' if self.lanes > 1 else self.emit(one)
        self.lines += [
            '  br label %head',
            'head:',
            '  %i = phi i64 [ 0, %far ], [ %next, %tail ]',
            f'  %angle = extractelement {angles} {lanes}, i64 %i',
            '  %size = call double @llvm.fabs.f64(double %angle)',
            f'  %beyond = {condition}',
            '  br i1 %beyond, label %lane, label %tail',
            'lane:',
            '  %sine = call double @sin(double %angle)',
            '  %cosine = call double @cos(double %angle)',
            self.dialect.element('%sp', 'double', '%s', '%i'),
            self.dialect.element('%cp', 'double', '%c', '%i'),
            f'  store double %sine, {self.double} %sp',
            f'  store double %cosine, {self.double} %cp',
            '  br label %tail',
            'tail:',
            '  %next = add i64 %i, 1',
            f'  %more = icmp slt i64 %next, {self.lanes}',
            '  br i1 %more, label %head, label %end',
            'end:',
            '  ret void',
        ]
