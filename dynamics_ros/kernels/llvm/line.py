# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""LLVM IR functions of a trace's straight line, for one state or a vector of states.

``void @<name>(inputs..., outputs...)`` takes a pointer to the first number of each array. With
several lanes a number is a vector with one state per lane. No output may overlap another array.
All pointers are written ``ptr``.

The function of a loop, ``void @<name>(numbers)``, takes a pointer to the state, which it overwrites
with the final one, followed by the captured values. In a vector, a lane that has ended keeps its
state until all have.

Sine and cosine are computed for many angles at once, so `steps` groups independent angles: first
everything that the angles need, then all their sines and cosines, then the rest in its own order.
Compile time grows faster than linearly with the length of a function, so a long trace becomes
several functions, the parts, which pass values through memory.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from dynamics_ros.kernels.graph.operations import COS, ELEMENT, INPUT, OPERATIONS, SIN, Operation
from dynamics_ros.kernels.graph.trace import Instruction, Loop, Trace, cut

PART_STEPS = 500
"""Steps of a part; smaller parts cost loads and stores, larger ones compile time, and run time
where the code is large.
"""

BATCH_PART_STEPS = 2000
"""Steps of a part that computes vectors of states, whose loads and stores are larger."""

MAX_MEMORY = 4 * 2**20
"""Largest memory of a call [bytes]; stacks usually have 8 MB."""

Step = int | tuple[int, ...]
"""Position of a single instruction, or those of angles whose sines and cosines are computed."""


class Target(NamedTuple):
    """Vectors of the processor that code is written for.

    Attributes:
        lanes: numbers in a vector; 1 where vectors do not pay off.
        fused: whether a*b + c is one instruction with one rounding.
    """

    lanes: int = 1
    fused: bool = False


ANY_PROCESSOR = Target()


def target_of(triple: str, features: Mapping[str, bool]) -> Target:
    """Return the target for an LLVM target.

    Args:
        triple: LLVM target triple, architecture first.
        features: processor features that LLVM detected, by name.
    """
    architecture = triple.split('-', 1)[0]
    if architecture in ('aarch64', 'arm64'):
        return Target(2, True)
    if architecture == 'x86_64' and features.get('fma') and features.get('avx2'):
        wide = features.get('avx512f') and features.get('avx512dq') and features.get('avx512vl')
        return Target(8 if wide else 4, True)
    return ANY_PROCESSOR


def constant(value: float) -> str:
    """Return a constant, as an exact hexadecimal double."""
    return f'0x{struct.unpack("<Q", struct.pack("<d", value))[0]:016X}'


def element_at(name: str, kind: str, array: str, index: int | str) -> str:
    """Return the instruction that makes a pointer to an element of an array."""
    return f'  {name} = getelementptr {kind}, ptr {array}, i64 {index}'


def vector(lanes: int, element: str = 'double') -> str:
    """Return the type of a vector with some lanes; one lane is a scalar."""
    return element if lanes == 1 else f'<{lanes} x {element}>'


def splat(value: str, lanes: int, element: str = 'double') -> str:
    """Return a constant repeated in every lane."""
    return value if lanes == 1 else f'<{", ".join([f"{element} {value}"] * lanes)}>'


def suffix(lanes: int) -> str:
    """Return the suffix of LLVM intrinsics for a vector with some lanes."""
    return 'f64' if lanes == 1 else f'v{lanes}f64'


def every(flag: str, lanes: int, result: str) -> list[str]:
    """Return the instructions that set a flag if it is set in every lane."""
    bits = f'bitcast {vector(lanes, "i1")} {flag} to i{lanes}'
    return [f'  {result}.b = {bits}', f'  {result} = icmp eq i{lanes} {result}.b, -1']


def libm_declarations(body: str, lanes: int) -> list[str]:
    """Return declarations of the LLVM and libm functions that a body calls, and their wrappers."""
    lines = []
    for row in OPERATIONS:
        called = _called(row)
        name = called.format(suffix=suffix(lanes), lanes=lane_tag(lanes))
        if not called or f'@{name}(' not in body:
            continue
        if 'llvm.' in called:
            kind = vector(lanes)
            lines.append(f'declare {kind} @{name}({", ".join([kind] * row.arity)})')
        else:
            plain = called.format(lanes='')
            operands = ', '.join(['double'] * row.arity)
            lines.append(f'declare double @{plain}({operands})')
            if lanes > 1:
                lines.append(_each_lane(plain, row.arity, lanes))
    return lines


def _called(row: Operation) -> str:
    """Return the format of the function name that an operation calls; '' for none."""
    calls = [line for line in row.llvm if ' call ' in line]
    return calls[0].split('@')[1].split('(')[0] if calls else ''


def lane_tag(lanes: int) -> str:
    """Return the suffix of a libm function's wrapper for some lanes."""
    return '' if lanes == 1 else f'.{lanes}'


def _each_lane(name: str, arity: int, lanes: int) -> str:
    """Return a function that calls a libm function once per lane."""
    kind = vector(lanes)
    arguments = ', '.join(f'{kind} %a{i}' for i in range(arity))
    lines = [f'define internal {kind} @{name}.{lanes}({arguments}) nounwind {{']
    result = 'undef'
    for lane in range(lanes):
        for i in range(arity):
            lines.append(f'  %x{i}.{lane} = extractelement {kind} %a{i}, i64 {lane}')
        values = ', '.join(f'double %x{i}.{lane}' for i in range(arity))
        lines.append(f'  %y{lane} = call double @{name}({values})')
        lines.append(f'  %r{lane} = insertelement {kind} {result}, double %y{lane}, i64 {lane}')
        result = f'%r{lane}'
    return '\n'.join([*lines, f'  ret {kind} {result}', '}'])


def steps(nodes: Sequence[Instruction], width: int) -> list[Step]:
    """Return the steps of a trace in order: angles grouped, other instructions one by one.

    Args:
        nodes: the trace.
        width: the largest number of angles in a step.
    """
    # Angles by level; those of a level need sines and cosines of earlier levels only.
    levels: list[dict[int, None]] = []
    depth: list[int] = []
    for operation, operands in nodes:
        inside = [] if operation is INPUT else [depth[x] for x in operands if isinstance(x, int)]
        deepest = max(inside, default=0)
        if operation in (SIN, COS):
            if deepest == len(levels):
                levels.append({})
            levels[deepest][int(operands[0])] = None
            deepest += 1
        depth.append(deepest)
    # The level whose angles need an instruction first.
    due = [len(levels)] * len(nodes)
    for level, angles in enumerate(levels):
        for position in angles:
            due[position] = level
    stages: list[list[Step]] = [[] for _ in range(len(levels) + 1)]
    for i in range(len(nodes) - 1, -1, -1):
        operation, operands = nodes[i]
        if operation is INPUT:
            continue
        for x in operands:
            if isinstance(x, int):
                due[x] = min(due[x], due[i])
        if operation not in (SIN, COS):
            stages[due[i]].append(i)
    ordered: list[Step] = []
    for stage, angles in zip(stages, [*levels, {}]):
        ordered += reversed(stage)
        group = tuple(angles)
        ordered += [group[i : i + width] for i in range(0, len(group), width)]
    return ordered


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

    Values that have a slot are in a memory that lasts for the whole call.

    Attributes:
        slots: slot by position, of sines, cosines, elements of loops, and values that later parts
            read.
        first: first slot of the arrays of each step that calls a function.
        count: number of slots.
    """

    def __init__(self, trace: Trace, name: str, target: Target, lanes: int, table: bool) -> None:
        self.trace = trace
        self.nodes = trace.nodes
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
        ordered = steps(trace.nodes, target.lanes if lanes == 1 else 1)
        # Output and element of each computed result; and of constants and inputs.
        self.stores: dict[int, list[tuple[int, int]]] = {}
        ready: list[tuple[int | float, tuple[int, int]]] = []
        turned: list[tuple[int | float, tuple[int, int]]] = []
        places = [(i, j) for i, x in enumerate(trace.outputs) for j in range(x.size)]
        for result, place in zip(trace.results, places):
            operation = trace.nodes[result].operation if isinstance(result, int) else INPUT
            if operation is INPUT:
                ready.append((result, place))
            elif operation in (SIN, COS):
                turned.append((result, place))
            else:
                self.stores.setdefault(int(result), []).append(place)
        # They are most of a sparse matrix, so all parts share the work.
        size = PART_STEPS if lanes == 1 else BATCH_PART_STEPS
        self.parts = cut(ordered, max(1, -(-(len(ordered) + len(ready)) // size)))
        self.ready = cut(ready, len(self.parts))
        self.ready[-1] = [*self.ready[-1], *turned]
        self.slots: dict[int, int] = {}
        self.first: dict[Step, int] = {}
        self.count = 0
        self.place_arrays(ordered)
        self.place_crossing()
        # Elements of loops are in memory.
        nodes = [x for x in trace.nodes if x.operation is not ELEMENT and x.operation.llvm]
        numbers = (x for node in nodes for x in node.operands if type(x) is float)
        several = dict.fromkeys(map(constant, numbers)) if table else {}
        self.constants = {text: place for place, text in enumerate(several)}
        self.lines: list[str] = []
        self.known: set[int | str] = set()

    # Memory

    def place_arrays(self, ordered: Sequence[Step]) -> None:
        """Assign adjacent slots to what one call writes: sines and cosines, the state of a loop."""
        at: dict[tuple[Operation, int], int] = {}
        for step in ordered:
            self.first[step] = self.count
            if isinstance(step, tuple):
                size = padded(len(step))
                for i, position in enumerate(step):
                    at[SIN, position] = self.count + i
                    at[COS, position] = self.count + size + i
                self.count += 2 * size
            elif isinstance(self.nodes[step].operation, Loop):
                at[ELEMENT, step] = self.count
                self.count += len(self.nodes[step].operands)
        for position, (operation, operands) in enumerate(self.nodes):
            if operation in (SIN, COS):
                self.slots[position] = at[operation, int(operands[0])]
            elif operation is ELEMENT:
                self.slots[position] = at[operation, int(operands[0])] + int(operands[1])

    def place_crossing(self) -> None:
        """Assign slots to values that later parts need; a slot is free after its last use."""
        last: dict[int, int] = {}
        for number, part in enumerate(self.parts):
            for step in part:
                last.update(dict.fromkeys(self.needs(step), number))
        free: list[int] = []
        released: list[list[int]] = [[] for _ in range(len(self.parts) + 1)]
        for number, part in enumerate(self.parts):
            free += released[number]
            for step in part:
                if isinstance(step, tuple) or last.get(step, number) <= number:
                    continue
                operation = self.nodes[step].operation
                if step in self.slots or operation.condition or isinstance(operation, Loop):
                    continue
                slot = free.pop() if free else self.count
                self.count += slot == self.count
                self.slots[step] = slot
                released[last[step] + 1].append(slot)

    def needs(self, step: Step) -> list[int]:
        """Return the positions of values that a step reads; comparisons are recomputed."""
        needed: list[int] = []
        for x in step if isinstance(step, tuple) else self.nodes[step].operands:
            if isinstance(x, int):
                again = self.nodes[x].operation.condition
                inside = self.nodes[x].operands if again else [x]
                needed += [y for y in inside if isinstance(y, int)]
        return needed

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
        name = f'%v{reference}'
        if reference not in self.known:
            operation, operands = self.nodes[reference]
            if operation is INPUT:
                self.load(name, f'%in{int(operands[0])}', int(operands[1]))
            elif operation.condition:
                self.instruct(reference)
            else:
                self.load(name, '%memory', self.slots[reference])
            self.known.add(reference)
        return name

    def load_constant(self, value: float) -> str:
        """Return a constant, or its name after loading it in this part if needed."""
        place = self.constants.get(constant(value))
        if place is None:
            return self.value(value)
        name = f'%k{place}'
        if name not in self.known:
            self.known.add(name)
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

    def instruct(self, position: int) -> None:
        """Append the instructions of an operation."""
        operation, operands = self.nodes[position]
        texts = [self.value(x) if isinstance(x, int) else self.load_constant(x) for x in operands]
        names = self.format | {'result': f'%v{position}'}
        self.lines += ['  ' + x.format(*texts, **names) for x in operation.llvm]
        self.known.add(position)

    def compute(self, step: Step) -> None:
        """Append a step, and the stores of what it makes."""
        if isinstance(step, tuple):
            self.compute_angles(step)
            return
        operation, operands = self.nodes[step]
        if isinstance(operation, Loop):
            self.run_loop(step, operands)
        elif operation is not ELEMENT:
            self.instruct(step)
            if step in self.slots:
                self.store(f'%v{step}', '%memory', self.slots[step], f'%v{step}.m')
        for output, element in self.stores.get(step, ()):
            self.store(self.value(step), f'%out{output}', element, f'%r{output}.{element}')

    def run_loop(self, position: int, operands: tuple[int | float, ...]) -> None:
        """Call the function of a loop on its initial state and captured values, in memory."""
        name, first = f'%l{position}', self.first[position]
        for i, operand in enumerate(operands):
            self.store(self.value(operand), '%memory', first + i, f'{name}.{i}')
        self.lines += [
            element_at(f'{name}.p', self.kind, '%memory', first),
            f'  call void @{self.name}.loop{position}(ptr {name}.p)',
        ]

    def compute_angles(self, step: tuple[int, ...]) -> None:
        """Call the function of all angles at once; leftover lanes repeat an angle."""
        name = f'%g{step[0]}'
        values = [self.value(x) for x in step]
        size = padded(len(step))
        angles, width = values[0], max(size, self.lanes)
        if size > 1:
            # A vector of scalars: LLVM loads those that are adjacent in memory at once.
            angles = 'undef'
            for i in range(size):
                self.lines.append(
                    f'  {name}.{i} = insertelement {vector(size)} {angles}, '
                    f'double {values[min(i, len(step) - 1)]}, i64 {i}'
                )
                angles = f'{name}.{i}'
        first = self.first[step]
        self.lines += [
            element_at(f'{name}.s', self.kind, '%memory', first),
            element_at(f'{name}.c', self.kind, '%memory', first + size),
            f'  call void @{sincos_name(width)}({vector(width)} {angles}, '
            f'ptr {name}.s, ptr {name}.c)',
        ]

    # Functions

    def text(self) -> str:
        """Return all functions."""
        several = len(self.parts) > 1
        arrays = [f'in{i}' for i in range(len(self.trace.inputs))]
        arrays += [f'out{i}' for i in range(len(self.trace.outputs))]
        typed, memory = [f'ptr noalias %{x}' for x in arrays], 'ptr noalias %memory'
        texts = self.table() + self.loop_functions()
        for number, part in enumerate(self.parts):
            self.lines = []
            self.known = set()
            if not several:
                self.allocate()
            self.find_constants()
            for step in part:
                self.compute(step)
            for result, (output, element) in self.ready[number]:
                self.store(self.value(result), f'%out{output}', element, f'%r{output}.{element}')
            name, more = (f'{self.name}.{number}', [memory]) if several else (self.name, [])
            texts.append(self.function(name, [*typed, *more]))
        if several:
            self.lines = []
            self.allocate(least=1)  # parts take a pointer to memory even if no value crosses
            plain = ', '.join(f'ptr %{x}' for x in [*arrays, 'memory'])
            for number in range(len(self.parts)):
                self.lines.append(f'  call void @{self.name}.{number}({plain})')
            texts.append(self.function(self.name, typed))
        return '\n'.join(texts)

    def loop_functions(self) -> list[str]:
        texts = []
        for position, (operation, _) in enumerate(self.nodes):
            if isinstance(operation, Loop):
                name = f'{self.name}.loop{position}'
                turn = f'{name}.turn'
                texts += [
                    emit(operation.body, turn, self.target, self.lanes),
                    _loop_function(operation, name, turn, self.lanes),
                ]
        return texts

    def function(self, name: str, arguments: Sequence[str]) -> str:
        head = f'define internal void @{name}({", ".join(arguments)}) noinline nounwind {{'
        return '\n'.join([head, *self.lines, '  ret void', '}'])

    def allocate(self, least: int = 0) -> None:
        size = max(self.count, least)
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
