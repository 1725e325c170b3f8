# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""LLVM IR functions that move states between rows in memory and vectors.

States are rows of numbers in memory; a vector holds the same number of several states. Blocks of
columns are loaded row by row and transposed in registers, which takes two or three shuffles per
vector. Missing rows of the last block repeat its last row: their results are equal and are stored
to the same place.

The columns of results may be anywhere in memory, as given by a table. An entry that a symmetric
matrix has twice is therefore computed, stored and checked once, and the zeros of a sparse one share
the first vector: blocks of nothing but zeros are stored without a transposition.
"""

from __future__ import annotations

from dynamics_ros.kernels.llvm.dialect import DOUBLE, Dialect, Number, Writer, suffix, vector

GATHER_AHEAD = 2
SCATTER_AHEAD = 1
"""Distance in blocks of states between the memory in use and the prefetched memory."""


def gather_name(lanes: int, number: Number = DOUBLE) -> str:
    """Return the name of the function from rows to vectors."""
    return f'dynamics_ros_gather{number.libm}_{lanes}'


def scatter_name(lanes: int, number: Number = DOUBLE) -> str:
    """Return the name of the function from vectors to rows."""
    return f'dynamics_ros_scatter{number.libm}_{lanes}'


def signatures(lanes: int, dialect: Dialect) -> list[str]:
    """Return result, name and types: (rows, stride in bytes, rows - 1, columns, vectors).

    The function from rows to vectors returns whether all numbers are finite. The function from
    vectors to rows also takes a table after the vectors: the byte offset of each column's vector;
    the vector at offset 0 is zero.
    """
    byte, array = dialect.pointer('i8'), dialect.pointer(dialect.number.type)
    shared = f'{byte}, i64, i64, i64, {array}'
    return [
        f'i1 @{gather_name(lanes, dialect.number)}({shared})',
        f'void @{scatter_name(lanes, dialect.number)}({shared}, {dialect.pointer("i32")})',
    ]


def declaration(dialect: Dialect) -> str:
    """Return the declarations of the functions that both call."""
    name = _prefetch_name(dialect)
    return f'declare void @{name}({dialect.pointer("i8")}, i32, i32, i32)'


def emit(lanes: int, dialect: Dialect) -> str:
    """Return both functions for vectors with some lanes."""
    return _Rows(lanes, dialect, True).text() + _Rows(lanes, dialect, False).text()


class _Rows(Writer):
    """Writer of one of the functions."""

    def __init__(self, lanes: int, dialect: Dialect, gathers: bool) -> None:
        super().__init__()
        self.lanes = lanes
        self.dialect = dialect
        self.gathers = gathers
        self.byte = dialect.pointer('i8')
        self.number = dialect.number.type
        self.size = dialect.number.size
        self.array = dialect.pointer(self.number)

    def shuffle(self, a: str, b: str, width: int, places: list[int]) -> str:
        kind = vector(width, self.number)
        mask = ', '.join(f'i32 {x}' for x in places)
        return self.emit(f'shufflevector {kind} {a}, {kind} {b}, <{len(places)} x i32> <{mask}>')

    def place(self, base: str, index: str, kind: str) -> str:
        """Return a pointer to a vector of a type that begins at an element of an array."""
        element = self.emit(f'getelementptr {self.number}, {self.array} {base}, i64 {index}')
        return self.emit(f'bitcast {self.array} {element} to {self.dialect.pointer(kind)}')

    def load(self, base: str, index: str, width: int) -> str:
        kind = vector(width, self.number)
        where = self.place(base, index, kind)
        return self.emit(f'load {kind}, {self.dialect.pointer(kind)} {where}, align {self.size}')

    def store(self, value: str, base: str, index: str, width: int) -> None:
        kind = vector(width, self.number)
        where = self.place(base, index, kind)
        self.lines.append(
            f'  store {kind} {value}, {self.dialect.pointer(kind)} {where}, align {self.size}'
        )

    def prefetch(self, row: str, column: str, blocks: int) -> None:
        """Prefetch the memory that a later block of states reads or writes here."""
        element = self.emit(f'getelementptr {self.number}, {self.array} {row}, i64 {column}')
        byte = self.emit(f'bitcast {self.array} {element} to {self.byte}')
        offset = self.emit(f'mul i64 %stride, {blocks * self.lanes}')
        ahead = self.emit(f'getelementptr i8, {self.byte} {byte}, i64 {offset}')
        name, writes = _prefetch_name(self.dialect), int(not self.gathers)
        self.lines.append(f'  call void @{name}({self.byte} {ahead}, i32 {writes}, i32 3, i32 1)')

    def text(self) -> str:
        name_of = gather_name if self.gathers else scatter_name
        name = name_of(self.lanes, self.dialect.number)
        result = 'i1' if self.gathers else 'void'
        for lane in range(self.lanes):
            below = self.emit(f'icmp slt i64 {lane}, %last')
            row = self.emit(f'select i1 {below}, i64 {lane}, i64 %last')
            offset = self.emit(f'mul i64 {row}, %stride')
            first = self.emit(f'getelementptr i8, {self.byte} %base, i64 {offset}')
            self.lines.append(f'  %row{lane} = bitcast {self.byte} {first} to {self.array}')
        if not self.gathers:
            self.lines.append(f'  %zero = bitcast {self.array} %vectors to {self.byte}')
        self.lines += [
            '  %some = icmp sgt i64 %columns, 0',
            '  br i1 %some, label %w0, label %none',
        ]
        widths = self.widths()
        for i, width in enumerate(widths):
            self.blocks(width, f'w{i}', f'w{i + 1}')
        # There are none of width 0.
        self.lines += [f'w{len(widths)}:', '  unreachable', 'none:']
        self.result('zeroinitializer')
        body = '\n'.join(self.lines)
        table = '' if self.gathers else f', {self.dialect.pointer("i32")} %table'
        return (
            f'define {result} @{name}({self.byte} %base, i64 %stride, i64 %last, i64 %columns, '
            f'{self.array} %vectors{table}) nounwind {{\nentry:\n{body}\n}}\n'
        )

    def widths(self) -> list[int]:
        """Return the widths of blocks, the widest first; a row takes the first that fits."""
        return sorted({self.lanes, self.lanes // 2, min(self.lanes, 4), 1}, reverse=True)

    def blocks(self, width: int, label: str, narrower: str) -> None:
        """Move all columns in blocks of one width; the last block may overlap the one before."""
        j, seen = f'%{label}.j', f'%{label}.seen'
        self.lines += [
            f'{label}:',
            f'  %{label}.end = sub i64 %columns, {width}',
            f'  %{label}.fits = icmp sge i64 %{label}.end, 0',
            f'  br i1 %{label}.fits, label %{label}.block, label %{narrower}',
            f'{label}.block:',
            f'  {j} = phi i64 [ 0, %{label} ], [ {j}.next, %{label}.more ]',
        ]
        if self.gathers:
            self.lines.append(
                f'  {seen} = phi {vector(self.lanes, self.number)} [ zeroinitializer, %{label} ], '
                f'[ {seen}.next, %{label}.more ]'
            )
            self.gather(width, j, seen)
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
        ]
        self.result(f'{seen}.next')

    # NaN or infinity times zero is NaN, which the sum of these products keeps.

    def note(self, values: list[str], seen: str) -> None:
        kind = vector(self.lanes, self.number)
        total = seen
        for i, value in enumerate(values):
            following = f'{seen}.next' if i == len(values) - 1 else f'{seen}.{i}'
            self.lines.append(
                f'  {following} = call {kind} @llvm.fma.{suffix(self.lanes, self.dialect.number)}'
                f'({kind} {value}, {kind} zeroinitializer, {kind} {total})'
            )
            total = following

    def result(self, seen: str) -> None:
        if not self.gathers:
            self.lines.append('  ret void')
            return
        lanes = self.lanes
        flags = self.emit(f'fcmp ord {vector(lanes, self.number)} {seen}, {seen}')
        bits = self.emit(f'bitcast {vector(lanes, "i1")} {flags} to i{lanes}')
        good = self.emit(f'icmp eq i{lanes} {bits}, -1')
        self.lines.append(f'  ret i1 {good}')

    def gather(self, width: int, column: str, seen: str) -> None:
        """Move some columns from rows to vectors."""
        start = self.emit(f'mul i64 {column}, {self.lanes}')
        rows = []
        for lane in range(self.lanes):
            rows.append(self.load(f'%row{lane}', column, width))
            self.prefetch(f'%row{lane}', column, GATHER_AHEAD)
        columns = self.transposed(rows, width)
        self.note(columns, seen)
        for k, value in enumerate(columns):
            index = self.emit(f'add i64 {start}, {k * self.lanes}')
            self.store(value, '%vectors', index, self.lanes)

    def scatter(self, width: int, column: str, label: str) -> None:
        """Move some columns from vectors to rows."""
        kind, number = vector(width, 'i32'), self.dialect.pointer('i32')
        first = self.emit(f'getelementptr i32, {number} %table, i64 {column}')
        entry = self.emit(f'bitcast {number} {first} to {self.dialect.pointer(kind)}')
        places = self.emit(f'load {kind}, {self.dialect.pointer(kind)} {entry}, align 4')
        if width == self.lanes and width > 1:
            same = self.emit(f'icmp eq {kind} {places}, zeroinitializer')
            bits = self.emit(f'bitcast {vector(width, "i1")} {same} to i{width}')
            empty = self.emit(f'icmp eq i{width} {bits}, -1')
            self.lines += [
                f'  br i1 {empty}, label %{label}.zeros, label %{label}.full',
                f'{label}.zeros:',
            ]
            for lane in range(self.lanes):
                self.store_row(lane, 'zeroinitializer', column, width)
            self.lines += [f'  br label %{label}.next', f'{label}.full:']
        columns = []
        states = vector(self.lanes, self.number)
        pointer = self.dialect.pointer(states)
        for k in range(width):
            place = places
            if width > 1:
                place = self.emit(f'extractelement {kind} {places}, i64 {k}')
            offset = self.emit(f'zext i32 {place} to i64')
            byte = self.emit(f'getelementptr i8, {self.byte} %zero, i64 {offset}')
            where = self.emit(f'bitcast {self.byte} {byte} to {pointer}')
            columns.append(
                self.emit(f'load {states}, {pointer} {where}, align {self.size * self.lanes}')
            )
        for lane, value in enumerate(self.transposed_back(columns, width)):
            self.store_row(lane, value, column, width)
        if width == self.lanes and width > 1:
            self.lines += [f'  br label %{label}.next', f'{label}.next:']

    def store_row(self, lane: int, value: str, column: str, width: int) -> None:
        self.store(value, f'%row{lane}', column, width)
        self.prefetch(f'%row{lane}', column, SCATTER_AHEAD)

    def transposed(self, rows: list[str], width: int) -> list[str]:
        """Return the columns of some rows of one width."""
        lanes = self.lanes
        if width == 1:
            column = 'undef'
            for lane, value in enumerate(rows):
                column = self.emit(
                    f'insertelement {vector(lanes, self.number)} {column}, '
                    f'{self.number} {value}, i64 {lane}'
                )
            return [column]
        # Concatenated: row i, row i + width, ...
        for size in _doublings(width, lanes):
            pairs = [
                (rows[first + i], rows[first + width + i])
                for first in range(0, len(rows), 2 * width)
                for i in range(width)
            ]
            rows = [self.shuffle(x, y, size, list(range(2 * size))) for x, y in pairs]
        return self.squares(rows, width)

    def transposed_back(self, columns: list[str], width: int) -> list[str]:
        """Return the rows of columns."""
        lanes = self.lanes
        if width == 1:
            kind = vector(lanes, self.number)
            return [self.emit(f'extractelement {kind} {columns[0]}, i64 {i}') for i in range(lanes)]
        rows = self.squares(columns, width)
        for size in reversed(_doublings(width, lanes)):
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
            swapped = list(rows)
            for i in range(width):
                if not i & step:
                    low, high = [], []
                    for lane in range(lanes):
                        if not lane & step:
                            low.append(lane)
                            high.append(lane + step)
                        else:
                            low.append(lanes + lane - step)
                            high.append(lanes + lane)
                    swapped[i] = self.shuffle(rows[i], rows[i + step], lanes, low)
                    swapped[i + step] = self.shuffle(rows[i], rows[i + step], lanes, high)
            rows = swapped
            step *= 2
        return rows


def _prefetch_name(dialect: Dialect) -> str:
    return 'llvm.prefetch.p0' if dialect.opaque_pointers else 'llvm.prefetch.p0i8'


def _doublings(width: int, lanes: int) -> list[int]:
    """Return the widths from one to another by doubling, without the last."""
    sizes = []
    while width < lanes:
        sizes.append(width)
        width *= 2
    return sizes
