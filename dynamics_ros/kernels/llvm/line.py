# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""LLVM IR functions of a trace's straight line, for one state or a vector of states.

``void @<name>(inputs..., outputs...)`` takes a pointer to the first number of each array. With
several lanes a number is a vector with one state per lane. No output may overlap another array.
"""

from __future__ import annotations

from collections.abc import Sequence

from dynamics_ros.kernels.graph.operations import COS, ELEMENT, INPUT, SIN
from dynamics_ros.kernels.graph.schedule import (
    BATCH_PART_STEPS,
    PART_STEPS,
    Angles,
    Step,
    cut,
    part_count,
    steps,
)
from dynamics_ros.kernels.graph.trace import Loop, Trace
from dynamics_ros.kernels.llvm import loop as llvm_loop
from dynamics_ros.kernels.llvm import sincos as llvm_sincos
from dynamics_ros.kernels.llvm.dialect import Dialect, constant, splat, suffix, vector
from dynamics_ros.kernels.llvm.external_calls import lane_tag
from dynamics_ros.kernels.llvm.processor import Processor
from dynamics_ros.kernels.llvm.slots import Slots, padded

MAX_MEMORY = 4 * 2**20
"""Largest memory of a call [bytes]; stacks usually have 8 MB."""


def parameters(trace: Trace, dialect: Dialect, attributes: str = '') -> list[str]:
    """Return the parameters of the functions that take one pointer per array."""
    kind = ' '.join([dialect.pointer(dialect.number.type), *attributes.split()])
    inputs = [f'{kind} %in{i}' for i in range(len(trace.inputs))]
    return inputs + [f'{kind} %out{i}' for i in range(len(trace.outputs))]


def emit(trace: Trace, name: str, dialect: Dialect, processor: Processor, lanes: int) -> str:
    """Return the LLVM function of a trace, with those of its parts and loops."""
    return _Line(trace, name, dialect, processor, lanes).text()


class _Line:
    """Writer of the functions of one trace.

    Values that have a slot in `Slots` are stored in a memory that lasts for the whole call.
    """

    def __init__(
        self, trace: Trace, name: str, dialect: Dialect, processor: Processor, lanes: int
    ) -> None:
        self.trace = trace
        self.name = name
        self.dialect = dialect
        self.processor = processor
        self.lanes = lanes
        self.number = dialect.number
        self.kind = vector(lanes, self.number.type)
        self.pointer = dialect.pointer(self.kind)
        self.array = dialect.pointer(self.number.type)
        self.format = {
            'type': self.kind,
            'condition': vector(lanes, 'i1'),
            'suffix': suffix(lanes, self.number),
            'lanes': lane_tag(lanes, self.number),
            'one': splat('1.0', lanes, self.number.type),
        }
        # One call takes several angles of one state, or one angle of several states.
        self.width = processor.lanes if lanes == 1 else 1
        ordered = steps(trace.nodes, self.width)
        # Output and element of each computed result; and the constant results.
        self.stores: dict[int, list[tuple[int, int]]] = {}
        ready: list[tuple[int | float, tuple[int, int]]] = []
        places = [(i, j) for i, x in enumerate(trace.outputs) for j in range(x.size)]
        for result, place in zip(trace.results, places):
            if isinstance(result, int) and trace.nodes[result].operation is not INPUT:
                self.stores.setdefault(result, []).append(place)
            else:
                ready.append((result, place))
        # They are most of a sparse matrix, so all parts share the work.
        size = PART_STEPS if lanes == 1 else BATCH_PART_STEPS
        count = part_count(len(ordered) + len(ready), size)
        self.parts = cut(ordered, count)
        self.ready = cut(ready, len(self.parts))
        self.slots = Slots(trace.nodes, self.parts)
        self.turned_results: dict[int, list[int]] = {}
        for position in self.stores:
            operation, operands = trace.nodes[position]
            if operation in (SIN, COS):
                self.turned_results.setdefault(int(operands[0]), []).append(position)
        # Elements of loops are in memory.
        nodes = [x for x in trace.nodes if x.operation is not ELEMENT and x.operation.llvm]
        numbers = (x for node in nodes for x in node.operands if type(x) is float)
        found = [constant(x, self.number) for x in numbers]
        self.constants = {text: place for place, text in enumerate(dict.fromkeys(found))}
        self.lines: list[str] = []
        self.known: set[tuple[str, int]] = set()

    # Instructions

    def load(self, name: str, array: str, index: int | str) -> None:
        self.lines += [
            self.dialect.element(f'{name}.p', self.kind, array, index),
            f'  {name} = load {self.kind}, {self.pointer} {name}.p, align {self.number.size}',
        ]

    def store(self, value: str, array: str, index: int | str, name: str) -> None:
        # volatile: LLVM would look for stores to merge, which takes longer than everything else.
        self.lines += [
            self.dialect.element(name, self.kind, array, index),
            f'  store volatile {self.kind} {value}, {self.pointer} {name}, '
            f'align {self.number.size}',
        ]

    def value(self, reference: int | float) -> str:
        """Return the name of a value, after loading it in this part if needed."""
        if not isinstance(reference, int):
            return splat(constant(reference, self.number), self.lanes, self.number.type)
        operation, operands = self.trace.nodes[reference]
        half = {SIN: 's', COS: 'c'}.get(operation, 'v')
        source = int(operands[0]) if half != 'v' else reference
        name = f'%{half}{source}'
        if (half, source) not in self.known:
            self.known.add((half, source))
            if operation is INPUT:
                self.load(name, f'%i{int(operands[0])}', int(operands[1]))
            elif operation.condition:
                self.compute(reference)
            else:
                self.load(name, '%memory', self.slots.of[half, source])
        return name

    def load_constant(self, value: float) -> str:
        """Return the name of a constant, after loading it in this part if needed."""
        place = self.constants[constant(value, self.number)]
        name = f'%k{place}'
        if ('k', place) not in self.known:
            self.known.add(('k', place))
            number = self.number
            scalar = name if self.lanes == 1 else f'{name}.s'
            self.lines += [
                self.dialect.element(f'{name}.p', number.type, '%constants', place),
                f'  {scalar} = load {number.type}, {self.array} {name}.p, align {number.size}, '
                '!invariant.load !{}',
            ]
            if self.lanes > 1:
                mask = vector(self.lanes, 'i32')
                self.lines += [
                    f'  {name}.i = insertelement {self.kind} undef, {number.type} {scalar}, i64 0',
                    f'  {name} = shufflevector {self.kind} {name}.i, {self.kind} undef, '
                    f'{mask} zeroinitializer',
                ]
        return name

    def compute(self, position: int) -> None:
        operation, operands = self.trace.nodes[position]
        if isinstance(operation, Loop):
            self.run_loop(position, operands)
            return
        result = f'%v{position}'
        self.known.add(('v', position))
        if operation is ELEMENT:
            loop, place = operands
            self.load(result, '%memory', self.slots.of['l', int(loop)] + int(place))
        else:
            texts = [
                self.value(x) if isinstance(x, int) else self.load_constant(x) for x in operands
            ]
            self.lines += [
                '  ' + x.format(*texts, result=result, **self.format) for x in operation.llvm
            ]
        if ('v', position) in self.slots.of:
            self.store(result, '%memory', self.slots.of['v', position], f'{result}.m')
        self.give(position)

    def run_loop(self, position: int, operands: tuple[int | float, ...]) -> None:
        """Call the function of a loop on its initial state and captured values, in memory."""
        name, first = f'%l{position}', self.slots.of['l', position]
        for i, operand in enumerate(operands):
            self.store(self.value(operand), '%memory', first + i, f'{name}.{i}')
        self.lines += [
            self.dialect.element(f'{name}.p', self.kind, '%memory', first),
            f'  call void @{self.name}.loop{position}({self.pointer} {name}.p)',
        ]

    def give(self, position: int) -> None:
        """Store a value to the outputs that it is a result of."""
        for output, element in self.stores.pop(position, ()):
            value, name = self.value(position), f'%r{output}.{element}'
            self.store(value, f'%o{output}', element, name)

    def compute_angles(self, step: Angles) -> None:
        """Call the function of all angles at once; leftover lanes repeat an angle."""
        name = f'%g{step.first}'
        values = [self.value(x) for x in step.positions]
        size = self.lanes if self.lanes > 1 else padded(len(values))
        angles = values[0]
        kind = vector(size, self.number.type)
        if self.lanes == 1 and size > 1:
            angles = self.packed(step, values, size)
        first = self.slots.of['s', step.positions[0]]
        self.lines += [
            self.dialect.element(f'{name}.s', self.kind, '%memory', first),
            self.dialect.element(
                f'{name}.c', self.kind, '%memory', self.slots.of['c', step.positions[0]]
            ),
            f'  {name}.sd = bitcast {self.pointer} {name}.s to {self.array}',
            f'  {name}.cd = bitcast {self.pointer} {name}.c to {self.array}',
            f'  call void @{llvm_sincos.name(size, self.number)}'
            f'({kind} {angles}, {self.array} {name}.sd, {self.array} {name}.cd)',
        ]

    def packed(self, step: Angles, values: list[str], size: int) -> str:
        """Return a vector of scalars, by one load if they are adjacent in memory."""
        name, count = f'%g{step.first}', len(values)
        nodes = [self.trace.nodes[x] for x in step.positions]
        argument, start = nodes[0].operands[:2] if nodes[0].operation is INPUT else (0, 0)
        row = [(argument, int(start) + i) for i in range(count)]
        in_row = all(x.operation is INPUT and x.operands == y for x, y in zip(nodes, row))
        if in_row:
            several = f'<{count} x {self.number.type}>'
            kind = self.dialect.pointer(several)
            mask = ', '.join(f'i32 {min(i, count - 1)}' for i in range(size))
            self.lines += [
                self.dialect.element(
                    f'{name}.e', self.number.type, f'%i{int(argument)}', int(start)
                ),
                f'  {name}.p = bitcast {self.array} {name}.e to {kind}',
                f'  {name}.n = load {several}, {kind} {name}.p, align {self.number.size}',
                f'  {name} = shufflevector {several} {name}.n, {several} undef, '
                f'<{size} x i32> <{mask}>',
            ]
            return name
        packed = 'undef'
        for i in range(size):
            text = f'{name}.{i}'
            self.lines.append(
                f'  {text} = insertelement {vector(size, self.number.type)} {packed}, '
                f'{self.number.type} {values[min(i, count - 1)]}, i64 {i}'
            )
            packed = text
        return packed

    def compute_part(self, part: Sequence[Step]) -> None:
        for step in part:
            if isinstance(step, Angles):
                self.compute_angles(step)
                self.turned(step)
            else:
                self.compute(step)

    # Functions

    def text(self) -> str:
        """Return all functions."""
        several = len(self.parts) > 1
        typed = parameters(self.trace, self.dialect, 'noalias')
        memory = f'{self.pointer} noalias %memory'
        texts = self.table() + self.loop_functions()
        for number, part in enumerate(self.parts):
            self.lines = []
            self.known = set()
            if not several:
                self.allocate()
            self.typed_arrays()
            self.find_constants()
            for result, (output, element) in self.ready[number]:
                self.store(self.value(result), f'%o{output}', element, f'%r{output}.{element}')
            self.compute_part(part)
            arguments = ', '.join([*typed, memory] if several else typed)
            name = f'{self.name}.{number}' if several else self.name
            texts.append(self.function(name, arguments))
        if several:
            self.lines = []
            self.allocate(least=1)  # parts take a pointer to memory even if no value crosses
            self.typed_arrays()
            plain = ', '.join([*parameters(self.trace, self.dialect), f'{self.pointer} %memory'])
            for number in range(len(self.parts)):
                self.lines.append(f'  call void @{self.name}.{number}({plain})')
            texts.append(self.function(self.name, ', '.join(typed)))
        return '\n'.join(texts)

    def loop_functions(self) -> list[str]:
        texts = []
        for position, (operation, _) in enumerate(self.trace.nodes):
            if isinstance(operation, Loop):
                name = f'{self.name}.loop{position}'
                turn = f'{name}.turn'
                texts += [
                    emit(operation.body, turn, self.dialect, self.processor, self.lanes),
                    llvm_loop.emit(operation, name, turn, self.dialect, self.lanes),
                ]
        return texts

    def function(self, name: str, arguments: str) -> str:
        body = '\n'.join([*self.lines, '  ret void', '}'])
        return f'define internal void @{name}({arguments}) noinline nounwind {{\n{body}'

    def allocate(self, least: int = 0) -> None:
        size = max(self.slots.count, least)
        if size * self.lanes * self.number.size > MAX_MEMORY:
            raise RuntimeError(
                f'{self.trace.name} hands on more values than the stack has room for'
            )
        if size:
            self.lines.append(f'  %memory = alloca {self.kind}, i64 {size}, align 64')

    def table(self) -> list[str]:
        """Return the constants as an array."""
        if not self.constants:
            return []
        values = ', '.join(f'{self.number.type} {x}' for x in self.constants)
        kind = f'[{len(self.constants)} x {self.number.type}]'
        return [f'@{self.name}.constants = private constant {kind} [{values}]']

    def find_constants(self) -> None:
        """Make a pointer to the constants that is opaque to LLVM.

        Otherwise LLVM would address each constant by an instruction of ten bytes.
        """
        if not self.constants:
            return
        kind = f'[{len(self.constants)} x {self.number.type}]'
        pointer = self.dialect.pointer(self.array)
        table = f'{self.dialect.pointer(kind)} @{self.name}.constants'
        self.lines += [
            f'  %constants.0 = getelementptr {kind}, {table}, i64 0, i64 0',
            f'  %constants.p = alloca {self.array}',
            f'  store volatile {self.array} %constants.0, {pointer} %constants.p',
            f'  %constants = load volatile {self.array}, {pointer} %constants.p',
        ]

    def typed_arrays(self) -> None:
        """Name the arrays as arrays of this number format."""
        for count, short, long in (
            (len(self.trace.inputs), 'i', 'in'),
            (len(self.trace.outputs), 'o', 'out'),
        ):
            for i in range(count):
                text = f'bitcast {self.array} %{long}{i} to {self.pointer}'
                self.lines.append(f'  %{short}{i} = {text}')

    def turned(self, step: Angles) -> None:
        """Store the sines and cosines that are results."""
        for position in step.positions:
            for turned in self.turned_results.pop(position, ()):
                self.give(turned)
