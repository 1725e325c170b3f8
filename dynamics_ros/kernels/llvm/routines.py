# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Routine calls in LLVM IR: one loop runs through a table of calls.

A row of the table has the number of a routine, the slots of its operands and those of its results.
``void @<routine>(numbers, places)`` takes the memory of the slots and a pointer to the slot numbers
in the row. Hundreds of thousands of operations become a table, which LLVM does not process, and
code
that stays in the processor's caches.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dynamics_ros.kernels.graph.schedule import Calls
from dynamics_ros.kernels.graph.trace import Routine, Trace
from dynamics_ros.kernels.llvm.dialect import Dialect
from dynamics_ros.kernels.llvm.slots import Slots

END = -1
"""Routine number that marks the end of the table."""


def place(name: str, index: int, dialect: Dialect) -> list[str]:
    """Return the instructions that make the pointer to the slot at an index of a row."""
    return [
        dialect.element(f'{name}.p', 'i32', '%places', index),
        f'  {name}.i = load i32, {dialect.pointer("i32")} {name}.p, align 4, !invariant.load !{{}}',
        f'  {name} = zext i32 {name}.i to i64',
    ]


class Table:
    """Table of integers as a constant of a module.

    Attributes:
        text: its definition.
        kind: its type.
    """

    def __init__(self, name: str, rows: Sequence[Sequence[int]]) -> None:
        entries = [x for row in rows for x in row]
        self.kind = f'[{len(entries)} x i32]'
        self._name = name
        values = ', i32 '.join(map(str, entries))
        self.text = f'@{name} = private constant {self.kind} [i32 {values}]'

    def pointer(self, name: str, dialect: Dialect) -> str:
        """Return the instruction that makes a pointer to the first number."""
        table = f'{dialect.pointer(self.kind)} @{self._name}'
        return f'  {name} = getelementptr {self.kind}, {table}, i64 0, i64 0'


def _calls(
    table: Table, routines: Mapping[int, tuple[str, int]], pointer: str, dialect: Dialect
) -> list[str]:
    """Return the instructions that run through a table of calls.

    Args:
        table: the calls.
        routines: function and number of slots of each routine, by number.
        pointer: the type of a pointer to the memory of the slots.
        dialect: dialect of the installed LLVM.
    """
    place = dialect.pointer('i32')
    targets = ' '.join(f'i32 {number}, label %routine{number}' for number in routines)
    lines = [
        '  br label %calls',
        'calls:',
        table.pointer('%first', dialect),
        '  br label %row',
        'row:',
        f'  %row.p = phi {place} [ %first, %calls ], '
        + ', '.join(f'[ %next{x}, %routine{x} ]' for x in routines),
        f'  %number = load i32, {place} %row.p, align 4',
        dialect.element('%places', 'i32', '%row.p', 1),
        f'  switch i32 %number, label %called [ {targets} ]',
    ]
    for number, (function, places) in routines.items():
        lines += [
            f'routine{number}:',
            f'  call void @{function}({pointer} %memory, {place} %places)',
            dialect.element(f'%next{number}', 'i32', '%row.p', 1 + places),
            '  br label %row',
        ]
    return [*lines, 'called:']


def _copies(table: Table, count: int, output: int, kind: str, dialect: Dialect) -> list[str]:
    """Return the instructions that copy slots into an output.

    Args:
        table: slot and output element of each copy.
        count: number of copies.
        output: number of the output.
        kind: type of the values.
        dialect: dialect of the installed LLVM.
    """
    place, pointer, size = dialect.pointer('i32'), dialect.pointer(kind), dialect.number.size
    n, block = f'%copy{output}', f'copy{output}'
    return [
        f'  br label %{block}.start',
        f'{block}.start:',
        table.pointer(f'{n}.t', dialect),
        f'  br label %{block}',
        f'{block}:',
        f'  {n}.i = phi i64 [ 0, %{block}.start ], [ {n}.next, %{block} ]',
        f'  {n}.j = mul i64 {n}.i, 2',
        dialect.element(f'{n}.a', 'i32', f'{n}.t', f'{n}.j'),
        dialect.element(f'{n}.b', 'i32', f'{n}.a', 1),
        f'  {n}.slot = load i32, {place} {n}.a, align 4',
        f'  {n}.element = load i32, {place} {n}.b, align 4',
        f'  {n}.from = zext i32 {n}.slot to i64',
        f'  {n}.to = zext i32 {n}.element to i64',
        dialect.element(f'{n}.p', kind, '%memory', f'{n}.from'),
        dialect.element(f'{n}.q', kind, f'%o{output}', f'{n}.to'),
        f'  {n}.x = load {kind}, {pointer} {n}.p, align {size}',
        f'  store {kind} {n}.x, {pointer} {n}.q, align {size}',
        f'  {n}.next = add i64 {n}.i, 1',
        f'  {n}.more = icmp slt i64 {n}.next, {count}',
        f'  br i1 {n}.more, label %{block}, label %{block}.end',
        f'{block}.end:',
    ]


class Calling:
    """Emitter of the parts of a trace that call routines.

    Attributes:
        names: the functions of the routines.
    """

    def __init__(
        self,
        trace: Trace,
        name: str,
        names: Sequence[str],
        slots: Slots,
        kind: str,
        dialect: Dialect,
    ) -> None:
        """Store what the parts need.

        Args:
            trace: the trace.
            name: name of its function.
            names: as above.
            slots: slots of the trace.
            kind: type of a number or a vector of them.
            dialect: dialect of the installed LLVM.
        """
        self.names = names
        self._trace, self._name, self._slots = trace, name, slots
        self._kind, self._dialect = kind, dialect
        self._numbers = {routine: i for i, routine in enumerate(trace.routines)}

    def lines(
        self, part: int, calls: Calls, stores: dict[int, list[tuple[int, int]]]
    ) -> tuple[list[str], list[str]]:
        """Return the instructions that call a part's routines and store its results, and tables.

        Args:
            part: number of the part.
            calls: the part.
            stores: destinations of the trace's results; those that the part stores are removed.
        """
        nodes, slots, dialect = self._trace.nodes, self._slots, self._dialect
        rows: list[list[int]] = []
        given: dict[int, list[list[int]]] = {}
        for position in calls.positions:
            operation, operands = nodes[position]
            assert isinstance(operation, Routine)
            places = [slots.waste] * len(operation.body.results)
            for result in slots.read[position]:
                i = int(nodes[result].operands[1])
                places[i] = slots.place(result)
                for output, element in stores.pop(result, ()):
                    given.setdefault(output, []).append([places[i], element])
            rows.append([self._numbers[operation], *map(slots.place, operands), *places])
        name, called = f'{self._name}.{part}', {row[0] for row in rows}
        table = Table(f'{name}.calls', [*rows, [END]])
        targets = {
            number: (self.names[number], x.arity + len(x.body.results))
            for x, number in self._numbers.items()
            if number in called
        }
        lines = _calls(table, targets, dialect.pointer(self._kind), dialect)
        tables = [table]
        for output, pairs in given.items():
            tables.append(Table(f'{name}.results{output}', pairs))
            lines += _copies(tables[-1], len(pairs), output, self._kind, dialect)
        return lines, [x.text for x in tables]
