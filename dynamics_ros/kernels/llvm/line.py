"""The straight line of a trace as functions of LLVM IR, for one state or a vector of states.

``void @<name>(inputs..., outputs...)`` takes a pointer to the first number of each array. With
several lanes a number is a vector of doubles, one state a lane. No output may overlap another
array.
"""

from __future__ import annotations

from dynamics_ros.kernels.graph.operations import (
    COS,
    ELEMENT,
    INPUT,
    OPERATIONS,
    SIN,
    Operation,
)
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
from dynamics_ros.kernels.llvm.processor import Processor


def parameters(trace: Trace, dialect: Dialect, attributes: str = '') -> list[str]:
    """Return the parameters of the functions that take a pointer an array."""
    kind = ' '.join([dialect.pointer('double'), *attributes.split()])
    inputs = [f'{kind} %in{i}' for i in range(len(trace.inputs))]
    return inputs + [f'{kind} %out{i}' for i in range(len(trace.outputs))]


def emit(trace: Trace, name: str, dialect: Dialect, processor: Processor, lanes: int) -> str:
    """Return the function of a trace, and those that it consists of."""
    return _Line(trace, name, dialect, processor, lanes).text()


def declarations(body: str, dialect: Dialect, lanes: int) -> list[str]:
    """Return declarations of what a body calls of LLVM and libm, and the functions in between."""
    lines = []
    for row in OPERATIONS:
        called = _called(row)
        if not called or f'@{called.format(suffix=suffix(lanes), lanes=_tag(lanes))}(' not in body:
            continue
        if 'llvm.' in called:
            kind = vector(lanes)
            lines.append(f'declare {kind} @{called.format(suffix=suffix(lanes))}({kind})')
        else:
            plain = called.format(lanes='')
            lines.append(f'declare double @{plain}({", ".join(["double"] * row.arity)})')
            if lanes > 1:
                lines.append(_each_lane(plain, row.arity, lanes))
    return lines


def _called(row: Operation) -> str:
    """Return the format of the name of the function that an operation calls; '' for none."""
    calls = [line for line in row.llvm if ' call ' in line]
    return calls[0].split('@')[1].split('(')[0] if calls else ''


def _tag(lanes: int) -> str:
    return '' if lanes == 1 else f'.{lanes}'


def _each_lane(name: str, arity: int, lanes: int) -> str:
    """Return a function that calls a function of libm for lane after lane."""
    kind = vector(lanes)
    arguments = ', '.join(f'{kind} %a{i}' for i in range(arity))
    lines = [f'define internal {kind} @{name}{_tag(lanes)}({arguments}) nounwind {{']
    result = 'undef'
    for lane in range(lanes):
        for i in range(arity):
            lines.append(f'  %x{i}.{lane} = extractelement {kind} %a{i}, i64 {lane}')
        values = ', '.join(f'double %x{i}.{lane}' for i in range(arity))
        lines.append(f'  %y{lane} = call double @{name}({values})')
        lines.append(f'  %r{lane} = insertelement {kind} {result}, double %y{lane}, i64 {lane}')
        result = f'%r{lane}'
    return '\n'.join([*lines, f'  ret {kind} {result}', '}'])


class _Line:
    """Writes the functions of one trace.

    Values that live across parts, sines and cosines, and what loops read and write have slots in a
    memory of the whole call.
    """

    def __init__(
        self, trace: Trace, name: str, dialect: Dialect, processor: Processor, lanes: int
    ) -> None:
        self.trace = trace
        self.name = name
        self.dialect = dialect
        self.processor = processor
        self.lanes = lanes
        self.kind = vector(lanes)
        self.pointer = dialect.pointer(self.kind)
        self.double = dialect.pointer('double')
        self.format = {
            'type': self.kind,
            'condition': vector(lanes, 'i1'),
            'suffix': suffix(lanes),
            'lanes': _tag(lanes),
            'one': splat('1.0', lanes),
        }
        # One call takes several angles of one state, or one angle of several states.
        self.width = processor.lanes if lanes == 1 else 1
        ordered = steps(trace.nodes, self.width)
        # Where a result that is computed goes: output and element; and results that are not.
        self.stores: dict[int, list[tuple[int, int]]] = {}
        ready: list[tuple[int | float, tuple[int, int]]] = []
        places = [(i, j) for i, x in enumerate(trace.outputs) for j in range(x.size)]
        for result, place in zip(trace.results, places):
            if isinstance(result, int) and trace.nodes[result].operation is not INPUT:
                self.stores.setdefault(result, []).append(place)
            else:
                ready.append((result, place))
        # They are most of a sparse matrix, so that all parts have to share them.
        size = PART_STEPS if lanes == 1 else BATCH_PART_STEPS
        count = part_count(len(ordered) + len(ready), size)
        self.parts = cut(ordered, count)
        self.ready = cut(ready, count)
        self.slots: dict[tuple[str, int], int] = {}
        self.memory = 0
        for step in ordered:
            if isinstance(step, Angles):
                self.place_angles(step)
            elif isinstance(trace.nodes[step].operation, Loop):
                self.slots['l', step] = self.memory
                self.memory += len(trace.nodes[step].operands)
        self.place_crossing()
        self.turned_results: dict[int, list[int]] = {}
        for position in self.stores:
            operation, operands = trace.nodes[position]
            if operation in (SIN, COS):
                self.turned_results.setdefault(int(operands[0]), []).append(position)
        found = [constant(x) for node in trace.nodes for x in node.operands if type(x) is float]
        self.constants = {text: place for place, text in enumerate(dict.fromkeys(found))}
        self.lines: list[str] = []
        self.known: set[tuple[str, int]] = set()

    # Memory

    def place_angles(self, step: Angles) -> None:
        """Give sines and cosines slots, each kind in a row as one call writes them."""
        size = _padded(len(step.positions))
        for i, position in enumerate(step.positions):
            self.slots['s', position] = self.memory + i
            self.slots['c', position] = self.memory + size + i
        self.memory += 2 * size

    def place_crossing(self) -> None:
        """Give slots to values that a later part needs; a slot is free after the last of them."""
        part_of: dict[int, int] = {}
        last: dict[int, int] = {}
        for number, part in enumerate(self.parts):
            for step in part:
                if isinstance(step, int):
                    part_of[step] = number
                for value in self.needs(step):
                    last[value] = number
        free: list[int] = []
        released: list[list[int]] = [[] for _ in self.parts]
        for number, part in enumerate(self.parts):
            free += released[number - 1] if number else []
            for step in part:
                if isinstance(step, int) and last.get(step, number) > number:
                    operation = self.trace.nodes[step].operation
                    if operation.condition or isinstance(operation, Loop):
                        continue
                    slot = free.pop() if free else self.memory
                    self.memory += slot == self.memory
                    self.slots['v', step] = slot
                    released[last[step]].append(slot)

    def needs(self, step: Step) -> list[int]:
        """Return the positions of values that a step reads; a comparison is done again."""
        positions = step.positions if isinstance(step, Angles) else (step,)
        needed: list[int] = []
        for position in positions:
            operands = (
                [position] if isinstance(step, Angles) else self.trace.nodes[position].operands
            )
            for x in operands:
                if isinstance(x, int):
                    inside = self.trace.nodes[x]
                    again = inside.operation.condition
                    needed += [y for y in inside.operands if isinstance(y, int)] if again else [x]
        return needed

    # Instructions

    def load(self, name: str, array: str, index: int) -> None:
        self.lines += [
            self.dialect.element(f'{name}.p', self.kind, array, index),
            f'  {name} = load {self.kind}, {self.pointer} {name}.p, align 8',
        ]

    def store(self, value: str, array: str, index: int, name: str) -> None:
        # volatile: LLVM would look for stores to merge, which takes longer than all the rest.
        self.lines += [
            self.dialect.element(name, self.kind, array, index),
            f'  store volatile {self.kind} {value}, {self.pointer} {name}, align 8',
        ]

    def value(self, reference: int | float) -> str:
        """Return the name of a value, after making it known to this part."""
        if not isinstance(reference, int):
            return splat(constant(reference), self.lanes)
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
                self.load(name, '%memory', self.slots[half, source])
        return name

    def load_constant(self, value: float) -> str:
        """Return the name of a constant, after making it known to this part."""
        place = self.constants[constant(value)]
        name = f'%k{place}'
        if ('k', place) not in self.known:
            self.known.add(('k', place))
            scalar = name if self.lanes == 1 else f'{name}.s'
            self.lines += [
                self.dialect.element(f'{name}.p', 'double', '%constants', place),
                f'  {scalar} = load double, {self.double} {name}.p, align 8, !invariant.load !{{}}',
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
            self.load(result, '%memory', self.slots['l', int(loop)] + int(place))
        else:
            texts = [
                self.value(x) if isinstance(x, int) else self.load_constant(x) for x in operands
            ]
            self.lines += [
                '  ' + x.format(*texts, result=result, **self.format) for x in operation.llvm
            ]
        if ('v', position) in self.slots:
            self.store(result, '%memory', self.slots['v', position], f'{result}.m')
        self.give(position)

    def run_loop(self, position: int, operands: tuple[int | float, ...]) -> None:
        """Call the function of a loop on its first state and captured values, in memory."""
        name, first = f'%l{position}', self.slots['l', position]
        for i, operand in enumerate(operands):
            self.store(self.value(operand), '%memory', first + i, f'{name}.{i}')
        self.lines += [
            self.dialect.element(f'{name}.p', self.kind, '%memory', first),
            f'  call void @{self.name}.loop{position}({self.pointer} {name}.p)',
        ]

    def give(self, position: int) -> None:
        """Store a value where it is a result."""
        for output, element in self.stores.pop(position, ()):
            value = self.value(position)
            self.store(value, f'%o{output}', element, f'%r{output}.{element}')

    def compute_angles(self, step: Angles) -> None:
        """Call the function of all angles at once, the lanes that are left over repeating one."""
        name = f'%g{step.first}'
        values = [self.value(x) for x in step.positions]
        size = self.lanes if self.lanes > 1 else _padded(len(values))
        angles = values[0]
        kind = vector(size)
        if self.lanes == 1 and size > 1:
            angles = self.packed(step, values, size)
        first = self.slots['s', step.positions[0]]
        self.lines += [
            self.dialect.element(f'{name}.s', self.kind, '%memory', first),
            self.dialect.element(
                f'{name}.c', self.kind, '%memory', self.slots['c', step.positions[0]]
            ),
            f'  {name}.sd = bitcast {self.pointer} {name}.s to {self.double}',
            f'  {name}.cd = bitcast {self.pointer} {name}.c to {self.double}',
            f'  call void @{llvm_sincos.name(size)}'
            f'({kind} {angles}, {self.double} {name}.sd, {self.double} {name}.cd)',
        ]

    def packed(self, step: Angles, values: list[str], size: int) -> str:
        """Return a vector of scalars, by one load where they lie side by side."""
        name, count = f'%g{step.first}', len(values)
        nodes = [self.trace.nodes[x] for x in step.positions]
        argument, start = nodes[0].operands[:2] if nodes[0].operation is INPUT else (0, 0)
        row = [(argument, int(start) + i) for i in range(count)]
        if all(x.operation is INPUT and x.operands == y for x, y in zip(nodes, row)):
            kind = self.dialect.pointer(f'<{count} x double>')
            mask = ', '.join(f'i32 {min(i, count - 1)}' for i in range(size))
            self.lines += [
                self.dialect.element(f'{name}.e', 'double', f'%i{int(argument)}', int(start)),
                f'  {name}.p = bitcast {self.double} {name}.e to {kind}',
                f'  {name}.n = load <{count} x double>, {kind} {name}.p, align 8',
                f'  {name} = shufflevector <{count} x double> {name}.n, <{count} x double> undef, '
                f'<{size} x i32> <{mask}>',
            ]
            return name
        packed = 'undef'
        for i in range(size):
            text = f'{name}.{i}'
            self.lines.append(
                f'  {text} = insertelement {vector(size)} {packed}, '
                f'double {values[min(i, count - 1)]}, i64 {i}'
            )
            packed = text
        return packed

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
            for step in part:
                if isinstance(step, Angles):
                    self.compute_angles(step)
                    self.turned(step)
                else:
                    self.compute(step)
            arguments = ', '.join([*typed, memory] if several else typed)
            name = f'{self.name}.{number}' if several else self.name
            texts.append(self.function(name, arguments))
        if several:
            self.lines = []
            self.memory = max(self.memory, 1)  # parts are handed one, also where nothing crosses
            self.allocate()
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

    def allocate(self) -> None:
        if self.memory:
            self.lines.append(f'  %memory = alloca {self.kind}, i64 {self.memory}, align 64')

    def table(self) -> list[str]:
        """Return the constants as an array."""
        if not self.constants:
            return []
        values = ', '.join(f'double {x}' for x in self.constants)
        kind = f'[{len(self.constants)} x double]'
        return [f'@{self.name}.constants = private constant {kind} [{values}]']

    def find_constants(self) -> None:
        """Make a pointer to the constants that LLVM does not see through.

        It would address each of them on its own, by an instruction of ten bytes.
        """
        if not self.constants:
            return
        kind = f'[{len(self.constants)} x double]'
        pointer = self.dialect.pointer(self.double)
        table = f'{self.dialect.pointer(kind)} @{self.name}.constants'
        self.lines += [
            f'  %constants.0 = getelementptr {kind}, {table}, i64 0, i64 0',
            f'  %constants.p = alloca {self.double}',
            f'  store volatile {self.double} %constants.0, {pointer} %constants.p',
            f'  %constants = load volatile {self.double}, {pointer} %constants.p',
        ]

    def typed_arrays(self) -> None:
        """Name the arrays as arrays of this kind of number."""
        for count, short, long in (
            (len(self.trace.inputs), 'i', 'in'),
            (len(self.trace.outputs), 'o', 'out'),
        ):
            for i in range(count):
                text = f'bitcast {self.double} %{long}{i} to {self.pointer}'
                self.lines.append(f'  %{short}{i} = {text}')

    def turned(self, step: Angles) -> None:
        """Store the sines and cosines that are results."""
        for position in step.positions:
            for turned in self.turned_results.pop(position, ()):
                self.give(turned)


def _padded(count: int) -> int:
    """Return the number of angles that a call takes for so many: the next power of two."""
    size = 1
    while size < count:
        size *= 2
    return size
