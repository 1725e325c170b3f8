# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""LLVM IR functions of a trace's straight line, for one state or a vector of states.

``void @<name>(inputs..., outputs...)`` takes a pointer to the first number of each array. With
several lanes a number is a vector with one state per lane. No output may overlap another array.

The function of a loop, ``void @<name>(numbers)``, takes a pointer to the state, which it overwrites
with the final one, followed by the captured values. In a vector, a lane that has ended keeps its
state until all have.

Sine and cosine are computed for many angles at once, so `steps` groups independent angles: first
everything that the angles need, then all their sines and cosines, then the rest in its own order.
Compile time grows faster than linearly with the length of a function, so a long trace becomes
several functions, the parts, which pass values through memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dynamics_ros.kernels.graph.operations import COS, ELEMENT, INPUT, SIN
from dynamics_ros.kernels.graph.trace import Instruction, Loop, Trace, cut
from dynamics_ros.kernels.llvm.dialect import (
    Target,
    constant,
    element_at,
    lane_tag,
    splat,
    suffix,
    vector,
)

PART_STEPS = 500
"""Steps of a part; smaller parts cost loads and stores, larger ones compile time, and run time
where the code is large.
"""

BATCH_PART_STEPS = 2000
"""Steps of a part that computes vectors of states, whose loads and stores are larger."""


@dataclass(frozen=True)
class Angles:
    """A step that computes the sines and cosines of several positions.

    Attributes:
        positions: positions of the angles.
        first: number of angles in earlier steps.
    """

    positions: tuple[int, ...]
    first: int


Step = int | Angles
"""Position of a single instruction, or a group of angles."""

Part = Sequence[Step]
"""Steps that form one function."""


def steps(nodes: Sequence[Instruction], width: int) -> list[Step]:
    """Return the steps of a trace in order: angles grouped, other instructions one by one.

    Args:
        nodes: the trace.
        width: the largest number of angles in a step.
    """
    levels = _angle_levels(nodes)
    ordered: list[Step] = []
    placed = [node.operation in (INPUT, SIN, COS) for node in nodes]
    angles = 0
    for level in levels:
        for position in _needed_first(nodes, level, placed):
            placed[position] = True
            ordered.append(position)
        for start in range(0, len(level), width):
            ordered.append(Angles(tuple(level[start : start + width]), angles))
            angles += len(level[start : start + width])
    ordered += [i for i, done in enumerate(placed) if not done]
    return ordered


def _angle_levels(nodes: Sequence[Instruction]) -> list[list[int]]:
    """Return the angles of sines and cosines by level; a level needs only earlier levels."""
    depth: list[int] = []
    levels: list[dict[int, None]] = []
    for operation, operands in nodes:
        deepest = 0
        if operation is not INPUT:
            deepest = max([depth[x] for x in operands if isinstance(x, int)], default=0)
        if operation in (SIN, COS):
            if deepest == len(levels):
                levels.append({})
            levels[deepest][int(operands[0])] = None
            deepest += 1
        depth.append(deepest)
    return [list(level) for level in levels]


def _needed_first(
    nodes: Sequence[Instruction], angles: Sequence[int], placed: Sequence[bool]
) -> list[int]:
    """Return the instructions that some angles need and have no position yet, operands first."""
    needed: set[int] = set()
    waiting = list(angles)
    while waiting:
        position = waiting.pop()
        if not placed[position] and position not in needed:
            needed.add(position)
            waiting += [x for x in nodes[position].operands if isinstance(x, int)]
    return sorted(needed)


class Slots:
    """Slots of a trace in the memory of a call.

    Attributes:
        of: slot by kind and position of the instruction: 's' and 'c' for the sine and cosine of the
            angle there, 'l' for the first slot of the loop there, 'v' for the value.
        count: number of slots.
    """

    def __init__(self, nodes: Sequence[Instruction], parts: Sequence[Part]) -> None:
        """Assign the slots.

        Args:
            nodes: the instructions of the trace.
            parts: the parts, in order of execution.
        """
        self._nodes = nodes
        self.of: dict[tuple[str, int], int] = {}
        self.count = 0
        for part in parts:
            for step in part:
                if isinstance(step, Angles):
                    self._place_angles(step)
                elif isinstance(nodes[step].operation, Loop):
                    self.of['l', step] = self.count
                    self.count += len(nodes[step].operands)
        self._place_crossing(parts)

    def _place_angles(self, step: Angles) -> None:
        """Assign adjacent slots to sines and to cosines, as one call writes them."""
        size = padded(len(step.positions))
        for i, position in enumerate(step.positions):
            self.of['s', position] = self.count + i
            self.of['c', position] = self.count + size + i
        self.count += 2 * size

    def _place_crossing(self, parts: Sequence[Part]) -> None:
        """Assign slots to values that later parts need; a slot is free after its last use."""
        last: dict[int, int] = {}
        for number, part in enumerate(parts):
            for step in part:
                last.update(dict.fromkeys(self._needs(step), number))
        free: list[int] = []
        released: list[list[int]] = [[] for _ in parts]
        for number, part in enumerate(parts):
            free += released[number - 1] if number else []
            for step in part:
                if isinstance(step, Angles) or last.get(step, number) <= number:
                    continue
                operation = self._nodes[step].operation
                if operation.condition or isinstance(operation, Loop):
                    continue
                slot = free.pop() if free else self.count
                self.count += slot == self.count
                self.of['v', step] = slot
                released[last[step]].append(slot)

    def _needs(self, step: Step) -> list[int]:
        """Return the positions of values that a step reads; comparisons are recomputed."""
        positions = step.positions if isinstance(step, Angles) else (step,)
        needed: list[int] = []
        for position in positions:
            operands = [position] if isinstance(step, Angles) else self._nodes[position].operands
            for x in operands:
                if isinstance(x, int):
                    inside = self._nodes[x]
                    again = inside.operation.condition
                    needed += [y for y in inside.operands if isinstance(y, int)] if again else [x]
        return needed


def padded(count: int) -> int:
    """Return the number of angles of a call that computes some: the next power of two."""
    size = 1
    while size < count:
        size *= 2
    return size


def sincos_name(lanes: int) -> str:
    """Return the name of the function of sines and cosines of some angles."""
    return f'dynamics_ros_sincos_{lanes}'


def _loop_function(loop: Loop, name: str, turn: str, lanes: int) -> str:
    """Return the LLVM function that repeats the body of a loop.

    Args:
        loop: the loop.
        name: name of the function.
        turn: name of the function of its body.
        lanes: states of a vector.
    """
    kind, flag = vector(lanes), vector(lanes, 'i1')
    size = loop.body.outputs[0].size
    lines = [
        f'define internal void @{name}(ptr noalias %numbers) noinline nounwind {{',
        'entry:',
        element_at('%captured', kind, '%numbers', size),
        f'  %next = alloca {kind}, i64 {size + 1}, align 64',
        element_at('%go_on', kind, '%next', size),
        '  br label %turn',
        'turn:',
        '  %count = phi i64 [ 1, %entry ], [ %more, %turn ]',
        f'  %going = phi {flag} [ {splat("true", lanes, "i1")}, %entry ], [ %goes, %turn ]',
        f'  call void @{turn}(ptr %numbers, ptr %captured, ptr %next, ptr %go_on)',
    ]
    for i in range(size):
        lines += [
            element_at(f'%n{i}.p', kind, '%next', i),
            element_at(f'%s{i}.p', kind, '%numbers', i),
            f'  %n{i} = load {kind}, ptr %n{i}.p, align 8',
            f'  %s{i} = load {kind}, ptr %s{i}.p, align 8',
            f'  %x{i} = select {flag} %going, {kind} %n{i}, {kind} %s{i}',
            f'  store {kind} %x{i}, ptr %s{i}.p, align 8',
        ]
    lines += [
        f'  %wish = load {kind}, ptr %go_on, align 8',
        f'  %wishes = fcmp une {kind} %wish, zeroinitializer',
        f'  %goes = and {flag} %going, %wishes',
        f'  %bits = bitcast {flag} %goes to i{lanes}',
        f'  %some = icmp ne i{lanes} %bits, 0',
        '  %more = add i64 %count, 1',
        f'  %below = icmp slt i64 %count, {loop.limit}',
        '  %again = and i1 %some, %below',
        '  br i1 %again, label %turn, label %done',
        'done:',
        '  ret void',
        '}',
    ]
    return '\n'.join(lines)


MAX_MEMORY = 4 * 2**20
"""Largest memory of a call [bytes]; stacks usually have 8 MB."""


def parameters(trace: Trace, attributes: str = '') -> list[str]:
    """Return the parameters of the functions that take one pointer per array."""
    names = [f'%in{i}' for i in range(len(trace.inputs))]
    names += [f'%out{i}' for i in range(len(trace.outputs))]
    return [f'ptr {attributes}{name}' for name in names]


def emit(trace: Trace, name: str, target: Target, lanes: int, table: bool = True) -> str:
    """Return the LLVM function of a trace, with those of its parts and loops.

    Args:
        trace, name, target: the trace, the name of the function, and what it is written for.
        lanes: states of a vector.
        table: whether constants are in a table instead of in the instructions.
    """
    return _Line(trace, name, target, lanes, table).text()


class _Line:
    """Writer of the functions of one trace.

    Values that have a slot in `Slots` are stored in a memory that lasts for the whole call.
    """

    def __init__(self, trace: Trace, name: str, target: Target, lanes: int, table: bool) -> None:
        self.trace = trace
        self.name = name
        self.target = target
        self.lanes = lanes
        self.kind = vector(lanes)
        self.format = {
            'type': self.kind,
            'condition': vector(lanes, 'i1'),
            'suffix': suffix(lanes),
            'lanes': lane_tag(lanes),
            'one': splat('1.0', lanes),
        }
        # One call takes several angles of one state, or one angle of several states.
        self.width = target.lanes if lanes == 1 else 1
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
        count = max(1, -(-(len(ordered) + len(ready)) // size))
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
        found = [constant(x) for x in numbers]
        several = dict.fromkeys(found) if table else {}
        self.constants = {text: place for place, text in enumerate(several)}
        self.lines: list[str] = []
        self.known: set[tuple[str, int]] = set()

    # Instructions

    def load(self, name: str, array: str, index: int | str) -> None:
        self.lines += [
            element_at(f'{name}.p', self.kind, array, index),
            f'  {name} = load {self.kind}, ptr {name}.p, align 8',
        ]

    def store(self, value: str, array: str, index: int | str, name: str) -> None:
        # volatile: LLVM would look for stores to merge, which takes longer than everything else.
        self.lines += [
            element_at(name, self.kind, array, index),
            f'  store volatile {self.kind} {value}, ptr {name}, align 8',
        ]

    def value(self, reference: int | float) -> str:
        """Return the name of a value, after loading it in this part if needed."""
        if not isinstance(reference, int):
            return splat(constant(reference), self.lanes)
        operation, operands = self.trace.nodes[reference]
        half = {SIN: 's', COS: 'c'}.get(operation, 'v')
        source = int(operands[0]) if half != 'v' else reference
        name = f'%{half}{source}'
        if (half, source) not in self.known:
            self.known.add((half, source))
            if operation is INPUT:
                self.load(name, f'%in{int(operands[0])}', int(operands[1]))
            elif operation.condition:
                self.compute(reference)
            else:
                self.load(name, '%memory', self.slots.of[half, source])
        return name

    def load_constant(self, value: float) -> str:
        """Return a constant, or its name after loading it in this part if needed."""
        place = self.constants.get(constant(value))
        if place is None:
            return self.value(value)
        name = f'%k{place}'
        if ('k', place) not in self.known:
            self.known.add(('k', place))
            scalar = name if self.lanes == 1 else f'{name}.s'
            self.lines += [
                element_at(f'{name}.p', 'double', '%constants', place),
                f'  {scalar} = load double, ptr {name}.p, align 8, !invariant.load !{{}}',
            ]
            if self.lanes > 1:
                mask = vector(self.lanes, 'i32')
                self.lines += [
                    f'  {name}.i = insertelement {self.kind} undef, double {scalar}, i64 0',
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
            element_at(f'{name}.p', self.kind, '%memory', first),
            f'  call void @{self.name}.loop{position}(ptr {name}.p)',
        ]

    def give(self, position: int) -> None:
        """Store a value to the outputs that it is a result of."""
        for output, element in self.stores.pop(position, ()):
            value, name = self.value(position), f'%r{output}.{element}'
            self.store(value, f'%out{output}', element, name)

    def compute_angles(self, step: Angles) -> None:
        """Call the function of all angles at once; leftover lanes repeat an angle."""
        name = f'%g{step.first}'
        values = [self.value(x) for x in step.positions]
        size = self.lanes if self.lanes > 1 else padded(len(values))
        angles = values[0]
        kind = vector(size)
        if self.lanes == 1 and size > 1:
            angles = self.packed(step, values, size)
        sines, cosines = (self.slots.of[x, step.positions[0]] for x in 'sc')
        self.lines += [
            element_at(f'{name}.s', self.kind, '%memory', sines),
            element_at(f'{name}.c', self.kind, '%memory', cosines),
            f'  call void @{sincos_name(size)}({kind} {angles}, ptr {name}.s, ptr {name}.c)',
        ]

    def packed(self, step: Angles, values: list[str], size: int) -> str:
        """Return a vector of scalars; LLVM loads those that are adjacent in memory at once."""
        name, count = f'%g{step.first}', len(values)
        packed = 'undef'
        for i in range(size):
            text = f'{name}.{i}'
            self.lines.append(
                f'  {text} = insertelement {vector(size)} {packed}, '
                f'double {values[min(i, count - 1)]}, i64 {i}'
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
        typed = parameters(self.trace, 'noalias ')
        memory = 'ptr noalias %memory'
        texts = self.table() + self.loop_functions()
        for number, part in enumerate(self.parts):
            self.lines = []
            self.known = set()
            if not several:
                self.allocate()
            self.find_constants()
            for result, (output, element) in self.ready[number]:
                self.store(self.value(result), f'%out{output}', element, f'%r{output}.{element}')
            self.compute_part(part)
            arguments = ', '.join([*typed, memory] if several else typed)
            name = f'{self.name}.{number}' if several else self.name
            texts.append(self.function(name, arguments))
        if several:
            self.lines = []
            self.allocate(least=1)  # parts take a pointer to memory even if no value crosses
            plain = ', '.join([*parameters(self.trace), 'ptr %memory'])
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
                    emit(operation.body, turn, self.target, self.lanes),
                    _loop_function(operation, name, turn, self.lanes),
                ]
        return texts

    def function(self, name: str, arguments: str) -> str:
        body = '\n'.join([*self.lines, '  ret void', '}'])
        return f'define internal void @{name}({arguments}) noinline nounwind {{\n{body}'

    def allocate(self, least: int = 0) -> None:
        size = max(self.slots.count, least)
        if 8 * size * self.lanes > MAX_MEMORY:
            raise RuntimeError(
                f'{self.trace.name} hands on more values than the stack has room for'
            )
        if size:
            self.lines.append(f'  %memory = alloca {self.kind}, i64 {size}, align 64')

    def table(self) -> list[str]:
        """Return the constants as an array."""
        if not self.constants:
            return []
        values = ', '.join(f'double {x}' for x in self.constants)
        kind = f'[{len(self.constants)} x double]'
        return [f'@{self.name}.constants = private constant {kind} [{values}]']

    def find_constants(self) -> None:
        """Make a pointer to the constants that is opaque to LLVM.

        Otherwise LLVM would address each constant by an instruction of ten bytes.
        """
        if not self.constants:
            return
        kind = f'[{len(self.constants)} x double]'
        self.lines += [
            f'  %constants.0 = getelementptr {kind}, ptr @{self.name}.constants, i64 0, i64 0',
            '  %constants.p = alloca ptr',
            '  store volatile ptr %constants.0, ptr %constants.p',
            '  %constants = load volatile ptr, ptr %constants.p',
        ]

    def turned(self, step: Angles) -> None:
        """Store the sines and cosines that are results."""
        for position in step.positions:
            for turned in self.turned_results.pop(position, ()):
                self.give(turned)
