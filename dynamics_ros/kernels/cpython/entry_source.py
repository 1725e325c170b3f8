# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""LLVM IR of a kernel's Python entry point.

``entry`` has the C signature of a METH_FASTCALL | METH_KEYWORDS function. It checks each argument;
if all are exactly what the kernel takes, it allocates the result arrays and computes. A bound input
is read from the array in ``self``. Any other call (another type, dtype, layout, shape or keyword,
or
a number that is not finite) is handed unchanged to the Python callable in ``self`` (`entry_point`),
which converts, broadcasts, or raises an error with a clear message.

Objects and functions of the interpreter and of NumPy are symbols, which `layout` names. The
compiled
code holds no address of this process and can be cached for other processes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from dynamics_ros.kernels.cpython import layout
from dynamics_ros.kernels.cpython.entry_point import KEYWORD, SLOW_PATH, TABLE
from dynamics_ros.kernels.cpython.layout import symbol
from dynamics_ros.kernels.graph.trace import Trace, Variable
from dynamics_ros.kernels.llvm.dialect import Dialect


def emit(trace: Trace, dialect: Dialect) -> str:
    """Return the IR of the entry point and its constants, to append to the module of the trace."""
    return _Entry(trace, dialect).text()


def declarations(names: Iterable[str]) -> str:
    """Return the declarations of symbols, all declared as bytes."""
    return ''.join(f'@{symbol(name)} = external global i8\n' for name in sorted(names))


SLOW_PATH_SYMBOLS = ('tuple_get_item', 'vectorcall')


def slow_path(dialect: Dialect) -> str:
    """Return the instructions that hand a call on unchanged; needs SLOW_PATH_SYMBOLS."""
    byte = dialect.pointer('i8')
    objects = dialect.pointer(byte)
    kind = dialect.pointer(f'{byte} ({byte}, {objects}, i64, {byte})')
    arguments = f'{byte} %callable, {objects} %arguments, i64 %count, {byte} %names'
    get = dialect.pointer(f'{byte} ({byte}, i64)')
    return f"""  %get = bitcast {byte} @{symbol('tuple_get_item')} to {get}
  %callable = call {byte} %get({byte} %self, i64 {SLOW_PATH})
  %vectorcall = bitcast {byte} @{symbol('vectorcall')} to {kind}
  %answer.slow = tail call {byte} %vectorcall({arguments})
  ret {byte} %answer.slow"""


def table_pointer(dialect: Dialect) -> str:
    """Return the instructions that set %table to the numbers of the array in %self."""
    byte, number = dialect.pointer('i8'), dialect.pointer('i64')
    item = layout.TUPLE_ITEMS + 8 * TABLE
    return f"""{dialect.element('%item.b', 'i8', '%self', item)}
  %item.p = bitcast {byte} %item.b to {dialect.pointer(byte)}
  %array = load {byte}, {dialect.pointer(byte)} %item.p
{dialect.element('%data.b', 'i8', '%array', layout.ARRAY_DATA)}
  %data.p = bitcast {byte} %data.b to {dialect.pointer(number)}
  %table = load {number}, {dialect.pointer(number)} %data.p"""


class _Entry:
    """Writer of the IR of one entry point."""

    def __init__(self, trace: Trace, dialect: Dialect) -> None:
        self.trace = trace
        self.dialect = dialect
        self.symbols: set[str] = set()
        self.object = dialect.pointer('i8')
        self.double = dialect.pointer('double')
        self.lines: list[str] = []
        self.temporaries = 0

    # Instructions

    def emit(self, text: str) -> str:
        """Append an instruction with a result; return the name of the result."""
        self.temporaries += 1
        name = f'%x{self.temporaries}'
        self.lines.append(f'  {name} = {text}')
        return name

    def label(self, name: str) -> None:
        self.lines.append(f'{name}:')

    def load(self, kind: str, base: str, offset: int) -> str:
        """Load a field of an object."""
        byte = self.emit(f'getelementptr i8, {self.object} {base}, i64 {offset}')
        pointer = self.dialect.pointer(kind)
        field = self.emit(f'bitcast {self.object} {byte} to {pointer}')
        return self.emit(f'load {kind}, {pointer} {field}')

    def known(self, name: str) -> str:
        """Return the pointer to an object or function of the interpreter or of NumPy."""
        self.symbols.add(name)
        return f'@{symbol(name)}'

    def call(self, result: str, name: str, *arguments: str) -> str:
        """Call a function of the interpreter or of NumPy."""
        types = ', '.join(x.rsplit(' ', 1)[0] for x in arguments)
        kind = self.dialect.pointer(f'{result} ({types})')
        function = self.emit(f'bitcast {self.object} {self.known(name)} to {kind}')
        text = f'call {result} {function}({", ".join(arguments)})'
        if result == 'void':
            self.lines.append(f'  {text}')
            return ''
        return self.emit(text)

    def is_object(self, value: str, name: str) -> str:
        """Return a flag: an object is a given known one."""
        return self.emit(f'icmp eq {self.object} {value}, {self.known(name)}')

    def all_of(self, flags: list[str]) -> str:
        total = 'true'
        for flag in flags:
            total = self.emit(f'and i1 {total}, {flag}')
        return total

    def require(self, flags: list[str], label: str, otherwise: str = 'slow') -> None:
        """Branch to a label if all flags hold, else to another one."""
        self.lines.append(f'  br i1 {self.all_of(flags)}, label %{label}, label %{otherwise}')
        self.label(label)

    def argument(self, index: int) -> str:
        pointer = self.dialect.pointer(self.object)
        where = self.emit(f'getelementptr {self.object}, {pointer} %arguments, i64 {index}')
        return self.emit(f'load {self.object}, {pointer} {where}')

    # Checks

    def types_match(self, values: list[str], variables: tuple[Variable, ...]) -> list[str]:
        """Return flags: each argument is exactly an array, or a float for a scalar input."""
        flags = []
        for value, variable in zip(values, variables):
            kind = self.load(self.object, value, layout.OBJECT_TYPE)
            if variable.shape:
                flags.append(self.is_object(kind, 'array_type'))
            else:
                python = self.is_object(kind, 'float_type')
                numpy = self.is_object(kind, 'float64_type')
                flags.append(self.emit(f'or i1 {python}, {numpy}'))
        return flags

    def layouts_match(
        self, values: list[str], variables: tuple[Variable, ...], required: int
    ) -> list[str]:
        """Return flags: dtype, array flags and number of axes match."""
        flags = []
        for value, variable in zip(values, variables):
            if variable.shape:
                dtype = self.load(self.object, value, layout.ARRAY_DTYPE)
                flags.append(self.is_object(dtype, 'float64_dtype'))
                bits = self.load('i32', value, layout.ARRAY_FLAGS)
                masked = self.emit(f'and i32 {bits}, {required}')
                flags.append(self.emit(f'icmp eq i32 {masked}, {required}'))
                ndim = self.load('i32', value, layout.ARRAY_NDIM)
                flags.append(self.emit(f'icmp eq i32 {ndim}, {len(variable.shape)}'))
        return flags

    def shapes_match(self, values: list[str], variables: tuple[Variable, ...]) -> list[str]:
        """Return flags: each dimension matches; valid only after the number of axes was checked."""
        flags = []
        for value, variable in zip(values, variables):
            if variable.shape:
                dimensions = self.load(self.object, value, layout.ARRAY_DIMENSIONS)
                for axis, size in enumerate(variable.shape):
                    given = self.load('i64', dimensions, 8 * axis)
                    flags.append(self.emit(f'icmp eq i64 {given}, {size}'))
        return flags

    def data(self, value: str, variable: Variable) -> str:
        """Return the pointer to the numbers of an argument."""
        if variable.shape:
            return self.load(self.double, value, layout.ARRAY_DATA)
        byte = self.emit(f'getelementptr i8, {self.object} {value}, i64 {layout.FLOAT_VALUE}')
        return self.emit(f'bitcast {self.object} {byte} to {self.double}')

    def apart(self, a: str, size_a: int, b: str, size_b: int) -> str:
        """Return a flag: two ranges of doubles do not overlap."""
        first = self.emit(f'ptrtoint {self.double} {a} to i64')
        second = self.emit(f'ptrtoint {self.double} {b} to i64')
        end_first = self.emit(f'add i64 {first}, {8 * size_a}')
        end_second = self.emit(f'add i64 {second}, {8 * size_b}')
        before = self.emit(f'icmp ule i64 {end_first}, {second}')
        after = self.emit(f'icmp ule i64 {end_second}, {first}')
        return self.emit(f'or i1 {before}, {after}')

    # The function

    def text(self) -> str:
        """Return the IR of the whole entry point."""
        inputs, outputs = self.trace.arguments, self.trace.outputs
        takes_out = len(outputs) == 1 and bool(outputs[0].shape)
        arguments = self.dialect.pointer(self.object)
        scratch = [f'%scalar{i}' for i in range(len(outputs))]
        self.lines = [f'  {x} = alloca double' for x in scratch]

        enough = self.emit(f'icmp eq i64 %count, {len(inputs)}')
        self.require([enough], 'counted')
        values = [self.argument(i) for i in range(len(inputs))]
        self.require(self.types_match(values, inputs), 'typed')
        required = layout.CONTIGUOUS_AND_ALIGNED
        self.require(self.layouts_match(values, inputs, required), 'laid_out')
        self.require(self.shapes_match(values, inputs), 'shaped')
        data = [self.data(x, variable) for x, variable in zip(values, inputs)]
        if self.trace.bound:
            array = self.load(self.object, '%self', layout.TUPLE_ITEMS + 8 * TABLE)
            data.append(self.load(self.double, array, layout.ARRAY_DATA))
        finite = self.emit(f'call i1 @check({", ".join(f"{self.double} {x}" for x in data)})')
        plain = self.emit(f'icmp eq {self.object} %names, null')
        self.require([finite], 'finite')
        if takes_out:
            self.require([plain], 'allocate', otherwise='keywords')
        else:
            self.require([plain], 'allocate')
        self.allocate_and_compute(data, scratch)
        if takes_out:
            self.compute_into_out(data)
        self.label('slow')
        everything = (
            f'{self.object} %self',
            f'{arguments} %arguments',
            'i64 %count',
            f'{self.object} %names',
        )
        slow_path = self.call(
            self.object, 'tuple_get_item', f'{self.object} %self', f'i64 {SLOW_PATH}'
        )
        answer = self.call(self.object, 'vectorcall', f'{self.object} {slow_path}', *everything[1:])
        self.lines.append(f'  ret {self.object} {answer}')

        body = '\n'.join(self.lines)
        signature = ', '.join(everything)
        head = declarations(self.symbols) + self.shape_constants()
        return f'{head}define {self.object} @entry({signature}) {{\n{body}\n}}\n'

    def shape_constants(self) -> str:
        lines = []
        for i, variable in enumerate(self.trace.outputs):
            if variable.shape:
                sizes = ', '.join(f'i64 {x}' for x in variable.shape)
                kind = f'[{len(variable.shape)} x i64]'
                lines.append(f'@shape{i} = private constant {kind} [{sizes}]\n')
        return ''.join(lines)

    def compute(self, data: list[str], results: list[str], made: list[str], label: str) -> None:
        """Emit the computation; if it refuses its results, release the arrays made for them."""
        arguments = ', '.join(f'{self.double} {x}' for x in [*data, *results])
        self.lines.append(f'  call void @state({arguments})')
        if self.trace.finite_results is None:
            return
        given = ', '.join(f'{self.double} {x}' for x in results)
        good = self.emit(f'call i1 @good_results({given})')
        self.lines.append(f'  br i1 {good}, label %{label}, label %{label}.refused')
        self.label(f'{label}.refused')
        for array in made:
            self.call('void', 'decref', f'{self.object} {array}')
        self.lines.append('  br label %slow')
        self.label(label)

    def allocate_and_compute(self, data: list[str], scratch: list[str]) -> None:
        """Allocate and return new objects: an array, a scalar, or a tuple of them."""
        made: list[str | None] = []
        results = []
        for i, variable in enumerate(self.trace.outputs):
            if variable.shape:
                array = self.new_array(i, [x for x in made if x])
                made.append(array)
                results.append(self.load(self.double, array, layout.ARRAY_DATA))
            else:
                made.append(None)
                results.append(scratch[i])
        arrays = [x for x in made if x]
        self.compute(data, results, arrays, 'computed')
        objects: list[str] = []
        for i, value in enumerate(made):
            if value is None:
                value = self.new_scalar(i, scratch[i], arrays)
                arrays.append(value)
            objects.append(value)
        if len(objects) == 1:
            self.lines.append(f'  ret {self.object} {objects[0]}')
            return
        pair = self.call(self.object, 'tuple_new', f'i64 {len(objects)}')
        self.release_unless(pair, 'packed', arrays)
        for i, value in enumerate(objects):
            self.call(
                'i32',
                'tuple_set_item',
                f'{self.object} {pair}',
                f'i64 {i}',
                f'{self.object} {value}',
            )
        self.lines.append(f'  ret {self.object} {pair}')

    def new_array(self, output: int, made: list[str]) -> str:
        """Allocate a float64 array of the shape of an output."""
        shape = self.trace.outputs[output].shape
        kind = f'[{len(shape)} x i64]'
        number = self.dialect.pointer('i64')
        dimensions = self.emit(
            f'getelementptr {kind}, {self.dialect.pointer(kind)} @shape{output}, i64 0, i64 0'
        )
        dtype = self.known('float64_dtype')
        array_type = self.known('array_type')
        # PyArray_NewFromDescr steals the reference to the dtype.
        self.call('void', 'incref', f'{self.object} {dtype}')
        array = self.call(
            self.object,
            'new_array',
            f'{self.object} {array_type}',
            f'{self.object} {dtype}',
            f'i32 {len(shape)}',
            f'{number} {dimensions}',
            f'{number} null',
            f'{self.object} null',
            'i32 0',
            f'{self.object} null',
        )
        self.release_unless(array, f'made{output}', made)
        return array

    def new_scalar(self, output: int, pointer: str, made: list[str]) -> str:
        """Create a NumPy float64 from a number."""
        dtype = self.known('float64_dtype')
        data = self.emit(f'bitcast {self.double} {pointer} to {self.object}')
        scalar = self.call(
            self.object,
            'new_scalar',
            f'{self.object} {data}',
            f'{self.object} {dtype}',
            f'{self.object} null',
        )
        self.release_unless(scalar, f'made{output}', made)
        return scalar

    def release_unless(self, value: str, label: str, made: list[str]) -> None:
        """If an allocation failed, release the objects made so far and propagate the error."""
        good = self.emit(f'icmp ne {self.object} {value}, null')
        self.lines.append(f'  br i1 {good}, label %{label}, label %{label}.failed')
        self.label(f'{label}.failed')
        for other in made:
            self.call('void', 'decref', f'{self.object} {other}')
        self.lines.append(f'  ret {self.object} null')
        self.label(label)

    def compute_into_out(self, data: list[str]) -> None:
        """Fill and return the array given as ``out=``."""
        output = self.trace.outputs[:1]
        self.label('keywords')
        size = self.call('i64', 'tuple_size', f'{self.object} %names')
        one = self.emit(f'icmp eq i64 {size}, 1')
        self.require([one], 'keyword')
        name = self.load(self.object, '%names', layout.TUPLE_ITEMS)
        wanted = self.load(self.object, '%self', layout.TUPLE_ITEMS + 8 * KEYWORD)
        self.require([self.emit(f'icmp eq {self.object} {name}, {wanted}')], 'out')
        value = [self.argument(len(self.trace.arguments))]
        self.require(self.types_match(value, output), 'out.typed')
        required = layout.CONTIGUOUS_AND_ALIGNED | layout.WRITEABLE
        self.require(self.layouts_match(value, output, required), 'out.laid_out')
        self.require(self.shapes_match(value, output), 'out.shaped')
        result = self.data(value[0], output[0])
        sizes = [math.prod(x.shape) for x in self.trace.inputs]
        self.require(
            [self.apart(result, output[0].size, x, n) for x, n in zip(data, sizes)], 'out.apart'
        )
        self.compute(data, [result], [], 'out.computed')
        self.call('void', 'incref', f'{self.object} {value[0]}')
        self.lines.append(f'  ret {self.object} {value[0]}')
