# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""LLVM IR module of the functions that all compiled kernels share.

They are sines and cosines, the check whether numbers are finite, and the functions that move states
between rows in memory and vectors.

Sine and cosine of a vector of angles, to the last bits of a number, take three steps without
branches: subtract the nearest multiple k of pi/2 (Cody and Waite, with pi/2 in three pieces and
fused multiply-add), evaluate polynomials for sine and cosine of the remainder, at most pi/4, and
choose result and sign by k modulo 4. The remainder is kept as a sum of two numbers, so that an
angle next to a multiple of pi/2 loses no accuracy. Angles beyond a limit are passed to the
mathematical library of the machine.

States are rows of numbers in memory; a vector holds the same number of several states. Blocks of
columns are loaded row by row and transposed in registers, which takes two or three shuffles per
vector. Missing rows of the last block repeat its last row: their results are equal and are stored
to the same place.

The columns of results may be anywhere in memory, as given by a table. An entry that a symmetric
matrix has twice is therefore computed, stored and checked once, and the zeros of a sparse one share
the first vector: blocks of nothing but zeros are stored without a transposition.
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
from dynamics_ros.kernels.llvm.line import (
    Target,
    constant,
    element_at,
    every,
    libm_declarations,
    sincos_name,
    splat,
    suffix,
    vector,
)

FINITE = 'dynamics_ros_finite'
"""Name of the function that checks whether numbers are finite."""

FINITE_WIDTH = 8

GATHER_AHEAD = 2
SCATTER_AHEAD = 1
"""Distance in blocks of states between the memory in use and the prefetched memory."""


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


def gather_name(target: Target) -> str:
    """Return the name of the function from rows to vectors."""
    return f'dynamics_ros_gather_{target.lanes}'


def scatter_name(target: Target) -> str:
    """Return the name of the function from vectors to rows."""
    return f'dynamics_ros_scatter_{target.lanes}'


def _sincos_widths(target: Target) -> list[int]:
    """Return the numbers of angles that one call can compute."""
    return [1 << i for i in range(target.lanes.bit_length())]


def declarations(target: Target) -> dict[str, str]:
    """Return the declarations of all functions by their names, for the modules that use them.

    Those of sines take the angles, the sines and the cosines. Those of rows take the rows, their
    stride in bytes, the number of rows - 1, that of columns, and the vectors. The one from vectors
    to rows also takes a table: the byte offset of each column's vector, of which the one at offset
    0 is zero.
    """
    declared = {
        sincos_name(lanes): f'void @({vector(lanes)}, ptr, ptr)' for lanes in _sincos_widths(target)
    }
    if target.lanes > 1:
        declared[gather_name(target)] = 'void @(ptr, i64, i64, i64, ptr)'
        declared[scatter_name(target)] = 'void @(ptr, i64, i64, i64, ptr, ptr)'
    declared[FINITE] = 'i1 @(ptr, i64)'
    return {name: f'declare {x}'.replace('@', f'@{name}') for name, x in declared.items()}


def emit(target: Target) -> str:
    """Return the module; it needs sine and cosine of libm."""
    sections = [_sincos(lanes, target) for lanes in _sincos_widths(target)]
    if target.lanes > 1:
        sections += [_Rows(target, gathers).text() for gathers in (True, False)]
        sections.append('declare void @llvm.prefetch.p0(ptr, i32, i32, i32)')
    text = '\n'.join([*sections, _finite()])
    needed = {f'declare double @{x}(double)' for x in ('sin', 'cos')}
    for lanes in {1, *_sincos_widths(target)}:
        needed |= set(libm_declarations(text, lanes))
    return '\n'.join([text, *sorted(needed)])


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


def _sincos(lanes: int, target: Target) -> str:
    """Return the function of sines and cosines of some number of angles.

    Without fused multiply-add, libm computes all of them.
    """
    kind = vector(lanes)
    limit = constant(LIMIT if target.fused else -1.0)
    text = llvm_line.emit(sincos_trace(), 'near', target, lanes, table=False)
    # Each operation has a rounding of its own. Head and tail go, and the load of the angles.
    near = text.replace(' contract ', ' ').split('\n')[3:-2] if target.fused else []
    lines = [
        f'define void @{sincos_name(lanes)}({kind} %v0, ptr %out0, ptr %out1) nounwind {{',
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


def _finite() -> str:
    """Return the finiteness check for any count of numbers: x - x is NaN unless x is finite."""
    kind = vector(FINITE_WIDTH)
    every_flag = '\n'.join(every('%flags', FINITE_WIDTH, '%good'))
    return f"""define i1 @{FINITE}(ptr %numbers, i64 %count) nounwind {{
entry:
  %end = sub i64 %count, {FINITE_WIDTH}
  br label %wide
wide:
  %i = phi i64 [ 0, %entry ], [ %i.next, %wide.body ]
  %total = phi {kind} [ zeroinitializer, %entry ], [ %total.next, %wide.body ]
  %more = icmp sle i64 %i, %end
  br i1 %more, label %wide.body, label %wide.done
wide.body:
{element_at('%e', 'double', '%numbers', '%i')}
  %x = load {kind}, ptr %e, align 8
  %d = fsub {kind} %x, %x
  %total.next = fadd {kind} %total, %d
  %i.next = add i64 %i, {FINITE_WIDTH}
  br label %wide
wide.done:
  %flags = fcmp ord {kind} %total, %total
{every_flag}
  br label %single
single:
  %j = phi i64 [ %i, %wide.done ], [ %j.next, %single.body ]
  %rest = phi double [ 0.0, %wide.done ], [ %rest.next, %single.body ]
  %j.more = icmp slt i64 %j, %count
  br i1 %j.more, label %single.body, label %single.done
single.body:
{element_at('%je', 'double', '%numbers', '%j')}
  %y = load double, ptr %je
  %yd = fsub double %y, %y
  %rest.next = fadd double %rest, %yd
  %j.next = add i64 %j, 1
  br label %single
single.done:
  %last = fcmp ord double %rest, %rest
  %all = and i1 %good, %last
  ret i1 %all
}}
"""


def _wide(width: int, element: str = 'double') -> str:
    """Return the type of a vector, also of one number."""
    return f'<{width} x {element}>'


class _Rows:
    """Writer of one of the functions."""

    def __init__(self, target: Target, gathers: bool) -> None:
        self.target = target
        self.lanes = target.lanes
        self.gathers = gathers
        self.lines: list[str] = []
        self.count = 0

    def emit(self, text: str) -> str:
        """Append a line that computes a value; return the name of the value."""
        self.count += 1
        self.lines.append(f'  %t{self.count} = {text}')
        return f'%t{self.count}'

    def shuffle(self, a: str, b: str, width: int, places: list[int]) -> str:
        kind, mask = _wide(width), ', '.join(f'i32 {x}' for x in places)
        mask_kind = _wide(len(places), 'i32')
        return self.emit(f'shufflevector {kind} {a}, {kind} {b}, {mask_kind} <{mask}>')

    def place(self, base: str, index: str) -> str:
        """Return a pointer to an element of an array."""
        return self.emit(f'getelementptr double, ptr {base}, i64 {index}')

    def load(self, base: str, index: str, width: int) -> str:
        return self.emit(f'load {_wide(width)}, ptr {self.place(base, index)}, align 8')

    def store(self, value: str, base: str, index: str, width: int) -> None:
        where = self.place(base, index)
        self.lines.append(f'  store {_wide(width)} {value}, ptr {where}, align 8')

    def prefetch(self, row: str, column: str, blocks: int) -> None:
        """Prefetch the memory that a later block of states reads or writes here."""
        place = self.place(row, column)
        offset = self.emit(f'mul i64 %stride, {blocks * self.lanes}')
        ahead = self.emit(f'getelementptr i8, ptr {place}, i64 {offset}')
        writes = int(not self.gathers)
        self.lines.append(f'  call void @llvm.prefetch.p0(ptr {ahead}, i32 {writes}, i32 3, i32 1)')

    def text(self) -> str:
        name_of = gather_name if self.gathers else scatter_name
        for lane in range(self.lanes):
            below = self.emit(f'icmp slt i64 {lane}, %last')
            row = self.emit(f'select i1 {below}, i64 {lane}, i64 %last')
            offset = self.emit(f'mul i64 {row}, %stride')
            self.lines.append(f'  %row{lane} = getelementptr i8, ptr %base, i64 {offset}')
        self.lines += [
            '  %some = icmp sgt i64 %columns, 0',
            '  br i1 %some, label %w0, label %none',
        ]
        widths = self.widths()
        for i, width in enumerate(widths):
            self.blocks(width, f'w{i}', f'w{i + 1}')
        # There are none of width 0.
        self.lines += [f'w{len(widths)}:', '  unreachable', 'none:', '  ret void']
        body = '\n'.join(self.lines)
        table = '' if self.gathers else ', ptr %table'
        return (
            f'define void @{name_of(self.target)}(ptr %base, i64 %stride, i64 %last, '
            f'i64 %columns, ptr %vectors{table}) nounwind {{\nentry:\n{body}\n}}\n'
        )

    def widths(self) -> list[int]:
        """Return the widths of blocks, the widest first; a row takes the first that fits."""
        return sorted({self.lanes, self.lanes // 2, min(self.lanes, 4), 1}, reverse=True)

    def blocks(self, width: int, label: str, narrower: str) -> None:
        """Move all columns in blocks of one width; the last block may overlap the one before."""
        j = f'%{label}.j'
        self.lines += [
            f'{label}:',
            f'  %{label}.end = sub i64 %columns, {width}',
            f'  %{label}.fits = icmp sge i64 %{label}.end, 0',
            f'  br i1 %{label}.fits, label %{label}.block, label %{narrower}',
            f'{label}.block:',
            f'  {j} = phi i64 [ 0, %{label} ], [ {j}.next, %{label}.more ]',
        ]
        if self.gathers:
            self.gather(width, j)
        else:
            self.scatter(width, j, label)
        self.lines += [
            f'  {j}.step = add i64 {j}, {width}',
            f'  {j}.over = icmp sgt i64 {j}.step, %{label}.end',
            f'  {j}.next = select i1 {j}.over, i64 %{label}.end, i64 {j}.step',
            f'  {j}.done = icmp eq i64 {j}, %{label}.end',
            f'  br i1 {j}.done, label %{label}.done, label %{label}.more',
            f'{label}.more:',
            f'  br label %{label}.block',
            f'{label}.done:',
            '  ret void',
        ]

    def gather(self, width: int, column: str) -> None:
        """Move some columns from rows to vectors."""
        start = self.emit(f'mul i64 {column}, {self.lanes}')
        rows = []
        for lane in range(self.lanes):
            rows.append(self.load(f'%row{lane}', column, width))
            self.prefetch(f'%row{lane}', column, GATHER_AHEAD)
        for k, value in enumerate(self.transposed(rows, width)):
            index = self.emit(f'add i64 {start}, {k * self.lanes}')
            self.store(value, '%vectors', index, self.lanes)

    def scatter(self, width: int, column: str, label: str) -> None:
        """Move some columns from vectors to rows."""
        kind = _wide(width, 'i32')
        entry = self.emit(f'getelementptr i32, ptr %table, i64 {column}')
        places = self.emit(f'load {kind}, ptr {entry}, align 4')
        if width == self.lanes and width > 1:
            same = self.emit(f'icmp eq {kind} {places}, zeroinitializer')
            self.lines += [
                *every(same, width, f'%{label}.empty'),
                f'  br i1 %{label}.empty, label %{label}.zeros, label %{label}.full',
                f'{label}.zeros:',
            ]
            for lane in range(self.lanes):
                self.store_row(lane, 'zeroinitializer', column, width)
            self.lines += [f'  br label %{label}.next', f'{label}.full:']
        columns = []
        states = vector(self.lanes)
        for k in range(width):
            place = self.emit(f'extractelement {kind} {places}, i64 {k}')
            offset = self.emit(f'zext i32 {place} to i64')
            where = self.emit(f'getelementptr i8, ptr %vectors, i64 {offset}')
            columns.append(self.emit(f'load {states}, ptr {where}, align {8 * self.lanes}'))
        for lane, value in enumerate(self.transposed_back(columns, width)):
            self.store_row(lane, value, column, width)
        if width == self.lanes and width > 1:
            self.lines += [f'  br label %{label}.next', f'{label}.next:']

    def store_row(self, lane: int, value: str, column: str, width: int) -> None:
        self.store(value, f'%row{lane}', column, width)
        self.prefetch(f'%row{lane}', column, SCATTER_AHEAD)

    def transposed(self, rows: list[str], width: int) -> list[str]:
        """Return the columns of some rows of one width."""
        # Concatenated: row i, row i + width, ...
        for size in _doublings(width, self.lanes):
            pairs = [
                (rows[first + i], rows[first + width + i])
                for first in range(0, len(rows), 2 * width)
                for i in range(width)
            ]
            rows = [self.shuffle(x, y, size, list(range(2 * size))) for x, y in pairs]
        return self.squares(rows, width)

    def transposed_back(self, columns: list[str], width: int) -> list[str]:
        """Return the rows of columns."""
        rows = self.squares(columns, width)
        for size in reversed(_doublings(width, self.lanes)):
            halves = [list(range(size)), list(range(size, 2 * size))]
            rows = [
                self.shuffle(x, 'undef', 2 * size, half)
                for first in range(0, len(rows), width)
                for half in halves
                for x in rows[first : first + width]
            ]
        return rows

    def squares(self, rows: list[str], width: int) -> list[str]:
        """Transpose each square of a width within vectors that hold several squares."""
        lanes, step = self.lanes, 1
        while step < width:
            low = [lanes + x - step if x & step else x for x in range(lanes)]
            high = [lanes + x if x & step else x + step for x in range(lanes)]
            swapped = list(rows)
            for i in range(width):
                if not i & step:
                    pair = rows[i], rows[i + step]
                    swapped[i] = self.shuffle(*pair, lanes, low)
                    swapped[i + step] = self.shuffle(*pair, lanes, high)
            rows = swapped
            step *= 2
        return rows


def _doublings(width: int, lanes: int) -> list[int]:
    """Return the widths from one to another by doubling, without the last."""
    sizes = []
    while width < lanes:
        sizes.append(width)
        width *= 2
    return sizes
